"""Pieces of files become a Dataset: names in byte order, times on one axis, each fact once."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Ints, Longs
from apptek.data.fact_keys import among, fact_keys, first_places, merge_interval_lines
from apptek.data.facts import SPLITS, Dataset, Defect, Facts, Names, ReadReport, Split
from apptek.data.reading.arrow_rows import Piece
from apptek.data.reading.text_blocks import one_line
from apptek.data.times import TimeAxis, TimeBook
from apptek.errors import DataError

MOST_NAMES = 2**31 - 1


def assemble(
    name: str,
    pieces: dict[Split, list[Piece]],
    book: TimeBook,
    *,
    merge_intervals: bool,
    defects: tuple[Defect, ...],
    defect_count: int,
) -> Dataset:
    """The data set of these pieces, whose names are taken out of them as they are numbered."""
    axis, times = _resolve_times(pieces, book)
    predicates, predicate_ids = _number(pieces, ("predicate",), "predicates")
    entities, entity_ids = _number(pieces, ("subject", "object"), "entities")
    facts = [
        Facts(
            entity_ids[split, "subject"],
            predicate_ids[split, "predicate"],
            entity_ids[split, "object"],
            *times[split],
        )
        for split in SPLITS
    ]
    if merge_intervals:
        facts = [merge_interval_lines(part, axis) for part in facts]
    (train, valid, test), counts = _each_fact_once(facts)
    return Dataset(
        name=name,
        entities=entities,
        predicates=predicates,
        axis=axis,
        train=train,
        valid=valid,
        test=test,
        report=replace(counts, defects=defects, defect_count=defect_count),
    )


def _resolve_times(
    pieces: dict[Split, list[Piece]], book: TimeBook
) -> tuple[TimeAxis, dict[Split, tuple[Ints, Ints]]]:
    """The axis, and the codes of since and until in every split."""
    counts = np.zeros(len(book.written), np.int64)
    for piece in (piece for part in pieces.values() for piece in part):
        counts += np.bincount(piece.since, minlength=len(counts))
        if piece.until is not piece.since:  # a point counts once, whatever stands around it
            ends = piece.until[piece.until != piece.since]
            counts += np.bincount(ends, minlength=len(counts))
    axis, codes = book.resolve(counts.tolist())
    return axis, {split: _codes(pieces.get(split, []), codes) for split in SPLITS}


def _codes(pieces: list[Piece], codes: Ints) -> tuple[Ints, Ints]:
    nothing = np.empty(0, np.int32)
    since = np.concatenate([nothing, *(codes[piece.since] for piece in pieces)])
    if all(piece.until is piece.since for piece in pieces):
        return since, since
    until = np.concatenate([nothing, *(codes[piece.until] for piece in pieces)])
    return since, since if np.array_equal(since, until) else until


def _number(
    pieces: dict[Split, list[Piece]], roles: tuple[str, ...], what: str
) -> tuple[Names, dict[tuple[Split, str], Ints]]:
    """Names in byte order, and the ids of these roles in every split.

    Only the dictionaries of the pieces are unified; the rows are mapped once, to their final ids.
    """
    keys = [(split, role) for split in SPLITS for role in roles]
    parts = [piece.names[role] for split, role in keys for piece in pieces.get(split, [])]
    names, ranks = _unify([part.dictionary for part in parts], what)
    numbered, rank = {}, iter(ranks)
    del parts
    for split, role in keys:
        chosen = pieces.get(split, [])
        ids, start = np.empty(sum(len(piece) for piece in chosen), np.int32), 0
        for piece in chosen:
            column = piece.names.pop(role)
            np.take(next(rank), column.indices.to_numpy(), out=ids[start : start + len(piece)])
            start += len(piece)
        numbered[split, role] = ids
    return names, numbered


def _unify(dictionaries: list[pa.Array], what: str) -> tuple[Names, list[Ints]]:
    """All names in byte order, and for each dictionary the ids of its entries."""
    whole = [
        pa.DictionaryArray.from_arrays(pa.array(np.arange(len(part), dtype=np.int32)), part)
        for part in dictionaries
    ]
    try:
        together = pa.chunked_array(whole).unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        reason = one_line(error)
        raise DataError(f"the names of all {what} do not fit together ({reason})") from None
    names = together.chunk(0).dictionary
    if len(names) > MOST_NAMES:
        raise DataError(f"found {len(names)} {what}, expected at most {MOST_NAMES}")
    order = pc.array_sort_indices(names)
    ranks = np.empty(len(names), np.int32)
    ranks[order.to_numpy()] = np.arange(len(names), dtype=np.int32)
    return Names(names.take(order)), [ranks[part.indices.to_numpy()] for part in together.chunks]


def _each_fact_once(parts: list[Facts]) -> tuple[list[Facts], ReadReport]:
    """The splits without repeated facts, and how many there were."""
    keys = fact_keys(*parts)
    firsts = [first_places(part) for part in keys]
    once = [
        facts if keep is None else facts.take(keep)
        for facts, keep in zip(parts, firsts, strict=True)
    ]
    shared = [_shared(part, keys[0]) for part in keys[1:]]
    report = ReadReport(
        duplicates={
            split: len(facts) - len(kept)
            for split, facts, kept in zip(SPLITS, parts, once, strict=True)
        },
        also_in_train=dict(zip(SPLITS[1:], shared, strict=True)),
    )
    return once, report


def _shared(own: Longs, train: Longs) -> int:
    """How many distinct facts of a split are also in train."""
    return len(np.unique(train[among(train, own)])) if len(own) else 0
