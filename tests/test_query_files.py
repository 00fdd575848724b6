"""Files of queries are read as files of facts are: the same kinds, the same errors."""

from pathlib import Path

import pytest
from event_dumps import ACLED, ICEWS, gdelt
from fact_files import parquet_bytes, write
from sheets import write_sheets

from apptek.errors import DataError
from apptek.models.asked_queries import USUAL, LeftOut, read_rows
from apptek.reading.frames import QUERY_ROLES
from apptek.reading.options import ReadOptions
from apptek.results import Query

QUERY = Query("Zo\u00eb", "b", "2014-05-13")


def queries_in(path: Path, options: ReadOptions = USUAL) -> list[tuple[int, Query | str]]:
    rows = read_rows(path, QUERY_ROLES, options)
    return [(line, row if isinstance(row, str) else Query(*row)) for line, row in rows]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", "Zo\u00eb;b;2014-05-13\n".encode("utf-16")),
        ("q.parquet", parquet_bytes(time=["2014-05-13"], object=["b"], subject=["Zo\u00eb"])),
    ],
)
def test_every_kind_of_file_gives_the_query(
    tmp_path: Path, name: str, content: bytes | str
) -> None:
    assert queries_in(write(tmp_path / name, content)) == [(1, QUERY)]


def test_a_sheet_gives_the_query(tmp_path: Path) -> None:
    rows = [["time", "note", "object", "subject"], ["2014-05-13", "x", "b", "Zo\u00eb"]]
    path = write_sheets(tmp_path / "q.xlsx", {"Q": [list(row) for row in rows]})
    assert queries_in(path) == [(2, QUERY)]


@pytest.mark.parametrize(
    ("name", "text", "query", "lines"),
    [
        ("e.tab", ICEWS, Query("Jane Doe", "Country A", "2014-01-02"), (3, 4)),
        ("a.csv", ACLED, Query("Rebels of A", "Civilians (A)", "05 May 2021"), (4, 3)),
        ("x.export.CSV", gdelt(), Query("POLICE", "UNITED STATES", "20210502"), (2, 4)),
    ],
)
def test_a_dump_of_events_gives_its_queries(
    tmp_path: Path, name: str, text: str, query: Query, lines: tuple[int, int]
) -> None:
    options = ReadOptions(format="gdelt" if name[0] == "x" else "")
    found = dict(queries_in(write(tmp_path / name, text), options))
    assert found[lines[0]] == query
    assert isinstance(found[lines[1]], LeftOut)
    assert len(found) == 3 + (name[0] == "x")


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    content = parquet_bytes(a=["x"], b=["y"], c=["z"])
    with pytest.raises(
        DataError, match=r"^q.parquet: found the columns 'a', 'b', 'c'; expected subject"
    ):
        queries_in(write(tmp_path / "q.parquet", content))


def test_a_limit_and_an_encoding_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "q.csv.gz", "\u041c\u0438\u0440,b,2014\n".encode("cp1251"))
    options = ReadOptions(encoding="cp1251")
    assert queries_in(path, options) == [(1, Query("\u041c\u0438\u0440", "b", "2014"))]
    with pytest.raises(DataError, match="it expands to more than 5 bytes"):
        queries_in(path, ReadOptions(max_bytes=5, encoding="cp1251"))
