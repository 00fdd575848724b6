"""A fitted model as a result: how it was fitted, and what it reached on a split."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.config import VIEWS, View
from apptek.evaluation.ranking import Evaluation, Metrics
from apptek.evaluation.scorer import evaluate_forecast, evaluate_split
from apptek.facts.facts import Dataset, Split
from apptek.features.traits import Kind
from apptek.predictor import Predictor
from apptek.research.provenance import command
from apptek.research.result import (
    Result,
    plain_settings,
    split_digests,
    write_ranks,
    write_result,
)


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """What a model reached on a split: in each view, and as a forecast where that makes sense."""

    split: Split
    by_view: Mapping[View, Evaluation]  # the usual one first
    rolled: Evaluation | None = None  # where each query saw every fact before its time
    forecast: dict[str, dict[str, Any]] | None = None

    @property
    def rolling(self) -> bool:
        """Whether the facts rolled on."""
        return self.rolled is not None

    @property
    def main_view(self) -> View:
        """The view of the main metrics."""
        return "past_only" if self.rolling else next(iter(self.by_view))

    @property
    def main(self) -> Evaluation:
        """The main metrics: rolling, if they were asked for."""
        return self.rolled or self.by_view[self.main_view]


def evaluate_model(
    fitted: Predictor,
    split: Split,
    view: View | None = None,
    *,
    rolling: bool = False,
    most: int | None = None,
) -> EvaluatedModel:
    """Evaluate a model in a view, or in every one that it and the split allow.

    On a split that lies beyond train, the figures of the forecasting literature come with it.

    rolling  also as if the model were updated day by day
    most     how many queries to ask, of each view alone; by default all, with every figure
    """
    rolled = fitted.evaluate(split, rolling=True) if rolling else None
    views = fitted.views_of(split) if view is None else (view,)
    data = fitted.model.dataset
    by_view = {
        name: evaluate_split(fitted.scorer(split, name), data, split, most=most) for name in views
    }
    forecast = None
    if most is None and data.lies_beyond_train(split):
        scorer = fitted.scorer(split, "past_only", rolling=rolling)
        forecast = evaluate_forecast(scorer, data, split, rolling=rolling)
    return EvaluatedModel(split, by_view, rolled, forecast)


def metrics_table(fitted: Predictor, evaluated: EvaluatedModel) -> pa.Table:
    """Return a row for each view and group of queries, with its metrics."""
    model, rolled = fitted.model, evaluated.rolled
    views: dict[str, Evaluation] = dict(evaluated.by_view.items())
    views |= {} if rolled is None else {"rolling": rolled}
    about = {"dataset": model.dataset.name, "split": evaluated.split, "protocol": model.protocol}
    about |= {"model": model.baseline or model.preset}
    parts = [
        (view, group, metrics)
        for view, found in views.items()
        for group, metrics in {"all": found.metrics, **found.groups, **found.classes}.items()
    ]
    rows = [
        about | {"view": view, "group": group} | asdict(metrics)
        for view, group, metrics in parts
        if metrics is not None
    ]
    texts = [(name, pa.string()) for name in (*about, "view", "group")]
    means = [(each.name, pa.float64()) for each in fields(Metrics)[1:]]
    return pa.Table.from_pylist(rows, pa.schema([*texts, ("queries", pa.int64()), *means]))


def write_evaluation(
    path: Path, fitted: Predictor, evaluated: EvaluatedModel, evaluated_by: str | None = None
) -> None:
    """Write the result of a model on a split, and the rank of every query beside it.

    The metrics and ranks are the rolling ones, if there are any, else those of the first view;
    `all_facts` and `past_only` hold the metrics of both views, null where one was not evaluated.

    evaluated_by  the command that evaluates; by default that of this process
    """
    commands = [fitted.run.get("command"), evaluated_by or command()]
    described = describe_model(fitted)
    if not fitted.model.baseline:
        tuning = _tuning(fitted.model.fitted(evaluated.main_view).report)
        described = replace(described, tuning=tuning)
    result = replace(
        evaluation_result(described, evaluated),
        seconds=fitted.run.get("seconds") or {},
        command=" && ".join(filter(None, commands)),
    )
    write_ranked_result(path, result, evaluated, fitted.model.dataset)


def evaluation_result(described: Result, evaluated: EvaluatedModel) -> Result:
    """Return the description of a model with what it reached on a split."""
    evaluation = evaluated.main
    extras: dict[str, Any] = {
        name: evaluated.by_view[name].as_json() if name in evaluated.by_view else None
        for name in VIEWS
    }
    return replace(
        described,
        split=evaluated.split,
        view=evaluated.main_view,
        rolling=evaluated.rolling,
        metrics=asdict(evaluation.metrics),
        groups={name: group and asdict(group) for name, group in evaluation.groups.items()},
        forecast=evaluated.forecast or {},
        extras={**described.extras, **extras},
    )


def write_ranked_result(
    path: Path, result: Result, evaluated: EvaluatedModel, data: Dataset
) -> None:
    """Write a result, and beside it the rank of every query in its main view."""
    ranks = write_ranks(path, evaluated.main.ranks, data, evaluated.split)
    write_result(path, replace(result, ranks=ranks))


def describe_model(fitted: Predictor) -> Result:
    """Return a model as its results describe it: its name, data, settings, and choices on valid."""
    model = fitted.model
    common = Result(
        model="",
        dataset=model.dataset.name,
        protocol=model.protocol,
        seed=model.seed,
        data=split_digests(model.dataset),
        settings=plain_settings(model.config),
        changed=model.changed,
    )
    if model.baseline:
        others = {view: of_view.report for view, of_view in list(model.views.items())[1:]}
        return replace(
            common,
            model=model.baseline,
            preset=model.preset,
            tuning=model.main.report | others,
        )
    return replace(
        common,
        model=f"apptek_{model.preset}",
        answered_past_only=fitted.answerer.past_only,
        topologies={
            "from": model.config.mining.policy,
            "number": sum(len(part) for part in model.added if part.name == "topologies"),
        },
        tuning=_tuning(model.main.report),
        extras={"types": types_digest(model.main.kinds)},
    )


def _tuning(report: dict[str, Any]) -> dict[str, Any]:
    return {key: report[key] for key in ("l2", "epoch", "valid_mrr", "ece_after")}


def types_digest(kinds: Sequence[Kind]) -> str | None:
    """Return a digest of the types of a model's entities; None where it has none."""
    if not kinds:
        return None
    # Over names, values and the assignment: models with other types must not count as one model.
    digest = hashlib.blake2b(digest_size=16)
    for kind in kinds:
        digest.update(json.dumps([kind.name, kind.values]).encode())
        digest.update(kind.of_entity.tobytes())
    return digest.hexdigest()
