"""Opening a model folder, whichever kind of model it holds."""

from pathlib import Path

from apptek.baselines.baseline import KIND, Baseline
from apptek.errors import ModelError
from apptek.models.answers import Answering
from apptek.models.storage import ABOUT, read_json
from apptek.predictor import Predictor


def open_model(folder: Path, *, as_of: bool = False) -> Answering:
    """The Baseline or Predictor of a folder; only a Predictor can answer as of each query's time.

    ModelError if it is no model folder, or damaged.
    """
    if read_json(folder, ABOUT).get("kind") != KIND:
        return Predictor.load(folder, as_of=as_of)
    if as_of:
        raise ModelError(f"{folder} is a baseline: --as-of needs a model of `apptek fit`")
    return Baseline.load(folder)
