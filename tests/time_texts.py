"""Times as tests write them: the fields of a text, and the axis for some texts."""

from typing import Any

import numpy as np
import pyarrow as pa

from apptek.errors import TimeFormatError
from apptek.facts.times import Granularity, TimeAxis
from apptek.facts.written_times import expected_of, read_time, read_times
from apptek.reading.time_votes import TimeVotes

KINDS = ("unknown", "integer", "date", "either")
ORDERS = ("", "dmy", "mdy", "open")


def fields_of(one: Any) -> tuple[Any, ...]:
    """The same fields for a time that was read."""
    numbers = (int(one[name]) for name in ("year", "month", "day", "second"))
    return (KINDS[one["kind"]], *numbers, bool(one["zoned"]), ORDERS[one["order"]])


def read(text: str) -> tuple[Any, ...]:
    """The fields of a text, read alone and among others; TimeFormatError if it is invalid."""
    (one,) = read_time(text)
    among = read_times(pa.array(["17", text, "2014-05-13", "?"], pa.string()))
    assert among[1] == one
    if one["fault"]:
        raise TimeFormatError(expected_of(one))
    return fields_of(one)


def votes_of(
    *texts: str, granularity: Granularity = "auto", date_format: str = ""
) -> tuple[TimeVotes, Any]:
    """The votes for these texts, one fact each, and the number of facts per distinct text."""
    distinct = list(dict.fromkeys(texts))
    votes = TimeVotes(pa.array(distinct, pa.string()), granularity, date_format)
    counts = np.asarray([texts.count(text) for text in distinct])
    votes.vote(counts)
    return votes, counts


def axis_of(
    *texts: str, granularity: Granularity = "auto", date_format: str = ""
) -> tuple[TimeAxis, list[int]]:
    """The axis for these texts, one fact each, and their codes; TimeFormatError if one is bad."""
    votes, counts = votes_of(*texts, granularity=granularity, date_format=date_format)
    for expected in votes.expected.values():
        raise TimeFormatError(expected)
    axis, codes = votes.resolve(counts)
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return axis, [int(codes[places[text]]) for text in texts]
