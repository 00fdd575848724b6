"""Benchmarks of speed, memory and resilience, run in a checkout: `python -m benchmarks`.

Speed is measured as ratios within one run, because machines differ.
"""

import sys
from pathlib import Path

# The tests share their reference implementations, service load and mutations.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
