from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import PlainFact
from reference import plain_facts as as_plain
from worlds import PREDICATES, dataset_of, facts_of, plain_facts

from apptek.errors import DataError, DownloadError
from apptek.facts.benchmarks import (
    BENCHMARKS,
    DATA_VARIABLE,
    data_home,
    find_benchmark,
    get_benchmark,
)
from apptek.facts.facts import SPLITS, Dataset, Facts, Split, with_inverses
from apptek.facts.protocols import apply_protocol, cut_by_date
from apptek.facts.times import TimeAxis
from apptek.reading.download import checksum_fault
from apptek.reading.reader import read_dataset
from apptek.research.printed import compare_statistics, statistics
from apptek.research.result import read_result

RESULTS = Path(__file__).parents[1] / "paper" / "results"
splits = st.lists(plain_facts(), max_size=8)
trains = st.lists(plain_facts(), min_size=1, max_size=8)


def make_dataset(train: list[PlainFact], valid: list[PlainFact], test: list[PlainFact]) -> Dataset:
    return replace(
        dataset_of(train),
        name="small",
        axis=TimeAxis("day"),
        valid=facts_of(valid),
        test=facts_of(test),
    )


def rows_of(facts: Facts) -> list[PlainFact]:
    return as_plain(facts)[0]


def at(subject: int, predicate: int, object_: int, day: int) -> PlainFact:
    return PlainFact(subject, predicate, object_, day, day)


def filter_slowly(train: list[PlainFact], facts: list[PlainFact]) -> list[PlainFact]:
    """The definition: every part of a kept row occurs in train; unknown is no part."""
    entities = {entity for fact in train for entity in (fact.subject, fact.object)}
    predicates = {fact.predicate for fact in train}
    times = {time for fact in train for time in (fact.since, fact.until)} | {None}
    return [
        fact
        for fact in facts
        if {fact.subject, fact.object} <= entities
        and fact.predicate in predicates
        and {fact.since, fact.until} <= times
    ]


@given(train=trains, valid=splits, test=splits)
def test_the_papers_protocol_agrees_with_the_definition(
    train: list[PlainFact], valid: list[PlainFact], test: list[PlainFact]
) -> None:
    changed = apply_protocol(make_dataset(train, valid, test), "paper")
    assert rows_of(changed.train) == train
    assert rows_of(changed.valid) == filter_slowly(train, test)
    assert rows_of(changed.test) == filter_slowly(train, valid)


@given(train=trains, valid=splits, test=splits)
def test_statistics_agree_with_the_definition(
    train: list[PlainFact], valid: list[PlainFact], test: list[PlainFact]
) -> None:
    every = train + valid + test
    assert statistics(make_dataset(train, valid, test)) == {
        "entities": len({entity for fact in every for entity in (fact.subject, fact.object)}),
        "predicates": len({fact.predicate for fact in every}),
        "times": len({time for fact in every for time in (fact.since, fact.until)} - {None}),
        "train": len(train),
        "valid": len(valid),
        "test": len(test),
    }


def test_an_unknown_protocol_is_refused() -> None:
    dataset = make_dataset([at(0, 0, 1, 0)], [], [])
    with pytest.raises(DataError, match="the known ones are official, paper, forecast"):
        apply_protocol(dataset, "papers")  # type: ignore[arg-type]


CUTS = ("1970-01-05", "1970-01-08")  # codes 4 and 7


@given(train=trains, valid=splits, test=splits)
def test_a_cut_by_date_agrees_with_the_definition(
    train: list[PlainFact], valid: list[PlainFact], test: list[PlainFact]
) -> None:
    def start(fact: PlainFact) -> int:
        known = fact.until if fact.since is None else fact.since
        return -99 if known is None else known

    facts = list(dict.fromkeys(train + valid + test))
    parts = (
        [fact for fact in facts if start(fact) <= 4],
        [fact for fact in facts if 4 < start(fact) <= 7],
        [fact for fact in facts if start(fact) > 7],
    )
    dataset = make_dataset(train, valid, test)
    if not all(parts):
        with pytest.raises(DataError, match="small cannot be cut at 1970-01-05 and 1970-01-08"):
            cut_by_date(dataset, CUTS)
        return
    cut = cut_by_date(dataset, CUTS)
    assert tuple(rows_of(cut.split(split)) for split in SPLITS) == parts


def forecast_world(name: str) -> Dataset:
    """Three facts on the days around the cuts of ICEWS14, in the wrong splits."""
    day = TimeAxis("day").parse("2014-10-31")
    facts = [at(0, 0, 1, day + 31), at(0, 0, 1, day), at(0, 0, 1, day + 1)]
    return replace(make_dataset(facts[:1], facts[1:2], facts[2:]), name=name)


def test_a_benchmark_is_cut_at_its_dates_the_last_day_included() -> None:
    dataset = forecast_world("icews14")
    cut = apply_protocol(dataset, "forecast")
    assert rows_of(cut.train) == rows_of(dataset.valid)
    assert rows_of(cut.valid) == rows_of(dataset.test)
    assert rows_of(cut.test) == rows_of(dataset.train)


@pytest.mark.parametrize("name", ["yago15k", "my_events"])
def test_other_data_is_told_how_to_split_by_time(name: str) -> None:
    with pytest.raises(DataError, match=name) as refused:
        apply_protocol(forecast_world(name), "forecast")
    assert "only icews14 and icews05-15 have published dates" in str(refused.value)
    assert "--split-by time" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_other_files_under_the_name_of_a_benchmark_are_refused() -> None:
    dataset = replace(forecast_world("icews14"), axis=TimeAxis("integer"))
    with pytest.raises(DataError, match="icews14 cannot be cut at 2014-10-31 and 2014-11-30"):
        apply_protocol(dataset, "forecast")


def test_inverses_follow_the_facts_with_predicates_from_r_on() -> None:
    both = with_inverses(facts_of([PlainFact(1, 2, 3, 4, None), at(0, 1, 4, 2)]), PREDICATES)
    assert rows_of(both)[2:] == [PlainFact(3, 5, 1, 4, None), at(4, 4, 0, 2)]
    assert len(both) == 4


def test_an_unknown_benchmark_is_answered_with_the_known_ones() -> None:
    with pytest.raises(DownloadError, match=r"'icews18'.*icews14, icews05-15, yago15k"):
        get_benchmark("icews18")


def make_folder(home: Path, *names: Split) -> Path:
    folder = home / "icews14"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.txt").touch()
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, and no $APPTEK_DATA."""
    folder = tmp_path / "cache"
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: folder / name)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    return folder / "apptek" / "data"


def test_a_benchmark_lies_in_the_folder_of_the_variable_or_in_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_home() == cache
    make_folder(cache, "train", "valid")
    assert find_benchmark("icews14") is None  # half of it was downloaded
    cached = make_folder(cache, "test")
    assert find_benchmark("icews14") == cached
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "mine"))
    assert data_home() == tmp_path / "mine"
    assert find_benchmark("icews14") == cached
    mine = make_folder(tmp_path / "mine", "train", "valid", "test")
    assert find_benchmark("icews14") == mine


@pytest.mark.real_data
@pytest.mark.parametrize("name", BENCHMARKS)
def test_table_1_comes_out_as_it_is_recorded(name: str) -> None:
    folder = find_benchmark(name)
    if folder is None:
        pytest.skip(f"{name} is not there: set {DATA_VARIABLE} to the folder that holds it")
    public_train = BENCHMARKS[name].files["train"]
    if name == "yago15k" and checksum_fault(public_train, folder / "train.txt") is None:
        pytest.skip("the counts are those of the reconstructed train file; this is the public one")
    compared = compare_statistics(read_dataset(name), name)
    recorded = read_result(RESULTS / f"statistics-{name}.json").extras
    assert {part: compared[part] for part in recorded if part != "differences"} == {
        part: value for part, value in recorded.items() if part != "differences"
    }


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [("icews14", (74_845, 8_514, 7_371)), ("icews05-15", (368_868, 46_302, 46_159))],
)
def test_the_forecasting_splits_of_the_literature_come_out_to_the_digit(
    name: str, counts: tuple[int, int, int]
) -> None:
    if find_benchmark(name) is None:
        pytest.skip(f"{name} is not there: set {DATA_VARIABLE} to the folder that holds it")
    dataset = read_dataset(name)
    cut = apply_protocol(dataset, "forecast")
    assert tuple(len(cut.split(split)) for split in SPLITS) == counts
    days = [cut.axis.positions(cut.split(split).times) for split in SPLITS]
    assert days[0].max() < days[1].min()
    assert days[1].max() < days[2].min()
