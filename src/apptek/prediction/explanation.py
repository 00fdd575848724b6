"""Why a predicate: what speaks for it and against it, how much, and the facts behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from apptek.data.facts import Names
from apptek.errors import ApptekError
from apptek.prediction.evidence import Ends, Evidence, Key, Kind
from apptek.prediction.model import FORMAT, Model
from apptek.prediction.wording import apart_text, when_text
from apptek.topologies.connection import (
    Connection,
    CoreFact,
    Side,
    Surroundings,
    connect,
    is_lasting,
    time_distance,
)
from apptek.topologies.history import FAMILIES
from apptek.topologies.topology import action_name

if TYPE_CHECKING:  # the predictor explains by means of this file
    from apptek.prediction.predictor import Predictor, Query

RANKED = 10  # predicates that an explanation lists


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFact:
    """A fact behind a reason, in words.

    fact         its place among the training facts
    since, until "?" where unknown
    date         both as one text: 2014-05-11, 1999 to 2003, since 1999, undated
    distance     signed, in the axis' unit: below 0 before the query; None where either is undated
    apart        the distance in words: 2 days before
    side         whose it is; "both" where it joins the sides by itself
    step         the step of a topology that brought it in, 1 for the first; 1 in a history
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
    """Something that speaks in a question, and what it adds.

    kind      history: facts of the pair or of one entity; trait: what the entities are; topology
    family    of a history: pair, reversed, subject_out, ...; of a trait: whose it is
    topology  the predicates of a topology; the one of a history
    log_odds  to the log-odds against the runner-up
    score     to the predicate's own score
    """

    kind: Kind = "topology"
    family: str = ""
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
    """A contribution in detail, with its facts; of a topology, where the sides meet after `steps`.

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

    @property
    def cited(self) -> tuple[tuple[CitedFact, ...], tuple[CitedFact, ...]]:
        """The facts that speak, and those that only stand by: in a history all of them speak."""
        if self.contribution.kind == "history":
            return self.facts, ()
        return self.path, self.bystanders


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An answer and its reasons.

    log_odds  log of probability / runner_up_probability
              = bias + the log_odds of all reasons and of all `further` contributions
    score     the predicate's own score, before the temperature
              = score_bias + the score of all reasons and of all `further` contributions
    ranked    the most probable predicates with their probabilities
    known     what the training facts hold from the subject to the object at that very time
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
    known: tuple[str, ...]
    model: dict[str, Any]

    @property
    def is_first(self) -> bool:
        """Whether the predicate is the most probable one; else the runner-up is."""
        return self.ranked[0][0] == self.predicate

    def contributions(self) -> list[Contribution]:
        """All of them, the largest first."""
        return [*(reason.contribution for reason in self.reasons), *self.further]

    def as_json(self) -> dict[str, Any]:
        """The fields of this class by their names, all the way down; tuples are lists.

        `ranked` holds {predicate, probability}; a reason's contribution stands in the reason.
        """
        found: dict[str, Any] = _plain(self)
        for reason in found["reasons"]:
            reason.update(reason.pop("contribution"))
        found["ranked"] = [{"predicate": p, "probability": value} for p, value in self.ranked]
        return found


def _plain(value: Any) -> Any:
    """The same in dictionaries and lists; faster than asdict, which copies every text."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def explain(
    predictor: "Predictor",
    query: "Query",
    predicate: str | None = None,
    *,
    most: int = 5,
    hidden: int = -1,
) -> Explanation:
    """Why `predicate` (the most probable one if None) and not the runner-up.

    The runner-up is the most probable other predicate. The facts of the first `most` contributions
    are looked up. `hidden` is the training fact that the query must not see, -1 where there is
    none.
    """
    model, answer = predictor.model, predictor.predict([query], top=1)[0]
    queries = replace(predictor.queries_of([query]), hidden=np.asarray([hidden], np.int32))
    scores = predictor.scores(queries)
    probabilities = model.classifier.probabilities(scores)[0]
    order = np.argsort(-probabilities, kind="stable").tolist()
    names = model.dataset.predicates
    chosen = order[0] if predicate is None else _place_of(predicate, names)
    rival = next((place for place in order if place != chosen), chosen)
    temperature = float(model.classifier.calibration.temperatures(scores)[0])
    evidence = Evidence(model, predictor.space, queries, Ends(query.subject, query.object))
    contributions = _contributions(evidence, chosen, rival, temperature)
    bias = model.classifier.bias.astype(np.float64)
    score_bias = float(bias[chosen]) + evidence.constant
    odds_bias = float(bias[chosen] - bias[rival]) / temperature
    detailed = contributions[: max(most, 0)]
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
        reasons=_reasons(evidence, detailed),
        further=tuple(found for _, found in contributions[len(detailed) :]),
        ranked=tuple((names[place], float(probabilities[place])) for place in order[:RANKED]),
        unseen_subject=answer.unseen_subject,
        unseen_object=answer.unseen_object,
        unseen_time=answer.unseen_time,
        known=answer.known,
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
    evidence: Evidence, chosen: int, rival: int, temperature: float
) -> list[tuple[Key, Contribution]]:
    """What everything that fired adds, the largest first; equal ones: the shorter first."""
    found = []
    for key in evidence.fired():
        score = evidence.added(key, chosen)
        odds = (score - evidence.added(key, rival)) / temperature
        found.append((key, odds, score))
    found.sort(key=lambda one: (-one[1], len(evidence.topology(one[0])), evidence.topology(one[0])))
    return [
        (
            key,
            Contribution(
                kind=key[0],
                family=key[1],
                topology=evidence.names(key),
                sentence=evidence.sentence(key),
                log_odds=odds,
                score=score,
            ),
        )
        for key, odds, score in found
    ]


def _reasons(
    evidence: Evidence, detailed: Sequence[tuple[Key, Contribution]]
) -> tuple[Reason, ...]:
    near = Surroundings(evidence.space.world, evidence.queries)
    reasons: list[Reason] = []
    for key, contribution in detailed:
        met = connect(near, evidence.topology(key)) if key[0] == "topology" else None
        if key[0] == "topology" and met is None:
            raise AssertionError(f"topology {key[2]} fired, but its sides do not meet")
        core = met.core if met is not None else _core(evidence, key)
        facts = tuple(_cited(evidence.model, fact, evidence.moment) for fact in core)
        path = {fact.fact for fact in facts if fact.on_path}
        earlier = (r.number for r in reasons if path and {f.fact for f in r.path} == path)
        reasons.append(
            Reason(
                number=len(reasons) + 1,
                contribution=contribution,
                steps=met.steps if met is not None else 0,
                meeting=_meeting(met, evidence.model.dataset.entities),
                facts=facts,
                same_as=next(earlier, 0),
            )
        )
    return tuple(reasons)


def _meeting(met: Connection | None, names: Names) -> tuple[Meeting, ...]:
    if met is None:
        return ()
    return tuple(
        Meeting(entity=names[entity], subject_hops=hops[0], object_hops=hops[1])
        for entity, hops in zip(met.meeting, met.hops, strict=True)
    )


def _core(evidence: Evidence, key: Key) -> tuple[CoreFact, ...]:
    """The facts of a history as those of a topology of one step."""
    if key[0] != "history":
        return ()
    direct = key[1] in FAMILIES[:2]
    side: Side = "both" if direct else "subject" if key[1].startswith("subject") else "object"
    return tuple(CoreFact(fact, side, 1, key[2], direct) for fact in evidence.facts(key))


def _cited(model: Model, core: CoreFact, moment: int) -> CitedFact:
    data, facts, axis = model.dataset, model.graph.facts, model.graph.axis
    since, until = int(facts.since[core.fact]), int(facts.until[core.fact])
    first = axis.format(since)
    last = first if until == since else axis.format(until)
    apart = time_distance(model.graph, core.fact, moment)
    return CitedFact(
        fact=core.fact,
        subject=data.entities[int(facts.subjects[core.fact])],
        predicate=data.predicates[int(facts.predicates[core.fact])],
        object=data.entities[int(facts.objects[core.fact])],
        since=first,
        until=last,
        date=when_text(first, last),
        distance=apart,
        apart=apart_text(axis, apart, lasting=is_lasting(model.graph, core.fact)),
        side=core.side,
        step=core.step,
        expanded_by=action_name(core.action, data.predicates),
        on_path=core.on_path,
    )
