"""The command `tutorial`: list the tutorials, show one, or write it as a notebook."""

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.options import option
from apptek.errors import ApptekError
from apptek.files import writing
from apptek.terminal import output

_PACKAGE = Path(__file__).parents[1]


def folder() -> Path:
    """Return the folder of the tutorials: in the wheel, or in a checkout."""
    shipped = _PACKAGE / "tutorials"
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / "docs" / "tutorials"


def tutorial(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A tutorial, or a part of its name.")
    ] = None,
    out: Annotated[
        Path | None, option("--out", "Write the notebook, to run it with Jupyter.", "FILE")
    ] = None,
) -> None:
    """Show a tutorial, with what its cells print. Nothing is downloaded.

    Without a name, list the tutorials.

    Example: `apptek tutorial first-model`
    """
    known = sorted(folder().glob("*.ipynb"))
    if name is None:
        if out is not None:
            raise typer.BadParameter("--out needs the name of a tutorial")
        width = max((len(path.stem) for path in known), default=0)
        for path in known:
            typer.echo(f"{path.stem:{width}}  {_title(path)}")
        typer.echo("next: apptek tutorial NAME, or with --out FILE as a notebook", err=True)
        return
    found = [path for path in known if name.lower() in path.stem]
    if len(found) != 1:
        names = ", ".join(path.stem for path in found or known)
        raise ApptekError(f"{'several' if found else 'no'} tutorials match {name!r}: {names}")
    if out is None:
        _show(found[0])
    else:
        _write(found[0], out)


def _cells(path: Path) -> list[dict[str, object]]:
    cells: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def _title(path: Path) -> str:
    return "".join(_cells(path)[0]["source"]).splitlines()[0].lstrip("# ")  # type: ignore[arg-type]


def _show(path: Path) -> None:
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    console = output()
    for cell in _cells(path):
        source = "".join(cell["source"])  # type: ignore[arg-type]
        if cell["cell_type"] == "markdown":
            console.print(Markdown(source))
            continue
        console.print(Padding(Text(source, style="cyan"), (1, 0, 1, 2)))
        for shown in cell["outputs"]:  # type: ignore[attr-defined]
            text = shown.get("text") or shown.get("data", {}).get("text/plain", "")
            console.print(
                Padding(
                    Text("".join(text).rstrip(), no_wrap=True, overflow="ellipsis"), (0, 0, 1, 4)
                )
            )


def _write(path: Path, out: Path) -> None:
    if out.exists():
        raise ApptekError(f"{out} exists: choose another name")
    with writing(out):
        shutil.copyfile(path, out)
    typer.echo(f"the notebook is in {out}; next: jupyter lab {out}", err=True)
