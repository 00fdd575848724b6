"""Rows become batches of facts, on the fast path or on the careful one; bad rows are counted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from apptek.arrays import Longs
from apptek.errors import DataError
from apptek.facts.calendar.time_dictionary import TimeDictionary
from apptek.facts.facts import Defect
from apptek.reading.arrow_tables import batch_of_table
from apptek.reading.columns import ColumnLayout
from apptek.reading.exact_rows import RowError, batch_of_rows
from apptek.reading.fact_batch import FactBatch
from apptek.reading.formats.dumps import ExtraCounts
from apptek.reading.options import ReadOptions

MOST_DEFECTS_KEPT = 1000
MOST_DEFECTS_COUNTED = 10_000  # without skip_bad: then it is a wrong file rather than a bad row


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a file."""

    line: int  # of the first row
    table: pa.Table | None  # dictionary columns; None where the rows must be read one by one
    rows: Iterator[list[bytes]]  # the cells of the same rows, none for an empty one
    position: int = 0  # bytes of the file read so far
    numbers: Longs | None = None  # of the rows, where they do not count up from `line`
    starts_file: bool = False  # the first row is the first one of a file without a header

    def number(self, row: int) -> int:
        """The line of a row, which is counted from 0 within the chunk."""
        return self.line + row if self.numbers is None else int(self.numbers[row])


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was opened: its layout, its rows, and how it is read."""

    layout: ColumnLayout
    chunks: Iterator[Chunk]
    how: dict[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # complete once all chunks were read
    dump: str | None = None  # the name of the dump that the file is


@dataclass(slots=True)
class FactReader:
    """Makes facts of the rows of one data set, whose files share times and the list of bad rows."""

    options: ReadOptions
    times: TimeDictionary
    defects: list[Defect] = field(default_factory=list)
    defect_count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)  # of all bad rows
    fact_count: int = 0
    strict_splits: bool = False  # a row that says no split is bad
    extras: ExtraCounts = field(default_factory=ExtraCounts)

    @classmethod
    def of(cls, options: ReadOptions) -> "FactReader":
        """A reader with these options."""
        return cls(options, TimeDictionary(options.granularity, options.date_format))

    def batch(self, file: str, chunk: Chunk, layout: ColumnLayout) -> FactBatch:
        """The facts of a table on the fast path; where that gives up, of its rows one by one."""
        layout = replace(layout, splits=layout.splits or self.strict_splits)
        state = self.times.state
        batch = self._fast_batch(chunk.table, layout)
        if batch is None:
            self.times.state = state  # a table that was given up does not decide what times are

            def report(row: int, fault: RowError) -> None:
                first = row == 0 and chunk.starts_file
                self._report(replace(fault.at(file, chunk.number(row)), first=first))

            rows = self.extras.keep_rows(chunk.rows, layout) if layout.nobody else chunk.rows
            batch = batch_of_rows(rows, layout, self.times, report)
        self.fact_count += len(batch)
        return batch

    def _fast_batch(self, table: pa.Table | None, layout: ColumnLayout) -> FactBatch | None:
        if table is None or not layout.nobody:
            return None if table is None else batch_of_table(table, layout, self.times)
        extras = ExtraCounts()
        batch = batch_of_table(extras.keep(table, layout), layout, self.times)
        if batch is not None:
            self.extras.add(extras)
        return batch

    def _report(self, defect: Defect) -> None:
        """Notes a bad row; stops where there are more than anybody would skip."""
        self.defect_count += 1
        self.kinds[_kind(defect)] += 1
        if len(self.defects) < MOST_DEFECTS_KEPT:
            self.defects.append(defect)
        if not self.options.skip_bad and self.defect_count >= MOST_DEFECTS_COUNTED:
            raise DataError(f"{self.defects[0]} (and {self.defect_count - 1:,} more bad rows)")

    def check(self) -> None:
        """Raises DataError about the first bad row, unless bad rows are to be skipped."""
        if not self.defect_count or self.options.skip_bad:
            return
        total = self.fact_count + self.defect_count
        rows = f"{total:,} row{'s' if total != 1 else ''}"
        if not self.fact_count:
            raise DataError(f"{self.defects[0]} (all of {rows} are bad)")
        more = f": {', '.join(f'{n:,} {kind}' for kind, n in self.kinds.items())}"
        advice = f"--skip-bad would leave {self.fact_count:,}"
        if self.defect_count == 1 and self.defects[0].first:
            advice = "if it is a header, say --columns or --read header=yes"
        raise DataError(
            f"{self.defects[0]} ({self.defect_count:,} bad of {rows}"
            f"{more if self.defect_count > 1 else ''}; {advice})"
        )


def _kind(defect: Defect) -> str:
    """A word for what is wrong in a bad row, to count such rows."""
    if defect.expected == "since not after until":
        return "since after until"
    if "as in most facts" in defect.expected:
        return "of another precision"
    role = defect.column.partition("(")[2].rstrip(")")
    return f"bad {role or 'row'}"
