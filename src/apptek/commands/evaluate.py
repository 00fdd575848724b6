"""The command `evaluate`: how good the answers of a model are, or its forecasts."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from apptek.commands.options import (
    JsonOption,
    ModelArgument,
    PastOnlyOption,
    ResultOption,
    option,
    print_json,
    print_result,
)

FIGURES = {
    "raw_r": "all predicates, raw",
    "filtered_r": "all predicates, filtered",
    "raw_2r": "both directions, raw",
    "filtered_2r": "both directions, filtered",
}
FORECAST_METRICS = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")
VIEW_WORDS = {"all_facts": "all facts in sight", "past_only": "only the past in sight"}
METRICS = {
    "mrr": "MRR",
    "hits_at_1": "Hits@1",
    "hits_at_3": "Hits@3",
    "hits_at_10": "Hits@10",
    "ece": "ECE",
}
_PANEL = "Forecasts"
SplitOption = Annotated[
    Literal["test", "valid"],
    option("--split", "The facts to predict: test or valid.", "SPLIT"),
]
RollingOption = Annotated[
    bool,
    option(
        "--rolling",
        "Use only the past, and let each query see every fact before its time, those of valid and "
        "test included: as if the model were updated day by day.",
    ),
]
QueriesOption = Annotated[
    int | None,
    option(
        "--queries",
        "Ask at most so many queries, drawn evenly over predicates and time: an estimate for large "
        "splits.  [default: all]",
        "N",
        min=1,
    ),
]
ForecastsOption = Annotated[
    bool,
    option(
        "--forecasts",
        "Roll through time, and compare what would have been forecast with what happened.",
        rich_help_panel=_PANEL,
    ),
]
LeadOption = Annotated[
    int | None,
    option(
        "--lead",
        "Forecast each window N days, or steps, before it begins.  [default: 0]",
        "N",
        min=0,
        rich_help_panel=_PANEL,
    ),
]
EveryOption = Annotated[
    int | None,
    option(
        "--every",
        "The length of a window in days, or steps.  [default: 7]",
        "N",
        rich_help_panel=_PANEL,
    ),
]
FromOption = Annotated[
    str | None,
    option(
        "--from",
        "The start of the first window.  [default: after what the model was fitted on]",
        "TIME",
        rich_help_panel=_PANEL,
    ),
]
ToOption = Annotated[
    str | None,
    option(
        "--to",
        "No window ends later.  [default: the last observed time]",
        "TIME",
        rich_help_panel=_PANEL,
    ),
]
FolderOption = Annotated[
    Path | None,
    option(
        "--out",
        "A new folder for every forecast (forecasts.parquet), the metrics and the reliability "
        "diagram (SVG).",
        "DIR",
        rich_help_panel=_PANEL,
    ),
]
Times = tuple[int, str | None, str | None, int]  # every, from, to, lead


def evaluate(
    model: ModelArgument,
    split: SplitOption = "test",
    result: ResultOption = None,
    past_only: PastOnlyOption = False,
    rolling: RollingOption = False,
    queries: QueriesOption = None,
    forecasts: ForecastsOption = False,
    lead: LeadOption = None,
    every: EveryOption = None,
    start: FromOption = None,
    stop: ToOption = None,
    out: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a model on held-out facts: how high it ranks their predicates.

    The splits are those of the protocol that the model was fitted under. Without --past-only, every
    view is evaluated that the model and the split allow. `research compare` reads the files that
    `--result` writes.

    With --forecasts, the chance of an event is forecast in each window for every pair that had a
    fact before, from the facts until then. Windows that the model was fitted on do not count, so
    fit it on a split by time first. Onsets are forecasts for pairs that had facts, but none in the
    last 90 days (other units: the long time scale of the data); continuations are the others.

    Example: `apptek evaluate model --result model.json`
    """
    from apptek.files import check_target

    if result is not None:
        check_target(result)
    of_windows = {"--lead": lead, "--every": every, "--from": start, "--to": stop, "--out": out}
    given = [word for word, value in of_windows.items() if value is not None]
    of_ranks = {"--past-only": past_only, "--rolling": rolling, "--queries": queries}
    if forecasts:
        if words := [word for word, value in of_ranks.items() if value]:
            raise typer.BadParameter(f"{words[0]} does not go with --forecasts")
        times = (7 if every is None else every, start, stop, lead or 0)
        evaluate_forecasts(model, times, out, result, as_json=as_json)
        return
    if given:
        raise typer.BadParameter(f"{given[0]} goes with --forecasts")
    if queries is not None and (rolling or result is not None):
        raise typer.BadParameter("--queries is an estimate: not with --rolling or --result")
    how = {"view": "past_only" if past_only else None, "rolling": rolling, "most": queries}
    _evaluate_ranks(model, split, how, result, as_json=as_json)


def _evaluate_ranks(
    model: Path,
    split: Literal["test", "valid"],
    how: dict[str, Any],
    result: Path | None,
    *,
    as_json: bool,
) -> None:
    """Evaluate the ranks of the predicates of a split; print them and write the result."""
    from apptek.predictor import Predictor
    from apptek.research.model_result import evaluate_model, write_evaluation
    from apptek.terminal import tell_next, working

    predictor = Predictor.load(model)
    with working(f"evaluating on the {split} split"):
        evaluated = evaluate_model(predictor, split, **how)
    if result is not None:
        write_evaluation(result, predictor, model, evaluated)
    fitted = predictor.model
    about = {"dataset": fitted.dataset.name, "split": split, "protocol": fitted.protocol}
    metrics = {name: evaluation.as_json() for name, evaluation in evaluated.by_view.items()}
    if as_json:
        entries = about | {"preset": fitted.preset, "seed": fitted.seed}
        entries["view"] = evaluated.main_view
        by_view = {name: metrics.get(name) for name in ("all_facts", "past_only")}
        extras = {"rolling": how["rolling"], "forecast": evaluated.forecast}
        print_json(entries | evaluated.main.as_json() | by_view | extras)
        return
    shown = {VIEW_WORDS[name]: of_view for name, of_view in metrics.items()}
    if how["rolling"]:
        shown = {"rolling": evaluated.main.as_json(), **shown}
    _print_metrics("{dataset}, {split} split, protocol {protocol}".format(**about), shown)
    if evaluated.forecast is not None:
        _print_forecast_metrics(evaluated.forecast)
    if result is not None:
        tell_next(["research", "compare", str(result), "OTHER_RESULT"])
    else:
        tell_next(["predict", str(model), "SUBJECT", "OBJECT", "TIME"])


def _print_metrics(title: str, by_view: dict[str, dict[str, Any]]) -> None:
    from apptek.terminal import output, table

    for words, of_view in by_view.items():
        groups = {group: part for group, part in of_view.items() if isinstance(part, dict)}
        rows = [
            (group.replace("_", " "), part["queries"], *(f"{part[key]:.4f}" for key in METRICS))
            for group, part in {"all": of_view, **groups}.items()
        ]
        output().print(table(f"{title}, {words}", ("", "queries", *METRICS.values()), rows))


def _print_forecast_metrics(figures: dict[str, dict[str, Any]]) -> None:
    from apptek.terminal import output, table

    rows = [
        (FIGURES[name], figure["queries"], *(f"{figure[key]:.4f}" for key in FORECAST_METRICS))
        for name, figure in figures.items()
    ]
    columns = ("forecast", "queries", *(METRICS[key] for key in FORECAST_METRICS))
    output().print(table("", columns, rows))


def evaluate_forecasts(
    model: Path, times: Times, out: Path | None, result: Path | None, *, as_json: bool
) -> None:
    """Roll through time with a model; print the outcome and write its files."""
    from apptek.files import check_new_folder
    from apptek.forecast.backtest import backtest, backtest_result, write_backtest
    from apptek.forecast.forecaster import Forecaster
    from apptek.forecast.learning import with_history
    from apptek.models.model_folder import load_model
    from apptek.terminal import tell, working

    if out is not None:
        check_new_folder(out)
    whole = with_history(load_model(model))
    with working("rolling through time"):
        outcome, forecasts = backtest(Forecaster(whole), *times)
    if out is not None:
        write_backtest(out, outcome, forecasts)
        tell(f"every forecast, the figures and the reliability diagram are in {out}")
    if result is not None:
        _write_result(result, model, backtest_result(whole, outcome))
    print_result(outcome, as_json=as_json)


def _write_result(path: Path, model: Path, entries: dict[str, Any]) -> None:
    from apptek.models.manifest import RUN, read_json
    from apptek.research.provenance import command
    from apptek.research.result import Result, write_result

    fitted_by = read_json(model, RUN).get("command")
    commands = " && ".join(words for words in (fitted_by, command()) if words)
    write_result(path, Result.from_json(entries | {"command": commands}))
