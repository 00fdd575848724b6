"""Snapshots: the pairs that could have a fact in the window after a time, and those that had one.

Candidates are the seen pairs, which had an earlier fact in either direction, and all other pairs,
the unseen pairs. Almost no unseen pairs have an event, so only a sample is drawn. Each sampled pair
is weighted by its inverse sampling probability. The window begins a *lead* after the snapshot's
time.
"""

from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Bools, Doubles, Longs, find_sorted
from apptek.models.occurrence.pair_counts import Events, Meetings, Pairs, pair_keys

MOST_ROWS = 100_000  # seen pairs to draw from all snapshots
STRANGERS = 20_000  # unseen pairs without an event to draw


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Pairs with times, their numbers of facts in the window, and the rows' weights."""

    pairs: Pairs
    counts: Longs  # facts in the window
    weights: Doubles

    @property
    def hits(self) -> Bools:
        """Whether there was any fact."""
        return self.counts > 0

    def take(self, rows: Longs) -> "Outcomes":
        """Return some of the rows."""
        return Outcomes(self.pairs.take(rows), self.counts[rows], self.weights[rows])

    def weighted(self, share: float) -> "Outcomes":
        """Return the same rows with their weights multiplied by `share`."""
        return replace(self, weights=self.weights * share)


def counts_in(events: Events, keys: Longs, first: int, last: int) -> Longs:
    """Return each ordered pair's number of facts between two times, inclusive."""
    happened, counts = np.unique(events.within(first, last).keys(), return_counts=True)
    places = find_sorted(happened, keys)
    return np.where(places >= 0, counts[places], 0) if len(happened) else np.zeros_like(keys)


def counts_at(events: Events, pairs: Pairs, window: int, lead: int = 0) -> Longs:
    """Count each ordered pair's facts in the window that begins a lead after its moment: (n,)."""
    counts = np.zeros(len(pairs), np.int64)
    for moment in np.unique(pairs.times).tolist():
        rows = np.flatnonzero(pairs.times == moment)
        keys, first = pairs.take(rows).keys(events.width), moment + lead
        counts[rows] = counts_in(events, keys, first, first + window - 1)
    return counts


def draw_acquainted(
    events: Events,
    moments: list[int],
    window: int,
    lead: int = 0,
    *,
    rng: np.random.Generator,
    most: int | None = None,
) -> Outcomes:
    """Return a sample of the seen pairs at all times, those with a fact first.

    lead  pairs with a fact in the window that begins this much later also count
    most  the approximate number of pairs, by default MOST_ROWS
    """
    most = MOST_ROWS if most is None else most
    meetings, shares = Meetings(events), np.ones(2)
    windows = [_keys_in(events, moment, window, lead) for moment in moments]
    hits = sum(
        int(meetings.had_met(keys, m).sum()) for keys, m in zip(windows, moments, strict=True)
    )
    total = sum(int((meetings.since < moment).sum()) for moment in moments)
    shares[1] = min(1.0, most / 2 / max(1, hits))
    shares[0] = min(1.0, (most - shares[1] * hits) / max(1, total - hits))
    parts, counts, weights = [], [], []
    # One at a time, because all candidates together might not fit in memory.
    for moment, window_keys in zip(moments, windows, strict=True):
        keys = meetings.before(moment)
        happened = counts_in(events, keys, moment, moment + window - 1)
        chances = shares[np.isin(keys, window_keys).astype(np.int64)]
        rows = np.flatnonzero(rng.random(len(keys)) < chances)
        parts.append(Pairs.at(keys[rows], moment, events.width))
        counts.append(happened[rows])
        weights.append(1.0 / chances[rows])
    return Outcomes(Pairs.join(parts), np.concatenate(counts), np.concatenate(weights))


def _keys_in(events: Events, moment: int, window: int, lead: int) -> Longs:
    """Return the ordered pairs with a fact in the window after a time, or a lead later."""
    parts = [events.within(first, first + window - 1).keys() for first in {moment, moment + lead}]
    return np.unique(np.concatenate(parts))


def draw_strangers(
    events: Events,
    moments: list[int],
    window: int,
    lead: int = 0,
    *,
    rng: np.random.Generator,
    members: Longs | None = None,
) -> Outcomes:
    """Return all unseen pairs with an event in a window, and a sample of the others.

    lead     also include pairs with an event in the window that begins this much later
    members  the entities in the events, by default all entities

    Half of the pairs without an event are drawn uniformly from all entities. The other half are
    drawn in proportion to how often the pair's entities acted or were acted upon so far, because
    the model mainly needs to distinguish between active entities.
    """
    members = np.arange(events.width - 1) if members is None else members
    meetings = Meetings(events)
    each = max(1, STRANGERS // max(1, len(moments)))
    parts, counts, weights = [], [], []
    for moment in moments:
        window_keys = _keys_in(events, moment, window, lead)
        new = window_keys[~meetings.had_met(window_keys, moment)]
        drawn, chances = _draw(events.before(moment), each, members, rng)
        nothing = ~meetings.had_met(drawn, moment) & ~np.isin(drawn, new)
        keys = np.concatenate([new, drawn[nothing]])
        parts.append(Pairs.at(keys, moment, events.width))
        counts.append(counts_in(events, keys, moment, moment + window - 1))
        weights.append(np.concatenate([np.ones(len(new)), 1 / (each * chances[nothing])]))
    return Outcomes(Pairs.join(parts), np.concatenate(counts), np.concatenate(weights))


def draw_never_seen(
    events: Events, moment: int, first: int, last: int, *, rng: np.random.Generator
) -> Outcomes:
    """Draw ordered pairs of known, different entities without a fact before a moment.

    Take all pairs with a fact from `first` to `last`, and a sample of the others.
    """
    past = events.before(moment)
    known, seen = np.unique(np.concatenate([past.subjects, past.objects])), np.unique(past.keys())
    happened = np.unique(events.within(first, last).among(known).keys())
    new = happened[~np.isin(happened, seen) & (happened // events.width != happened % events.width)]
    drawn, chances = _draw(past, STRANGERS, known, rng)
    kept = ~np.isin(drawn, seen) & ~np.isin(drawn, new)
    kept &= drawn // events.width != drawn % events.width
    keys = np.concatenate([new, drawn[kept]])
    weights = np.concatenate([np.ones(len(new)), 1 / (STRANGERS * chances[kept])])
    counts = counts_in(events, keys, first, last)
    return Outcomes(Pairs.at(keys, moment, events.width), counts, weights)


def _draw(
    past: Events, count: int, members: Longs, rng: np.random.Generator
) -> tuple[Longs, Doubles]:
    """Draw ordered pairs with replacement, as keys, with the chance of each in one draw."""
    size = len(members)
    subjects, objects = members[rng.integers(0, size, (2, count))]
    if not len(past):
        return pair_keys(subjects, objects, past.width), np.full(count, 1 / size**2)
    busy = rng.random(count) < 0.5
    rows = rng.integers(0, len(past), (2, count))
    subjects = np.where(busy, past.subjects[rows[0]], subjects)
    objects = np.where(busy, past.objects[rows[1]], objects)
    ends = (past.subjects, past.objects)
    shares = [np.bincount(ids, minlength=past.width) / len(past) for ids in ends]
    chances = 0.5 / size**2 + 0.5 * shares[0][subjects] * shares[1][objects]
    return pair_keys(subjects, objects, past.width), chances
