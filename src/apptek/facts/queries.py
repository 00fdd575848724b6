"""Queries as arrays of ids, each with the fact that it must not see."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, for_kernel
from apptek.facts.facts import Facts
from apptek.facts.times import TimeAxis

_MANY = 16  # rows per drawn row
_PART = 8_388_608  # rows processed at a time
QueryColumns = tuple[Ints, Ints, Ints, Ints]  # subjects, objects, moments, hidden facts


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries (subject, ?, object, time), each with the fact that it must not see (-1: none).

    `times` contains codes. An entity below 0 is unknown to the graph. Below -1, the id encodes the
    types in its name (see `features.traits`).
    """

    subjects: Ints
    objects: Ints
    times: Ints
    hidden: Ints

    def __len__(self) -> int:
        return len(self.subjects)

    def take(self, rows: npt.NDArray[Any] | slice) -> "Queries":
        """Return the queries in these rows. The rows of a slice share the arrays."""
        return Queries(*(column[rows] for column in self.columns()))

    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the columns: subjects, objects, times, hidden facts."""
        return self.subjects, self.objects, self.times, self.hidden

    def for_kernels(self, axis: TimeAxis) -> QueryColumns:
        """Return subjects, objects, positions and hidden facts, read-only and contiguous.

        Any unknown entity becomes -1.
        """
        ends = (np.maximum(entities, -1) for entities in (self.subjects, self.objects))
        subjects, objects, moments, hidden = (
            for_kernel(column, np.int32)
            for column in (*ends, axis.positions(self.times), self.hidden)
        )
        return subjects, objects, moments, hidden


def askable(facts: Facts) -> Ints:
    """Return the rows whose subject and object differ."""
    # In parts, here and below: eight bytes for each of 100 M facts would be a lot.
    found = [np.empty(0, np.int32)]
    for start in range(0, len(facts), _PART):
        part = slice(start, start + _PART)
        differ = facts.subjects[part] != facts.objects[part]
        found.append(np.flatnonzero(differ).astype(np.int32) + np.int32(start))
    return np.concatenate(found)


def draw_evenly(
    facts: Facts, rows: npt.NDArray[Any], most: int, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Return at most this many rows, sampled evenly, in ascending order.

    The sample takes every n-th of each predicate's facts, sorted by time.
    """
    if len(rows) <= most:
        return rows
    if len(rows) > _MANY * most:  # a sample is enough to draw from, and easier to sort
        share = _MANY * most / 2 / len(rows)
        parts = [rows[start : start + _PART] for start in range(0, len(rows), _PART)]
        rows = np.concatenate([part[rng.random(len(part), np.float32) < share] for part in parts])
    times = facts.times[rows].astype(np.int64) - np.iinfo(np.int32).min
    by_time = np.argsort((facts.predicates[rows].astype(np.int64) << 32) + times, kind="stable")
    places = (np.arange(most) + rng.random()) * (len(rows) / most)
    return np.sort(rows[by_time[places.astype(np.int64)]])


def training_queries(facts: Facts, rows: npt.NDArray[Any] | None = None) -> Queries:
    """Return a query for each fact in the graph, or for some rows. Each query hides its fact."""
    hidden = np.arange(len(facts), dtype=np.int32) if rows is None else rows.astype(np.int32)
    asked = facts if rows is None else facts.take(rows)
    return Queries(asked.subjects, asked.objects, asked.times, hidden)


def held_out_queries(facts: Facts) -> Queries:
    """Return a query for each fact. The facts are not in the graph, so none is hidden."""
    return Queries(facts.subjects, facts.objects, facts.times, np.full(len(facts), -1, np.int32))
