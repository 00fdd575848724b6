"""What a judge says of every fact: how probable its predicate is, what else, which direction."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Doubles, Ints, Longs, read_only
from apptek.audit.judge import Judge
from apptek.data.queries import Queries, training_queries
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import expected_ranks

_LEAST = 1e-30


@dataclass(frozen=True, slots=True)
class Judgements:
    """One entry for each fact of the graph; of a fact that was not asked about it says nothing.

    The other predicates that the facts contain for the same subject, object and time are left out:
    what is known to hold is no mistake.

    probabilities           of the fact's own predicate
    ranks                   of the same among all predicates; the expected rank over ties
    expected                the most probable predicate, which may be the fact's own
    expected_probabilities  its probability
    leanings                the score of the fact's predicate minus the one for the reversed query
    """

    probabilities: Doubles
    ranks: Doubles
    expected: Ints
    expected_probabilities: Doubles
    leanings: Doubles

    def __len__(self) -> int:
        return len(self.ranks)


def judge_facts(judge: Judge, chosen: Longs) -> Judgements:
    """Asks about the chosen facts with each hidden, and about its reversal. O(chosen)."""
    facts = judge.model.graph.facts
    queries, known = training_queries(facts), known_predicates(facts.take(chosen), (facts,))
    probabilities, ranks, best, leanings = (np.zeros(len(facts)) for _ in range(4))
    expected = np.zeros(len(facts), np.int32)
    for start in range(0, len(chosen), judge.at_once):
        part = chosen[start : start + judge.at_once]
        asked = queries.take(part)
        own, others = facts.predicates[part], known.part(start, start + len(part))
        scores = judge.scores(asked)
        masked = judge.probabilities(scores).astype(np.float64)
        row_of_other = np.repeat(np.arange(len(own)), np.diff(others.offsets))
        masked[row_of_other, others.predicates[others.offsets[0] : others.offsets[-1]]] = 0.0
        masked /= np.maximum(masked.sum(axis=1, keepdims=True), _LEAST)
        rows = np.arange(len(own))
        probabilities[part] = masked[rows, own]
        ranks[part] = expected_ranks(scores, own, others)
        expected[part] = np.argmax(masked, axis=1)
        best[part] = masked[rows, expected[part]]
        reversed_ = judge.scores(Queries(asked.objects, asked.subjects, asked.times, asked.hidden))
        leanings[part] = scores[rows, own].astype(np.float64) - reversed_[rows, own]
    columns = [read_only(column) for column in (probabilities, ranks, best, leanings)]
    return Judgements(columns[0], columns[1], read_only(expected), columns[2], columns[3])
