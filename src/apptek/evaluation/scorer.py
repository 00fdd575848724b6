"""The one way to rank a scorer on a split: our models, baselines, and a model of one's own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from apptek.arrays import Longs, Matrix
from apptek.config import VIEWS
from apptek.errors import ApptekError
from apptek.evaluation.filters import Filter, known_predicates
from apptek.evaluation.forecast import both_directions, direction_priors
from apptek.evaluation.ranking import Evaluation, EvaluationQueries, evaluate_scores
from apptek.facts.facts import SPLITS, Dataset, Facts, Split, join_facts, with_inverses
from apptek.facts.queries import Queries, draw_evenly, held_out_queries
from apptek.facts.times import UNKNOWN
from apptek.seeding import generator

Scores = Callable[[Queries], Matrix]  # of all predicates for some queries: (B, R)
Candidates = Literal["R", "2R"]

_LARGE = 1e30  # differences of such scores are finite, also in single precision


@dataclass(frozen=True, slots=True)
class ViewScorer:
    """A scorer at work in a view, and what turns its scores into probabilities.

    at_once  all queries of a split are scored by one call, for scorers that are faster so; then
             all scores are in memory at once
    """

    scores: Scores
    probabilities: Callable[[Matrix], Matrix] | None = None
    at_once: bool = False


def check_evaluated(split: str, view: str | None) -> None:
    """Raise ApptekError for a split that cannot be evaluated, or a view that does not exist."""
    if split == "train":
        raise ApptekError("a model is not evaluated on train, which it learned from: valid or test")
    for what, value, known in (("split", split, SPLITS[1:]), ("view", view, (None, *VIEWS))):
        if value not in known:
            names = ", ".join(name for name in known if name is not None)
            raise ApptekError(f"{what} is {value!r}; known: {names}")


def evaluate_split(
    scorer: ViewScorer,
    data: Dataset,
    split: Split,
    filtering: Filter = "time-aware",
    *,
    most: int | None = None,
) -> Evaluation:
    """The ranking metrics of a scorer on a split, the truth among the R predicates.

    most  how many queries to ask, drawn evenly over predicates and time; by default all
    """
    facts = data.split(split)
    rows = np.arange(len(facts))
    rows = draw_evenly(facts, rows, most or len(facts), generator(0, "evaluated"))
    asked = EvaluationQueries.of(data, split, filtering, rows)
    score = _by_rows(scorer, held_out_queries(asked.facts))
    return evaluate_scores(score, asked, probabilities=scorer.probabilities)


def evaluate_both_directions(
    scorer: ViewScorer, data: Dataset, split: Split, filtering: Filter, *, rolling: bool
) -> Evaluation:
    """The same with the truth among 2 R candidates: (s, r, o, t) and (o, r, s, t) for each r.

    A scorer that gives 2 R columns says both itself, the reversed facts second. Of one that gives
    R, the direction prior is added: see `forecast`.
    """
    queries, count = held_out_queries(data.split(split)), len(data.predicates)
    asked = EvaluationQueries.of(data, split, "raw")
    everything = with_inverses(data.all_facts(), count)
    asked = replace(asked, known=known_predicates(asked.facts, [everything], filtering))
    if len(queries) and scorer.scores(queries.take(np.arange(1))).shape[1] == 2 * count:
        return evaluate_scores(_by_rows(scorer, queries), asked)
    if scorer.probabilities is None:
        raise ApptekError("to rank both directions, a scorer with R columns needs probabilities")
    priors, to_shares = direction_priors(data, split, rolling=rolling), scorer.probabilities

    def score(start: int, stop: int) -> Matrix:
        rows = np.arange(start, stop)
        return both_directions(scorer.scores, to_shares, queries.take(rows), priors[rows])[1]

    return evaluate_scores(score, asked)


def _by_rows(scorer: ViewScorer, queries: Queries) -> Callable[[int, int], Matrix]:
    if scorer.at_once:
        scores = scorer.scores(queries)
        return lambda start, stop: scores[start:stop]
    return lambda start, stop: scorer.scores(queries.take(np.arange(start, stop)))


def checked_scores(scores: Any, queries: Queries, widths: Sequence[int]) -> Matrix:
    """What a foreign scorer returned, as a matrix; ApptekError where it is none of these widths.

    Tensors of torch are taken, too.
    """
    if hasattr(scores, "detach"):
        scores = scores.detach().cpu().numpy()
    matrix: Matrix = np.asarray(scores)
    wanted = " or ".join(f"({len(queries)}, {width})" for width in widths)
    if matrix.ndim != 2 or len(matrix) != len(queries) or matrix.shape[1] not in widths:
        raise ApptekError(f"the scorer returned shape {matrix.shape}, expected {wanted}")
    if matrix.dtype not in (np.float32, np.float64):
        try:
            matrix = matrix.astype(np.float64 if matrix.dtype.kind in "iu" else np.float32)
        except (TypeError, ValueError):
            raise ApptekError(f"the scorer returned {matrix.dtype}, expected numbers") from None
    if np.isnan(matrix).any():
        raise ApptekError("the scorer returned NaN, which cannot be ranked")
    # Infinities, as masks have them, become the first or the last of their row; all equal ones tie.
    return np.clip(matrix, -_LARGE, _LARGE)


class ScoresByQuery:
    """The scores of queries that were asked before, to be looked up by query."""

    def __init__(self, asked: Queries, scores: Matrix) -> None:
        self._row_of, self._scores = {key: row for row, key in enumerate(_keys(asked))}, scores

    @classmethod
    def of_both_directions(cls, scores: Scores, facts: Facts) -> "ScoresByQuery":
        """Asks for the queries of these facts and of their reversals, all at once."""
        asked = _with_reversals(facts)
        return cls(asked, scores(asked))

    def __call__(self, queries: Queries) -> Matrix:
        """The scores that were given: (B, R)."""
        scores: Matrix = self._scores[[self._row_of[key] for key in _keys(queries)]]
        return scores


class RollingScores:
    """The scores of a foreign scorer that is shown the facts of valid and test as time goes on.

    Queries are asked in the order of their times, each with its reversal. Before those of a time
    are asked, `observe` gets the facts of valid and test that have started since, strictly before
    that time, in their order. Undated facts are never shown; undated queries come first.
    """

    def __init__(
        self, scores: Scores, observe: Callable[[Facts], None], data: Dataset, split: Split
    ) -> None:
        asked = _with_reversals(data.split(split))
        facts = join_facts(data.valid, data.test)
        facts = facts.take(facts.dated)
        starts = data.axis.positions(facts.times)
        facts, starts = facts.take(np.argsort(starts, kind="stable")), np.sort(starts)
        moments, shown = data.axis.positions(asked.times), 0
        order: list[Longs] = []
        parts: list[Matrix] = []
        for moment in np.unique(moments).tolist():
            until = shown if moment == UNKNOWN else int(np.searchsorted(starts, moment))
            if until > shown:
                observe(facts.take(np.arange(shown, until)))
                shown = until
            order.append(np.flatnonzero(moments == moment))
            parts.append(scores(asked.take(order[-1])))
        scored = np.concatenate(parts)[np.argsort(np.concatenate(order))]
        self._scores = ScoresByQuery(asked, scored)

    def __call__(self, queries: Queries) -> Matrix:
        """The scores that were given when it was their time: (B, R)."""
        return self._scores(queries)


def _with_reversals(facts: Facts) -> Queries:
    """The distinct queries of these facts and of their reversals."""
    columns = np.stack([facts.subjects, facts.objects, facts.times])
    distinct = np.unique(np.concatenate([columns, columns[[1, 0, 2]]], axis=1), axis=1)
    subjects, objects, times = distinct
    return Queries(subjects, objects, times, np.full(len(times), -1, np.int32))


def _keys(queries: Queries) -> Iterator[tuple[int, int, int]]:
    columns = (queries.subjects, queries.objects, queries.times)
    return zip(*(column.tolist() for column in columns), strict=True)
