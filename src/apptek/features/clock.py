"""The clock: a few numbers that describe how near in time a fact is to a query.

With dt = the fact's time - the query's, in the unit of the axis, and a = |dt| (0 inside an
interval):

| kernel        | value                     |                                               |
|---------------|---------------------------|-----------------------------------------------|
| same          | 1 where a = 0             | at that time                                  |
| before        | e^(-(a-1)/brief)          | where dt < 0: just before                     |
| after         | e^(-(a-1)/brief)          | where dt > 0: just after                      |
| close         | e^(-(a-1)/brief)          | where a > 0: either; not used by default      |
| short         | e^(-a/short)              |                                               |
| middle        | e^(-a/middle)             |                                               |
| long          | e^(-a/long)               |                                               |
| ever          | 1                         | whenever it was, undated facts too            |
| undated       | 1                         | for an undated fact                           |
| undated ever  | 1                         | for an undated query: every fact ...          |
| both undated  | 1                         | ... and every undated one                     |

An undated query uses only the last two kernels. It therefore has weights of its own.
"""

import math
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Doubles, Ints, Longs, read_only
from apptek.compiling import leaf
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph

SAME, BEFORE, AFTER, CLOSE, SHORT, MIDDLE, LONG, EVER = range(8)
UNDATED_FACT, UNDATED_EVER, BOTH_UNDATED = range(8, 11)
OF_UNDATED = (UNDATED_FACT, UNDATED_EVER, BOTH_UNDATED)  # unused if every fact is dated

QUANTILES = (1 / 3, 1 / 2, 3 / 4, 15 / 16)  # quantiles of the gaps within pairs
WITHOUT_GAPS = (1.0, 4.0, 16.0, 64.0)  # the scales if no pair and no subject has two times

MOST_FACTS = 8_000_000  # maximum number of facts for computing the scales
TABLED = 1024  # distances in the lookup table

Fading = npt.NDArray[np.float64]  # (rows, columns)


@dataclass(frozen=True, slots=True)
class Clock:
    """The time scales of a data set, in its unit."""

    brief: float
    short: float
    middle: float
    long: float

    def __post_init__(self) -> None:
        if not all(0 < float(each) < math.inf for each in astuple(self)):
            raise ValueError(f"time scales of {astuple(self)}: expected numbers above 0")

    @classmethod
    def of(cls, graph: TemporalGraph) -> "Clock":
        """Return time scales, from the gaps between the successive times of each pair.

        If no pair has two times, the gaps of each subject are used. The scales are 2, 6, 29 and 121
        days on ICEWS14, and 1, 2, 3 and 6 years on YAGO15K. If there are many facts, only every
        n-th subject is used.
        """
        facts, step = graph.facts, 1 + len(graph.facts) // MOST_FACTS
        some = slice(None) if step == 1 else np.flatnonzero(facts.subjects % step == 0)
        subjects = facts.subjects[some].astype(np.int64)
        pairs = subjects * graph.entity_count + facts.objects[some]
        for groups in (pairs, subjects):
            gaps = _gaps(groups, graph.since[some], graph.until[some])
            if len(gaps):
                return cls(*(max(1.0, float(np.quantile(gaps, q))) for q in QUANTILES))
        return cls(*WITHOUT_GAPS)

    def fading(self) -> Fading:
        """Return e^(-a/scale) for a = 0, 1, ..., one row per scale. The last column is the scale.

        Kernels look up values in this table because that is faster than calling `exp`. For
        distances beyond the table, they compute the value.
        """
        scales = np.asarray(astuple(self))
        table = np.exp(-np.arange(TABLED) / scales[:, None])
        return read_only(np.concatenate([table, scales[:, None]], axis=1))


def _gaps(groups: Longs, since: Ints, until: Ints) -> Longs:
    """Return the positive gaps between successive start times in each group, if they are known."""
    starts = np.where(since == UNKNOWN, until, since).astype(np.int64)
    dated = starts != UNKNOWN
    groups, starts = groups[dated], starts[dated]
    order = np.lexsort((starts, groups))
    gaps: Longs = np.diff(starts[order])[np.diff(groups[order]) == 0]
    return gaps[gaps > 0]


@leaf
def add_clock(
    distance: int, start: int, when: int, fading: Fading, sums: Fading, row: int, totals: Doubles
) -> None:
    """Add a fact's kernel values, at this distance from a query, to sums[row] and to the totals.

    `when` is the query's position in time. `start` is the fact's since, or until if since is
    unknown, or UNKNOWN.
    """
    if when == UNKNOWN:
        _add(sums, row, totals, UNDATED_EVER, 1.0)
        if start == UNKNOWN:
            _add(sums, row, totals, BOTH_UNDATED, 1.0)
        return
    _add(sums, row, totals, EVER, 1.0)
    if start == UNKNOWN:
        _add(sums, row, totals, UNDATED_FACT, 1.0)
        return
    if distance == 0:
        _add(sums, row, totals, SAME, 1.0)
    else:
        close = faded(fading, 0, distance - 1)  # 1 for an adjacent time
        _add(sums, row, totals, CLOSE, close)
        _add(sums, row, totals, BEFORE if start < when else AFTER, close)
    _add(sums, row, totals, SHORT, faded(fading, 1, distance))
    _add(sums, row, totals, MIDDLE, faded(fading, 2, distance))
    _add(sums, row, totals, LONG, faded(fading, 3, distance))


@leaf
def _add(sums: Fading, row: int, totals: Doubles, kernel: int, value: float) -> None:
    sums[row, kernel] += value
    totals[kernel] += value


@leaf
def faded(fading: Fading, scale: int, distance: int) -> float:
    """Return e^(-distance / scale) for the scale in the given row of the table."""
    if distance < TABLED:
        return float(fading[scale, distance])
    return float(np.exp(-distance / fading[scale, TABLED]))
