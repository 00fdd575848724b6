"""The options with which commands read data: one list of them for all commands that do."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from apptek.data.facts import Dataset
    from apptek.data.splitting import Splitting

MOST_DEFECTS = 20  # bad rows that are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How data is read, as the user says it; every field is an option of a command."""

    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="Which column is subject, predicate, object, time (or since, until): by name or "
            "place from 1, `subject=Who,time=3`; or a list in the file's order, `subject,-,time`.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first row is a header.  [guessed]"),
    ] = None
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave bad rows out and list them, instead of stopping."),
    ] = False
    merge_intervals: Annotated[
        bool,
        typer.Option(
            "--merge-intervals",
            help="Make one fact of an occursSince line and the occursUntil line after it.",
        ),
    ] = False
    split_by: Annotated[
        Literal["random", "time"],
        typer.Option("--split-by", help="How a single file is split."),
    ] = "random"
    split: Annotated[
        str, typer.Option("--split", help="Shares of train/valid/test of a single file.")
    ] = "0.8/0.1/0.1"

    def words(self) -> list[str]:
        """The options that are not as they are without being given."""
        found: list[str] = []
        for one in fields(self):
            value, name = getattr(self, one.name), one.name.replace("_", "-")
            if value != one.default:
                found.append(f"--no-{name}" if value is False else f"--{name}")
                found += [value] if isinstance(value, str) else []
        return found

    def read(self, data: str, *, seed: int = 0) -> "Dataset":
        """The data set, with progress and a list of the bad rows on stderr.

        seed  of a random split; the same for all models, so that they can be compared
        """
        from apptek.data.reading.reader import read_dataset
        from apptek.terminal import byte_progress

        splitting = self._splitting(seed)
        with byte_progress("reading") as report:
            dataset = read_dataset(
                data,
                columns=self.columns,
                header=self.header,
                skip_bad=self.skip_bad,
                merge_intervals=self.merge_intervals,
                splitting=splitting,
                progress=report,
            )
        _tell_defects(dataset.report.defects, dataset.report.defect_count)
        return dataset

    def _splitting(self, seed: int) -> "Splitting":
        from apptek.data.splitting import Splitting

        try:
            train, valid, test = (float(share) for share in self.split.split("/"))
        except ValueError:
            raise typer.BadParameter(
                f"{self.split!r}: expected three shares, as 0.8/0.1/0.1"
            ) from None
        if abs(train + valid + test - 1) > 1e-9:
            raise typer.BadParameter(f"{self.split!r}: the three shares must make 1 together")
        return Splitting(by=self.split_by, train=train, valid=valid, seed=seed)


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `Reading`, which it takes as its argument `reading`."""
    own = inspect.signature(command, eval_str=True)
    kept = [one for one in own.parameters.values() if one.name != "reading"]
    options = [
        inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type
        )
        for one in fields(Reading)
    ]

    @wraps(command)
    def run(*given: Any, **named: Any) -> None:
        reading = Reading(**{option.name: named.pop(option.name) for option in options})
        command(*given, reading=reading, **named)

    run.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    return run


def _tell_defects(defects: tuple[Any, ...], count: int) -> None:
    if not count:
        return
    for defect in defects[:MOST_DEFECTS]:
        typer.echo(f"left out: {defect}", err=True)
    more = f" ({count - MOST_DEFECTS:,} more not shown)" if count > MOST_DEFECTS else ""
    typer.echo(f"{count:,} bad row{'s' if count != 1 else ''} left out{more}", err=True)
