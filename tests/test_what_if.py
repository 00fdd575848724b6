"""Counterfactuals and contrasts: what they say holds when it is scored again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plain_queries import query_about

from apptek.arrays import Doubles
from apptek.config import preset
from apptek.errors import ApptekError
from apptek.explain.explainer import without_facts
from apptek.facts.facts import Dataset, Facts, join_facts
from apptek.facts.predicate_table import PredicateEntry, PredicateTable
from apptek.facts.queries import Queries
from apptek.models.answerer import WorkingView
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import contrast_text, contrast_words, counterfactual_text
from apptek.results import Change, to_dict
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(3000, 4).dataset


@pytest.fixture(scope="module")
def folder(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose features look at few facts, so that others move up when some are gone."""
    settings = ["history.pair_facts=3", "history.profile_facts=4"]
    config = with_settings(preset("default"), settings)
    place: Path = tmp_path_factory.mktemp("what-if") / "model"
    Predictor.fit(data, folder=place, config=config)
    return place


@pytest.fixture(scope="module", params=[False, True], ids=["all_facts", "past_only"])
def predictor(folder: Path, request: pytest.FixtureRequest) -> Predictor:
    return Predictor.load(folder, past_only=request.param)


def asked(data: Dataset, rows: range) -> Iterator[Query]:
    facts = data.test
    for row in rows:
        yield query_about(data, facts, row)


def scored_again(
    predictor: Predictor, queries: Queries, removed: set[int], added: Facts | None = None
) -> Doubles:
    """The scores on a graph of all facts but some, built anew."""
    graph, view = predictor.model.graph, predictor.answerer.view_of(queries)
    stays = np.ones(len(graph.facts), np.bool_)
    stays[sorted(removed)] = False
    facts = graph.facts.take(stays)
    changed = graph.with_facts(facts if added is None else join_facts(facts, added))
    working = WorkingView.of(replace(predictor.model, graph=changed), view.name)
    scores: Doubles = working.scores(queries)[0].astype(float)
    return scores


def facts_of(predictor: Predictor, queries: Queries) -> list[int]:
    """The facts that the features of a query are made of."""
    history = predictor.answerer.view_of(queries).space.history
    assert history is not None
    return sorted({fact for facts in history.facts(queries, 0).values() for fact in facts.tolist()})


def test_scores_without_facts_are_those_of_a_graph_without_them(
    data: Dataset, predictor: Predictor
) -> None:
    rng = np.random.default_rng(0)
    for query in asked(data, range(0, 60, 7)):
        queries = predictor.answerer.queries_of([query])
        facts = facts_of(predictor, queries)
        for size in (0, 1, 3, 6):
            removed = set(rng.permutation(facts)[:size].tolist())
            expected = scored_again(predictor, queries, removed)
            part = without_facts(predictor.answerer, queries, sorted(removed))
            scores = part.answerer.view_of(queries).scores(queries)[0]
            assert scores == pytest.approx(expected, abs=1e-4)
            whole, kept = predictor.model.graph.facts, part.answerer.model.graph.facts
            assert whole.take(part.kept).digest() == kept.digest()


def test_a_counterfactual_is_the_smallest_and_holds_when_it_is_scored_again(
    data: Dataset, predictor: Predictor
) -> None:
    """Against trying all facts that matter, one by one."""
    names, sizes = data.predicates, []
    for query in asked(data, range(0, 80, 8)):
        found = predictor.counterfactual(query)
        queries = predictor.answerer.queries_of([query])

        def first_without(facts: set[int], queries: Queries = queries) -> str:
            return names[int(scored_again(predictor, queries, facts).argmax())]

        assert found.answer == first_without(set())
        single = any(first_without({f}) != found.answer for f in facts_of(predictor, queries))
        assert (len(found.removed) == 1) == single
        sizes.append(len(found.removed))
        assert json.loads(json.dumps(to_dict(found))) == to_dict(found)
        if found.outcome is None:
            assert found.removed == ()
            assert "No set of up to 40 facts was found" in counterfactual_text(found)
            continue
        removed = {fact.fact for fact in found.removed}
        assert first_without(removed) == found.outcome.predicate != found.answer
        if len(removed) > 1:  # every fact is needed
            assert {first_without(removed - {fact}) for fact in removed} == {found.answer}
    assert 1 in sizes
    assert max(sizes) > 1
    assert sum(size > 0 for size in sizes) > 5


def test_the_answer_can_be_led_to_a_predicate(data: Dataset, predictor: Predictor) -> None:
    reached = 0
    for query in asked(data, range(0, 60, 6)):
        target = predictor.predict([query], top=2)[0].predicates[1]
        found = predictor.counterfactual(query, target)
        if found.outcome is not None:
            reached += 1
            assert found.outcome.predicate == target
    assert reached >= 5
    with pytest.raises(ApptekError, match="is already the answer"):
        predictor.counterfactual(query, found.answer)


def test_a_fact_more_changes_the_answer_as_told(data: Dataset, predictor: Predictor) -> None:
    for query in asked(data, range(0, 40, 11)):
        found = predictor.counterfactual(query, add=True)
        assert found.additions
        queries = predictor.answerer.queries_of([query])
        for each in found.additions[:3]:
            ids = [data.entities.find(each.subject), data.predicates.find(each.predicate)]
            ids += [data.entities.find(each.object), data.axis.parse(each.date)]
            columns = [np.asarray([value], np.int32) for value in ids]
            fact = Facts(columns[0], columns[1], columns[2], columns[3], columns[3])
            scores = scored_again(predictor, queries, set(), fact)
            assert data.predicates[int(scores.argmax())] == each.outcome.predicate
            assert each.outcome.predicate != found.answer
            if predictor.answerer.past_only:
                assert each.date < query.time
    unknown = Query("nobody", query.object, query.time)
    with pytest.raises(ApptekError, match="between two entities that are in the data"):
        predictor.counterfactual(unknown, add=True, allow_unknown=True)


def test_changes_add_up_to_the_difference_of_two_days(data: Dataset, predictor: Predictor) -> None:
    for query in asked(data, range(0, 40, 9)):
        found = predictor.contrast(query, "2021-03-05")
        first, second = found.first, found.second
        assert (first.predicate, first.runner_up) == (second.predicate, second.runner_up)
        assert first.predicate == predictor.predict([query], top=1)[0].predicates[0]
        total = sum(change.change for change in found.changes) + second.bias - first.bias
        assert total == pytest.approx(second.log_odds - first.log_odds, abs=1e-9)
        plain = to_dict(found)
        assert json.loads(json.dumps(plain)) == plain
        assert plain["change"] == pytest.approx(total)


def test_the_cause_of_a_change_goes_in_its_direction(data: Dataset, predictor: Predictor) -> None:
    (query,) = asked(data, range(9, 10))
    found = predictor.contrast(query, "2021-03-05")
    falls, rises = (
        Change("history", "pair", "", sentence, first=0.0, second=value, change=value)
        for sentence, value in (("A blamed B", -3.0), ("A praised B", 2.0))
    )
    more = replace(found.second, log_odds=found.first.log_odds + 1)
    less = replace(found.second, log_odds=found.first.log_odds - 1)
    for second, cause in ((more, "A praised B"), (less, "A blamed B")):
        told, _ = contrast_words((found.first, second), (falls, rises))
        assert told.endswith(f", mainly because {cause} (for 2021-03-05).")
    told, paragraph = contrast_words((found.first, more), (falls,))
    assert "because" not in told
    lone = replace(found, sentence=told, paragraph=paragraph)
    assert max(map(len, contrast_text(lone, 60, "sentence").splitlines())) <= 60


def test_a_predicate_is_compared_with_another(data: Dataset, predictor: Predictor) -> None:
    (query,) = asked(data, range(3, 4))
    ranked = predictor.predict([query], top=4)[0].predicates
    found = predictor.explain(query, against=ranked[3])
    assert (found.predicate, found.runner_up) == (ranked[0], ranked[3])
    assert found.log_odds > predictor.explain(query).log_odds
    assert f"{found.label} (" in found.sentence
    assert f" rather than {found.runner_up_label} (" in found.sentence
    other = predictor.explain(query, ranked[3], against=ranked[2])
    assert f" is less likely than {other.runner_up_label} (" in other.sentence
    assert f"behind '{other.runner_up_label}'" in other.paragraph
    with pytest.raises(ApptekError, match="cannot be compared with itself"):
        predictor.explain(query, against=ranked[0])


def test_no_fact_of_conflict_is_proposed_for_cooperation(folder: Path, data: Dataset) -> None:
    """Some predicates are called conflict, the others cooperation, so that many facts oppose."""
    predictor = Predictor.load(folder)
    predicates = list(data.predicates)
    groups = ("material conflict", "verbal cooperation")
    entries = {p: PredicateEntry(group=groups[n % 2]) for n, p in enumerate(predicates)}
    queries = list(asked(data, range(0, 40, 11)))
    kept = 0
    for labels in (PredicateTable(), PredicateTable(entries)):
        labelled = replace(data, labels=labels)
        predictor.answerer.model = replace(predictor.model, dataset=labelled)
        opposed = 0
        for query in queries:
            for each in predictor.counterfactual(query, add=True).additions or ():
                sides = {predicates.index(p) % 2 for p in (each.predicate, each.outcome.predicate)}
                opposed += len(sides) > 1
                kept += bool(labels)
        assert (opposed > 0) == (not labels)
    assert kept


def test_a_change_names_no_reason_that_alone_points_the_other_way(
    data: Dataset, folder: Path
) -> None:
    predictor, left_out = Predictor.load(folder), 0
    for query in asked(data, range(0, 40, 3)):
        found = predictor.contrast(query, "2021-03-05")
        for each in (found.first, found.second):
            for reason in each.all_reasons():
                if reason.support is not None and reason.support.contradicts:
                    left_out += 1
                    assert reason.sentence not in found.paragraph
    assert left_out
