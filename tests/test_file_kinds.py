"""Files as people really have them: a test for each kind."""

import io
import json
import os
import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from command_line import succeeds
from event_dumps import gdelt
from fact_files import (
    ALL_IN_TRAIN,
    DAY,
    FACT,
    compress,
    fault_of,
    in_words,
    parquet_bytes,
    write,
)
from sheets import Cell, Formula, write_sheets

from apptek.errors import DataError
from apptek.facts.facts import Dataset
from apptek.reading.name_tables import check_aliases, read_aliases, read_predicates
from apptek.reading.reader import read_dataset

HEADER = ("subject", "predicate", "object", "time")


def read(source: Path | str | Sequence[Path], **options: Any) -> Dataset:
    return read_dataset(source, splitting=ALL_IN_TRAIN, **options)


# Delimiters and encodings


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
@pytest.mark.parametrize("header", [True, False])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str, suffix: str, header: bool) -> None:
    rows = [HEADER] * header + [("a, b", "p", "c d", DAY), ("x", "p", "1,5", DAY)] * 9
    quoted = [[f'"{c}"' if delimiter == "," and "," in c else c for c in row] for row in rows]
    path = write(tmp_path / f"facts{suffix}", "".join(delimiter.join(r) + "\n" for r in quoted))
    dataset = read(path)
    assert [row[0] for row in in_words(dataset)] == ["a, b", "x"]
    assert dataset.report.how["delimiter"] == delimiter


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_encoding_is_found(tmp_path: Path, encoding: str) -> None:
    text = f"subject;predicate;object;time\nMüller;grüßt;François;{DAY}\n"
    dataset = read(write(tmp_path / "facts.csv", text.encode(encoding)))
    assert in_words(dataset) == [("Müller", "grüßt", "François", DAY, DAY)]
    assert dataset.report.how["encoding"] == encoding.removesuffix("-sig")


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_delimiter_and_encoding_of_a_small_table_are_found(
    tmp_path: Path, delimiter: str, encoding: str, suffix: str
) -> None:
    rows = [("name", "alias"), ("T\u00fcrkiye", "Turkey"), ("C\u00f4te d'Ivoire", "Ivory Coast")]
    path = tmp_path / f"aliases{suffix}"
    path.write_bytes("".join(delimiter.join(row) + "\n" for row in rows).encode(encoding))
    assert read_aliases(path) == {alias: name for name, alias in rows[1:]}
    table = b"predicate;label\n040;Consult, or so\n"
    path.write_bytes(table)
    assert read_predicates(path).label("040") == "Consult, or so"


def test_an_alias_that_is_a_name_of_the_data_is_refused() -> None:
    entities = read_dataset([("US", "meets", "Iran", 2001)] * 3).entities
    check_aliases({"United States": "US", "US": "US", "Persia": "Iran"}, entities)
    with pytest.raises(DataError, match=r"^the alias 'Iran' of 'US' is itself a name in the data"):
        check_aliases({"Iran": "US"}, entities)


# Line breaks in quotes


def test_a_quoted_cell_of_csv_may_have_line_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = f'a,p,b,{DAY},"one\n\ntwo, ""three""\r\nfour"\n'
    last = f'"a\nb",p,c,{DAY},\n'
    path = write(tmp_path / "facts.csv", f"{','.join(HEADER)},notes\n" + row * 40 + last)
    for size in (1 << 25, 7, 50, 333):  # a block may end within a cell
        monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", size)
        assert in_words(read(path)) == [FACT, ("a\nb", "p", "c", DAY, DAY)]
    write(path, path.read_text() + f"a,p,b,{DAY}\n")
    assert fault_of(path).startswith("facts.csv:43: row: found 4 columns")


# Parquet


def test_timestamps_and_dates_of_parquet_are_read(tmp_path: Path) -> None:
    hours = [datetime(2021, 5, 3, hour, 22) for hour in range(3)]
    names: dict[str, Any] = {"subject": ["a"] * 3, "predicate": ["p"] * 3, "object": ["b"] * 3}

    def times_of(kind: pa.DataType, values: list[Any]) -> list[str]:
        content = parquet_bytes(**names, time=pa.array(values, kind))
        dataset = read(write(tmp_path / "facts.parquet", content))
        return [row[3] for row in in_words(dataset)]

    expected = [f"2021-05-03 0{hour}:00" for hour in range(3)]
    for unit in ("s", "ms", "us", "ns"):
        assert times_of(pa.timestamp(unit), hours) == expected
    # 00:22 in Berlin is 22:22 of the day before in UTC.
    assert times_of(pa.timestamp("us", "Europe/Berlin"), hours) == expected
    days = [date(2021, 5, day) for day in (3, 4, 5)]
    expected = [day.isoformat() for day in days]
    assert times_of(pa.date32(), days) == expected
    assert times_of(pa.date64(), days) == expected
    midnights = [datetime(2021, 5, day) for day in (3, 4, 5)]
    assert times_of(pa.timestamp("ns"), midnights) == expected
    local = [moment.replace(tzinfo=ZoneInfo("Europe/Berlin")) for moment in midnights]
    assert times_of(pa.timestamp("ms", "Europe/Berlin"), local) == expected
    assert times_of(pa.float64(), [2001.0, None, 2003.0]) == ["2001", "?", "2003"]


# Sheets

ROWS: list[list[Cell]] = [
    ["subject", "predicate", "object", "time"],
    ["a", "p", "b", date(2014, 5, 13)],
    [7, "p", "b", "2014-05-14"],
    [None, None, None, None],
    ["a", Formula('CONCATENATE("q")|q'), "b", date(2014, 5, 15)],
]


def test_a_sheet_is_read(tmp_path: Path) -> None:
    path = write_sheets(tmp_path / "facts.xlsx", {"Facts": ROWS})
    assert in_words(read(path)) == [
        FACT,
        ("7", "p", "b", "2014-05-14", "2014-05-14"),
        ("a", "q", "b", "2014-05-15", "2014-05-15"),
    ]


# Several files


@pytest.mark.parametrize(
    "content",
    [
        f"a,p,b,{DAY}\n".encode(),
        f"a\tp\tb\t{DAY}\n".encode(),
        compress(f"a;p;b;{DAY}\n".encode(), ".gz"),
        compress(f"a\tp\tb\t{DAY}\n".encode(), ".zst"),
        json.dumps(dict(zip(HEADER, FACT[:4], strict=True))).encode(),
        parquet_bytes(**{title: [cell] for title, cell in zip(HEADER, FACT, strict=False)}),
    ],
)
def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert in_words(read("-")) == [FACT]


def test_pipes_are_read_as_standard_input_is(tmp_path: Path) -> None:
    pipes = [tmp_path / "one", tmp_path / "two.csv"]
    for number, pipe in enumerate(pipes):
        os.mkfifo(pipe)
        text = compress(f"a{number},p,b,{DAY}\n".encode(), ".gz")
        Thread(target=pipe.write_bytes, args=[text], daemon=True).start()
    data = read(pipes)
    assert [fact[0] for fact in in_words(data)] == ["a0", "a1"]
    assert data.name == "one and 1 more"  # not as standard input


def test_a_zip_of_one_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "20210503.export.CSV.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("20210503.export.CSV", gdelt())
    succeeds("data", "stats", str(path), "--format", "gdelt")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readme", "x")
    assert fault_of(path) == f"{path}: found 2 files in it, expected one"


# What is left unread


def test_a_file_of_nothing_but_bad_rows_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apptek.reading.collector.MAX_DEFECTS_COUNTED", 10)
    path = write(tmp_path / "facts.tsv", f"a\tp\tb\t{DAY}\n" + "x\n" * 50)
    assert fault_of(path).endswith("may help) (and 9 more bad rows)")
