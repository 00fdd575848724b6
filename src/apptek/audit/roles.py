"""Roles: how often an entity is the subject of a predicate, and how often its object."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import AnyInts, Bools, Doubles, Ints, Longs
from apptek.evaluation.direction import DirectionPrior
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts

SMOOTHING = 5.0


@dataclass(frozen=True, slots=True)
class Roles:
    """For each fact (s, r, o), counts of other facts with its predicate.

    subject_does  s -> anything         object_gets   anything -> o
    object_does   o -> anything         subject_gets  anything -> s
    """

    subject_does: Longs
    object_gets: Longs
    object_does: Longs
    subject_gets: Longs

    @classmethod
    def of(cls, facts: Facts) -> "Roles":
        """The roles in these facts, each fact itself not counted."""
        span = 1 + int(facts.predicates.max(initial=0))
        acting = facts.subjects.astype(np.int64) * span + facts.predicates
        acted_upon = facts.objects.astype(np.int64) * span + facts.predicates
        return cls(
            _count(acting, acting) - 1,
            _count(acted_upon, acted_upon) - 1,
            # Exchanged, the fact itself would count where subject and object are the same.
            _count(acting, acted_upon) - (facts.subjects == facts.objects),
            _count(acted_upon, acting) - (facts.subjects == facts.objects),
        )

    def familiarity(self) -> Doubles:
        """The baseline: how often (s, r) and (r, o) occur, as a sum of logarithms."""
        familiar: Doubles = np.log1p(self.subject_does) + np.log1p(self.object_gets)
        return familiar

    def lift(self, facts: Facts) -> Doubles:
        """How much more often s does r, and o gets r, than the predicate's share: log of both.

        Few facts say little: each entity gets SMOOTHING facts of the usual shares on top.
        """
        usual = np.bincount(facts.predicates)[facts.predicates] / len(facts)

        def log_lift(counts: Longs, entities: Ints) -> Doubles:
            others = np.bincount(entities)[entities] - 1
            lift: Doubles = np.log((counts / usual + SMOOTHING) / (others + SMOOTHING))
            return lift

        return log_lift(self.subject_does, facts.subjects) + log_lift(
            self.object_gets, facts.objects
        )


def _count(keys: AnyInts, wanted: AnyInts) -> Longs:
    """How often each wanted key is among the keys."""
    distinct, counts = np.unique(keys, return_counts=True)
    indices = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    return np.where(distinct[indices] == wanted, counts[indices], 0)


def direction_log_odds(facts: Facts, roles: Roles, leanings: Doubles, chosen: Longs) -> Doubles:
    """The log-odds that a fact is directed as it stands, against its reversal: (n,).

    A logistic regression over what the model leans to and over both roles, fitted on the chosen
    facts themselves: nearly all of them are right. Where the reversed fact is recorded as well, or
    subject and object are the same, there is nothing to exchange: infinite.
    """
    features = np.stack(
        [
            leanings,
            np.log1p(roles.subject_does) - np.log1p(roles.object_does),
            np.log1p(roles.object_gets) - np.log1p(roles.subject_gets),
        ],
        axis=1,
    )
    settled = is_mirrored(facts) | (facts.subjects == facts.objects)
    odds = features @ DirectionPrior.fit(features[chosen[~settled[chosen]]]).weights
    return np.where(settled, np.inf, odds)


def is_mirrored(facts: Facts) -> Bools:
    """Which facts also stand there with subject and object exchanged, at the same time."""
    own, reversed_ = fact_keys(facts, exchanged(facts))
    mirrored: Bools = np.isin(reversed_, own)
    return mirrored


def exchanged(facts: Facts) -> Facts:
    """The facts with subject and object exchanged."""
    return Facts(facts.objects, facts.predicates, facts.subjects, facts.since, facts.until)
