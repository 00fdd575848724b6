"""Opening a model folder, whichever kind of model it holds."""

from pathlib import Path
from typing import Any

from apptek.baselines.baseline import KIND, Baseline
from apptek.baselines.definition import BaselineModel
from apptek.engine.engine import Engine
from apptek.errors import ApptekError
from apptek.models.storage import ABOUT, read_json
from apptek.models.summary import summarize, summarize_data
from apptek.predictor import Predictor


def load(folder: str | Path, *, past_only: bool = False) -> Baseline | Predictor:
    """Opens a model folder, that of a baseline included.

    past_only  answer from what was known before each query's time
    """
    return open_model(Path(folder), past_only=past_only)


def summarize_folder(folder: Path) -> dict[str, Any]:
    """What the model or baseline of a folder says of itself, ready for JSON."""
    model = open_model(folder).model
    if isinstance(model, BaselineModel):
        return {"baseline": model.name, **summarize_data(model, model.graph)}
    return summarize(model)


def open_model(folder: Path, *, past_only: bool = False) -> Baseline | Predictor:
    """The Baseline or Predictor of a folder; ModelError if it is no model folder, or damaged."""
    if read_json(folder, ABOUT).get("kind") != KIND:
        return Predictor.load(folder, past_only=past_only)
    return Baseline.load(folder, past_only=past_only)


def on_engine(model: Baseline | Predictor, engine: Engine | None) -> Baseline | Predictor:
    """The model with its scores made by an engine; ApptekError for a baseline."""
    if engine is None:
        return model
    if isinstance(model, Baseline):
        raise ApptekError("a baseline stays on one machine: leave out --engine")
    return model.on_engine(engine)
