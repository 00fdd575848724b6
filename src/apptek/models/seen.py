"""What occurs in the facts: entities, times, predicates of a pair, and a query's own fact."""

from functools import cached_property

import numpy as np
import pyarrow as pa

from apptek.arrays import AnyInts, Bools, Ints, find_sorted
from apptek.errors import ApptekError
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import SPLITS, Dataset, Facts, Names, Split
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.graph.temporal_graph import TemporalGraph
from apptek.safe_text import counted


class Seen:
    """The entities, times and predicates of pairs that occur in a graph's facts."""

    def __init__(self, graph: TemporalGraph, names: Names) -> None:
        self.graph, self._names = graph, names
        self._times, self._last_start = np.unique(graph.facts.times), graph.last_start
        degrees = np.diff(graph.incidence.offsets[::3])
        self._entities = np.greater(degrees.reshape(2, -1).sum(axis=0), 0)

    def name(self, entity: int) -> str | None:
        """Return an entity's name, or None for ids below 0."""
        return None if entity < 0 else self._names[entity]

    def names(self, entities: Ints) -> pa.Array:
        """Return the names of entities, with null for ids below 0."""
        return self._names.array.take(pa.array(entities, mask=entities < 0)).cast(pa.string())

    @cached_property
    def _first_starts(self) -> Ints:
        """The first position at which each entity occurs. Undated facts come first."""
        facts = self.graph.facts
        positions = self.graph.axis.positions(facts.times)
        first = np.full(len(self._entities), np.iinfo(np.int32).max, np.int32)
        for ends in (facts.subjects, facts.objects):
            np.minimum.at(first, ends, positions)
        return first

    def entities(
        self, entities: AnyInts, codes: Ints | None = None, ahead: Bools | None = None
    ) -> Bools:
        """Return which entities occur, before a time if `ahead` (past_only). Ids below 0 do not."""
        occurs: Bools = (entities >= 0) & self._entities[np.maximum(entities, 0)]
        if codes is None or ahead is None:
            return occurs
        positions = self.graph.axis.positions(codes)
        asked = occurs & ahead & (codes != UNKNOWN) & (positions <= self._last_start)
        if asked.any():
            occurs[asked] = positions[asked] > self._first_starts[entities[asked]]
        return occurs

    def times(self, codes: Ints) -> Bools:
        """Return which times occur. An unknown time counts as seen."""
        occurs: Bools = np.isin(codes, self._times) | (codes == UNKNOWN)
        return occurs

    def check_time(self, code: int) -> None:
        """Raise ApptekError for a time too far from the facts.

        A time is too far if its distance from the facts exceeds the time that they span. Forecasts
        use the same limit after the last fact.
        """
        if not self.far_times(np.asarray([code], np.int32))[0]:
            return
        axis, (first, last) = self.graph.axis, self._span
        moment, unit = axis.position(code), self._unit
        side = "after the last" if moment > last else "before the first"
        raise ApptekError(
            f"{axis.format(code)} is {counted(max(moment - last, first - moment), unit)} {side} "
            f"fact: that is too far for data that covers {counted(last - first + 1, unit)}"
        )

    def far_times(self, codes: Ints) -> Bools:
        """Return which times are further from the facts than the time that the facts span."""
        first, last = self._span
        positions = self.graph.axis.positions(codes).astype(np.int64)
        steps = np.maximum(positions - last, first - positions)
        far: Bools = (codes != UNKNOWN) & (steps > last - first + 1) & (first != UNKNOWN)
        return far

    def age_note(self, code: int) -> str:
        """Return a note on the newest fact's age for times after all facts, otherwise nothing."""
        axis, last = self.graph.axis, self._last_start
        moment = UNKNOWN if code == UNKNOWN else axis.position(code)
        if UNKNOWN in (moment, last) or moment <= last:
            return ""
        age = counted(moment - last, self._unit)
        newest = TimeAxis(axis.unit).format(last)
        return f"The newest fact is from {newest}, {age} before this time."

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The positions of the first and last facts, or UNKNOWN if none is dated."""
        positions = self.graph.axis.positions(self._times[self._times != UNKNOWN])
        dated = len(positions) > 0
        return (int(positions.min()), int(positions.max())) if dated else (UNKNOWN, UNKNOWN)

    @property
    def _unit(self) -> str:
        return "step" if self.graph.axis.unit == "integer" else self.graph.axis.unit

    def lies_before(self, queries: Queries, last: int | None = None) -> Bools:
        """Return which queries are after the last known start of a fact, or after `last`."""
        last = self._last_start if last is None else min(last, self._last_start)
        positions = self.graph.axis.positions(queries.times)
        before: Bools = (queries.times != UNKNOWN) & (positions > last)
        return before


def own_facts(queries: Queries, data: Dataset) -> tuple[list[Split | None], Ints]:
    """Return the split of the fact that each query asks about, and the training fact to hide.

    Without such a fact, return None and -1. If the validation or test set has a fact with this
    subject, object and time, the query asks about it and training facts stay visible, as in
    `evaluate`. If there are several training facts, the first is hidden.
    """
    asked = _facts(queries.subjects, queries.objects, queries.times)
    parts = [data.split(name) for name in SPLITS]
    asked_keys, *keys = fact_keys(
        asked, *(_facts(part.subjects, part.objects, part.times) for part in parts)
    )
    splits: list[Split | None] = [None] * len(queries)
    hidden = np.full(len(queries), -1, np.int32)
    for name, of_split in zip(SPLITS, keys, strict=True):
        order = np.argsort(of_split, kind="stable")
        places = find_sorted(of_split[order], asked_keys)
        found = np.flatnonzero(places >= 0)
        hidden[found] = order[places[found]] if name == "train" else -1
        for row in found.tolist():
            splits[row] = name
    return splits, hidden


def _facts(subjects: Ints, objects: Ints, times: Ints) -> Facts:
    return Facts(subjects, np.zeros(len(subjects), np.int32), objects, times, times)
