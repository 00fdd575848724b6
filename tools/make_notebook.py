"""Writes docs/tutorials/forecast-a-week.ipynb: runs its cells in order and keeps what they show."""

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorials" / "forecast-a-week.ipynb"
TITLE = """# From a frame to an explained forecast

The events here are invented. Put a frame of your own in the place of `frame`, with one row for each
event and the columns subject, predicate, object and time."""
CELLS = (
    """import pandas as pd
from apptek import Predictor, make_world

world = make_world(3000, 0).dataset
facts, names, predicates = world.all_facts(), world.entities, world.predicates
frame = pd.DataFrame({
    "subject": [names[i] for i in facts.subjects],
    "predicate": [predicates[i] for i in facts.predicates],
    "object": [names[i] for i in facts.objects],
    "time": [world.axis.format(code) for code in facts.times],
})
frame = frame[frame["time"] != "?"].sort_values("time", kind="stable")
pd.set_option("display.width", 120, "display.max_columns", 8)
frame.tail(3)""",
    "predictor = Predictor.fit(frame)\npredictor",
    """pairs = frame.groupby(["subject", "object"]).size()
pairs = pairs.sort_values(ascending=False, kind="stable")
one, other = pairs.index[0]
pairs.head(3)""",
    """# Which predicate, given that there is a fact between the two at that time?
predictor.predict((one, other, frame["time"].max()), top=3)""",
    """# Whether there will be one at all: the 30 days after the last event.
forecast = predictor.forecast(one, other, days=30)
forecast""",
    "pd.DataFrame(forecast.curve).tail(3)",
    """pd.DataFrame([(p.subject, p.predicate, p.probability) for p in forecast.predicates[:5]],
             columns=["who", "does what", "at least once"])""",
    """# Why anything should happen: what adds to the log-odds of an average pair that has met.
for reason in forecast.directions[0].reasons:
    print(f"{reason.log_odds:+.2f}  {reason.sentence}")""",
    """# As of a day in the past: nothing from then on is used.
start = frame["time"].iloc[int(0.8 * len(frame))]
predictor.forecast(one, other, start, days=30).probability""",
    """# The pairs whose chance of anything changes most; or watch([(one, other), ...], days=30).
predictor.watch(most=5, days=30)""",
)


def run_cells() -> list[list[dict[str, Any]]]:
    """The outputs of each cell: what it prints, and its last expression."""
    namespace: dict[str, Any] = {}
    return [_run(source, namespace) for source in CELLS]


def _run(source: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    outputs: list[dict[str, Any]] = []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        shown = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_()
        outputs.append({"output_type": "execute_result", "data": shown, "metadata": {}})
    return outputs


def notebook(outputs: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """The notebook with these outputs, in nbformat 4.5."""
    title = {"cell_type": "markdown", "id": "title", "metadata": {}, "source": TITLE}
    cells = []
    for number, (source, shown) in enumerate(zip(CELLS, outputs, strict=True), 1):
        counted = [
            {**part, "execution_count": number} if part["output_type"] == "execute_result" else part
            for part in shown
        ]
        cells.append(
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "source": source,
                "execution_count": number,
                "outputs": counted,
            }
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [title, *cells],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


if __name__ == "__main__":
    text = json.dumps(notebook(run_cells()), indent=1, ensure_ascii=False) + "\n"
    NOTEBOOK.write_text(text, encoding="utf-8")
