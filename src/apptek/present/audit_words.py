"""Audits in words: what looks wrong about a fact, and why."""

from pathlib import Path

from apptek.facts.predicate_table import labelled
from apptek.present.wording import GIVEN, count_text, percent, when_text
from apptek.results import AuditReport, SuspectFact
from apptek.safe_text import counted

COLUMNS = ("fact", "when", "looks wrong", "expected", "why")
NOTHING_KNOWN = (
    "no other facts about the subject or object; unlikely given the base rates of the predicates"
)
INSTEAD = {"direction": "subject and object swapped", "interval": "other dates"}


def shown_predicate(suspect: SuspectFact) -> str:
    """Return the predicate in readable form: "Consult (040)"."""
    return labelled(suspect.predicate, suspect.label)


def own_probability(suspect: SuspectFact) -> str:
    """Return the probability of the fact's own predicate in brackets, if it has one."""
    return "" if suspect.probability is None else f" ({percent(suspect.probability)})"


def when_words(suspect: SuspectFact) -> str:
    """Return when the fact holds."""
    return when_text(suspect.since, suspect.until)


def instead_words(suspect: SuspectFact) -> str:
    """Return what was expected instead of the fact."""
    if suspect.finding in INSTEAD:
        return INSTEAD[suspect.finding]
    expected = labelled(suspect.expected or "", suspect.expected_label or "")
    return f"{expected} ({percent(suspect.expected_probability or 0.0)})"


def bad_row_lines(report: AuditReport) -> list[str]:
    """Return how many rows are not facts, and where they are."""
    listed, unread = report.bad_rows_listed, report.bad_rows - report.bad_rows_listed
    lines = [f"{counted(listed, 'row')} with an end before the start are listed first."] * bool(
        listed
    )
    return lines + [f"{counted(unread, 'row')} could not be read."] * bool(unread)


def audit_lines(report: AuditReport) -> list[str]:
    """Return how many facts were judged, and what the numbers mean."""
    suspected = ", ".join(f"{count:,} by {kind}" for kind, count in report.suspected.items())
    hidden = f"Each of the {report.facts:,} facts was hidden in turn and predicted from the others."
    if_wrong = (
        f"If {percent(report.prior)} of them are wrong, this many are more likely wrong than right"
    )
    meaning = f"A percentage after a predicate is its probability {GIVEN} between the pair."
    return [f"{hidden} {if_wrong}: {suspected}.", *bad_row_lines(report), meaning]


def left_out_reason(line: int, file: str) -> str:
    """Return why a row that was not given to a model looks wrong."""
    return f"it ends before it starts; line {line} of {Path(file).name}, left out"


def interval_reason(dates: str, other: str | None) -> str:
    """Return a sentence about a fact that ends before it, or another fact of the pair, starts."""
    partner = "" if other is None else f"; another fact about the pair: {other}"
    return f"it ends before it starts: {dates}{partner}"


def leaning_reason(predicate: str, subject: str, object_: str, *, dated: bool) -> str:
    """Return a sentence saying that the model finds the reversed fact more plausible."""
    when = " around that time" if dated else ""
    return (
        f"given the other facts{when}, '{predicate}' from {object_} to {subject} is "
        f"more plausible than from {subject} to {object_}"
    )


def roles_reason(
    predicate: str, ends: tuple[str, str], does: tuple[int, int], gets: tuple[int, int]
) -> str:
    """Return how often each entity is the predicate's subject, and its object, in other facts.

    does  the number of facts in which each end is the subject: first the subject, then the object
    gets  the number of facts in which each end is the object: first the object, then the subject
    """
    subject, object_ = ends
    return (
        f"in other facts with '{predicate}', {subject} is the subject {count_text(does[0])} and "
        f"{object_} {count_text(does[1])}; {object_} is the object "
        f"{count_text(gets[0])} and {subject} {count_text(gets[1])}"
    )


def predicate_reason(label: str, sentences: list[str]) -> str:
    """Return the reason why a different predicate was expected."""
    return f"'{label}' is expected because {'; '.join(sentences)}" if sentences else NOTHING_KNOWN
