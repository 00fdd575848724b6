import json
import re
from dataclasses import asdict, replace

import pytest
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
        ("mining.policy", "'agent', 'random', 'one-step' or 'two-step'", ["guess"]),
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


@pytest.mark.parametrize("text", ["smoothing=[]", "backoff=[0.0]", "floor=[2.0]", "most_queries=0"])
def test_settings_of_a_baseline_have_limits_too(text: str) -> None:
    key = text.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"^counting\.{key}(\.0)? must be .+, not "):
        with_settings(preset_of("pair", "default"), [f"counting.{text}"])


def test_trees_need_the_history() -> None:
    with pytest.raises(ConfigError, match="needs history in features"):
        with_settings(preset("max"), ['features.parts=["traits"]'])


def test_python_code_meets_the_same_rules() -> None:
    for wrong in ({"tknn": 0}, {"tkn": 5}, {"q_hidden": [16]}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            AgentConfig(**wrong)
    with pytest.raises(ValidationError, match="tknn"):
        replace(AgentConfig(), tknn=0)


def test_presets_are_known_by_name() -> None:
    assert preset("paper").agent.discount == 0.99
    with pytest.raises(ConfigError, match="known: default, max, paper"):
        preset("papr")


def test_a_section_that_is_younger_than_a_model_has_its_defaults() -> None:
    config = with_settings(preset("default"), ["fit.queries=5", "history.pair_facts=7"])
    stored = json.loads(json.dumps(asdict(config)))
    assert config_from_json(Config, stored) == config
    del stored["fit"]
    assert config_from_json(Config, stored) == replace(config, fit=Config().fit)
