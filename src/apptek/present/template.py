"""The Jinja2 templates for texts, pages and pictures in `templates/`.

They replace characters that cannot be displayed. All except the text templates escape every value.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apptek.facts.predicate_table import labelled
from apptek.present import (
    audit_words,
    explanation_words,
    forecast_words,
    watch_words,
    what_if_words,
    wording,
)
from apptek.safe_text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
DRAWING_STYLE = (TEMPLATES / "drawing.css.j2").read_text(encoding="utf-8")  # also for the explorer


def render(template: str, **values: Any) -> str:
    """Render a template with some values."""
    return _environment().get_template(template).render(**values)


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
    # In the nested style, the rules for a page's root and body apply to the fragment's element.
    nested = style.replace(":root", "&").replace("body {", "& { padding: 8px 12px;")
    environment.globals |= {
        "style": Markup(style),  # noqa: S704 - our own file
        "nested_style": Markup(nested),  # noqa: S704
        "audit": audit_words,
        "watching": watch_words,
        "words": forecast_words,
        "told": explanation_words,
        "supposed": what_if_words,
        "labelled": labelled,
        "condition": wording.GIVEN,
        "condition_note": wording.CONDITION,
        "share_lines": wording.share_lines,
    }
    names = ("counted", "left_over", "listed", "percent", "points", "shown_time", "signed")
    environment.filters |= {name: getattr(wording, name) for name in names}
    environment.filters["g"] = lambda value: f"{value:g}"
    return environment
