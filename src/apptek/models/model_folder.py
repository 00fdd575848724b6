"""The model folder, which contains everything in a fitted predictor. `save_model` writes it.

It contains model.json, run.json, arrays.safetensors, the user's tables about names, trees in
LightGBM's text format, and the manifest that checks them. docs/model-folder.md describes each file.
"""

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Arrays
from apptek.config import DEFAULT, VIEWS, View
from apptek.errors import GraphError, ModelError
from apptek.evaluation.calibration import Calibration
from apptek.evaluation.prediction_sets import STRATA, PredictionSets
from apptek.facts.facts import SPLITS, Dataset, Names
from apptek.facts.predicate_table import PredicateTable
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.features.space import Found, find_family
from apptek.features.support import Support
from apptek.features.traits import Kind
from apptek.files import new_folder
from apptek.graph.stored_graph import (
    check_facts,
    facts_arrays,
    facts_from,
    graph_about,
    graph_arrays,
    graph_from,
)
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import Counted
from apptek.models.counting_kernels import Weights, dating_of
from apptek.models.linear_softmax import LinearSoftmax, SparseWeights
from apptek.models.manifest import (
    RUN,
    CheckedFolder,
    json_bytes,
    open_folder,
    read_whole,
    refusing_damage,
    write_folder,
)
from apptek.models.model import FittedView, Model, observed_text
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.registry import baseline_names, find_baseline, model_settings
from apptek.models.reranking.candidates import Mirrors
from apptek.models.reranking.reranker import Reranker
from apptek.models.scorers import SavedScorer
from apptek.reading.options import ReadOptions
from apptek.setting_rules import config_from_json

LABELS = "labels.json"  # labels, phrases and classes of predicates
ALIASES = "aliases.json"  # additional names of entities
NAMES = ("entities", "predicates")
RERANKER = "trees/{view}.txt"
PLAIN = ("baseline", "no_forecasts", "preset", "protocol", "seed")  # in Model and in model.json
SETS = ("sets", "later_sets")
SPARSE_ARRAYS = ("offsets", "predicates", "values")
KIND_ARRAYS = ("of_entity", "pairs", "guessed")
SUPPORT_ARRAYS = tuple(column.name for column in fields(Support))


def save_model(model: Model, folder: Path, run: dict[str, Any], *, in_place: bool = False) -> None:
    """Write a new folder atomically. `run` (durations, commit) is written to run.json.

    in_place  overwrite an existing folder
    """
    arrays = data_arrays(model.dataset, model.graph)
    contents = {RUN: json_bytes(run), **data_files(model.dataset)}
    for view, fitted in model.views.items():
        arrays |= _view_arrays(view, fitted)
        if fitted.reranker is not None:
            contents[RERANKER.format(view=view)] = fitted.reranker.text.encode()
    for part in model.added:
        contents |= part.files()
    with new_folder(folder, replace=in_place) as building:
        for view, fitted in model.views.items():
            if fitted.scorer is not None:
                fitted.scorer.save(building, view)
        write_folder(building, _about(model), arrays, contents)


def _view_arrays(view: View, fitted: FittedView) -> Arrays:
    weights, arrays = fitted.classifier.weights, {"bias": fitted.classifier.bias}
    if isinstance(weights, SparseWeights):
        arrays |= {f"weights.{name}": getattr(weights, name) for name in SPARSE_ARRAYS}
    else:
        arrays["weights"] = weights
    for number, kind in enumerate(fitted.kinds):
        arrays |= {f"kinds.{number}.{name}": getattr(kind, name) for name in KIND_ARRAYS}
    if fitted.support is not None:
        arrays |= {f"support.{name}": getattr(fitted.support, name) for name in SUPPORT_ARRAYS}
    for field in SETS:
        if (sets := getattr(fitted, field)) is not None:
            arrays |= {f"{field}.{name}": getattr(sets, name) for name in STRATA}
    return {f"{view}.{name}": array for name, array in arrays.items()}


def _about(model: Model) -> dict[str, Any]:
    occurrence = model.occurrence
    return {name: getattr(model, name) for name in PLAIN} | {
        "changed": model.changed,
        "settings": asdict(model.config),
        "data": data_about(model.dataset, model.graph),
        "clock": asdict(model.clock),
        "updates": model.updates,
        "observed_until": None if model.observed_until is None else observed_text(model),
        "occurrence": None if occurrence is None else occurrence.to_json(),
        "views": {
            view: {
                "calibration": asdict(fitted.classifier.calibration),
                "kinds": [
                    {"name": kind.name, "values": kind.values, "origin": kind.origin}
                    for kind in fitted.kinds
                ],
                "report": fitted.report,
                "counting": fitted.counted
                and {"weight": fitted.counted.weight, "kernel": fitted.counted.kernel._asdict()},
            }
            for view, fitted in model.views.items()
        },
    }


def load_model(folder: Path, *, baselines: bool = False) -> Model:
    """Return the model in a folder, with memory-mapped arrays. Raise ModelError if it is damaged.

    baselines  whether to accept baselines, which have no features
    """
    return read_whole(folder, lambda path: _load_checked(path, baselines=baselines))


def _load_checked(folder: Path, *, baselines: bool) -> Model:
    stored = open_folder(folder)
    baseline = stored.about.get("baseline")
    if baseline and not baselines:
        raise ModelError(
            f"{folder} is the baseline {baseline}: it supports only evaluate and predict"
        )
    if baseline and baseline not in baseline_names():
        raise ModelError(
            f"{folder} has the baseline {baseline!r}, which is not known here: register it, or "
            "install the package that adds it"
        )
    settings = model_settings(baseline or DEFAULT)  # a missing torch is not damage
    with refusing_damage(folder):
        return _load(stored, settings)


def _load(stored: CheckedFolder, settings: Any) -> Model:
    """Return the model. `settings` may come from any preset: only their classes matter."""
    about = stored.about
    dataset, graph = load_data(stored)
    config = config_from_json(type(settings), about["settings"])
    parts = () if about["baseline"] else config.features.parts
    added = [part for part in parts if part not in ("history", "traits")]
    found = Found(graph, dataset.predicates, config)
    occurrence, observed = about["occurrence"], about["observed_until"]
    views: list[View] = [view for view in VIEWS if view in about["views"]]
    if not views:
        raise ValueError("it has no views")
    _texts([about["preset"]])
    model = Model(
        **{name: about[name] for name in PLAIN},
        config=config,
        dataset=dataset,
        graph=graph,
        clock=Clock(**about["clock"]),
        added=tuple(find_family(name).load(stored.contents, found) for name in added),
        views={},
        updates=tuple(about["updates"]),
        occurrence=None if occurrence is None else OccurrenceModel.from_json(occurrence),
        observed_until=None if observed is None else TimeAxis(dataset.axis.unit).parse(observed),
    )
    return replace(model, views={view: _load_view(stored, view, model) for view in views})


def _load_view(stored: CheckedFolder, view: View, model: Model) -> FittedView:
    about, prefix = stored.about["views"][view], f"{view}."
    arrays = {n.removeprefix(prefix): a for n, a in stored.arrays.items() if n.startswith(prefix)}
    kinds = (
        Kind(
            _texts([entry["name"]])[0],
            _texts(entry["values"]),
            origin=entry["origin"],
            **{name: arrays[f"kinds.{number}.{name}"] for name in KIND_ARRAYS},
        )
        for number, entry in enumerate(about["kinds"])
    )
    data, reranker, support = model.dataset, None, None
    if (trees := RERANKER.format(view=view)) in stored.contents:
        mirrors = Mirrors.learned(data.train, len(data.predicates))
        text = stored.contents[trees].decode()
        reranker = Reranker(text, mirrors, model.config.reranker.candidates)
    sets = {
        field: PredictionSets(*(arrays[f"{field}.{name}"] for name in STRATA))
        for field in SETS
        if f"{field}.{STRATA[0]}" in arrays
    }
    if "support.offsets" in arrays:
        support = Support(*(arrays[f"support.{name}"] for name in SUPPORT_ARRAYS))
    calibration, scorer = Calibration(**about["calibration"]), None
    if baseline := stored.about["baseline"]:
        saved = SavedScorer(
            folder=stored.path,
            dataset=data,
            graph=model.graph.seen_in(view),
            config=model.config,
            view=view,
            seed=stored.about["seed"],
        )
        scorer = find_baseline(baseline).load(saved)
    return FittedView(
        classifier=LinearSoftmax(_weights(arrays), arrays["bias"], calibration),
        kinds=tuple(kinds),
        report=dict(about["report"]),
        reranker=reranker,
        support=support,
        scorer=scorer,
        counted=_load_counted(about["counting"], data),
        **sets,
    )


def _texts(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"expected texts, found {values!r}"[:200])
    return tuple(values)


def _weights(arrays: Arrays) -> Any:
    if "weights" in arrays:
        return arrays["weights"]
    parts = {name: arrays[f"weights.{name}"] for name in SPARSE_ARRAYS}
    return SparseWeights(**parts, width=len(arrays["bias"]))


def _load_counted(entry: dict[str, Any] | None, data: Dataset) -> Counted | None:
    if entry is None:
        return None
    kernel = Weights(**{name: float(value) for name, value in entry["kernel"].items()})
    if min(kernel.pair_decay, kernel.entity_decay) <= 0:
        raise ValueError("counting never decays: expected decays above 0")
    return Counted(float(entry["weight"]), kernel, dating_of(data.train, len(data.predicates)))


def data_about(dataset: Dataset, graph: TemporalGraph) -> dict[str, Any]:
    """Return what model.json records about the data."""
    return {
        "name": dataset.name,
        "digest": dataset.train.digest(),
        "train": len(dataset.train),
        "read_with": dict(dataset.read_with),
        "sorted_names": [dataset.entities.sorted_count, dataset.predicates.sorted_count],
        "graph": graph_about(graph),
    }


def data_arrays(dataset: Dataset, graph: TemporalGraph) -> Arrays:
    """Return the graph, the names, and the validation and test facts.

    The training facts are the graph's first facts. They are stored separately if some of them were
    removed from the graph.
    """
    apart = not graph.facts.first(len(dataset.train)).equals(dataset.train)
    arrays = graph_arrays(graph)
    for split in SPLITS if apart else SPLITS[1:]:
        arrays |= facts_arrays(split, dataset.split(split))
    return arrays | _names("entities", dataset.entities) | _names("predicates", dataset.predicates)


def data_files(dataset: Dataset) -> dict[str, bytes]:
    """Return the files with the tables that users provided about names."""
    files = {}
    if dataset.labels:
        files[LABELS] = json_bytes(dataset.labels.as_json())
    if dataset.aliases:
        files[ALIASES] = json_bytes(dataset.aliases)
    return files


def load_data(stored: CheckedFolder) -> tuple[Dataset, TemporalGraph]:
    """Return the data set and the graph in a folder, with memory-mapped arrays.

    Raise GraphError if an id or an offset would take a kernel out of its arrays' bounds.
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
    """Return the concatenated bytes of all names, and the offset of each."""
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
        raise ValueError(f"{key}.offsets or {key}.text has the wrong type")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    names = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    names.validate(full=True)
    if len(names) != count:
        raise GraphError(f"there are {len(names)} names for {count} ids")
    if not 0 <= sorted_count <= len(names):
        raise ValueError(f"{sorted_count} sorted names of {len(names)}")
    return Names(names, sorted_count)
