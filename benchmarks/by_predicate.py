"""Record the data of two figures: ranks by predicate, and how often top answers were correct.

    python -m benchmarks.by_predicate icews14 --result paper/results/by-predicate-icews14.json

It fits `default` and `recency` and evaluates the test split of the official protocol once.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from apptek import Dataset, Predictor, TemporalGraph, read_dataset
from apptek.arrays import Doubles
from apptek.config import View
from apptek.evaluation.calibration import reliability, top_predictions
from apptek.evaluation.filters import known_predicates
from apptek.facts.queries import held_out_queries
from apptek.features.clock import Clock
from apptek.research.evaluator import evaluate_model
from apptek.research.result import Result, plain_settings, write_result

MODELS = ("recency", "default")
VIEWS: tuple[View, ...] = ("all_facts", "past_only")


def main() -> None:
    """Fit, evaluate and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    data = read_dataset(options.data)
    fitted = {name: Predictor.fit(data, model=name, seed=options.seed) for name in MODELS}
    data = fitted["default"].model.dataset
    reports = {name: evaluate_model(model, "test") for name, model in fitted.items()}
    ranks = {
        name: {view: report.by_view[view].ranks for view in VIEWS}
        for name, report in reports.items()
    }
    result = Result(
        model="by_predicate",
        dataset=data.name,
        protocol="official",
        split=None,  # a split would mark this as the evaluation of one model
        seed=options.seed,
        settings=plain_settings(fitted["default"].model.config),
        metrics={name: asdict(report.metrics) for name, report in reports.items()},
        extras={
            "asked": "test",
            "predicates": by_predicate(data, ranks),
            "reliability": {view: top_answers(fitted["default"], data, view) for view in VIEWS},
            "time_scales": asdict(Clock.of(TemporalGraph.of(data))),
        },
    )
    write_result(options.result, result)


def by_predicate(data: Dataset, ranks: dict[str, dict[View, Doubles]]) -> list[dict[str, Any]]:
    """Return each predicate's queries and MRR by model and view, most common first."""
    counts = np.bincount(data.test.predicates, minlength=len(data.predicates))
    rows = []
    for predicate in np.argsort(-counts, kind="stable")[: (counts > 0).sum()]:
        of_predicate = data.test.predicates == predicate
        mrr = {
            name: {view: float((1 / found[of_predicate]).mean()) for view, found in views.items()}
            for name, views in ranks.items()
        }
        name = data.predicates[int(predicate)]
        rows.append({"predicate": name, "queries": int(counts[predicate]), "mrr": mrr})
    return rows


def top_answers(predictor: Predictor, data: Dataset, view: View) -> list[dict[str, Any]]:
    """Return how often the top answers were correct, binned by their probability."""
    scorer = predictor.scorer("test", view)
    assert scorer.probabilities is not None
    shares = scorer.probabilities(scorer.scores(held_out_queries(data.test)))
    best, sure = top_predictions(shares)
    known = known_predicates(data.test, (data.train, data.valid, data.test))
    correct = known.contains(best) | (best == data.test.predicates)
    return [asdict(each) for each in reliability(sure, correct)]


if __name__ == "__main__":
    main()
