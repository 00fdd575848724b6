"""The model folder: everything that a fitted predictor is, as JSON, Parquet and .npy files."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apptek.agent.environment import DecisionProcess
from apptek.config import (
    AgentConfig,
    ClassifierConfig,
    Config,
    FeaturesConfig,
    HistoryConfig,
    MiningConfig,
    RerankerConfig,
    TraitsConfig,
)
from apptek.data.facts import Dataset, Names
from apptek.errors import ModelError
from apptek.evaluation.calibration import Calibration
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.features.space import FeatureSpace
from apptek.features.topologies.mining import Mined, MinedTopology
from apptek.features.topologies.topology import TopologySet, from_names, to_names, topology_set
from apptek.features.traits import Kind, Traits
from apptek.files import new_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.reranker import Reranker
from apptek.models.reranker_features import Mirrors
from apptek.models.storage import (
    ABOUT,
    DAMAGE,
    load_array,
    load_data,
    read_json,
    save_data,
    write_json,
)

FORMAT = 2
AGENT = "agent.safetensors"
TREES = "reranker.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A fitted predictor: the data it was fitted on, its topologies and its classifier.

    `dataset` is under the model's protocol: a model never meets its tuning split as test.
    """

    preset: str
    protocol: str
    seed: int
    config: Config
    dataset: Dataset
    graph: TemporalGraph
    clock: Clock
    kinds: tuple[Kind, ...]  # the types of entities
    topologies: TopologySet
    mined: Mined
    classifier: LinearSoftmax
    report: dict[str, Any]  # what was chosen on the tuning split, and how it did there
    agent: bytes | None = None  # the weights of its network, as safetensors
    reranker: Reranker | None = None

    def features(self, *, as_of: bool = False) -> FeatureSpace:
        """The features of questions on its graph; `as_of`: on what had ended before each."""
        return feature_space(
            self.config, self.dataset, self.graph, self.clock, self.kinds, self.topologies,
            as_of=as_of,
        )  # fmt: skip


def feature_space(
    config: Config,
    dataset: Dataset,
    graph: TemporalGraph,
    clock: Clock,
    kinds: tuple[Kind, ...],
    topologies: TopologySet,
    *,
    as_of: bool = False,
) -> FeatureSpace:
    """The features that a config asks for."""
    parts = config.features.parts
    seen = graph.as_of() if as_of or config.features.past_only else graph
    return FeatureSpace(
        History(seen, clock, config.history) if "history" in parts else None,
        Traits.of(dataset, config.traits, kinds) if "traits" in parts else None,
        topologies if "topologies" in parts else None,
        DecisionProcess(seen, config.agent),
        config.features.topology_weight,
    )


def save_model(model: Model, folder: Path, run: dict[str, Any]) -> None:
    """Writes the folder, whole or not at all; `run` (durations, commit) goes to run.json."""
    with new_folder(folder) as building:
        save_data(building, model.dataset, model.graph)
        np.save(building / "weights.npy", model.classifier.weights, allow_pickle=False)
        np.save(building / "bias.npy", model.classifier.bias, allow_pickle=False)
        for place, kind in enumerate(model.kinds):
            np.save(building / f"kind-{place}.npy", kind.of_entity, allow_pickle=False)
            np.save(building / f"kind-{place}-pairs.npy", kind.pairs, allow_pickle=False)
        write_json(building / "topologies.json", _topologies_json(model))
        write_json(building / "run.json", run)
        if model.agent is not None:
            (building / AGENT).write_bytes(model.agent)
        if model.reranker is not None:
            (building / TREES).write_text(model.reranker.text, encoding="utf-8")
        write_json(building / ABOUT, _about(model))


def _about(model: Model) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "preset": model.preset,
        "protocol": model.protocol,
        "seed": model.seed,
        "settings": asdict(model.config),
        "data": {"name": model.dataset.name, "digest": model.dataset.train.digest()},
        "calibration": asdict(model.classifier.calibration),
        "clock": asdict(model.clock),
        "kinds": [{"name": kind.name, "values": list(kind.values)} for kind in model.kinds],
        "report": model.report,
    }


def _topologies_json(model: Model) -> dict[str, Any]:
    names = model.dataset.predicates
    return {
        "topologies": [to_names(sequence, names) for sequence in model.topologies.sequences],
        "mined": [
            [names[m.predicate], to_names(m.sequence, names), m.queries, list(m.examples)]
            for m in model.mined.topologies
        ],
        "tried": {names[row]: count for row, count in model.mined.tried.items()},
        "connected": {names[row]: count for row, count in model.mined.connected.items()},
    }


def load_model(folder: Path) -> Model:
    """The model of a folder, its arrays mapped; ModelError where it is none, or damaged."""
    about = read_json(folder, ABOUT)
    if about.get("kind") == "baseline":
        name = about.get("name")
        raise ModelError(f"{folder} is the baseline {name}: only evaluate and predict take it")
    if about.get("format") != FORMAT:
        found = about.get("format")
        raise ModelError(f"{folder}: a model of format {found}, expected {FORMAT}; fit it again")
    try:
        return _load(folder, about)
    except ModelError:
        raise
    except DAMAGE as error:
        raise ModelError(f"{folder} is damaged: {error}") from None


def _load(folder: Path, about: dict[str, Any]) -> Model:
    dataset, graph = load_data(folder, about["data"]["name"])
    predicates = dataset.predicates
    found = read_json(folder, "topologies.json")
    topologies = topology_set(from_names(names, predicates) for names in found["topologies"])
    classifier = LinearSoftmax(
        load_array(folder / "weights.npy"),
        load_array(folder / "bias.npy"),
        Calibration(**about["calibration"]),
    )
    model = Model(
        preset=about["preset"],
        protocol=about["protocol"],
        seed=about["seed"],
        config=_config(about["settings"]),
        dataset=dataset,
        graph=graph,
        clock=Clock(**about["clock"]),
        kinds=tuple(_load_kind(folder, place, kind) for place, kind in enumerate(about["kinds"])),
        topologies=topologies,
        mined=_mined(found, predicates),
        classifier=classifier,
        report=about["report"],
        agent=(folder / AGENT).read_bytes() if (folder / AGENT).exists() else None,
        reranker=_load_reranker(folder, about, dataset),
    )
    if classifier.weights.shape != (len(model.features()), len(predicates)):
        raise ModelError(f"{folder} is damaged: weights of shape {classifier.weights.shape}")
    return model


def _load_reranker(folder: Path, about: dict[str, Any], dataset: Dataset) -> Reranker | None:
    settings = about["settings"]["reranker"]
    if not settings["rounds"]:
        return None
    mirrors = Mirrors.learned(dataset.train, len(dataset.predicates))
    text = (folder / TREES).read_text(encoding="utf-8")
    return Reranker(text, mirrors, settings["candidates"])


def _load_kind(folder: Path, place: int, about: dict[str, Any]) -> Kind:
    return Kind(
        about["name"],
        tuple(about["values"]),
        load_array(folder / f"kind-{place}.npy"),
        load_array(folder / f"kind-{place}-pairs.npy"),
    )


def _config(settings: dict[str, dict[str, Any]]) -> Config:
    plain: dict[str, dict[str, Any]] = {
        section: {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        for section, values in settings.items()
    }
    return Config(
        features=FeaturesConfig(**plain["features"]),
        history=HistoryConfig(**plain["history"]),
        traits=TraitsConfig(**plain["traits"]),
        agent=AgentConfig(**plain["agent"]),
        mining=MiningConfig(**plain["mining"]),
        classifier=ClassifierConfig(**plain["classifier"]),
        reranker=RerankerConfig(**plain["reranker"]),
    )


def _mined(found: dict[str, Any], names: Names) -> Mined:
    def place(name: str) -> int:
        return from_names([name], names)[0]

    mined = tuple(
        MinedTopology(place(predicate), from_names(sequence, names), count, tuple(examples))
        for predicate, sequence, count, examples in found["mined"]
    )
    tried = {place(name): count for name, count in found["tried"].items()}
    return Mined(mined, tried, {place(name): n for name, n in found["connected"].items()})
