"""Lines of a text file split into cells."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A cell of .csv: quoted, where whatever follows the closing quote belongs to it as it is, or plain.
_CSV_CELL = r'"([^"]*+(?:""[^"]*+)*+)"([^%s]*)|((?!")[^%s]*)'


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
    """The cells of each line, none for an empty one. Lines end with LF or CR LF."""
    delimiter = form.delimiter.encode()
    for line in text.split(b"\n")[:-1]:
        bare = line.removesuffix(b"\r")
        if not bare:
            yield []
        elif form.quoted and b'"' in bare:
            yield _split_quoted(bare, form.delimiter)
        else:
            yield bare.split(delimiter)


def _split_quoted(line: bytes, delimiter: str) -> list[bytes]:
    cell = re.compile((_CSV_CELL % (re.escape(delimiter), re.escape(delimiter))).encode())
    cells: list[bytes] = []
    start = 0
    while start <= len(line):  # == too: a delimiter at the very end is followed by an empty cell
        match = cell.match(line, start)
        if match is None:
            return OpenQuote([*cells, line[start:]])
        inner, rest, plain = match.groups()
        cells.append(plain if inner is None else inner.replace(b'""', b'"') + rest)
        start = match.end() + 1
    return cells
