"""Facts as read-only arrays, names and their ids, and the data set that contains both."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from apptek.arrays import Ints, close_columns, read_only
from apptek.errors import DataError
from apptek.facts.predicate_table import PredicateTable, shipped_table
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.safe_text import counted

OpenEnd = Literal["point", "ongoing"]
Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
NEARLY_ALL = 0.9
FEW_NAMES = 100_000  # up to this many names are also kept in a dict, created at the first look-up


@dataclass(frozen=True, slots=True)
class Facts:
    """n facts (subject, predicate, object, since, until) as five int32 columns, read-only.

    `since` and `until` are time codes (see TimeAxis). A timestamp has since = until. If all are
    timestamps, both columns are one array. Either may be UNKNOWN. If both are, the fact is undated.
    """

    subjects: Ints
    predicates: Ints
    objects: Ints
    since: Ints
    until: Ints

    def __post_init__(self) -> None:
        for column in self.columns():
            if column.dtype != np.int32 or len(column) != len(self.subjects):
                raise ValueError("the columns of Facts must be int32 and equally long")
        close_columns(self, *(column.name for column in fields(self)))

    def __len__(self) -> int:
        return len(self.subjects)

    def __repr__(self) -> str:
        undated = len(self) - int(self.dated.sum())
        return f"<{counted(len(self), 'fact')}{f', {undated:,} undated' * bool(undated)}>"

    def columns(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Subjects, predicates, objects, since, until."""
        return self.subjects, self.predicates, self.objects, self.since, self.until

    @property
    def times(self) -> Ints:
        """The time of each fact's query: since, or until if since is unknown, or UNKNOWN."""
        if self.since is self.until:
            return self.since
        return read_only(np.where(self.since == UNKNOWN, self.until, self.since))

    @property
    def dated(self) -> npt.NDArray[np.bool_]:
        """Which facts have a known start or end."""
        return np.not_equal(self.times, UNKNOWN)

    def digest(self) -> str:
        """Return a hash of all columns in order, as hexadecimal text."""
        state = hashlib.blake2b(digest_size=16)
        for column in self.columns():
            state.update(np.ascontiguousarray(column).data)
        return state.hexdigest()

    def equals(self, other: "Facts") -> bool:
        """Return whether both contain the same facts in the same order."""
        pairs = zip(self.columns(), other.columns(), strict=True)
        return self is other or all(np.array_equal(one, two) for one, two in pairs)

    def first(self, count: int) -> "Facts":
        """Return the first facts, sharing the arrays."""
        return self.take(slice(count))

    def take(self, rows: npt.NDArray[Any] | slice) -> "Facts":
        """Return the facts in these rows (indices, a mask or a slice), in this order."""
        since = self.since[rows]
        until = since if self.until is self.since else self.until[rows]
        return Facts(self.subjects[rows], self.predicates[rows], self.objects[rows], since, until)


def join_facts(*parts: Facts) -> Facts:
    """Return the facts of all parts, one part after the other."""
    subjects, predicates, objects, since, until = (
        np.concatenate(column) for column in zip(*(part.columns() for part in parts), strict=True)
    )
    points = all(part.until is part.since for part in parts)
    return Facts(subjects, predicates, objects, since, since if points else until)


def has_open_ends(facts: Facts) -> bool:
    """Return whether any fact has a start but no end."""
    return bool(((facts.since != UNKNOWN) & (facts.until == UNKNOWN)).any())


def usual_open_end(facts: Facts) -> OpenEnd:
    """Return "ongoing" if some facts have a start and a later end: a missing end is then open."""
    has_intervals = (facts.since != UNKNOWN) & (facts.until != UNKNOWN)
    has_intervals &= facts.since != facts.until
    return "ongoing" if has_intervals.any() else "point"


def with_inverses(facts: Facts, predicate_count: int) -> Facts:
    """Return all facts, then all of them in the reverse direction with predicate + R."""
    inverse = facts.predicates + np.int32(predicate_count)
    return join_facts(
        facts, Facts(facts.objects, inverse, facts.subjects, facts.since, facts.until)
    )


class Names:
    """Distinct names in one flat Arrow array. The id of a name is its position.

    The first `sorted_count` names are in byte order. Names added later follow in the order in which
    they were added, so ids never change.
    """

    __slots__ = ("_ids", "array", "sorted_count")

    def __init__(self, array: pa.Array, sorted_count: int | None = None) -> None:
        self.array = array
        self._ids: dict[str, int] | None = None
        self.sorted_count = len(array) if sorted_count is None else sorted_count

    def extended(self, names: Sequence[str]) -> "Names":
        """Return these names, followed by new ones."""
        added = pa.array(names, self.array.type)
        return Names(pa.concat_arrays([self.array, added]), self.sorted_count)

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, name_id: int) -> str: ...

    @overload
    def __getitem__(self, name_id: slice) -> list[str]: ...

    def __getitem__(self, name_id: int | slice) -> str | list[str]:
        if isinstance(name_id, slice):
            return [self[number] for number in range(len(self))[name_id]]
        return str(self.array[int(name_id)].as_py())

    def __repr__(self) -> str:
        first = ", ".join(repr(self[name_id]) for name_id in range(min(3, len(self))))
        return f"<{counted(len(self), 'name')}: {first}{', ...' if len(self) > 3 else ''}>"

    def __iter__(self) -> Iterator[str]:
        return iter(self.array.to_pylist())

    def find(self, name: str) -> int | None:
        """Return the id of a name, or None if it does not exist. O(log n); O(1) for few names."""
        if self._ids is None:  # all names if they are few, otherwise only the added ones
            first = 0 if len(self) <= FEW_NAMES else self.sorted_count
            added = self.array.slice(first).to_pylist()
            self._ids = {text: name_id for name_id, text in enumerate(added, first)}
        if len(self) <= FEW_NAMES or name in self._ids:
            return self._ids.get(name)
        key = name.encode("utf-8", "surrogatepass")  # allows lone surrogates
        place = bisect_left(range(self.sorted_count), key, key=lambda row: self[row].encode())
        return place if place < self.sorted_count and self[place] == name else None


@dataclass(frozen=True, slots=True)
class Defect:
    """One bad row: its place, what was found, and what was expected there.

    fact   subject, predicate, object, since and until, if only the dates contradict each other
    """

    file: str
    line: int
    column: str
    found: str
    expected: str
    fact: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: {self.column}: found {self.found}, expected {self.expected}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """Repeated facts and bad rows in a data set's files.

    duplicates     by split, the number of facts that repeat an earlier one and are kept once
    also_in_train  by split, the number of facts that also occur in train
    defects        the first bad rows dropped with skip_bad; defect_count counts all of them
    merged         the repeated facts that differ in times finer than the axis' unit
    how            how the files were read: granularity, date_format and so on
    notes          warnings about the files, one per line
    first_facts    the first training facts in file order
    """

    duplicates: dict[Split, int] = field(default_factory=dict)
    also_in_train: dict[Split, int] = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()
    defect_count: int = 0
    merged: int = 0
    how: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    first_facts: Facts | None = field(default=None, compare=False)  # arrays have no truth value


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Facts in three splits. All splits share one set of names and one time axis.

    The graph is built from `train` alone. valid and test are for queries and for the filter.

    open_end  the meaning of a fact with a start and no known end: it is ongoing, or only its
              start is known (point)
    was_split whether the splits were drawn from facts that were read as one file
    labels    labels, phrases and classes of predicates; None if unspecified
    aliases   additional names of entities: alias -> name
    types     types of entities, by kind, if the files have them: {"country": {"Reuters": ...}}
    read_with options of the files that further files are likely to need, such as columns
    """

    name: str
    entities: Names
    predicates: Names
    axis: TimeAxis
    train: Facts
    valid: Facts
    test: Facts
    report: ReadReport = field(default_factory=ReadReport)
    open_end: OpenEnd = "point"
    was_split: bool = False
    labels: PredicateTable | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    read_with: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.train):
            raise DataError(f"{self.name}: there are no training facts")

    def labelled(self, labels: PredicateTable | None = None) -> "Dataset":
        """Return the data set with a predicate table: this one, its own, or CAMEO if it applies.

        An empty table means that there are no labels. Raise DataError if no row matches
        a predicate.
        """
        table = self.labels if labels is None else labels
        if table is None:
            counts = np.bincount(self.train.predicates, minlength=len(self.predicates))
            table = shipped_table(dict(zip(self.predicates, counts.tolist(), strict=True)))
        found = table.of(self.predicates)
        if table and not found:
            raise DataError(f"{table.source} has none of the predicates in {self.name}")
        return replace(self, labels=found)

    def __repr__(self) -> str:
        facts = self.all_facts()
        parts = ", ".join(f"{split} {len(self.split(split)):,}" for split in SPLITS)
        return (
            f"Dataset {self.name!r}: {counted(len(facts), 'fact')} ({parts}), "
            f"{counted(len(self.entities), 'entity')}, "
            f"{counted(len(self.predicates), 'predicate')}, {self.span_of(facts)}"
        )

    def split(self, name: Split) -> Facts:
        """Return the facts in one split."""
        return {"train": self.train, "valid": self.valid, "test": self.test}[name]

    def all_facts(self) -> Facts:
        """Return the training, validation and test facts, one after the other."""
        return join_facts(self.train, self.valid, self.test)

    def undated_count(self) -> int:
        """Return the number of facts without a time."""
        return sum(int((~self.split(split).dated).sum()) for split in SPLITS)

    def lies_beyond_train(self, name: Split) -> bool:
        """Return whether nearly all dated facts of a split start after the last training start.

        "Nearly all" because a split by time is still one if a few facts share the day of the cut.
        """
        starts = self.split(name).times
        dated = starts[starts != UNKNOWN]
        if not len(dated):
            return False
        last = self.axis.positions(self.train.times).max()  # UNKNOWN is below every time
        beyond = self.axis.positions(dated) > last
        return bool(last != UNKNOWN and beyond.mean() >= NEARLY_ALL)

    def span_of(self, facts: Facts) -> str:
        """Return the first and last start of the facts as text, or "undated" if none is known."""
        return " to ".join(dict.fromkeys(self.ends_of(facts))) or "undated"

    def ends_of(self, facts: Facts) -> list[str]:
        """Return the first and last start of the given facts, or nothing if none is known."""
        dated = facts.times[facts.dated]
        if not len(dated):
            return []
        positions = self.axis.positions(dated)
        ends = (int(dated[positions.argmin()]), int(dated[positions.argmax()]))
        return list(map(self.axis.format, ends))

    def describe(self, facts: Facts, row: int) -> str:
        """Describe a fact in words: subject, predicate, object and its time."""
        since, until = int(facts.since[row]), int(facts.until[row])
        when = self.axis.format(since)
        if since != until:
            when = f"{when} .. {self.axis.format(until)}"
        subject, object_ = self.entities[facts.subjects[row]], self.entities[facts.objects[row]]
        return f"{subject} | {self.predicates[facts.predicates[row]]} | {object_} | {when}"
