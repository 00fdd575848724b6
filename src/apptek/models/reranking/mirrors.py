"""The mirror of a predicate: the one that most often goes the other way at the same time."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Floats, Ints, read_only
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts


@dataclass(frozen=True, slots=True)
class Mirrors:
    """For each predicate its mirror: the one that most often goes the other way at the same time.

    share  of the predicate's dated facts between two entities: how many have the mirror
    """

    of: Ints  # (R,), -1 where there is none
    share: Floats  # (R,)

    @classmethod
    def learned(cls, train: Facts, predicate_count: int) -> "Mirrors":
        """The mirrors in the training facts."""
        train = train.take(train.dated & (train.subjects != train.objects))
        zeros = np.zeros(len(train), np.int32)
        forth = Facts(train.subjects, zeros, train.objects, train.since, train.until)
        back = Facts(train.objects, zeros, train.subjects, train.since, train.until)
        back_keys, forth_keys = fact_keys(back, forth)
        order = np.argsort(forth_keys, kind="stable")
        ordered_keys, predicates = forth_keys[order], train.predicates[order]
        # Join each fact with all facts of the same time in the other direction.
        starts, stops = (
            np.searchsorted(ordered_keys, back_keys, side) for side in ("left", "right")
        )
        counts = stops - starts
        rows = np.repeat(np.arange(len(train)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        pairs = np.zeros((predicate_count, predicate_count), np.int64)
        np.add.at(pairs, (train.predicates[rows], predicates[starts[rows] + within]), 1)
        fact_counts = np.bincount(train.predicates, minlength=predicate_count)
        of = pairs.argmax(axis=1).astype(np.int32)
        share = pairs[np.arange(predicate_count), of] / np.maximum(fact_counts, 1)
        of[share == 0] = -1
        return cls(read_only(of), read_only(share.astype(np.float32)))
