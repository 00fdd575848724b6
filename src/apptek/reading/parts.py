"""What every kind of file becomes: Arrow tables of text columns, named by role.

A kind of file is one function from a path to a Content.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Bools, Longs
from apptek.facts.facts import Defect
from apptek.reading.streams import MARKED

NAME_ROLES = ("subject", "predicate", "object")
TEXT_TYPE = pa.dictionary(pa.int32(), pa.string())
_STRANGE = rf"[\x00\x{{{MARKED:X}}}-\x{{{MARKED + 255:X}}}]"


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a file: columns of TEXT_TYPE, named by role.

    numbers  the number of each row in the file
    labels   role -> the column as an error message names it
    defects  rows among them that are none
    """

    table: pa.Table
    numbers: range | Longs
    labels: Mapping[str, str]
    defects: Sequence[Defect] = ()
    position: int = 0  # bytes of the file read so far

    def without(self, rows: Bools) -> "Part":
        """Return the part without some rows."""
        if not rows.any():
            return self
        table = self.table.filter(pa.array(~rows))
        return replace(self, table=table, numbers=np.asarray(self.numbers)[~rows])


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was opened: its rows, and how it is read.

    first  the number of its first row, where that is no known header, but may be one
    names  by role, what the texts in a column stand for, where they are ids
    dump   the name of the dump of event data that it is
    """

    parts: Iterator[Part]
    how: dict[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # complete once all parts were read
    first: int | None = None
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    dump: str | None = None


def no_rows(numbers: Sequence[int], file: str, found: str, expected: str) -> Part:
    """Return a part of bad rows alone."""
    defects = [
        Defect(file=file, line=number, column="row", found=found, expected=expected)
        for number in numbers
    ]
    nothing = {role: pa.array([], pa.string()) for role in NAME_ROLES}
    return Part(pa.table(nothing), range(0), {}, defects)


def texts_of(column: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """Return a column of texts as one dictionary; what is missing becomes empty."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.type != TEXT_TYPE or column.null_count or column.dictionary.null_count:
        texts = pc.fill_null(column.dictionary.cast(pa.string()), "")
        indices = column.indices.cast(pa.int32())
        if indices.null_count:
            indices = pc.fill_null(indices, len(texts))
            texts = pa.concat_arrays([texts, pa.array([""])])
        column = pa.DictionaryArray.from_arrays(indices, texts)
    return column


def rows_where(column: pa.DictionaryArray, texts: pa.Array) -> Bools:
    """Return the rows whose distinct text is among some, which a mask says."""
    found = texts.to_numpy(zero_copy_only=False).astype(np.bool_)
    if not found.any():
        return np.zeros(len(column), np.bool_)
    rows: Bools = found[column.indices.to_numpy()]
    return rows


def shown(text: str) -> str:
    """Return a cell as an error message shows it."""
    for byte in {ord(c) - MARKED for c in text if ord(c) >= MARKED}:
        text = text.replace(chr(MARKED + byte), f"\\x{byte:02x}")
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def good_rows(part: Part, file: str, names: Mapping[str, Mapping[str, str]]) -> Part:
    """Return the part without rows that have bytes that are no text, no name, or an unknown id.

    names  see Content: the ids become names
    """
    columns = {role: texts_of(part.table.column(role)) for role in part.table.column_names}
    bad, defects = np.zeros(part.table.num_rows, np.bool_), list(part.defects)

    def blame(role: str, texts: pa.Array, fault: Callable[[str], tuple[str, str]]) -> None:
        rows = np.flatnonzero(rows_where(columns[role], texts) & ~bad)
        bad[rows] = True
        for row in rows.tolist():
            found, expected = fault(columns[role][row].as_py())
            defects.append(
                Defect(
                    file=file,
                    line=int(part.numbers[row]),
                    column=part.labels[role],
                    found=found,
                    expected=expected,
                )
            )

    for role in [role for role in columns if role in part.labels]:
        texts = columns[role].dictionary
        blame(role, pc.match_substring_regex(texts, _STRANGE), _strange_text)
    for role in [role for role in NAME_ROLES if role in columns]:
        texts = columns[role].dictionary
        blame(role, pc.equal(texts, ""), lambda _: ("nothing", "a name"))
        if role in names:
            ids = [names[role].get(text.strip(" ")) for text in texts.to_pylist()]
            unknown = pa.array([name is None for name in ids], pa.bool_())
            blame(role, unknown, lambda text: (shown(text), "an id that has a name"))
            named = pa.array([name or "" for name in ids], pa.string())
            columns[role] = pa.DictionaryArray.from_arrays(columns[role].indices, named)
    defects.sort(key=lambda defect: defect.line)
    return replace(part, table=pa.table(columns), defects=defects).without(bad)


def _strange_text(text: str) -> tuple[str, str]:
    if "\0" in text:
        return f"a NUL byte in {shown(text)}", "text"
    byte = next(ord(c) - MARKED for c in text if ord(c) >= MARKED)
    return f"byte 0x{byte:02x} in {shown(text)}", "valid UTF-8 (or --read encoding=NAME)"
