"""Sets of predicates: precision, recall and F1 of each question, at horizons."""

import numpy as np
import pytest
from reference import PlainFact
from worlds import PREDICATES, dataset_of

from apptek.arrays import Matrix
from apptek.evaluation.multilabel import HORIZONS, evaluate_sets
from apptek.facts.queries import Queries


def test_metrics_are_those_of_each_question_on_average() -> None:
    facts = [PlainFact(0, 0, 1, 5, 5), PlainFact(0, 1, 1, 5, 5), PlainFact(1, 2, 0, 6, 6)]
    data = dataset_of(facts, facts)
    asked_at: list[list[int]] = []

    def probabilities(queries: Queries) -> Matrix:
        asked_at.append(data.axis.positions(queries.times).tolist())
        shares = np.full((len(queries), PREDICATES), 0.02)
        shares[:, 0] = 0.6  # right for the first question, wrong for the second
        return shares

    found = evaluate_sets(probabilities, data, "valid")
    assert list(found) == [str(horizon) for horizon in HORIZONS]
    shares = probabilities(Queries(*(np.zeros(2, np.int32) for _ in range(4))))
    truth = [{0, 1}, {2}]
    best = 0.0
    for least in np.geomspace(0.01, 0.9, 40).round(4):
        sets = [{r for r in range(PREDICATES) if row[r] >= least} | {0} for row in shares]
        each = [2 * len(s & t) / (len(s) + len(t)) for s, t in zip(sets, truth, strict=True)]
        best = max(best, sum(each) / 2)
    assert found["1"]["predicates"]["f1"] == pytest.approx(best)
    assert found["1"]["predicates"]["questions"] == 2
    assert asked_at[:2] == [[5, 6], [5, 6]]
    assert asked_at[2] == [5 - 6, 6 - 6]  # seven days ahead: as of six days before
