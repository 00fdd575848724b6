"""Numbers, times and names in readable form."""

import re
from collections.abc import Mapping, Sequence

from apptek.facts.times import TimeAxis
from apptek.results import Note, Share
from apptek.safe_text import counted

_EXACT = 6  # spans shorter than this many days are not rounded
_SPANS = (
    (7, "a week"),
    (14, "two weeks"),
    (31, "a month"),
    (62, "two months"),
    (92, "three months"),
    (183, "half a year"),
    (366, "a year"),
)
_DAY = r"-?\d{4,}-\d\d-\d\d"
GIVEN = "if something happens"  # the condition on the probabilities of predicates
CONDITION = f"These are the probabilities {GIVEN} between the pair."


def is_undated(time: str) -> bool:
    """Return whether the time of a query is unknown."""
    return time in ("", "?")


def shown_time(time: str) -> str:
    """Return a query's time in readable form: 2014-05-11, undated."""
    return "undated" if is_undated(time) else time


def at_time(time: str) -> str:
    """Return a time as part of a sentence: on 2014-05-11, in 1999, from 1999 to 2003, since 1999.

    The forms match `when_text`; a number that is not a year is a step: at 24.
    """
    if time[:1].isalpha():  # since, until, undated
        return "(undated)" if time == "undated" else time
    if " to " in time:
        return f"from {time}"
    is_month = re.fullmatch(r"\d{4}(-\d\d)?|.*-##", time)
    return f"{'in' if is_month else 'on' if re.fullmatch(_DAY, time) else 'at'} {time}"


def recorded_words(labels: Sequence[str]) -> str:
    """Return the recorded predicates as text that precedes any answer: Recorded: plays for."""
    return f"Recorded: {listed(labels)}." if labels else ""


def level_text(axis: TimeAxis, level: str | None, near: int) -> str:
    """Describe how near in time evidence is; `near` is the maximum distance that counts as near.

    The level is None for a topology, which has no distance.
    """
    words = {"same": "at the same time", "near": f"at most {counted(near, _unit(axis))} away"}
    return words.get(level, "further away in time") if level else ""


def shortened(text: str, length: int) -> str:
    """Shorten a text to at most `length` characters, with an ellipsis if it was cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def signed(value: float) -> str:
    """Return +1.32 or -0.40 (with a true minus sign); values that round to 0 have no minus sign."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "\N{MINUS SIGN}")


def points(change: float) -> str:
    """Format a change in percentage points: +1.3, or 0.0 without a sign if it rounds to 0."""
    text = f"{100 * change:+.1f}".replace("-", "\N{MINUS SIGN}")
    return "0.0" if text[1:] == "0.0" else text


def period_text(first: str, last: str) -> str:
    """Return a window in words: 2015-01-01 to 2015-01-07, or 2021 if it is a single step."""
    return first if first == last else f"{first} to {last}"


def percent(probability: float) -> str:
    """Format as 41.2 %; values that would round to 0 or 100 % become < 0.1 % or > 99.9 %."""
    if 0 < probability < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= probability < 1 else f"{100 * probability:.1f} %"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Join names: A, B and C; if there are more than `most`: A, B, C, D and 3 more."""
    shown = list(names[:most])
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def general_notes(*names: str) -> list[str]:
    """Return a line for each name that is not in the data, saying that the answer is generic."""
    return [f"Generic answer, because the model has no facts about {name}." for name in names]


def similar_lines(similar: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each name that is not in the data, with the most similar names."""
    return [f"Similar to {name}: {', '.join(names)}." for name, names in similar.items() if names]


def read_as_notes(*pairs: tuple[str, str | None]) -> list[Note]:
    """Return a note for each name that was read as another one.

    `pairs` are the given name and the name it was read as. Names that differ only in spaces, such
    as padded ones, look the same and need no note.
    """
    return [
        Note("read_as", f"{asked} was read as {meant}.", {"asked": asked, "meant": meant})
        for asked, meant in pairs
        if meant and asked and asked.split() != meant.split()
    ]


def share_lines(classes: Sequence[Share], groups: Sequence[Share]) -> list[str]:
    """Return one line for the classes and one for the groups, if there are any."""
    lines = []
    for level, shares in (("class", classes), ("group", groups)):
        if shares:
            words = listed([f"{one.name} {percent(one.probability)}" for one in shares])
            rest = (f"; {one.name} {percent(one.probability)}" for one in left_over(level, shares))
            lines.append(f"By {level}: {words}{''.join(rest)}.")
    return lines


def left_over(level: str, shares: Sequence[Share]) -> list[Share]:
    """Return the total probability of predicates without a class or group, if there are any."""
    rest = 1 - sum(one.probability for one in shares)
    name = "unclassified" if level == "class" else "ungrouped"
    return [Share(name, rest)] if rest >= 0.0005 else []  # shown as 0.1 % or more


def when_text(since: str, until: str) -> str:
    """Return when a fact holds: 2014-05-11, 1999 to 2003, since 1999; "?" means unknown."""
    if since == until:
        return "undated" if since == "?" else since
    if since == "?":
        return f"until {until}"
    return f"since {since}" if until == "?" else f"{since} to {until}"


def _unit(axis: TimeAxis) -> str:
    return "step" if axis.unit == "integer" else axis.unit


def count_text(number: int) -> str:
    """Format a count: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def span_text(axis: TimeAxis, length: int, most: int | None = None) -> str:
    """Return a readable time span: a week, a month; not rounded if that would exceed `most`."""
    unit = _unit(axis)
    exact = counted(length, unit) if length > 1 else f"{'an' if unit == 'hour' else 'a'} {unit}"
    if axis.unit != "day":
        return exact
    spans = [(days, words) for days, words in _SPANS if length <= days]
    years = -(-length // 365)
    days, words = spans[0] if spans else (365 * years, f"{years} years")
    return exact if length < _EXACT or (most is not None and days > most) else words


def apart_text(
    axis: TimeAxis, apart: int | None, *, lasting: bool = False, prose: bool = False
) -> str:
    """Format a signed distance to the query: 2 days before, the same day; empty for None.

    prose  whether the text is part of a sentence: 2 days earlier, the day before
    """
    if apart is None:
        return ""
    if not apart and (lasting or axis.unit == "integer"):
        return "at that time"
    unit = _unit(axis)
    if not apart:
        return f"the same {unit}"
    before, after = "before", "after"
    if prose and abs(apart) == 1:
        return f"the {unit} {before if apart < 0 else after}"
    if prose:
        before, after = "earlier", "later"
    return f"{counted(abs(apart), unit)} {before if apart < 0 else after}"
