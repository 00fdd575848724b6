"""`read_dataset`, which converts sources of facts to a Dataset."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from apptek.arrays import give_memory_back
from apptek.databases import Database, find_database
from apptek.errors import DataError, NoFactsError, UnfitOptionsError
from apptek.facts.benchmarks import BENCHMARKS
from apptek.facts.facts import Dataset
from apptek.reading.assembly import assemble, finish
from apptek.reading.collector import FactCollector
from apptek.reading.options import ReadOptions
from apptek.reading.sources import (
    OBJECT_KINDS,
    Located,
    check_options,
    kind_of,
    located,
    object_kind,
    open_file,
)

Progress = Callable[[str, int, int | None], None]  # source, bytes read, total bytes if known


def read_dataset(
    source: Any,
    *,
    progress: Progress | None = None,
    remembered: Mapping[str, Any] | None = None,
    named: Mapping[str, str] | None = None,
    **options: Any,
) -> Dataset:
    """Read a folder with train, valid and test, files, a database, a benchmark, or a frame.

        read_dataset("icews14")                                       a benchmark by name
        read_dataset("events.csv", columns="subject=A,predicate=E,object=B,time=Day")
        read_dataset("events.tsv.gz", splitting=Splitting(by="time"))
        read_dataset(["2020.csv", "2021.csv"])                        several files as one
        read_dataset("events/*.csv")                                  also "-", standard input
        read_dataset("postgresql://host/db", sql="select ...")        or a table: "...db#events"
        read_dataset(frame, columns={"subject": "A", "predicate": "Event", "object": "B"})
        read_dataset([("Iran", "Consult", "China", "2014-02-02"), ...])

    The options are the fields of ReadOptions. `remembered` options apply only where they fit.
    In RDF, an IRI whose short form is an alias in `named` gets the name given there.
    Files that are not yet split, and frames, are split into train, valid and test, unless a column
    `split` specifies the split of each row.
    """
    given, known = ReadOptions(**options), remembered or {}
    if (kind := object_kind(source)) is not None:
        return _read_object(source, kind, given, known, progress)
    with located(source, given.max_bytes) as found:
        files = [file for part in found.files.values() for file in part]
        chosen = _like(given, files[0], known)
        check_options(chosen, [kind_of(file, chosen) for file in files], files[0].name)
        rows = FactCollector(chosen)
        _read_files(rows, found, progress)
    if chosen != given:
        rows.notes.append("read with the model's own --columns and other options")
    dataset, is_split = assemble(found.name, rows, has_splits=found.has_splits, named=named)
    if rows.vocabulary is not None:  # gives further files the same names
        chosen = replace(chosen, prefixes=rows.vocabulary.shown_prefixes(), format="")
    give_memory_back()
    is_benchmark = str(source) in BENCHMARKS
    return finish(dataset, chosen, has_splits=is_split, is_benchmark=is_benchmark)


def _read_object(
    source: Any, kind: str, options: ReadOptions, known: Mapping[str, Any], report: Progress | None
) -> Dataset:
    """Read a database, a frame or tuples. `kind` is a key of OBJECT_KINDS."""
    name, database = kind, find_database(source)
    if database is not None:
        source, name, options = database, database.name, _like(options, database, known)
    check_options(options, [OBJECT_KINDS[kind]], name)
    content = OBJECT_KINDS[kind].open(source, options, name)
    rows = FactCollector(options)
    rows.read(name, "train", content, lambda position: report and report(name, position, None))
    dataset, is_split = assemble(name, rows, has_splits=False)
    return finish(dataset, options, has_splits=is_split)


def _read_files(rows: FactCollector, found: Located, progress: Progress | None) -> None:
    """Read the rows of all files.

    Raise NoFactsError if all files of a split are empty. If only some are, for example for a day
    without events, they are noted.
    """
    before = 0
    total = sum(f.stat().st_size for part in found.files.values() for f in part if f.is_file())
    for split, files in found.files.items():
        empty = []
        for file in files:

            def report(position: int, file: Path = file, before: int = before) -> None:
                if progress is not None:
                    progress(file.name, min(before + position, total), total)

            content = open_file(file, rows.options)
            if not rows.read(file.name, split, content, report):
                empty.append(file.name)
            before += file.stat().st_size
            report(file.stat().st_size)
        if len(empty) == len(files):
            message = "there is nothing below the header"
            if rows.vocabulary is not None:
                message = "it contains labels but no facts"
            raise NoFactsError(f"{empty[0]}: {message}; expected facts")
        rows.notes += [f"{name} has no facts" for name in empty]


def as_dataset(data: Any, **options: Any) -> Dataset:
    """Return the data set itself, or the result of `read_dataset` for a frame, tuples or a path."""
    if isinstance(data, Dataset):
        if named := [name for name, value in options.items() if value]:
            raise DataError(f"{named[0]} has no effect on a Dataset, which was already read")
        return data
    return read_dataset(data, **options)


def read_more(like: Dataset, source: Any, **options: Any) -> Dataset:
    """Read more facts for a data set, with the same options unless others are given."""
    if isinstance(source, Dataset):
        return source
    options = like.axis.how_to_read() | options
    return read_dataset(source, remembered=like.read_with, named=like.aliases, **options)


def _like(
    options: ReadOptions, source: Path | Database, remembered: Mapping[str, Any]
) -> ReadOptions:
    """Return the options, completed with earlier sources' options that fit this one."""
    changed = options.changed()
    fresh = {name: value for name, value in remembered.items() if name not in changed}
    if not fresh:
        return options
    wanted = replace(options, **fresh)
    try:
        check_options(wanted, [kind_of(source, wanted)], source.name)
        open_file(source, wanted)
    except UnfitOptionsError:
        return options
    return wanted
