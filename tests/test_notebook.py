"""The notebook in the docs: its cells run, and show what is kept with them."""

import json
import re

import pytest

from tools.make_notebook import CELLS, NOTEBOOK, run_cells


@pytest.mark.gate
def test_the_cells_run_and_show_what_is_kept_with_them() -> None:
    kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in cells] == list(CELLS), "run make docs"
    for cell, outputs in zip(cells, run_cells(), strict=True):
        assert [_words(part) for part in cell["outputs"]] == [_words(part) for part in outputs]


def _words(output: dict[str, object]) -> str:
    """The first line of what is shown, without numbers, whose last digits depend on the machine."""
    data = output.get("data", output)
    assert isinstance(data, dict)
    text = str(data.get("text/plain", data.get("text"))).split("\n")[0]
    return re.sub(r"[-+\u2212]?[0-9][0-9.,e-]*", "#", re.sub(r" +", " ", text))
