"""Arguments and options that several commands share, each defined once."""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from apptek.data.facts import Dataset
    from apptek.data.predicate_table import PredicateTable
    from apptek.data.splitting import Splitting

BAD_ROWS_SHOWN = 20
SKIP_BAD = "Skip bad rows and list them, instead of stopping."
_READING_PANEL = "Reading the data"

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A folder, a file, or the name of a benchmark.")
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder to write; new or empty.")
]
ProtocolOption = Annotated[
    Literal["official", "paper", "forecast"],
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="official: the splits as published; paper: filtered and split as in the paper; "
        "forecast: icews14 and icews05-15 cut by date, as forecasts are compared.",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change the setting `section.key`; repeatable. A wrong name lists the right ones.",
    ),
]
PredicatesOption = Annotated[
    str | None,
    typer.Option(
        "--predicates",
        metavar="FILE",
        help="A table of predicates: predicate, class, label, phrase, group. `none`: not even the "
        "one of CAMEO, which otherwise applies by itself to the predicates of ICEWS and GDELT.",
    ),
]
AliasesOption = Annotated[
    Path | None,
    typer.Option(
        "--aliases",
        metavar="FILE",
        help="A table of further names of entities: a name of the data, then its aliases.",
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="The seed of all randomness.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")]
AsOfOption = Annotated[
    bool,
    typer.Option(
        "--as-of",
        help="Use only what was known before the query's time, also where later facts are known.",
    ),
]
TopOption = Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many to show.")]
ResultOption = Annotated[
    Path | None,
    typer.Option("--result", metavar="FILE", help="Also write the result to this JSON file."),
]
Granularity = Literal["auto", "second", "minute", "hour", "day", "week", "month", "year"]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a command reads its data; every field is one of its options."""

    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="LIST",
            rich_help_panel=_READING_PANEL,
            help="Which column is subject, predicate, object, time (or since, until): by name or "
            "number, `subject=Who,time=3`, or as a list in file order, `subject,-,time`.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            rich_help_panel=_READING_PANEL,
            help="Whether the first row is a header.  [default: guessed]",
        ),
    ] = None
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            rich_help_panel=_READING_PANEL,
            help=SKIP_BAD,
        ),
    ] = False
    merge_intervals: Annotated[
        bool,
        typer.Option(
            "--merge-intervals",
            rich_help_panel=_READING_PANEL,
            help="Merge an occursSince line and the occursUntil line after it into one fact.",
        ),
    ] = False
    granularity: Annotated[
        Granularity,
        typer.Option(
            "--granularity", metavar="UNIT", rich_help_panel=_READING_PANEL,
            help="The unit of times: second, minute, hour, day, week, month or year.  [default: "
            "auto, the coarsest of day, hour, minute and second with 50 distinct values]",
            show_default=False,
        ),
    ] = "auto"  # fmt: skip
    date_format: Annotated[
        str,
        typer.Option(
            "--date-format", metavar="PATTERN", rich_help_panel=_READING_PANEL,
            help="How dates are written, if that is not clear: %d/%m/%Y, as in strptime.",
            show_default=False,
        ),
    ] = ""  # fmt: skip
    open_end: Annotated[
        Literal["ongoing", "point"] | None,
        typer.Option(
            "--open-end", metavar="HOW", rich_help_panel=_READING_PANEL,
            help="What a fact with a start and no end means: it is ongoing, or a point in time.  "
            "[default: ongoing if other facts have both ends]",
        ),
    ] = None  # fmt: skip
    split_by: Annotated[
        Literal["random", "time"],
        typer.Option(
            "--split-by", metavar="HOW", rich_help_panel=_READING_PANEL,
            help="How to split a single file: random or time.",
        ),
    ] = "random"  # fmt: skip
    split: Annotated[
        str,
        typer.Option(
            "--split", metavar="SHARES", rich_help_panel=_READING_PANEL,
            help="The train/valid/test shares of a single file.",
        ),
    ] = "0.8/0.1/0.1"  # fmt: skip

    def words(self) -> list[str]:
        """The command-line words of the options that differ from their defaults."""
        words: list[str] = []
        for field in fields(self):
            value, name = getattr(self, field.name), field.name.replace("_", "-")
            if value != field.default:
                words.append(f"--no-{name}" if value is False else f"--{name}")
                words += [value] if isinstance(value, str) else []
        return words

    def read(self, data: str, *, seed: int = 0) -> "Dataset":
        """Reads the data set, with progress and a list of bad rows on stderr.

        `seed` is that of a random split. It is not the model's, so that models of different seeds
        have the same test facts and can be compared.
        """
        from apptek.data.reading.reader import read_dataset
        from apptek.terminal import byte_progress

        usual = {field.name: field.default for field in fields(self)}
        is_usual = (self.split, self.split_by, seed) == (usual["split"], usual["split_by"], 0)
        splitting = None if is_usual else self._splitting(seed)
        with byte_progress("reading") as report:
            dataset = read_dataset(
                data,
                columns=self.columns,
                header=self.header,
                skip_bad=self.skip_bad,
                merge_intervals=self.merge_intervals,
                splitting=splitting,
                open_end=self.open_end,
                granularity=self.granularity,
                date_format=self.date_format,
                progress=report,
            )
        _tell_how(dataset.report.how)
        _list_bad_rows(dataset.report.defects, dataset.report.defect_count)
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


@dataclass(frozen=True, slots=True)
class NameTables:
    """What a user says of the names in the data, read before the data: a bad table fails early."""

    labels: "PredicateTable | None"
    aliases: dict[str, str]

    @classmethod
    def read(cls, predicates: str | None, aliases: Path | None) -> "NameTables":
        """The tables of --predicates and --aliases."""
        from apptek.data.aliases import read_aliases
        from apptek.data.predicate_table import PredicateTable, read_predicates

        labels = None
        if predicates is not None:
            is_off = predicates == "none"
            labels = PredicateTable() if is_off else read_predicates(Path(predicates))
        return cls(labels, {} if aliases is None else read_aliases(aliases))

    def apply(self, dataset: "Dataset") -> "Dataset":
        """The data set with these tables; tells on stderr what they say of it."""
        from apptek.terminal import tell

        named = replace(dataset.labelled(self.labels), aliases=self.aliases)
        if named.labels:
            known, count = len(named.labels), len(dataset.predicates)
            off = "; --predicates none switches that off" if self.labels is None else ""
            tell(f"labels: {known:,} of {count:,} predicates are in {named.labels.source}{off}")
        if self.aliases:
            found = sum(dataset.entities.find(name) is not None for name in self.aliases.values())
            tell(f"aliases: {found:,} of {len(self.aliases):,} stand for entities of the data")
        return named


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of `Reading` to a command, which gets them as its argument `reading`."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "reading"]
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(Reading)
    ]

    @wraps(command)
    def run(*args: Any, **named: Any) -> None:
        reading = Reading(**{option.name: named.pop(option.name) for option in options})
        command(*args, reading=reading, **named)

    # typer builds the command line from the signature.
    run.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return run


def print_json(content: dict[str, Any]) -> None:
    """Prints one JSON object on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def _tell_how(how: dict[str, str]) -> None:
    """Says what was found out about the files, where it is not the usual."""
    if "%" in how["date_format"]:
        typer.echo(f"dates are read as {how['date_format']}", err=True)
    if how["time_of_day"] == "yes":
        typer.echo(f"times are read as {how['granularity']}s", err=True)


def _list_bad_rows(defects: tuple[Any, ...], count: int) -> None:
    if not count:
        return
    for defect in defects[:BAD_ROWS_SHOWN]:
        typer.echo(f"skipped: {defect}", err=True)
    more = f" ({count - BAD_ROWS_SHOWN:,} more not shown)" if count > BAD_ROWS_SHOWN else ""
    typer.echo(f"{count:,} bad row{'s' if count != 1 else ''} skipped{more}", err=True)
