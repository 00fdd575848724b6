"""Files of queries, or of some other columns: read row by row, in bounded memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from apptek.models.answers import Query
from apptek.reading.columns import layout_finder
from apptek.reading.dumps import without_actor
from apptek.reading.options import ReadOptions
from apptek.reading.parts import good_rows
from apptek.reading.reader import open_file

USUAL = ReadOptions()
COLUMNS = ("subject", "object", "time")
Numbered = tuple[int, Query | str]  # the line, and the query or what is wrong with it


class LeftOut(str):
    """What a row of a dump lacks, so that it is none: it is left out, and no error."""

    __slots__ = ()


def read_queries(file: Path, options: ReadOptions = USUAL) -> Iterator[Numbered]:
    """The queries of a file with the columns subject, object and time, each with its line."""
    for line, cells in read_rows(file, COLUMNS, options):
        yield line, cells if isinstance(cells, str) else Query(*cells)


def read_rows(
    file: Path, names: tuple[str, ...], options: ReadOptions = USUAL
) -> Iterator[tuple[int, list[str] | str]]:
    """Some columns of a file, row by row with its line; or what is wrong with a row.

    They are found by their names in a header; without one, the file has these and no others. In a
    dump of events they are those of its facts.
    """
    content = open_file(file, options, None, layout_finder(names))
    for whole in content.parts:
        rows: list[tuple[int, list[str] | str]] = []
        part = replace(whole, table=whole.table.select(list(names)))
        if content.dump is not None:
            empty = without_actor(part)
            lines = np.asarray(part.numbers)[empty].tolist()
            rows += [(line, LeftOut("it lacks one of its actors")) for line in lines]
            part = part.without(empty)
        part = good_rows(part, file.name, content.names)
        rows += [(bad.line, f"{bad.column}: found {bad.found}, expected {bad.expected}")
                 for bad in part.defects]  # fmt: skip
        columns = [column.cast(pa.string()).to_pylist() for column in part.table.columns]
        cells = zip(*columns, strict=True)
        rows += [(int(n), list(row)) for n, row in zip(part.numbers, cells, strict=True)]
        yield from sorted(rows, key=lambda row: row[0])
