"""The benchmark of the agent: random episodes, training, and the cost on a large graph."""

from dataclasses import replace
from functools import partial
from statistics import fmean, median
from typing import Any

import numpy as np
from reference import PlainEpisode, plain_facts, play_episode

from apptek.config import AgentConfig
from apptek.extras import one_torch_thread
from apptek.facts.queries import Queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.environment import DecisionProcess, Environment, play
from apptek.paper.trainer import Trainer
from apptek.seeding import generator
from apptek.synthetic.world import make_world
from benchmarks.report import BenchReport, bench_dataset, seconds

PAPER_MS = {5: 23, 15: 33, 25: 41, 50: 66}  # ms per episode by tknn, on the paper's GPU
# train: at replay ratio 1; train_64: at 64, an update of 64 for each environment step
TARGETS = {
    "rollout_vs_oracle": "at least 50",
    "train_vs_paper": "at least 100",
    "train_64_vs_paper": "at least 20",
    "episode_10m_vs_100k": "at most 3",
    "parallel_4096_tknn_50_bytes": "at most 2 GiB",
}
REPEATED = 100  # number of repeated queries


@one_torch_thread()
def bench_agent(*, quick: bool = False) -> BenchReport:
    """Play and train on ICEWS14 (or synthetic data of its size), and play on 10 M other facts.

    Quick: 20,000 synthetic facts instead of ICEWS14, and 500 k facts instead of 10 M.
    """
    sizes = (50_000, 500_000) if quick else (100_000, 1_000_000, 10_000_000)
    small, large = sizes[0], sizes[-1]
    dataset = bench_dataset(quick)
    graph = TemporalGraph.of(dataset)
    rollouts = _bench_rollouts(DecisionProcess(graph, AgentConfig()), 30 if quick else 200)
    episodes = 1000 if quick else 6000
    training = {k: _train_ms(graph, AgentConfig(tknn=k), episodes) for k in PAPER_MS}
    often = {
        k: _train_ms(graph, AgentConfig(tknn=k, replay_ratio=64), episodes // 4) for k in PAPER_MS
    }
    growth, repeated, edges = _bench_growth(sizes)
    return BenchReport(
        ratios={
            "rollout_vs_oracle": rollouts["oracle"] / rollouts["kernel"],
            "train_vs_paper": PAPER_MS[25] / training[25],
            "train_64_vs_paper": PAPER_MS[25] / often[25],
            "episode_10m_vs_100k": growth[large] / growth[small],
        },
        figures={
            "facts": {dataset.name: len(dataset.train), "small": small, "large": large},
            "rollouts_per_second_one_thread": 1 / rollouts["kernel"],
            "oracle_rollouts_per_second": 1 / rollouts["oracle"],
            "train_ms_per_episode": {str(k): ms for k, ms in training.items()},
            "train_ms_per_episode_64": {str(k): ms for k, ms in often.items()},
            "paper_ms_per_episode": {str(k): ms for k, ms in PAPER_MS.items()},
            "train_episodes_per_second": {str(k): 1000 / ms for k, ms in training.items()},
            "episode_microseconds": {str(size): 1e6 * cost for size, cost in growth.items()},
            "repeated_episode_microseconds": {
                str(size): 1e6 * cost for size, cost in repeated.items()
            },
            "edges_per_episode": {str(size): count for size, count in edges.items()},
            "parallel_4096_tknn_50_bytes": _parallel_bytes(graph),
        },
        targets=TARGETS,
    )


def _bench_rollouts(process: DecisionProcess, oracle_episodes: int) -> dict[str, float]:
    """Return the seconds per random episode on one thread, for the kernel and the reference."""
    queries = training_queries(process.graph.facts)
    rows = generator(0, "bench").permutation(len(queries))[:20_000]
    sample = queries.take(rows)
    play(process, sample.take(np.arange(1)), "random")  # compiles
    kernel = [seconds(lambda: play(process, sample, "random", threads=1)) for _ in range(3)]
    plain, facts_of = plain_facts(process.graph.facts)

    def play_reference() -> None:
        for fact in rows[:oracle_episodes].tolist():
            time = int(process.graph.facts.times[fact])
            when = None if time == UNKNOWN else time
            query = (plain[fact].subject, plain[fact].object, when)
            episode = PlainEpisode(
                plain, query, hidden=fact, tknn=process.config.tknn, traversal="both",
                max_steps=process.config.max_steps, facts_of=facts_of,
            )  # fmt: skip
            play_episode(episode, "random", fact)

    return {
        "kernel": median(kernel) / len(rows),
        "oracle": seconds(play_reference) / oracle_episodes,
    }


def _train_ms(graph: TemporalGraph, config: AgentConfig, episodes: int) -> float:
    """Return the milliseconds per training episode, without compilation."""
    queries = training_queries(graph.facts)
    trainer = Trainer(DecisionProcess(graph, replace(config, epochs=1.0)), queries, seed=0)
    for _ in range(30):  # compiles
        trainer.step()
    before = trainer.episodes_done

    def play_some() -> None:
        while trainer.episodes_done < min(before + episodes, len(trainer.order)):
            trainer.step()

    return 1000 * seconds(play_some) / (trainer.episodes_done - before)


def _bench_growth(sizes: tuple[int, ...]) -> tuple[dict[int, float], ...]:
    """Return seconds and edges of a random episode (tknn 25, one thread), by number of facts.

    The second table repeats each query, so that its facts stay in the CPU cache. The difference
    from the first table is the time spent waiting for memory.
    """
    costs: dict[int, float] = {}
    repeated: dict[int, float] = {}
    edges: dict[int, float] = {}
    for size in sizes:
        graph = TemporalGraph.of(make_world(size, 0).dataset)
        rows = generator(0, "bench").permutation(len(graph.facts))[:10_000]
        process = DecisionProcess(graph, AgentConfig())
        queries = training_queries(graph.facts)
        costs[size] = _episode_seconds(process, queries.take(rows))
        repeated[size] = fmean(
            _episode_seconds(process, queries.take(np.repeat(row, 200))) for row in rows[:REPEATED]
        )
        edges[size] = _edges_per_episode(process, queries.take(rows[:1000]))
    return costs, repeated, edges


def _episode_seconds(process: DecisionProcess, queries: Queries) -> float:
    runs = [seconds(partial(play, process, queries, "random", threads=1)) for _ in range(4)]
    return median(runs[1:]) / len(queries)  # the first compiles


def _edges_per_episode(process: DecisionProcess, queries: Queries) -> float:
    """Return the mean number of edges in the peripheries, summed over an episode's steps."""
    environment, rng = Environment(process, queries), generator(0, "bench edges")
    seen = 0
    while not environment.done.all():
        seen += int(environment.edges[~environment.done].sum())
        draws: Any = rng.random(environment.edges.shape) * environment.legal
        environment.step(draws.argmax(axis=1))
    return seen / len(queries)


def _parallel_bytes(graph: TemporalGraph) -> int:
    """Return the peak bytes of 4,096 parallel episodes at tknn 50 with random actions."""
    process = DecisionProcess(graph, AgentConfig(tknn=50))
    rows = generator(0, "bench").permutation(len(graph.facts))[:4096]
    environment = Environment(process, training_queries(graph.facts).take(rows))
    rng, peak = generator(0, "bench actions"), 0
    while not environment.done.all():
        before = environment.nbytes
        draws: Any = rng.random(environment.edges.shape) * environment.legal
        environment.step(draws.argmax(axis=1))
        # A step builds the new state beside the old one, so both are in memory at once.
        peak = max(peak, before + environment.nbytes)
    return peak
