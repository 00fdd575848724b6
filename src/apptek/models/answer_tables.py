"""The answer table, which stores answers to queries by column.

Its rows become `Answer` objects, or a single Arrow table without an object per answer. The Arrow
table dictionary-encodes texts, so a name that occurs in ten rows is stored once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Bools, Longs, Matrix
from apptek.config import VIEWS, View
from apptek.errors import check_count
from apptek.evaluation.predicate_classes import LEVELS, PredicateWords
from apptek.facts.queries import Queries
from apptek.graph.lookups import known_at
from apptek.models.seen import Seen
from apptek.results import Answer, Query, Share

SCHEMA = pa.schema(
    [
        ("query", pa.int64()),
        ("subject", pa.string()),
        ("object", pa.string()),
        ("time", pa.string()),
        ("rank", pa.int32()),
        ("predicate", pa.string()),
        ("probability", pa.float64()),
        ("unseen_subject", pa.bool_()),
        ("unseen_object", pa.bool_()),
        ("unseen_time", pa.bool_()),
        ("known", pa.bool_()),
        ("view", pa.string()),
        ("meant_subject", pa.string()),
        ("meant_object", pa.string()),
        ("label", pa.string()),
        ("class", pa.string()),
        ("class_probability", pa.float64()),
        ("group", pa.string()),
        ("group_probability", pa.float64()),
        ("calibrated", pa.bool_()),
        ("far_time", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class RankedPredicates:
    """The probabilities of all predicates for each query, and which queries use past_only."""

    queries: Queries
    probabilities: Matrix  # (B, R)
    past_only: Bools  # (B,)

    @property
    def views(self) -> list[View]:
        """The view of each query."""
        return [VIEWS[number] for number in self.past_only.astype(np.int64).tolist()]


@dataclass(frozen=True)
class AnswerTable:
    """The answers to a batch of queries, by column. Each row is an `Answer`.

    top    how many of the most probable predicates to keep per query; None keeps all
    sizes  the sizes of prediction sets with this coverage, which replace `top`
    """

    ranked: RankedPredicates
    predicates: PredicateWords
    seen: Seen
    top: int | None
    calibrated: bool
    sizes: Longs | None = None  # (B,)
    coverage: float | None = None

    @cached_property
    def best(self) -> tuple[Longs, Matrix]:
        """The most probable predicates of each query and their probabilities: (B, top)."""
        top = self.top if self.sizes is None else int(self.sizes.max(initial=1))
        return best_predicates(self.ranked.probabilities, top)

    @property
    def counts(self) -> Longs:
        """The number of predicates that each query lists: (B,)."""
        best, _ = self.best
        return np.full(len(best), best.shape[1]) if self.sizes is None else self.sizes

    @cached_property
    def known(self) -> Bools:
        """Which predicates already occur with each query's subject, object and time: (B, R)."""
        return known_at(self.seen.graph, self.ranked.queries, self.ranked.past_only)

    @cached_property
    def flags(self) -> dict[str, Bools]:
        """The flags of each query, by column name: (B,)."""
        queries, past, seen = self.ranked.queries, self.ranked.past_only, self.seen
        far = seen.far_times(queries.times)
        return {
            "unseen_subject": ~seen.entities(queries.subjects, queries.times, past),
            "unseen_object": ~seen.entities(queries.objects, queries.times, past),
            "unseen_time": ~seen.times(queries.times),
            "calibrated": ~far & self.calibrated,
            "far_time": far,
        }

    def answers(self, asked: Sequence[Query]) -> list[Answer]:
        """Return the rows as `Answer` objects. `asked` contains the queries as text."""
        words, seen, probabilities = self.predicates, self.seen, self.ranked.probabilities
        order, largest = (
            [row[:count] for row, count in zip(part.tolist(), self.counts.tolist(), strict=True)]
            for part in self.best
        )
        flags = {name: column.tolist() for name, column in self.flags.items()}
        queries = self.ranked.queries
        # Not `seen.names`, because Arrow would import pandas.
        ends = [list(map(seen.name, ids.tolist())) for ids in (queries.subjects, queries.objects)]
        times, names = queries.times.tolist(), words.names
        views = self.ranked.views
        by_class, by_group = (self.predicates.shares(probabilities, level) for level in LEVELS)
        return [
            Answer(
                query=query,
                predicates=tuple(names[predicate] for predicate in order[row]),
                probabilities=tuple(largest[row]),
                known=tuple(names[predicate] for predicate in np.flatnonzero(self.known[row])),
                view=views[row],
                labels=tuple(words.labels[predicate] for predicate in order[row]),
                class_of=tuple(words.classes[predicate] for predicate in order[row]),
                group_of=tuple(words.groups[predicate] for predicate in order[row]),
                by_class=tuple(Share(*share) for share in by_class[row]),
                by_group=tuple(Share(*share) for share in by_group[row]),
                meant_subject=ends[0][row],
                meant_object=ends[1][row],
                age_note=seen.age_note(times[row]),
                coverage=self.coverage,
                **{name: column[row] for name, column in flags.items()},
            )
            for row, query in enumerate(asked)
        ]

    def arrow(self, asked: Sequence[Query]) -> pa.Table:
        """Return an Arrow table with a row per predicate of a query. `query` counts from 1."""
        (best, largest), words, count = self.best, self.predicates, len(self.ranked.queries)
        width, counts = best.shape[1], self.counts
        listed = (np.arange(width) < counts[:, None]).ravel()
        rows, flat = np.repeat(np.arange(count), counts), best.ravel()[listed]
        queries, row_of = self.ranked.queries, pa.array(rows)
        columns: dict[str, Any] = {
            "query": rows + 1,
            "subject": _texts([query.subject for query in asked], rows),
            "object": _texts([query.object for query in asked], rows),
            "time": _texts([query.time for query in asked], rows),
            "rank": np.tile(np.arange(1, width + 1, dtype=np.int32), count)[listed],
            "predicate": _texts(words.names, flat),
            "probability": largest.ravel()[listed].astype(np.float64),
            "known": pa.array(np.take_along_axis(self.known, best, 1).ravel()[listed]),
            "view": _texts(VIEWS, self.ranked.past_only[rows].astype(np.int64)),
            "meant_subject": self.seen.names(queries.subjects).dictionary_encode().take(row_of),
            "meant_object": self.seen.names(queries.objects).dictionary_encode().take(row_of),
            "label": _texts(words.labels, flat),
        }
        columns |= {name: pa.array(np.repeat(flag, counts)) for name, flag in self.flags.items()}
        of_classes = _class_columns(self.predicates, self.ranked, best)
        columns |= {name: column.filter(pa.array(listed)) for name, column in of_classes.items()}
        return pa.table([columns[name] for name in SCHEMA.names], names=SCHEMA.names)


def best_predicates(probabilities: Matrix, top: int | None) -> tuple[Longs, Matrix]:
    """Return the most probable predicates of each row and their probabilities. Ties keep id order.

    top  the number of predicates, at least 1; None returns all

    Nonnegative floats sort in the order of their bits. The lower half of each sort key contains
    the predicate, so all keys differ. Sorting these keys is many times faster than an argsort.
    """
    width = probabilities.shape[1]
    if top is not None:
        check_count("top", top)
    top = width if top is None else top
    bits = np.ascontiguousarray(probabilities, np.float32).view(np.uint32).astype(np.int64)
    keys = (bits << 32) | np.arange(width - 1, -1, -1)
    keys.sort(axis=1)
    order = width - 1 - (keys[:, : -top - 1 : -1] & 0xFFFFFFFF)
    return order, np.take_along_axis(probabilities, order, 1)


def _texts(texts: Sequence[str | None], codes: Longs) -> pa.DictionaryArray:
    """Return the text of each code. Equal texts share a dictionary entry."""
    return pa.array(texts, pa.string()).dictionary_encode().take(pa.array(codes))


def _class_columns(
    predicates: PredicateWords, ranked: RankedPredicates, best: Longs
) -> dict[str, Any]:
    """Return each predicate's class and group, and the probabilities of both."""
    columns: dict[str, Any] = {}
    for level in LEVELS:
        classes = predicates.levels.get(level)
        if classes is None:
            columns[level] = pa.nulls(best.size, pa.dictionary(pa.int32(), pa.string()))
            columns[f"{level}_probability"] = pa.nulls(best.size, pa.float64())
            continue
        codes = classes.of_predicate[best]
        none = (codes < 0).ravel()
        sums = np.take_along_axis(classes.sums(ranked.probabilities), np.maximum(codes, 0), axis=1)
        columns[level] = pa.DictionaryArray.from_arrays(
            pa.array(codes.ravel(), mask=none), pa.array(classes.names, pa.string())
        )
        columns[f"{level}_probability"] = pa.array(sums.ravel(), mask=none)
    return columns
