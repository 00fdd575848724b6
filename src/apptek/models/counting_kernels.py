"""The counting baselines' score, as numba kernels over flat arrays.

For a query (s, ?, o, t), let c be the counts of each predicate among a group of facts. Each fact
adds floor + (1 - floor) / (1 + distance to t / decay) to its predicate's count:

    near(x)  = (c of x's facts + smoothing * prior) / (their sum + smoothing)
    entities = near(s's outgoing) * near(o's incoming) / prior * dated,  normalised to sum to 1
    score    = log(pair * c of (s, o) + reversed * c of (o, s) + backoff * entities)

`prior` is each predicate's proportion of all facts. `dated` is the predicate's lift among the
facts that are dated (or undated) like the query. If only one of fact and query has a time, the fact
counts `floor`. If neither has one, it counts 1. A query's hidden fact is never counted.

With past_only, a query counts only the facts before its time. Later ends are unknown, as in
graph/slot_search.py. The prior is fitted, like a weight, and always comes from all facts.
"""

from typing import NamedTuple

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Ints, Longs, read_only
from apptek.compiling import kernel, leaf
from apptek.facts.facts import Facts
from apptek.facts.queries import QueryColumns
from apptek.facts.times import UNKNOWN
from apptek.graph.incidence import Incidence
from apptek.graph.lookups import PairIndex, ends_of, find_pair
from apptek.graph.slot_search import AHEAD, ONGOING
from apptek.graph.temporal_graph import TemporalGraph

PRIOR = 0.5  # pseudo-count of facts for every predicate, so that no prior is 0
DATING = 1.0  # pseudo-count of the overall proportion of dated facts
TINY = 1e-30  # keeps the logarithm of 0 finite


class Weights(NamedTuple):
    """The weights of the counts. By default, only the entities' facts count, at any time."""

    pair: float = 0.0
    reversed: float = 0.0
    backoff: float = 1.0  # pseudo-count of the profile, added to the pair's facts
    smoothing: float = 3.0  # pseudo-count of the prior, added to an entity's facts
    pair_decay: float = 1.0  # distance at which the decaying part is halved
    entity_decay: float = 1.0
    floor: float = 1.0  # the weight that remains at any distance


class GroupedFacts(NamedTuple):
    """Facts sorted into groups. Group g consists of the rows from offsets[g] to offsets[g + 1].

    The columns that a kernel needs are copied in this order, so that it reads memory
    sequentially.

    lows, highs  the positions of since and until; if one is unknown, both contain the known one
    """

    offsets: Longs
    facts: Ints
    lows: Ints
    highs: Ints
    predicates: Ints


class CountingArrays(NamedTuple):
    """The counting kernel's inputs.

    entities  the facts of every subject, then of every object
    dating    (2, R): undated and dated facts of each predicate
    """

    entities: GroupedFacts
    pairs: GroupedFacts
    pair_index: PairIndex
    twins: Ints
    twin_counts: Ints
    predicates: Ints
    is_dated: Bools
    dating: Longs


def dating_of(facts: Facts, predicate_count: int) -> Longs:
    """Return the number of undated and dated facts of each predicate: (2, R)."""
    is_dated = facts.dated
    parts = (facts.predicates[~is_dated], facts.predicates[is_dated])
    counts = [np.bincount(part, minlength=predicate_count) for part in parts]
    return read_only(np.stack(counts).astype(np.int64))


def counting_arrays(graph: TemporalGraph, dating: Longs | None = None) -> CountingArrays:
    """Index the facts of a graph for the counting kernel. O(n log n).

    dating  the counts from which the prior follows, by default the graph's. A graph with facts
            that were added after fitting keeps the `dating` from the fit.
    """
    pairs, facts = PairIndex.of(graph), graph.facts
    is_dated = read_only(facts.dated)
    if dating is None:
        dating = dating_of(facts, graph.predicate_count)
    return CountingArrays(
        _grouped(graph, graph.incidence), _grouped(graph, pairs.incidence), pairs,
        graph.incidence.twins, count_twins(graph), facts.predicates, is_dated, dating,
    )  # fmt: skip


def _grouped(graph: TemporalGraph, index: Incidence) -> GroupedFacts:
    lows, highs = map(read_only, ends_of(graph, index.facts))
    # Every third offset, because a slot's three ranges in an incidence form one group here.
    offsets = read_only(index.offsets[::3].astype(np.int64))
    predicates = read_only(graph.facts.predicates[index.facts])
    return GroupedFacts(offsets, index.facts, lows, highs, predicates)


def count_twins(graph: TemporalGraph) -> Ints:
    """Return the number of facts hidden with each fact, including itself; empty if always 1."""
    twins = graph.incidence.twins
    counts = np.bincount(twins)[twins] if len(twins) else twins
    return read_only(counts.astype(np.int32))


@kernel
def score_queries(
    arrays: CountingArrays, weights: Weights, sight: int, queries: QueryColumns, scores: Floats
) -> None:
    """Fill in scores (B, R). `sight` contains the flags AHEAD and ONGOING."""
    subjects, objects, times, hidden = queries
    pair_decay, entity_decay, floor = weights.pair_decay, weights.entity_decay, weights.floor
    entities, pairs, twins = arrays.entities, arrays.pairs, arrays.twins
    predicate_count, entity_count = scores.shape[1], (entities.offsets.size - 1) // 2
    # Work space for all queries, allocated once, because the leaves below allocate nothing.
    prior, dated = np.empty(predicate_count), np.empty(predicate_count)
    counts, object_counts = np.empty(predicate_count), np.empty(predicate_count)
    prior_of = -1  # `prior` is for undated (0) or dated (1) queries that hide nothing
    for row in range(subjects.size):
        subject, object_, when, unseen = subjects[row], objects[row], times[row], hidden[row]
        query_dated = 0 if when == UNKNOWN else 1
        # The prior depends only on the hidden fact and on whether the query is dated. Held-out
        # queries hide nothing, so they share it.
        if unseen >= 0 or prior_of != query_dated:
            _fill_prior(arrays, query_dated, unseen, prior, dated)
            prior_of = -1 if unseen >= 0 else query_dated
        counts[:] = 0.0
        subject_total = _add_counts(
            entities, subject, twins, when, unseen, sight, entity_decay, floor, 1.0, counts
        )
        object_counts[:] = 0.0
        slot = object_ + entity_count if object_ >= 0 else -1
        object_total = _add_counts(
            entities, slot, twins, when, unseen, sight, entity_decay, floor, 1.0, object_counts
        )
        _combine(
            counts, subject_total, object_counts, object_total, prior, dated, weights.smoothing,
            weights.backoff,
        )  # fmt: skip
        _add_counts(
            pairs, find_pair(arrays.pair_index, subject, object_), twins, when, unseen, sight,
            pair_decay, floor, weights.pair, counts,
        )  # fmt: skip
        _add_counts(
            pairs, find_pair(arrays.pair_index, object_, subject), twins, when, unseen, sight,
            pair_decay, floor, weights.reversed, counts,
        )  # fmt: skip
        for r in range(predicate_count):
            scores[row, r] = np.log(max(counts[r], TINY))


@leaf
def _fill_prior(
    arrays: CountingArrays, query_dated: int, unseen: int, prior: Doubles, dated: Doubles
) -> None:
    """Fill `prior` and `dated`, without the hidden fact and its twins.

    "Alike" means the dated facts for a dated query, and the undated facts for an undated query.
    """
    # Twins have the same predicate and are all dated, so subtracting their number is enough.
    missing, gone, gone_alike, dating = -1, 0, 0, arrays.dating
    if unseen >= 0:
        missing = arrays.predicates[unseen]
        gone = arrays.twin_counts[unseen] if arrays.twin_counts.size else 1
        gone_alike = gone if arrays.is_dated[unseen] == (query_dated == 1) else 0
    alike_total, total = 0 - gone_alike, 0 - gone
    for r in range(prior.size):
        alike_total += dating[query_dated, r]
        total += dating[0, r] + dating[1, r]
    share = alike_total / total if total > 0 else 0.0
    for r in range(prior.size):
        # Not below 0, because a hidden fact that was added after fitting was never counted.
        alike = max(dating[query_dated, r] - (gone_alike if r == missing else 0), 0)
        count = max(dating[0, r] + dating[1, r] - (gone if r == missing else 0), 0)
        prior[r] = (count + PRIOR) / (total + PRIOR * prior.size)
        # Without alike facts, whether a fact is dated carries no information about the predicate.
        dated[r] = (alike + DATING * share) / (count + DATING) / share if share > 0.0 else 1.0


@leaf
def _combine(
    counts: Doubles, subject_total: float, object_counts: Doubles, object_total: float,
    prior: Doubles, dated: Doubles, smoothing: float, backoff: float,
) -> None:  # fmt: skip
    """Replace the subject's counts by backoff * entities."""
    total = 0.0
    for r in range(counts.size):
        near = (counts[r] + smoothing * prior[r]) / (subject_total + smoothing)
        near *= (object_counts[r] + smoothing * prior[r]) / (object_total + smoothing)
        # Both factors contain the prior; one of them is divided out again (naive Bayes).
        counts[r] = near / prior[r] * dated[r]
        total += counts[r]
    for r in range(counts.size):
        counts[r] *= backoff / total


@leaf
def _add_counts(
    groups: GroupedFacts, group: int, twins: Ints, when: int, unseen: int, sight: int, decay: float,
    floor: float, weight: float, counts: Doubles,
) -> float:  # fmt: skip
    """Add the weight of each fact in a group to its predicate's count. Group -1 has no facts.

    Return the sum of these weights. Most of the time is spent in this loop: one sequential pass
    over memory, with a single division per fact.
    """
    if group < 0 or weight <= 0.0:
        return 0.0
    # floor + (1 - floor) / (1 + distance / decay) = floor + falling / (decay + distance)
    total, falling = 0.0, (1.0 - floor) * decay
    for entry in range(groups.offsets[group], groups.offsets[group + 1]):
        if unseen >= 0:
            fact = groups.facts[entry]
            if fact == unseen or (twins.size > 0 and twins[fact] == twins[unseen]):
                continue
        # int64, because the difference between two positions can exceed int32.
        low, high = np.int64(groups.lows[entry]), np.int64(groups.highs[entry])
        if low == UNKNOWN or when == UNKNOWN:
            near = weight if low == when else weight * floor
        elif sight & AHEAD != 0:
            if low >= when:
                continue
            # A fact that has not ended counts from its start, or as still ongoing.
            lasts = sight & ONGOING != 0
            distance = when - high if high < when else np.int64(0) if lasts else when - low
            near = weight * (floor + falling / (decay + distance))
        else:
            # 0 within an interval, otherwise the distance to its nearer end.
            distance = max(low - when, when - high, np.int64(0))
            near = weight * (floor + falling / (decay + distance))
        counts[groups.predicates[entry]] += near
        total += near
    return total
