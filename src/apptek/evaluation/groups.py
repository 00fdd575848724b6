"""Groups of queries that are reported apart: how much was known of the entities and the pair."""

import numpy as np

from apptek.arrays import Bools, Ints
from apptek.facts.fact_keys import between_asked, fact_keys
from apptek.facts.facts import Facts, Names

# Predicates that mirror each other, so that either one follows from the other; every other
# predicate is its own mirror.
MIRRORS = (("Host a visit", "Make a visit"),)


def groups(queries: Facts, train: Facts, predicates: Names) -> dict[str, Bools]:
    """Which queries belong to which group. O(n log n).

    unseen_entity  subject or object occurs in no training fact
    unseen_pair    both occur, but never as this pair in this direction
    seen_pair      the pair occurs: so each query is in exactly one of these three
    mirrored       train holds the reversed fact of the same time, with the mirror predicate
    not_mirrored   all others
    dated, undated whether the query has a time
    """
    seen = _occurs(queries.subjects, train) & _occurs(queries.objects, train)
    pair_seen = _pair_occurs(queries, train)
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


def _occurs(entities: Ints, train: Facts) -> Bools:
    return np.isin(entities, train.subjects) | np.isin(entities, train.objects)


def _pair_occurs(queries: Facts, train: Facts) -> Bools:
    train = between_asked(train, queries)
    query_keys, train_keys = fact_keys(_only_pairs(queries), _only_pairs(train))
    return np.isin(query_keys, train_keys)


def _only_pairs(facts: Facts) -> Facts:
    zeros = np.zeros(len(facts), np.int32)
    return Facts(facts.subjects, zeros, facts.objects, zeros, zeros)


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
