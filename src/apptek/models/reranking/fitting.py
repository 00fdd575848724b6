"""Fitting the re-ranker: boosted trees reorder the linear model's most probable predicates.

The trees are trained on scores from linear models that have not seen the training queries. All
queries about a pair at the same time share a fold. The predicates' mirrors are also learned without
the fold's facts. The loss is a listwise softmax over a query's candidates, starting from the linear
log-probability. Other training predicates with the same (u, v, t) are masked, as in the linear fit.
Predicates that are not candidates keep their linear log-probability.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Doubles, Ints, Longs
from apptek.config import ClassifierConfig, RerankerConfig
from apptek.extras import require_trees
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.features.space import FeatureSpace
from apptek.models.counting import Counted
from apptek.models.fitting.descent import descend, shuffled_pass
from apptek.models.fitting.examples import Examples
from apptek.models.reranking.candidates import (
    Candidates,
    Mirrors,
    Weighed,
    describe_candidates,
    names_of,
)
from apptek.models.reranking.reranker import Reranker
from apptek.ragged import Ragged
from apptek.seeding import generator

_MASKED = -1e9
_LEAST_CURVATURE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerTask:
    """The training data of the trees, and how the linear models of the folds are fitted.

    facts    the facts behind the examples, in the same order
    queries  the same facts as queries, each with its own fact hidden
    train    all training facts, from which the mirrors of the model are learned
    l2       the regularisation that was chosen for the linear model
    """

    space: FeatureSpace
    examples: Examples
    facts: Facts
    queries: Queries
    train: Facts
    linear: ClassifierConfig
    l2: float
    counted: Counted | None = None  # what counting adds to the scores


def fit_reranker(task: RerankerTask, config: RerankerConfig, *, seed: int) -> Reranker | None:
    """Fit trees that order the candidates of queries that the linear model has not seen.

    Return None if there is nothing to learn from: a single fold, or no predicate among the
    candidates.
    """
    require_trees("the re-ranker needs")
    import lightgbm

    rng = generator(seed, "folds")
    rows = np.sort(rng.permutation(len(task.examples))[: config.queries])
    fold_of = folds_of(task.facts, config.folds, rng)
    if fold_of.max() == 0:
        return None
    described = _describe_out_of_fold(task, config, rows, fold_of, rng)
    hits = described.predicates == task.examples.labels[rows][:, None]
    left_out = _known_candidates(task.examples.others.take(rows), described.predicates)
    usable = hits.any(axis=1)
    if not usable.any():
        return None
    table = described.features[usable].reshape(-1, described.features.shape[2])
    names = names_of(task.space)
    loss = ListwiseLoss(hits[usable], left_out[usable])
    data = lightgbm.Dataset(
        table,
        label=hits[usable].ravel().astype(np.float32),
        init_score=table[:, names.index("log_probability")].astype(np.float64),
        categorical_feature=[names.index("predicate")],
        params={"max_bin": 127, "verbosity": -1},
    )
    booster = lightgbm.train(
        {
            "objective": loss,
            "num_leaves": config.leaves,
            "learning_rate": config.learning_rate,
            "min_data_in_leaf": config.least_rows,
            "feature_fraction": 0.4,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "lambda_l2": 5.0,
            "cat_smooth": 50.0,
            "num_threads": 1,  # with another busy process, two threads wait for each other
            "deterministic": True,
            "force_row_wise": True,
            "seed": seed,
            "verbosity": -1,
        },
        data,
        config.rounds,
    )
    mirrors = Mirrors.learned(task.train, task.space.graph.predicate_count)
    return Reranker(booster.model_to_string(), mirrors, config.candidates)


def _describe_out_of_fold(
    task: RerankerTask,
    config: RerankerConfig,
    rows: npt.NDArray[np.intp],
    fold_of: Longs,
    rng: np.random.Generator,
) -> Candidates:
    """Return candidates for the training queries in `rows`, scored by out-of-fold linear models.

    At query time, the linear model has not seen the query either. Trees that were trained on scores
    of known queries would trust these scores too much.
    """
    examples, count = task.examples, task.space.graph.predicate_count
    shape = (len(rows), min(config.candidates, count))
    candidates = np.zeros(shape, np.int32)
    features = np.zeros((*shape, len(names_of(task.space))), np.float32)
    for fold in range(int(fold_of.max()) + 1):
        kept = np.flatnonzero(fold_of != fold)
        seen, mirrors = examples.take(kept), Mirrors.learned(task.facts.take(kept), count)
        passes = [shuffled_pass([seen], rng) for _ in range(task.linear.epochs)]
        model = descend([seen], count, task.linear, task.l2, passes, task.space.copies())
        of_fold = np.flatnonzero(fold_of[rows] == fold)
        unseen = examples.rows.take(rows[of_fold])
        queries = task.queries.take(rows[of_fold])
        scores = model.scores(unseen)
        if task.counted is not None:
            scores += task.counted.scores(task.space.graph, queries)
        weighed = Weighed(queries, unseen, model.weights, scores)
        described = describe_candidates(task.space, weighed, mirrors, config.candidates)
        candidates[of_fold], features[of_fold] = described.predicates, described.features
    return Candidates(candidates, features)


def folds_of(facts: Facts, count: int, rng: np.random.Generator) -> Longs:
    """Draw a fold for each fact. Facts about the same pair at the same time share a fold.

    Otherwise, a pair's facts at one time, in either direction, would leak into each other.
    """
    lower, higher = (
        order(facts.subjects, facts.objects).astype(np.int32) for order in (np.minimum, np.maximum)
    )
    zeros = np.zeros(len(facts), np.int32)
    (keys,) = fact_keys(Facts(lower, zeros, higher, facts.since, facts.until))
    distinct, group_of_fact = np.unique(keys, return_inverse=True)
    return rng.permutation(len(distinct))[group_of_fact] % count


def _known_candidates(others: Ragged, candidates: Ints) -> Bools:
    """Return which candidates are other training predicates of the same (u, v, t): (n, C)."""
    rows = others.row_of_each
    hits = candidates[rows] == others.flat_columns[:, None]
    known = np.zeros(candidates.shape, np.bool_)
    np.logical_or.at(known, rows, hits)
    return known


class ListwiseLoss:
    """The listwise loss: -log of the truth's softmax among its query's candidates.

    Known candidates are masked: they are neither right nor wrong.
    """

    def __init__(self, hits: Bools, left_out: Bools) -> None:
        self.hits, self.left_out = hits, left_out

    def __call__(self, scores: Doubles, _: Any = None) -> tuple[Doubles, Doubles]:
        """Return the gradient and the curvature of every candidate, for LightGBM."""
        table = np.where(self.left_out, _MASKED, scores.reshape(self.hits.shape))
        table = np.exp(table - table.max(axis=1, keepdims=True))
        probabilities = table / table.sum(axis=1, keepdims=True)
        slopes = np.where(self.left_out, 0.0, probabilities - self.hits)
        # The diagonal of the Hessian, doubled as LightGBM does for softmax; never 0.
        curvature = np.maximum(2.0 * probabilities * (1.0 - probabilities), _LEAST_CURVATURE)
        return slopes.ravel(), curvature.ravel()
