"""Backtests: windows, what was forecast and what happened, nothing from the future."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import succeeds
from pyarrow import parquet

from apptek.errors import ApptekError
from apptek.evaluation.calibration import yes_no_figures
from apptek.facts.facts import Facts
from apptek.forecast.backtest import backtest
from apptek.forecast.forecaster import Forecaster
from apptek.models.model_folder import load_model
from apptek.models.updating import update_model
from apptek.research.result import read_result
from apptek.results import to_dict


@pytest.fixture(scope="module")
def forecaster(forecast_model: Path) -> Forecaster:
    return Forecaster(load_model(forecast_model))


def test_windows_after_the_fit_count_and_those_within_it_do_not(forecaster: Forecaster) -> None:
    axis, until = forecaster.model.dataset.axis, forecaster.occurrence.fitted_until
    outcome, table = backtest(forecaster, 30, axis.format(until - 59))
    assert [window.in_training for window in outcome.windows][:3] == [True, True, False]
    rows = table.to_pydict()
    tested = ~np.asarray(rows["in_training"])
    chances, happened = (np.asarray(rows[name])[tested] for name in ("probability", "happened"))
    assert outcome.figures == yes_no_figures(chances, happened)
    assert sum(part.forecasts for part in outcome.reliability) == len(chances)
    usual, _ = backtest(forecaster, 30)
    assert not any(window.in_training for window in usual.windows)


def test_facts_of_the_last_window_change_no_forecast(forecaster: Forecaster) -> None:
    """Planted in the last window: they happen, and nobody knew."""
    model, axis = forecaster.model, forecaster.model.dataset.axis
    outcome, before = backtest(forecaster, 30)
    last = outcome.windows[-1]
    day = axis.parse(last.first)
    entities = np.arange(40, dtype=np.int32)
    times = np.full(40, day, np.int32)
    planted = Facts(entities, entities % 3, entities[::-1].copy(), times, times)
    nothing = planted.first(0)
    new = replace(model.dataset, train=planted, valid=nothing, test=nothing)
    updated, _ = update_model(model, new)
    _, after = backtest(Forecaster(updated), 30, outcome.windows[0].first, last.last)
    one, other = (part.to_pydict() for part in (before, after))
    for name in ("subject", "object", "probability", "expected", "own_rate", "last_30"):
        assert one[name] == other[name][: len(one[name])], name
    assert one["happened"] != other["happened"][: len(one["happened"])]


def test_nothing_to_roll_through_is_said(forecaster: Forecaster) -> None:
    with pytest.raises(ApptekError, match="split by time"):
        backtest(forecaster, 100_000)
    with pytest.raises(ApptekError, match="at least 1"):
        backtest(forecaster, 0)


def test_the_command_writes_forecasts_and_a_result(forecast_model: Path, tmp_path: Path) -> None:
    out, result = tmp_path / "out.parquet", tmp_path / "result.json"
    words = ("evaluate", str(forecast_model), "--forecasts", "--every", "30", "--lead", "14")
    done = succeeds(*words, "--out", str(out), "--result", str(result))
    assert "14 days ahead" in done.stdout
    assert "its rate in the last 30 days" in " ".join(done.stdout.split())
    forecasts = parquet.read_table(out)
    outcome, expected = backtest(Forecaster(load_model(forecast_model)), 30, lead=14)
    assert forecasts.num_rows == expected.num_rows == sum(each.pairs for each in outcome.windows)
    recorded = read_result(result)
    assert recorded.model == "backtest"
    assert recorded.metrics["forecasts"] == to_dict(outcome.figures)
    assert sorted(recorded.groups) == ["active", "all", "continuations", "never_seen", "onsets"]
    assert recorded.groups["never_seen"]["pairs"] > 10 * recorded.groups["all"]["pairs"]
