"""Writes what is generated in the docs: `make docs`."""

import inspect
import json
from dataclasses import fields
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from apptek.cli import app
from apptek.config import DEFAULT, PRESETS, Config
from apptek.research.result import read_results
from apptek.research.runs import read_runs
from apptek.research.tables import all_tables, with_tables
from apptek.setting_rules import changed_settings, values_of
from tools.dependencies import licence_table

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

Every setting of `fit`: what it is, what it may be, its value in the preset `default`, and in `max`
and `paper` where that is another one. `--set reranker.rounds=100` changes one, and may be given
several times; a list is written as in JSON: `--set 'classifier.l2=[0.0, 3.0]'`. What a model was
fitted with is in its `model.json`. `make docs` rebuilds this page.
"""


def cli_docs() -> str:
    """The page of all commands."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="apptek")
    return get_docs_for_click(obj=command, ctx=context, name="apptek").strip() + "\n"


def page_with_tables(name: str) -> str:
    """A page whose tables come from the recorded results."""
    text = (ROOT / name).read_text(encoding="utf-8")
    tables = all_tables(read_runs(ROOT / "paper" / "runs.toml"))
    return with_tables(text, read_results(ROOT / "paper" / "results"), tables)


def settings_page() -> str:
    """The page of all settings: what they mean, what they may be, and what the presets have."""
    parts = [SETTINGS_TITLE]
    usual = values_of(PRESETS[DEFAULT])
    others = {n: changed_settings(c, PRESETS[DEFAULT]) for n, c in PRESETS.items()}
    for section in fields(Config):
        kind = type(getattr(PRESETS[DEFAULT], section.name))
        meanings = meanings_of(kind)
        head = ["setting", "what it is", "may be", "default", "other presets"]
        rows = [
            [
                f"`{section.name}.{key.name}`",
                meanings[key.name],
                key.metadata["rule"].words if "rule" in key.metadata else "",
                json.dumps(usual[section.name][key.name]),
                ", ".join(
                    f"{name}: {json.dumps(changed[name_of_key])}"
                    for name, changed in others.items()
                    if (name_of_key := f"{section.name}.{key.name}") in changed
                ),
            ]
            for key in fields(kind)
        ]
        lines = [head, ["---"] * len(head), *rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"## {section.name}\n\n{inspect.getdoc(kind)}\n\n{table}\n")
    return "\n".join(parts)


def meanings_of(section: type) -> dict[str, str]:
    """The comments beside the settings of a section, or above them."""
    meanings, above = {}, ""
    for line in map(str.strip, inspect.getsource(section).splitlines()):
        name, _, rest = line.partition(": ")
        if name.isidentifier():
            _, comment, beside = rest.partition("  # ")
            meanings[name] = beside if comment else above
        above = line.removeprefix("# ") if line.startswith("# ") else ""
    return meanings


def licences_page() -> str:
    """The page of licences, with the packages that are installed here."""
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    before, marker, rest = text.partition("<!-- licences -->\n")
    _, end, after = rest.partition("<!-- end -->")
    return f"{before}{marker}{licence_table()}\n{end}{after}"


if __name__ == "__main__":
    (ROOT / "docs" / "licences.md").write_text(licences_page(), encoding="utf-8")
    (ROOT / "docs" / "cli.md").write_text(cli_docs(), encoding="utf-8")
    (ROOT / "docs" / "settings.md").write_text(settings_page(), encoding="utf-8")
    for page in PAGES:
        (ROOT / page).write_text(page_with_tables(page), encoding="utf-8")
