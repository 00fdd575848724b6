"""Train an agent, compare it with control policies, and record the data for the figures."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints
from apptek.config import AgentConfig
from apptek.extras import one_torch_thread
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, held_out_queries
from apptek.files import new_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.agent import DATA, WEIGHTS, Agent
from apptek.paper.environment import DecisionProcess, play
from apptek.paper.trainer import History, Trainer
from apptek.research.result import Result, plain_settings, write_result
from apptek.safe_text import without_passwords

RESULT = "result.json"
CURVE_POINTS = 200
WINDOWS = (500, 10_000)  # lengths of the moving averages, as in the paper's figure
COURSE_PARTS = 100  # training is divided into this many parts to count successes
SUCCESS = (  # predicates in the paper's figure
    "Make statement", "Consult", "Criticize or denounce", "Demand military aid",
    "Protest violently, riot",
)  # fmt: skip
NORMAL_95 = 1.959963984540054  # half the width of a 95 % interval, in standard errors


@one_torch_thread()
def run_agent(
    dataset: Dataset,
    config: AgentConfig,
    folder: Path,
    *,
    source: str = "",
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
) -> Result:
    """Train an agent, compare it with the controls, and write its folder atomically.

    source  the name of the data: a folder, a file or a benchmark
    report  called with the number of finished episodes and the total

    The comparison uses the training queries and the validation queries. A training query's own fact
    is hidden unless the settings disable this.
    """
    with new_folder(folder) as temporary:
        process = DecisionProcess(TemporalGraph.of(dataset), config)
        started = time.monotonic()
        trainer = Trainer(process, process.training_queries(), seed=seed).run(report)
        seconds = time.monotonic() - started
        place = str(Path(source).resolve()) if Path(source).exists() else source
        about = {"data": without_passwords(place), "read_with": dict(dataset.read_with)}
        (temporary / DATA).write_text(json.dumps(about, indent=1), encoding="utf-8")
        (temporary / WEIGHTS).write_bytes(trainer.weights())
        result = Result(
            model="agent",
            dataset=dataset.name,
            seed=seed,
            settings={"agent": plain_settings(config)},
            **_measured(trainer, dataset, seconds),
        )
        write_result(temporary / RESULT, result)
        return result


def _measured(trainer: Trainer, dataset: Dataset, training_seconds: float) -> dict[str, Any]:
    """Return the metrics, curves and times of a trained agent."""
    started, agent = time.monotonic(), trainer.agent()
    extras = {
        "rewards": reward_curve(trainer.history),
        "legal_actions": mean_legal_actions(agent.play(trainer.queries).legal_counts),
        "success": success_course(trainer.history, dataset),
        "episodes": trainer.episodes_done,
        "environment_steps": trainer.environment_steps,
    }
    queries_of = {"train": trainer.queries, "valid": held_out_queries(dataset.valid)}
    rewards = {
        split: compare_with_controls(trainer.process, queries, agent, seed=trainer.seed)
        for split, queries in queries_of.items()
        if len(queries)
    }
    seconds = {
        "train": training_seconds,
        "train_ms_per_episode": 1000 * training_seconds / len(trainer.order),
        "evaluate": time.monotonic() - started,
    }
    return {"metrics": rewards, "extras": extras, "seconds": seconds}


def compare_with_controls(
    process: DecisionProcess, queries: Queries, agent: Agent, *, seed: int
) -> dict[str, Any]:
    """Return the mean rewards of both controls and of the greedy agent, paired by query."""
    met = agent.play(queries).met
    controls = {
        "random": play(process, queries, "random", seed=seed).met,
        "commonest": play(process, queries, "commonest").met,
    }
    means = {name: float(each.mean()) for name, each in {"agent": met, **controls}.items()}
    differences = {
        f"agent_minus_{name}": paired_difference(met, control) for name, control in controls.items()
    }
    return {"queries": len(queries), **means, **differences}


def paired_difference(rewards: Bools, control: Bools) -> dict[str, float]:
    """Return the mean of rewards minus a control's rewards, with its 95 % interval."""
    differences = rewards.astype(np.float64) - control
    mean = float(differences.mean())
    half = NORMAL_95 * float(differences.std(ddof=1)) / len(differences) ** 0.5
    return {"mean": mean, "low": mean - half, "high": mean + half}


def reward_curve(history: History) -> dict[str, list[float]]:
    """Return the mean reward of the last 500 and 10,000 episodes, at evenly spaced points."""
    count = len(history.met)
    # A short training run has fewer episodes than points: np.unique drops the duplicates.
    ends = np.unique(np.linspace(min(500, count), count, CURVE_POINTS).astype(np.intp))
    means = moving_means(history.met, ends)
    return {
        "episodes": ends.tolist(),
        "mean_500": np.round(means[:, 0], 5).tolist(),
        "mean_10000": np.round(means[:, 1], 5).tolist(),
    }


def moving_means(met: Bools, ends: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the mean reward of the 500 and 10,000 episodes before each end, (n, 2)."""
    sums = np.concatenate([[0], np.cumsum(met)])
    starts = np.maximum(ends[:, None] - np.asarray(WINDOWS), 0)  # (n, 2)
    rewards = sums[ends][:, None] - sums[starts]
    means: npt.NDArray[np.float64] = rewards / np.maximum(ends[:, None] - starts, 1)
    return means


def mean_legal_actions(legal_counts: Ints) -> list[float | None]:
    """Return the mean number of legal actions before each step, over the episodes that took it."""
    steps = [counts[counts > 0] for counts in legal_counts.T]
    return [float(counts.mean()) if len(counts) else None for counts in steps]


def success_course(history: History, dataset: Dataset) -> dict[str, dict[str, list[int]]]:
    """Count all episodes, and those that connected, for each predicate in the paper's figure.

    If the data has none of these predicates, use the first ones in the data. Training is divided
    into COURSE_PARTS equal parts; each list has one count per part.
    """
    count, names = len(history.met), list(dataset.predicates)
    predicates = dataset.train.predicates[history.queries]
    parts = np.arange(count) * COURSE_PARTS // max(count, 1)
    course = {}
    for name in [name for name in SUCCESS if name in names] or names[: len(SUCCESS)]:
        matches = predicates == names.index(name)
        course[name] = {
            key: np.bincount(parts[rows], minlength=COURSE_PARTS).tolist()
            for key, rows in (("episodes", matches), ("connected", matches & history.met))
        }
    return course
