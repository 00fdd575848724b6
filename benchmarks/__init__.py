"""Benchmarks of speed, memory and resilience, run in a checkout: `python -m benchmarks`.

Speed is measured as ratios within one run, because machines differ.
"""

import sys
from pathlib import Path

# The slow twins of the kernels, the load on a service and the mutations are shared with the tests.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
