"""The clock: how near in time a fact is to a question, as a handful of numbers.

With dt = the fact's time - the question's, in the axis' unit, and a = |dt| (0 inside an interval):

| kernel        | value                     |                                               |
|---------------|---------------------------|-----------------------------------------------|
| same          | 1 where a = 0             | at that time                                  |
| before        | e^-(a - 1) / brief        | where dt < 0: just before                     |
| after         | e^-(a - 1) / brief        | where dt > 0: just after                      |
| close         | e^-(a - 1) / brief        | where a > 0: either; not used by default      |
| short         | e^-a / short              |                                               |
| middle        | e^-a / middle             |                                               |
| long          | e^-a / long               |                                               |
| ever          | 1                         | whenever it was, undated facts too            |
| undated       | 1                         | for an undated fact                           |
| undated ever  | 1                         | for an undated question: every fact ...       |
| both undated  | 1                         | ... and every undated one                     |

An undated question gets the last two alone, so that it has weights of its own.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.compiling import leaf
from apptek.data.times import UNKNOWN, Ints, Longs
from apptek.graph.temporal_graph import TemporalGraph

KERNELS = (
    "same", "before", "after", "close", "short", "middle", "long", "ever",
    "undated", "undated ever", "both undated",
)  # fmt: skip
SAME, BEFORE, AFTER, CLOSE, SHORT, MIDDLE, LONG, EVER = range(8)
UNDATED_FACT, UNDATED_EVER, BOTH_UNDATED = range(8, 11)
OF_UNDATED = (UNDATED_FACT, UNDATED_EVER, BOTH_UNDATED)  # idle where every fact is dated

QUANTILES = (1 / 3, 1 / 2, 3 / 4, 15 / 16)  # of the gaps within pairs: brief, short, middle, long
WITHOUT_GAPS = (1.0, 4.0, 16.0, 64.0)

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clock:
    """The time scales of a data set, in its unit."""

    brief: float
    short: float
    middle: float
    long: float

    @classmethod
    def of(cls, graph: TemporalGraph) -> "Clock":
        """Scales by the gaps between successive times of the same pair, or else of the same entity.

        On ICEWS14 they come out at 2, 6, 29 and 121 days, on YAGO15K at 1, 2, 3 and 6 years.
        """
        facts = graph.facts
        pairs = facts.subjects.astype(np.int64) * graph.entity_count + facts.objects
        for groups in (pairs, facts.subjects.astype(np.int64)):
            gaps = _gaps(groups, graph.since, graph.until)
            if len(gaps):
                return cls(*(max(1.0, float(np.quantile(gaps, q))) for q in QUANTILES))
        return cls(*WITHOUT_GAPS)

    def array(self) -> Doubles:
        """The four scales as a kernel takes them."""
        return np.asarray([self.brief, self.short, self.middle, self.long])


def _gaps(groups: Longs, since: Ints, until: Ints) -> Longs:
    """The differences above 0 between successive starts within a group, undated facts left out."""
    starts = np.where(since == UNKNOWN, until, since).astype(np.int64)
    dated = starts != UNKNOWN
    groups, starts = groups[dated], starts[dated]
    order = np.lexsort((starts, groups))
    gaps: Longs = np.diff(starts[order])[np.diff(groups[order]) == 0]
    return gaps[gaps > 0]


@leaf
def clock_values(
    since: int, until: int, when: int, scales: Doubles, values: Doubles
) -> None:  # fmt: skip
    """Fills in the kernels of a fact with these ends for a question at `when`."""
    values[:] = 0.0
    undated = since == UNKNOWN and until == UNKNOWN
    if when == UNKNOWN:
        values[UNDATED_EVER] = 1.0
        values[BOTH_UNDATED] = 1.0 if undated else 0.0
        return
    values[EVER] = 1.0
    if undated:
        values[UNDATED_FACT] = 1.0
        return
    apart = signed_distance(since, until, when)
    distance = abs(apart)
    if distance == 0:
        values[SAME] = 1.0
    else:
        values[CLOSE] = np.exp(-(distance - 1.0) / scales[0])
        values[BEFORE if apart < 0 else AFTER] = values[CLOSE]
    values[SHORT] = np.exp(-distance / scales[1])
    values[MIDDLE] = np.exp(-distance / scales[2])
    values[LONG] = np.exp(-distance / scales[3])


@leaf
def signed_distance(since: int, until: int, when: int) -> int:
    """How far a dated fact is from a moment: below 0 where it ended before, 0 inside."""
    first = until if since == UNKNOWN else since
    last = since if until == UNKNOWN else until
    if when < first:
        return int(np.int64(first) - when)
    return int(np.int64(last) - when) if when > last else 0
