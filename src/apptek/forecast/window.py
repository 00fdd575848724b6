"""Windows: from a first to a last time, both included, in the data's time unit."""

from dataclasses import dataclass

import numpy as np

from apptek.errors import ApptekError, ArgumentError, check_count
from apptek.facts.calendar import DAY_SECONDS, SECONDS, calendar, days_in, position
from apptek.facts.times import UNKNOWN, TimeAxis, Unit
from apptek.safe_text import counted

_USUAL = (7 * DAY_SECONDS, DAY_SECONDS, 3600, 60)  # default lengths of a window, in seconds
_DAILY: tuple[Unit, ...] = ("day", "hour", "minute", "second")
_STEP = {"day": DAY_SECONDS, **SECONDS}  # seconds
_SECONDS_OF = {"days": DAY_SECONDS, "hours": 3600, "minutes": 60}
EPOCH_SECONDS = 500_000_000
_MOST = 10_000_000  # steps: the maximum length of a window
_NAMES = ("days", "months", "years", "hours", "minutes", "steps")


@dataclass(frozen=True, slots=True)
class Length:
    """A window's length: up to a given time, or a number of days, hours, ..., or axis steps."""

    until: str | None = None
    days: int | None = None
    months: int | None = None
    years: int | None = None
    hours: int | None = None
    minutes: int | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        for name in self.given():
            if name != "until":
                check_count(name, getattr(self, name))

    def given(self) -> list[str]:
        """Return the fields that were given."""
        return [name for name in ("until", *_NAMES) if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True)
class Window:
    """A window, as its first and last position on the axis, both included.

    lead  the number of unobserved steps between the last observed step and the window
    """

    first: int
    last: int
    lead: int = 0

    @property
    def length(self) -> int:
        """The length in axis steps."""
        return self.last - self.first + 1

    def before(self) -> "Window":
        """Return the window with the same length and lead that ends where this one begins."""
        return Window(self.first - self.length, self.first - 1, self.lead)

    @property
    def moment(self) -> int:
        """The first position whose facts are unknown; only earlier facts are used."""
        return self.first - self.lead

    def observed_until(self, axis: TimeAxis) -> str:
        """Return the time through which the forecast uses facts, as text."""
        return time_of(axis, self.moment - axis.stride)

    def texts(self, axis: TimeAxis) -> tuple[str, str]:
        """Return the first and last time as text."""
        return time_of(axis, self.first), time_of(axis, self.last)


def time_of(axis: TimeAxis, position: int) -> str:
    """Return a position on the axis as text."""
    return TimeAxis(axis.unit).format(position)


def unit_word(unit: Unit) -> str:
    """Return the name of one axis step."""
    return "step" if unit == "integer" else unit


def read_window(
    axis: TimeAxis, span: tuple[int, int], start: str | None, length: Length, typical: float = 1.0
) -> Window:
    """Return the requested window. If it is invalid, an ApptekError explains why.

    span     the first position of a fact, and the last observed position
    start    the first time of the window; by default the time after the last observed one
    typical  the median time between two facts of a pair
    """
    first = span[1] + axis.stride if start is None else axis.position(_code(axis, start))
    first += (span[1] - first) % axis.stride  # no fact can fall between two steps
    unit, known = unit_word(axis.unit), span[1] - span[0] + 1
    lead = max(0, first - span[1] - axis.stride)
    usual = usual_length(axis, known, typical, seconds=looks_like_seconds(axis, span[0]))
    last = _last(axis, first, length) if length.given() else first + usual - 1
    window = Window(first, last, lead)
    begins = time_of(axis, first)
    if window.length < 1:
        ends = time_of(axis, window.last)
        raise ArgumentError(
            f"the window ends at {ends}, before it begins at {begins}: it needs at least one {unit}"
        )
    if window.length > known:
        raise ApptekError(
            f"a window of {counted(window.length, unit)} is longer than the whole data "
            f"({counted(known, unit)}): give a shorter length in {_best_name(axis)}"
        )
    if first > span[1] + known:
        observed = time_of(axis, span[1])
        raise ApptekError(
            f"the window begins at {begins}, {counted(first - span[1], unit)} after {observed}, "
            f"the last observed time: that is too far ahead for {counted(known, unit)} of data"
        )
    if first <= span[0]:
        earliest = time_of(axis, span[0])
        raise ApptekError(
            f"nothing is known before {begins}: the first fact is from {earliest}, and a forecast "
            "needs facts before its window"
        )
    return window


def _code(axis: TimeAxis, text: str) -> int:
    code = axis.parse(text)
    if code == UNKNOWN:
        raise ArgumentError("a window needs a known start and end")
    return code


def looks_like_seconds(axis: TimeAxis, first: int) -> bool:
    """Return whether the times look like seconds since 1970: integers, all after late 1985."""
    return axis.unit == "integer" and first >= EPOCH_SECONDS


def usual_length(axis: TimeAxis, known: int, typical: float = 1.0, *, seconds: bool = False) -> int:
    """Return the default length of a window: a week, a day, an hour or a minute, in steps.

    The longest of these that covers at most half the time span of the facts is used. If the unit is
    longer than a day, or none fits, the length is one step. For integers that are not seconds, it
    is about the median time between two facts of a pair.
    """
    if seconds:
        fitting = [steps for steps in _USUAL if 2 * steps <= known]
        return max(1, max(fitting, default=1) // axis.stride) * axis.stride
    if axis.unit == "integer":
        return max(1, min(round(typical / axis.stride), known // (2 * axis.stride))) * axis.stride
    if axis.unit not in _DAILY:
        return axis.stride
    lengths = [seconds // _STEP[axis.unit] for seconds in _USUAL]
    return max([steps for steps in lengths if 2 * steps <= known], default=1) or 1


def _best_name(axis: TimeAxis) -> str:
    return f"{axis.unit}s" if f"{axis.unit}s" in _NAMES else "steps"


def _last(axis: TimeAxis, first: int, length: Length) -> int:
    given = length.given()
    if len(given) > 1:
        raise ArgumentError(f"give only one length for the window, not {' and '.join(given)}")
    (name,) = given
    if length.until is not None:
        code = np.asarray([_code(axis, length.until)], np.int32)
        return axis.position(int(axis.last_moments(code)[0]))
    steps = _steps(axis, first, name, min(int(getattr(length, name)), _MOST))
    if steps is None:
        raise ApptekError(
            f"the times of this data are {axis.unit}s: give the length of the window in "
            f"{_best_name(axis)}, or its last time"
        )
    return first + steps - 1


def _steps(axis: TimeAxis, first: int, name: str, number: int) -> int | None:
    """Return the length in axis steps, or None if the steps are too coarse for this unit."""
    unit = axis.unit
    if name == "steps" or name == f"{unit}s":
        return number
    if name in _SECONDS_OF:
        step = _STEP.get(unit, 0)
        seconds = number * _SECONDS_OF[name]
        return seconds // step if step and seconds % step == 0 else None
    months = number * (12 if name == "years" else 1)
    if unit == "month":
        return months
    if unit not in _DAILY:
        return None
    # The same day in a later month, or the month's last day if the month is too short.
    year, month, day, second = calendar(unit, first)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    day = min(day, days_in(year, month + 1))
    return int(position(unit, year, month + 1, day, second)) - first
