"""What every model folder holds: a data set with its graph, JSON, and .npy arrays; no pickle."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

from apptek.arrays import read_only
from apptek.errors import ConfigError, DataError, GraphError, ModelError
from apptek.facts.facts import SPLITS, Dataset, Facts, Names, Split
from apptek.facts.predicate_table import PredicateTable
from apptek.files import is_file
from apptek.graph.ranges import check_facts, check_graph
from apptek.graph.temporal_graph import TemporalGraph

ABOUT = "model.json"
MANIFEST = "manifest.json"  # see manifest.py
LABELS = "labels.json"  # labels, phrases and classes of predicates
ALIASES = "aliases.json"  # further names of entities
RUN = "run.json"  # durations, command and commit: what may differ between equal models
FULL_CHECK = 256 * 2**20  # bytes of a folder up to which opening it reads everything
ADVICE = "copy the folder again, or fit again"  # how every error about damage ends
_DAMAGE = (
    ConfigError, DataError, GraphError, pa.ArrowException, OSError, ValueError, TokenError,
)  # fmt: skip
_MISFIT = (AttributeError, IndexError, KeyError, TypeError)


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


def save_data(folder: Path, dataset: Dataset, graph: TemporalGraph) -> None:
    """Writes the graph, the names, what is known of them, and the facts of valid and test.

    The training facts are the first ones of the graph; they are written apart where some of them
    were taken out of it.
    """
    graph.save(folder / "graph")
    _save_names(folder / "entities.parquet", dataset.entities)
    _save_names(folder / "predicates.parquet", dataset.predicates)
    if dataset.labels:
        write_json(folder / LABELS, dataset.labels.as_json())
    if dataset.aliases:
        write_json(folder / ALIASES, dict(dataset.aliases))
    apart = not graph.facts.first(len(dataset.train)).equals(dataset.train)
    for split in SPLITS if apart else SPLITS[1:]:
        for column in fields(Facts):
            array = getattr(dataset.split(split), column.name)
            np.save(folder / f"{split}.{column.name}.npy", array, allow_pickle=False)


def load_data(
    folder: Path, name: str, train_count: int | None = None
) -> tuple[Dataset, TemporalGraph]:
    """The data set and the graph of a folder, their arrays memory-mapped.

    Of the facts of the graph the first `train_count` are the training facts; by default all are.
    """
    graph = TemporalGraph.open(folder / "graph")
    apart = is_file(folder / "train.subjects.npy")
    if apart:
        train = _load_facts(folder, "train")
    elif train_count is None:
        train = graph.facts
    elif 0 < train_count <= len(graph.facts):
        train = graph.facts.first(train_count)
    else:
        raise ValueError(f"{train_count} training facts in a graph of {len(graph.facts)}")
    dataset = Dataset(
        name=name,
        entities=_load_names(folder / "entities.parquet"),
        predicates=_load_names(folder / "predicates.parquet"),
        axis=graph.axis,
        train=train,
        valid=_load_facts(folder, "valid"),
        test=_load_facts(folder, "test"),
        open_end=graph.open_end,
        labels=_load_labels(folder),
        aliases=_load_aliases(folder),
    )
    _check_ids(dataset, graph, SPLITS if apart else SPLITS[1:])
    return dataset, graph


def _check_ids(dataset: Dataset, graph: TemporalGraph, splits: Sequence[Split]) -> None:
    """GraphError where an id or an offset would lead a kernel out of its arrays.

    splits  those whose facts are not a part of the graph's
    """
    for names, count in (
        (dataset.entities, graph.entity_count),
        (dataset.predicates, graph.predicate_count),
    ):
        if len(names) != count:
            raise GraphError(f"there are {len(names)} names for {count} ids")
    check_graph(graph, every_value=graph.nbytes <= FULL_CHECK)
    for split in splits:
        check_facts(split, dataset.split(split), graph.entity_count, graph.predicate_count)


def _load_labels(folder: Path) -> PredicateTable:
    """The table of predicates; an empty one where none was written."""
    if not is_file(folder / LABELS):
        return PredicateTable()
    return PredicateTable.from_json(read_json(folder, LABELS))


def _load_aliases(folder: Path) -> dict[str, str]:
    content = read_json(folder, ALIASES) if is_file(folder / ALIASES) else {}
    return {alias: str(name) for alias, name in content.items()}


def _save_names(path: Path, names: Names) -> None:
    table = pa.table({"name": names.array})
    parquet.write_table(table.replace_schema_metadata({"sorted": str(names.sorted_count)}), path)


def _load_names(path: Path) -> Names:
    # Not read_table: it waits for ever where the memory of the process is too small for a thread.
    table = parquet.ParquetFile(path).read(use_threads=False)
    sorted_count = int((table.schema.metadata or {}).get(b"sorted", len(table)))
    if not 0 <= sorted_count <= len(table):
        raise ValueError(f"{sorted_count} sorted names of {len(table)}")
    return Names(table.column("name").combine_chunks(), sorted_count)


def _load_facts(folder: Path, split: str) -> Facts:
    columns = {c.name: load_array(folder / f"{split}.{c.name}.npy") for c in fields(Facts)}
    if np.array_equal(columns["since"], columns["until"]):
        columns["until"] = columns["since"]
    return Facts(**columns)


def load_array(path: Path) -> npt.NDArray[Any]:
    """An array of a .npy file, memory-mapped and read-only."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return read_only(np.asarray(array))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """One object as a JSON file: the same content, the same bytes."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object of a JSON file; ModelError where there is none."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except OSError as error:
        if is_file(folder / MANIFEST):
            raise ModelError(f"{folder} is damaged: {name}: {error.strerror}; {ADVICE}") from None
        raise ModelError(f"{folder} is not a model folder: {name}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{folder} is damaged: {name} is not JSON ({error}); {ADVICE}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{folder} is damaged: {name} is not a JSON object; {ADVICE}")
    return content
