"""The command `research compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apptek.commands.options import JsonOption, ResultOption, argument, option, print_json
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.research.compare import Difference


def compare(
    results: Annotated[
        list[Path],
        argument("RESULT", "Result files that `evaluate --result` wrote."),
    ],
    top: Annotated[
        int, option("--top", "Number of gains, and of losses, to print.", "N", min=1)
    ] = 5,
    result: ResultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare models with the first one, query by query.

    It shows the differences in MRR with 95 % intervals. Results that differ only in the seed count
    as one model.

    Example: `apptek research compare recency.json model.json`
    """
    from apptek.files import check_target
    from apptek.research.compare import compare_results
    from apptek.research.result import write_result

    if len(results) < 2:
        raise typer.BadParameter("give at least two result files")
    if result is not None:
        check_target(result)
    comparison = compare_results(results)
    if result is not None:
        write_result(result, comparison.as_result())
    if as_json:
        print_json(comparison.as_json())
    else:
        _print_comparison(comparison, top)


def _print_comparison(comparison: Any, top: int) -> None:
    from apptek.terminal import output, table

    title = (
        f"{comparison.dataset}, {comparison.split} split, protocol {comparison.protocol}, "
        f"{counted(comparison.queries, 'query')}"
    )
    rows = []
    for model, difference in zip(comparison.models, (None, *comparison.differences), strict=True):
        spread = "" if model.deviation is None else f" ± {model.deviation:.4f}"
        rows.append(
            (
                model.name,
                ", ".join(map(str, model.seeds)),
                f"{model.mrr:.4f}{spread}",
                "" if difference is None else f"{difference.mean:+.4f}",
                "" if difference is None else f"{difference.low:+.4f} .. {difference.high:+.4f}",
            )
        )
    console = output()
    header = ("model", "seeds", "MRR", f"minus {comparison.models[0].name}", "95 % interval")
    console.print(table(title, header, rows))
    for difference in comparison.differences:
        console.print(_gains_text(difference, top), markup=False, soft_wrap=True)


def _gains_text(difference: "Difference", top: int) -> str:
    """Where a model gains and loses most, a line for each predicate."""
    gains = [gain for gain in difference.predicates if gain.after > gain.before][:top]
    losses = [gain for gain in difference.predicates[::-1] if gain.after < gain.before][:top]
    counts = f"{counted(difference.better, 'query')} better, {difference.worse:,} worse"
    lines = [f"\n{difference.name} against {difference.against}: {counts}"]
    for title, part in (("gains most on", gains), ("loses most on", losses)):
        lines += [f"  {title}"] if part else []
        lines += [
            f"    {gain.before:.3f} -> {gain.after:.3f}  {gain.predicate} ({gain.queries:,})"
            for gain in part
        ]
    return "\n".join(lines)
