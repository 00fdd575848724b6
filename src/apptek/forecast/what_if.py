"""What-if forecasts: a pair's forecast with supposed facts, next to its forecast without them."""

import numpy as np

from apptek.arrays import Longs
from apptek.explain.what_if import (
    LEAST,
    LISTED,
    Supposition,
    chance,
    changed_reasons,
    compared_in,
)
from apptek.explain.without_facts import without_facts
from apptek.facts.facts import Facts
from apptek.forecast.forecaster import Forecaster, read_filter
from apptek.forecast.learning import codes_at
from apptek.forecast.pairs import forecast_pairs, query_at
from apptek.forecast.window import Window, time_of
from apptek.models.occurrence.pair_counts import LENGTH
from apptek.present.what_if_words import forecast_sentence
from apptek.results import (
    Change,
    ClassForecast,
    Forecast,
    OccurrenceReason,
    Query,
    SupposedChance,
    WhatIf,
)


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
        sentence=forecast_sentence(first, chances, supposed.told()),
        facts=supposed.told(),
        chances=chances,
        compared=compared,
        changes=tuple(sorted([*_changes(first, second), *of_predicates], key=_size)),
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


def _size(change: Change) -> float:
    return -abs(change.change)


def _changes(first: Forecast, second: Forecast) -> list[Change]:
    """Return the reasons that changed, in both directions."""
    changes = []
    for one, other in zip(first.directions, second.directions, strict=True):
        kind, after = f"{one.subject} -> {one.object}", {r.family: r for r in other.reasons}
        before = {r.family: r for r in one.reasons}
        none = OccurrenceReason(LENGTH, "", 0.0)  # the only reason that may be missing on one side
        pairs = []
        for family in {**before, **after}:
            first_reason, then = before.get(family, none), after.get(family, none)
            texts = (first_reason.sentence, then.sentence)
            pairs.append((family, *texts, first_reason.log_odds, then.log_odds))
        pairs.append(("base", one.base_sentence, other.base_sentence, one.base, other.base))
        changes += [Change(kind, *each, each[-1] - each[-2]) for each in pairs]
    return [each for each in changes if abs(each.change) >= LEAST]
