import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apptek.config import AgentConfig, FeaturesConfig, preset
from apptek.errors import ApptekError, ConfigError


@given(steps=st.integers(0, 10**7))
def test_epsilon_agrees_with_its_formula(steps: int) -> None:
    assert AgentConfig().epsilon(steps) == pytest.approx(0.05 + 0.95 * math.exp(-1e-5 * steps))


def test_epsilon_falls_from_its_start_to_its_end() -> None:
    config = AgentConfig(epsilon_start=0.8, epsilon_end=0.1, epsilon_decay=1e-3)
    assert config.epsilon(0) == pytest.approx(0.8)
    assert config.epsilon(10**6) == pytest.approx(0.1)
    assert config.epsilon(100) > config.epsilon(101)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_steps", 0), ("tknn", 0), ("tknn", -3), ("traversal", "incoming"), ("discount", 1.1),
        ("discount", math.nan), ("epsilon_start", -0.1), ("epsilon_end", 2.0),
        ("epsilon_decay", -1e-5), ("replay_size", 0), ("batch_size", 0), ("replay_ratio", 0.0),
        ("learning_rate", 0.0), ("learning_rate", math.nan), ("weight_decay", -1.0),
        ("epochs", 0.0), ("epochs", math.inf), ("parallel", 0), ("parallel", 65),
        ("predicate_size", 0), ("time_size", 0), ("fingerprint_size", 0),
        ("fingerprint_hidden", (16, 0)), ("q_hidden", (-1,)), ("target_network", -1),
        ("reward", "often"), ("tknn_strict", 2),
    ],
)  # fmt: skip
def test_a_senseless_setting_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^agent\.{name} [^\n]+$") as caught:
        AgentConfig(**{name: value})
    assert isinstance(caught.value, ApptekError)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="tkn"):
        AgentConfig(tkn=5)  # type: ignore[call-arg]


def test_settings_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        AgentConfig().tknn = 5  # type: ignore[misc]


def test_the_agent_has_the_printed_hyperparameters() -> None:
    """Section 4.1 of the paper, "Implementation Details"; 25 is the tknn of its Table 3."""
    printed = {
        "max_steps": 5, "predicate_size": 10, "time_size": 10, "fingerprint_hidden": (16, 16),
        "fingerprint_size": 16, "q_hidden": (16, 32), "weight_decay": 0.0001, "discount": 0.99,
        "replay_size": 1000, "learning_rate": 0.0001, "batch_size": 64, "epsilon_start": 1.0,
        "epsilon_end": 0.05, "epsilon_decay": 0.00001, "tknn": 25, "target_network": 0,
    }  # fmt: skip
    agent = dataclasses.asdict(preset("paper").agent)
    assert {name: agent[name] for name in printed} == printed
    assert preset("paper").mining.top == 25  # m, one of 15, 25 and 50


def test_a_switch_is_true_or_false() -> None:
    with pytest.raises(ConfigError, match=r"features\.past_only must be true or false, not 'x'"):
        FeaturesConfig(past_only="x")  # type: ignore[arg-type]
