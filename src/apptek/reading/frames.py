"""Frames and tuples: whatever exports Arrow data, without a new dependency.

pandas, polars, DuckDB and pyarrow hand their tables over by `__arrow_c_stream__`. Names and times
become text, and take the way of a file from there: the same times, the same errors.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import date, datetime
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.errors import DataError, NoFactsError
from apptek.reading.columnar import part_of, text_column
from apptek.reading.columns import SPLIT, ColumnLayout, check_roles, columns_of, find_layout
from apptek.reading.parts import Content, Part, texts_of

FrameKind = Literal["pandas", "polars", "arrow"]
When = str | int | date | np.datetime64 | None  # a time in Python; a datetime is a date, too
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a pair, which no encoding can write
_MIDNIGHT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00(Z|[+-][0-9]{2}:[0-9]{2})?")
_UNNAMED_INDEX = re.compile("__index_level_[0-9]+__")  # of pandas
QUERY_ROLES = ("subject", "object", "time")
_HOW = "subject=..., predicate=..., object=..., time=... (or since=..., until=...)"


def is_frame(source: object) -> bool:
    """Whether an object hands over a table: a frame of pandas, polars, DuckDB or pyarrow."""
    return hasattr(source, "__arrow_c_stream__")


def is_list_of_facts(source: object) -> bool:
    """Whether an object is a list of tuples, not a path or several paths."""
    return isinstance(source, Sequence) and bool(source) and isinstance(source[0], tuple | list)


def time_text(when: Any) -> str:
    """A time of Python as the data would write it; empty where it is unknown."""
    if isinstance(when, str):
        return when
    if when is None or when != when:  # noqa: PLR0124  NaN and NaT are unlike themselves
        return ""
    if isinstance(when, datetime):  # and the Timestamp of pandas, which is one
        return when.isoformat(timespec="seconds")
    if isinstance(when, date):
        return when.isoformat()
    if isinstance(when, np.datetime64):
        has_clock = np.datetime_data(when.dtype)[0] not in ("Y", "M", "W", "D")
        return str(np.datetime_as_string(when, unit="s")) if has_clock else str(when)
    is_number = isinstance(when, int | float | np.number) and not isinstance(when, bool)
    if is_number and float(when).is_integer():
        return str(int(when))
    raise DataError(f"found the time {when!r}, expected a text, a date, a datetime or an integer")


def without_midnight(text: str) -> str:
    """The day of a time at midnight, in the zone in which it is written; others as they are."""
    return text[:10] if _MIDNIGHT.fullmatch(text) else text


def frame_of(table: pa.Table, kind: FrameKind | None = None) -> Any:
    """A table as a frame of pandas, polars or Arrow; by default of the first that is installed."""
    if kind not in (None, "pandas", "polars", "arrow"):
        raise DataError(f"a frame of {kind!r}: expected pandas, polars or arrow")
    if kind == "pandas" or (kind is None and find_spec("pandas")):
        return table.to_pandas()
    if kind == "polars" or (kind is None and find_spec("polars")):
        import polars

        return polars.from_arrow(table)
    return table


def table_of(frame: Any, name: str = "frame") -> pa.Table:
    """The whole frame as an Arrow table; DataError where it cannot be handed over."""
    if not is_frame(frame):
        steps = [name for name in ("toArrow", "collect") if hasattr(frame, name)]  # Spark, polars
        advice = f"{steps[0]}() it first" if steps else "expected a frame"
        raise DataError(f"{name}: {type(frame).__name__} hands over no Arrow data; {advice}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of names of columns that are no texts
            table = pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = next(iter("; ".join(map(str, error.args)).splitlines()), type(error).__name__)
        raise DataError(f"{name}: the frame cannot be read ({reason})") from None
    unnamed = [column for column in table.column_names if _UNNAMED_INDEX.fullmatch(str(column))]
    return table.drop_columns(unnamed)


def open_tuples(facts: Iterable[Sequence[Any]], _columns: None, name: str) -> Content:
    """Open tuples (subject, predicate, object), with a time, or with since and until."""
    columns: list[list[str]] = [[], [], [], [], []]
    if isinstance(facts, str) or not isinstance(facts, Iterable):
        raise DataError(
            f"{name}: found {facts!r}, expected tuples (subject, predicate, object, time)"
        )
    for row, fact in enumerate(facts, 1):
        if isinstance(fact, str) or not (isinstance(fact, Sized) and 3 <= len(fact) <= 5):
            raise DataError(
                f"{name}:{row}: found {fact!r}, expected (subject, predicate, object), then "
                "nothing, a time, or since and until"
            )
        since, until = (
            time_text(fact[column] if column < len(fact) else None) for column in (3, 4)
        )
        cells = (*map(_name_text, fact[:3]), since, until if len(fact) == 5 else since)
        for column, cell in zip(columns, cells, strict=True):
            if not cell.isascii() and _SURROGATE.search(cell):
                raise DataError(f"{name}:{row}: found half a character in {cell!r}, expected text")
            column.append(cell)
    roles = ("subject", "predicate", "object", "since", "until")
    table = pa.table([pa.array(column, pa.string()) for column in columns], names=list(roles))
    return open_frame(table, dict(zip(roles, roles, strict=True)), name)


def _name_text(value: Any) -> str:
    return "" if value is None or value != value else str(value)  # noqa: PLR0124  NaN


def open_frame(frame: Any, column_of: Mapping[str, Any] | None, name: str) -> Content:
    """Open a frame.

    column_of  role -> column; without it, the usual names of columns, as in the header of a file
    """
    table = table_of(frame, name)
    if not table.num_rows:
        raise NoFactsError(f"{name}: the frame is empty; expected a fact in each row")
    layout = _find_layout([str(column) for column in table.column_names], column_of, name)
    return Content(iter([_with_days(part_of(table, layout, name))]))


def _with_days(part: Part) -> Part:
    """Return the rows with days, where every time of a column lies at midnight."""
    table = part.table
    for place, role in enumerate(table.column_names):
        if role in ("time", "since", "until"):
            texts = texts_of(table.column(role))
            cut = [without_midnight(text) for text in texts.dictionary.to_pylist()]
            if not any("T" in text for text in cut):
                days = pa.DictionaryArray.from_arrays(texts.indices, pa.array(cut, pa.string()))
                table = table.set_column(place, role, days)
    return replace(part, table=table)


def read_query_texts(frame: Any, roles: tuple[str, ...] = QUERY_ROLES) -> list[tuple[str, ...]]:
    """Subject, object and time of each row of a frame, as texts; errors count rows from 1."""
    columns = query_text_columns(table_of(frame), "frame", roles)
    return list(zip(*(column.cast(pa.string()).to_pylist() for column in columns), strict=True))


def query_text_columns(
    table: pa.Table, name: str, roles: tuple[str, ...] = QUERY_ROLES
) -> list[pa.DictionaryArray]:
    """Subjects, objects and times of a table as dictionaries of distinct texts."""
    names = [str(column) for column in table.column_names]
    columns = columns_of(roles, names)
    if columns is None:
        expected = f"{', '.join(roles[:-1])} and {roles[-1]}"
        raise DataError(f"{name}: found the columns {', '.join(names)}; expected {expected}")
    texts = [
        text_column(table.column(column), names[column], name).cast(pa.string())
        for column in columns
    ]
    empty = [row for text in texts[:2] if (row := pc.index(text, "").as_py()) >= 0]
    if empty:
        raise DataError(
            f"{name}:{min(empty) + 1}: found an empty name, expected a subject and an object"
        )
    return [text.dictionary_encode() for text in texts]


def _find_layout(names: list[str], column_of: Mapping[str, Any] | None, name: str) -> ColumnLayout:
    if not column_of or list(column_of) == [SPLIT]:
        layout, is_header = find_layout(names, dict(column_of or {}) or None, None, name)
        if not is_header:
            raise DataError(
                f"{name}: the columns {', '.join(names)} do not say what they hold: name them by "
                f"{_HOW}"
            )
        return layout
    given = {role: str(column) for role, column in column_of.items()}
    check_roles(given, name)
    return find_layout(names, given, True, name)[0]
