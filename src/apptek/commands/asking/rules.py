"""The command `apptek rules export`: what a model believes."""

from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.options import JsonOption, ModelArgument, print_json
from apptek.safe_text import counted

rules_app = typer.Typer(no_args_is_help=True, help="Export what a model believes as rules.")


@rules_app.command("export")
def export_rules(
    model: ModelArgument,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="A .jsonl or .parquet file.")
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

    Example: `apptek rules export model --out rules.jsonl`
    """
    from apptek.models.model_folder import load_model
    from apptek.rules import write_rules
    from apptek.terminal import tell, working

    with working("counting"):
        count = write_rules(load_model(model), out, least)
    if as_json:
        print_json({"rules": count, "least": least, "out": str(out)})
        return
    tell(f"{counted(count, 'rule')}: {out}")
