"""Counting with a memory for time, as numba kernels over flat arrays.

For a query (s, ?, o, t), with decayed counts c of each predicate among some facts, each fact
weighing floor + (1 - floor) / (1 + distance to t / decay):

    near(x)  = (c of x's facts + smoothing * prior) / (their sum + smoothing)
    entities = near(s's outgoing) * near(o's incoming) / prior * dated,  made to sum to 1
    score    = log(pair * c of (s, o) + reversed * c of (o, s) + backoff * entities)

`prior` is the share of each predicate, `dated` how much commoner it is among facts that are dated
as the query is. A fact without a time weighs `floor` for a dated query and 1 for an undated one,
for which it is the other way round with dated facts. What the query hides is counted nowhere.
"""

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Ints, Longs
from apptek.compiling import kernel, leaf
from apptek.data.times import UNKNOWN
from apptek.graph.pairs import find_pair

PRIOR = 0.5  # of a fact, that every predicate is thought to have beside its own
DATING = 1.0  # facts that the share of dated ones in all data weighs for a predicate
TINY = 1e-30


@kernel
def score_all(
    slots: Longs, facts: Ints, lows: Ints, highs: Ints, named: Ints,
    firsts: Ints, partners: Ints, pair_offsets: Longs, pair_facts: Ints, pair_lows: Ints,
    pair_highs: Ints, pair_named: Ints,
    twins: Ints, twin_counts: Ints, predicates: Ints, is_dated: Bools, dating: Longs,
    weights: Doubles, subjects: Ints, objects: Ints, times: Ints, hidden: Ints, scores: Floats,
) -> None:  # fmt: skip
    """Fills in scores (B, R).

    slots, facts, ...  the stretches of every subject, then of every object (see Stretches)
    firsts, partners   the pairs of each subject (see PairIndex)
    pair_...           the stretches of every pair
    dating             (2, R): undated and dated facts of each predicate
    weights            pair, reversed, backoff, smoothing, pair_decay, entity_decay, floor
    """
    pair_weight, reversed_weight, backoff, smoothing = (
        weights[0],
        weights[1],
        weights[2],
        weights[3],
    )
    pair_decay, entity_decay, floor = weights[4], weights[5], weights[6]
    predicate_count, entity_count = scores.shape[1], (slots.size - 1) // 2
    prior, dated = np.empty(predicate_count), np.empty(predicate_count)
    one, other = np.empty(predicate_count), np.empty(predicate_count)
    filled = -1
    for row in range(subjects.size):
        subject, object_, when, unseen = subjects[row], objects[row], times[row], hidden[row]
        asked_dated = 0 if when == UNKNOWN else 1
        if unseen >= 0 or filled != asked_dated:
            _fill_prior(
                dating, asked_dated, predicates, is_dated, twin_counts, unseen, prior, dated
            )
            filled = -1 if unseen >= 0 else asked_dated
        ones = _count_slot(
            slots, facts, lows, highs, named, subject, twins, when, unseen, entity_decay, floor, one
        )
        others = _count_slot(
            slots, facts, lows, highs, named, object_ + entity_count if object_ >= 0 else -1,
            twins, when, unseen, entity_decay, floor, other,
        )  # fmt: skip
        _multiply(one, ones, other, others, prior, dated, smoothing, backoff)
        _count_pair(
            find_pair(firsts, partners, subject, object_), pair_offsets, pair_facts, pair_lows,
            pair_highs, pair_named, twins, when, unseen, pair_decay, floor, pair_weight, one,
        )  # fmt: skip
        _count_pair(
            find_pair(firsts, partners, object_, subject), pair_offsets, pair_facts, pair_lows,
            pair_highs, pair_named, twins, when, unseen, pair_decay, floor, reversed_weight, one,
        )  # fmt: skip
        for r in range(predicate_count):
            scores[row, r] = np.log(max(one[r], TINY))


@leaf
def _fill_prior(
    dating: Longs, asked_dated: int, predicates: Ints, is_dated: Bools, twin_counts: Ints,
    unseen: int, prior: Doubles, dated: Doubles,
) -> None:  # fmt: skip
    """Shares of the predicates without what is hidden, and their shares among the like-dated."""
    missing, gone, gone_alike = -1, 0, 0
    if unseen >= 0:
        missing, gone = predicates[unseen], twin_counts[unseen] if twin_counts.size else 1
        gone_alike = gone if is_dated[unseen] == (asked_dated == 1) else 0
    alike_total, total = 0 - gone_alike, 0 - gone
    for r in range(prior.size):
        alike_total += dating[asked_dated, r]
        total += dating[0, r] + dating[1, r]
    share = alike_total / total if total > 0 else 0.0
    for r in range(prior.size):
        alike = dating[asked_dated, r] - (gone_alike if r == missing else 0)
        count = dating[0, r] + dating[1, r] - (gone if r == missing else 0)
        prior[r] = (count + PRIOR) / (total + PRIOR * prior.size)
        dated[r] = (alike + DATING * share) / (count + DATING) / share if share > 0.0 else 1.0


@leaf
def _multiply(
    one: Doubles, ones: float, other: Doubles, others: float, prior: Doubles, dated: Doubles,
    smoothing: float, backoff: float,
) -> None:  # fmt: skip
    """Turns the counts of the subject into backoff * entities."""
    total = 0.0
    for r in range(one.size):
        near = (one[r] + smoothing * prior[r]) / (ones + smoothing)
        near *= (other[r] + smoothing * prior[r]) / (others + smoothing)
        one[r] = near / prior[r] * dated[r]
        total += one[r]
    for r in range(one.size):
        one[r] *= backoff / total


@leaf
def _count_slot(
    slots: Longs, facts: Ints, lows: Ints, highs: Ints, named: Ints, slot: int, twins: Ints,
    when: int, unseen: int, decay: float, floor: float, counts: Doubles,
) -> float:  # fmt: skip
    """Makes `counts` those of one slot (-1: of nothing); their sum."""
    for r in range(counts.size):
        counts[r] = 0.0
    if slot < 0:
        return 0.0
    return _count(
        facts, lows, highs, named, slots[slot], slots[slot + 1], twins, when, unseen, decay, floor,
        1.0, counts,
    )  # fmt: skip


@leaf
def _count_pair(
    pair: int, offsets: Longs, facts: Ints, lows: Ints, highs: Ints, named: Ints, twins: Ints,
    when: int, unseen: int, decay: float, floor: float, weight: float, counts: Doubles,
) -> None:  # fmt: skip
    """Adds the facts of a pair (-1: none) to `counts`."""
    if pair >= 0 and weight > 0.0:
        _count(
            facts, lows, highs, named, offsets[pair], offsets[pair + 1], twins, when, unseen,
            decay, floor, weight, counts,
        )  # fmt: skip


@leaf
def _count(
    facts: Ints, lows: Ints, highs: Ints, named: Ints, start: int, stop: int, twins: Ints,
    when: int, unseen: int, decay: float, floor: float, weight: float, counts: Doubles,
) -> float:  # fmt: skip
    """Adds what the facts from start to stop weigh to their predicates' counts; the sum of it."""
    total, falling = 0.0, (1.0 - floor) * decay
    for place in range(start, stop):
        if unseen >= 0:
            fact = facts[place]
            if fact == unseen or (twins.size > 0 and twins[fact] == twins[unseen]):
                continue
        low, high = np.int64(lows[place]), np.int64(highs[place])
        if low == UNKNOWN or when == UNKNOWN:
            near = weight if low == when else weight * floor
        else:
            distance = max(low - when, when - high, np.int64(0))
            near = weight * (floor + falling / (decay + distance))
        counts[named[place]] += near
        total += near
    return total
