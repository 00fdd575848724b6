"""The graph: training facts by entity and time, in memory or mapped from a folder."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, read_only
from apptek.compiling import in_threads
from apptek.data.fact_keys import fact_keys
from apptek.data.facts import Dataset, Facts
from apptek.data.times import UNKNOWN, TimeAxis
from apptek.errors import GraphError
from apptek.files import new_folder
from apptek.graph.incidence import Incidence, build_incidence
from apptek.graph.tknn import BOTH, INCOMING, OUTGOING, PAST, nearest_of_all

FORMAT = 1
CHUNK = 50_000  # look-ups that one thread takes at a time
Traversal = Literal["both", "outgoing", "incoming"]
DIRECTIONS: dict[str, int] = {"both": BOTH, "outgoing": OUTGOING, "incoming": INCOMING}


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalGraph:
    """Facts, each entity's by time in both directions, and who hides with whom.

    since, until  positions on the axis (the facts themselves hold codes; mostly the same arrays)
    twins         for facts with one known end, the lowest index among those of the same triple:
                  they are hidden together. Empty where no fact is of that kind.
    past_only     a view of the graph (see as_of): at any moment, only what had ended before
    """

    facts: Facts
    axis: TimeAxis
    entity_count: int
    predicate_count: int
    since: Ints
    until: Ints
    incidence: Incidence
    twins: Ints
    past_only: bool = False

    @classmethod
    def of(cls, dataset: Dataset) -> "TemporalGraph":
        """The graph of a data set: its training facts, and no others."""
        return cls.build(
            dataset.train, dataset.axis, len(dataset.entities), len(dataset.predicates)
        )

    @classmethod
    def build(
        cls, facts: Facts, axis: TimeAxis, entity_count: int, predicate_count: int
    ) -> "TemporalGraph":
        """The graph of these facts. O(n log n)."""
        since, until = _positions(facts, axis)
        return cls(
            facts=facts,
            axis=axis,
            entity_count=entity_count,
            predicate_count=predicate_count,
            since=since,
            until=until,
            incidence=build_incidence((facts.subjects, facts.objects), entity_count, since, until),
            twins=_twins(facts),
        )

    def as_of(self) -> "TemporalGraph":
        """The same graph as seen at the time of each question, for forecasts.

        There are only the facts that ended (until, else since) strictly before; no undated ones. A
        coarse date ends with its last day: "1998" is not over on 1998-05-05.
        """
        if not self.axis.mixed:
            return replace(self, past_only=True)
        since, until = _positions(self.facts, self.axis, last=True)
        ends = (self.facts.subjects, self.facts.objects)
        found = build_incidence(ends, self.entity_count, since, until)
        return replace(self, since=since, until=until, incidence=found, past_only=True)

    def directions(self, traversal: str) -> int:
        """What the kernels take as `directions`."""
        return DIRECTIONS[traversal] | (PAST if self.past_only else 0)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, each counted once."""
        return sum({id(a): a.nbytes for _, a in self._arrays()}.values())

    def nearest(
        self,
        entities: npt.ArrayLike,
        times: npt.ArrayLike,
        k: int,
        *,
        hidden: npt.ArrayLike | None = None,
        traversal: Traversal = "both",
    ) -> Ints:
        """N_tknn of many (entity, time code) at once: (n, k) facts, nearest first, -1 as filling.

        hidden  for each look-up the one fact that must not be seen (with its twins), or -1.
        An entity of -1 is one that the graph does not know: it has no facts.
        """
        entities, codes = np.asarray(entities, np.int32), np.asarray(times, np.int32)
        masked = np.full(len(entities), -1) if hidden is None else np.asarray(hidden)
        self._check(entities, codes, k, masked)
        moments, masked = self.axis.positions(codes), masked.astype(np.int32)
        found = np.empty((len(entities), k), np.int32)
        arrays, directions = self.kernel_arrays(), self.directions(traversal)

        def look_up(start: int) -> None:
            rows = slice(start, start + CHUNK)
            asked, at, unseen = (read_only(a[rows]) for a in (entities, moments, masked))
            nearest_of_all(arrays, directions, asked, at, unseen, found[rows])

        in_threads(look_up, range(0, len(entities), CHUNK))
        return found

    def kernel_arrays(self) -> tuple[Any, ...]:
        """What the kernels of tknn.py take as `arrays`."""
        columns = (getattr(self.incidence, column.name) for column in fields(self.incidence))
        return (*columns, self.since, self.until, self.twins)

    def _check(
        self, entities: Ints, times: Ints, k: int, hidden: npt.NDArray[np.integer[Any]]
    ) -> None:
        if k < 1:
            raise GraphError(f"k must be at least 1, not {k}")
        if not entities.shape == times.shape == hidden.shape == (len(entities),):
            raise GraphError("entities, times and hidden facts must be equally many")
        limits = (("entity", entities, self.entity_count), ("fact", hidden, len(self.facts)))
        for what, ids, count in limits:
            if len(ids) and not (ids.min() >= -1 and ids.max() < count):
                raise GraphError(f"there is no {what} {ids.max()}: the graph has {count}")

    def _arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Every array with its name."""
        for part, holder in (("facts", self.facts), ("incidence", self.incidence)):
            for column in fields(holder):
                yield f"{part}.{column.name}", getattr(holder, column.name)
        yield from (("since", self.since), ("until", self.until), ("twins", self.twins))

    def save(self, folder: Path) -> None:
        """Writes the graph as a folder of .npy files; whole, or not at all."""
        files: dict[str, str] = {}
        written: dict[int, str] = {}
        with new_folder(folder) as building:
            for name, array in self._arrays():
                if id(array) not in written:
                    written[id(array)] = name
                    np.save(building / f"{name}.npy", array, allow_pickle=False)
                files[name] = written[id(array)]
            about = {
                "format": FORMAT,
                "axis": asdict(self.axis),
                "entity_count": self.entity_count,
                "predicate_count": self.predicate_count,
                "fact_count": len(self.facts),
                "files": files,
                "shapes": {name: len(array) for name, array in self._arrays()},
            }
            text = json.dumps(about, indent=1, sort_keys=True) + "\n"
            (building / "graph.json").write_text(text, encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> "TemporalGraph":
        """The graph of a folder, its arrays mapped from the disk and read-only."""
        about = _read_about(folder)
        opened: dict[str, npt.NDArray[Any]] = {}
        for file in sorted(set(about["files"].values())):
            opened[file] = _open_array(folder / f"{file}.npy", about["shapes"][file])
        arrays = {name: opened[file] for name, file in about["files"].items()}
        return cls(
            facts=Facts(**_part(arrays, "facts")),
            axis=TimeAxis(**about["axis"]),
            entity_count=about["entity_count"],
            predicate_count=about["predicate_count"],
            since=arrays["since"],
            until=arrays["until"],
            incidence=Incidence(**_part(arrays, "incidence")),
            twins=arrays["twins"],
        )


def _positions(facts: Facts, axis: TimeAxis, *, last: bool = False) -> tuple[Ints, Ints]:
    """Where the facts lie on the axis: from the first moments of their dates, or the `last`."""

    def placed(codes: Ints) -> Ints:
        return axis.positions(_last_moments(codes, axis) if last else codes)

    since = read_only(placed(facts.since))
    if facts.until is facts.since:
        return since, since
    until = placed(facts.until)
    if axis.mixed:  # 2003-05 .. 2003 starts inside the year that it ends in
        until = np.where(until == UNKNOWN, until, np.maximum(since, until))
    return since, read_only(until)


def _last_moments(codes: Ints, axis: TimeAxis) -> Ints:
    return np.where(codes == UNKNOWN, codes, axis.last_moments(codes))


def _twins(facts: Facts) -> Ints:
    half = (facts.since == UNKNOWN) != (facts.until == UNKNOWN)
    if facts.since is facts.until or not half.any():
        return read_only(np.empty(0, np.int32))
    rows = np.flatnonzero(half)
    triples = facts.take(rows)
    same = np.zeros(len(rows), np.int32)
    (keys,) = fact_keys(Facts(triples.subjects, triples.predicates, triples.objects, same, same))
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    twins = np.arange(len(facts), dtype=np.int32)
    twins[rows] = rows[firsts[groups]]
    return read_only(twins)


def _part(arrays: dict[str, npt.NDArray[Any]], part: str) -> dict[str, Any]:
    prefix = f"{part}."
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def _read_about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GraphError(f"{folder} is not a saved graph: {error}") from None
    found = about.get("format") if isinstance(about, dict) else None
    if found != FORMAT:
        raise GraphError(f"{folder}: graph of format {found}, expected {FORMAT}; build it again")
    return dict(about)


def _open_array(path: Path, length: int) -> npt.NDArray[Any]:
    """One column, mapped; a file of another kind or length is refused."""
    try:
        array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise GraphError(f"{path}: missing or damaged ({error})") from None
    if array.dtype != np.int32 or array.shape != (length,):
        raise GraphError(f"{path}: found {array.dtype}{array.shape}, expected int32({length},)")
    return read_only(np.asarray(array))
