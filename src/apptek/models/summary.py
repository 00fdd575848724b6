"""A model in a few lines: its data, its views, what was added since the fit."""

from typing import Any

import numpy as np

from apptek.facts.facts import Dataset, Facts
from apptek.facts.times import UNKNOWN
from apptek.models.model import Model, observed_text

MANY_ADDED = 0.2  # facts added for each training fact, from which on a new fit is advisable
MANY_UNKNOWN = 0.01  # facts with predicates that were never learned, likewise


def summarize(model: Model) -> dict[str, Any]:
    """What a model says of itself and of the facts that it answers from, ready for JSON."""
    data, graph = model.dataset, model.graph
    common = {
        "dataset": data.name,
        "preset": model.preset,
        "changed": model.changed,
        "protocol": model.protocol,
        "seed": model.seed,
        "entities": len(data.entities),
        "predicates": len(data.predicates),
        "labels_from": data.labels.source if data.labels else "none",
        "aliases": len(data.aliases),
        "answers_from": len(graph.facts),
        "training_facts": len(data.train),
        **_span(data, graph.facts),
        "time_unit": data.axis.unit,
        "open_end": graph.open_end,
        "views": {view: fitted.report["valid_mrr"] for view, fitted in model.views.items()},
        "calibrated": model.calibrated,
    }
    if model.baseline:
        return {"baseline": model.baseline, **common}
    added = sum(update["added"] for update in model.updates)
    unknown = sum(sum(update["unknown_predicates"].values()) for update in model.updates)
    return {
        **common,
        "observed_until": observed_text(model) or "?",
        "forecasts": model.no_forecasts or "yes",
        "quality": {view: fitted.report.get("quality") for view, fitted in model.views.items()},
        "updates": len(model.updates),
        "added_since_the_fit": added,
        "retracted_since_the_fit": sum(update["retracted"] for update in model.updates),
        "left_out_since_the_fit": unknown,
        "refit": _advice(added, unknown, len(data.train)),
    }


def _span(data: Dataset, facts: Facts) -> dict[str, str]:
    """The first and the last known start, as they are written."""
    times = facts.times
    dated = times[times != UNKNOWN]
    if not len(dated):
        return {"first": "?", "last": "?"}
    positions = data.axis.positions(dated)
    ends = (int(np.argmin(positions)), int(np.argmax(positions)))
    first, last = (data.axis.format(int(dated[row])) for row in ends)
    return {"first": first, "last": last}


def _advice(added: int, unknown: int, training: int) -> str:
    if unknown > MANY_UNKNOWN * training:
        return "advisable: many facts have predicates that the model never learned"
    if added > MANY_ADDED * training:
        return "advisable: much was added since the fit"
    return "not needed"
