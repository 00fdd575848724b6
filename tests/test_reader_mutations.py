"""Damaged files of every kind are read, or refused with one line; no other error, no hang."""

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
