"""What a family of facts adds to the scores of all predicates, with some of its facts taken away.

A linear model adds up what each family adds, so that facts of different families can be taken away
independently of each other.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs, read_only
from apptek.config import FAMILIES
from apptek.features.history import History, ListedFacts
from apptek.features.history_kernels import LEAST, SHARPNESS
from apptek.models.linear_softmax import LinearSoftmax

CHUNK = 4096  # sets of facts looked at together
ROUNDING = 1e-5  # by which sums of kernels in single precision may be off
NOTHING = np.zeros((1, 0), np.int64)  # the one set of places without any


@dataclass(frozen=True, slots=True, eq=False)
class FamilyScores:
    """The facts of one family, nearest first, and the weights of their features.

    The first `most` facts make the features; when some are taken away, the next ones move up.
    """

    family: str
    facts: Ints  # (n,)
    slots: Longs  # (n,) the predicate of each fact, as an index into `predicates`
    predicates: Longs  # (P,) the predicates that occur
    kernels: Doubles  # (n, K) the kernels of each fact
    weights: Floats  # (P, K, R)
    most: int
    weight: float

    @classmethod
    def of(
        cls, history: History, family: str, listed: ListedFacts, classifier: LinearSoftmax
    ) -> "FamilyScores":
        """The family of a query with these listed facts."""
        of_fact = history.graph.facts.predicates[listed.facts]
        predicates, slots = np.unique(of_fact, return_inverse=True)
        config, direct = history.config, family in FAMILIES[:2]
        return cls(
            family=family,
            facts=listed.facts,
            slots=slots.astype(np.int64),
            predicates=predicates.astype(np.int64),
            kernels=listed.kernels,
            weights=_weights(history, family, predicates.astype(np.int64), classifier),
            most=config.pair_facts if direct else config.profile_facts,
            weight=config.pair_weight if direct else config.profile_weight,
        )

    def without(self, facts: set[int]) -> "FamilyScores":
        """The same family after these facts were taken away."""
        stays = np.asarray([fact not in facts for fact in self.facts.tolist()], np.bool_)
        if stays.all():
            return self
        return replace(
            self, facts=self.facts[stays], slots=self.slots[stays], kernels=self.kernels[stays]
        )

    def with_fact(
        self, history: History, predicate: int, kernels: Doubles, classifier: LinearSoftmax
    ) -> "FamilyScores":
        """The same family with one fact more, the nearest of all, which has these kernels."""
        of_fact = np.concatenate([[predicate], self.predicates[self.slots]])
        distinct, slots = np.unique(of_fact, return_inverse=True)
        return replace(
            self,
            facts=np.concatenate([np.asarray([-1], np.int32), self.facts]),
            slots=slots.astype(np.int64),
            predicates=distinct,
            kernels=np.concatenate([kernels[None], self.kernels]),
            weights=_weights(history, self.family, distinct, classifier),
        )

    def active(self, history: History, sets: Longs) -> list[tuple[Ints, Floats]]:
        """The columns and values of the active features without each set of places."""
        columns = _columns(history, self.family, self.predicates).ravel()
        rows = self.values(sets).reshape(len(sets), len(columns)).astype(np.float32)
        return [(columns[row > 0].astype(np.int32), row[row > 0]) for row in rows]

    def removable(self, count: int) -> Longs:
        """Every set of `count` places whose facts matter, taken away together: (sets, count).

        The j-th of them is among the facts that move up when those before it are gone.
        """
        reach = min(self.most + count - 1, len(self.facts))
        sets = _combinations(reach, count)
        sets = sets[(sets < self.most + np.arange(count)).all(axis=1)]
        # Of facts that are alike, the first ones go first: other choices would be the same.
        before = self._alike_before()[sets]
        for place in range(count):
            gone = before[:, [place]] == sets[:, :place]
            keep = (before[:, place] < 0) | gone.any(axis=1)
            sets, before = sets[keep], before[keep]
        return sets

    def _alike_before(self) -> Longs:
        """For each fact the last one before it with the same predicate and kernels; -1: none."""
        alike = np.column_stack([self.slots, self.kernels])
        _, kinds = np.unique(alike, axis=0, return_inverse=True)
        kinds = kinds.ravel()
        order = np.argsort(kinds, kind="stable")
        before = np.full(len(kinds), -1, np.int64)
        same = kinds[order[1:]] == kinds[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        return before

    def scores(self, sets: Longs, predicates: Longs | None = None) -> Doubles:
        """What the family adds to each predicate without each set of places: (sets, R).

        predicates  only these ones
        """
        weights = self.weights if predicates is None else self.weights[:, :, predicates]
        flat = weights.reshape(weights.shape[0] * weights.shape[1], weights.shape[2])
        scores = np.empty((len(sets), weights.shape[2]))
        for start in range(0, len(sets), CHUNK):
            part = sets[start : start + CHUNK]
            values = self.values(part).reshape(len(part), len(flat))
            scores[start : start + len(part)] = values @ flat
        return scores

    def most_gains(self, count: int, answer: int) -> Doubles:
        """More than which no set of `count` facts gains for a predicate against the answer: (R,).

        A set touches at most `count` predicates of facts. The values of their features lie between
        bounds, and so do those of the others: no set does better than the best corner of these
        boxes.
        """
        weights = (self.weights - self.weights[:, :, [answer]]).astype(np.float64)
        now, sums = self.values(NOTHING)[0], self._sums(count)  # (P, K)
        reach = min(self.most + count, len(self.facts))
        kernels, slots = self.kernels[:reach], self.slots[:reach]
        ordered = np.sort(kernels, axis=0)
        totals = sums.sum(axis=0)
        least, most = totals - ordered[-count:].sum(axis=0), totals - ordered[:count].sum(axis=0)
        gains = np.zeros(weights.shape[2])
        more = np.zeros((len(sums), weights.shape[2]))
        for slot, own in enumerate(sums):
            of_slot = np.sort(kernels[slots == slot], axis=0)
            fewest, smallest = own - of_slot[-count:].sum(axis=0), own - of_slot[:1].sum(axis=0)
            untouched = self._corner(own, own, (least, most), now[slot], weights[slot])
            touched = self._corner(fewest, smallest, (least, most), now[slot], weights[slot])
            gains += untouched
            more[slot] = np.maximum(touched - untouched, 0.0) if len(of_slot) else 0.0
        gains += -np.sort(-more, axis=0)[:count].sum(axis=0)
        return gains

    def _corner(
        self, low: Doubles, high: Doubles, totals: tuple[Doubles, Doubles], now: Floats,
        weights: Doubles,
    ) -> Doubles:  # fmt: skip
        """The most that one predicate's features can gain, with sums from `low` to `high`: (R,)."""
        lowest = self._said(low - ROUNDING, totals[1] + ROUNDING) - now
        highest = self._said(high + ROUNDING, totals[0] - ROUNDING) - now
        corner = np.maximum(lowest[:, None] * weights, highest[:, None] * weights)
        total: Doubles = corner.sum(axis=0)
        return total

    def _said(self, sums: Doubles, totals: Doubles) -> Doubles:
        """The value of a feature: more with its own sum, less with that of all predicates."""
        shares = np.maximum(sums, 0.0) / (np.maximum(totals, 0.0) + 1.0)
        values: Doubles = np.log1p(SHARPNESS * shares) * (sums >= LEAST) * self.weight
        return values

    def _sums(self, count: int) -> Doubles:
        """The kernels of each predicate, added up over the facts that `count` removals reach."""
        reach = min(self.most + count, len(self.facts))
        sums = np.zeros((len(self.predicates), self.kernels.shape[1]))
        np.add.at(sums, self.slots[:reach], self.kernels[:reach])
        return sums

    def values(self, sets: Longs) -> Floats:
        """The values of the features without each set of places: (sets, P, K)."""
        left = np.repeat(self._sums(sets.shape[1]).astype(np.float32)[None], len(sets), axis=0)
        kernels, rows = self.kernels.astype(np.float32), np.arange(len(sets))
        for place in sets.T:
            left[rows, self.slots[place]] -= kernels[place]
        said = left >= LEAST
        left *= np.float32(SHARPNESS) / (left.sum(axis=1, keepdims=True) + np.float32(1.0))
        np.log1p(left, out=left)
        left *= said * np.float32(self.weight)
        return left


@lru_cache(maxsize=64)
def _combinations(reach: int, count: int) -> Longs:
    """All sets of `count` of the first `reach` places, ascending."""
    sets = np.asarray(list(combinations(range(reach), count)), np.int64)
    return read_only(sets.reshape(-1, count))


def _columns(history: History, family: str, predicates: Longs) -> Longs:
    """The columns of predicates in a family: (P, K)."""
    first = history.families.index(family) * history.graph.predicate_count
    width = len(history.kernels)
    return (first + predicates.astype(np.int64)[:, None]) * width + np.arange(width)


def _weights(history: History, family: str, predicates: Longs, classifier: LinearSoftmax) -> Floats:
    weights: Floats = classifier.weights[_columns(history, family, predicates)]
    return weights
