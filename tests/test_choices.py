"""The script that measures open choices: ranks, and the table of the docs."""

import numpy as np
import pytest

from apptek.ragged import Ragged
from apptek.research.result import Result
from tools.docs_tables import DOCS_TABLES

choices = pytest.importorskip("benchmarks.choices")


def test_the_worst_rank_counts_every_equal_score_but_known_predicates() -> None:
    scores = np.asarray([[1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    known = Ragged(np.asarray([0, 1, 1]), np.asarray([3], np.int32))
    ranks = choices.worst_ranks(scores, np.asarray([1, 0], np.int32), known)
    assert ranks.tolist() == [2.0, 4.0]


def test_the_table_has_means_over_seeds_beside_the_printed() -> None:
    def way(mrr: float) -> dict[str, float]:
        return {"mrr": mrr, "hits_at_10": mrr, "hits_at_1": mrr}

    def trial(mrr: float) -> dict[str, dict[str, float]]:
        names = ("filtered", "raw", "filtered, pessimistic", "raw, pessimistic")
        return {name: way(mrr - number / 100) for number, name in enumerate(names)}

    results = {
        f"choices{seed}": Result(
            model="choices", dataset="icews14", seed=seed,
            extras={"of": "paper", "trials": {"ours": trial(mrr), "all of these": trial(0.3)}},
        )
        for seed, mrr in enumerate((0.5, 0.6))
    }  # fmt: skip
    rows = DOCS_TABLES["choices"](results).splitlines()
    assert rows[0] == "| changed | ICEWS14, 2 seeds |"
    assert rows[2] == "| printed | 0.4889 / 0.7749 / 0.3421 |"
    assert rows[3] == "| ours | 0.5500 / 0.5500 / 0.5500 |"
    assert rows[-1] == "| all of these | 0.2700 / 0.2700 / 0.2700 |"
