"""The dated events of the synthetic world: spontaneous ones, noise, and those that rules add."""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Longs
from apptek.seeding import generator
from apptek.synthetic.people import (
    ALLY_COUNT,
    DAY_COUNT,
    FIRST_DAY,
    People,
    draw,
)
from apptek.synthetic.rules import (
    ALLY_AIDS,
    ALLY_RETALIATES,
    FILLING,
    FOLLOWING,
    FORCES,
    ORIGIN,
    PLANTED,
    RULES,
    SLOT_COUNT,
    STREAMS,
    Pattern,
    Rule,
    Stream,
)

Bytes = npt.NDArray[np.int8]

# How often the threat, the aid or the retaliation is the one fact of an episode that may be held
# out of train: mostly the retaliation, which takes two hops to predict.
_HELD_OUT = (0.1, 0.1, 0.8)


@dataclass(frozen=True, slots=True)
class Events:
    """n events of one predicate. key = (day * entities + subject) * entities + object."""

    keys: Longs
    origins: Bytes  # positions in RULES
    pinned: Bools  # must stay in train

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Longs | Bools) -> "Events":
        """The events of these rows (indices or a mask), in that order."""
        return Events(self.keys[rows], self.origins[rows], self.pinned[rows])


NOTHING = Events(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.bool_))


def _joined(parts: list[Events]) -> Events:
    return Events(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.origins for part in parts]),
        np.concatenate([part.pinned for part in parts]),
    )


def _distinct(events: Events) -> Events:
    """Distinct events by key; of equal ones the first origin stays, and a pin on any of them."""
    if not len(events):
        return events
    order = np.argsort(events.keys, kind="stable")
    keys = events.keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    pinned = np.logical_or.reduceat(events.pinned[order], starts)
    return Events(keys[starts], events.origins[order[starts]], pinned)


class Ledger:
    """The events of each predicate while they are generated; of equal ones the first stays."""

    def __init__(self, entity_count: int) -> None:
        self.entity_count = entity_count
        self._settled: dict[str, Events] = {}
        self._new: defaultdict[str, list[Events]] = defaultdict(list)

    def add(self, predicate: str, events: Events) -> None:
        """Adds events, which may be there already."""
        self._new[predicate].append(events)

    def settled(self, predicate: str) -> Events:
        """The distinct events of a predicate so far, by day, subject and object."""
        events = self._settled.get(predicate, NOTHING)
        if self._new[predicate]:
            events = _distinct(_joined([events, *self._new.pop(predicate)]))
            self._settled[predicate] = events
        return events

    def pack(self, days: Longs, subjects: Longs, objects: Longs, origin: str) -> Events:
        """Events of one origin, not pinned."""
        keys = (days * self.entity_count + subjects) * self.entity_count + objects
        return Events(
            keys, np.full(len(keys), ORIGIN[origin], np.int8), np.zeros(len(keys), np.bool_)
        )

    def unpack(self, events: Events) -> tuple[Longs, Longs, Longs]:
        """Days, subjects, objects."""
        rest, objects = np.divmod(events.keys, self.entity_count)
        days, subjects = np.divmod(rest, self.entity_count)
        return days, subjects, objects


def make_events(people: People, count: int, seed: int) -> Ledger:
    """Makes exactly `count` distinct events: spontaneous ones, noise, heads of rules, filling."""
    ledger = Ledger(len(people.names))
    for number, stream in enumerate(STREAMS):
        rng = generator(seed, f"world.stream.{number}")
        events = _spontaneous(ledger, people, stream, round(stream.share * count), rng=rng)
        ledger.add(stream.predicate, events)
    _add_noise(ledger, people, count, rng=generator(seed, "world.noise"))
    for rule in FOLLOWING:
        _apply_rule(ledger, rule, rng=generator(seed, f"world.rule.{rule.name}"))
    _form_episodes(ledger, people, rng=generator(seed, "world.alliance"))
    missing = count - sum(len(ledger.settled(predicate)) for predicate in PLANTED)
    _fill(ledger, people, missing, rng=generator(seed, "world.filling"))
    return ledger


def _spontaneous(
    ledger: Ledger, people: People, stream: Stream, count: int, *, rng: np.random.Generator
) -> Events:
    """Draws `count` events of a stream; they may repeat."""
    days, seasonal = _days(stream, count, rng=rng)
    weights = people.weights(even=stream.even)
    countries = draw(weights, count, rng=rng)
    partners = people.partners(countries, stream.scope, weights, rng=rng)
    subjects = people.members(countries, _draw_slots(stream.actors, count, rng=rng), days)
    objects = people.members(partners, _draw_slots(stream.targets, count, rng=rng), days)
    events = ledger.pack(days, subjects, objects, "background")
    events.origins[seasonal] = ORIGIN[stream.season or "background"]
    return events


def _draw_slots(slots: tuple[int, ...], count: int, *, rng: np.random.Generator) -> Longs:
    return np.asarray(slots, np.int64)[rng.integers(len(slots), size=count)]


def _days(stream: Stream, count: int, *, rng: np.random.Generator) -> tuple[Longs, Bools]:
    """The days of a stream's events, and a mask of those that fall into its season by rule."""
    days = rng.integers(DAY_COUNT, size=count)
    if not stream.season:
        return days, np.zeros(count, np.bool_)
    season = RULES[ORIGIN[stream.season]]
    dates = np.arange(FIRST_DAY, FIRST_DAY + DAY_COUNT).astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    inside = np.flatnonzero(np.isin(months, season.months))
    chosen = rng.random(count) < season.probability
    return np.where(chosen, inside[rng.integers(len(inside), size=count)], days), chosen


def _add_noise(ledger: Ledger, people: People, count: int, *, rng: np.random.Generator) -> None:
    """Adds random events of the planted predicates, between any two entities on any day."""
    size = round(RULES[ORIGIN["noise"]].probability * count)
    entity_count = people.country_count * SLOT_COUNT  # leagues do not act
    subjects = rng.integers(entity_count, size=size)
    objects = (subjects + rng.integers(1, entity_count, size=size)) % entity_count
    events = ledger.pack(rng.integers(DAY_COUNT, size=size), subjects, objects, "noise")
    predicates = rng.integers(len(PLANTED), size=size)
    for index, predicate in enumerate(PLANTED):
        ledger.add(predicate, events.take(predicates == index))


def _apply_rule(ledger: Ledger, rule: Rule, *, rng: np.random.Generator) -> None:
    """Applies a rule with one body pattern to all events that match it."""
    assert rule.head is not None
    bodies = ledger.settled(rule.body[0].predicate)
    rows, lags = _draw_heads(rule, len(bodies), rng=rng)
    days, *ends = ledger.unpack(bodies.take(rows))
    subjects, objects = _ends(rule.head, {"a": ends[0], "b": ends[1]})
    heads = ledger.pack(days + lags, subjects, objects, rule.name)
    ledger.add(rule.head.predicate, heads.take(days + lags < DAY_COUNT))


def _ends(pattern: Pattern, entities: dict[str, Longs]) -> tuple[Longs, Longs]:
    return entities[pattern.subject], entities[pattern.object]


def _draw_heads(rule: Rule, count: int, *, rng: np.random.Generator) -> tuple[Longs, Longs]:
    """The rows of the `count` bodies that the head follows, and after how many days."""
    rows = np.flatnonzero(rng.random(count) < rule.probability)
    return rows, rng.integers(rule.lags[0], rule.lags[1] + 1, size=len(rows))


def _form_episodes(ledger: Ledger, people: People, *, rng: np.random.Generator) -> None:
    """Adds episodes: a threat (a, b), aid (c, b) by one ally c of b, retaliation (c, a).

    Only one ally, since two would explain each other. Two of the three facts are pinned.
    """
    threats = _against_allied(ledger, ALLY_AIDS.body[0].predicate)
    unpinned = rng.choice(3, size=len(threats), p=_HELD_OUT)  # 0 threat, 1 aid, 2 retaliation
    days, attackers, victims = ledger.unpack(threats)
    allies = people.allies[victims // SLOT_COUNT, victims % SLOT_COUNT - FORCES[0]]
    allies = allies[np.arange(len(allies)), rng.integers(ALLY_COUNT, size=len(allies))]
    ledger.add(ALLY_AIDS.body[0].predicate, replace(threats, pinned=unpinned != 0))
    for number, rule in enumerate((ALLY_AIDS, ALLY_RETALIATES), start=1):
        assert rule.head is not None
        rows, lags = _draw_heads(rule, len(days), rng=rng)
        # Only an episode that got its aid can go on to the retaliation.
        days, attackers, victims, allies, unpinned = (
            column[rows] for column in (days, attackers, victims, allies, unpinned)
        )
        days = days + lags
        subjects, objects = _ends(rule.head, {"a": attackers, "b": victims, "c": allies})
        heads = replace(ledger.pack(days, subjects, objects, rule.name), pinned=unpinned != number)
        # An ally that is the attacker itself does not retaliate.
        ledger.add(rule.head.predicate, heads.take((days < DAY_COUNT) & (subjects != objects)))


def _against_allied(ledger: Ledger, predicate: str) -> Events:
    """The events of a predicate whose object is a force, and so has allies."""
    events = ledger.settled(predicate)
    slots = ledger.unpack(events)[2] % SLOT_COUNT
    return events.take(np.isin(slots, FORCES))


def _fill(ledger: Ledger, people: People, count: int, *, rng: np.random.Generator) -> None:
    """Adds exactly `count` distinct events in the shares of FILLING.

    No rule makes these predicates, and two streams of one predicate have different scopes, so no
    event of the filling equals one that is there already.
    """
    shares = np.cumsum([0.0, *(stream.share for stream in FILLING)])
    counts = np.diff(np.round(count * shares / shares[-1]).astype(np.int64)).tolist()
    for stream, size in zip(FILLING, counts, strict=True):
        events, drawn = NOTHING, size
        while len(events) < size:  # draw more each time, until enough of them are distinct
            drawn += drawn // 4 + 8
            events = _distinct(_spontaneous(ledger, people, stream, drawn, rng=rng))
        rows = rng.permutation(len(events))[:size]
        ledger.add(stream.predicate, events.take(np.sort(rows)))
