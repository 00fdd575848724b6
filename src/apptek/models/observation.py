"""Until when the data of a model was observed: until the last fact, or the time a user states."""

import numpy as np

from apptek.arrays import Ints
from apptek.errors import DataError
from apptek.facts.facts import Dataset, Facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.safe_text import counted

LATE = 0.25  # of the time of all facts before: a gap that is longer is worth a note
OUTLIERS = 3  # facts at most that may lie after the last observed time, far from the others


def positions_of(data: Dataset, known: Facts, *, all_facts: bool) -> Ints:
    """The positions of all dated facts of a model, ascending.

    known      the facts that it answers from
    all_facts  whether those of valid and test are among them
    """
    parts = [known] if all_facts else [known, data.valid, data.test]
    positions = np.concatenate([data.axis.positions(part.times) for part in parts])
    return np.sort(positions[positions != UNKNOWN])


def late_facts_note(data: Dataset, positions: Ints) -> str | None:
    """Name a last fact that lies far after the others, as a mistyped date does."""
    for place in range(max(1, len(positions) - OUTLIERS), len(positions)):
        before, last = int(positions[place - 1]), int(positions[place])
        if last - before > max(LATE * (before - int(positions[0])), 2 * data.axis.stride):
            plain, unit = TimeAxis(data.axis.unit), data.axis.unit
            steps = counted(last - before, "step" if unit == "integer" else unit)
            return (
                f"a fact of {plain.format(last)} lies {steps} after the one before it; forecasts "
                "begin after the last fact: retract it, or give --observed-until "
                f"{plain.format(before)}"
            )
    return None


def observed_position(data: Dataset, positions: Ints, text: str) -> int:
    """The position of the time until which a user says that the facts were observed.

    DataError where more than a few facts are later, or where it is later than the facts can bear.
    """
    axis = data.axis
    if not len(positions):
        raise DataError("no fact is dated: leave out the time until which they were observed")
    code = axis.parse(text)
    if code == UNKNOWN:
        raise DataError(f"found {text!r}, expected the time until which the facts were observed")
    position = axis.position(int(axis.last_moments(np.asarray([code], np.int32))[0]))
    first, last = int(positions[0]), int(positions[-1])
    later = len(positions) - int(np.searchsorted(positions, position, "right"))
    if later > OUTLIERS:
        shown = TimeAxis(axis.unit).format(last)
        raise DataError(
            f"observed until {text}: {later:,} facts are later, the last of {shown}; expected that "
            "time or later"
        )
    if position - last > last - first + 1:
        raise DataError(
            f"observed until {text}: the quiet time after the last fact is longer than "
            "the time of all facts"
        )
    return position
