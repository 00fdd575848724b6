"""A backtest as text: the windows, the metrics beside simple rules, and the surprises."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from apptek.present.wording import percent, period_text
from apptek.results import Backtest, GroupSkill, ReliabilityBin
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
SIZE, LEFT, TOP, GAP = 360, 60, 40, 70
COUNTS = 70  # the height of the bars with the numbers of forecasts
_LEAST = 0.001  # the lower end of both axes, which are logarithmic
_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1d2330}.soft{fill:#5a6372}"
    ".grid{stroke:#d9dde5}.ideal{stroke:#5a6372;stroke-dasharray:5 4}"
    ".curve{fill:none;stroke:#2f6fb3;stroke-width:2}.dot{fill:#2f6fb3;fill-opacity:.75}"
    ".never{fill:#ffffff;stroke:#2f6fb3;stroke-width:1.5}.count{fill:#b9d2ec}"
    ".number{font-size:7px;fill:#5a6372}"
)
Panel = tuple[str, Sequence[ReliabilityBin]]


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


def reliability_svg(panels: Sequence[Panel]) -> str:
    """One panel for each title; the area of a dot grows with the number of its forecasts."""
    width = LEFT + len(panels) * (SIZE + GAP)
    height = TOP + SIZE + COUNTS + 85
    drawn = "".join(
        _panel(title, bins, LEFT + place * (SIZE + GAP))
        for place, (title, bins) in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>Reliability of forecasts</title>'
        f'<style>{_STYLE}</style><rect width="{width}" height="{height}" fill="#ffffff"/>'
        f"{drawn}</svg>\n"
    )


def _by_outcome(
    bins: Sequence[ReliabilityBin],
) -> tuple[list[ReliabilityBin], list[ReliabilityBin]]:
    """The bins in which something came true, and those in which nothing did; no empty ones."""
    drawn = [part for part in bins if part.forecasts]
    return [part for part in drawn if part.happened], [part for part in drawn if not part.happened]


def _radius(part: ReliabilityBin) -> float:
    """The area of a dot grows with the number of its forecasts."""
    return 2.5 + 1.5 * math.log10(max(1, part.forecasts))


def _at(value: float) -> float:
    """A probability as a share of the axis."""
    return 1 + math.log10(max(value, _LEAST)) / -math.log10(_LEAST)


def _panel(title: str, bins: Sequence[ReliabilityBin], left: float) -> str:
    def place(forecast: float, happened: float) -> tuple[float, float]:
        return left + SIZE * _at(forecast), TOP + SIZE * (1 - _at(happened))

    parts = [f'<text x="{left}" y="{TOP - 14}" font-weight="600">{escape(title)}</text>']
    for tick in _TICKS:
        x, y = place(tick, tick)
        words = f"{100 * tick:g} %"
        parts.append(
            f'<path class="grid" d="M{x:.1f} {TOP}V{TOP + SIZE}M{left} {y:.1f}H{left + SIZE}"/>'
            f'<text class="soft" x="{x:.1f}" y="{TOP + SIZE + 18}" text-anchor="middle">{words}'
            f'</text><text class="soft" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{words}'
            "</text>"
        )
    parts.append(f'<path class="ideal" d="M{left} {TOP + SIZE}L{left + SIZE} {TOP}"/>')
    true, never = _by_outcome(bins)
    points = [place(part.forecast, part.happened) for part in true]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    if len(points) > 1:
        parts.append(f'<path class="curve" d="M{line}"/>')
    for part in (*true, *never):
        x, y = place(part.forecast, part.happened)
        rates = f"forecast {percent(part.forecast)}, happened {percent(part.happened)}"
        about = f"{rates}, {part.forecasts:,}"
        parts.append(
            f'<circle class="{"dot" if part.happened else "never"}" cx="{x:.1f}" cy="{y:.1f}" '
            f'r="{_radius(part):.1f}"><title>{about}</title></circle>'
        )
    parts += _counts([*true, *never], left)
    middle = left + SIZE / 2
    parts.append(
        f'<text x="{middle}" y="{TOP + SIZE + 42}" text-anchor="middle">forecast</text>'
        f'<text transform="translate({left - 46} {TOP + SIZE / 2}) rotate(-90)" '
        'text-anchor="middle">happened</text>'
    )
    return "".join(parts)


def _counts(bins: Sequence[ReliabilityBin], left: float) -> list[str]:
    """A bar for each bin, as high as its number of forecasts has digits, and the number."""
    bottom = TOP + SIZE + COUNTS + 75
    most = max((math.log10(1 + part.forecasts) for part in bins), default=1.0)
    parts = []
    for part in bins:
        x, right = (left + SIZE * _at(value) for value in (part.lower, part.upper))
        height = 0.55 * COUNTS * math.log10(1 + part.forecasts) / most
        middle, top = (x + right) / 2, bottom - height
        parts.append(
            f'<rect class="count" x="{x:.1f}" y="{top:.1f}" width="{max(right - x - 1, 1):.1f}" '
            f'height="{height:.1f}"/><text class="number" transform="translate({middle + 2.5:.1f} '
            f'{top - 3:.1f}) rotate(-90)">{part.forecasts:,}</text>'
        )
    parts.append(
        f'<text transform="translate({left - 46} {bottom - COUNTS / 2}) rotate(-90)" '
        'text-anchor="middle">forecasts</text>'
    )
    return parts
