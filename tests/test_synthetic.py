"""The synthetic world: its facts, sizes and names, and the files that it is written to."""

import errno
import hashlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from fact_files import in_words
from model_folders import files_of
from world_tables import table_of

from apptek.errors import ApptekError
from apptek.facts.facts import SPLITS
from apptek.facts.times import UNKNOWN
from apptek.reading.reader import read_dataset
from apptek.synthetic import world as synthetic
from apptek.synthetic.world import make_world, write_world


def test_terms_follow_each_other_and_the_last_is_open() -> None:
    table = table_of(make_world(40_000, seed=3))
    rows = np.flatnonzero(table.of("Head of government of"))
    assert np.array_equal(rows, np.flatnonzero(table.made_by("term-of-office")))
    terms: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in rows.tolist():
        terms[int(table.objects[row])].append((int(table.since[row]), int(table.until[row])))
    for country in terms.values():
        first, second, third = sorted(country)
        assert first[1] == second[0] < second[1] == third[0]
        assert third[1] == UNKNOWN
        assert first[0] < first[1]
    assert any(since == UNKNOWN for country in terms.values() for since, _ in country)


@pytest.mark.parametrize("facts", [200, 201, 999, 5_000, 40_000])
def test_no_fact_occurs_twice_and_the_size_is_exact(facts: int) -> None:
    table = table_of(make_world(facts, seed=5))
    columns = (table.subjects, table.predicates, table.objects, table.since, table.until)
    assert len(np.unique(np.column_stack(columns), axis=0)) == facts
    assert (table.subjects != table.objects).all()
    assert [int((table.splits == split).sum()) for split in SPLITS] == [
        facts - 2 * (facts // 10),
        facts // 10,
        facts // 10,
    ]


def test_a_seed_writes_always_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    digests = []
    for seed in (7, 8):
        write_world(make_world(3000, seed=seed), tmp_path / str(seed))
        files = files_of(tmp_path / str(seed))
        assert list(files) == ["rules.json", "test.tsv", "train.tsv", "valid.tsv"]
        digests.append(hashlib.sha256(b"".join(files.values())).hexdigest())
    assert digests[0] == "e4d0abe893b65973731b3952c2bd99f8de7006c43aabdd12fbb24361cc928222"
    assert digests[1] != digests[0]


def test_what_is_written_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_BATCH", 1000)
    world = make_world(3000, seed=1).dataset
    write_world(make_world(3000, seed=1), tmp_path / "world")
    read = read_dataset(tmp_path / "world")
    for split in SPLITS:
        assert in_words(read, read.split(split)) == in_words(world, world.split(split))


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pa.csv, "write_csv", full)
    with pytest.raises(ApptekError, match="world could not be written: No space left"):
        write_world(make_world(300), tmp_path / "world")
    assert list(tmp_path.iterdir()) == []
