"""An evaluated model as a result file, with the rank of every query beside it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from apptek.baselines.baseline import Baseline
from apptek.data.facts import SPLITS, Split
from apptek.evaluation.ranking import Evaluation
from apptek.experiments.ranks import write_ranks
from apptek.experiments.result_file import command, write_result
from apptek.features.traits import Kind
from apptek.models.answers import Answering

if TYPE_CHECKING:  # a baseline without torch must be recorded without it
    from apptek.predictor import Predictor


def write_evaluation(
    path: Path,
    fitted: Answering,
    folder: Path,
    split: Split,
    evaluation: Evaluation,
    *,
    asked_by: str | None = None,
) -> None:
    """Writes what a model reached on a split, with how it was fitted and how long that took.

    asked_by  the command that evaluates; that of this process if it is not given
    """
    asked_by = asked_by or command()
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    made_by, model = run.get("command"), fitted.model
    write_result(
        path,
        {
            "dataset": model.dataset.name,
            "protocol": model.protocol,
            "split": split,
            "data": {name: model.dataset.split(name).digest() for name in SPLITS},
            "seed": model.seed,
            "metrics": asdict(evaluation.metrics),
            "groups": {name: part and asdict(part) for name, part in evaluation.groups.items()},
            "ranks": write_ranks(path, evaluation.ranks, model.dataset, split),
            "seconds": run.get("seconds"),
            "command": f"{made_by} && {asked_by}" if made_by else asked_by,
            **about_model(fitted),
        },
    )


def types_digest(kinds: Sequence[Kind]) -> str | None:
    """The types of a model's entities in a few letters, which tell models with others apart."""
    if not kinds:
        return None
    found = hashlib.blake2b(digest_size=16)
    for kind in kinds:
        found.update(json.dumps([kind.name, kind.values]).encode())
        found.update(kind.of_entity.tobytes())
    return found.hexdigest()


def about_model(fitted: Answering) -> dict[str, Any]:
    """The name of a model, its settings, and what was chosen on valid."""
    if isinstance(fitted, Baseline):
        baseline = fitted.model
        settings, tuning = asdict(baseline.config), baseline.report
        named = {"model": baseline.name, "preset": baseline.preset}
        return {**named, "settings": settings, "tuning": tuning}
    predictor = cast("Predictor", fitted)
    model = predictor.model
    return {
        "as_of": predictor.as_of,
        "model": f"apptek_{model.preset}",
        "topologies": {"from": model.config.mining.policy, "number": len(model.sources.topologies)},
        "settings": asdict(model.config),
        "types": types_digest(model.sources.kinds),
        "tuning": {key: model.report[key] for key in ("l2", "epoch", "valid_mrr", "ece_after")},
    }
