"""The data types of all results, field by field.

A result is a frozen dataclass. The description of each field is in its metadata; the HTTP and MCP
schemas and the field tables in the docs are generated from it. `to_dict` returns plain values for
JSON. `apptek.present` renders text, pages and tables: `__repr__` and `_repr_html_` load it on
demand.
"""

from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np
from pydantic_core import to_jsonable_python

from apptek.config import View
from apptek.facts.predicate_table import labelled
from apptek.reading.frames import FrameKind, When, frame_of, time_text

T = TypeVar("T")

NOTE_KINDS = {
    "conditional": "probabilities are conditional on an event",
    "connection": "how subject and object are connected, or that nothing connects them",
    "far": "the last fact is long before the query's time",
    "fact": "a fact to leave out is not in the data",
    "from_name": "an entity is known only by its name",
    "later_name": "a name is in the data, but not before the query's time",
    "lead": "there is a gap between the last observed time and the window",
    "model": "how the model was fitted, or when its data ends",
    "read_as": "a name was matched to a similar name in the data",
    "similar_name": "names in the data that are similar to an unknown name",
    "recorded": "the data already contains facts that answer the query",
    "splits": "validation and test facts are used, which predict does not use",
    "supposed": "a supposed fact is not used",
    "set": "how often the listed predicates contain the true one",
    "undated": "no fact has the query's date, or the query has no date",
    "unknown_name": "a name is not in the data",
    "view": "which facts the answer is based on",
    "window": "the window is unusual, or was chosen automatically",
}

SIMILAR = "Similar names for each name that is not in the data."
KNOWN = "Predicates of recorded facts with this subject, object and time."
AGE = "How old the newest fact is, if the time is after all facts; otherwise empty."
MEDIAN = "Time units until the chance of such a fact reaches 50 %; null if above `longest`."
LABELS = "Labels of these predicates, if they differ from the names."
GROUPS = "Groups of these predicates."
SET_SIZE = "How many predicates contain the true one in 90 % of similar cases; null if unknown."
SUPPOSED = "What supposed facts would change; null if there are none."
VIEW = "all_facts: based on all facts; past_only: based on facts before the query's time."


def described(description: str, **default: Any) -> Any:
    """Return a dataclass field with a description in its metadata."""
    return field(metadata={"description": description}, **default)


class Result:
    """The base class of all results, which adds display and conversion to tables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(_present("text").render_text(self))

    def _repr_html_(self) -> str:
        return str(_present("html").render_fragment(self))

    def html(self) -> str:
        """Return the result as one self-contained HTML page without scripts or links."""
        return str(_present("html").render_page(self))

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Return the rows as a pandas, polars or Arrow table."""
        return frame_of(_present("tables").to_arrow(self), kind)


@dataclass_transform(frozen_default=True, field_specifiers=(described, field))
def record(cls: type[T]) -> type[T]:
    """Turn a class into a frozen dataclass with slots; a `Result` keeps its own `__repr__`."""
    return dataclass(frozen=True, slots=True, repr=not issubclass(cls, Result))(cls)


def to_dict(value: Any) -> Any:
    """Convert a result to plain values for JSON: dataclasses become dicts, and NaN becomes None."""
    return to_jsonable_python(value, inf_nan_mode="null", fallback=_plain)


def _plain(value: Any) -> Any:
    """Return an array or a number of numpy as Python values, and other values as they are."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def extended(kind: type[T], result: Any, **more: Any) -> T:
    """Convert a result to a subclass with additional fields."""
    return kind(**{each.name: getattr(result, each.name) for each in fields(result)}, **more)


def _present(module: str) -> Any:
    """Load a module of `apptek.present`, lazily because it imports this module."""
    return import_module(f"apptek.present.{module}")


@record
class Note:
    """A remark about a result. Programs should read `kind` and `data`, not `text`."""

    kind: str = described("The kind of the note.")
    text: str = described("The text of the note.")
    data: dict[str, Any] = described("The values used in the text.", default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in NOTE_KINDS:
            raise ValueError(f"unknown kind of note {self.kind!r}; expected one of {NOTE_KINDS}")


@record
class SupposedFact:
    """A hypothetical fact that is not in the data."""

    sentence: str = described("The fact in words.")
    subject: str = described("Who acts.")
    predicate: str = described("The predicate, as the data names it.")
    object: str = described("Who is acted upon.")
    date: str = described("The time at which it would happen.")
    counts: bool = described("Whether the answer uses it; if not, a note explains why.")


@record
class SupposedChance:
    """A probability without and with the supposed facts."""

    kind: str = described("What the probability is about: event, predicate, class or group.")
    name: str = described("The predicate, class or group; empty for any event.")
    label: str = described("Its display name.")
    subject: str = described("Who acts; empty for either direction.")
    object: str = described("Who is acted upon; empty for either direction.")
    without: float = described("The probability without the supposed facts.")
    supposed: float = described("The probability with the supposed facts.")
    change: float = described("supposed - without.")


@record
class Change:
    """The contribution of one reason to the log-odds in each of two answers."""

    kind: str = described("The kind of the reason; in a forecast, the direction.")
    family: str = described("Its family.")
    first_sentence: str = described("The reason in the first answer; empty if it has none.")
    second_sentence: str = described("The reason in the second answer; empty if it has none.")
    first: float = described("Its contribution in the first answer.")
    second: float = described("Its contribution in the second answer.")
    change: float = described("second - first.")


@record
class WhatIf:
    """An answer without and with supposed facts. The model itself does not change."""

    sentence: str = described("What changes, in one sentence.")
    facts: tuple[SupposedFact, ...] = described("The supposed facts.")
    chances: tuple[SupposedChance, ...] = described(
        "Probabilities, the largest of each kind first."
    )
    compared: tuple[str, ...] = described(
        "The predicates compared; a change marked A -> B refers to any event."
    )
    changes: tuple[Change, ...] = described("The reasons that changed, without and with them.")
    notes: tuple[Note, ...] = described("Why some supposed facts are not used.", default=())


@record
class OccurrenceReason:
    """One reason for or against an event."""

    family: str = described("The kind of evidence: the pair, the reversed pair, the subject, ...")
    sentence: str = described("The evidence as a sentence.")
    log_odds: float = described("Its contribution to the log-odds of at least one fact.")


@record
class PredicateForecast:
    """A predicate in one direction, with the chance of at least one such fact in the window."""

    subject: str = described("Who acts.")
    predicate: str = described("The predicate, as the data names it.")
    label: str = described("The predicate's display name.")
    object: str = described("The entity acted upon.")
    probability: float = described("The chance of at least one such fact in the window.")
    expected: float = described("The expected number of such facts.")
    share: float = described("Its probability, conditional on an event between the pair.")

    @property
    def shown(self) -> str:
        """The predicate in readable form: "Consult (040)"."""
        return labelled(self.predicate, self.label)


@record
class ClassForecast:
    """A class of predicates, with the chance of at least one such fact in either direction."""

    name: str = described("The class or group.")
    probability: float = described("The chance of at least one such fact in the window.")
    expected: float = described("The expected number of such facts.")


@record
class DirectionForecast:
    """The forecast for one direction: the chance of an event, and the number of facts."""

    subject: str = described("Who acts.")
    object: str = described("The entity acted upon.")
    probability: float = described("The chance of at least one fact in this direction.")
    expected: float = described("The expected number of facts in this direction.")
    base: float = described("Log-odds of an average pair, to which the reasons are added.")
    reasons: tuple[OccurrenceReason, ...] = described("The strongest first.")
    have_met: bool = described("Whether the pair has earlier facts, in either direction.")
    base_sentence: str = described("The base as a sentence.", default="")


@record
class ChanceUntil:
    """The chance of an event between the start of the window and a later time in it."""

    until: str = described("A time in the window.")
    probability: float = described("The chance of at least one fact by then.")


@record
class NextEvent:
    """The expected time of the next event between two entities, in either direction."""

    event: str = described("The predicate, class or group; empty for any event.")
    probability: float = described("The chance of at least one such fact in the window.")
    expected: float = described("The expected number of such facts in the window.")
    curve: tuple[ChanceUntil, ...] = described("The chance by each day or step of the window.")
    median: int | None = described(MEDIAN)
    median_time: str | None = described(
        "The time when the median is reached; null if beyond `longest`."
    )
    longest: int = described("The longest window in training, in units of the data.")


@record
class Forecast(Result):
    """A forecast for two entities in a window, based on the facts before it."""

    subject: str = described("One entity.")
    object: str = described("The other entity.")
    first: str = described("The first time of the window.")
    last: str = described("The last time of the window (inclusive).")
    length: int = described("The length of the window, in units of the data.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described("Time units between the last observed time and the window.")
    observed_until: str = described("The last time whose facts were used.")
    probability: float = described("The chance of at least one fact, in either direction.")
    expected: float = described("The expected number of facts, in both directions together.")
    directions: tuple[DirectionForecast, DirectionForecast] = described(
        "Subject to object, and back."
    )
    predicates: tuple[PredicateForecast, ...] = described("Both directions, most probable first.")
    curve: tuple[ChanceUntil, ...] = described("The chance by each time in the window.", default=())
    by_class: tuple[ClassForecast, ...] = described("Each class, most probable first.", default=())
    by_group: tuple[ClassForecast, ...] = described("The same for groups.", default=())
    next_event: NextEvent | None = described("When the next such event is expected.", default=None)
    why: str = described("The reasons for the most probable predicate.", default="")
    unseen: tuple[str, ...] = described("The names that are not in the data.", default=())
    notes: tuple[Note, ...] = described("Other notes on the result.", default=())
    similar: dict[str, list[str]] = described(SIMILAR, default_factory=dict)
    what_if: WhatIf | None = described(SUPPOSED, default=None)


@record
class PartnerForecast:
    """A forecast for the subject acting on the object. One of them is the actor or a member."""

    subject: str = described("Who acts; with combined members, the most probable member.")
    object: str = described("Who is acted upon.")
    probability: float = described("The chance of at least one such fact in the window.")
    expected: float = described("The expected number of such facts.")
    previous: float = described("The chance in the forecast for the previous window.")
    change: float = described("probability - previous.")
    predicates: tuple[PredicateForecast, ...] = described("The most probable first.")
    reason: str = described("The strongest evidence for or against it, in words.")
    median: int | None = described(MEDIAN)


@record
class ActorForecast(Result):
    """A forecast for one actor: the entities that it will act on, and those that will act on it."""

    actor: str = described("The actor.")
    members: tuple[str, ...] = described("The combined entities; empty for a single actor.")
    event: str = described("The predicate, class or group that counts; empty for any event.")
    first: str = described("The first time of the window.")
    last: str = described("The last time of the window (inclusive).")
    length: int = described("The length of the window, in units of the data.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described("Time units between the last observed time and the window.")
    observed_until: str = described("The last time whose facts were used.")
    acts_on: tuple[PartnerForecast, ...] = described(
        "Entities that it acts on, most probable first."
    )
    acted_on_by: tuple[PartnerForecast, ...] = described(
        "Entities that act on it, most probable first."
    )
    partners: int = described("How many entities have earlier facts with it, listed or not.")
    others_acted_on: float = described(
        "The chance that it acts on any new partner (no earlier facts with it)."
    )
    others_acting: float = described("The chance that any new partner acts on it.")
    longest: int = described("The longest window in training, in units of the data.")
    notes: tuple[Note, ...] = described("Other notes on the result.", default=())


@record
class RankedEntity:
    """A candidate for the missing entity of a fact."""

    entity: str = described("The name of the entity.")
    probability: float = described("Its probability, if there is such a fact at that time.")
    reason: str = described("The strongest evidence for it, in words.")


@record
class EntityRanking(Result):
    """The candidates for the missing entity of a fact, most probable first."""

    subject: str | None = described("The entity that acts; null if it is the missing one.")
    predicate: str = described("The predicate, as the data names it.")
    label: str = described("The predicate's display name.")
    object: str | None = described("The entity acted upon; null if it is the missing one.")
    time: str = described("The time in question; only facts before it are used.")
    ranked: tuple[RankedEntity, ...] = described("The most probable first.")
    candidates: int = described("The number of entities with any evidence, listed or not.")
    others: int = described("The number of entities without evidence.")
    others_probability: float = described("The total probability of entities without evidence.")
    notes: tuple[Note, ...] = described("Other notes on the result.", default=())

    @property
    def shown(self) -> str:
        """The predicate in readable form: "Consult (040)"."""
        return labelled(self.predicate, self.label)


@record
class WatchRow:
    """A forecast for one pair, in either direction."""

    subject: str = described("One entity.")
    object: str = described("The other entity.")
    probability: float = described("The chance of at least one fact in the window.")
    expected: float = described("The expected number of facts.")
    previous: float = described("The chance in the forecast for the previous window.")
    change: float = described("probability - previous.")
    predicates: tuple[PredicateForecast, ...] = described("The most probable first.")
    reason: str = described("The main cause of the change since that forecast.")
    past: tuple[int, ...] = described("Facts in each earlier window, in order of time.")
    unseen: tuple[str, ...] = described("Names that are not in the data.")
    notes: tuple[Note, ...] = described("Notes on the pair.", default=())
    alerts: tuple[str, ...] = described("The alerts that the pair raises.", default=())
    status: str = described(
        "Relative to an earlier list: new, up, down or same; unlisted if that list was shortened.",
        default="",
    )
    since: float | None = described("The chance in that list; null for a new pair.", default=None)


@record
class Alert:
    """A pair that meets a condition set by the user."""

    rule: str = described("The condition, as given.")
    subject: str = described("One entity.")
    object: str = described("The other entity.")
    value: float = described("The chance in percent, or the change in percentage points.")
    sentence: str = described("The alert in words.")


@record
class DroppedPair:
    """A pair from an earlier list that is not in this list."""

    subject: str = described("One entity.")
    object: str = described("The other entity.")
    since: float = described("Its chance in the earlier list.")


@record
class WatchList(Result):
    """The forecasts of many pairs in a window, each compared with the previous window.

    With a predicate, class or group, chances and counts refer only to those events.
    """

    first: str = described("The first time of the window.")
    last: str = described("The last time of the window (inclusive).")
    length: int = described("The length of the window, in units of the data.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described("Time units between the last observed time and the window.")
    observed_until: str = described("The last time whose facts were used.")
    data: str = described("The name of the data.")
    rows: tuple[WatchRow, ...] = described("One row for each pair, those with alerts first.")
    notes: tuple[Note, ...] = described("Notes on the result.")
    event: str = described("The predicate, class or group that counts; empty for any.", default="")
    alerts: tuple[Alert, ...] = described("The alerts, in the order of their rules.", default=())
    since: str = described("The first time of the earlier list's window, if any.", default="")
    dropped: tuple[DroppedPair, ...] = described(
        "Pairs that are only in the earlier list.", default=()
    )
    cut: bool = described("Whether more pairs change by a point or more.", default=False)
    version: int = described("The version; changes if a field is renamed or removed.", default=1)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The names that are not in the data, without duplicates."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.unseen))


@record
class SuspectFact:
    """A fact that looks wrong: what is unusual about it, what was expected, and why."""

    subject: str = described("The subject of the fact.")
    predicate: str = described("The predicate, as the data names it.")
    object: str = described("The object of the fact.")
    since: str = described("The first time of the fact; ? if unknown.")
    until: str = described("The last time of the fact; equal to `since` for a point in time.")
    label: str = described("The predicate's display name.")
    finding: str = described("What is most likely wrong: predicate, direction or interval.")
    suspicion: float = described(
        "The probability of this error, assuming that 1 % of the facts are wrong."
    )
    log_odds: float | None = described("The same in log-odds; null if the dates are impossible.")
    probability: float | None = described("The probability of its predicate, with the fact hidden.")
    expected: str | None = described("The most probable predicate.")
    expected_label: str | None = described("The expected predicate's display name.")
    expected_probability: float | None = described("The probability of the expected predicate.")
    reason: str = described("Why the fact looks wrong; empty if no reason was requested.")


@record
class AuditReport(Result):
    """The facts that look wrong, least plausible first. Unusual does not always mean wrong."""

    dataset: str = described("The name of the data.")
    facts: int = described("The number of facts that were judged.")
    models: int = described("The number of models; each judged a different part of the facts.")
    prior: float = described("The assumed proportion of wrong facts of each kind.")
    suspected: dict[str, int] = described(
        "The number of facts that are more likely wrong than right, for each finding."
    )
    bad_rows: int = described("The number of rows that could not be read as facts.")
    bad_rows_listed: int = described(
        "The number of rows that end before they start; they are listed first."
    )
    suspects: tuple[SuspectFact, ...] = described("The least plausible facts.")


@record
class Share:
    """A class or group of predicates, with the sum of their probabilities."""

    name: str = described("The class or group.")
    probability: float = described("The sum of the probabilities of its predicates.")


@record
class RankedPredicate:
    """A predicate and its probability."""

    predicate: str = described("The predicate, as the data names it.")
    label: str = described("The predicate's display name.")
    probability: float = described("Its probability, conditional on an event.")

    @property
    def shown(self) -> str:
        """The predicate in readable form: "Consult (040)"."""
        return labelled(self.predicate, self.label)


@dataclass(frozen=True, slots=True)
class Query:
    """A query with names. An empty text, "?" or None means that the time is unknown.

    The time may be a text, a date, a datetime, a Timestamp or an integer; it is stored as text.
    """

    subject: str = described("The subject, as given.")
    object: str = described("The object, as given.")
    time: str = described("The time, as given; ? or empty if unknown.")

    if TYPE_CHECKING:

        def __init__(self, subject: str, object: str, time: When) -> None: ...  # noqa: A002

    def __post_init__(self) -> None:
        if type(self.time) is not str:
            object.__setattr__(self, "time", time_text(self.time))


@record
class Answer(Result):
    """The answer to a query: predicates, most probable first, and flags for unusual queries."""

    query: Query = described("The question.")
    predicates: tuple[str, ...] = described("The predicates, most probable first.")
    probabilities: tuple[float, ...] = described("Their probabilities, conditional on an event.")
    unseen_subject: bool = described("Whether the subject has no facts, or none before the query.")
    unseen_object: bool = described("The same for the object.")
    unseen_time: bool = described("Whether this time is not in the facts.")
    known: tuple[str, ...] = described(KNOWN)
    view: View = described(VIEW)
    labels: tuple[str, ...] = described("The display name of each predicate.")
    class_of: tuple[str, ...] = described("The class of each predicate; empty if it has none.")
    group_of: tuple[str, ...] = described("The group of each predicate; empty if it has none.")
    by_class: tuple[Share, ...] = described("Each class with its probability, largest first.")
    by_group: tuple[Share, ...] = described("The same for groups.")
    meant_subject: str | None = described("The matched entity; null if unknown or ambiguous.")
    meant_object: str | None = described("The same for the object.")
    calibrated: bool = described("Whether the probabilities are calibrated; false for a far time.")
    far_time: bool = described(
        "Whether the time is further from the nearest fact than the data's time span."
    )
    age_note: str = described(AGE)
    what_if: WhatIf | None = described(SUPPOSED, default=None)
    coverage: float | None = described("The requested coverage.", default=None)

    @property
    def ranked(self) -> tuple[RankedPredicate, ...]:
        """The predicates with their labels and probabilities."""
        return tuple(map(RankedPredicate, self.predicates, self.labels, self.probabilities))

    @property
    def unknown_names(self) -> list[str]:
        """The query's names that are unknown or ambiguous."""
        meant = ((self.query.subject, self.meant_subject), (self.query.object, self.meant_object))
        return list(dict.fromkeys(asked for asked, name in meant if name is None))

    @property
    def later(self) -> tuple[str, ...]:
        """The entities that appear in the data, but not before the query's time."""
        unseen = (
            (self.meant_subject, self.unseen_subject),
            (self.meant_object, self.unseen_object),
        )
        past_only = self.view == "past_only"
        return tuple(name for name, is_so in unseen if past_only and is_so and name is not None)


class Answers(Result, list[Answer]):
    """A list of answers, in the order of the queries."""

    @property
    def unknown_count(self) -> int:
        """The number of generic answers, given because a name is not in the data."""
        return sum(bool(answer.unknown_names) for answer in self)

    @property
    def far_count(self) -> int:
        """The number of answers about a time that is far from all facts."""
        return sum(answer.far_time for answer in self)


@record
class CitedFact:
    """A fact behind a reason."""

    fact: int = described("Its index among the facts of the model's graph.")
    subject: str = described("Who acts.")
    predicate: str = described("The predicate, as the data names it.")
    object: str = described("The entity acted upon.")
    since: str = described("The first time; ? if unknown.")
    until: str = described("The last time; ? if unknown.")
    date: str = described("Both times as text: 2014-05-11, 1999 to 2003, since 1999, undated.")
    distance: int | None = described(
        "Time units from the query, negative if earlier; null if undated."
    )
    apart: str = described("The distance as text: 2 days before.")
    side: str = described("The side it belongs to: subject, object, or both if it joins them.")
    step: int = described("The step of the topology that added it; 1 for a history.")
    expanded_by: str = described("The predicate of that step.")
    on_path: bool = described("Whether it is on a shortest path from subject to object.")


@record
class Contribution:
    """A reason for or against a predicate, with its contribution."""

    kind: str = described(
        "history: facts about the pair or one entity; trait: types of the entities; topology; "
        "reranker: the contribution of the trees; counting: that of counting facts.",
        default="topology",
    )
    family: str = described("pair, reversed, subject_out, ...; of a trait: its entity.", default="")
    group: str = described("The name of its group in `groups`.", default="connections")
    topology: tuple[str, ...] = described("Predicates of a topology, or of a history.", default=())
    sentence: str = described("The reason as a sentence.", default="")
    log_odds: float = described("Its contribution to the log-odds.", default=0.0)


@record
class Meeting:
    """An entity that is reached from both sides."""

    entity: str = described("Its name.")
    subject_hops: int = described("Its distance from the subject, in facts.")
    object_hops: int = described("Its distance from the object, in facts.")


@record
class Support:
    """Counts of similar evidence in the training facts, and of the predicates that followed it."""

    when: str = described("The distance in time for which evidence is counted.")
    queries: int = described("Training queries with similar evidence.")
    followed: int = described("The number of these queries with the predicate.")
    pairs: int = described("The number of pairs in the queries with the predicate.")
    confidence: float = described("followed / queries.")
    lift: float = described("confidence / the predicate's proportion of all training queries.")
    runner_up: int = described("The number of these queries with the runner-up.")
    runner_up_lift: float = described("The lift of the runner-up.", default=0.0)
    is_itself: bool = described(
        "Whether the evidence is the fact in question, which training hides.", default=False
    )
    contradicts: bool = described("Whether these counts alone contradict it.", default=False)
    words: str = described("The support as a sentence.", default="")


@record
class Reason(Contribution):
    """A contribution with its facts; for a topology, also the entities where the sides meet."""

    number: int = described("Its number in this explanation, from 1.", default=0)
    steps: int = described("For a topology: the steps until the sides meet.", default=0)
    meeting: tuple[Meeting, ...] = described("Where the sides of a topology meet.", default=())
    facts: tuple[CitedFact, ...] = described("The facts, nearest in time first.", default=())
    support: Support | None = described("Counts in training; null if not counted.", default=None)
    same_as: int = described("The first reason with the same connecting facts, or 0.", default=0)

    @property
    def path(self) -> tuple[CitedFact, ...]:
        """The facts on the path from subject to object."""
        return tuple(fact for fact in self.facts if fact.on_path)

    @property
    def cited(self) -> tuple[tuple[CitedFact, ...], tuple[CitedFact, ...]]:
        """The facts on the path, then the others; for a history, all facts are on the path."""
        if self.kind == "history":
            return self.facts, ()
        return self.path, tuple(fact for fact in self.facts if not fact.on_path)


@record
class Group:
    """A group of small reasons of the same type."""

    name: str = described("The name of the group.")
    title: str = described("What the reasons have in common.")
    log_odds: float = described("The sum of their log-odds against the runner-up.")
    members: tuple[int, ...] = described("Their indices in `further`, the largest effect first.")


@record
class Explanation(Result):
    """An answer and its reasons.

    log_odds = bias + the sum of log_odds over all `reasons`, `against` and `further`.
    """

    sentence: str = described("The answer and its main reasons in one sentence.")
    paragraph: str = described("The same in a few sentences.")
    subject: str = described("The entity that acts, as the data names it.")
    object: str = described("The entity acted upon, as the data names it.")
    time: str = described("The time of the query; ? if it has none.")
    predicate: str = described("The explained predicate.")
    probability: float = described("Its probability, conditional on an event.")
    label: str = described("The predicate's display name.")
    runner_up: str = described("The predicate that the answer is compared with.")
    runner_up_label: str = described("The runner-up's display name.")
    runner_up_probability: float = described("The probability of the runner-up.")
    log_odds: float = described("log(probability / runner_up_probability).")
    bias: float = described("The contribution of the base rates to the log-odds.")
    temperature: float = described("The temperature that divides the difference of two scores.")
    reasons: tuple[Reason, ...] = described("The reasons for the predicate, the strongest first.")
    against: tuple[Reason, ...] = described("The reasons against it, the strongest first.")
    further: tuple[Contribution, ...] = described("The other contributions.")
    groups: tuple[Group, ...] = described("The other contributions, in groups.")
    ranked: tuple[RankedPredicate, ...] = described("The most probable predicates.")
    unseen_subject: bool = described("Whether the subject has no facts.")
    unseen_object: bool = described("Whether the object has no facts.")
    unseen_time: bool = described("Whether this time is not in the facts.")
    known: tuple[str, ...] = described(KNOWN)
    view: View = described(VIEW)
    model: dict[str, Any] = described("Dataset, preset, protocol and format of the model.")
    asked_subject: str = described("The subject, as given in the query.", default="")
    asked_object: str = described("The object, as given in the query.", default="")
    later: tuple[str, ...] = described("Names that occur only in later facts.", default=())
    age_note: str = described(AGE, default="")
    by_class: tuple[Share, ...] = described("Each class, largest first.", default=())
    by_group: tuple[Share, ...] = described("The same for groups.", default=())
    predicate_labels: dict[str, str] = described(LABELS, default_factory=dict)
    predicate_groups: dict[str, str] = described(GROUPS, default_factory=dict)
    notes: tuple[Note, ...] = described("Notes on the result.", default=())
    similar: dict[str, list[str]] = described(SIMILAR, default_factory=dict)
    what_if: WhatIf | None = described(SUPPOSED, default=None)
    set_size: int | None = described(SET_SIZE, default=None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names that do not appear in the data at any time."""
        return unknown_names(self, self.later)

    @property
    def is_first(self) -> bool:
        """Whether the predicate is the most probable one."""
        return self.ranked[0].predicate == self.predicate

    @property
    def is_only(self) -> bool:
        """Whether this predicate is the only one in the data, and therefore its own runner-up."""
        return self.runner_up == self.predicate

    def shown(self, predicate: str) -> str:
        """Return the label of one of the result's predicates."""
        return self.predicate_labels.get(predicate, predicate)

    def all_reasons(self) -> tuple[Reason, ...]:
        """Return the reasons for the predicate, followed by the reasons against it."""
        return (*self.reasons, *self.against)

    def contributions(self) -> list[Contribution]:
        """All contributions, largest first."""
        return sorted([*self.all_reasons(), *self.further], key=lambda part: -part.log_odds)


def unknown_names(asked: Any, later: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names in a question that do not appear in the data at any time."""
    unseen = ((asked.subject, asked.unseen_subject), (asked.object, asked.unseen_object))
    return tuple(dict.fromkeys(name for name, is_so in unseen if is_so and name not in later))


@record
class Contrast(Result):
    """A comparison of one query at two times: one predicate against another."""

    sentence: str = described("What changed and why, in one sentence.")
    paragraph: str = described("The same in a few sentences.")
    first: Explanation = described("The explanation at the first time.")
    second: Explanation = described("The explanation at the second time.")
    changes: tuple[Change, ...] = described("The change of each reason, the largest first.")
    bias_change: float = described("The change of the bias.")
    change: float = described("The change of the log-odds.")
    notes: tuple[Note, ...] = described("Notes on the result.")
    similar: dict[str, list[str]] = described(SIMILAR, default_factory=dict)


@record
class Outcome:
    """The most probable predicate after a change."""

    predicate: str = described("The predicate.")
    probability: float = described("Its probability.")
    answer_probability: float = described("The probability of the earlier answer.")


@record
class Addition:
    """A fact between subject and object that would change the answer."""

    sentence: str = described("The fact as a sentence.")
    subject: str = described("Who acts.")
    predicate: str = described("The predicate, as the data names it.")
    object: str = described("The entity acted upon.")
    date: str = described("The time at which it would happen.")
    outcome: Outcome = described("The answer with this fact.")


@record
class Counterfactual(Result):
    """A counterfactual: changes to the facts that change an answer."""

    subject: str = described("The entity that acts, as the data names it.")
    object: str = described("The entity acted upon, as the data names it.")
    time: str = described("The time of the query; ? if it has none.")
    view: View = described(VIEW)
    answer: str = described("The answer.")
    probability: float = described("Its probability, conditional on an event.")
    target: str | None = described("The requested new answer; null if any other predicate will do.")
    removed: tuple[CitedFact, ...] = described("The fewest facts found whose removal changes it.")
    sentences: tuple[str, ...] = described("These facts as sentences.")
    outcome: Outcome | None = described("The answer without them; null if none were found.")
    additions: tuple[Addition, ...] | None = described(
        "Single facts that change the answer, if requested."
    )
    unseen_subject: bool = described("Whether the subject has no facts.")
    unseen_object: bool = described("Whether the object has no facts.")
    max_removed: int = described("The maximum number of facts to remove.")
    predicate_labels: dict[str, str] = described(LABELS, default_factory=dict)
    predicate_groups: dict[str, str] = described(GROUPS, default_factory=dict)
    notes: tuple[Note, ...] = described("Notes on the result.", default=())
    similar: dict[str, list[str]] = described(SIMILAR, default_factory=dict)

    def shown(self, predicate: str) -> str:
        """Return the predicate in readable form: "Consult (040)"."""
        return labelled(predicate, self.predicate_labels.get(predicate, ""))


@record
class YesNoFigures:
    """The accuracy and calibration of yes/no forecasts."""

    forecasts: int = described("The number of forecasts.")
    share: float = described("The proportion that came true.")
    log_loss: float = described("The mean log-loss.")
    brier: float = described("The Brier score.")
    auc: float | None = described("The area under the ROC curve; null if all or none happened.")
    calibration_error: float = described("The calibration error, over 15 bins of equal width.")


@record
class ReliabilityBin:
    """Forecasts with similar probabilities, and the proportion that came true."""

    lower: float = described("The lower end of the bin.")
    upper: float = described("The upper end of the bin.")
    forecasts: int = described("The number of forecasts in the bin.")
    forecast: float = described("Their mean probability.")
    happened: float = described("The proportion that came true.")


@record
class BacktestWindow:
    """One window of a backtest: what was forecast and what happened."""

    first: str = described("The first time of the window.")
    last: str = described("The last time of the window.")
    in_training: bool = described(
        "Whether the model was fitted on it; if so, no metric includes it."
    )
    pairs: int = described("The number of ordered pairs with a forecast.")
    expected: float = described("The sum of the chances: the expected number of pairs.")
    happened: int = described("The number of pairs with a fact.")
    meetings: int = described("The number of new pairs, which had no forecast.")


@record
class Surprise:
    """An event that happened although its forecast chance was low."""

    subject: str = described("Who acted.")
    object: str = described("The entity acted upon.")
    first: str = described("The first time of the window.")
    last: str = described("The last time of the window.")
    probability: float = described("The chance that was forecast.")
    predicates: tuple[str, ...] = described("What happened.")


@record
class GroupSkill:
    """The metrics of the forecasts for a group of pairs."""

    forecasts: int = described("The number of forecasts.")
    pairs: float = described("The number of pairs before sampling.")
    share: float = described("The proportion of pairs with a fact.")
    forecast: float = described("The mean probability.")
    log_loss: float = described("The mean log-loss.")
    brier: float = described("The Brier score.")
    calibration_error: float = described("The expected calibration error.")
    skill: dict[str, float | None] = described(
        "The Brier skill against each rule; null if the rule has no error."
    )


@record
class Backtest(Result):
    """The outcome of a backtest: forecasts of past windows, and what happened in those windows."""

    data: str = described("The name of the data.")
    every: int = described("The length of a window.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described("The units between the last fact used and the window.")
    recent: int = described("How long a pair counts as recent after its last fact.")
    windows: tuple[BacktestWindow, ...] = described("The windows in order of time.")
    figures: YesNoFigures | None = described("Null if the model was fitted on every window.")
    baselines: dict[str, YesNoFigures] = described("The same metrics for simple rates.")
    skill: dict[str, float] = described("1 - the Brier score / the Brier score of a simple rate.")
    groups: dict[str, GroupSkill] = described("The metrics by group of pairs.")
    reliability: tuple[ReliabilityBin, ...] = described("Outcomes, binned by chance.")
    predicates: YesNoFigures | None = described("The metrics of the forecasts of predicates.")
    predicate_reliability: tuple[ReliabilityBin, ...] = described("The same bins for predicates.")
