"""Files of facts become a Dataset: read_dataset and the loop over files and blocks."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from apptek.data.benchmarks import BENCHMARKS
from apptek.data.facts import Dataset, Defect, usual_open_end
from apptek.data.frames import is_frame, is_list_of_facts, read_facts, read_frame
from apptek.data.reading.arrow_tables import batch_of_table, count_lines, parse_block
from apptek.data.reading.assembly import assemble
from apptek.data.reading.columns import ColumnLayout, find_layout, parse_columns
from apptek.data.reading.exact_rows import RowError, batch_of_rows
from apptek.data.reading.fact_batch import FactBatch
from apptek.data.reading.options import ReadOptions
from apptek.data.reading.parquet_tables import cells_of, is_clean, parquet_layout, read_tables
from apptek.data.reading.sources import SUFFIXES, dataset_name, find_source, find_split_files
from apptek.data.reading.text_blocks import BYTE_ORDER_MARK, Block, read_blocks, stem_and_suffix
from apptek.data.reading.text_cells import TEXT_FORMATS, TextFormat, split_lines
from apptek.data.splitting import Splitting, split_facts
from apptek.data.times import TimeDictionary
from apptek.errors import DataError

MOST_DEFECTS_KEPT = 1000
_BLANK_LINES = re.compile(rb"(?:\r?\n)*+")
Progress = Callable[[str, int, int], None]  # file, bytes read, bytes in all files


def read_dataset(source: Any, *, progress: Progress | None = None, **options: Any) -> Dataset:
    """Reads a folder with train, valid and test, a single file, a benchmark by name, or a frame.

        read_dataset("icews14")                                       a benchmark by name
        read_dataset("events.csv", columns="subject=A,predicate=E,object=B,time=Day")
        read_dataset("events.tsv.gz", splitting=Splitting(by="time"))
        read_dataset(frame)                                           see Dataset.from_frame
        read_dataset([("Iran", "Consult", "China", "2014-02-02"), ...])

    The options are the fields of ReadOptions. A single file is split into train, valid and test,
    and so is a frame.
    """
    chosen = ReadOptions(**options)
    columns = None if chosen.columns is None else parse_columns(chosen.columns)
    if is_frame(source):
        return read_frame(source, columns, options=chosen)
    if is_list_of_facts(source):
        return read_facts(source, options=chosen)
    path = find_source(source)
    files = find_split_files(path)
    times = TimeDictionary(chosen.granularity, chosen.date_format)
    reader = _Reader(chosen, columns, _Progress(progress, list(files.values())), times)
    batches = {split: list(reader.read_file(file)) for split, file in files.items()}
    if reader.times.unsettled and reader.times.order:
        # Intervals were compared before a date said whether the day or the month comes first.
        return read_dataset(
            source, progress=progress, **options | {"date_format": reader.times.order}
        )
    dataset = assemble(
        dataset_name(path),
        batches,
        reader.times,
        merge_intervals=chosen.merge_intervals,
        defects=tuple(reader.defects),
        defect_count=reader.defect_count,
    )
    is_benchmark = str(source) in BENCHMARKS
    if is_benchmark and chosen.open_end == "ongoing":
        raise DataError(f"{source} keeps open ends as points, so that its numbers stay comparable")
    open_end = chosen.open_end or ("point" if is_benchmark else usual_open_end(dataset.train))
    dataset = replace(dataset, open_end=open_end)
    if not path.is_dir():
        return split_facts(dataset, chosen.splitting or Splitting())
    if chosen.splitting is not None:
        raise DataError(
            f"{source} has a train, valid and test split of its own: --split and --split-by are "
            "for a single file"
        )
    return dataset


def as_dataset(data: Any) -> Dataset:
    """The data set itself, or what `read_dataset` makes of a frame, tuples or a path."""
    return data if isinstance(data, Dataset) else read_dataset(data)


class _Progress:
    """Reports the bytes read over all files."""

    def __init__(self, report: Progress | None, files: list[Path]) -> None:
        self._report, self._before = report, 0
        self._total = sum(file.stat().st_size for file in files if file.is_file())

    def at(self, file: Path, position: int) -> None:
        if self._report is not None:
            self._report(file.name, self._before + position, self._total)

    def done(self, file: Path) -> None:
        self._before += file.stat().st_size
        self.at(file, 0)


class _ParsedBlock(NamedTuple):
    block: Block
    table: pa.Table | None  # None where the block must be read row by row
    line_count: int


@dataclass(slots=True)
class _Reader:
    """Reads the files of one data set; all of them share the times and the list of bad rows."""

    options: ReadOptions
    columns: dict[str, str] | None
    progress: _Progress
    times: TimeDictionary
    defects: list[Defect] = field(default_factory=list)
    defect_count: int = 0

    def read_file(self, file: Path) -> Iterator[FactBatch]:
        """The facts of one file; DataError if there is none."""
        fact_count, earlier_defects = 0, self.defect_count
        for batch in self._batches(file):
            fact_count += len(batch)
            yield batch
        bad_count = self.defect_count - earlier_defects
        if not fact_count and bad_count:
            first = next((str(d) for d in self.defects if d.file == file.name), "")
            raise DataError(f"{file.name}: all {bad_count} rows are bad; the first: {first}")
        if not fact_count:
            raise DataError(f"{file.name}: there is nothing below the header; expected facts")
        self.progress.done(file)

    def _batches(self, file: Path) -> Iterator[FactBatch]:
        _, suffix = stem_and_suffix(file)
        if suffix == ".parquet":
            return self._parquet_batches(file)
        if suffix in TEXT_FORMATS:
            return self._text_batches(file, TEXT_FORMATS[suffix])
        known = ", ".join(SUFFIXES)
        raise DataError(f"{file}: unknown kind of file; expected {known}, also .gz and .zst")

    def _text_batches(self, file: Path, form: TextFormat) -> Iterator[FactBatch]:
        blocks = read_blocks(file)
        first, line = _skip_blank_lines(blocks)
        if first is None:
            raise DataError(f"{file.name}:1: the file is empty; expected a fact on each line")
        layout, has_header = self._find_layout(f"{file.name}:{line}", first.text, form)
        if has_header:
            first = Block(first.text[first.text.index(b"\n") + 1 :], first.position)
            line += 1
        for block, table, line_count in _parse_ahead(first, blocks, layout, form):
            rows = split_lines(block.text, form)
            yield self._batch(file, line, table, rows, layout)
            line += line_count
            self.progress.at(file, block.position)

    def _find_layout(self, where: str, text: bytes, form: TextFormat) -> tuple[ColumnLayout, bool]:
        """The layout of a file that starts with `text`, and whether its first row is a header."""
        line = text[: text.index(b"\n") + 1]
        cells = [cell.decode("utf-8", "backslashreplace") for cell in next(split_lines(line, form))]
        return find_layout(cells, self.columns, self.options.header, where)

    def _parquet_batches(self, file: Path) -> Iterator[FactBatch]:
        layout = parquet_layout(file, self.columns)
        row = 1
        for table in read_tables(file, layout):
            yield self._batch(
                file, row, table if is_clean(table) else None, cells_of(table), layout
            )
            row += table.num_rows
        if row == 1:
            raise DataError(f"{file.name}:1: the file is empty; expected a fact in each row")

    def _batch(
        self,
        file: Path,
        line: int,
        table: pa.Table | None,
        rows: Iterator[list[bytes]],
        layout: ColumnLayout,
    ) -> FactBatch:
        """The facts of a table on the fast path; where that gives up, of its rows one by one."""
        state = self.times.state
        batch = None if table is None else batch_of_table(table, layout, self.times)
        if batch is not None:
            return batch
        self.times.state = state  # a table that was given up does not decide what times are

        def report(row: int, fault: RowError) -> None:
            self._report(fault.at(file.name, line + row))

        return batch_of_rows(rows, layout, self.times, report)

    def _report(self, defect: Defect) -> None:
        """Notes a bad row, or raises where bad rows are not to be skipped."""
        if not self.options.skip_bad:
            raise DataError(str(defect))
        self.defect_count += 1
        if len(self.defects) < MOST_DEFECTS_KEPT:
            self.defects.append(defect)


def _skip_blank_lines(blocks: Iterator[Block]) -> tuple[Block | None, int]:
    """The first block from its first line on that is not empty, and the number of that line."""
    line = 1
    for number, block in enumerate(blocks):
        text = block.text if number else block.text.removeprefix(BYTE_ORDER_MARK)
        blank = _BLANK_LINES.match(text)
        start = blank.end() if blank else 0
        line += count_lines(text[:start])
        if start < len(text):
            return Block(text[start:], block.position), line
    return None, line


def _parse_ahead(
    first: Block, blocks: Iterator[Block], layout: ColumnLayout, form: TextFormat
) -> Iterator[_ParsedBlock]:
    """Every block parsed, in order, while threads parse the next ones.

    Only a block or so per thread waits at a time, so that memory stays bounded.
    """

    def parse(block: Block) -> _ParsedBlock:
        return _ParsedBlock(block, parse_block(block.text, layout, form), count_lines(block.text))

    workers = max(1, min(4, os.cpu_count() or 1))
    waiting: deque[Future[_ParsedBlock]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for block in chain([first], blocks):
            waiting.append(pool.submit(parse, block))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
