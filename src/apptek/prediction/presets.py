"""All settings of a fit, by section, and the presets."""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from apptek.config import AgentConfig
from apptek.errors import ConfigError
from apptek.prediction.features import FeaturesConfig
from apptek.prediction.fitting import ClassifierConfig
from apptek.prediction.reranking import RerankerConfig
from apptek.topologies.history import HistoryConfig
from apptek.topologies.mining import Keep
from apptek.topologies.traits import TraitsConfig

Policy = Literal["agent", "random", "one-step", "two-step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningConfig:
    """Where topologies come from, and how many are kept."""

    policy: Policy = "agent"  # random, one-step and two-step (all of them, enumerated): controls
    keep: Keep = "frequent"  # informative: by what they say of the predicate
    top: int = 25  # [m] topologies kept for each predicate
    rollouts: int = 2  # episodes of every training query
    epsilon: float = 0.6  # the agent's share of random actions while mining

    def __post_init__(self) -> None:
        if self.policy not in get_args(Policy):
            raise ConfigError(f"mining.policy must be one of {', '.join(get_args(Policy))}")
        if self.keep not in get_args(Keep):
            raise ConfigError(f"mining.keep must be one of {', '.join(get_args(Keep))}")
        for name in ("top", "rollouts"):
            if getattr(self, name) < 1:
                raise ConfigError(f"mining.{name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.epsilon <= 1:
            raise ConfigError(f"mining.epsilon must be from 0 to 1, not {self.epsilon}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting of a fit."""

    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    traits: TraitsConfig = field(default_factory=TraitsConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    mining: MiningConfig = field(default_factory=MiningConfig)
    classifier: ClassifierConfig = field(default_factory=ClassifierConfig)
    reranker: RerankerConfig = field(default_factory=RerankerConfig)

    def __post_init__(self) -> None:
        if self.reranker.rounds and "history" not in self.features.parts:
            raise ConfigError("a re-ranker needs the features of history: see features.parts")


DEFAULT = "default"
_DEFAULT = Config(
    features=FeaturesConfig(parts=("history", "traits"), topology_weight=0.1),
    classifier=ClassifierConfig(epochs=3, l2=(0.0,)),
)
PRESETS: dict[str, Config] = {
    DEFAULT: _DEFAULT,
    "max": replace(_DEFAULT, reranker=RerankerConfig(rounds=100)),
    "paper": Config(features=FeaturesConfig(parts=("topologies",))),
}


def preset(name: str) -> Config:
    """The settings of a preset; ConfigError names the known ones."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]
