"""The smallest set of facts without which another predicate has the highest score.

First greedily: again and again the fact goes without which the answer is weakest. Then, up to sets
of MOST_PROVEN facts, by looking at all of them: a family's best set of one, two or three facts is
found by trying every one, and the best sets of the families are combined.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Doubles, Longs
from apptek.explain.what_if.family_scores import NOTHING, FamilyScores
from apptek.explain.what_if.rescoring import Rescorer, Singles

MOST_PROVEN = 3
LEAST_LEAD = 1e-4  # by which one score must exceed another: less is within rounding


@dataclass(frozen=True, slots=True)
class Goal:
    """What must become of the scores: the answer falls behind any other predicate, or `target`."""

    answer: int
    target: int | None = None

    def is_reached(self, scores: Doubles) -> bool:
        """Whether scores (R,) reach it."""
        return bool(self.gaps(scores[None])[0] < -LEAST_LEAD)

    def gaps(self, scores: Doubles) -> Doubles:
        """How far scores (n, R) are from the goal: below 0 where they reach it."""
        if self.target is not None:
            others = np.delete(scores, self.target, axis=1)
            return np.asarray(others.max(axis=1) - scores[:, self.target])
        others = np.delete(scores, self.answer, axis=1)
        return np.asarray(scores[:, self.answer] - others.max(axis=1))


def greedy_set(rescorer: Rescorer, goal: Goal, most: int) -> list[int] | None:
    """Facts without which the goal is reached; None where up to `most` are not enough."""
    removed: list[int] = []
    known: dict[FamilyScores, Singles] = {}
    while not goal.is_reached(rescorer.scores()):
        best: list[tuple[float, int]] = []
        for family, sets, scores in rescorer.singles(known):
            if len(sets):
                gaps = goal.gaps(scores)
                place = int(gaps.argmin())
                best.append((float(gaps[place]), int(family.facts[sets[place, 0]])))
        if not best or len(removed) == most:
            return None
        removed.append(min(best)[1])
        rescorer = rescorer.without({removed[-1]})
    return removed


def pruned(removed: list[int], rescorer: Rescorer, goal: Goal) -> list[int]:
    """The same without facts that need not go after all, the first that went tried first."""
    for fact in list(removed):
        fewer = [other for other in removed if other != fact]
        if goal.is_reached(rescorer.without(set(fewer)).scores()):
            removed = fewer
    return removed


@dataclass(frozen=True, slots=True)
class _Best:
    """For each predicate, the set of a family that helps it most against the answer."""

    gains: Doubles  # (R,) by how much the answer's lead shrinks; minus infinity: too little anyway
    sets: Longs  # (R, count)


def smallest_set(
    families: Sequence[FamilyScores], scores: Doubles, goal: Goal, sizes: range
) -> list[int] | None:
    """The first set of one of these sizes that lets the answer fall behind; None: there is none.

    With a target, only the answer's lead over the target is looked at: where no set ends that, none
    reaches the goal.
    """
    best: list[list[_Best | None]] = [[] for _ in families]
    leads = scores[goal.answer] - scores
    for size in sizes:
        for found, family in zip(best, families, strict=True):
            while len(found) < size:
                is_last = len(found) + 1 == MOST_PROVEN
                found.append(_best(family, len(found) + 1, goal, leads if is_last else None))
        chosen = _combined(best, families, leads, goal, size)
        if chosen is not None:
            return chosen
    return None


def _best(family: FamilyScores, count: int, goal: Goal, leads: Doubles | None) -> _Best | None:
    """The best sets of `count` facts.

    leads  where these sets are the last to be looked at: only predicates for which a set may end
           the answer's lead matter then
    """
    sets = family.removable(count)
    if not len(sets):
        return None
    chances = np.ones(family.weights.shape[2], np.bool_)
    if leads is not None:
        chances = family.most_gains(count, goal.answer) > leads
    if goal.target is not None:
        chances &= np.arange(len(chances)) == goal.target
    chances[goal.answer] = False
    rivals = np.flatnonzero(chances)
    if not len(rivals):
        return None
    looked_at = np.append(rivals, goal.answer)
    added = family.scores(sets, looked_at) - family.scores(NOTHING, looked_at)
    gains = added[:, :-1] - added[:, [-1]]
    places = gains.argmax(axis=0)
    most = np.full(len(chances), -np.inf)
    most[rivals] = gains[places, np.arange(len(rivals))]
    chosen = np.zeros((len(chances), count), np.int64)
    chosen[rivals] = sets[places]
    return _Best(most, chosen)


def _combined(
    best: Sequence[Sequence[_Best | None]], families: Sequence[FamilyScores], leads: Doubles,
    goal: Goal, size: int,
) -> list[int] | None:  # fmt: skip
    """The best choice of `size` facts over all families, if it is good enough."""
    count = len(leads)
    totals = np.full((size + 1, count), -np.inf)  # what so many facts gain, for each predicate
    totals[0] = 0.0
    taken = np.zeros((len(families), size + 1, count), np.int64)
    for number, found in enumerate(best):
        after = totals.copy()
        for part, choice in enumerate(found[:size], start=1):
            if choice is None:
                continue
            for whole in range(part, size + 1):
                gain = totals[whole - part] + choice.gains
                better = gain > after[whole]
                after[whole] = np.where(better, gain, after[whole])
                taken[number, whole] = np.where(better, part, taken[number, whole])
        totals = after
    lead = leads - totals[size]
    lead[goal.answer] = np.inf
    winner = int(lead.argmin()) if goal.target is None else goal.target
    if not lead[winner] < -LEAST_LEAD:
        return None
    facts: list[int] = []
    for number in reversed(range(len(families))):
        part = int(taken[number, size, winner])
        if part:
            choice = best[number][part - 1]
            assert choice is not None
            facts.extend(families[number].facts[choice.sets[winner]].tolist())
            size -= part
    return facts
