"""A reward for connections that say something: how much likelier they make the query's predicate.

The episodes so far are a classifier with one feature, the topology: P(r | topology), drawn to the
base rates of the connected queries. An episode that connects is paid the log-likelihood gain of its
own predicate, ln P(r | topology) / P(r), from what was counted before it; at most 3, never less
than 0: where a connection says nothing it is paid nothing.
"""

import math
from collections import Counter

from apptek.agent.environment import Bools
from apptek.data.times import Ints

DOUBT = 10.0  # connections of a topology that count as much as the base rates
MOST = 3.0


class Information:
    """Counts of connections by topology and predicate."""

    def __init__(self) -> None:
        self._both: Counter[tuple[bytes, int]] = Counter()
        self._topologies: Counter[bytes] = Counter()
        self._predicates: Counter[int] = Counter()
        self._all = 0

    def add(self, met: Bools, trail: Ints, predicates: Ints) -> None:
        """Counts episodes that have ended, those that connected."""
        for row in met.nonzero()[0].tolist():
            key, predicate = trail[row].tobytes(), int(predicates[row])
            self._both[key, predicate] += 1
            self._topologies[key] += 1
            self._predicates[predicate] += 1
            self._all += 1

    def gain(self, trail: Ints, predicate: int) -> float:
        """What a connection by this topology is paid for a query of this predicate."""
        if not self._all:
            return 0.0
        base = (self._predicates[predicate] + 1) / (self._all + 1)
        key = trail.tobytes()
        counted = self._both[key, predicate] + DOUBT * base
        share = counted / (self._topologies[key] + DOUBT)
        return min(max(math.log(share / base), 0.0), MOST)
