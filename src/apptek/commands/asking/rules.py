"""The commands under `apptek rules`: export what a model believes, import what was made of it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.options import JsonOption, ModelArgument, OutOption, print_json

rules_app = typer.Typer(
    no_args_is_help=True, help="Export what a model believes as rules; import edited rules."
)


@rules_app.command("export")
def export_rules(
    model: ModelArgument,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="A .txt, .json or .csv file.")
    ],
    least: Annotated[
        float,
        typer.Option(
            "--least", metavar="WEIGHT", min=0.0,
            help="Leave out rules with a smaller weight, for or against; 0: none.",
        ),
    ] = 0.2,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Write what a model believes as rules: weight, support, confidence and lift, of both views.

    A .json file can be edited and read back by `apptek rules import`.

    Example: `apptek rules export model --out rules.json`
    """
    from apptek.models.model_folder import load_model
    from apptek.rules.export import check_rules_file, rules_of, write_rules
    from apptek.terminal import tell, tell_next, working

    check_rules_file(out)
    with working("counting"):
        fitted = load_model(model)
        rules = rules_of(fitted, least)
        write_rules(fitted, rules, least, out)
    if as_json:
        views = {view: sum(rule.view == view for rule in rules) for view in fitted.views}
        print_json({"rules": len(rules), "views": views, "least": least, "out": str(out)})
        return
    tell(f"{len(rules):,} rules: {out}")
    if out.suffix == ".json":
        tell_next(["rules", "import", str(model), str(out), "--out", "edited"])


@rules_app.command("import")
def import_edited(
    model: ModelArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The JSON file of `rules export`, edited.")
    ],
    out: OutOption,
    as_json: JsonOption = False,
) -> None:
    """Make a new model with the rules of an edited file.

    A rule that is missing from the file is vetoed, one with another weight gets it, and a new one
    is added. Everything else stays as it is.

    Example: `apptek rules import model rules.json --out edited`
    """
    from apptek.files import check_new_folder
    from apptek.predictor import Predictor
    from apptek.rules.importing import import_rules
    from apptek.terminal import tell, tell_next

    check_new_folder(out)
    edited, report = import_rules(Predictor.load(model).model, file)
    Predictor(edited, {"rules": asdict(report)}).save(out)
    if as_json:
        print_json({**asdict(report), "out": str(out)})
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in asdict(report).items())
    tell(f"rules: {counts}; the model is in {out}")
    tell_next(["evaluate", str(out)])
