"""Commands that check a model: how good its answers are, and whether its files are whole."""

from typing import Annotated, Literal

import typer

from apptek.commands.options import (
    AsOfOption,
    JsonOption,
    ModelArgument,
    ResultOption,
    print_json,
)

METRICS = {
    "mrr": "MRR",
    "hits_at_1": "Hits@1",
    "hits_at_3": "Hits@3",
    "hits_at_10": "Hits@10",
    "ece": "ECE",
}


def evaluate(
    model: ModelArgument,
    split: Annotated[
        Literal["test", "valid"],
        typer.Option("--split", metavar="SPLIT", help="Which facts to ask about: test or valid."),
    ] = "test",
    result: ResultOption = None,
    as_of: AsOfOption = False,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a model on held-out facts: how high it ranks their predicates.

    The splits are those of the protocol that the model was fitted under. `compare` reads the files
    that `--result` writes.

    Example: `apptek evaluate model --result model.json`
    """
    from apptek.baselines.open_model import open_model
    from apptek.experiments.model_result import write_evaluation
    from apptek.files import check_target
    from apptek.terminal import output, table, tell_next, working

    if result is not None:
        check_target(result)
    predictor = open_model(model, as_of=as_of)
    with working(f"evaluating on the {split} split"):
        evaluation = predictor.evaluate(split)
    metrics = evaluation.as_json()
    if result is not None:
        write_evaluation(result, predictor, model, split, evaluation)
    fitted = predictor.model
    about = {"dataset": fitted.dataset.name, "split": split, "protocol": fitted.protocol}
    if as_json:
        print_json(about | {"preset": fitted.preset, "seed": fitted.seed} | metrics)
        return
    groups = {name: group for name, group in metrics.items() if isinstance(group, dict)}
    rows = [
        (name.replace("_", " "), group["queries"], *(f"{group[key]:.4f}" for key in METRICS))
        for name, group in {"all": metrics, **groups}.items()
    ]
    title = "{dataset}, {split} split, protocol {protocol}".format(**about)
    output().print(table(title, ("", "queries", *METRICS.values()), rows))
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
    from apptek.models.manifest import verify_folder
    from apptek.terminal import byte_progress, output

    with byte_progress("reading") as report:
        verified = verify_folder(model, report)
    if as_json:
        print_json({"model": str(model), "files": verified.files, "bytes": verified.size})
    else:
        text = f"{verified.files:,} files, {verified.size:,} bytes: all as they were written"
        output().print(text, markup=False, soft_wrap=True)
