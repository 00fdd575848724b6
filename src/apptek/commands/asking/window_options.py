"""The options of a window of time, for `forecast` and `watch`."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any

from apptek.commands.options import option, with_options


def _length(unit: str) -> Any:
    return option(f"--{unit}", f"The length of the window in {unit}.", "N")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """Which times are forecast; every field is an option, and a keyword of `forecast`."""

    start: Annotated[
        str | None,
        option(
            "--from",
            "The first time of the window.  [default: the one after the last observed time]",
            "TIME",
        ),
    ] = None
    until: Annotated[str | None, option("--until", "The last time of the window.", "TIME")] = None
    days: Annotated[int | None, _length("days")] = None
    months: Annotated[int | None, _length("months")] = None
    years: Annotated[int | None, _length("years")] = None
    hours: Annotated[int | None, _length("hours")] = None
    minutes: Annotated[int | None, _length("minutes")] = None
    steps: Annotated[
        int | None,
        option("--steps", "Its length in steps of the data, such as weeks or numbers.", "N"),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Return them as keywords of `Predictor.forecast`."""
        return asdict(self)


def takes_window(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a window to a command, which gets them as its argument `window`."""
    names = [field.name for field in fields(WindowOptions)]
    return with_options(command, WindowOptions, "window", names)
