"""Whether reasons are true to the model: what happens when facts are taken away.

| measure     |                                                                                |
|-------------|--------------------------------------------------------------------------------|
| deletion    | without the cited facts the answer loses more than without as many random ones |
| sufficiency | with the cited facts alone the answer stays                                    |
| stability   | one step earlier or later in time, the answer and its reasons stay             |

The cited facts are those of the five strongest reasons for the answer. A neighbour is a fact of
the subject or the object that the query can see, and random facts are drawn among these.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Floats, Longs
from apptek.errors import DataError
from apptek.explain.explainer import explain
from apptek.explain.without_facts import with_only, without_facts
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries, held_out_queries
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import ends_of, incoming, outgoing
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.fitting.pipeline import fit_model
from apptek.models.fitting.stages import FitOptions
from apptek.models.model import Model, with_training_facts
from apptek.results import Explanation, Query
from apptek.resuming import work_folder
from apptek.synthetic.rules import Rule
from apptek.synthetic.world import World, make_world

REASONS = 5
Rows = npt.NDArray[np.int64]
ReasonName = tuple[str, str, tuple[str, ...]]  # kind, family, predicates


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness:
    """Means over questions of the test split whose answer has a reason with facts.

    compared           questions with a neighbour that is not cited
    cited_beats_random the share of these in which deleting the cited facts costs the answer more
    cited_drop         that cost, in log-odds against the runner-up; random_drop: of random facts
    sufficiency        the share in which the cited facts alone give the same answer
    same_answer        one step earlier or later: the share with the same answer
    same_first_reason  of these, the share with the same first reason
    reason_overlap     of these, the overlap of the five reasons: common ones by all
    guesses_told       the number of questions whose reasons tell a guessed type
    """

    questions: int
    compared: int
    cited_facts: float
    cited_beats_random: float
    cited_drop: float
    random_drop: float
    sufficiency: float
    same_answer: float | None
    same_first_reason: float | None
    reason_overlap: float | None
    guesses_told: int = 0


class Ablation:
    """One question, its answer, and what becomes of that on a part of the facts."""

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
        """Return the facts of the subject and the object that the query can see, ascending."""
        graph = self.model.graph
        ends = [int(self.queries.subjects[0]), int(self.queries.objects[0])]
        slots = [side(graph, end) for end in ends if end >= 0 for side in (outgoing, incoming)]
        rows = np.unique(np.concatenate([np.zeros(0, np.int64), *slots]))
        if self.view.name == "past_only":
            moment = int(graph.axis.positions(self.queries.times)[0])
            rows = rows[ends_of(graph, rows)[0] < moment]
        return rows

    def without(self, deleted: Rows) -> float:
        """Return the log-odds of the answer against the runner-up without these facts."""
        scores = self._scores(without_facts(self.answerer, self.queries, deleted).answerer)
        return float(scores[self.answer] - scores[self.runner_up]) / self.temperature

    def alone(self) -> bool:
        """Whether the cited facts alone give the same answer."""
        scores = self._scores(with_only(self.answerer, self.cited))
        return int(np.argmax(scores)) == self.answer

    def _scores(self, answerer: Answerer) -> Floats:
        scores: Floats = answerer.view_of(self.queries).scores(self.queries)[0]
        return scores


def measure_faithfulness(model: Model, count: int, *, rng: np.random.Generator) -> Faithfulness:
    """Return the measures over `count` questions of the test split, drawn at random.

    The model sees the facts that it was fitted on.
    """
    answerer = Answerer(with_training_facts(model))
    test = held_out_queries(model.dataset.test)
    if not len(test):
        raise DataError(f"{model.dataset.name} has no test facts to ask about")
    drops, alone, cited, stable, guesses = [], [], [], [], 0
    for row in rng.permutation(len(test)).tolist():
        queries = test.take(np.asarray([row]))
        explanation = _explain(answerer, queries)
        if not any(reason.facts for reason in explanation.reasons):
            continue
        ablation = Ablation(answerer, queries, explanation)
        cited.append(len(ablation.cited))
        guesses += any(part.guess for part in explanation.further)
        alone.append(ablation.alone())
        others = np.setdiff1d(ablation.neighbours(), ablation.cited)
        if len(others):
            drawn = rng.permutation(others)[: len(ablation.cited)]
            whole = explanation.log_odds
            drops.append([whole - ablation.without(part) for part in (ablation.cited, drawn)])
        stable += _stability(answerer, queries, explanation)
        if len(cited) == count:
            break
    if not drops:
        raise DataError("no answer has a reason with facts, and neighbours beside them")
    costs = np.asarray(drops)
    same = [entry for entry in stable if entry is not None]
    return Faithfulness(
        questions=len(cited),
        compared=len(costs),
        cited_facts=float(np.mean(cited)),
        cited_beats_random=float(np.mean(costs[:, 0] > costs[:, 1])),
        cited_drop=float(costs[:, 0].mean()),
        random_drop=float(costs[:, 1].mean()),
        sufficiency=float(np.mean(alone)),
        same_answer=len(same) / len(stable) if stable else None,
        same_first_reason=float(np.mean([first for first, _ in same])) if same else None,
        reason_overlap=float(np.mean([overlap for _, overlap in same])) if same else None,
        guesses_told=guesses,
    )


def _explain(answerer: Answerer, queries: Queries, most: int = REASONS) -> Explanation:
    data = answerer.model.dataset
    ends = (int(queries.subjects[0]), int(queries.objects[0]))
    subject, object_ = (data.entities[end] for end in ends)
    return explain(
        answerer, Query(subject, object_, data.axis.format(int(queries.times[0]))), most=most
    )


def _stability(
    answerer: Answerer, queries: Queries, explanation: Explanation
) -> list[tuple[bool, float] | None]:
    """For a step earlier and one later: None where the answer changes, else how reasons agree.

    Nothing for an undated question, and where steps of the axis differ in length.
    """
    if answerer.model.dataset.axis.mixed or queries.times[0] == UNKNOWN:
        return []
    agreeing: list[tuple[bool, float] | None] = []
    own = _reason_names(explanation)
    for step in (-1, 1):
        moved = _explain(answerer, replace(queries, times=queries.times + np.int32(step)))
        if moved.predicate != explanation.predicate:
            agreeing.append(None)
            continue
        names = _reason_names(moved)
        overlap = len(set(own) & set(names)) / max(len(set(own) | set(names)), 1)
        agreeing.append((own[:1] == names[:1], overlap))
    return agreeing


def _reason_names(explanation: Explanation) -> list[ReasonName]:
    return [(part.kind, part.family, part.topology) for part in explanation.reasons]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How often the first reason is the cause of an answer.

    caused  test facts that a rule made of a training fact, and that were answered rightly
    named   the share of these whose first reason is that rule
    rules   the same share for each rule
    """

    caused: int
    named: float
    rules: dict[str, float]


def recover_rules(model: Model, world: World, most: int) -> Recovery:
    """Asks about the test facts that rules with one cause have made, at most so many of a rule.

    Each is answered from earlier facts, so that only causes can be named; where a rule
    acts on the same day, from all facts.
    """
    answerers = {past_only: Answerer(model, past_only=past_only) for past_only in (True, False)}
    hits: dict[str, list[bool]] = {}
    for origin, rule in enumerate(world.rules):
        if len(rule.body) != 1 or rule.head is None:
            continue
        rows = np.flatnonzero(world.origins["test"] == origin)
        rows = rows[_has_cause(world.dataset, world.dataset.test.take(rows), rule)][:most]
        named = [_is_named(answerers[rule.lags[0] > 0], rule, int(row)) for row in rows]
        if answered := [is_named for is_named in named if is_named is not None]:
            hits[rule.name] = answered
    together = [is_named for answered in hits.values() for is_named in answered]
    return Recovery(
        caused=len(together),
        named=float(np.mean(together)) if together else 0.0,
        rules={name: float(np.mean(answered)) for name, answered in hits.items()},
    )


def _has_cause(data: Dataset, facts: Facts, rule: Rule) -> Bools:
    """Which facts have a training fact that the rule may have made them of."""
    body = data.predicates.find(rule.body[0].predicate)
    train = data.train.take(data.train.predicates == body)
    span = len(data.entities)
    causes = train.subjects.astype(np.int64) * span + train.objects
    subjects, objects = facts.subjects.astype(np.int64), facts.objects.astype(np.int64)
    own = objects * span + subjects if _is_returned(rule) else subjects * span + objects
    days = 1 + int(train.times.max(initial=0))
    known: Longs = causes * days + train.times
    found = np.zeros(len(facts), np.bool_)
    for lag in range(rule.lags[0], rule.lags[1] + 1):
        found |= np.isin(own * days + facts.times - lag, known)
    return found


def _is_returned(rule: Rule) -> bool:
    """Whether the object of the cause acts upon its subject."""
    assert rule.head is not None
    return rule.head.subject == rule.body[0].object


def _is_named(answerer: Answerer, rule: Rule, row: int) -> bool | None:
    """Whether the first reason is the rule's body; None where the answer is wrong."""
    assert rule.head is not None
    asked = held_out_queries(answerer.model.dataset.test.take(np.asarray([row])))
    why = _explain(answerer, asked, most=1)
    if why.predicate != rule.head.predicate:
        return None
    body = rule.body[0].predicate
    first = why.reasons[0] if why.reasons else None
    if first is None:
        return False
    if first.kind == "topology":
        return body in first.topology
    family = "reversed" if _is_returned(rule) else "pair"
    return (first.family, first.topology) == (family, (body,))


def fit_and_recover(model: Model, facts: int, *, seed: int = 0, most: int = 100) -> Recovery:
    """Return the recovery of a model with these settings, fitted on a world of `count` facts."""
    world = make_world(facts, seed)
    options = FitOptions(config=model.config, preset=model.preset, seed=seed)
    with work_folder(None) as work:
        fitted, _ = fit_model(world.dataset, options, work)
    return recover_rules(fitted, world, most)
