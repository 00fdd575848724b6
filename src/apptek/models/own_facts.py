"""Which fact each query asks about, so that an answer need not see it."""

import numpy as np

from apptek.arrays import Ints
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import SPLITS, Dataset, Facts, Split
from apptek.facts.queries import Queries


def own_facts(queries: Queries, data: Dataset) -> tuple[list[Split | None], Ints]:
    """Return the split of the fact that each query asks about, and the training fact to hide.

    None and -1: there is none. Where valid or test has a fact of that subject, object and time, it
    is the one that is asked about, and training facts stay visible: so `evaluate` asks. Of several
    training facts, the first is hidden.
    """
    asked = _facts(queries.subjects, queries.objects, queries.times)
    parts = [data.split(name) for name in SPLITS]
    asked_keys, *keys = fact_keys(
        asked, *(_facts(part.subjects, part.objects, part.times) for part in parts)
    )
    splits: list[Split | None] = [None] * len(queries)
    hidden = np.full(len(queries), -1, np.int32)
    for name, of_split in zip(SPLITS, keys, strict=True):
        if not len(of_split):
            continue
        order = np.argsort(of_split, kind="stable")
        places = np.searchsorted(of_split, asked_keys, sorter=order)
        rows = order[np.minimum(places, len(order) - 1)]
        found = np.flatnonzero(of_split[rows] == asked_keys)
        hidden[found] = rows[found] if name == "train" else -1
        for row in found.tolist():
            splits[row] = name
    return splits, hidden


def _facts(subjects: Ints, objects: Ints, times: Ints) -> Facts:
    return Facts(subjects, np.zeros(len(subjects), np.int32), objects, times, times)
