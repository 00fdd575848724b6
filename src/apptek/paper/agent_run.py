"""A run of the agent: train it, compare it with its controls, and record what the figures show."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Bools, Ints
from apptek.config import AgentConfig
from apptek.errors import ApptekError
from apptek.extras import one_torch_thread
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, held_out_queries
from apptek.files import write_whole
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.agent import DATA, Agent
from apptek.paper.environment import DecisionProcess, play
from apptek.paper.trainer import History, Trainer
from apptek.paper.training_run import Observer, moving_means, train
from apptek.research.result import Result, plain_settings, write_result
from apptek.safe_text import without_passwords

RESULT = "result.json"
CURVE_POINTS = 200
COURSE_PARTS = 100  # of a training, in which the success of a predicate is counted
SUCCESS = (  # predicates of the paper's figure
    "Make statement", "Consult", "Criticize or denounce", "Demand military aid",
    "Protest violently, riot",
)  # fmt: skip
NORMAL_95 = 1.959963984540054  # half the width of a 95 % interval, in standard errors


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """An agent to be trained into a folder."""

    dataset: Dataset
    config: AgentConfig
    folder: Path
    source: str = ""  # what names the data: a folder, a file or a benchmark
    seed: int = 0
    resume: bool = False
    checkpoint_seconds: float = 60.0
    observers: Sequence[Observer] = ()  # called after every step of training


@one_torch_thread()
def run_agent(run: AgentRun) -> Result:
    """Trains an agent, compares it with its controls, and writes result.json into its folder.

    The comparison is on the training queries, each with its own fact hidden or, where the settings
    say so, left in, and on those of valid.
    """
    process = DecisionProcess(TemporalGraph.of(run.dataset), run.config)
    started, is_new = time.monotonic(), not run.folder.exists()
    trainer = Trainer(process, process.training_queries(), seed=run.seed)
    train(
        trainer,
        run.folder,
        resume=run.resume,
        checkpoint_seconds=run.checkpoint_seconds,
        observers=run.observers,
    )
    trained = time.monotonic()
    source = str(Path(run.source).resolve()) if Path(run.source).exists() else run.source
    about = {"data": without_passwords(source), "read_with": dict(run.dataset.read_with)}
    write_whole(run.folder / DATA, json.dumps(about, indent=1).encode())
    agent = trainer.agent()
    extras = {
        "rewards": reward_curve(trainer.history),
        "legal_actions": mean_legal_actions(agent.play(trainer.queries).legal_counts),
        "success": success_course(trainer.history, run.dataset),
        "episodes": trainer.episodes_done,
        "environment_steps": trainer.environment_steps,
    }
    rewards = rewards_by_split(process, run, agent)
    # The time before a resumed run was stopped is not known.
    training_seconds = trained - started if is_new else None
    seconds = {
        "train": training_seconds,
        "train_ms_per_episode": training_seconds and 1000 * training_seconds / len(trainer.order),
        "evaluate": time.monotonic() - trained,
    }
    return _write(run, model="agent", metrics=rewards, extras=extras, seconds=seconds)


def run_controls(run: AgentRun) -> Result:
    """Plays the controls on the queries of train and valid, and writes result.json; no training.

    How often they connect depends on tknn and on whether a training query sees its own fact.
    """
    process = DecisionProcess(TemporalGraph.of(run.dataset), run.config)
    rewards = rewards_by_split(process, run)
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ApptekError(f"{run.folder} cannot be written: {error.strerror}") from None
    return _write(run, model="controls", metrics=rewards)


def _write(run: AgentRun, **entries: Any) -> Result:
    result = Result(
        dataset=run.dataset.name,
        seed=run.seed,
        settings={"agent": plain_settings(run.config)},
        **entries,
    )
    write_result(run.folder / RESULT, result)
    return result


def rewards_by_split(
    process: DecisionProcess, run: AgentRun, agent: Agent | None = None
) -> dict[str, dict[str, Any]]:
    """The rewards of the controls, and of an agent, on the queries of train and valid."""
    queries_of = {"train": process.training_queries(), "valid": held_out_queries(run.dataset.valid)}
    return {
        split: compare_with_controls(process, queries, agent, seed=run.seed)
        for split, queries in queries_of.items()
        if len(queries)
    }


def compare_with_controls(
    process: DecisionProcess, queries: Queries, agent: Agent | None = None, *, seed: int
) -> dict[str, Any]:
    """Mean rewards of both controls and of the greedy agent, paired over the queries."""
    met = {} if agent is None else {"agent": agent.play(queries).met}
    controls = {
        "random": play(process, queries, "random", seed=seed).met,
        "commonest": play(process, queries, "commonest").met,
    }
    means = {name: float(each.mean()) for name, each in (met | controls).items()}
    differences = {
        f"agent_minus_{name}": paired_difference(met["agent"], control)
        for name, control in controls.items()
        if met
    }
    return {"queries": len(queries), **means, **differences}


def paired_difference(rewards: Bools, control: Bools) -> dict[str, float]:
    """Rewards minus those of a control: the mean, and its normal 95 % interval."""
    differences = rewards.astype(np.float64) - control
    mean = float(differences.mean())
    half = NORMAL_95 * float(differences.std(ddof=1)) / len(differences) ** 0.5
    return {"mean": mean, "low": mean - half, "high": mean + half}


def reward_curve(history: History) -> dict[str, list[float]]:
    """The mean reward of the last 500 and 10,000 episodes, at evenly spread points of training."""
    count = len(history.met)
    # A short training has fewer episodes than points: np.unique drops the repeated ones.
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


def success_course(history: History, dataset: Dataset) -> dict[str, dict[str, list[int]]]:
    """The episodes of each predicate of the paper's figure, and how many of them connected.

    Training is cut into parts of equal length; each list has a number for each part.
    """
    count, names = len(history.met), list(dataset.predicates)
    predicates = dataset.train.predicates[history.queries]
    parts = np.arange(count) * COURSE_PARTS // max(count, 1)
    course = {}
    for name in nearest_names(SUCCESS, names):
        own = predicates == names.index(name)
        course[name] = {
            key: np.bincount(parts[rows], minlength=COURSE_PARTS).tolist()
            for key, rows in (("episodes", own), ("connected", own & history.met))
        }
    return course


def nearest_names(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each name, or the nearest known one in its place; no known name is taken twice."""
    nearest: list[str] = []
    for name in names:
        left = [other for other in known if other not in nearest]
        nearest += [name] if name in left else get_close_matches(name, left, n=1, cutoff=0.0)
    return nearest
