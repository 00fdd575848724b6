"""The options for reading files of facts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
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
    """How to read files of facts. Every field is a keyword of read_dataset.

    columns          the column of each role, see parse_columns (default: from the header, or the
                     usual order); or a mapping from role to column
    split            the column that contains train, valid or test (default: one called split)
    header           True or False if the guess (known column names in the first row) is wrong
    skip_bad         leave out bad rows and list them in `report` instead of raising DataError
    splitting        how to split a single file (default: 80/10/10 at random, seed 0)
    granularity      the unit of times: second, minute, hour, day, week, month or year (default: the
                     coarsest of day, hour, minute and second with at least 50 distinct values); or
                     mixed, which reads each time as written, for data with both years and days
    date_format      a strptime pattern for dates that could be read in two ways: %d/%m/%Y
    format           gdelt, icews or acled if an event data dump is not recognised;
                     nt, nq, ttl or trig if the suffix does not show that a file is RDF
    sheet            the name or number of a sheet (default: the first)
    delimiter        the separator of cells (default: detected from the first megabyte)
    encoding         the text encoding (default: detected from the first megabyte)
    max_bytes        the limit for a decompressed file (default: 256 MB, or 200 times its size)
    lang             the language of RDF labels (default: en)
    literals         also read RDF literals as entities
    prefixes         additional prefixes for shortening IRIs: ex=http:

    example.org/ foo=urn:foo:
    sql              a query, if the source is a database without a table name
    since            database rows before this time need not be read
    open_end         the meaning of a fact with a start and no end: ongoing, or a point at its start
                     (default: ongoing if other facts have both ends, otherwise point)
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
        """Role -> column, where the options specify it."""
        columns = parse_columns(self.columns) if isinstance(self.columns, str) else self.columns
        named = {role: str(column) for role, column in (columns or {}).items()}
        return named | ({SPLIT: self.split} if self.split else {}) or None

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        values = {each: getattr(self, each.name) for each in fields(ReadOptions)}
        return {each.name: value for each, value in values.items() if value != each.default}

    def to_remember(self) -> dict[str, Any]:
        """Return the chosen options that should also apply to further files of the same kind."""
        remembered = set(OF_SOURCES) - {"split", "max_bytes", "since"}
        return {
            name: value
            for name, value in sorted(self.changed().items())
            if name in remembered and not isinstance(value, Mapping)
        }
