"""An explanation as data: an answer, what speaks for and against it, and the facts behind it."""

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import pyarrow as pa

from apptek.config import View
from apptek.data.frames import FrameKind, frame_of
from apptek.data.predicate_table import PredicateTable
from apptek.evaluation.predicate_classes import Shares, shares_json
from apptek.explain.evidence import Kind
from apptek.explain.groups import Group
from apptek.explain.sentences import Partner
from apptek.explain.story import paragraph, sentence
from apptek.features.topologies.connection import (
    Side,
)
from apptek.present.wording import recorded_words

_FRAME = pa.schema(
    [
        *((name, pa.string()) for name in ("predicate", "runner_up")),
        ("reason", pa.int32()),
        *((name, pa.string()) for name in ("kind", "family", "sentence")),
        *((name, pa.float64()) for name in ("log_odds", "score")),
        ("facts", pa.int32()),
    ]
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
    group     the name of its group in `groups`, where it is one of many
    mirror    whether it is about the very time of the query, in the other direction
    topology  the predicates of a topology; the one of a history
    log_odds  to the log-odds against the runner-up
    score     to the predicate's own score
    """

    kind: Kind = "topology"
    family: str = ""
    group: str = "connections"
    mirror: bool = False
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
class Support:
    """How often such evidence was seen in training, and what then held.

    when        how near in time the evidence was: it is counted by that
    queries     training queries with such evidence
    followed    those of them with the predicate
    pairs       of entities that these are about
    confidence  followed / queries
    lift        confidence / the share of the predicate among all training queries
    runner_up   those of the queries with the runner-up
    runner_up_lift
                the lift of the runner-up
    is_itself   whether the evidence is the very fact that is asked about, or the same with the
                runner-up, which training hides: what was near in time is counted then
    contradicts whether these counts, taken alone, point the other way than the reason does
    words       all of that in words
    """

    when: str
    queries: int
    followed: int
    pairs: int
    confidence: float
    lift: float
    runner_up: int
    runner_up_lift: float = 0.0
    is_itself: bool = False
    contradicts: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A contribution in detail, with its facts; of a topology, where the sides meet after `steps`.

    partners  with whom the facts of one entity are, most of them first
    support   what training says about such evidence; None where that was not counted
    same_as   the number of the first reason with the same connecting facts; 0: it is this one
    """

    number: int
    contribution: Contribution
    steps: int
    meeting: tuple[Meeting, ...]
    facts: tuple[CitedFact, ...]
    partners: tuple[Partner, ...] = ()
    support: Support | None = None
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
    def is_bundled(self) -> bool:
        """Whether its facts are best told by partner: there are several, one of them repeatedly."""
        return 1 < len(self.partners) < len(self.facts)

    def bundles(self) -> list[tuple[str, list[CitedFact]]]:
        """The facts of one entity by partner, most of them first."""
        bundles: dict[str, list[CitedFact]] = {partner.entity: [] for partner in self.partners}
        for fact in self.facts:
            name = fact.object if self.contribution.family.endswith("out") else fact.subject
            bundles[name].append(fact)
        return list(bundles.items())

    @property
    def cited(self) -> tuple[tuple[CitedFact, ...], tuple[CitedFact, ...]]:
        """The facts that count, and the bystanders: in a history every fact counts."""
        if self.contribution.kind == "history":
            return self.facts, ()
        return self.path, self.bystanders


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An answer and its reasons.

    label     how to show the predicate, where its name is a code; so of the runner-up
    log_odds  log of probability / runner_up_probability
              = bias + the log_odds of all contributions: of `reasons`, `against` and `further`
    score     the predicate's own score, before the temperature
              = score_bias + the score of all contributions
    reasons   what speaks most for the predicate, the strongest first
    against   what speaks most against it, the strongest first
    further   the other contributions, in groups
    ranked    the most probable predicates with their probabilities
    known     predicates that the facts contain for this subject, object and time
    view      within: from every fact; ahead: from what was known before the query's time
    model     dataset, preset, protocol and format of the model
    asked_subject, asked_object
              as the query writes them: subject and object are the names that were meant
    later     the names that occur in the facts, but not before the query's time
    age_note  how old the newest fact is, where the time lies after all facts
    labels    how to show each predicate of `ranked`
    by_class  each class of predicates with its probability, the largest first; by_group likewise
    words     how to show predicates, those of cited facts as well; not in the JSON
    """

    subject: str
    object: str
    time: str
    predicate: str
    probability: float
    label: str
    runner_up: str
    runner_up_label: str
    runner_up_probability: float
    log_odds: float
    bias: float
    score: float
    score_bias: float
    temperature: float
    reasons: tuple[Reason, ...]
    against: tuple[Reason, ...]
    further: tuple[Contribution, ...]
    groups: tuple[Group, ...]
    ranked: tuple[tuple[str, float], ...]
    unseen_subject: bool
    unseen_object: bool
    unseen_time: bool
    known: tuple[str, ...]
    view: View
    model: dict[str, Any]
    asked_subject: str = ""
    asked_object: str = ""
    later: tuple[str, ...] = ()
    age_note: str = ""
    labels: tuple[str, ...] = ()
    by_class: Shares = ()
    by_group: Shares = ()
    words: PredicateTable = field(default_factory=PredicateTable)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names that the facts do not contain at any time: the answer is a general one."""
        unseen = ((self.subject, self.unseen_subject), (self.object, self.unseen_object))
        names = [name for name, is_so in unseen if is_so and name not in self.later]
        return tuple(dict.fromkeys(names))

    @property
    def is_first(self) -> bool:
        """Whether the predicate is the most probable one; else the runner-up is."""
        return self.ranked[0][0] == self.predicate

    @property
    def is_only(self) -> bool:
        """Whether the data has no other predicate, so that the runner-up is the predicate."""
        return self.runner_up == self.predicate

    @property
    def role(self) -> str:
        """What the predicate is here: the answer, or one that was asked about."""
        return "answer" if self.is_first else "asked about"

    @property
    def runner_up_role(self) -> str:
        """What the runner-up is: the next best, the answer itself, or one to compare with."""
        best = next((name for name, _ in self.ranked if name != self.predicate), self.runner_up)
        if self.runner_up != best:
            return "compared with"
        return "runner-up" if self.is_first else "the answer"

    @property
    def recorded(self) -> str:
        """What the facts hold for this query, in words; empty where that is nothing."""
        return recorded_words([self.words.label(name) for name in self.known])

    @property
    def sentence(self) -> str:
        """The answer and its main reasons in one sentence."""
        return sentence(self)

    @property
    def paragraph(self) -> str:
        """The answer and its reasons in a few sentences."""
        return paragraph(self)

    def all_reasons(self) -> tuple[Reason, ...]:
        """Those for the predicate, then those against it."""
        return (*self.reasons, *self.against)

    def contributions(self) -> list[Contribution]:
        """All of them, the largest first."""
        detailed = (reason.contribution for reason in self.all_reasons())
        return sorted([*detailed, *self.further], key=lambda part: -part.log_odds)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame with a row for each contribution, the largest first, and the facts behind it.

        `reason` numbers those that are told in detail, and `facts` counts theirs. With `bias` the
        log-odds add up to those of the predicate against the runner-up.
        """
        reasons = {id(reason.contribution): reason for reason in self.all_reasons()}
        rows = []
        for part in self.contributions():
            reason = reasons.get(id(part))
            rows.append(
                {
                    "predicate": self.predicate,
                    "runner_up": self.runner_up,
                    "reason": None if reason is None else reason.number,
                    "kind": part.kind,
                    "family": part.family,
                    "sentence": part.sentence,
                    "log_odds": part.log_odds,
                    "score": part.score,
                    "facts": None if reason is None else len(reason.facts),
                }
            )
        return frame_of(pa.Table.from_pylist(rows, schema=_FRAME), kind)

    def __repr__(self) -> str:
        from apptek.explain.text import explanation_text

        return explanation_text(self).rstrip("\n")

    def _repr_html_(self) -> str:
        from apptek.explain.html_report import explanation_fragment

        return explanation_fragment(self)

    def as_json(self) -> dict[str, Any]:
        """The fields of this class by their names, all the way down; tuples are lists.

        `ranked` holds {predicate, label, probability}, `by_class` and `by_group` {name,
        probability}; a reason's contribution stands in the reason.
        """
        content: dict[str, Any] = {"sentence": self.sentence, "paragraph": self.paragraph}
        content |= as_plain(self)
        del content["words"]
        for reason in (*content["reasons"], *content["against"]):
            reason.update(reason.pop("contribution"))
        labels = content.pop("labels") or [name for name, _ in self.ranked]
        content["ranked"] = [
            {"predicate": name, "label": label, "probability": value}
            for (name, value), label in zip(self.ranked, labels, strict=True)
        ]
        content["by_class"] = shares_json(self.by_class)
        content["by_group"] = shares_json(self.by_group)
        return content


def as_plain(value: Any) -> Any:
    """A dataclass as dictionaries and lists; faster than asdict, which copies every text."""
    if is_dataclass(value):
        return {each.name: as_plain(getattr(value, each.name)) for each in fields(value)}
    return [as_plain(part) for part in value] if isinstance(value, (tuple, list)) else value
