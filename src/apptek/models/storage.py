"""A data set with its graph as arrays, JSON and files of a model folder, and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Arrays
from apptek.errors import ConfigError, DataError, GraphError, ModelError
from apptek.facts.facts import SPLITS, Dataset, Names
from apptek.facts.predicate_table import PredicateTable
from apptek.graph.stored_graph import (
    check_facts,
    facts_arrays,
    facts_from,
    graph_about,
    graph_arrays,
    graph_from,
)
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.manifest import ADVICE, CheckedFolder, json_bytes
from apptek.reading.options import ReadOptions

_DAMAGE = (
    ConfigError, DataError, GraphError, pa.ArrowException, OSError, ValueError,
)  # fmt: skip
_MISFIT = (AttributeError, IndexError, KeyError, TypeError)
LABELS = "labels.json"  # labels, phrases and classes of predicates
ALIASES = "aliases.json"  # further names of entities
NAMES = ("entities", "predicates")


@contextmanager
def refusing_damage(folder: Path) -> Iterator[None]:
    """Turn what the files of a model folder raise into a ModelError.

    The checksums were right: an error of _MISFIT is rather one of the program than of the folder,
    and is not called damage.
    """
    try:
        yield
    except ModelError:
        raise
    except _DAMAGE as error:
        raise ModelError(f"{folder} is damaged: {error}; {ADVICE}") from None
    except _MISFIT as error:
        raise ModelError(
            f"{folder} cannot be opened by this version of apptek ({type(error).__name__}: {error})"
            "; if the same version wrote it, please report this"
        ) from error


def data_about(dataset: Dataset, graph: TemporalGraph) -> dict[str, Any]:
    """Return what model.json says of the data."""
    return {
        "name": dataset.name,
        "digest": dataset.train.digest(),
        "train": len(dataset.train),
        "read_with": dict(dataset.read_with),
        "sorted_names": [dataset.entities.sorted_count, dataset.predicates.sorted_count],
        "graph": graph_about(graph),
    }


def data_arrays(dataset: Dataset, graph: TemporalGraph) -> Arrays:
    """Return the graph, the names, and the facts of valid and test.

    The training facts are the first ones of the graph; they are written apart where some of them
    were taken out of it.
    """
    apart = not graph.facts.first(len(dataset.train)).equals(dataset.train)
    arrays = graph_arrays(graph)
    for split in SPLITS if apart else SPLITS[1:]:
        arrays |= facts_arrays(split, dataset.split(split))
    return arrays | _names("entities", dataset.entities) | _names("predicates", dataset.predicates)


def data_files(dataset: Dataset) -> dict[str, bytes]:
    """Return the files of what users told about names."""
    files = {}
    if dataset.labels:
        files[LABELS] = json_bytes(dataset.labels.as_json())
    if dataset.aliases:
        files[ALIASES] = json_bytes(dataset.aliases)
    return files


def load_data(stored: CheckedFolder) -> tuple[Dataset, TemporalGraph]:
    """Return the data set and the graph of a folder, their arrays memory-mapped.

    GraphError where an id or an offset would lead a kernel out of its arrays.
    """
    about, arrays, labels = stored.about["data"], stored.arrays, stored.json(LABELS)
    graph = graph_from(about["graph"], arrays, every_value=not stored.is_large)
    count, sizes = about["train"], (graph.entity_count, graph.predicate_count)
    apart = "train.subjects" in arrays
    splits = {s: facts_from(s, arrays) for s in (SPLITS if apart else SPLITS[1:])}
    for split, facts in splits.items():
        check_facts(split, facts, *sizes)
    if not apart:
        if not 0 < count <= len(graph.facts):
            raise GraphError(f"{count} training facts in a graph of {len(graph.facts)}")
        splits["train"] = graph.facts.first(count)
    entities, predicates = (
        _names_from(key, arrays, *counts)
        for key, *counts in zip(NAMES, about["sorted_names"], sizes, strict=True)
    )
    dataset = Dataset(
        name=about["name"],
        entities=entities,
        predicates=predicates,
        axis=graph.axis,
        open_end=graph.open_end,
        labels=PredicateTable.from_json(labels) if labels else PredicateTable(),
        aliases={alias: str(name) for alias, name in stored.json(ALIASES).items()},
        read_with=ReadOptions(**about["read_with"]).to_remember(),
        train=splits["train"],
        valid=splits["valid"],
        test=splits["test"],
    )
    return dataset, graph


def _names(key: str, names: Names) -> Arrays:
    """Return the bytes of all names, one after the other, and where each begins."""
    offsets, text = np.zeros(1, np.int32), np.zeros(0, np.uint8)
    if len(names):
        _, bounds, content = names.array.buffers()
        start = names.array.offset
        offsets = np.frombuffer(bounds, np.int32)[start : start + len(names) + 1]
        text = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
    return {f"{key}.offsets": offsets - offsets[0], f"{key}.text": text}


def _names_from(key: str, arrays: Arrays, sorted_count: int, count: int) -> Names:
    text, offsets = arrays[f"{key}.text"], arrays[f"{key}.offsets"]
    if text.dtype != np.uint8 or offsets.dtype != np.int32 or not len(offsets):
        raise ValueError(f"{key}.offsets or {key}.text is of another type")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    names = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    names.validate(full=True)
    if len(names) != count:
        raise GraphError(f"there are {len(names)} names for {count} ids")
    if not 0 <= sorted_count <= len(names):
        raise ValueError(f"{sorted_count} sorted names of {len(names)}")
    return Names(names, sorted_count)
