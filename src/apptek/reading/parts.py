"""The common form of every source: Arrow tables of text columns, named by role.

A source of facts is a function that returns a Content. `reader.py` lists all of them.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Bools, Ints, Longs
from apptek.facts.facts import Defect
from apptek.reading.columns import FREE_LAYOUTS, SINCE_MARKS, UNTIL_MARKS, Beginning, ColumnLayout
from apptek.reading.rdf_names import Vocabulary
from apptek.safe_text import counted

NAME_ROLES = ("subject", "predicate", "object")
TEXT_TYPE = pa.dictionary(pa.int32(), pa.string())
EXACT = 2**53  # below this, floats represent every whole number exactly
Row = tuple[int, Sequence[Any]]  # its number and its cells


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a file: columns of TEXT_TYPE, named by role.

    numbers  the number of each row in the file
    labels   role -> the column as named in error messages
    defects  the bad rows among them
    """

    table: pa.Table
    numbers: range | Longs
    labels: Mapping[str, str]
    defects: Sequence[Defect] = ()
    position: int = 0  # bytes read so far

    def without(self, rows: Bools) -> "Part":
        """Return the part without some of its rows."""
        if not rows.any():
            return self
        table = self.table.filter(pa.array(~rows))
        return replace(self, table=table, numbers=np.asarray(self.numbers)[~rows])

    def shifted(self, by: int) -> "Part":
        """Return the part with row numbers increased by this amount."""
        if isinstance(self.numbers, range):
            numbers: range | Longs = range(self.numbers.start + by, self.numbers.stop + by)
        else:
            numbers = self.numbers + by
        defects = [replace(defect, line=defect.line + by) for defect in self.defects]
        return replace(self, numbers=numbers, defects=defects)


@dataclass(frozen=True, slots=True)
class Content:
    """An opened source: its rows, and how they are read.

    first  the number of its first row if that is not a known header but may be one
    names  by role, the names for the ids in a column, if it contains ids
    dump   the name of the event data dump, if it is one
    vocabulary  for RDF: its names are IRIs, which become labels; complete once all parts were read
    """

    parts: Iterator[Part]
    how: dict[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # complete once all parts were read
    first: int | None = None
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    dump: str | None = None
    vocabulary: Vocabulary | None = None


def without_titles(parts: Iterator[Part], begin: Beginning) -> Iterator[Part]:
    """Yield the parts without the header, which occurs again in concatenated files."""
    note, count = "the header occurs again further down; the repeats are left out", 0
    for part in parts:
        rows = np.full(part.table.num_rows, bool(begin.titles))
        for role, title in begin.titles.items():
            column = texts_of(part.table.column(role))
            rows &= rows_where(column, pc.equal(column.dictionary, title))
        count += int(rows.sum())
        if count > 1 and note not in begin.notes:
            begin.notes.append(note)
        yield part.without(rows)


def parts_of_rows(
    rows: Iterable[Row],
    layout: ColumnLayout,
    file: str,
    expected: str = "a text or a whole number",
    defects: Sequence[Defect] = (),
    position: int = 0,
    exact: bool = False,
) -> Iterator[Part]:
    """Yield rows of Python values as texts, grouped by width in a free layout.

    defects  additional rows of the file that are bad
    exact    rows must have the layout's width; otherwise they may have more cells
    """
    by_width: dict[int, list[Row]] = {}
    for number, row in rows:
        by_width.setdefault(len(row), []).append((number, row))
    defects, parts = list(defects), []
    for width, alike in by_width.items():
        if layout.free and width in FREE_LAYOUTS:
            parts += by_mark(_part_of(alike, FREE_LAYOUTS[width], file, expected))
        elif not layout.free and not exact and width > max(layout.columns.values()):
            parts.append(_part_of(alike, layout, file, expected))
        else:
            wanted = "3, 4 or 5 columns" if layout.free else counted(layout.width, "column")
            wanted += " (--columns or --read delimiter= may help)" * layout.free
            found = counted(width, "column")
            defects += [Defect(file, number, "row", found, wanted) for number, _ in alike]
    first, *others = parts or [_part_of([], layout, file, expected)]
    yield replace(first, defects=[*first.defects, *defects], position=position)
    yield from others


def _part_of(rows: list[Row], layout: ColumnLayout, file: str, expected: str) -> Part:
    """Return rows of one width as texts. A row with a value that has no text is bad."""
    columns, bad, labels = {}, dict[int, str](), layout.labels
    for role, place in layout.columns.items():
        columns[role] = pa.array([text_of(row[place]) for _, row in rows], pa.string())
        for row in np.flatnonzero(columns[role].is_null()).tolist():
            bad.setdefault(row, role)
    defects = []
    for row, role in sorted(bad.items()):
        number, value = rows[row][0], rows[row][1][layout.columns[role]]
        text = str(value) if isinstance(value, float) else json.dumps(value, default=str)
        defects.append(Defect(file, number, labels[role], shown(text), expected))
    numbers = np.asarray([number for number, _ in rows], np.int64)
    is_bad = np.isin(np.arange(len(rows)), list(bad))
    return Part(pa.table(columns), numbers, labels, defects).without(is_bad)


def text_of(value: Any) -> str | None:
    """Return a value's text, or None if it cannot be a name or a time."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        text = str(value)
        text.encode()
    except ValueError:  # half of a surrogate pair, or more digits than Python prints
        return None
    return text


def by_mark(part: Part) -> list[Part]:
    """Separate the rows whose fourth cell is a mark for the end in the fifth cell."""
    if "until" not in part.labels:
        return [part]
    column = texts_of(part.table.column("since"))
    masks = {
        role: rows_where(column, pc.is_in(column.dictionary, value_set=pa.array(marks)))
        for role, marks in (("since", SINCE_MARKS), ("until", UNTIL_MARKS))
    }
    plain = ~(masks["since"] | masks["until"])
    if plain.all():
        return [part]
    parts = [part.without(~plain)]
    for role, mask in masks.items():
        rows = part.without(~mask)
        table = rows.table.drop_columns(["since", "until"])
        table = table.append_column(role, rows.table.column("until"))
        labels = {**part.labels, role: f"column 5 ({role})"}
        parts.append(replace(rows, table=table, labels=labels, defects=()))
    return parts


def texts_of(column: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """Return a column of texts as one dictionary. Missing values become empty texts."""
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


def unify(columns: list[pa.DictionaryArray], *, ordered: bool = False) -> tuple[pa.Array, Ints]:
    """Return all distinct texts, and the id of each row's text.

    ordered  sort texts by their bytes; otherwise an empty text comes first

    Only the dictionaries of the columns are compared, and the rows are mapped once. The list is
    emptied in the process, so each column's memory is freed once it was mapped.
    """
    nothing = pa.array([""][ordered:], pa.string())
    unified = pa.concat_arrays([nothing, *(c.dictionary for c in columns)]).dictionary_encode()
    texts, entries = unified.dictionary, unified.indices.to_numpy()
    if ordered:
        order = pc.array_sort_indices(texts)  # Arrow compares strings by their bytes
        ranks = np.empty(len(texts), np.int32)
        ranks[order.to_numpy()] = np.arange(len(texts), dtype=np.int32)
        texts, entries = texts.take(order), ranks[entries]
    ids = np.empty(sum(len(column) for column in columns), np.int32)
    row, entry = 0, len(nothing)
    while columns:
        column = columns.pop(0)
        mapped = entries[entry : entry + len(column.dictionary)]
        np.take(mapped, column.indices.to_numpy(), out=ids[row : row + len(column)])
        row, entry = row + len(column), entry + len(column.dictionary)
    return texts, ids


def rows_where(column: pa.DictionaryArray, texts: pa.Array) -> Bools:
    """Return the rows whose distinct text is marked in a mask."""
    found = texts.to_numpy(zero_copy_only=False).astype(np.bool_)
    if not found.any():
        return np.zeros(len(column), np.bool_)
    rows: Bools = found[column.indices.to_numpy()]
    return rows


def shown(text: str) -> str:
    """Return a cell in the form used in error messages."""
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def good_rows(part: Part, file: str, names: Mapping[str, Mapping[str, str]]) -> Part:
    """Return the part without rows that have a NUL byte, an empty name or an unknown id.

    names  see Content; the ids are replaced by names
    """
    columns = {role: texts_of(part.table.column(role)) for role in part.table.column_names}
    bad, defects = np.zeros(part.table.num_rows, np.bool_), list(part.defects)

    def blame(role: str, texts: pa.Array, fault: Callable[[str], tuple[str, str]]) -> None:
        rows = np.flatnonzero(rows_where(columns[role], texts) & ~bad)
        bad[rows] = True
        for row in rows.tolist():
            fault_of = fault(columns[role][row].as_py())
            defects.append(Defect(file, int(part.numbers[row]), part.labels[role], *fault_of))

    for role in [role for role in columns if role in part.labels]:
        has_nul = pc.match_substring(columns[role].dictionary, "\0")
        blame(role, has_nul, lambda text: (f"a NUL byte in {shown(text)}", "text"))
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
