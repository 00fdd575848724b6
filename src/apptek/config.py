"""All settings of a fit, by section, and the presets. Each baseline declares its own settings."""

import math
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Literal, get_args

from pydantic import NonNegativeFloat, PositiveInt

from apptek.errors import ConfigError
from apptek.setting_rules import Different, changed_settings, checked_dataclass, setting

Traversal = Literal["both", "outgoing"]
Reward = Literal["reached", "literal"]
FingerprintKind = Literal["paper", "marked"]
Policy = Literal["agent", "random", "one-step"]
Family = Literal["pair", "reversed", "subject_out", "subject_in", "object_out", "object_in"]
Kernel = Literal[
    "same", "before", "after", "close", "short", "middle", "long", "ever",
    "undated", "undated ever", "both undated",
]  # fmt: skip
# A query sees all facts but its own, or only facts before its time.
View = Literal["all_facts", "past_only"]
Progress = Callable[[str, int, int], None]  # receives the stage, the amount done and the total

FEATURE_PARTS = ["history", "traits", "topologies"]  # features/space.py adds more
FEATURE_GROUP = "apptek.features"  # group of the entry points
VIEWS: tuple[View, ...] = get_args(View)
FAMILIES: tuple[Family, ...] = get_args(Family)
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
DEFAULT_KERNELS = tuple(name for name in KERNELS if name != "close")
MOST_HISTORY_FACTS = 1024  # the kernels read at most this many facts of a profile
MOST_PARALLEL = 64  # more would overwrite a replay buffer of 1,000 every few steps


def no_progress(_state: str, _done: int, _total: int) -> None:
    """Ignore progress."""


@checked_dataclass
class FeaturesConfig:
    """The features to use, and the facts that they see."""

    parts: tuple[str, ...] = setting(
        tuple(FEATURE_PARTS), "one or more of history, traits, topologies"
    )
    topology_weight: float = setting(1.0, "value of each topology feature", gt=0, lt=100)
    past_only: bool = setting(False, "for forecasting: fit only the past_only view")

    def __post_init__(self) -> None:
        known, parts = FEATURE_PARTS, list(self.parts)
        if not set(parts) <= set(known):
            known = [*known, *(point.name for point in entry_points(group=FEATURE_GROUP))]
        if not parts or [part for part in dict.fromkeys(known) if part in parts] != parts:
            raise ConfigError(
                f"features.parts must be some of {', '.join(known)}, in this order, "
                f"not {', '.join(parts) or 'none'}"
            )


@checked_dataclass
class HistoryConfig:
    """Which facts about the pair and about each entity count, and how much."""

    families: Different[Family] = setting(
        FAMILIES,
        "which facts count: the pair's, the reversed pair's, and those from and to each entity",
    )
    kernels: Different[Kernel] = setting(DEFAULT_KERNELS, "how the weight of facts fades with time")
    pair_facts: int = setting(
        40,
        "[K] number of nearest facts of the pair to use in each direction",
        ge=1,
        le=MOST_HISTORY_FACTS,
    )
    profile_facts: int = setting(
        60,
        "[K] number of nearest facts with other entities to use per profile",
        ge=1,
        le=MOST_HISTORY_FACTS,
    )
    pair_weight: float = setting(1.0, "weight of the pair's facts", gt=0, lt=100)
    profile_weight: float = setting(0.4, "weight of facts with other entities", gt=0, lt=100)


@checked_dataclass
class TraitsConfig:
    """Which tokens describe the entities, and how much the tokens count."""

    weight: float = setting(1.0, "value of each token", gt=0, lt=100)
    entities: int = setting(
        50_000, "number of entities with a token of their own (those with the most facts)", ge=0
    )
    types: bool = setting(True, "add tokens for entity types, such as sector and country")


@checked_dataclass
class AgentConfig:
    """How the agent explores, sees and learns. The paper's symbols are in brackets."""

    max_steps: int = setting(5, "[I] expansions per episode", ge=1)
    tknn: int = setting(25, "temporally nearest facts kept per entity", ge=1)
    tknn_strict: bool = setting(
        False, "keep only facts nearer than the k-th, as Eq. 3 literally says"
    )
    traversal: Traversal = setting("both", "facts to expand along; outgoing: Eq. 3 literally")
    reward: Reward = setting("reached", "literal: as in Eq. 8, a side is empty until it has a fact")
    discount: float = setting(0.99, "[gamma] discount per step for later rewards", ge=0, le=1)
    epsilon_start: float = setting(1.0, "initial proportion of random actions", ge=0, le=1)
    epsilon_end: float = setting(0.05, "final proportion of random actions", ge=0, le=1)
    epsilon_decay: float = setting(1e-5, "decay rate of that proportion per step", ge=0)
    replay_size: int = setting(1000, "[D] transitions in the replay buffer", ge=1)
    batch_size: int = setting(64, "transitions per update", ge=1)
    replay_ratio: float = setting(1.0, "transitions learned per transition collected", gt=0)
    learning_rate: float = setting(1e-4, "learning rate of RMSprop", gt=0)
    weight_decay: float = setting(1e-4, "weight decay of RMSprop", ge=0)
    epochs: float = setting(1.0, "episodes per training fact", gt=0)
    parallel: int = setting(64, "episodes that run at once", ge=1, le=MOST_PARALLEL)
    predicate_size: int = setting(10, "[d_r] size of a predicate's embedding", ge=1)
    time_size: int = setting(10, "[d_t] size of a time's embedding", ge=1)
    fingerprint_hidden: tuple[PositiveInt, ...] = setting(
        (16, 16), "layer sizes of the fingerprint network"
    )
    fingerprint_size: int = setting(16, "[d_f] size of the fingerprint", ge=1)
    q_hidden: tuple[PositiveInt, ...] = setting((16, 32), "layer sizes of the Q-network")
    fingerprint: FingerprintKind = setting(
        "paper",
        "marked: also encodes if a fact is in the core, and if the other side knows its end",
    )
    hide_query: bool = setting(True, "false lets a training query see its own fact")
    target_network: int = setting(
        0, "updates between copies to the target network; 0: no target network", ge=0
    )

    def epsilon(self, steps: int) -> float:
        """Return the probability of a random action after this number of environment steps."""
        fading = math.exp(-self.epsilon_decay * steps)
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * fading


@checked_dataclass
class MiningConfig:
    """How topologies are mined, and how many are kept."""

    policy: Policy = setting("agent", "random and one-step (each predicate by itself) are controls")
    top: int = setting(25, "[m] number of most frequent topologies kept per predicate", ge=1)
    rollouts: int = setting(2, "episodes per training query", ge=1)
    epsilon: float = setting(0.6, "proportion of random actions while mining", ge=0, le=1)


@checked_dataclass
class FitConfig:
    """The maximum number of queries that a fit uses. Larger sets are sampled."""

    queries: int = setting(
        1_000_000, "max. training queries, sampled evenly over time and predicates", ge=1
    )
    tuning_queries: int = setting(100_000, "max. validation queries, sampled in the same way", ge=1)


@checked_dataclass
class ClassifierConfig:
    """How the linear softmax is fitted."""

    epochs: int = setting(5, "passes over the data; the learning rate falls to 0 at the end", ge=1)
    learning_rate: float = setting(0.1, "learning rate of Adagrad", gt=0)
    accumulator: float = setting(1.0, "initial sum of squared gradients", gt=0)
    l2: Different[NonNegativeFloat] = setting(
        (1.0, 3.0, 10.0, 30.0),
        "regularisation strengths to try on the validation set; scikit-learn's 1 / C",
    )
    counting: Different[NonNegativeFloat] = setting(
        (0.0,), "weights of the counting model to try on the validation set; [0]: no counting"
    )
    patience: int = setting(2, "epochs without a better validation MRR before stopping", ge=1)
    copies: bool = setting(True, "share the weights of features that refer to a predicate")


@checked_dataclass
class RerankerConfig:
    """The trees that re-rank the best candidates, and their training data."""

    rounds: int = setting(0, "number of trees; 0: no re-ranker", ge=0, le=10_000)
    candidates: int = setting(20, "predicates per query to re-rank", ge=2)
    folds: int = setting(
        3,
        "folds of the training queries; each is scored by a linear model fitted on the others",
        ge=2,
        le=50,
    )
    queries: int = setting(100_000, "max. training queries to use", ge=1)
    learning_rate: float = setting(0.1, "learning rate of the trees", gt=0, le=1)
    leaves: int = setting(31, "max. leaves per tree", ge=2, le=1000)
    least_rows: int = setting(100, "min. candidates per leaf", ge=1)


@checked_dataclass
class Config:
    """Every setting of a fit."""

    features: FeaturesConfig = FeaturesConfig()
    history: HistoryConfig = HistoryConfig()
    traits: TraitsConfig = TraitsConfig()
    agent: AgentConfig = AgentConfig()
    mining: MiningConfig = MiningConfig()
    fit: FitConfig = FitConfig()
    classifier: ClassifierConfig = ClassifierConfig()
    reranker: RerankerConfig = RerankerConfig()

    def __post_init__(self) -> None:
        if self.reranker.rounds and "history" not in self.features.parts:
            raise ConfigError("the re-ranker needs history in features.parts")

    @property
    def views(self) -> tuple[View, ...]:
        """The views to fit. Topologies are mined for one view, so only that view is fitted."""
        if self.features.past_only:
            return ("past_only",)
        return ("all_facts",) if "topologies" in self.features.parts else VIEWS


DEFAULT = "default"
_DEFAULT = Config(
    features=FeaturesConfig(parts=("history", "traits"), topology_weight=0.1),
    classifier=ClassifierConfig(
        epochs=3,
        l2=(3.0,),
        counting=(0.3, 0.0, 0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
    ),
)
PRESETS: dict[str, Config] = {
    DEFAULT: _DEFAULT,
    "max": replace(
        _DEFAULT,
        reranker=RerankerConfig(
            rounds=250,
            candidates=12,
            folds=4,
            queries=250_000,
            learning_rate=0.15,
            least_rows=150,
        ),
    ),
    "paper": Config(
        features=FeaturesConfig(parts=("topologies",)),
        # Written out, so that changes to the defaults do not affect the recorded runs.
        classifier=ClassifierConfig(epochs=5, l2=(1.0, 3.0, 10.0, 30.0), counting=(0.0,)),
    ),
}


def preset(name: str) -> Config:
    """Return a preset's settings. Raise ConfigError, listing the known presets, for other names."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]


def nearest_preset(config: Config) -> str:
    """Return the preset that differs from a config in the fewest settings."""
    return min(PRESETS, key=lambda name: len(changed_settings(config, PRESETS[name])))
