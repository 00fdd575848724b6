"""The audit: planted errors are found, and nothing is judged by a model that has learned it."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import apptek
from hypothesis import given
from hypothesis import strategies as st
from reference import PlainFact
from worlds import dataset_of, facts_of, plain_facts

from apptek.audit.audit import FINDINGS, Audit, Roles, audit_facts, is_mirrored
from apptek.audit.judge import all_in_train, cross_fit, impossible_partners
from apptek.audit.report import Reasons, audit_table
from apptek.evaluation.calibration import area_under_curve
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import training_queries
from apptek.facts.times import TimeAxis
from apptek.seeding import generator
from apptek.synthetic.world import make_world
from benchmarks.planted_errors import Error, familiarity, plant_errors

SIZE = 4000


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(SIZE, 3).dataset


@pytest.fixture(scope="module")
def audited(world: Dataset) -> Audit:
    return audit_facts(cross_fit(all_in_train(world)))


@pytest.mark.parametrize("error", ["frequency", "uniform", "direction"])
def test_planted_errors_are_found(world: Dataset, error: Error) -> None:
    damaged, wrong = plant_errors(world, error, rng=generator(1, "test"))
    assert np.count_nonzero(wrong) == round(0.01 * len(world.train))
    audit = audit_facts(cross_fit(damaged))
    odds = audit.direction_odds if error == "direction" else audit.predicate_odds
    scores = (odds, -familiarity(audit.roles), audit.odds)
    found, simple, listed = (area_under_curve(score, wrong) or 0.0 for score in scores)
    assert found > 0.9
    assert found > simple
    assert listed > 0.85


def _quadruples(facts: Facts) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in facts.columns()), strict=True))


def test_a_fact_is_not_judged_by_its_own_label() -> None:
    """The label of a fact that is no neighbour of others changes only models of other folds."""
    common = [PlainFact(s, s % 2, 2 - s, t, t) for s in (0, 2) for t in range(12)]
    judges = [cross_fit(dataset_of([*common, PlainFact(3, r, 4, 5, 5)])) for r in (0, 1)]
    own = int(judges[0].fold_of[-1])
    for fold in range(len(judges[0].views)):
        one, other = (judge.views[fold].fitted.classifier for judge in judges)
        same = np.array_equal(one.weights, other.weights) and np.array_equal(one.bias, other.bias)
        assert same == (fold == own)


def test_the_same_seed_gives_the_same_audit(world: Dataset, audited: Audit) -> None:
    again = audit_facts(cross_fit(all_in_train(world)))
    assert audit_table(again, 3).equals(audit_table(audited, 3))


def test_judgements_are_the_probabilities_of_the_judge(audited: Audit) -> None:
    judge, judged = audited.judge, audited.judgements
    facts = judge.model.graph.facts
    rows = np.arange(0, len(facts), 97)
    probabilities = judge.views[0].probabilities(judge.scores(training_queries(facts).take(rows)))
    quadruples = _quadruples(facts)
    for row, of_query in zip(rows.tolist(), probabilities, strict=True):
        s, own, o, *when = quadruples[row]
        others = {q[1] for q in quadruples if (q[0], q[2], *q[3:]) == (s, o, *when)} - {own}
        left = np.delete(of_query, sorted(others)).astype(np.float64)
        assert judged.probabilities[row] == pytest.approx(of_query[own] / left.sum(), rel=1e-5)
        assert judged.expected_probabilities[row] == pytest.approx(left.max() / left.sum())
        assert int(judged.expected[row]) not in others


@given(st.lists(plain_facts(), min_size=1, max_size=12))
def test_roles_count_other_facts(plain: list[PlainFact]) -> None:
    roles = Roles.of(facts_of(plain))
    for row, fact in enumerate(plain):
        others = [other for place, other in enumerate(plain) if place != row]
        does = [other.subject for other in others if other.predicate == fact.predicate]
        gets = [other.object for other in others if other.predicate == fact.predicate]
        assert roles.subject_does[row] == does.count(fact.subject)
        assert roles.object_gets[row] == gets.count(fact.object)
        assert roles.object_does[row] == does.count(fact.object)
        assert roles.subject_gets[row] == gets.count(fact.subject)


@given(st.lists(plain_facts(), min_size=1, max_size=12))
def test_a_fact_is_mirrored_where_its_reversal_is_recorded(plain: list[PlainFact]) -> None:
    texts = {(f.subject, f.predicate, f.object, f.since, f.until) for f in plain}
    expected = [(f.object, f.predicate, f.subject, f.since, f.until) in texts for f in plain]
    assert is_mirrored(facts_of(plain)).tolist() == expected


@given(st.lists(plain_facts(), min_size=1, max_size=14, unique=True))
def test_impossible_intervals_by_definition(plain: list[PlainFact]) -> None:
    partners = impossible_partners(facts_of(plain), TimeAxis("integer"))
    for row, fact in enumerate(plain):
        triple = (fact.subject, fact.predicate, fact.object)
        same = [
            place
            for place, other in enumerate(plain)
            if (other.subject, other.predicate, other.object) == triple
        ]
        opening = [p for p in same if plain[p].since is not None and plain[p].until is None]
        closing = [p for p in same if plain[p].since is None and plain[p].until is not None]
        expected = -1
        if len(opening) == len(closing) == 1 and row in (opening[0], closing[0]):
            start, end = plain[opening[0]].since, plain[closing[0]].until
            assert start is not None
            assert end is not None
            if start > end:
                expected = closing[0] if row == opening[0] else opening[0]
        assert partners[row] == expected


def test_an_interval_that_ends_before_it_starts_comes_first() -> None:
    plain = [PlainFact(s, r, s + 1, t, t) for s in range(3) for r in range(2) for t in range(6)]
    plain += [PlainFact(0, 2, 1, 9, None), PlainFact(0, 2, 1, None, 4)]
    audit = audit_facts(cross_fit(dataset_of(plain)))
    count = len(plain)
    assert set(audit.order[:2].tolist()) == {count - 2, count - 1}
    assert FINDINGS[int(audit.findings[count - 1])] == "interval"
    assert Reasons(audit).of(count - 1).startswith("it ends before it starts: until 4; another")


def test_the_table_has_every_fact_once_and_reasons_for_the_first(audited: Audit) -> None:
    table = audit_table(audited, explained=20)
    facts = audited.judge.model.graph.facts
    assert table.num_rows == len(facts)
    assert sorted(audited.order.tolist()) == list(range(len(facts)))
    odds = table.column("log_odds").to_numpy()
    assert (np.diff(odds) <= 0).all()
    reasons = table.column("reason").to_pylist()
    assert all(reasons[:20])
    assert not any(reasons[20:])
    findings = [FINDINGS[place] for place in audited.findings[audited.order].tolist()]
    assert table.column("finding").to_pylist() == findings


def test_a_row_that_ends_before_it_starts_is_listed_first(tmp_path: Path) -> None:
    rows = [f"a{i % 5},likes,b{i % 7},{2000 + i % 9},{2001 + i % 9}" for i in range(60)]
    rows[20:20] = ["c,owns,d,2010,2005"]
    path, out = tmp_path / "facts.csv", tmp_path / "out.html"
    path.write_text("\n".join(["subject,predicate,object,since,until", *rows]) + "\n")
    done = apptek("audit", str(path), "--out", str(out), "--json")
    assert "Infinity" not in done.stdout
    found = json.loads(done.stdout)
    assert (found["bad_rows"], found["suspected"]["interval"]) == (1, 1)
    assert found["bad_rows_listed"] == 1
    first = found["suspects"][0]
    assert [first[column] for column in ("subject", "since", "until", "finding")] == [
        "c",
        "2010",
        "2005",
        "interval",
    ]
    assert "line 22 of facts.csv" in first["reason"]
    assert "line 22 of facts.csv" in out.read_text(encoding="utf-8")
    assert found["facts"] == len({tuple(row.split(",")) for row in rows}) - 1


def test_of_a_single_predicate_only_facts_that_look_wrong_are_listed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pairs = [rng.choice(20, 2, replace=False).tolist() for _ in range(400)]
    rows = [f"E{a},meets,E{b},2020-{1 + n % 12:02}-15" for n, (a, b) in enumerate(pairs)]
    (tmp_path / "facts.csv").write_text("\n".join(["subject,predicate,object,time", *rows]))
    shown = apptek("audit", str(tmp_path / "facts.csv")).stdout
    assert "0 by direction, 0 by interval" in shown
    assert "by predicate" not in shown
    assert "meets" not in shown  # no fact is listed
