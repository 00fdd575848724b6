"""The watch list: forecasts of many pairs, and how each differs from the window before."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.errors import DataError
from apptek.facts.name_matching import NameResolver
from apptek.forecast.alerts import alert_of, raised, read_rule
from apptek.forecast.event_filter import EventFilter, read_filter
from apptek.forecast.forecaster import Forecaster, PairForecasts
from apptek.forecast.pair_chances import PairChances, seen_pairs, watched_entities
from apptek.forecast.pair_files import Pair
from apptek.forecast.window import Window, unit_word
from apptek.models.occurrence.counts import EVIDENCE
from apptek.models.occurrence.events import Events, pair_keys
from apptek.present import watch_words as words
from apptek.present.sentences import clause
from apptek.present.tables import PREDICATES
from apptek.results import Forecast, Note, OccurrenceReason, WatchList, WatchRow

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
    forecasts = forecaster.forecast(pairs, window, top=None if event.name else PREDICATES)
    subjects, objects = (forecaster.ids([pair[side] for pair in pairs]) for side in (0, 1))
    ends = np.stack([subjects, objects], axis=1)
    earlier = forecaster.pair_forecasts(ends.ravel(), ends[:, ::-1].ravel(), window.before())
    past = _past(forecaster, subjects, objects, window, event)
    rows = [
        _row(forecast, before, tuple(counts), notes)
        for forecast, before, counts in zip(
            forecasts, _earlier(forecaster, earlier), past.tolist(), strict=True
        )
    ]
    if event.name:
        rows = _only(event, rows, PairChances.of(forecaster, subjects, objects, window))
    recent, none = _recent_events(forecaster, window, event), Recent()
    told = (
        _with_events(forecaster, row, recent.get((min(pair), max(pair)), none), window)
        for row, pair in zip(rows, ends.tolist(), strict=True)
    )
    return replace(listed, rows=tuple(told))


def _only(event: EventFilter, rows: list[WatchRow], chances: PairChances) -> list[WatchRow]:
    """Return the rows with the chances and the predicates of the events that count."""
    names = chances.forecaster.model.dataset.predicates
    counts = {names[int(place)] for place in np.flatnonzero(event.predicates)}
    now, before = chances.of_event(event, np.arange(len(rows)))
    changed = []
    for row, after, previous in zip(rows, now.tolist(), before.tolist(), strict=True):
        parts = [part for part in row.predicates if part.predicate in counts]
        number = sum(part.expected for part in parts)
        chance = {"probability": after, "previous": previous, "change": after - previous}
        parts = parts[:PREDICATES]
        changed.append(replace(row, expected=number, predicates=tuple(parts), **chance))
    return changed


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


class _Earlier(NamedTuple):
    """What the forecast for the window before said of a pair: both directions.

    added  what each family added to the log-odds: (2, families)
    """

    probability: float
    have_met: Bools
    added: Doubles


def _earlier(forecaster: Forecaster, directed: PairForecasts) -> Iterator[_Earlier]:
    added, _ = forecaster.reasons(directed)
    chances = directed.probabilities
    for row, chance in enumerate(forecaster.occurrence.either_way(chances[::2], chances[1::2])):
        both = slice(2 * row, 2 * row + 2)
        yield _Earlier(float(chance), directed.met[both], added[both])


def _what_changed(forecast: Forecast, earlier: _Earlier) -> OccurrenceReason:
    """The reason that has moved the chance most since the earlier forecast, the way it went."""
    sign = 1 if forecast.probability >= earlier.probability else -1
    moved: list[tuple[float, OccurrenceReason]] = []
    for part, met, added in zip(forecast.directions, earlier.have_met, earlier.added, strict=True):
        for reason in part.reasons:
            if part.have_met != met:  # they met since: no number of before is like one of now
                moved.append((float(reason.family == "either"), reason))
            else:
                before = added[EVIDENCE.index(reason.family)]
                moved.append((sign * float(reason.log_odds - before), reason))
    return max(moved, key=lambda each: each[0])[1]


def _row(
    forecast: Forecast, earlier: _Earlier, past: tuple[int, ...], notes: tuple[Note, ...]
) -> WatchRow:
    return WatchRow(
        subject=forecast.subject,
        object=forecast.object,
        probability=forecast.probability,
        expected=forecast.expected,
        previous=earlier.probability,
        change=forecast.probability - earlier.probability,
        predicates=forecast.predicates,
        reason=_what_changed(forecast, earlier).sentence,
        past=past,
        unseen=forecast.unseen,
        notes=tuple(note for note in forecast.notes if note not in notes),
    )


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
