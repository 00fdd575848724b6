"""The command `research faithfulness`: whether the reasons of a model are true to it."""

from dataclasses import asdict, replace
from typing import Annotated

from apptek.commands.options import (
    JsonOption,
    ModelArgument,
    ResultOption,
    SeedOption,
    option,
    print_json,
)


def faithfulness(
    model: ModelArgument,
    count: Annotated[
        int, option("-n", "Number of questions, of the test split.", "N", min=1)
    ] = 500,
    world: Annotated[
        int,
        option(
            "--world",
            "The size of the invented world for the planted rules; 0: none.",
            "FACTS",
            min=0,
        ),
    ] = 20_000,
    seed: SeedOption = 0,
    result: ResultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure whether reasons are true to the model.

    Deletion: without the cited facts the answer loses more than without as many random ones.
    Sufficiency: with the facts of five reasons alone the answer stays. Stability: so do answer and
    reasons one step earlier or later. Planted rules: fitted with the same settings on an invented
    world, the model names the rule that made a fact first.

    Example: `apptek research faithfulness model -n 20 --world 0`
    """
    from apptek.files import check_target
    from apptek.models.model_folder import load_model
    from apptek.research.faithfulness import fit_and_recover, measure_faithfulness
    from apptek.research.result import Result, write_result
    from apptek.seeding import generator
    from apptek.terminal import output, table, working

    if result is not None:
        check_target(result)
    fitted = load_model(model)
    with working("asking, deleting and asking again"):
        figures = asdict(measure_faithfulness(fitted, count, rng=generator(seed, "faithfulness")))
    recovery = None
    if world:
        with working("fitting an invented world"):
            recovery = asdict(fit_and_recover(fitted, world, seed=seed))
    if result is not None:
        extras = {"of": f"apptek_{fitted.preset}", "world": recovery}
        about = Result(model="faithfulness", dataset=fitted.dataset.name, seed=seed)
        write_result(result, replace(about, metrics=figures, extras=extras))
    if as_json:
        print_json(figures | {"world": recovery})
        return
    rows = [(name.replace("_", " "), _show(value)) for name, value in figures.items()]
    if recovery:
        rows.append(("planted rules named first", _show(recovery["named"])))
    output().print(table("Faithfulness", ("what", "value"), rows))


def _show(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"
