"""The graph: facts, usually the training facts, indexed by entity and time."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from apptek.arrays import Ints, read_only
from apptek.config import View
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Dataset, Facts, OpenEnd
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.graph.incidence import FactColumns, Incidence, build_incidence
from apptek.graph.slot_search import AHEAD, ONGOING
from apptek.graph.tknn import BOTH, OUTGOING, STRICT

FOR_EVER = np.int32(2**31 - 1)  # the end of a fact that is still ongoing
Made = TypeVar("Made")
_DERIVING = RLock()  # shared by all graphs, because a lock per graph could not be pickled
DIRECTIONS: dict[str, int] = {"both": BOTH, "outgoing": OUTGOING}


class Derived:
    """Values derived from a graph's facts and times. Threads share them."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type["Derived"], tuple[()]]:
        """Pickle without the values, because all of them can be derived again."""
        return Derived, ()

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the value stored under this key, creating it the first time."""
        if key not in self._made:
            with _DERIVING:
                if key not in self._made:
                    self._made[key] = make()
        made: Made = self._made[key]
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalGraph:
    """Facts, indexed by entity, direction and time.

    incidence     the facts by entity and time. Its since and until are positions on the axis, while
                  the facts themselves contain codes. Often these are the same arrays. Facts with
                  one known end and the same triple are twins, which are hidden together. Its twins
                  contain the lowest index among them, and are empty if there are no such facts.
    open_end      ongoing: a fact without a known end continues; point: it happens at its known time
    past_only     whether a query sees only the facts before its time; see `past_view`
    derived       values derived from these facts and times; all views share them
    """

    facts: Facts
    axis: TimeAxis
    entity_count: int
    predicate_count: int
    incidence: Incidence
    open_end: OpenEnd = "point"
    past_only: bool = False
    derived: Derived = field(default_factory=Derived, compare=False, repr=False)

    @classmethod
    def of(cls, dataset: Dataset) -> "TemporalGraph":
        """Build a data set's graph from its training facts only."""
        return cls.build(
            dataset.train,
            dataset.axis,
            len(dataset.entities),
            len(dataset.predicates),
            open_end=dataset.open_end,
        )

    @classmethod
    def build(
        cls,
        facts: Facts,
        axis: TimeAxis,
        entity_count: int,
        predicate_count: int,
        *,
        open_end: OpenEnd = "point",
    ) -> "TemporalGraph":
        """Build the graph of these facts in O(n log n)."""
        since, until = positions_of(facts, axis, open_end)
        return cls(
            facts=facts,
            axis=axis,
            entity_count=entity_count,
            predicate_count=predicate_count,
            incidence=build_incidence(
                (facts.subjects, facts.objects), entity_count, since, until, _twins(facts)
            ),
            open_end=open_end,
        )

    def with_facts(self, facts: Facts, entity_count: int | None = None) -> "TemporalGraph":
        """Build the graph of other facts on the same axis, possibly with more entities."""
        count = self.entity_count if entity_count is None else entity_count
        sizes = (count, self.predicate_count)
        return TemporalGraph.build(facts, self.axis, *sizes, open_end=self.open_end)

    @property
    def since(self) -> Ints:
        """The first position of each fact."""
        return self.incidence.since

    @property
    def until(self) -> Ints:
        """The last position of each fact."""
        return self.incidence.until

    def seen_in(self, view: View) -> "TemporalGraph":
        """Return the graph as a view sees it."""
        return self.past_view() if view == "past_only" else self

    def past_view(self) -> "TemporalGraph":
        """Return the graph that shows only the facts known before each query's time, for forecasts.

        A query sees all undated facts, and the facts that started strictly before its time. A
        fact's start is its since, or until if since is unknown. Ends at the query's time or later
        are unknown. A coarse date counts as its last day: "1998" is not before 1998-05-05.
        """
        if not self.axis.mixed:
            return replace(self, past_only=True)
        since, until = positions_of(self.facts, self.axis, self.open_end, last=True)
        ends = (self.facts.subjects, self.facts.objects)
        twins = self.incidence.twins
        incidence = build_incidence(ends, self.entity_count, since, until, twins)
        return replace(self, incidence=incidence, past_only=True, derived=Derived())

    def directions(self, traversal: str, *, strict: bool = False) -> int:
        """Return the flags that kernels expect as `directions`."""
        view = (AHEAD if self.past_only else 0) | (STRICT if strict else 0)
        return DIRECTIONS[traversal] | view | (ONGOING if self.open_end == "ongoing" else 0)

    @property
    def last_start(self) -> int:
        """The last position at which a fact is known to start, or UNKNOWN if none is dated."""
        since, until = self.since, self.until
        starts = since if since is until else np.where(since == UNKNOWN, until, since)
        return int(starts.max(initial=UNKNOWN))  # UNKNOWN is below every time

    def columns(self) -> FactColumns:
        """Return the facts' subjects, predicates and objects, in the form that kernels use."""
        return FactColumns(self.facts.subjects, self.facts.predicates, self.facts.objects)


def positions_of(
    facts: Facts, axis: TimeAxis, open_end: OpenEnd, *, last: bool = False
) -> tuple[Ints, Ints]:
    """Return since and until as axis positions, using the first or the `last` day of a coarse date.

    If open ends are ongoing, a fact that started and has no known end lasts forever.
    """

    def locate(codes: Ints) -> Ints:
        if last:
            codes = np.where(codes == UNKNOWN, codes, axis.last_moments(codes))
        return axis.positions(codes)

    since = read_only(locate(facts.since))
    if facts.until is facts.since:
        return since, since  # one array, so that points need one column in memory and on disk
    until = locate(facts.until)
    if open_end == "ongoing":
        until = np.where((until == UNKNOWN) & (since != UNKNOWN), FOR_EVER, until)
    if axis.mixed:  # 2003-05 .. 2003 starts within the year in which it ends
        until = np.where(until == UNKNOWN, until, np.maximum(since, until))
    return since, read_only(until)


def _twins(facts: Facts) -> Ints:
    """Return each fact's twin: the first fact with the same triple, or the fact itself.

    Only facts with one known end share a twin.
    """
    half_open = (facts.since == UNKNOWN) != (facts.until == UNKNOWN)
    if facts.since is facts.until or not half_open.any():
        return read_only(np.empty(0, np.int32))
    rows = np.flatnonzero(half_open)
    subjects, predicates, objects, *_ = facts.take(rows).columns()
    no_times = np.zeros(len(rows), np.int32)
    (keys,) = fact_keys(Facts(subjects, predicates, objects, no_times, no_times))
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    twins = np.arange(len(facts), dtype=np.int32)
    twins[rows] = rows[firsts[groups]]
    return read_only(twins)
