"""Every setting of a fit, by section, and the presets. Baselines declare their own beside them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import Literal, get_args

from apptek.errors import ConfigError
from apptek.setting_rules import (
    above,
    at_least,
    between,
    changed_settings,
    check_section,
    each,
    one_of,
    positive_share,
    setting,
    some,
)

Traversal = Literal["both", "outgoing"]
Reward = Literal["reached", "literal"]
FingerprintKind = Literal["paper", "marked"]
Policy = Literal["agent", "random", "one-step", "two-step"]
# A query sees all facts but its own, or only what was known before its time.
View = Literal["all_facts", "past_only"]
Progress = Callable[[str, int, int], None]  # told what is being done, how much of it, of how much

FEATURE_PARTS = ["history", "traits", "topologies"]  # features/families.py adds more
FEATURE_GROUP = "apptek.features"  # of entry points
VIEWS: tuple[View, ...] = get_args(View)
FAMILIES = ("pair", "reversed", "subject_out", "subject_in", "object_out", "object_in")
KERNELS = (
    "same", "before", "after", "close", "short", "middle", "long", "ever",
    "undated", "undated ever", "both undated",
)  # fmt: skip
DEFAULT_KERNELS = tuple(name for name in KERNELS if name != "close")
MOST_HISTORY_FACTS = 1024  # the kernels look at no more facts of a profile than these
MOST_PARALLEL = 64  # more episodes at once would overwrite a replay of 1,000 every few steps


def no_progress(_state: str, _done: int, _total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesConfig:
    """Which features there are, and which facts they see."""

    parts: tuple[str, ...] = tuple(FEATURE_PARTS)  # some of history, traits, topologies
    topology_weight: float = setting(1.0, above(0, below=100))  # the value of each
    past_only: bool = False  # forecasting: fit the view past_only alone

    def __post_init__(self) -> None:
        check_section("features", self)
        known, parts = FEATURE_PARTS, list(self.parts)
        if not set(parts) <= set(known):
            known = [*known, *(point.name for point in entry_points(group=FEATURE_GROUP))]
        if not parts or [part for part in dict.fromkeys(known) if part in parts] != parts:
            raise ConfigError(
                f"features.parts must be some of {', '.join(known)}, in this order, "
                f"not {', '.join(parts) or 'none'}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryConfig:
    """Which facts of the pair and of both entities count, and how much."""

    # whose facts: of the pair, of the reversed pair, from and to the subject, and the object
    families: tuple[str, ...] = setting(FAMILIES, some(one_of(FAMILIES)))
    # how facts fade with their distance in time
    kernels: tuple[str, ...] = setting(DEFAULT_KERNELS, some(one_of(KERNELS)))
    # [K] nearest facts between the two that count, in each direction
    pair_facts: int = setting(40, between(1, MOST_HISTORY_FACTS))
    # [K] nearest facts with others that count, of each profile
    profile_facts: int = setting(60, between(1, MOST_HISTORY_FACTS))
    pair_weight: float = setting(1.0, above(0, below=100))  # weight of facts between the two
    profile_weight: float = setting(0.4, above(0, below=100))  # weight of facts with others

    def __post_init__(self) -> None:
        check_section("history", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitsConfig:
    """Which tokens describe the entities, and how much they count."""

    weight: float = setting(1.0, above(0, below=100))  # the value of a token
    entities: int = setting(50_000, at_least(0))  # so many, with most facts, have their own token
    types: bool = True  # tokens for what entities are, such as sector and country

    def __post_init__(self) -> None:
        check_section("traits", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """How the agent explores, what it sees and how it learns. In brackets the paper's symbols."""

    max_steps: int = setting(5, at_least(1))  # [I] expansions per episode
    tknn: int = setting(25, at_least(1))  # temporally nearest facts kept per entity
    tknn_strict: bool = False  # only facts nearer than the k-th: the letter of the paper's Eq. 3
    # facts that expand an entity; outgoing: the letter of Eq. 3
    traversal: Traversal = setting("both", one_of(get_args(Traversal)))
    # literal: a side has no entity before it has a fact, the letter of Eq. 8
    reward: Reward = setting("reached", one_of(get_args(Reward)))
    discount: float = setting(0.99, between(0, 1))  # [gamma] of rewards a step later
    epsilon_start: float = setting(1.0, between(0, 1))  # share of random actions at first
    epsilon_end: float = setting(0.05, between(0, 1))  # share of random actions in the end
    epsilon_decay: float = setting(1e-5, at_least(0))  # how fast that share falls, per step
    replay_size: int = setting(1000, at_least(1))  # [D] transitions
    batch_size: int = setting(64, at_least(1))  # transitions of an update
    replay_ratio: float = setting(1.0, above(0))  # transitions learned per transition collected
    learning_rate: float = setting(1e-4, above(0))  # of RMSprop
    weight_decay: float = setting(1e-4, at_least(0))  # of RMSprop
    epochs: float = setting(1.0, above(0))  # episodes per training fact
    parallel: int = setting(64, between(1, MOST_PARALLEL))  # episodes at once
    predicate_size: int = setting(10, at_least(1))  # [d_r] numbers for a predicate
    time_size: int = setting(10, at_least(1))  # [d_t] numbers for a time
    # layers of the network that makes the fingerprint
    fingerprint_hidden: tuple[int, ...] = setting((16, 16), each(at_least(1), "layers of"))
    fingerprint_size: int = setting(16, at_least(1))  # [d_f] numbers of the fingerprint
    # layers of the network that values actions
    q_hidden: tuple[int, ...] = setting((16, 32), each(at_least(1), "layers of"))
    # marked: of each fact also whether it is in the core, and whether the other side knows its end
    fingerprint: FingerprintKind = setting("paper", one_of(get_args(FingerprintKind)))
    hide_query: bool = True  # False: a training query sees its own fact; never for features
    target_network: int = setting(0, at_least(0))  # copied every so many updates; 0: there is none

    def __post_init__(self) -> None:
        check_section("agent", self)

    def epsilon(self, steps: int) -> float:
        """The probability of a random action after so many environment steps."""
        fading = math.exp(-self.epsilon_decay * steps)
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * fading


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningConfig:
    """Where topologies come from, and how many are kept."""

    # random, one-step and two-step (all of them, enumerated) are controls
    policy: Policy = setting("agent", one_of(get_args(Policy)))
    top: int = setting(25, at_least(1))  # [m] most frequent topologies kept for each predicate
    rollouts: int = setting(2, at_least(1))  # episodes of every training query
    epsilon: float = setting(0.6, between(0, 1))  # share of random actions while mining

    def __post_init__(self) -> None:
        check_section("mining", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """How many queries a fit looks at; of more, so many are drawn."""

    # most queries of train, drawn evenly over time and predicates
    queries: int = setting(1_000_000, at_least(1))
    tuning_queries: int = setting(100_000, at_least(1))  # most queries of valid, drawn likewise

    def __post_init__(self) -> None:
        check_section("fit", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierConfig:
    """How the linear softmax is fitted."""

    epochs: int = setting(5, at_least(1))  # passes; the learning rate falls to 0 by then
    learning_rate: float = setting(0.1, above(0))  # of Adagrad
    accumulator: float = setting(1.0, above(0))  # squared gradients before the first example
    # strengths of regularisation that are tried on valid; 1 / C of scikit-learn
    l2: tuple[float, ...] = setting((1.0, 3.0, 10.0, 30.0), some(at_least(0)))
    patience: int = setting(2, at_least(1))  # epochs without a better MRR on valid before stopping
    copies: bool = True  # shared weights of features that speak of a predicate

    def __post_init__(self) -> None:
        check_section("classifier", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerConfig:
    """The trees that order the best candidates once more, and what they are trained on."""

    rounds: int = setting(0, between(0, 10_000))  # trees of a member; 0: there is no re-ranker
    members: int = setting(1, between(1, 20))  # sequences of trees whose mean is added
    candidates: int = setting(20, at_least(2))  # predicates of a query that are ordered once more
    # parts of the training queries; each is scored by a linear model fitted without it
    folds: int = setting(3, between(2, 50))
    queries: int = setting(100_000, at_least(1))  # most training queries that are used
    learning_rate: float = setting(0.1, positive_share())  # the step of a tree
    leaves: int = setting(31, between(2, 1000))  # most leaves of a tree
    least_rows: int = setting(100, at_least(1))  # fewest candidates in a leaf

    def __post_init__(self) -> None:
        check_section("reranker", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting of a fit."""

    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    traits: TraitsConfig = field(default_factory=TraitsConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    mining: MiningConfig = field(default_factory=MiningConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    classifier: ClassifierConfig = field(default_factory=ClassifierConfig)
    reranker: RerankerConfig = field(default_factory=RerankerConfig)

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
    classifier=ClassifierConfig(epochs=3, l2=(0.0,)),
)
PRESETS: dict[str, Config] = {
    DEFAULT: _DEFAULT,
    "max": replace(
        _DEFAULT,
        reranker=RerankerConfig(
            rounds=250,
            members=2,
            candidates=12,
            folds=4,
            queries=250_000,
            learning_rate=0.15,
            least_rows=150,
        ),
    ),
    "paper": Config(features=FeaturesConfig(parts=("topologies",))),
}


def preset(name: str) -> Config:
    """The settings of a preset; ConfigError lists the known ones."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]


def nearest_preset(config: Config) -> str:
    """The preset from which a config differs in the fewest settings."""
    return min(PRESETS, key=lambda name: len(changed_settings(config, PRESETS[name])))
