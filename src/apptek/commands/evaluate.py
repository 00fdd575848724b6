"""The command `evaluate`: how good a model's answers or forecasts are."""

from dataclasses import dataclass
from typing import Any, Literal

from apptek.commands import options as opt
from apptek.commands.options import option
from apptek.safe_text import counted


def _of_forecasts(words: str, help_text: str, default: Any = None, **more: Any) -> Any:
    return option(words, help_text, default, rich_help_panel="Forecasts", **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """The options of `evaluate`."""

    model: opt.ModelArgument
    split: Literal["test", "valid"] = option(
        "--split SPLIT", "The facts to predict: test or valid.", "test"
    )
    result: opt.ResultOption = None
    past_only: opt.PastOnlyOption = False
    rolling: bool = option(
        "--rolling",
        "Let each query use every fact before its time, including validation and test facts, as if "
        "the model were updated daily.",
        False,
    )
    queries: int | None = option(
        "--queries N",
        "Evaluate on at most N queries, drawn evenly over predicates and time, to estimate the "
        "metrics of a large split.  [default: all]",
        min=1,
    )
    multilabel: bool = option(
        "--multilabel",
        "Predict the set of predicates for each (subject, object, time). Report precision, recall "
        "and F1 for predictions 1, 7, 30 and 90 days ahead.",
        False,
    )
    entities: bool = option(
        "--entities",
        "Rank missing subjects and objects instead of predicates: static (from earlier training "
        "facts) and rolling (from all earlier facts).",
        False,
    )
    forecasts: bool = _of_forecasts(
        "--forecasts",
        "Backtest: forecast past windows from earlier facts, and compare them with what happened.",
        False,
    )
    lead: int | None = _of_forecasts(
        "--lead N", "Forecast each window N days (or steps) before it begins.  [default: 0]", min=0
    )
    every: int | None = _of_forecasts(
        "--every N", "The length of each window in days (or steps).  [default: 7]"
    )
    from_: str | None = _of_forecasts(
        "--from TIME", "The start of the first window.  [default: after the training facts]"
    )
    to: str | None = _of_forecasts(
        "--to TIME", "The end of the last window.  [default: the last observed time]"
    )
    out: Any = option(
        "--out FILE",
        "The output file (.csv, .tsv, .parquet, .xlsx, .jsonl), or a database table (URL#TABLE), "
        "for the metrics of each view and group, or for every forecast with --forecasts.",
        parser=opt.file_or_database,
        callback=opt.check_table_file,
    )
    as_json: opt.JsonOption = False


@opt.takes_options
def evaluate(options: EvaluateOptions) -> None:
    """Evaluate a model on held-out facts: measure how high it ranks their predicates.

    The model uses the splits that it was fitted with. Without --past-only, the command evaluates
    every view that the model and the split allow. `research compare` reads the files that
    `--result` writes.

    With --forecasts, the model forecasts the chance of an event in each window, for every pair with
    earlier facts. It uses only facts before the window. Windows in the training period do not
    count, so fit the model on a split by time first. Onsets are pairs without facts in the last 90
    days (for other units, the long time scale of the data). Continuations are all other pairs.

    Example: `apptek evaluate model --result model.json`
    """
    ways = {
        "entities": _evaluate_entities,
        "forecasts": _evaluate_forecasts,
        "multilabel": _evaluate_sets,
    }
    chosen = next((name for name in ways if getattr(options, name)), None)
    if chosen is not None:
        others = [name for name in ways if name != chosen]
        unlike = [*others, "past_only", "rolling", "queries"]
        opt.refuse(options, unlike, f"cannot be combined with --{chosen}")
    if chosen != "forecasts":
        opt.refuse(options, ["lead", "every", "from_", "to"], "needs --forecasts")
    if options.queries is not None:
        why = "cannot be combined with --queries, which estimates the metrics"
        opt.refuse(options, ["rolling", "result"], why)
    (ways[chosen] if chosen else _evaluate_ranks)(options)


def _evaluate_sets(options: EvaluateOptions) -> None:
    """Print precision, recall and F1 of the predicted sets of predicates."""
    from apptek.predictor import Predictor
    from apptek.present.metrics_text import sets_text
    from apptek.terminal import working

    predictor = Predictor.load(options.model)
    with working("predicting at four horizons"):
        by_horizon = predictor.evaluate_sets(options.split)
    about = {"dataset": predictor.model.dataset.name, "split": options.split}
    _print(options, about | {"multilabel": by_horizon}, sets_text, by_horizon)


def _print(options: EvaluateOptions, entries: dict[str, Any], render: Any, *shown: Any) -> None:
    """Print JSON, or a text with the data set and the split as its title."""
    protocol = f", protocol {entries['protocol']}" if "view" in entries else ""
    title = f"{entries['dataset']}, {options.split} split{protocol}"
    opt.print_either(entries, render, title, *shown, as_json=options.as_json)


def _evaluate_ranks(options: EvaluateOptions) -> None:
    """Rank the predicates of a split; print the metrics and write the result."""
    from apptek.predictor import Predictor
    from apptek.present.metrics_text import views_text
    from apptek.present.tables import write_result
    from apptek.research.evaluator import evaluate_model
    from apptek.terminal import tell, tell_next, working

    predictor = Predictor.load(options.model)
    with working(f"evaluating on the {options.split} split"):
        report = evaluate_model(
            predictor,
            options.split,
            "past_only" if options.past_only else None,
            rolling=options.rolling,
            most=options.queries,
        )
    if options.result is not None:
        report.save(options.result)
    if options.out is not None:
        write_result(options.out, report.table())
        tell(f"the metrics of each view and group: {options.out}")
    model, result = predictor.model, report.result
    entries = {
        "dataset": model.dataset.name,
        "split": options.split,
        "protocol": model.protocol,
        "preset": model.preset,
        "seed": model.seed,
        "view": result.view,
        **report.evaluation.as_json(),
        **{name: result.extras[name] for name in ("all_facts", "past_only")},
        "rolling": options.rolling,
        "forecast": report.forecast,
    }
    shown = {"rolling": report.evaluation} if options.rolling else {}
    _print(options, entries, views_text, {**shown, **report.by_view}, report.forecast)
    if not options.as_json:
        asking = ["predict", str(options.model), "SUBJECT", "OBJECT", "TIME"]
        comparing = ["research", "compare", str(options.result), "OTHER_RESULT"]
        tell_next(asking if options.result is None else comparing)


def _evaluate_entities(options: EvaluateOptions) -> None:
    """Rank the missing entities of a split; print the metrics and write the result."""
    from apptek.forecast.entity_evaluation import evaluate_entities
    from apptek.predictor import Predictor
    from apptek.present.metrics_text import entities_text
    from apptek.research.evaluator import describe_model
    from apptek.terminal import working

    predictor = Predictor.load(options.model)
    with working(f"ranking the entities of the {options.split} split"):
        metrics = evaluate_entities(predictor.model, options.split)
    described = describe_model(predictor).as_json()
    names = ("dataset", "protocol", "seed", "data")
    about = {"model": "entities", **{name: described[name] for name in names if name in described}}
    about["split"] = options.split
    entries = {"metrics": metrics["rolling"]["both"], "rolling": True, "entities": metrics}
    _write_result(options, about | entries)
    _print(options, about | {"entities": metrics}, entities_text, metrics)


def _evaluate_forecasts(options: EvaluateOptions) -> None:
    """Backtest a model; print the outcome and write its files."""
    from apptek.forecast.backtest import backtest, backtest_result
    from apptek.forecast.forecaster import Forecaster
    from apptek.forecast.learning import with_history
    from apptek.models.model_folder import load_model
    from apptek.present.tables import write_result
    from apptek.terminal import tell, working

    whole, out = with_history(load_model(options.model)), options.out
    every = 7 if options.every is None else options.every
    with working("forecasting past windows"):
        outcome, forecasts = backtest(
            Forecaster(whole), every, options.from_, options.to, options.lead or 0
        )
    if out is not None:
        write_result(out, forecasts)
        tell(f"{counted(len(forecasts), 'forecast')}: {out}")
    _write_result(options, backtest_result(whole, outcome))
    opt.print_result(outcome, as_json=options.as_json)


def _write_result(options: EvaluateOptions, entries: dict[str, Any]) -> None:
    """Write the result file, if one is requested."""
    from apptek.models.manifest import RUN, read_json
    from apptek.research.provenance import command
    from apptek.research.result import Result, write_result

    if options.result is not None:
        fitted_by = read_json(options.model, RUN).get("command")
        commands = " && ".join(words for words in (fitted_by, command()) if words)
        write_result(options.result, Result.from_json(entries | {"command": commands}))
