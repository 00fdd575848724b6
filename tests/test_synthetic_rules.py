"""The planted rules of the synthetic world can be recovered by counting, and no others."""

from collections import defaultdict

import numpy as np
import pytest
from world_tables import Array, Table, table_of

from apptek.arrays import Bools
from apptek.facts.times import UNKNOWN
from apptek.synthetic.rules import FOLLOWING, PLANTED, Rule
from apptek.synthetic.world import make_world

THREAT, AID, BREAK = (
    "Mobilize or increase armed forces",
    "Provide military aid",
    "Reduce or break diplomatic relations",
)
LAST_DAY = int(np.datetime64("2021-12-31").astype(np.int64))


@pytest.fixture(scope="module")
def table() -> Table:
    return table_of(make_world(40_000, seed=3))


def head_at(table: Table, rule: Rule, subjects: Array, objects: Array, days: Array) -> Bools:
    """Whether the head of a rule of one body (a, r, b) holds on that day."""
    assert rule.head is not None
    ends = {"a": subjects, "b": objects}
    return table.holds(ends[rule.head.subject], rule.head.predicate, ends[rule.head.object], days)


def share_followed(table: Table, rule: Rule, rows: Bools, objects: Array) -> float:
    followed = np.zeros(rows.sum(), np.bool_)
    for lag in range(rule.lags[0], rule.lags[1] + 1):
        followed |= head_at(table, rule, table.subjects[rows], objects, table.since[rows] + lag)
    return float(followed.mean())


def bodies_of(table: Table, rule: Rule) -> Bools:
    """Facts on which the rule acted, and whose head cannot lie behind the last day."""
    in_time = table.since <= LAST_DAY - rule.lags[1]
    return table.of(rule.body[0].predicate) & ~table.made_by(rule.name) & in_time


def tolerance(probability: float, count: int) -> float:
    return float(4 * np.sqrt(probability * (1 - probability) / count)) + 0.01


@pytest.mark.parametrize("rule", FOLLOWING, ids=lambda rule: rule.name)
def test_a_body_is_followed_as_often_as_its_rule_says_and_at_its_lags(
    table: Table, rule: Rule
) -> None:
    rows = bodies_of(table, rule)
    share = share_followed(table, rule, rows, table.objects[rows])
    assert share == pytest.approx(rule.probability, abs=tolerance(rule.probability, rows.sum()))
    others = np.random.default_rng(0).permutation(table.objects[rows])
    assert share_followed(table, rule, rows, others) < 0.04
    lags = range(rule.lags[0], rule.lags[1] + 1)  # equally frequent; no other occurs
    for lag in range(-1, rule.lags[1] + 3):
        days = table.since[rows] + lag
        followed = head_at(table, rule, table.subjects[rows], table.objects[rows], days)
        expected = rule.probability / len(lags) if lag in lags else 0.0
        margin = tolerance(expected, rows.sum()) + 0.01
        assert followed.mean() == pytest.approx(expected, abs=margin)


def by_subject(table: Table, predicate: str) -> dict[int, list[tuple[int, int, str]]]:
    """(object, day, split) of a predicate's facts."""
    facts: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    columns = (table.subjects, table.objects, table.since, table.splits)
    rows = (column[table.of(predicate)].tolist() for column in columns)
    for subject, *fact in zip(*rows, strict=True):
        facts[subject].append((fact[0], fact[1], fact[2]))
    return facts


def test_every_retaliation_has_its_two_hop_path(table: Table) -> None:
    aids, threats = by_subject(table, AID), by_subject(table, THREAT)
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
    planted = [table.world.dataset.predicates.find(name) for name in PLANTED]
    assert set(table.predicates[noise].tolist()) == set(planted)
