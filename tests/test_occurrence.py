"""Whether anything happens between two entities: features, snapshots, regression, model."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from forecast_oracles import plain_pair_features, start_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import PlainFact
from worlds import ENTITIES, facts_of, moments, plain_facts

from apptek.arrays import Bools, Doubles
from apptek.evaluation.calibration import (
    area_under_curve,
    fit_logistic,
    reliability,
    yes_no_figures,
)
from apptek.evaluation.predicate_classes import PredicateClasses
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.forecast.backtest import own_rate, recent_rate
from apptek.models.manifest import json_bytes
from apptek.models.occurrence import fitting, snapshots
from apptek.models.occurrence.fitting import Period, fit_occurrence, windows_of
from apptek.models.occurrence.horizon import Horizon, Regression
from apptek.models.occurrence.model import Occurrence, OccurrenceModel, coherent
from apptek.models.occurrence.pair_counts import NAMES, Events, Meetings, PairCounts, Pairs
from apptek.models.occurrence.snapshots import Outcomes, draw_acquainted, draw_strangers
from apptek.seeding import generator

CLOCK = Clock(1.0, 2.0, 4.0, 8.0)
ALL = 10**9  # pairs to draw: none is left out


def all_acquainted(events: Events, at: list[int], window: int) -> Outcomes:
    drawn = draw_acquainted(events, at, window, rng=generator(0, "all"), most=ALL)
    assert (drawn.weights == 1).all()
    return drawn


worlds = st.lists(plain_facts(), max_size=14)
asked = st.lists(
    st.tuples(st.integers(-1, ENTITIES - 1), st.integers(-1, ENTITIES - 1), moments),
    min_size=1, max_size=6,
)  # fmt: skip


def events_of(plain: list[PlainFact]) -> Events:
    return Events.of(facts_of(plain), TimeAxis("integer"), ENTITIES)


def pairs_of(triples: list[tuple[int, int, int]]) -> Pairs:
    subjects, objects, times = zip(*triples, strict=True)
    return Pairs(
        np.asarray(subjects, np.int64), np.asarray(objects, np.int64), np.asarray(times, np.int32)
    )


def point(subject: int, object_: int, time: int) -> PlainFact:
    return PlainFact(subject, 0, object_, time, time)


@given(facts=worlds, pairs=asked)
def test_features_agree_with_their_definition(
    facts: list[PlainFact], pairs: list[tuple[int, int, int]]
) -> None:
    features = PairCounts(events_of(facts), CLOCK).features(pairs_of(pairs))
    scales = [CLOCK.brief, CLOCK.short, CLOCK.middle, CLOCK.long]
    expected = [plain_pair_features(s, o, when, facts, scales) for s, o, when in pairs]
    assert features.shape == (len(pairs), len(NAMES))
    np.testing.assert_allclose(features, expected, atol=1e-9)


@given(facts=worlds, when=moments, window=st.integers(1, 5))
def test_candidates_are_the_pairs_that_had_met_and_hits_those_with_a_fact(
    facts: list[PlainFact], when: int, window: int
) -> None:
    outcomes = all_acquainted(events_of(facts), [when], window)
    dated = [(f.subject, f.object, t) for f in facts if (t := start_of(f)) is not None]
    met = {pair for s, o, t in dated if t < when for pair in ((s, o), (o, s))}
    counts = {
        pair: sum((s, o) == pair and when <= t < when + window for s, o, t in dated) for pair in met
    }
    pairs = zip(outcomes.pairs.subjects.tolist(), outcomes.pairs.objects.tolist(), strict=True)
    assert dict(zip(pairs, outcomes.counts.tolist(), strict=True)) == counts


def busy_world(days: int = 120, seed: int = 0) -> Events:
    """Two entities that act on each other most days, others that hardly do, among 40 entities."""
    rng = generator(seed, "busy")
    chances = rng.random((40, 40)) ** 12
    chances[0, 1] = 0.8
    facts = [
        point(s, o, day)
        for day in range(days)
        for s, o in zip(*np.nonzero(rng.random((40, 40)) < chances / 3), strict=True)
        if s != o
    ]
    return Events.of(facts_of(facts), TimeAxis("integer"), 40)


def test_weights_make_up_for_the_pairs_that_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    events, at = busy_world(), [60, 80, 100]
    every = all_acquainted(events, at, 5)
    monkeypatch.setattr(snapshots, "MOST_ROWS", len(every.counts) // 2)
    drawn = draw_acquainted(events, at, 5, rng=generator(0, "test"))
    assert len(drawn.counts) < 0.6 * len(every.counts)
    assert drawn.weights.sum() == pytest.approx(len(every.counts), rel=0.05)
    assert drawn.weights[drawn.hits].sum() == pytest.approx(every.hits.sum(), rel=0.05)
    total = 3 * 40**2 - len(every.counts)
    strangers = draw_strangers(events, at, 5, rng=generator(0, "test"))
    assert strangers.weights[~strangers.hits].sum() == pytest.approx(
        total - strangers.hits.sum(), rel=0.1
    )
    meetings = Meetings(events)
    for moment in at:
        keys = strangers.pairs.take(strangers.pairs.times == moment).keys(events.width)
        assert not meetings.had_met(keys, moment).any()


@given(
    rows=st.lists(
        st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.booleans(), st.floats(0.1, 4)),
        min_size=1,
        max_size=20,
    )
)
def test_the_slope_vanishes_at_the_fitted_point(
    rows: list[tuple[float, float, bool, float]],
) -> None:
    table = np.asarray([[a, b, 1.0] for a, b, _, _ in rows])
    hits = np.asarray([hit for _, _, hit, _ in rows])
    weights, offsets = np.asarray([w for *_, w in rows]), np.linspace(-1, 1, len(rows))
    fitted = fit_logistic(table, hits, weights, offsets=offsets, penalty=0.5)

    def loss(at: Doubles) -> float:
        odds = offsets + table @ at
        each = np.logaddexp(0.0, odds) - np.where(hits, odds, 0.0)
        return float(weights @ each + 0.25 * at @ at)

    for step in itertools.product((-1e-3, 0.0, 1e-3), repeat=3):
        assert loss(fitted) <= loss(fitted + np.asarray(step)) + 1e-12


def fitted_model(events: Events, period: Period | None = None) -> OccurrenceModel:
    counts = PairCounts(events, Clock(1.0, 3.0, 10.0, 30.0))
    model = fit_occurrence(counts, (1, 5), period or Period.of(events), seed=0)
    assert model is not None
    return model


def forecast(model: OccurrenceModel, events: Events, pairs: Pairs, window: int) -> Doubles:
    features = PairCounts(events, model.clock).features(pairs)
    met = np.asarray([
        bool(Meetings(events).had_met(pairs.take(np.asarray([row])).keys(events.width), when)[0])
        for row, when in enumerate(pairs.times.tolist())
    ])  # fmt: skip
    return model.occurrence(features, met, window).probabilities


def test_probabilities_hold_in_weeks_that_the_model_has_not_seen() -> None:
    events = busy_world(days=300)
    model = fitted_model(events.before(200))
    outcomes = all_acquainted(events, [205, 225, 245, 265, 285], 5)
    features = PairCounts(events, model.clock).features(outcomes.pairs)
    expected = model.occurrence(features, np.ones(len(features), np.bool_), 5)
    figures = yes_no_figures(expected.probabilities, outcomes.hits)
    assert figures.calibration_error < 0.03
    assert expected.expected.sum() == pytest.approx(outcomes.counts.sum(), rel=0.15)
    # In a world whose rates never change, the own rate so far is as good as anything can be.
    own, recent = (
        yes_no_figures(rate(events, outcomes.pairs, 5), outcomes.hits).log_loss
        for rate in (own_rate, recent_rate)
    )
    assert figures.log_loss < 1.02 * own
    assert figures.log_loss < 0.95 * recent


def test_contributions_add_up_to_the_log_odds() -> None:
    events = busy_world()
    model = fitted_model(events)
    outcomes = all_acquainted(events, [110], 5)
    features = PairCounts(events, model.clock).features(outcomes.pairs)
    met = np.arange(len(features)) % 3 > 0
    for window in (1, 3, 5, 12):
        chances = model.occurrence(features, met, window).probabilities
        added = model.contributions(features, met, window)
        np.testing.assert_allclose(added.sum(axis=1), np.log(chances / (1 - chances)), atol=1e-9)


def test_a_fit_sees_nothing_after_its_period_and_is_the_same_twice() -> None:
    events = busy_world(days=200)
    period = Period(40, 100, 119)
    model = fitted_model(events, period)
    again = fitted_model(events.before(120), period)
    assert model.fitted_until == 119
    for one, other in zip(model.horizons, again.horizons, strict=True):
        assert np.array_equal(one.acquainted.weights, other.acquainted.weights)
        assert np.array_equal(one.strangers.weights, other.strangers.weights)
        assert one.burst == other.burst


def test_a_stored_model_is_the_same() -> None:
    events = busy_world()
    model = replace(fitted_model(events), predicates=(0.1, 0.9), either=0.4, all_facts=False)
    stored = OccurrenceModel.from_json(json.loads(json_bytes(model.to_json())))
    assert json_bytes(stored.to_json()) == json_bytes(model.to_json())
    assert (stored.clock, stored.predicates, stored.all_facts) == (model.clock, (0.1, 0.9), False)
    features = PairCounts(events, model.clock).features(all_acquainted(events, [110], 5).pairs)
    met: Bools = np.ones(len(features), np.bool_)
    chances = model.occurrence(features, met, 5).probabilities
    assert np.array_equal(stored.occurrence(features, met, 5).probabilities, chances)


def test_too_little_to_learn_from_gives_no_model() -> None:
    events = events_of([point(0, 1, time) for time in range(10)])
    counts = PairCounts(events, CLOCK)
    assert fit_occurrence(counts, (1,), Period.of(events), seed=0) is None


def test_windows_follow_the_unit_of_the_data() -> None:
    assert windows_of(TimeAxis("day"), CLOCK) == (1, 7, 30, 90)
    assert windows_of(TimeAxis("integer"), Clock(1.0, 1.2, 4.0, 9.0)) == (1, 4, 9)
    days = TimeAxis("integer", stride=24)
    assert windows_of(days, Clock(24.0, 29.0, 96.0, 216.0)) == (24, 96, 216)


def dense_model(
    days: int = 365, windows: tuple[int, ...] = (1, 7, 30), *, stride: int = 1, seed: int = 5
) -> tuple[OccurrenceModel, Doubles]:
    """Days of 30 pairs, 10 with a fact on nine of ten days, 20 on three of twenty; the features.

    stride  between two days: 1, or 24 for 0, 24, 48 ...
    """
    rng, daily = np.random.default_rng(seed), np.where(np.arange(30) < 10, 0.9, 0.15)
    moments, subjects = np.nonzero(rng.random((days, 30)) < daily)
    events = Events(subjects, 30 + subjects % 7, (moments * stride).astype(np.int32), 38)
    counts = PairCounts(events, Clock(*(stride * scale for scale in (1.0, 1.0, 2.0, 14.0))))
    lengths, leads = tuple(stride * window for window in windows), (7 * stride, 28 * stride)
    period = Period.of(events, stride=stride)
    model = fit_occurrence(counts, lengths, period, seed=0, leads=leads)
    assert model is not None
    pairs = Pairs(np.arange(30), 30 + np.arange(30) % 7, np.full(30, days * stride, np.int32))
    return model, counts.features(pairs)


def test_windows_of_busy_pairs_are_right_at_every_length_and_in_every_unit() -> None:
    model, features = dense_model()
    met = np.ones(30, np.bool_)
    week = model.occurrence(features, met, 7)
    assert week.probabilities[10:].mean() == pytest.approx(1 - 0.85**7, abs=0.1)
    for days in (8, 10, 14, 30):  # the rate goes on
        made = model.occurrence(features, met, days)
        rates = np.log1p(-made.probabilities[10:]) / np.log1p(-week.probabilities[10:])
        assert rates.mean() == pytest.approx(days / 7, rel=0.1), days
        slow = made.expected[10:].sum() / week.expected[10:].sum()
        assert slow == pytest.approx(days / 7, rel=0.2), days
        assert made.expected[:10].mean() == pytest.approx(0.9 * days, rel=0.15), days
    by_hour, counted = dense_model(stride=24)
    again = by_hour.occurrence(counted, met, 7 * 24)
    assert again.probabilities == pytest.approx(week.probabilities, abs=1e-6)
    assert again.expected == pytest.approx(week.expected, rel=1e-6)


@pytest.mark.parametrize("seed", [1, 5, 9])
def test_a_lead_changes_little_where_too_little_was_observed_to_tell(seed: int) -> None:
    """Sixty days with constant rates: a later window is as probable."""
    model, features = dense_model(60, (1, 7), seed=seed)
    met = np.ones(30, np.bool_)
    at_once, later = (
        model.occurrence(features, met, 7, lead).probabilities[10:].mean() for lead in (0, 31)
    )
    assert later == pytest.approx(at_once, abs=0.08)


PERIODS = (2, 3, 5, 7, 10, 14)  # days between two facts of a regular pair
YEAR, STOPPED = 365, 3  # one of the pairs stopped some days before the end


@pytest.mark.parametrize(("window", "quiet"), [(7, 205), (14, 205), (30, 205), (7, 100)])
def test_a_regular_pair_follows_its_rhythm_until_it_stops(window: int, quiet: int) -> None:
    """Twelve regular pairs over a year, one of which stopped long ago."""
    periods, pairs = np.asarray(PERIODS * 2), np.arange(12)
    facts = [
        point(pair, 12 + pair * 5 % 12, day)
        for pair, period in enumerate(periods.tolist())
        for day in range(pair % period, YEAR - quiet * (pair == STOPPED), period)
    ]
    counts = PairCounts(Events.of(facts_of(facts), TimeAxis("day"), 24), Clock(2.0, 3.0, 5.0, 10.0))
    model = fit_occurrence(counts, (1, 7, 30), Period.of(counts.events, YEAR - 1), seed=0)
    assert model is not None
    rows = Pairs(pairs, 12 + pairs * 5 % 12, np.full(12, YEAR, np.int32))
    made = model.occurrence(counts.features(rows), np.ones(12, np.bool_), window)
    others = pairs != STOPPED
    assert made.probabilities[STOPPED] < 0.05
    assert made.probabilities[others].min() > 0.3
    if window == 30:
        ratios = made.expected[others] * periods[others] / 30
        assert 0.7 < ratios.min() < ratios.max() < 1.35


RATES = np.asarray([0.05, 0.1, 0.2, 0.3, 0.5, 0.6] * 2)  # facts a day of pairs that act at random
WEEKLY, ENDED = 16, 6  # pairs with a fact every week, and those that stopped some time ago


def mixed_events(seed: int) -> Events:
    """A year of pairs that act at random, pairs that act every week, and pairs that stopped."""
    rng, random = np.random.default_rng(seed), len(RATES)
    facts = [
        point(pair, 40 + pair % 9, day)
        for pair, rate in enumerate(RATES.tolist())
        for day, count in enumerate(rng.poisson(rate, YEAR).tolist())
        for _ in range(count)
    ]
    for pair in range(random, random + WEEKLY + ENDED):
        ended = max(0, pair - random - WEEKLY + 1)
        days = range(pair % 7, YEAR - 200 + 20 * ended if ended else YEAR, 7)
        facts += [point(pair, 40 + pair % 9, day) for day in days]
    return Events.of(facts_of(facts), TimeAxis("day"), 50)


@pytest.mark.parametrize("seed", [1, 2])
def test_expected_numbers_are_right_for_random_and_regular_pairs(seed: int) -> None:
    events, count = mixed_events(seed), len(RATES) + WEEKLY + ENDED
    counts = PairCounts(events, Clock(7.0, 7.0, 14.0, 28.0))
    model = fit_occurrence(counts, (1, 7, 30), Period.of(events, YEAR - 1), seed=0)
    assert model is not None
    pairs = np.arange(count)
    rows = Pairs(pairs, 40 + pairs % 9, np.full(count, YEAR, np.int32))
    features, met = counts.features(rows), np.ones(count, np.bool_)
    for window in (7, 14, 30):
        made = model.occurrence(features, met, window)
        expected = made.expected
        assert expected[RATES.argsort()[-4:]].mean() == pytest.approx(0.55 * window, rel=0.25)
        weekly = expected[len(RATES) : -ENDED]
        assert weekly.mean() == pytest.approx(window / 7, rel=0.2)
        assert (expected >= made.probabilities).all()
        stopped = (expected / made.probabilities)[-ENDED:]
        assert stopped.max() < 2.0 * (1 + window / 7)  # facts per window with one


def test_a_length_between_two_lies_between_them() -> None:
    def flat(odds: float) -> Regression:
        return Regression(np.zeros(len(NAMES)), odds, np.zeros(len(NAMES)))

    horizons = tuple(
        Horizon(w, flat(o), flat(-9.0), (0.0, 1.0, 0.0)) for w, o in ((1, -3.0), (9, -1.0))
    )
    model = OccurrenceModel(clock=CLOCK, horizons=horizons, fitted_until=0)
    row, met = np.zeros((1, len(NAMES))), np.ones(1, np.bool_)
    middle = model.occurrence(row, met, 3)
    short, long = (math.log1p(math.exp(odds)) for odds in (-3.0, -1.0))  # cumulative hazards
    assert middle.probabilities[0] == pytest.approx(-math.expm1(-math.sqrt(short * long)))
    steps = 9 * -math.expm1(-long / 9)
    assert model.occurrence(row, met, 18).expected[0] == pytest.approx(2 * steps)
    saturated = (horizons[0], Horizon(9, flat(12.0), flat(-9.0), (0.0, 1.0, 0.0)))
    model = OccurrenceModel(clock=CLOCK, horizons=saturated, fitted_until=0)
    assert model.occurrence(row, met, 9).probabilities[0] == pytest.approx(-math.expm1(-3.0))


@given(
    forecasts=st.lists(
        st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=9
    )
)
def test_the_area_is_the_chance_that_a_hit_is_above_a_miss(
    forecasts: list[tuple[float, bool]],
) -> None:
    values, happened = (np.asarray(column) for column in zip(*forecasts, strict=True))
    pairs = [
        (a > b) + 0.5 * (a == b)
        for a, hit in forecasts
        if hit
        for b, other in forecasts
        if not other
    ]
    area = area_under_curve(values, happened)
    assert area == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
    bins = reliability(values, happened)
    assert sum(part.forecasts for part in bins) == len(values)
    assert sum(part.happened * part.forecasts for part in bins) == pytest.approx(happened.sum())


shares_of = st.lists(st.floats(1e-9, 1), min_size=5, max_size=5).map(
    lambda parts: np.asarray(parts) / sum(parts)
)


@given(
    chance=st.floats(1e-9, 1 - 1e-9),
    burst=st.floats(0, 5),
    shares=shares_of,
    predicates=st.tuples(st.floats(-3, 3), st.floats(0.1, 3)),
)
def test_chances_of_predicates_and_classes_are_possible(
    chance: float, burst: float, shares: Doubles, predicates: tuple[float, float]
) -> None:
    """By definition: P(r) <= min(P(anything), expected number of r), and together not below it."""
    model = OccurrenceModel(clock=CLOCK, horizons=(), fitted_until=0, predicates=predicates)
    occurrence = Occurrence(np.asarray([chance]), np.asarray([chance * (1 + burst)]))
    (chances,) = model.predicate_probabilities(occurrence, shares[None])
    numbers = occurrence.expected[0] * shares
    assert (chances <= np.minimum(chance, numbers) * (1 + 1e-9)).all()
    assert chances.sum() >= chance * (1 - 1e-9)
    assert (np.diff(chances[np.argsort(shares)]) >= -1e-12).all()
    classes = PredicateClasses(("A", "B"), np.asarray([0, 1, 0, 1, -1], np.int32))
    (of_classes,) = model.class_probabilities(occurrence, shares[None], classes)
    for place, members in enumerate(([0, 2], [1, 3])):
        assert of_classes[place] <= min(chance, numbers[members].sum()) * (1 + 1e-9)
        assert chances[members].max() <= of_classes[place] * (1 + 1e-9)
        assert of_classes[place] <= chances[members].sum() * (1 + 1e-9)


@given(
    arrays(np.float64, (3, 4), elements=st.floats(0, 1)),
    arrays(np.float64, (3, 1), elements=st.floats(0.001, 0.999)),
)
def test_chances_that_are_possible_stay_as_they_are(chances: Doubles, anything: Doubles) -> None:
    numbers = chances * 1.5
    agreeing = coherent(chances, numbers, anything)
    fits = (chances <= anything).all(axis=1) & (chances.sum(axis=1) >= anything[:, 0])
    assert np.array_equal(agreeing[fits], chances[fits])


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_less_likely_to_meet_than_a_name_without_facts(seed: int) -> None:
    """Who acts at random and meets rarely: too little to tell the time scales apart."""
    rng = np.random.default_rng(seed)
    ends = rng.permuted(np.tile(np.arange(30), (600, 1)), axis=1)[:, :2]
    facts = [point(int(s), int(o), day // 4) for day, (s, o) in enumerate(ends)]
    events = Events.of(facts_of(facts), TimeAxis("integer"), 30)
    model = fitted_model(events)
    others = [(-1, entity, 150) for entity in range(-1, 30)]
    for pairs in (others, [(o, s, t) for s, o, t in others]):
        for window in (1, 3, 5, 20):
            chances = forecast(model, events, pairs_of(pairs), window)
            assert chances[0] == chances.min()
            assert chances.max() > chances[0]


def test_a_few_days_do_not_decide_the_level_of_small_dense_data() -> None:
    """Every pair has a fact on 15 % of the days: 68 % in a week, in each of sixteen worlds.

    When windows that overlap counted as if they were independent, the worst was 17 points off.
    """
    truth, stated = 1 - 0.85**7, list[float]()
    for seed in range(16):
        days, subjects, objects = np.nonzero(
            (np.random.default_rng(seed).random((200, 4, 4)) < 0.15) & ~np.eye(4, dtype=np.bool_)
        )
        ends = (subjects.astype(np.int64), objects.astype(np.int64))
        events = Events(*ends, days.astype(np.int32), 5)
        counts = PairCounts(events, Clock(3.0, 5.0, 9.0, 18.0))
        model = fit_occurrence(counts, (1, 7), Period.of(events), seed=0)
        assert model is not None
        pairs = Pairs.at(Meetings(events).before(200), 200, events.width)
        met = np.ones(len(pairs), np.bool_)
        stated.append(model.occurrence(counts.features(pairs), met, 7).probabilities.mean())
    errors = np.asarray(stated) - truth
    assert abs(errors.mean()) < 0.02
    assert np.sqrt(np.mean(errors**2)) < 0.05
    assert np.abs(errors).max() < 0.12


def test_busy_pairs_have_a_regression_of_their_own() -> None:
    """What raises the chance of most pairs does not raise that of busy ones here."""
    rng = np.random.default_rng(0)
    features = np.zeros((12_000, len(NAMES)))
    features[:, 0] = rng.normal(size=12_000)  # pair brief
    features[::2, NAMES.index("pair ever")] = np.log1p(20)
    odds = np.where(np.arange(12_000) % 2, -1.0 + 1.5 * features[:, 0], 0.0)
    hits = rng.random(12_000) < 1 / (1 + np.exp(-odds))
    ids = np.zeros(12_000, np.int64)
    pairs = Pairs(ids, ids, ids.astype(np.int32))
    whole = Outcomes(pairs, hits.astype(np.int64), np.ones(12_000))
    halves = [np.arange(6_000), np.arange(6_000, 12_000)]
    parts, rows = [whole.take(half) for half in halves], [features[half] for half in halves]
    acquainted = fitting._fit_regression(rows, parts)
    busy = fitting._fit_busy(acquainted, rows, parts)
    assert busy is not None
    assert acquainted.weights[0] > 0.4
    assert abs(busy.weights[0]) < 0.1
    few = [part.take(np.arange(300)) for part in parts]
    assert fitting._fit_busy(acquainted, [part[:300] for part in rows], few) is None
