"""Typed histories: what actors of the same types do to each other.

An entity is described at several *levels*: as itself, by its sector, by its country, and by both. A
user's table may define other types than sector and country. A *grouping* combines a level of the
subject with a level of the object, such as (itself, sector). The facts of a query's group are those
whose subject and object agree with the query's at these levels. The facts nearest in time are used.
Facts between the pair itself are excluded, because the history features already contain them. A
query therefore never sees its own fact.

Each grouping provides four numbers for a candidate r. The first is the number of facts with r at
the query's time. The others are the proportions of r among the facts: decayed over the clock's
short and middle scales, and without decay. A proportion is z / (1 + the sum of z over all
predicates), as in the history features.

Types come from names and tables. A new name's types come from the name alone. If a view guesses
countries, groups also depend on these guesses. Guesses are not facts about the pair, and are never
presented as facts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import AnyInts, Doubles, Floats, Ints, Longs, find_sorted, read_only
from apptek.compiling import kernel, leaf
from apptek.facts.queries import Queries, QueryColumns
from apptek.features.clock import EVER, MIDDLE, SAME, SHORT, UNDATED_EVER, Clock, Fading, add_clock
from apptek.features.space import FeatureSpace
from apptek.features.traits import Kind
from apptek.graph.incidence import FactColumns, Incidence, build_incidence
from apptek.graph.slot_search import FIELDS, STREAMS, UNDATED, Longs2, nearest_in_slot
from apptek.graph.temporal_graph import TemporalGraph
from apptek.graph.tknn import VIEW

NEAREST = 200  # facts of a group that are used
MOST_KINDS = 2  # kinds of types that groupings are made of
ITSELF = "itself"
KERNELS = ("same", "short", "middle", "ever")
KERNEL_COUNT = 11  # kernels of the clock
Table = npt.NDArray[np.int32]  # (n, any)


@dataclass(frozen=True, slots=True)
class TypedHistories:
    """A graph's facts, sorted into the groups of every grouping.

    spans      the number of values at each level; a new name may have any of these values
    groupings  the level of the subject and the level of the object
    keys       the ascending keys of each grouping's groups; group i has slot first + i
    """

    graph: TemporalGraph
    fading: Fading
    kinds: tuple[Kind, ...]
    names: tuple[str, ...]
    spans: tuple[int, ...]
    groupings: tuple[tuple[int, int], ...]
    keys: tuple[Longs, ...]
    group_count: int  # slots of each grouping
    incidence: Incidence
    most: int = NEAREST  # facts of a group that are used

    @classmethod
    def of(cls, space: FeatureSpace) -> "TypedHistories":
        """Index the facts that a space sees, once for each view of a graph. O(n log n)."""
        assert space.history is not None
        graph, kinds = space.history.graph, () if space.traits is None else space.traits.kinds
        clock = space.history.clock
        key = cls, graph.past_only, kinds
        return graph.derived.once(key, lambda: cls._of(graph, kinds, clock))

    @classmethod
    def _of(cls, graph: TemporalGraph, kinds: tuple[Kind, ...], clock: Clock) -> "TypedHistories":
        kinds, count, facts = kinds[:MOST_KINDS], graph.entity_count, graph.facts
        names = [ITSELF, *(kind.name for kind in kinds)]
        spans = [count, *(len(kind.values) for kind in kinds)]
        sides = range(len(names))
        groupings = [(s, o) for s in sides for o in sides if s or o]
        if len(kinds) == MOST_KINDS:
            groupings.append((len(names), len(names)))
            spans.append(spans[1] * spans[2])
            names.append(" and ".join(names[1:]))
        levels, keys, slots = _levels(kinds, np.arange(count)), list[Longs](), list[Longs]()
        for s, o in groupings:
            own = _keys(levels[s][facts.subjects], levels[o][facts.objects], spans[o])
            distinct, places = np.unique(own, return_inverse=True)
            unknown = int(len(distinct) > 0 and distinct[0] < 0)  # the group without types
            keys.append(read_only(distinct[unknown:]))
            slots.append(np.where(own < 0, len(distinct) - unknown, places - unknown))
        group_count = 1 + max(map(len, keys), default=0)
        incidence = graph.incidence  # not used if there are no types
        if slots:
            of_fact = [slot.astype(np.int32) for slot in slots]
            incidence = build_incidence(
                of_fact, group_count, graph.since, graph.until, incidence.twins
            )
        spoken = tuple(f"{names[s]} {names[o]}".replace(" ", "_") for s, o in groupings)
        return cls(
            graph, clock.fading(), kinds, spoken, tuple(spans), tuple(groupings), tuple(keys),
            group_count, incidence,
        )  # fmt: skip

    def feature_names(self) -> list[str]:
        """Return the names of the features of a candidate."""
        return [f"such {name} {clock}" for name in self.names for clock in KERNELS]

    def slots_of(self, queries: Queries) -> Ints:
        """Return the slot of each query's group in every grouping, or -1: (n, groupings)."""
        slots = np.full((len(queries), len(self.groupings)), -1, np.int32)
        subjects, objects = (_levels(self.kinds, e) for e in (queries.subjects, queries.objects))
        for number, ((s, o), known) in enumerate(zip(self.groupings, self.keys, strict=True)):
            places = find_sorted(known, _keys(subjects[s], objects[o], self.spans[o]))
            slots[:, number] = np.where(places >= 0, places + number * self.group_count, -1)
        return read_only(slots)

    def describe(self, queries: Queries, candidates: Ints) -> Floats:
        """Return the features of the candidates: (n, C) -> (n, C, 4 groupings)."""
        width = len(self.groupings) * len(KERNELS)
        features = np.zeros((*candidates.shape, width), np.float32)
        if not width:
            return features
        graph = self.graph
        describe_groups(
            self.incidence, graph.columns(), graph.directions("both") & VIEW, self.most,
            graph.predicate_count, self.fading, self.slots_of(queries),
            queries.for_kernels(graph.axis), candidates, features,
        )  # fmt: skip
        return features


def _levels(kinds: tuple[Kind, ...], entities: AnyInts) -> list[Longs]:
    """Return the entities' values at each level, or -1. A new name's types come from the name."""
    values = [kind.values_of(entities) for kind in kinds]
    both = [_keys(values[0], values[1], len(kinds[1].values))] if len(kinds) == MOST_KINDS else []
    return [np.maximum(entities, -1).astype(np.int64), *values, *both]


def _keys(of_subjects: Longs, of_objects: Longs, span: int) -> Longs:
    """Return one key for each pair of values, or -1 if the subject or the object has no value."""
    keys: Longs = np.where(
        (of_subjects >= 0) & (of_objects >= 0), of_subjects * span + of_objects, -1
    )
    return keys


@kernel
def describe_groups(
    index: Incidence, facts: FactColumns, view: int, most: int, predicate_count: int,
    fading: Fading, slots: Table, queries: QueryColumns, candidates: Table, features: Floats,
) -> None:  # fmt: skip
    """Fill in the four numbers of every grouping for each candidate."""
    subjects, objects, whens, hidden = queries
    nearest = np.empty((most, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    sums, totals = np.zeros((predicate_count, KERNEL_COUNT)), np.zeros(KERNEL_COUNT)
    for row in range(slots.shape[0]):
        ends = subjects[row], objects[row]
        for grouping in range(slots.shape[1]):
            if slots[row, grouping] < 0:
                continue
            count = nearest_in_slot(
                index, slots[row, grouping], whens[row], most, hidden[row], view, UNDATED,
                streams, nearest,
            )  # fmt: skip
            count = _keep_others(nearest, count, facts, ends)
            totals[:] = 0.0
            for i in range(count):
                r = facts.predicates[nearest[i, 2]]
                add_clock(nearest[i, 0], nearest[i, 1], whens[row], fading, sums, r, totals)
            _write(sums, totals, candidates[row], len(KERNELS) * grouping, features[row])
            for i in range(count):
                sums[facts.predicates[nearest[i, 2]]] = 0.0


@leaf
def _keep_others(nearest: Longs2, count: int, facts: FactColumns, ends: tuple[int, int]) -> int:
    """Keep only facts that are not between the query's two entities. Return their number."""
    kept = 0
    for i in range(count):
        fact = nearest[i, 2]
        source, target = facts.subjects[fact], facts.objects[fact]
        if (source, target) == ends or (target, source) == ends:
            continue
        for column in range(3):
            nearest[kept, column] = nearest[i, column]
        kept += 1
    return kept


@leaf
def _write(sums: Fading, totals: Doubles, candidates: Ints, first: int, features: Floats) -> None:
    """Write the four numbers of one grouping, in the order of KERNELS."""
    all_ever = 1.0 + totals[EVER] + totals[UNDATED_EVER]  # one of these terms is 0
    for c in range(candidates.size):
        r = candidates[c]
        features[c, first] = sums[r, SAME]
        features[c, first + 1] = sums[r, SHORT] / (1.0 + totals[SHORT])
        features[c, first + 2] = sums[r, MIDDLE] / (1.0 + totals[MIDDLE])
        features[c, first + 3] = (sums[r, EVER] + sums[r, UNDATED_EVER]) / all_ever
