"""Intervals that cannot be: they end before they start.

A reader refuses a row whose own end lies before its start. What it cannot see are two rows of one
triple, of which one gives only the start and the other only the end.
"""

import numpy as np

from apptek.arrays import Bools, Ints, Longs
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN, TimeAxis


def impossible_partners(facts: Facts, axis: TimeAxis) -> Longs:
    """For each fact, the one that its own dates contradict; -1: none, itself: its own dates.

    Of a triple with a single start and a single end, both are contradicted where the end lies
    before the start. With several of either, a missing one could explain the rest.
    """
    partners = np.full(len(facts), -1, np.int64)
    if facts.since is facts.until:
        return partners
    starts, ends = axis.positions(facts.since), axis.positions(axis.last_moments(facts.until))
    both = (facts.since != UNKNOWN) & (facts.until != UNKNOWN)
    within = np.flatnonzero(both & (starts > ends))
    partners[within] = within
    opening = _alone(facts, (facts.since != UNKNOWN) & (facts.until == UNKNOWN))
    closing = _alone(facts, (facts.since == UNKNOWN) & (facts.until != UNKNOWN))
    first, second = fact_keys(_triples(facts, opening), _triples(facts, closing))
    _, of_first, of_second = np.intersect1d(first, second, return_indices=True)
    opening, closing = opening[of_first], closing[of_second]
    wrong = starts[opening] > ends[closing]
    partners[opening[wrong]], partners[closing[wrong]] = closing[wrong], opening[wrong]
    return partners


def _triples(facts: Facts, rows: Longs) -> Facts:
    zeros: Ints = np.zeros(len(rows), np.int32)
    triples = facts.take(rows)
    return Facts(triples.subjects, triples.predicates, triples.objects, zeros, zeros)


def _alone(facts: Facts, chosen: Bools) -> Longs:
    """The chosen facts whose triple no other chosen fact has."""
    rows = np.flatnonzero(chosen)
    (keys,) = fact_keys(_triples(facts, rows))
    _, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    alone: Longs = rows[np.sort(firsts[counts == 1])]
    return alone
