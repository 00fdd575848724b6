"""Ranks any scorer on a split in the same way: our models, baselines, and your own model."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Matrix
from apptek.config import VIEWS
from apptek.errors import ApptekError
from apptek.evaluation.direction import direction_priors
from apptek.evaluation.filters import Filter, known_predicates
from apptek.evaluation.prediction_sets import SetSizes
from apptek.evaluation.ranking import CHUNK, Evaluation, EvaluationQueries, evaluate_scores
from apptek.facts.facts import SPLITS, Dataset, Split, with_inverses
from apptek.facts.queries import Queries, draw_evenly, held_out_queries
from apptek.seeding import generator

Scores = Callable[[Queries], Matrix]  # the scores of all predicates for some queries: (B, R)

_LARGE = 1e30  # differences between such scores are finite in single precision


@dataclass(frozen=True, slots=True)
class ViewScorer:
    """A scorer in one view, with the function that converts its scores to probabilities.

    at_once  score all queries of a split in one call, for scorers that are faster that way; all
             scores are then in memory at once
    """

    scores: Scores
    probabilities: Callable[[Matrix], Matrix] | None = None
    at_once: bool = False
    set_sizes: SetSizes | None = None


def check_evaluated(split: str, view: str | None) -> None:
    """Raise ApptekError for a split that cannot be evaluated, or a view that does not exist."""
    if split == "train":
        raise ApptekError("a model is not evaluated on its training set: use valid or test")
    check_one_of("split", split, SPLITS[1:])
    if view is not None:
        check_one_of("view", view, VIEWS)


def check_one_of(what: str, value: Any, known: Sequence[str]) -> None:
    """Raise ApptekError for a value that is not among the known ones."""
    if value not in known:
        raise ApptekError(f"{what} is {value!r}; known: {', '.join(known)}")


def evaluate_split(
    scorer: ViewScorer,
    data: Dataset,
    split: Split,
    filtering: Filter = "time-aware",
    *,
    most: int | None = None,
) -> Evaluation:
    """Return a scorer's ranking metrics on a split, among the predicates of (s, ?, o, t).

    most  the maximum number of queries, sampled evenly over predicates and time; default: all
    """
    facts = data.split(split)
    rows = np.arange(len(facts))
    rows = draw_evenly(facts, rows, most or len(facts), generator(0, "evaluated"))
    asked = EvaluationQueries.of(data, split, filtering, rows)
    return evaluate_scores(
        _by_rows(scorer, held_out_queries(asked.facts)),
        asked,
        probabilities=scorer.probabilities,
        set_sizes=scorer.set_sizes,
    )


def _reversed(queries: Queries) -> Queries:
    return Queries(queries.objects, queries.subjects, queries.times, queries.hidden)


def _both_directions(shares: Sequence[Matrix], priors: Doubles) -> Doubles:
    """Return log P of the facts in both directions: P of predicates (B, R), twice -> (B, 2 R)."""
    tiny = np.finfo(np.float64).tiny  # so that the logarithm of 0 is finite
    logs = [np.log(np.maximum(share.astype(np.float64), tiny)) for share in shares]
    return np.concatenate([logs[i] + priors[:, i : i + 1] for i in range(2)], axis=1)


def evaluate_forecast(
    scorer: ViewScorer,
    data: Dataset,
    split: Split = "test",
    *,
    rolling: bool,
    priors: Doubles | None = None,
) -> dict[str, dict[str, Any]]:
    """Return metrics for the four rankings in the forecasting literature, ready for JSON.

    raw_r, filtered_r    among the R predicates of (s, ?, o, t)
    raw_2r, filtered_2r  among 2 R: (s, r, o, t) and (o, r, s, t) for each r

    Filtered rankings exclude other known facts with the same time. The 2 R candidates are ranked by
    log P(direction) + log P(r | direction): the prior plus the scorer's probability for that
    ordered pair.

    priors  log P(s -> o) and log P(o -> s) for each fact: (n, 2). By default they are fitted, on
            every earlier fact if `rolling`, otherwise on the training facts

    The caller must ensure that no query sees a fact with its own time or later. `rolling` means
    that the scorer sees every earlier fact, including validation and test facts.
    """
    if priors is None:
        priors = direction_priors(data, split, rolling=rolling)
    assert scorer.probabilities is not None
    raw = EvaluationQueries.of(data, split, "raw")
    queries, everything = held_out_queries(raw.facts), data.all_facts()
    one_way, back = (_all_scores(scorer, asked) for asked in (queries, _reversed(queries)))
    both = _both_directions([scorer.probabilities(each) for each in (one_way, back)], priors)
    known = known_predicates(raw.facts, [with_inverses(everything, len(data.predicates))])
    ways = {
        "raw_r": (one_way, raw),
        "filtered_r": (one_way, replace(raw, known=raw.right)),
        "raw_2r": (both, raw),
        "filtered_2r": (both, replace(raw, known=known)),
    }
    figures = {}
    for name, (scores, asked) in ways.items():
        figures[name] = asdict(evaluate_scores(scores.__getitem__, asked).metrics)
        del figures[name]["ece"]
    return figures


def _all_scores(scorer: ViewScorer, queries: Queries) -> Matrix:
    score, starts = _by_rows(scorer, queries), range(0, max(len(queries), 1), CHUNK)
    return np.concatenate([score(slice(start, start + CHUNK)) for start in starts])


def _by_rows(scorer: ViewScorer, queries: Queries) -> Callable[[slice], Matrix]:
    if scorer.at_once:
        return scorer.scores(queries).__getitem__
    return lambda rows: scorer.scores(queries.take(rows))


def checked_scores(scores: Any, queries: Queries, width: int) -> Matrix:
    """Return a third-party scorer's output as a matrix. Raise ApptekError if its shape is wrong.

    Torch tensors are accepted too.
    """
    if hasattr(scores, "detach"):
        scores = scores.detach().cpu().numpy()
    matrix: Matrix = np.asarray(scores)
    if matrix.shape != (wanted := (len(queries), width)):
        raise ApptekError(f"the scorer returned shape {matrix.shape}, expected {wanted}")
    if matrix.dtype not in (np.float32, np.float64):
        try:
            matrix = matrix.astype(np.float64 if matrix.dtype.kind in "iu" else np.float32)
        except (TypeError, ValueError):
            raise ApptekError(f"the scorer returned {matrix.dtype}, expected numbers") from None
    if np.isnan(matrix).any():
        raise ApptekError("the scorer returned NaN, which cannot be ranked")
    # Infinities (masks) become the first or the last of their row; equal ones tie.
    return np.clip(matrix, -_LARGE, _LARGE)
