"""The command `watch`."""

from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.asking.forecast import (
    DaysOption,
    FromOption,
    MonthsOption,
    StepsOption,
    UntilOption,
    YearsOption,
)
from apptek.commands.options import JsonOption, ModelArgument, print_json


def watch(
    model: ModelArgument,
    pairs: Annotated[
        Path | None,
        typer.Argument(
            metavar="PAIRS",
            help="A file of pairs: subject, object (.csv, .tsv, .txt, .parquet).",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most",
            metavar="N",
            min=1,
            help="Instead of a file: the N pairs whose chance of anything changes most.",
        ),
    ] = None,
    start: FromOption = None,
    until: UntilOption = None,
    days: DaysOption = None,
    months: MonthsOption = None,
    years: YearsOption = None,
    steps: StepsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The file for the list (.html, .csv, .tsv, .parquet, .xlsx, .json).",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Forecast many pairs at once: a list with chances, changes and reasons.

    One row for each pair: the chance of anything in the window, what it was for the window before,
    the most probable predicates and the strongest reason. The HTML page is one file that can be
    sent by mail.

    Example: `apptek watch model --most 20 --days 7 --out watch.html`
    """
    from apptek.explain.wording import period_text, points
    from apptek.files import check_target
    from apptek.forecasting.watch import most_changed, read_pairs
    from apptek.forecasting.watch import watch as watch_pairs
    from apptek.forecasting.watch_files import check_suffix, write_watch
    from apptek.forecasting.window import Length
    from apptek.predictor import Predictor
    from apptek.terminal import output, table, tell, working

    if (pairs is None) == (most is None):
        raise typer.BadParameter("give either a file of PAIRS or --most N")
    if out is not None:
        check_target(out)
        check_suffix(out)
    asked = None if pairs is None else read_pairs(pairs)
    forecaster = Predictor.load(model, as_of=True).forecaster
    length = Length(until=until, days=days, months=months, years=years, steps=steps)
    window = forecaster.window(start, length)
    with working("forecasting"):
        chosen = most_changed(forecaster, window, most or 1) if asked is None else asked
        listed = watch_pairs(forecaster, chosen, window)
    if out is not None:
        write_watch(listed, out)
        tell(f"{len(listed.rows):,} pairs: {out}")
    if as_json:
        print_json(listed.as_json())
        return
    if out is None:
        rows = [
            (
                f"{row.subject}, {row.object}",
                f"{row.probability:6.1%}",
                points(row.change),
                row.predicates[0].shown,
                f"{row.predicates[0].probability:6.1%}",
            )
            for row in listed.rows
        ]
        header = ("pair", "anything", "change", "most probable", "")
        output().print(table(period_text(listed.first, listed.last), header, rows), markup=False)
    for note in listed.notes:
        tell(note)
    unknown = [row for row in listed.rows if row.unseen]
    if unknown:
        tell(f"pairs with a name that is not in the facts: {len(unknown):,}")
