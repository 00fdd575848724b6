"""The features that speak most for a predicate, whatever the query: the largest weights."""

from dataclasses import dataclass

import numpy as np

from apptek.facts.predicate_table import PredicateTable
from apptek.features.space import FeatureSpace
from apptek.models.model import Model

FAMILY_WORDS = {
    "pair": "subject -> object",
    "reversed": "object -> subject",
    "subject_out": "subject -> others",
    "subject_in": "others -> subject",
    "object_out": "object -> others",
    "object_in": "others -> object",
}
KERNEL_WORDS = {
    "same": "at that time",
    "before": "just before",
    "after": "just after",
    "close": "just before or after",
    "short": "near in time",
    "middle": "in the wider time around",
    "long": "in the long run",
    "ever": "at any time",
    "undated": "undated",
    "undated ever": "at any time, for an undated query",
    "both undated": "undated, for an undated query",
}


@dataclass(frozen=True, slots=True)
class Weighed:
    """A feature in words, and its weight for a predicate."""

    part: str
    words: str
    weight: float


def strongest(
    model: Model, space: FeatureSpace, predicate: int, top: int, *, first: int = 0
) -> list[Weighed]:
    """The features of a model with the largest weights for a predicate, traits left out.

    first  how many of them to pass over
    """
    weights = model.main.classifier.weights[:, predicate]
    named = np.ones(len(weights), np.bool_)
    if space.traits is not None:
        traits = space.first("traits")
        named[traits : traits + len(space.traits)] = False
    columns = np.flatnonzero(named & (weights > 0))
    order = columns[np.argsort(-weights[columns], kind="stable")][first : first + top]
    return [Weighed(*_words(model, space, int(c)), float(weights[c])) for c in order]


def _words(model: Model, space: FeatureSpace, column: int) -> tuple[str, str]:
    names, labels = model.dataset.predicates, model.dataset.labels or PredicateTable()
    if space.history is not None and column < len(space.history):
        feature = space.history.feature(column)
        where, when = FAMILY_WORDS[feature.family], KERNEL_WORDS[feature.kernel]
        return "history", f"'{labels.label(names[feature.predicate])}' {where}, {when}"
    part, own = space.added_at(column)
    words = [f"'{labels.label(name)}'" for name in part.names(own)]
    if part.name != "topologies":
        return str(part.name), ", ".join(words)
    return "topology", "expand both sides by " + ", then ".join(words)
