"""The audit of a graph: the log-odds that each fact is wrong, and in which way.

By Bayes' rule, the odds that a fact (s, r, o, t) has a wrong predicate are

    prior / (1 - prior) * noise(r) / p(r | s, o, t)

Here noise(r) is the probability that an error has predicate r. It is proportional to the
predicate's share of the facts to the power of 0.3, which is between uniform and the actual
frequency. These odds are divided by the lift of the roles of s and o, to the power of 0.1
(`Roles.lift`). The odds of a swapped direction come from a logistic regression
(`direction_log_odds`), times the same prior.
"""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import AnyInts, Bools, Doubles, Ints, Longs
from apptek.audit.judge import Judge, Judgements, impossible_partners, judge_facts
from apptek.evaluation.direction import fit_direction
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts

FINDINGS = ("predicate", "direction", "interval")  # how a fact may be wrong
PRIOR = 0.01  # the proportion of facts assumed to be wrong in each way
NOISE = 0.3  # 1: errors follow the frequency of predicates; 0: errors are uniform
LIFT = 0.1  # both were chosen on ICEWS14 with planted errors
SMOOTHING = 5.0  # facts with the usual shares added to each entity
_LEAST = 1e-30


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
        """Return the roles in these facts, excluding each fact itself."""
        span = 1 + int(facts.predicates.max(initial=0))
        acting = facts.subjects.astype(np.int64) * span + facts.predicates
        acted_upon = facts.objects.astype(np.int64) * span + facts.predicates
        return cls(
            _count(acting, acting) - 1,
            _count(acted_upon, acted_upon) - 1,
            # If swapped, the fact itself would count when subject and object are the same.
            _count(acting, acted_upon) - (facts.subjects == facts.objects),
            _count(acted_upon, acting) - (facts.subjects == facts.objects),
        )

    def lift(self, facts: Facts) -> Doubles:
        """Return the log-lift of s as a subject of r plus the log-lift of o as an object of r."""
        usual = np.bincount(facts.predicates)[facts.predicates] / len(facts)

        def log_lift(counts: Longs, entities: Ints) -> Doubles:
            others = np.bincount(entities)[entities] - 1
            lift: Doubles = np.log((counts / usual + SMOOTHING) / (others + SMOOTHING))
            return lift

        return log_lift(self.subject_does, facts.subjects) + log_lift(
            self.object_gets, facts.objects
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """The judged facts of a graph.

    predicate_odds  the log-odds that the predicate is wrong
    direction_odds  the log-odds that subject and object are swapped
    partners        the fact that contradicts the dates: the fact itself if its own dates do, -1 if
                    there is none
    """

    judge: Judge
    judgements: Judgements
    roles: Roles
    predicate_odds: Doubles
    direction_odds: Doubles
    partners: Longs

    @property
    def odds(self) -> Doubles:
        """The log-odds that a fact is wrong in either way; infinite if its dates are impossible."""
        either = np.logaddexp(self.predicate_odds, self.direction_odds)
        return np.where(self.partners >= 0, np.inf, either)

    @property
    def order(self) -> Longs:
        """All facts, least plausible first; ties in the order of the graph."""
        return np.argsort(-self.odds, kind="stable")

    @property
    def findings(self) -> Longs:
        """The way in which each fact is most likely wrong, if it is: indices into FINDINGS."""
        exchanged = (self.direction_odds > self.predicate_odds).astype(np.int64)
        return np.where(self.partners >= 0, 2, exchanged)


def audit_facts(judge: Judge) -> Audit:
    """Judge every fact in the judge's graph while hiding the fact itself."""
    facts = judge.model.graph.facts
    judgements, roles = judge_facts(judge), Roles.of(facts)
    start = np.log(PRIOR / (1 - PRIOR))
    noise = _log_noise(facts.predicates, judge.model.graph.predicate_count)
    own = np.log(np.maximum(judgements.probabilities, _LEAST))
    predicate_odds = start + noise[facts.predicates] - own - LIFT * roles.lift(facts)
    if judge.model.graph.predicate_count == 1:
        predicate_odds = np.full(len(facts), -np.inf)  # there are no other predicates
    direction_odds = start - direction_log_odds(facts, roles, judgements.leanings)
    partners = impossible_partners(facts, judge.model.dataset.axis)
    return Audit(judge, judgements, roles, predicate_odds, direction_odds, partners)


def _log_noise(predicates: Ints, count: int) -> Doubles:
    """Return the log-probability of each predicate in an error."""
    powers = np.bincount(predicates, minlength=count).astype(np.float64) ** NOISE
    logs: Doubles = np.log(np.maximum(powers, _LEAST) / powers.sum())
    return logs


def _count(keys: AnyInts, wanted: AnyInts) -> Longs:
    """Return how often each wanted key occurs among the keys."""
    distinct, counts = np.unique(keys, return_counts=True)
    indices = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    return np.where(distinct[indices] == wanted, counts[indices], 0)


def direction_log_odds(facts: Facts, roles: Roles, leanings: Doubles) -> Doubles:
    """Return the log-odds that a fact has the right direction rather than the reverse: (n,).

    A logistic regression is fitted on the model's own log-odds and on both roles. Its examples are
    the facts themselves, because nearly all of them are right. If the reversed fact is recorded as
    well, or subject and object are the same, there is nothing to swap. The log-odds are then
    infinite.
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
    weights = fit_direction(features[~settled])
    odds = np.einsum("nf,f->n", features, weights)
    return np.where(settled, np.inf, odds)


def is_mirrored(facts: Facts) -> Bools:
    """Return which facts are also recorded with subject and object swapped, at the same time."""
    own, reversed_ = fact_keys(facts, exchanged(facts))
    mirrored: Bools = np.isin(reversed_, own)
    return mirrored


def exchanged(facts: Facts) -> Facts:
    """Return the facts with subject and object swapped."""
    return Facts(facts.objects, facts.predicates, facts.subjects, facts.since, facts.until)
