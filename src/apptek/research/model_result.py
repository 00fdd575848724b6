"""A fitted model as a result: how it was fitted, and its metrics on a split."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.arrays import Doubles
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
class EvaluationReport:
    """A scorer's metrics on a split: in each view, and as a forecast if that applies.

    described what was evaluated, and the split
    by_view   the metrics by view, the default view first
    rolled    the evaluation in which each query saw every fact before its time
    forecast  the forecasting literature's four metrics, if the split is later than the training set
    """

    described: Result
    dataset: Dataset = field(repr=False)
    by_view: Mapping[View, Evaluation]
    rolled: Evaluation | None = None
    forecast: dict[str, dict[str, Any]] | None = None

    @property
    def evaluation(self) -> Evaluation:
        """The main ranks, metrics and groups; the rolling ones if they exist."""
        return self.rolled or next(iter(self.by_view.values()))

    @property
    def metrics(self) -> Metrics:
        """The metrics over all queries."""
        return self.evaluation.metrics

    @property
    def groups(self) -> dict[str, Metrics | None]:
        """The metrics for each group of queries; None for an empty group."""
        return self.evaluation.groups

    @property
    def ranks(self) -> Doubles:
        """The rank of each query's true predicate, in the order of the split's facts."""
        return self.evaluation.ranks

    @property
    def result(self) -> Result:
        """The result file: what was evaluated, its main metrics, and the metrics of both views.

        `all_facts` and `past_only` are null if a view was not evaluated.
        """
        views: dict[str, Any] = {
            name: self.by_view[name].as_json() if name in self.by_view else None for name in VIEWS
        }
        return replace(
            self.described,
            view="past_only" if self.rolled else next(iter(self.by_view)),
            rolling=self.rolled is not None,
            metrics=asdict(self.metrics),
            groups={name: group and asdict(group) for name, group in self.groups.items()},
            forecast=self.forecast or {},
            extras={**self.described.extras, **views},
        )

    def save(self, path: str | Path, evaluated_by: str | None = None) -> None:
        """Write a result file and its ranks file; `apptek research compare` reads both.

        evaluated_by  the command that evaluates; by default this process's command
        """
        result = self.result
        assert result.split is not None
        commands = filter(None, [result.command, evaluated_by or command()])
        ranks = write_ranks(Path(path), self.ranks, self.dataset, result.split)
        write_result(Path(path), replace(result, command=" && ".join(commands), ranks=ranks))

    def table(self) -> pa.Table:
        """Return one row of metrics for each view and group of queries."""
        views: dict[str, Evaluation] = dict(self.by_view.items())
        views |= {} if self.rolled is None else {"rolling": self.rolled}
        about = {name: getattr(self.described, name) for name in ("dataset", "split", "protocol")}
        about["model"] = self.described.model.removeprefix("apptek_")
        rows = [
            about | {"view": view, "group": group} | asdict(metrics)
            for view, found in views.items()
            for group, metrics in {"all": found.metrics, **found.groups}.items()
            if metrics is not None
        ]
        texts = [(name, pa.string()) for name in (*about, "view", "group")]
        means = [(each.name, pa.float64()) for each in fields(Metrics)[1:]]
        return pa.Table.from_pylist(rows, pa.schema([*texts, ("queries", pa.int64()), *means]))

    def __repr__(self) -> str:
        about = self.result
        view = "rolling" if about.rolling else about.view
        head = f"{about.model} on {about.dataset}, {about.split}, {view}"
        return f"{head}\n{self.evaluation!r}"


def evaluate_model(
    fitted: Predictor,
    split: Split,
    view: View | None = None,
    *,
    rolling: bool = False,
    most: int | None = None,
) -> EvaluationReport:
    """Evaluate a model in one view, or in every view that the model and the split allow.

    rolling  also evaluate as if the model were updated day by day
    most     number of queries, for each view alone; by default all, with every metric
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
    described = describe_model(fitted, "past_only" if rolling else views[0])
    return EvaluationReport(replace(described, split=split), data, by_view, rolled, forecast)


def describe_model(fitted: Predictor, view: View | None = None) -> Result:
    """Return the description of a model for results: name, data, settings and tuning choices.

    view  the view whose choices are described; by default the main view
    """
    model = fitted.model
    common = Result(
        model="",
        dataset=model.dataset.name,
        protocol=model.protocol,
        seed=model.seed,
        data=split_digests(model.dataset),
        settings=plain_settings(model.config),
        changed=model.changed,
        seconds=fitted.run.get("seconds") or {},
        command=fitted.run.get("command"),
    )
    if model.baseline:
        others = {view: of_view.report for view, of_view in list(model.views.items())[1:]}
        return replace(
            common,
            model=model.baseline,
            preset=model.preset,
            tuning=model.main.report | others,
        )
    report = model.fitted(view or model.main_view).report
    return replace(
        common,
        model=f"apptek_{model.preset}",
        topologies={
            "from": model.config.mining.policy,
            "number": sum(len(part) for part in model.added if part.name == "topologies"),
        },
        tuning={key: report[key] for key in ("l2", "epoch", "valid_mrr", "ece_after")},
        extras={"types": types_digest(model.main.kinds)},
    )


def types_digest(kinds: Sequence[Kind]) -> str | None:
    """Return a digest of the types of a model's entities; None if it has none."""
    if not kinds:
        return None
    # Include names, values and assignments: models with different types must not count as the same.
    digest = hashlib.blake2b(digest_size=16)
    for kind in kinds:
        digest.update(json.dumps([kind.name, kind.values]).encode())
        digest.update(kind.of_entity.tobytes())
    return digest.hexdigest()
