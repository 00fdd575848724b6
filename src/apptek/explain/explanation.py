"""An explanation as data: an answer, what speaks for and against it, and the facts behind it."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from apptek.config import View
from apptek.explain.evidence import Kind
from apptek.features.topologies.connection import (
    Side,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFact:
    """A fact behind a reason, in words.

    fact         its index among the facts of the model's graph
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
    """One reason for or against a predicate, and how much it adds.

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
        """The facts that count, and the bystanders: in a history every fact counts."""
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
    known     predicates that the facts contain for this subject, object and time
    view      within: from every fact; ahead: from what was known before the query's time
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
    view: View
    model: dict[str, Any]

    @property
    def is_first(self) -> bool:
        """Whether the predicate is the most probable one; else the runner-up is."""
        return self.ranked[0][0] == self.predicate

    def contributions(self) -> list[Contribution]:
        """All of them, the largest first."""
        return [*(reason.contribution for reason in self.reasons), *self.further]

    def __repr__(self) -> str:
        from apptek.explain.text import explanation_text

        return explanation_text(self).rstrip("\n")

    def _repr_html_(self) -> str:
        from apptek.explain.html_report import explanation_fragment

        return explanation_fragment(self)

    def as_json(self) -> dict[str, Any]:
        """The fields of this class by their names, all the way down; tuples are lists.

        `ranked` holds {predicate, probability}; a reason's contribution stands in the reason.
        """
        content: dict[str, Any] = _plain(self)
        for reason in content["reasons"]:
            reason.update(reason.pop("contribution"))
        content["ranked"] = [{"predicate": p, "probability": value} for p, value in self.ranked]
        return content


def _plain(value: Any) -> Any:
    """The same in dictionaries and lists; faster than asdict, which copies every text."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
