"""Small networks, states and trainers for tests of the agent."""

import numpy as np
import numpy.typing as npt
import torch
from hypothesis import strategies as st
from reference import PlainFact
from worlds import PREDICATES, facts_of, plain_facts

from apptek.arrays import read_only
from apptek.config import AgentConfig
from apptek.facts.queries import training_queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.dqn import build_network
from apptek.paper.environment import DecisionProcess
from apptek.paper.fingerprint import QNetwork
from apptek.paper.states import PairTable, States, pair_table
from apptek.paper.trainer import Trainer
from apptek.synthetic.world import make_world

SMALL = AgentConfig(
    predicate_size=3,
    time_size=2,
    fingerprint_hidden=(5, 4),
    fingerprint_size=4,
    q_hidden=(6, 5),
    batch_size=8,
    learning_rate=1e-3,
)
QUICK = AgentConfig(tknn=5, epochs=0.5, replay_ratio=2.0)  # trains in a second

worlds = st.lists(plain_facts(), min_size=1, max_size=12)
sides = st.lists(st.integers(0, 1000), max_size=9)  # taken modulo the number of facts or pairs
state_lists = st.lists(st.tuples(sides, sides), max_size=5)


def states_of(rows: list[list[int]]) -> States:
    """A ragged batch of these rows, two for each state, read-only."""
    members = np.asarray([member for row in rows for member in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return States(read_only(members), read_only(offsets))


def rows_of(states: States) -> list[list[int]]:
    """The rows of a ragged batch."""
    return [part.tolist() for part in np.split(states.members, states.offsets[1:-1])][
        : len(states.offsets) - 1
    ]


def network_of(
    table: PairTable, actions: int = PREDICATES, seed: int = 0, config: AgentConfig = SMALL
) -> QNetwork:
    """A small network over the pairs of a table."""
    network = build_network(table, PREDICATES, config, rng=np.random.default_rng(seed))
    if actions == PREDICATES:
        return network
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return QNetwork(network.fingerprint, actions, config)


def points(count: int) -> PairTable:
    """A table of `count` different pairs."""
    facts = [PlainFact(0, number % PREDICATES, 1, number, number) for number in range(count)]
    return pair_table(facts_of(facts))


def random_states(count: int, pairs: int, rng: np.random.Generator) -> States:
    """States with up to twenty members on each side."""
    sizes = rng.integers(0, 21, 2 * count)
    return states_of([rng.integers(0, pairs, size).tolist() for size in sizes])


def random_legal_mask(count: int, actions: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Masks with at least one legal action in each row."""
    legal = rng.random((count, actions)) < 0.4
    legal[np.arange(count), rng.integers(0, actions, count)] = True
    return read_only(legal)


def process_of(config: AgentConfig, facts: int = 3000) -> DecisionProcess:
    """The decision process on a planted world."""
    return DecisionProcess(TemporalGraph.of(make_world(facts, 1).dataset), config)


def trainer_of(config: AgentConfig = QUICK, seed: int = 0, facts: int = 3000) -> Trainer:
    """A trainer on a planted world, before its first step."""
    process = process_of(config, facts)
    return Trainer(process, training_queries(process.graph.facts), seed=seed)
