"""The watch list: forecasts of many pairs, each compared with the previous window."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apptek.arrays import Bools, Longs
from apptek.errors import DataError
from apptek.forecast.forecaster import EventFilter, Forecaster, read_filter
from apptek.forecast.pair_chances import AlertRule, Pair, PairChances, raised, seen_pairs
from apptek.forecast.pairs import forecast_pairs
from apptek.forecast.window import Window, unit_word
from apptek.models.occurrence.pair_counts import EVIDENCE, LENGTH, Meetings, pair_keys
from apptek.present import watch_words as words
from apptek.present.sentences import clause
from apptek.present.tables import PREDICATES
from apptek.results import Alert, Forecast, OccurrenceReason, WatchList, WatchRow

PAST = 26  # number of previous windows whose facts are counted
Triple = tuple[int, int, int]  # subject, predicate, object


def watch_list(
    forecaster: Forecaster,
    window: Window,
    pairs: Sequence[Pair] | None = None,
    *,
    most: int = 20,
    event: EventFilter | None = None,
    rules: Sequence[AlertRule] = (),
    watched: Bools | None = None,
) -> WatchList:
    """Return the requested watch list. Pairs with alerts come first.

    pairs    the pairs to list; by default the `most` seen pairs whose chance changes most. Alerts
             check all seen pairs, listed or not
    event    the events to count; by default all
    watched  only pairs with one of these entities; None: all pairs
    """
    event = event or read_filter(forecaster)
    if pairs is None:
        ids = seen_pairs(forecaster, window.before().moment)
        if not len(ids):
            raise DataError("no pair has facts before the window, so there is nothing to watch")
    else:
        _check_pairs(forecaster, pairs)
        ids = forecaster.ids([name for pair in pairs for name in pair]).reshape(-1, 2)
    if watched is not None:
        kept = ((ids >= 0) & watched[ids]).any(axis=1)
        pairs = None if pairs is None else [pairs[row] for row in np.flatnonzero(kept).tolist()]
        ids = ids[kept]
    chances = PairChances.of(forecaster, ids, window)
    rows = chances.most_changed(event, most + 1) if pairs is None else np.arange(len(ids))
    is_cut = pairs is None and len(rows) > most
    rows = rows[:most] if is_cut else rows
    found = [(rule, *each) for rule in rules for each in raised(rule, chances)]
    order = list(dict.fromkeys([*(row for _, row, *_ in found), *rows.tolist()]))
    known = forecaster.model.dataset.entities
    names: dict[int, Pair] = {
        row: (known[int(ids[row, 0])], known[int(ids[row, 1])]) if pairs is None else pairs[row]
        for row in order
    }
    listed = watch(forecaster, list(names.values()), window, event)
    alerts = [
        (row, Alert(rule.text, *names[row], value, rule.sentence(names[row], value, chance)))
        for rule, row, value, chance in found
    ]
    marked = (
        replace(each, alerts=tuple(alert.rule for other, alert in alerts if other == row))
        for each, row in zip(listed.rows, order, strict=True)
    )
    told = tuple(alert for _, alert in alerts)
    return replace(listed, rows=tuple(marked), alerts=told, cut=is_cut)


def changed_pairs(
    forecaster: Forecaster,
    window: Window,
    pairs: Sequence[Pair],
    event: EventFilter,
    watched: Bools | None = None,
) -> list[Pair]:
    """Return which of these pairs an unlimited list would contain; see `watch_list`."""
    ids = forecaster.ids([name for pair in pairs for name in pair]).reshape(-1, 2)
    moment = window.before().moment
    kept = (ids >= 0).all(axis=1)
    kept &= Meetings(forecaster.events).had_met(
        pair_keys(ids[:, 0], ids[:, 1], forecaster.events.width), moment
    )
    if watched is not None:
        kept &= watched[ids].any(axis=1)
    rows = np.flatnonzero(kept)
    if not len(rows):
        return []
    changed = PairChances.of(forecaster, ids[rows], window).most_changed(event, len(rows))
    return [pairs[row] for row in rows[changed].tolist()]


def watch(
    forecaster: Forecaster, pairs: Sequence[Pair], window: Window, event: EventFilter | None = None
) -> WatchList:
    """Forecast these pairs in the given order, each with its forecast for the previous window.

    event  the events to count; by default all
    """
    event = event or read_filter(forecaster)
    notes, fields = forecaster.notes(window), forecaster.window_fields(window)
    listed = WatchList(
        **fields, data=forecaster.model.dataset.name, rows=(), notes=notes, event=event.name
    )
    if not len(pairs):
        return listed
    names = forecaster.model.dataset.predicates
    that_count = {names[int(place)] for place in np.flatnonzero(event.predicates)}
    top = None if event.name else PREDICATES
    ids = forecaster.ids([name for pair in pairs for name in pair]).reshape(-1, 2)
    forecasts = forecast_pairs(forecaster, pairs, window, top=top, ids=ids)
    chances = PairChances.of(forecaster, ids, window)
    now, before = chances.of_event(event, np.arange(len(pairs)))
    causes, past = _causes(forecasts, chances), _past_facts(forecaster, ids, window, event)
    rows = []
    for place, forecast in enumerate(forecasts):
        parts = [part for part in forecast.predicates if part.predicate in that_count]
        change, counts = float(now[place] - before[place]), past[place]
        row = WatchRow(
            subject=forecast.subject,
            object=forecast.object,
            probability=float(now[place]),
            expected=sum(part.expected for part in parts) if event.name else forecast.expected,
            previous=float(before[place]),
            change=change,
            predicates=tuple(parts[:PREDICATES]),
            reason=_events(forecaster, counts, change, window) or causes[place].sentence,
            past=tuple(sum(of[n] for of in counts.values()) for n in range(PAST, 0, -1)),
            unseen=forecast.unseen,
            notes=tuple(note for note in forecast.notes if note not in notes),
        )
        rows.append(row)
    return replace(listed, rows=tuple(rows))


def _past_facts(
    forecaster: Forecaster, ids: Longs, window: Window, event: EventFilter
) -> list[dict[Triple, Counter[int]]]:
    """Return the number of facts that count for each pair, in either direction, by triple.

    The counts are indexed by how many windows ago the facts were: 1 is the previous window.
    """
    facts, data = forecaster.model.graph.facts, forecaster.model.dataset
    ago = (window.moment - 1 - data.axis.positions(facts.times).astype(np.int64)) // window.length
    rows = np.flatnonzero((ago >= 0) & (ago < PAST) & event.predicates[facts.predicates])
    part, asked = facts.take(rows), np.sort(ids, axis=1) @ [len(data.entities), 1]
    ends = np.sort(np.stack([part.subjects, part.objects], axis=1), axis=1).astype(np.int64)
    keys = ends @ [len(data.entities), 1]
    found: dict[int, dict[Triple, Counter[int]]] = {key: {} for key in asked.tolist()}
    for row in np.flatnonzero(np.isin(keys, asked)):
        triple = (int(part.subjects[row]), int(part.predicates[row]), int(part.objects[row]))
        counts = found[int(keys[row])].setdefault(triple, Counter())
        counts[int(ago[rows[row]]) + 1] += 1
    return [found[key] for key in asked.tolist()]


def _events(
    forecaster: Forecaster, counts: dict[Triple, Counter[int]], change: float, window: Window
) -> str:
    """Return text about the events whose number changed most, in the same direction as the chance.

    Return an empty text if there are none.
    """
    data, labels = forecaster.model.dataset, forecaster.answerer.labels
    sign = 1 if change >= 0 else -1
    steps = {key: sign * (of[1] - of[2]) for key, of in counts.items()}
    best = max(steps, key=lambda key: (steps[key], -key[1], -key[0]), default=None)
    if best is None or steps[best] <= 0:
        return ""
    predicate = data.predicates[best[1]]
    ends = (data.entities[best[0]], data.entities[best[2]])
    did = clause(labels.label(predicate), labels.phrase(predicate), *ends)
    both, unit = (counts[best][1], counts[best][2]), unit_word(data.axis.unit)
    return words.events_sentence(did, both, window.length, unit)


def _check_pairs(forecaster: Forecaster, pairs: Sequence[Pair]) -> None:
    """Raise DataError or UnknownName for anything that is not a pair of names."""
    if not len(pairs):
        raise DataError("there are no pairs to watch; expected pairs of a subject and an object")
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(n, str) for n in pair):
            raise DataError(f"found the pair {pair!r}, expected the names of two entities")
        where = f"pair {number}"
        forecaster.answerer.entities.check(*pair, allow_unknown=True, where=where)


def _causes(forecasts: Sequence[Forecast], chances: PairChances) -> list[OccurrenceReason]:
    """Return, for each pair, the reason that contributed most to the change in its chance."""
    _, before = chances.of_any()
    met = chances.before.met.reshape(2, -1)
    added = chances.before.reasons().reshape(2, len(forecasts), -1)
    causes = []
    for row, forecast in enumerate(forecasts):
        sign = 1 if forecast.probability >= before[row] else -1
        moved: list[tuple[float, OccurrenceReason]] = []
        for way, part in enumerate(forecast.directions):
            for reason in part.reasons:
                if reason.family == LENGTH:
                    continue
                step = reason.log_odds - float(added[way, row, EVIDENCE.index(reason.family)])
                if part.have_met != met[way, row]:  # a new pair: the numbers are not comparable
                    step = sign * float(reason.family == "either")
                moved.append((sign * step, reason))
        causes.append(max(moved, key=lambda each: each[0])[1])
    return causes
