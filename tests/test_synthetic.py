"""The planted world is what it says: its rules are found by counting, and nothing else is there."""

import errno
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pytest
from model_folders import files_of

from apptek.arrays import Bools
from apptek.data.facts import SPLITS, Facts, Split
from apptek.data.synthetic import world as synthetic
from apptek.data.synthetic.rules import (
    ALLY_AIDS,
    ALLY_RETALIATES,
    FILLING,
    FOLLOWING,
    LOCATED,
    ORIGIN,
    PLANTED,
    PREDICATES,
    RULES,
    STREAMS,
    Rule,
)
from apptek.data.synthetic.world import LARGEST, SMALLEST, World, make_world, write_world
from apptek.data.times import UNKNOWN
from apptek.errors import ApptekError, DataError

Array = npt.NDArray[np.int64]

THREAT, AID, BREAK = (
    "Mobilize or increase armed forces",
    "Provide military aid",
    "Reduce or break diplomatic relations",
)
LAST_DAY = int(np.datetime64("2021-12-31").astype(np.int64))


@dataclass(frozen=True, slots=True)
class Table:
    """All facts of a world under each other."""

    world: World
    subjects: Array
    predicates: Array
    objects: Array
    since: Array
    until: Array
    origins: Array
    splits: npt.NDArray[np.str_]

    def of(self, predicate: str) -> Bools:
        return np.asarray(self.predicates == self.world.dataset.predicates.find(predicate))

    def made_by(self, name: str) -> Bools:
        return np.asarray(self.origins == ORIGIN[name])

    def keys(self, subjects: Array, predicate: str, objects: Array, days: Array) -> Array:
        """One number for each dated event."""
        count = len(self.world.dataset.entities)
        place = PREDICATES.index(predicate)
        return ((days * count + subjects) * count + objects) * len(PREDICATES) + place

    def holds(self, subjects: Array, predicate: str, objects: Array, days: Array) -> Bools:
        """Which of these events are in the world."""
        rows = self.of(predicate)
        known = self.keys(self.subjects[rows], predicate, self.objects[rows], self.since[rows])
        return np.isin(self.keys(subjects, predicate, objects, days), known)


def table_of(world: World) -> Table:
    parts = [world.dataset.split(split) for split in SPLITS]
    subjects, predicates, objects, since, until = (
        np.concatenate([part.columns()[place] for part in parts]).astype(np.int64)
        for place in range(5)
    )
    origins = np.concatenate([world.origins[split] for split in SPLITS]).astype(np.int64)
    splits = np.repeat(SPLITS, [len(part) for part in parts])
    return Table(world, subjects, predicates, objects, since, until, origins, splits)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(40_000, seed=3)


@pytest.fixture(scope="module")
def table(world: World) -> Table:
    return table_of(world)


def head_at(table: Table, rule: Rule, subjects: Array, objects: Array, days: Array) -> Bools:
    """Whether the head of a rule of one body (a, r, b) holds on that day."""
    assert rule.head is not None
    ends = {"a": subjects, "b": objects}
    return table.holds(ends[rule.head.subject], rule.head.predicate, ends[rule.head.object], days)


def share_followed(table: Table, rule: Rule, rows: Bools, objects: Array) -> float:
    found = np.zeros(rows.sum(), np.bool_)
    for lag in range(rule.lags[0], rule.lags[1] + 1):
        found |= head_at(table, rule, table.subjects[rows], objects, table.since[rows] + lag)
    return float(found.mean())


def bodies_of(table: Table, rule: Rule) -> Bools:
    """Facts on which the rule acted, and whose head cannot lie behind the last day."""
    in_time = table.since <= LAST_DAY - rule.lags[1]
    return table.of(rule.body[0].predicate) & ~table.made_by(rule.name) & in_time


def tolerance(probability: float, count: int) -> float:
    return float(4 * np.sqrt(probability * (1 - probability) / count)) + 0.01


@pytest.mark.parametrize("rule", FOLLOWING, ids=lambda rule: rule.name)
def test_a_body_is_followed_as_often_as_its_rule_says(table: Table, rule: Rule) -> None:
    rows = bodies_of(table, rule)
    share = share_followed(table, rule, rows, table.objects[rows])
    assert share == pytest.approx(rule.probability, abs=tolerance(rule.probability, rows.sum()))


@pytest.mark.parametrize("rule", FOLLOWING, ids=lambda rule: rule.name)
def test_a_body_with_another_object_is_followed_hardly_ever(table: Table, rule: Rule) -> None:
    rows = bodies_of(table, rule)
    strangers = np.random.default_rng(0).permutation(table.objects[rows])
    assert share_followed(table, rule, rows, strangers) < 0.04


@pytest.mark.parametrize("rule", FOLLOWING, ids=lambda rule: rule.name)
def test_each_lag_of_a_rule_is_equally_frequent_and_no_other_occurs(
    table: Table, rule: Rule
) -> None:
    rows = bodies_of(table, rule)
    shares = [
        head_at(table, rule, table.subjects[rows], table.objects[rows], table.since[rows] + lag)
        for lag in range(-1, rule.lags[1] + 3)
    ]
    lags = range(rule.lags[0], rule.lags[1] + 1)
    for lag, found in zip(range(-1, rule.lags[1] + 3), shares, strict=True):
        expected = rule.probability / len(lags) if lag in lags else 0.0
        assert found.mean() == pytest.approx(expected, abs=tolerance(expected, rows.sum()) + 0.01)


def index(table: Table, predicate: str, *, by: str) -> dict[int, list[tuple[int, int, str]]]:
    """(other end, day, split) of a predicate's facts, by subject or object."""
    found: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    rows = table.of(predicate)
    keys, others = (
        (table.subjects, table.objects) if by == "subject" else (table.objects, table.subjects)
    )
    for key, other, day, split in zip(
        keys[rows].tolist(),
        others[rows].tolist(),
        table.since[rows].tolist(),
        table.splits[rows].tolist(),
        strict=True,
    ):
        found[key].append((other, day, split))
    return found


def test_every_retaliation_has_its_two_hop_path(table: Table) -> None:
    aids, threats = index(table, AID, by="subject"), index(table, THREAT, by="subject")
    rows = np.flatnonzero(table.made_by("ally-retaliates"))
    assert len(rows) > 500
    for row in rows.tolist():
        ally, attacker, day = (int(c[row]) for c in (table.subjects, table.objects, table.since))
        splits = {
            (first, second)
            for victim, aided, first in aids[ally]
            for target, threatened, second in threats[attacker]
            if victim == target and 1 <= day - aided <= 2 and 1 <= aided - threatened <= 2
        }
        assert splits
        if table.splits[row] != "train":
            assert ("train", "train") in splits


def test_the_two_hop_rule_fires_as_often_as_it_says(table: Table) -> None:
    aids, breaks = index(table, AID, by="object"), index(table, BREAK, by="object")
    pledges = index(table, "Allied with", by="object")
    threats = aided = retaliated = 0
    rows = np.flatnonzero(table.of(THREAT) & (table.since <= LAST_DAY - 4))
    for row in rows.tolist():
        attacker, victim, day = (int(c[row]) for c in (table.subjects, table.objects, table.since))
        if not pledges[victim]:
            continue
        threats += 1
        helpers = [(c, when) for c, when, _ in aids[victim] if 1 <= when - day <= 2]
        aided += bool(helpers)
        retaliated += any(
            c == helper and 1 <= late - when <= 2
            for helper, when in helpers
            for c, late, _ in breaks[attacker]
        )
    p, q = ALLY_AIDS.probability, ALLY_RETALIATES.probability
    assert aided / threats == pytest.approx(p, abs=tolerance(p, threats))
    assert retaliated / aided == pytest.approx(q, abs=tolerance(q, aided))


def test_aid_comes_from_an_ally(table: Table) -> None:
    pledged = set(
        zip(
            table.subjects[table.of("Allied with")].tolist(),
            table.objects[table.of("Allied with")].tolist(),
            strict=True,
        )
    )
    rows = table.made_by("ally-aids")
    assert (
        set(zip(table.subjects[rows].tolist(), table.objects[rows].tolist(), strict=True))
        <= pledged
    )


def test_the_two_hop_predicate_belongs_to_its_rule_and_joins_strangers(table: Table) -> None:
    rows = table.of(BREAK)
    made = table.made_by("ally-retaliates")
    assert made[rows].mean() > 0.9
    ends = np.sort(np.column_stack([table.subjects, table.objects]), axis=1)
    pairs = ends[:, 0] * len(table.world.dataset.entities) + ends[:, 1]
    _, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    assert (counts[inverse][made] == 1).mean() > 0.85


def nearest(facts: Facts, entity: int, day: int, count: int) -> set[int]:
    """Rows of the facts of an entity nearest to a day; undated ones last."""
    rows = np.flatnonzero((facts.subjects == entity) | (facts.objects == entity))
    times = facts.times[rows].astype(np.int64)
    distances = np.where(times == UNKNOWN, np.iinfo(np.int64).max, np.abs(times - day))
    return set(rows[np.argsort(distances, kind="stable")[:count]].tolist())


def test_the_two_hop_path_is_among_the_25_nearest_facts_of_its_ends(world: World) -> None:
    train, test = world.dataset.train, world.dataset.test
    threat, aid = (world.dataset.predicates.find(name) for name in (THREAT, AID))
    rows = np.flatnonzero(world.origins["test"] == ORIGIN["ally-retaliates"])
    seen = 0
    for row in rows.tolist():
        day = int(test.since[row])
        aided = nearest(train, int(test.subjects[row]), day, 25)
        threatened = nearest(train, int(test.objects[row]), day, 25)
        victims = {int(train.objects[i]) for i in aided if train.predicates[i] == aid}
        targets = {int(train.objects[i]) for i in threatened if train.predicates[i] == threat}
        seen += bool(victims & targets)
    assert len(rows) > 50
    assert seen / len(rows) > 0.95


def test_riots_have_their_season_and_statements_have_none(table: Table) -> None:
    months = table.since.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1
    season = np.isin(months, (3, 4, 10))
    assert season[table.of("Protest violently, riot")].mean() == pytest.approx(
        0.7 + 0.3 / 4, abs=0.05
    )
    assert season[table.of("Make statement")].mean() == pytest.approx(1 / 4, abs=0.02)
    assert set(months[table.made_by("annual-summit")].tolist()) == {6}


def test_noise_has_its_share_and_falls_on_every_predicate_of_a_rule(table: Table) -> None:
    noise = table.made_by("noise")
    dated = table.since != UNKNOWN
    assert noise.sum() / dated.sum() == pytest.approx(0.04, abs=0.003)
    places = [table.world.dataset.predicates.find(name) for name in PLANTED]
    assert set(table.predicates[noise].tolist()) == set(places)


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


def test_the_planted_facts_fit_even_if_every_rule_always_fired() -> None:
    shares: dict[str, float] = defaultdict(float)
    for predicate in PLANTED:
        shares[predicate] = RULES[ORIGIN["noise"]].probability / len(PLANTED)
    for stream in STREAMS:
        shares[stream.predicate] += stream.share
    for rule in (*FOLLOWING, ALLY_AIDS, ALLY_RETALIATES):
        assert rule.head is not None
        shares[rule.head.predicate] += shares[
            rule.body[-1 if rule is ALLY_RETALIATES else 0].predicate
        ]
    assert sum(shares.values()) < 0.9


def test_noise_and_rules_leave_the_filling_predicates_alone() -> None:
    assert not {stream.predicate for stream in FILLING} & set(PLANTED)
    assert sum(stream.share for stream in FILLING) == pytest.approx(1)


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


@pytest.mark.parametrize("facts", [-1, 0, SMALLEST - 1, LARGEST + 1])
def test_a_senseless_size_is_refused(facts: int) -> None:
    with pytest.raises(DataError, match=r"a world has 200 to 100,000,000 facts, not"):
        make_world(facts)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(DataError, match="a seed is 0 or more, not -1"):
        make_world(1000, seed=-1)


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


def test_a_folder_with_something_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "precious.txt").write_bytes(b"mine")
    with pytest.raises(ApptekError, match="world exists already"):
        write_world(make_world(300), tmp_path / "world")
    assert files_of(tmp_path / "world") == {"precious.txt": b"mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["world"]


def test_a_file_in_the_folder_s_place_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "world").write_bytes(b"mine")
    with pytest.raises(ApptekError, match="world exists already"):
        write_world(make_world(300), tmp_path / "world")
    assert (tmp_path / "world").read_bytes() == b"mine"


def test_an_empty_folder_is_filled_and_missing_parents_are_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new" / "deep"):
        write_world(make_world(300), folder)
        assert len(files_of(folder)) == 4


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pa.csv, "write_csv", full)
    with pytest.raises(ApptekError, match="world could not be written: No space left"):
        write_world(make_world(300), tmp_path / "world")
    assert list(tmp_path.iterdir()) == []
