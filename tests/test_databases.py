"""Databases as sources and targets: a real PostgreSQL server, SQLite and DuckDB."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import answered, apptek
from database_servers import PASSWORD, PostgresServer, execute, insertion, postgres_server
from fact_files import ReadFact, in_words

from apptek.databases import Database, find_database
from apptek.errors import DatabaseError, DataError, NoFactsError
from apptek.facts.facts import Dataset
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.safe_text import without_passwords

FACTS = [
    ("Iran", "Consult", "China", "2014-02-02"),
    ("China", "Consult", "Iran", "2014-02-03"),
    ("Iran", "Threaten", "Côte d'Ivoire", "2014-03-01"),
    ("Iran", "Consult", "China", "2014-03-02"),
]
COLUMNS = "subject, predicate, object, time"


@pytest.fixture(params=["postgresql", "sqlite", "duckdb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param != "postgresql":
        return f"{request.param}:///{tmp_path}/events.db"
    found: str = request.getfixturevalue("server").url
    execute(found, "drop schema public cascade", "create schema public")
    return found


@pytest.fixture
def postgres(server: PostgresServer) -> str:
    execute(server.url, "drop schema public cascade", "create schema public")
    return server.url


def fill(url: str, kind: str = "text", facts: Any = FACTS, table: str = "events") -> str:
    """Make a table of facts; return its URL."""
    columns = "subject text, predicate text, object text, time " + kind
    execute(url, f"create table {table} ({columns})", insertion(table, facts))
    return f"{url}#{table}"


TABLE = pa.table({"subject": ["a", "b"], "probability": [0.5, None]})


def append_and(url: str, do: Callable[[Any], Any]) -> None:
    """Append two rows, then do something else in the same transaction."""
    with database(url).appending() as append:
        append(TABLE)
        do(append)


def facts_of(data: Dataset) -> list[ReadFact]:
    return sorted(in_words(data, data.all_facts()))


def database(url: str) -> Database:
    found = find_database(url)
    assert found is not None
    return found


def test_a_table_and_a_query_are_read_as_a_file_is(url: str) -> None:
    expected = facts_of(read_dataset(FACTS))
    table = fill(url)
    assert facts_of(read_dataset(table)) == expected
    read = read_dataset(url, sql=f"select {COLUMNS} from events order by time -- in order\n;")
    assert facts_of(read) == expected
    named = "select subject as a, 1 as n, predicate as b, object as c, time as d from events"
    roles = "subject=a,predicate=b,object=c,time=d"
    assert facts_of(read_dataset([url], sql=named, columns=roles)) == expected


def test_values_of_other_types_are_read_as_their_texts(postgres: str) -> None:
    execute(
        postgres,
        "create type kind as enum ('Consult', 'Threaten')",
        "create table odd (subject uuid, predicate kind, object numeric(12, 2), "
        "since timestamptz, until date, about json, flag boolean, share float8, number bigint)",
        "insert into odd values "
        "('11111111-1111-1111-1111-111111111111', 'Consult', 7, '2014-01-01 00:00+00', 'infinity', "
        """ '{"a":1}', true, 1.5, 10), """
        "('21111111-1111-1111-1111-111111111111', 'Threaten', 8.50, '2014-01-02 23:30-05', "
        "'2014-05-01', null, null, 2, null)",
    )
    assert facts_of(read_dataset(f"{postgres}#odd")) == [
        ("11111111-1111-1111-1111-111111111111", "Consult", "7", "2014-01-01", "?"),
        ("21111111-1111-1111-1111-111111111111", "Threaten", "8.5", "2014-01-03", "2014-05-01"),
    ]

    def reading(column: str, **options: Any) -> Any:
        columns = f"subject={column},predicate=predicate,object=subject,time=since"
        return facts_of(read_dataset(f"{postgres}#odd", columns=columns, **options))

    assert reading("about", skip_bad=True)[0][0] == '{"a":1}'
    with pytest.raises(DataError, match=r"odd:2: column 6 \(subject\): found nothing, expected a"):
        reading("about")
    with pytest.raises(DataError, match="'flag' is of type bool; expected texts, integers, dates"):
        reading("flag")
    with pytest.raises(DataError, match="'share' contains numbers with a fraction"):
        reading("share")
    assert reading("number", skip_bad=True)[0][0] == "10"


def test_values_of_sqlite_have_types_of_their_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/events.db"
    nothing = [("a", 7, 8.0, "2014-01-01", None)] * 2_000  # more than a batch of the driver
    rows = [*nothing, ("b", 7.0, 8.5, "2014-01-02", "2014-02-01"), (b"c", "7", "8.0", None, "?")]
    execute(url, "create table events (subject, predicate, object, since, until)")
    with closing(sqlite3.connect(tmp_path / "events.db")) as connection, connection:
        connection.executemany("insert into events values (?, ?, ?, ?, ?)", rows)
    assert facts_of(read_dataset(f"{url}#events")) == [
        ("a", "7", "8", "2014-01-01", "?"),
        ("b", "7", "8.5", "2014-01-02", "2014-02-01"),
        ("c", "7", "8.0", "?", "?"),
    ]


BAD_URLS = {
    "mysql://u:PASSWORD@h/db": "unknown kind of URL; expected postgresql://USER@HOST/DATABASE",
    "sqlite://events.db": "unknown kind of URL",
    "sqlite:///none.db#events": "there is no file none.db",
    "duckdb:///none.db#events": "there is no file none.db",
    "postgresql://u:PASSWORD@127.0.0.1:1/db#events": "Connection refused",
    "postgresql://u:PASSWORD@h:port/db#events": 'invalid integer value "port"',
    "postgresql://u:PASSWORD@/db?hst=x#events": 'invalid URI query parameter: "hst"',
    "postgresql://h/db?password=PASSWORD&port=x#events": 'invalid integer value "x"',
}


@pytest.mark.parametrize("bad", BAD_URLS)
def test_an_error_has_one_line_and_no_password(bad: str, tmp_path: Path) -> None:
    for word in ("geheim", "geheim:1"):
        secret = bad.replace("PASSWORD", word)
        for command in (["data", "stats", secret], ["fit", secret, "--out", str(tmp_path / "m")]):
            done = apptek(*command)
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1
            assert BAD_URLS[bad] in done.stderr
            assert "geheim" not in done.stderr
    done = apptek("info", "model", bad.replace("PASSWORD", "geheim"))
    assert (done.returncode, "geheim" in done.stderr) == (2, False)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "found neither, expected a table after the URL (#TABLE) or --sql QUERY"),
        (
            ["--sql", "select 1 as one"],
            "the columns 'one' without --columns: no subject and no pred",
        ),
        (["--sql", "selekt 1"], "yntax error"),
        (["--sql", "select * from nothing"], "nothing"),
        (["--sql", "select * from events where 1 = 0"], "there are no rows; expected a fact in"),
        (["--sql", "delete from events"], "yntax error"),
        (["--read", "delimiter=;"], "--delimiter does not apply to this kind of source"),
        (["--columns", "subject=x,predicate=predicate,object=object"], "there is no column 'x'"),
    ],
)
def test_what_is_wrong_is_said(url: str, words: list[str], expected: str) -> None:
    table = fill(url)
    done = apptek("data", "stats", url if not words or "--sql" in words else table, *words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert expected in done.stderr
    assert len(execute(url, "select * from events")) == len(FACTS)


def test_a_table_or_a_query_but_not_both_and_one_source(url: str) -> None:
    with pytest.raises(DataError, match="expected a table after the URL or --sql, not both"):
        read_dataset(f"{url}#events", sql="select 1")
    with pytest.raises(DatabaseError, match="a database must be the only source"):
        read_dataset(["events.csv", f"{url}#events"])
    with pytest.raises(DataError, match="--sql does not apply to this kind of source"):
        read_dataset(FACTS, sql="select 1")


def test_a_missing_driver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apptek.databases.find_spec", lambda name: None if "_pos" in name else name)
    done = apptek("data", "stats", "postgresql://h/db#events")
    assert done.stderr == (
        "apptek: postgresql://h/db#events needs adbc_driver_postgresql: pip install 'apptek[sql]'\n"
    )


def test_rows_are_appended_with_the_time_of_the_run(url: str) -> None:
    before = time.time()
    append_and(f"{url}#forecasts", lambda append: append(TABLE))
    append_and(f"{url}#forecasts", lambda _: None)
    rows = execute(url, "select subject, probability from forecasts")
    assert rows == [tuple(row.values()) for row in TABLE.to_pylist()] * 3
    runs = execute(url, "select run_at, count(*) from forecasts group by run_at order by run_at")
    assert [count for _, count in runs] == [4, 2]
    if not isinstance(first := runs[0][0], str):  # SQLite has no type of times
        assert before - 1 <= first.timestamp() <= time.time()


def test_a_run_that_fails_writes_nothing(url: str) -> None:
    append_and(f"{url}#kept", lambda _: None)
    other = pa.table({"subject": ["c"], "chance": [0.5]})
    with pytest.raises(KeyError):
        append_and(f"{url}#forecasts", lambda _: dict[str, int]()["fails"])
    with pytest.raises(FileNotFoundError):  # an error of what computes the rows
        append_and(f"{url}#kept", lambda _: Path("none").read_text(encoding="utf-8"))
    with pytest.raises(DatabaseError, match="chance"):
        append_and(f"{url}#kept", lambda append: append(other))
    assert len(execute(url, "select * from kept")) == TABLE.num_rows
    with pytest.raises(Exception, match="forecasts"):
        execute(url, "select * from forecasts")


def test_a_table_may_be_in_a_schema(postgres: str) -> None:
    execute(postgres, 'drop schema if exists "My data" cascade', 'create schema "My data"')
    append_and(f"{postgres}#My data.fore casts", lambda _: None)
    assert len(execute(postgres, 'select * from "My data"."fore casts"')) == 2
    fill(postgres, table='"My data".events')
    assert len(read_dataset(f"{postgres}#My data.events").all_facts()) == len(FACTS)


def test_rows_are_those_of_one_moment(postgres: str) -> None:
    """A table changes between two batches: the later one does not see it."""
    execute(
        postgres,
        "create table events as select rpad('s' || g % 100, 100) as subject, "
        "'p' as predicate, 'o' as object, date '2014-01-01' + g % 300 as time "
        "from generate_series(1, 600000) g",
    )
    tables = database(postgres).tables("select * from events")
    rows = next(tables).num_rows
    execute(
        postgres,
        "delete from events where trim(subject) <> 's1'",
        "insert into events values ('x')",
    )
    assert rows < 600_000
    assert rows + sum(table.num_rows for table in tables) == 600_000
    assert len(execute(postgres, "select * from events")) == 6_001


def test_a_dropped_connection_is_an_error_of_one_line(postgres: str) -> None:
    tables = database(postgres).tables("select g::text from generate_series(1, 9000000) g")
    next(tables)
    pid = "select pid from pg_stat_activity where query ilike '%series(1, 9000000)%' and pid <> "
    execute(postgres, f"select pg_terminate_backend(pid) from ({pid} pg_backend_pid()) as found")
    with pytest.raises(DatabaseError, match=r"^postgresql://.*: .*(closed|terminat).*$"):
        list(tables)


SINCE = [
    ("date", "2014-03-01", FACTS[2:]),
    ("timestamp", "2014-03-01", FACTS[2:]),
    ("timestamp with time zone", "2014-03-02", FACTS[2:]),  # a day earlier, whatever the zone
    ("text", "2014-03-01 00:00", FACTS[2:]),
    ("text", "2014-03", FACTS[2:]),
    ("text", "2015", []),
]


@pytest.mark.parametrize(("kind", "since", "expected"), SINCE)
def test_earlier_rows_are_not_read(url: str, kind: str, since: str, expected: Any) -> None:
    table = fill(url, kind)
    if url.startswith("sqlite") and "zone" in kind:  # it knows no zones
        expected = expected[1:]
    if not expected:
        with pytest.raises(NoFactsError):
            read_dataset(table, since=since)
        return
    assert facts_of(read_dataset(table, since=since)) == facts_of(read_dataset(expected))


def test_times_that_a_database_cannot_compare_are_all_read(url: str) -> None:
    other = [(*fact[:3], "{2}.{1}.{0}".format(*fact[3].split("-"))) for fact in FACTS]
    options: dict[str, Any] = {"since": "2014-03-01", "date_format": "%d.%m.%Y"}
    assert len(read_dataset(fill(url, facts=other), **options).all_facts()) == 4
    numbers = [(*fact[:3], 20140300 + n) for n, fact in enumerate(FACTS)]
    table = fill(url, "integer", numbers, "numbers")
    assert len(read_dataset(table, since="2014-03-01").all_facts()) == 4


def test_an_update_adds_what_came_after_the_last_observed_time(
    url: str, default_model: Path, tmp_path: Path
) -> None:
    predictor = Predictor.load(default_model)
    data, facts = predictor.model.dataset, predictor.model.graph.facts
    last = data.axis.format(int(facts.times.max()))
    assert last == "2021-12-31"
    subject, predicate, object_ = data.entities[0], data.predicates[0], data.entities[1]
    days = [last, "2022-01-01", "2022-01-02"]
    table = fill(url, "date", [(subject, predicate, object_, day) for day in days])
    words = ["update", str(default_model), table, "--since-last"]
    done = apptek(*words, "--out", str(tmp_path / "newer"), "--json")
    report = json.loads(done.stdout)
    assert (report["added"], report["known"], report["observed_until"]) == (2, 0, "2022-01-02")
    again = ["update", str(tmp_path / "newer"), table, "--since-last", "--in-place", "--json"]
    report = json.loads(apptek(*again).stdout)  # a day without events
    assert (report["added"], report["observed_until"]) == (0, "2022-01-02")
    file = tmp_path / "more.csv"
    file.write_text("subject,predicate,object,time\n" + "".join(
        f"{subject},{predicate},{object_},{day}\n" for day in (*days, "2022-01-03")
    ), encoding="utf-8")  # fmt: skip
    done = apptek("update", str(tmp_path / "newer"), str(file), "--since-last", "--in-place")
    assert "facts from times already observed, left out: 3\nfacts added: 1" in done.stderr
    assert apptek("update", str(tmp_path / "newer"), "--since-last", "--in-place").returncode == 2


def test_every_command_that_writes_takes_a_table(
    postgres: str, forecast_model: Path, default_model: Path
) -> None:
    data = Predictor.load(default_model).model.dataset
    pairs = [(data.entities[n], "p", data.entities[n + 1], "2019-07-26") for n in range(3)]
    asked = fill(postgres, "date", pairs, "asked")
    model, forecasting = str(default_model), str(forecast_model)
    commands = {
        "answers": ["predict", model, "--queries", asked, "--top", "2"],
        "watched": ["watch", forecasting, "--top", "3"],
        "suspects": ["audit", model, "--reasons", "0"],
        "metrics": ["evaluate", model],
        "forecasts": ["evaluate", forecasting, "--forecasts", "--every", "30"],
    }
    for table, words in commands.items():
        done = apptek(*words, "--out", f"{postgres}#{table}")
        assert (done.returncode, postgres in done.stderr) == (0, True), done.stderr
    rows = {table: execute(postgres, f"select * from {table}") for table in commands}
    assert (len(rows["answers"]), len(rows["watched"])) == (6, 3)
    assert len(rows["suspects"]) == len(data.train)
    assert len(rows["forecasts"]) > 0
    mrr = execute(
        postgres, "select mrr from metrics where view = 'all_facts' and \"group\" = 'all'"
    )
    shown = answered("evaluate", model)
    assert mrr[0][0] == pytest.approx(shown["all_facts"]["mrr"])
    source = (postgres, "--sql", "select subject, object from asked")
    listed = answered("watch", forecasting, *source)["rows"]
    assert {(row["subject"], row["object"]) for row in listed} == {p[::2] for p in pairs}
    done = apptek("watch", forecasting, "--out", postgres)
    assert "expected a table after the URL (#TABLE)" in done.stderr


def test_from_a_query_to_a_watch_list_in_a_table(
    postgres: str, world: Path, tmp_path: Path
) -> None:
    """Fit from a query, write a watch list into a table, and read it back."""
    rows = sorted({fact[:4] for fact in facts_of(read_dataset(world)) if fact[3] != "?"})
    fill(postgres, "date", rows)
    secret, model = postgres.replace("tester@", "tester:geheim@"), tmp_path / "model"
    sql, fast = "select * from events", ["--set", "classifier.epochs=1", "--past-only"]
    done = apptek("fit", secret, "--sql", sql, "--out", str(model), *fast)
    assert f"answers are based on all {len(rows):,} facts" in done.stderr, done.stderr
    assert not any(b"geheim" in file.read_bytes() for file in model.iterdir())
    assert "postgresql://tester@" in (model / "run.json").read_text(encoding="utf-8")
    pairs = (secret, "--sql", "select subject, object from events limit 5")
    shown = answered("watch", str(model), *pairs, "--out", f"{secret}#forecasts")
    listed = execute(postgres, "select subject, object, probability, predicate_1 from forecasts")
    assert len(listed) == 5
    assert listed == [
        (row["subject"], row["object"], row["probability"], row["predicates"][0]["predicate"])
        for row in shown["rows"]
    ]
    again = apptek("update", str(model), secret, "--since-last", "--in-place")  # its own query
    assert "facts added: 0" in again.stderr, again.stderr
    assert f"read with the query used for fitting: {sql}" in " ".join(again.stderr.split())
    assert "geheim" not in again.stderr


def test_a_run_replaces_its_own_rows_in_two_tables_of_one_transaction(url: str) -> None:
    targets = [find_database(f"{url}#{name}") for name in ("one", "other")]
    tables = [pa.table({"a": [1, 2]}), pa.table({"b": ["x"], "c": ["y"]})]

    def write(run: str, *, failing: bool = False) -> None:
        assert targets[0] is not None
        with targets[0].transaction() as connection:
            for target, rows in zip(targets, tables, strict=True):
                assert target is not None
                target.appender(connection, run)(rows)
            if failing:
                raise OSError("stopped")

    def dates() -> list[Any]:
        names = ("one", "other")
        return [execute(url, f"select run_date from {name} order by 1") for name in names]

    for run in ("2014-01-01", "2014-01-02", "2014-01-02"):
        write(run)
    first, second = ("2014-01-01",), ("2014-01-02",)
    assert dates() == [[first, first, second, second], [first, second]]
    with pytest.raises(OSError, match="stopped"):
        write("2014-01-03", failing=True)
    assert dates() == [[first, first, second, second], [first, second]]
    fill(url, table="older")
    older = find_database(f"{url}#older")
    assert older is not None
    with (
        older.transaction() as connection,
        pytest.raises(DatabaseError, match="created by `apptek run`"),
    ):
        older.appender(connection, "2014-01-02")


def test_no_text_has_the_password() -> None:
    secret = f"postgresql://tester:{PASSWORD}@host/db"
    named, plain = database(f"{secret}#events"), database(secret)
    assert (named.url, named.table, plain.url, plain.table) == (secret, "events", secret, "")
    assert str(named) == "postgresql://tester@host/db#events"
    assert "geheim" not in repr(named) + str(plain) + repr(plain)
    assert (named.name, plain.name) == ("events", "db")
    command = f"apptek fit '{secret}' --out m 'postgresql://h/d?password=geheim&port=1'"
    expected = (
        "apptek fit 'postgresql://tester@host/db' --out m 'postgresql://h/d?password=&port=1'"
    )
    assert without_passwords(command) == expected


@pytest.mark.slow
def test_a_crash_of_the_server_is_an_error_and_the_next_run_works() -> None:
    with postgres_server() as server:
        fill(server.url)
        tables = database(server.url).tables("select g::text from generate_series(1, 9000000) g")
        next(tables)
        with pytest.raises(DatabaseError):
            append_and(f"{server.url}#forecasts", lambda _: server.stop())
        with pytest.raises(DatabaseError):
            list(tables)
        done = apptek("data", "stats", f"{server.url}#events")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        server.start()
        assert len(read_dataset(f"{server.url}#events").all_facts()) == len(FACTS)
        with pytest.raises(Exception, match="forecasts"):
            execute(server.url, "select * from forecasts")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_million_rows_are_read_in_bounded_memory(postgres: str) -> None:
    """The text of the rows alone takes more than a gigabyte."""
    execute(
        postgres,
        "create table events as"
        " select 'an entity with a long name, number ' || g % 7000 as subject,"
        " 'a predicate with a long name, number ' || g % 200 as predicate,"
        " 'an entity with a long name, number ' || (g * 7) % 6999 as object,"
        " date '2010-01-01' + g % 3000 as time from generate_series(1, 10000000) g",
    )
    code = (
        "import sys; from apptek.reading.reader import read_dataset\n"
        "from peak_memory import peak_bytes\n"
        "before, data = peak_bytes(), read_dataset(sys.argv[1])\n"
        "rows = len(data.all_facts()) + sum(data.report.duplicates.values())\n"
        "print(rows, peak_bytes() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{postgres}#events"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    rows, size = map(int, done.stdout.split())
    assert rows == 10_000_000
    assert size < 1_500_000_000
