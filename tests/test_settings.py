import json
import math
from dataclasses import FrozenInstanceError, asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from apptek.config import AgentConfig, Config, preset
from apptek.setting_rules import config_from_json, with_settings


def test_python_code_meets_the_same_rules() -> None:
    for wrong in ({"tknn": 0}, {"tkn": 5}, {"q_hidden": [16]}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            AgentConfig(**wrong)
    with pytest.raises(ValidationError, match="tknn"):
        replace(AgentConfig(), tknn=0)
    with pytest.raises(FrozenInstanceError):
        AgentConfig().tknn = 5  # type: ignore[misc]


def test_a_section_that_is_younger_than_a_model_has_its_defaults() -> None:
    config = with_settings(preset("default"), ["fit.queries=5", "history.pair_facts=7"])
    stored = json.loads(json.dumps(asdict(config)))
    assert config_from_json(Config, stored) == config
    del stored["fit"]
    assert config_from_json(Config, stored) == replace(config, fit=Config().fit)


def test_the_agent_has_the_printed_hyperparameters() -> None:
    """Section 4.1 of the paper, "Implementation Details"; 25 is the tknn of its Table 3."""
    printed = {
        "max_steps": 5, "predicate_size": 10, "time_size": 10, "fingerprint_hidden": (16, 16),
        "fingerprint_size": 16, "q_hidden": (16, 32), "weight_decay": 0.0001, "discount": 0.99,
        "replay_size": 1000, "learning_rate": 0.0001, "batch_size": 64, "epsilon_start": 1.0,
        "epsilon_end": 0.05, "epsilon_decay": 0.00001, "tknn": 25, "target_network": 0,
    }  # fmt: skip
    agent = asdict(preset("paper").agent)
    assert {name: agent[name] for name in printed} == printed
    assert preset("paper").mining.top == 25  # m, one of 15, 25 and 50


def test_the_paper_s_classifier_does_not_follow_other_fits() -> None:
    """The recorded runs of `--model paper` have these settings (docs/deviations.md)."""
    recorded = {
        "epochs": 5, "learning_rate": 0.1, "accumulator": 1.0, "l2": (1.0, 3.0, 10.0, 30.0),
        "counting": (0.0,), "patience": 2,
    }  # fmt: skip
    classifier = asdict(preset("paper").classifier)
    assert {name: classifier[name] for name in recorded} == recorded


@given(steps=st.integers(0, 10**7), low=st.floats(0, 1), high=st.floats(0, 1))
def test_epsilon_agrees_with_its_formula(steps: int, low: float, high: float) -> None:
    config = AgentConfig(epsilon_start=high, epsilon_end=low)
    assert config.epsilon(steps) == pytest.approx(low + (high - low) * math.exp(-1e-5 * steps))
