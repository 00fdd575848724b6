"""Settings outside of their limits are refused by their names, in one line."""

import math
from typing import Any

import pytest

from apptek.config import (
    ClassifierConfig,
    FeaturesConfig,
    HistoryConfig,
    RerankerConfig,
    TraitsConfig,
    preset,
)
from apptek.errors import ConfigError
from apptek.models.counting.scorers import CountingConfig
from apptek.setting_rules import with_settings

SECTIONS: dict[str, Any] = {
    "classifier": ClassifierConfig, "counting": CountingConfig, "features": FeaturesConfig,
    "history": HistoryConfig, "reranker": RerankerConfig, "traits": TraitsConfig,
}  # fmt: skip
LIST = "must be a list of different values, each"


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("classifier.epochs", 0, "must be at least 1, not 0"),
        ("classifier.patience", 0, "must be at least 1"),
        ("classifier.learning_rate", 0.0, "must be above 0"),
        ("classifier.accumulator", math.nan, "must be above 0"),
        *(("classifier.l2", bad, f"{LIST} at least 0") for bad in ((), (-1.0,), (1.0, 1.0))),
        ("counting.smoothing", (), ""),
        ("counting.backoff", (0.0,), ""),
        ("counting.floor", (2.0,), ""),
        ("counting.most_queries", 0, ""),
        *(
            ("features.parts", bad, "must be some of history, traits")
            for bad in ((), ("traits", "history"), ("history", "history"), ("topologies", "traits"))
        ),
        *(
            ("history.families", bad, f"{LIST} one of pair")
            for bad in (("pair",) * 2, ("friends",))
        ),
        ("history.kernels", ("soon",), f"{LIST} one of same"),
        ("history.pair_facts", 0, "must be from 1 to 1024, not 0"),
        ("history.profile_facts", 1025, "must be from 1 to 1024, not 1025"),
        ("history.pair_weight", 0.0, "must be above 0"),
        ("history.profile_weight", math.nan, "must be above 0"),
        ("reranker.folds", 5000, "must be from 2 to 50"),
        ("reranker.leaves", 131_073, "must be from 2 to 1000"),
        ("reranker.members", 1000, "must be from 1 to 20"),
        ("reranker.candidates", 1, "must be at least 2"),
        ("reranker.learning_rate", 0.0, ""),
        *(("traits.weight", bad, "must be above 0") for bad in (0.0, math.nan)),
        ("traits.entities", -1, "must be at least 0"),
    ],
)
def test_a_setting_outside_of_its_limits_is_refused(name: str, value: Any, rule: str) -> None:
    section, key = name.split(".")
    with pytest.raises(ConfigError, match=rf"^{name} {rule}.*$"):
        SECTIONS[section](**{key: value})


def test_trees_need_the_history() -> None:
    with pytest.raises(ConfigError, match="needs history in features"):
        with_settings(preset("max"), ['features.parts=["traits"]'])
