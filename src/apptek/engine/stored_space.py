"""A feature space without its graph, and the weights over it, as a folder that workers open."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Floats
from apptek.config import HistoryConfig, View
from apptek.engine.parted_space import PartedSpace
from apptek.errors import ConfigError
from apptek.facts.queries import Queries
from apptek.features.clock import Clock
from apptek.features.space import FeatureSpace
from apptek.features.traits import Kind, Traits
from apptek.files import new_folder
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.manifest import check_files, write_manifest
from apptek.models.storage import ABOUT, load_array, read_json, write_json
from apptek.ragged import Ragged


def save_space(
    folder: Path, space: FeatureSpace, view: View, classifier: LinearSoftmax | None = None
) -> None:
    """Writes what a worker needs besides the parts; ConfigError for topologies."""
    if space.topologies is not None:
        raise ConfigError("topologies are replayed on the whole graph: leave out --engine")
    history, traits = space.history, space.traits
    about: dict[str, Any] = {"view": view, "history": None, "traits": None}
    with new_folder(folder) as building:
        if history is not None:
            clock, config = asdict(history.clock), asdict(history.config)
            about["history"] = {"clock": clock, "config": config, "dated": history.dated}
        if traits is not None:
            about["traits"] = _save_traits(building, traits)
        if classifier is not None:
            np.save(building / "weights.npy", classifier.weights, allow_pickle=False)
            np.save(building / "bias.npy", classifier.bias, allow_pickle=False)
        write_json(building / ABOUT, about)
        write_manifest(building)


def _save_traits(folder: Path, traits: Traits) -> dict[str, Any]:
    np.save(folder / "entities.npy", traits.entities, allow_pickle=False)
    for number, kind in enumerate(traits.kinds):
        np.save(folder / f"kind-{number}.npy", kind.of_entity, allow_pickle=False)
        np.save(folder / f"kind-{number}-pairs.npy", kind.pairs, allow_pickle=False)
    kinds = [
        {"name": kind.name, "values": list(kind.values), "origin": kind.origin}
        for kind in traits.kinds
    ]
    return {"weight": traits.weight, "dating": traits.dating, "kinds": kinds}


@dataclass(frozen=True, slots=True)
class StoredSpace:
    """A space that a worker has opened, and the weights over it where it has some."""

    space: PartedSpace
    classifier: LinearSoftmax | None

    def counted_rows(self, queries: Queries) -> tuple[Ragged, int]:
        """The features of many queries, and how many profiles a dominant partner cut short."""
        return self.space.counted_rows(queries)

    def scores(self, queries: Queries) -> Floats:
        """The scores of all predicates, (B, R)."""
        assert self.classifier is not None
        return self.classifier.scores(self.space.rows(queries))


@lru_cache(maxsize=1)
def open_space(folder: Path, storage: Path, part_count: int) -> StoredSpace:
    """Opens a space over parts; a process keeps the last one open."""
    check_files(folder)
    about = read_json(folder, ABOUT)
    clock, config, dated = None, HistoryConfig(), True
    if about["history"] is not None:
        clock, dated = Clock(**about["history"]["clock"]), about["history"]["dated"]
        stored: dict[str, Any] = about["history"]["config"]
        tuples = {key: tuple(value) for key, value in stored.items() if isinstance(value, list)}
        config = HistoryConfig(**(stored | tuples))
    traits = None if about["traits"] is None else _open_traits(folder, about["traits"])
    space = PartedSpace(storage, part_count, about["view"], clock, config, dated, traits)
    classifier = None
    if (folder / "weights.npy").exists():
        weights = load_array(folder / "weights.npy")
        classifier = LinearSoftmax(weights, load_array(folder / "bias.npy"))
    return StoredSpace(space, classifier)


def _open_traits(folder: Path, about: dict[str, Any]) -> Traits:
    def open_kind(number: int, kind: dict[str, Any]) -> Kind:
        of_entity = np.load(folder / f"kind-{number}.npy", allow_pickle=False)
        pairs = np.load(folder / f"kind-{number}-pairs.npy", allow_pickle=False)
        return Kind(kind["name"], tuple(kind["values"]), of_entity, pairs, kind["origin"])

    entities = np.load(folder / "entities.npy", allow_pickle=False)
    kinds = tuple(open_kind(number, kind) for number, kind in enumerate(about["kinds"]))
    return Traits(about["weight"], entities, about["dating"], kinds)
