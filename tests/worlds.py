"""Small graphs for tests, including random ones from Hypothesis."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from reference import PlainFact

from apptek.facts.facts import Dataset, Facts, Names, OpenEnd
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.graph.temporal_graph import TemporalGraph

ENTITIES = 5
PREDICATES = 3
moments = st.integers(-3, 12)


@st.composite
def plain_facts(draw: st.DrawFn) -> PlainFact:
    """Points, intervals, facts with one known end and undated ones; self-loops occur."""
    subject, object_ = draw(st.integers(0, ENTITIES - 2)), draw(st.integers(0, ENTITIES - 2))
    predicate = draw(st.integers(0, PREDICATES - 1))
    kind = draw(st.sampled_from(["point", "point", "interval", "interval", "half", "undated"]))
    first, second = sorted((draw(moments), draw(moments)))
    if kind == "point":
        return PlainFact(subject, predicate, object_, first, first)
    if kind == "interval":
        return PlainFact(subject, predicate, object_, first, second)
    if kind == "half":
        ends = (first, None) if draw(st.booleans()) else (None, first)
        return PlainFact(subject, predicate, object_, *ends)
    return PlainFact(subject, predicate, object_, None, None)


def facts_of(plain: list[PlainFact]) -> Facts:
    """The same facts as arrays."""
    ends = [(_code(fact.since), _code(fact.until)) for fact in plain]
    since = np.asarray([end[0] for end in ends], np.int32)
    until = np.asarray([end[1] for end in ends], np.int32)
    return Facts(
        np.asarray([fact.subject for fact in plain], np.int32),
        np.asarray([fact.predicate for fact in plain], np.int32),
        np.asarray([fact.object for fact in plain], np.int32),
        since,
        since if np.array_equal(since, until) else until,
    )


def graph_of(plain: list[PlainFact], open_end: OpenEnd = "point") -> TemporalGraph:
    """The graph of these facts, with integer times."""
    return TemporalGraph.build(
        facts_of(plain), TimeAxis("integer"), ENTITIES, PREDICATES, open_end=open_end
    )


def names_of(names: Iterable[str]) -> Names:
    """These names; their ids are their positions in byte order."""
    return Names(pa.array(sorted(names, key=str.encode), pa.string()))


def dataset_of(plain: list[PlainFact], held_out: list[PlainFact] | None = None) -> Dataset:
    """A data set with these training facts; validation and test set have the same few facts."""
    asked = facts_of(held_out or [])
    return Dataset(
        name="plain",
        entities=names_of(f"e{place}" for place in range(ENTITIES)),
        predicates=names_of(f"p{place}" for place in range(PREDICATES)),
        axis=TimeAxis("integer"),
        train=facts_of(plain),
        valid=asked,
        test=asked,
    )


def without_times(data: Dataset) -> Dataset:
    """The same facts without dates."""

    def undated(facts: Facts) -> Facts:
        unknown = np.full(len(facts), UNKNOWN, np.int32)
        return replace(facts, since=unknown, until=unknown)

    train, valid, test = map(undated, (data.train, data.valid, data.test))
    return replace(data, train=train, valid=valid, test=test)


def _code(end: int | None) -> int:
    return UNKNOWN if end is None else end


def random_intervals(count: int, rng: np.random.Generator) -> list[PlainFact]:
    """Many facts about few entities, with long and short intervals: more than Hypothesis draws."""
    starts = rng.integers(0, 400, count)
    lengths = np.where(
        rng.random(count) < 0.1, rng.integers(0, 300, count), rng.integers(0, 4, count)
    )
    subjects, objects = rng.integers(0, 3, count), rng.integers(0, 3, count)
    predicates = rng.integers(0, PREDICATES, count)
    columns = (subjects, predicates, objects, starts, starts + lengths)
    return [PlainFact(*map(int, row)) for row in zip(*columns, strict=True)]


def football_careers() -> Dataset:
    """Careers in years: intervals, some with an open end, points and undated facts.

    If a club bought a player in some year, the player plays for it from that year on.
    """
    rng = np.random.default_rng(0)
    clubs, players = 5, 120
    plain: list[PlainFact] = []
    for player in range(clubs, clubs + players):
        year = int(rng.integers(1980, 2000))
        plain.append(PlainFact(player, 2, player + players, None, None))
        for club in rng.permutation(clubs)[:3].tolist():
            stop = year + int(rng.integers(1, 6))
            plain.append(PlainFact(club, 0, player, year, year))
            plain.append(PlainFact(player, 1, club, year, stop if stop < 2004 else None))
            year = stop + 1
    facts = facts_of([plain[place] for place in rng.permutation(len(plain))])
    names = [f"club {number}" for number in range(clubs)]
    names += [f"{what} {number:03}" for what in ("player", "town") for number in range(players)]
    return Dataset(
        name="football",
        entities=names_of(names),
        predicates=names_of(["bought", "played for", "was born in"]),
        axis=TimeAxis("year"),
        train=facts.take(np.arange(0, len(plain) - 160)),
        valid=facts.take(np.arange(len(plain) - 160, len(plain) - 80)),
        test=facts.take(np.arange(len(plain) - 80, len(plain))),
    )
