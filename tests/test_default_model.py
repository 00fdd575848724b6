"""The default preset from end to end: it fits, saves, resumes, answers and says why."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fitted_models import SharedModel
from html_pages import assert_contained, read_page
from plain_queries import query_about
from worlds import football_careers, without_times

from apptek.config import preset
from apptek.errors import ConfigError, DataError
from apptek.explain.explainer import explain
from apptek.facts.facts import Dataset
from apptek.facts.queries import held_out_queries
from apptek.facts.times import UNKNOWN
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.results import CitedFact
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


@pytest.fixture(scope="module")
def small() -> Dataset:
    """A world for tests that fit many times."""
    return make_world(800, 1).dataset


# Fitting


@pytest.mark.gate
def test_it_beats_the_papers_preset_with_a_random_policy(
    data: Dataset, predictor: Predictor
) -> None:
    config = with_settings(preset("paper"), ["mining.policy=random"])
    paper = Predictor.fit(data, model="paper", config=config).evaluate("test").metrics
    found = predictor.evaluate("test").metrics
    assert found.mrr > paper.mrr + 0.02
    assert found.hits_at_1 > paper.hits_at_1
    assert predictor.model.main.report["features"].keys() == {"history", "traits"}


def test_types_of_a_table_replace_those_of_names_and_are_kept(
    small: Dataset, tmp_path: Path
) -> None:
    sectors = {name: name[0] for name in small.entities}
    place, letters = tmp_path / "model", {small.entities[0]: "N"}
    Predictor.fit(small, folder=place, types={"sector": sectors, "letter": letters})
    kinds = Predictor.load(place).model.main.kinds
    assert [kind.name for kind in kinds] == ["sector", "letter", "country"]
    assert kinds[0].values == tuple(sorted(set(sectors.values())))
    assert kinds[1].of_entity[0] == 0
    assert (kinds[1].of_entity[1:] == -1).all()


def test_types_that_would_be_ignored_are_refused(data: Dataset) -> None:
    with pytest.raises(DataError, match="no entity in the data has a 'letter'"):
        Predictor.fit(data, types={"letter": {"nobody": "N"}})
    with pytest.raises(ConfigError, match="needs traits in features"):
        Predictor.fit(data, model="paper", types={"letter": {data.entities[0]: "N"}})


# Explanations


@pytest.fixture(scope="module", params=["default", "topologies"])
def explained(request: pytest.FixtureRequest, shared_model: SharedModel) -> Predictor:
    """A model whose features are histories and traits, and one of topologies."""
    return Predictor.load(shared_model(request.param))


def asked_about(data: Dataset) -> Iterator[tuple[Query, int]]:
    """Test facts, and training facts with themselves hidden."""
    for row in range(0, len(data.test), 9):
        yield query_about(data, data.test, row), -1
    for row in range(0, len(data.train), 97):
        yield query_about(data, data.train, row), row


def test_contributions_add_up_to_the_score_and_to_the_log_odds(explained: Predictor) -> None:
    predictor, data = explained, explained.model.dataset
    names, calibration = data.predicates, predictor.model.main.classifier.calibration
    for number, (query, hidden) in enumerate(asked_about(data)):
        queries = replace(
            predictor.answerer.queries_of([query]), hidden=np.asarray([hidden], np.int32)
        )
        scores = predictor.answerer.main.scores(queries)
        chances = calibration.probabilities(scores.astype(np.float64))[0]
        for predicate in (None, names[number % len(names)]):
            found = explain(predictor.answerer, query, predicate, hidden=hidden)
            parts = found.contributions()
            assert [p.log_odds for p in parts] == sorted((p.log_odds for p in parts), reverse=True)
            chosen, rival = (names.find(name) for name in (found.predicate, found.runner_up))
            assert chosen is not None
            assert rival is not None
            odds = math.log(chances[chosen] / chances[rival])
            total = found.bias + sum(part.log_odds for part in parts)
            assert total == pytest.approx(odds, abs=1e-5)
            assert found.log_odds == pytest.approx(total, abs=1e-9)
            shown = math.log(found.probability / found.runner_up_probability)
            assert shown == pytest.approx(odds, abs=1e-4)


def assert_cited(data: Dataset, fact: CitedFact) -> None:
    """The fact stands at its place among the training facts, in these words."""
    facts, place = data.train, fact.fact
    assert (fact.subject, fact.predicate, fact.object) == (
        data.entities[int(facts.subjects[place])],
        data.predicates[int(facts.predicates[place])],
        data.entities[int(facts.objects[place])],
    )
    assert fact.since == data.axis.format(int(facts.since[place]))
    assert fact.until == data.axis.format(int(facts.until[place]))


def test_cited_facts_exist_belong_to_their_family_and_are_never_the_hidden_one(
    data: Dataset, predictor: Predictor
) -> None:
    cited = 0
    for query, hidden in asked_about(data):
        found = explain(predictor.answerer, query, hidden=hidden, most=100)
        small = (part for part in found.further if part.kind != "trait")
        assert all(abs(part.log_odds) < 0.005 for part in small)  # these would be shown as 0.00
        ends = (found.subject, found.object)
        for reason in found.all_reasons():
            family = reason.family
            assert bool(reason.facts) == (reason.kind == "history")
            for fact in reason.facts:
                cited += 1
                assert fact.fact != hidden
                assert_cited(data, fact)
                assert reason.topology == (fact.predicate,)
                between = (fact.subject, fact.object)
                if family in ("pair", "reversed"):
                    assert between == (ends if family == "pair" else ends[::-1])
                    continue
                whose, direction = family.split("_")
                own = found.subject if whose == "subject" else found.object
                assert between[direction == "in"] == own
                assert between not in (ends, ends[::-1]) or ends[0] == ends[1]
    assert cited > 1000


# Other worlds


def assert_sound(predictor: Predictor, least: float) -> None:
    """It ranks well, and its explanations add up."""
    data = predictor.model.dataset
    assert predictor.evaluate("test").metrics.mrr > least
    for row in range(0, len(data.test), 7):
        found = predictor.explain(query_about(data, data.test, row), most=99)
        parts = found.contributions()
        scores = predictor.answerer.main.scores(
            held_out_queries(data.test.take(np.asarray([row])))
        )[0]
        places = [data.predicates.find(name) for name in (found.predicate, found.runner_up)]
        odds = float(scores[places[0]] - scores[places[1]]) / found.temperature
        total = found.bias + sum(part.log_odds for part in parts)
        assert total == pytest.approx(odds, abs=1e-5 / found.temperature)
        for fact in (fact for reason in found.all_reasons() for fact in reason.facts):
            assert_cited(data, fact)
        assert explanation_text(found)
        assert_contained(text := found.html(), read_page(text))


def test_a_world_of_intervals_works_from_end_to_end(tmp_path: Path) -> None:
    Predictor.fit(football_careers(), folder=tmp_path / "model")
    predictor = Predictor.load(tmp_path / "model")
    assert "undated ever" in (
        predictor.answerer.main.space.history.kernels
        if predictor.answerer.main.space.history
        else ()
    )
    assert_sound(predictor, 0.95)
    (undated,) = predictor.predict([Query("player 003", "town 003", "?")], top=1)
    assert undated.predicates == ("was born in",)


def test_a_world_without_times_works_from_end_to_end(tmp_path: Path) -> None:
    timeless = without_times(make_world(2000, 2).dataset)
    Predictor.fit(timeless, folder=tmp_path / "model")
    predictor = Predictor.load(tmp_path / "model")
    assert_sound(predictor, 0.5)
    reasons = predictor.explain(query_about(timeless, timeless.test, 0), most=99).reasons
    cited = [fact for reason in reasons for fact in reason.facts]
    assert cited
    assert not [fact for fact in cited if fact.apart]


# Forecasts


@pytest.fixture(scope="module")
def forecasters(default_model: Path, shared_model: SharedModel) -> list[Predictor]:
    """Fitted to forecast; and fitted as usual, but answering as of then."""
    past_only = Predictor.load(shared_model("past_only"))
    return [past_only, Predictor.load(default_model, past_only=True)]


def test_no_forecast_cites_what_had_not_started(
    data: Dataset, predictor: Predictor, forecasters: list[Predictor]
) -> None:
    def cited(asked: Predictor) -> list[bool]:
        """For each cited fact of a dated query, whether it had started before, or is undated."""
        known_before = []
        for query, hidden in asked_about(data):
            moment = data.axis.parse(query.time)
            if moment == UNKNOWN:
                continue
            reasons = explain(asked.answerer, query, hidden=hidden, most=99).reasons
            for fact in (fact for reason in reasons for fact in reason.facts):
                start = data.axis.parse(fact.until if fact.since == "?" else fact.since)
                known_before.append(start < moment)  # the unknown is below every time
        return known_before

    for forecaster in forecasters:
        seen = cited(forecaster)
        assert len(seen) > 300
        assert all(seen)
    assert not all(cited(predictor))
