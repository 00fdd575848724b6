"""The synthetic world: its facts, sizes and names, and the files that it is written to."""

import errno
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from model_folders import files_of
from world_tables import Table, table_of

from apptek.errors import ApptekError, DataError
from apptek.facts.facts import SPLITS, Split
from apptek.facts.times import UNKNOWN
from apptek.synthetic import world as synthetic
from apptek.synthetic.rules import (
    LOCATED,
    ORIGIN,
    PREDICATES,
    RULES,
)
from apptek.synthetic.world import LARGEST, SMALLEST, World, make_world, write_world


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(40_000, seed=3)


@pytest.fixture(scope="module")
def table(world: World) -> Table:
    return table_of(world)


def test_few_entities_take_part_in_many_facts(table: Table) -> None:
    degrees = np.sort(np.bincount(np.concatenate([table.subjects, table.objects])))[::-1]
    assert degrees[: len(degrees) // 20].sum() > 0.25 * degrees.sum()
    assert degrees[0] > 15 * np.median(degrees)


def test_terms_follow_each_other_and_the_last_is_open(table: Table) -> None:
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


def test_only_terms_are_intervals_and_only_lasting_facts_are_undated(table: Table) -> None:
    term = table.made_by("term-of-office")
    undated = (table.since == UNKNOWN) & (table.until == UNKNOWN)
    assert np.array_equal(table.since != table.until, term)
    assert np.array_equal(undated, table.made_by("undated"))
    known = (table.since != UNKNOWN) & (table.until != UNKNOWN)
    assert (table.since <= table.until)[known].all()
    names = {table.world.dataset.predicates[int(p)] for p in np.unique(table.predicates[undated])}
    assert names == {"Is located in", "Part of", "Allied with"}


def test_leaders_act_only_in_office(table: Table) -> None:
    rows = table.made_by("term-of-office")
    since = np.full(len(table.world.dataset.entities), -(10**9))
    until = np.full(len(table.world.dataset.entities), 10**9)
    since[table.subjects[rows]] = table.since[rows]
    ends = table.until[rows]
    until[table.subjects[rows]] = np.where(ends == UNKNOWN, 10**9, ends)
    background = table.made_by("background")
    days = table.since[background]
    for entities in (table.subjects[background], table.objects[background]):
        assert (since[entities] <= days).all()
        assert (days <= until[entities]).all()


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


def test_origins_line_up_with_the_facts(table: Table) -> None:
    for origin, rule in enumerate(table.world.rules):
        rows = table.origins == origin
        assert rows.any()
        if rule.head is not None:
            assert table.of(rule.head.predicate)[rows].all()
    for split in SPLITS:
        origins = table.world.origins[split]
        assert origins.dtype == np.int8
        assert not origins.flags.writeable
        assert len(origins) == len(table.world.dataset.split(split))


def test_names_are_distinct_in_byte_order_and_all_in_use(table: Table) -> None:
    dataset = table.world.dataset
    for names in (list(dataset.entities), list(dataset.predicates)):
        assert [name.encode() for name in names] == sorted({name.encode() for name in names})
        assert not any(mark in name for name in names for mark in '\t\n\r"')
    used = np.union1d(table.subjects, table.objects)
    assert len(used) == len(dataset.entities) > 150
    assert len(np.unique(table.predicates)) == len(dataset.predicates) == len(PREDICATES)


def test_an_organ_is_located_in_the_state_that_its_name_bears(world: World) -> None:
    dataset, rows = world.dataset, np.flatnonzero(world.origins["train"] == ORIGIN["undated"])
    located = dataset.predicates.find(LOCATED)
    rows = rows[dataset.train.predicates[rows] == located]
    assert len(rows) > 0
    for row in rows.tolist():
        organ = dataset.entities[dataset.train.subjects[row]]
        assert organ.endswith(f" ({dataset.entities[dataset.train.objects[row]]})")


@pytest.mark.parametrize(
    ("facts", "seed", "message"),
    [
        *((facts, 0, "a world has 200 to 100,000,000 facts, not") for facts in (-1, LARGEST + 1)),
        (SMALLEST - 1, 0, "a world has 200 to 100,000,000 facts, not 199"),
        (1000, -1, "a seed is 0 or more, not -1"),
    ],
)
def test_a_senseless_size_or_seed_is_refused(facts: int, seed: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_world(facts, seed=seed)


def test_a_world_may_have_a_million_facts() -> None:
    data = make_world(1_000_000).dataset
    assert sum(len(data.split(split)) for split in SPLITS) == 1_000_000


def test_the_same_seed_writes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        write_world(make_world(3000, seed=seed), tmp_path / name)
    one, two, other = (files_of(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two
    assert list(one) == ["rules.json", "test.tsv", "train.tsv", "valid.tsv"]
    assert not any(one[name] == other[name] for name in one)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other", "two"]


@pytest.mark.parametrize("split", SPLITS)
def test_a_written_file_says_what_the_facts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: Split
) -> None:
    monkeypatch.setattr(synthetic, "_BATCH", 1000)
    world = make_world(3000, seed=1)
    write_world(world, tmp_path / "world")
    lines = (tmp_path / "world" / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
    dataset, facts = world.dataset, world.dataset.split(split)
    expected = [
        "\t".join(
            [
                dataset.entities[facts.subjects[row]],
                dataset.predicates[facts.predicates[row]],
                dataset.entities[facts.objects[row]],
                dataset.axis.format(int(facts.since[row])).replace("?", ""),
                dataset.axis.format(int(facts.until[row])).replace("?", ""),
                world.rules[world.origins[split][row]].name,
            ]
        )
        for row in range(len(facts))
    ]
    assert lines == ["subject\tpredicate\tobject\tsince\tuntil\trule", *expected]


def test_the_rules_file_counts_the_facts_of_each_rule(tmp_path: Path, world: World) -> None:
    write_world(world, tmp_path / "world")
    text = (tmp_path / "world" / "rules.json").read_text(encoding="utf-8")
    page = json.loads(text)
    assert (page["facts"], page["seed"]) == (40_000, 3)
    assert [rule["name"] for rule in page["rules"]] == [rule.name for rule in RULES]
    for split in SPLITS:
        counts = [rule["counts"][split] for rule in page["rules"]]
        assert counts == np.bincount(world.origins[split], minlength=len(RULES)).tolist()
    assert text == json.dumps(page, indent=2, sort_keys=True) + "\n"
    assert str(tmp_path) not in text


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pa.csv, "write_csv", full)
    with pytest.raises(ApptekError, match="world could not be written: No space left"):
        write_world(make_world(300), tmp_path / "world")
    assert list(tmp_path.iterdir()) == []
