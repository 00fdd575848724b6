"""The predictor answers (subject, ?, object, time) with ranked, calibrated predicates."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from apptek.config import Progress, View, no_progress
from apptek.errors import ApptekError, ArgumentError, NoFactsError, check_count
from apptek.evaluation.ranking import Evaluation
from apptek.evaluation.scorer import ViewScorer, check_evaluated, evaluate_split
from apptek.facts.facts import Dataset, Split
from apptek.facts.protocols import Protocol
from apptek.files import is_model, sole_writer
from apptek.models.answer_tables import SCHEMA, AnswerTable
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.asked_queries import asked_queries, is_single, one_query
from apptek.models.manifest import RUN, read_json
from apptek.models.model import Model, with_earlier_facts, with_training_facts
from apptek.models.model_folder import load_model, save_model
from apptek.reading.frames import When, is_frame, read_query_texts, time_text
from apptek.results import (
    ActorForecast,
    Answer,
    Answers,
    Contrast,
    Counterfactual,
    EntityRanking,
    Explanation,
    Forecast,
    Query,
    WatchList,
    WhatIf,
)
from apptek.resuming import work_folder
from apptek.safe_text import counted

if TYPE_CHECKING:  # methods import what only they need, so that predictions start faster
    from apptek.forecast.forecaster import EventFilter, Forecaster
    from apptek.forecast.window import Window
    from apptek.models.fitting.stages import FitOptions, TypeTable
    from apptek.models.updating import UpdateReport
    from apptek.reading.name_tables import PredicateLabels

__all__ = ["Answer", "Answers", "Predictor", "Query"]


class Predictor:
    """A fitted model that answers queries.

    predictor = Predictor.fit(data)
    predictor.save("model")
    Predictor.load("model").predict([Query("Iran", "China", "2014-02-02")], top=3)
    """

    def __init__(
        self,
        model: Model,
        run: dict[str, Any] | None = None,
        *,
        past_only: bool = False,
    ) -> None:
        self.model = model
        self.run = run or {}  # how the model was fitted: the seconds of each stage, and `about_run`
        self.answerer = Answerer(model, past_only=past_only)

    def __getstate__(self) -> dict[str, Any]:
        """Return the model and its settings, without the indexes that can be rebuilt."""
        return {"model": self.model, "run": self.run, "past_only": self.answerer.past_only}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @classmethod
    def fit(  # a facade: each keyword is one choice of the user
        cls, data: Any, *, model: str | None = None, config: Any = None,
        protocol: Protocol = "official", seed: int = 0, split: str | None = None, sql: str = "",
        types: "TypeTable | str | Path | None" = None, predicates: "PredicateLabels | None" = None,
        aliases: Mapping[str, str] | str | Path | None = None, final: bool | None = None,
        folder: str | Path | None = None, resume: bool = False, replace: bool = False,
        observed_until: When = None, progress: Progress = no_progress,
        about_run: dict[str, Any] | None = None, agent: Path | None = None,
    ) -> "Predictor":  # fmt: skip
        """Fit a model; with a `folder`, save it there and allow interrupted runs to resume.

        data       a Dataset, or anything that `read_dataset` accepts: a frame, tuples, a path, a
                   database
        model      default, max or paper, or a baseline such as recency. A baseline predicts and is
                   evaluated in the same way
        config     your own settings; `model` then names the model that they started from, by
                   default the one with the most similar settings
        split      the column that contains train, valid or test; by default the column named split
        sql        a query, if the data is the URL of a database
        types      the types of entities: {"sector": {"Reuters": "Media", ...}, ...}, or a file.
                   They replace the types under the same name in the data
        predicates labels and classes of predicates: {"040": {"label": "Consult", ...}, ...}, or a
                   file; "none" also turns off the built-in CAMEO table
        aliases    alternative names of entities, {alias: name}, or a file
        final      whether to answer from all facts, including the validation and test sets; by
                   default only if the data is a single file. The metrics still use the training
                   facts alone
        replace    whether to overwrite `folder` if it is a model already, after the fit succeeds
        observed_until
                   the last observed time, if it is later than the last fact; forecasts start after
                   it
        progress   called with the name of the stage, its completed parts and its total parts
        about_run  additional entries for run.json, such as a command or a commit
        agent      the folder of an agent from `apptek paper train`, to use instead of training one
        """
        from apptek.models.fitting.stages import fit_options
        from apptek.reading.name_tables import as_predicate_table, read_types, with_aliases
        from apptek.reading.reader import as_dataset

        reading = {name: value for name, value in (("split", split), ("sql", sql)) if value}
        data = with_aliases(as_dataset(data, **reading), aliases)
        if (labels := as_predicate_table(predicates)) is not None:
            data = data.labelled(labels)
        table = read_types(Path(types)) if isinstance(types, str | Path) else types
        options = fit_options(
            data, model, config, table or {}, protocol=protocol, seed=seed, final=final,
            resume=resume, progress=progress, agent=agent,
        )  # fmt: skip
        with work_folder(folder, replace=replace) as work:
            fitted, seconds = _fit(data, options, work, time_text(observed_until))
            predictor = cls(fitted, {"seconds": seconds, **(about_run or {})})
            if folder is not None:
                predictor.save(folder, in_place=replace and is_model(Path(folder)))
        return predictor

    def update(
        self, facts: Any = None, *, retract: Any = None, observed_until: When = None
    ) -> tuple["Predictor", "UpdateReport"]:
        """Return a predictor that also answers from new facts, but not from retracted ones.

        Both arguments accept a Dataset or anything that `read_dataset` accepts: a frame, tuples or
        a path. They may be empty. Retractions are applied first, so a fact in both arguments is
        kept. `observed_until` is the last observed time, by default the time of the last fact. The
        weights do not change. With 1,000 or more later facts, probabilities are recalibrated on the
        newest ones. The report counts the facts that were added, retracted or left out.
        """
        from apptek.models.updating import update_model

        self.model.require_features()
        like = self.model.dataset
        added, removed = (
            None if source is None else _facts_of(source, like) for source in (facts, retract)
        )
        observed = time_text(observed_until) or None
        model, report = update_model(self.model, added, removed, observed)
        return Predictor(model, self.run, past_only=self.answerer.past_only), report

    def save(self, folder: str | Path, *, in_place: bool = False) -> None:
        """Write the model to a new folder, or overwrite an existing model atomically."""
        target = Path(folder)
        with sole_writer(target) if in_place else nullcontext():
            save_model(self.model, target, self.run, in_place=in_place)

    @classmethod
    def load(cls, folder: str | Path, *, past_only: bool = False) -> "Predictor":
        """Load the predictor from a model folder; the model may be a baseline.

        past_only  whether to answer only from the facts before each query's time
        """
        path = Path(folder)
        return cls(load_model(path, baselines=True), read_json(path, RUN), past_only=past_only)

    def similar_names(self, *names: str) -> dict[str, list[str]]:
        """For each unknown or ambiguous name, similar names from the data."""
        return self.answerer.entities.similar(names)

    def __repr__(self) -> str:
        model, facts = self.model, self.model.graph.facts
        data, views = model.dataset, " and ".join(model.views)
        which = f"baseline {model.baseline!r}" if model.baseline else f"preset {model.preset!r}"
        return (
            f"Predictor of the {which}, {views}: "
            f"{counted(len(data.predicates), 'predicate')} between "
            f"{counted(len(data.entities), 'entity')}, from {counted(len(facts), 'fact')} of "
            f"{data.name!r} ({data.span_of(facts)})"
        )

    def predict(
        self,
        asked: Any,
        *,
        top: int | None = 10,
        coverage: float | None = None,
        hide_known: bool = False,
        allow_unknown: bool = False,
        suppose: Any = None,
    ) -> Answers:
        """Return the most probable predicates for each query, and flag unseen names and times.

            predict(("Iran", "China", "2014-02-02"))            one query, or a list of such tuples
            predict([Query("Iran", "China", date(2014, 2, 2))])
            predict(frame)                                      with columns subject, object, time

        top         the number of predicates for each query; None returns all
        coverage    return a prediction set for each query instead of the `top` predicates: the
                    smallest set that contains the true predicate in this proportion of cases,
                    0.9)
        hide_known  answer like `evaluate`: from the training facts, without the fact that the query
                    asks about. Use it to evaluate queries about facts that the model has seen
        allow_unknown
                    answer a single query about a name that is not in the data, in general terms.
                    Without it, the query raises UnknownName. Lists and frames are always answered;
                    the flags of each answer list the unknown names
        suppose     supposed facts for a single query: "SUBJECT | PREDICATE | OBJECT | TIME" or
                    tuples of the four. The answer's `what_if` contains the probabilities with and
                    without them. The model itself does not change

        A query after the last fact is answered from the facts before its time.
        """
        single = is_single(asked)
        asked = asked_queries(asked, self.model.dataset.axis)
        if single:
            self.answerer.check(asked[0], allow_unknown=allow_unknown)
        table = self._table(asked, top, coverage, hide_known=hide_known)
        answers = Answers(table.answers(asked))
        if suppose is None:
            return answers
        if not single or hide_known:
            raise ArgumentError("suppose requires a single query, without hide_known")
        return Answers([replace(answers[0], what_if=self._what_if(asked[0], suppose))])

    def _what_if(self, query: Query, suppose: Any, *compared: str | None) -> WhatIf:
        from apptek.explain.what_if import what_if

        self.model.require_features()
        predicate, against = compared or (None, None)
        return what_if(self.answerer, query, suppose, predicate, against=against)

    def predict_table(
        self,
        asked: Any,
        *,
        top: int | None = 10,
        coverage: float | None = None,
    ) -> pa.Table:
        """Return the answers of `predict` as an Arrow table, which is faster for many queries.

        The table contains one row per query and predicate; column `query` numbers the queries from
        1.
        """
        asked = asked_queries(asked, self.model.dataset.axis)
        table = self._table(asked, top, coverage, hide_known=False)
        return table.arrow(asked).cast(SCHEMA)

    def _table(
        self, asked: Sequence[Query], top: int | None, coverage: float | None, *, hide_known: bool
    ) -> AnswerTable:
        if not hide_known:
            ranked = self.answerer.ranked(self.answerer.queries_of(asked))
            return self.answerer.table(ranked, top=top, coverage=coverage)
        from apptek.models.seen import own_facts

        answerer = self._training_answerer
        queries = answerer.queries_of(asked)
        splits, hidden = own_facts(queries, self.model.dataset)
        ahead = answerer.from_past_only(queries)
        views = {split: self.views_of(split)[0] for split in set(splits) if split is not None}
        for row, split in enumerate(splits):
            ahead[row] = ahead[row] if split is None else views[split] == "past_only"
        ranked = answerer.ranked(replace(queries, hidden=hidden), ahead)
        return answerer.table(ranked, top=top, coverage=coverage)

    @cached_property
    def _training_answerer(self) -> Answerer:
        """The answerer on the graph of the training facts."""
        model = with_training_facts(self.model)
        if model is self.model:
            return self.answerer
        return Answerer(model, past_only=self.answerer.past_only)

    def explain(
        self,
        query: Any,
        predicate: str | None = None,
        *,
        against: str | None = None,
        most: int = 5,
        allow_unknown: bool = False,
        suppose: Any = None,
    ) -> Explanation:
        """Explain a predicate, by default the most probable one: reasons, contributions, facts.

        query    a Query, or a tuple (subject, object, time)
        against  the predicate to compare it with, instead of the runner-up
        most     how many reasons for the predicate, and against it, are shown with their facts
        allow_unknown
                 explain the generic answer about a name that is not in the data, instead of raising
                 UnknownName
        suppose  supposed facts, as in `predict`; `what_if` lists the reasons that they change
        """
        from apptek.explain.explainer import explain

        check_count("most", most, 0)
        asked = self._asked(query, allow_unknown)
        why = explain(self.answerer, asked, predicate, against=against, most=most)
        if suppose is None:
            return why
        return replace(why, what_if=self._what_if(asked, suppose, predicate, against))

    def counterfactual(
        self,
        query: Any,
        target: str | None = None,
        *,
        add: bool = False,
        allow_unknown: bool = False,
    ) -> Counterfactual:
        """Return the smallest set of facts whose removal changes the answer, to `target` if given.

        add  whether to search for single facts whose addition would change the answer as well
        """
        from apptek.explain.counterfactual import counterfactual

        return counterfactual(self.answerer, self._asked(query, allow_unknown), target, add=add)

    def contrast(
        self,
        query: Any,
        other: str,
        predicate: str | None = None,
        against: str | None = None,
        *,
        allow_unknown: bool = False,
    ) -> Contrast:
        """Return how the answer to a query changes at another time."""
        from apptek.explain.contrast import contrast

        asked = self._asked(query, allow_unknown)
        self._asked(replace(asked, time=other), allow_unknown)
        return contrast(self.answerer, asked, other, predicate, against)

    def _asked(self, query: Any, allow_unknown: bool) -> Query:
        """Return the question if the data can answer it; see `Answerer.check`."""
        self.model.require_features()
        is_list = isinstance(query, list | tuple) and all(map(is_single, query))
        if is_frame(query) or (is_list and not is_single(query)):
            raise ArgumentError(
                "found a list or frame of queries: explain, counterfactual and contrast take one "
                "query; predict takes many"
            )
        (asked,) = asked_queries([one_query(query)], self.model.dataset.axis)
        self.answerer.check(asked, allow_unknown=allow_unknown)
        return asked

    @cached_property
    def forecaster(self) -> "Forecaster":
        """The facts in time order, for forecasts of many pairs; built on first use."""
        from apptek.forecast.forecaster import Forecaster

        self.model.require_features()
        return Forecaster(self.model, self.answerer)

    @overload
    def forecast(
        self, subject: str, object_: str, start: When = None, **options: Any
    ) -> Forecast: ...
    @overload
    def forecast(
        self, subject: str, object_: None = None, start: When = None, **options: Any
    ) -> ActorForecast: ...
    def forecast(
        self,
        subject: str,
        object_: str | None = None,
        start: When = None,
        *,
        predicate: str | None = None,
        class_: str | None = None,
        group: str | None = None,
        members: bool = False,
        top: int = 10,
        allow_unknown: bool = False,
        suppose: Any = None,
        **length: Any,
    ) -> Forecast | ActorForecast:
        """Forecast what will happen between two entities in a window, from the facts before it.

        With only one entity, forecast who it will act on and who will act on it.

        start   the first time of the window, by default the time after the last fact; a text, a
                date, a datetime or an integer
        predicate, class_, group
                the events to count, by default all of them
        members whether to include entities with the actor's name in brackets, such as Police
                (Egypt) for Egypt; only with a single entity
        length  until="2015-01-07", or days=7, months=, years=, steps=, to match the data's times
        allow_unknown
                forecast in general terms if a name is not in the data, instead of raising
                UnknownName; only for two entities
        suppose supposed facts, as in `predict`; `what_if` contains the chances with and without
                them. Only those before the window count; by default, it starts after the last one
        """
        from apptek.forecast.forecaster import read_filter
        from apptek.forecast.partners import actor_forecast

        names = [subject] if object_ is None else [subject, object_]
        for name in names:
            if not isinstance(name, str):
                raise ApptekError(f"found {name!r}, expected the name of an entity")
        check_count("top", top)
        event = read_filter(self.forecaster, predicate, class_, group)
        if object_ is None:
            if suppose is not None:
                raise ArgumentError("suppose requires a forecast for two entities")
            window = self._window(start, length)
            return actor_forecast(self.forecaster, subject, window, event, top=top, members=members)
        if members:
            raise ArgumentError("members requires a forecast for a single entity")
        self.answerer.entities.check(subject, object_, allow_unknown=allow_unknown)
        if suppose is None:
            return self._forecast_pair((subject, object_), self._window(start, length), event, top)
        from apptek.explain.what_if import read_supposed
        from apptek.forecast.pairs import forecast_what_if, start_after

        supposed = read_supposed(self.forecaster.answerer, suppose)
        start = start_after(self.forecaster, supposed) if start is None else start
        window, ids = self._window(start, length), self.forecaster.ids(names)
        forecast = self._forecast_pair((subject, object_), window, event, top)
        changes = forecast_what_if(self.forecaster, forecast, ids, window, supposed)
        return replace(forecast, what_if=changes)

    def _forecast_pair(
        self, names: tuple[str, str], window: "Window", event: "EventFilter", top: int
    ) -> Forecast:
        from apptek.forecast.pairs import forecast_pairs

        (forecast,) = forecast_pairs(self.forecaster, [names], window, top=top, event=event)
        return replace(forecast, similar=self.similar_names(*names))

    def rank_entities(
        self,
        subject: str | None = None,
        object_: str | None = None,
        *,
        predicate: str,
        time: When,
        top: int = 10,
    ) -> EntityRanking:
        """Return the most probable entities for the missing subject or object of a fact.

        rank_entities("Boko Haram", predicate="Abduct", time="2015-01-02")
        rank_entities(object_="Nigeria", predicate="Accuse", time="2015-01-02")

        Only facts before this time are used.
        """
        from apptek.forecast.missing_entity import rank_entities

        check_count("top", top)
        when = time_text(time) or "?"
        return rank_entities(self.forecaster, subject, object_, predicate, when, top=top)

    def watch(
        self,
        pairs: Any = None,
        *,
        most: int = 20,
        start: When = None,
        entity: str | Sequence[str] = (),
        country: str | Sequence[str] = (),
        predicate: str | None = None,
        class_: str | None = None,
        group: str | None = None,
        alerts: str | Sequence[str] = (),
        since: Any = None,
        **length: Any,
    ) -> WatchList:
        """Forecast many pairs in a window, and compare each forecast with the previous window.

        pairs    (subject, object) tuples, or a frame with these columns. By default, the `most`
                 pairs whose chance changes most, by at least one percentage point. Rows with names
                 that are not in the data are flagged (`unseen`)
        entity, country
                 only pairs with one of these; Police (Egypt) belongs to the country Egypt
        predicate, class_, group
                 the events to count, by default all
        alerts   conditions such as "group:material conflict > 50" or "rise > 20"
        since    an earlier list or its JSON file; rows show what changed
        start, length  as in `forecast`
        """
        from apptek.forecast.forecaster import read_filter
        from apptek.forecast.pair_chances import compared, read_earlier, read_rule, watched_entities
        from apptek.forecast.watch import changed_pairs, watch_list

        check_count("most", most)
        earlier = None if since is None else read_earlier(since)
        window = self._window(start, length)
        if is_frame(pairs):
            pairs = read_query_texts(pairs, ("subject", "object"))
        entities, countries, texts = (
            [given] if isinstance(given, str) else given for given in (entity, country, alerts)
        )
        event = read_filter(self.forecaster, predicate, class_, group)
        watched = watched_entities(self.forecaster, entities, countries)
        listed = watch_list(
            self.forecaster, window, pairs, most=most, event=event,
            rules=[read_rule(self.forecaster, text, event) for text in texts], watched=watched,
        )  # fmt: skip
        if earlier is None:
            return listed
        return compared(
            listed,
            earlier,
            lambda absent: changed_pairs(self.forecaster, window, absent, event, watched),
        )

    def _window(self, start: When, length: dict[str, Any]) -> "Window":
        from apptek.forecast.window import Length

        known = [each.name for each in fields(Length)]
        if unknown := [name for name in length if name not in known]:
            raise TypeError(f"unknown keyword {unknown[0]!r}; expected one of: {', '.join(known)}")
        until = {"until": time_text(length["until"])} if length.get("until") is not None else {}
        return self.forecaster.window(time_text(start) or None, Length(**length | until))

    def views_of(self, split: Split) -> tuple[View, ...]:
        """Return the views in which a split can be evaluated, the default view first.

        A split after the training facts has no later facts, so `all_facts` does not apply.
        """
        if self.answerer.past_only or self.model.dataset.lies_beyond_train(split):
            return ("past_only",)
        return tuple(self.model.views)

    def evaluate(
        self, split: Split = "test", view: View | None = None, *, rolling: bool = False
    ) -> Evaluation:
        """Return the ranking metrics on a split of the model's own data, under its own protocol.

        The model sees the facts that it was fitted on, even if it was updated since. The default
        view is all_facts if the model and the split allow it, else past_only. With `rolling`, each
        query sees every fact before its time, including the validation and test sets.
        """
        return evaluate_split(self.scorer(split, view, rolling=rolling), self.model.dataset, split)

    def scorer(
        self, split: Split = "test", view: View | None = None, *, rolling: bool = False
    ) -> ViewScorer:
        """Return the scorer that `evaluate` uses: the model in a view, on the facts it may see."""
        working = self._evaluated_view(split, view, rolling=rolling)
        # RE-GCN is much faster if all queries with the same time are scored together.
        at_once = bool(self.model.baseline)
        if rolling and not self.model.baseline:
            from apptek.evaluation.calibration import softmax
            from apptek.models.recalibration import RollingView

            rolled = RollingView.of(working, self.model.dataset, split)
            return ViewScorer(rolled.scores, softmax, set_sizes=rolled.set_sizes)
        beyond = self.model.dataset.lies_beyond_train(split)
        sizes = working.fitted.set_sizes(later=beyond)
        return ViewScorer(working.scores, working.probabilities, at_once, sizes)

    def evaluate_sets(self, split: Split = "test") -> dict[str, dict[str, Any]]:
        """Return precision, recall and F1 of the predicate sets for (subject, object, time).

        They are given by horizon and by predicate, class and group: see evaluation/multilabel.py.
        """
        from apptek.evaluation.multilabel import evaluate_sets

        view = self._evaluated_view(split, "past_only", rolling=True)
        data = self.model.dataset
        return evaluate_sets(lambda asked: view.probabilities(view.scores(asked)), data, split)

    def _evaluated_view(self, split: Split, view: View | None, *, rolling: bool) -> WorkingView:
        check_evaluated(split, view)
        known: tuple[View, ...] = ("past_only",) if rolling else self.views_of(split)
        if view is not None and view not in known:
            beyond = self.model.dataset.lies_beyond_train(split)
            reason = f": the {split} facts are later than the training facts" if beyond else ""
            names, which = " or ".join(map(repr, known)), self.model.baseline or "this model"
            raise ApptekError(
                f"{which} cannot be evaluated with {view!r} on {split}, only with {names}{reason}"
            )
        name = view or known[0]
        model = with_earlier_facts(self.model) if rolling else with_training_facts(self.model)
        if model is self.model:
            return self.answerer.view_in_use(name)
        return WorkingView.of(model, name)


def _fit(
    data: Dataset, options: "FitOptions", work: Path, observed: str
) -> tuple[Model, dict[str, Any]]:
    """Fit the model that the options name; return it with the seconds of each stage."""
    from apptek.forecast.learning import learn_occurrence
    from apptek.models.fitting.pipeline import fit_model
    from apptek.models.model import positions_of
    from apptek.models.updating import observed_position

    last, name = None, options.baseline
    if observed:
        if name:
            raise ApptekError(f"observed_until is for default, max and paper, not for {name}")
        last = observed_position(data, positions_of(data, data.train, all_facts=False), observed)
    fitted, seconds = fit_model(data, options, work)
    if not name:
        fitted = learn_occurrence(replace(fitted, observed_until=last), options, seconds)
    return fitted, seconds


def _facts_of(source: Any, like: Dataset) -> Dataset | None:
    """Return the facts to add or retract; None if there are none (a day without events)."""
    from apptek.reading.reader import read_more

    try:
        return read_more(like, source)
    except NoFactsError:
        return None
