"""The careful path: one row after the other, with the line and the reason of whatever is wrong.

This is the definition of a good row. It is slow: arrow_tables.py reads whole blocks, and hands a
block over to this module as soon as anything in it looks wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from apptek.errors import TimeFormatError
from apptek.facts.calendar.time_dictionary import TimeDictionary
from apptek.facts.facts import Defect
from apptek.reading.columns import SPLIT, ColumnLayout
from apptek.reading.fact_batch import NAME_ROLES, FactBatch, split_code
from apptek.reading.text_cells import BrokenRow, OpenQuote, shown

SINCE_MARKS = frozenset({"<occursSince>", "occursSince"})
UNTIL_MARKS = frozenset({"<occursUntil>", "occursUntil"})


class RowError(Exception):
    """What is wrong with one row."""

    def __init__(self, column: str, found: str, expected: str, fact: tuple[str, ...] = ()) -> None:
        super().__init__(column, found, expected)
        self.column, self.found, self.expected, self.fact = column, found, expected, fact

    def at(self, file: str, line: int) -> Defect:
        """The defect that this is in a line of a file."""
        return Defect(
            file=file,
            line=line,
            column=self.column,
            found=self.found,
            expected=self.expected,
            fact=self.fact,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A good row: three names and the ids of two times in the TimeDictionary."""

    subject: str
    predicate: str
    object: str
    since: int
    until: int
    split: int  # see SPLIT_CODES


Report = Callable[[int, RowError], None]  # the row of the block, counted from 0, and its fault


def batch_of_rows(
    rows: Iterable[list[bytes]], layout: ColumnLayout, times: TimeDictionary, report: Report
) -> FactBatch:
    """The facts of all good rows; `report` is called for each bad one (and may raise)."""
    good: list[Row] = []
    for number, cells in enumerate(rows):
        if not cells:
            continue
        state = times.state
        try:
            good.append(read_row(cells, layout, times))
        except RowError as fault:
            times.state = state  # a bad row does not decide what times are
            report(number, fault)
    texts = {role: [getattr(row, role) for row in good] for role in NAME_ROLES}
    names = {role: pa.array(texts[role], pa.string()).dictionary_encode() for role in NAME_ROLES}
    since = np.asarray([row.since for row in good], np.int32)
    until = np.asarray([row.until for row in good], np.int32)
    splits = np.asarray([row.split for row in good], np.int8) if SPLIT in layout.columns else None
    return FactBatch.of(names, since, until, splits)


def read_row(cells: Sequence[bytes], layout: ColumnLayout, times: TimeDictionary) -> Row:
    """Reads the cells of a row; RowError where it is bad."""
    check_cells(cells, layout)
    if layout.free:
        if not 3 <= len(cells) <= 5:
            raise RowError("row", _found_columns(cells), "3, 4 or 5 columns")
    elif len(cells) != layout.width:
        raise RowError("row", _found_columns(cells), _columns(layout.width))
    texts = [text_of(cell, layout, column) for column, cell in enumerate(cells)]
    subject, predicate, object_ = (_name(texts, layout, role) for role in NAME_ROLES)
    since, until = _time_ids(texts, (subject, predicate, object_), layout, times)
    return Row(subject, predicate, object_, since, until, _split(texts, layout))


def check_cells(cells: Sequence[bytes], layout: ColumnLayout) -> None:
    """RowError where a row could not be split into cells."""
    if isinstance(cells, BrokenRow):
        raise RowError(*cells.fault)
    if isinstance(cells, OpenQuote):
        found = f"a quote that the line does not close in {shown(cells[-1])}"
        raise RowError(layout.label(len(cells) - 1), found, 'a closing " on the same line')


def _found_columns(cells: Sequence[bytes]) -> str:
    """How many columns a row has, with advice where they are very few or many."""
    columns = _columns(len(cells))
    if len(cells) > 5:
        return f"{columns} (--columns says which to take)"
    for separator in (b",", b"\t", b";", b"|", b" "):
        count = max(len(cell.split(separator)) for cell in cells)
        if len(cells) < 3 <= count:
            advice = f"{count} if separated by {separator.decode()!r}"
            return f"{columns} ({advice}: see --read delimiter=)"
    return columns


def _columns(count: int) -> str:
    return f"{count} column{'s' if count != 1 else ''}"


def text_of(cell: bytes, layout: ColumnLayout, column: int) -> str:
    """The text of a cell; RowError where it is none."""
    if b"\0" in cell:
        raise RowError(layout.label(column), f"a NUL byte in {shown(cell)}", "text")
    try:
        return cell.decode()
    except UnicodeDecodeError as error:
        found = f"byte 0x{cell[error.start]:02x} in {shown(cell)}"
        raise RowError(
            layout.label(column), found, "valid UTF-8 (or --read encoding=NAME)"
        ) from None


def _name(texts: list[str], layout: ColumnLayout, role: str) -> str:
    column = layout.columns[role]
    if not texts[column]:
        raise RowError(layout.label(column), "nothing", "a name")
    if role not in layout.names:
        return texts[column]
    name = layout.names[role].get(texts[column].strip(" "))
    if name is None:
        raise RowError(layout.label(column), shown(texts[column].encode()), "an id that has a name")
    return name


def _split(texts: list[str], layout: ColumnLayout) -> int:
    if SPLIT not in layout.columns:
        return 0
    column = layout.columns[SPLIT]
    code = split_code(texts[column])
    if code < 0 and layout.splits:
        raise RowError(layout.label(column), shown(texts[column].encode()), "train, valid or test")
    return code


def _time_ids(
    texts: list[str], names: tuple[str, ...], layout: ColumnLayout, times: TimeDictionary
) -> tuple[int, int]:
    """The ids of since and until."""
    since, until = _time_columns(texts, layout)
    roles = ("time", "time") if since == until else ("since", "until")
    first, last = (
        times.add("") if column is None else _time(texts[column], layout.label(column, role), times)
        for column, role in zip((since, until), roles, strict=True)
    )
    low, high = times.bounds_of(first)[0], times.bounds_of(last)[1]
    if since is not None and until is not None and low > high:
        found = f"since {texts[since]} after until {texts[until]}"
        fact = (*names, texts[since], texts[until])
        raise RowError(layout.label(until, "until"), found, "since not after until", fact)
    return first, last


def _time_columns(texts: list[str], layout: ColumnLayout) -> tuple[int | None, int | None]:
    """The columns of since and until in a row, None where it has none."""
    if not layout.free:
        point = layout.columns.get("time")
        return layout.columns.get("since", point), layout.columns.get("until", point)
    if len(texts) == 3:
        return None, None
    if len(texts) == 4:
        return 3, 3
    if texts[3] in SINCE_MARKS:
        return 4, None
    return (None, 4) if texts[3] in UNTIL_MARKS else (3, 4)


def _time(text: str, label: str, times: TimeDictionary) -> int:
    try:
        return times.add(text)
    except TimeFormatError as error:
        raise RowError(label, shown(text.encode()), str(error)) from None
