"""Contract checks for scorers: what the package relies on, for use in your own model's tests."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from apptek.arrays import Matrix
from apptek.config import View
from apptek.errors import ApptekError
from apptek.evaluation.scorer import checked_scores
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, held_out_queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.predictor import Predictor

MAX_QUERIES = 50
TOLERANCE = 1e-4  # for sums in single precision, whose order of addition may differ


def check_scorer(scorer: Any, data: Dataset, view: View = "all_facts") -> None:
    """Raise ApptekError if a scorer breaks the contract of `apptek.research.Scorer`.

    scorer  a function of Queries, or an object with a method `scores`
    view    the view of a scorer that has `with_facts`

    It must return a finite number for every predicate, (B, R), including for empty queries and for
    entities with id -1. A query's scores must not depend on other queries or on earlier calls.
    """
    call: Callable[[Queries], Any] = getattr(scorer, "scores", scorer)
    width = len(data.predicates)

    def scores(queries: Queries) -> Matrix:
        return checked_scores(call(queries), queries, width)

    queries, together = _check_independent(scores, data)
    nobody = np.full(len(queries), -1, np.int32)
    for subjects, objects in ((nobody, queries.objects), (queries.subjects, nobody)):
        scores(Queries(subjects, objects, queries.times, queries.hidden))
    if hasattr(scorer, "with_facts"):
        same = scorer.with_facts(TemporalGraph.of(data).seen_in(view))
        _equal(same.scores(queries), together, "change with_facts of the same graph")


def check_baseline(name: str, data: Dataset, *, config: Any = None) -> None:
    """Fit a registered baseline and raise ApptekError if it breaks the contract.

    Each view's scorer is checked by `check_scorer`. A second fit with the same seed, and the model
    loaded from a folder, must give the same scores.
    """
    fitted = Predictor.fit(data, model=name, config=config)
    queries = held_out_queries(data.test).take(slice(0, MAX_QUERIES))
    with TemporaryDirectory(prefix="apptek-check-") as temporary:
        folder = Path(temporary) / "model"
        again = Predictor.fit(data, model=name, config=config, folder=folder)
        loaded = Predictor.load(folder)
        for view, of_view in fitted.model.views.items():
            scorer = of_view.scorer
            assert scorer is not None
            check_scorer(scorer, fitted.model.dataset, view)
            for other, problem in ((again, "a second fit"), (loaded, "reading the folder")):
                theirs = other.model.views[view].scorer
                assert theirs is not None
                _equal(theirs.scores(queries), scorer.scores(queries), f"change by {problem}")


def _check_independent(
    scores: Callable[[Queries], Matrix], data: Dataset
) -> tuple[Queries, Matrix]:
    """Check that a query's result depends only on the query; return the queries and results."""
    queries = held_out_queries(data.test if len(data.test) else data.train)
    queries = queries.take(slice(0, MAX_QUERIES))
    together = scores(queries)
    _equal(scores(queries), together, "differ between two calls")
    order = np.arange(len(queries))[::-1]
    _equal(scores(queries.take(order)), together[order], "depend on the order of the queries")
    alone = [scores(queries.take(slice(row, row + 1))) for row in range(len(queries))]
    _equal(np.concatenate([together[:0], *alone]), together, "depend on the other queries")
    scores(queries.take(slice(0, 0)))
    return queries, together


def _equal(scores: Matrix, expected: Matrix, problem: str) -> None:
    if not np.allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE):
        raise ApptekError(f"the scores {problem}")


def check_feature_part(part: Any, data: Dataset) -> None:
    """Raise ApptekError if a part breaks the contract of `apptek.features.space.AddedPart`.

    It must return one row per query, with finite values and ascending columns below `len(part)`.
    The rows must not depend on other queries or earlier calls, and `on` must not change them. Every
    column must have names.
    """
    graph = TemporalGraph.of(data)

    def dense(queries: Queries) -> Matrix:
        rows = part.on(graph).rows(queries).checked()
        if len(rows) != len(queries) or rows.width != len(part):
            raise ApptekError(f"{part.name}: rows of shape ({len(rows)}, {rows.width})")
        matrix = np.zeros((len(rows), rows.width))
        matrix[rows.row_of_each, rows.columns] = rows.flat_values if rows.values is not None else 1
        if not np.isfinite(matrix).all():
            raise ApptekError(f"{part.name}: a value is not finite")
        return matrix

    _check_independent(dense, data)
    if not all(part.names(column) for column in range(len(part))):
        raise ApptekError(f"{part.name}: a feature has no names")
