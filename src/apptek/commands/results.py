"""Commands about result files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apptek.commands.options import JsonOption, print_json

if TYPE_CHECKING:
    from apptek.experiments.compare import Difference


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT...", help="Result files of `evaluate --result`."),
    ],
    top: Annotated[
        int, typer.Option("--top", min=1, help="Predicates to show, of gains and of losses.")
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Hold models against the first, query by query: MRR differences with 95 % intervals.

    Results that differ in nothing but the seed count as one model.

    Example: `apptek compare recency.json tnt_complex.json`
    """
    from apptek.experiments.compare import compare_results
    from apptek.terminal import output, table

    if len(results) < 2:
        raise typer.BadParameter("give two result files at least")
    found = compare_results(results)
    if as_json:
        print_json(found.as_json())
        return
    about = "{dataset}, {split} split, protocol {protocol}, {queries:,} queries".format(
        **found.about
    )
    by_name = {difference.name: difference for difference in found.differences}
    rows = []
    for model in found.models:
        spread = "" if model.deviation is None else f" ± {model.deviation:.4f}"
        against = by_name.get(model.name)
        rows.append(
            (
                model.name,
                ", ".join(map(str, model.seeds)),
                f"{model.mrr:.4f}{spread}",
                "" if against is None else f"{against.mean:+.4f}",
                "" if against is None else f"{against.low:+.4f} .. {against.high:+.4f}",
            )
        )
    console = output()
    header = ("model", "seeds", "MRR", f"minus {found.models[0].name}", "95 % interval")
    console.print(table(about, header, rows))
    for difference in found.differences:
        console.print(_gains_text(difference, top), markup=False, soft_wrap=True)


def _gains_text(difference: "Difference", top: int) -> str:
    """Where a model gains and loses most, a line for each predicate."""
    gains = [gain for gain in difference.predicates if gain.after > gain.before][:top]
    losses = [gain for gain in difference.predicates[::-1] if gain.after < gain.before][:top]
    counts = f"{difference.better:,} queries better, {difference.worse:,} worse"
    lines = [f"\n{difference.name} against {difference.against}: {counts}"]
    for title, part in (("gains most on", gains), ("loses most on", losses)):
        lines += [f"  {title}"] if part else []
        lines += [
            f"    {gain.before:.3f} -> {gain.after:.3f}  {gain.predicate} ({gain.queries:,})"
            for gain in part
        ]
    return "\n".join(lines)
