"""Results as HTML, by the templates in `templates/`.

A page is one file without scripts and without anything to load; a fragment is for notebooks. The
templates escape everything that they print, and replace characters that cannot be shown.
"""

from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apptek.facts.predicate_table import labelled
from apptek.present import answer_words, audit_words, explanation_words, forecast_words, wording
from apptek.present.drawing.layout import draw_answer
from apptek.present.drawing.svg import draw_svg
from apptek.present.explanation_text import BASE
from apptek.present.text import render_text
from apptek.results import Answer, Answers, AuditReport, Explanation, Forecast, Result, WatchList
from apptek.safe_text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
SHOWN = 10  # predicates of a forecast
SPARK_WIDTH, SPARK_HEIGHT = 120, 28
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
    return _rendered(_NAMES[type(result)], "page.html.j2", result=result)


def render_fragment(result: Result) -> str:
    """Return a result as an element for a notebook; its style reaches nothing around it."""
    if type(result) not in _NAMES:
        return f"<pre>{escape(render_text(result))}</pre>"
    return _rendered(_NAMES[type(result)], "fragment.html.j2", result=result)


def render_template(template: str, **values: Any) -> str:
    """Return a page of its own by one of our templates; `drawing` is an SVG of ours."""
    from markupsafe import Markup

    if "drawing" in values:
        values["drawing"] = Markup(values["drawing"])  # noqa: S704 - escaped by draw_svg
    return _rendered(template, **values)


def spark_points(counts: tuple[int, ...]) -> list[tuple[float, float]]:
    """Return the points of a small curve: x, and y from above."""
    most, step = max(1, *counts), (SPARK_WIDTH - 8) / max(1, len(counts) - 1)
    return [
        (4 + index * step, SPARK_HEIGHT - 4 - (SPARK_HEIGHT - 8) * count / most)
        for index, count in enumerate(counts)
    ]


def _rendered(template: str, layout: str = "", **values: Any) -> str:
    return _environment().get_template(template).render(layout=layout, **values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return printable(value) if type(value) is str else value

    environment = Environment(
        autoescape=True,
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
        "answer_words": answer_words,
        "told": explanation_words,
        "labelled": labelled,
        "base": BASE,
        "drawing_of": draw_answer,
        "svg_of": lambda drawing: Markup(draw_svg(drawing)),  # noqa: S704 - escapes all texts
    }
    names = ("counted", "given", "left_over", "listed", "percent", "points", "shown_time", "signed")
    environment.filters |= {name: getattr(wording, name) for name in names}
    return environment
