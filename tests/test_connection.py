from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from plain_queries import agent_configs, plain_episode, plain_queries, queries_of
from reference import PlainFact
from worlds import PREDICATES, graph_of, plain_facts

from apptek.config import AgentConfig
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import time_distance
from apptek.paper.connection import connect
from apptek.paper.environment import DecisionProcess


def links(plain: list[PlainFact], core: set[int]) -> dict[tuple[int, int], int]:
    """Hops between all entities over the facts of a core (Floyd and Warshall)."""
    entities = {e for i in core for e in (plain[i].subject, plain[i].object)} | set(range(6))
    far = len(entities) + 1
    hops = {(a, b): 0 if a == b else far for a in entities for b in entities}
    for i in core:
        if plain[i].subject != plain[i].object:
            hops[plain[i].subject, plain[i].object] = 1
            hops[plain[i].object, plain[i].subject] = 1
    for middle in entities:
        hops |= {(a, b): min(n, hops[a, middle] + hops[middle, b]) for (a, b), n in hops.items()}
    return hops


def on_shortest_ways(
    plain: list[PlainFact], core: set[int], start: int, meeting: set[int]
) -> set[int]:
    hops = links(plain, core)
    return {
        i
        for i in core
        for met in meeting
        for a, b in ((plain[i].subject, plain[i].object), (plain[i].object, plain[i].subject))
        if hops[start, a] + 1 + hops[b, met] == hops[start, met]
    }


@settings(max_examples=200)
@given(
    st.lists(plain_facts(), max_size=25),
    agent_configs(),
    st.lists(st.integers(0, 2 * PREDICATES - 1), min_size=1, max_size=4),
    st.data(),
)
def test_replaying_agrees_with_the_definitions(
    plain: list[PlainFact], config: AgentConfig, wanted: list[int], data: st.DataObject
) -> None:
    sequence = [action % PREDICATES for action in wanted]
    query = data.draw(plain_queries(plain))
    config = replace(config, max_steps=len(sequence))
    found = connect(DecisionProcess(graph_of(plain), config), queries_of([query]), sequence)
    episode, steps = plain_episode(plain, query, config, len(sequence)), 0
    while not episode.met() and steps < len(sequence):
        episode.step(sequence[steps])
        steps += 1
    assert (found is not None) == episode.met()
    if found is None:
        return
    one, other = episode.sides
    assert found.steps == steps
    meeting = one.entities() & other.entities()
    assert set(found.meeting) == meeting
    assert len(found.core) == len({core.fact for core in found.core})
    assert {c.fact for c in found.core if c.side != "object"} == one.core
    assert {c.fact for c in found.core if c.side != "subject"} == other.core
    assert one.start is not None
    assert other.start is not None
    assert {c.fact for c in found.core if c.on_path} == on_shortest_ways(
        plain, one.core, one.start, meeting
    ) | on_shortest_ways(plain, other.core, other.start, meeting)
    for core in found.core:
        assert sequence[core.step - 1] == core.action
        assert core.action % PREDICATES == plain[core.fact].predicate


def test_distances_have_a_sign() -> None:
    graph = graph_of(
        [
            PlainFact(0, 0, 1, 3, 3),
            PlainFact(0, 0, 1, 2, 8),
            PlainFact(0, 0, 1, None, 4),
            PlainFact(0, 0, 1, None, None),
        ]
    )
    assert [time_distance(graph, fact, 5) for fact in range(4)] == [-2, 0, -1, None]
    assert [time_distance(graph, fact, 0) for fact in range(4)] == [3, 2, 4, None]
    assert time_distance(graph, 0, UNKNOWN) is None
