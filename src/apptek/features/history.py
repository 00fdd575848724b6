"""History: what a query's two entities did, by direction and time.

Six families of facts around a query (s, ?, o, t):

| family      | facts   | meaning                           |
|-------------|---------|-----------------------------------|
| pair        | s -> o  | what s did to o                   |
| reversed    | o -> s  | what o did to s                   |
| subject_out | s -> x  | what s did to entities except o   |
| subject_in  | x -> s  | what entities except o did to s   |
| object_out  | o -> x  | what o did to entities except s   |
| object_in   | x -> o  | what entities except s did to o   |

Each family contributes the K facts that are nearest in time. The query's own fact and its
duplicates are hidden. For a predicate r' and one of the clock's kernels, z is the sum of the
kernel's values over the facts with r'. The share is z / (1 + the sum of z over all r'). The
feature's value is weight * ln(1 + 6 share). If z < 0.01, the feature is omitted.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.compiling import in_threads
from apptek.config import FAMILIES, KERNELS, MOST_HISTORY_FACTS, HistoryConfig
from apptek.facts.queries import Queries, QueryColumns
from apptek.facts.times import UNKNOWN
from apptek.features.clock import EVER, OF_UNDATED, UNDATED_EVER, Clock
from apptek.features.history_kernels import Sources, list_family, write_history
from apptek.graph.lookups import PairIndex
from apptek.graph.temporal_graph import TemporalGraph
from apptek.graph.tknn import VIEW
from apptek.ragged import Ragged

CHUNK = 1024  # queries per thread task


class HistoryFeature(NamedTuple):
    """The meaning of a column: family, predicate and kernel."""

    family: str
    predicate: int
    kernel: str


class Copies(NamedTuple):
    """The predicate of each of the first features, and the index of its shared copy weight.

    The shared weight is added to the feature's own weight for that predicate. It expresses that
    past events tend to repeat.
    """

    predicates: Ints
    groups: Ints


class ListedFacts(NamedTuple):
    """A family's facts, nearest first, with the value of each kernel for each fact."""

    facts: Ints  # (n,)
    kernels: Doubles  # (n, the history's kernels)


class History:
    """The history features of queries on a graph.

    A column is (family * predicates + predicate) * kernels + kernel. If every fact is dated, the
    kernels for undated facts and queries are omitted. By default this depends on the graph; `dated`
    overrides it for a graph with facts that were added after fitting.
    """

    name = "history"

    def __init__(
        self,
        graph: TemporalGraph,
        clock: Clock,
        config: HistoryConfig,
        dated: bool | None = None,
    ) -> None:
        self.graph, self.clock, self.config = graph, clock, config
        self.fading = clock.fading()
        if dated is None:
            dated = not bool(np.any((graph.since == UNKNOWN) & (graph.until == UNKNOWN)))
        self.dated = dated
        idle = {KERNELS[kernel] for kernel in OF_UNDATED} if dated else set()
        self.kernels = tuple(k for k in KERNELS if k in config.kernels and k not in idle)
        self.families = tuple(family for family in FAMILIES if family in config.families)
        pair_families = sum(family in ("pair", "reversed") for family in self.families)
        self._pair_columns = pair_families * graph.predicate_count * len(self.kernels)
        self._family_indices = _indices(FAMILIES, self.families)
        self._kernel_indices = _indices(KERNELS, self.kernels)
        if dated:  # an undated query still uses the kernel for facts at any time
            self._kernel_indices = self._kernel_indices.copy()
            self._kernel_indices[UNDATED_EVER] = self._kernel_indices[EVER]

    def __len__(self) -> int:
        return len(self.families) * self.graph.predicate_count * len(self.kernels)

    def feature(self, column: int) -> HistoryFeature:
        """Return the meaning of a column."""
        rest, kernel = divmod(column, len(self.kernels))
        family, predicate = divmod(rest, self.graph.predicate_count)
        return HistoryFeature(self.families[family], predicate, self.kernels[kernel])

    def copies(self) -> Copies:
        """Return each column's predicate. Columns with one family and kernel share a weight."""
        columns = np.arange(len(self), dtype=np.int32)
        width, count = len(self.kernels), self.graph.predicate_count
        family, kernel = columns // (width * count), columns % width
        return Copies(columns // width % count, family * width + kernel)

    def rows(self, queries: Queries) -> Ragged:
        """Return the features of many queries."""
        part_of = partial(self._part, queries.for_kernels(self.graph.axis))
        parts = in_threads(part_of, range(0, len(queries), CHUNK))
        counts = [np.zeros(1, np.int64), *(part[0] for part in parts)]
        offsets = np.cumsum(np.concatenate(counts))
        columns = np.concatenate([np.zeros(0, np.int32), *(part[1] for part in parts)])
        values = np.concatenate([np.zeros(0, np.float32), *(part[2] for part in parts)])
        return Ragged(offsets, columns, len(self), values)

    def on(self, graph: TemporalGraph) -> "History":
        """Return the same features, computed from another graph."""
        return History(graph, self.clock, self.config, self.dated)

    def _part(self, queries: QueryColumns, start: int) -> tuple[Longs, Ints, Floats]:
        """Return the feature counts, columns and values of CHUNK queries, starting at `start`."""
        part = tuple(column[start : start + CHUNK] for column in queries)
        config, count = self.config, len(part[0])
        # At most one feature per fact and kernel, and per predicate and kernel.
        pair_most = min(config.pair_facts, self.graph.predicate_count)
        profile_most = min(config.profile_facts, self.graph.predicate_count)
        most = count * (2 * pair_most + 4 * profile_most) * len(self.kernels)
        columns, values = np.empty(most, np.int32), np.empty(most, np.float32)
        counts = np.zeros(count, np.int64)
        arguments: Any = (
            self.sources(), part, self._family_indices, self._kernel_indices, len(self.kernels),
            self.graph.predicate_count, self.fading, counts, columns, values,
        )  # fmt: skip
        used = write_history(*arguments)
        columns, values = columns[:used], values[:used]
        np.log(values, out=values)  # all at once, which is several times faster than in the kernel
        weights = np.float32(config.pair_weight), np.float32(config.profile_weight)
        values *= np.where(columns < self._pair_columns, *weights)  # the pair families come first
        return counts, columns, values

    def sources(self, more: int = 0) -> Sources:
        """Return the inputs for the family kernels, with K increased by `more`."""
        graph, config = self.graph, self.config
        most = (
            min(k + more, MOST_HISTORY_FACTS) for k in (config.pair_facts, config.profile_facts)
        )
        view = graph.directions("both") & VIEW
        return Sources(graph.incidence, graph.columns(), PairIndex.of(graph), view, *most)

    def facts(self, queries: Queries, row: int) -> dict[str, Ints]:
        """Return the facts behind a query's features by family, nearest first."""
        return {family: listed.facts for family, listed in self.listed(queries, row).items()}

    def listed(self, queries: Queries, row: int, more: int = 0) -> dict[str, ListedFacts]:
        """Return the facts behind a query's features and `more` others, with kernel values."""
        query = tuple(int(column[row]) for column in queries.for_kernels(self.graph.axis))
        sources, found = self.sources(more), dict[str, ListedFacts]()
        for family in self.families:
            facts = np.empty(MOST_HISTORY_FACTS, np.int32)
            clocked = np.zeros((MOST_HISTORY_FACTS, len(KERNELS)))
            place = FAMILIES.index(family)
            arguments: Any = (sources, query, place, self.fading, facts, clocked)
            count = list_family(*arguments)
            kernels = np.zeros((count, len(self.kernels)))
            for kernel, column in enumerate(self._kernel_indices):
                if column >= 0:  # two kernels may share a column, but a fact has only one
                    kernels[:, column] += clocked[:count, kernel]
            found[family] = ListedFacts(facts[:count].copy(), kernels)
        return found


def _indices(names: tuple[str, ...], chosen: tuple[str, ...]) -> Ints:
    """Return the index of each name among the chosen ones, or -1 if it is not chosen."""
    return np.asarray([chosen.index(n) if n in chosen else -1 for n in names], np.int32)
