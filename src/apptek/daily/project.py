"""The project file `apptek.toml`: what a daily run reads, fits, watches and writes."""

import json
import re
import tomllib
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from apptek.errors import ConfigError
from apptek.forecast.window import Length
from apptek.reading.options import ReadOptions
from apptek.setting_rules import checked_dataclass, setting

STATE = "{model}-forecasts"  # the folder for stored forecasts, next to the model's folder
_UNKNOWN = "unexpected_keyword_argument"  # pydantic's name for this error


@checked_dataclass
class Source(ReadOptions):
    """Where the facts are, and how to read them. Every `read_dataset` option is a key."""

    data: str | list[str]  # files, a folder, a pattern or the URL of a database
    delay: int = setting(1, "steps between now and the last observed step: 1 is yesterday", ge=0)
    late: int = setting(
        7, "for a database: the number of recent steps to read again, to find late facts", ge=0
    )


@checked_dataclass
class ModelSection:
    """The model: its folder, and how to fit it if it does not exist yet."""

    folder: str = setting("model", "the folder", min_length=1)
    preset: Literal["default", "max", "paper"] = setting("default", "what is fitted")
    seed: int = setting(0, "the random seed", ge=0)
    set: list[str] = setting([], "settings such as 'classifier.epochs=5'")
    predicates: str | None = setting(None, "a table of predicates, or none")
    aliases: str | None = setting(None, "a table of aliases")
    types: str | None = setting(None, "a table of entity types")


@checked_dataclass
class Watch(Length):
    """The watch list and its alerts; keys have the names of the `watch` options."""

    pairs: str | None = setting(None, "a file of pairs; without it, the pairs that change most")
    top: int = setting(20, "the number of pairs without a file", ge=1)
    entity: list[str] = setting([], "only pairs with one of these")
    country: list[str] = setting([], "only pairs with an entity of one of these")
    predicate: str | None = setting(None, "only events with this predicate")
    class_: str | None = setting(None, "only events of this class", alias="class")
    group: str | None = setting(None, "only events of this group")
    alerts: list[str] = setting([], "rules such as 'rise > 20'")

    def length(self) -> dict[str, Any]:
        """Return the length of the window as a keyword of `Predictor.watch`."""
        return {name: getattr(self, name) for name in self.given()}


@checked_dataclass
class Outputs:
    """Additional outputs of a run: files, or database tables (URL#TABLE)."""

    watch: list[str] = setting([], "the watch list")
    alerts: list[str] = setting([], "the alerts, as a table")
    page: str = setting("how-good.html", "how good the forecasts were", pattern=r"\.html$")


@checked_dataclass
class Project:
    """A project; paths are relative to the project file's folder.

    name  stored in the model, so that a run never changes another project's model
    """

    name: str
    source: Source
    model: ModelSection = setting(ModelSection(), "the model")
    watch: Watch = setting(Watch(), "the watch list")
    outputs: Outputs = setting(Outputs(), "what is written")

    @property
    def state(self) -> Path:
        """The folder for stored forecasts."""
        return state_of(Path(self.model.folder))


def state_of(model: Path) -> Path:
    """Return the folder for a model's stored forecasts."""
    return model.with_name(STATE.format(model=model.name))


def read_project(path: Path) -> Project:
    """Read a project file. A ConfigError names the line of an error and similar keys."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.dumps(tomllib.loads(text), default=str)  # strict JSON allows lists, dicts
        return TypeAdapter(Project).validate_json(content)
    except OSError as error:
        hint = "; docs/operations.md has an example" if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(f"{path}: {error.strerror}{hint}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda each: each["type"] != _UNKNOWN)
        raise ConfigError(_problem(path, text, problems[0])) from None


def _problem(path: Path, text: str, error: Any) -> str:
    """Return what is wrong with a key, and in which line."""
    *sections, key = [str(part) for part in error["loc"] if not isinstance(part, int)][:2]
    where = f"{path}:{_line_of(text, sections, key)}"
    inside = f" in [{sections[0]}]" if sections else ""
    if error["type"] == _UNKNOWN:
        kind: Any = {f.name: f.type for f in fields(Project)}[sections[0]] if sections else Project
        known = [field.name.rstrip("_") for field in fields(kind)]
        near = get_close_matches(key, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
        return f"{where}: unknown key {key!r}{inside}; {hint}"
    if error["type"] == "missing":
        return f"{where}: {key}{inside} is missing"
    if error["type"] == "value_error":
        return f"{where}: {error['ctx']['error']}"
    rule = re.sub(r"^\w+ should ", "", error["msg"]).replace("an object", "a [section]")
    return f"{where}: {key}{inside} must {rule}, not {error['input']!r}"


def _line_of(text: str, sections: list[str], key: str) -> int:
    """Return the line where a section or its key is set, or 1 if it is not set."""
    current: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\].\s]+)", line):
            current = [header[1].strip("\"'")]
        named = re.match(r"\s*[\"']?([\w-]+)[\"']?\s*[=.]", line)
        if current == sections and named and named[1] == key:
            return number
        if header and not sections and current == [key]:
            return number
    return 1
