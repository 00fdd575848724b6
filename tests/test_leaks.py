"""What would catch a leak: with shuffled labels nothing can be known but the frequencies."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from apptek.arrays import Floats
from apptek.config import AgentConfig, ClassifierConfig, RerankerConfig, preset
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import expected_ranks
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries, held_out_queries, training_queries
from apptek.features.clock import Clock
from apptek.features.space import FeatureSpace, make_space
from apptek.features.traits import types_from_names
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.examples import Examples
from apptek.models.fitting.linear_fit import FitReport, fit_linear_softmax
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.reranking.candidates import Weighed
from apptek.models.reranking.fitting import RerankerTask, fit_reranker
from apptek.paper.environment import DecisionProcess, play
from apptek.paper.features import Topologies
from apptek.paper.topologies import mine, topology_set
from apptek.ragged import Ragged
from apptek.seeding import generator
from apptek.synthetic.world import make_world


def shuffled(data: Dataset, seed: int = 0) -> Facts:
    """The training facts with their predicates dealt out anew."""
    facts = data.train
    order = generator(seed, "shuffled").permutation(len(facts))
    return Facts(facts.subjects, facts.predicates[order], facts.objects, facts.since, facts.until)


def mrr(scores: np.ndarray, facts: Facts, known: tuple[Facts, ...]) -> float:
    ranks = expected_ranks(scores, facts.predicates, known_predicates(facts, known))
    return float(np.mean(1 / ranks))


# The default features. Fitted to noise without a penalty they rank a little worse than frequency,
# which would hide a leak: a strong penalty keeps this below the tolerance, and what leaks remains.

CLOSE = 0.01  # more than three standard errors of the mean of these 24,000 queries
STRONG = ClassifierConfig(epochs=3, l2=(100.0,))
FOLDS = 3
Score = Callable[[Queries, Ragged], Floats]


@dataclass(frozen=True)
class Shuffled:
    """A world whose training labels say nothing, with the features of its queries."""

    data: Dataset
    space: FeatureSpace
    rows: Ragged  # of the training queries, each with its own fact hidden

    @property
    def train(self) -> Facts:
        return self.data.train

    def frequency(self, facts: Facts, count: int) -> npt.NDArray[np.float32]:
        found = np.bincount(facts.predicates, minlength=len(self.data.predicates))
        return np.tile(found.astype(np.float32), (count, 1))


@pytest.fixture(scope="module")
def noise() -> Shuffled:
    world = make_world(30_000, 4).dataset
    data = replace(world, train=shuffled(world))
    graph, kinds = TemporalGraph.of(data), types_from_names(data.entities, data.train)
    space = make_space(graph, data, preset("default"), Clock.of(graph), tuple(kinds))
    return Shuffled(data, space, space.rows(training_queries(data.train)))


@pytest.fixture(scope="module")
def connected(noise: Shuffled) -> Shuffled:
    """The same with the topologies that connect the queries as features."""
    data = noise.data
    process = DecisionProcess(noise.space.graph, AgentConfig(tknn=10))
    queries = training_queries(data.train)
    mined = mine([play(process, queries, "random")], data.train.predicates, 15)
    found = topology_set(sorted({*mined.sequences(), *((r,) for r in range(len(data.predicates)))}))
    part = Topologies(process, data.predicates, found, mined)
    space = FeatureSpace(process.graph, (part,))
    return Shuffled(data, space, space.rows(queries))


def surpluses(
    noise: Shuffled,
    rows: Ragged,
    labelled: Facts,
    config: ClassifierConfig,
    trees: RerankerConfig | None = None,
) -> tuple[float, float]:
    """MRR above that of frequency: of out-of-fold training queries, and of test queries.

    rows      the features of the training queries
    labelled  the training facts with the labels to learn and to find
    trees     where there is a re-ranker
    """
    queries = training_queries(labelled)
    usable = queries.subjects != queries.objects
    fold = generator(0, "fold").integers(0, FOLDS, len(labelled))
    test = noise.data.test
    test_queries = held_out_queries(test)
    test_rows = noise.space.rows(test_queries)
    out_of_fold: list[float] = []
    on_test: list[float] = []
    counts: list[int] = []
    for number in range(FOLDS):
        places = [np.flatnonzero(usable & part) for part in (fold != number, fold == number)]
        facts = [labelled.take(part) for part in places]
        examples = [
            Examples(rows.take(part), held.predicates, known_predicates(held, (labelled,)))
            for part, held in zip(places, facts, strict=True)
        ]
        model, report = fit_linear_softmax(
            examples[:1],
            examples[1],
            class_count=len(noise.data.predicates),
            config=config,
            rng=generator(0, "classifier"),
            copies=noise.space.copies(),
        )
        score: Score = partial(linear_score, model)
        if trees:
            asked = queries.take(places[0])
            score = fitted_trees(noise.space, examples[0], (facts[0], asked), model, report, trees)
        for found, asked, asked_rows, held, known in (
            (out_of_fold, queries.take(places[1]), examples[1].rows, facts[1], (labelled,)),
            (on_test, test_queries, test_rows, test, (labelled, noise.data.valid, test)),
        ):
            control = mrr(noise.frequency(facts[0], len(held)), held, known)
            found.append(mrr(score(asked, asked_rows), held, known) - control)
        counts.append(len(facts[1]))
    return float(np.average(out_of_fold, weights=counts)), float(np.mean(on_test))


def linear_score(model: LinearSoftmax, _: Queries, rows: Ragged) -> Floats:
    return model.scores(rows)


def fitted_trees(
    space: FeatureSpace,
    examples: Examples,
    asked: tuple[Facts, Queries],
    model: LinearSoftmax,
    report: FitReport,
    trees: RerankerConfig,
) -> Score:
    """What a re-ranker of these examples makes of the scores of a linear model."""
    task = RerankerTask(
        space=space,
        examples=examples,
        facts=asked[0],
        queries=asked[1],
        train=asked[0],
        linear=replace(STRONG, l2=(report.l2,)),
        l2=report.l2,
    )
    reranker = fit_reranker(task, trees, seed=0)
    assert reranker is not None
    weights = model.weights
    return lambda queries, rows: reranker.scores(
        space, Weighed(queries, rows, weights, model.scores(rows))
    )


@pytest.mark.gate
@pytest.mark.parametrize("features", ["noise", "connected"])
def test_features_of_shuffled_labels_score_like_frequency(
    features: str, request: pytest.FixtureRequest
) -> None:
    noise = request.getfixturevalue(features)
    out_of_fold, on_test = surpluses(noise, noise.rows, noise.train, STRONG)
    assert abs(out_of_fold) < CLOSE
    assert abs(on_test) < CLOSE


@pytest.mark.slow
def test_re_ranked_shuffled_labels_score_like_frequency(noise: Shuffled) -> None:
    trees = RerankerConfig(rounds=15, candidates=10)
    out_of_fold, on_test = surpluses(noise, noise.rows, noise.train, STRONG, trees)
    assert abs(out_of_fold) < CLOSE
    assert abs(on_test) < 2 * CLOSE


@pytest.mark.gate
def test_as_fitted_by_default_they_score_like_features_of_other_labels(noise: Shuffled) -> None:
    """Without a penalty noise costs a little; it costs as much where no label can leak at all."""
    config = preset("default").classifier
    own = surpluses(noise, noise.rows, noise.train, config)
    control = surpluses(noise, noise.rows, shuffled(noise.data, seed=1), config)
    assert abs(own[0] - control[0]) < CLOSE
    assert abs(own[1] - control[1]) < 2 * CLOSE  # a tenth as many queries
    assert max(own) < CLOSE


@pytest.mark.gate
@pytest.mark.parametrize("features", ["noise", "connected"])
def test_the_check_would_see_features_with_the_own_fact_in_sight(
    features: str, request: pytest.FixtureRequest
) -> None:
    noise = request.getfixturevalue(features)
    rows = noise.space.rows(held_out_queries(noise.train))
    out_of_fold, _ = surpluses(noise, rows, noise.train, STRONG)
    assert out_of_fold > 0.2
