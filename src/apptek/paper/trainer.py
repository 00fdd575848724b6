"""Reproducible training: parallel episodes fill the replay memory, from which the agent learns.

`run_agent` also compares the agent with control policies, and records the data for the figures.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints
from apptek.config import AgentConfig
from apptek.errors import ApptekError
from apptek.extras import one_torch_thread
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, held_out_queries
from apptek.files import new_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.agent import DATA, WEIGHTS, Agent, pack
from apptek.paper.dqn import Batch, Learner, Replay, build_network
from apptek.paper.environment import DecisionProcess, Environment, play
from apptek.paper.states import pair_table
from apptek.research.result import Result, plain_settings, write_result
from apptek.safe_text import without_passwords
from apptek.seeding import generator

IDLE = -1  # the query of an idle slot


class Trainer:
    """One training run. Call `step` until `finished` to play all episodes and learn from them.

    Up to `parallel` episodes run at once, each in a slot. When an episode ends, its slot takes the
    next query. Queries whose subject is also their object connect immediately, so training skips
    them.

    episodes_done   the number of finished episodes
    history         the episodes in the order in which they finished
    """

    def __init__(self, process: DecisionProcess, queries: Queries, *, seed: int) -> None:
        self.process, self.config, self.seed = process, process.config, seed
        self.queries = queries
        self.table = pair_table(process.graph.facts)
        self.learner = Learner(
            build_network(
                self.table, process.action_count, self.config, rng=generator(seed, "network")
            ),
            self.config,
        )
        self.replay = Replay(self.config.replay_size)
        self.act_rng = generator(seed, "acting")
        self.sample_rng = generator(seed, "replay")
        self.order = episode_order(queries, self.config.epochs, seed)
        if not len(self.order):
            raise ApptekError(
                "there is no query to train on: subject and object are always the same"
            )
        slots = min(self.config.parallel, len(self.order))
        self.started = self.episodes_done = self.environment_steps = 0
        self.debt = 0.0  # transitions still to be learned from, according to the replay ratio
        self.slots: Ints = np.full(slots, IDLE, np.int32)
        self.history = History(
            np.full(len(self.order), IDLE, np.int32), np.zeros(len(self.order), np.bool_)
        )
        nothing = queries.take(np.zeros(slots, np.intp))
        nothing.subjects[:] = nothing.objects[:] = -1  # no facts: the episode ends immediately
        self.environment = Environment(process, nothing)
        self._refill(np.arange(slots))

    @property
    def epsilon(self) -> float:
        """The current proportion of random actions."""
        return self.config.epsilon(self.environment_steps)

    @property
    def finished(self) -> bool:
        """Whether every episode has finished."""
        return self.episodes_done == len(self.order)

    def step(self) -> None:
        """Take one action in every running episode, store the transitions, and learn."""
        environment = self.environment
        going = np.flatnonzero(self.slots != IDLE)
        states = environment.states(self.table.pair_of_fact).take(going)
        legal = environment.legal[going]
        actions = self.learner.act(states, legal, self.epsilon, rng=self.act_rng)
        chosen = np.zeros(len(self.slots), np.int32)
        chosen[going] = actions
        met = environment.step(chosen)[going]
        self.replay.add(
            Batch(
                states=states,
                actions=actions,
                rewards=met.astype(np.float32),
                next_states=environment.states(self.table.pair_of_fact).take(going),
                next_legal=environment.legal[going],
                done=environment.done[going],
            )
        )
        self.environment_steps += len(going)
        self._learn(len(going))
        ended = going[environment.done[going]]
        if len(ended):
            self._record(ended)
            self._refill(ended)

    def _learn(self, collected: int) -> None:
        """Perform the updates that the replay ratio requires, once the memory contains a batch."""
        self.debt += collected * self.config.replay_ratio
        if len(self.replay) < self.config.batch_size:
            return
        while self.debt >= self.config.batch_size:
            self.learner.learn(self.replay.sample(self.config.batch_size, rng=self.sample_rng))
            self.debt -= self.config.batch_size

    def _record(self, ended: npt.NDArray[np.intp]) -> None:
        rows = slice(self.episodes_done, self.episodes_done + len(ended))
        self.history.queries[rows] = self.slots[ended]
        self.history.met[rows] = self.environment.met[ended]
        self.episodes_done += len(ended)

    def _refill(self, free: npt.NDArray[np.intp]) -> None:
        """Start the next queries in free slots; an episode that ends immediately frees its slot."""
        while len(free):
            self.slots[free] = IDLE
            queries = self.order[self.started : self.started + len(free)]
            self.started += len(queries)
            free = free[: len(queries)]
            if not len(free):
                return
            self.slots[free] = queries
            self.environment.restart(free, self.queries.take(queries))
            free = free[self.environment.done[free]]
            if len(free):
                self._record(free)

    def weights(self) -> bytes:
        """Return the network's weights, with its settings and the digest of its facts."""
        return pack(self.learner.network, self.config, self.process.graph.facts.digest())

    def agent(self) -> Agent:
        """Return the agent with the current weights."""
        return Agent(self.process, self.weights())

    def run(self, report: Callable[[int, int], None] | None = None) -> "Trainer":
        """Train to the end; after every step, report the finished and total episodes."""
        while not self.finished:
            self.step()
            if report is not None:
                report(self.episodes_done, len(self.order))
        return self


@dataclass(frozen=True, slots=True)
class History:
    """Episodes in the order in which they finished: their queries, and whether the sides met."""

    queries: Ints
    met: Bools


def episode_order(queries: Queries, epochs: float, seed: int) -> Ints:
    """Return the query of each episode: every query once per epoch, reshuffled for each epoch."""
    usable = np.flatnonzero(queries.subjects != queries.objects).astype(np.int32)
    count = round(len(usable) * epochs)
    rounds = -(-count // len(usable)) if len(usable) else 0
    orders = [generator(seed, f"order {epoch}").permutation(usable) for epoch in range(rounds)]
    return np.concatenate([np.empty(0, np.int32), *orders])[:count]


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
