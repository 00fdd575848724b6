"""Several predicates on one day: precision, recall and F1 of the predicted set.

A question is a (subject, object, time) in a split. Its true answer is the set of all its
predicates. The predicted set contains every predicate, or class of predicates, whose probability
reaches a threshold, and always the most probable one. The thresholds maximise F1 on the validation
set. Precision, recall and F1 are computed per question and averaged. At a horizon of h days, the
information ends h days earlier: a question is moved back h - 1 days, and its answer uses only facts
before that time.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from apptek.arrays import Bools, Matrix
from apptek.errors import ApptekError
from apptek.evaluation.predicate_classes import PredicateWords
from apptek.facts.facts import Dataset, Facts, Split
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN, TimeAxis

HORIZONS = (1, 7, 30, 90)  # days, or steps
THRESHOLDS = np.round(np.geomspace(0.01, 0.9, 40), 4)


@dataclass(frozen=True, slots=True)
class SetMetrics:
    """Means over questions, and the threshold of the sets. `size` is their mean size."""

    questions: int
    precision: float
    recall: float
    f1: float
    size: float
    threshold: float


def evaluate_sets(
    probabilities: Callable[[Queries], Matrix], data: Dataset, split: Split
) -> dict[str, dict[str, Any]]:
    """Return the metrics at each horizon for predicates, classes and groups, as JSON.

    probabilities  computes the probabilities of all predicates from the facts before each query
    """
    if not len(data.valid):
        raise ApptekError(
            "the thresholds of sets are chosen on validation facts, but there are none"
        )
    found: dict[str, dict[str, Any]] = {}
    for horizon in HORIZONS:
        parts = [
            _levels(probabilities, data, data.split(each), horizon) for each in ("valid", split)
        ]
        found[str(horizon)] = {
            level: asdict(_best(parts[0][level], parts[1][level])) for level in parts[0]
        }
    return found


def _levels(
    probabilities: Callable[[Queries], Matrix], data: Dataset, facts: Facts, horizon: int
) -> dict[str, tuple[Matrix, Bools]]:
    """Return, for each level, the probabilities of a split's questions and the true predicates."""
    facts = facts.take(facts.dated)
    columns = np.stack([facts.subjects, facts.objects, facts.times])
    asked, question = np.unique(columns, axis=1, return_inverse=True)
    truths = np.zeros((asked.shape[1], len(data.predicates)), np.bool_)
    truths[question.ravel(), facts.predicates] = True
    subjects, objects, times = (column.astype(np.int32) for column in asked)
    earlier = _earlier(data.axis, times, horizon - 1)
    queries = Queries(subjects, objects, earlier, np.full(len(times), -1, np.int32))
    shares = probabilities(queries)
    levels = {"predicates": (shares, truths)}
    for level, classes in PredicateWords.of(data).levels.items():
        held = np.stack([truths[:, classes.of_predicate == c].any(1) for c in range(len(classes))])
        with_class = held.any(axis=0)
        name = {"class": "classes", "group": "groups"}[level]
        levels[name] = (classes.sums(shares[with_class]), held.T[with_class])
    return levels


def _earlier(axis: TimeAxis, codes: Any, steps: int) -> Any:
    """Return the codes of the times that are this many steps earlier."""
    if not steps:
        return codes
    whole, code_of = TimeAxis(axis.unit), dict[int, int]()
    for code in np.unique(codes).tolist():
        earlier = axis.position(code) - steps if code != UNKNOWN else None
        code_of[code] = code if earlier is None else axis.parse(whole.format(earlier))
    return np.asarray([code_of[code] for code in codes.tolist()], np.int32)


def _best(valid: tuple[Matrix, Bools], asked: tuple[Matrix, Bools]) -> SetMetrics:
    """Return the metrics of the questions, using the best threshold on the validation set."""
    tried = [_metrics(*valid, float(threshold)) for threshold in THRESHOLDS]
    return _metrics(*asked, max(tried, key=lambda metrics: metrics.f1).threshold)


def _metrics(shares: Matrix, truths: Bools, threshold: float) -> SetMetrics:
    chosen = shares >= threshold
    chosen[np.arange(len(shares)), shares.argmax(axis=1)] = True
    hits, sizes = (chosen & truths).sum(axis=1), chosen.sum(axis=1)
    precision, recall = hits / sizes, hits / truths.sum(axis=1)
    f1 = 2 * hits / (sizes + truths.sum(axis=1))
    precise, complete, both, size = (float(e.mean()) for e in (precision, recall, f1, sizes))
    return SetMetrics(len(shares), precise, complete, both, size, threshold)
