"""Rows from all files of a data set become ids, and errors in rows are reported.

Errors that a single row shows are found as it is read. The format of times, and whether a column
contains splits, depend on all rows and are decided at the end.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa

from apptek.arrays import Bools, Ints, Longs
from apptek.errors import DataError
from apptek.facts.facts import SPLITS, Defect, Split
from apptek.facts.written_times import DATE, DMY, EITHER, MDY
from apptek.reading.columns import SPLIT
from apptek.reading.dumps import DumpCounts
from apptek.reading.options import ReadOptions
from apptek.reading.parts import NAME_ROLES, Content, Part, good_rows, shown, texts_of, unify
from apptek.reading.rdf_names import Vocabulary
from apptek.reading.sources import SPLIT_NAMES
from apptek.reading.time_votes import TimeVotes
from apptek.safe_text import counted

MAX_DEFECTS_KEPT = 1000
MAX_DEFECTS_COUNTED = 10_000  # without skip_bad; more suggest a wrong file rather than bad rows
_SPLIT_CODES = {word: SPLITS.index(split) for split in SPLITS for word in SPLIT_NAMES[split]}
FEW_OTHERS = 0.1  # proportion of rows without a split, or in another date order, that counts as bad


@dataclass(frozen=True, slots=True)
class Batch:
    """Some good rows of a file: their row numbers, and their columns as named in messages."""

    file: int
    split: Split
    numbers: range | Longs
    labels: Mapping[str, str]


@dataclass(slots=True)
class FactCollector:
    """The rows of a data set, and the bad rows among them.

    columns              by role, the texts of each batch; for points, since and until share one
    times, since, until  the distinct times, and their ids by row, once `settle` was called
    keep                 which rows are facts
    firsts               by file, the number of its first row if that may be a header: see Content
    """

    options: ReadOptions
    batches: list[Batch] = field(default_factory=list)
    columns: dict[str, list[pa.DictionaryArray]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    firsts: list[int | None] = field(default_factory=list)
    defects: list[tuple[int, Defect]] = field(default_factory=list)  # by file
    kinds: Counter[str] = field(default_factory=Counter)  # the number of bad rows, by kind
    how: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dump_counts: DumpCounts = field(default_factory=DumpCounts)
    dump: str | None = None
    vocabulary: Vocabulary | None = None
    times: TimeVotes = field(init=False)
    since: Ints = field(init=False)
    until: Ints = field(init=False)
    keep: Bools = field(init=False)

    def read(
        self, name: str, split: Split, content: Content, progress: Callable[[int], None]
    ) -> bool:
        """Read all rows of a file. Return whether there are any."""
        file, row_count = len(self.files), 0
        self.files.append(name)
        self.firsts.append(content.first)
        for key, value in content.how.items():  # for several files, all values that occur
            known = self.how.get(key, value)
            self.how[key] = known if value in known.split(" and ") else f"{known} and {value}"
        left_out = self.dump_counts.left_out
        for part in content.parts:
            row_count += part.table.num_rows + len(part.defects)
            if content.dump is not None:
                self.dump = content.dump
                part = self.dump_counts.keep(part)  # noqa: PLW2901
            part = good_rows(part, name, content.names)  # noqa: PLW2901
            if content.dump is not None:
                self.dump_counts.count(part)
            for defect in part.defects:
                self._report(file, defect)
            if part.table.num_rows:
                self.batches.append(Batch(file, split, part.numbers, part.labels))
                self._add_columns(part)
            progress(part.position)
        if content.vocabulary is not None:
            self.vocabulary = self.vocabulary or Vocabulary()
            self.vocabulary.join(content.vocabulary)
        self.notes += [note for note in content.notes if note not in self.notes]
        if left_out := self.dump_counts.left_out - left_out:
            if left_out == row_count:
                raise DataError(f"{name}: all rows lack an actor or a predicate; expected facts")
            note = f"{name}: rows without an actor or a predicate, left out: {left_out:,}"
            self.notes.append(note)
        return row_count > 0

    def _add_columns(self, part: Part) -> None:
        texts = {role: texts_of(part.table.column(role)) for role in part.table.column_names}
        unknown = pa.DictionaryArray.from_arrays(np.zeros(len(part.numbers), np.int32), [""])
        point = texts.pop("time", unknown)
        since, until = texts.get("since", point), texts.get("until", point)
        texts |= {"since": since, "until": since if since.equals(until) else until}
        for role in (*NAME_ROLES, "since", "until", SPLIT):
            if role in texts:
                self.columns.setdefault(role, []).append(texts[role])

    def _report(self, file: int, defect: Defect, kind: str = "") -> None:
        """Record a bad row. Stop after MAX_DEFECTS_COUNTED unless bad rows are skipped."""
        role = defect.column.partition("(")[2].rstrip(")")
        kind = kind or f"bad {role or 'row'}"
        self.kinds[kind] += 1
        if self.kinds[kind] <= MAX_DEFECTS_KEPT:
            self.defects.append((file, defect))
        if not self.options.skip_bad and self.kinds.total() >= MAX_DEFECTS_COUNTED:
            more = self.kinds.total() - 1
            raise DataError(f"{self.sorted_defects()[0]} (and {more:,} more bad rows)")

    def sorted_defects(self) -> list[Defect]:
        """Return the first bad rows, ordered by file and row."""
        ordered = sorted(self.defects, key=lambda pair: (pair[0], pair[1].line))
        return [defect for _, defect in ordered[:MAX_DEFECTS_KEPT]]

    def settle(self, *, has_splits: bool) -> Ints | None:
        """Decide what depends on all rows: the times, and the splits in a column.

        Raise DataError for bad rows unless they are skipped.
        """
        since, until = self.columns.pop("since", []), self.columns.pop("until", [])
        points = all(one is other for one, other in zip(since, until, strict=True))
        texts, ids = unify(since if points else [*since, *until])
        self.since, self.until = (ids, ids) if points else np.split(ids, 2)
        self.keep = np.ones(len(self.since), np.bool_)
        options, kind = self.options, EITHER if self.dump is None else DATE
        self.times = TimeVotes(texts, options.granularity, options.date_format, kind)
        self.times.vote(self.count_times())
        self._check_order()
        self._check_times()
        self._check_intervals()
        self.times.vote_precision(self.count_times())
        self._check_times()
        splits = self._splits(has_splits=has_splits)
        self.check()
        return splits

    @property
    def ends(self) -> dict[str, Ints]:
        """The ids of since and until, or only since for points."""
        return {"since": self.since} | ({} if self.until is self.since else {"until": self.until})

    def count_times(self) -> Longs:
        """Return the number of facts at each time. A point counts once, a bad time not at all."""
        counts, good = np.zeros(len(self.times.texts), np.int64), self.times.good
        keep = self.keep if good.all() else self.keep & good[self.since] & good[self.until]
        for end, ids in self.ends.items():
            rows = keep if end == "since" else keep & (self.until != self.since)
            counts += np.bincount(ids if rows.all() else ids[rows], minlength=len(counts))
        return counts

    def _check_times(self) -> None:
        """Report rows whose times are invalid, or unlike most others."""
        if self.times.good.all():
            return
        for end, ids in self.ends.items():
            for row in np.flatnonzero(self.keep & ~self.times.good[ids]).tolist():
                expected = self.times.expected[int(ids[row])]
                other = "granularity=mixed" in expected
                found = shown(self._time(ids, row))
                self._drop(row, end, found, expected, kind="of another precision" * other)

    def _time(self, ids: Ints, row: int) -> str:
        return str(self.times.texts[int(ids[row])].as_py())

    def _check_order(self) -> None:
        """Raise DataError if several dates in a file have a different order of day and month.

        This applies even if bad rows are skipped: dates such as 02/03/2024 would be misread.
        """
        times, files = self.times, self._files_of_rows()
        for ids in self.ends.values() if times.order else ():
            orders = times.written["order"][ids]
            others = orders == (MDY if times.order == "dmy" else DMY)
            known = np.bincount(files[(orders == DMY) | (orders == MDY)], minlength=len(self.files))
            many = np.bincount(files[others], minlength=len(self.files)) > FEW_OTHERS * known
            for row in np.flatnonzero(others & many[files])[:1].tolist():
                batch, place, _ = self._locate(row)
                where = f"{self.files[batch.file]}:{batch.numbers[place]}"
                pattern = "%m/%d/%Y" if times.order == "dmy" else "%d/%m/%Y"
                raise DataError(
                    f"{where}: found {shown(self._time(ids, row))}, expected "
                    f"{times.expected[int(ids[row])]}; if this file has another order, read it "
                    f"alone with --date-format {pattern} or the like, or write its dates as "
                    "2014-05-13"
                )

    def _check_intervals(self) -> None:
        """Report intervals that end before they start."""
        if self.until is self.since:
            return
        lows, highs = self.times.bounds()
        inverted = self.keep & (lows[self.since] > highs[self.until])
        for row in np.flatnonzero(inverted).tolist():
            ends = [self._time(ids, row) for ids in (self.since, self.until)]
            _, place, number = self._locate(row)
            fact = (*(self.columns[role][number][place].as_py() for role in NAME_ROLES), *ends)
            found = f"since {ends[0]} after until {ends[1]}"
            kind = "since after until"
            self._drop(row, "until", found, "since not after until", kind=kind, fact=fact)

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
        """Report a bad row, and exclude it from the facts."""
        batch, place, _ = self._locate(row)
        file, line = self.files[batch.file], int(batch.numbers[place])
        label = batch.labels.get(role) or batch.labels["time"]
        self.keep[row] = False
        defect = Defect(file, line, label, found, expected, fact)
        self._report(batch.file, defect, kind)

    def _locate(self, row: int) -> tuple[Batch, int, int]:
        """Return a row's batch, its position in the batch, and the batch's number."""
        starts = self.starts()
        number = int(np.searchsorted(starts, row, side="right")) - 1
        return self.batches[number], row - int(starts[number]), number

    def starts(self) -> Longs:
        """Return the first row of each batch, and the total number of rows."""
        return np.cumsum([0, *(len(batch.numbers) for batch in self.batches)])

    def order(self) -> Longs | None:
        """Return the rows in file order if the batches are not in that order."""
        pairs = pairwise(self.batches)
        if all(a.file < b.file or a.numbers[-1] < b.numbers[0] for a, b in pairs):
            return None
        numbers = np.concatenate([np.asarray(batch.numbers) for batch in self.batches])
        return np.lexsort((numbers, self._files_of_rows()))

    def _files_of_rows(self) -> Longs:
        files = np.asarray([batch.file for batch in self.batches], np.int64)
        return np.repeat(files, np.diff(self.starts()))

    def _splits(self, *, has_splits: bool) -> Ints | None:
        """Return the split of each row from a column, or None if no column is used.

        If the options split the facts in another way, a column called split is ignored unless it
        was chosen. If it was chosen, or if nearly all its rows contain a split, other values are
        bad.
        """
        named = SPLIT in (self.options.column_of() or {})
        columns = self.columns.pop(SPLIT, [])
        if not columns or len(columns) < len(self.batches):
            return None
        if not named and (self.options.splitting is not None or has_splits):
            return None
        texts, ids = unify(columns)
        words = [text.strip().lower() for text in texts.to_pylist()]
        splits = np.asarray([_SPLIT_CODES.get(word, -1) for word in words], np.int32)[ids]
        others = self.keep & (splits < 0)
        count, total = int(others.sum()), int(self.keep.sum())
        if count and (named or count <= FEW_OTHERS * total):
            for row in np.flatnonzero(others).tolist():
                found = shown(texts[int(ids[row])].as_py())
                self._drop(row, SPLIT, found, "train, valid or test")
        elif count:
            rows = f"{count:,} of {total:,} rows"
            note = f"the column split is not used: {rows} do not contain train, valid or test"
            self.notes.append(note)
            return None
        if not (splits[self.keep] == 0).any():
            self.notes.append("the column split is not used: it does not contain train")
            return None
        return splits

    def check(self) -> None:
        """Raise DataError for the first bad row, or, if skipped, for a file with only bad rows."""
        if not self.defects:
            return
        if self.options.skip_bad:
            good = set(self._files_of_rows()[self.keep].tolist())
            lost = [defect for file, defect in self.defects if file not in good]
            if lost:
                first = min(lost, key=lambda defect: defect.line)
                raise DataError(f"{first} (all its rows are bad)")
            return
        fact_count, first = int(self.keep.sum()), self.sorted_defects()[0]
        bad_count = self.kinds.total()
        rows = counted(fact_count + bad_count, "row")
        if not fact_count:
            raise DataError(f"{first} (all of {rows} are bad)")
        more = f": {', '.join(f'{count:,} {kind}' for kind, count in self.kinds.items())}"
        advice = f"--skip-bad would leave {fact_count:,}"
        if bad_count == 1 and first.line == self.firsts[self.defects[0][0]]:
            advice = "if it is a header, use --columns or --read header=yes"
        raise DataError(
            f"{first} ({bad_count:,} bad of {rows}{more if bad_count > 1 else ''}; {advice})"
        )
