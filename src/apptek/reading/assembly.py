"""Batches of facts become a Dataset: names in byte order, times on one axis, each fact once."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Ints, Longs
from apptek.errors import DataError, TimeFormatError
from apptek.facts.calendar.time_dictionary import TimeDictionary
from apptek.facts.fact_keys import fact_keys, first_occurrences, is_among
from apptek.facts.facts import (
    SPLITS,
    Dataset,
    Facts,
    Names,
    ReadReport,
    Split,
    has_open_ends,
    join_facts,
    usual_open_end,
)
from apptek.facts.splitting import Splitting, split_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.reading.batches import FactReader
from apptek.reading.fact_batch import NAME_ROLES, NAME_TYPE, FactBatch, mostly_splits
from apptek.reading.options import ReadOptions
from apptek.reading.text_blocks import one_line

MOST_NAMES = 2**31 - 1
FIRST = 10  # facts that are kept as they were read
ON_GRID = 0.9  # of the times, at least, that show a grid although others lie off it


def assemble(
    name: str,
    batches: dict[Split, list[FactBatch]],
    reader: FactReader,
    *,
    merge_intervals: bool,
) -> Dataset:
    """Builds the data set; takes the names out of the batches as it numbers them."""
    try:
        axis, codes, is_cut = _resolve_times(batches, reader.times)
    except TimeFormatError as error:
        raise DataError(f"{name}: {error}") from None
    notes = _trim_names(batches)
    predicates, predicate_ids = _number_names(batches, ("predicate",), "predicates")
    entities, entity_ids = _number_names(batches, ("subject", "object"), "entities")
    facts = [
        Facts(
            entity_ids[split, "subject"],
            predicate_ids[split, "predicate"],
            entity_ids[split, "object"],
            *codes[split],
        )
        for split in SPLITS
    ]
    merged = 0
    if merge_intervals:
        facts = [merge_interval_lines(part, axis) for part in facts]
    elif is_cut:
        moments = reader.times.moments()
        parts = zip(SPLITS, facts, strict=True)
        merged = sum(
            _count_merged(part, _codes(batches[s], moments)) for s, part in parts if len(part)
        )
    (train, valid, test), counts = _each_fact_once(facts)
    return Dataset(
        name=name,
        entities=entities,
        predicates=predicates,
        axis=axis,
        train=train,
        valid=valid,
        test=test,
        report=replace(
            counts,
            defects=tuple(reader.defects),
            defect_count=reader.defect_count,
            how=_how_dated(axis, reader.times),
            merged=merged,
            first_facts=train.first(FIRST),
            notes=(
                *notes,
                *_off_grid(axis, codes),
                *_broken_names(entities, predicates),
                *_spaced_names(entities, predicates),
            ),
        ),
    )


def finish(
    dataset: Dataset, options: ReadOptions, *, has_splits: bool, is_benchmark: bool = False
) -> Dataset:
    """The data set as the options want it: its open ends, its mirrored facts, its splits."""
    name = dataset.name
    if is_benchmark and options.open_end == "ongoing":
        raise DataError(f"{name} keeps open ends as points, so that its numbers stay comparable")
    if options.open_end is not None and not has_open_ends(dataset.all_facts()):
        raise DataError(f"--read open_end= does not go with {name}: no fact has a start and no end")
    usual = "point" if is_benchmark else usual_open_end(dataset.train)
    dataset = replace(dataset, open_end=options.open_end or usual, read_with=options.to_remember())
    if options.undirected:
        dataset = each_pair_once(dataset)
    if not has_splits:
        dataset = split_facts(dataset, options.splitting or Splitting())
    elif options.splitting is not None:
        raise DataError(
            f"{name} has a train, valid and test split of its own: --read split= and --split-by "
            "are for a single file"
        )
    return with_mirrored(dataset) if options.undirected else dataset


def _count_merged(facts: Facts, moments: tuple[Ints, Ints]) -> int:
    """How many facts are like others only since their times were cut to the unit of the axis."""
    written = Facts(facts.subjects, facts.predicates, facts.objects, *moments)
    masks = [first_occurrences(*fact_keys(part)) for part in (written, facts)]
    apart, kept = (len(facts) if mask is None else int(mask.sum()) for mask in masks)
    return apart - kept


def _trim_names(batches: Mapping[Split, list[FactBatch]]) -> list[str]:
    """Trims padded names in place, where a column holds numbers or has one width; tells about it.

    No two names of one width become one, and nothing but ASCII spaces is left out.
    """
    trimmed: dict[str, None] = {}
    for part in batches.values():
        for role in NAME_ROLES:
            columns = [batch.names[role] for batch in part if len(batch)]
            names = [column.dictionary for column in columns]
            bare = [pc.utf8_trim(each, " ") for each in names]
            if names == bare or not _are_padded(names, bare):
                continue
            trimmed[role] = None
            for batch in part:
                texts = pc.utf8_trim(batch.names[role].dictionary, " ").take(
                    batch.names[role].indices
                )
                batch.names[role] = texts.dictionary_encode().cast(NAME_TYPE)
    if not trimmed:
        return []
    return [f"the spaces that pad a column were left out of the names: {' and '.join(trimmed)}"]


def _are_padded(names: list[pa.Array], bare: list[pa.Array]) -> bool:
    """Whether names are numbers, or several of one width with spaces at their ends alone."""
    if all(pc.all(pc.match_substring_regex(each, "^-?[0-9]+$")).as_py() for each in bare):
        return True
    widths = {width for each in names for width in pc.unique(pc.utf8_length(each)).to_pylist()}
    ends = [pc.utf8_rtrim(each, " ") for each in names]
    several = len({name for each in names for name in each[:2].to_pylist()}) > 1
    blank = any(pc.any(pc.equal(each, "")).as_py() for each in ends)
    return several and len(widths) == 1 and ends == bare and not blank


def _broken_names(*names: Names) -> list[str]:
    """A note on names with line breaks, which a stray quote may have made."""
    arrays = [each.array for each in names]
    parts = [array.filter(pc.match_substring(array, "\n")).to_pylist() for array in arrays]
    broken = [name for part in parts for name in part]
    if not broken:
        return []
    first = repr(broken[0] if len(broken[0]) <= 60 else f"{broken[0][:57]}...")
    return [f"names with line breaks: {len(broken):,}, such as {first}; is a quote missing?"]


def _spaced_names(*names: Names) -> list[str]:
    """A note on names that differ from others only in the spaces around them."""
    spaced = []
    for array in (each.array for each in names):
        bare = pc.utf8_trim(array, " ")
        mask = pc.and_(pc.not_equal(bare, array), pc.is_in(bare, value_set=array))
        spaced += array.filter(mask).to_pylist()
    if not spaced:
        return []
    count = f"{len(spaced):,} name{'s differ' if len(spaced) > 1 else ' differs'}"
    return [f"{count} from another only in the spaces around it, such as {spaced[0]!r}"]


def _off_grid(axis: TimeAxis, codes: Mapping[Split, tuple[Ints, Ints]]) -> list[str]:
    """A note where few integers lie off a grid that nearly all others share (0, 24, 48, 49)."""
    times = np.unique(np.concatenate([part for pair in codes.values() for part in pair]))
    times = times[times != UNKNOWN].astype(np.int64)
    if axis.unit != "integer" or len(times) < FIRST:
        return []
    step = int(np.median(np.diff(times)))
    residues, counts = np.unique(times % step, return_counts=True)
    grid = residues[counts.argmax()]
    off = times[times % step != grid]
    if axis.stride >= step or counts.max() < ON_GRID * len(times):
        return []
    share = f"{counts.max():,} of {len(times):,} times"
    return [
        f"{share} lie {step:,} steps apart, but {off[0]} does not, so the step is {axis.stride}"
    ]


def _how_dated(axis: TimeAxis, times: TimeDictionary) -> dict[str, str]:
    """The unit of times, and how they are written."""
    dated = any(written is not None for written in times.written)
    return {
        "granularity": axis.unit,
        "date_format": times.date_pattern() if dated else "none",
        "time_of_day": "yes" if times.zoned is not None else "no",
    }


def second_reader(
    reader: FactReader, batches: Mapping[Split, list[FactBatch]]
) -> FactReader | None:
    """A reader that knows what only all rows together say, if the files must be read again.

    Where nearly all rows of a column say train, valid or test, the others are bad rows.
    """
    again = _reader_of_dates(reader, batches)
    if again is None and not reader.strict_splits and reader.options.splitting is None:
        if len(batches) > 1 or not mostly_splits(batches):
            return None
        again, times = FactReader.of(reader.options), reader.times
        again.times.state, again.times.voted = times.state, times.voted
        again.times.precision, again.strict_splits = times.precision, True
    elif again is not None:
        again.strict_splits = reader.strict_splits
    return again


def _reader_of_dates(
    reader: FactReader, batches: Mapping[Split, list[FactBatch]]
) -> FactReader | None:
    """A reader that knows what only all dates together say, if the files must be read again.

    Intervals may have been compared before a date said whether the day or the month comes first;
    where years stand beside days, the rarer of both are bad rows; and where the first dates have
    another order than most, or another kind of time of day, they are the bad ones; and so are
    numbers that are no days where nearly all others are.
    """
    times = reader.times
    votes = times.outvoted()
    if votes is not None:
        again = FactReader.of(reader.options)
        again.times.state = votes
        again.times.voted = True
        return again
    if times.unsettled and times.order:
        return FactReader.of(replace(reader.options, date_format=times.order))
    precision = times.commonest_precision(count_times(batches, times))
    if precision is None:
        return None
    again = FactReader.of(reader.options)
    again.times.precision = precision
    return again


def _resolve_times(
    batches: dict[Split, list[FactBatch]], times: TimeDictionary
) -> tuple[TimeAxis, dict[Split, tuple[Ints, Ints]], bool]:
    """The axis, the codes of since and until in every split, and whether codes hide differences."""
    axis, codes = times.resolve(count_times(batches, times))
    known = codes[codes != UNKNOWN]
    is_cut = axis.unit != "integer" and len(np.unique(known)) < len(known)
    return axis, {split: _codes(batches.get(split, []), codes) for split in SPLITS}, is_cut


def count_times(batches: Mapping[Split, list[FactBatch]], times: TimeDictionary) -> list[int]:
    """The facts of each time; a point counts once."""
    counts = np.zeros(len(times.written), np.int64)
    for batch in (batch for part in batches.values() for batch in part):
        counts += np.bincount(batch.since, minlength=len(counts))
        if batch.until is not batch.since:
            ends = batch.until[batch.until != batch.since]
            counts += np.bincount(ends, minlength=len(counts))
    found: list[int] = counts.tolist()
    return found


def _codes(batches: list[FactBatch], codes: Ints) -> tuple[Ints, Ints]:
    nothing = np.empty(0, np.int32)
    since = np.concatenate([nothing, *(codes[batch.since] for batch in batches)])
    if all(batch.until is batch.since for batch in batches):
        return since, since
    until = np.concatenate([nothing, *(codes[batch.until] for batch in batches)])
    return since, since if np.array_equal(since, until) else until


def _number_names(
    batches: dict[Split, list[FactBatch]], roles: tuple[str, ...], what: str
) -> tuple[Names, dict[tuple[Split, str], Ints]]:
    """Names in byte order, and the ids of these roles in every split.

    Only the dictionaries of the batches are unified; the rows are mapped once, to their final ids.
    """
    keys = [(split, role) for split in SPLITS for role in roles]
    columns = [batch.names[role] for split, role in keys for batch in batches.get(split, [])]
    names, ids_of_entries = _unify([column.dictionary for column in columns], what)
    numbered, remaining = {}, iter(ids_of_entries)
    del columns  # so that each pop below frees a column
    for split, role in keys:
        part = batches.get(split, [])
        ids, start = np.empty(sum(len(batch) for batch in part), np.int32), 0
        for batch in part:
            rows = batch.names.pop(role).indices.to_numpy()
            np.take(next(remaining), rows, out=ids[start : start + len(batch)])
            start += len(batch)
        numbered[split, role] = ids
    return names, numbered


def _unify(dictionaries: list[pa.Array], what: str) -> tuple[Names, list[Ints]]:
    """All names in byte order, and for each dictionary the ids of its entries."""
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(np.arange(len(part), dtype=np.int32)), part)
        for part in dictionaries
    ]
    try:
        unified = pa.chunked_array(columns).unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        reason = one_line(error)
        raise DataError(f"the names of all {what} do not fit together ({reason})") from None
    names = unified.chunk(0).dictionary
    if len(names) > MOST_NAMES:
        raise DataError(f"found {len(names)} {what}, expected at most {MOST_NAMES}")
    order = pc.array_sort_indices(names)  # Arrow compares strings by their bytes
    ranks = np.empty(len(names), np.int32)
    ranks[order.to_numpy()] = np.arange(len(names), dtype=np.int32)
    return Names(names.take(order)), [ranks[part.indices.to_numpy()] for part in unified.chunks]


def merge_interval_lines(facts: Facts, axis: TimeAxis) -> Facts:
    """Merges an occursSince line and the occursUntil line of the same triple right after it.

    Not where the fact would end before it starts. Where nothing is merged, the facts as they are.
    """
    starts = (facts.since != UNKNOWN) & (facts.until == UNKNOWN)
    ends = (facts.since == UNKNOWN) & (facts.until != UNKNOWN)
    pair = starts[:-1] & ends[1:]
    for column in (facts.subjects, facts.predicates, facts.objects):
        pair &= column[:-1] == column[1:]
    pair &= facts.since[:-1] <= axis.last_moments(facts.until[1:])
    if not pair.any():
        return facts
    until = facts.until.copy()
    until[:-1][pair] = facts.until[1:][pair]
    # A line cannot be both: the first of a pair has only a start, the second only an end.
    keep = np.ones(len(facts), np.bool_)
    keep[1:] = ~pair
    merged = Facts(facts.subjects, facts.predicates, facts.objects, facts.since, until)
    return merged.take(keep)


def _each_fact_once(parts: list[Facts]) -> tuple[list[Facts], ReadReport]:
    """The splits without repeated facts, and how many there were."""
    keys = fact_keys(*parts)
    masks = [first_occurrences(part) for part in keys]
    distinct = [
        facts if mask is None else facts.take(mask)
        for facts, mask in zip(parts, masks, strict=True)
    ]
    shared = [_count_shared(part, keys[0]) for part in keys[1:]]
    report = ReadReport(
        duplicates={
            split: len(facts) - len(kept)
            for split, facts, kept in zip(SPLITS, parts, distinct, strict=True)
        },
        also_in_train=dict(zip(SPLITS[1:], shared, strict=True)),
    )
    return distinct, report


def _count_shared(keys: Longs, train: Longs) -> int:
    """How many distinct facts of a split are also in train."""
    return len(np.unique(train[is_among(train, keys)])) if len(keys) else 0


def each_pair_once(dataset: Dataset) -> Dataset:
    """Without the facts whose mirror, the same with subject and object exchanged, came before.

    Before a split: else a fact could be in train and its mirror in test.
    """
    parts = []
    for split in SPLITS:
        facts = dataset.split(split)
        ends = (facts.subjects, facts.objects)
        low, high = np.minimum(*ends), np.maximum(*ends)
        (keys,) = fact_keys(Facts(low, facts.predicates, high, facts.since, facts.until))
        mask = first_occurrences(keys)
        parts.append(facts if mask is None else facts.take(mask))
    return replace(dataset, train=parts[0], valid=parts[1], test=parts[2])


def with_mirrored(dataset: Dataset) -> Dataset:
    """Each split with the mirrors of its facts after them."""
    train, valid, test = (_mirrored(dataset.split(split)) for split in SPLITS)
    return replace(dataset, train=train, valid=valid, test=test)


def _mirrored(facts: Facts) -> Facts:
    pairs = facts.take(facts.subjects != facts.objects)
    mirror = Facts(pairs.objects, pairs.predicates, pairs.subjects, pairs.since, pairs.until)
    return join_facts(facts, mirror)
