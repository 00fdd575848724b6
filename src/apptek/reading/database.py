"""Facts and queries from a database table, or from a user's SQL query."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from apptek.databases import SQLITE, Database, find_database, quoted
from apptek.errors import NoFactsError, UnfitOptionsError
from apptek.reading.columns import ColumnLayout, Roles, named_layout
from apptek.reading.frames import check_type, text_column
from apptek.reading.options import ReadOptions
from apptek.reading.parts import Content, Part

_WHOLE_NUMBER = re.compile("-?[0-9]+")
_DATE = re.compile("[0-9]{4}(-[0-9]{2}){0,2}(?![0-9])")  # a year, a month or a day


def open_database(source: Any, options: ReadOptions, name: str, roles: Roles = None) -> Content:
    """Open a database table or a query. Only the columns that are needed are read."""
    database = find_database(source)
    assert database is not None
    if options.sql and database.table:
        raise UnfitOptionsError(f"{database}: expected a table after the URL or --sql, not both")
    query = database.query(options.sql)
    schema = database.schema(query)
    layout, notes = named_layout(schema.names, options.column_of(), name, roles)
    statement = _statement(database, query, schema, layout, options.since)
    parts = _parts(database, statement, schema.names, layout)
    return Content(parts, notes=notes)


def _parts(
    database: Database, statement: str, names: list[str], layout: ColumnLayout
) -> Iterator[Part]:
    number, size = 1, 0
    for table in database.tables(statement):
        size += table.nbytes
        texts = {
            role: text_column(table.column(role), names[place], database.name)
            for role, place in layout.columns.items()
        }
        numbers = range(number, number + len(table))
        yield Part(pa.table(texts), numbers, layout.labels, position=size)
        number += len(table)
    if number == 1:
        raise NoFactsError(f"{database.name}: there are no rows; expected a fact in each row")


def _statement(
    database: Database, query: str, schema: pa.Schema, layout: ColumnLayout, since: str
) -> str:
    """Return the query with only the layout's columns, each named by its role."""
    selected, conditions = [], []
    for role, place in layout.columns.items():
        column = schema.field(place)
        value = _value(database, column)
        selected.append(f'{value} as "{role}"')
        if since and role in ("time", "since"):
            conditions.append(_condition(database, column, since))
            conditions += [f"{quoted(column.name)} is null"] * (role == "since")
    where = f" where {' or '.join(conditions)}" if conditions and conditions[0] else ""
    return f"select {', '.join(selected)} from (\n{query}\n) as facts{where}"  # noqa: S608


def _value(database: Database, column: pa.Field) -> str:
    """Return SQL for a column's values that gives Arrow the right texts."""
    name, types = quoted(column.name), pa.types
    if database.kind == SQLITE:  # in SQLite, values have types and columns do not
        whole = f"cast({name} as integer)"
        return (
            f"case when typeof({name}) = 'real' and {name} = {whole} then cast({whole} as text) "
            f"else coalesce(cast({name} as text), '') end"  # otherwise ADBC reads NULLs as integers
        )
    if (column.metadata or {}).get(b"POSTGRESQL:type") == b"numeric":
        return f"cast(trim_scale({name}) as text)"
    if isinstance(column.type, pa.BaseExtensionType):  # UUIDs, JSON, and types unknown to Arrow
        return f"cast({name} as text)"
    check_type(column.type, column.name, database.name)
    if types.is_date(column.type) or types.is_timestamp(column.type):
        return f"case when isfinite({name}) then {name} end"  # 'infinity' is an unknown end
    return name


def _condition(database: Database, column: pa.Field, since: str) -> str:
    """Return a condition that all rows from a given time on meet. Earlier rows may meet it too.

    The condition is empty if the database cannot compare the column's times.
    """
    name, kind, types = quoted(column.name), column.type, pa.types
    if database.kind != SQLITE and types.is_integer(kind):
        return f"{name} >= {since}" if _WHOLE_NUMBER.fullmatch(since) else ""
    if (found := _DATE.match(since)) is None:
        return ""
    day = f"{found[0]}-01-01"[:10]
    if database.kind != SQLITE and (types.is_date(kind) or types.is_timestamp(kind)):
        if types.is_timestamp(kind) and kind.tz is not None:  # a day begins earlier in the east
            day = str(date.fromisoformat(day) - timedelta(days=1))
        return f"{name} >= '{day}'"
    text = f"cast({name} as text)"
    return f"({text} >= '{day}' or {text} not like '____-__-__%')"
