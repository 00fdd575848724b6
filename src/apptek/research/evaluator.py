"""Rank a fitted model or any scorer on a data set, in the same way and with comparable results."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from apptek.arrays import Doubles, Matrix
from apptek.config import VIEWS, View
from apptek.errors import ApptekError
from apptek.evaluation.filters import Filter
from apptek.evaluation.ranking import MOST_CALIBRATED, Evaluation, Metrics, TuningQueries
from apptek.evaluation.scorer import (
    ViewScorer,
    check_evaluated,
    check_one_of,
    checked_scores,
    evaluate_forecast,
    evaluate_split,
)
from apptek.facts.facts import Dataset, Facts, Split
from apptek.facts.protocols import Protocol, apply_protocol
from apptek.facts.queries import Queries, held_out_queries
from apptek.features.traits import Kind
from apptek.predictor import Predictor
from apptek.reading.reader import as_dataset
from apptek.research.provenance import command
from apptek.research.result import (
    Result,
    plain_settings,
    split_digests,
    write_ranks,
    write_result,
)
from apptek.safe_text import counted


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


class Evaluator:
    """Evaluates any scorer on a data set's held-out facts, in the same way as our own models.

        evaluator = Evaluator("icews14")
        report = evaluator.evaluate(scorer, name="mine")
        print(report.metrics.mrr)
        report.save("mine.json")              then: apptek research compare mine.json other.json

    A scorer is a function, or an object with a method `scores`, that takes Queries (arrays of ids:
    subjects, objects, times) and returns a score for each predicate: (B, R). Ids are positions in
    `dataset.entities` and `dataset.predicates`, and never above the last one. Times are codes of
    `dataset.axis`. A scorer may learn from `train` and choose its settings on `valid`. Our own
    models are scorers too.

    data        a Dataset, or anything that `read_dataset` accepts
    protocol    how the splits are defined: official, paper or forecast
    split       the facts to ask about: test or valid
    view        what the scorer may see: all_facts means any training fact, past_only only the facts
                before a query's time (the scorer must ensure this). By default all_facts, unless
                the split is later than the training set
    rolling     past_only, with validation and test facts visible once their time has passed; only
                for fitted models, including your own from `register_baseline`
    filtering   which known predicates a ranking excludes: raw, static or time-aware

    A rank is the expected rank over ties: 1 + the number of better predicates + half the number of
    equal ones.
    """

    def __init__(
        self,
        data: Any,
        *,
        protocol: Protocol = "official",
        split: Split = "test",
        view: View | None = None,
        rolling: bool = False,
        filtering: Filter = "time-aware",
    ) -> None:
        check_evaluated(split, view)
        check_one_of("filtering", filtering, get_args(Filter))
        self.dataset = apply_protocol(as_dataset(data).labelled(), protocol)
        self.protocol, self.split, self.rolling = protocol, split, rolling
        self.filtering = filtering
        beyond = self.dataset.lies_beyond_train(split)
        if view == "all_facts" and (rolling or beyond):
            reason = (
                "a rolling evaluation sees only the past"
                if rolling
                else f"the {split} facts are later than the training set"
            )
            raise ApptekError(f"the view cannot be 'all_facts': {reason}")
        self._view = view
        self.view: View = view or ("past_only" if rolling or beyond else "all_facts")

    @property
    def train(self) -> Facts:
        """The facts that a scorer may learn from."""
        return self.dataset.train

    @property
    def queries(self) -> Queries:
        """The queries that the scorer will receive, in the order of the ranks."""
        return held_out_queries(self.dataset.split(self.split))

    def evaluate(
        self,
        scorer: Any,
        *,
        name: str | None = None,
        seed: int = 0,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        probabilities: Callable[[Matrix], Matrix] | None = None,
    ) -> EvaluationReport:
        """Rank the true predicate of every fact in the split by a scorer's scores.

        name           the model's name in results; by default the name of the function or class
        seed           results that differ only in the seed count as one model in `compare`
        settings       the model's own settings by section and key, stored in the result
        probabilities  converts scores to probabilities; by default they are calibrated on the
                       validation set, as for the baselines
        """
        started = time.monotonic()
        if isinstance(scorer, Predictor):
            described, view_scorer, view = self._ours(scorer)
        else:
            view, view_scorer = self.view, self._foreign(scorer, probabilities)
            described = Result(
                model=name or str(getattr(scorer, "__name__", type(scorer).__name__)),
                dataset=self.dataset.name,
                protocol=self.protocol,
                seed=seed,
                settings=settings or {},
                data=split_digests(self.dataset),
            )
        described = replace(described, split=self.split, filtering=self.filtering)
        evaluation = evaluate_split(view_scorer, self.dataset, self.split, self.filtering)
        by_view: dict[View, Evaluation] = {} if self.rolling else {view: evaluation}
        rolled, forecast = evaluation if self.rolling else None, self._forecast(view_scorer)
        if not isinstance(scorer, Predictor):
            described = replace(described, seconds={"evaluate": time.monotonic() - started})
        return EvaluationReport(described, self.dataset, by_view, rolled, forecast)

    def _forecast(self, scorer: ViewScorer) -> dict[str, dict[str, Any]] | None:
        data, split = self.dataset, self.split
        if scorer.probabilities is None or not data.lies_beyond_train(split):
            return None
        return evaluate_forecast(scorer, data, split, rolling=self.rolling)

    def _ours(self, fitted: Predictor) -> tuple[Result, ViewScorer, View]:
        """Return the parts for evaluating a Predictor. It must be fitted on these splits."""
        described = describe_model(fitted)
        if described.data != split_digests(self.dataset):
            raise ApptekError(
                "the model was fitted on different splits from those of "
                f"{self.dataset.name} under the protocol {self.protocol}"
            )
        known: tuple[View, ...] = ("past_only",) if self.rolling else fitted.views_of(self.split)
        view = self._view or known[0]
        return described, fitted.scorer(self.split, view, rolling=self.rolling), view

    def _foreign(self, scorer: Any, probabilities: Callable[[Matrix], Matrix] | None) -> ViewScorer:
        call = scorer.scores if hasattr(scorer, "scores") else scorer
        if not callable(call):
            raise ApptekError(
                f"a scorer is a function of queries, or has a method scores, not {scorer!r}"
            )
        if self.rolling:
            raise ApptekError(
                "rolling needs a fitted model: register_baseline, with a scorer that has with_facts"
            )
        data, count = self.dataset, len(self.dataset.predicates)

        def scores(queries: Queries) -> Matrix:
            return checked_scores(call(queries), queries, count)

        if probabilities is None and len(data.valid):
            tuning = TuningQueries.of(data, MOST_CALIBRATED)
            probabilities = tuning.calibration(scores(tuning.queries)).probabilities
        return ViewScorer(scores, probabilities)

    def __repr__(self) -> str:
        seen = "rolling" if self.rolling else self.view
        return (
            f"Evaluator of {counted(len(self.queries), 'query')} of {self.dataset.name!r}: "
            f"{self.split}, "
            f"protocol {self.protocol}, {seen}, {self.filtering}"
        )
