"""The four figures by which the literature on forecasting compares models.

| figure      | candidates                                    | left out of the ranking           |
|-------------|-----------------------------------------------|-----------------------------------|
| raw_r       | the R predicates of (s, ?, o, t)              | nothing                           |
| filtered_r  | the same                                      | known predicates of the same time |
| raw_2r      | 2 R: (s, r, o, t) and (o, r, s, t) for each r | nothing                           |
| filtered_2r | the same                                      | known facts of the same time      |

Among 2 R candidates, log P(direction) + log P(r | direction) is ranked: the direction prior plus
what the model says of that ordered pair. Every fact of the split is asked about once, in its own
direction. Ranks are expected ranks over ties, as everywhere.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Matrix
from apptek.errors import DataError
from apptek.evaluation.direction import DirectionPrior, direction_features
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import CHUNK, Metrics, expected_ranks, metrics_of
from apptek.facts.facts import Dataset, Split, with_inverses
from apptek.facts.queries import Queries, held_out_queries
from apptek.ragged import Ragged


@dataclass(frozen=True, slots=True)
class ForecastFigures:
    """The metrics under each of the four ways to rank."""

    raw_r: Metrics
    filtered_r: Metrics
    raw_2r: Metrics
    filtered_2r: Metrics

    def as_json(self) -> dict[str, dict[str, Any]]:
        """By figure: queries, mrr, hits_at_1, hits_at_3, hits_at_10."""
        return {
            name: {key: value for key, value in metrics.items() if key != "ece"}
            for name, metrics in asdict(self).items()
        }


def evaluate_forecast(
    scores: Callable[[Queries], Matrix],
    probabilities: Callable[[Matrix], Matrix],
    data: Dataset,
    split: Split = "test",
    *,
    rolling: bool,
) -> ForecastFigures:
    """The four figures of a model on a split of its data.

    scores         of all predicates for queries, each about an ordered pair: (B, R). The caller
                   sees to it that a query sees no fact of its own time or later; pairs are asked
                   about in both directions.
    probabilities  turns these scores into P(r | direction), row by row
    rolling        whether the model sees every earlier fact, those of valid and test included;
                   then so does the direction prior, which is fitted on valid in any case. Else
                   both see the training facts alone.
    """
    priors = direction_priors(data, split, rolling=rolling)
    return rank_forecast(scores, probabilities, data, split, priors)


def direction_priors(data: Dataset, split: Split, *, rolling: bool) -> Doubles:
    """Log P(s -> o) and log P(o -> s) for each fact of a split, fitted on valid: (n, 2)."""
    facts = data.all_facts() if rolling else data.train
    prior = DirectionPrior.fit(direction_features(data.valid, facts, data))
    return prior.log_probabilities(direction_features(data.split(split), facts, data))


def rank_forecast(
    scores: Callable[[Queries], Matrix],
    probabilities: Callable[[Matrix], Matrix],
    data: Dataset,
    split: Split,
    priors: Doubles,
) -> ForecastFigures:
    """The four figures with these log-probabilities of the two directions: (n, 2)."""
    facts = data.split(split)
    if not len(facts):
        raise DataError("there are no queries to evaluate")
    queries, nothing = held_out_queries(facts), Ragged.empty(len(facts))
    known = {
        "raw_r": nothing,
        "filtered_r": known_predicates(facts, (data.train, data.valid, data.test)),
        "raw_2r": nothing,
        "filtered_2r": known_predicates(
            facts, [with_inverses(data.all_facts(), len(data.predicates))]
        ),
    }
    ranks = {name: np.empty(len(facts), np.float64) for name in known}
    for start in range(0, len(facts), CHUNK):
        stop = min(start + CHUNK, len(facts))
        part, rows = queries.take(np.arange(start, stop)), slice(start, stop)
        ahead, both = both_directions(scores, probabilities, part, priors[rows])
        for name, of_queries in known.items():
            ranked = both if name.endswith("2r") else ahead
            left_out = of_queries.part(start, stop)
            ranks[name][rows] = expected_ranks(ranked, facts.predicates[rows], left_out)
    return ForecastFigures(**{name: _metrics(of_figure) for name, of_figure in ranks.items()})


def both_directions(
    scores: Callable[[Queries], Matrix],
    probabilities: Callable[[Matrix], Matrix],
    queries: Queries,
    priors: Doubles,
) -> tuple[Matrix, Doubles]:
    """The scores of the predicates, (B, R), and log P of those of both directions, (B, 2 R)."""
    ahead = scores(queries)
    back = scores(Queries(queries.objects, queries.subjects, queries.times, queries.hidden))
    logs = [_log(probabilities(matrix)) for matrix in (ahead, back)]
    return ahead, np.concatenate([logs[i] + priors[:, i : i + 1] for i in range(2)], axis=1)


def _log(probabilities: Matrix) -> Doubles:
    """The logarithm, finite where a probability is too small to be anything but 0."""
    return np.log(np.maximum(probabilities.astype(np.float64), np.finfo(np.float64).tiny))


def _metrics(ranks: Doubles) -> Metrics:
    metrics = metrics_of(ranks)
    assert metrics is not None
    return metrics
