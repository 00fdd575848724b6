"""How settings are declared, checked, changed with `--set section.key=value`, and stored as JSON.

A section is a frozen dataclass. Each setting has a default, a description and rules, which pydantic
checks:

    @checked_dataclass
    class MiningConfig:
        top: int = setting(25, "number of most frequent topologies per predicate", ge=1)

A config is a `checked_dataclass` whose fields are sections.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

from apptek.errors import ConfigError

Value = TypeVar("Value")
Config = TypeVar("Config")
_adapter = cache(TypeAdapter)
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def checked_dataclass(kind: type[Value]) -> type[Value]:
    """Make a frozen dataclass that raises pydantic's ValidationError for invalid values."""
    strict = dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
    return strict(kind)  # type: ignore[return-value]


def setting(default: Value, description: str, **rules: Any) -> Value:
    """Declare a setting. `rules` are arguments of pydantic.Field, such as ge and lt."""
    declared: Value = Field(default, description=description, **rules)
    return declared


def _check_different(values: tuple[Value, ...]) -> tuple[Value, ...]:
    if not 0 < len(values) == len(set(values)):
        raise PydanticCustomError("different", "Input should be a list of different values")
    return values


# A list of at least one value, all different.
Different = Annotated[tuple[Value, ...], AfterValidator(_check_different)]


def with_settings(config: Config, settings: Sequence[str]) -> Config:
    """Return the config with changed settings, given as texts such as agent.tknn=5."""
    values: dict[str, Any] = asdict(config)  # type: ignore[call-overload]
    for text in settings:
        name, equals, written = text.partition("=")
        section, dot, key = name.partition(".")
        if not (equals and dot):
            raise ConfigError(f"--set {text}: expected section.key=value, such as agent.tknn=25")
        for word, known in ((section, values), (key, values.get(section, {}))):
            if word not in known:
                near = get_close_matches(word, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise ConfigError(f"--set {text}: there is no {word!r}; {hint}")
        value: Any = written
        if not isinstance(values[section][key], str):
            with suppress(ValueError):  # words that are not JSON violate a rule below
                value = json.loads(written)
        values[section][key] = value
    return config_from_json(type(config), values)


def config_from_json(kind: type[Config], stored: Mapping[str, Any]) -> Config:
    """Return the config that `dataclasses.asdict` converted to JSON. Bad values raise ConfigError.

    A setting missing from the JSON gets its default.
    """
    adapter: TypeAdapter[Config] = _adapter(kind)  # type: ignore[arg-type]
    try:
        return adapter.validate_json(json.dumps(stored), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the settings"
        if first["type"] == "unexpected_keyword_argument":
            raise ConfigError(f"there is no setting {name}") from None
        rule = first["msg"].removeprefix("Input should ")
        raise ConfigError(f"{name} must {rule}, not {first['input']!r}") from None


def changed_settings(config: Any, base: Any) -> dict[str, Any]:
    """Return the settings, by section.key, that differ between two configs of the same type."""
    before = asdict(base)
    return {
        f"{section}.{key}": value
        for section, values in asdict(config).items()
        for key, value in values.items()
        if value != before[section][key]
    }


def setting_texts(settings: Mapping[str, Any]) -> list[str]:
    """Return values by section.key as texts for `with_settings`."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    ]
