"""The script that measures open choices: ranks, and the table of the docs."""

from pathlib import Path

import numpy as np
import pytest

from apptek.ragged import Ragged
from apptek.research.result import read_results

RESULTS = Path(__file__).parents[1] / "paper" / "results"

choices = pytest.importorskip("benchmarks.choices")


def test_the_worst_rank_counts_every_equal_score_but_known_predicates() -> None:
    scores = np.asarray([[1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    known = Ragged(np.asarray([0, 1, 1]), np.asarray([3], np.int32))
    ranks = choices.worst_ranks(scores, np.asarray([1, 0], np.int32), known)
    assert ranks.tolist() == [2.0, 4.0]


def test_the_metrics_of_a_recorded_run_are_those_of_its_trial_without_changes() -> None:
    recorded = [each for each in read_results(RESULTS).values() if each.model == "choices"]
    assert recorded
    for result in recorded:
        assert result.metrics == result.extras["trials"]["ours"]["filtered"]
