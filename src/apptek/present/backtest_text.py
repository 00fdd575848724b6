"""A backtest as text: the windows, the metrics beside simple rules, and the surprises."""

from collections.abc import Mapping

from apptek.present.wording import percent, period_text
from apptek.results import Backtest, GroupSkill
from apptek.safe_text import counted
from apptek.terminal import table_text

ACTIVE = 400  # ordered pairs with most facts so far
GROUPS = {
    "all": "all pairs with a fact before",
    "active": f"the {ACTIVE} most active",
    "continuations": "continuations",
    "onsets": "onsets",
    "never_seen": "never seen before",
}
RULES = {"base_rate": "the base rate", "no_change": "no change", "own_rate": "the pair's own rate"}
RATES = {"own_rate": "the pair's own rate so far", "last_30": "its rate in the last 30 {unit}s"}
METRICS = ("log_loss", "brier", "auc", "calibration_error")
IN_TRAINING = "every window lies in the training period: there are no figures"


def backtest_text(outcome: Backtest, width: int) -> str:
    """Return the tables of a backtest, one below the other."""
    parts = [_windows(outcome, width)]
    if outcome.figures is None:
        return "\n".join([*parts, IN_TRAINING])
    parts += [_metrics(outcome, width), _groups(outcome, width), *no_skill_lines(outcome.groups)]
    bins = [
        (
            f"{percent(part.lower)} to {percent(part.upper)}",
            part.forecasts,
            percent(part.forecast),
            percent(part.happened),
        )
        for part in outcome.predicate_reliability
    ]
    header = ("forecast at", "forecasts", "on average", "happened")
    parts.append(table_text("Predicates: what was forecast came true", header, bins, width))
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
        header = ("most surprising", "window", "chance", "what happened")
        parts.append(table_text("Happened at less than 1 %", header, surprises, width))
    return "\n".join(parts)


def _windows(outcome: Backtest, width: int) -> str:
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
    header = ("window", "pairs", "expected", "happened", "first meetings")
    return table_text(title, header, rows, width)


def _metrics(outcome: Backtest, width: int) -> str:
    rows = [
        (
            RATES.get(name, name).format(unit=outcome.unit),
            *("" if getattr(each, key) is None else f"{getattr(each, key):.4f}" for key in METRICS),
            f"{outcome.skill[name]:+.3f}" if name in outcome.skill else "",
        )
        for name, each in {"forecasts": outcome.figures, **outcome.baselines}.items()
    ]
    header = ("", "log-loss", "Brier", "AUC", "calibration error", "Brier skill against it")
    return table_text("Anything at all", header, rows, width)


def _groups(outcome: Backtest, width: int) -> str:
    rows = [
        (
            words,
            f"{group.pairs:,.0f}",
            percent(group.share),
            percent(group.forecast),
            f"{group.brier:.4f}",
            *("" if value is None else f"{value:+.3f}" for value in group.skill.values()),
        )
        for name, words in GROUPS.items()
        if (group := outcome.groups.get(name)) is not None
    ]
    header = ("", "pairs", "with a fact", "forecast", "Brier", "skill: base rate", "no change",
              "own rate")  # fmt: skip
    return table_text("Brier skill by kind of pair", header, rows, width)


def no_skill_lines(groups: Mapping[str, GroupSkill]) -> list[str]:
    """Return a sentence for each group whose forecasts are not better than some simple rule."""
    lines = []
    for name, group in groups.items():
        better = [rule for rule, skill in group.skill.items() if skill is not None and skill <= 0]
        if better:
            rules = ", ".join(RULES[rule] for rule in better)
            lines.append(f"no skill for {GROUPS[name]}, against {rules}")
    return lines
