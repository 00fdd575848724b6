"""`evaluate --forecasts`: what would have been forecast, and what happened."""

from pathlib import Path
from typing import Any

from apptek.commands.options import print_result

Times = tuple[int, str | None, str | None, int]  # every, from, to, lead


def evaluate_forecasts(
    model: Path, times: Times, out: Path | None, result: Path | None, *, as_json: bool
) -> None:
    """Roll through time with a model; print the outcome and write its files."""
    from apptek.files import check_new_folder
    from apptek.forecast.backtest import backtest, backtest_result, write_backtest
    from apptek.forecast.forecaster import Forecaster
    from apptek.forecast.learning import with_history
    from apptek.models.model_folder import load_model
    from apptek.terminal import tell, working

    if out is not None:
        check_new_folder(out)
    whole = with_history(load_model(model))
    with working("rolling through time"):
        outcome, forecasts = backtest(Forecaster(whole), *times)
    if out is not None:
        write_backtest(out, outcome, forecasts)
        tell(f"every forecast, the figures and the reliability diagram are in {out}")
    if result is not None:
        _write_result(result, model, backtest_result(whole, outcome))
    print_result(outcome, as_json=as_json)


def _write_result(path: Path, model: Path, entries: dict[str, Any]) -> None:
    from apptek.models.storage import RUN, read_json
    from apptek.research.provenance import command
    from apptek.research.result import Result, write_result

    fitted_by = read_json(model, RUN).get("command")
    commands = " && ".join(words for words in (fitted_by, command()) if words)
    write_result(path, Result.from_json(entries | {"command": commands}))
