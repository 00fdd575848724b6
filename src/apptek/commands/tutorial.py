"""The command `tutorial`: list the tutorials, show one, or write it as a notebook."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import typer
from rich.console import Console

from apptek.commands.options import argument, option, refuse, takes_options
from apptek.errors import ApptekError
from apptek.files import write_whole
from apptek.terminal import output

_PACKAGE = Path(__file__).parents[1]
_PAGE_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([\w-]+\.md)(?:#[\w-]+)?\)")
_TUTORIAL_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.ipynb\)")


def folder() -> Path:
    """Return the folder of the tutorials: in the wheel, or in a checkout."""
    shipped = _PACKAGE / "tutorials"
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / "docs" / "tutorials"


@dataclass(frozen=True, slots=True, kw_only=True)
class TutorialOptions:
    """The options of `tutorial`."""

    name: str | None = argument("NAME", "A tutorial's name, or part of it.")
    out: Path | None = option("--out FILE", "Save the tutorial as a Jupyter notebook.")


@takes_options
def tutorial(options: TutorialOptions) -> None:
    """Show a tutorial with the output of its cells. Nothing is downloaded.

    Without a name, list the tutorials.

    Example: `apptek tutorial first-model`
    """
    known = {path.stem: path for path in sorted(folder().glob("*.ipynb"))}
    if options.name is None:
        refuse(options, ["out"], "needs the name of a tutorial")
        width = max(map(len, known), default=0)
        for stem, path in known.items():
            title = "".join(_notebook(path)["cells"][0]["source"]).splitlines()[0].lstrip("# ")
            typer.echo(f"{stem:{width}}  {title}")
        typer.echo("next: apptek tutorial NAME, or with --out FILE as a notebook", err=True)
        return
    found = [stem for stem in known if options.name.lower() in stem]
    if len(found) != 1:
        names, many = ", ".join(found or known), "several" if found else "no"
        raise ApptekError(f"{many} tutorials match {options.name!r}: {names}")
    if options.out is None:
        _show(known[found[0]])
        return
    if options.out.exists():
        raise ApptekError(f"{options.out} exists: choose another name")
    notebook = _notebook(known[found[0]])
    write_whole(options.out, (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())
    typer.echo(f"the notebook is in {options.out}", err=True)
    typer.echo(f"next: pip install jupyterlab, then jupyter lab {options.out}", err=True)


def _notebook(path: Path) -> dict[str, Any]:
    """Return a tutorial with page names instead of links, which lead nowhere outside the docs."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = _TUTORIAL_LINK.sub(r"\1 (`apptek tutorial \2`)", "".join(cell["source"]))
            cell["source"] = _PAGE_LINK.sub(_name_page, text).splitlines(keepends=True)
    return notebook


def _name_page(link: re.Match[str]) -> str:
    words, page = link.groups()
    return f"docs/{page}" if words == page else f"{words} (docs/{page})"


def _show(path: Path) -> None:
    from rich.markdown import Markdown

    console = output()
    for cell in _notebook(path)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            console.print(Markdown(source))
            continue
        _print_whole(console, f"\n{indent(source, '  ')}\n", style="cyan")
        for shown in cell["outputs"]:
            lines = shown.get("text") or shown.get("data", {}).get("text/plain", "")
            _print_whole(console, indent("".join(lines).rstrip(), "    ") + "\n")


def _print_whole(console: Console, text: str, *, style: str = "") -> None:
    """Print lines without wrapping, which is left to the terminal."""
    console.print(text, style=style, soft_wrap=True, markup=False)
