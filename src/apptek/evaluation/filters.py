"""Known predicates and groups of queries.

A query's known predicates are used to filter ranks, to mask a loss, and as correct answers.

| filter     | r' is known for the query (u, ?, v, t) if the facts contain          |
|------------|----------------------------------------------------------------------|
| raw        | nothing is known                                                     |
| static     | (u, r', v) at any time                                               |
| time-aware | (u, r', v) with the same since and until, even if they are unknown   |

A since line therefore matches neither the until line nor the point of the same date, and an undated
fact matches only undated facts. Times are compared as written (codes).
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from apptek.arrays import Bools, Ints, Longs, find_sorted
from apptek.facts.fact_keys import between_asked, fact_keys
from apptek.facts.facts import Facts, Names
from apptek.ragged import Ragged

Filter = Literal["raw", "static", "time-aware"]
# Predicates that mirror each other, so that either follows from the other. Every other predicate
# is its own mirror.
MIRRORS = (("Host a visit", "Make a visit"),)


def known_predicates(
    queries: Facts, facts: Sequence[Facts], filtering: Filter = "time-aware"
) -> Ragged:
    """Return the known predicates of each query, other than its own. O(n log n).

    They are distinct and ascending within a query. For ranking, the facts are the training,
    validation and test facts. For the loss, they are only the training facts.
    """
    if filtering == "raw" or not len(queries):
        return Ragged.empty(len(queries))
    when = filtering == "time-aware"
    facts = [between_asked(part, queries, when=when) for part in facts]
    query_keys, *keys_of_facts = fact_keys(
        *(_without_predicate(part, filtering) for part in (queries, *facts))
    )
    keys, key_of_query = np.unique(query_keys, return_inverse=True)
    by_key = _predicates_by_key(keys, keys_of_facts, [part.predicates for part in facts])
    # Copy the predicates under each query's key, then drop the query's own predicate.
    found = by_key.take(key_of_query)
    rows, predicates = found.row_of_each, found.columns
    others = predicates != queries.predicates[rows]
    offsets = np.zeros(len(queries) + 1, np.int64)
    np.cumsum(np.bincount(rows[others], minlength=len(queries)), out=offsets[1:])
    return Ragged(offsets, predicates[others])


def _without_predicate(facts: Facts, filtering: Filter) -> Facts:
    """Set all predicates to 0, and also all times for the static filter.

    Facts that are then equal have the same query.
    """
    zeros = np.zeros(len(facts), np.int32)
    since, until = (zeros, zeros) if filtering == "static" else (facts.since, facts.until)
    return Facts(facts.subjects, zeros, facts.objects, since, until)


def _predicates_by_key(
    keys: Longs, keys_of_facts: list[Longs], predicates_of_facts: list[Ints]
) -> Ragged:
    """Return the distinct predicates of the facts under each ascending key."""
    span = 1 + max((int(part.max(initial=0)) for part in predicates_of_facts), default=0)
    # Combine a key's position and a predicate in one number, so that one `unique` finds the pairs.
    pairs = [np.zeros(0, np.int64)]
    for part, predicates in zip(keys_of_facts, predicates_of_facts, strict=True):
        positions = find_sorted(keys, part)
        hits = positions >= 0
        pairs.append(positions[hits] * span + predicates[hits])
    distinct = np.unique(np.concatenate(pairs))
    starts = np.searchsorted(distinct, np.arange(len(keys) + 1) * span)
    return Ragged(starts, (distinct % span).astype(np.int32))


def groups(queries: Facts, train: Facts, predicates: Names) -> dict[str, Bools]:
    """Return which queries belong to which group. O(n log n).

    unseen_entity  the subject or object occurs in no training fact
    unseen_pair    both occur, but never as this pair in this direction
    seen_pair      the pair occurs; each query is in exactly one of these three groups
    mirrored       the training facts contain the reversed fact with the same time and the mirror
                   predicate
    not_mirrored   all others
    dated, undated whether the query has a time
    """
    ends = np.concatenate([train.subjects, train.objects])
    seen = np.isin(queries.subjects, ends) & np.isin(queries.objects, ends)
    pairs = (
        _without_predicate(part, "static") for part in (queries, between_asked(train, queries))
    )
    query_keys, train_keys = fact_keys(*pairs)
    pair_seen: Bools = np.isin(query_keys, train_keys)
    mirrored = _mirror_occurs(queries, train, predicates)
    return {
        "unseen_entity": ~seen,
        "unseen_pair": seen & ~pair_seen,
        "seen_pair": pair_seen,
        "mirrored": mirrored,
        "not_mirrored": ~mirrored,
        "dated": queries.dated,
        "undated": ~queries.dated,
    }


def _mirror_occurs(queries: Facts, train: Facts, predicates: Names) -> Bools:
    mirror_of = np.arange(len(predicates), dtype=np.int32)
    for names in MIRRORS:
        first, second = map(predicates.find, names)
        if first is not None and second is not None:
            mirror_of[[first, second]] = second, first
    mirrors = mirror_of[queries.predicates]
    reversed_ = Facts(queries.objects, mirrors, queries.subjects, queries.since, queries.until)
    reversed_keys, train_keys = fact_keys(reversed_, between_asked(train, reversed_))
    return np.isin(reversed_keys, train_keys)
