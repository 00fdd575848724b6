"""A model folder opened, whichever kind of model stands in it."""

from pathlib import Path

from apptek.baselines.baseline import KIND, Baseline
from apptek.errors import ModelError
from apptek.models.answers import Answering
from apptek.models.storage import ABOUT, read_json
from apptek.predictor import Predictor


def is_baseline(folder: Path) -> bool:
    """Whether a folder holds a baseline, as its model.json says; ModelError where it holds none."""
    return read_json(folder, ABOUT).get("kind") == KIND


def open_model(folder: Path, *, as_of: bool = False) -> Answering:
    """The model of a folder: a Baseline, or a Predictor, which may answer as of each time."""
    if not is_baseline(folder):
        return Predictor.load(folder, as_of=as_of)
    if as_of:
        raise ModelError(f"{folder} is a baseline: --as-of needs a model of `apptek fit`")
    return Baseline.load(folder)
