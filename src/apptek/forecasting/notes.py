"""What is worth knowing about a forecast: unknown names, old facts, a window in the past."""

import math

from apptek.data.times import TimeAxis
from apptek.explain.wording import counted
from apptek.forecasting.window import Window, unit_word
from apptek.models.model import Model
from apptek.occurrence.model import OccurrenceModel

CHANGED = "much may have changed since."


def pair_notes(unseen: tuple[str, ...], age: float, long: float, unit: str) -> list[str]:
    """Of a pair: which names are not in the facts, and a last fact between the two long ago.

    age   how long before the window that fact was; 0: there was none
    long  the long time scale of the data
    """
    if len(unseen) == 2:
        strangers = "the forecast is that of two strangers of whom nothing is known."
        return [f"Neither {unseen[0]} nor {unseen[1]} is in the facts: {strangers}"]
    notes = [
        f"{name} is not in the facts: what is said of it comes from the other's rates."
        for name in unseen
    ]
    if age > long:
        # The features know no age beyond four long time scales.
        oldest = math.floor(4 * long)
        when = f"{'at least ' if age >= oldest else ''}{counted(min(round(age), oldest), unit)}"
        notes.append(f"The last fact between the two was {when} before the window: {CHANGED}")
    return notes


def window_notes(
    occurrence: OccurrenceModel, axis: TimeAxis, window: Window, last: tuple[int, int]
) -> list[str]:
    """Of a window: how long before it the facts end, whether it is past, or very long.

    last  the position of the last fact that is used, and of the last observed time
    """
    unit, notes = unit_word(axis.unit), list[str]()
    start, _ = window.texts(axis)
    if window.lead:
        observed, lead = window.observed_until(axis), counted(window.lead, unit)
        since = TimeAxis(axis.unit).format(window.moment)
        notes.append(
            f"Facts were observed until {observed}; nothing is known of the {lead} between then "
            f"and the window (the lead). Reasons count back from {since}."
        )
        if window.lead > occurrence.leads[-1]:
            longest = counted(occurrence.leads[-1], unit)
            notes.append(f"The longest lead that was learned has {longest}.")
    gap = window.first - last[0]
    if gap > occurrence.clock.long:
        when, _ = Window(last[0], last[0]).texts(axis)
        age = counted(gap, unit)
        notes.append(f"The last known fact is of {when}, {age} before the window: {CHANGED}")
    if window.first <= last[1]:
        learned = window.first <= occurrence.fitted_until
        hindsight = "; what such facts mean was learned from later ones, too" * learned
        notes.append(f"Answered as of {start}: no fact from then on was looked at{hindsight}.")
    if window.length > occurrence.longest:
        longest = counted(occurrence.longest, unit)
        notes.append(
            f"The longest window that was learned has {longest}: beyond it, the same rate goes on."
        )
    return notes


def joined_note(model: Model, whole: Model) -> str:
    """That forecasts count facts which the model did not learn predicates from."""
    return (
        f"The facts to count are all {len(whole.graph.facts):,}, with those of valid and test; how "
        f"predicates follow each other was learned from the {len(model.graph.facts):,} of train, "
        "from which predictions are made and explained."
    )
