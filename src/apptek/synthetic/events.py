"""The synthetic world's entities and their actions: spontaneous, as noise, and by rules."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Doubles, Ints, Longs
from apptek.seeding import generator
from apptek.synthetic.rules import (
    ALLY_AIDS,
    ALLY_RETALIATES,
    FILLING,
    FOLLOWING,
    FORCES,
    LEADER,
    LEADER_COUNT,
    ORIGIN,
    PLANTED,
    RULES,
    SECTORS,
    SLOT_COUNT,
    STREAMS,
    Rule,
    Scope,
    Stream,
)

DAY_COUNT = 1096  # 2019-01-01 .. 2021-12-31
FIRST_DAY = 17897  # code of 2019-01-01
ALLY_COUNT = 2
_LEAGUE_SIZE = 6
_DECAY = 0.8  # the k-th most active country has activity k ** -0.8
# How often the threat, the aid or the retaliation is the one fact in an episode that may be held
# out: mostly the retaliation, which takes two hops to predict.
_HELD_OUT = (0.1, 0.1, 0.8)
# key = (day * entities + subject) * entities + object; origin: a position in RULES; pinned events
# must stay in train.
EVENT = np.dtype([("key", np.int64), ("origin", np.int8), ("pinned", np.bool_)])
Events = npt.NDArray[Any]  # of EVENT
Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class People:
    """C countries with SLOT_COUNT entities each, in L leagues.

    Entity = country * SLOT_COUNT + slot. The slot determines the entity's role in its country. The
    leagues themselves follow all countries.
    """

    names: tuple[str, ...]
    bounds: Longs  # (L + 1,) a league consists of the countries bounds[i] .. bounds[i + 1] - 1
    activity: Doubles  # (C + 1,) cumulative; countries are drawn in proportion to it
    changes: Ints  # (C, 2) days on which a new head of government takes office
    allies: Longs  # (C, FORCES, ALLY_COUNT) entities in the same league that support a force

    def weights(self, *, even: bool) -> Doubles:
        """Return the cumulative weights of the countries."""
        return np.arange(len(self.activity), dtype=np.float64) if even else self.activity

    def partners(self, countries: Longs, scope: Scope, weights: Doubles, *, rng: Rng) -> Longs:
        """Draw a country in the scope for each country: itself if the scope leaves no other."""
        if scope == "country":
            return countries
        league = np.searchsorted(self.bounds, countries, side="right") - 1
        first, stop = self.bounds[league], self.bounds[league + 1]
        lo, hi = weights[first], weights[stop]
        if scope == "abroad":  # a point outside the league, by skipping its weight
            points = rng.random(len(first)) * (weights[-1] - (hi - lo))
            return _index_at(weights, np.where(points < lo, points, points + (hi - lo)))
        if scope == "host":
            others = first
        else:
            points = lo + rng.random(len(first)) * (hi - lo)
            others = np.clip(_index_at(weights, points), first, stop - 1)
        # A country that drew itself gets the next country in its league.
        following = np.where(countries + 1 < stop, countries + 1, first)
        return np.where(others == countries, following, others)

    def members(self, countries: Longs, slots: Longs, days: Longs) -> Longs:
        """Return the entities in these slots. For leaders, return the one in office that day."""
        passed = (days[:, None] >= self.changes[countries]).sum(axis=1)
        return countries * SLOT_COUNT + slots + np.where(slots == LEADER, passed, 0)


def _index_at(weights: Doubles, points: Doubles) -> Longs:
    indices = np.searchsorted(weights, points, side="right") - 1
    return np.minimum(indices, len(weights) - 2)  # rounding may move a point to the end


def make_people(country_count: int, *, rng: Rng) -> People:
    """Create this many countries in leagues of about six, with at least two leagues of two."""
    league_count = max(2, country_count // _LEAGUE_SIZE)
    bounds = np.linspace(0, country_count, league_count + 1).astype(np.int64)
    activity = rng.permutation((1.0 + np.arange(country_count)) ** -_DECAY)
    half = DAY_COUNT // 2
    changes = [rng.integers(lo, lo + half - 1, country_count) for lo in (1, half + 1)]
    people = People(
        names=_entity_names(country_count, league_count, rng=rng),
        bounds=bounds,
        activity=np.concatenate([[0.0], np.cumsum(activity)]),
        changes=np.stack(changes, axis=1).astype(np.int32),
        allies=np.empty((country_count, len(FORCES), ALLY_COUNT), np.int64),
    )
    countries = np.repeat(np.arange(country_count), len(FORCES) * ALLY_COUNT)
    others = people.partners(countries, "league", people.weights(even=True), rng=rng)
    slots = np.asarray(FORCES)[rng.integers(len(FORCES), size=len(others))]
    people.allies[:] = (others * SLOT_COUNT + slots).reshape(people.allies.shape)
    return people


def _entity_names(country_count: int, league_count: int, *, rng: Rng) -> tuple[str, ...]:
    """Return distinct names: of countries with their organs and leaders, then of leagues."""
    text = Path(__file__).with_name("names.txt").read_text("ascii")
    heads, middles, tails, given, family = (line.split() for line in text.splitlines())
    place_blocks = ([f"{h}{m.strip('-')}{t}" for h in heads for t in tails] for m in middles)
    places = _draw_names(place_blocks, country_count + league_count, rng=rng)
    initials = ("", *(f"{letter}. " for letter in "ABCDEFGHIJKLMNOPRSTUVWYZ"))
    person_blocks = ([f"{g} {initial}{f}" for g in given for f in family] for initial in initials)
    leaders = _draw_names(person_blocks, country_count * LEADER_COUNT, rng=rng)
    names: list[str] = []
    for index, country in enumerate(places[:country_count]):
        names += [country, *(f"{sector} ({country})" for sector in SECTORS)]
        names += leaders[index * LEADER_COUNT : (index + 1) * LEADER_COUNT]
    return (*names, *(f"{league} League" for league in places[country_count:]))


def _draw_names(blocks: Any, count: int, *, rng: Rng) -> list[str]:
    """Draw distinct names. A block is used only when all earlier blocks are used up."""
    names: dict[str, None] = {}
    for block in blocks:
        names.update(dict.fromkeys(rng.permutation(block).tolist()))
        if len(names) >= count:
            break
    return list(names)[:count]


class Ledger:
    """Each predicate's distinct events while they are generated, by key."""

    def __init__(self, entity_count: int) -> None:
        self.entity_count = entity_count
        self.events: dict[str, Events] = dict.fromkeys(PLANTED, np.empty(0, EVENT))

    def add(self, predicate: str, events: Events) -> None:
        """Add events. Merge equal events: keep the first origin, and pin if either is pinned."""
        known = self.events.get(predicate, np.empty(0, EVENT))
        self.events[predicate] = _distinct(np.concatenate([known, events]))

    def pack(self, days: Longs, subjects: Longs, objects: Longs, origin: str) -> Events:
        """Return events with one origin, which may be held out from the training set."""
        events = np.zeros(len(days), EVENT)
        events["key"] = (days * self.entity_count + subjects) * self.entity_count + objects
        events["origin"] = ORIGIN[origin]
        return events

    def unpack(self, events: Events) -> tuple[Longs, Longs, Longs]:
        """Return days, subjects and objects."""
        rest, objects = np.divmod(events["key"], self.entity_count)
        days, subjects = np.divmod(rest, self.entity_count)
        return days, subjects, objects


def _distinct(events: Events) -> Events:
    if not len(events):
        return events
    ordered = events[np.argsort(events["key"], kind="stable")]
    keys = ordered["key"]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    distinct = ordered[starts]
    distinct["pinned"] = np.logical_or.reduceat(ordered["pinned"], starts)
    return distinct


def make_events(people: People, count: int, seed: int) -> Ledger:
    """Create exactly `count` distinct events: spontaneous, noise, effects of rules, and filling."""
    ledger = Ledger(len(people.names))
    for number, stream in enumerate(STREAMS):
        rng = generator(seed, f"world.stream.{number}")
        size = round(stream.share * count)
        ledger.add(stream.predicate, _spontaneous(ledger, people, stream, size, rng=rng))
    _add_noise(ledger, people, count, rng=generator(seed, "world.noise"))
    for rule in FOLLOWING:
        _apply_rule(ledger, rule, rng=generator(seed, f"world.rule.{rule.name}"))
    _form_episodes(ledger, people, rng=generator(seed, "world.alliance"))
    missing = count - sum(map(len, ledger.events.values()))
    _fill(ledger, people, missing, rng=generator(seed, "world.filling"))
    return ledger


def _spontaneous(ledger: Ledger, people: People, stream: Stream, count: int, *, rng: Rng) -> Events:
    """Draw `count` events from a stream. They may repeat."""
    days = rng.integers(DAY_COUNT, size=count)
    seasonal = np.zeros(count, np.bool_)
    if stream.season:  # by rule, some of the events fall in the season's months
        season = RULES[ORIGIN[stream.season]]
        dates = np.arange(FIRST_DAY, FIRST_DAY + DAY_COUNT).astype("datetime64[D]")
        months = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
        inside = np.flatnonzero(np.isin(months, season.months))
        seasonal = rng.random(count) < season.probability
        days = np.where(seasonal, inside[rng.integers(len(inside), size=count)], days)
    weights = people.weights(even=stream.even)
    countries = _index_at(weights, rng.random(count) * weights[-1])
    partners = people.partners(countries, stream.scope, weights, rng=rng)
    subjects, objects = (
        people.members(side, np.asarray(slots)[rng.integers(len(slots), size=count)], days)
        for side, slots in ((countries, stream.actors), (partners, stream.targets))
    )
    events = ledger.pack(days, subjects, objects, "background")
    events["origin"][seasonal] = ORIGIN[stream.season or "background"]
    return events


def _add_noise(ledger: Ledger, people: People, count: int, *, rng: Rng) -> None:
    """Add random events with planted predicates, between any two entities on any day."""
    size = round(RULES[ORIGIN["noise"]].probability * count)
    entity_count = len(people.changes) * SLOT_COUNT  # leagues do not act
    subjects = rng.integers(entity_count, size=size)
    objects = (subjects + rng.integers(1, entity_count, size=size)) % entity_count
    events = ledger.pack(rng.integers(DAY_COUNT, size=size), subjects, objects, "noise")
    predicates = rng.integers(len(PLANTED), size=size)
    for index, predicate in enumerate(PLANTED):
        ledger.add(predicate, events[predicates == index])


def _apply_rule(ledger: Ledger, rule: Rule, *, rng: Rng) -> None:
    """Apply a rule with a single body pattern to all matching events."""
    assert rule.head is not None
    bodies = ledger.events[rule.body[0].predicate]
    rows, lags = _draw_heads(rule, len(bodies), rng=rng)
    days, *pair = ledger.unpack(bodies[rows])
    ends = dict(zip("ab", pair, strict=True))
    heads = ledger.pack(days + lags, ends[rule.head.subject], ends[rule.head.object], rule.name)
    ledger.add(rule.head.predicate, heads[days + lags < DAY_COUNT])


def _draw_heads(rule: Rule, count: int, *, rng: Rng) -> tuple[Longs, Longs]:
    """Choose which of `count` events the rule acts on. Return their rows and the lags in days."""
    rows = np.flatnonzero(rng.random(count) < rule.probability)
    return rows, rng.integers(rule.lags[0], rule.lags[1] + 1, size=len(rows))


def _form_episodes(ledger: Ledger, people: People, *, rng: Rng) -> None:
    """Add episodes: a threat (a, b), aid (c, b) from one ally c of b, retaliation (c, a).

    Only one ally helps, because the actions of two allies would explain each other. Two of the
    three facts are pinned, so that they remain in the training set.
    """
    predicate = ALLY_AIDS.body[0].predicate
    threats = ledger.events[predicate]
    threats = threats[np.isin(ledger.unpack(threats)[2] % SLOT_COUNT, FORCES)]  # who have allies
    unpinned = rng.choice(3, size=len(threats), p=_HELD_OUT)  # 0 threat, 1 aid, 2 retaliation
    days, attackers, victims = ledger.unpack(threats)
    allies = people.allies[victims // SLOT_COUNT, victims % SLOT_COUNT - FORCES[0]]
    allies = allies[np.arange(len(allies)), rng.integers(ALLY_COUNT, size=len(allies))]
    threats["pinned"] = unpinned != 0
    ledger.add(predicate, threats)
    for number, rule in enumerate((ALLY_AIDS, ALLY_RETALIATES), start=1):
        assert rule.head is not None
        rows, lags = _draw_heads(rule, len(days), rng=rng)
        # Only episodes with aid can continue with retaliation.
        days, attackers, victims, allies, unpinned = (
            column[rows] for column in (days, attackers, victims, allies, unpinned)
        )
        days = days + lags
        ends = {"a": attackers, "b": victims, "c": allies}
        subjects, objects = ends[rule.head.subject], ends[rule.head.object]
        heads = ledger.pack(days, subjects, objects, rule.name)
        heads["pinned"] = unpinned != number
        # An ally that is the attacker itself does not retaliate.
        ledger.add(rule.head.predicate, heads[(days < DAY_COUNT) & (subjects != objects)])


def _fill(ledger: Ledger, people: People, count: int, *, rng: Rng) -> None:
    """Add exactly `count` distinct events in the proportions of FILLING.

    No rule creates these predicates, and two streams with one predicate have different scopes.
    Filling events therefore never equal existing ones.
    """
    shares = np.cumsum([0.0, *(stream.share for stream in FILLING)])
    counts = np.diff(np.round(count * shares / shares[-1]).astype(np.int64)).tolist()
    for stream, size in zip(FILLING, counts, strict=True):
        events, drawn = np.empty(0, EVENT), size
        while len(events) < size:  # keep drawing until enough are distinct
            drawn += drawn // 4 + 8
            events = _distinct(_spontaneous(ledger, people, stream, drawn, rng=rng))
        ledger.add(stream.predicate, events[np.sort(rng.permutation(len(events))[:size])])
