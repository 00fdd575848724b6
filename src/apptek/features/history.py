"""History topologies: one step from the two entities, with a direction and a clock.

Six families of facts around a question (s, ?, o, t):

| family      | facts   | in words                          |
|-------------|---------|-----------------------------------|
| pair        | s -> o  | what s did to o                   |
| reversed    | o -> s  | what o did to s                   |
| subject_out | s -> x  | what s did to others than o       |
| subject_in  | x -> s  | what others than o did to s       |
| object_out  | o -> x  | what o did to others than s       |
| object_in   | x -> o  | what others than s did to o       |

In each the K facts nearest in time, the question's own fact (and its twins) hidden. For a predicate
r' and a kernel of the clock: z = sum of the kernel over the facts with r'; share = z / (1 + sum of
z over all r'); the feature's value is weight * ln(1 + 6 share), and none where z < 0.01.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.compiling import in_threads, kernel, leaf
from apptek.config import FAMILIES, KERNELS, MOST_HISTORY_FACTS, HistoryConfig
from apptek.data.queries import Queries
from apptek.data.times import UNKNOWN
from apptek.features.clock import EVER, OF_UNDATED, UNDATED_EVER, Clock, Fading, add_clock
from apptek.features.sparse import SparseRows
from apptek.graph.pairs import PairIndex, find_pair
from apptek.graph.slot_search import FIELDS, STREAMS, UNDATED, Longs2, nearest_in_slot
from apptek.graph.temporal_graph import TemporalGraph
from apptek.graph.tknn import PAST

PAIR, REVERSED, SUBJECT_OUT, SUBJECT_IN, OBJECT_OUT, OBJECT_IN = range(6)
SHARPNESS = 6.0
LEAST = 0.01  # a sum of kernels below this says nothing
SPARE = 16  # facts looked at beyond the K of a profile, as some may be with the partner
CHUNK = 1024  # questions that one thread takes at a time


class HistoryFeature(NamedTuple):
    """What a column stands for."""

    family: str
    predicate: int
    kernel: str


class History:
    """The history features of questions on a graph. Column = (family * R + predicate) * width + k.

    Kernels that only undated facts and questions need are left out where every fact is dated.
    """

    def __init__(self, graph: TemporalGraph, clock: Clock, config: HistoryConfig) -> None:
        self.graph, self.clock, self.config = graph, clock, config
        self._pairs, self._fading = PairIndex.of(graph), clock.fading()
        dated = not bool(np.any((graph.since == UNKNOWN) & (graph.until == UNKNOWN)))
        idle = {KERNELS[place] for place in OF_UNDATED} if dated else set()
        self.kernels = tuple(k for k in KERNELS if k in config.kernels and k not in idle)
        self.families = tuple(family for family in FAMILIES if family in config.families)
        of_pairs = sum(family in ("pair", "reversed") for family in self.families)
        self._pair_columns = of_pairs * graph.predicate_count * len(self.kernels)
        self._family_places = _places(FAMILIES, self.families)
        self._kernel_places = _places(KERNELS, self.kernels)
        if dated:  # an undated question still sees that something ever happened
            self._kernel_places = self._kernel_places.copy()
            self._kernel_places[UNDATED_EVER] = self._kernel_places[EVER]

    def __len__(self) -> int:
        return len(self.families) * self.graph.predicate_count * len(self.kernels)

    def feature(self, column: int) -> HistoryFeature:
        """What a column stands for."""
        rest, kernel_place = divmod(column, len(self.kernels))
        family, predicate = divmod(rest, self.graph.predicate_count)
        return HistoryFeature(self.families[family], predicate, self.kernels[kernel_place])

    def copied(self) -> tuple[Ints, Ints]:
        """For each column its predicate, and the (family, kernel) whose copy weight it shares."""
        columns = np.arange(len(self), dtype=np.int32)
        width, count = len(self.kernels), self.graph.predicate_count
        family, kernel_place = columns // (width * count), columns % width
        return columns // width % count, family * width + kernel_place

    def rows(self, queries: Queries) -> tuple[SparseRows, int]:
        """The features of many questions, and how many profiles a dominant partner cut short."""
        asked = queries.for_kernels(self.graph.axis)
        fill = partial(self._part, asked)
        parts = in_threads(fill, range(0, len(queries), CHUNK))
        counts = [np.zeros(1, np.int64), *(part[0] for part in parts)]
        offsets = np.cumsum(np.concatenate(counts))
        columns = np.concatenate([np.zeros(0, np.int32), *(part[1] for part in parts)])
        values = np.concatenate([np.zeros(0, np.float32), *(part[2] for part in parts)])
        return SparseRows(offsets, columns, len(self), values), sum(part[3] for part in parts)

    def _part(self, asked: tuple[Ints, ...], start: int) -> tuple[Longs, Ints, Floats, int]:
        """Numbers of features, columns, values and cuts of the questions from `start` on."""
        part = tuple(column[start : start + CHUNK] for column in asked)
        config, count = self.config, len(part[0])
        pair_most = min(config.pair_facts, self.graph.predicate_count)
        profile_most = min(config.profile_facts, self.graph.predicate_count)
        most = count * (2 * pair_most + 4 * profile_most) * len(self.kernels)
        columns, values = np.empty(most, np.int32), np.empty(most, np.float32)
        counts, cuts = np.zeros(count, np.int64), np.zeros(1, np.int64)
        arguments: Any = (
            *self._arguments(), part, self._family_places, self._kernel_places,
            len(self.kernels), self.graph.predicate_count, self._fading, counts, columns, values,
            cuts,
        )  # fmt: skip
        used = history_of_all(*arguments)
        columns, values = columns[:used], values[:used]
        np.log(values, out=values)  # many at once: several times faster than in the kernel
        weigh(columns, self._pair_columns, config.pair_weight, config.profile_weight, values)
        return counts, columns, values, int(cuts[0])

    def _arguments(self) -> tuple[Any, ...]:
        graph, pairs, config = self.graph, self._pairs, self.config
        by_pair = pairs.incidence
        return (
            graph.kernel_arrays(),
            (graph.facts.subjects, graph.facts.predicates, graph.facts.objects),
            (
                by_pair.offsets, by_pair.facts, by_pair.starts, by_pair.by_end,
                by_pair.interval_offsets, by_pair.tops, by_pair.level_offsets,
                pairs.firsts, pairs.objects,
            ),
            graph.directions("both") & PAST, config.pair_facts, config.profile_facts,
        )  # fmt: skip

    def facts(self, queries: Queries, row: int) -> dict[str, Ints]:
        """The facts behind one question's features: of each family, the nearest first."""
        asked = tuple(int(column[row]) for column in queries.for_kernels(self.graph.axis))
        found = np.empty(MOST_HISTORY_FACTS, np.int32)

        def of(place: int) -> Ints:
            arguments: Any = (*self._arguments(), asked, place, found)
            return found[: family_of_one(*arguments)].copy()

        places = ((place, name) for place, name in enumerate(FAMILIES) if name in self.families)
        return {name: of(place) for place, name in places}


def _places(names: tuple[str, ...], chosen: tuple[str, ...]) -> Ints:
    """The place of each name among the chosen ones, -1 where it is not."""
    places = [chosen.index(name) if name in chosen else -1 for name in names]
    return np.asarray(places, np.int32)


Arrays = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]
Columns = tuple[Ints, Ints, Ints]
Pairs = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]


@kernel
def history_of_all(
    arrays: Arrays, facts: Columns, pairs: Pairs, past: int, pair_facts: int, profile_facts: int,
    asked: tuple[Ints, Ints, Ints, Ints], family_places: Ints, kernel_places: Ints, width: int,
    predicate_count: int, fading: Fading, counts: Longs, columns: Ints, values: Floats, cuts: Longs,
) -> int:  # fmt: skip
    """Fills in the features of many questions, one after the other; how many there are in all.

    The values are 1 + 6 share.
    """
    subjects, objects, whens, hidden = asked
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    sums = np.zeros((predicate_count, kernel_places.size))
    totals = np.zeros(kernel_places.size)
    seen = np.empty(predicate_count, np.int32)
    used = 0
    for row in range(subjects.size):
        start = used
        for family in range(family_places.size):
            place = family_places[family]
            if place < 0:
                continue
            found = family_facts(
                arrays, facts, pairs, past, pair_facts, profile_facts, family, subjects[row],
                objects[row], whens[row], hidden[row], streams, nearest, cuts,
            )  # fmt: skip
            named = _add_up(
                nearest, found, facts[1], whens[row], fading, sums, totals, seen
            )  # fmt: skip
            used = _write(
                sums, totals, seen, named, kernel_places, place * predicate_count, width, columns,
                values, used,
            )  # fmt: skip
        counts[row] = used - start
    return used


@kernel
def family_of_one(
    arrays: Arrays, facts: Columns, pairs: Pairs, past: int, pair_facts: int, profile_facts: int,
    asked: tuple[int, int, int, int], family: int, found: Ints,
) -> int:  # fmt: skip
    """Writes the facts of one family of one question to `found`; their number."""
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    streams, cuts = np.empty((STREAMS, FIELDS), np.int64), np.zeros(1, np.int64)
    count = family_facts(
        arrays, facts, pairs, past, pair_facts, profile_facts, family, asked[0], asked[1],
        asked[2], asked[3], streams, nearest, cuts,
    )  # fmt: skip
    for place in range(count):
        found[place] = nearest[place, 2]
    return count


@leaf
def family_facts(
    arrays: Arrays, facts: Columns, pairs: Pairs, past: int, pair_facts: int, profile_facts: int,
    family: int, subject: int, object_: int, when: int, hidden: int, streams: Longs2,
    nearest: Longs2, cuts: Longs,
) -> int:  # fmt: skip
    """Lists the nearest facts of one family as rows (distance, start, fact); their number."""
    one, other = (subject, object_) if family in (PAIR, SUBJECT_OUT, SUBJECT_IN) else (
        object_, subject
    )  # fmt: skip
    outgoing = family in (PAIR, REVERSED, SUBJECT_OUT, OBJECT_OUT)
    pair = find_pair(pairs[7], pairs[8], one if outgoing else other, other if outgoing else one)
    if family <= REVERSED:
        if pair < 0:
            return 0
        return nearest_in_slot(
            pairs[0], pairs[1], pairs[2], pairs[3], pairs[4], pairs[5], pairs[6], arrays[7],
            arrays[8], arrays[9], pair, when, pair_facts, hidden, past, UNDATED, streams, nearest,
        )  # fmt: skip
    if one < 0:
        return 0
    between = pairs[0][3 * pair + 3] - pairs[0][3 * pair] if pair >= 0 else 0
    slot = one if outgoing else one + (arrays[0].size - 1) // 6
    partners = facts[2] if outgoing else facts[0]
    return _profile(
        arrays, partners, slot, other, between, when, profile_facts, hidden, past, streams,
        nearest, cuts,
    )  # fmt: skip


@leaf
def _profile(
    arrays: Arrays, partners: Ints, slot: int, partner: int, between: int, when: int, k: int,
    hidden: int, past: int, streams: Longs2, nearest: Longs2, cuts: Longs,
) -> int:  # fmt: skip
    """Lists the k nearest facts of a slot but for the `between` that are with the partner.

    First a few more than k are looked at, then as many as are needed, but at most
    MOST_HISTORY_FACTS: `cuts` counts where that was not enough.
    """
    asked = min(k + min(between, SPARE), MOST_HISTORY_FACTS)
    while True:
        found = nearest_in_slot(
            arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5], arrays[6], arrays[7],
            arrays[8], arrays[9], slot, when, asked, hidden, past, UNDATED, streams, nearest,
        )  # fmt: skip
        kept = 0
        for place in range(found):
            if partners[nearest[place, 2]] != partner:
                for column in range(3):
                    nearest[kept, column] = nearest[place, column]
                kept += 1
        if kept >= k or found < asked:
            return min(kept, k)
        if asked == MOST_HISTORY_FACTS:
            others = arrays[0][3 * slot + 3] - arrays[0][3 * slot] - between
            cuts[0] += kept < min(k, others)
            return kept
        asked = min(k + between, MOST_HISTORY_FACTS)


@leaf
def _add_up(
    nearest: Longs2, found: int, predicates: Ints, when: int, fading: Fading, sums: Fading,
    totals: Doubles, seen: Ints,
) -> int:  # fmt: skip
    """Sums up the kernels of listed facts by predicate and in all; how many predicates are seen."""
    totals[:] = 0.0
    named = 0
    for place in range(found):
        predicate = predicates[nearest[place, 2]]
        if not _is_open(sums, predicate):
            seen[named] = predicate
            named += 1
        add_clock(nearest[place, 0], nearest[place, 1], when, fading, sums, predicate, totals)
    return named


@leaf
def _is_open(sums: Fading, predicate: int) -> bool:
    """Whether a fact of the predicate was counted: each has one of these two kernels."""
    return bool(sums[predicate, EVER] + sums[predicate, UNDATED_EVER] > 0)


@leaf
def _write(
    sums: Fading, totals: Doubles, seen: Ints, named: int, kernel_places: Ints,
    first: int, width: int, columns: Ints, values: Floats, used: int,
) -> int:  # fmt: skip
    """Turns sums into features, and clears them; how many features are used up by now."""
    for place in range(named):
        predicate = seen[place]
        for k in range(kernel_places.size):
            z = sums[predicate, k]
            sums[predicate, k] = 0.0
            if kernel_places[k] >= 0 and z >= LEAST:
                share = z / (totals[k] + 1.0)
                columns[used] = (first + predicate) * width + kernel_places[k]
                values[used] = 1.0 + SHARPNESS * share
                used += 1
    return used


@kernel
def weigh(
    columns: Ints, pair_columns: int, pair_weight: float, profile_weight: float, values: Floats
) -> None:
    """Multiplies the values of the first columns by the one weight, the others by the other."""
    one, other = np.float32(pair_weight), np.float32(profile_weight)
    for place in range(columns.size):
        values[place] *= one if columns[place] < pair_columns else other
