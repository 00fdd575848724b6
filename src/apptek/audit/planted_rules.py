"""Whether an explanation names the rule that made a fact, in a world where that is known."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Longs
from apptek.explain.explainer import explain
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import held_out_queries
from apptek.models.answerer import Answerer
from apptek.models.answers import Query
from apptek.models.fitting.pipeline import fit_model
from apptek.models.fitting.stages import FitOptions
from apptek.models.model import Model
from apptek.resuming import work_folder
from apptek.synthetic.rules import Rule
from apptek.synthetic.world import World, make_world


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

    Each is answered from what was known before, so that only causes can be named; where a rule
    acts on the same day, from all facts.
    """
    answerers = {ahead: Answerer(model, past_only=ahead) for ahead in (True, False)}
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
    data = answerer.model.dataset
    assert rule.head is not None
    query = held_out_queries(data.test.take(np.asarray([row])))
    ends = (int(query.subjects[0]), int(query.objects[0]))
    subject, object_ = (data.entities[end] for end in ends)
    time = data.axis.format(int(query.times[0]))
    why = explain(answerer, Query(subject, object_, time), most=1)
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
    """The recovery of a model with the settings of this one, fitted on a world of so many facts."""
    world = make_world(facts, seed)
    options = FitOptions(config=model.config, preset=model.preset, seed=seed)
    with work_folder(None) as work:
        fitted, _ = fit_model(world.dataset, options, work)
    return recover_rules(fitted, world, most)
