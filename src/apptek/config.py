"""Every setting, declared once with its default and refused when senseless."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from apptek.errors import ConfigError

Traversal = Literal["both", "outgoing", "tagged"]
Reward = Literal["connection", "information"]
MOST_PARALLEL = 64  # more episodes at once would overwrite a replay of 1,000 every few steps

_COUNTS = (
    "max_steps", "tknn", "replay_size", "batch_size", "parallel", "predicate_size", "time_size",
    "fingerprint_size",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """How the agent explores, what it sees and how it learns. In brackets the paper's symbols."""

    max_steps: int = 5  # [I] expansions per episode
    tknn: int = 25  # temporally nearest facts kept per entity
    traversal: Traversal = "both"  # tagged: inverse predicates are actions of their own
    reward: Reward = "connection"  # information: how much likelier it makes the predicate
    discount: float = 0.99  # [gamma]
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_decay: float = 1e-5  # per environment step
    replay_size: int = 1000  # [D] transitions
    batch_size: int = 64
    replay_ratio: float = 1.0  # transitions learned per transition collected
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    epochs: float = 1.0  # episodes per training fact
    parallel: int = 64  # episodes at once
    predicate_size: int = 10  # [d_r]
    time_size: int = 10  # [d_t]
    fingerprint_hidden: tuple[int, ...] = (16, 16)
    fingerprint_size: int = 16  # [d_f]
    q_hidden: tuple[int, ...] = (16, 32)
    target_network: int = 0  # copied every so many updates; 0: there is none
    double_q: bool = False

    def __post_init__(self) -> None:
        for name in _COUNTS:
            self._require(name, getattr(self, name) >= 1, "at least 1")
        self._require("parallel", self.parallel <= MOST_PARALLEL, f"at most {MOST_PARALLEL}")
        self._require("traversal", self.traversal in get_args(Traversal), _one_of(Traversal))
        self._require("reward", self.reward in get_args(Reward), _one_of(Reward))
        for name in ("discount", "epsilon_start", "epsilon_end"):
            self._require(name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
        for name in ("replay_ratio", "learning_rate", "epochs"):
            self._require(name, 0 < getattr(self, name) < math.inf, "above 0")
        for name in ("epsilon_decay", "weight_decay"):
            self._require(name, 0 <= getattr(self, name) < math.inf, "at least 0")
        for name in ("fingerprint_hidden", "q_hidden"):
            sizes = getattr(self, name)
            self._require(name, all(size >= 1 for size in sizes), "layers of at least 1 neuron")
        self._require("target_network", self.target_network >= 0, "at least 0")
        if self.double_q and not self.target_network:
            raise ConfigError("agent.double_q needs a target network: set agent.target_network")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigError(f"agent.{name} must be {what}, not {getattr(self, name)!r}")

    def epsilon(self, steps: int) -> float:
        """The probability of a random action after so many environment steps."""
        fading = math.exp(-self.epsilon_decay * steps)
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * fading


def _one_of(choices: object) -> str:
    return "one of " + ", ".join(get_args(choices))
