"""Command options for reading data, and the notes that are printed about it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer

from apptek.commands.options import option
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.facts.facts import Dataset, ReadReport

BAD_ROWS_SHOWN = 20
SHARES = "0.8/0.1/0.1"
SKIP_BAD = "Skip and list bad rows instead of stopping."
Format = Literal["", "gdelt", "icews", "acled", "nt", "nq", "ttl", "trig"]
EXPECTED = {"bool_parsing": "yes or no", "int_parsing": "a number"}  # keys: pydantic's error types


def _shares(text: str) -> tuple[float, ...]:
    with suppress(ValueError):
        shares = tuple(float(share) for share in text.split("/"))
        if len(shares) == 3 and abs(sum(shares) - 1) < 1e-9:
            return shares
    expected = f"three shares that sum to 1, such as {SHARES}"
    raise typer.BadParameter(f"--read split={text}: expected {expected}")


# All keys of --read except `split` are keywords of `read_dataset`.
OF_FILES = ("delimiter", "encoding", "sheet", "max_bytes")  # also valid for files of queries
OF_RDF = ("lang", "literals", "prefixes")
OF_FACTS = ("header", *OF_FILES, *OF_RDF)  # also valid for facts that are added to a model
READ_KEYS = (*OF_FACTS, "granularity", "open_end", "split")


def _reading(words: str, help_text: str, default: Any = None, **more: Any) -> Any:
    return option(words, help_text, default, rich_help_panel="Reading the data", **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options for commands that read a data set.

    keys       the keys of --read
    not_taken  the options that the commands do not accept
    """

    keys: ClassVar[Sequence[str]] = READ_KEYS
    not_taken: ClassVar[Sequence[str]] = ()
    columns: str | None = _reading(
        "--columns LIST",
        "Which columns hold the subject, predicate, object, time (or since and until) and split. "
        "Give names or numbers, such as `subject=Who,time=3`, or a list in file order, such as "
        "`subject,-,time`.",
    )
    format: Format = _reading(
        "--format NAME",
        "The file format: gdelt, icews or acled for event data; nt, nq, ttl or trig for RDF.  "
        "[default: detected]",
        "",
        show_default=False,
    )
    date_format: str = _reading(
        "--date-format PATTERN",
        "The date format, if it is ambiguous, in strptime notation: %d/%m/%Y.",
        "",
        show_default=False,
    )
    split_by: Literal["random", "time"] = _reading(
        "--split-by HOW", "How to split a single file.", "random"
    )
    skip_bad: bool = _reading("--skip-bad", SKIP_BAD, False)
    sql: str = _reading(
        "--sql QUERY",
        "The query to read, if the data is a database URL without a table.",
        "",
        show_default=False,
    )
    read: list[str] | None = _reading(
        "--read KEY=VALUE",
        "Another option for reading the data, such as `delimiter=;`, `encoding=windows-1252`, "
        "`sheet=2`, `header=no` or `granularity=hour` (docs/data.md); repeatable. If a key is "
        "unknown, the valid keys are printed.",
    )

    def words(self) -> list[str]:
        """Return the options that differ from their defaults, as words of a command line."""
        words: list[str] = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value and value != each.default:
                word = f"--{each.name.replace('_', '-')}"
                texts = value if isinstance(value, list) else [value]
                words += [word] if value is True else [part for t in texts for part in (word, t)]
        return words

    def keywords(self) -> dict[str, Any]:
        """Return the options as keywords of `read_dataset`; `split` is added if it is given."""
        from pydantic import TypeAdapter, ValidationError

        from apptek.reading.options import ReadOptions

        names = ("columns", "format", "date_format", "skip_bad", "sql")
        chosen = {name: value for name in names if (value := getattr(self, name))}
        for text in self.read or []:
            key, equals, value = text.partition("=")
            if key not in self.keys or not equals:
                known = ", ".join(f"{name}=" for name in self.keys)
                raise typer.BadParameter(f"--read {text}: expected one of {known}")
            chosen[key] = value
        shares = {"split": _shares(chosen.pop("split"))} if "split" in chosen else {}
        try:
            checked = TypeAdapter(ReadOptions).validate_python(chosen)
        except ValidationError as error:
            wrong = error.errors()[0]
            rule = EXPECTED.get(wrong["type"]) or wrong["msg"].removeprefix("Input should be ")
            text = f"{wrong['loc'][0]}={wrong['input']}"
            raise typer.BadParameter(f"--read {text}: expected {rule}") from None
        return {name: getattr(checked, name) for name in chosen} | shares

    def read_data(
        self,
        data: str | list[str],
        *,
        seed: int = 0,
        like: "Dataset | None" = None,
        since: str = "",
    ) -> "Dataset":
        """Read the data set; print progress and a list of bad rows on stderr.

        `seed` is for a random split. It is separate from the model's seed, so that models with
        different seeds share test facts and can be compared. Options that are not given are copied
        from `like`. Database rows before `since` may be skipped.
        """
        from apptek.facts.protocols import Splitting
        from apptek.reading.reader import read_dataset, read_more
        from apptek.terminal import byte_progress

        options = self.keywords()
        shares = options.pop("split", None)
        if shares is not None or self.split_by != "random" or seed:
            train, valid, _ = shares or _shares(SHARES)
            options["splitting"] = Splitting(by=self.split_by, train=train, valid=valid, seed=seed)
        with byte_progress("reading") as report:
            if like is None:
                dataset = read_dataset(data, progress=report, **options)
            else:
                options |= {"since": since} if since else {}
                dataset = read_more(like, data, progress=report, **options)
        tell_how(dataset.report)
        return dataset


class FactsReading(Reading):
    """The options for reading an update's facts, which have no splits and use the model's times."""

    keys = OF_FACTS
    not_taken = ("split_by",)


class QueriesReading(Reading):
    """The options for a file of queries, whose columns are fixed."""

    keys = OF_FILES
    not_taken = ("columns", "date_format", "split_by")


def tell_how(report: "ReadReport") -> None:
    """Print on stderr how the files were read, and the bad rows."""
    from apptek.terminal import tell

    how = report.how
    usual = {"delimiter": (",", "\t", ", and \t", "\t and ,"), "encoding": ("utf-8",)}
    found = [
        f"{key} {how[key]!r}" for key, known in usual.items() if how.get(key, known[0]) not in known
    ]
    if found:
        tell(f"found: {', '.join(found)}")
    if how.get("format", "text") not in ("text", "parquet", "jsonl", "sheet", "rdf"):
        tell(f"read as {how['format']}")
    if "%" in how.get("date_format", ""):
        tell(f"dates are read as {how['date_format']}")
    if how.get("time_of_day") == "yes":
        tell(f"times are read as {how['granularity']}s")
    for note in report.notes:
        tell(note)
    if report.merged:
        unit = how.get("granularity", "")
        tell(
            f"events within the same {unit} that were merged: {report.merged:,} "
            "(--read granularity=UNIT keeps them separate)"
        )
    list_skipped(report.defects)
    if count := report.defect_count:
        more = f" ({count - BAD_ROWS_SHOWN:,} more not shown)" if count > BAD_ROWS_SHOWN else ""
        tell(f"{counted(count, 'bad row')} skipped{more}")


def list_skipped(defects: Sequence[Any]) -> None:
    """Print the first bad rows on stderr."""
    from apptek.terminal import tell

    for defect in defects[:BAD_ROWS_SHOWN]:
        tell(f"skipped: {defect}")
