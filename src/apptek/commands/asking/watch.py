"""The command `watch`."""

from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.asking.forecast import (
    DaysOption,
    FromOption,
    HoursOption,
    MinutesOption,
    MonthsOption,
    StepsOption,
    UntilOption,
    YearsOption,
)
from apptek.commands.options import JsonOption, ModelArgument, print_result
from apptek.commands.reading_options import BAD_ROWS_SHOWN, SKIP_BAD
from apptek.safe_text import counted


def watch(
    model: ModelArgument,
    pairs: Annotated[
        Path | None,
        typer.Argument(
            metavar="PAIRS",
            help="A file of pairs: subject, object (.csv, .tsv, .txt, .parquet); - for standard "
            "input.",
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
    hours: HoursOption = None,
    minutes: MinutesOption = None,
    steps: StepsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The file for the list (.html, .csv, .tsv, .parquet, .xlsx, .json, .jsonl).",
        ),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help=SKIP_BAD)] = False,
    as_json: JsonOption = False,
) -> None:
    """Forecast many pairs at once: a list with chances, changes and reasons.

    One row for each pair: the chance of anything in the window, what it was in the forecast for the
    window before, the most probable predicates and what changed most since that forecast. The HTML
    page is one file that can be sent by mail.

    Example: `apptek watch model --most 20 --days 7 --out watch.html`
    """
    from apptek.files import check_target
    from apptek.forecasting.watch import read_pairs
    from apptek.predictor import Predictor
    from apptek.present.forecast_words import watch_lines
    from apptek.present.tables import check_suffix, write_result
    from apptek.terminal import tell, working

    if (pairs is None) == (most is None) or (skip_bad and most):
        raise typer.BadParameter("give either a file of PAIRS or --most N, without --skip-bad")
    if out is not None:
        check_target(out)
        check_suffix(out)
    asked, skipped = (None, []) if pairs is None else read_pairs(pairs, skip_bad=skip_bad)
    predictor = Predictor.load(model, as_of=True)
    with working("forecasting"):
        listed = predictor.watch(
            asked, most=most or 1, start=start, until=until, days=days, months=months,
            years=years, hours=hours, minutes=minutes, steps=steps,
        )  # fmt: skip
    for defect in skipped[:BAD_ROWS_SHOWN]:
        tell(f"skipped: {defect}")
    if out is not None:
        write_result(out, listed, "watch")
        tell(f"{counted(len(listed.rows), 'pair')}, {len(skipped):,} skipped: {out}")
        for line in watch_lines(listed):
            tell(line)
    if out is None or as_json:
        print_result(listed, as_json=as_json)
