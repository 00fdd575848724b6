"""How often the agent connects its queries, compared with controls that learn nothing."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Ints
from apptek.compiling import in_threads
from apptek.facts.queries import Queries
from apptek.paper.dqn import FrozenPolicy, random_legal
from apptek.paper.environment import DecisionProcess, Environment, Episodes, play
from apptek.seeding import generator

CHUNK = 1024  # episodes that one thread plays at a time
NORMAL_95 = 1.959963984540054  # half the width of a 95 % interval, in standard errors


def play_greedily(
    process: DecisionProcess,
    queries: Queries,
    policy: FrozenPolicy,
    pair_of_fact: Ints,
    *,
    epsilon: float = 0.0,
    seed: int = 0,
) -> Episodes:
    """Plays episodes to their end by the best legal action of a trained network.

    A share `epsilon` of the actions is random; each chunk draws from a stream of its own.
    """

    def play_chunk(start: int) -> Episodes:
        rows = np.arange(start, min(start + CHUNK, len(queries)))
        environment = Environment(process, queries.take(rows))
        rng = generator(seed, f"exploring from {start}")
        return _play_chunk(environment, policy, pair_of_fact, epsilon, rng)

    parts = in_threads(play_chunk, range(0, len(queries), CHUNK))
    return Episodes(
        np.concatenate([np.zeros(0, np.bool_), *(part.met for part in parts)]),
        np.concatenate([_no_steps(process), *(part.trail for part in parts)]),
        np.concatenate([_no_steps(process), *(part.legal_counts for part in parts)]),
    )


def _play_chunk(
    environment: Environment,
    policy: FrozenPolicy,
    pair_of_fact: Ints,
    epsilon: float,
    rng: np.random.Generator,
) -> Episodes:
    steps = environment.max_steps
    trail = np.full((len(environment), steps), -1, np.int32)
    legal_counts = np.zeros((len(environment), steps), np.int32)
    for step in range(steps):
        going = ~environment.done
        if not going.any():
            break
        legal = environment.legal
        actions = policy.greedy(environment.states(pair_of_fact), legal)
        if epsilon:
            explore = rng.random(len(actions)) < epsilon
            actions = np.where(explore, random_legal(legal, rng=rng), actions)
        trail[going, step] = actions[going]
        legal_counts[going, step] = legal[going].sum(axis=1)
        environment.step(actions)
    return Episodes(environment.met, trail, legal_counts)


def _no_steps(process: DecisionProcess) -> Ints:
    return np.empty((0, process.config.max_steps), np.int32)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean difference of two policies' rewards on the same queries, with its 95 % interval."""

    mean: float
    low: float
    high: float


def paired_difference(rewards: Bools, control: Bools) -> PairedDifference:
    """Rewards minus those of a control, with the normal interval of the mean difference."""
    differences = rewards.astype(np.float64) - control
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    half = NORMAL_95 * error
    return PairedDifference(float(mean), float(mean - half), float(mean + half))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The agent and both controls on the same queries."""

    queries: int
    agent: float
    random: float
    commonest: float
    agent_minus_random: PairedDifference
    agent_minus_commonest: PairedDifference


def compare_with_controls(
    process: DecisionProcess,
    queries: Queries,
    policy: FrozenPolicy,
    pair_of_fact: Ints,
    *,
    seed: int,
) -> Comparison:
    """Mean rewards of the greedy agent and of both controls, paired over the queries."""
    agent = play_greedily(process, queries, policy, pair_of_fact).met
    random = play(process, queries, "random", seed=seed).met
    commonest = play(process, queries, "commonest").met
    return Comparison(
        len(queries),
        float(agent.mean()),
        float(random.mean()),
        float(commonest.mean()),
        paired_difference(agent, random),
        paired_difference(agent, commonest),
    )
