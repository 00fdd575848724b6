"""`evaluate --forecasts`: what would have been forecast, and what happened."""

from pathlib import Path
from typing import Any

from apptek.commands.options import print_json

RATES = {"own_rate": "the pair's own rate so far", "last_30": "its rate in the last 30 {unit}s"}
COLUMNS = ("log_loss", "brier", "auc", "calibration_error")
Times = tuple[int, str | None, str | None, int]  # every, from, to, lead


def evaluate_forecasts(
    model: Path, times: Times, out: Path | None, result: Path | None, *, as_json: bool
) -> None:
    """Roll through time with a model; print the outcome and write its files."""
    from apptek.files import check_new_folder
    from apptek.forecasting.backtest import backtest
    from apptek.forecasting.backtest_files import backtest_result, write_backtest
    from apptek.forecasting.forecaster import Forecaster
    from apptek.forecasting.learning import with_history
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
    if as_json:
        print_json(outcome.as_json())
    else:
        _print(outcome)


def _write_result(path: Path, model: Path, entries: dict[str, Any]) -> None:
    from apptek.experiments.provenance import command
    from apptek.experiments.result import Result, write_result
    from apptek.models.storage import RUN, read_json

    fitted_by = read_json(model, RUN).get("command")
    commands = " && ".join(words for words in (fitted_by, command()) if words)
    write_result(path, Result.from_json(entries | {"command": commands}))


def _print(outcome: Any) -> None:
    from apptek.terminal import tell

    _print_windows(outcome)
    if outcome.figures is None:
        tell("every window lies in the training period: there are no figures")
        return
    _print_figures(outcome)
    _print_groups(outcome)
    _print_predicates(outcome)


def _print_windows(outcome: Any) -> None:
    from apptek.present.wording import period_text
    from apptek.safe_text import counted
    from apptek.terminal import output, table

    header = ("window", "pairs", "expected", "happened", "first meetings")
    rows = [
        (
            period_text(window.first, window.last) + " (training)" * window.in_training,
            window.pairs,
            f"{window.expected:,.0f}",
            window.happened,
            window.meetings,
        )
        for window in outcome.windows
    ]
    title = f"{outcome.data}, windows of {counted(outcome.every, outcome.unit)}"
    title += f", {counted(outcome.lead, outcome.unit)} ahead" if outcome.lead else ""
    output().print(table(title, header, rows), markup=False)


def _print_figures(outcome: Any) -> None:
    from apptek.terminal import output, table

    rates = {name: words.format(unit=outcome.unit) for name, words in RATES.items()}
    models = {"forecasts": outcome.figures} | {
        rates[name]: figures for name, figures in outcome.baselines.items()
    }
    skills = {rates[name]: f"{value:+.3f}" for name, value in outcome.skill.items()}
    lines = [
        (
            name,
            *("" if getattr(f, key) is None else f"{getattr(f, key):.4f}" for key in COLUMNS),
            skills.get(name, ""),
        )
        for name, f in models.items()
    ]
    names = ("", "log-loss", "Brier", "AUC", "calibration error", "Brier skill against it")
    output().print(table("Anything at all", names, lines), markup=False)


def _print_groups(outcome: Any) -> None:
    from apptek.forecasting.skill import NAMES, no_skill_lines
    from apptek.present.wording import percent
    from apptek.terminal import output, table, tell

    columns = ("", "pairs", "with a fact", "forecast", "Brier", "skill: base rate", "no change",
               "own rate")  # fmt: skip
    groups = [
        (
            words,
            f"{group.pairs:,.0f}",
            percent(group.share),
            percent(group.forecast),
            f"{group.brier:.4f}",
            *("" if value is None else f"{value:+.3f}" for value in group.skill.values()),
        )
        for name, words in NAMES.items()
        if (group := outcome.groups.get(name)) is not None
    ]
    output().print(table("Brier skill by kind of pair", columns, groups), markup=False)
    for line in no_skill_lines(outcome.groups):
        tell(line)


def _print_predicates(outcome: Any) -> None:
    from apptek.present.wording import percent
    from apptek.terminal import output, table

    bins = [
        (
            f"{percent(part.lower)} to {percent(part.upper)}",
            part.forecasts,
            percent(part.forecast),
            percent(part.happened),
        )
        for part in outcome.predicate_reliability
    ]
    heads = ("forecast at", "forecasts", "on average", "happened")
    output().print(table("Predicates: what was forecast came true", heads, bins), markup=False)
    surprises = [
        (
            f"{part.subject} -> {part.object}",
            part.first,
            f"{100 * part.probability:.2f} %",
            ", ".join(part.predicates),
        )
        for part in outcome.surprises
    ]
    if surprises:
        heads = ("most surprising", "window", "chance", "what happened")
        output().print(table("Happened at less than 1 %", heads, surprises), markup=False)
