"""A file with one JSON object on each line, or an array of them.

Arrow parses whole blocks, Python what is unusual.
"""

import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from apptek.errors import DataError, NoFactsError
from apptek.reading.arrow_tables import count_lines
from apptek.reading.batches import Chunk, Content
from apptek.reading.columns import ColumnLayout, FindLayout, find_layout, left_out_note
from apptek.reading.formats.text_columns import EXACT, as_text
from apptek.reading.options import ReadOptions
from apptek.reading.parquet_tables import is_clean
from apptek.reading.sniffing import SAMPLE_BYTES, SAMPLE_LINES, check_encoding, find_encoding
from apptek.reading.text_blocks import Block, TextSource, read_blocks, read_start
from apptek.reading.text_cells import BrokenRow, shown
from apptek.reading.text_files import skip_blank_lines

EXPECTED = "a JSON object such as {...} on each line, or an array of them"


def open_json_lines(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """The content of a file of JSON objects; the keys of the first ones are its columns."""
    encoding = check_encoding(options.encoding) if options.encoding else None
    encoding = encoding or find_encoding(read_start(TextSource(file), SAMPLE_BYTES))
    blocks = read_blocks(TextSource(file, encoding, options.max_bytes))
    first, line = skip_blank_lines(blocks)
    if first is None:
        raise NoFactsError(f"{file.name}:1: the file is empty; expected {EXPECTED}")
    if first.text.lstrip()[:1] == b"[":
        first, line = _lines_of_array([first, *blocks], file.name), 1
    lines = first.text[:SAMPLE_BYTES].split(b"\n")
    objects = [_load(text) for text in islice(lines, SAMPLE_LINES) if text.strip()]
    if not isinstance(objects[0], dict):
        raise DataError(f"{file.name}:{line}: found {shown(lines[0])}, expected {EXPECTED}")
    samples = [sample for sample in objects if isinstance(sample, dict)]
    keys = list(dict.fromkeys(key for sample in samples for key in sample))
    layout, _ = find(keys, columns, True, f"{file.name}:{line}")
    note = None if columns is not None else left_out_note(keys, layout, file.name)
    return Content(
        layout,
        _chunks(line, first, blocks, _Objects(keys, layout, samples, file.name)),
        {"format": "jsonl", "encoding": encoding or "utf-8"},
        () if note is None else (note,),
    )


def _lines_of_array(blocks: list[Block], name: str) -> Block:
    """An array of objects as a line for each; errors then count objects from 1."""
    try:
        entries = json.loads(b"".join(block.text for block in blocks))
    except (ValueError, RecursionError) as error:
        fault = str(error).partition(":")[0]
        raise DataError(
            f"{name}: the JSON array cannot be read ({fault}); is it cut off? expected {EXPECTED}"
        ) from None
    if not entries:
        raise NoFactsError(f"{name}: the JSON array is empty; expected facts")
    text = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
    return Block(text, blocks[-1].position)


def _chunks(
    line: int, first: Block, blocks: Iterator[Block], objects: "_Objects"
) -> Iterator[Chunk]:
    block: Block | None = first
    while block is not None:
        yield Chunk(line, objects.table(block.text), objects.rows(block.text), block.position)
        line += count_lines(block.text)
        block = next(blocks, None)


class _Objects:
    """The objects of a block as a table, and one by one."""

    def __init__(
        self, keys: list[str], layout: ColumnLayout, samples: list[dict[str, Any]], name: str
    ) -> None:
        self._keys, self._used, self._name = keys, set(layout.columns.values()), name
        self._layout = layout
        # Without a schema, Arrow would take texts that look like times for times.
        self._schema = pa.schema(
            [
                (keys[column], pa.int64() if _are_integers(samples, keys[column]) else pa.string())
                for column in sorted(self._used)
            ]
        )

    def table(self, text: bytes) -> pa.Table | None:
        """The columns in use; None where Arrow fails, or might read the lines in another way."""
        try:
            read = arrow_json.read_json(
                pa.BufferReader(text),
                arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                arrow_json.ParseOptions(self._schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowException:
            return None
        if read.num_rows != count_lines(text):
            return None
        nothing = pa.nulls(read.num_rows, pa.string())
        columns = [
            read.column(key) if column in self._used else nothing
            for column, key in enumerate(self._keys)
        ]
        table = as_text(pa.table(columns, names=self._keys), self._used, self._name)
        return table if is_clean(table) else None

    def rows(self, text: bytes) -> Iterator[list[bytes]]:
        """The cells of each object, none for an empty line."""
        for line in text.split(b"\n")[:-1]:
            yield self._cells(line) if line.strip() else []

    def _cells(self, line: bytes) -> list[bytes]:
        row = _load(line)
        if not isinstance(row, dict):
            return BrokenRow("row", shown(line), EXPECTED)
        cells = []
        for column, key in enumerate(self._keys):
            cell = cell_of(row.get(key)) if column in self._used else b""
            if cell is None:
                found = shown(json.dumps(row.get(key)).encode())
                return BrokenRow(self._layout.label(column), found, "a text or a whole number")
            cells.append(cell)
        return cells


def cell_of(value: Any) -> bytes | None:
    """The text of a value; None where it has none that could be a name or a time."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return b""
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return str(value).encode()
    except ValueError:  # half of a surrogate pair, or more digits than Python prints
        return None


def _load(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _are_integers(samples: list[dict[str, Any]], key: str) -> bool:
    values = [sample[key] for sample in samples if sample.get(key) is not None]
    return bool(values) and all(type(value) is int for value in values)
