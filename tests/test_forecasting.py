"""Forecasts: what a fit learns for them, windows, what is forecast of a pair, and bad input."""

import json
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import apptek, apptek_process
from fitted_models import SharedModel
from hypothesis import given
from hypothesis import strategies as st

from apptek.commands.predict import OF_TRAINING
from apptek.config import preset
from apptek.errors import UnknownName
from apptek.explain.explainer import strongest_reason
from apptek.facts.facts import Dataset, Facts, join_facts
from apptek.facts.protocols import Splitting, split_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.clock import Clock
from apptek.forecast import pairs
from apptek.forecast.learning import learn_occurrence, predicates_in
from apptek.forecast.pairs import forecast_pairs
from apptek.forecast.window import Length, Window
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.stages import FitOptions
from apptek.models.manifest import json_bytes
from apptek.models.occurrence.model import Occurrence
from apptek.models.occurrence.pair_counts import OLDEST, Pairs
from apptek.predictor import Predictor, Query
from apptek.present.wording import GIVEN
from apptek.results import to_dict
from apptek.safe_text import counted
from apptek.setting_rules import with_settings

QUICK = ["classifier.epochs=1", "features.past_only=true"]
MODEL = "one_file"  # of the fixture `predictor`: its facts were split at random


def quick(data: Dataset, name: str = "default", **named: object) -> Predictor:
    config = with_settings(preset(name), QUICK)
    return Predictor.fit(data, model=name, config=config, **named)  # type: ignore[arg-type]


def busiest(predictor: Predictor) -> tuple[str, str]:
    """The ordered pair with most facts."""
    facts, names = predictor.model.graph.facts, predictor.model.dataset.entities
    keys = facts.subjects.astype(np.int64) * len(names) + facts.objects
    distinct, counts = np.unique(keys, return_counts=True)
    subject, object_ = divmod(int(distinct[counts.argmax()]), len(names))
    return names[subject], names[object_]


def test_the_same_model_learns_the_same_numbers(
    predictor: Predictor, shared_model: SharedModel
) -> None:
    options = FitOptions(config=predictor.model.config, preset="default", final=True)
    again = learn_occurrence(replace(predictor.model, occurrence=None), options, {}).occurrence
    assert again is not None
    stored = json.loads((shared_model(MODEL) / "model.json").read_text())["occurrence"]
    assert json.loads(json_bytes(again.to_json())) == stored


def test_a_forecast_of_a_busy_pair(predictor: Predictor) -> None:
    subject, object_ = busiest(predictor)
    forecast = predictor.forecast(subject, object_, days=30)
    one, other = forecast.directions
    assert 0 < max(one.probability, other.probability) <= forecast.probability <= 1
    assert forecast.probability <= one.probability + other.probability
    assert forecast.expected == pytest.approx(one.expected + other.expected)
    for direction in (one, other):
        total = direction.base + sum(reason.log_odds for reason in direction.reasons)
        chance = direction.probability
        assert total == pytest.approx(np.log(chance / (1 - chance)))
    chances = [part.probability for part in forecast.predicates]
    assert chances == sorted(chances, reverse=True)
    for part in forecast.predicates:
        assert part.probability <= min(forecast.probability, part.expected) * (1 + 1e-9)
    assert len(forecast.predicates) == 10
    longer = predictor.forecast(subject, object_, days=60)
    assert longer.probability >= forecast.probability
    assert GIVEN in forecast.why
    best = forecast.predicates[0]
    query = Query(best.subject, best.object, forecast.first)  # the lead is 0
    reason = strongest_reason(predictor.forecaster.answerer, query, best.predicate)
    assert forecast.why.endswith(f"), mainly because {reason}.")
    stranger = predictor.forecast(subject, "Nobody at all", days=30, allow_unknown=True)
    assert stranger.probability < forecast.probability


def test_many_pairs_at_once_are_forecast_as_one_by_one(predictor: Predictor) -> None:
    facts, names = predictor.model.graph.facts, predictor.model.dataset.entities
    rows = range(0, len(facts), len(facts) // 30)
    asked = [(names[int(facts.subjects[r])], names[int(facts.objects[r])]) for r in rows]
    asked.append((asked[0][0], "Nobody at all"))
    forecaster = predictor.forecaster
    window = forecaster.window(None, Length(days=7))
    together = forecast_pairs(forecaster, asked, window)
    for pair, forecast in zip(asked, together, strict=True):
        (alone,) = forecast_pairs(forecaster, [pair], window)
        assert alone.probability == pytest.approx(forecast.probability, rel=1e-9)
        assert alone.predicates[0].predicate == forecast.predicates[0].predicate


def test_what_happens_from_the_window_on_changes_nothing(
    data: Dataset, predictor: Predictor
) -> None:
    """Facts at the start of the window and later are planted between the very pair."""
    axis, pair, count = data.axis, busiest(predictor), len(data.predicates)
    times = axis.positions(predictor.model.graph.facts.times)
    day = int(np.quantile(times[times != UNKNOWN], 0.7))
    days = [axis.format(day + number) for number in range(41)]
    planted = [(pair[0], data.predicates[n % count], pair[1], days[n]) for n in range(40)]
    updated, _ = predictor.update(planted)
    before, after = (
        to_dict(each.forecast(*pair, days[0], days=7, top=50)) for each in (predictor, updated)
    )
    assert before == after
    late = [each.forecast(*pair, days[40], days=7).probability for each in (predictor, updated)]
    assert late[0] < late[1]


@pytest.fixture(scope="module")
def apart(data: Dataset) -> Predictor:
    """A model that answers from the training facts alone."""
    return quick(data, final=False)


def test_split_by_time_nothing_is_learned_from_test(data: Dataset) -> None:
    whole = replace(data, train=data.all_facts(), valid=data.test.first(0), test=data.test.first(0))
    by_time = split_facts(whole, Splitting(by="time"))
    shuffled = replace(by_time.test, objects=by_time.test.objects[::-1].copy())
    one, other = (
        quick(dataset, final=False).model.occurrence
        for dataset in (by_time, replace(by_time, test=shuffled))
    )
    assert one is not None
    assert one.fitted_until == int(by_time.axis.positions(by_time.valid.times).max())
    assert not one.all_facts
    assert other is not None
    assert np.array_equal(one.horizons[0].acquainted.weights, other.horizons[0].acquainted.weights)
    assert (one.predicates, one.either) == (other.predicates, other.either)


def test_facts_of_valid_and_test_are_seen_although_the_graph_lacks_them(
    data: Dataset, apart: Predictor
) -> None:
    whole = TemporalGraph.of(replace(data, train=data.all_facts()))
    assert apart.model.occurrence is not None
    known = replace(apart.model.occurrence, all_facts=True)
    final = Predictor(replace(apart.model, graph=whole, occurrence=known))
    pair = busiest(final)
    assert apart.forecast(*pair).expected == pytest.approx(final.forecast(*pair).expected)
    everything = join_facts(data.train, data.valid, data.test)
    assert len(apart.forecaster.events) == int(everything.dated.sum())


def test_what_is_unusual_is_said(predictor: Predictor) -> None:
    subject, object_ = busiest(predictor)
    axis, (first, last) = predictor.model.dataset.axis, predictor.forecaster.span
    assert predictor.forecast(subject, object_, axis.format(last)).notes[0].kind == "view"
    unknown = predictor.forecast("Nobody at all", object_, allow_unknown=True)
    assert unknown.unseen == ("Nobody at all",)
    assert unknown.notes[0].kind == "unknown_name"
    assert unknown.notes[0].data == {"names": ["Nobody at all"]}
    neither = predictor.forecast("Nobody at all", "No one", allow_unknown=True)
    assert neither.notes[0].text.startswith("Neither Nobody at all nor No one is in the data")
    assert [note.kind for note in neither.notes].count("unknown_name") == 1
    late = predictor.forecast(subject, object_, axis.format(last + (last - first) // 2))
    far = [note.text for note in late.notes if note.kind == "far"]
    reason = next(one for one in late.directions[0].reasons if one.family == "either")
    date = reason.sentence.removeprefix("the last fact between the pair was on ")
    ago = counted(last + 1 - axis.parse(date), "day")
    since = axis.format(last + 1)
    assert far[0].startswith(f"The last fact between the pair was {ago} before {since}: ")
    assert not any("before the window" in text for text in far)
    sentences = [one.sentence for way in late.directions for one in way.reasons]
    assert not any("day before" in text or "days before" in text for text in sentences)
    long = predictor.forecast(subject, object_, days=(last - first) // 2)
    assert any(note.kind == "window" for note in long.notes)
    for direction in long.directions:
        (length,) = (one.sentence for one in direction.reasons if one.family == "length")
        assert length == "a window longer than any in training"
    strangers = [direction.base_sentence for direction in unknown.directions]
    assert strangers == ["the base rate of pairs without earlier facts"] * 2


@pytest.mark.parametrize("days", [7, 14, 45])
def test_directions_with_the_same_base_rate_have_the_same_number(
    predictor: Predictor, days: int
) -> None:
    """What the other window lengths add is a reason of its own."""
    pairs = predictor.watch(days=days, most=20).rows
    bases: dict[str, list[float]] = {}
    for row in pairs:
        for direction in predictor.forecast(row.subject, row.object, days=days).directions:
            bases.setdefault(direction.base_sentence, []).append(direction.base)
    assert max(map(len, bases.values())) > 10
    for numbers in bases.values():
        assert numbers == pytest.approx([numbers[0]] * len(numbers))


def test_a_last_fact_long_ago_is_pointed_out(predictor: Predictor) -> None:
    """More than the long time scale before the window, by looking at every fact of the pair."""
    model, forecaster = predictor.model, predictor.forecaster
    facts, names = model.graph.facts, model.dataset.entities
    window = forecaster.window(None, Length(days=7))
    for row in range(0, len(facts), len(facts) // 40):
        ends = {int(facts.subjects[row]), int(facts.objects[row])}
        between = np.isin(facts.subjects, list(ends)) & np.isin(facts.objects, list(ends))
        between &= facts.subjects != facts.objects
        if len(ends) == 1:
            continue
        times = model.dataset.axis.positions(facts.times[between])
        if (times == UNKNOWN).all():
            continue
        age = window.first - int(times[times != UNKNOWN].max())
        subject, object_ = (names[entity] for entity in ends)
        made = predictor.forecast(subject, object_, days=7)
        said = [note for note in made.notes if note.kind == "far"]
        assert bool(said) == (age > forecaster.occurrence.clock.long)
        assert [note.data["age"] for note in said] == [age] * len(said)
        assert all(f" was {counted(age, 'day')} before the window" in note.text for note in said)


def test_the_age_of_the_last_fact_is_not_bounded_as_the_features_are(predictor: Predictor) -> None:
    forecaster, (subject, object_) = copy(predictor.forecaster), busiest(predictor)
    brief = Clock(1.0, 1.0, 2.0, 7.0)
    forecaster.occurrence = replace(forecaster.occurrence, clock=brief)
    axis, age = predictor.model.dataset.axis, round(OLDEST * brief.long) + 192
    facts, ids = predictor.model.graph.facts, forecaster.ids([subject, object_])
    between = np.isin(facts.subjects, ids) & np.isin(facts.objects, ids)
    between &= facts.subjects != facts.objects
    last = int(axis.positions(facts.times[between]).max())
    forecaster.observed = last + age - 1
    window = forecaster.window(axis.format(last + age), Length(days=7))
    (made,) = forecast_pairs(forecaster, [(subject, object_)], window)
    (far,) = [note for note in made.notes if note.kind == "far"]
    assert far.data == {"age": age}
    assert far.text.startswith(f"The last fact between the pair was {age} days before the window: ")


def test_of_equally_probable_predicates_the_larger_share_comes_first(predictor: Predictor) -> None:
    """As where all chances are cut off at the chance of anything."""
    size, forecaster = len(predictor.model.dataset.predicates), predictor.forecaster
    shares = np.random.default_rng(0).dirichlet(np.ones(size), 2)
    made = forecaster.both_ways(forecaster.ids(busiest(predictor))[None], Window(0, 6))
    made = replace(made, chances=Occurrence(np.full(2, 0.003), np.full(2, 1e9)))
    vars(made)["shares"] = shares
    parts = pairs._predicates(made, ("A", "B"), None)
    assert {part.probability for part in parts} == {0.003}
    assert [part.share for part in parts] == sorted(shares.ravel().tolist(), reverse=True)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_without_some_signs_is_no_error(
    predictor: Predictor, shared_model: SharedModel, encoding: str
) -> None:
    """A minus sign and bars are in no 8-bit encoding, as of a redirected output on Windows."""
    words = ("forecast", str(shared_model(MODEL)), *busiest(predictor), "--days", "30")
    done = apptek_process(*words, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "expected:" in done.stdout


def test_facts_beyond_those_of_train_are_mentioned(
    predictor: Predictor, apart: Predictor, tmp_path: Path
) -> None:
    subject, object_ = busiest(predictor)
    joined = "including the validation and test sets"
    for each, told in ((apart, True), (predictor, False)):
        forecast = each.forecast(subject, object_)
        assert any(joined in note.text for note in forecast.notes) == told
        assert (joined in str(forecast).splitlines()[2]) == told  # beside the window
        each.save(folder := tmp_path / str(told))
        answer = apptek("predict", str(folder), subject, object_, forecast.first)
        assert (answer.stdout.splitlines()[0] == OF_TRAINING) == told


@given(
    facts=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 9)),
        max_size=12,
    ),
    pairs=st.lists(
        st.tuples(st.integers(-1, 5), st.integers(-1, 5), st.integers(0, 9)),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    window=st.integers(1, 4),
)
def test_predicates_in_a_window_are_those_of_its_facts(
    facts: list[tuple[int, int, int, int]], pairs: list[tuple[int, int, int]], window: int
) -> None:
    s, p, o, t = (np.asarray([fact[i] for fact in facts], np.int32) for i in range(4))
    arrays = Facts(s, p, o, t, t)
    subjects, objects, times = (np.asarray(column, np.int64) for column in zip(*pairs, strict=True))
    asked = Pairs(subjects, objects, times.astype(np.int32))
    happened = predicates_in(arrays, TimeAxis("integer"), asked, window, 3)
    for row, (subject, object_, when) in enumerate(pairs):
        expected = {
            fact[1]
            for fact in facts
            if fact[::2] == (subject, object_) and when <= fact[3] < when + window
        }
        assert set(np.flatnonzero(happened[row]).tolist()) == expected


def test_dense_data_in_which_everybody_has_met_can_be_fitted_and_forecast() -> None:
    rng = np.random.default_rng(0)
    ends = rng.permuted(np.tile(np.arange(6), (1500, 1)), axis=1)[:, :2].tolist()
    rows = [(f"e{s}", "p1" if s < o else "p2", f"e{o}", n % 99) for n, (s, o) in enumerate(ends)]
    predictor = Predictor.fit(rows)
    known = predictor.forecast("e1", "e2").probability
    with pytest.raises(UnknownName):
        predictor.forecast("e1", "nobody")
    unknown = predictor.forecast("e1", "nobody", allow_unknown=True).probability
    assert 0.0 < unknown < known < 1.0
