"""The watch list: forecasts of many pairs, and how each differs from the window before."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Longs
from apptek.errors import DataError
from apptek.facts.name_matching import NameResolver
from apptek.forecast.alerts import alert_of, raised, read_rule
from apptek.forecast.event_filter import EventFilter, read_filter
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.pair_chances import PairChances, seen_pairs, watched_entities
from apptek.forecast.pair_files import Pair
from apptek.forecast.window import Window, unit_word
from apptek.models.occurrence.counts import EVIDENCE
from apptek.models.occurrence.events import Events, pair_keys
from apptek.present import watch_words as words
from apptek.present.sentences import clause
from apptek.present.tables import PREDICATES
from apptek.results import Forecast, OccurrenceReason, WatchList, WatchRow

MOST_LISTED = 20  # pairs of a list for which a user names none
PAST = 26  # windows before this one whose facts are counted

Recent = Counter[tuple[int, int, int, bool]]  # (subject, predicate, object, is in the last window)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a user wants to watch: some entities or countries, some events; and the alerts."""

    entities: Sequence[str] = ()
    countries: Sequence[str] = ()
    predicate: str | None = None
    class_: str | None = None
    group: str | None = None
    alerts: Sequence[str] = ()


def watch_list(
    forecaster: Forecaster,
    window: Window,
    pairs: Sequence[Pair] | None = None,
    *,
    most: int = MOST_LISTED,
    wanted: Wanted | None = None,
) -> WatchList:
    """Return the list that a user wants, pairs with alerts first.

    pairs  all of these are listed; by default the `most` pairs with facts whose chance changes
           most. Alerts look at all pairs with facts, listed or not.
    """
    wanted = wanted or Wanted()
    event = read_filter(forecaster, wanted.predicate, wanted.class_, wanted.group)
    rules = [read_rule(forecaster, text, event) for text in wanted.alerts]
    ends = watched_entities(forecaster, wanted.entities, wanted.countries)
    if pairs is None:
        chances = seen_pairs(forecaster, window, ends)
        rows = chances.most_changed(event, most).tolist()
    else:
        check_pairs(pairs, forecaster.answerer.entities)
        pairs = [pair for pair in pairs if ends is None or ends[_known(forecaster, pair)].any()]
        ids = forecaster.ids([name for pair in pairs for name in pair]).reshape(-1, 2)
        chances = PairChances.of(forecaster, ids[:, 0], ids[:, 1], window)
        rows = list(range(len(pairs)))
    found = [(rule, *each) for rule in rules for each in raised(rule, chances)]
    order = list(dict.fromkeys([*(row for _, row, *_ in found), *rows]))
    named = chances.names(order) if pairs is None else [pairs[row] for row in order]
    names, listed = dict(zip(order, named, strict=True)), watch(forecaster, named, window, event)
    raised_by = {row: [rule.text for rule, other, *_ in found if other == row] for row in order}
    return replace(
        listed,
        rows=tuple(
            replace(each, alerts=tuple(raised_by[row]))
            for each, row in zip(listed.rows, order, strict=True)
        ),
        alerts=tuple(alert_of(rule, names[row], *numbers) for rule, row, *numbers in found),
    )


def _known(forecaster: Forecaster, pair: Pair) -> list[int]:
    return [entity for entity in forecaster.ids(pair).tolist() if entity >= 0]


def watch(
    forecaster: Forecaster, pairs: Sequence[Pair], window: Window, event: EventFilter | None = None
) -> WatchList:
    """The forecasts of these pairs, in their order, each beside that of the window before.

    event  the events that count, by default all
    """
    event = event or read_filter(forecaster, None, None, None)
    notes, fields = forecaster.notes(window), forecaster.window_fields(window)
    listed = WatchList(
        **fields, data=forecaster.model.dataset.name, rows=(), notes=notes, event=event.name
    )
    if not len(pairs):
        return listed
    names = forecaster.model.dataset.predicates
    counted = {names[int(place)] for place in np.flatnonzero(event.predicates)}
    forecasts = forecaster.forecast(pairs, window, top=None if event.name else PREDICATES)
    subjects, objects = (forecaster.ids([pair[side] for pair in pairs]) for side in (0, 1))
    chances = PairChances.of(forecaster, subjects, objects, window)
    now, before = chances.of_event(event, np.arange(len(pairs)))
    causes = _causes(forecasts, chances)
    past = _past(forecaster, subjects, objects, window, event)
    recent, none, rows = _recent_events(forecaster, window, event), Recent(), list[WatchRow]()
    for place, forecast in enumerate(forecasts):
        parts = [part for part in forecast.predicates if part.predicate in counted]
        row = WatchRow(
            subject=forecast.subject,
            object=forecast.object,
            probability=float(now[place]),
            expected=sum(part.expected for part in parts) if event.name else forecast.expected,
            previous=float(before[place]),
            change=float(now[place] - before[place]),
            predicates=tuple(parts[:PREDICATES]),
            reason=causes[place].sentence,
            past=tuple(past[place].tolist()),
            unseen=forecast.unseen,
            notes=tuple(note for note in forecast.notes if note not in notes),
        )
        ends = sorted((int(subjects[place]), int(objects[place])))
        rows.append(_with_events(forecaster, row, recent.get((ends[0], ends[1]), none), window))
    return replace(listed, rows=tuple(rows))


def _recent_events(
    forecaster: Forecaster, window: Window, event: EventFilter
) -> dict[tuple[int, int], Recent]:
    """Return the facts of the last two windows that count, by pair."""
    facts, axis = forecaster.model.graph.facts, forecaster.model.dataset.axis
    times = axis.positions(facts.times).astype(np.int64)
    start, counts = window.moment - window.length, event.predicates[facts.predicates]
    rows = (times >= start - window.length) & (times < window.moment) & counts
    kept, found = facts.take(rows), dict[tuple[int, int], Recent]()
    columns = (kept.subjects, kept.predicates, kept.objects, times[rows] >= start)
    for one, predicate, other, recent in zip(*(c.tolist() for c in columns), strict=True):
        of_pair = found.setdefault((min(one, other), max(one, other)), Recent())
        of_pair[one, predicate, other, recent] += 1
    return found


def _with_events(forecaster: Forecaster, row: WatchRow, counts: Recent, window: Window) -> WatchRow:
    """Return the row with the events that changed most, if any changed the way the chance did."""
    data, labels = forecaster.model.dataset, forecaster.answerer.labels
    sign = 1 if row.change >= 0 else -1
    steps = {key[:3]: counts[(*key[:3], True)] - counts[(*key[:3], False)] for key in counts}
    best = max(steps, key=lambda key: (sign * steps[key], -key[1], -key[0]), default=None)
    if best is None or sign * steps[best] <= 0:
        return row
    subject, object_ = data.entities[best[0]], data.entities[best[2]]
    predicate, unit = data.predicates[best[1]], unit_word(data.axis.unit)
    did = clause(labels.label(predicate), labels.phrase(predicate), subject, object_)
    both = (counts[(*best, True)], counts[(*best, False)])
    return replace(row, reason=words.events_sentence(did, both, window.length, unit))


def check_pairs(pairs: Sequence[Pair], entities: NameResolver) -> None:
    """Raise DataError or UnknownName for what is no pair of names."""
    if not len(pairs):
        raise DataError("there are no pairs to watch; expected some of a subject and an object")
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(n, str) for n in pair):
            raise DataError(f"found the pair {pair!r}, expected the names of two entities")
        entities.check(*pair, allow_unknown=True, where=f"pair {number}")


def _causes(forecasts: Sequence[Forecast], chances: PairChances) -> list[OccurrenceReason]:
    """Of each pair, the reason that has moved the chance most, the way it went."""
    _, before = chances.of_any()
    earlier = [(made.met, chances.forecaster.reasons(made)[0]) for made in chances.before]
    causes = []
    for row, forecast in enumerate(forecasts):
        sign = 1 if forecast.probability >= before[row] else -1
        moved: list[tuple[float, OccurrenceReason]] = []
        for part, (met, added) in zip(forecast.directions, earlier, strict=True):
            for reason in part.reasons:
                if part.have_met != met[row]:  # they met since: no number of before is like one now
                    moved.append((float(reason.family == "either"), reason))
                else:
                    step = reason.log_odds - added[row, EVIDENCE.index(reason.family)]
                    moved.append((sign * float(step), reason))
        causes.append(max(moved, key=lambda each: each[0])[1])
    return causes


def _past(
    forecaster: Forecaster, subjects: Longs, objects: Longs, window: Window, event: EventFilter
) -> Longs:
    """The facts of each pair that count, in either direction, by window before: (n, PAST)."""
    start = window.moment - PAST * window.length
    data, facts = forecaster.model.dataset, forecaster.model.graph.facts
    facts = facts.take(event.predicates[facts.predicates])
    events = Events.of(facts, data.axis, len(data.entities)) if event.name else forecaster.events
    part, width = events.within(start, window.moment - 1), events.width

    def keys(one: Longs, other: Longs) -> Longs:
        return pair_keys(np.minimum(one, other), np.maximum(one, other), width)

    distinct, rows = np.unique(keys(subjects, objects), return_inverse=True)
    of_events = keys(part.subjects, part.objects)
    places = np.minimum(np.searchsorted(distinct, of_events), len(distinct) - 1)
    kept = distinct[places] == of_events
    columns = (part.times[kept].astype(np.int64) - start) // window.length
    counts = np.zeros((len(distinct), PAST), np.int64)
    np.add.at(counts, (places[kept], columns), 1)
    return counts[rows]
