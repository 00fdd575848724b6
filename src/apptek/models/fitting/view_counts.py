"""Counting in a fit: which facts count, and whether any model beats the most frequent predicate."""

from dataclasses import replace

import numpy as np

from apptek.arrays import Floats
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import TuningQueries
from apptek.facts.queries import training_queries
from apptek.facts.times import UNKNOWN
from apptek.models.counting import (
    FREQUENCY,
    MOST_FACTS,
    MOST_SHARES,
    MOST_TRIED,
    VARIANTS,
    Asked,
    Counted,
    choose_counts,
    counted_ranks,
    is_surely_better,
)
from apptek.models.counting_kernels import dating_of
from apptek.models.fitting.examples import ViewExamples
from apptek.models.fitting.stages import Fit

LEAST_JUDGED = 60  # queries needed to decide that nothing can be learned


def choose_view_counts(fit: Fit, made: ViewExamples) -> tuple[Counted | None, Floats | None]:
    """Return how to count facts, and each predicate's log P from counting for the tuning queries.

    The choice uses tuning queries, and training queries whose own fact is hidden. Training queries
    can be used because counting is not fitted, and more queries make the choice more reliable.
    Return None if there are too many facts to count.
    """
    data, tuning = fit.dataset, made.tuning
    if len(data.train) > MOST_FACTS:
        return None, None
    dating = dating_of(data.train, len(data.predicates))
    counted = Counted(1.0, VARIANTS["recency"].start, dating)
    counted = choose_counts(counted, _known_answers(made, newer=True))
    return counted, None if tuning is None else counted.log_shares(made.seen.graph, made.queries)


def _known_answers(made: ViewExamples, *, newer: bool) -> list[Asked]:
    """Return the tuning queries. If they are few, add training queries that hide their own fact.

    newer  whether to add queries from the newer half of the training facts, which have earlier
           facts. Undated facts alternate between the halves
    """
    graph, tuning, rows = made.space.graph, made.tuning, made.rows
    answers, most = [], min(MOST_TRIED, -(-MOST_SHARES // graph.predicate_count))
    if tuning is not None:
        asked = TuningQueries(made.queries, tuning.labels, tuning.others)
        answers = [(made.seen.graph, asked.spread(most))]
        if len(tuning) >= most:
            return answers
    positions = graph.axis.positions(graph.facts.times[rows])
    is_dated = positions != UNKNOWN
    middle = np.median(positions[is_dated]) if is_dated.any() else 0
    is_newer = np.where(is_dated, positions >= middle, np.arange(len(rows)) % 2 == 0)
    rows = rows[is_newer == newer]
    facts = graph.facts.take(rows)
    known = known_predicates(facts, (graph.facts,))
    of_train = TuningQueries(training_queries(graph.facts, rows), facts.predicates, known)
    return [*answers, (graph, of_train.spread(most - len(made.queries)))]


def has_signal(made: ViewExamples, counted: Counted, scores: Floats) -> bool:
    """Return whether the model is reliably better than the most frequent predicate.

    Either the scores or counting must be better. The scores are judged on the tuning queries.
    Counting is also judged on training queries that were not used to choose it. With too few
    queries to decide, return True.
    """
    tuning, frequency = made.tuning, replace(counted, kernel=FREQUENCY)
    assert tuning is not None
    asked = TuningQueries(made.queries, tuning.labels, tuning.others)
    usual = counted_ranks(frequency, [(made.seen.graph, asked)])
    if is_surely_better(asked.ranks(scores), usual):
        return True
    answers = _known_answers(made, newer=False)
    ours, theirs = (counted_ranks(by, answers) for by in (counted, frequency))
    return len(ours) < LEAST_JUDGED or is_surely_better(ours, theirs)
