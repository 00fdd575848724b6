"""Files of facts become a Dataset: find them, read them, name and number everything."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pyarrow as pa

from apptek.data.benchmarks import BENCHMARKS, find_benchmark
from apptek.data.facts import SPLITS, Dataset, Defect, Split
from apptek.data.reading.arrow_rows import (
    Piece,
    TextFormat,
    count_lines,
    make_piece,
    make_piece_carefully,
    parse_block,
)
from apptek.data.reading.assembly import assemble
from apptek.data.reading.columns import Layout, find_layout, parse_columns
from apptek.data.reading.exact_rows import RowError, split_lines
from apptek.data.reading.parquet import cells_of, is_clean, parquet_layout, read_tables
from apptek.data.reading.text_blocks import BYTE_ORDER_MARK, Block, read_blocks, stem_and_suffix
from apptek.data.splitting import Splitting, split_facts
from apptek.data.times import TimeBook
from apptek.errors import DataError

FORMATS = {
    ".txt": TextFormat("\t", quoted=False),
    ".tsv": TextFormat("\t", quoted=False),
    ".csv": TextFormat(",", quoted=True),
}
SUFFIXES = (*FORMATS, ".parquet")
MOST_DEFECTS_KEPT = 1000
_SPLIT_NAMES: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "valid": ("valid", "validation", "dev"),
    "test": ("test",),
}
_BLANK_LINES = re.compile(rb"(?:\r?\n)*+")
Progress = Callable[[str, int, int], None]  # file, bytes read, bytes in all files


def read_dataset(
    source: str | Path,
    *,
    columns: str | None = None,
    header: bool | None = None,
    skip_bad: bool = False,
    merge_intervals: bool = False,
    splitting: Splitting | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """The data set in a folder with train, valid and test, in a single file, or of a benchmark.

        read_dataset("icews14")                                       a benchmark by name
        read_dataset("events.csv", columns="subject=A,predicate=E,object=B,time=Day")
        read_dataset("events.tsv.gz", splitting=Splitting(by="time"))

    header           True or False where the guess (known column names in the first row) is wrong
    skip_bad         leave bad rows out and list them in `report`, instead of raising DataError
    merge_intervals  make one fact of an occursSince line and the occursUntil line that follows it
    splitting        how a single file is split (default: 80/10/10 at random, seed 0)
    """
    wanted = None if columns is None else parse_columns(columns)
    path = find_source(source)
    files: dict[Split, Path] = _split_files(path) if path.is_dir() else {"train": path}
    reading = _Reading(wanted, header, skip_bad, _Progress(progress, list(files.values())))
    pieces = {split: list(reading.pieces(file)) for split, file in files.items()}
    dataset = assemble(
        dataset_name(path),
        pieces,
        reading.book,
        merge_intervals=merge_intervals,
        defects=tuple(reading.defects),
        defect_count=reading.defect_count,
    )
    if path.is_dir():
        return dataset
    return split_facts(dataset, splitting or Splitting())


def dataset_name(path: Path) -> str:
    """What data in a folder or file is called."""
    return stem_and_suffix(path)[0] if path.is_file() else path.resolve().name


def find_source(source: str | Path) -> Path:
    """The folder or file that `source` means: a path, or the name of a benchmark."""
    path = Path(source)
    if path.exists():
        return path
    if str(source) in BENCHMARKS:
        found = find_benchmark(str(source))
        if found is None:
            raise DataError(
                f"{source} is not on this machine: set APPTEK_DATA to the folder that holds it, "
                f"or run 'apptek data download {source}'"
            )
        return found
    raise DataError(
        f"{source}: no such file or folder, and no benchmark of that name "
        f"(known: {', '.join(sorted(BENCHMARKS))})"
    )


def _split_files(folder: Path) -> dict[Split, Path]:
    found: dict[Split, Path] = {}
    for split in SPLITS:
        files = [file for file in sorted(folder.iterdir()) if _is_split_file(file, split)]
        if len(files) > 1:
            names = ", ".join(file.name for file in files)
            raise DataError(f"{folder}: more than one file for {split}: {names}")
        if files:
            found[split] = files[0]
    if "train" not in found:
        raise DataError(f"{folder}: there is no train file (train{', train'.join(SUFFIXES)})")
    return found


def _is_split_file(file: Path, split: Split) -> bool:
    stem, suffix = stem_and_suffix(file)
    return suffix in SUFFIXES and stem in _SPLIT_NAMES[split] and file.is_file()


class _Progress:
    """Bytes read over all files."""

    def __init__(self, report: Progress | None, files: list[Path]) -> None:
        self._report, self._before = report, 0
        self._total = sum(file.stat().st_size for file in files if file.is_file())

    def at(self, file: Path, position: int) -> None:
        if self._report is not None:
            self._report(file.name, self._before + position, self._total)

    def done(self, file: Path) -> None:
        self._before += file.stat().st_size
        self.at(file, 0)


@dataclass(slots=True)
class _Reading:
    """The state of one reading: times met so far, bad rows met so far."""

    wanted: dict[str, str] | None
    header: bool | None
    skip_bad: bool
    progress: _Progress
    book: TimeBook = field(default_factory=TimeBook)
    defects: list[Defect] = field(default_factory=list)
    defect_count: int = 0

    def report(self, file: Path, line: int, fault: RowError) -> None:
        defect = fault.at(file.name, line)
        if not self.skip_bad:
            raise DataError(str(defect))
        self.defect_count += 1
        if len(self.defects) < MOST_DEFECTS_KEPT:
            self.defects.append(defect)

    def pieces(self, file: Path) -> Iterator[Piece]:
        """The facts of one file, of which there is at least one."""
        good, bad = 0, self.defect_count
        for piece in self._pieces(file):
            good += len(piece)
            yield piece
        bad = self.defect_count - bad
        if not good and bad:
            first = next((str(d) for d in self.defects if d.file == file.name), "")
            raise DataError(f"{file.name}: all {bad} rows are bad; the first: {first}")
        if not good:
            raise DataError(f"{file.name}: there is nothing below the header; expected facts")
        self.progress.done(file)

    def _pieces(self, file: Path) -> Iterator[Piece]:
        _, suffix = stem_and_suffix(file)
        if suffix == ".parquet":
            return self._parquet_pieces(file)
        if suffix in FORMATS:
            return self._text_pieces(file, FORMATS[suffix])
        known = ", ".join(SUFFIXES)
        raise DataError(f"{file}: unknown kind of file; expected {known}, also .gz and .zst")

    def _text_pieces(self, file: Path, form: TextFormat) -> Iterator[Piece]:
        blocks = read_blocks(file)
        first, line = _skip_blank_lines(blocks)
        if first is None:
            raise DataError(f"{file.name}:1: the file is empty; expected a fact on each line")
        layout, has_header = self._layout(f"{file.name}:{line}", first.text, form)
        if has_header:
            first = Block(first.text[first.text.index(b"\n") + 1 :], first.position)
            line += 1
        for block, table, lines in _parse_ahead(first, blocks, layout, form):
            rows = split_lines(block.text, form.delimiter, form.quoted)
            yield self._piece(file, line, table, rows, layout)
            line += lines
            self.progress.at(file, block.position)

    def _piece(
        self,
        file: Path,
        line: int,
        table: pa.Table | None,
        rows: Iterator[list[bytes]],
        layout: Layout,
    ) -> Piece:
        """The facts of a table, the fast way; of its rows, with care, where that will not do."""
        kind = self.book.kind
        piece = None if table is None else make_piece(table, layout, self.book)
        if piece is not None:
            return piece
        self.book.kind = kind
        return make_piece_carefully(
            rows, layout, self.book, lambda row, fault: self.report(file, line + row, fault)
        )

    def _layout(self, where: str, text: bytes, form: TextFormat) -> tuple[Layout, bool]:
        """The layout of a file that starts with `text`, and whether its first row is a header."""
        line = text[: text.index(b"\n") + 1]
        cells = next(split_lines(line, form.delimiter, form.quoted))
        texts = [cell.decode("utf-8", "backslashreplace") for cell in cells]
        return find_layout(texts, self.wanted, self.header, where)

    def _parquet_pieces(self, file: Path) -> Iterator[Piece]:
        layout = parquet_layout(file, self.wanted)
        row = 1
        for table in read_tables(file, layout):
            clean = table if is_clean(table) else None
            yield self._piece(file, row, clean, cells_of(table), layout)
            row += table.num_rows
        if row == 1:
            raise DataError(f"{file.name}:1: the file is empty; expected a fact in each row")


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
    first: Block, blocks: Iterator[Block], layout: Layout, form: TextFormat
) -> Iterator[tuple[Block, pa.Table | None, int]]:
    """Every block with its table and number of lines, in order; the next are parsed meanwhile."""

    def parse(block: Block) -> tuple[Block, pa.Table | None, int]:
        return block, parse_block(block.text, layout, form), count_lines(block.text)

    workers = max(1, min(4, os.cpu_count() or 1))
    waiting: deque[Future[tuple[Block, pa.Table | None, int]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for block in chain([first], blocks):
            waiting.append(pool.submit(parse, block))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
