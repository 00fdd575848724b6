"""Every setting of a fit, by section, and the presets. Baselines declare their own beside them."""

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
Progress = Callable[[str, int, int], None]  # told what is being done, how much of it, of how much

FEATURE_PARTS = ["history", "traits", "topologies"]  # features/space.py adds more
FEATURE_GROUP = "apptek.features"  # of entry points
VIEWS: tuple[View, ...] = get_args(View)
FAMILIES: tuple[Family, ...] = get_args(Family)
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
DEFAULT_KERNELS = tuple(name for name in KERNELS if name != "close")
MOST_HISTORY_FACTS = 1024  # the kernels look at no more facts of a profile than these
MOST_PARALLEL = 64  # more episodes at once would overwrite a replay of 1,000 every few steps


def no_progress(_state: str, _done: int, _total: int) -> None:
    """Ignore progress."""


@checked_dataclass
class FeaturesConfig:
    """Which features there are, and which facts they see."""

    parts: tuple[str, ...] = setting(tuple(FEATURE_PARTS), "some of history, traits, topologies")
    topology_weight: float = setting(1.0, "the value of each", gt=0, lt=100)
    past_only: bool = setting(False, "forecasting: fit the view past_only alone")

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
    """Which facts of the pair and of both entities count, and how much."""

    families: Different[Family] = setting(
        FAMILIES,
        "whose facts: of the pair, of the reversed pair, from and to the subject, and the object",
    )
    kernels: Different[Kernel] = setting(DEFAULT_KERNELS, "how facts fade with time")
    pair_facts: int = setting(
        40, "[K] nearest facts between the two that count, each way", ge=1, le=MOST_HISTORY_FACTS
    )
    profile_facts: int = setting(
        60, "[K] nearest facts with others that count, of each profile", ge=1, le=MOST_HISTORY_FACTS
    )
    pair_weight: float = setting(1.0, "weight of facts between the two", gt=0, lt=100)
    profile_weight: float = setting(0.4, "weight of facts with others", gt=0, lt=100)


@checked_dataclass
class TraitsConfig:
    """Which tokens describe the entities, and how much they count."""

    weight: float = setting(1.0, "the value of a token", gt=0, lt=100)
    entities: int = setting(50_000, "so many, with most facts, have their own token", ge=0)
    types: bool = setting(True, "tokens for what entities are, such as sector and country")


@checked_dataclass
class AgentConfig:
    """How the agent explores, what it sees and how it learns. In brackets the paper's symbols."""

    max_steps: int = setting(5, "[I] expansions per episode", ge=1)
    tknn: int = setting(25, "temporally nearest facts kept per entity", ge=1)
    tknn_strict: bool = setting(False, "only facts nearer than the k-th: the letter of Eq. 3")
    traversal: Traversal = setting("both", "facts that expand; outgoing: the letter of Eq. 3")
    reward: Reward = setting(
        "reached", "literal: a side has no entity before it has a fact, the letter of Eq. 8"
    )
    discount: float = setting(0.99, "[gamma] of rewards a step later", ge=0, le=1)
    epsilon_start: float = setting(1.0, "share of random actions at first", ge=0, le=1)
    epsilon_end: float = setting(0.05, "share of random actions in the end", ge=0, le=1)
    epsilon_decay: float = setting(1e-5, "how fast that share falls, per step", ge=0)
    replay_size: int = setting(1000, "[D] transitions", ge=1)
    batch_size: int = setting(64, "transitions of an update", ge=1)
    replay_ratio: float = setting(1.0, "transitions learned per transition collected", gt=0)
    learning_rate: float = setting(1e-4, "of RMSprop", gt=0)
    weight_decay: float = setting(1e-4, "of RMSprop", ge=0)
    epochs: float = setting(1.0, "episodes per training fact", gt=0)
    parallel: int = setting(64, "episodes at once", ge=1, le=MOST_PARALLEL)
    predicate_size: int = setting(10, "[d_r] numbers for a predicate", ge=1)
    time_size: int = setting(10, "[d_t] numbers for a time", ge=1)
    fingerprint_hidden: tuple[PositiveInt, ...] = setting(
        (16, 16), "layers of the network that makes the fingerprint"
    )
    fingerprint_size: int = setting(16, "[d_f] numbers of the fingerprint", ge=1)
    q_hidden: tuple[PositiveInt, ...] = setting((16, 32), "layers of the network of values")
    fingerprint: FingerprintKind = setting(
        "paper",
        "marked: of each fact also if it is in the core, and if the other side knows its end",
    )
    hide_query: bool = setting(True, "false: a training query sees its own fact")
    target_network: int = setting(0, "copied every so many updates; 0: there is none", ge=0)

    def epsilon(self, steps: int) -> float:
        """Return the probability of a random action after so many environment steps."""
        fading = math.exp(-self.epsilon_decay * steps)
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * fading


@checked_dataclass
class MiningConfig:
    """Where topologies come from, and how many are kept."""

    policy: Policy = setting("agent", "random and one-step (every predicate alone) are controls")
    top: int = setting(25, "[m] most frequent topologies kept for each predicate", ge=1)
    rollouts: int = setting(2, "episodes of every training query", ge=1)
    epsilon: float = setting(0.6, "share of random actions while mining", ge=0, le=1)


@checked_dataclass
class FitConfig:
    """How many queries a fit looks at; of more, so many are drawn."""

    queries: int = setting(
        1_000_000, "most queries of train, drawn evenly over time and predicates", ge=1
    )
    tuning_queries: int = setting(100_000, "most queries of valid, drawn in the same way", ge=1)


@checked_dataclass
class ClassifierConfig:
    """How the linear softmax is fitted."""

    epochs: int = setting(5, "passes; the learning rate falls to 0 by then", ge=1)
    learning_rate: float = setting(0.1, "of Adagrad", gt=0)
    accumulator: float = setting(1.0, "squared gradients before the first example", gt=0)
    l2: Different[NonNegativeFloat] = setting(
        (1.0, 3.0, 10.0, 30.0),
        "strengths of regularisation that are tried on valid; 1 / C of scikit-learn",
    )
    counting: Different[NonNegativeFloat] = setting(
        (0.0,), "weights of counting beside the features that are tried on valid; [0]: none"
    )
    patience: int = setting(2, "epochs without a better MRR on valid before stopping", ge=1)
    copies: bool = setting(True, "shared weights of features that speak of a predicate")


@checked_dataclass
class RerankerConfig:
    """The trees that order the best candidates once more, and what they are trained on."""

    rounds: int = setting(0, "trees; 0: there is no re-ranker", ge=0, le=10_000)
    candidates: int = setting(20, "predicates of a query that are ordered once more", ge=2)
    folds: int = setting(
        3,
        "parts of the training queries; each is scored by a linear model fitted without it",
        ge=2,
        le=50,
    )
    queries: int = setting(100_000, "most training queries that are used", ge=1)
    learning_rate: float = setting(0.1, "the step of a tree", gt=0, le=1)
    leaves: int = setting(31, "most leaves of a tree", ge=2, le=1000)
    least_rows: int = setting(100, "fewest candidates in a leaf", ge=1)


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
        """The views that are fitted. Topologies are mined for one view, so there is only that."""
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
        # Written out: the recorded runs must not change with what other fits start from.
        classifier=ClassifierConfig(epochs=5, l2=(1.0, 3.0, 10.0, 30.0), counting=(0.0,)),
    ),
}


def preset(name: str) -> Config:
    """Return the settings of a preset; ConfigError lists the known ones."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]


def nearest_preset(config: Config) -> str:
    """Return the preset from which a config differs in the fewest settings."""
    return min(PRESETS, key=lambda name: len(changed_settings(config, PRESETS[name])))
