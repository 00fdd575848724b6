"""Lines of a text file split into cells."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_ROW = 1 << 20  # bytes in which a quote that a line opens is looked for its end
# A cell of .csv: quoted, where whatever follows the closing quote belongs to it as it is, or plain.
_CSV_CELL = r'"([^"]*+(?:""[^"]*+)*+)"([^%s]*)|((?!")[^%s]*)'
# A cell that may hold line breaks: only a delimiter or the line's end follows its quote.
_LONG_CELL = r'(?:"([^"]*+(?:""[^"]*+)*+)"|((?!")[^%s\r\n]*+))(%s|\r?\n)'


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How the cells of a text file are separated."""

    delimiter: str
    quoted: bool  # .csv; in .txt and .tsv a quote is a character like any other


TEXT_FORMATS = {
    ".txt": TextFormat("\t", quoted=False),
    ".tsv": TextFormat("\t", quoted=False),
    ".tab": TextFormat("\t", quoted=False),
    ".csv": TextFormat(",", quoted=True),
}


class BrokenRow(list[bytes]):
    """A row that has no cells, and why: the column, what was found, what is expected."""

    def __init__(self, column: str, found: str, expected: str) -> None:
        super().__init__([b""])
        self.fault = (column, found, expected)


def shown(cell: bytes) -> str:
    """A cell as an error message shows it."""
    text = repr(cell.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 60 else text[:57] + "..."


class OpenQuote(list[bytes]):
    """The cells of a line whose last cell opens a quote that the line does not close."""


def split_lines(text: bytes, form: TextFormat) -> Iterator[list[bytes]]:
    """The cells of each line, none for an empty one. Lines end with LF or CR LF.

    A quoted cell of .csv may go on in the next lines; these then have no cells of their own.
    """
    delimiter = form.delimiter.encode()
    start = after = 0  # of this line; of the row before
    for line in text.split(b"\n")[:-1]:
        bare = line.removesuffix(b"\r")
        if start < after or not bare:
            yield []
        elif form.quoted and b'"' in bare:
            cells = _split_quoted(bare, form.delimiter)
            if isinstance(cells, OpenQuote):
                cells, after = _split_long(text, start, form.delimiter) or (cells, after)
            yield cells
        else:
            yield bare.split(delimiter)
        start += len(line) + 1


def _split_quoted(line: bytes, delimiter: str) -> list[bytes]:
    cell = re.compile((_CSV_CELL % (re.escape(delimiter), re.escape(delimiter))).encode())
    cells: list[bytes] = []
    start = 0
    while start <= len(line):  # == too: a delimiter at the very end is followed by an empty cell
        match = cell.match(line, start)
        if match is None:
            return OpenQuote([*cells, line[start:]])
        inner, rest, plain = match.groups()
        if rest and inner.endswith(b"\\"):
            found = f"a backslash before a quote in {shown(match.group())}"
            return BrokenRow("row", found, 'quotes within quotes to be doubled: ""')
        cells.append(plain if inner is None else inner.replace(b'""', b'"') + rest)
        start = match.end() + 1
    return cells


def _split_long(text: bytes, start: int, delimiter: str) -> tuple[list[bytes], int] | None:
    """The cells of a row with line breaks in quotes, and where it ends; None if it is no such."""
    mark = re.escape(delimiter)
    cell = re.compile((_LONG_CELL % (mark, mark)).encode())
    cells: list[bytes] = []
    stop = start + LONGEST_ROW
    while match := cell.match(text, start, stop):
        inner, plain, end = match.groups()
        cells.append(plain if inner is None else inner.replace(b'""', b'"'))
        start = match.end()
        if end.endswith(b"\n"):
            return cells, start
    return None
