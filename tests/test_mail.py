"""Mails: a text and an HTML part that survive Gmail and Outlook."""

import email
import email.policy
from email.message import EmailMessage
from pathlib import Path

from command_line import succeeds
from html_pages import assert_contained, assert_mailable, read_page

from apptek.predictor import Predictor
from apptek.present.html import mail_bytes
from apptek.present.text import render_text
from apptek.results import Explanation, WatchList

MODEL, PAST_ONLY = "forecast", True


def parts_of(content: bytes) -> tuple[EmailMessage, str, str]:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    return message, plain.get_content(), html.get_content()


def test_a_mail_says_what_the_result_says(predictor: Predictor) -> None:
    listed = predictor.watch(most=3, days=30, alerts="chance > 20")
    row = listed.rows[0]
    why = predictor.explain((row.subject, row.object, listed.first), suppose=[
        (row.subject, row.predicates[0].predicate, row.object, listed.observed_until)
    ])  # fmt: skip
    results: list[WatchList | Explanation] = [listed, why]
    for result in results:
        content = mail_bytes(result)
        assert content == mail_bytes(result)
        message, plain, html = parts_of(content)
        assert message.get_content_type() == "multipart/alternative"
        assert (message["From"], message["To"]) == (None, None)
        assert plain.split() == render_text(result, 100).split()
        assert_mailable(html)
        assert_contained(html, read_page(html))
        assert row.subject in html
        for line in content.split(b"\r\n"):
            assert len(line) < 999
            assert line.isascii()
    message, _, html = parts_of(mail_bytes(listed))
    assert message["Subject"].startswith(f"{len(listed.alerts)} alerts, watch list, {listed.first}")
    assert listed.alerts[0].sentence in html
    assert row.reason in html


def test_names_cannot_add_headers_or_tags(predictor: Predictor) -> None:
    name = "<b>Nobody</b>\r\nBcc: all@example.org"
    for result in (
        predictor.watch([(name, "No one")], days=30),
        predictor.explain((name, "No one", "2020-01-01"), allow_unknown=True),
    ):
        message, _, html = parts_of(mail_bytes(result))
        assert message["Bcc"] is None
        assert "<b>Nobody" not in html


def test_the_commands_write_mails(
    forecast_model: Path, predictor: Predictor, tmp_path: Path
) -> None:
    file, model = tmp_path / "mail.eml", str(forecast_model)
    row = predictor.watch(most=1, days=30).rows[0]
    for words in (
        ("watch", model, "--days", "30", "--top", "2"),
        ("explain", model, row.subject, row.object, "2020-01-01"),
    ):
        file.unlink(missing_ok=True)
        done = succeeds(*words, "--mail", str(file))
        assert f"email: {file}" in done.stderr.replace("\n", "")
        assert row.subject in parts_of(file.read_bytes())[2]
