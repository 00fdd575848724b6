"""Files of queries, or of some other columns: read row by row, in bounded memory."""

from collections.abc import Iterator
from pathlib import Path

from apptek.models.answers import Query
from apptek.reading.columns import ColumnLayout, layout_finder
from apptek.reading.exact_rows import RowError, check_cells, text_of
from apptek.reading.options import ReadOptions
from apptek.reading.reader import open_file
from apptek.safe_text import counted

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
    columns = [content.layout.columns[name] for name in names]
    for chunk in content.chunks:
        for row, cells in enumerate(chunk.rows):
            if cells:
                yield chunk.number(row), _cells(cells, columns, content.layout)


def _cells(cells: list[bytes], columns: list[int], layout: ColumnLayout) -> list[str] | str:
    """The cells of a row, or what is wrong with it; subject and object come first."""
    try:
        check_cells(cells, layout)
        if max(columns) >= len(cells):
            return f"found {counted(len(cells), 'column')}, expected {max(columns) + 1}"
        texts = [text_of(cells[column], layout, column) for column in columns]
    except RowError as fault:
        return f"{fault.column}: found {fault.found}, expected {fault.expected}"
    if layout.nobody.intersection(texts[:2]):
        return LeftOut("it lacks one of its actors")
    if not texts[0] or not texts[1]:
        return "found an empty name, expected a subject and an object"
    return texts
