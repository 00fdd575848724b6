"""Who next, and when: the partners of an actor, the missing entity, and the median."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import apptek, refusal

from apptek.errors import ApptekError
from apptek.forecast.partners import at_least_one_new, strongest
from apptek.predictor import Predictor
from apptek.results import ActorForecast, Forecast
from apptek.seeding import generator

MODEL, PAST_ONLY = "forecast", True


def busiest(predictor: Predictor) -> str:
    counts = np.bincount(predictor.model.graph.facts.subjects)
    return predictor.model.dataset.entities[int(np.argmax(counts))]


def test_partners_have_the_chances_of_their_pairs(predictor: Predictor) -> None:
    actor = busiest(predictor)
    made = predictor.forecast(actor, top=3)
    assert isinstance(made, ActorForecast)
    chances = [row.probability for row in made.acts_on]
    assert chances == sorted(chances, reverse=True)
    for row in (*made.acts_on, *made.acted_on_by):
        assert actor in (row.subject, row.object)
        pair = predictor.forecast(row.subject, row.object)
        assert isinstance(pair, Forecast)
        assert row.probability == pytest.approx(pair.directions[0].probability)
        direction = pair.directions[0]
        reasons = [reason for reason in direction.reasons if reason.family != "length"]
        sign = 1 if sum(reason.log_odds for reason in reasons) >= 0 else -1
        best = max(reasons, key=lambda reason: sign * reason.log_odds)
        is_told = round(best.log_odds, 2) != 0
        assert row.reason == (best.sentence if is_told else direction.base_sentence)
        assert row.change == pytest.approx(row.probability - row.previous)
    assert made.partners > 3
    assert 0 < made.others_acted_on < 1


def test_the_main_reason_of_an_improbable_partner_speaks_against_it() -> None:
    assert strongest(np.asarray([-2.0, 0.0, 0.5, -0.1])) == 0
    assert strongest(np.asarray([0.3, 0.9, -0.5, 0.0])) == 1
    assert strongest(np.asarray([0.004, 0.0, -0.003])) is None


def test_the_least_probable_partner_has_a_reason_against_it(predictor: Predictor) -> None:
    """The least probable partners differ from the base by what speaks against them."""
    made = predictor.forecast(busiest(predictor), top=10_000)
    assert isinstance(made, ActorForecast)
    row = made.acts_on[-1]
    pair = predictor.forecast(row.subject, row.object)
    assert isinstance(pair, Forecast)
    (told,) = [one for one in pair.directions[0].reasons if one.sentence == row.reason]
    assert told.log_odds == min(one.log_odds for one in pair.directions[0].reasons)
    assert told.log_odds < -0.01


def test_new_partners_come_in_bursts() -> None:
    """Against numbers drawn at rates that differ from window to window."""
    rng = generator(0, "bursts")
    for expected in (0.2, 1.0, 4.0):
        drawn = rng.poisson(rng.gamma(2.0, expected / 2.0, 100_000))
        assert at_least_one_new(expected) == pytest.approx((drawn > 0).mean(), abs=0.01)
    assert at_least_one_new(1.5) == pytest.approx(0.67, abs=0.01)  # came in 66 % of 295 windows


def test_a_predicate_counts_alone(predictor: Predictor) -> None:
    actor = busiest(predictor)
    best = predictor.forecast(actor, top=1).acts_on[0]
    predicate = best.predicates[0].predicate
    made = predictor.forecast(actor, predicate=predicate, top=2)
    assert made.event == predicate
    for row in made.acts_on:
        assert [part.predicate for part in row.predicates] == [predicate]
        assert row.probability == pytest.approx(row.predicates[0].probability)


def test_only_facts_before_the_window_are_used(predictor: Predictor) -> None:
    axis = predictor.model.dataset.axis
    positions = np.sort(axis.positions(predictor.model.graph.facts.times))
    start = axis.format(int(positions[len(positions) // 2]))
    made = predictor.forecast(busiest(predictor), start=start, days=1)
    assert made.observed_until < made.first
    later = predictor.forecast(busiest(predictor))
    assert made.partners < later.partners


def test_members_are_combined(predictor: Predictor) -> None:
    names = list(predictor.model.dataset.entities)
    country = next(name.split("(")[1][:-1] for name in names if name.endswith(")"))
    made = predictor.forecast(country, members=True)
    assert len(made.members) > 1
    assert all(country in member for member in made.members)
    assert made.acts_on
    for row in made.acts_on:
        assert row.subject in made.members
        assert row.object not in made.members
        parts = [predictor.forecast(member, row.object).directions[0] for member in made.members]
        assert row.expected == pytest.approx(sum(part.expected for part in parts))
        quiet = np.prod([1 - part.probability for part in parts])
        assert row.probability == pytest.approx(1 - quiet)
        chances = {}
        for days in range(row.median - 1, row.median + 1) if row.median else [made.longest]:
            again = predictor.forecast(country, members=True, days=days, top=99) if days else made
            partners = {other.object: other.probability for other in again.acts_on}
            chances[days] = partners[row.object] if days else 0.0
        assert [chance >= 0.5 for chance in chances.values()] == (
            [False, True] if row.median else [False]
        )


def test_the_median_is_the_first_window_with_a_chance_of_one_half(predictor: Predictor) -> None:
    best = predictor.forecast(busiest(predictor), top=1).acts_on[0]
    event = predictor.forecast(best.subject, best.object).next_event
    assert event is not None
    if event.median is None:
        pair = predictor.forecast(best.subject, best.object, days=event.longest)
        assert pair.probability < 0.5
    else:
        pair = predictor.forecast(best.subject, best.object, days=event.median)
        assert pair.probability >= 0.5
        if event.median > 1:
            shorter = predictor.forecast(best.subject, best.object, days=event.median - 1)
            assert shorter.probability < 0.5


def test_an_actor_without_facts_before_the_window_has_nobody_to_list(predictor: Predictor) -> None:
    graph, axis = predictor.model.graph, predictor.model.dataset.axis
    times = axis.positions(graph.facts.times)
    firsts = np.full(len(predictor.model.dataset.entities), np.iinfo(np.int32).max)
    np.minimum.at(firsts, graph.facts.subjects, times)
    np.minimum.at(firsts, graph.facts.objects, times)
    latest = int(np.argmax(np.where(firsts == np.iinfo(np.int32).max, -1, firsts)))
    start = axis.format(int(np.sort(times)[len(times) // 2]))
    with pytest.raises(ApptekError, match="has no facts with other entities before"):
        predictor.forecast(predictor.model.dataset.entities[latest], start=start, days=1)


def test_evaluate_ranks_objects_and_subjects_static_and_rolling(
    forecast_model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "entities.json"
    words = ("evaluate", str(forecast_model), "--entities")
    done = apptek(*words, "--json", "--result", str(file))
    metrics = json.loads(done.stdout)["entities"]
    assert metrics == json.loads(file.read_text(encoding="utf-8"))["entities"]
    for kind in ("static", "rolling"):
        sides = [metrics[kind][side] for side in ("objects", "subjects")]
        mean = sum(side["mrr"] for side in sides) / 2
        assert metrics[kind]["both"]["mrr"] == pytest.approx(mean)
        assert 0 < mean < 1
    assert metrics["rolling"]["both"]["mrr"] >= metrics["static"]["both"]["mrr"]
    said = refusal(*words, "--forecasts", code=2)
    assert "--forecasts cannot be combined with --entities" in said
