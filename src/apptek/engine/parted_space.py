"""The feature space of a model over parts: the same features as over the whole graph.

Every family of facts has an owner, the subject or the object of the query, and lies among the facts
of the owner. So the part of the subject gives three of the six families and the part of the object
the other three.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from apptek.arrays import AnyInts, Longs
from apptek.config import FAMILIES, HistoryConfig, View
from apptek.engine.parts import Part, part_of
from apptek.facts.queries import Queries
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.features.space import CHUNK
from apptek.features.traits import Traits
from apptek.ragged import Ragged, hstack, scatter_rows, vstack

OF_SUBJECT = ("pair", "subject_out", "subject_in")  # the families of which the subject is the owner
OF_OBJECT = tuple(family for family in FAMILIES if family not in OF_SUBJECT)
OPEN_PARTS = 2  # parts that a process keeps open


def bucket_order(queries: Queries, part_count: int) -> Longs:
    """The rows of the queries by (part of the subject, part of the object), else as they stand."""
    return np.argsort(_buckets(queries, part_count), kind="stable")


def _buckets(queries: Queries, part_count: int) -> AnyInts:
    of_subject = part_of(queries.subjects, part_count).astype(np.int64)
    return of_subject * part_count + part_of(queries.objects, part_count)


@dataclass(frozen=True, slots=True, eq=False)
class PartedSpace:
    """History and traits, as a view sees them, of queries over the parts of a folder.

    clock  None: there are no features of history
    dated  whether every fact of the data is dated
    """

    storage: Path
    part_count: int
    view: View
    clock: Clock | None
    config: HistoryConfig
    dated: bool
    traits: Traits | None

    def counted_rows(self, queries: Queries) -> tuple[Ragged, int]:
        """The features of many queries, and how many profiles a dominant partner cut short."""
        stack, cuts = [], 0
        for start in range(0, max(1, len(queries)), CHUNK):
            chunk = queries.part(slice(start, start + CHUNK))
            parts = []
            if self.clock is not None:
                history, cut = self._history(chunk)
                parts.append(history)
                cuts += cut
            if self.traits is not None:
                parts.append(self.traits.rows(chunk))
            stack.append(hstack(parts))
        return vstack(stack), cuts

    def rows(self, queries: Queries) -> Ragged:
        """The features of many queries."""
        return self.counted_rows(queries)[0]

    def _history(self, queries: Queries) -> tuple[Ragged, int]:
        if not len(queries):
            return open_history(self, 0)[1].counted_rows(queries)
        order = bucket_order(queries, self.part_count)
        queries = queries.take(order)
        stack, cuts = [], 0
        for bucket, start, stop in _runs(_buckets(queries, self.part_count)):
            halves: list[Ragged] = []
            sides = zip(divmod(bucket, self.part_count), (OF_SUBJECT, OF_OBJECT), strict=True)
            for number, families in sides:
                part, history = open_history(self, number)
                local = part.localized(queries.part(slice(start, stop)))
                rows, cut = history.counted_rows(local, families)
                halves.append(rows)
                cuts += cut
                width = history.graph.predicate_count * len(history.kernels)
            stack.append(_merged(halves[0], halves[1], width))
        return scatter_rows(stack, order), cuts


def _runs(buckets: AnyInts) -> Iterator[tuple[int, int, int]]:
    """Each bucket with the stretch of rows that it takes."""
    starts = np.flatnonzero(np.diff(buckets, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(buckets)], strict=True):
        yield int(buckets[start]), start, stop


def _merged(one: Ragged, two: Ragged, width: int) -> Ragged:
    """The features of both in each row, by family; within a family as they stand.

    width  columns of a family
    """
    counts = [np.diff(rows.offsets) for rows in (one, two)]
    rows = np.concatenate([np.repeat(np.arange(len(count)), count) for count in counts])
    columns = np.concatenate([one.columns, two.columns])
    order = np.argsort(rows * len(FAMILIES) + columns // width, kind="stable")
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[0] + counts[1])])
    values = np.concatenate([one.flat_values, two.flat_values])
    return Ragged(offsets, columns[order], one.width, values[order])


@lru_cache(maxsize=OPEN_PARTS)
def open_history(space: PartedSpace, number: int) -> tuple[Part, History]:
    """A part with the features of its facts; a process keeps the last two open."""
    part = Part.open(space.storage, space.part_count, number, space.view)
    assert space.clock is not None
    history = History(part.graph, space.clock, space.config, pairs=part.pairs, dated=space.dated)
    return part, history
