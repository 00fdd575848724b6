"""Topologies as features. The agent finds them, and a feature is 1 if it connects a query.

The agent or a control policy plays episodes on the training queries. Mining counts which topologies
connected the queries. Control policies do not use an agent, so a comparison with them shows what
learning adds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from apptek.arrays import Ints
from apptek.errors import ApptekError
from apptek.extras import one_torch_thread
from apptek.facts.facts import Names
from apptek.facts.queries import Queries, training_queries
from apptek.features.space import Connection, FamilyFit, FeatureFamily, Found
from apptek.files import make_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import Model, with_training_facts
from apptek.paper.application import apply_topologies
from apptek.paper.connection import connect
from apptek.paper.environment import DecisionProcess, Episodes, play
from apptek.paper.topologies import (
    Mined,
    MinedTopology,
    TopologySet,
    from_names,
    mine,
    to_names,
    topology_set,
)
from apptek.ragged import Ragged
from apptek.resuming import StageCache

if TYPE_CHECKING:
    from apptek.paper.agent import Agent

TOPOLOGIES, AGENT = "topologies.json", "agent.safetensors"  # in a model folder
STAGE = "train the agent"


@dataclass(frozen=True, slots=True)
class Topologies:
    """The topologies that connect a query, as features whose values are their weights.

    mined  the mined topologies: counts and examples by predicate
    agent  the weights of the network that found them, as safetensors; None for a control policy
    """

    process: DecisionProcess  # the graph and rules for replaying them
    predicates: Names
    found: TopologySet
    mined: Mined
    weight: float = 1.0
    agent: bytes | None = None
    name: str = "topologies"

    def __len__(self) -> int:
        return len(self.found)

    def rows(self, queries: Queries) -> Ragged:
        """Return the topologies that connect each query."""
        connecting = apply_topologies(self.process, queries, self.found)
        if self.weight == 1:
            return connecting
        values = np.full(len(connecting.columns), np.float32(self.weight))
        return replace(connecting, values=values)

    def names(self, column: int) -> tuple[str, ...]:
        """Return the actions of a topology."""
        return tuple(to_names(self.found.sequences[column], self.predicates))

    def connection(self, queries: Queries, column: int) -> Connection | None:
        """Return how a topology connects the first query, or None if it does not."""
        return connect(self.process, queries, self.found.sequences[column])

    def on(self, graph: TemporalGraph) -> "Topologies":
        """Return the same topologies on another graph."""
        return replace(self, process=replace(self.process, graph=graph))

    def report(self) -> dict[str, Any]:
        """Return the proportion of training episodes in which the sides met."""
        tried, connected = sum(self.mined.tried.values()), sum(self.mined.connected.values())
        return {"mining_success": connected / tried if tried else None}

    def files(self) -> dict[str, bytes]:
        """Return the files to store: the topologies with their counts, and the agent."""
        names, mined = self.predicates, self.mined
        stored = {
            "topologies": [to_names(sequence, names) for sequence in self.found.sequences],
            "mined": [
                [names[m.predicate], to_names(m.sequence, names), m.queries, list(m.examples)]
                for m in mined.topologies
            ],
            "tried": {names[predicate]: count for predicate, count in mined.tried.items()},
            "connected": {names[predicate]: count for predicate, count in mined.connected.items()},
        }
        agent = {} if self.agent is None else {AGENT: self.agent}
        text = json.dumps(stored, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        return {TOPOLOGIES: text.encode(), **agent}


def topologies_of(model: Model) -> Topologies | None:
    """Return a model's topologies, or None if it has none."""
    return next((part for part in model.added if isinstance(part, Topologies)), None)


def trained_agent(model: Model) -> "Agent | None":
    """Return the agent that found a model's topologies, on its training facts; None if none did."""
    part = topologies_of(model)
    if part is None or part.agent is None:
        return None
    from apptek.paper.agent import Agent  # needs torch

    process = DecisionProcess(with_training_facts(model).graph, model.config.agent)
    return Agent(process, part.agent)


def mined_topologies(
    model: Model, predicates: Sequence[int], top: int
) -> dict[str, list[dict[str, Any]]]:
    """Return each predicate's topologies for JSON, ordered by the episodes they connected.

    connected  how many episodes of the predicate's training queries the topology connected
    share      `connected` as a proportion of all these episodes
    weight     the topology's contribution to the predicate's score if it connects a query
    examples   the facts behind some of the connected queries
    """
    part, data, space = topologies_of(model), model.dataset, model.space(model.main_view)
    if part is None:
        raise ApptekError(
            "the model has no topologies: fit it with --model paper, or list its features with "
            "`apptek info MODEL --rules FILE`"
        )
    first, weights, mined = space.first(part.name), model.main.classifier.weights, part.mined
    column_of = {sequence: first + row for row, sequence in enumerate(part.found.sequences)}
    return {
        data.predicates[predicate]: [
            {
                "topology": to_names(each.sequence, data.predicates),
                "connected": each.queries,
                "share": each.queries / mined.tried[predicate],
                "weight": float(weights[column_of[each.sequence], predicate]),
                "examples": [data.describe(data.train, fact) for fact in each.examples],
            }
            for each in mined.of_predicate(predicate)[:top]
        ]
        for predicate in predicates
    }


def load_topologies(files: Mapping[str, bytes], found: Found) -> Topologies:
    """Read the files that `Topologies.files` returned."""
    stored, names = json.loads(files[TOPOLOGIES]), found.predicates
    topologies = topology_set(from_names(each, names) for each in stored["topologies"])
    counts = (
        {from_names([name], names)[0]: count for name, count in stored[key].items()}
        for key in ("tried", "connected")
    )
    mined = tuple(
        MinedTopology(
            from_names([predicate], names)[0], from_names(sequence, names), count, tuple(examples)
        )
        for predicate, sequence, count, examples in stored["mined"]
    )
    agent = files.get(AGENT)
    process, weight = DecisionProcess(found.graph, found.config.agent), found.config.features
    return Topologies(
        process, names, topologies, Mined(mined, *counts), weight.topology_weight, agent
    )


def fit_topologies(task: FamilyFit) -> Topologies:
    """Find the topologies that connect the training queries, using the configured policy."""
    found = task.found
    process = DecisionProcess(found.graph, found.config.agent)
    mined, agent = discover(task, process)
    weight = found.config.features.topology_weight
    return Topologies(
        process, found.predicates, topology_set(mined.sequences()), mined, weight, agent
    )


FAMILY = FeatureFamily(fit_topologies, load_topologies)


@one_torch_thread()
def discover(task: FamilyFit, process: DecisionProcess) -> tuple[Mined, bytes | None]:
    """Mine topologies with the configured policy; return them and the agent's weights."""
    config, queries, predicates = (
        task.found.config.mining, training_queries(task.train), task.train.predicates
    )  # fmt: skip
    if config.policy == "one-step":
        return _one_step(process, predicates), None
    weights, play_all = None, partial(play, process, queries, "random")
    if config.policy == "agent":
        from apptek.paper.agent import Agent

        weights = _agent_weights(task, process, queries)
        play_all = partial(Agent(process, weights).play, queries, epsilon=config.epsilon)
    with task.stage("mine"):
        rollouts = (play_all(seed=task.seed + number) for number in range(config.rollouts))
        return mine(rollouts, predicates, config.top), weights


def _agent_weights(task: FamilyFit, process: DecisionProcess, queries: Queries) -> bytes:
    """Return the weights of the user's agent, of an interrupted fit's agent, or of a new agent."""
    from apptek.paper.agent import check_agent
    from apptek.paper.trainer import Trainer

    if task.agent is not None:
        check_agent(task.agent, process.config, task.train.digest())
        return (task.agent / AGENT).read_bytes()
    make_folder(task.folder)
    cache = StageCache(task.folder)
    stored = cache.load(STAGE)
    if stored is not None:
        return stored[0]["weights"].tobytes()
    with task.stage(STAGE):
        trainer = Trainer(process, queries, seed=task.seed)
        weights = trainer.run(partial(task.progress, STAGE)).weights()
    cache.save(STAGE, {"weights": np.frombuffer(weights, np.uint8)})
    return weights


def _one_step(process: DecisionProcess, predicates: Ints) -> Mined:
    """Return every action as a one-step topology: a control that needs no episodes."""
    trail = np.arange(process.action_count, dtype=np.int32)[:, None]
    episodes = Episodes(np.ones(len(trail), np.bool_), trail, np.ones_like(trail))
    return mine([episodes], np.resize(predicates[:1], len(trail)), len(trail))
