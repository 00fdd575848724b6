"""A forecast as data: what will happen between two entities in a window, and why."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import pyarrow as pa

from apptek.data.frames import FrameKind, frame_of
from apptek.data.predicate_table import labelled
from apptek.explain.wording import (
    counted,
    general_notes,
    listed,
    percent,
    period_text,
    signed,
)
from apptek.safe_text import printable

SHOWN = 10
RARE = 0.001  # expected facts, below which a number of windows says more
_TEXTS = ("first", "last", "subject", "predicate", "label", "object")
_NUMBERS = ("probability", "expected", "share")
_FRAME = pa.schema(
    [*((name, pa.string()) for name in _TEXTS), *((name, pa.float64()) for name in _NUMBERS)]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceReason:
    """One reason why anything should happen or not, and what it adds to the log-odds of that."""

    family: str
    sentence: str
    log_odds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateForecast:
    """A predicate in one direction.

    label        how to show it
    probability  of at least one fact with it in the window
    expected     the number of such facts
    share        its probability given that there is a fact between the two at that time
    """

    subject: str
    predicate: str
    label: str
    object: str
    probability: float
    expected: float
    share: float

    @property
    def shown(self) -> str:
        """The predicate for people: "Consult (040)"."""
        return labelled(self.predicate, self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassForecast:
    """A class of predicates: the chance of at least one such fact, and the expected number."""

    name: str
    probability: float
    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionForecast:
    """What the subject will do to the object.

    probability  of at least one fact
    expected     the number of facts
    base         the log-odds of an average pair of the same kind, one that has met or one that has
                 not; with the reasons they add up to its log-odds
    have_met     whether there was a fact between the two before, in either direction
    base_sentence
                 what the base is, in words
    """

    subject: str
    object: str
    probability: float
    expected: float
    base: float
    reasons: tuple[OccurrenceReason, ...]
    have_met: bool
    base_sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Forecast:
    """What will happen between two entities in a window, from the facts before it.

    first, last    the window, both ends included, and its length in units of the data
    lead           the units between the last observed time and the window; 0: it begins right after
    observed_until
                   the last time whose facts were used
    probability    of at least one fact, in either direction
    expected       the number of facts, both directions together
    directions     subject to object, then object to subject
    predicates     of both directions, the most probable first
    by_class       where predicates have classes: the chance of each in either direction, the most
                   probable first; by_group likewise
    curve          the chance of anything until some times in the window, the last one last
    why            in one sentence: why the most probable predicate, and not another
    unseen         the names that do not occur in the facts
    notes          what else is worth knowing: old facts, a window in the past
    """

    subject: str
    object: str
    first: str
    last: str
    length: int
    unit: str
    lead: int
    observed_until: str
    probability: float
    expected: float
    directions: tuple[DirectionForecast, DirectionForecast]
    predicates: tuple[PredicateForecast, ...]
    curve: tuple[tuple[str, float], ...] = ()
    by_class: tuple[ClassForecast, ...] = ()
    by_group: tuple[ClassForecast, ...] = ()
    why: str = ""
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """All fields by their names, ready for JSON; `curve` holds {until, probability}."""
        curve = [{"until": until, "probability": chance} for until, chance in self.curve]
        return asdict(self) | {"curve": curve}

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A frame with a row for each predicate in each direction, the most probable first."""
        window = {"first": self.first, "last": self.last}
        rows = [window | asdict(part) for part in self.predicates]
        return frame_of(pa.Table.from_pylist(rows, schema=_FRAME), kind)

    def __repr__(self) -> str:
        return forecast_text(self)

    def _repr_html_(self) -> str:
        return forecast_html(self)

    @property
    def when(self) -> str:
        """The window in words: 2015-01-01 to 2015-01-07."""
        return period_text(self.first, self.last)


def class_lines(forecast: Forecast) -> list[str]:
    """A line for the classes and one for the groups, as far as there are any."""
    levels = {"class": forecast.by_class, "group": forecast.by_group}
    return [
        f"At least one of a {level}: "
        f"{listed([f'{part.name} {percent(part.probability)}' for part in parts])}."
        for level, parts in levels.items()
        if parts
    ]


def based_on(forecast: Forecast) -> str:
    """The length of the window, the last time whose facts were used, and the lead."""
    length = counted(forecast.length, forecast.unit)
    lead = f"; lead: {counted(forecast.lead, forecast.unit)}" if forecast.lead else ""
    return f"window of {length}; based on data up to {forecast.observed_until}{lead}"


def headline(forecast: Forecast) -> str:
    """The chance of anything and of nothing, and the expected number."""
    anything, nothing = forecast.probability, 1 - forecast.probability
    number = expected_words(forecast.expected)
    return f"anything at all: {percent(anything)}; nothing: {percent(nothing)}; expected: {number}"


def expected_words(number: float) -> str:
    """2.4 facts; 0.012 facts; of less: one fact in about 11,000 such windows."""
    if number < RARE:
        windows = float(f"{1 / max(number, 1e-12):.2g}")
        return f"one fact in about {windows:,.0f} such windows"
    text = f"{number:.1f}" if number >= 0.05 else f"{number:.2g}"
    return "1 fact" if text == "1.0" else f"{text} facts"


def direction_words(direction: DirectionForecast) -> str:
    """One direction: who to whom, the chance, the number."""
    ends = f"{direction.subject} -> {direction.object}"
    return f"{ends}: {percent(direction.probability)}, {expected_words(direction.expected)}"


def forecast_text(forecast: Forecast) -> str:
    """The forecast for a terminal: chances, reasons, predicates, notes."""
    lines = [
        *general_notes(*forecast.unseen),
        f"{forecast.subject} | ? | {forecast.object} | {forecast.when}",
        based_on(forecast),
        "",
        headline(forecast),
    ]
    for direction in forecast.directions:
        lines.append(f"  {direction_words(direction)}")
        lines += [
            f"    {signed(reason.log_odds)}  {reason.sentence}" for reason in direction.reasons
        ]
        if direction.reasons:
            lines.append(f"    {signed(direction.base)}  {direction.base_sentence}")
    lines += ["", "at least once in the window:"]
    lines += [
        f"  {percent(part.probability):>8}  {part.subject} | {part.shown} | {part.object}"
        for part in forecast.predicates[:SHOWN]
    ]
    lines += class_lines(forecast)
    lines += ["", f"why: {forecast.why}"] if forecast.why else []
    lines += [""] if forecast.notes else []
    lines += forecast.notes
    return "\n".join(printable(line) for line in lines)


def forecast_html(forecast: Forecast) -> str:
    """The forecast as a fragment of HTML: what a notebook shows. Every name is escaped."""

    def cell(text: str, style: str = "") -> str:
        return f'<td style="text-align:left;{style}">{escape(printable(text))}</td>'

    def bar(share: float) -> str:
        return (
            '<td style="min-width:8em;text-align:left"><span style="display:inline-block;'
            f'height:0.8em;background:#4c8fd6;width:{8 * share:.2f}em"></span></td>'
        )

    rows = "".join(
        f"<tr>{cell(f'{part.subject} → {part.object}')}{cell(part.shown)}"
        f"{cell(percent(part.probability), 'text-align:right')}{bar(part.probability)}</tr>"
        for part in forecast.predicates[:SHOWN]
    )
    reasons = "".join(
        f"<li>{escape(printable(direction_words(direction)))}<ul>"
        + "".join(
            f"<li>{signed(reason.log_odds)} {escape(printable(reason.sentence))}</li>"
            for reason in direction.reasons
        )
        + f"<li>{signed(direction.base)} {direction.base_sentence}</li></ul></li>"
        for direction in forecast.directions
    )
    texts = [*class_lines(forecast), *([forecast.why] if forecast.why else [])]
    why = "".join(f"<p>{escape(printable(text))}</p>" for text in texts)
    notes = "".join(f"<p><em>{escape(printable(note))}</em></p>" for note in forecast.notes)
    title = f"{forecast.subject} and {forecast.object}, {forecast.when}"
    return (
        f"<div><p><b>{escape(printable(title))}</b><br>{escape(headline(forecast))}<br>"
        f"{escape(based_on(forecast))}</p>"
        f"<ul>{reasons}</ul><table><thead><tr><th>direction</th><th>predicate</th>"
        f"<th>at least once</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
        f"{why}{notes}</div>"
    )
