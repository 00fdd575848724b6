"""Answers to many queries as one table of Arrow, made column by column: no object per answer.

The rows and columns are those of `batch_files.answer_table`, of which this is the fast twin. Texts
are dictionaries, so that a name that stands in ten rows is written once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Bools, Ints, Longs
from apptek.evaluation.predicate_classes import LEVELS, LabelledPredicates
from apptek.facts.queries import Queries
from apptek.models.answerer import Answerer
from apptek.models.answers import Query, RankedPredicates, asked_queries, best_predicates
from apptek.models.batch_files import SCHEMA


@dataclass(frozen=True, slots=True)
class AskedColumns:
    """Queries as columns: dictionaries of the texts of subjects, objects and times."""

    subjects: pa.DictionaryArray
    objects: pa.DictionaryArray
    times: pa.DictionaryArray

    def __len__(self) -> int:
        return len(self.subjects)

    def ids(
        self, entity: Callable[[str, str, int], int | None], time: Callable[[str, str, int], int]
    ) -> Queries:
        """The queries as ids, each distinct text looked up once.

        Both functions get a text, the name of its column and its first row; None is -1.
        """
        return Queries(
            _looked_up(self.subjects, "subject", entity),
            _looked_up(self.objects, "object", entity),
            _looked_up(self.times, "time", time),
            np.full(len(self), -1, np.int32),
        )


def _looked_up(
    column: pa.DictionaryArray, name: str, look_up: Callable[[str, str, int], int | None]
) -> Ints:
    codes: Ints = column.indices.to_numpy()
    used, first_rows = np.unique(codes, return_index=True)
    ids = np.zeros(len(column.dictionary), np.int32)
    order = np.argsort(first_rows)  # so that the first row that is wrong is the one to be told
    for code, row in zip(used[order].tolist(), first_rows[order].tolist(), strict=True):
        found = look_up(column.dictionary[code].as_py(), name, row)
        ids[code] = -1 if found is None else found
    return ids[codes]


def answer_columns(
    answerer: Answerer, asked: AskedColumns, queries: Queries, *, top: int
) -> pa.Table:
    """The most probable predicates of each query, a row for each; numbered by `query` from 1."""
    ranked = answerer.ranked(queries)
    best, largest = best_predicates(ranked.probabilities, top)
    words, seen = answerer.predicates.words, answerer.seen
    count = best.shape[1]
    row_of = np.repeat(np.arange(len(queries)), count)
    flat = best.ravel()
    ahead = np.asarray([view == "past_only" for view in ranked.views])
    far = seen.far_times(queries.times)

    def of_query(column: Any) -> Any:
        return column.take(pa.array(row_of))

    def flags(values: Bools) -> pa.Array:
        return pa.array(np.repeat(values, count))

    columns: dict[str, Any] = {
        "query": row_of + 1,
        "subject": of_query(asked.subjects),
        "object": of_query(asked.objects),
        "time": of_query(asked.times),
        "rank": np.tile(np.arange(1, count + 1, dtype=np.int32), len(queries)),
        "predicate": _texts(words.names, flat),
        "probability": largest.ravel().astype(np.float64),
        "unseen_subject": flags(~seen.entities(queries.subjects, queries.times, ahead)),
        "unseen_object": flags(~seen.entities(queries.objects, queries.times, ahead)),
        "unseen_time": flags(~seen.times(queries.times)),
        "known": pa.array(seen.known(queries, ahead, best).ravel()),
        "view": _texts(["all_facts", "past_only"], np.repeat(ahead, count).astype(np.int64)),
        "meant_subject": of_query(_meant(answerer, queries.subjects)),
        "meant_object": of_query(_meant(answerer, queries.objects)),
        "label": _texts(words.labels, flat),
        "calibrated": flags(~far & answerer.model.calibrated),
        "far_time": flags(far),
    }
    columns |= _class_columns(answerer.predicates, ranked, best)
    return pa.table([columns[name] for name in SCHEMA.names], names=SCHEMA.names)


def answer_rows(answerer: Answerer, queries: Sequence[Query], before: int, *, top: int) -> pa.Table:
    """The rows of `batch_files.answer_table` for queries in words, numbered from `before` + 1."""
    axis = answerer.model.dataset.axis
    texts = zip(*((q.subject, q.object, q.time) for q in asked_queries(queries, axis)), strict=True)
    asked = AskedColumns(*(pa.array(column, pa.string()).dictionary_encode() for column in texts))
    ids = asked.ids(
        lambda name, _column, _row: answerer.entity_id(name),
        lambda time, _column, _row: axis.parse(time),
    )
    rows = answer_columns(answerer, asked, ids, top=top).cast(SCHEMA)
    numbers = pa.array(rows.column("query").to_numpy() + before)
    return rows.set_column(0, SCHEMA.field("query"), numbers)


def _texts(texts: Sequence[str | None], codes: Longs) -> pa.DictionaryArray:
    """The text of each code; equal texts are one entry of the dictionary."""
    return pa.array(texts, pa.string()).dictionary_encode().take(pa.array(codes))


def _meant(answerer: Answerer, entities: Ints) -> pa.DictionaryArray:
    """The names of entities; null below 0."""
    ids = pa.array(entities, mask=entities < 0)
    return answerer.model.dataset.entities.array.take(ids).cast(pa.string()).dictionary_encode()


def _class_columns(
    predicates: LabelledPredicates, ranked: RankedPredicates, best: Longs
) -> dict[str, Any]:
    """The class and the group of each predicate, and what their predicates add up to."""
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
