"""Results as data: what a model answers, field by field.

A result is a frozen dataclass. Each field has a description in its metadata, from which the schemas
of HTTP and MCP and the field tables of the docs are made. `to_dict` makes plain values for JSON.
`apptek.present` makes text, pages and tables: `__repr__` and `_repr_html_` load it when needed.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from apptek.data.frames import FrameKind, frame_of
from apptek.data.predicate_table import labelled
from apptek.evaluation.yes_no import ReliabilityBin, YesNoFigures

T = TypeVar("T")

NOTE_KINDS = {
    "conditional": "probabilities assume that an event takes place",
    "far": "the last fact is long before the time in question",
    "lead": "nothing was observed between the last facts and the window",
    "model": "how the model was made, or which facts it uses",
    "read_as": "a name was read as a name of the data",
    "similar_name": "names of the data that are like an unknown one",
    "undated": "facts or a question without a date",
    "unknown_name": "a name is not in the data",
    "view": "which facts the answer is based on",
    "window": "the window is unusual, or was chosen for the user",
}


def described(description: str, *, default: Any = MISSING, default_factory: Any = MISSING) -> Any:
    """Return a dataclass field with a description in its metadata."""
    metadata = {"description": description}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


class Result:
    """What all results can do: show themselves, and become a table. The rest is data."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(_present("text").render_text(self))

    def _repr_html_(self) -> str:
        return str(_present("html").render_fragment(self))

    def html(self) -> str:
        """Return the result as one HTML page without scripts, links or anything to load."""
        return str(_present("html").render_page(self))

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Return the rows as a frame of pandas, polars or Arrow."""
        return frame_of(_present("tables").to_arrow(self), kind)


@dataclass_transform(frozen_default=True, field_specifiers=(described, field))
def record(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass with slots; a `Result` keeps its own `__repr__`."""
    return dataclass(frozen=True, slots=True, repr=not issubclass(cls, Result))(cls)


def to_dict(value: Any) -> Any:
    """Return a result as plain values for JSON: dataclasses become dicts, and NaN becomes None."""
    if isinstance(value, str | int) or value is None:  # most values; a bool is an int
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_dict(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_dict(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_dict(each) for each in value]
    return value


def extended(kind: type[T], result: Any, **more: Any) -> T:
    """Return a result as one of a class with further fields."""
    return kind(**{each.name: getattr(result, each.name) for each in fields(result)}, **more)


def _present(module: str) -> Any:
    """Load a module of `apptek.present`, which itself imports this one."""
    return import_module(f"apptek.present.{module}")


@record
class Note:
    """Something worth knowing about a result. Code looks at `kind` and `data`, never at `text`."""

    kind: str = described("What the note is about: one of the kinds of notes.")
    text: str = described("The note in words.")
    data: dict[str, Any] = described("What the words are made from.", default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in NOTE_KINDS:
            raise ValueError(f"unknown kind of note {self.kind!r}; expected one of {NOTE_KINDS}")


@record
class OccurrenceReason:
    """One reason why anything should happen or not."""

    family: str = described("The kind of evidence: the pair, the reversed pair, the subject, ...")
    sentence: str = described("The evidence in words.")
    log_odds: float = described("What it adds to the log-odds of at least one fact.")


@record
class PredicateForecast:
    """A predicate in one direction: the chance of at least one such fact in the window."""

    subject: str = described("Who acts.")
    predicate: str = described("The predicate, as the data names it.")
    label: str = described("How to show the predicate.")
    object: str = described("Who is acted upon.")
    probability: float = described("The chance of at least one such fact in the window.")
    expected: float = described("The expected number of such facts.")
    share: float = described(
        "Its probability given that there is a fact between the two at that time."
    )

    @property
    def shown(self) -> str:
        """The predicate for people: "Consult (040)"."""
        return labelled(self.predicate, self.label)


@record
class ClassForecast:
    """A class of predicates: the chance of at least one such fact in the window, either way."""

    name: str = described("The class or group.")
    probability: float = described("The chance of at least one such fact in the window.")
    expected: float = described("The expected number of such facts.")


@record
class DirectionForecast:
    """What the subject will do to the object: the chance of anything, and the number of facts."""

    subject: str = described("Who acts.")
    object: str = described("Who is acted upon.")
    probability: float = described("The chance of at least one fact in this direction.")
    expected: float = described("The expected number of facts in this direction.")
    base: float = described(
        "The log-odds of an average pair that has met, or of one that has not; with the reasons "
        "they add up to the log-odds of this direction."
    )
    reasons: tuple[OccurrenceReason, ...] = described("The strongest first.")
    have_met: bool = described("Whether there was a fact between the two before, in any direction.")
    base_sentence: str = described("What the base is, in words.", default="")


@record
class ChanceUntil:
    """The chance of anything from the start of the window until a time in it."""

    until: str = described("A time in the window.")
    probability: float = described("The chance of at least one fact until then.")


@record
class Forecast(Result):
    """What will happen between two entities in a window, from the facts before it."""

    subject: str = described("One entity.")
    object: str = described("The other entity.")
    first: str = described("The first time of the window.")
    last: str = described("The last time of the window, which is part of it.")
    length: int = described("The length of the window, in units of the data.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described(
        "Units between the last observed time and the window; 0: it begins right after."
    )
    observed_until: str = described("The last time whose facts were used.")
    probability: float = described("The chance of at least one fact, in either direction.")
    expected: float = described("The expected number of facts, both directions together.")
    directions: tuple[DirectionForecast, DirectionForecast] = described(
        "Subject to object, then object to subject."
    )
    predicates: tuple[PredicateForecast, ...] = described(
        "Predicates of both directions, the most probable first."
    )
    curve: tuple[ChanceUntil, ...] = described(
        "The chance of anything until some times in the window, the last one last.", default=()
    )
    by_class: tuple[ClassForecast, ...] = described(
        "Where predicates have classes: the chance of each, the most probable first.", default=()
    )
    by_group: tuple[ClassForecast, ...] = described("The same for groups.", default=())
    why: str = described("Why the most probable predicate, and not another.", default="")
    unseen: tuple[str, ...] = described("The names that the facts do not contain.", default=())
    notes: tuple[Note, ...] = described("What else is worth knowing.", default=())
    similar: dict[str, list[str]] = described(
        "For each name that the data does not have: names that are like it.", default_factory=dict
    )


@record
class WatchRow:
    """What is forecast of one pair, in either direction."""

    subject: str = described("One entity.")
    object: str = described("The other entity.")
    probability: float = described("The chance of at least one fact in the window.")
    expected: float = described("The expected number of facts.")
    previous: float = described("The chance in the forecast for the window before.")
    change: float = described("The difference: probability - previous.")
    predicates: tuple[PredicateForecast, ...] = described("The most probable first.")
    reason: str = described("What moved the chance most since that forecast, in words.")
    past: tuple[int, ...] = described(
        "The number of facts in each of the windows before this one, the last one last."
    )
    unseen: tuple[str, ...] = described("The names that the facts do not contain.")
    notes: tuple[Note, ...] = described("What else is worth knowing of the pair.", default=())


@record
class WatchList(Result):
    """The forecasts of many pairs in a window, each beside that for the window before."""

    first: str = described("The first time of the window.")
    last: str = described("The last time of the window, which is part of it.")
    length: int = described("The length of the window, in units of the data.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described("Units between the last observed time and the window.")
    observed_until: str = described("The last time whose facts were used.")
    data: str = described("The name of the data.")
    rows: tuple[WatchRow, ...] = described("One for each pair.")
    notes: tuple[Note, ...] = described("What else is worth knowing.")

    @property
    def unseen(self) -> tuple[str, ...]:
        """The names that the facts do not contain, each once."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.unseen))


@record
class SuspectFact:
    """A fact that fits the others least: in which way, what was expected, and why."""

    subject: str = described("The subject of the fact.")
    predicate: str = described("The predicate, as the data names it.")
    object: str = described("The object of the fact.")
    since: str = described("The first time of the fact; ? if unknown.")
    until: str = described("The last time of the fact, the same for a point in time.")
    label: str = described("How to show the predicate.")
    finding: str = described(
        "What is most likely wrong: the predicate, the direction (which is the subject), or the "
        "interval (the dates)."
    )
    suspicion: float = described("The probability of that, if 1 % of the facts are wrong.")
    log_odds: float | None = described("The same as log-odds; null if the dates cannot be.")
    probability: float | None = described("Of its own predicate, with the fact itself hidden.")
    rank: float | None = described("The rank of its own predicate.")
    expected: str | None = described("The most probable predicate.")
    expected_label: str | None = described("How to show the expected predicate.")
    expected_probability: float | None = described("The probability of the expected predicate.")
    direction_log_odds: float | None = described("That subject and object are exchanged.")
    reason: str = described("Why it looks wrong; empty if nobody asked for a reason.")


@record
class AuditReport(Result):
    """The facts that look wrong, the least plausible first. Unusual is not the same as wrong."""

    dataset: str = described("The name of the data.")
    facts: int = described("How many facts were judged.")
    models: int = described("How many models judged them, each its own part.")
    prior: float = described("The share of facts that are taken to be wrong in each way.")
    suspected: dict[str, int] = described(
        "How many facts are more likely wrong than right, by finding."
    )
    bad_rows: int = described("How many rows could not be read as facts.")
    bad_rows_listed: int = described("Those of them that end before they start, and come first.")
    suspects: tuple[SuspectFact, ...] = described("The least plausible facts.")


@record
class BacktestWindow:
    """One window of a backtest: what was forecast, and what happened."""

    first: str = described("The first time of the window.")
    last: str = described("The last time of the window.")
    in_training: bool = described("Whether the model was fitted on it: it counts in no metric.")
    pairs: int = described("How many ordered pairs were forecast.")
    expected: float = described("The number of pairs with a fact that the chances add up to.")
    happened: int = described("The number of pairs with a fact.")
    meetings: int = described("Pairs with a first fact, which are not among the pairs.")


@record
class Surprise:
    """Something that happened although hardly expected."""

    subject: str = described("Who acted.")
    object: str = described("Who was acted upon.")
    first: str = described("The first time of the window.")
    last: str = described("The last time of the window.")
    probability: float = described("The chance that was forecast.")
    predicates: tuple[str, ...] = described("What happened.")


@record
class GroupSkill:
    """The metrics of the forecasts of a group of pairs."""

    forecasts: int = described("How many forecasts were made.")
    pairs: float = described("How many pairs they stand for, where pairs were drawn.")
    share: float = described("The share of the pairs with a fact.")
    forecast: float = described("The mean probability.")
    log_loss: float = described("The mean log-loss.")
    brier: float = described("The Brier score.")
    calibration_error: float = described("The expected calibration error.")
    skill: dict[str, float | None] = described(
        "The Brier skill against each simple rule; null if the rule makes no error."
    )


@record
class Backtest(Result):
    """The outcome of a backtest: forecasts of past windows, and what happened in them."""

    data: str = described("The name of the data.")
    every: int = described("The length of a window.")
    unit: str = described("The unit of the data: day, hour, step, ...")
    lead: int = described("The units between the facts that were used and the window.")
    recent: int = described("A pair is recent up to so many units after its last fact.")
    windows: tuple[BacktestWindow, ...] = described("The windows in order of time.")
    figures: YesNoFigures | None = described("Null if every window is one of training.")
    baselines: dict[str, YesNoFigures] = described("The same for simple rates.")
    skill: dict[str, float] = described(
        "1 - the Brier score / that of a simple rate: above 0 is better than the rate."
    )
    groups: dict[str, GroupSkill] = described("The metrics by group of pairs.")
    reliability: tuple[ReliabilityBin, ...] = described("How often anything came true, by chance.")
    predicates: YesNoFigures | None = described("The metrics of the forecasts of predicates.")
    predicate_reliability: tuple[ReliabilityBin, ...] = described("The same bins for predicates.")
    surprises: tuple[Surprise, ...] = described("What happened although hardly expected.")
