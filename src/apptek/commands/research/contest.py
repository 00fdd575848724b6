"""The command `research contest`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apptek.commands.options import (
    DataArgument,
    JsonOption,
    ProtocolOption,
    option,
    print_json,
)
from apptek.commands.reading_options import Reading, reads_data

if TYPE_CHECKING:
    from apptek.research.contest import Contestant


@reads_data
def contest(
    data: DataArgument,
    out: Annotated[
        Path,
        option("--out", "The folder for the models and their results.", "DIR"),
    ],
    models: Annotated[
        str | None,
        option(
            "--models",
            "Models, as for `fit --model`: `pair,max`.  "
            "[default: recency,tnt_complex,paper,default]",
            "LIST",
        ),
    ] = None,
    protocol: ProtocolOption = "official",
    seeds: Annotated[int, option("--seeds", "Number of runs of each model.", "N", min=1)] = 1,
    as_json: JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Find the model that suits your data best: fit several and compare them.

    Each model is fitted on train, chooses its settings on valid and is evaluated on test. Finished
    runs are kept: run the same command to continue after a stop, or with more models to add them.

    Example: `apptek research contest world --out contest --models recency,default`
    """
    from apptek.research.contest import clear_best, run_contest, usual_models
    from apptek.terminal import tell

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
    else:
        _print_contest(data, contestants, best)


def _print_contest(
    data: str, contestants: "Sequence[Contestant]", best: "Contestant | None"
) -> None:
    from apptek.terminal import output, table, tell, tell_next

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
