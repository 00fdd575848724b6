"""Writes what is generated in the docs: `make docs`."""

from pathlib import Path

import typer
from dependencies import licence_table
from typer.cli import get_docs_for_click

from apptek.cli import app
from apptek.experiments.experiment import read_experiments
from apptek.experiments.reports.markdown import with_tables
from apptek.experiments.reports.paper_tables import all_tables
from apptek.experiments.result import read_results

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


def cli_docs() -> str:
    """The page of all commands."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="apptek")
    return get_docs_for_click(obj=command, ctx=context, name="apptek").strip() + "\n"


def page_with_tables(name: str) -> str:
    """A page whose tables come from the recorded results."""
    text = (ROOT / name).read_text(encoding="utf-8")
    tables = all_tables(read_experiments(ROOT / "paper" / "experiments"))
    return with_tables(text, read_results(ROOT / "paper" / "results"), tables)


def licences_page() -> str:
    """The page of licences, with the packages that are installed here."""
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    before, marker, rest = text.partition("<!-- licences -->\n")
    _, end, after = rest.partition("<!-- end -->")
    return f"{before}{marker}{licence_table()}\n{end}{after}"


if __name__ == "__main__":
    (ROOT / "docs" / "licences.md").write_text(licences_page(), encoding="utf-8")
    (ROOT / "docs" / "cli.md").write_text(cli_docs(), encoding="utf-8")
    for page in PAGES:
        (ROOT / page).write_text(page_with_tables(page), encoding="utf-8")
