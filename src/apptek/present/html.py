"""Results as HTML and as email, rendered with the templates in `templates/`.

A page is a single file without scripts or external resources; a fragment is for notebooks. The
templates escape all values and replace characters that cannot be displayed.
"""

from email.message import EmailMessage
from email.policy import SMTP
from html import escape

from apptek import results
from apptek.present.drawing import asked_of, draw_answer, draw_topology
from apptek.present.template import render
from apptek.present.text import render_text
from apptek.present.watch_words import mail_subject
from apptek.results import Explanation, WatchList

SHOWN = 10  # number of predicates in a forecast
_NAMES: dict[type[results.Result], str] = {
    results.AuditReport: "audit.html.j2",
    results.Answer: "answers.html.j2",
    results.Answers: "answers.html.j2",
    results.Explanation: "explanation.html.j2",
    results.Forecast: "forecast.html.j2",
    results.WatchList: "watch.html.j2",
}


def render_page(result: results.Result) -> str:
    """Return a result as one HTML file; a watch list can be sent as email unchanged."""
    return _rendered(
        result, "mail.html.j2" if type(result) is results.WatchList else "page.html.j2"
    )


def render_mail(result: results.Explanation | results.WatchList) -> str:
    """Return a result as HTML that Gmail and Outlook display: only tables and inline styles."""
    if isinstance(result, results.WatchList):
        return render_page(result)
    return render("explanation_mail.html.j2", layout="mail.html.j2", result=result)


def render_fragment(result: results.Result) -> str:
    """Return a result as an element for a notebook; its style does not affect other elements."""
    if type(result) not in _NAMES:
        return f"<pre>{escape(render_text(result))}</pre>"
    return _rendered(result, "fragment.html.j2")


def _rendered(result: results.Result, layout: str) -> str:
    functions = {
        "drawing_of": draw_answer,
        "topology_of": lambda e, reason: draw_topology(asked_of(e), reason.facts),
    }
    return render(_NAMES[type(result)], layout=layout, result=result, shown=SHOWN, **functions)


WIDTH = 100  # of the text part
BOUNDARY = "==apptek=="  # constant, so that the same result has the same bytes


def mail_bytes(result: Explanation | WatchList) -> bytes:
    """Return a result as an .eml file: a draft without sender or recipients."""
    message = EmailMessage(policy=SMTP)
    message["Subject"] = mail_subject(result)
    message["X-Unsent"] = "1"  # Outlook opens it as a draft
    message.set_content(f"{render_text(result, WIDTH)}\n", cte="base64")
    message.add_alternative(render_mail(result), subtype="html", cte="base64")
    message.set_boundary(BOUNDARY)
    return message.as_bytes()
