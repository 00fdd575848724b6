"""A backtest as files: every forecast, the figures, the diagram; and as a recorded result."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from apptek.extras import has_matplotlib
from apptek.files import new_folder
from apptek.forecasting.backtest import Backtest
from apptek.models.model import Model
from apptek.present.reliability_diagram import Panel, reliability_png, reliability_svg


def write_backtest(folder: Path, outcome: Backtest, forecasts: pa.Table) -> None:
    """A new folder: forecasts.parquet, backtest.json, reliability.svg; whole or not at all.

    Where Matplotlib is installed, reliability.png, too.
    """
    with new_folder(folder) as building:
        parquet.write_table(forecasts, building / "forecasts.parquet")
        text = json.dumps(outcome.as_json(), indent=1, ensure_ascii=False) + "\n"
        (building / "backtest.json").write_text(text, encoding="utf-8")
        panels = panels_of(outcome)
        (building / "reliability.svg").write_text(reliability_svg(panels), encoding="utf-8")
        if has_matplotlib():
            (building / "reliability.png").write_bytes(reliability_png(panels))


def panels_of(outcome: Backtest) -> list[Panel]:
    """The panels of the reliability diagram: anything at all, and predicates."""
    return [
        ("Anything at all", outcome.reliability),
        ("Predicates", outcome.predicate_reliability),
    ]


def backtest_result(model: Model, outcome: Backtest) -> dict[str, Any]:
    """The entries of a result file: what was fitted, what was rolled through, what came out."""
    entries = outcome.as_json()
    tested = [window for window in outcome.windows if not window.in_training]
    return {
        "model": "backtest",
        "dataset": model.dataset.name,
        "protocol": model.protocol,
        "preset": model.preset,
        "seed": model.seed,
        "data": {"train": model.dataset.train.digest()},
        "metrics": {"forecasts": entries["figures"], **entries["baselines"]},
        "windows": {
            "every": outcome.every,
            "lead": outcome.lead,
            "recent": outcome.recent,
            "unit": outcome.unit,
            "count": len(tested),
            "in_training": len(outcome.windows) - len(tested),
            "first": tested[0].first if tested else None,
            "last": tested[-1].last if tested else None,
        },
        **{
            name: entries[name]
            for name in (
                "skill", "groups", "predicates", "reliability", "predicate_reliability",
                "surprises",
            )
        },
    }  # fmt: skip
