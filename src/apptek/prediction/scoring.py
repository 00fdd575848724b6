"""Scores of many questions: each chunk's features are weighed while the cache still holds them."""

import numpy as np

from apptek.agent.environment import Queries
from apptek.compiling import in_threads
from apptek.prediction.classifier import LinearSoftmax
from apptek.prediction.features import FeatureSpace
from apptek.topologies.sparse import Floats

CHUNK = 1024  # questions that one thread takes at a time


def linear_scores(space: FeatureSpace, classifier: LinearSoftmax, queries: Queries) -> Floats:
    """The scores of all predicates, (B, R). In threads; the same for any number of them."""
    scores = np.empty((len(queries), len(classifier.bias)), np.float32)

    def fill(start: int) -> None:
        part = slice(start, min(start + CHUNK, len(queries)))
        rows = space.rows(queries.take(np.arange(part.start, part.stop)))
        scores[part] = classifier.scores(rows)

    in_threads(fill, range(0, len(queries), CHUNK))
    return scores
