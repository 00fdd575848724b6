"""Rows of all files of a data set become ids; what is wrong with a row is reported.

What one row can tell is checked as it comes. What only all rows together tell, how times are
written and whether a column says train, valid or test, is decided at the end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from apptek.arrays import Bools, Ints, Longs
from apptek.errors import DataError
from apptek.facts.facts import SPLITS, Defect, Split
from apptek.facts.written_times import DATE, DMY, EITHER, MDY
from apptek.reading.columns import SPLIT
from apptek.reading.dumps import ExtraCounts
from apptek.reading.options import ReadOptions
from apptek.reading.parts import NAME_ROLES, Content, Part, good_rows, shown, texts_of
from apptek.reading.sources import SPLIT_NAMES
from apptek.reading.time_votes import TimeVotes

MAX_DEFECTS_KEPT = 1000
MAX_DEFECTS_COUNTED = 10_000  # without skip_bad: then it is a wrong file rather than a bad row
FEW_OTHERS = 0.1  # of the rows say no split, or have another order of day and month: they are bad


@dataclass(frozen=True, slots=True)
class Batch:
    """Some good rows of a file; since and until are one column where all rows are points."""

    file: int
    split: Split
    part: Part
    names: dict[str, pa.DictionaryArray]
    since: pa.DictionaryArray | None
    until: pa.DictionaryArray | None
    first: int | None  # see Content


@dataclass(slots=True)
class FactCollector:
    """The rows of a data set, and the bad ones among them.

    keep  which rows are facts, once `settle` was called
    """

    options: ReadOptions
    batches: list[Batch] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    defects: list[tuple[int, Defect]] = field(default_factory=list)  # by file
    # How many rows are bad, and the first of them (file and row), by kind.
    kinds: dict[str, tuple[int, tuple[int, int]]] = field(default_factory=dict)
    how: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    extras: ExtraCounts = field(default_factory=ExtraCounts)
    dump: str | None = None
    keep: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))

    def read(
        self, name: str, split: Split, content: Content, progress: Callable[[int], None]
    ) -> bool:
        """Read all rows of a file; return whether it has any."""
        file, row_count = len(self.files), 0
        self.files.append(name)
        for key, value in content.how.items():  # of several files, all that occur
            known = self.how.get(key, value)
            self.how[key] = known if value in known.split(" and ") else f"{known} and {value}"
        left_out = sum(self.extras.left_out.values())
        for part in content.parts:
            row_count += part.table.num_rows + len(part.defects)
            if content.dump is not None:
                self.dump = content.dump
                part = self.extras.keep(part)  # noqa: PLW2901
            part = good_rows(part, name, content.names)  # noqa: PLW2901
            if content.dump is not None:
                self.extras.count(part)
            for defect in part.defects:
                self._report(file, replace(defect, first=defect.line == content.first))
            if part.table.num_rows:
                self.batches.append(_batch_of(part, file, split, content.first))
            progress(part.position)
        self.notes += [note for note in content.notes if note not in self.notes]
        if row_count and row_count == sum(self.extras.left_out.values()) - left_out:
            lacking = " or ".join(self.extras.left_out)
            raise DataError(f"{name}: all rows lack {lacking}; expected facts")
        return row_count > 0

    def _report(self, file: int, defect: Defect, kind: str = "") -> None:
        """Note a bad row; stop after MAX_DEFECTS_COUNTED unless they are skipped."""
        role = defect.column.partition("(")[2].rstrip(")")
        kind = kind or f"bad {role or 'row'}"
        place = (file, defect.line)
        count, first = self.kinds.get(kind, (0, place))
        self.kinds[kind] = (count + 1, min(first, place))
        if count < MAX_DEFECTS_KEPT:
            self.defects.append((file, defect))
        if not self.options.skip_bad and self.defect_count >= MAX_DEFECTS_COUNTED:
            more = self.defect_count - 1
            raise DataError(f"{self.sorted_defects()[0]} (and {more:,} more bad rows)")

    @property
    def defect_count(self) -> int:
        """How many rows are bad."""
        return sum(count for count, _ in self.kinds.values())

    def sorted_defects(self) -> list[Defect]:
        """Return the first bad rows, in the order of files and rows."""
        ordered = sorted(self.defects, key=lambda pair: (pair[0], pair[1].line))
        return [defect for _, defect in ordered[:MAX_DEFECTS_KEPT]]

    def settle(self, *, has_splits: bool) -> tuple[TimeVotes, Ints, Ints, Ints | None]:
        """Decide what all rows together say.

        Return the times, the ids of since and until among them, and the splits that a column says.
        DataError about bad rows unless they are skipped.
        """
        self.keep = np.ones(sum(len(batch.part.numbers) for batch in self.batches), np.bool_)
        texts, since, until = self._times()
        options = self.options
        kind = EITHER if self.dump is None else DATE
        times = TimeVotes(texts, options.granularity, options.date_format, kind)
        self._check_times(times, since, until)  # bad rows have no vote
        self._check_intervals(times, since, until, settled=False)
        counts = self.count_times(times, since, until)
        times.vote(counts, lambda: self._first_rows(times, since, until))
        for ids in (since,) if until is since else (since, until):
            self._check_order(times, ids)
        self._check_times(times, since, until)
        self._check_intervals(times, since, until, settled=True)
        splits = self._splits(has_splits=has_splits)
        self.check()
        times.vote_precision(self.count_times(times, since, until))
        self._check_times(times, since, until)
        self.check()
        self._check_files()
        return times, since, until, splits

    def _times(self) -> tuple[pa.Array, Ints, Ints]:
        """Return the distinct texts of times, and the ids of since and until by row."""
        columns = [column for batch in self.batches for column in (batch.since, batch.until)]
        texts, ids = unify([column for column in columns if column is not None])
        by_column = {id(column): numbers for column, numbers in ids}
        since, until = (
            [
                by_column[id(column)][column.indices.to_numpy()]
                if (column := getattr(batch, end)) is not None
                else np.zeros(len(batch.part.numbers), np.int32)
                for batch in self.batches
            ]
            for end in ("since", "until")
        )
        points = all(batch.since is batch.until for batch in self.batches)
        nothing = np.zeros(0, np.int32)
        starts = np.concatenate([nothing, *since])
        return texts, starts, starts if points else np.concatenate([nothing, *until])

    def count_times(self, times: TimeVotes, since: Ints, until: Ints) -> Longs:
        """Return the facts of each time; a point counts once."""
        every = bool(self.keep.all())
        counts = np.bincount(since if every else since[self.keep], minlength=len(times.texts))
        if until is not since:
            ends = until[self.keep & (until != since)]
            counts = counts + np.bincount(ends, minlength=len(times.texts))
        return counts

    def _first_rows(self, times: TimeVotes, since: Ints, until: Ints) -> Longs:
        """Return the first row of each text of a time, in the order of the files."""
        order = self.order()
        firsts = np.full(len(times.texts), len(since), np.int64)
        for ids in (since, until):
            distinct, rows = np.unique(ids if order is None else ids[order], return_index=True)
            firsts[distinct] = np.minimum(firsts[distinct], rows)
        return firsts

    def _check_times(self, times: TimeVotes, since: Ints, until: Ints) -> None:
        """Report the rows whose times are none, or others than most."""
        bad = ~times.good
        if not bad.any():
            return
        for end, ids in (("since", since), ("until", until)):
            if end == "until" and until is since:
                break
            for row in np.flatnonzero(self.keep & bad[ids]).tolist():
                expected = times.expected[int(ids[row])]
                other = "granularity=mixed" in expected
                found = shown(times.texts[int(ids[row])].as_py())
                self._drop(row, end, found, expected, kind="of another precision" * other)

    def _check_order(self, times: TimeVotes, ids: Ints) -> None:
        """Raise DataError where more than a few dates of a file have another order than the others.

        Also if bad rows are skipped: dates such as 02/03/2024 of that file would be misread.
        """
        if not times.order:
            return
        orders = np.where(self.keep, times.written["order"][ids], 0)
        others = orders == (MDY if times.order == "dmy" else DMY)
        files = self._files_of_rows()
        known = np.bincount(files[(orders == DMY) | (orders == MDY)], minlength=len(self.files))
        many = np.bincount(files[others], minlength=len(self.files)) > FEW_OTHERS * known
        rows = np.flatnonzero(others & many[files])
        if len(rows):
            (batch, place), time = self.locate(int(rows[0])), int(ids[rows[0]])
            pattern = "%m/%d/%Y" if times.order == "dmy" else "%d/%m/%Y"
            raise DataError(
                f"{self.files[batch.file]}:{batch.part.numbers[place]}: found "
                f"{shown(times.texts[time].as_py())}, expected {times.expected[time]}; if this "
                "file has another order, read it alone with "
                f"--date-format {pattern} or the like, or write its dates as 2014-05-13"
            )

    def _check_intervals(
        self, times: TimeVotes, since: Ints, until: Ints, *, settled: bool
    ) -> None:
        """Report intervals that end before they start; before the vote, those of one kind."""
        if until is since:
            return
        rows = np.flatnonzero(self.keep & (since != until))
        lows, highs = times.bounds()
        inverted = lows[since[rows]] > highs[until[rows]]
        if not settled:
            kinds = times.written["kind"]
            inverted &= kinds[since[rows]] == kinds[until[rows]]
        for row in rows[inverted].tolist():
            ends = [times.texts[int(ids[row])].as_py() for ids in (since, until)]
            batch, place = self.locate(row)
            names = (batch.names[role][place].as_py() for role in NAME_ROLES)
            self._drop(
                row,
                "until",
                f"since {ends[0]} after until {ends[1]}",
                "since not after until",
                kind="since after until",
                fact=(*names, *ends),
            )

    def _drop(
        self,
        row: int,
        role: str,
        found: str,
        expected: str,
        *,
        kind: str = "",
        fact: tuple[str, ...] = (),
    ) -> None:
        """Report a row, which is no fact then."""
        batch, place = self.locate(row)
        line = int(batch.part.numbers[place])
        defect = Defect(
            file=self.files[batch.file],
            line=line,
            column=batch.part.labels.get(role) or batch.part.labels["time"],
            found=found,
            expected=expected,
            fact=fact,
            first=line == batch.first,
        )
        self.keep[row] = False
        self._report(batch.file, defect, kind)

    def locate(self, row: int) -> tuple[Batch, int]:
        """Return the batch of a row, and its place there."""
        ends = np.cumsum([len(batch.part.numbers) for batch in self.batches])
        number = int(np.searchsorted(ends, row, side="right"))
        return self.batches[number], row - int(ends[number - 1] if number else 0)

    def order(self) -> Longs | None:
        """Return the rows in the order of their files, where batches are not."""
        pairs = pairwise(self.batches)
        if all(a.file < b.file or a.part.numbers[-1] < b.part.numbers[0] for a, b in pairs):
            return None
        numbers = np.concatenate([np.asarray(batch.part.numbers) for batch in self.batches])
        return np.lexsort((numbers, self._files_of_rows()))

    def _files_of_rows(self) -> Longs:
        sizes = [len(batch.part.numbers) for batch in self.batches]
        return np.repeat(np.asarray([batch.file for batch in self.batches], np.int64), sizes)

    def _splits(self, *, has_splits: bool) -> Ints | None:
        """Return the split of each row by what a column says; None where none is to be used.

        If the options split the facts otherwise, a column that only happens to be there is not
        looked at. Where it was named, or nearly all rows say a split, the others are bad.
        """
        named = SPLIT in (self.options.column_of() or {})
        columns = [batch.part.table for batch in self.batches]
        if not columns or any(SPLIT not in table.column_names for table in columns):
            return None
        if not named and (self.options.splitting is not None or has_splits):
            return None
        codes, texts = [], []
        for table in columns:
            column = texts_of(table.column(SPLIT))
            found = np.asarray([_split_code(t) for t in column.dictionary.to_pylist()], np.int8)
            codes.append(found[column.indices.to_numpy()])
            texts.append(column)
        splits = np.concatenate(codes)
        others = self.keep & (splits < 0)
        count, total = int(others.sum()), int(self.keep.sum())
        if count and (named or count <= FEW_OTHERS * total):
            for row in np.flatnonzero(others).tolist():
                batch, place = self.locate(row)
                text = texts_of(batch.part.table.column(SPLIT))[place].as_py()
                self._drop(row, SPLIT, shown(text), "train, valid or test")
        elif count:
            rows = f"{count:,} of {total:,} rows"
            note = f"the column split is not used: {rows} do not say train, valid or test"
            self.notes.append(note)
            return None
        if not (splits[self.keep] == 0).any():
            self.notes.append("the column split is not used: it has no train")
            return None
        return splits

    def check(self) -> None:
        """Raise DataError about the first bad row, unless bad rows are to be skipped."""
        if not self.defect_count or self.options.skip_bad:
            return
        fact_count, first = int(self.keep.sum()), self.sorted_defects()[0]
        total = fact_count + self.defect_count
        rows = f"{total:,} row{'s' if total != 1 else ''}"
        if not fact_count:
            raise DataError(f"{first} (all of {rows} are bad)")
        kinds = sorted(self.kinds, key=lambda kind: self.kinds[kind][1])
        more = f": {', '.join(f'{self.kinds[kind][0]:,} {kind}' for kind in kinds)}"
        advice = f"--skip-bad would leave {fact_count:,}"
        if self.defect_count == 1 and first.first:
            advice = "if it is a header, say --columns or --read header=yes"
        raise DataError(
            f"{first} ({self.defect_count:,} bad of {rows}"
            f"{more if self.defect_count > 1 else ''}; {advice})"
        )

    def _check_files(self) -> None:
        """Raise DataError where all rows of a file are bad, also if bad rows are skipped."""
        if not self.defects:
            return
        good = np.bincount(self._files_of_rows()[self.keep], minlength=len(self.files))
        for file, name in enumerate(self.files):
            bad = [defect for number, defect in self.defects if number == file]
            if bad and not good[file]:
                first = min(bad, key=lambda defect: defect.line)
                rows = "the only row is bad"
                if len(bad) > 1:
                    rows = f"all {len(bad):,} rows are bad; the first"
                raise DataError(f"{name}: {rows}: {first}")


def _batch_of(part: Part, file: int, split: Split, first: int | None) -> Batch:
    columns = {role: texts_of(part.table.column(role)) for role in part.table.column_names}
    point = columns.get("time")
    since, until = columns.get("since", point), columns.get("until", point)
    if since is not None and until is not None and since.equals(until):
        until = since
    names = {role: columns[role] for role in NAME_ROLES}
    kept = part.table.select([SPLIT] if SPLIT in columns else [])
    return Batch(file, split, replace(part, table=kept, defects=()), names, since, until, first)


def unify(
    columns: list[pa.DictionaryArray],
) -> tuple[pa.Array, Iterator[tuple[pa.DictionaryArray, Ints]]]:
    """Return all distinct texts, an empty one first, and of each column the ids of its entries."""
    texts = pa.concat_arrays([pa.array([""]), *(column.dictionary for column in columns)])
    unified = texts.dictionary_encode()
    ids = unified.indices.to_numpy()
    ends = np.cumsum([1, *(len(column.dictionary) for column in columns)])
    parts = (ids[start:stop] for start, stop in pairwise(ends))
    return unified.dictionary, zip(columns, parts, strict=True)


def _split_code(text: str) -> int:
    """Return the number of the split that a word means; below 0 for other words."""
    word = text.strip().lower()
    return next((n for n, split in enumerate(SPLITS) if word in SPLIT_NAMES[split]), -1)
