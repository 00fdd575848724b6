"""The model folder: everything that a fitted predictor is, as JSON, Parquet and .npy files."""

from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from apptek.config import DEFAULT, VIEWS, RerankerConfig, View
from apptek.errors import ModelError
from apptek.evaluation.calibration import Calibration
from apptek.facts.facts import Dataset
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.features.families import Found, find_family
from apptek.features.support import Support
from apptek.features.traits import Kind
from apptek.files import new_folder, replaced_folder
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.manifest import read_about, read_whole, write_manifest
from apptek.models.model import FeatureSources, FittedView, Model, observed_text
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.registry import baseline_names, find_baseline, model_settings
from apptek.models.reranking.mirrors import Mirrors
from apptek.models.reranking.reranker import Reranker
from apptek.models.scorers import SavedScorer
from apptek.models.storage import (
    ABOUT,
    RUN,
    load_array,
    load_data,
    refusing_damage,
    save_data,
    write_json,
)
from apptek.reading.options import ReadOptions
from apptek.setting_rules import config_from_json

FORMAT = 5
TREES = "reranker.txt"
OCCURRENCE = "occurrence"  # a folder


def save_model(model: Model, folder: Path, run: dict[str, Any], *, in_place: bool = False) -> None:
    """Writes a new folder, whole or not at all; `run` (durations, commit) goes to run.json.

    in_place  the folder takes the place of one of that name
    """
    with (replaced_folder if in_place else new_folder)(folder) as building:
        save_data(building, model.dataset, model.graph)
        for view, fitted in model.views.items():
            _save_view(fitted, building / view)
            if fitted.scorer is not None:
                fitted.scorer.save(building, view)
        write_json(building / RUN, run)
        for part in model.sources.added:
            for name, content in part.files().items():
                (building / name).write_bytes(content)
        if model.occurrence is not None:
            model.occurrence.save(building / OCCURRENCE)
        write_json(building / ABOUT, _about(model))
        write_manifest(building)


def _save_view(fitted: FittedView, folder: Path) -> None:
    folder.mkdir()
    np.save(folder / "weights.npy", fitted.classifier.weights, allow_pickle=False)
    np.save(folder / "bias.npy", fitted.classifier.bias, allow_pickle=False)
    for number, kind in enumerate(fitted.kinds):
        np.save(folder / f"kind-{number}.npy", kind.of_entity, allow_pickle=False)
        np.save(folder / f"kind-{number}-pairs.npy", kind.pairs, allow_pickle=False)
        np.save(folder / f"kind-{number}-guessed.npy", kind.guessed, allow_pickle=False)
    if fitted.support is not None:
        for column in fields(Support):
            array = getattr(fitted.support, column.name)
            np.save(folder / f"support-{column.name}.npy", array, allow_pickle=False)
    if fitted.reranker is not None:
        (folder / TREES).write_text(fitted.reranker.text, encoding="utf-8")


def _about(model: Model) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "baseline": model.baseline,
        "preset": model.preset,
        "changed": model.changed,
        "protocol": model.protocol,
        "seed": model.seed,
        "settings": asdict(model.config),
        "data": {
            "name": model.dataset.name,
            "digest": model.dataset.train.digest(),
            "train": len(model.dataset.train),
            "read_with": dict(model.dataset.read_with),
        },
        "clock": asdict(model.sources.clock),
        "updates": list(model.updates),
        "observed_until": observed_text(model),
        "no_forecasts": model.no_forecasts,
        "views": {
            view: {
                "calibration": asdict(fitted.classifier.calibration),
                "kinds": [
                    {"name": kind.name, "values": list(kind.values), "origin": kind.origin}
                    for kind in fitted.kinds
                ],
                "report": fitted.report,
            }
            for view, fitted in model.views.items()
        },
    }


def load_model(folder: Path, *, baselines: bool = False) -> Model:
    """The model of a folder, its arrays memory-mapped; ModelError where it is none, or damaged.

    baselines  whether it may be a baseline, too, which has no features
    """
    return read_whole(folder, partial(_load_checked, baselines=baselines))


def _load_checked(folder: Path, *, baselines: bool) -> Model:
    about = read_about(folder)
    baseline = about.get("baseline")
    if baseline and not baselines:
        raise ModelError(
            f"{folder} is the baseline {baseline}: only evaluate and predict can use it"
        )
    if baseline and baseline not in baseline_names():
        raise ModelError(
            f"{folder} holds a baseline {baseline!r}, which is not known here: register it, or "
            "install the package that adds it"
        )
    if about.get("format") != FORMAT:
        stored = about.get("format")
        raise ModelError(f"{folder}: a model of format {stored}, expected {FORMAT}; fit it again")
    settings = model_settings(baseline or DEFAULT)  # that torch is missing is no damage
    with refusing_damage(folder):
        return _load(folder, about, settings)


def _load(folder: Path, about: dict[str, Any], settings: Any) -> Model:
    """The model; `settings` are those of some preset, which give the classes of its settings."""
    dataset, graph = load_data(folder, about["data"]["name"], about["data"]["train"])
    read_with = ReadOptions(**about["data"].get("read_with", {})).to_remember()
    dataset = replace(dataset, read_with=read_with)
    config = config_from_json(settings, about["settings"])
    parts = () if about.get("baseline") else config.features.parts
    added = [part for part in parts if part not in ("history", "traits")]
    found = Found(graph, dataset.predicates, config)
    sources = FeatureSources(
        config=config,
        dataset=dataset,
        graph=graph,
        clock=Clock(**about["clock"]),
        added=tuple(find_family(name).load(folder, found) for name in added),
    )
    fitted: list[View] = [view for view in VIEWS if view in about["views"]]
    if not fitted:
        raise ValueError("it has no view")
    views = {view: _load_view(folder, view, about, sources) for view in fitted}
    occurrence, observed = folder / OCCURRENCE, about.get("observed_until")
    return Model(
        baseline=about.get("baseline", ""),
        preset=about["preset"],
        protocol=about["protocol"],
        seed=about["seed"],
        sources=sources,
        views=views,
        updates=tuple(about["updates"]),
        occurrence=OccurrenceModel.open(occurrence) if occurrence.is_dir() else None,
        no_forecasts=about.get("no_forecasts", ""),
        observed_until=None if observed is None else TimeAxis(dataset.axis.unit).parse(observed),
    )


def _load_view(
    model_folder: Path, view: View, about_model: dict[str, Any], sources: FeatureSources
) -> FittedView:
    folder, about = model_folder / view, about_model["views"][view]
    classifier = LinearSoftmax(
        load_array(folder / "weights.npy"),
        load_array(folder / "bias.npy"),
        Calibration(**about["calibration"]),
    )
    if baseline := about_model.get("baseline"):
        saved = SavedScorer(
            folder=model_folder,
            dataset=sources.dataset,
            graph=sources.graph.seen_in(view),
            config=sources.config,
            view=view,
            seed=about_model["seed"],
        )
        scorer, report = find_baseline(baseline).load(saved), about["report"]
        return FittedView(classifier=classifier, kinds=(), report=report, scorer=scorer)
    return FittedView(
        classifier=classifier,
        kinds=tuple(_load_kind(folder, number, kind) for number, kind in enumerate(about["kinds"])),
        report=about["report"],
        reranker=_load_reranker(folder, sources.config.reranker, sources.dataset),
        support=_load_support(folder),
    )


def _load_support(folder: Path) -> Support | None:
    if not (folder / "support-offsets.npy").exists():
        return None
    columns = (load_array(folder / f"support-{column.name}.npy") for column in fields(Support))
    return Support(*columns)


def _load_reranker(folder: Path, config: RerankerConfig, dataset: Dataset) -> Reranker | None:
    if not (folder / TREES).exists():  # the manifest knows whether it should
        return None
    mirrors = Mirrors.learned(dataset.train, len(dataset.predicates))
    return Reranker((folder / TREES).read_text(encoding="utf-8"), mirrors, config.candidates)


def _load_kind(folder: Path, number: int, about: dict[str, Any]) -> Kind:
    return Kind(
        about["name"],
        tuple(about["values"]),
        load_array(folder / f"kind-{number}.npy"),
        load_array(folder / f"kind-{number}-pairs.npy"),
        about["origin"],
        load_array(folder / f"kind-{number}-guessed.npy"),
    )
