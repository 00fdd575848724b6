"""The options with which commands read data, and the notes that they print about it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from apptek.commands.options import option, with_options
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.facts.facts import Dataset, ReadReport
    from apptek.facts.protocols import Splitting

BAD_ROWS_SHOWN = 20
SHARES = "0.8/0.1/0.1"
Granularity = Literal["auto", "second", "minute", "hour", "day", "week", "month", "year", "mixed"]
Format = Literal["", "gdelt", "icews", "polecat", "acled", "nt", "nq", "ttl", "trig"]
SkipBadOption = Annotated[
    bool, option("--skip-bad", "Skip bad rows and list them, instead of stopping.")
]
SqlOption = Annotated[
    str,
    option("--sql", "A query, if PAIRS is a database without a table.", "SQL", show_default=False),
]


def _yes_or_no(text: str) -> bool:
    return {"yes": True, "no": False}[text]


def _one_of(*known: str) -> Callable[[str], str]:
    return {name: name for name in known}.__getitem__


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def _language(text: str) -> str:
    if not re.fullmatch("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", text):
        raise ValueError
    return text.lower()


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(share) for share in text.split("/"))
    if len(shares) != 3 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError
    return shares


# The keys of --read: how a value is read, and what is expected where it cannot be. All but `split`
# are keywords of `read_dataset`.
READ_KEYS: dict[str, tuple[Callable[[str], Any], str]] = {
    "header": (_yes_or_no, "yes or no"),
    "delimiter": (str, "one character, or tab"),
    "encoding": (str, "the name of an encoding"),
    "sheet": (str, "the name or number of a sheet"),
    "granularity": (_one_of(*get_args(Granularity)), ", ".join(get_args(Granularity))),
    "open_end": (_one_of("ongoing", "point"), "ongoing or point"),
    "split": (_shares, f"three shares that sum to 1, such as {SHARES}"),
    "merge_intervals": (_yes_or_no, "yes or no"),
    "undirected": (_yes_or_no, "yes or no"),
    "max_bytes": (_positive, "a number from 1"),
    "lang": (_language, "a language of RDF labels, such as en or pt-br"),
    "literals": (_yes_or_no, "yes or no"),
    "prefixes": (str, "prefixes of RDF, such as 'ex=http://example.org/ foo=urn:foo:'"),
}
OF_FILES = ("delimiter", "encoding", "sheet", "max_bytes")  # also of files of queries
OF_RDF = ("lang", "literals", "prefixes")
OF_FACTS = ("header", *OF_FILES, "merge_intervals", "undirected", *OF_RDF)  # also for a model


def _reading(words: str, help_text: str, metavar: str | None = None, **more: Any) -> Any:
    return option(words, help_text, metavar, rich_help_panel="Reading the data", **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The reading options of a command: every field but the last is an option."""

    columns: Annotated[
        str | None,
        _reading(
            "--columns",
            "Which column is subject, predicate, object, time (or since, until) and split: by name "
            "or number, `subject=Who,time=3`, or as a list in file order, `subject,-,time`.",
            "LIST",
        ),
    ] = None
    format: Annotated[
        Format,
        _reading(
            "--format",
            "A dump of event data: gdelt, icews, polecat or acled; or RDF: nt, nq, ttl or trig.  "
            "[default: recognised]",
            "NAME",
            show_default=False,
        ),
    ] = ""
    date_format: Annotated[
        str,
        _reading(
            "--date-format",
            "The format of dates, if it is ambiguous: %d/%m/%Y, as in strptime.",
            "PATTERN",
            show_default=False,
        ),
    ] = ""
    split_by: Annotated[
        Literal["random", "time"],
        _reading("--split-by", "How to split a single file: random or time.", "HOW"),
    ] = "random"
    skip_bad: Annotated[
        bool, _reading("--skip-bad", "Skip bad rows and list them, instead of stopping.")
    ] = False
    sql: Annotated[
        str,
        _reading(
            "--sql",
            "A query, if the data is the URL of a database that names no table.",
            "QUERY",
            show_default=False,
        ),
    ] = ""
    read_options: Annotated[
        list[str] | None,
        _reading(
            "--read",
            "A rare option, such as `delimiter=;`, `encoding=windows-1252`, `sheet=2`, `header=no` "
            "or `granularity=hour` (docs/data.md); repeatable. A wrong key lists the right ones.",
            "KEY=VALUE",
        ),
    ] = None
    keys: tuple[str, ...] = tuple(READ_KEYS)  # of --read, that the command takes

    def words(self) -> list[str]:
        """Return the command-line words of the options that differ from their defaults."""
        words: list[str] = []
        for name in ("columns", "format", "date_format", "sql"):
            if value := getattr(self, name):
                words += [f"--{name.replace('_', '-')}", value]
        words += ["--split-by", self.split_by] if self.split_by != "random" else []
        words += ["--skip-bad"] if self.skip_bad else []
        return words + [word for text in self.read_options or [] for word in ("--read", text)]

    def keywords(self) -> dict[str, Any]:
        """Return the options as keywords of `read_dataset`, and `split`."""
        given = {name: getattr(self, name) for name in ("columns", "format", "date_format", "sql")}
        chosen = {name: value for name, value in given.items() if value}
        chosen |= {"skip_bad": True} if self.skip_bad else {}
        for text in self.read_options or []:
            key, equals, value = text.partition("=")
            if key not in self.keys or not equals:
                known = ", ".join(f"{name}=" for name in self.keys)
                raise typer.BadParameter(f"--read {text}: expected one of {known}")
            parse, expected = READ_KEYS[key]
            try:
                chosen[key] = parse(value)
            except (KeyError, ValueError):
                raise typer.BadParameter(f"--read {text}: expected {expected}") from None
        return chosen

    def read(
        self,
        data: str | list[str],
        *,
        seed: int = 0,
        like: "Dataset | None" = None,
        since: str = "",
    ) -> "Dataset":
        """Read the data set, with progress and a list of bad rows on stderr.

        `seed` draws a random split. It is not the model's seed, so that models of different seeds
        have the same test facts and can be compared. Options that are not given come from `like`.
        Rows of a database before `since` need not be read.
        """
        from apptek.reading.reader import read_dataset, read_more
        from apptek.terminal import byte_progress

        options = self.keywords()
        shares = options.pop("split", None)
        with byte_progress("reading") as report:
            if like is None:
                if shares is not None or self.split_by != "random" or seed:
                    options["splitting"] = self._splitting(shares or _shares(SHARES), seed)
                dataset = read_dataset(data, progress=report, **options)
            else:
                options |= {"since": since} if since else {}
                dataset = read_more(like, data, progress=report, **options)
        tell_how(dataset.report)
        return dataset

    def _splitting(self, shares: tuple[float, ...], seed: int) -> "Splitting":
        from apptek.facts.protocols import Splitting

        return Splitting(by=self.split_by, train=shares[0], valid=shares[1], seed=seed)


_OF_MODEL = ("columns", "format", "date_format", "skip_bad", "sql", "read_options")


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `Reading` to a command, which gets them as its argument `reading`."""
    return with_options(command, Reading, "reading", (*_OF_MODEL, "split_by"))


def reads_facts(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for facts of an update, which are not split and use the model's times."""
    return with_options(command, Reading, "reading", _OF_MODEL, keys=OF_FACTS)


def reads_queries(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for a file of queries, whose columns are known."""
    names = ("format", "skip_bad", "sql", "read_options")
    return with_options(command, Reading, "reading", names, keys=OF_FILES)


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
            f"events that differ only in times finer than the {unit}, and count once: "
            f"{report.merged:,} (--read granularity=UNIT keeps them apart)"
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
