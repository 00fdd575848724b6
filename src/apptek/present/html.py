"""Results as HTML, by the templates in `templates/`.

A page is one file without scripts and without anything to load; a fragment is for notebooks. The
templates escape everything that they print, and replace characters that cannot be shown.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from apptek import results
from apptek.present.drawing import asked_of, draw_answer, draw_topology
from apptek.present.drawing_parts import Drawing
from apptek.present.template import render
from apptek.present.text import render_text
from apptek.present.wording import percent
from apptek.safe_text import counted

SHOWN = 10  # predicates of a forecast
SIZE, LEFT, TOP, GAP = 360, 60, 40, 70
_LEAST = 0.001  # the lower end of both axes, which are logarithmic
_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
Panel = tuple[str, Sequence[results.ReliabilityBin]]
_NAMES: dict[type[results.Result], str] = {
    results.AuditReport: "audit.html.j2",
    results.Answer: "answers.html.j2",
    results.Answers: "answers.html.j2",
    results.Explanation: "explanation.html.j2",
    results.Forecast: "forecast.html.j2",
    results.WatchList: "watch.html.j2",
}


def render_page(result: results.Result) -> str:
    """Return a result as one HTML file; that of a watch list can be sent as mail as it is."""
    return _rendered(
        result, "mail.html.j2" if type(result) is results.WatchList else "page.html.j2"
    )


def render_mail(result: results.Explanation | results.WatchList) -> str:
    """Return a result as HTML that Gmail and Outlook show: tables and inline styles alone."""
    if isinstance(result, results.WatchList):
        return render_page(result)
    return render("explanation_mail.html.j2", layout="mail.html.j2", result=result)


def render_fragment(result: results.Result) -> str:
    """Return a result as an element for a notebook; its style reaches nothing around it."""
    if type(result) not in _NAMES:
        return f"<pre>{escape(render_text(result))}</pre>"
    return _rendered(result, "fragment.html.j2")


def _rendered(result: results.Result, layout: str) -> str:
    functions = {
        "drawing_of": draw_answer,
        "topology_of": lambda e, reason: draw_topology(asked_of(e), reason.facts),
    }
    return render(_NAMES[type(result)], layout=layout, result=result, shown=SHOWN, **functions)


def draw_svg(drawing: Drawing) -> str:
    """Return a drawing as one <svg> element: lines, then entities, then labels on top of all."""
    return render("drawing.svg.j2", drawing=drawing)


def reliability_svg(panels: Sequence[Panel]) -> str:
    """Return a picture with one panel for each title."""
    drawn = [
        _panel(title, bins, LEFT + index * (SIZE + GAP))
        for index, (title, bins) in enumerate(panels)
    ]
    width = LEFT + len(panels) * (SIZE + GAP)
    return render("reliability.svg.j2", panels=drawn, width=width, side=SIZE, top=TOP)


def _panel(title: str, bins: Sequence[results.ReliabilityBin], left: float) -> dict[str, Any]:
    """Return where the ticks and the dots of a panel are; empty bins are not drawn.

    The area of a dot grows with the number of its forecasts.
    """
    drawn = sorted((part for part in bins if part.forecasts), key=lambda part: not part.happened)
    dots = []
    for part in drawn:
        x, y = left + SIZE * _at(part.forecast), TOP + SIZE * (1 - _at(part.happened))
        rates = f"forecast {percent(part.forecast)}, happened {percent(part.happened)}"
        radius = 2.5 + 1.5 * math.log10(part.forecasts)
        about = f"{rates}, {counted(part.forecasts, 'forecast')}"
        dots.append({"x": x, "y": y, "radius": radius, "about": about, "true": part.happened > 0})
    ticks = [(f"{100 * tick:g} %", SIZE * _at(tick)) for tick in _TICKS]
    return {"title": title, "left": left, "ticks": ticks, "dots": dots}


def _at(value: float) -> float:
    """Return a probability as a share of the axis."""
    return 1 + math.log10(max(value, _LEAST)) / -math.log10(_LEAST)
