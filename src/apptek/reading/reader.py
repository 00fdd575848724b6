"""Files of facts become a Dataset: read_dataset and the loop over files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apptek.arrays import give_memory_back
from apptek.errors import DataError, NoFactsError, UnfitOptionsError
from apptek.facts.benchmarks import BENCHMARKS
from apptek.facts.facts import Dataset
from apptek.reading.assembly import assemble, finish, second_reader
from apptek.reading.batches import Content, FactReader
from apptek.reading.columns import FindLayout, find_layout
from apptek.reading.fact_batch import FactBatch, batches_by_split
from apptek.reading.formats.dumps import DUMPS
from apptek.reading.formats.json_lines import open_json_lines
from apptek.reading.formats.spreadsheets import open_sheet
from apptek.reading.frames import is_frame, is_list_of_facts, read_facts, read_frame
from apptek.reading.options import OF_FACTS, ReadOptions
from apptek.reading.parquet_tables import open_parquet
from apptek.reading.sources import JSON_LINES, SHEETS, SUFFIXES, located
from apptek.reading.text_blocks import is_compressed, stem_and_suffix
from apptek.reading.text_cells import TEXT_FORMATS
from apptek.reading.text_files import open_text

Progress = Callable[[str, int, int], None]  # file, bytes read, bytes in all files
_OPENERS: dict[str, Callable[..., Content]] = {
    **dict.fromkeys(TEXT_FORMATS, open_text),
    **dict.fromkeys(JSON_LINES, open_json_lines),
    **dict.fromkeys(SHEETS, open_sheet),
    ".parquet": open_parquet,
}


def read_dataset(
    source: Any,
    *,
    progress: Progress | None = None,
    remembered: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """Reads a folder with train, valid and test, files, a benchmark by its name, or a frame.

        read_dataset("icews14")                                       a benchmark by name
        read_dataset("events.csv", columns="subject=A,predicate=E,object=B,time=Day")
        read_dataset("events.tsv.gz", splitting=Splitting(by="time"))
        read_dataset(["2020.csv", "2021.csv"])                        several files as one
        read_dataset("events/*.csv")                                  also "-", standard input
        read_dataset(frame)                                           see Dataset.from_frame
        read_dataset([("Iran", "Consult", "China", "2014-02-02"), ...])

    The options are the fields of ReadOptions; `remembered` are others, which are taken if they fit.
    A single file is split into train, valid and test, unless a column `split` says which row is
    what; and so are several files that are read as one, and a frame.
    """
    chosen = ReadOptions(**options)
    if is_frame(source) or is_list_of_facts(source):
        chosen = replace(chosen, **{n: v for n, v in (remembered or {}).items() if n in OF_FACTS})
        if is_frame(source):
            return read_frame(source, chosen.column_of(), options=chosen)
        return read_facts(source, options=chosen)
    with located(source, chosen.max_bytes) as found:
        files = [file for part in found.files.values() for file in part]
        given, chosen = chosen, _with_remembered(chosen, files[0], remembered or {})
        columns = chosen.column_of()
        _check_options(chosen, files)
        reading = _Reading(FactReader.of(chosen), columns, _Progress(progress, files))
        batches = reading.read(found.files)
        while (again := second_reader(reading.facts, batches)) is not None:
            reading = _Reading(again, columns, _Progress(progress, files))
            batches = reading.read(found.files)
    by_split, notes = None, list[str]()
    if not found.has_splits:
        by_split, notes = batches_by_split(batches, chosen)
    dataset = assemble(
        found.name, by_split or batches, reading.facts, merge_intervals=chosen.merge_intervals
    )
    give_memory_back()
    of_dump = reading.of_dump()
    report = dataset.report
    if chosen != given:
        notes.append("read like the files of the model: its --columns and other options")
    notes = [*reading.notes, *notes, *report.notes]
    report = replace(report, how=reading.how | report.how, notes=tuple(notes))
    return finish(
        replace(dataset, report=report, **of_dump),
        chosen,
        has_splits=found.has_splits or by_split is not None,
        is_benchmark=str(source) in BENCHMARKS,
    )


def as_dataset(data: Any, **options: Any) -> Dataset:
    """The data set itself, or what `read_dataset` makes of a frame, tuples or a path."""
    if isinstance(data, Dataset):
        if named := [name for name, value in options.items() if value]:
            raise DataError(f"{named[0]} has no meaning for a Dataset, which was read before")
        return data
    return read_dataset(data, **options)


def read_more(like: Dataset, source: Any, **options: Any) -> Dataset:
    """Further facts for a data set, read like its own where nothing else is said."""
    if isinstance(source, Dataset):
        return source
    return read_dataset(source, remembered=like.read_with, **like.axis.how_to_read() | options)


def _with_remembered(
    options: ReadOptions, file: Path, remembered: Mapping[str, Any]
) -> ReadOptions:
    """The options, and those of earlier files as far as they fit this one."""
    usual = ReadOptions()
    fresh = {
        name: value
        for name, value in remembered.items()
        if getattr(options, name) == getattr(usual, name)
    }
    if not fresh:
        return options
    wanted = replace(options, **fresh)
    try:
        _check_options(wanted, [file])
        open_file(file, wanted, wanted.column_of())
    except UnfitOptionsError:
        return replace(options, **{name: fresh[name] for name in OF_FACTS if name in fresh})
    return wanted


def open_file(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """The content of a file of any kind; DataError if it is of none."""
    _, suffix = stem_and_suffix(file)
    if suffix not in _OPENERS or (suffix in SHEETS and is_compressed(file)):
        known = ", ".join(SUFFIXES)
        raise DataError(f"{file}: unknown kind of file; expected {known}, also .gz, .zst and .zip")
    return _OPENERS[suffix](file, options, columns, find)


def _check_options(options: ReadOptions, files: list[Path]) -> None:
    """Refuses options that none of the files can heed."""
    suffixes = {stem_and_suffix(file)[1] for file in files}
    text, lines = suffixes & TEXT_FORMATS.keys(), suffixes & set(JSON_LINES)
    for name, heeded in (
        ("delimiter", text),
        ("encoding", text or lines),
        ("format", text),
        ("sheet", suffixes & set(SHEETS)),
    ):
        if getattr(options, name) and not heeded:
            where = files[0].name
            raise UnfitOptionsError(f"{where}: --{name} has no meaning for this kind of file")


class _Progress:
    """Reports the bytes read over all files."""

    def __init__(self, report: Progress | None, files: list[Path]) -> None:
        self._report, self._before = report, 0
        self._total = sum(file.stat().st_size for file in files if file.is_file())

    def at(self, file: Path, position: int) -> None:
        if self._report is not None:
            self._report(file.name, min(self._before + position, self._total), self._total)

    def done(self, file: Path) -> None:
        self._before += file.stat().st_size
        self.at(file, 0)


@dataclass(slots=True)
class _Reading:
    """Reads the files of one data set."""

    facts: FactReader
    columns: dict[str, str] | None
    progress: _Progress
    how: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dump: str | None = None

    def read(self, files: dict[Any, list[Path]]) -> dict[Any, list[FactBatch]]:
        """Return the facts of all files, by split.

        DataError about bad rows unless they are skipped; NoFactsError if all files of a split are
        empty. One empty file among others, such as that of a quiet day, is noted.
        """
        batches = {}
        for split, part in files.items():
            read = [list(self._read_file(file)) for file in part]
            empty = [file.name for file, facts in zip(part, read, strict=True) if not any(facts)]
            if len(empty) == len(part):
                message = "there is nothing below the header; expected facts"
                raise NoFactsError(f"{empty[0]}: {message}")
            self.notes += [f"{name} has no facts" for name in empty]
            batches[split] = [batch for facts in read for batch in facts]
        if self.facts.times.outvoted() is None:  # else all is read again, as most facts have it
            self.facts.check()
        return batches

    def _read_file(self, file: Path) -> Iterator[FactBatch]:
        """The facts of one file; DataError if all of its rows are bad."""
        facts = self.facts
        fact_count, earlier_defects = 0, facts.defect_count
        content = open_file(file, facts.options, self.columns)
        for key, value in content.how.items():  # of several files, all that occur
            known = self.how.get(key, value)
            self.how[key] = known if value in known.split(" and ") else f"{known} and {value}"
        self.dump = content.dump or self.dump
        if content.dump is not None:  # whose times are dates
            facts.times.kind = "date"
        for chunk in content.chunks:
            batch = facts.batch(file.name, chunk, content.layout)
            fact_count += len(batch)
            self.progress.at(file, chunk.position)
            yield batch
        self.notes += [note for note in content.notes if note not in self.notes]
        bad_count = facts.defect_count - earlier_defects
        if not fact_count and bad_count:
            facts.check()
            first = next((str(d) for d in facts.defects if d.file == file.name), "")
            rows = "the only row is bad"
            if bad_count > 1:
                rows = f"all {bad_count:,} rows are bad; the first"
            raise DataError(f"{file.name}: {rows}: {first}")
        if not fact_count and facts.extras.left_out:
            lacking = " or ".join(facts.extras.left_out)
            raise DataError(f"{file.name}: all rows lack {lacking}; expected facts")
        self.progress.done(file)

    def of_dump(self) -> dict[str, Any]:
        """Types of entities and classes of predicates, if the files are a dump."""
        if self.dump is None:
            return {}
        dump, extras = DUMPS[self.dump], self.facts.extras
        self.notes += extras.notes()
        return {"types": extras.types(dump), "labels": extras.predicate_table(dump)}
