"""Until when the data of a model was observed: until the last fact, or a later time."""

import numpy as np

from apptek.errors import DataError
from apptek.facts.facts import Dataset, Facts
from apptek.facts.times import UNKNOWN, TimeAxis


def dated_span(data: Dataset, known: Facts) -> tuple[int, int] | None:
    """The first and the last position of all facts of a model; None where none is dated.

    known  the facts that it answers from, beside those of its splits
    """
    parts = [
        data.axis.positions(facts.times) for facts in (known, data.train, data.valid, data.test)
    ]
    positions = np.concatenate([part[part != UNKNOWN] for part in parts])
    return (int(positions.min()), int(positions.max())) if len(positions) else None


def observed_position(data: Dataset, known: Facts, text: str) -> int:
    """The position of the time until which a user says that the facts were observed.

    DataError where it is before the last fact, or later than the facts can bear.
    """
    axis, span = data.axis, dated_span(data, known)
    if span is None:
        raise DataError("no fact is dated: leave out the time until which they were observed")
    code = axis.parse(text)
    if code == UNKNOWN:
        raise DataError(f"found {text!r}, expected the time until which the facts were observed")
    position = axis.position(int(axis.last_moments(np.asarray([code], np.int32))[0]))
    first, last = span
    if position < last:
        shown = TimeAxis(axis.unit).format(last)
        raise DataError(f"observed until {text}: expected {shown}, the last fact, or later")
    if position - last > last - first + 1:
        raise DataError(
            f"observed until {text}: the quiet time after the last fact is longer than "
            "the time of all facts"
        )
    return position
