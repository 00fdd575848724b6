"""Run the tutorials in docs/tutorials and store the output of their cells: `make notebooks`."""

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

# Disable progress bars in the stored output.
_TERMINAL = {"COLUMNS": "96", "NO_COLOR": "1", "TTY_COMPATIBLE": "0", "TTY_INTERACTIVE": "0"}
TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"


def nbformat() -> Any:
    """Return the notebook library, which is part of the extra `site`."""
    return import_module("nbformat")


def run_notebook(path: Path) -> Any:
    """Return a notebook with new outputs; its files are written to a temporary folder."""
    notebook = nbformat().read(path, 4)
    binaries = str(Path(sys.executable).parent)
    with tempfile.TemporaryDirectory() as folder:
        client = import_module("nbclient").NotebookClient(
            notebook,
            timeout=900,
            record_timing=False,
            coalesce_streams=True,  # a stream arrives in pieces that end inside a line
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=os.environ | _TERMINAL | {"PATH": f"{binaries}:{os.environ['PATH']}"})
    return notebook


def main() -> None:
    """Run the named tutorials, or all of them, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names or sorted(path.stem for path in TUTORIALS.glob("*.ipynb"))
    for name in names:
        print(name, flush=True)
        path = TUTORIALS / f"{name}.ipynb"
        nbformat().write(run_notebook(path), path)


if __name__ == "__main__":
    main()
