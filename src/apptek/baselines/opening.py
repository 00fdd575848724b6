"""A model folder opened, whichever kind of model stands in it."""

from pathlib import Path

from apptek.baselines.baseline import KIND, Baseline
from apptek.extras import require_torch
from apptek.prediction.asking import Answering
from apptek.prediction.storing import ABOUT, read_json


def is_baseline(folder: Path) -> bool:
    """Whether a folder holds a baseline, as its model.json says; ModelError where it holds none."""
    return read_json(folder, ABOUT).get("kind") == KIND


def open_model(folder: Path) -> Answering:
    """The model of a folder: a Baseline, or a Predictor, which needs torch."""
    if is_baseline(folder):
        return Baseline.load(folder)
    require_torch()
    from apptek.prediction.predictor import Predictor

    return Predictor.load(folder)
