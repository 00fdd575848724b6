"""The features that are measured for pairs never seen: they are what they are said to be."""

from collections import Counter

import numpy as np
import pytest

from apptek.config import HistoryConfig
from apptek.facts.facts import Dataset
from apptek.facts.queries import training_queries
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.graph.temporal_graph import TemporalGraph
from apptek.synthetic.world import make_world
from benchmarks.cold_pairs import constants, most_frequent, with_prior

MOST = 40


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(1500, 3).dataset


@pytest.fixture(scope="module", params=[False, True])
def history(request: pytest.FixtureRequest, data: Dataset) -> History:
    graph = TemporalGraph.of(data)
    return History(graph.past_view() if request.param else graph, Clock.of(graph), HistoryConfig())


def test_constants_are_shares_of_a_predicate_with_an_entity(
    data: Dataset, history: History
) -> None:
    train, count = data.train, len(data.entities)
    keys = {
        "out": most_frequent(train, train.objects, count, MOST).tolist(),
        "in": most_frequent(train, train.subjects, count, MOST).tolist(),
    }
    queries = training_queries(train, np.arange(0, len(train), 7))
    rows, seen = constants(history, train, queries, MOST), 0
    for row in range(len(queries)):
        expected = {}
        for side, family in enumerate(("subject_out", "subject_in", "object_out", "object_in")):
            listed, way = history.listed(queries, row)[family], family.partition("_")[2]
            others = train.objects if way == "out" else train.subjects
            named = [
                (int(train.predicates[fact]) * count + int(others[fact]), kernels)
                for fact, kernels in zip(listed.facts, listed.kernels, strict=True)
            ]
            for number, kernel in enumerate(("middle", "ever")):
                column = [history.kernels.index(kernel)]
                if kernel == "ever" and "undated ever" in history.kernels:
                    column.append(history.kernels.index("undated ever"))
                total, sums = 0.0, Counter[int]()
                for key, kernels in named:
                    total += kernels[column].sum()
                    sums[key] += kernels[column].sum()
                for key, z in sums.items():
                    if key in keys[way] and z >= 0.01:
                        place = (side * MOST + keys[way].index(key)) * 2 + number
                        share = z / (1 + total)
                        expected[place] = history.config.profile_weight * np.log(1 + 6 * share)
        columns, values = rows.row(row)
        assert dict(zip(columns.tolist(), values, strict=True)) == pytest.approx(expected, rel=1e-5)
        seen += len(expected)
    assert seen > 100


@pytest.mark.parametrize("prior", [0.3, 1.0, 10.0])
def test_a_prior_is_added_to_the_sum_of_all_predicates(
    data: Dataset, history: History, prior: float
) -> None:
    queries = training_queries(data.train, np.arange(0, len(data.train), 7))
    rows, weights = with_prior(history, history.counted_rows(queries)[0], prior), history.config
    for row in range(len(queries)):
        listed, found = history.listed(queries, row), []
        columns, values = rows.row(row)
        for column in columns.tolist():
            family, predicate, kernel = history.feature(column)
            of_kernel = listed[family].kernels[:, history.kernels.index(kernel)]
            own = data.train.predicates[listed[family].facts] == predicate
            share = of_kernel[own].sum() / (prior + of_kernel.sum())
            direct = family in ("pair", "reversed")
            weight = weights.pair_weight if direct else weights.profile_weight
            found.append(weight * np.log(1 + 6 * share))
        assert values == pytest.approx(
            found, rel=0.02, abs=0.02
        )  # what is too small is not in the sum
