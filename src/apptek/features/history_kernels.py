"""Kernels that find the nearest facts in each history family, and sum their kernel values."""

from typing import NamedTuple

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.compiling import kernel, leaf
from apptek.config import MOST_HISTORY_FACTS
from apptek.facts.queries import QueryColumns
from apptek.features.clock import EVER, UNDATED_EVER, Fading, add_clock
from apptek.graph.incidence import FactColumns, Incidence
from apptek.graph.lookups import PairIndex, find_pair
from apptek.graph.slot_search import FIELDS, STREAMS, UNDATED, Longs2, nearest_in_slot

PAIR, REVERSED, SUBJECT_OUT, SUBJECT_IN, OBJECT_OUT, OBJECT_IN = range(6)  # as in config.FAMILIES
SHARPNESS = 6.0
LEAST = 0.01  # a smaller sum of kernels does not give a feature
SPARE = 16  # facts read in addition to a profile's K, because some may involve the partner


class Sources(NamedTuple):
    """The indices and limits that are needed to list a family's facts."""

    incidence: Incidence
    facts: FactColumns
    pairs: PairIndex
    sight: int  # a view's flags, see slot_search.py
    pair_facts: int  # K for a pair family
    profile_facts: int  # K for a profile


@kernel
def write_history(
    sources: Sources, queries: QueryColumns, family_indices: Ints, kernel_indices: Ints, width: int,
    predicate_count: int, fading: Fading, counts: Longs, columns: Ints, values: Floats,
) -> int:  # fmt: skip
    """Write the features of many queries consecutively, and return their number.

    The values are 1 + 6 share. The caller takes the logarithm of all values at once. `counts`
    receives the number of features of each query.
    """
    subjects, objects, whens, hidden = queries
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    sums = np.zeros((predicate_count, kernel_indices.size))
    totals = np.zeros(kernel_indices.size)
    seen = np.empty(predicate_count, np.int32)
    used = 0
    for row in range(subjects.size):
        start = used
        for family in range(family_indices.size):
            index = family_indices[family]
            if index < 0:
                continue
            count = family_facts(
                sources, family, subjects[row], objects[row], whens[row], hidden[row], streams,
                nearest,
            )  # fmt: skip
            predicates = sources.facts.predicates
            seen_count = _sum_kernels(
                nearest, count, predicates, whens[row], fading, sums, totals, seen
            )
            used = _write_features(
                sums, totals, seen, seen_count, kernel_indices, index * predicate_count, width,
                columns, values, used,
            )  # fmt: skip
        counts[row] = used - start
    return used


@kernel
def list_family(
    sources: Sources, query: tuple[int, int, int, int], family: int, fading: Fading, listed: Ints,
    clocked: Fading,
) -> int:  # fmt: skip
    """Write the facts in one family of one query to `listed`, and return their number.

    `clocked` must contain zeros. It receives the kernel values of each fact.
    """
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    totals = np.zeros(clocked.shape[1])
    streams = np.empty((STREAMS, FIELDS), np.int64)
    count = family_facts(sources, family, query[0], query[1], query[2], query[3], streams, nearest)
    for i in range(count):
        listed[i] = nearest[i, 2]
        add_clock(nearest[i, 0], nearest[i, 1], query[2], fading, clocked, i, totals)
    return count


@leaf
def family_facts(
    sources: Sources, family: int, subject: int, object_: int, when: int, hidden: int,
    streams: Longs2, nearest: Longs2,
) -> int:  # fmt: skip
    """List the nearest facts in a family as rows (distance, start, fact), and return their number.

    The family describes one of the query's two entities, its owner. The other entity is the
    partner.
    """
    owner, partner = (subject, object_) if family in (PAIR, SUBJECT_OUT, SUBJECT_IN) else (
        object_, subject
    )  # fmt: skip
    outgoing = family in (PAIR, REVERSED, SUBJECT_OUT, OBJECT_OUT)
    source, target = (owner, partner) if outgoing else (partner, owner)
    index, by_pair = sources.incidence, sources.pairs.incidence
    pair = find_pair(sources.pairs, source, target)
    if family <= REVERSED:
        if pair < 0:
            return 0
        return nearest_in_slot(
            by_pair, pair, when, sources.pair_facts, hidden, sources.sight, UNDATED, streams,
            nearest,
        )  # fmt: skip
    if owner < 0:
        return 0
    # A slot has three ranges of facts. Every entity has two slots. All outgoing slots come first.
    between = by_pair.offsets[3 * pair + 3] - by_pair.offsets[3 * pair] if pair >= 0 else 0
    slot = owner if outgoing else owner + (index.offsets.size - 1) // 6
    partners = sources.facts.objects if outgoing else sources.facts.subjects
    return _profile(
        index, partners, slot, partner, between, when, sources.profile_facts, hidden, sources.sight,
        streams, nearest,
    )  # fmt: skip


@leaf
def _profile(
    index: Incidence, partners: Ints, slot: int, partner: int, between: int, when: int, k: int,
    hidden: int, view: int, streams: Longs2, nearest: Longs2,
) -> int:  # fmt: skip
    """List a slot's k nearest facts, except the `between` facts with the partner.

    The pair families already contain those facts. Read slightly more than k facts at first, then as
    many as needed, but at most MOST_HISTORY_FACTS.
    """
    limit = min(k + min(between, SPARE), MOST_HISTORY_FACTS)
    while True:
        count = nearest_in_slot(index, slot, when, limit, hidden, view, UNDATED, streams, nearest)
        kept = 0
        for i in range(count):
            if partners[nearest[i, 2]] != partner:
                for column in range(3):
                    nearest[kept, column] = nearest[i, column]
                kept += 1
        # Stop if there are enough, the slot has no more, or the limit is reached.
        if kept >= k or count < limit or limit == MOST_HISTORY_FACTS:
            return min(kept, k)
        limit = min(k + between, MOST_HISTORY_FACTS)


@leaf
def _sum_kernels(
    nearest: Longs2, count: int, predicates: Ints, when: int, fading: Fading, sums: Fading,
    totals: Doubles, seen: Ints,
) -> int:  # fmt: skip
    """Sum the listed facts' kernel values by predicate and in total.

    Return the number of predicates.

    `seen` receives these predicates in order of first appearance.
    """
    totals[:] = 0.0
    seen_count = 0
    for i in range(count):
        predicate = predicates[nearest[i, 2]]
        # Every fact adds to one of these two kernels: if both are 0, this is the first fact.
        if sums[predicate, EVER] + sums[predicate, UNDATED_EVER] == 0:
            seen[seen_count] = predicate
            seen_count += 1
        add_clock(nearest[i, 0], nearest[i, 1], when, fading, sums, predicate, totals)
    return seen_count


@leaf
def _write_features(
    sums: Fading, totals: Doubles, seen: Ints, seen_count: int, kernel_indices: Ints, first: int,
    width: int, columns: Ints, values: Floats, used: int,
) -> int:  # fmt: skip
    """Convert sums to features from position `used` on. Return the position after the last one.

    Reset the sums of the seen predicates to 0. The rest of the table is already 0.
    """
    for i in range(seen_count):
        predicate = seen[i]
        for k in range(kernel_indices.size):
            z = sums[predicate, k]
            sums[predicate, k] = 0.0
            if kernel_indices[k] >= 0 and z >= LEAST:
                share = z / (totals[k] + 1.0)
                columns[used] = (first + predicate) * width + kernel_indices[k]
                values[used] = 1.0 + SHARPNESS * share
                used += 1
    return used
