"""Recorded backtests: whether anything happens to a pair in the next days, beside simple rates."""

from apptek.experiments.reports.markdown import Results, markdown, title_of

NAMES = {
    "forecasts": "forecasts",
    "own_rate": "the pair's own rate so far",
    "last_30": "its rate in the last 30 days",
}
FIGURES = ("log_loss", "brier", "auc", "calibration_error")


def backtest_table(results: Results) -> str:
    """The figures of each backtest, and of its baselines."""
    rows = []
    for result in results:
        if result.model != "backtest":
            continue
        windows = result.extras["windows"]
        about = (
            f"{windows['count']} of {windows['every']} {windows['unit']}s from {windows['first']}"
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
        for result in results
        if result.model == "backtest"
        for part in result.extras["predicate_reliability"]
    ]
    return markdown(("data", "forecast at", "forecasts", "on average", "happened"), rows)
