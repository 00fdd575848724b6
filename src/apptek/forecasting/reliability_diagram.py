"""The reliability diagram as SVG and as PNG: how often what was forecast at p came true."""

import math
from collections.abc import Sequence
from html import escape
from io import BytesIO

from apptek.evaluation.yes_no import ReliabilityBin

SIZE, LEFT, TOP, GAP = 360, 60, 40, 70
_LEAST = 0.001  # the lower end of both axes, which are logarithmic
_SIDES = ("forecast", "happened")
_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1d2330}.soft{fill:#5a6372}"
    ".grid{stroke:#d9dde5}.ideal{stroke:#5a6372;stroke-dasharray:5 4}"
    ".curve{fill:none;stroke:#2f6fb3;stroke-width:2}.dot{fill:#2f6fb3;fill-opacity:.75}"
)


Panel = tuple[str, Sequence[ReliabilityBin]]


def reliability_svg(panels: Sequence[Panel]) -> str:
    """One panel for each title; the area of a dot grows with its forecasts."""
    width = LEFT + len(panels) * (SIZE + GAP)
    height = TOP + SIZE + 60
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

    figure = Figure(figsize=(4.6 * len(panels), 4.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for place, (title, bins) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        axes.set_title(title)
        axes.plot([_LEAST, 1], [_LEAST, 1], color="#5a6372", linestyle="--", linewidth=1)
        forecast, happened = ([max(getattr(b, side), _LEAST) for b in bins] for side in _SIDES)
        axes.plot(forecast, happened, color="#2f6fb3")
        sizes = [4 * _radius(part) ** 2 for part in bins]
        axes.scatter(forecast, happened, s=sizes, color="#2f6fb3", alpha=0.75)
        axes.set(xscale="log", yscale="log", xlabel="forecast", ylabel="happened")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator(_TICKS))
            axis.set_major_formatter(FixedFormatter([f"{100 * tick:g} %" for tick in _TICKS]))
            axis.set_minor_locator(NullLocator())
        axes.set(xlim=(_LEAST * 0.8, 1.25), ylim=(_LEAST * 0.8, 1.25))
        axes.grid(color="#d9dde5", linewidth=0.6)
        axes.set_axisbelow(True)
    picture = BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()


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
    points = [place(part.forecast, part.happened) for part in bins]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    if len(points) > 1:
        parts.append(f'<path class="curve" d="M{line}"/>')
    for part, (x, y) in zip(bins, points, strict=True):
        about = f"forecast {part.forecast:.1%}, happened {part.happened:.1%}, {part.forecasts:,}"
        parts.append(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{_radius(part):.1f}"><title>{about}'
            "</title></circle>"
        )
    middle = left + SIZE / 2
    parts.append(
        f'<text x="{middle}" y="{TOP + SIZE + 42}" text-anchor="middle">forecast</text>'
        f'<text transform="translate({left - 46} {TOP + SIZE / 2}) rotate(-90)" '
        'text-anchor="middle">happened</text>'
    )
    return "".join(parts)
