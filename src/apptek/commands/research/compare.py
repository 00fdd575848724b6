"""The commands `compare`, of results, and `contest`, of models fitted on one's own data."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apptek.commands.options import (
    DataArgument,
    JsonOption,
    ProtocolOption,
    ResultOption,
    print_json,
)
from apptek.commands.reading_options import Reading, reads_data
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.research.compare import Difference


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT", help="Result files that `evaluate --result` wrote."),
    ],
    top: Annotated[
        int,
        typer.Option(
            "--top", metavar="N", min=1, help="How many gains and how many losses to show."
        ),
    ] = 5,
    result: ResultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare models with the first one, query by query.

    It shows the differences in MRR with 95 % intervals. Results that differ only in the seed count
    as one model.

    Example: `apptek compare recency.json model.json`
    """
    from apptek.files import check_target
    from apptek.research.compare import compare_results
    from apptek.research.result import write_result
    from apptek.terminal import output, table

    if len(results) < 2:
        raise typer.BadParameter("give at least two result files")
    if result is not None:
        check_target(result)
    comparison = compare_results(results)
    if result is not None:
        write_result(result, comparison.as_result())
    if as_json:
        print_json(comparison.as_json())
        return
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


@reads_data
def contest(
    data: DataArgument,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The folder for the models and their results."),
    ],
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="LIST",
            help="Presets and baselines, such as `pair,max`.  "
            "[default: recency,tnt_complex,paper,default]",
        ),
    ] = None,
    protocol: ProtocolOption = "official",
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", min=1, help="How many runs of each model.")
    ] = 1,
    as_json: JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Find the model that suits your data best: fit several and compare them.

    Each model is fitted on train, chooses its settings on valid and is evaluated on test. Finished
    runs are kept: run the same command to continue after a stop, or with more models to add them.

    Example: `apptek contest world --out contest --models recency,default`
    """
    from apptek.research.contest import clear_best, run_contest, usual_models
    from apptek.terminal import output, table, tell, tell_next

    names = [name.strip() for name in models.split(",")] if models else usual_models()
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"{models!r} names a model twice")
    command = [data, *reading.words()]
    contestants = run_contest(
        reading.read(data), names, out, tell, seeds=seeds, protocol=protocol, command=command
    )
    best = clear_best(contestants)
    if as_json:
        entries = [asdict(contestant) for contestant in contestants]
        print_json({"models": entries, "best": None if best is None else best.name})
        return
    rows = [
        (
            contestant.name,
            *(f"{value:.4f}" for value in contestant.metrics.values()),
            "" if contestant.seconds is None else f"{contestant.seconds:.1f}",
        )
        for contestant in contestants
    ]
    header = ("model", "MRR", "Hits@1", "Hits@10", "ECE", "seconds")
    console, first = output(), contestants[0]
    console.print(table(f"{data}, test split; seconds to fit", header, rows))
    for contestant in contestants:
        if (difference := contestant.against_best) is not None:
            console.print(
                f"{contestant.name}: MRR {difference.mean:+.4f} against {first.name}, "
                f"95 % interval {difference.low:+.4f} .. {difference.high:+.4f}",
                soft_wrap=True,
                markup=False,
            )
    if best is None:
        equal = [
            one.name
            for one in contestants
            if one.against_best is None or one.against_best.high >= 0
        ]
        tell(f"no model is clearly the best: {', '.join(equal)} cannot be told apart on this data")
    else:
        tell(f"the best model, {best.name}, is in {best.folder}")
    folder = "MODEL" if best is None else str(best.folder)
    tell_next(["predict", folder, "SUBJECT", "OBJECT", "TIME"])


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
