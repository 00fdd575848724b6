"""A trained agent: its network, with the settings and facts needed to play episodes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save

from apptek.arrays import Ints
from apptek.config import AgentConfig
from apptek.errors import ApptekError, ConfigError
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.dqn import FrozenPolicy, build_network, random_legal
from apptek.paper.environment import Choose, DecisionProcess, Environment, Episodes, play_in_chunks
from apptek.paper.fingerprint import QNetwork, masked_argmax
from apptek.paper.states import pair_table
from apptek.reading.reader import read_dataset
from apptek.seeding import generator
from apptek.setting_rules import config_from_json

WEIGHTS = "agent.safetensors"
DATA = "data.json"  # the file that identifies the agent's training data
CHUNK = 1024  # episodes that a thread plays at a time


class Agent:
    """A trained Q-network with the facts that it was trained on."""

    def __init__(self, process: DecisionProcess, weights: bytes) -> None:
        table = pair_table(process.graph.facts)
        network = build_network(
            table, process.action_count, process.config, rng=generator(0, "network")
        )
        try:
            network.load_state_dict(load(weights))
        except (RuntimeError, SafetensorError):
            raise ApptekError(
                "the agent was trained on different facts or with different settings"
            ) from None
        self.process, self.pair_of_fact = process, table.pair_of_fact
        self.policy = FrozenPolicy(network)

    @classmethod
    def load(cls, folder: Path, data: Dataset | None = None) -> "tuple[Agent, Dataset]":
        """Load an agent and its data, either the data set recorded in its folder or `data`.

        Raise ApptekError if the folder does not contain a trained agent, or if the agent was
        trained on different facts.
        """
        config, digest = trained_with(folder)
        if data is None:
            source = json.loads((folder / DATA).read_text(encoding="utf-8"))
            data = read_dataset(source["data"], **source["read_with"])
        if data.train.digest() != digest:
            raise ApptekError(f"{folder} was trained on different facts from those of {data.name}")
        process = DecisionProcess(TemporalGraph.of(data), config)
        return cls(process, (folder / WEIGHTS).read_bytes()), data

    def values(self, environment: Environment) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """Return the Q-values, (B, actions); illegal actions are minus infinity."""
        values = self.policy.values(environment.states(self.pair_of_fact))
        return np.where(environment.legal, values, np.float32(-np.inf))

    def play(self, queries: Queries, *, epsilon: float = 0.0, seed: int = 0) -> Episodes:
        """Play each episode to its end, always taking the best legal action.

        A proportion `epsilon` of the actions is random; each chunk has its own random stream.
        """

        def policy(start: int) -> Choose:
            rng = generator(seed, f"exploring from {start}")

            def choose(environment: Environment) -> Ints:
                legal = environment.legal
                values = self.policy.values(environment.states(self.pair_of_fact))
                actions = masked_argmax(values, legal)
                if not epsilon:
                    return actions
                explore = rng.random(len(actions)) < epsilon
                return np.where(explore, random_legal(legal, rng=rng), actions)

            return choose

        return play_in_chunks(self.process, queries, policy, chunk=CHUNK)


def pack(network: QNetwork, config: AgentConfig, digest: str) -> bytes:
    """Return a network's weights, with its settings and the digest of its facts."""
    weights = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    about = json.dumps({"settings": asdict(config), "data": digest})
    # Store a single key, because safetensors does not preserve the order of keys.
    return save(weights, metadata={"agent": about})


def trained_with(folder: Path) -> tuple[AgentConfig, str]:
    """Return the settings of a trained agent and the digest of its facts."""
    try:
        with safe_open(folder / WEIGHTS, framework="numpy") as file:
            about = json.loads(file.metadata()["agent"])
        return config_from_json(AgentConfig, about["settings"]), about["data"]
    except (ConfigError, OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        why = "is damaged" if (folder / WEIGHTS).exists() else "contains no trained agent"
        raise ApptekError(f"{folder} {why}: train one with `apptek paper train`") from error


def check_agent(folder: Path, config: AgentConfig, facts_digest: str) -> None:
    """Raise ApptekError if the agent was trained on different facts or settings than the model."""
    trained, digest = trained_with(folder)
    if digest != facts_digest:
        raise ApptekError(f"{folder} was trained on different facts from the model's")
    ours, theirs = asdict(config), asdict(trained)
    changed = [f"agent.{name}={theirs[name]}" for name in ours if ours[name] != theirs[name]]
    if changed:
        raise ApptekError(
            f"{folder} was trained with {', '.join(changed)}: set the same values with --set"
        )
