"""Ranking and classifier by definition, slow and obvious."""

from dataclasses import dataclass

import numpy as np
from reference import PlainFact

from apptek.arrays import Doubles


def is_known(fact: PlainFact, query: PlainFact, filtering: str) -> bool:
    """Whether a fact's predicate is known for the query."""
    if filtering == "raw" or (fact.subject, fact.object) != (query.subject, query.object):
        return False
    return filtering == "static" or (fact.since, fact.until) == (query.since, query.until)


def other_known(query: PlainFact, facts: list[PlainFact], filtering: str) -> list[int]:
    """The known predicates other than the query's own, ascending."""
    found = {fact.predicate for fact in facts if is_known(fact, query, filtering)}
    return sorted(found - {query.predicate})


def expected_rank(scores: list[float], truth: int, left_out: set[int]) -> float:
    """The mean position, from best to worst, of all items with the same score as the truth."""
    kept = [score for r, score in enumerate(scores) if r == truth or r not in left_out]
    ordered = sorted(kept, reverse=True)
    places = [place for place, score in enumerate(ordered, start=1) if score == scores[truth]]
    return sum(places) / len(places)


def group_of(query: PlainFact, train: list[PlainFact]) -> str:
    """Which of the three disjoint groups a query is in."""
    entities = {fact.subject for fact in train} | {fact.object for fact in train}
    if not {query.subject, query.object} <= entities:
        return "unseen_entity"
    pairs = {(fact.subject, fact.object) for fact in train}
    return "seen_pair" if (query.subject, query.object) in pairs else "unseen_pair"


def is_mirrored(query: PlainFact, train: list[PlainFact], mirror: dict[int, int]) -> bool:
    """Whether training facts include the reversed fact at that time, with the mirror predicate."""
    predicate = mirror.get(query.predicate, query.predicate)
    wanted = PlainFact(query.object, predicate, query.subject, query.since, query.until)
    return wanted in train


def calibration_error(confidences: list[float], correct: list[bool], bins: int = 15) -> float:
    """The mean over all answers of |accuracy - mean confidence| of the answer's bin."""
    total = 0.0
    for number in range(bins):
        inside = [
            place
            for place, confidence in enumerate(confidences)
            if min(int(confidence * bins), bins - 1) == number
        ]
        if inside:
            accuracy = sum(correct[place] for place in inside) / len(inside)
            confidence = sum(confidences[place] for place in inside) / len(inside)
            total += len(inside) * abs(accuracy - confidence)
    return total / len(confidences)


@dataclass(frozen=True)
class PlainExample:
    """Features with their values, the label, and predicates excluded from the denominator."""

    features: dict[int, float]
    label: int
    others: frozenset[int] = frozenset()

    def logits(self, weights: Doubles, bias: Doubles) -> Doubles:
        total = bias.copy()
        for feature, value in self.features.items():
            total += value * weights[feature]
        return total

    def probabilities(self, weights: Doubles, bias: Doubles) -> Doubles:
        """Softmax over all predicates that are not excluded; 0 for excluded ones."""
        logits = self.logits(weights, bias)
        logits[list(self.others)] = -np.inf
        powers = np.exp(logits - logits.max())
        return np.asarray(powers / powers.sum())


def objective(
    weights: Doubles, bias: Doubles, examples: list[PlainExample], l2: float = 0.0
) -> float:
    """The sum of -log p(label), plus l2 / 2 times the squared weights."""
    losses = [-np.log(e.probabilities(weights, bias)[e.label]) for e in examples]
    return float(sum(losses) + l2 / 2 * (weights**2).sum())


def slopes(
    weights: Doubles, bias: Doubles, examples: list[PlainExample], l2: float
) -> tuple[Doubles, Doubles]:
    """The derivatives of the objective with respect to the weights and the bias."""
    by_weights, by_bias = l2 * weights, np.zeros_like(bias)
    for example in examples:
        surplus = example.probabilities(weights, bias)
        surplus[example.label] -= 1
        by_bias += surplus
        for feature, value in example.features.items():
            by_weights[feature] += value * surplus
    return by_weights, by_bias


def folded(weights: Doubles, shared: Doubles, copies: dict[int, tuple[int, int]]) -> Doubles:
    """The weights with the copy weights added: copies[feature] is (predicate, group)."""
    found = weights.copy()
    for feature, (predicate, group) in copies.items():
        found[feature, predicate] += shared[group]
    return found


def adagrad(
    examples: list[PlainExample],
    shape: tuple[int, int],
    orders: list[list[int]],
    *,
    rate: float,
    accumulator: float,
    l2: float,
    copies: dict[int, tuple[int, int]] | None = None,
) -> tuple[Doubles, Doubles, Doubles]:
    """Weights, bias and copy weights from Adagrad, one example at a time, with decay to 0.

    The penalty is a proximal step on the weights; copies[feature] is (predicate, group).
    """
    speaking = copies or {}
    weights, sums = np.zeros(shape), np.full(shape, accumulator)
    bias, bias_sums = np.zeros(shape[1]), np.full(shape[1], accumulator)
    shared = np.zeros(1 + max((group for _, group in speaking.values()), default=-1))
    shared_sums = np.full_like(shared, accumulator)
    active = [sum(f in e.features for e in examples) for f in range(shape[0])]
    total = sum(map(len, orders))
    for step, index in enumerate(index for order in orders for index in order):
        example, now = examples[index], rate * (1 - step / total)
        surplus = example.probabilities(folded(weights, shared, speaking), bias)
        surplus[example.label] -= 1
        bias_sums += surplus**2
        bias -= now * surplus / np.sqrt(bias_sums)
        by_shared = np.zeros_like(shared)
        for feature, value in example.features.items():
            sums[feature] += (value * surplus) ** 2
            pace = now / np.sqrt(sums[feature])
            moved = weights[feature] - pace * value * surplus
            weights[feature] = moved / (1 + pace * l2 / active[feature])
            if feature in speaking:
                predicate, group = speaking[feature]
                by_shared[group] += value * surplus[predicate]
        shared_sums += by_shared**2
        shared -= now * by_shared / np.sqrt(shared_sums)
    return weights, bias, shared
