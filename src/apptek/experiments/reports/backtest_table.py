"""Recorded backtests: whether anything happens to a pair in the next days, beside simple rates."""

from apptek.experiments.reports.markdown import Results, markdown, title_of
from apptek.experiments.result import Result
from apptek.forecasting.skill import NAMES as GROUPS
from apptek.safe_text import counted

NAMES = {
    "forecasts": "forecasts",
    "own_rate": "the pair's own rate so far",
    "last_30": "its rate in the last 30 days",
}
FIGURES = ("log_loss", "brier", "auc", "calibration_error")
SKILLS = ("base_rate", "no_change", "own_rate")


def _longest(results: Results) -> list[Result]:
    """Of each data set the backtest without a lead that has most windows."""
    chosen: dict[str, Result] = {}
    for result in results:
        if result.model != "backtest" or result.extras["windows"].get("lead", 0):
            continue
        windows, known = result.extras["windows"]["count"], chosen.get(result.dataset)
        if known is None or windows > known.extras["windows"]["count"]:
            chosen[result.dataset] = result
    return list(chosen.values())


def lead_table(results: Results) -> str:
    """By lead and group of pairs: the metrics of each backtest, and its Brier skill."""
    backtests = [r for r in results if r.model == "backtest" and r.groups]
    rows = []
    for result in sorted(backtests, key=lambda r: (r.dataset, r.extras["windows"]["lead"])):
        for name, words in GROUPS.items():
            group = result.groups.get(name)
            if group is None:
                continue
            skills = (group["skill"][rule] for rule in SKILLS)
            rows.append(
                [
                    title_of(result.dataset),
                    str(result.extras["windows"]["lead"]),
                    words,
                    f"{group['pairs']:,.0f}",
                    *(f"{100 * group[key]:.3g} %" for key in ("share", "forecast")),
                    *(f"{group[key]:.3g}" for key in ("brier", "calibration_error")),
                    *("" if skill is None else f"{skill:+.4f}" for skill in skills),
                ]
            )
    heads = ("with a fact", "mean forecast", "Brier", "calibration error", "skill: base rate")
    more = ("skill: no change", "skill: own rate")
    return markdown(("data", "lead", "pairs", "pairs and windows", *heads, *more), rows)


def backtest_table(results: Results) -> str:
    """The figures of each backtest, and of its baselines."""
    rows = []
    for result in _longest(results):
        windows = result.extras["windows"]
        about = (
            f"{windows['count']} of {counted(windows['every'], windows['unit'])} from "
            f"{windows['first']}"
        )
        for name, words in NAMES.items():
            figures, skill = result.metrics[name], result.extras["skill"].get(name)
            rows.append(
                [
                    title_of(result.dataset),
                    about,
                    f"{figures['forecasts']:,}",
                    f"{figures['share']:.2%}",
                    words,
                    *(f"{figures[key]:.4f}" for key in FIGURES),
                    "" if skill is None else f"{skill:+.3f}",
                ]
            )
    heads = ("log-loss", "Brier", "AUC", "calibration error", "Brier skill against it")
    return markdown(("data", "windows", "pairs", "with a fact", "model", *heads), rows)


def predicate_table(results: Results) -> str:
    """How often predicates came true that were forecast at a probability."""
    rows = [
        [
            title_of(result.dataset),
            f"{100 * part['lower']:g} % to {100 * part['upper']:g} %",
            f"{part['forecasts']:,}",
            f"{part['forecast']:.1%}",
            f"{part['happened']:.1%}",
        ]
        for result in _longest(results)
        for part in result.extras["predicate_reliability"]
    ]
    return markdown(("data", "forecast at", "forecasts", "on average", "happened"), rows)
