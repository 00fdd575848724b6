"""Forecasts of pairs: whether anything happens, what, when the next event comes, and why.

The median time to the next event is the length of the shortest window in which the chance is at
least one half. It is undefined if it exceeds the longest window that the model learned.

A what-if forecast shows a pair's forecast with supposed facts, next to its forecast without them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apptek.arrays import Doubles, Longs
from apptek.errors import ApptekError
from apptek.evaluation.predicate_classes import Level
from apptek.explain.contrast import Identity, changes_of
from apptek.explain.explainer import strongest_reason, without_facts
from apptek.explain.what_if import (
    LEAST,
    LISTED,
    Supposition,
    chance,
    changed_reasons,
    compared_in,
)
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.facts.times import TimeAxis
from apptek.forecast.forecaster import EventFilter, Forecaster, PairForecasts, read_filter
from apptek.forecast.learning import codes_at
from apptek.forecast.window import Window, time_of, unit_word
from apptek.models.occurrence.horizon import is_busy
from apptek.models.occurrence.pair_counts import EVIDENCE, LENGTH, age_of_last
from apptek.present import forecast_words as words
from apptek.present.what_if_words import forecast_sentence
from apptek.present.wording import read_as_notes
from apptek.results import (
    ChanceUntil,
    Change,
    ClassForecast,
    DirectionForecast,
    Forecast,
    NextEvent,
    Note,
    OccurrenceReason,
    PredicateForecast,
    Query,
    SupposedChance,
    WhatIf,
)

CURVE = 31  # maximum number of points on the curve of chances
LENGTHS = 128  # number of window lengths to search for a median
HALF = 0.5
SHOWN = 1e-6  # the smallest effect of a window's length, in log-odds, that is given as a reason
Ends = tuple[str, str]


def forecast_pairs(
    forecaster: Forecaster,
    pairs: Sequence[Ends],
    window: Window,
    *,
    top: int | None = 10,
    event: EventFilter | None = None,
    ids: Longs | None = None,
) -> list[Forecast]:
    """Return the forecast of each pair in both directions.

    top    the number of predicates to keep; None: all
    event  if given, also forecast the classes, the next such event and the curve, and give a reason
           (slower)
    ids    the entity ids of the pairs, (n, 2), if the caller has already looked them up
    """
    if ids is None:
        ids = forecaster.ids([name for pair in pairs for name in pair]).reshape(-1, 2)
    _check_two_entities(pairs, ids)
    made = forecaster.both_ways(ids, window)
    _ = made.shares  # of all pairs at once
    added = made.reasons()
    of_window, fields = forecaster.notes(window), forecaster.window_fields(window)
    occurs = forecaster.answerer.seen.entities(ids.ravel()).reshape(-1, 2)
    forecasts = []
    for place, asked in enumerate(pairs):
        known = zip(map(forecaster.answerer.seen.name, ids[place].tolist()), asked, strict=True)
        one, other = (name or given for name, given in known)
        ends, rows = (one, other), np.asarray([place, place + len(pairs)])
        own = made.take(rows)
        is_seen = dict(zip(ends, occurs[place].tolist(), strict=True))
        unseen = tuple(name for name in ends if not is_seen[name])
        notes = [
            *read_as_notes(*zip(asked, ends, strict=True)),
            *words.unknown_name_notes(unseen),
            *_old_pair(own),
        ]
        first, second = (
            _direction(own, row, names, added[rows[row]])
            for row, names in enumerate((ends, ends[::-1]))
        )
        forecast = Forecast(
            subject=one,
            object=other,
            **fields,
            probability=float(forecaster.either_way(own.probabilities)[0]),
            expected=float(own.expected.sum()),
            directions=(first, second),
            predicates=_predicates(own, ends, top),
            unseen=unseen,
            notes=(*notes, *of_window),
        )
        if event is not None:
            why = _why(forecaster, forecast, window, ids[place])
            forecast = _with_details(forecast, own, event, why)
        forecasts.append(forecast)
    return forecasts


def _check_two_entities(pairs: Sequence[Ends], ids: Longs) -> None:
    """Raise ApptekError if an entity is paired with itself."""
    for (subject, object_), (one, other) in zip(pairs, ids.tolist(), strict=True):
        if subject == object_ or one == other >= 0:
            raise ApptekError(
                f"{subject!r} twice: a forecast needs two different entities; leave the second out "
                "to forecast all partners of the first"
            )


def _with_details(
    forecast: Forecast, made: PairForecasts, event: EventFilter, why: str
) -> Forecast:
    """Return the forecast with classes, the next event, and a reason for the top predicate."""
    next_event = of_any = _next_event(made, event)
    if event.name:
        of_any = _next_event(made, read_filter(made.forecaster))
    return replace(
        forecast,
        by_class=_classes(made, "class"),
        by_group=_classes(made, "group"),
        why=why,
        curve=of_any.curve,
        next_event=next_event,
    )


def _old_pair(made: PairForecasts) -> list[Note]:
    """Return a note if the pair's last fact is older than the clock's long time scale."""
    forecaster, window = made.forecaster, made.window
    long = forecaster.occurrence.clock.long
    axis, age = forecaster.model.dataset.axis, age_of_last(made.features[0])
    if not made.met[0] or age + window.lead <= long:
        return []
    since = time_of(axis, window.moment) if window.lead else "the window"
    exact = window.moment - forecaster.last_between(made.pairs.take(np.asarray([0])))
    return [words.old_pair_note(exact, unit_word(axis.unit), since)]


def _direction(made: PairForecasts, row: int, ends: Ends, added: Doubles) -> DirectionForecast:
    """Return the forecast for one direction. `added` is a row of `reasons`."""
    longest = made.forecaster.occurrence.longest
    *of_evidence, of_length, base = added.tolist()
    reasons = [
        OccurrenceReason(family, made.evidence(row, family, ends), value)
        for family, value in zip(EVIDENCE, of_evidence, strict=True)
    ]
    if abs(of_length) >= SHOWN:
        sentence = words.length_sentence(beyond=made.window.length > longest)
        reasons.append(OccurrenceReason(LENGTH, sentence, of_length))
    return DirectionForecast(
        subject=ends[0],
        object=ends[1],
        probability=float(made.probabilities[row]),
        expected=float(made.expected[row]),
        base=base,
        reasons=tuple(sorted(reasons, key=lambda reason: -abs(reason.log_odds))),
        have_met=bool(made.met[row]),
        base_sentence=base_sentence(made, row),
    )


def base_sentence(made: PairForecasts, row: int) -> str:
    """Return the base of an ordered pair: what its reasons are added to."""
    busy = made.forecaster.occurrence.knows_busy and bool(is_busy(made.features[row][None])[0])
    return words.base_sentence(met=bool(made.met[row]), busy=busy)


def _predicates(made: PairForecasts, ends: Ends, top: int | None) -> tuple[PredicateForecast, ...]:
    """Return the predicates in both directions, most probable first."""
    # If both are as probable as any event, the larger share comes first.
    order = np.lexsort((-made.shares.ravel(), -made.of_predicates.ravel()))[:top]
    rows, places = np.unravel_index(order, made.shares.shape)
    both = (ends, (ends[1], ends[0]))
    return tuple(
        predicate_forecast(made, (row, place), both[row])
        for row, place in zip(rows.tolist(), places.tolist(), strict=True)
    )


def predicate_forecast(made: PairForecasts, at: tuple[int, int], ends: Ends) -> PredicateForecast:
    """Return a predicate's forecast for an ordered pair. `at` has the pair's row and predicate."""
    name = made.forecaster.model.dataset.predicates[at[1]]
    return PredicateForecast(
        subject=ends[0],
        predicate=name,
        label=made.forecaster.answerer.labels.label(name),
        object=ends[1],
        probability=float(made.of_predicates[at]),
        expected=float(made.expected[at[0]] * made.shares[at]),
        share=float(made.shares[at]),
    )


def _why(forecaster: Forecaster, forecast: Forecast, window: Window, ids: Longs) -> str:
    """Return a sentence with the strongest evidence for the most probable predicate."""
    best, axis = forecast.predicates[0], forecaster.model.dataset.axis
    ids = ids if best.subject == forecast.subject else ids[::-1]
    asked = query_at(axis, ids, window.moment)
    query = Query(best.subject, best.object, time_of(axis, window.moment))
    reason = strongest_reason(forecaster.answerer, query, best.predicate, asked)
    return words.why_sentence(best, reason)


def query_at(axis: TimeAxis, ids: Longs, moment: int) -> Queries:
    """Return the query about two entities at a given time."""
    subject, object_, hidden = (np.asarray([value], np.int32) for value in (*ids.tolist(), -1))
    return Queries(subject, object_, codes_at(axis, np.asarray([moment])), hidden)


def _classes(made: PairForecasts, level: Level) -> tuple[ClassForecast, ...]:
    """Return the chance of at least one fact in each class, in either direction."""
    classes, model = (
        made.forecaster.answerer.predicates.levels.get(level),
        made.forecaster.occurrence,
    )
    if classes is None:
        return ()
    either = model.either_way(*model.class_probabilities(made.chances, made.shares, classes))
    numbers = made.expected @ classes.sums(made.shares)
    return tuple(
        ClassForecast(classes.names[place], float(either[place]), float(numbers[place]))
        for place in np.argsort(-either, kind="stable").tolist()
    )


def _next_event(made: PairForecasts, event: EventFilter) -> NextEvent:
    """Forecast when a pair's next event comes, in either direction."""
    forecaster, window = made.forecaster, made.window
    axis, model = forecaster.model.dataset.axis, forecaster.occurrence
    lengths = np.unique(np.linspace(1, window.length, CURVE).round().astype(np.int64))
    medians = median_lengths(forecaster)
    grid = chance_grid(made, event, np.append(lengths, medians))
    either = model.either_way(grid[:, 0], grid[:, 1])
    curve = np.maximum.accumulate(either[: len(lengths)])  # chances increase with the length
    median = int(first_half(medians, either[len(lengths) :, None])[0])
    return NextEvent(
        event=event.name,
        probability=float(curve[-1]),
        expected=float(event.expected(made).sum()),
        curve=tuple(
            ChanceUntil(time_of(axis, window.first + length - 1), chance)
            for length, chance in zip(lengths.tolist(), curve.tolist(), strict=True)
        ),
        median=median or None,
        median_time=time_of(axis, window.first + median - 1) if median else None,
        longest=model.longest,
    )


def median_lengths(forecaster: Forecaster) -> Longs:
    """Return the window lengths to search for a median, in ascending order."""
    stride, longest = forecaster.occurrence.stride, forecaster.occurrence.longest
    steps = np.arange(1, longest // stride + 1)
    if len(steps) > LENGTHS:
        steps = np.unique(np.geomspace(1, len(steps), LENGTHS).round().astype(np.int64))
    return steps * stride


def chance_grid(made: PairForecasts, event: EventFilter, lengths: Longs) -> Doubles:
    """Return each pair's chance in a window of each length: (lengths, pairs)."""
    model, lead = made.forecaster.occurrence, made.window.lead
    found = model.occurrences(made.features, made.met, lengths.tolist(), lead)
    return np.stack([event.chances(made, chances) for chances in found])


def first_half(lengths: Longs, chances: Doubles) -> Longs:
    """Return, for each pair, the first length with a chance of at least one half, or 0.

    The chances have shape (lengths, n), and the result has shape (n,).
    """
    reached = chances >= HALF
    return np.where(reached.any(axis=0), lengths[np.argmax(reached, axis=0)], 0)


def start_after(forecaster: Forecaster, supposed: Supposition) -> str | None:
    """Return the first time of a window that follows the last supposed fact.

    None means the default start.
    """
    axis = forecaster.model.dataset.axis
    last = int(axis.positions(supposed.facts.times).max())
    return time_of(axis, last + axis.stride) if last > forecaster.observed else None


def forecast_what_if(
    forecaster: Forecaster, forecast: Forecast, ids: Longs, window: Window, supposed: Supposition
) -> WhatIf:
    """Return a pair's forecast with and without supposed facts, and the changes.

    Supposed facts count if they are before the window. If a supposed fact falls within the
    unobserved lead, it is treated as if it happened at the last observed time. This way, the rest
    of the forecast does not change.
    """
    axis = forecaster.model.dataset.axis
    positions = axis.positions(supposed.facts.times)
    supposed = supposed.before(positions, window.first, time_of(axis, window.first))
    facts, latest = supposed.counted, window.moment - axis.stride
    times = codes_at(axis, np.minimum(axis.positions(facts.times), latest).astype(np.int64))
    facts = Facts(facts.subjects, facts.predicates, facts.objects, times, times)
    queries = query_at(axis, ids, window.moment)
    two = (forecaster.answerer, without_facts(forecaster.answerer, queries, [], facts).answerer)
    pair, event = [(forecast.subject, forecast.object)], read_filter(forecaster)
    (first,), (second,) = (
        forecast_pairs(each, pair, window, top=None, event=event, ids=ids[None])
        for each in (forecaster, forecaster.on(two[1]))
    )
    chances = _chances(first, second)
    shares = np.concatenate([each.ranked(queries).probabilities for each in two])
    asked = Query(first.subject, first.object, time_of(axis, window.moment))
    compared, of_predicates = changed_reasons(two, asked, queries, compared_in(two[0], shares))
    return WhatIf(
        sentence=forecast_sentence(first, chances, supposed.listed),
        facts=supposed.listed,
        chances=chances,
        compared=compared,
        changes=tuple(
            sorted([*_changes(first, second), *of_predicates], key=lambda each: -abs(each.change))
        ),
        notes=supposed.notes,
    )


def _chances(first: Forecast, second: Forecast) -> tuple[SupposedChance, ...]:
    rows = [chance("event", "", "", first.probability, second.probability)]
    for one, other in zip(first.directions, second.directions, strict=True):
        ends = (one.subject, one.object)
        rows.append(chance("event", "", "", one.probability, other.probability, ends))
    after = {(part.subject, part.predicate): part.probability for part in second.predicates}
    predicates = [
        chance(
            "predicate", part.predicate, part.label, part.probability,
            after[part.subject, part.predicate], (part.subject, part.object),
        )
        for part in first.predicates
    ]  # fmt: skip
    rows += sorted(predicates, key=lambda row: -max(row.without, row.supposed))[:LISTED]
    rows += _of_classes("group", first.by_group, second.by_group)
    return (*rows, *_of_classes("class", first.by_class, second.by_class)[:LISTED])


def _of_classes(
    kind: str, first: tuple[ClassForecast, ...], second: tuple[ClassForecast, ...]
) -> list[SupposedChance]:
    after = {part.name: part.probability for part in second}
    rows = [chance(kind, p.name, p.name, p.probability, after[p.name]) for p in first]
    return sorted(rows, key=lambda row: -max(row.without, row.supposed))


def _changes(first: Forecast, second: Forecast) -> list[Change]:
    """Return the reasons that changed, in both directions."""
    sides = []
    for forecast in (first, second):
        reasons: dict[Identity, tuple[str, float]] = {}
        for one in forecast.directions:
            ends = f"{one.subject} -> {one.object}"
            reasons |= {(ends, r.family, ()): (r.sentence, r.log_odds) for r in one.reasons}
            reasons[ends, "base", ()] = (one.base_sentence, one.base)
        sides.append(reasons)
    return [each for each in changes_of(*sides) if abs(each.change) >= LEAST]
