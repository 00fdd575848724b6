"""The command `evaluate`: how good a model's answers or forecasts are."""

from pathlib import Path
from typing import Annotated, Any, Literal

from apptek.commands import options as opt
from apptek.safe_text import counted


def _of_forecasts(words: str, help_text: str, metavar: str | None = None, **more: Any) -> Any:
    return opt.option(words, help_text, metavar, rich_help_panel="Forecasts", **more)


SplitOption = Annotated[
    Literal["test", "valid"],
    opt.option("--split", "The facts to predict: test or valid.", "SPLIT"),
]
RollingOption = Annotated[
    bool,
    opt.option(
        "--rolling",
        "Use only the past, and let each query see every fact before its time, those of valid and "
        "test included: as if the model were updated day by day.",
    ),
]
QueriesOption = Annotated[
    int | None,
    opt.option(
        "--queries",
        "Ask at most so many queries, drawn evenly over predicates and time: an estimate for large "
        "splits.  [default: all]",
        "N",
        min=1,
    ),
]
MultilabelOption = Annotated[
    bool,
    opt.option(
        "--multilabel",
        "Predict the set of predicates of each (subject, object, time), and report precision, "
        "recall and F1 when the information ends 1, 7, 30 and 90 days before.",
    ),
]
ForecastsOption = Annotated[
    bool,
    _of_forecasts(
        "--forecasts",
        "Backtest: forecast past windows from earlier facts, and compare with what happened.",
    ),
]
LeadOption = Annotated[
    int | None,
    _of_forecasts(
        "--lead",
        "Forecast each window N days, or steps, before it begins.  [default: 0]",
        "N",
        min=0,
    ),
]
EveryOption = Annotated[
    int | None,
    _of_forecasts("--every", "The length of a window in days, or steps.  [default: 7]", "N"),
]
FromOption = Annotated[
    str | None,
    _of_forecasts(
        "--from",
        "The start of the first window.  [default: after the facts of the fit]",
        "TIME",
    ),
]
ToOption = Annotated[
    str | None,
    _of_forecasts("--to", "The end of the last window.  [default: the last observed time]", "TIME"),
]
OutputOption = Annotated[
    Any,
    opt.option(
        "--out",
        "A table of a database (URL#TABLE): the metrics of each view and group; with --forecasts "
        "every forecast. Or, with --forecasts, a new folder for these (forecasts.parquet), the "
        "metrics and the reliability diagram (SVG).",
        "URL|DIR",
        parser=opt.file_or_database,
        callback=lambda out: (
            opt.check_folder(out) if isinstance(out, Path) else opt.check_result_file(out)
        ),
    ),
]
EntitiesOption = Annotated[
    bool,
    opt.option(
        "--entities",
        "Rank the missing entity instead: objects and subjects, static (from the training facts "
        "before each time) and rolling (from every fact before it).",
    ),
]
Times = tuple[int, str | None, str | None, int]  # every, from, to, lead


def evaluate(
    model: opt.ModelArgument,
    split: SplitOption = "test",
    result: opt.ResultOption = None,
    past_only: opt.PastOnlyOption = False,
    rolling: RollingOption = False,
    queries: QueriesOption = None,
    multilabel: MultilabelOption = False,
    entities: EntitiesOption = False,
    forecasts: ForecastsOption = False,
    lead: LeadOption = None,
    every: EveryOption = None,
    start: FromOption = None,
    stop: ToOption = None,
    out: OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Evaluate a model on held-out facts: measure how high it ranks their predicates.

    The splits are those of the protocol of the fit. Without --past-only, the command evaluates
    every view that the model and the split allow. `research compare` reads the files that
    `--result` writes.

    With --forecasts, the model forecasts the chance of an event in each window for every pair with
    earlier facts, from the facts until then. Windows that the model was fitted on do not count, so
    fit it on a split by time first. Onsets are forecasts for pairs with facts, but with none in the
    last 90 days (other units: the long time scale of the data); continuations are the others.

    Example: `apptek evaluate model --result model.json`
    """
    windows: dict[str, Any] = {"--lead": lead, "--every": every, "--from": start, "--to": stop}
    ranks = {"--past-only": past_only, "--rolling": rolling, "--queries": queries}
    modes = {"--entities": entities, "--forecasts": forecasts, "--multilabel": multilabel}
    for mode in [word for word, chosen in modes.items() if chosen][:1]:
        opt.refuse({**modes, mode: None, **ranks}, f"cannot be combined with {mode}")
    if not forecasts:
        windows["--out"] = out if isinstance(out, Path) else None
        opt.refuse(windows, "needs --forecasts")
    if entities:
        _evaluate_entities(model, split, result, as_json=as_json)
    elif forecasts:
        times = (7 if every is None else every, start, stop, lead or 0)
        _evaluate_forecasts(model, times, out, result, as_json=as_json)
    elif multilabel:
        _evaluate_sets(model, split, as_json=as_json)
    else:
        if queries is not None:
            others = {"--rolling": rolling, "--result": result}
            opt.refuse(others, "cannot be combined with --queries, which gives an estimate")
        how = {"view": "past_only" if past_only else None, "rolling": rolling, "most": queries}
        _evaluate_ranks(model, split, how, result, out, as_json=as_json)


def _evaluate_sets(model: Path, split: Literal["test", "valid"], *, as_json: bool) -> None:
    """Print precision, recall and F1 of the set of predicates of each question."""
    from apptek.predictor import Predictor
    from apptek.present.metrics_text import sets_text
    from apptek.terminal import working

    predictor = Predictor.load(model)
    with working("asking at four horizons"):
        by_horizon = predictor.evaluate_sets(split)
    if as_json:
        about = {"dataset": predictor.model.dataset.name, "split": split}
        opt.print_json(about | {"multilabel": by_horizon})
        return
    opt.print_text(sets_text, f"{predictor.model.dataset.name}, {split} split", by_horizon)


def _evaluate_ranks(
    model: Path,
    split: Literal["test", "valid"],
    how: dict[str, Any],
    result: Path | None,
    out: Any,
    *,
    as_json: bool,
) -> None:
    """Evaluate the ranks of the predicates of a split; print them and write the result.

    out  a table of a database, or None
    """
    from apptek.predictor import Predictor
    from apptek.present.metrics_text import views_text
    from apptek.present.tables import write_table
    from apptek.research.model_result import evaluate_model
    from apptek.terminal import tell, tell_next, working

    predictor = Predictor.load(model)
    with working(f"evaluating on the {split} split"):
        report = evaluate_model(predictor, split, **how)
    if result is not None:
        report.save(result)
    if out is not None:
        write_table(out, report.table())
        tell(f"the metrics of each view and group: {out}")
    fitted = predictor.model
    about: dict[str, Any] = {"dataset": fitted.dataset.name, "split": split}
    about["protocol"] = fitted.protocol
    if as_json:
        about |= {"preset": fitted.preset, "seed": fitted.seed, "view": report.result.view}
        by_view = {name: report.result.extras[name] for name in ("all_facts", "past_only")}
        extras = {"rolling": how["rolling"], "forecast": report.forecast}
        opt.print_json(about | report.evaluation.as_json() | by_view | extras)
        return
    shown = {"rolling": report.evaluation} if how["rolling"] else {}
    title = "{dataset}, {split} split, protocol {protocol}".format(**about)
    opt.print_text(views_text, title, {**shown, **report.by_view}, report.forecast)
    if result is not None:
        tell_next(["research", "compare", str(result), "OTHER_RESULT"])
    else:
        tell_next(["predict", str(model), "SUBJECT", "OBJECT", "TIME"])


def _evaluate_entities(
    model: Path, split: Literal["test", "valid"], result: Path | None, *, as_json: bool
) -> None:
    """Evaluate the ranks of the missing entities of a split; print them and write the result."""
    from apptek.forecast.entity_evaluation import evaluate_entities
    from apptek.predictor import Predictor
    from apptek.present.metrics_text import entities_text
    from apptek.research.model_result import describe_model
    from apptek.terminal import working

    predictor = Predictor.load(model)
    with working(f"ranking the entities of the {split} split"):
        metrics = evaluate_entities(predictor.model, split)
    described = describe_model(predictor).as_json()
    names = ("dataset", "protocol", "seed", "data")
    about = {"model": "entities", **{name: described[name] for name in names if name in described}}
    about["split"] = split
    if result is not None:
        entries = {"metrics": metrics["rolling"]["both"], "rolling": True, "entities": metrics}
        _write_result(result, model, about | entries)
    if as_json:
        opt.print_json(about | {"entities": metrics})
        return
    opt.print_text(entities_text, f"{predictor.model.dataset.name}, {split} split", metrics)


def _evaluate_forecasts(
    model: Path, times: Times, out: Any, result: Path | None, *, as_json: bool
) -> None:
    """Backtest a model; print the outcome and write its files."""
    from apptek.forecast.backtest import backtest, backtest_result, write_backtest
    from apptek.forecast.forecaster import Forecaster
    from apptek.forecast.learning import with_history
    from apptek.models.model_folder import load_model
    from apptek.present.tables import write_table
    from apptek.terminal import tell, working

    whole = with_history(load_model(model))
    with working("forecasting past windows"):
        outcome, forecasts = backtest(Forecaster(whole), *times)
    if out is not None and not isinstance(out, Path):
        write_table(out, forecasts)
        tell(f"{counted(len(forecasts), 'forecast')}: {out}")
    elif out is not None:
        write_backtest(out, outcome, forecasts)
        tell(f"every forecast, the metrics and the reliability diagram are in {out}")
    if result is not None:
        _write_result(result, model, backtest_result(whole, outcome))
    opt.print_result(outcome, as_json=as_json)


def _write_result(path: Path, model: Path, entries: dict[str, Any]) -> None:
    from apptek.models.manifest import RUN, read_json
    from apptek.research.provenance import command
    from apptek.research.result import Result, write_result

    fitted_by = read_json(model, RUN).get("command")
    commands = " && ".join(words for words in (fitted_by, command()) if words)
    write_result(path, Result.from_json(entries | {"command": commands}))
