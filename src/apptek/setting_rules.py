"""How settings are declared, checked, changed by `--set section.key=value`, and kept as JSON.

A section is a frozen dataclass. Each setting is declared once, with its default and the rule that
every value must keep:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class MiningConfig:
        top: int = setting(25, at_least(1))
        epsilon: float = setting(0.6, between(0, 1))

        def __post_init__(self) -> None:
            check_section("mining", self)

A config is a frozen dataclass whose fields are sections.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from apptek.errors import ConfigError

Value = TypeVar("Value")
Config = TypeVar("Config")


class Rule(NamedTuple):
    """What a value must keep; `words` completes the sentence "it must be ..."."""

    holds: Callable[[Any], bool]
    words: str


def at_least(least: float) -> Rule:
    """A finite number from `least` on."""
    return Rule(lambda value: least <= value < math.inf, f"at least {least:g}")


def above(bound: float, *, below: float = math.inf) -> Rule:
    """A finite number above a bound, and below another one where that is given."""
    words = f"above {bound:g}" if below == math.inf else f"above {bound:g} and below {below:g}"
    return Rule(lambda value: bound < value < below, words)


def positive_share() -> Rule:
    """A number above 0 that is at most 1."""
    return Rule(lambda value: 0 < value <= 1, "above 0 and at most 1")


def between(least: float, most: float) -> Rule:
    """A number from `least` to `most`, both included."""
    return Rule(lambda value: least <= value <= most, f"from {least:g} to {most:g}")


def share_below_1() -> Rule:
    """A number from 0 on that stays below 1."""
    return Rule(lambda value: 0 <= value < 1, "from 0 to below 1")


def one_of(choices: Iterable[str]) -> Rule:
    """One of some words."""
    known = tuple(choices)
    return Rule(lambda value: value in known, f"one of {', '.join(known)}")


def each(rule: Rule, noun: str = "values") -> Rule:
    """A list in which every value keeps a rule; it may be empty."""
    return Rule(lambda values: all(map(rule.holds, values)), f"a list of {noun} {rule.words}")


def some(rule: Rule) -> Rule:
    """A list of different values, at least one, each of which keeps a rule."""
    return Rule(
        lambda values: 0 < len(values) == len(set(values)) and all(map(rule.holds, values)),
        f"a list of different values, each {rule.words}",
    )


def setting(default: Value, rule: Rule) -> Value:
    """The default of a setting together with the rule that its values must keep."""
    return field(default=default, metadata={"rule": rule})


def check_section(name: str, section: Any) -> None:
    """Raises ConfigError for the first setting of a section that breaks its rule."""
    for declared in fields(section):
        rule, value = declared.metadata.get("rule"), getattr(section, declared.name)
        if declared.type is bool and type(value) is not bool:
            raise ConfigError(f"{name}.{declared.name} must be true or false, not {value!r}")
        if rule is not None and not rule.holds(value):
            raise ConfigError(f"{name}.{declared.name} must be {rule.words}, not {value!r}")


def with_settings(config: Config, settings: Sequence[str]) -> Config:
    """The config with some settings changed, given as texts such as agent.tknn=5."""
    changes: dict[str, dict[str, Any]] = {}
    for text in settings:
        section, key, value = _split(text)
        values = _find(text, section, values_of(config))
        changes.setdefault(section, {})[key] = _parse(text, value, _find(text, key, values))
    sections = {name: replace(getattr(config, name), **new) for name, new in changes.items()}
    return replace(config, **sections)  # type: ignore[type-var]


def values_of(config: Any) -> dict[str, dict[str, Any]]:
    """All values of a config, by section and key."""
    sections = {section.name: getattr(config, section.name) for section in fields(config)}
    return {
        name: {key.name: getattr(section, key.name) for key in fields(section)}
        for name, section in sections.items()
    }


def changed_settings(config: Any, base: Any) -> dict[str, Any]:
    """The settings, by section.key, in which a config differs from another of its kind."""
    before = values_of(base)
    return {
        f"{section}.{key}": value
        for section, values in values_of(config).items()
        for key, value in values.items()
        if value != before[section][key]
    }


def setting_texts(settings: Mapping[str, Any]) -> list[str]:
    """Values by section.key as the texts that `with_settings` takes."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    ]


def config_from_json(default: Config, stored: Mapping[str, Mapping[str, Any]]) -> Config:
    """The config that `dataclasses.asdict` has turned into JSON; `default` gives its classes.

    A section that is younger than what is stored has its defaults.
    """
    sections = {
        section.name: type(getattr(default, section.name))(
            **{
                key: tuple(value) if isinstance(value, list) else value
                for key, value in stored.get(section.name, {}).items()
            }
        )
        for section in fields(default)  # type: ignore[arg-type]
    }
    return type(default)(**sections)


def _split(text: str) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    section, dot, key = name.partition(".")
    if not (equals and dot):
        raise ConfigError(f"--set {text}: expected section.key=value, such as agent.tknn=25")
    return section, key, value


def _find(text: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
        raise ConfigError(f"--set {text}: there is no {name!r}{hint}")
    return known[name]


def _parse(text: str, written: str, default: Any) -> Any:
    """The value in the type of the setting's default."""
    if isinstance(default, str):
        return written
    try:
        value = json.loads(written)
    except ValueError:
        value = None
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(_parse_element(text, element, default) for element in value)
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if type(value) is not type(default):
        kind = "a list, as [16, 16]" if isinstance(default, tuple) else type(default).__name__
        raise ConfigError(f"--set {text}: found {written!r}, expected {kind}")
    return value


def _parse_element(text: str, value: Any, default: tuple[Any, ...]) -> Any:
    """An element of a list, in the type of those that the default holds."""
    kind = type(default[0]) if default else type(value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"--set {text}: found {value!r} in the list, expected {kind.__name__}")
    return value
