"""The loop of Gymnasium over the decision process counts each episode once."""

import numpy as np
import pytest
from oracles import PlainFact
from plain_queries import queries_of
from worlds import graph_of

from apptek.agent.environment import DecisionProcess, play
from apptek.agent.vector_loop import VectorLoop
from apptek.config import AgentConfig, preset
from apptek.data.queries import training_queries
from apptek.data.synthetic.world import make_world
from apptek.errors import ApptekError
from apptek.graph.temporal_graph import TemporalGraph


def test_the_obvious_loop_counts_what_play_counts() -> None:
    data = make_world(1000, 0).dataset
    loop = VectorLoop.of(data)
    edges, _ = loop.reset()
    total = np.zeros(len(loop))
    while not loop.finished:
        before = loop.met
        edges, rewards, terminated, truncated, _ = loop.step(edges.argmax(axis=1))
        assert np.array_equal(rewards > 0, loop.met & ~before)
        assert not (terminated & truncated).any()
        assert not (loop.met & ~terminated).any()
        total += rewards
    process = DecisionProcess(TemporalGraph.of(data), preset("paper").agent)
    expected = play(process, training_queries(data.train), "commonest").met
    assert 0 < expected.sum() < len(expected)
    assert np.array_equal(loop.met, expected)
    at_once = data.train.subjects == data.train.objects
    assert np.array_equal(loop.returns, total)
    assert np.array_equal(total > 0, expected & ~at_once)
    assert (terminated | truncated).all()


def test_the_same_seed_draws_the_same_legal_actions() -> None:
    loop = VectorLoop.of(make_world(600, 0).dataset, split="test")
    outcomes = []
    for _ in range(2):
        _, info = loop.reset(seed=7)
        while not loop.finished:
            actions = loop.sample()
            going = ~(info["terminated"] | info["truncated"])
            rows = np.flatnonzero(going)
            assert info["action_mask"][rows, actions[rows]].all()
            *_, info = loop.step(actions)
        outcomes.append((loop.met.tolist(), info["steps"].tolist()))
    assert outcomes[0] == outcomes[1]
    loop.reset(seed=8)
    assert not loop.returns.any()


def test_misuse_is_refused() -> None:
    facts = [PlainFact(i, i % 2, i + 1, i, i) for i in range(4)]
    process = DecisionProcess(graph_of(facts), AgentConfig())
    loop = VectorLoop(process, queries_of([(0, 4, 2, None), (1, 1, 0, None)]))
    with pytest.raises(ApptekError, match="call reset first"):
        loop.step([0, 0])
    edges, info = loop.reset()
    assert loop.met.tolist() == info["terminated"].tolist() == [False, True]
    with pytest.raises(ApptekError, match="not legal"):
        loop.step([2, 0])
    for actions in ([0], [0.5, 0.0], "ab"):
        with pytest.raises(ApptekError, match="one whole number for each of 2 episodes"):
            loop.step(actions)
    for action in (-1, 999):
        with pytest.raises(ApptekError, match=f"there is no action {action}: they are 0 to"):
            loop.step([action, 0])
    edges[:] = 0  # what was observed is a copy
    while not loop.finished:
        _, rewards, *_ = loop.step(loop.sample())
        assert rewards[1] == 0
    with pytest.raises(ApptekError, match="every episode has ended: call reset"):
        loop.step([0, 0])
