"""Supposed facts in words: the answers side by side, and what changed."""

from collections.abc import Sequence

from apptek.present.wording import percent, period_text, points
from apptek.results import Change, Forecast, Note, SupposedChance, SupposedFact

FORM = "SUBJECT | PREDICATE | OBJECT | TIME"
IN_TEXT = ("event", "predicate", "group")  # JSON also contains the classes
SHOWN = 5  # number of changed reasons to show
NOTHING = "None of the supposed facts is used, so the answer does not change."
COLUMNS = ("", "without", "with", "change")


def known_fact_note(fact: SupposedFact) -> Note:
    """Return a note that a supposed fact is already in the data."""
    return _note(fact, "The data already contains this fact")


def late_fact_note(fact: SupposedFact, moment: str) -> Note:
    """Return a note that a supposed fact is too late to count."""
    return _note(fact, f"Only facts before {moment} are used, so this one is ignored")


def _note(fact: SupposedFact, why: str) -> Note:
    return Note("supposed", f"{why}: {fact.sentence}.", {"date": fact.date})


def answer_sentence(chances: Sequence[SupposedChance], facts: Sequence[SupposedFact]) -> str:
    """Return the most probable predicate with and without the supposed facts."""
    if not any(fact.counts for fact in facts):
        return NOTHING
    first = max(chances, key=lambda each: each.without)
    second = max(chances, key=lambda each: each.supposed)
    if first == second:
        before, after = percent(first.without), percent(first.supposed)
        return f"The most probable predicate is still {first.label} (from {before} to {after})."
    return (
        f"The most probable predicate becomes {second.label} (from {percent(second.without)} to "
        f"{percent(second.supposed)}), ahead of {first.label} (from {percent(first.without)} to "
        f"{percent(first.supposed)})."
    )


def forecast_sentence(
    forecast: Forecast, chances: Sequence[SupposedChance], facts: Sequence[SupposedFact]
) -> str:
    """Return the chance of any event (the first row) with and without the supposed facts."""
    if not any(fact.counts for fact in facts):
        return NOTHING
    window, chance = period_text(forecast.first, forecast.last), chances[0]
    most = max(
        (each for each in chances if each.kind == "predicate"), key=lambda each: abs(each.change)
    )
    name, without, supposed, _ = chance_cells(most)
    return (
        f"The chance that something happens from {window} changes from "
        f"{percent(chance.without)} to {percent(chance.supposed)}. "
        f"Largest change: {name} (from {without} to {supposed})."
    )


def change_words(change: Change) -> str:
    """Return a changed reason; in a forecast, it starts with its direction."""
    sentence = change.second_sentence or change.first_sentence
    return f"{change.kind}: {sentence}" if " -> " in change.kind else sentence


def chance_cells(row: SupposedChance) -> tuple[str, str, str, str]:
    """Return a name, both probabilities, and the change in percentage points."""
    ends = f"{row.subject} -> {row.object}" if row.subject else ""
    what = row.label if row.kind != "event" else "any event"
    name = f"{row.kind} {what}" if row.kind in ("class", "group") else what
    shown = f"{ends}: {name}" if ends else name
    return shown, percent(row.without), percent(row.supposed), points(row.change)
