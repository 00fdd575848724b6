"""Kinds of queries that are reported apart."""

import numpy as np

from apptek.arrays import Bools, Ints
from apptek.data.fact_keys import fact_keys
from apptek.data.facts import Facts, Names

MIRRORS = (("Host a visit", "Make a visit"),)  # each other's mirror; every other is its own


def groups(queries: Facts, train: Facts, predicates: Names) -> dict[str, Bools]:
    """Which queries belong to which group. O(n log n).

    unseen_entity  subject or object is in no training fact
    unseen_pair    both are, but the pair is not, in this direction
    seen_pair      the pair is: so each query is in exactly one of these three
    mirrored       the reversed fact of the same time is in train, with the mirror predicate
    not_mirrored   the others
    dated, undated whether the query has a time
    """
    unseen = ~(_occurs(queries.subjects, train) & _occurs(queries.objects, train))
    pair = _pairs_seen(queries, train)
    mirrored = _mirrored(queries, train, predicates)
    return {
        "unseen_entity": unseen,
        "unseen_pair": ~unseen & ~pair,
        "seen_pair": pair,
        "mirrored": mirrored,
        "not_mirrored": ~mirrored,
        "dated": queries.dated,
        "undated": ~queries.dated,
    }


def _occurs(entities: Ints, train: Facts) -> Bools:
    return np.isin(entities, train.subjects) | np.isin(entities, train.objects)


def _pairs_seen(queries: Facts, train: Facts) -> Bools:
    asked, seen = fact_keys(_pairs(queries), _pairs(train))
    return np.isin(asked, seen)


def _pairs(facts: Facts) -> Facts:
    nothing = np.zeros(len(facts), np.int32)
    return Facts(facts.subjects, nothing, facts.objects, nothing, nothing)


def _mirrored(queries: Facts, train: Facts, predicates: Names) -> Bools:
    mirror = np.arange(len(predicates), dtype=np.int32)
    for names in MIRRORS:
        one, other = map(predicates.find, names)
        if one is not None and other is not None:
            mirror[[one, other]] = other, one
    asked = mirror[queries.predicates]
    reversed_ = Facts(queries.objects, asked, queries.subjects, queries.since, queries.until)
    wanted, held = fact_keys(reversed_, train)
    return np.isin(wanted, held)
