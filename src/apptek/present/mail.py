"""Results as email: a message with text and HTML parts that Gmail and Outlook display."""

from email.message import EmailMessage
from email.policy import SMTP

from apptek.present.html import render_mail
from apptek.present.text import render_text
from apptek.present.watch_words import mail_subject
from apptek.results import Explanation, WatchList

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
