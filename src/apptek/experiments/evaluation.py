"""An evaluated model as a result file."""

import json
from dataclasses import asdict
from pathlib import Path

from apptek.experiments.record import command, write_result
from apptek.prediction.model import Model
from apptek.prediction.ranking import Evaluation


def write_evaluation(
    path: Path, model: Model, folder: Path, split: str, evaluation: Evaluation
) -> None:
    """Writes what a model reached on a split, with how it was fitted and how long that took."""
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    fitted = run.get("command")
    policy = model.config.mining.policy
    write_result(
        path,
        {
            "model": f"apptek_{model.preset}",
            "topologies": {"from": policy, "number": len(model.topologies)},
            "dataset": model.dataset.name,
            "protocol": model.protocol,
            "split": split,
            "seed": model.seed,
            "settings": asdict(model.config),
            "metrics": asdict(evaluation.metrics),
            "groups": {name: part and asdict(part) for name, part in evaluation.groups.items()},
            "tuning": {key: model.report[key] for key in ("l2", "epoch", "valid_mrr", "ece_after")},
            "seconds": run.get("seconds"),
            "command": f"{fitted} && {command()}" if fitted else command(),
        },
    )
