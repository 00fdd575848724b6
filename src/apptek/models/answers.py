"""Queries in words and their answers, whatever model gives them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Longs, Matrix
from apptek.config import View
from apptek.errors import ApptekError, check_count
from apptek.facts.calendar import SECONDS
from apptek.facts.queries import Queries
from apptek.facts.times import TimeAxis
from apptek.reading.frames import is_frame, read_query_texts, without_midnight
from apptek.results import Answer, Query

__all__ = ["Answer", "Query"]


@dataclass(frozen=True, slots=True)
class RankedPredicates:
    """The probabilities of all predicates for some queries, and the view that gave them."""

    queries: Queries
    probabilities: Matrix  # (B, R)
    views: Sequence[View]


def asked_queries(asked: Any, axis: TimeAxis) -> list[Query]:
    """Queries from what a user has: a Query, tuples (subject, object, time), or a frame of them.

    A frame has the columns subject, object and time. ApptekError for anything else. On an axis of
    days or more, a midnight is its day.
    """
    queries = queries_in(asked)
    if axis.unit in SECONDS:
        return queries
    return [replace(query, time=without_midnight(query.time)) for query in queries]


def queries_in(asked: Any) -> list[Query]:
    """The same, with the times as they were given."""
    if is_frame(asked):
        return [Query(*texts) for texts in read_query_texts(asked)]
    if is_single(asked):
        asked = [asked]
    is_parts = isinstance(asked, tuple) and all(isinstance(part, str) for part in asked)
    if is_parts or isinstance(asked, str | Mapping) or not isinstance(asked, Iterable):
        raise ApptekError(_no_query(asked))
    return [one_query(query) for query in asked]


def is_single(asked: Any) -> bool:
    """Whether a user asks a single question: a Query, or a tuple (subject, object, time)."""
    return isinstance(asked, Query) or (isinstance(asked, tuple) and _is_query(asked))


def one_query(asked: Any) -> Query:
    """A Query, or the one of a tuple (subject, object, time); ApptekError for anything else."""
    if isinstance(asked, Query):
        return asked
    if isinstance(asked, tuple | list | np.ndarray) and _is_query(asked):
        return Query(*asked)
    raise ApptekError(_no_query(asked))


def _is_query(asked: Any) -> bool:
    return len(asked) == 3 and isinstance(asked[0], str) and isinstance(asked[1], str)


def _no_query(asked: Any) -> str:
    parts = len(asked) if isinstance(asked, tuple | list) else 0
    if parts in (2, 4):
        advice = "None is an unknown time" if parts == 2 else "the predicate is what is asked for"
        return f"found {parts} parts, {asked!r}; expected three: (subject, object, time); {advice}"
    return f"found {asked!r}, expected a query: Query(subject, object, time), or such a tuple"


def best_predicates(probabilities: Matrix, top: int | None) -> tuple[Longs, Matrix]:
    """The most probable predicates of each row and their probabilities; of equal ones the first.

    top  how many, at least 1; None: all

    Probabilities that are not negative are ordered as their bits are. With the predicate in the
    lower half of each number no two are equal, and numbers are sorted many times faster than
    an order is found.
    """
    width = probabilities.shape[1]
    if top is not None:
        check_count("top", top)
    top = width if top is None else top
    bits = np.ascontiguousarray(probabilities, np.float32).view(np.uint32).astype(np.int64)
    keys = (bits << 32) | np.arange(width - 1, -1, -1)
    keys.sort(axis=1)
    order = width - 1 - (keys[:, : -top - 1 : -1] & 0xFFFFFFFF)
    return order, np.take_along_axis(probabilities, order, 1)
