"""The graph: training facts by entity and time, in memory or mapped from a folder."""

import json
from collections.abc import Callable, Hashable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from threading import RLock
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, read_only
from apptek.compiling import in_threads
from apptek.config import View
from apptek.errors import GraphError
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Dataset, Facts, OpenEnd
from apptek.facts.times import UNKNOWN, TimeAxis, Unit
from apptek.files import new_folder
from apptek.graph.incidence import FactColumns, Incidence, build_incidence
from apptek.graph.slot_search import AHEAD, ONGOING
from apptek.graph.tknn import BOTH, INCOMING, OUTGOING, STRICT, nearest_of_all

FORMAT = 2
FOR_EVER = np.int32(2**31 - 1)  # the end of a fact that lasts
CHUNK = 50_000  # look-ups that one thread takes at a time
Traversal = Literal["both", "outgoing", "incoming"]
Made = TypeVar("Made")
_DERIVING = RLock()  # of all graphs: a lock of each could not be pickled
DIRECTIONS: dict[str, int] = {"both": BOTH, "outgoing": OUTGOING, "incoming": INCOMING}


class Derived:
    """What others derive from the facts and times of a graph, each of it once for all threads."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type["Derived"], tuple[()]]:
        """A pickle is empty: everything can be made again."""
        return Derived, ()

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under this key; make it if it is the first time."""
        if key not in self._made:
            with _DERIVING:
                if key not in self._made:
                    self._made[key] = make()
        made: Made = self._made[key]
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalGraph:
    """Facts, indexed by entity, direction and time.

    incidence     the facts by entity and time; its since and until are positions on the axis (the
                  facts themselves hold codes; mostly the same arrays). Its twins: for facts with
                  one known end, the lowest index among those of the same triple, which are hidden
                  together. Empty where no fact is of that kind.
    open_end      ongoing: a fact without a known end lasts; point: it lies at its known end
    past_only     whether a query sees only what was known before its time, see `past_view`
    derived       what others have derived from these facts and times, shared by the views
    """

    facts: Facts
    axis: TimeAxis
    entity_count: int
    predicate_count: int
    incidence: Incidence
    open_end: OpenEnd = "point"
    past_only: bool = False
    derived: Derived = field(default_factory=Derived, compare=False, repr=False)

    @classmethod
    def of(cls, dataset: Dataset) -> "TemporalGraph":
        """Builds the graph of a data set from its training facts alone."""
        return cls.build(
            dataset.train,
            dataset.axis,
            len(dataset.entities),
            len(dataset.predicates),
            open_end=dataset.open_end,
        )

    @classmethod
    def of_all(cls, dataset: Dataset) -> "TemporalGraph":
        """Builds the graph of all facts of a data set, those of train first."""
        return cls.of(replace(dataset, train=dataset.all_facts()))

    @classmethod
    def build(
        cls,
        facts: Facts,
        axis: TimeAxis,
        entity_count: int,
        predicate_count: int,
        *,
        open_end: OpenEnd = "point",
    ) -> "TemporalGraph":
        """Builds the graph of these facts. O(n log n)."""
        since, until = positions_of(facts, axis, open_end)
        return cls(
            facts=facts,
            axis=axis,
            entity_count=entity_count,
            predicate_count=predicate_count,
            incidence=build_incidence(
                (facts.subjects, facts.objects), entity_count, since, until, _twins(facts)
            ),
            open_end=open_end,
        )

    @property
    def since(self) -> Ints:
        """The first position of each fact."""
        return self.incidence.since

    @property
    def until(self) -> Ints:
        """The last position of each fact."""
        return self.incidence.until

    def seen_in(self, view: View) -> "TemporalGraph":
        """Return the graph as a view sees it."""
        return self.past_view() if view == "past_only" else self

    def past_view(self) -> "TemporalGraph":
        """The same graph as known before the time of each query, for forecasts.

        A query sees the facts that started (since, else until) strictly before it, their ends
        unknown where these lie at its time or later, and all undated facts. A coarse date counts
        with its last day: "1998" is not before 1998-05-05.
        """
        if not self.axis.mixed:
            return replace(self, past_only=True)
        since, until = positions_of(self.facts, self.axis, self.open_end, last=True)
        ends = (self.facts.subjects, self.facts.objects)
        twins = self.incidence.twins
        incidence = build_incidence(ends, self.entity_count, since, until, twins)
        return replace(self, incidence=incidence, past_only=True, derived=Derived())

    def directions(self, traversal: str, *, strict: bool = False) -> int:
        """The flags that the kernels take as `directions`."""
        view = (AHEAD if self.past_only else 0) | (STRICT if strict else 0)
        return DIRECTIONS[traversal] | view | (ONGOING if self.open_end == "ongoing" else 0)

    @property
    def last_start(self) -> int:
        """The last position at which a fact is known to start; UNKNOWN where none is dated."""
        since, until = self.since, self.until
        starts = since if since is until else np.where(since == UNKNOWN, until, since)
        return int(starts.max(initial=UNKNOWN))  # the unknown is below every time

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
        strict: bool = False,
    ) -> Ints:
        """N_tknn of n entities, each at a time code: (n, k) facts, nearest first, padded with -1.

        hidden  for each look-up the fact that must not be seen (nor its twins), or -1.
        strict  only facts that are nearer than the k-th, all of them where there are fewer than k
        An entity of -1 is unknown to the graph and has no facts.
        """
        entities, codes = np.asarray(entities, np.int32), np.asarray(times, np.int32)
        masked = np.full(len(entities), -1) if hidden is None else np.asarray(hidden)
        self._check(entities, codes, k, masked)
        moments, masked = self.axis.positions(codes), masked.astype(np.int32)
        nearest = np.empty((len(entities), k), np.int32)
        directions = self.directions(traversal, strict=strict)

        def look_up(start: int) -> None:
            rows = slice(start, start + CHUNK)
            # Always read-only: numba compiles another version for arrays that are not.
            chunk = [read_only(column[rows]) for column in (entities, moments, masked)]
            nearest_of_all(self.incidence, directions, chunk[0], chunk[1], chunk[2], nearest[rows])

        in_threads(look_up, range(0, len(entities), CHUNK))
        return nearest

    def columns(self) -> FactColumns:
        """The subjects, predicates and objects of the facts, as kernels take them."""
        return FactColumns(self.facts.subjects, self.facts.predicates, self.facts.objects)

    def _check(
        self, entities: Ints, times: Ints, k: int, hidden: npt.NDArray[np.integer[Any]]
    ) -> None:
        if k < 1:
            raise GraphError(f"k must be at least 1, not {k}")
        if not entities.shape == times.shape == hidden.shape == (len(entities),):
            raise GraphError("entities, times and hidden facts must be equally many")
        limits = (("entity", entities, self.entity_count), ("fact", hidden, len(self.facts)))
        for what, ids, count in limits:
            unknown = ids[(ids < -1) | (ids >= count)]
            if len(unknown):
                raise GraphError(f"there is no {what} {unknown[0]}: the graph has {count}")

    def _arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Every array with the name under which it is saved."""
        for column in fields(self.facts):
            yield f"facts.{column.name}", getattr(self.facts, column.name)
        yield from zip(map(_file_of, Incidence._fields), self.incidence, strict=True)

    def save(self, folder: Path) -> None:
        """Writes the graph as a folder of .npy files, completely or not at all."""
        files: dict[str, str] = {}
        written: dict[int, str] = {}  # one file for an array that has several names
        with new_folder(folder) as building:
            for name, array in self._arrays():
                if id(array) not in written:
                    written[id(array)] = name
                    np.save(building / f"{name}.npy", array, allow_pickle=False)
                files[name] = written[id(array)]
            about = {
                "format": FORMAT,
                "axis": asdict(self.axis),
                "open_end": self.open_end,
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
        """Opens a saved graph, its arrays mapped from the disk and read-only.

        GraphError where files are missing or damaged, or of another format. Only types and sizes
        are checked: looking at the values would read all of the mapped files.
        """
        about = _read_about(folder)
        try:
            graph = cls._from_files(folder, about)
            fitting = _sizes_fit(graph, about["fact_count"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise GraphError(f"{folder / 'graph.json'} is damaged ({error!r})") from None
        if not fitting:
            raise GraphError(f"{folder}: the sizes of its files do not fit together")
        return graph

    @classmethod
    def _from_files(cls, folder: Path, about: dict[str, Any]) -> "TemporalGraph":
        opened: dict[str, npt.NDArray[Any]] = {}
        for file in sorted(set(about["files"].values())):
            opened[file] = _open_array(folder / f"{file}.npy", about["shapes"][file])
        arrays = {name: opened[file] for name, file in about["files"].items()}
        axis = TimeAxis(**about["axis"])
        if (
            axis.unit not in get_args(Unit)
            or not isinstance(axis.mixed, bool)
            or not isinstance(axis.date_format, str)
            or not (isinstance(axis.stride, int) and axis.stride >= 1)
        ):
            raise ValueError(f"there is no axis {about['axis']}")
        if about["open_end"] not in get_args(OpenEnd):
            raise ValueError(f"there is no open end {about['open_end']!r}")
        for name in ("entity_count", "predicate_count", "fact_count"):
            if type(about[name]) is not int or about[name] < 0:
                raise ValueError(f"{name} is {about[name]!r}")
        return cls(
            facts=Facts(**{c.name: arrays[f"facts.{c.name}"] for c in fields(Facts)}),
            axis=axis,
            entity_count=about["entity_count"],
            predicate_count=about["predicate_count"],
            incidence=Incidence(*(arrays[_file_of(name)] for name in Incidence._fields)),
            open_end=about["open_end"],
        )


def positions_of(
    facts: Facts, axis: TimeAxis, open_end: OpenEnd, *, last: bool = False
) -> tuple[Ints, Ints]:
    """Since and until on the axis, by the first moment of what is written or by its `last`.

    Where open ends are ongoing, a fact that started and has no known end lasts for ever.
    """

    def locate(codes: Ints) -> Ints:
        if last:
            codes = np.where(codes == UNKNOWN, codes, axis.last_moments(codes))
        return axis.positions(codes)

    since = read_only(locate(facts.since))
    if facts.until is facts.since:
        return since, since  # one array, so that points need one column in memory and on the disk
    until = locate(facts.until)
    if open_end == "ongoing":
        until = np.where((until == UNKNOWN) & (since != UNKNOWN), FOR_EVER, until)
    if axis.mixed:  # 2003-05 .. 2003 starts inside the year that it ends in
        until = np.where(until == UNKNOWN, until, np.maximum(since, until))
    return since, read_only(until)


def _twins(facts: Facts) -> Ints:
    """For every fact with one known end the first one of the same triple; for others itself."""
    half_open = (facts.since == UNKNOWN) != (facts.until == UNKNOWN)
    if facts.since is facts.until or not half_open.any():
        return read_only(np.empty(0, np.int32))
    rows = np.flatnonzero(half_open)
    subjects, predicates, objects, *_ = facts.take(rows).columns()
    no_times = np.zeros(len(rows), np.int32)
    (keys,) = fact_keys(Facts(subjects, predicates, objects, no_times, no_times))
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    twins = np.arange(len(facts), dtype=np.int32)
    twins[rows] = rows[firsts[groups]]
    return read_only(twins)


def _file_of(name: str) -> str:
    """The name under which an array of the incidence is saved."""
    return name if name in ("since", "until", "twins") else f"incidence.{name}"


def _read_about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise GraphError(f"{folder} is not a saved graph: {error}") from None
    version = about.get("format") if isinstance(about, dict) else None
    if version != FORMAT:
        raise GraphError(f"{folder}: graph of format {version}, expected {FORMAT}; build it again")
    return dict(about)


def _open_array(path: Path, length: int) -> npt.NDArray[Any]:
    """One column, mapped; a file of another kind or length is refused."""
    try:
        array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
        dtype, shape = array.dtype, array.shape
    except Exception as error:  # a damaged header fails in numpy in many ways
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise GraphError(f"{path}: missing or damaged ({reason})") from None
    if dtype != np.int32 or shape != (length,):
        raise GraphError(f"{path}: found {dtype}{shape}, expected int32({length},)")
    return read_only(np.asarray(array))


def _sizes_fit(graph: TemporalGraph, fact_count: int) -> bool:
    """Whether the arrays have the sizes that the kernels rely on without looking."""
    incidence, slot_count = graph.incidence, 2 * graph.entity_count
    interval_slots = slot_count if len(incidence.by_end) else 0
    sizes = (
        (graph.facts.subjects, fact_count),
        (graph.since, fact_count),
        (graph.until, fact_count),
        (incidence.twins, fact_count if len(incidence.twins) else 0),
        (incidence.offsets, 3 * slot_count + 1),
        (incidence.facts, 2 * fact_count),
        (incidence.starts, 2 * fact_count),
        (incidence.interval_offsets, interval_slots + 1),
    )
    return (
        all(len(array) == size for array, size in sizes)
        and incidence.offsets[-1] == 2 * fact_count
        and incidence.interval_offsets[-1] == len(incidence.by_end)
        and incidence.level_offsets[-1] == len(incidence.tops)
    )
