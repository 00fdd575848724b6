"""Write the generated parts of the docs: `make docs`."""

import inspect
import json
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer
from pydantic import TypeAdapter
from typer.cli import get_docs_for_click

from apptek.cli import app
from apptek.config import DEFAULT, PRESETS, Config
from apptek.research.provenance import read_runs
from apptek.research.result import read_results
from apptek.research.tables import markdown, title_of
from apptek.results import (
    NOTE_KINDS,
    ActorForecast,
    Answer,
    AuditReport,
    Contrast,
    Counterfactual,
    EntityRanking,
    Explanation,
    Forecast,
    WatchList,
)
from apptek.setting_rules import changed_settings
from tools.dependencies import licence_table
from tools.docs_tables import docs_tables, settings_unlike_preset, with_block, with_tables
from tools.service_docs import http_fields_page, tools_and_arguments

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/audit.md",
    "docs/deviations.md",
    "docs/faithfulness.md",
    "docs/reliability.md",
    "docs/results.md",
    "docs/scale.md",
)

SETTINGS_TITLE = """# Settings

This page lists every setting of `fit`: its meaning, the allowed values, the value in the preset
`default`, and the values in `max` and `paper` if they differ. `--set reranker.rounds=100` changes a
setting and can be repeated. Write lists as in JSON: `--set 'classifier.l2=[0.0, 3.0]'`. A model's
`model.json` contains the settings of its fit. `make docs` rebuilds this page.

If recorded runs changed a single setting, a table of measured effects shows the change in MRR, the
data and the split. The runs of `default` are older than the fit that starts from counting. Each
value comes from one seed, so differences below .002 may be due to chance
([results.md](results.md)).
"""
# Runs with the preset's settings, compared with runs that change a single setting.
USUAL_RUNS = (
    "ablation-icews14-full",
    "apptek_default-icews05-15-official-seed0",
    "apptek_paper-icews14-paper-seed0",
)

RESULTS = {
    Answer: "`predict --json`, `Predictor.predict`",
    Explanation: "`explain --json`, `Predictor.explain`, `POST /api/explain`",
    Contrast: "`explain --versus TIME --json`, `Predictor.contrast`",
    Counterfactual: "`explain --counterfactual --json`, `Predictor.counterfactual`, "
    "`POST /api/counterfactual`",
    ActorForecast: "`forecast MODEL ACTOR --json`, `Predictor.forecast(actor)`, "
    "`POST /api/partners`",
    EntityRanking: "`predict MODEL SUBJECT ? TIME --predicate P --json`, "
    "`Predictor.rank_entities`, `POST /api/rank-entities`",
    Forecast: "`forecast --json`, `Predictor.forecast`, `POST /api/forecast`",
    WatchList: "`watch --json`, `watch --out FILE.json`, `Predictor.watch`, `GET /api/watch`",
    AuditReport: "`audit --json`, `audit --out FILE.json`",
}
FIELDS_TITLE = """# Fields of results

A result has the same fields in Python, in `--json` and over HTTP. The tables below come from the
dataclasses in `src/apptek/results.py`. `apptek.results.to_dict(result)` turns a result into plain
values for JSON. A number that is not finite becomes null. `make docs` rebuilds this page.

A few places differ. `predict --json` adds `similar`, `explain --json` adds `calibrated`, and
`audit --json` adds `out`. [http.md](http.md) describes what HTTP adds, and the fields of
`POST /api/predict`. The assistant tools ([mcp.md](mcp.md)) return fewer fields.
"""
TYPES = {str: "text", int: "integer", float: "number", bool: "true or false", NoneType: "null"}
TYPES_OF_SCHEMA = {
    "string": "text", "integer": "integer", "number": "number", "boolean": "true or false",
}  # fmt: skip


def cli_docs() -> str:
    """Return the page of all commands."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="apptek")
    return get_docs_for_click(obj=command, ctx=context, name="apptek").strip() + "\n"


def page_with_tables(name: str) -> str:
    """Return a page whose tables come from the recorded results."""
    text = (ROOT / name).read_text(encoding="utf-8")
    tables = docs_tables(read_runs(ROOT / "paper" / "runs.toml"))
    return with_tables(text, read_results(ROOT / "paper" / "results"), tables)


def settings_page() -> str:
    """Return the page of all settings: meaning, allowed values, and each preset's values."""
    parts = [SETTINGS_TITLE]
    usual = asdict(PRESETS[DEFAULT])
    others = {n: changed_settings(c, PRESETS[DEFAULT]) for n, c in PRESETS.items()}
    effects = measured_effects()
    for section in fields(Config):
        kind = type(getattr(PRESETS[DEFAULT], section.name))
        declared = TypeAdapter(kind).json_schema()["properties"]
        rows = [
            {
                "setting": f"`{section.name}.{key.name}`",
                "meaning": declared[key.name]["description"],
                "allowed values": allowed_words(declared[key.name]),
                "default": json.dumps(usual[section.name][key.name]),
                "other presets": ", ".join(
                    f"{name}: {json.dumps(changed[name_of_key])}"
                    for name, changed in others.items()
                    if (name_of_key := f"{section.name}.{key.name}") in changed
                ),
            }
            for key in fields(kind)
        ]
        parts.append(f"## {section.name}\n\n{inspect.getdoc(kind)}\n\n{markdown(rows)}\n")
        if measured := [effect for effect in effects if f"`{section.name}." in effect["setting"]]:
            parts.append(f"Measured effect:\n\n{markdown(measured)}\n")
    return "\n".join(parts)


def measured_effects() -> list[dict[str, str]]:
    """Return how changing a setting affected the MRR in recorded runs, by setting."""
    results = read_results(ROOT / "paper" / "results")
    effects = []
    for usual in (results[name] for name in USUAL_RUNS):
        about = ("model", "dataset", "protocol", "split", "seed")
        for result in results.values():
            if any(getattr(result, name) != getattr(usual, name) for name in about):
                continue
            changes = settings_unlike_preset(result)
            if len(changes) != 1:
                continue
            ((key, value),) = changes.items()
            section, _, name = key.partition(".")
            difference = result.metrics["mrr"] - usual.metrics["mrr"]
            effects.append(
                {
                    "setting": f"`{key}`",
                    "changed to": change_words(value, usual.settings[section].get(name)),
                    "change in MRR": f"{difference:+.4f}",
                    "model and data": f"`{result.model.removeprefix('apptek_')}`, "
                    f"{title_of(result.dataset)} {result.split}",
                }
            )
    return sorted(effects, key=lambda effect: (effect["setting"], effect["changed to"]))


def change_words(value: Any, usual: Any) -> str:
    """Describe a changed value; for a list that gained or lost one member, name this member."""
    if isinstance(value, list) and isinstance(usual, list):
        lost = [one for one in usual if one not in value]
        got = [one for one in value if one not in usual]
        if len(lost) + len(got) == 1:
            return f"without {lost[0]}" if lost else f"with {got[0]}"
    return f"`{json.dumps(value)}`"


def fields_page() -> str:
    """Return the page of all result fields, followed by the fields of their parts and the notes."""
    parts = [FIELDS_TITLE]
    kinds: list[Any] = list(RESULTS)
    for kind in kinds:  # the list grows: a part may contain parts
        hints = get_type_hints(kind)
        rows = [
            {
                "field": f"`{each.name}`",
                "type": type_words(hints[each.name]),
                "description": each.metadata["description"],
            }
            for each in fields(kind)
        ]
        where = f"\n\nFrom {RESULTS[kind]}." if kind in RESULTS else ""
        table = markdown(rows)
        parts.append(f"## {kind.__name__}\n\n{inspect.getdoc(kind)}{where}\n\n{table}\n")
        kinds += [part for part in records_in(*hints.values()) if part not in kinds]
    notes = markdown([{"kind": f"`{kind}`", "about": text} for kind, text in NOTE_KINDS.items()])
    return "\n".join([*parts, f"## Kinds of notes\n\n{notes}\n"])


def records_in(*hints: Any) -> list[Any]:
    """Return the dataclasses that types refer to, without duplicates."""
    found: dict[Any, None] = {}
    for hint in hints:
        found |= dict.fromkeys([hint] if is_dataclass(hint) else records_in(*get_args(hint)))
    return list(found)


def type_words(hint: Any) -> str:
    """Return the JSON name of a type; a dataclass links to its table."""
    origin, within = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        name = getattr(hint, "__name__", "")
        return f"[{name}](#{name.lower()})"
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in within)
    if origin is UnionType:
        return " or ".join(map(type_words, within))
    if origin in (tuple, list):
        return f"list of {type_words(within[0])}"
    if origin is dict:
        return "object" if within[1] is Any else f"object, each value: {type_words(within[1])}"
    return TYPES[hint]


def allowed_words(schema: dict[str, Any]) -> str:
    """Describe the allowed values of a setting, from its JSON schema."""
    if schema["type"] == "array":
        return f"list: {allowed_words(schema['items'])}"
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    words = {
        "minimum": "at least", "exclusiveMinimum": "above",
        "maximum": "at most", "exclusiveMaximum": "below",
    }  # fmt: skip
    rules = [f"{word} {schema[rule]:g}" for rule, word in words.items() if rule in schema]
    return ", ".join([TYPES_OF_SCHEMA[schema["type"]], *rules])


def licences_page() -> str:
    """Return the page of licences, for the packages installed here."""
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    return with_block(text, "<!-- licences -->", licence_table())


def mcp_page() -> str:
    """Return the page of tools for assistants, with every argument."""
    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    return with_block(text, "<!-- tools -->", tools_and_arguments())


if __name__ == "__main__":
    (ROOT / "docs" / "licences.md").write_text(licences_page(), encoding="utf-8")
    (ROOT / "docs" / "cli.md").write_text(cli_docs(), encoding="utf-8")
    (ROOT / "docs" / "settings.md").write_text(settings_page(), encoding="utf-8")
    (ROOT / "docs" / "results-fields.md").write_text(fields_page(), encoding="utf-8")
    (ROOT / "docs" / "http-fields.md").write_text(http_fields_page(), encoding="utf-8")
    (ROOT / "docs" / "mcp.md").write_text(mcp_page(), encoding="utf-8")
    for page in PAGES:
        (ROOT / page).write_text(page_with_tables(page), encoding="utf-8")
