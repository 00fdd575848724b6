"""The tutorials: the command shows them, and their cells still print what is kept with them."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import apptek
from golden_files import agree

from apptek.commands.tutorial import folder
from tools.run_notebooks import TUTORIALS, run_notebook

NAMES = sorted(path.stem for path in TUTORIALS.glob("*.ipynb"))
NEEDS_DATA = {"03-crises-of-2014"}


def test_the_command_reads_the_folder_of_the_documentation() -> None:
    assert folder() == TUTORIALS


def test_lines_wider_than_the_terminal_are_shown_whole() -> None:
    shown = apptek("tutorial", "first-model", COLUMNS="60").stdout
    cells = json.loads((TUTORIALS / "01-first-model.ipynb").read_text("utf-8"))["cells"]
    printed = [line for cell in cells if cell["cell_type"] == "code" for line in _lines(cell)]
    assert max(map(len, printed)) > 96
    assert all(line in shown for line in printed)


@pytest.mark.parametrize("name", NAMES)
def test_a_written_tutorial_names_its_pages_instead_of_linking_to_them(
    name: str, tmp_path: Path
) -> None:
    out = tmp_path / "tutorial.ipynb"
    written = apptek("tutorial", name, "--out", str(out))
    assert f"next: pip install jupyterlab, then jupyter lab {out}" in written.stderr
    before = json.loads((TUTORIALS / f"{name}.ipynb").read_text("utf-8"))["cells"]
    after = json.loads(out.read_text("utf-8"))["cells"]
    for cell, copy in zip(before, after, strict=True):
        if cell["cell_type"] == "code":
            assert copy == cell
            continue
        text, links = "".join(copy["source"]), _links("".join(cell["source"]))
        assert not _links(text)
        for link in links:
            page = re.sub(r"#.*", "", link).replace("../", "docs/")
            assert page.removesuffix(".ipynb") in text


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_output_of_a_stream_is_in_one_piece(name: str) -> None:
    for cell in json.loads((TUTORIALS / f"{name}.ipynb").read_text("utf-8"))["cells"]:
        streams = [shown["name"] for shown in cell.get("outputs", []) if "name" in shown]
        assert len(streams) == len(set(streams))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_cells_print_what_is_kept_with_them(name: str) -> None:
    if name in NEEDS_DATA and "APPTEK_DATA" not in os.environ:
        pytest.skip("APPTEK_DATA is not set: the public data is not here")
    path = TUTORIALS / f"{name}.ipynb"
    kept = json.loads(path.read_text("utf-8"))["cells"]
    for cell, again in zip(kept, run_notebook(path).cells, strict=True):
        if cell["cell_type"] == "code":
            before, now = _shown(cell["outputs"]), _shown(again["outputs"])
            assert agree(before, now), f"run `make notebooks`: {''.join(cell['source'])}\n{now}"


def _links(text: str) -> list[str]:
    """Return the targets of the relative links in a text."""
    return re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", text)


def _lines(cell: dict[str, Any]) -> list[str]:
    """Return the lines of a code cell and of its outputs, without the spaces around them."""
    parts = [cell["source"], *(shown.get("text", []) for shown in cell["outputs"])]
    return [line.strip() for part in parts for line in part]


def _shown(outputs: list[Any]) -> str:
    """Return the text that a cell shows, without what differs from run to run: durations."""
    texts = [shown.get("text") or shown.get("data", {}).get("text/plain", "") for shown in outputs]
    text = "".join("".join(part) for part in texts)
    text = re.sub(r"[\d.,]+ (s|ms|seconds|MB)\b", r"N \1", text)
    return re.sub(r'"(time|seconds)": ("[^"]*"|[\d.]+)', r'"\1": N', text)
