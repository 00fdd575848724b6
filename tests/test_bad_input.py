"""Every bad input gives one line that names the place, what was found and what is expected."""

import gzip
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import fact_files
import pyarrow as pa
import pytest
from fact_files import DAY, compress, in_words, parquet_bytes, read_all, write
from pyarrow import parquet
from sheets import write_sheets

from apptek.facts.benchmarks import DATA_VARIABLE
from apptek.facts.facts import Dataset
from apptek.reading.reader import read_dataset

GOOD = b"a\tp\tb\t2014-05-13\n"
COUNTED = re.compile(r" \((?:[0-9,]+ bad of|all of) [^)]*\)$")  # how many rows are bad
CASES = tomllib.loads(Path(__file__).with_name("golden_cases.toml").read_text("utf-8"))
ROWS = [row.encode() for row in CASES["bad-rows"]]


def fault_of(source: Path | str, **options: Any) -> str:
    """The error of reading a folder or file, without the counts at its end."""
    return COUNTED.sub("", fact_files.fault_of(source, **options))


# Bad rows


@pytest.mark.parametrize("row", ROWS)
def test_a_bad_row_is_named_with_its_line_in_small_blocks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: bytes
) -> None:
    path = write(tmp_path / "facts.tsv", GOOD * 2 + b"\r\n" + row + b"\n" + GOOD)
    fault = fault_of(path)
    monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", 1)
    assert fault_of(path) == fault
    assert fault.startswith("facts.tsv:4: ")


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("block_bytes", [1, 1 << 25])
def test_a_byte_that_is_no_text_asks_for_the_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, skip_bad: bool
) -> None:
    monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", block_bytes)
    path = write(tmp_path / "facts.tsv", GOOD * 2 + b"a\tp\xff\tb\n" + GOOD)
    assert fault_of(path, skip_bad=skip_bad) == (
        "facts.tsv:3: found byte 0xff in 'a\\tp\ufffd\\tb', expected valid UTF-8 "
        "(or --read encoding=windows-1252 or another)"
    )
    read = read_dataset(path, encoding="windows-1252")
    assert "p\xff" in read.predicates


@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 25])
def test_bad_rows_are_left_out_and_listed_and_no_good_one_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    singly = [fault_of(write(tmp_path / "one.tsv", GOOD * 3 + row + b"\n")) for row in ROWS]
    monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", block_bytes)
    good = [f"e{number}\tp\tb\t2014-05-13" for number in range(len(ROWS) + 1)]
    lines = [good[0].encode()]
    for fact, row in zip(good[1:], ROWS, strict=True):
        lines += [row, fact.encode()]
    dataset = read_text_skipping(tmp_path, b"\n".join(lines))
    assert [row[0] for row in in_words(dataset)] == [line.split("\t")[0] for line in good]
    faults = [
        fault.replace("one.tsv:4:", f"facts.tsv:{2 * number}:")
        for number, fault in enumerate(singly, 1)
    ]
    assert [str(defect) for defect in dataset.report.defects] == faults
    assert dataset.report.defect_count == len(ROWS)


def read_text_skipping(folder: Path, content: bytes) -> Dataset:
    return read_all(write(folder / "facts.tsv", content), skip_bad=True)


# Bad files


def test_what_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    assert fault_of("facts.tsv") == (
        "facts.tsv: no such file or folder, no benchmark with that name "
        "(known: icews05-15, icews14, yago15k), and no folder with that name in APPTEK_DATA"
    )
    assert fault_of("icews14") == (
        "icews14 is not on this machine: set APPTEK_DATA to the folder that contains it, "
        "or run 'apptek data download icews14'"
    )


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
@pytest.mark.parametrize("block_bytes", [50, 1 << 25])
def test_a_truncated_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, share: float, block_bytes: int
) -> None:
    monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", block_bytes)
    text = b"".join(b"%x\tp\tb\t1\n" % (number**9) for number in range(400))
    content = compress(text, suffix)
    path = tmp_path / f"facts.tsv{suffix}"
    path.write_bytes(content[: int(len(content) * share)])
    message = f"{path}: the file is truncated or damaged (Truncated compressed stream)"
    assert fault_of(path) == message
    assert fault_of(path, skip_bad=True) == message


@pytest.mark.parametrize("name", ["facts.tsv.gz", "facts.tsv.zst", "facts.parquet", "facts.xlsx"])
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(GOOD)
    assert fault_of(path).startswith(f"{path}: the file is truncated or damaged (")


# Bad Parquet


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    names = [f"entity {number}" for number in range(999)]
    whole = parquet_bytes(subject=names, predicate=["p"] * 999, object=names)
    path = tmp_path / "facts.parquet"
    for content in (
        b"",
        whole[:100],
        whole[: len(whole) // 2],
        whole[:4] + bytes(999) + whole[1003:],
    ):
        path.write_bytes(content)
        assert fault_of(path).startswith(f"{path}: the file is truncated or damaged (")


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        (None, "found nothing, expected a name"),
        (b"", "found nothing, expected a name"),
        (b"a\0", "found a NUL byte in 'a\\x00', expected text"),
    ],
)
@pytest.mark.parametrize("encoded", [False, True])
def test_a_bad_row_of_parquet_is_named_with_its_number(
    tmp_path: Path, subject: bytes | None, fault: str, encoded: bool
) -> None:
    # A view, because a cast would check the bytes.
    subjects = pa.array([b"a", b"c", subject, b"d"], pa.binary()).view(pa.string())
    content = parquet_bytes(
        predicate=["p"] * 4,
        subject=subjects.dictionary_encode() if encoded else subjects,
        object=["b"] * 4,
    )
    path = write(tmp_path / "facts.parquet", content)
    message = f"facts.parquet:3: column 2 (subject): {fault}"
    assert fault_of(path).startswith(message)
    dataset = read_all(path, skip_bad=True)
    assert [row[0] for row in in_words(dataset)] == ["a", "c", "d"]


ROW = f"a\tp\tb\t{DAY}\n".encode()


# Small files that grow without end are stopped at a limit, which can be set


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
    assert fault_of(path, max_bytes=100_000) == (
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
    assert f"it expands to more than {allowed} bytes" in fault_of(bomb)


def test_a_line_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apptek.reading.streams.LONGEST_LINE", 1000)
    monkeypatch.setattr("apptek.reading.streams.BLOCK_BYTES", 500)
    path = write(tmp_path / "facts.tsv.gz", b"a" * 10_000)
    assert "found a line of more than 1000 bytes" in fault_of(path)


def test_a_parquet_file_of_many_equal_rows_is_stopped(tmp_path: Path) -> None:
    count = 20_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["a"]))
    table = pa.table(dict.fromkeys(("subject", "predicate", "object"), column))
    path = tmp_path / "facts.parquet"
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        many = pa.concat_tables([table] * (count // 1000)).combine_chunks()
        writer.write_table(many, row_group_size=count)
    assert path.stat().st_size < 200_000
    assert "it expands to more than 268,435,456 bytes" in fault_of(path)
    assert "it expands to more than 1,000 bytes" in fault_of(path, max_bytes=1000)


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
    assert "it expands to more than 268,435,456 bytes" in fault_of(path)
    parts[sheet] = parts[sheet].replace(far, b"<!--" + b" " * 5_000_000 + b"--></sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "it expands to more than 1,000,000 bytes" in fault_of(path, max_bytes=1_000_000)
