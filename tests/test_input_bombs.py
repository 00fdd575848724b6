"""A small file that grows without end is stopped at a limit, which can be set."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fact_files import DAY, write
from pyarrow import parquet
from sheets import write_sheets

from apptek.errors import DataError
from apptek.reading.reader import read_dataset

ROW = f"a\tp\tb\t{DAY}\n".encode()


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_dataset(path, **options)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".tsv.gz", ".tsv.zst", ".tsv.zip", ".jsonl.gz"])
def test_a_compressed_file_stops_at_the_limit(tmp_path: Path, suffix: str) -> None:
    path, content = tmp_path / f"facts{suffix}", ROW * 10_000
    if suffix.startswith(".jsonl"):
        content = b'{"subject": "a", "predicate": "p", "object": "b"}\n' * 10_000
    if suffix.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("facts.tsv", content)
    else:
        write(path, content)
    assert refused(path, max_bytes=100_000) == (
        f"{path}: it expands to more than 100,000 bytes; if this is expected, "
        "allow more with --read max_bytes=N"
    )
    assert len(read_dataset(path, max_bytes=1_000_000).train) == 1


def test_without_a_limit_the_size_of_the_file_is_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apptek.reading.streams.SMALL_BYTES", 1000)
    plain = write(tmp_path / "facts.tsv", ROW * 10_000)
    assert len(read_dataset(plain).train) == 1
    bomb = tmp_path / "bomb.tsv.gz"
    bomb.write_bytes(gzip.compress(ROW * 100_000))
    assert 200 * bomb.stat().st_size < 100_000 * len(ROW)
    allowed = f"{200 * bomb.stat().st_size:,}"
    assert f"it expands to more than {allowed} bytes" in refused(bomb)


def test_a_line_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apptek.reading.streams.LONGEST_LINE", 1000)
    monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", 500)
    path = write(tmp_path / "facts.tsv.gz", b"a" * 10_000)
    assert "found a line of more than 1000 bytes" in refused(path)


def test_a_parquet_file_of_many_equal_rows_is_stopped(tmp_path: Path) -> None:
    count = 20_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["a"]))
    table = pa.table(dict.fromkeys(("subject", "predicate", "object"), column))
    path = tmp_path / "facts.parquet"
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        many = pa.concat_tables([table] * (count // 1000)).combine_chunks()
        writer.write_table(many, row_group_size=count)
    assert path.stat().st_size < 200_000
    assert "it expands to more than 268,435,456 bytes" in refused(path)
    assert "it expands to more than 1,000 bytes" in refused(path, max_bytes=1000)


def test_a_long_text_that_occurs_often_takes_its_room_once(tmp_path: Path) -> None:
    name = "a" * 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array([name]))
    short = pa.array(["p"] * 3000)
    path = tmp_path / "facts.parquet"
    parquet.write_table(pa.table({"subject": column, "predicate": short, "object": short}), path)
    before = pa.total_allocated_bytes()
    assert len(read_dataset(path).train) == 1
    assert pa.default_memory_pool().max_memory() - before < 1_000_000_000  # not 3,000,000,000


def test_a_sheet_with_a_cell_far_away_is_stopped(tmp_path: Path) -> None:
    path = write_sheets(tmp_path / "facts.xlsx", {"Facts": [["a", "p", "b", 2001]]})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    parts[sheet] = parts[sheet].replace(b"</sheetData>", far)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "it expands to more than 268,435,456 bytes" in refused(path)
    parts[sheet] = parts[sheet].replace(far, b"<!--" + b" " * 5_000_000 + b"--></sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "it expands to more than 1,000,000 bytes" in refused(path, max_bytes=1_000_000)
