"""The options with which files of facts are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from apptek.facts.facts import OpenEnd
from apptek.facts.protocols import Splitting
from apptek.facts.times import Granularity
from apptek.reading.columns import SPLIT, parse_columns

OF_RDF = ("lang", "literals", "prefixes")
OF_SOURCES = (
    *("columns", "split", "header", "delimiter", "encoding", "format", "sheet", "max_bytes"),
    *OF_RDF,
    *("sql", "since"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How files of facts are read; every field is a keyword of read_dataset.

    columns          which column is what, see parse_columns (default: the header, or the order);
                     or role -> column
    split            the column that says train, valid or test (default: one that is called split)
    header           True or False where the guess (known column names in the first row) is wrong
    skip_bad         leave bad rows out and list them in `report`, instead of raising DataError
    splitting        how a single file is split (default: 80/10/10 at random, seed 0)
    granularity      the unit of times: second, minute, hour, day, week, month or year (default: the
                     coarsest of day, hour, minute and second with at least 50 distinct values); or
                     mixed: years beside days are meant, and each is read as it is written
    date_format      a pattern of strptime, where dates may be read in two ways: %d/%m/%Y
    format           gdelt, icews or acled, where a dump of event data is not recognised;
                     nt, nq, ttl or trig, where the suffix does not say that a file is RDF
    sheet            the name or number of a sheet (default: the first)
    delimiter        what separates cells (default: found by the first megabyte)
    encoding         of text (default: found by the first megabyte)
    max_bytes        what a compressed file may grow to (default: 256 MB, or 200 times its size)
    lang             of the labels of RDF (default: en)
    literals         make entities of the literals of RDF, too
    prefixes         further prefixes that shorten IRIs: ex=http://example.org/ foo=urn:foo:
    sql              a query, where the source is a database and names no table
    since            the rows of a database before this time need not be read
    open_end         what a fact with a start and no end means: it is ongoing, or a point at its
                     start (default: ongoing where other facts have both ends; a point else)
    """

    columns: str | Mapping[str, Any] | None = None
    split: str = ""
    header: bool | None = None
    skip_bad: bool = False
    splitting: Splitting | None = None
    granularity: Granularity = "auto"
    date_format: str = ""
    format: Literal["", "gdelt", "icews", "acled", "nt", "nq", "ttl", "trig"] = ""
    sheet: str = ""
    delimiter: str = ""
    encoding: str = ""
    max_bytes: int | None = None
    lang: str = ""
    literals: bool = False
    prefixes: str = ""
    sql: str = ""
    since: str = ""
    open_end: OpenEnd | None = None

    def column_of(self) -> dict[str, str] | None:
        """Role -> column, as far as the options say it."""
        columns = parse_columns(self.columns) if isinstance(self.columns, str) else self.columns
        named = {role: str(column) for role, column in (columns or {}).items()}
        return named | ({SPLIT: self.split} if self.split else {}) or None

    def to_remember(self) -> dict[str, Any]:
        """Return what was chosen and is worth choosing again for further files of the same kind."""
        usual = ReadOptions()
        remembered = set(OF_SOURCES) - {"split", "max_bytes", "since"}
        chosen = {name: getattr(self, name) for name in sorted(remembered)}
        return {
            name: value
            for name, value in chosen.items()
            if value != getattr(usual, name) and not isinstance(value, Mapping)
        }
