import math
from pathlib import Path

import numpy as np
import pytest

from apptek.agent.checkpoint import load_checkpoint, save_checkpoint
from apptek.agent.environment import World, training_queries
from apptek.agent.information import DOUBT, MOST, Information
from apptek.agent.training import Trainer
from apptek.config import AgentConfig
from apptek.data.synthetic import make_world
from apptek.errors import ConfigError
from apptek.graph.temporal_graph import TemporalGraph

ONE, OTHER = np.asarray([3, -1], np.int32), np.asarray([4, 3], np.int32)


def told(*episodes: tuple[bool, np.ndarray[tuple[int], np.dtype[np.int32]], int]) -> Information:
    found = Information()
    met, trails, predicates = zip(*episodes, strict=True)
    found.add(np.asarray(met), np.stack(trails), np.asarray(predicates, np.int32))
    return found


def test_nothing_known_pays_nothing() -> None:
    assert Information().gain(ONE, 0) == 0.0


def test_a_connection_is_paid_for_what_it_tells() -> None:
    found = told(*[(True, ONE, 0)] * 30, *[(True, OTHER, 1)] * 30, (False, OTHER, 0))
    base = 31 / 61
    share = (30 + DOUBT * base) / (30 + DOUBT)
    assert found.gain(ONE, 0) == pytest.approx(math.log(share / base))
    assert found.gain(ONE, 1) == 0.0  # it speaks against it
    assert found.gain(np.asarray([9, 9], np.int32), 0) == 0.0  # never seen
    rare = told(*[(True, OTHER, 1)] * 100_000, *[(True, ONE, 0)] * 50)
    assert rare.gain(ONE, 0) == MOST


def trainer() -> Trainer:
    data = make_world(1500, 3).dataset
    graph = TemporalGraph.of(data)
    config = AgentConfig(tknn=5, reward="information", epochs=0.5)
    return Trainer(World(graph, config), training_queries(data.train), seed=1)


def test_a_run_that_was_stopped_knows_what_it_had_counted(tmp_path: Path) -> None:
    whole, stopped = trainer(), trainer()
    for _ in range(40):
        whole.step()
    for _ in range(20):
        stopped.step()
    save_checkpoint(stopped, tmp_path / "checkpoint")
    again = trainer()
    load_checkpoint(again, tmp_path / "checkpoint")
    for _ in range(20):
        again.step()
    one, other = whole.learner.state_dict(), again.learner.state_dict()
    assert all(np.array_equal(one[name].numpy(), other[name].numpy()) for name in one)
    rewards = again.replay.state_dict()["rewards"]
    assert len(np.unique(rewards)) > 3  # gains, not only 0 and 1
    assert rewards.min() == 0.0
    assert rewards.max() <= MOST


def test_an_unknown_reward_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"agent\.reward must be one of connection, information"):
        AgentConfig(reward="fame")  # type: ignore[arg-type]
