"""The re-ranker: boosted trees order the likeliest predicates of the linear model once more.

Trained on what the linear model says of training questions that it has not seen (out of fold: all
questions of two entities at one time share a fold, and its mirrors are learned without it, too),
with a listwise softmax over the candidates of a question; the linear log-probability is where the
trees start from. Other training predicates of the same (u, v, t) are left out, as in the linear
fit. A predicate that is no candidate keeps its linear log-probability.
"""

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Floats, Longs
from apptek.config import ClassifierConfig, RerankerConfig
from apptek.data.fact_keys import fact_keys
from apptek.data.facts import Facts
from apptek.errors import ApptekError, ModelError
from apptek.features.space import FeatureSpace
from apptek.features.sparse import SparseRows
from apptek.models.linear_fit import Descent, Examples
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.reranker_features import Described, Mirrors, describe_candidates, names_of
from apptek.seeding import generator

_MASKED = -1e9
_LEAST_CURVATURE = 1e-6
MIRRORS = "the reversed fact"
STANDING = "its place in the linear model"


def require_lightgbm() -> None:
    """Says what to install where it is missing."""
    if find_spec("lightgbm") is None:
        raise ApptekError("the re-ranker needs LightGBM: pip install 'apptek[max]'")


class Reranker:
    """Fitted trees, as the text that LightGBM writes."""

    def __init__(self, text: str, mirrors: Mirrors, candidates: int) -> None:
        self.text, self.mirrors, self.candidates = text, mirrors, candidates

    @cached_property
    def booster(self) -> Any:
        """The trees."""
        require_lightgbm()
        import lightgbm

        try:
            return lightgbm.Booster(model_str=self.text)
        except lightgbm.basic.LightGBMError as error:
            raise ModelError(f"the trees of the re-ranker are damaged: {error}") from None

    def describe(
        self, space: FeatureSpace, rows: SparseRows, classifier: LinearSoftmax, scores: Floats
    ) -> Described:
        """The candidates of some questions."""
        return describe_candidates(
            space, rows, classifier.weights, scores, self.mirrors, self.candidates
        )

    def scores(
        self, space: FeatureSpace, rows: SparseRows, classifier: LinearSoftmax, linear: Floats
    ) -> Floats:
        """Linear log-probabilities, those of the candidates with what the trees add: (B, R)."""
        if not len(rows):
            return linear
        found = self.describe(space, rows, classifier, linear)
        count, candidates, width = found.features.shape
        added = self.booster.predict(found.features.reshape(-1, width), num_threads=1)
        scores = log_softmax(linear)
        kept = np.take_along_axis(scores, found.candidates, axis=1)
        kept += added.reshape(count, candidates).astype(np.float32)
        np.put_along_axis(scores, found.candidates, kept, axis=1)
        return scores

    def contributions(
        self, space: FeatureSpace, rows: SparseRows, classifier: LinearSoftmax, linear: Floats
    ) -> dict[str, dict[int, float]]:
        """What the trees add to each candidate of one question, by what they look at.

        The trees' mean is spread over all candidates alike and says nothing.
        """
        found = self.describe(space, rows, classifier, linear)
        parts = self.booster.predict(found.features[0], pred_contrib=True, num_threads=1)
        subjects = [_subject(name) for name in names_of(space)]
        added: dict[str, dict[int, float]] = {}
        for row, predicate in enumerate(found.candidates[0].tolist()):
            for subject, value in zip(subjects, parts[row, :-1].tolist(), strict=True):
                of = added.setdefault(subject, {})
                of[predicate] = of.get(predicate, 0.0) + value
            of = added.setdefault(STANDING, {})
            of[predicate] = of.get(predicate, 0.0) + float(parts[row, -1])
        return added


def _subject(name: str) -> str:
    """What a feature of a candidate looks at: a family, traits, topologies, mirror or standing."""
    kind, _, rest = name.partition(" ")
    if kind == "mirror":
        return MIRRORS
    return rest.split(" ")[0] if kind in ("part", "own", "seen", "now") else STANDING


def log_softmax(scores: Floats) -> Floats:
    """The logarithms of the softmax of each row."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def fit_reranker(
    space: FeatureSpace,
    examples: Examples,
    facts: Facts,
    class_count: int,
    linear: ClassifierConfig,
    l2: float,
    config: RerankerConfig,
    *,
    seed: int,
) -> Reranker:
    """Trees that order candidates of questions which their linear model has not seen.

    facts  of the examples, in their order
    """
    require_lightgbm()
    import lightgbm

    found, asked = _out_of_fold(space, examples, facts, class_count, linear, l2, config, seed)
    hits = found.candidates == examples.labels[asked][:, None]
    left_out = _known(examples, asked, found)
    usable = hits.any(axis=1)
    if not usable.any():
        raise ApptekError("no training query has its predicate among the candidates")
    table = found.features[usable].reshape(-1, found.features.shape[2])
    data = lightgbm.Dataset(
        table,
        label=hits[usable].ravel().astype(np.float32),
        init_score=table[:, 2].astype(np.float64),
        feature_name=[name.replace(" ", "_") for name in names_of(space)],
        categorical_feature=["predicate"],
        params={"max_bin": 127, "verbosity": -1},
    )
    objective = _Listwise(hits[usable], left_out[usable])
    booster = lightgbm.train(
        {
            "objective": objective,
            "num_leaves": config.leaves,
            "learning_rate": config.learning_rate,
            "min_data_in_leaf": config.least_rows,
            "feature_fraction": 0.5,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "lambda_l2": 5.0,
            "cat_smooth": 50.0,
            "num_threads": 1,  # two beside another busy process only wait for each other
            "deterministic": True,
            "force_row_wise": True,
            "seed": seed,
            "verbosity": -1,
        },
        data,
        config.rounds,
    )
    mirrors = Mirrors.learned(facts, class_count)
    return Reranker(booster.model_to_string(), mirrors, config.candidates)


def _out_of_fold(
    space: FeatureSpace,
    examples: Examples,
    facts: Facts,
    class_count: int,
    linear: ClassifierConfig,
    l2: float,
    config: RerankerConfig,
    seed: int,
) -> tuple[Described, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Candidates of training questions by linear models fitted without them; of which ones."""
    rng = generator(seed, "folds")
    asked = np.sort(rng.permutation(len(examples))[: config.queries])
    fold_of = folds_of(facts, config.folds, rng)
    shape = (len(asked), min(config.candidates, class_count))
    candidates = np.zeros(shape, np.int32)
    features = np.zeros((*shape, len(names_of(space))), np.float32)
    for fold in range(config.folds):
        kept = np.flatnonzero(fold_of != fold)
        seen, mirrors = examples.take(kept), Mirrors.learned(facts.take(kept), class_count)
        descent = Descent(seen, class_count, linear, l2, space.copies())
        for _ in range(linear.epochs):
            descent.run_epoch(rng.permutation(len(seen)).astype(np.int32))
        model = descent.model()
        places = np.flatnonzero(fold_of[asked] == fold)
        rows = examples.rows.take(asked[places])
        found = describe_candidates(
            space, rows, model.weights, model.scores(rows), mirrors, config.candidates
        )
        candidates[places], features[places] = found.candidates, found.features
    return Described(candidates, features), asked


def folds_of(facts: Facts, count: int, rng: np.random.Generator) -> Longs:
    """A fold for each fact, drawn at random; the same for facts of two entities at one time."""
    lower, higher = (
        order(facts.subjects, facts.objects).astype(np.int32) for order in (np.minimum, np.maximum)
    )
    nothing = np.zeros(len(facts), np.int32)
    (keys,) = fact_keys(Facts(lower, nothing, higher, facts.since, facts.until))
    distinct, groups = np.unique(keys, return_inverse=True)
    found: Longs = rng.permutation(len(distinct))[groups] % count
    return found


def _known(examples: Examples, asked: Any, found: Described) -> Any:
    """Which candidates are other training predicates of the same (u, v, t)."""
    others = examples.others.take(asked)
    rows = np.repeat(np.arange(len(asked)), np.diff(others.offsets))
    hits = found.candidates[rows] == others.predicates[:, None]
    left_out = np.zeros(found.candidates.shape, np.bool_)
    np.logical_or.at(left_out, rows, hits)
    return left_out


class _Listwise:
    """-log of the truth's softmax among the candidates of its question, and its derivatives."""

    def __init__(self, hits: Any, left_out: Any) -> None:
        self.hits, self.left_out = hits, left_out

    def __call__(self, scores: Doubles, _: Any) -> tuple[Doubles, Doubles]:
        table = np.where(self.left_out, _MASKED, scores.reshape(self.hits.shape))
        table = np.exp(table - table.max(axis=1, keepdims=True))
        chances = table / table.sum(axis=1, keepdims=True)
        slopes = np.where(self.left_out, 0.0, chances - self.hits)
        curvature = np.maximum(2.0 * chances * (1.0 - chances), _LEAST_CURVATURE)
        return slopes.ravel(), curvature.ravel()
