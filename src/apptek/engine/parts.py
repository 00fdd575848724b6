"""The facts of a graph in parts by entity, each an ordinary graph in a folder of its own.

A part holds every fact of its entities, so that a fact is in two parts at most. Its facts keep
their order, and the ids of its entities ascend as those of the data do: whatever is decided by the
order of facts is decided as in the whole graph.
"""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import AnyInts, Ints, Longs, read_only
from apptek.config import View
from apptek.errors import ApptekError, ModelError
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.facts.times import TimeAxis
from apptek.files import new_folder
from apptek.graph.incidence import Incidence
from apptek.graph.pairs import PairIndex
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.manifest import check_files, verify_folder, write_manifest
from apptek.models.storage import ABOUT, read_json, write_json

BLOCK = 1 << 22  # facts that are looked at at a time
FACTS = "facts"  # the folder of all facts, from which parts are made
_PAIRS = tuple(  # the arrays of a PairIndex
    f"pairs.{name}" for name in ("firsts", "partners", *Incidence._fields[:7])
)
_MIXING = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio: neighbouring ids go apart


def part_of(entities: AnyInts, part_count: int) -> Ints:
    """The part of each entity, by a hash of its id."""
    mixed = entities.astype(np.int64).astype(np.uint64) * _MIXING >> np.uint64(33)
    return (mixed % np.uint64(part_count)).astype(np.int32)


def check_part_count(part_count: int, entity_count: int) -> None:
    """ApptekError where there cannot be so many parts."""
    if part_count < 1:
        raise ApptekError(f"the facts cannot be put into {part_count} parts; give at least 1")
    if part_count > entity_count:
        raise ApptekError(
            f"the data has {entity_count:,} entities, too few for {part_count:,} parts; give at "
            f"most {entity_count:,}"
        )


def save_facts(folder: Path, graph: TemporalGraph) -> None:
    """Writes what parts are made from: the facts of a graph, and what is known of them."""
    with new_folder(folder) as building:
        for column in fields(Facts):
            if column.name != "until" or graph.facts.until is not graph.facts.since:
                array = getattr(graph.facts, column.name)
                np.save(building / f"{column.name}.npy", array, allow_pickle=False)
        about = {
            "axis": asdict(graph.axis),
            "open_end": graph.open_end,
            "predicate_count": graph.predicate_count,
        }
        write_json(building / ABOUT, about)
        write_manifest(building)


def part_folder(storage: Path, part_count: int, number: int) -> Path:
    """Where a part is."""
    return storage / f"parts-{part_count}" / str(number)


def make_part(storage: Path, part_count: int, number: int) -> None:
    """Writes a part, unless it stands there whole; a damaged one is replaced."""
    folder = part_folder(storage, part_count, number)
    if folder.exists():
        try:
            verify_folder(folder)
        except ModelError:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return
    check_files(storage / FACTS)
    about = read_json(storage / FACTS, ABOUT)
    facts = _open_facts(storage / FACTS)
    rows = np.concatenate(list(_rows_of(facts, part_count, number)))
    entities, graph = _graph_of(facts.take(rows), about)
    with new_folder(folder) as building:
        np.save(building / "rows.npy", rows, allow_pickle=False)
        np.save(building / "entities.npy", entities, allow_pickle=False)
        _save_view(building / "all_facts", graph)
        if graph.axis.mixed:  # what was known when depends on the last day of a coarse date
            _save_view(building / "past_only", graph.past_view())
        write_json(building / ABOUT, {"part": number, "parts": part_count, "facts": len(rows)})
        write_manifest(building)


def _open_facts(folder: Path) -> Facts:
    until = "until" if (folder / "until.npy").exists() else "since"
    columns = {c.name: _mapped(folder / f"{c.name}.npy") for c in fields(Facts)[:-1]}
    columns["until"] = columns["since"] if until == "since" else _mapped(folder / "until.npy")
    return Facts(**columns)


def _rows_of(facts: Facts, part_count: int, number: int) -> Iterator[Longs]:
    """The facts of a part, ascending, block by block."""
    for start in range(0, max(1, len(facts)), BLOCK):
        ends = (facts.subjects[start : start + BLOCK], facts.objects[start : start + BLOCK])
        ours = [part_of(entities, part_count) == number for entities in ends]
        yield np.flatnonzero(ours[0] | ours[1]) + start


def _graph_of(facts: Facts, about: dict[str, Any]) -> tuple[Ints, TemporalGraph]:
    """The entities of some facts, ascending, and the graph of these facts over them."""
    entities = np.unique(np.concatenate([facts.subjects, facts.objects]))
    local = [np.searchsorted(entities, e).astype(np.int32) for e in (facts.subjects, facts.objects)]
    graph = TemporalGraph.build(
        replace(facts, subjects=local[0], objects=local[1]),
        TimeAxis(**about["axis"]),
        max(1, len(entities)),
        about["predicate_count"],
        open_end=about["open_end"],
    )
    return entities.astype(np.int32), graph


def _save_view(folder: Path, graph: TemporalGraph) -> None:
    graph.save(folder)
    pairs = PairIndex.of(graph)
    for name, array in zip(_PAIRS, (*pairs[:2], *pairs.incidence[:7]), strict=True):
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def _mapped(path: Path) -> npt.NDArray[Any]:
    """An array, memory-mapped where it is not empty, and read-only."""
    array = np.load(path, mmap_mode="r", allow_pickle=False) if path.stat().st_size > 128 else None
    return read_only(np.load(path, allow_pickle=False) if array is None else np.asarray(array))


@dataclass(frozen=True, slots=True)
class Part:
    """A part as one view sees it, its arrays mapped from the disk."""

    rows: Longs  # the facts of the data that it holds, ascending
    entities: Ints  # the entities of the data that occur in them, ascending
    graph: TemporalGraph
    pairs: PairIndex

    @classmethod
    def open(cls, storage: Path, part_count: int, number: int, view: View) -> "Part":
        """Opens a part; ApptekError where it is damaged."""
        folder = part_folder(storage, part_count, number)
        try:
            check_files(folder)
        except ModelError as error:
            fault = str(error).partition(";")[0]
            raise ApptekError(f"{fault}; run the command again, which makes it anew") from None
        seen = folder / view if (folder / view).is_dir() else folder / "all_facts"
        firsts, partners, *arrays = (_mapped(seen / f"{name}.npy") for name in _PAIRS)
        incidence = dict(zip(Incidence._fields, arrays, strict=False))
        graph = replace(TemporalGraph.open(seen), past_only=view == "past_only")
        pairs = PairIndex(firsts, partners, graph.incidence._replace(**incidence))
        return cls(_mapped(folder / "rows.npy"), _mapped(folder / "entities.npy"), graph, pairs)

    def localized(self, queries: Queries) -> Queries:
        """The queries in the ids of the part: -1 for an entity or a fact that it does not hold."""
        return Queries(
            _places(self.entities, queries.subjects),
            _places(self.entities, queries.objects),
            queries.times,
            _places(self.rows, queries.hidden),
        )


def _places(ascending: AnyInts, keys: Ints) -> Ints:
    """Where each key stands in an array that ascends; -1 where it does not."""
    places = np.searchsorted(ascending, keys)
    found = places < len(ascending)
    found[found] = ascending[places[found]] == keys[found]
    return np.where(found, places, -1).astype(np.int32)
