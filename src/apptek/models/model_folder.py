"""The model folder: everything that a fitted predictor is, written by `save_model`.

model.json, run.json, arrays.safetensors, what users told about names, trees as LightGBM writes
them, and the manifest that checks all of them. docs/model-folder.md describes each.
"""

from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from apptek.arrays import Arrays
from apptek.config import DEFAULT, VIEWS, View
from apptek.errors import ModelError
from apptek.evaluation.calibration import Calibration
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.features.space import Found, find_family
from apptek.features.support import Support
from apptek.features.traits import Kind
from apptek.files import new_folder
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.manifest import (
    RUN,
    CheckedFolder,
    json_bytes,
    open_folder,
    read_whole,
    write_folder,
)
from apptek.models.model import FittedView, Model, observed_text
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.registry import baseline_names, find_baseline, model_settings
from apptek.models.reranking.candidates import Mirrors
from apptek.models.reranking.reranker import Reranker
from apptek.models.scorers import SavedScorer
from apptek.models.storage import (
    data_about,
    data_arrays,
    data_files,
    load_data,
    refusing_damage,
)
from apptek.setting_rules import config_from_json

RERANKER = "trees/{view}.txt"
OCCURRENCE = "trees/occurrence-{window}.txt"
PLAIN = ("baseline", "no_forecasts", "preset", "protocol", "seed")  # of Model and model.json
KIND_ARRAYS = ("of_entity", "pairs", "guessed")
SUPPORT_ARRAYS = tuple(column.name for column in fields(Support))


def save_model(model: Model, folder: Path, run: dict[str, Any], *, in_place: bool = False) -> None:
    """Write a new folder, whole or not at all; `run` (durations, commit) goes to run.json.

    in_place  the folder takes the place of one of that name
    """
    arrays = data_arrays(model.dataset, model.graph)
    contents = {RUN: json_bytes(run), **data_files(model.dataset)}
    for view, fitted in model.views.items():
        arrays |= _view_arrays(view, fitted)
        if fitted.reranker is not None:
            contents[RERANKER.format(view=view)] = fitted.reranker.text.encode()
    if model.occurrence is not None:
        for window, text in model.occurrence.trees().items():
            contents[OCCURRENCE.format(window=window)] = text.encode()
    for part in model.added:
        contents |= part.files()
    with new_folder(folder, replace=in_place) as building:
        for view, fitted in model.views.items():
            if fitted.scorer is not None:
                fitted.scorer.save(building, view)
        write_folder(building, _about(model), arrays, contents)


def _view_arrays(view: View, fitted: FittedView) -> Arrays:
    arrays = {"weights": fitted.classifier.weights, "bias": fitted.classifier.bias}
    for number, kind in enumerate(fitted.kinds):
        arrays |= {f"kinds.{number}.{name}": getattr(kind, name) for name in KIND_ARRAYS}
    if fitted.support is not None:
        arrays |= {f"support.{name}": getattr(fitted.support, name) for name in SUPPORT_ARRAYS}
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
            }
            for view, fitted in model.views.items()
        },
    }


def load_model(folder: Path, *, baselines: bool = False) -> Model:
    """Return the model of a folder, its arrays memory-mapped; ModelError where it is damaged.

    baselines  whether it may be a baseline, too, which has no features
    """
    return read_whole(folder, partial(_load_checked, baselines=baselines))


def _load_checked(folder: Path, *, baselines: bool) -> Model:
    stored = open_folder(folder)
    baseline = stored.about.get("baseline")
    if baseline and not baselines:
        raise ModelError(
            f"{folder} is the baseline {baseline}: only evaluate and predict can use it"
        )
    if baseline and baseline not in baseline_names():
        raise ModelError(
            f"{folder} holds a baseline {baseline!r}, which is not known here: register it, or "
            "install the package that adds it"
        )
    settings = model_settings(baseline or DEFAULT)  # that torch is missing is no damage
    with refusing_damage(folder):
        return _load(stored, settings)


def _load(stored: CheckedFolder, settings: Any) -> Model:
    """Return the model; `settings` are those of some preset, which give their classes."""
    about = stored.about
    dataset, graph = load_data(stored)
    config = config_from_json(type(settings), about["settings"])
    parts = () if about["baseline"] else config.features.parts
    added = [part for part in parts if part not in ("history", "traits")]
    found = Found(graph, dataset.predicates, config)
    occurrence, observed = about["occurrence"], about["observed_until"]
    views: list[View] = [view for view in VIEWS if view in about["views"]]
    if not views:
        raise ValueError("it has no view")
    model = Model(
        **{name: about[name] for name in PLAIN},
        config=config,
        dataset=dataset,
        graph=graph,
        clock=Clock(**about["clock"]),
        added=tuple(find_family(name).load(stored.contents, found) for name in added),
        views={},
        updates=tuple(about["updates"]),
        occurrence=None if occurrence is None else _load_occurrence(stored, occurrence),
        observed_until=None if observed is None else TimeAxis(dataset.axis.unit).parse(observed),
    )
    return replace(model, views={view: _load_view(stored, view, model) for view in views})


def _load_view(stored: CheckedFolder, view: View, model: Model) -> FittedView:
    about, prefix = stored.about["views"][view], f"{view}."
    arrays = {n.removeprefix(prefix): a for n, a in stored.arrays.items() if n.startswith(prefix)}
    kinds = (
        Kind(
            entry["name"],
            tuple(entry["values"]),
            origin=entry["origin"],
            **{name: arrays[f"kinds.{number}.{name}"] for name in KIND_ARRAYS},
        )
        for number, entry in enumerate(about["kinds"])
    )
    reranker, support = stored.text(RERANKER.format(view=view)), None
    if "support.offsets" in arrays:
        support = Support(*(arrays[f"support.{name}"] for name in SUPPORT_ARRAYS))
    calibration, scorer = Calibration(**about["calibration"]), None
    if baseline := stored.about["baseline"]:
        saved = SavedScorer(
            folder=stored.path,
            dataset=model.dataset,
            graph=model.graph.seen_in(view),
            config=model.config,
            view=view,
            seed=stored.about["seed"],
        )
        scorer = find_baseline(baseline).load(saved)
    return FittedView(
        classifier=LinearSoftmax(arrays["weights"], arrays["bias"], calibration),
        kinds=tuple(kinds),
        report=about["report"],
        reranker=None if reranker is None else _load_reranker(reranker, model),
        support=support,
        scorer=scorer,
    )


def _load_reranker(text: str, model: Model) -> Reranker:
    data = model.dataset
    mirrors = Mirrors.learned(data.train, len(data.predicates))
    return Reranker(text, mirrors, model.config.reranker.candidates)


def _load_occurrence(stored: CheckedFolder, about: dict[str, Any]) -> OccurrenceModel:
    texts = {e["window"]: stored.text(OCCURRENCE.format(**e)) for e in about["horizons"]}
    return OccurrenceModel.from_json(about, {w: t for w, t in texts.items() if t is not None})
