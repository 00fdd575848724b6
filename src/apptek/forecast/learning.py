"""The forecasting part of a fit: the occurrence model and the calibration of predicates.

If the validation set is later than the training set, the regressions are fitted on the training
facts and calibrated on the validation facts; the test set is not used. Otherwise, the facts of all
splits are sorted by time, and the latest ones are used for calibration.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apptek.arrays import Bools, Doubles, Ints, Longs
from apptek.evaluation.calibration import newton
from apptek.facts.fact_keys import fact_keys, first_occurrences
from apptek.facts.facts import Facts, join_facts
from apptek.facts.queries import Queries
from apptek.facts.times import TimeAxis
from apptek.models.answerer import WorkingView
from apptek.models.entity_ranker import EntityIndex, EntityRanker, fit_entity_ranker
from apptek.models.fitting.stages import FitOptions
from apptek.models.model import Model
from apptek.models.occurrence.fitting import (
    FIRST_SHARE,
    LEAST_HITS,
    Period,
    fit_occurrence,
    leads_of,
    windows_of,
)
from apptek.models.occurrence.model import OccurrenceModel, either_way
from apptek.models.occurrence.pair_counts import Events, PairCounts, Pairs, pair_keys
from apptek.models.occurrence.snapshots import Outcomes, counts_at, draw_acquainted
from apptek.safe_text import counted
from apptek.seeding import generator

STAGE = "fit the occurrence model"
FEWEST_EVENTS = 100  # with fewer dated facts, no occurrence model is learned
MOST_EVENTS = 4_000_000  # maximum number of facts; if there are more, entities are sampled
_PAIRS = 40_000  # pairs drawn for the calibration
_ASKED = 12_000  # number of these pairs whose predicates are scored
_NEGLIGIBLE = 1e-5  # pairs with a smaller expected number are excluded if nothing happened
_DIGITS = 9


def learn_occurrence(model: Model, options: FitOptions, seconds: dict[str, float]) -> Model:
    """Return the model with an occurrence model, or with the reason why none could be learned.

    The duration is recorded in `seconds`, next to the other stages.
    """
    if "past_only" not in model.views or "topologies" in model.config.features.parts:
        why = f"the preset {model.preset} has no forecasts; fit with the preset default or max"
        return replace(model, no_forecasts=why)
    options.progress(STAGE, 0, 1)
    start = time.monotonic()
    learned = _learned(model, all_facts=options.final)
    seconds[STAGE] = time.monotonic() - start
    return learned


def _learned(model: Model, *, all_facts: bool) -> Model:
    data = model.dataset
    by_time = data.lies_beyond_train("valid")
    parts = (data.train, data.valid) if by_time else (data.train, data.valid, data.test)
    members = draw_members(parts, len(data.entities), generator(model.seed, "members"))
    facts = join_facts(*(facts_around(part, members) for part in parts))
    events = Events.of(_distinct(facts), data.axis, len(data.entities))
    if len(events) < FEWEST_EVENTS:
        why = f"{counted(len(events), 'fact')} with a date, at least {FEWEST_EVENTS} are needed"
        return replace(model, no_forecasts=why)
    period = (
        _period_by_time(model, events)
        if by_time
        else Period.of(events, model.last_observed, data.axis.stride)
    )
    counts = PairCounts(events, model.clock, members)
    windows = windows_of(data.axis, counts.clock)
    occurrence = fit_occurrence(
        counts,
        windows,
        period,
        seed=model.seed,
        leads=leads_of(data.axis, counts.clock),
    )
    if occurrence is None:
        return replace(model, no_forecasts=_why_not(events, windows, period))
    ranker = _entity_ranker(model, members)
    learned = replace(model, occurrence=replace(occurrence, all_facts=all_facts, ranker=ranker))
    return replace(learned, occurrence=_calibrated(learned, counts, period, facts))


def _entity_ranker(model: Model, members: Longs | None) -> EntityRanker | None:
    data, rng = model.dataset, generator(model.seed, "entities")
    train, sizes = facts_around(data.train, members), (len(data.entities), len(data.predicates))
    index = EntityIndex(train, data.axis, sizes, model.clock)
    return fit_entity_ranker(index, train, data.axis, rng=rng)


def _why_not(events: Events, windows: tuple[int, ...], period: Period) -> str:
    """Return why no occurrence model can be learned, if so.

    The period may be too short, or too few pairs may have later facts.
    """
    if all(period.moments(window) is None for window in windows):
        return "the facts cover too short a time"
    repeated = len(events) - len(np.unique(events.keys()))
    return (
        f"recurrence cannot be learned: {repeated:,} of {len(events):,} facts have an earlier fact "
        f"about the same pair, and training needs {LEAST_HITS} pairs with another fact in a window"
    )


def with_history(model: Model) -> Model:
    """Return the model with a graph of all dated facts in its folder, from every split.

    A forecast sees all facts before its window; a single split contains only some of them.
    """
    if model.occurrence is None or model.occurrence.all_facts:
        return model
    return _on_facts(model, _history(model))


def _history(model: Model, members: Longs | None = None) -> Facts:
    """Return the facts that a forecast uses; with `members`, only the facts of these entities."""
    known = facts_around(model.graph.facts, members)
    if model.occurrence is None or model.occurrence.all_facts:
        return known
    parts = (facts_around(part, members) for part in (model.dataset.valid, model.dataset.test))
    return _distinct(join_facts(known, *(part.take(part.dated) for part in parts)))


def _on_facts(model: Model, facts: Facts) -> Model:
    """Return a model that forecasts from the graph of these facts."""
    assert model.occurrence is not None
    occurrence = replace(model.occurrence, all_facts=True)
    return replace(model, graph=model.graph.with_facts(facts), occurrence=occurrence)


def draw_members(parts: Sequence[Facts], count: int, rng: np.random.Generator) -> Longs | None:
    """Draw entities with about MOST_EVENTS facts in total. Return None if there are fewer facts.

    All facts between drawn entities are kept, and every pair is equally likely to be drawn.
    """
    if sum(len(facts) for facts in parts) <= MOST_EVENTS:
        return None
    degrees = np.zeros(count, np.int64)
    for facts in parts:
        degrees += np.bincount(facts.subjects, minlength=count)
        degrees += np.bincount(facts.objects, minlength=count)
    order = rng.permutation(count)
    kept = int(np.searchsorted(np.cumsum(degrees[order]), MOST_EVENTS))
    return np.sort(order[: max(2, kept)])


def facts_around(facts: Facts, members: Longs | None) -> Facts:
    """Return the facts that involve any of these entities. If `members` is None, return all."""
    if members is None or not len(facts):
        return facts
    is_member = np.zeros(1 + max(int(facts.subjects.max()), int(facts.objects.max())), np.bool_)
    is_member[members[members < len(is_member)]] = True
    return facts.take(is_member[facts.subjects] | is_member[facts.objects])


def _distinct(facts: Facts) -> Facts:
    (keys,) = fact_keys(facts)
    firsts = first_occurrences(keys)
    return facts if firsts is None else facts.take(firsts)


def _period_by_time(model: Model, events: Events) -> Period:
    """Return a period whose snapshots end at the last training fact.

    Later facts are used for calibration.
    """
    positions = model.dataset.axis.positions(model.dataset.train.times)
    cut = int(positions.max()) + 1
    known = events.before(cut)
    first = int(known.times[int(len(known) * FIRST_SHARE)])
    assert model.last_observed is not None
    last = min(int(events.times[-1]), model.last_observed)
    return Period(first, cut, last, model.dataset.axis.stride)


def _calibrated(model: Model, counts: PairCounts, period: Period, facts: Facts) -> OccurrenceModel:
    """Calibrate the predicate probabilities, and the chance of an event in either direction.

    The calibration depends on the expected number of facts and uses the facts in the calibration
    windows. With random splits, the predicate shares were fitted on most of these facts, so the
    results are slightly overconfident.
    """
    occurrence, data = model.occurrence, model.dataset
    assert occurrence is not None
    window = occurrence.horizons[min(1, len(occurrence.horizons) - 1)].window
    moments = period.moments(window)
    assert moments is not None
    rng = generator(model.seed, "predicates")
    drawn = draw_acquainted(counts.candidates, moments[1], window, rng=rng, most=_PAIRS)
    met = np.ones(len(drawn.pairs), np.bool_)
    forward, backward = (
        occurrence.occurrence(counts.features(pairs), met, window)
        for pairs in (drawn.pairs, drawn.pairs.reversed())
    )
    back = counts_at(counts.events, drawn.pairs.reversed(), window)
    either = _fit_either(
        np.stack([forward.probabilities, backward.probabilities]),
        (drawn.counts + back) > 0,
        drawn.weights,
    )
    rows, weights = _drawn_by(forward.expected, drawn, rng)
    pairs, expected = drawn.pairs.take(rows), forward.expected[rows]
    if counts.members is None:
        seen = with_history(model)
    else:
        seen = _on_facts(model, _history(model, counts.members))
    shares = past_shares(seen, pairs)
    happened = predicates_in(facts, data.axis, pairs, window, len(data.predicates))
    numbers = expected[:, None] * shares
    predicates = _fit_predicates(numbers, happened, weights)
    return replace(occurrence, predicates=predicates, either=either)


def _fit_either(chances: Doubles, happened: Bools, weights: Doubles) -> float:
    """Estimate how independent the two directions are, by maximum likelihood.

    The estimate is the best value on a grid with step 0.01.
    """
    larger, smaller = chances.max(axis=0), chances.min(axis=0)

    def loss(independent: float) -> float:
        both = either_way(larger, smaller, independent).clip(1e-12, 1 - 1e-12)
        return -float((weights * np.where(happened, np.log(both), np.log1p(-both))).sum())

    return min((step / 100 for step in range(101)), key=loss)


def _drawn_by(
    expected: Doubles, outcomes: Outcomes, rng: np.random.Generator
) -> tuple[Longs, Doubles]:
    """Return the rows of about _ASKED pairs, with their weights.

    Pairs with a fact are preferred, followed by pairs with a high expected number. The weighted
    sums are therefore precise even though there are few rows.
    """
    chances = np.where(outcomes.hits, 1.0, np.sqrt(expected))
    chances = np.minimum(1.0, chances * _ASKED / max(1.0, float(chances.sum())))
    rows = np.flatnonzero(rng.random(len(chances)) < chances)
    return rows, outcomes.weights[rows] / chances[rows]


def past_shares(model: Model, pairs: Pairs, view: WorkingView | None = None) -> Doubles:
    """Return P(predicate | a fact at the pair's time), based on earlier facts: (n, R)."""
    working = view or WorkingView.of(model, "past_only")
    axis = model.dataset.axis
    queries = Queries(
        pairs.subjects.astype(np.int32),
        pairs.objects.astype(np.int32),
        codes_at(axis, pairs.times.astype(np.int64)),
        np.full(len(pairs), -1, np.int32),
    )
    return working.probabilities(working.scores(queries)).astype(np.float64)


def codes_at(axis: TimeAxis, positions: Longs) -> Ints:
    """Return the time codes of the axis steps at these positions."""
    if not axis.mixed:
        return positions.astype(np.int32)
    plain = TimeAxis(axis.unit)
    distinct, places = np.unique(positions, return_inverse=True)
    codes = [axis.parse(plain.format(int(position))) for position in distinct]
    return np.asarray(codes, np.int32)[places]


def predicates_in(
    facts: Facts, axis: TimeAxis, pairs: Pairs, window: int, predicate_count: int
) -> Bools:
    """Return which predicates each ordered pair has in the window after its time: (n, R)."""
    happened, times = np.zeros((len(pairs), predicate_count), np.bool_), axis.positions(facts.times)
    ids = (facts.subjects, facts.objects, pairs.subjects, pairs.objects)
    width = 2 + max(int(each.max(initial=0)) for each in ids)
    subjects, objects = (each.astype(np.int64) for each in ids[:2])
    of_facts, of_pairs = pair_keys(subjects, objects, width), pairs.keys(width)
    for moment in np.unique(pairs.times).tolist():
        rows = np.flatnonzero(pairs.times == moment)
        rows = rows[np.argsort(of_pairs[rows], kind="stable")]
        inside = np.flatnonzero((times >= moment) & (times < moment + window))
        places = np.searchsorted(of_pairs[rows], of_facts[inside])
        places = rows[np.minimum(places, len(rows) - 1)]
        found = of_pairs[places] == of_facts[inside]
        happened[places[found], facts.predicates[inside[found]]] = True
    return happened


def _fit_predicates(numbers: Doubles, happened: Bools, weights: Doubles) -> tuple[float, float]:
    """Fit a and b in 1 - exp(-e^a number^b) by maximum likelihood."""
    rows, columns = np.nonzero(happened | (numbers > _NEGLIGIBLE))
    logs = np.log(np.maximum(numbers[rows, columns], 1e-12))
    hits, row_weights = happened[rows, columns], weights[rows]
    if not hits.any():
        return 0.0, 1.0
    total = row_weights.sum()

    def loss(parameters: Doubles) -> float:
        rates = np.exp(np.minimum(parameters[0] + parameters[1] * logs, 50.0))
        terms = np.where(hits, -np.log(-np.expm1(-np.maximum(rates, 1e-300))), rates)
        return float((row_weights * terms).sum() / total)

    shift, slope = newton(loss, np.asarray([0.0, 1.0])).tolist()
    return round(shift, _DIGITS), round(slope, _DIGITS)
