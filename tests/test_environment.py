from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_queries import PlainQuery, agent_configs, plain_episode, plain_queries, queries_of
from reference import PlainEpisode, PlainFact, play_episode
from worlds import graph_of, plain_facts

from apptek.arrays import Bools
from apptek.config import AgentConfig
from apptek.errors import ApptekError
from apptek.facts.queries import training_queries
from apptek.paper import environment as module
from apptek.paper.environment import DecisionProcess, Environment, play
from apptek.paper.states import FAR, IN_CORE, MARKS, REACHED, SEEN
from apptek.seeding import generator


def assert_same(
    environment: Environment, episodes: list[PlainEpisode], going: Bools | None = None
) -> None:
    """Compares all episodes; going: those that the last step took an action in."""
    for number, episode in enumerate(episodes):
        assert environment.done[number] == episode.done()
        assert environment.met[number] == episode.met()
        counts = environment.edges[number]
        assert {int(a): int(counts[a]) for a in np.flatnonzero(counts)} == episode.legal()
        ended_before = going is not None and not going[number]
        if environment.done[number] and (ended_before or not environment.met[number]):
            continue  # its arrays may have been given back
        for side in range(2):
            reached, core, periphery = environment.side(2 * number + side)
            plain = episode.sides[side]
            assert len(set(reached.tolist())) == len(reached)
            assert set(reached.tolist()) == plain.entities()
            assert sorted(core.tolist()) == sorted(plain.core)
            assert sorted(periphery.tolist()) == sorted(plain.periphery())


@settings(max_examples=200)
@given(st.lists(plain_facts(), max_size=25), agent_configs(), st.data())
def test_agrees_with_the_definitions_at_every_step(
    plain: list[PlainFact], config: AgentConfig, data: st.DataObject
) -> None:
    asked = [data.draw(plain_queries(plain)) for _ in range(3)]
    environment = Environment(DecisionProcess(graph_of(plain), config), queries_of(asked))
    episodes = [plain_episode(plain, query, config) for query in asked]
    assert_same(environment, episodes)
    while not environment.done.all():
        actions = [data.draw(st.sampled_from(sorted(e.legal() or {0: 0}))) for e in episodes]
        going = ~environment.done
        rewards = environment.step(actions)
        for number in np.flatnonzero(going):
            assert rewards[number] == episodes[number].step(actions[number])
        assert not rewards[~going].any()
        assert_same(environment, episodes, going)


def plain_marks(episode: PlainEpisode, side: int) -> list[tuple[int, int]]:
    """The facts that a side shows with their marks, straight from the definition, sorted."""
    own, other = episode.sides[side], episode.sides[1 - side]
    seen = {
        end
        for number in other.periphery()
        for end in (episode.facts[number].subject, episode.facts[number].object)
    }
    marks = [(number, IN_CORE) for number in own.core]
    for number in own.periphery():
        ends = {episode.facts[number].subject, episode.facts[number].object} - own.entities()
        mark = REACHED if ends & other.entities() else SEEN if ends & seen else FAR
        marks.append((number, mark))
    return sorted(marks)


@settings(max_examples=200)
@given(st.lists(plain_facts(), min_size=1, max_size=25), agent_configs(), st.data())
def test_marks_agree_with_their_definition(
    plain: list[PlainFact], config: AgentConfig, data: st.DataObject
) -> None:
    asked = [data.draw(plain_queries(plain)) for _ in range(3)]
    process = DecisionProcess(graph_of(plain), replace(config, fingerprint="marked"))
    environment = Environment(process, queries_of(asked))
    episodes = [plain_episode(plain, query, config) for query in asked]
    every_fact = np.arange(len(plain), dtype=np.int32)
    while not environment.done.all():
        states = environment.states(every_fact)
        for row in range(6):
            if not environment.done[row // 2]:
                members = states.members[states.offsets[row] : states.offsets[row + 1]].tolist()
                found = sorted((member // MARKS, member % MARKS) for member in members)
                assert found == plain_marks(episodes[row // 2], row % 2)
        actions = [data.draw(st.sampled_from(sorted(e.legal() or {0: 0}))) for e in episodes]
        going = ~environment.done
        environment.step(actions)
        for number in np.flatnonzero(going):
            episodes[number].step(actions[number])


def test_a_query_sees_its_own_fact_only_where_the_settings_say_so() -> None:
    graph = graph_of([PlainFact(0, 0, 1, 5, 5)])
    hiding, showing = (
        DecisionProcess(graph, AgentConfig(hide_query=hides)) for hides in (True, False)
    )
    assert not play(hiding, hiding.training_queries(), "commonest").met.any()
    assert play(showing, showing.training_queries(), "commonest").met.all()


@settings(max_examples=150)
@given(
    st.lists(plain_facts(), max_size=25),
    agent_configs(),
    st.sampled_from(["random", "commonest"]),
    st.data(),
)
def test_whole_episodes_agree_with_the_definitions(
    plain: list[PlainFact], config: AgentConfig, policy: str, data: st.DataObject
) -> None:
    asked = [data.draw(plain_queries(plain)) for _ in range(4)]
    process = DecisionProcess(graph_of(plain), config)
    played = play(process, queries_of(asked), policy, seed=5)  # type: ignore[arg-type]
    seeds = generator(5, "episodes").integers(0, 2**64, 4, np.uint64).tolist()
    for number, query in enumerate(asked):
        met, trail = play_episode(plain_episode(plain, query, config), policy, seeds[number])
        assert played.met[number] == met
        assert [a for a in played.trail[number].tolist() if a >= 0] == trail
        assert np.count_nonzero(played.legal_counts[number]) == len(trail)


def corridor(length: int) -> list[PlainFact]:
    """0 -0-> 1 -1-> 2 -0-> 3 ...: predicates in turn."""
    return [PlainFact(i, i % 2, i + 1, i, i) for i in range(length)]


def test_a_restarted_slot_begins_anew_and_leaves_the_others_alone() -> None:
    plain = corridor(4)
    process = DecisionProcess(graph_of(plain), AgentConfig(tknn=3))
    asked: list[PlainQuery] = [(0, 4, 2, None), (0, 4, 2, None), (0, 1, 2, 0)]
    environment = Environment(process, queries_of(asked))
    environment.step([0, 1, 1])
    before = [part.tolist() for part in environment.side(0)]
    environment.restart(np.asarray([1]), queries_of([(2, 4, 3, None)]))
    assert [part.tolist() for part in environment.side(0)] == before
    assert environment.steps.tolist() == [1, 0, 1]
    fresh = Environment(process, queries_of([(2, 4, 3, None)]))
    for side in range(2):
        for mine, other in zip(environment.side(2 + side), fresh.side(side), strict=True):
            assert mine.tolist() == other.tolist()


def test_illegal_actions_and_impossible_queries_are_refused() -> None:
    process = DecisionProcess(graph_of(corridor(4)), AgentConfig())
    environment = Environment(process, queries_of([(0, 4, 2, None)]))
    with pytest.raises(ApptekError, match="not legal"):
        environment.step([2])
    with pytest.raises(ApptekError, match="one per episode"):
        environment.step([0, 0])
    with pytest.raises(ApptekError, match="entity 99"):
        Environment(process, queries_of([(99, 4, 2, None)]))


def test_chunks_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = corridor(4) * 3
    graph = graph_of(plain)
    process, queries = DecisionProcess(graph, AgentConfig(tknn=2)), training_queries(graph.facts)
    whole = play(process, queries, "random", seed=3)
    monkeypatch.setattr(module, "CHUNK", 2)
    parts = play(process, queries, "random", seed=3)
    assert np.array_equal(whole.trail, parts.trail)
    assert np.array_equal(whole.met, parts.met)
