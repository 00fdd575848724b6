"""Databases by URL: PostgreSQL, SQLite and DuckDB, read and written as Arrow tables.

The drivers are from ADBC, in the extra `sql`. A URL may contain a password, which never appears in
messages. libpq's own settings (PGPASSWORD, .pgpass, a service file) work as usual.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from apptek.errors import DatabaseError
from apptek.files import check_target
from apptek.safe_text import without_passwords

POSTGRESQL, SQLITE, DUCKDB = "postgresql", "sqlite", "duckdb"
SCHEMES = {"postgresql": POSTGRESQL, "postgres": POSTGRESQL, "sqlite": SQLITE, "duckdb": DUCKDB}
EXPECTED = "postgresql://USER@HOST/DATABASE, sqlite:///FILE or duckdb:///FILE"
DRIVERS = "adbc_driver_manager"
RUN_AT = "run_at"  # a written table's column with the start time of the command
RUN_DATE = "run_date"  # the column with the date of a daily run, whose rows are replaced by date
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# What ADBC writes before the reason.
_STATUS = re.compile(r"^(?:[A-Z_]+: )?(?:\[\w+\] )?(?:Failed to prepare query: )?(?:ERROR:\s+)?")
_ROWS = 1 << 18  # minimum rows in a table; some drivers send batches of 1,024


@dataclass(frozen=True, slots=True)
class Database:
    """A database, and optionally one of its tables.

    url    without the table; it may contain a password, so print the database itself instead
    table  its name, or SCHEMA.NAME
    """

    kind: str
    url: str = field(repr=False)
    table: str = ""

    def __str__(self) -> str:
        return without_passwords(self.url) + (f"#{self.table}" if self.table else "")

    @property
    def name(self) -> str:
        """The table or the database, as named in data sets and messages about rows."""
        last = self.url.partition("?")[0].partition("://")[2].rpartition("/")[2]
        return self.table or (last if self.kind == POSTGRESQL else Path(last).stem) or self.kind

    @property
    def file(self) -> Path:
        """The file of a file-based database."""
        return Path(self.url.partition(":///")[2])

    def query(self, sql: str) -> str:
        """Return the user's query or the table. Raise DatabaseError unless exactly one is given.

        It is used as a subquery, so it cannot change anything.
        """
        if bool(sql) == bool(self.table):
            found = "found both" if sql else "found neither"
            expected = "expected a table after the URL (#TABLE) or --sql QUERY"
            raise DatabaseError(f"{self}: {found}, {expected}")
        table = ".".join(map(quoted, self.table.split(".", 1)))
        return sql.rstrip().rstrip(";") or f"select * from {table}"  # noqa: S608

    def schema(self, query: str) -> pa.Schema:
        """Return the columns of a query and their types."""
        with self._errors(), self._cursor() as cursor:
            cursor.execute(f"select * from (\n{query}\n) as facts limit 0")  # noqa: S608
            return cursor.fetch_record_batch().schema

    def tables(self, query: str) -> Iterator[pa.Table]:
        """Yield a query's rows as they arrive. A single statement gives a consistent snapshot."""
        with self._errors(), self._cursor() as cursor:
            cursor.execute(query)
            batches: list[pa.RecordBatch] = []
            for batch in cursor.fetch_record_batch():
                batches.append(batch)
                if sum(map(len, batches)) >= _ROWS:
                    yield pa.Table.from_batches(batches)
                    batches = []
            if batches:
                yield pa.Table.from_batches(batches)

    def check_writable(self) -> None:
        """Raise DatabaseError if no table can be written, as a check before long work."""
        self._require_driver()
        if not self.table:
            raise DatabaseError(f"{self}: expected a table after the URL (#TABLE)")
        if self.kind == POSTGRESQL:
            with self._errors(), self._cursor(write=True):
                return
        check_target(self.file)

    @contextmanager
    def appending(self) -> Iterator[Callable[[pa.Table], None]]:
        """Yield a function that appends rows to the table, in a single transaction."""
        with self.transaction() as connection:
            yield self.appender(connection)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Yield a connection. Its writes are committed at the end, or rolled back on failure."""
        with ExitStack() as stack:
            with self._errors():
                connection = stack.enter_context(self._connect(write=True))
            yield connection
            with self._errors():
                connection.commit()

    def appender(self, connection: Any, run: str = "") -> Callable[[pa.Table], None]:
        """Return a function that appends rows to the table, which is created if it does not exist.

        All rows get the time of the run. If `run` contains the run's date, they also get that date
        and replace the rows from that run.
        """
        run_at, (schema, _, table) = datetime.now(UTC), self.table.rpartition(".")
        schema = schema or ("main" if self.kind == DUCKDB else "")
        with self._errors(), connection.cursor() as cursor:
            known = self._columns(cursor, schema, table)
            if run and known:
                self._delete_run(cursor, known, run)

        def append(rows: pa.Table) -> None:
            when = pa.array([run_at] * rows.num_rows, pa.timestamp("us", "UTC"))
            rows = rows.add_column(0, RUN_AT, when)
            if run:
                rows = rows.add_column(0, RUN_DATE, pa.array([run] * rows.num_rows, pa.string()))
            if self.kind == DUCKDB and known and known != rows.column_names:
                found = f"{self}: the table has the columns {', '.join(known)}"
                raise DatabaseError(f"{found}; expected {', '.join(rows.column_names)}")
            with self._errors(), connection.cursor() as cursor:
                cursor.adbc_ingest(table, rows, "create_append", db_schema_name=schema or None)

        return append

    def _columns(self, cursor: Any, schema: str, table: str) -> list[str]:
        """Return a table's columns, or none if the table does not exist."""
        if self.kind == SQLITE:
            cursor.execute("select name from pragma_table_info($1)", (table,))
        else:
            query = "select column_name from information_schema.columns where table_name = $1"
            where = "table_schema = case when $2 = '' then current_schema() else $2 end"
            cursor.execute(f"{query} and {where} order by ordinal_position", (table, schema))
        return [name for (name,) in cursor.fetchall()]

    def _delete_run(self, cursor: Any, known: list[str], run: str) -> None:
        if RUN_DATE not in known:
            found = f"{self}: the table has the columns {', '.join(known)}"
            raise DatabaseError(f"{found}; expected a new table, or one created by `apptek run`")
        table = ".".join(map(quoted, self.table.split(".", 1)))
        cursor.execute(f"delete from {table} where {RUN_DATE} = $1", (run,))  # noqa: S608

    @contextmanager
    def _cursor(self, *, write: bool = False) -> Iterator[Any]:
        with self._connect(write=write) as connection, connection.cursor() as cursor:
            yield cursor

    def _require_driver(self) -> None:
        missing = [
            name for name in (DRIVERS, f"adbc_driver_{self.kind}") if find_spec(name) is None
        ]
        if missing:
            needed = " and ".join(missing)
            raise DatabaseError(f"{self} needs {needed}: pip install 'apptek[sql]'")

    def _connect(self, *, write: bool) -> Any:
        """Connect. Uncommitted writes are rolled back when the connection is closed."""
        if self.kind == POSTGRESQL:
            from adbc_driver_postgresql import dbapi as postgresql

            return postgresql.connect(self.url)
        if not write and not self.file.is_file():
            raise DatabaseError(f"{self}: there is no file {self.file}")
        if self.kind == SQLITE:
            from adbc_driver_sqlite import dbapi as sqlite

            mode = "rwc" if write else "ro"
            return sqlite.connect(f"file:{quote(str(self.file))}?mode={mode}")
        import adbc_driver_duckdb
        from adbc_driver_manager import dbapi

        options = {"path": str(self.file), "access_mode": "READ_WRITE" if write else "READ_ONLY"}
        driver = adbc_driver_duckdb.driver_path()
        return dbapi.connect(driver=driver, entrypoint="duckdb_adbc_init", db_kwargs=options)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert exceptions that a driver raises within the block to one-line DatabaseErrors."""
        self._require_driver()
        from adbc_driver_manager import Error

        try:
            yield
        except (Error, pa.ArrowException, OSError) as error:
            reason = _STATUS.sub("", next(iter(str(error).splitlines()), type(error).__name__))
            raise DatabaseError(f"{self}: {without_passwords(reason)}") from None


def find_database(source: Any) -> Database | None:
    """Return the database that a source refers to, or None if the source is not a URL.

    Raise DatabaseError for other URLs, and for a database among several sources.
    """
    if isinstance(source, list | tuple):
        urls = [one for one in source if isinstance(one, str) and _URL.match(one)]
        if urls and len(source) > 1:
            raise DatabaseError(f"{without_passwords(urls[0])}: a database must be the only source")
        source = urls[0] if urls else None
    if isinstance(source, Database) or not isinstance(source, str):
        return source if isinstance(source, Database) else None
    if (match := _URL.match(source)) is None:
        return None
    kind, (url, mark, table) = SCHEMES.get(match[1].lower()), source.rpartition("#")
    if not mark or "@" in table:  # a password may contain this character too
        url, table = source, ""
    is_file_without_path = kind in (SQLITE, DUCKDB) and not url.partition(":///")[2]
    if kind is None or is_file_without_path:
        raise DatabaseError(
            f"{without_passwords(source)}: unknown kind of URL; expected {EXPECTED}"
        )
    return Database(kind, url, table)


def quoted(name: str) -> str:
    """Return the name of a column, table or schema quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'
