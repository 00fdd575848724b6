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

NEEDS_DATA = {"03-crises-of-2014"}


def test_the_command_lists_shows_and_writes_them(tmp_path: Path) -> None:
    assert folder() == TUTORIALS
    listed = apptek("tutorial").stdout
    assert all(path.stem in listed for path in TUTORIALS.glob("*.ipynb"))
    shown = apptek("tutorial", "first-model").stdout
    assert "Your first model from a CSV" in shown
    assert "apptek fit events.csv" in shown
    out = tmp_path / "first.ipynb"
    apptek("tutorial", "first-model", "--out", str(out))
    assert json.loads(out.read_text("utf-8"))["nbformat"] == 4
    again = apptek("tutorial", "first-model", "--out", str(out))
    assert again.stderr == f"apptek: {out} exists: choose another name\n"
    unknown = apptek("tutorial", "nothing")
    assert (unknown.returncode, "no tutorials match 'nothing'" in unknown.stderr) == (1, True)
    assert "several tutorials match 'a'" in apptek("tutorial", "a").stderr
    assert apptek("tutorial", "--out", str(out)).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in TUTORIALS.glob("*.ipynb")))
def test_the_cells_print_what_is_kept_with_them(name: str) -> None:
    if name in NEEDS_DATA and "APPTEK_DATA" not in os.environ:
        pytest.skip("APPTEK_DATA is not set: the public data is not here")
    path = TUTORIALS / f"{name}.ipynb"
    kept = json.loads(path.read_text("utf-8"))["cells"]
    for cell, again in zip(kept, run_notebook(path).cells, strict=True):
        if cell["cell_type"] == "code":
            before, now = _shown(cell["outputs"]), _shown(again["outputs"])
            assert agree(before, now), f"run `make notebooks`: {''.join(cell['source'])}\n{now}"


def _shown(outputs: list[Any]) -> str:
    """Return the text that a cell shows, without what differs from run to run: durations."""
    texts = [shown.get("text") or shown.get("data", {}).get("text/plain", "") for shown in outputs]
    text = "".join("".join(part) for part in texts)
    text = re.sub(r"[\d.,]+ (s|ms|seconds|MB)\b", r"N \1", text)
    return re.sub(r'"(time|seconds)": ("[^"]*"|[\d.]+)', r'"\1": N', text)
