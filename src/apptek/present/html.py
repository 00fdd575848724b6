"""Results as HTML, by the templates in `templates/`.

A page is one file without scripts and without anything to load; a fragment is for notebooks. The
templates escape everything that they print, and replace characters that cannot be shown.
"""

import math
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apptek.facts.predicate_table import labelled
from apptek.present import audit_words, explanation_words, forecast_words, wording
from apptek.present.drawing import draw_answer
from apptek.present.drawing_parts import Drawing
from apptek.present.explanation_text import BASE
from apptek.present.text import render_text
from apptek.results import (
    Answer,
    Answers,
    AuditReport,
    Explanation,
    Forecast,
    ReliabilityBin,
    Result,
    WatchList,
)
from apptek.safe_text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
DRAWING_STYLE = (TEMPLATES / "drawing.css.j2").read_text(encoding="utf-8")  # also of the explorer
SHOWN = 10  # predicates of a forecast
SPARK_WIDTH, SPARK_HEIGHT = 120, 28
SIZE, LEFT, TOP, GAP = 360, 60, 40, 70
COUNTS = 70  # the height of the bars with the numbers of forecasts
_LEAST = 0.001  # the lower end of both axes, which are logarithmic
_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
Panel = tuple[str, Sequence[ReliabilityBin]]
_NAMES: dict[type[Result], str] = {
    AuditReport: "audit.html.j2",
    Answer: "answers.html.j2",
    Answers: "answers.html.j2",
    Explanation: "explanation.html.j2",
    Forecast: "forecast.html.j2",
    WatchList: "watch.html.j2",
}


def render_page(result: Result) -> str:
    """Return a result as one HTML file."""
    return _rendered(_NAMES[type(result)], layout="page.html.j2", result=result)


def render_fragment(result: Result) -> str:
    """Return a result as an element for a notebook; its style reaches nothing around it."""
    if type(result) not in _NAMES:
        return f"<pre>{escape(render_text(result))}</pre>"
    return _rendered(_NAMES[type(result)], layout="fragment.html.j2", result=result)


def render_template(template: str, **values: Any) -> str:
    """Return a page, or a text, that a template makes of some values."""
    return _rendered(template, layout="page.html.j2", **values)


def draw_svg(drawing: Drawing) -> str:
    """Return a drawing as one <svg> element: lines, then entities, then labels on top of all."""
    return _rendered("drawing.svg.j2", d=drawing)


def spark_points(counts: tuple[int, ...]) -> list[tuple[float, float]]:
    """Return the points of a small curve: x, and y from above."""
    most, step = max(1, *counts), (SPARK_WIDTH - 8) / max(1, len(counts) - 1)
    return [
        (4 + index * step, SPARK_HEIGHT - 4 - (SPARK_HEIGHT - 8) * count / most)
        for index, count in enumerate(counts)
    ]


def reliability_svg(panels: Sequence[Panel]) -> str:
    """Return a picture with one panel for each title, and below it the numbers of forecasts."""
    drawn = [
        _panel(title, bins, LEFT + index * (SIZE + GAP))
        for index, (title, bins) in enumerate(panels)
    ]
    size: dict[str, Any] = {
        "side": SIZE,
        "top": TOP,
        "counts": COUNTS,
        "bottom": TOP + SIZE + COUNTS + 75,
    }
    width, height = LEFT + len(panels) * (SIZE + GAP), TOP + SIZE + COUNTS + 85
    return _rendered("reliability.svg.j2", panels=drawn, width=width, height=height, **size)


def _panel(title: str, bins: Sequence[ReliabilityBin], left: float) -> dict[str, Any]:
    """Return where the ticks, the dots and the bars of a panel are; empty bins are not drawn.

    The area of a dot grows with the number of its forecasts, the height of a bar with its digits.
    """
    drawn = sorted((part for part in bins if part.forecasts), key=lambda part: not part.happened)
    most = max((math.log10(1 + part.forecasts) for part in drawn), default=1.0)
    dots, bars = [], []
    for part in drawn:
        x, y = left + SIZE * _at(part.forecast), TOP + SIZE * (1 - _at(part.happened))
        rates = (
            f"forecast {wording.percent(part.forecast)}, happened {wording.percent(part.happened)}"
        )
        radius = 2.5 + 1.5 * math.log10(part.forecasts)
        about = f"{rates}, {part.forecasts:,}"
        dots.append({"x": x, "y": y, "radius": radius, "about": about, "true": part.happened > 0})
        start, end = (left + SIZE * _at(value) for value in (part.lower, part.upper))
        height = 0.55 * COUNTS * math.log10(1 + part.forecasts) / most
        wide = max(end - start - 1, 1)
        bars.append({"x": start, "width": wide, "middle": (start + end) / 2, "height": height,
                     "number": f"{part.forecasts:,}"})  # fmt: skip
    ticks = [(f"{100 * tick:g} %", SIZE * _at(tick)) for tick in _TICKS]
    return {"title": title, "left": left, "ticks": ticks, "dots": dots, "bars": bars}


def _at(value: float) -> float:
    """Return a probability as a share of the axis."""
    return 1 + math.log10(max(value, _LEAST)) / -math.log10(_LEAST)


def _rendered(template: str, *, layout: str = "", **values: Any) -> str:
    return _environment().get_template(template).render(layout=layout, **values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return printable(value) if type(value) is str else value

    environment = Environment(
        autoescape=select_autoescape(disabled_extensions=("txt.j2",), default=True),
        finalize=shown,
        loader=FileSystemLoader(TEMPLATES),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    # Nested rules: what a page says of its root and its body holds for the element of a fragment.
    nested = style.replace(":root", "&").replace("body {", "& { padding: 8px 12px;")
    environment.globals |= {
        "style": Markup(style),  # noqa: S704 - our own file
        "nested_style": Markup(nested),  # noqa: S704
        "spark_points": spark_points,
        "spark_width": SPARK_WIDTH,
        "spark_height": SPARK_HEIGHT,
        "shown": SHOWN,
        "audit": audit_words,
        "words": forecast_words,
        "told": explanation_words,
        "labelled": labelled,
        "base": BASE,
        "drawing_of": draw_answer,
        "svg_of": lambda drawing: Markup(draw_svg(drawing)),  # noqa: S704 - escapes all texts
        "drawing_style": Markup(DRAWING_STYLE),  # noqa: S704
    }
    names = ("counted", "given", "left_over", "listed", "percent", "points", "shown_time", "signed")
    environment.filters |= {name: getattr(wording, name) for name in names}
    environment.filters["g"] = lambda value: f"{value:g}"
    return environment
