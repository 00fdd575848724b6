"""Contract checks for scorers: what the package relies on, for the tests of your own model."""

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
TOLERANCE = 1e-4  # of sums in single precision, which may be added up in another order


def check_scorer(scorer: Any, data: Dataset, view: View = "all_facts") -> None:
    """Raise ApptekError where a scorer breaks the contract of `apptek.research.Scorer`.

    scorer  a function of Queries, or an object with a method `scores`
    view    what it sees, for one that has `with_facts`

    It returns a finite number for every predicate, (B, R), also for no query and for entities of
    -1. The scores of a query depend neither on the other queries nor on the call.
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
    """Fit a registered baseline and raise ApptekError where it breaks the contract.

    The scorer of each view is checked by `check_scorer`. A second fit with the same seed, and the
    model that is read from a folder, must give the same scores.
    """
    fitted = Predictor.fit(data, model=name, config=config)
    queries = held_out_queries(data.test).part(slice(0, MAX_QUERIES))
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
    """Check that what a query gets depends on nothing but the query; return queries and that."""
    queries = held_out_queries(data.test if len(data.test) else data.train)
    queries = queries.part(slice(0, MAX_QUERIES))
    together = scores(queries)
    _equal(scores(queries), together, "differ between two calls")
    order = np.arange(len(queries))[::-1]
    _equal(scores(queries.take(order)), together[order], "depend on the order of the queries")
    alone = [scores(queries.part(slice(row, row + 1))) for row in range(len(queries))]
    _equal(np.concatenate([together[:0], *alone]), together, "depend on the other queries")
    scores(queries.part(slice(0, 0)))
    return queries, together


def _equal(scores: Matrix, expected: Matrix, problem: str) -> None:
    if not np.allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE):
        raise ApptekError(f"the scores {problem}")


def check_feature_part(part: Any, data: Dataset) -> None:
    """Raise ApptekError where a part breaks the contract of `apptek.features.space.AddedPart`.

    Its rows have one row per query and columns below `len(part)`, ascending in a row, with finite
    values; they depend neither on the other queries nor on the call, nor does `on` change them.
    Every column has names.
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
