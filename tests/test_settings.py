import json
import math
import re
from dataclasses import FrozenInstanceError, asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from apptek.config import AgentConfig, Config, preset
from apptek.errors import ConfigError
from apptek.models.registry import preset_of
from apptek.setting_rules import config_from_json, with_settings


def test_settings_are_read_in_the_type_of_their_declaration() -> None:
    changed = with_settings(
        Config(),
        [
            "agent.tknn=5",
            "agent.discount=1",
            "agent.traversal=outgoing",
            "agent.q_hidden=[8, 8]",
            "mining.policy=random",
            "classifier.l2=[1.5]",
        ],
    )
    assert changed.agent.tknn == 5
    assert changed.agent.discount == 1.0
    assert changed.agent.traversal == "outgoing"
    assert changed.agent.q_hidden == (8, 8)
    assert changed.mining.policy == "random"
    assert changed.classifier.l2 == (1.5,)
    assert Config().agent.tknn == 25


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent.tknn", "expected section.key=value"),
        ("tknn=5", "expected section.key=value"),
        ("agant.tknn=5", "did you mean agent?"),
        ("agent.tkn=5", "did you mean tknn?"),
    ],
)
def test_a_setting_that_is_unknown_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_settings(Config(), [text])


@pytest.mark.parametrize(
    ("name", "allowed", "values"),
    [
        ("agent.tknn", "greater than or equal to 1", ["0", "-3"]),
        ("agent.tknn", "a valid integer", ["five", "5.5", "true"]),
        ("agent.tknn_strict", "a valid boolean", ["1", "x"]),
        ("agent.traversal", "'both' or 'outgoing'", ["sideways"]),
        ("agent.discount", "less than or equal to 1", ["1.1"]),
        ("agent.epochs", "greater than 0", ["0.0"]),
        ("agent.epochs", "a finite number", ["Infinity", "NaN"]),
        ("agent.q_hidden", "a valid array", ["16"]),
        ("agent.q_hidden.0", "a valid integer", ['["a"]']),
        ("agent.fingerprint_hidden.1", "greater than 0", ["[16, 0]"]),
        ("history.families", "a list of different values", ["[]", '["pair", "pair"]']),
        ("history.families.0", "'pair', 'reversed', .+ or 'object_in'", ['["friends"]']),
        ("history.pair_facts", "less than or equal to 1024", ["1025"]),
        ("history.profile_weight", "less than 100", ["100"]),
        ("traits.entities", "greater than or equal to 0", ["-1"]),
        ("mining.policy", "'agent', 'random' or 'one-step'", ["guess"]),
        ("classifier.l2", "a list of different values", ["[]", "[1.0, 1.0]"]),
        ("classifier.l2.0", "greater than or equal to 0", ["[-1.0]"]),
        ("classifier.l2.0", "a valid number", ["[[1]]"]),
        ("reranker.learning_rate", "greater than 0", ["0.0"]),
        ("reranker.leaves", "less than or equal to 1000", ["131073"]),
    ],
)
def test_an_error_names_the_setting_what_it_may_be_and_what_was_found(
    name: str, allowed: str, values: list[str]
) -> None:
    section, key, *_ = name.split(".")
    for written in values:
        with pytest.raises(ConfigError, match=rf"^{re.escape(name)} must be {allowed}, not .+$"):
            with_settings(Config(), [f"{section}.{key}={written}"])


@pytest.mark.parametrize(
    ("name", "changes"),
    {
        "pair": ["counting.smoothing=[]", "counting.backoff=[0.0]", "counting.most_queries=0"],
        "tnt_complex": ["model.rank=0", "model.n3=-1.0"],
        "de_simple": ["model.temporal_share=1.5", "training.learning_rate=0.0", "model.rank=3"],
        "re_gcn": ["model.kernel=2", "training.objective=nothing"],
    }.items(),
)
def test_settings_of_a_baseline_have_limits_too(name: str, changes: list[str]) -> None:
    for change in changes:
        key = change.partition("=")[0].partition(".")[2]
        with pytest.raises(ConfigError, match=key):
            with_settings(preset_of(name, "default"), [change])


def test_trees_need_the_history() -> None:
    with pytest.raises(ConfigError, match="needs history in features"):
        with_settings(preset("max"), ['features.parts=["traits"]'])


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
