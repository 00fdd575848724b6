"""Real databases for the tests: a PostgreSQL server in a temporary folder, SQLite, DuckDB."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from apptek.databases import find_database

PASSWORD = "geheim#1/2@3"  # contains every character that has a meaning in a URL
Rows = list[tuple[Any, ...]]


class PostgresServer:
    """A server in a separate folder that listens on a socket there. It cannot run as root."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, f"postgresql://tester@/postgres?host={folder}"
        self._words: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            self._words = ["setpriv", *ids]
        self._run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()

    def start(self) -> None:
        settings = "listen_addresses=", "fsync=off", "max_wal_size=4GB", "lock_timeout=20s"
        options = " ".join([f"-k {self.folder}", *(f"-c {setting}" for setting in settings)])
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Abort all processes at once, which the next start treats as a crash."""
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-m", "immediate", "stop")

    def _run(self, program: str, *words: str) -> None:
        command = [*self._words, _program(program) or program, "-D", str(self.folder / "data")]
        subprocess.run([*command, *words], check=True, cwd=self.folder, stdout=subprocess.DEVNULL)


def _program(name: str) -> str | None:
    """Return the path of a PostgreSQL program; Debian stores them in a separate folder."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders)))


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server for the duration of a block; skip the test if PostgreSQL is not installed."""
    needed = ["initdb", "pg_ctl", "postgres", *(["setpriv"] if os.geteuid() == 0 else [])]
    if missing := [name for name in needed if _program(name) is None]:
        pytest.skip(f"there is no {' and no '.join(missing)}: see `make postgresql`")
    folder = Path(tempfile.mkdtemp(prefix="apptek-pg-", dir="/tmp"))
    server = None
    try:
        server = PostgresServer(folder)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def insertion(table: str, rows: Iterable[Sequence[object]]) -> str:
    """The statement that inserts rows of texts."""
    texts = [", ".join("'" + str(cell).replace("'", "''") + "'" for cell in row) for row in rows]
    return f"insert into {table} values {', '.join(f'({text})' for text in texts)}"


def execute(url: str, *statements: str) -> Rows:
    """Run statements in one transaction; return the rows of the last one."""
    database = find_database(url)
    assert database is not None
    with database._cursor(write=True) as cursor:
        for statement in statements:
            cursor.execute(statement)
        rows = cursor.fetchall() if statements[-1].startswith("select") else []
        cursor.connection.commit()
    return [tuple(row) for row in rows]
