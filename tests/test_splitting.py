from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fact_files import write
from hypothesis import given
from hypothesis import strategies as st

from apptek.errors import DataError
from apptek.facts.facts import SPLITS, Dataset, Facts, Names
from apptek.facts.protocols import Splitting, split_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.reading.reader import read_dataset

shares = st.tuples(st.floats(0.05, 1), st.floats(0, 1)).filter(lambda both: sum(both) <= 1)
moments = st.one_of(st.just(UNKNOWN), st.integers(0, 6))


def dataset_of(times: list[int], axis: TimeAxis | None = None) -> Dataset:
    """One fact for each time, each with its own subject."""
    count = len(times)
    zeros, when = np.zeros(count, np.int32), np.asarray(times, np.int32)
    nothing = np.zeros(0, np.int32)
    return Dataset(
        name="small",
        entities=Names(pa.array([f"e{number:03d}" for number in range(count)])),
        predicates=Names(pa.array(["p"])),
        axis=axis or TimeAxis("integer"),
        train=Facts(np.arange(count, dtype=np.int32), zeros, zeros, when, when),
        valid=Facts(*[nothing] * 5),
        test=Facts(*[nothing] * 5),
    )


def members(dataset: Dataset) -> list[list[int]]:
    return [dataset.split(split).subjects.tolist() for split in SPLITS]


@given(count=st.integers(20, 200), both=shares, seed=st.integers(0, 2**40))
def test_a_random_split_takes_every_fact_once_in_its_order_and_by_its_share(
    count: int, both: tuple[float, float], seed: int
) -> None:
    train, valid = both
    splitting = Splitting(train=train, valid=valid, seed=seed)
    parts = members(split_facts(dataset_of(list(range(count))), splitting))
    assert sorted(chain(*parts)) == list(range(count))
    assert all(part == sorted(part) for part in parts)
    assert len(parts[0]) == round(count * train)
    assert abs(len(parts[1]) - count * valid) <= 1


@given(count=st.integers(20, 200), seed=st.integers(0, 2**40), data=st.data())
def test_a_random_split_does_not_depend_on_the_order_of_the_rows(
    count: int, seed: int, data: st.DataObject
) -> None:
    dataset, splitting = dataset_of(list(range(count))), Splitting(seed=seed)
    order = np.asarray(data.draw(st.permutations(range(count))))
    other = replace(dataset, train=dataset.train.take(order))
    parts = members(split_facts(other, splitting))
    assert [sorted(part) for part in parts] == members(split_facts(dataset, splitting))


def test_the_rows_of_a_file_may_come_in_any_order(tmp_path: Path) -> None:
    lines = [f"a{n % 7}\tp{n % 3}\tb{n}\t2020-01-{1 + n % 28:02d}" for n in range(60)]
    found = []
    for name, rows in (("forward", lines), ("backward", lines[::-1])):
        data = read_dataset(write(tmp_path / f"{name}.tsv", "\n".join(rows) + "\n"))
        names = data.entities
        found.append([
            sorted(names[entity] for entity in data.split(split).objects.tolist())
            for split in SPLITS
        ])  # fmt: skip
    assert found[0] == found[1]
    assert len(found[0][1]) == 6


def test_facts_without_times_cannot_be_split_by_time() -> None:
    with pytest.raises(DataError, match="cannot be split by time: no fact is dated"):
        split_facts(dataset_of([UNKNOWN] * 30), Splitting(by="time"))


dated_somewhere = st.lists(moments, min_size=20, max_size=60).filter(
    lambda times: any(time != UNKNOWN for time in times)
)


@given(times=dated_somewhere, both=shares)
def test_a_split_by_time_puts_the_past_first_and_keeps_a_time_together(
    times: list[int], both: tuple[float, float]
) -> None:
    splitting = Splitting(by="time", train=both[0], valid=both[1])
    parts = members(split_facts(dataset_of(times), splitting))
    assert sorted(chain(*parts)) == list(range(len(times)))
    of_parts = [{times[number] for number in part} for part in parts]
    for earlier, later in ((0, 1), (1, 2), (0, 2)):
        assert not of_parts[earlier] & of_parts[later]
        assert max(of_parts[earlier], default=UNKNOWN) <= min(of_parts[later], default=7)
    assert UNKNOWN not in of_parts[1] | of_parts[2]
    assert len(parts[0]) >= round(len(times) * both[0])


def test_on_a_mixed_calendar_one_position_is_one_time() -> None:
    axis = TimeAxis("day", mixed=True)
    times = [axis.parse(text) for text in ("1998-##-##", "1999-##-##", "1999-01-01", "2000-01-01")]
    splitting = Splitting(by="time", train=0.5, valid=0.25)
    assert members(split_facts(dataset_of(times, axis), splitting)) == [[0, 1, 2], [], [3]]


def test_too_few_facts_for_a_train_split_are_refused() -> None:
    with pytest.raises(DataError, match=r"^small: there are no training facts$"):
        split_facts(dataset_of([1, 2]), Splitting(train=0.2, valid=0.8))


def test_a_single_file_is_split_and_a_folder_is_not(tmp_path: Path) -> None:
    lines = "".join(f"e{number}\tp\tb\t{number}\n" for number in range(50))
    path = write(tmp_path / "train.tsv", lines)
    assert [len(read_dataset(path).split(split)) for split in SPLITS] == [40, 5, 5]
    by_time = read_dataset(path, splitting=Splitting(by="time", train=0.5, valid=0.2))
    assert by_time.train.times.max() < by_time.valid.times.min()
    assert by_time.valid.times.max() < by_time.test.times.min()
    assert [len(read_dataset(tmp_path).split(split)) for split in SPLITS] == [50, 0, 0]
