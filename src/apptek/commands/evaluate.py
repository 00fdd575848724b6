"""Commands that check a model: how good its answers are, and whether its files are whole."""

from typing import Annotated, Literal

import typer

from apptek.commands.engine_options import Distribution, distributes
from apptek.commands.options import (
    JsonOption,
    ModelArgument,
    ResultOption,
    print_json,
)

FIGURES = {
    "raw_r": "all predicates, raw",
    "filtered_r": "all predicates, filtered",
    "raw_2r": "both directions, raw",
    "filtered_2r": "both directions, filtered",
}
FORECAST_METRICS = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")
VIEW_WORDS = {"within": "all facts in sight", "ahead": "only the past in sight"}
METRICS = {
    "mrr": "MRR",
    "hits_at_1": "Hits@1",
    "hits_at_3": "Hits@3",
    "hits_at_10": "Hits@10",
    "ece": "ECE",
}


@distributes
def evaluate(
    model: ModelArgument,
    split: Annotated[
        Literal["test", "valid"],
        typer.Option("--split", metavar="SPLIT", help="Which facts to ask about: test or valid."),
    ] = "test",
    result: ResultOption = None,
    view: Annotated[
        Literal["within", "ahead"] | None,
        typer.Option(
            "--view",
            metavar="VIEW",
            help="within: queries see all training facts; ahead: only what was known before them. "
            "Without it, every view that the model and the split allow.",
        ),
    ] = None,
    rolling: Annotated[
        bool,
        typer.Option(
            "--rolling",
            help="Look ahead, and let each query see every fact before its time, also those of "
            "valid and test: as if the model were updated day by day.",
        ),
    ] = False,
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries",
            metavar="N",
            min=1,
            help="Ask at most so many queries, drawn evenly over predicates and time: an estimate "
            "for large splits. By default all.",
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    spread: Distribution,
) -> None:
    """Evaluate a model on held-out facts: how high it ranks their predicates.

    The splits are those of the protocol that the model was fitted under. `compare` reads the files
    that `--result` writes.

    Example: `apptek evaluate model --result model.json`
    """
    from apptek.baselines.open_model import on_engine, open_model
    from apptek.files import check_target
    from apptek.research.model_result import evaluate_model, write_evaluation
    from apptek.terminal import output, table, tell_next, working

    if result is not None:
        check_target(result)
    if rolling and view == "within":
        raise typer.BadParameter("--rolling looks ahead: it does not go with --view within")
    if queries is not None and (rolling or result is not None):
        raise typer.BadParameter("--queries is an estimate: not with --rolling or --result")
    spread.check(model)
    predictor = open_model(model)
    with working(f"evaluating on the {split} split"), spread.open(model) as engine:
        predictor = on_engine(predictor, engine)
        evaluated = evaluate_model(predictor, split, view, rolling=rolling, most=queries)
    if result is not None:
        write_evaluation(result, predictor, model, evaluated)
    fitted = predictor.model
    about = {"dataset": fitted.dataset.name, "split": split, "protocol": fitted.protocol}
    metrics = {name: evaluation.as_json() for name, evaluation in evaluated.by_view.items()}
    main = evaluated.main.as_json()
    if as_json:
        entries = about | {"preset": fitted.preset, "seed": fitted.seed}
        entries["view"] = evaluated.main_view
        by_view = {name: metrics.get(name) for name in ("within", "ahead")}
        extras = {"rolling": rolling, "forecast": evaluated.forecast}
        print_json(entries | main | by_view | extras)
        return
    shown = {VIEW_WORDS[name]: of_view for name, of_view in metrics.items()}
    if rolling:
        shown = {"rolling": main, **shown}
    for words, of_view in shown.items():
        groups = {group: part for group, part in of_view.items() if isinstance(part, dict)}
        rows = [
            (group.replace("_", " "), part["queries"], *(f"{part[key]:.4f}" for key in METRICS))
            for group, part in {"all": of_view, **groups}.items()
        ]
        title = "{dataset}, {split} split, protocol {protocol}".format(**about)
        output().print(table(f"{title}, {words}", ("", "queries", *METRICS.values()), rows))
    if evaluated.forecast is not None:
        rows = [
            (FIGURES[name], figure["queries"], *(f"{figure[key]:.4f}" for key in FORECAST_METRICS))
            for name, figure in evaluated.forecast.items()
        ]
        columns = ("forecast", "queries", *(METRICS[key] for key in FORECAST_METRICS))
        output().print(table("", columns, rows))
    if result is not None:
        tell_next(["compare", str(result), "OTHER_RESULT"])
    else:
        tell_next(["predict", str(model), "SUBJECT", "OBJECT", "TIME"])


def verify(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Check that no file of a model has changed since it was written.

    It reads every file and compares it with the checksums of the model's `manifest.json`. Opening a
    model does the same up to 256 MB; of a larger one it reads only a part.

    Example: `apptek verify model`
    """
    from apptek.models.manifest import model_digest, verify_folder
    from apptek.terminal import byte_progress, output

    with byte_progress("reading") as report:
        verified = verify_folder(model, report)
    digest = model_digest(model)
    if as_json:
        sizes = {"files": verified.files, "bytes": verified.size}
        print_json({"model": str(model), **sizes, "digest": digest})
    else:
        text = f"{verified.files:,} files, {verified.size:,} bytes: all as they were written"
        output().print(f"{text}; digest {digest}", markup=False, soft_wrap=True)
