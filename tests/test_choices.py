"""The script that measures open choices: ranks, and the table of the docs."""

import numpy as np
import pytest

from apptek.ragged import Ragged

choices = pytest.importorskip("benchmarks.choices")


def test_the_worst_rank_counts_every_equal_score_but_known_predicates() -> None:
    scores = np.asarray([[1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    known = Ragged(np.asarray([0, 1, 1]), np.asarray([3], np.int32))
    ranks = choices.worst_ranks(scores, np.asarray([1, 0], np.int32), known)
    assert ranks.tolist() == [2.0, 4.0]
