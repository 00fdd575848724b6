"""Rank any scorer on a data set in the same way as our own models, with a comparable result."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

from apptek.arrays import Matrix
from apptek.config import View
from apptek.errors import ApptekError
from apptek.evaluation.filters import Filter
from apptek.evaluation.ranking import MOST_CALIBRATED, Evaluation, TuningQueries
from apptek.evaluation.scorer import (
    ViewScorer,
    check_evaluated,
    check_one_of,
    checked_scores,
    evaluate_forecast,
    evaluate_split,
)
from apptek.facts.facts import Facts, Split
from apptek.facts.protocols import Protocol, apply_protocol
from apptek.facts.queries import Queries, held_out_queries
from apptek.predictor import Predictor
from apptek.reading.reader import as_dataset
from apptek.research.model_result import EvaluationReport, describe_model
from apptek.research.result import Result, split_digests
from apptek.safe_text import counted


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
                "rolling sees only the past" if rolling else f"the {split} facts lie after train"
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
                model=name or _name_of(scorer),
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
                f"the model was fitted on other splits than those of {self.dataset.name} under the "
                f"protocol {self.protocol}"
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


def _name_of(scorer: Any) -> str:
    return str(getattr(scorer, "__name__", type(scorer).__name__))
