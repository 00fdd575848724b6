"""Scripts that generate project files, run in a checkout: `python -m tools.make_docs`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # helpers for the browser and the service
