"""The reliability diagram as SVG and as PNG: how often what was forecast at p came true.

Below it, how many forecasts there were of each probability. Only bins with forecasts are drawn; one
in which nothing came true is a circle at the lower end, where a logarithmic axis has no 0.
"""

import math
from collections.abc import Sequence
from html import escape
from io import BytesIO

from apptek.present.wording import percent
from apptek.results import ReliabilityBin

SIZE, LEFT, TOP, GAP = 360, 60, 40, 70
COUNTS = 70  # the height of the bars with the numbers of forecasts
_LEAST = 0.001  # the lower end of both axes, which are logarithmic
_SIDES = ("forecast", "happened")
_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1d2330}.soft{fill:#5a6372}"
    ".grid{stroke:#d9dde5}.ideal{stroke:#5a6372;stroke-dasharray:5 4}"
    ".curve{fill:none;stroke:#2f6fb3;stroke-width:2}.dot{fill:#2f6fb3;fill-opacity:.75}"
    ".never{fill:#ffffff;stroke:#2f6fb3;stroke-width:1.5}.count{fill:#b9d2ec}"
    ".number{font-size:7px;fill:#5a6372}"
)


Panel = tuple[str, Sequence[ReliabilityBin]]


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


def reliability_png(panels: Sequence[Panel]) -> bytes:
    """The same diagram by Matplotlib; the same bins, the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    figure = Figure(figsize=(4.6 * len(panels), 5.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, len(panels), height_ratios=(4, 1))
    for place, (title, bins) in enumerate(panels):
        axes = figure.add_subplot(grid[0, place])
        axes.set_title(title)
        axes.plot([_LEAST, 1], [_LEAST, 1], color="#5a6372", linestyle="--", linewidth=1)
        true, never = _by_outcome(bins)
        forecast, happened = ([max(getattr(b, side), _LEAST) for b in true] for side in _SIDES)
        axes.plot(forecast, happened, color="#2f6fb3")
        sizes = [4 * _radius(part) ** 2 for part in true]
        axes.scatter(forecast, happened, s=sizes, color="#2f6fb3", alpha=0.75)
        lowest = [max(b.forecast, _LEAST) for b in never]
        axes.scatter(lowest, [_LEAST] * len(never), facecolors="white", edgecolors="#2f6fb3")
        axes.set(xscale="log", yscale="log", xlabel="forecast", ylabel="happened")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator(_TICKS))
            axis.set_major_formatter(FixedFormatter([f"{100 * tick:g} %" for tick in _TICKS]))
            axis.set_minor_locator(NullLocator())
        axes.set(xlim=(_LEAST * 0.8, 1.25), ylim=(_LEAST * 0.8, 1.25))
        axes.grid(color="#d9dde5", linewidth=0.6)
        axes.set_axisbelow(True)
        below = figure.add_subplot(grid[1, place])
        for part in (*true, *never):
            left, right = max(part.lower, _LEAST), part.upper
            height = math.log10(1 + part.forecasts)
            below.bar(left, height, right - left, align="edge", color="#b9d2ec", edgecolor="white")
            below.text(
                math.sqrt(left * right), height + 0.15, f"{part.forecasts:,}", fontsize=5,
                ha="center", va="bottom", rotation=90,
            )  # fmt: skip
        below.set(xscale="log", xlim=(_LEAST * 0.8, 1.25), ylabel="forecasts")
        below.set(ylim=(0, 1.9 * max((math.log10(1 + b.forecasts) for b in bins), default=1)))
        for side in ("top", "right", "left", "bottom"):
            below.spines[side].set_visible(False)
        below.set(xticks=[], yticks=[])
        below.xaxis.set_minor_locator(NullLocator())
    picture = BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()


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
