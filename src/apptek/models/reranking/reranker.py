"""Fitted trees in use: what they add to the scores of a query's candidates, and why."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from apptek.arrays import Floats
from apptek.errors import ModelError
from apptek.evaluation.calibration import log_softmax
from apptek.extras import parse_trees
from apptek.features.space import FeatureSpace
from apptek.models.reranking.candidates import (
    Candidates,
    Mirrors,
    Weighed,
    describe_candidates,
    names_of,
)

MIRRORS = "the reversed fact"
STANDING = "its place in the linear model"
SUCH_ACTORS = "such actors"
_TOPICS = {"mirror": MIRRORS, "such": SUCH_ACTORS}


class Reranker:
    """Fitted trees, stored as LightGBM's text."""

    def __init__(self, text: str, mirrors: Mirrors, candidates: int) -> None:
        self.text, self.mirrors, self.candidates = text, mirrors, candidates

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the trees as text; they are parsed again on first use."""
        return {name: value for name, value in vars(self).items() if name != "booster"}

    @cached_property
    def booster(self) -> Any:
        """The trees, parsed on first use."""
        return parse_trees(self.text, "the re-ranker")

    def describe(self, space: FeatureSpace, weighed: Weighed) -> Candidates:
        """Return the candidates of the given queries, with their features."""
        described = describe_candidates(space, weighed, self.mirrors, self.candidates)
        wanted, given = self.booster.num_feature(), described.features.shape[2]
        if wanted != given:
            raise ModelError(
                f"the trees of the re-ranker are for {wanted} features and there are {given}: "
                "another version has fitted them; fit again"
            )
        return described

    def scores(self, space: FeatureSpace, weighed: Weighed) -> Floats:
        """Return the linear log-probabilities plus the trees' additions for candidates: (B, R)."""
        if not len(weighed.rows):
            return weighed.scores
        described = self.describe(space, weighed)
        count, width, feature_count = described.features.shape
        table = described.features.reshape(-1, feature_count)
        added = self.booster.predict(table, num_threads=1).reshape(count, width)
        scores = log_softmax(weighed.scores)
        of_candidates = np.take_along_axis(scores, described.predicates, axis=1)
        of_candidates += added.astype(np.float32)
        np.put_along_axis(scores, described.predicates, of_candidates, axis=1)
        return scores

    def contributions(self, space: FeatureSpace, weighed: Weighed) -> dict[str, dict[int, float]]:
        """Return what the trees add to each candidate of one query, by topic.

        The trees' mean is the same for every candidate. It is added to the topic of the candidate's
        rank and linear score.
        """
        described = self.describe(space, weighed)
        shares = self.booster.predict(described.features[0], pred_contrib=True, num_threads=1)
        topics = [*_topics(names_of(space), described.features[0]), STANDING]  # the mean comes last
        added: dict[str, dict[int, float]] = {}
        for row, predicate in enumerate(described.predicates[0].tolist()):
            for topic, value in zip(topics, shares[row].tolist(), strict=True):
                of_topic = added.setdefault(topic, {})
                of_topic[predicate] = of_topic.get(predicate, 0.0) + value
        return added


def _topics(names: Sequence[str], features: Floats) -> list[str]:
    """Return the topic of each feature of a query: (C, F) -> F.

    If all features of a topic are empty, the topic is not a separate reason. Its effect is added to
    the topic of the candidate's rank and linear score. Entity types and a missing reversed fact
    only count as reasons together with other reasons.
    """
    topics = [_topic(name) for name in names]
    known = {topics[column] for column in np.flatnonzero(features.any(axis=0))}
    if known <= {STANDING, MIRRORS, "traits"}:
        known = {STANDING}
    return [topic if topic in known else STANDING for topic in topics]


def _topic(feature: str) -> str:
    """Return a feature's topic: a family, traits, topologies, a special topic, or STANDING."""
    kind, _, rest = feature.partition(" ")
    if kind in _TOPICS:
        return _TOPICS[kind]
    return rest.split(" ")[0] if kind in ("part", "own", "seen", "now") else STANDING
