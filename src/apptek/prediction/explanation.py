"""Why a predicate: the topologies that fired, what each adds, and the facts that connect."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from apptek.agent.environment import Queries, World
from apptek.data.facts import Names
from apptek.data.times import UNKNOWN, Ints
from apptek.errors import ApptekError
from apptek.prediction.model import FORMAT, Model
from apptek.prediction.sparse import Floats
from apptek.prediction.wording import apart_text, when_text
from apptek.topologies.connection import CoreFact, Side, Surroundings, connect, time_distance
from apptek.topologies.topology import action_name, describe, to_names

if TYPE_CHECKING:  # the predictor explains by means of this file
    from apptek.prediction.predictor import Predictor, Query

RANKED = 10  # predicates that an explanation lists


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFact:
    """A core fact in words.

    fact         its place among the training facts
    since, until "?" where unknown
    date         both as one text: 2014-05-11, 1999 to 2003, since 1999, undated
    distance     signed, in the axis' unit: below 0 before the query; None where either is undated
    apart        the distance in words: 2 days before
    side         whose core it is in; "both" where it joins the sides by itself
    step         the step that brought it in, 1 for the first
    expanded_by  the predicate of that step
    on_path      whether it lies on a shortest connection; the others are bystanders
    """

    fact: int
    subject: str
    predicate: str
    object: str
    since: str
    until: str
    date: str
    distance: int | None
    apart: str
    side: Side
    step: int
    expanded_by: str
    on_path: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """A topology that fired, and what it adds.

    log_odds  to the log-odds against the runner-up
    score     to the predicate's own score
    """

    topology: tuple[str, ...]
    sentence: str
    log_odds: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """An entity that both sides reach, in so many hops from the subject and from the object."""

    entity: str
    subject_hops: int
    object_hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A contribution in detail: where the sides meet after `steps` actions, and by which facts.

    same_as  the number of the first reason with the same connecting facts; 0: it is this one
    """

    number: int
    contribution: Contribution
    steps: int
    meeting: tuple[Meeting, ...]
    facts: tuple[CitedFact, ...]
    same_as: int = 0

    @property
    def path(self) -> tuple[CitedFact, ...]:
        """The facts that connect, from subject to object."""
        return tuple(fact for fact in self.facts if fact.on_path)

    @property
    def bystanders(self) -> tuple[CitedFact, ...]:
        """The other core facts."""
        return tuple(fact for fact in self.facts if not fact.on_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An answer and its reasons.

    log_odds  log of probability / runner_up_probability
              = bias + the log_odds of all reasons and of all `further` contributions
    score     the predicate's own score, before the temperature
              = score_bias + the score of all reasons and of all `further` contributions
    ranked    the most probable predicates with their probabilities
    model     dataset, preset, protocol and format of the model
    """

    subject: str
    object: str
    time: str
    predicate: str
    probability: float
    runner_up: str
    runner_up_probability: float
    log_odds: float
    bias: float
    score: float
    score_bias: float
    temperature: float
    reasons: tuple[Reason, ...]
    further: tuple[Contribution, ...]
    ranked: tuple[tuple[str, float], ...]
    unseen_subject: bool
    unseen_object: bool
    unseen_time: bool
    model: dict[str, Any]

    @property
    def is_first(self) -> bool:
        """Whether the predicate is the most probable one; else the runner-up is."""
        return self.ranked[0][0] == self.predicate

    def contributions(self) -> list[Contribution]:
        """Of every topology that fired, the largest first."""
        return [*(reason.contribution for reason in self.reasons), *self.further]

    def as_json(self) -> dict[str, Any]:
        """The fields of this class by their names, all the way down; tuples are lists.

        `ranked` holds {predicate, probability}; a reason's contribution stands in the reason.
        """
        found: dict[str, Any] = _plain(asdict(self))
        for reason in found["reasons"]:
            reason.update(reason.pop("contribution"))
        found["ranked"] = [{"predicate": p, "probability": value} for p, value in self.ranked]
        return found


def _plain(value: Any) -> Any:
    """The same with lists for tuples."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def explain(
    predictor: "Predictor",
    query: "Query",
    predicate: str | None = None,
    *,
    most: int = 5,
    hidden: int = -1,
) -> Explanation:
    """Why `predicate` (the most probable one if None) and not the runner-up.

    The runner-up is the most probable other predicate. The facts of the first `most` topologies are
    looked up. `hidden` is the training fact that the query must not see, -1 where there is none.
    """
    model, answer = predictor.model, predictor.predict([query], top=1)[0]
    queries = replace(predictor.queries_of([query]), hidden=np.asarray([hidden], np.int32))
    rows = predictor.features(queries)
    scores = model.classifier.scores(rows)
    probabilities = model.classifier.probabilities(scores)[0]
    order = np.argsort(-probabilities, kind="stable").tolist()
    names = model.dataset.predicates
    chosen = order[0] if predicate is None else _place_of(predicate, names)
    rival = next((place for place in order if place != chosen), chosen)
    contributions = _contributions(model, rows.row(0)[0], chosen, rival)
    bias, temperature = model.classifier.bias.astype(np.float64), model.classifier.temperature
    score_bias, odds_bias = float(bias[chosen]), float(bias[chosen] - bias[rival]) / temperature
    detailed = [(place, found) for place, found in contributions[: max(most, 0)]]
    return Explanation(
        subject=query.subject,
        object=query.object,
        time=model.dataset.axis.format(int(queries.times[0])),
        predicate=names[chosen],
        probability=float(probabilities[chosen]),
        runner_up=names[rival],
        runner_up_probability=float(probabilities[rival]),
        log_odds=odds_bias + sum(found.log_odds for _, found in contributions),
        bias=odds_bias,
        score=score_bias + sum(found.score for _, found in contributions),
        score_bias=score_bias,
        temperature=temperature,
        reasons=_reasons(model, queries, detailed),
        further=tuple(found for _, found in contributions[len(detailed) :]),
        ranked=tuple((names[place], float(probabilities[place])) for place in order[:RANKED]),
        unseen_subject=answer.unseen_subject,
        unseen_object=answer.unseen_object,
        unseen_time=answer.unseen_time,
        model=_about(model),
    )


def _place_of(predicate: str, names: Names) -> int:
    found = names.find(predicate)
    if found is not None:
        return found
    folded = {name.casefold(): name for name in names}
    near = [folded[key] for key in get_close_matches(predicate.casefold(), folded, n=3)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ApptekError(f"the model knows no predicate {predicate!r}{hint}")


def _about(model: Model) -> dict[str, Any]:
    return {
        "dataset": model.dataset.name,
        "preset": model.preset,
        "protocol": model.protocol,
        "format": FORMAT,
    }


def _contributions(
    model: Model, fired: Ints, chosen: int, rival: int
) -> list[tuple[int, Contribution]]:
    """What each topology that fired adds, the largest first; equal ones: the shorter first."""
    classifier, names = model.classifier, model.dataset.predicates
    weights: Floats = classifier.weights[fired]
    scores = weights[:, chosen].astype(np.float64)
    odds = (scores - weights[:, rival]) / classifier.temperature
    sequences = [model.topologies.sequences[place] for place in fired.tolist()]
    order = sorted(range(len(fired)), key=lambda i: (-odds[i], len(sequences[i]), sequences[i]))
    return [
        (
            int(fired[i]),
            Contribution(
                topology=tuple(to_names(sequences[i], names)),
                sentence=describe(sequences[i], names),
                log_odds=float(odds[i]),
                score=float(scores[i]),
            ),
        )
        for i in order
    ]


def _reasons(
    model: Model, queries: Queries, detailed: Sequence[tuple[int, Contribution]]
) -> tuple[Reason, ...]:
    near = Surroundings(World(model.graph, model.config.agent), queries)
    reasons: list[Reason] = []
    for place, contribution in detailed:
        found = connect(near, model.topologies.sequences[place])
        if found is None:
            raise AssertionError(f"topology {place} fired, but its sides do not meet")
        facts = tuple(_cited(model, near, core) for core in found.core)
        path = {fact.fact for fact in facts if fact.on_path}
        earlier = (r.number for r in reasons if {fact.fact for fact in r.path} == path)
        met = zip(found.meeting, found.hops, strict=True)
        reasons.append(
            Reason(
                number=len(reasons) + 1,
                contribution=contribution,
                steps=found.steps,
                meeting=tuple(
                    Meeting(
                        entity=model.dataset.entities[entity],
                        subject_hops=hops[0],
                        object_hops=hops[1],
                    )
                    for entity, hops in met
                ),
                facts=facts,
                same_as=next(earlier, 0),
            )
        )
    return tuple(reasons)


def _cited(model: Model, near: Surroundings, core: CoreFact) -> CitedFact:
    data, facts, axis = model.dataset, model.graph.facts, model.graph.axis
    since, until = int(facts.since[core.fact]), int(facts.until[core.fact])
    first = axis.format(since)
    last = first if until == since else axis.format(until)
    apart = time_distance(model.graph, core.fact, near.moment)
    lasting = since != until and UNKNOWN not in (since, until)
    return CitedFact(
        fact=core.fact,
        subject=data.entities[int(facts.subjects[core.fact])],
        predicate=data.predicates[int(facts.predicates[core.fact])],
        object=data.entities[int(facts.objects[core.fact])],
        since=first,
        until=last,
        date=when_text(first, last),
        distance=apart,
        apart=apart_text(axis, apart, lasting=lasting),
        side=core.side,
        step=core.step,
        expanded_by=action_name(core.action, data.predicates),
        on_path=core.on_path,
    )
