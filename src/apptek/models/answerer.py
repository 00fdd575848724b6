"""A fitted model put to work: queries become features, features scores, scores answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Floats, Matrix
from apptek.compiling import in_threads
from apptek.data.queries import Queries
from apptek.features.space import FeatureSpace
from apptek.features.sparse import SparseRows
from apptek.models.answers import Answer, Query, Seen, best_answers
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import Model

CHUNK = 1024  # queries that one thread takes at a time


@dataclass(frozen=True, slots=True)
class ScoredQueries:
    """Queries with everything that was computed for them, each of it once.

    linear  the logits of the linear softmax
    scores  the same, or what the re-ranker has made of them
    """

    queries: Queries
    rows: SparseRows
    linear: Floats  # (B, R)
    scores: Floats  # (B, R)


class Answerer:
    """A model with its feature space, built once, and what occurs in its graph."""

    def __init__(self, model: Model, *, as_of: bool = False) -> None:
        self.model, self.space, self.seen = model, model.features(as_of=as_of), Seen(model.graph)

    def scores(self, queries: Queries) -> Floats:
        """The logits of all predicates: (B, R)."""
        if self.model.reranker is None:  # the features of a chunk are dropped when it is scored
            return linear_scores(self.space, self.model.classifier, queries)
        return self.scored(queries).scores

    def scored(self, queries: Queries) -> ScoredQueries:
        """The queries with their features and scores: what an explanation starts from."""
        model, rows = self.model, self.space.rows(queries)
        linear = scores = model.classifier.scores(rows)
        if model.reranker is not None:
            scores = model.reranker.scores(self.space, rows, model.classifier, linear)
        return ScoredQueries(queries, rows, linear, scores)

    def answers(
        self, asked: Sequence[Query], queries: Queries, probabilities: Matrix, *, top: int
    ) -> list[Answer]:
        """The most probable predicates of each query, with what is unusual about it."""
        names = self.model.dataset.predicates
        return best_answers(asked, queries, probabilities, names, self.seen, top)


def linear_scores(space: FeatureSpace, classifier: LinearSoftmax, queries: Queries) -> Floats:
    """The scores of all predicates, (B, R). In threads; the same for any number of them.

    Each chunk's features are weighed while the cache still holds them.
    """
    scores = np.empty((len(queries), len(classifier.bias)), np.float32)

    def fill(start: int) -> None:
        part = slice(start, min(start + CHUNK, len(queries)))
        rows = space.rows(queries.take(np.arange(part.start, part.stop)))
        scores[part] = classifier.scores(rows)

    in_threads(fill, range(0, len(queries), CHUNK))
    return scores
