"""States as flat arrays: the (predicate, time) pairs that the agent sees on both sides.

The fingerprint uses only the predicate and time of each fact, and max-pooling ignores duplicates.
So a state is two sets of pairs, and each distinct pair is encoded once.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import AnyInts, Floats, Ints, Longs, read_only
from apptek.compiling import kernel, leaf
from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN
from apptek.ragged import Ragged


@dataclass(frozen=True, slots=True)
class PairTable:
    """The P distinct (predicate, since, until) among a graph's n facts, in this order; read-only.

    columns     (2 or 3, P): predicates, since, and until if it ever differs from since; times are
                indices into the graph's distinct times, the last one if unknown
    time_count  the number of distinct times, plus 1 if any end is unknown
    """

    pair_of_fact: Ints  # (n,)
    columns: Ints
    time_count: int


def pair_table(facts: Facts) -> PairTable:
    """Return the distinct pairs among these facts. O(n log n)."""
    has_ends = facts.since is not facts.until and not np.array_equal(facts.since, facts.until)
    ends = np.concatenate((facts.since, facts.until)) if has_ends else facts.since
    times, indices = np.unique(ends, return_inverse=True)
    if len(times) and times[0] == UNKNOWN:  # the lowest code: move it after the known ones
        indices = (indices - 1) % len(times)
    since_until = np.split(indices, 2) if has_ends else [indices]
    spans = _distinct(*since_until)[1] if has_ends else indices
    firsts, pairs = _distinct(facts.predicates, spans)
    columns = np.stack([facts.predicates, *since_until])[:, firsts].astype(np.int32)
    return PairTable(read_only(pairs.astype(np.int32)), read_only(columns), len(times))


def _distinct(first: AnyInts, second: AnyInts) -> tuple[Longs, Longs]:
    """Return the first row of each distinct (first, second), and each row's index among them."""
    keys = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second  # exact: 31 bits each
    _, firsts, indices = np.unique(keys, return_index=True, return_inverse=True)
    return firsts, indices


MARKS = 4  # number of marks; a member of a marked state is MARKS * pair + mark
IN_CORE, FAR, SEEN, REACHED = range(MARKS)  # the last three: the far end, as the other side sees it


@dataclass(frozen=True, slots=True)
class States:
    """B states as a ragged batch of pairs, or of pairs with their marks.

    Row 2b of the 2B rows is the subject side of state b, row 2b + 1 its object side. Row r has
    members[offsets[r]:offsets[r + 1]].
    """

    members: Ints
    offsets: Longs  # (2B + 1,), from 0 to len(members)

    def __len__(self) -> int:
        return len(self.offsets) // 2

    def sizes(self) -> Longs:
        """Return the number of members on each side, (B, 2)."""
        return np.diff(self.offsets).reshape(-1, 2)

    def take(self, rows: npt.NDArray[np.intp]) -> "States":
        """Return the states in these rows, in the given order."""
        both = np.stack((2 * rows, 2 * rows + 1), axis=1).ravel()
        found = Ragged(self.offsets, self.members).take(both)
        return States(found.columns, found.offsets)


def join_states(first: States, second: States) -> States:
    """Concatenate two batches of states."""
    offsets = (first.offsets, second.offsets[1:] + first.offsets[-1])
    return States(np.concatenate((first.members, second.members)), np.concatenate(offsets))


@kernel
def distinct_members(members: Ints) -> tuple[Ints, Ints]:
    """Return the distinct members in order of first appearance, and each member's index among them.

    This uses a hash table with open addressing, at most half full. The cost depends only on the
    number of members, not on the number of pairs (an array over 25,000 pairs is no faster).
    """
    size = 16
    while size < 2 * members.size:
        size *= 2
    table = np.full(size, -1, np.int32)  # indices of distinct members, -1: free
    last = np.uint32(size - 1)
    distinct = np.empty(members.size, np.int32)
    indices = np.empty(members.size, np.int32)
    count = 0
    for i in range(members.size):
        member = members[i]
        slot = ((np.uint32(member) * np.uint32(2654435769)) >> np.uint32(7)) & last
        while table[slot] >= 0 and distinct[table[slot]] != member:
            slot = (slot + np.uint32(1)) & last
        if table[slot] < 0:
            table[slot] = count
            distinct[count] = member
            count += 1
        indices[i] = table[slot]
    return distinct[:count].copy(), indices


@kernel
def pool_maxima(encoded: Floats, members: Ints, offsets: Longs) -> tuple[Floats, Ints]:
    """Max-pool each row's members, (rows, d), with zeros for empty rows; also return the winners.

    Row r has members[offsets[r]:offsets[r + 1]], which are rows of `encoded` (U, d). winners (rows,
    d) contains the member with each maximum, the first in a tie; -1 for an empty row.
    """
    maxima = np.empty((offsets.size - 1, encoded.shape[1]), encoded.dtype)
    winners = np.empty(maxima.shape, np.int32)
    for row in range(offsets.size - 1):
        start, stop = offsets[row], offsets[row + 1]
        if start == stop:
            maxima[row] = 0.0
            winners[row] = -1
            continue
        maxima[row] = encoded[members[start]]
        winners[row] = members[start]
        last = stop - 1
        for i in range(start, stop, 4):  # four at a time: fewer loads and stores of the maximum
            first, second = members[i], members[min(i + 1, last)]
            third, fourth = members[min(i + 2, last)], members[min(i + 3, last)]
            # Branch-free: the processor compares many columns at once.
            for column in range(maxima.shape[1]):
                best = maxima[row, column], winners[row, column]
                best = _higher(best, encoded[first, column], first)
                best = _higher(best, encoded[second, column], second)
                best = _higher(best, encoded[third, column], third)
                best = _higher(best, encoded[fourth, column], fourth)
                maxima[row, column], winners[row, column] = best
    return maxima, winners


@leaf
def _higher(best: tuple[float, int], value: float, member: int) -> tuple[float, int]:
    return (value, member) if value > best[0] else best


@kernel
def spread_maxima(gradients: Floats, winners: Ints, count: int) -> tuple[Ints, Floats]:
    """Return the rows of `encoded` that won a maximum, with their gradients (pool_maxima backward).

    The rows are in the order of their first win. A row's gradient is the sum of the gradients
    (rows, d) of its maxima. `encoded` has `count` rows.
    """
    indices = np.full(count, -1, np.int32)
    rows = np.empty(min(count, winners.size), np.int32)
    found = 0
    for winner in winners.flat:
        if winner >= 0 and indices[winner] < 0:
            indices[winner] = found
            rows[found] = winner
            found += 1
    spread = np.zeros((found, winners.shape[1]), gradients.dtype)
    for row in range(winners.shape[0]):
        for column in range(winners.shape[1]):
            if winners[row, column] >= 0:
                spread[indices[winners[row, column]], column] += gradients[row, column]
    return rows[:found], spread
