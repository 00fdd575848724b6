import json
from dataclasses import asdict, replace

import pytest

from apptek.config import Config, MiningConfig, preset
from apptek.errors import ConfigError
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
        ("agent.tknn=five", "expected int"),
        ("agent.tknn=5.5", "expected int"),
        ("agent.tknn=true", "expected int"),
        ("agent.tknn_strict=1", "expected bool"),
        ("agent.q_hidden=16", r"expected a list, as \[16, 16\]"),
        ('agent.q_hidden=["a"]', "found 'a' in the list, expected int"),
        ("classifier.l2=[[1]]", r"found \[1\] in the list, expected float"),
        ("agent.tknn=0", "agent.tknn must be at least 1"),
        ("agent.traversal=sideways", "agent.traversal must be one of"),
        ("mining.top=0", "mining.top must be at least 1"),
        ("mining.policy=guess", "mining.policy must be one of"),
    ],
)
def test_a_setting_that_is_unknown_or_senseless_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_settings(Config(), [text])


def test_presets_are_known_by_name() -> None:
    assert preset("paper").agent.discount == 0.99
    with pytest.raises(ConfigError, match="known: default, max, paper"):
        preset("papr")
    with pytest.raises(ConfigError, match="from 0 to 1"):
        MiningConfig(epsilon=2.0)


def test_a_section_that_is_younger_than_a_model_has_its_defaults() -> None:
    config = with_settings(preset("default"), ["fit.queries=5", "history.pair_facts=7"])
    stored = json.loads(json.dumps(asdict(config)))
    assert config_from_json(Config(), stored) == config
    del stored["fit"]
    assert config_from_json(Config(), stored) == replace(config, fit=Config().fit)
