"""Damaged files of every kind are read, or refused with one line; no other error, no hang."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from reader_mutations import KINDS, READ, REFUSED, damage_and_read


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    number = list(KINDS).index(name)
    seeds = range(number, 30 * len(KINDS), len(KINDS))
    outcomes = Counter(damage_and_read(seed, tmp_path) for seed in seeds)
    assert outcomes.keys() <= {READ, REFUSED}
    assert outcomes[READ]  # not all are damaged, and some damage does not matter


SEEDS = int(os.environ.get("APPTEK_MUTATIONS", "3000"))


@pytest.mark.slow
def test_damaged_files_neither_crash_nor_fill_the_memory() -> None:
    script = Path(__file__).with_name("reader_mutations.py")
    run = subprocess.run(
        [sys.executable, str(script), "1000", str(1000 + SEEDS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600 + SEEDS / 5,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout)
    assert found[READ] + found[REFUSED] == SEEDS
    assert found["memory"] < 500_000_000
