"""The agent's experiment: train it, compare it with the controls, record what the figures need."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from apptek.agent.controls import compare_with_controls, play_greedily
from apptek.agent.dqn import FrozenPolicy
from apptek.agent.environment import DecisionProcess
from apptek.agent.trainer import History, Trainer
from apptek.agent.training_run import Observer, moving_means, train
from apptek.arrays import Ints
from apptek.config import AgentConfig
from apptek.data.facts import Dataset, Names
from apptek.data.queries import held_out_queries, training_queries
from apptek.experiments.result_file import write_result
from apptek.extras import one_torch_thread
from apptek.graph.temporal_graph import TemporalGraph

RESULT = "result.json"
CURVE_POINTS = 200


@one_torch_thread()
def run_agent(
    dataset: Dataset,
    config: AgentConfig,
    folder: Path,
    *,
    seed: int = 0,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    observers: Sequence[Observer] = (),
) -> dict[str, Any]:
    """Trains an agent into a folder and writes result.json there; the result.

    Compared on the training queries (each with its own fact hidden) and on those of valid.
    """
    graph = TemporalGraph.of(dataset)
    process, queries = DecisionProcess(graph, config), training_queries(dataset.train)
    started, from_the_start = time.monotonic(), not folder.exists()
    trainer = Trainer(process, queries, seed=seed)
    train(
        trainer,
        folder,
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        observers=observers,
    )
    trained = time.monotonic()
    result = _result(trainer, dataset, seed)
    ended = time.monotonic()
    seconds = trained - started if from_the_start else None  # of a resumed run it is not known
    result["seconds"] = {
        "train": seconds,
        "train_ms_per_episode": seconds and 1000 * seconds / len(trainer.order),
        "evaluate": ended - trained,
    }
    write_result(folder / RESULT, result)
    return result


def _result(trainer: Trainer, dataset: Dataset, seed: int) -> dict[str, Any]:
    process, pair_of_fact = trainer.process, trainer.table.pair_of_fact
    policy = FrozenPolicy(trainer.learner.network)
    asked = {"train": trainer.queries, "valid": held_out_queries(dataset.valid)}
    metrics = {
        split: asdict(compare_with_controls(process, queries, policy, pair_of_fact, seed=seed))
        for split, queries in asked.items()
        if len(queries)
    }
    greedy = play_greedily(process, trainer.queries, policy, pair_of_fact)
    return {
        "model": "agent",
        "dataset": dataset.name,
        "seed": seed,
        "settings": {"agent": asdict(trainer.config)},
        "metrics": metrics,
        "rewards": reward_curve(trainer.history),
        "legal_actions": mean_legal_actions(greedy.legal_counts),
        "success": success_by_predicate(greedy.met, dataset.train.predicates, dataset.predicates),
        "episodes": trainer.episodes_done,
        "environment_steps": trainer.environment_steps,
    }


def reward_curve(history: History) -> dict[str, list[float]]:
    """The mean reward over training in windows of 500 and 10,000, at evenly spread episodes."""
    count = len(history.met)
    ends = np.unique(np.linspace(min(500, count), count, CURVE_POINTS).astype(np.intp))
    means = moving_means(history.met, ends)
    return {
        "episodes": ends.tolist(),
        "mean_500": np.round(means[:, 0], 5).tolist(),
        "mean_10000": np.round(means[:, 1], 5).tolist(),
    }


def mean_legal_actions(legal_counts: Ints) -> list[float | None]:
    """The mean number of legal actions before each step, over the episodes that took it."""
    taken = legal_counts > 0
    return [
        float(legal_counts[taken[:, step], step].mean()) if taken[:, step].any() else None
        for step in range(legal_counts.shape[1])
    ]


def success_by_predicate(
    met: np.ndarray[tuple[int], np.dtype[np.bool_]], predicates: Ints, names: Names
) -> dict[str, list[float]]:
    """For each predicate of the queries: how many there are, and the share that connected."""
    counts = np.bincount(predicates, minlength=len(names))
    hits = np.bincount(predicates, weights=met, minlength=len(names))
    return {
        names[row]: [int(counts[row]), float(hits[row] / counts[row])]
        for row in np.flatnonzero(counts).tolist()
    }
