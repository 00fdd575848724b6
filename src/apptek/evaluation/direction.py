"""The direction prior: which of two entities acts on the other.

Forecasts among the predicates of both directions compare (s, r, o) with (o, r, s). A model's
probabilities for an ordered pair contain no information about the direction. P(direction) is
therefore a separate logistic regression over earlier activity. It compares the pair with the
reversed pair, and the subject with the object, both as a source and as a target.
"""

import math

import numpy as np

from apptek.arrays import AnyInts, Doubles, Ints, Longs
from apptek.evaluation.calibration import fit_logistic
from apptek.facts.facts import Dataset, Facts, Split
from apptek.graph.decayed_counts import decayed_counts

SCALES = (1.0, 3.0, 7.0, 30.0, 120.0, math.inf)  # in steps of the time axis, such as days
FEATURES = 3 * len(SCALES)
_L2 = 1.0  # the penalty


def direction_features(queries: Facts, facts: Facts, data: Dataset) -> Doubles:
    """Return the evidence for (s, ?, o) against (o, ?, s) in strictly earlier facts: (n, 18).

    The features are differences of log(1 + decayed count), by scale: first of the pair and the
    reversed pair, then of each entity's outgoing facts, then of its incoming facts. Swapping
    subject and object changes the sign of every feature.
    """
    moments, events = (data.axis.positions(part.times) for part in (queries, facts))

    def difference(groups: AnyInts, forward: AnyInts, reverse: AnyInts) -> Doubles:
        both: Longs = np.concatenate([forward, reverse]).astype(np.int64)
        counts, _ = decayed_counts(groups, events, both, np.tile(moments, 2), np.asarray(SCALES))
        logs = np.log1p(counts)
        return logs[: len(queries)] - logs[len(queries) :]

    def pairs(subjects: Ints, objects: Ints) -> Longs:
        return subjects.astype(np.int64) * len(data.entities) + objects

    subjects, objects = queries.subjects, queries.objects
    of_pair = difference(
        pairs(facts.subjects, facts.objects), pairs(subjects, objects), pairs(objects, subjects)
    )
    outgoing = difference(facts.subjects, subjects, objects)
    incoming = difference(facts.objects, subjects, objects)
    return np.concatenate([of_pair, outgoing, incoming], axis=1)


def fit_direction(features: Doubles) -> Doubles:
    """Return each feature's weight by maximum likelihood, without a bias: (n, F) -> (F,).

    Every row is a fact in the direction in which it happened. A small penalty keeps the weights
    finite if the features determine every direction.
    """
    every, none = np.ones(len(features)), np.zeros(len(features))
    return fit_logistic(features, every > 0, every, offsets=none, penalty=_L2)


def direction_logs(weights: Doubles, features: Doubles) -> Doubles:
    """Return log P(s -> o) and log P(o -> s) for each row: (n, F) -> (n, 2)."""
    odds: Doubles = np.einsum("nf,f->n", features, weights)
    return -np.logaddexp(0.0, np.stack([-odds, odds], axis=1))


def direction_priors(data: Dataset, split: Split, *, rolling: bool) -> Doubles:
    """Return log P(s -> o) and log P(o -> s) for a split's facts, (n, 2), fitted on `valid`."""
    facts = data.all_facts() if rolling else data.train
    weights = fit_direction(direction_features(data.valid, facts, data))
    return direction_logs(weights, direction_features(data.split(split), facts, data))
