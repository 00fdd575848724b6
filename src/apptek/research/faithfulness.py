"""Measure whether reasons are faithful to the model: what happens when facts are removed.

| measure     |                                                                                |
|-------------|--------------------------------------------------------------------------------|
| deletion    | removing the cited facts weakens the answer more than removing random ones       |
| sufficiency | with the cited facts alone the answer does not change                          |

The cited facts belong to the five strongest reasons for the answer. A neighbour is a fact of the
subject or object that the query can see; random facts are drawn from the neighbours.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Floats
from apptek.errors import DataError
from apptek.explain.explainer import explain, with_only, without_facts
from apptek.facts.queries import Queries, held_out_queries
from apptek.graph.lookups import ends_of, facts_of
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.asked_queries import query_of_fact
from apptek.models.model import Model, with_training_facts
from apptek.results import Explanation

REASONS = 5
Rows = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness:
    """Means over test questions whose answer has a reason with facts.

    compared           questions that have an uncited neighbour cited_beats_random the proportion of
                       these for which deleting the cited facts costs the answer more
    cited_drop         that cost, in log-odds against the runner-up; random_drop: for random facts
    sufficiency        the proportion for which the cited facts alone give the same answer
    """

    questions: int
    compared: int
    cited_facts: float
    cited_beats_random: float
    cited_drop: float
    random_drop: float
    sufficiency: float


class Ablation:
    """One question, its answer, and the answer when only some facts are kept."""

    def __init__(self, answerer: Answerer, queries: Queries, explanation: Explanation) -> None:
        self.answerer, self.model, self.queries = answerer, answerer.model, queries
        self.view: WorkingView = answerer.view_of(queries)
        names = self.model.dataset.predicates
        self.answer = names.find(explanation.predicate)
        self.runner_up = names.find(explanation.runner_up)
        self.temperature = explanation.temperature
        self.cited = np.unique(
            [fact.fact for reason in explanation.reasons for fact in reason.cited[0]]
        ).astype(np.int64)

    def neighbours(self) -> Rows:
        """Return the facts of the subject and object that the query can see, in ascending order."""
        graph = self.model.graph
        rows = facts_of(graph, (int(self.queries.subjects[0]), int(self.queries.objects[0])))
        if self.view.name == "past_only":
            moment = int(graph.axis.positions(self.queries.times)[0])
            rows = rows[ends_of(graph, rows)[0] < moment]
        return rows

    def without(self, deleted: Rows) -> float:
        """Return the log-odds of the answer against the runner-up without these facts."""
        scores = self._scores(without_facts(self.answerer, self.queries, deleted).answerer)
        return float(scores[self.answer] - scores[self.runner_up]) / self.temperature

    def alone(self) -> bool:
        """Return whether the cited facts alone give the same answer."""
        scores = self._scores(with_only(self.answerer, self.cited))
        return int(np.argmax(scores)) == self.answer

    def _scores(self, answerer: Answerer) -> Floats:
        scores: Floats = answerer.view_of(self.queries).scores(self.queries)[0]
        return scores


def measure_faithfulness(model: Model, count: int, *, rng: np.random.Generator) -> Faithfulness:
    """Return the measures over `count` random test questions.

    The model sees the facts that it was fitted on.
    """
    answerer = Answerer(with_training_facts(model))
    test = held_out_queries(model.dataset.test)
    if not len(test):
        raise DataError(f"{model.dataset.name} has no test facts to ask about")
    drops, alone, cited = [], [], []
    for row in rng.permutation(len(test)).tolist():
        queries = test.take(np.asarray([row]))
        query = query_of_fact(model.dataset, model.dataset.test, row)
        explanation = explain(answerer, query, most=REASONS)
        if not any(reason.facts for reason in explanation.reasons):
            continue
        ablation = Ablation(answerer, queries, explanation)
        cited.append(len(ablation.cited))
        alone.append(ablation.alone())
        others = np.setdiff1d(ablation.neighbours(), ablation.cited)
        if len(others):
            drawn = rng.permutation(others)[: len(ablation.cited)]
            whole = explanation.log_odds
            drops.append([whole - ablation.without(part) for part in (ablation.cited, drawn)])
        if len(cited) == count:
            break
    if not drops:
        raise DataError("no answer has a reason that cites facts, with other facts to compare")
    costs = np.asarray(drops)
    return Faithfulness(
        questions=len(cited),
        compared=len(costs),
        cited_facts=float(np.mean(cited)),
        cited_beats_random=float(np.mean(costs[:, 0] > costs[:, 1])),
        cited_drop=float(costs[:, 0].mean()),
        random_drop=float(costs[:, 1].mean()),
        sufficiency=float(np.mean(alone)),
    )
