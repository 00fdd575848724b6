"""The options with which commands read data, and what they tell about it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from apptek.data.facts import Dataset, ReadReport
    from apptek.data.splitting import Splitting

BAD_ROWS_SHOWN = 20
SKIP_BAD = "Skip bad rows and list them, instead of stopping."
OF_QUERIES = ("skip_bad", "format", "delimiter", "encoding", "sheet", "max_bytes")
Granularity = Literal["auto", "second", "minute", "hour", "day", "week", "month", "year", "mixed"]
Format = Literal["", "gdelt", "icews", "polecat", "acled"]


def _option(words: str, help_text: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(
        words, metavar=metavar, rich_help_panel="Reading the data", help=help_text, **more
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a command reads its data; every field is one of its options."""

    columns: Annotated[
        str | None,
        _option(
            "--columns",
            "Which column is subject, predicate, object, time (or since, until) and split: by name "
            "or number, `subject=Who,time=3`, or as a list in file order, `subject,-,time`.",
            "LIST",
        ),
    ] = None
    header: Annotated[
        bool | None,
        _option("--header/--no-header", "Whether the first row is a header.  [default: guessed]"),
    ] = None
    skip_bad: Annotated[bool, _option("--skip-bad", SKIP_BAD)] = False
    merge_intervals: Annotated[
        bool,
        _option(
            "--merge-intervals",
            "Merge an occursSince line and the occursUntil line after it into one fact.",
        ),
    ] = False
    granularity: Annotated[
        Granularity,
        _option(
            "--granularity",
            "The unit of times: second, minute, hour, day, week, month or year; or mixed, for "
            "years beside days.  [default: auto, the coarsest of day, hour, minute and second with "
            "50 distinct values]",
            "UNIT",
            show_default=False,
        ),
    ] = "auto"
    date_format: Annotated[
        str,
        _option(
            "--date-format",
            "How dates are written, if that is not clear: %d/%m/%Y, as in strptime.",
            "PATTERN",
            show_default=False,
        ),
    ] = ""
    format: Annotated[
        Format,
        _option(
            "--format",
            "A dump of event data: gdelt, icews, polecat or acled.  [default: recognised]",
            "NAME",
            show_default=False,
        ),
    ] = ""
    undirected: Annotated[
        bool,
        _option("--undirected", "Add to each fact the one with subject and object exchanged."),
    ] = False
    delimiter: Annotated[
        str,
        _option(
            "--delimiter",
            "What separates cells: one character, or tab.  [default: found in the file]",
            "CHARACTER",
            show_default=False,
        ),
    ] = ""
    encoding: Annotated[
        str,
        _option(
            "--encoding",
            "The encoding of text, such as windows-1252.  [default: found in the file]",
            "NAME",
            show_default=False,
        ),
    ] = ""
    sheet: Annotated[
        str,
        _option(
            "--sheet",
            "The name or number of a sheet.  [default: the first]",
            "NAME",
            show_default=False,
        ),
    ] = ""
    max_bytes: Annotated[
        int | None,
        _option(
            "--max-bytes",
            "What a compressed file may grow to.  [default: 256 MB, or 200 times its size]",
            "N",
            min=1,
        ),
    ] = None
    open_end: Annotated[
        Literal["ongoing", "point"] | None,
        _option(
            "--open-end",
            "What a fact with a start and no end means: it is ongoing, or a point in time.  "
            "[default: ongoing if other facts have both ends]",
            "HOW",
        ),
    ] = None
    split_by: Annotated[
        Literal["random", "time"],
        _option("--split-by", "How to split a single file: random or time.", "HOW"),
    ] = "random"
    split: Annotated[
        str,
        _option("--split", "The train/valid/test shares of a single file.", "SHARES"),
    ] = "0.8/0.1/0.1"

    def words(self) -> list[str]:
        """The command-line words of the options that differ from their defaults."""
        words: list[str] = []
        for field in fields(self):
            value, name = getattr(self, field.name), field.name.replace("_", "-")
            if value != field.default:
                words.append(f"--no-{name}" if value is False else f"--{name}")
                words += [] if isinstance(value, bool) else [str(value)]
        return words

    def read(
        self, data: str | list[str], *, seed: int = 0, like: "Dataset | None" = None
    ) -> "Dataset":
        """Reads the data set, with progress and a list of bad rows on stderr.

        `seed` is that of a random split. It is not the model's, so that models of different seeds
        have the same test facts and can be compared. What no option says is read as in `like`.
        """
        from apptek.data.reading.reader import read_dataset, read_more
        from apptek.terminal import byte_progress

        usual = {field.name: field.default for field in fields(self)}
        is_usual = (self.split, self.split_by, seed) == (usual["split"], usual["split_by"], 0)
        splitting = None if is_usual else self._splitting(seed)
        options = {name: getattr(self, name) for name in usual if not name.startswith("split")}
        with byte_progress("reading") as report:
            if like is None:
                dataset = read_dataset(data, splitting=splitting, progress=report, **options)
            else:
                chosen = {name: value for name, value in options.items() if value != usual[name]}
                dataset = read_more(like, data, progress=report, **chosen)
        tell_how(dataset.report)
        return dataset

    def _splitting(self, seed: int) -> "Splitting":
        from apptek.data.splitting import Splitting

        try:
            train, valid, test = (float(share) for share in self.split.split("/"))
        except ValueError:
            raise typer.BadParameter(
                f"--split {self.split!r}: expected three shares, such as 0.8/0.1/0.1"
            ) from None
        if abs(train + valid + test - 1) > 1e-9:
            raise typer.BadParameter(f"--split {self.split!r}: the three shares must sum to 1")
        return Splitting(by=self.split_by, train=train, valid=valid, seed=seed)


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of `Reading` to a command, which gets them as its argument `reading`."""
    return with_options(command, Reading, "reading", [field.name for field in fields(Reading)])


def reads_facts(command: Callable[..., None]) -> Callable[..., None]:
    """The same for facts that are added to a model: they are not split, and have its times."""
    of_model = ("granularity", "open_end", "split_by", "split")
    names = [field.name for field in fields(Reading) if field.name not in of_model]
    return with_options(command, Reading, "reading", names)


def reads_queries(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a file of queries, whose columns are known."""
    return with_options(command, Reading, "reading", list(OF_QUERIES))


def with_options(
    command: Callable[..., None], holder: Any, argument: str, names: list[str]
) -> Callable[..., None]:
    """Adds some fields of a dataclass as options to a command, which gets them as one argument."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != argument]
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(holder)
        if field.name in names
    ]

    @wraps(command)
    def run(*args: Any, **named: Any) -> None:
        held = holder(**{option.name: named.pop(option.name) for option in options})
        command(*args, **{argument: held}, **named)

    # typer builds the command line from the signature.
    run.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return run


def tell_how(report: "ReadReport") -> None:
    """Says on stderr what was found out about the files where it is not the usual; bad rows."""
    how = report.how
    usual = {"delimiter": (",", "\t", ", and \t", "\t and ,"), "encoding": ("utf-8",)}
    found = [
        f"{key} {how[key]!r}" for key, known in usual.items() if how.get(key, known[0]) not in known
    ]
    if found:
        typer.echo(f"found: {', '.join(found)}", err=True)
    if how.get("format", "text") not in ("text", "parquet", "jsonl", "sheet"):
        typer.echo(f"read as {how['format']}", err=True)
    if "%" in how.get("date_format", ""):
        typer.echo(f"dates are read as {how['date_format']}", err=True)
    if how.get("time_of_day") == "yes":
        typer.echo(f"times are read as {how['granularity']}s", err=True)
    for note in report.notes:
        typer.echo(note, err=True)
    if report.merged:
        unit = how.get("granularity", "")
        typer.echo(
            f"events that differ only in times finer than the {unit}, and count once: "
            f"{report.merged:,} (--granularity keeps them apart)",
            err=True,
        )
    _list_bad_rows(report.defects, report.defect_count)


def _list_bad_rows(defects: tuple[Any, ...], count: int) -> None:
    if not count:
        return
    for defect in defects[:BAD_ROWS_SHOWN]:
        typer.echo(f"skipped: {defect}", err=True)
    more = f" ({count - BAD_ROWS_SHOWN:,} more not shown)" if count > BAD_ROWS_SHOWN else ""
    typer.echo(f"{count:,} bad row{'s' if count != 1 else ''} skipped{more}", err=True)
