"""Builds a Dataset from rows: names in byte order, times on one axis, and each fact once."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Ints
from apptek.errors import DataError, TimeFormatError
from apptek.facts.fact_keys import fact_keys, first_occurrences, is_among
from apptek.facts.facts import (
    SPLITS,
    Dataset,
    Facts,
    Names,
    ReadReport,
    has_open_ends,
    usual_open_end,
)
from apptek.facts.name_matching import entity_counts
from apptek.facts.protocols import Splitting, split_facts
from apptek.facts.times import UNKNOWN
from apptek.reading.collector import FactCollector
from apptek.reading.columns import COLUMNS_HELP, shown_row
from apptek.reading.options import ReadOptions
from apptek.reading.parts import NAME_ROLES, unify
from apptek.reading.streams import one_line

MANY_ROWS = 20  # if none of these rows has a name from the first row, the first row is a header
FIRST = 10  # facts kept as they were read


def assemble(
    name: str, rows: FactCollector, *, has_splits: bool, named: Mapping[str, str] | None = None
) -> tuple[Dataset, bool]:
    """Build the data set. Return it, and whether the facts are split.

    named  alias -> name in a model: see Vocabulary.rename
    """
    splits = rows.settle(has_splits=has_splits)
    times, counts = rows.times, rows.count_times()
    try:
        axis, codes = times.resolve(counts)
    except TimeFormatError as error:
        raise DataError(f"{name}: {error}") from None
    known = codes[(counts > 0) & (codes != UNKNOWN)]
    is_cut = axis.unit != "integer" and len(np.unique(known)) < len(known)
    labels, aliases = None, dict[str, str]()
    if rows.vocabulary is not None:
        aliases, labels = rows.vocabulary.rename(rows.columns, named or {})
    notes = [*rows.notes, *_trim_names(rows)]
    entities, ids = _number_names(rows, ("subject", "object"), "entities")
    subjects, objects = np.split(ids, 2)
    predicates, predicate_ids = _number_names(rows, ("predicate",), "predicates")
    moments = [times.moments()[ids] for ids in (rows.since, rows.until)] if is_cut else []
    ends = [codes[ids] for ids in rows.ends.values()]
    facts = Facts(subjects, predicate_ids, objects, ends[0], ends[-1])
    notes += _check_first_rows(rows, facts, entities, predicates)
    places = _places(rows, splits)
    parts = [_as_points(facts.take(place)) for place in places]
    merged = 0
    if is_cut:
        pairs = zip(parts, places, strict=True)
        merged = sum(_count_merged(part, *(ids[place] for ids in moments)) for part, place in pairs)
    parts, counted = _each_fact_once(parts)
    entities, predicates, parts = _used_names(entities, predicates, parts)
    dataset = Dataset(
        name=name,
        entities=entities,
        predicates=predicates,
        axis=axis,
        train=parts[0],
        valid=parts[1],
        test=parts[2],
        labels=labels,
        aliases=aliases,
        report=replace(
            counted,
            defects=tuple(rows.sorted_defects()),
            defect_count=rows.kinds.total(),
            how=rows.how | times.describe(axis, rows.count_times()),
            merged=merged,
            first_facts=parts[0].first(FIRST),
            notes=(*notes, *times.notes(axis), *_broken_names(entities, predicates)),
        ),
    )
    if rows.dump is not None:
        dataset = replace(dataset, types=rows.dump_counts.usual_types())
    return dataset, has_splits or splits is not None


def _check_first_rows(
    rows: FactCollector, facts: Facts, entities: Names, predicates: Names
) -> list[str]:
    """Reject a first row of undated data if no other row has its names: it looks like a header.

    If there are only a few rows, return a note instead.
    """
    firsts = [
        (int(row), batch)
        for row, batch in zip(rows.starts(), rows.batches, strict=False)
        if batch.numbers[0] == rows.firsts[batch.file] and rows.keep[row]
    ]
    if not firsts or facts.dated[rows.keep].any():
        return []
    kept = facts.take(rows.keep)
    counts = entity_counts(kept, len(entities)), np.bincount(kept.predicates)
    notes = []
    for row, batch in firsts:
        ids = [int(column[row]) for column in facts.columns()[:3]]
        cells = [entities[ids[0]], predicates[ids[1]], entities[ids[2]]]
        most = max(counts[0][ids[0]], counts[1][ids[1]], counts[0][ids[2]])
        if most <= len(firsts) and not any(cell.strip().isdecimal() for cell in cells):
            notes.append(
                f"{rows.files[batch.file]}:{batch.numbers[0]}: the first row looks like a header: "
                f"{shown_row(cells)}; use --columns {COLUMNS_HELP}; or --read header=no if it is a "
                "fact"
            )
    if notes and len(kept) >= MANY_ROWS:
        raise DataError(notes[0])
    return notes


def _places(rows: FactCollector, splits: Ints | None) -> list[Any]:
    """Return the rows of each split in file order, as a slice or as row numbers."""
    order = rows.order()
    if splits is None:
        sizes = np.diff(rows.starts())
        codes = np.asarray([SPLITS.index(batch.split) for batch in rows.batches], np.int8)
        if order is None and rows.keep.all():  # files are read split by split
            ends = np.cumsum([0, *np.bincount(codes, sizes, len(SPLITS)).astype(np.int64)])
            return [slice(start, stop) for start, stop in pairwise(ends)]
        splits = np.repeat(codes, sizes)
    masks = (rows.keep & (splits == code) for code in range(len(SPLITS)))
    return [np.flatnonzero(mask) if order is None else order[mask[order]] for mask in masks]


def _as_points(facts: Facts) -> Facts:
    """Return the facts with a single array of times if all are points."""
    if facts.until is facts.since or not np.array_equal(facts.since, facts.until):
        return facts
    return Facts(facts.subjects, facts.predicates, facts.objects, facts.since, facts.since)


def _used_names(
    entities: Names, predicates: Names, parts: list[Facts]
) -> tuple[Names, Names, list[Facts]]:
    """Return the names that occur in good rows, and the facts with the new ids."""
    used = [np.zeros(len(names), np.bool_) for names in (entities, predicates)]
    for part in parts:
        used[0][part.subjects] = used[0][part.objects] = used[1][part.predicates] = True
    if all(mask.all() for mask in used):
        return entities, predicates, parts
    one, two = (np.cumsum(mask, dtype=np.int32) - np.int32(1) for mask in used)
    return (
        Names(entities.array.filter(pa.array(used[0]))),
        Names(predicates.array.filter(pa.array(used[1]))),
        [
            Facts(one[part.subjects], two[part.predicates], one[part.objects], *part.columns()[3:])
            for part in parts
        ],
    )


def finish(
    dataset: Dataset, options: ReadOptions, *, has_splits: bool, is_benchmark: bool = False
) -> Dataset:
    """Return the data set with the open ends and splits that the options request."""
    name = dataset.name
    if is_benchmark and options.open_end == "ongoing":
        raise DataError(f"{name} always has open ends as points, so that results stay comparable")
    if options.open_end is not None and not has_open_ends(dataset.all_facts()):
        raise DataError(f"--read open_end= has no effect on {name}: no fact has a start but no end")
    usual = "point" if is_benchmark else usual_open_end(dataset.train)
    dataset = replace(dataset, open_end=options.open_end or usual, read_with=options.to_remember())
    if not has_splits:
        return split_facts(dataset, options.splitting or Splitting())
    if options.splitting is not None:
        raise DataError(
            f"{name} has a train, valid and test split of its own: --read split= and --split-by "
            "are for a single file"
        )
    return dataset


def _count_merged(facts: Facts, since: Ints, until: Ints) -> int:
    """Count the facts that became equal only because times were truncated to the axis' unit."""
    written = Facts(facts.subjects, facts.predicates, facts.objects, since, until)
    masks = [first_occurrences(*fact_keys(part)) for part in (written, facts)]
    apart, kept = (len(facts) if mask is None else int(mask.sum()) for mask in masks)
    return apart - kept


def _trim_names(rows: FactCollector) -> list[str]:
    """Trim padded names in place and return a note.

    Columns are padded if they contain numbers or names of equal width. No two names of equal width
    become one, and only ASCII spaces are removed.
    """
    trimmed: dict[str, None] = {}
    for split, role in product(SPLITS, NAME_ROLES):
        columns = rows.columns.get(role, [])
        batches = [number for number, batch in enumerate(rows.batches) if batch.split == split]
        names = [columns[number].dictionary for number in batches]
        bare = [pc.utf8_trim(each, " ") for each in names]
        if names != bare and _are_padded(names, bare):
            trimmed[role] = None
            for number, texts in zip(batches, bare, strict=True):
                columns[number] = pa.DictionaryArray.from_arrays(columns[number].indices, texts)
    note = "padding spaces were removed from the names"
    return [f"{note}: {' and '.join(trimmed)}"] if trimmed else []


def _are_padded(names: list[pa.Array], bare: list[pa.Array]) -> bool:
    """Return whether names are numbers, or have equal width with spaces only at their ends."""
    if all(pc.all(pc.match_substring_regex(each, "^-?[0-9]+$")).as_py() for each in bare):
        return True
    widths = {width for each in names for width in pc.unique(pc.utf8_length(each)).to_pylist()}
    ends = [pc.utf8_rtrim(each, " ") for each in names]
    several = len({name for each in names for name in each[:2].to_pylist()}) > 1
    blank = any(pc.any(pc.equal(each, "")).as_py() for each in ends)
    return several and len(widths) == 1 and ends == bare and not blank


def _broken_names(*names: Names) -> list[str]:
    """Return a note on names with line breaks, which a stray quote may have caused."""
    arrays = [each.array for each in names]
    parts = [array.filter(pc.match_substring(array, "\n")).to_pylist() for array in arrays]
    broken = [name for part in parts for name in part]
    if not broken:
        return []
    first = repr(broken[0] if len(broken[0]) <= 60 else f"{broken[0][:57]}...")
    return [f"names with line breaks: {len(broken):,}, such as {first}; is a quote missing?"]


def _number_names(rows: FactCollector, roles: tuple[str, ...], what: str) -> tuple[Names, Ints]:
    """Return the names in byte order, and the ids of all rows, one role after the other."""
    try:
        columns = [column for role in roles for column in rows.columns.pop(role, [])]
        names, ids = unify(columns, ordered=True)
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        reason = one_line(error)
        raise DataError(f"the names of all {what} are too long together ({reason})") from None
    return Names(names), ids


def _each_fact_once(parts: list[Facts]) -> tuple[list[Facts], ReadReport]:
    """Return the splits without repeated facts, and the number of repeats."""
    keys = fact_keys(*parts)
    masks = [first_occurrences(part) for part in keys]
    distinct = [
        facts if mask is None else facts.take(mask)
        for facts, mask in zip(parts, masks, strict=True)
    ]
    shared = [len(np.unique(keys[0][is_among(keys[0], part)])) for part in keys[1:]]
    report = ReadReport(
        duplicates={
            split: len(facts) - len(kept)
            for split, facts, kept in zip(SPLITS, parts, distinct, strict=True)
        },
        also_in_train=dict(zip(SPLITS[1:], shared, strict=True)),
    )
    return distinct, report
