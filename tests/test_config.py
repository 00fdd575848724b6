import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apptek.config import AgentConfig, preset


@given(steps=st.integers(0, 10**7))
def test_epsilon_agrees_with_its_formula(steps: int) -> None:
    assert AgentConfig().epsilon(steps) == pytest.approx(0.05 + 0.95 * math.exp(-1e-5 * steps))


def test_epsilon_falls_from_its_start_to_its_end() -> None:
    config = AgentConfig(epsilon_start=0.8, epsilon_end=0.1, epsilon_decay=1e-3)
    assert config.epsilon(0) == pytest.approx(0.8)
    assert config.epsilon(10**6) == pytest.approx(0.1)
    assert config.epsilon(100) > config.epsilon(101)


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
