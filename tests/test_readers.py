from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fact_files import DAY, FACT, compress, in_words, parquet_bytes, read_all, read_text, write
from hypothesis import given
from hypothesis import strategies as st

from apptek.errors import DataError
from apptek.facts.facts import SPLITS, Names
from apptek.facts.protocols import Splitting
from apptek.reading.reader import read_dataset

# Folders and files


@pytest.mark.parametrize(
    ("suffix", "compression"),
    [(".txt", ""), (".tsv", ".gz"), (".csv", ".zst"), (".parquet", ""), (".TXT", ".GZ")],
)
def test_a_folder_of_each_format_is_read(tmp_path: Path, suffix: str, compression: str) -> None:
    for subject, split in zip("abc", ("train", "dev", "test"), strict=True):
        titles, row = ("subject", "predicate", "object", "time"), (subject, "p", "z", DAY)
        separator = "," if suffix == ".csv" else "\t"
        content = (separator.join(row) + "\n").encode()
        if suffix == ".parquet":
            content = parquet_bytes(**{t: [cell] for t, cell in zip(titles, row, strict=True)})
        content = compress(content, compression.lower())
        (tmp_path / f"{split}{suffix}{compression}").write_bytes(content)
    dataset = read_dataset(tmp_path)
    facts = [in_words(dataset, dataset.split(split)) for split in SPLITS]
    assert facts == [[(subject, "p", "z", DAY, DAY)] for subject in "abc"]
    assert list(dataset.entities) == ["a", "b", "c", "z"]


@pytest.mark.parametrize("folder", ["my data", "icews.v2.txt", "a.b/c.d", "d\u00e9p\u00f4t"])
def test_a_path_may_hold_dots_and_spaces(tmp_path: Path, folder: str) -> None:
    path = write(tmp_path / folder / "train.txt.gz", f"a\tp\tb\t{DAY}\n")
    assert in_words(read_dataset(path.parent)) == [FACT]
    assert read_dataset(path.parent).name == path.parent.name
    assert in_words(read_all(path)) == [FACT]
    assert read_all(path).name == "train"


def test_progress_ends_with_all_bytes(tmp_path: Path) -> None:
    for split in SPLITS:
        write(tmp_path / f"{split}.txt", f"a\tp\tb\t{DAY}\n")
    seen: list[tuple[str, int, int]] = []
    read_dataset(tmp_path, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("test.txt", 51, 51)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


# Text


# Times


# Parquet


def test_parquet_columns_of_many_types_are_read(tmp_path: Path) -> None:
    content = parquet_bytes(
        object=pa.array(["x", "y", "x"]).dictionary_encode(),
        weight=[0.5, 0.25, 1.0],
        subject=pa.array([7, 8, 9], pa.int64()),
        predicate=pa.array(["p", "p", "q"], pa.large_string()),
        date=pa.array([16203, None, -1], pa.date32()),
    )
    assert in_words(read_text(tmp_path, content, "facts.parquet")) == [
        ("7", "p", "x", DAY, DAY),
        ("8", "p", "y", "?", "?"),
        ("9", "q", "x", "1969-12-31", "1969-12-31"),
    ]


# Facts and names


def test_a_duplicate_is_counted_and_kept_at_its_first_place(tmp_path: Path) -> None:
    write(tmp_path / "train.txt", "b\tp\tc\t1\na\tp\tb\t1\nb\tp\tc\t1\nb\tp\tc\t2\nb\tp\tc\t+1\n")
    write(tmp_path / "valid.txt", "b\tp\tc\t1\nb\tp\tc\t1\nc\tp\tc\t1\n")
    dataset = read_dataset(tmp_path)
    assert [row[::3] for row in in_words(dataset)] == [("b", "1"), ("a", "1"), ("b", "2")]
    assert dataset.report.duplicates == {"train": 2, "valid": 1, "test": 0}
    assert dataset.report.also_in_train == {"valid": 1, "test": 0}


def test_the_arrays_of_facts_are_int32_and_closed_for_writing(tmp_path: Path) -> None:
    facts = read_text(tmp_path, "a\tp\tb\t1\t2\nb\tp\ta\t1\n").train
    for column in facts.columns():
        assert column.dtype == np.int32
        assert not column.flags.writeable
    assert not facts.times.flags.writeable


@given(
    names=st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=9),
    other=st.text(max_size=2),
)
def test_every_name_is_found_and_no_other(names: set[str], other: str) -> None:
    kept = Names(pa.array(sorted(names, key=str.encode), pa.string()))
    assert [kept.find(name) for name in kept] == list(range(len(names)))
    assert (kept.find(other) is None) == (other not in names)


def test_data_with_splits_of_its_own_is_not_split(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        write(tmp_path / f"{split}.tsv", "a\tp\tb\t2014-05-13\n")
    with pytest.raises(DataError, match="split of its own: --read split= and --split-by are for"):
        read_dataset(tmp_path, splitting=Splitting(by="time"))


def test_an_open_end_is_ongoing_where_others_have_both_ends(tmp_path: Path) -> None:
    header = "subject,predicate,object,since,until\n"
    open_ends = "".join(f"a,p,b{n},19{n + 10},\n" for n in range(9))
    write(tmp_path / "open.csv", header + open_ends)
    write(tmp_path / "both.csv", header + open_ends + "a,p,c,1990,1995\n")
    assert read_dataset(tmp_path / "open.csv").open_end == "point"
    assert read_dataset(tmp_path / "both.csv").open_end == "ongoing"
    assert read_dataset(tmp_path / "both.csv", open_end="point").open_end == "point"
