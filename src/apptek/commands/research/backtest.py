"""The command `backtest`."""

from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.options import JsonOption, ModelArgument, ResultOption, print_result


def backtest(
    model: ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Further facts, as for fit; without it, those that the model's folder holds.",
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option("--every", metavar="N", help="The length of a window: N days, or steps."),
    ] = 7,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Where the first window begins.  [default: after what the model was fitted on]",
        ),
    ] = None,
    stop: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="TIME", help="No window ends later.  [default: last observed time]"
        ),
    ] = None,
    lead: Annotated[
        int,
        typer.Option(
            "--lead",
            metavar="N",
            min=0,
            help="Forecast each window N days, or steps, before it begins, from the facts until "
            "then.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="A new folder for every forecast (forecasts.parquet), the figures and the "
            "reliability diagram (SVG; PNG, too, where Matplotlib is installed).",
        ),
    ] = None,
    result: ResultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Roll through time, and compare what would have been forecast with what happened.

    In each window, the chance of anything is forecast for every pair that had a fact before, from
    the facts until then. Windows that the model was fitted on count in no figure, so fit it on a
    split by time first. Onsets are asked about where a pair had facts, but none in the last 90
    days (other units: the long time scale of the data), continuations where it had one.

    Example: `apptek backtest model --every 30 --from 2021-06-01`
    """
    from apptek.data.reading.reader import read_dataset
    from apptek.files import check_new_folder, check_target
    from apptek.forecasting.backtest import backtest as roll
    from apptek.forecasting.backtest import backtest_result, write_backtest
    from apptek.forecasting.forecaster import Forecaster
    from apptek.forecasting.learning import with_history
    from apptek.models.model_folder import load_model
    from apptek.models.storage import RUN, read_json
    from apptek.models.updating import update_model
    from apptek.terminal import tell, working

    if out is not None:
        check_new_folder(out)
    if result is not None:
        check_target(result)
    whole = with_history(load_model(model))
    if data is not None:
        whole, report = update_model(whole, read_dataset(data))
        tell(f"facts added: {report.added:,}; known before: {report.known:,}")
    forecaster = Forecaster(whole)
    with working("rolling through time"):
        outcome, forecasts = roll(forecaster, every, start, stop, lead)
    if out is not None:
        write_backtest(out, outcome, forecasts)
        tell(f"every forecast, the figures and the reliability diagram are in {out}")
    if result is not None:
        from apptek.research.provenance import command
        from apptek.research.result import Result, write_result

        fitted_by = read_json(model, RUN).get("command")
        commands = " && ".join(words for words in (fitted_by, command()) if words)
        entries = backtest_result(whole, outcome) | {"command": commands}
        write_result(result, Result.from_json(entries))
    print_result(outcome, as_json=as_json)
