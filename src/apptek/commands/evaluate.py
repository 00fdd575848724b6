"""The command `evaluate`."""

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
