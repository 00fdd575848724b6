from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from agent_parts import QUICK, trainer_of
from reference import PlainFact
from worlds import facts_of

from apptek.arrays import Bools
from apptek.config import AgentConfig
from apptek.errors import ApptekError
from apptek.facts.queries import training_queries
from apptek.facts.times import TimeAxis
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.environment import DecisionProcess, Environment, play
from apptek.paper.trainer import (
    Trainer,
    compare_with_controls,
    episode_order,
    moving_means,
    paired_difference,
)
from apptek.synthetic.world import make_world

pytestmark = pytest.mark.usefixtures("one_thread")


def corridor_world(lanes: int) -> TemporalGraph:
    """In each lane u -0-> a -1-> b -2-> v with dead ends 3, 4 at every stop, and u -5-> v asked.

    Along outgoing facts 0, 1, 2 is the only sequence of three that connects u and v.
    """
    plain: list[PlainFact] = []
    for lane in range(lanes):
        stops = [lane * 4 + place for place in range(4)]
        for place in range(3):
            plain.append(PlainFact(stops[place], place, stops[place + 1], lane % 7, lane % 7))
            for blind in range(2):
                end = 4 * lanes + 6 * lane + 2 * place + blind
                plain.append(PlainFact(stops[place], 3 + blind, end, lane % 5, lane % 5))
        plain.append(PlainFact(stops[0], 5, stops[3], 3, 3))
    return TemporalGraph.build(facts_of(plain), TimeAxis("integer"), lanes * 10, 6)


def weights_of(trainer: Trainer) -> dict[str, bytes]:
    state = trainer.learner.network.state_dict()
    return {name: tensor.numpy().tobytes() for name, tensor in state.items()}


def test_the_agent_learns_the_only_way_through_a_corridor() -> None:
    config = AgentConfig(
        traversal="outgoing", max_steps=3, tknn=10, epochs=32.0, replay_ratio=4.0, discount=0.8,
        learning_rate=1e-3, epsilon_decay=1e-3, weight_decay=0.0,
    )  # fmt: skip
    graph = corridor_world(300)
    process = DecisionProcess(graph, config)
    asked = np.flatnonzero(graph.facts.predicates == 5)
    queries = training_queries(graph.facts).take(asked)
    trainer = Trainer(process, queries, seed=0)
    while not trainer.finished:
        trainer.step()
    found = compare_with_controls(trainer.process, queries, trainer.agent(), seed=1)
    assert found["agent"] > 0.95
    assert found["random"] < 0.5
    assert found["agent_minus_random"]["low"] > 0
    trails = trainer.agent().play(queries).trail
    assert (trails[0] == [0, 1, 2]).all()


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    runs = [trainer_of(seed=seed) for seed in (0, 0, 1)]
    for trainer in runs:
        while not trainer.finished:
            trainer.step()
    assert weights_of(runs[0]) == weights_of(runs[1]) != weights_of(runs[2])
    assert np.array_equal(runs[0].history.met, runs[1].history.met)
    assert np.array_equal(runs[0].history.queries, runs[1].history.queries)
    assert np.array_equal(runs[0].history.queries, runs[0].order) is False  # they end out of order
    assert sorted(runs[0].history.queries.tolist()) == sorted(runs[0].order.tolist())


def test_the_history_is_what_the_environment_did(monkeypatch: pytest.MonkeyPatch) -> None:
    step, rewarded = Environment.step, []

    def counted(environment: Environment, actions: npt.ArrayLike) -> Bools:
        rewarded.append(int((rewards := step(environment, actions)).sum()))
        return rewards

    monkeypatch.setattr(Environment, "step", counted)
    trainer = trainer_of(replace(QUICK, replay_size=10**6)).run()
    assert sum(rewarded) == trainer.history.met.sum() > 0
    assert len(trainer.replay) == trainer.environment_steps


def test_as_many_updates_as_the_replay_ratio_asks_for() -> None:
    trainer = trainer_of(replace(QUICK, replay_ratio=0.5))
    while not trainer.finished:
        trainer.step()
    expected = trainer.environment_steps * 0.5 / trainer.config.batch_size
    assert abs(trainer.learner.updates - expected) <= 1


def test_an_episode_is_asked_once_an_epoch() -> None:
    queries = training_queries(make_world(1000, 0).dataset.train)
    order = episode_order(queries, 2.5, seed=0)
    usable = int((queries.subjects != queries.objects).sum())
    assert len(order) == round(2.5 * usable)
    assert len(set(order[:usable].tolist())) == usable
    assert set(np.bincount(order[: 2 * usable])[np.unique(order)].tolist()) == {2}


def test_queries_that_meet_at_once_are_not_trained_on() -> None:
    graph = TemporalGraph.build(facts_of([PlainFact(0, 0, 0, 1, 1)]), TimeAxis("integer"), 1, 1)
    with pytest.raises(ApptekError, match="no query to train on"):
        Trainer(DecisionProcess(graph, AgentConfig()), training_queries(graph.facts), seed=0)


def test_moving_means_are_means_of_windows() -> None:
    met = np.random.default_rng(0).random(12_000) < 0.4
    means = moving_means(met, np.asarray([100, 700, 12_000]))
    assert means[0] == pytest.approx([met[:100].mean()] * 2)
    assert means[1] == pytest.approx([met[200:700].mean(), met[:700].mean()])
    assert means[2] == pytest.approx([met[11_500:].mean(), met[2000:].mean()])


def test_a_paired_difference_covers_the_truth_about_95_times_in_100() -> None:
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        one, other = rng.random(500) < 0.6, rng.random(500) < 0.5
        found = paired_difference(one, other)
        covered += found["low"] <= 0.1 <= found["high"]
    assert 0.92 <= covered / 400 <= 0.98


def test_greedy_episodes_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = trainer_of()
    agent, queries = trainer.agent(), trainer.queries
    whole = agent.play(queries)
    monkeypatch.setattr("apptek.paper.agent.CHUNK", 100)
    parts = agent.play(queries)
    assert np.array_equal(whole.trail, parts.trail)
    assert np.array_equal(whole.met, parts.met)
    assert len(play(trainer.process, queries, "commonest").met) == len(whole.met)
