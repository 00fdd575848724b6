import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_queries import PlainQuery, agent_configs, plain_episode, plain_queries, queries_of
from reference import PlainFact
from worlds import PREDICATES, graph_of, plain_facts

from apptek.config import AgentConfig
from apptek.errors import ApptekError
from apptek.facts.facts import Names
from apptek.facts.queries import training_queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper import application
from apptek.paper.application import apply_topologies
from apptek.paper.environment import DecisionProcess, Episodes, play
from apptek.paper.topologies import from_names, mine, to_names, topology_set
from apptek.ragged import Ragged
from apptek.synthetic.world import make_world

sequences = st.lists(st.integers(0, 2 * PREDICATES - 1), min_size=1, max_size=4).map(tuple)


def ones(rows: Ragged) -> list[set[int]]:
    return [
        set(rows.columns[rows.offsets[i] : rows.offsets[i + 1]].tolist()) for i in range(len(rows))
    ]


def connects(
    plain: list[PlainFact], query: PlainQuery, config: AgentConfig, sequence: tuple[int, ...]
) -> bool:
    """The definition: replay the actions; an absent one is a no-op; met at the end or earlier."""
    episode = plain_episode(plain, query, config, len(sequence) + 1)
    met = episode.met()
    for action in sequence:
        met = met or episode.step(action)
    return met


@settings(max_examples=150)
@given(
    st.lists(plain_facts(), max_size=25),
    agent_configs(),
    st.lists(sequences, max_size=12),
    st.data(),
)
def test_applying_agrees_with_replaying(
    plain: list[PlainFact], config: AgentConfig, wanted: list[tuple[int, ...]], data: st.DataObject
) -> None:
    topologies = topology_set([tuple(a % PREDICATES for a in one) for one in wanted])
    asked = [data.draw(plain_queries(plain)) for _ in range(3)]
    found = ones(
        apply_topologies(DecisionProcess(graph_of(plain), config), queries_of(asked), topologies)
    )
    for row, query in zip(found, asked, strict=True):
        for place, sequence in enumerate(topologies.sequences):
            assert (place in row) == connects(plain, query, config, sequence)


def test_a_small_work_space_grows_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = TemporalGraph.of(make_world(2000, 0).dataset)
    process, queries = DecisionProcess(graph, AgentConfig(tknn=8)), training_queries(graph.facts)
    mined = mine([play(process, queries, "random")], graph.facts.predicates, 10)
    topologies = topology_set(mined.sequences())
    whole = apply_topologies(process, queries, topologies)
    monkeypatch.setattr(application, "ROOM", 64)
    monkeypatch.setattr(application, "CHUNK", 333)
    parts = apply_topologies(process, queries, topologies)
    assert np.array_equal(whole.offsets, parts.offsets)
    assert np.array_equal(whole.columns, parts.columns)
    assert len(whole.columns) > len(queries)


@given(st.lists(sequences, max_size=20))
def test_the_trie_holds_every_topology_once(wanted: list[tuple[int, ...]]) -> None:
    topologies = topology_set(wanted)
    assert list(topologies.sequences) == sorted(set(wanted))
    path: list[int] = []
    actions, depths, firsts, lasts, _ = topologies.trie
    for node, action in enumerate(actions.tolist()):
        path = [*path[: depths[node] - 1], action]
        begun = [s for s in topologies.sequences if list(s[: len(path)]) == path]
        assert list(topologies.sequences[firsts[node] : lasts[node]]) == begun


def test_mining_keeps_the_commonest_of_each_predicate() -> None:
    trail = np.asarray([[0, -1], [0, -1], [1, 0], [1, 0], [1, 0], [2, -1], [-1, -1]], np.int32)
    met = np.asarray([1, 1, 1, 1, 0, 1, 1], np.bool_)
    episodes = Episodes(met, trail, np.ones_like(trail))
    mined = mine([episodes, episodes], np.asarray([5, 5, 5, 5, 5, 6, 6], np.int32), top=1)
    assert [(m.predicate, m.sequence, m.queries) for m in mined.topologies] == [
        (5, (0,), 4),  # as common as (1, 0), but shorter
        (6, (2,), 2),
    ]
    assert mined.topologies[0].examples == (0, 1, 0)
    assert mined.tried == {5: 10, 6: 4}
    assert mined.connected == {5: 8, 6: 2}
    assert mined.sequences() == {(0,), (2,)}


def test_a_topology_survives_json() -> None:
    names = Names(pa.array(["Consult", "Make statement"]))
    assert to_names((1, 0), names) == ["Make statement", "Consult"]
    assert from_names(to_names((1, 0, 1), names), names) == (1, 0, 1)
    with pytest.raises(ApptekError, match="'Sing', unknown to the data"):
        from_names(["Sing"], names)
    with pytest.raises(ApptekError, match="at least one action"):
        topology_set([()])
