"""An explanation for the terminal."""

import textwrap
from collections.abc import Iterator

from apptek.explain.explanation import CitedFact, Explanation, Reason
from apptek.explain.wording import counted, listed, percent, printable, signed

SHOWN = 6  # facts written out with a reason
LEADING, AGAINST = 3, 1  # contributions named in the one sentence, for the answer and against it
MARK = " *"  # after the name of a meeting entity


def explanation_text(explanation: Explanation, width: int = 100) -> str:
    """The answer, the runner-up, and numbered reasons with their facts; lines of some width.

    Names with characters that a terminal must not see are shown without these.
    """
    width = max(width, 40)
    lines = [line for entry in _entries(explanation) for line in _wrapped(*entry, width)]
    return "\n".join(lines) + "\n"


def _wrapped(indent: int, text: str, width: int) -> list[str]:
    """A paragraph; what follows its first line stands a little deeper."""
    if not text:
        return [""]
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_on_hyphens=False,
    )


def _entries(explanation: Explanation) -> Iterator[tuple[int, str]]:
    """The paragraphs with their indents."""
    yield 0, query_words(explanation)
    yield 0, ""
    ours = f"{explanation.predicate} ({percent(explanation.probability)})"
    runner_up = f"{explanation.runner_up} ({percent(explanation.runner_up_probability)})"
    names = ("answer", "runner-up") if explanation.is_first else ("asked about", "the answer")
    yield 0, f"{names[0]}: {ours}"
    yield 0, f"{names[1]}: {runner_up}"
    for note in notes(explanation):
        yield 0, note
    yield 0, ""
    if explanation.reasons:
        yield 0, because(explanation)
        yield 0, ""
    for reason in explanation.reasons:
        yield from _reason(explanation, reason)
    if explanation.further:
        yield 0, further_words(explanation)
    if explanation.contributions():
        yield 0, f"base rates {signed(explanation.bias)}"
        yield 0, f"= {signed(explanation.log_odds)} log-odds against '{explanation.runner_up}'"


def because(explanation: Explanation) -> str:
    """The answer in one sentence: what speaks for it most, and most against it."""
    parts = explanation.contributions()
    for_it = [part for part in parts[:LEADING] if part.log_odds > 0]
    against = [part for part in reversed(parts[-AGAINST:]) if part.log_odds < 0]
    words = {"because": for_it, "against it:": against}
    return "; ".join(
        f"{word} {listed([f'{part.sentence} ({signed(part.log_odds)})' for part in reasons])}"
        for word, reasons in words.items()
        if reasons
    )


def query_words(explanation: Explanation) -> str:
    """The query written like a fact: A | ? | B | 2014-05-13."""
    when = "undated" if explanation.time == "?" else explanation.time
    return f"{explanation.subject} | ? | {explanation.object} | {when}"


def notes(explanation: Explanation) -> list[str]:
    """What is unusual about the query, in words."""
    remarks = [
        f"{name} is not in the facts of the model."
        for name, unseen in (
            (explanation.subject, explanation.unseen_subject),
            (explanation.object, explanation.unseen_object),
        )
        if unseen
    ]
    if explanation.unseen_time and explanation.view == "within":
        remarks.append(f"No fact is dated {explanation.time}.")
    if explanation.view == "ahead" and explanation.time != "?":
        remarks.append(f"Answered ahead, from what was known before {explanation.time}.")
    if explanation.predicate in explanation.known:
        remarks.append("This very fact is among the facts of the model.")
    if not explanation.contributions():
        remarks.append(
            "No topology connects the two: the answer comes from the base rates of the "
            f"predicates alone ({signed(explanation.bias)})."
        )
    elif explanation.subject == explanation.object and "topology" in {
        part.kind for part in explanation.contributions()
    }:
        remarks.append("Subject and object are the same: every topology connects them at once.")
    return remarks


def further_words(explanation: Explanation) -> str:
    """The contributions without facts, summed up."""
    total = signed(sum(part.log_odds for part in explanation.further))
    count, of = len(explanation.further), "further " if explanation.reasons else ""
    noun = counted(count, f"{of}{noun_of(explanation)}")
    return f"{noun} {'together ' if count > 1 else ''}{total}"


def noun_of(explanation: Explanation) -> str:
    """What its contributions are called: topologies where all are, else reasons."""
    kinds = {part.kind for part in explanation.contributions()}
    return "topology" if kinds <= {"topology"} else "reason"


def meeting_words(explanation: Explanation, reason: Reason) -> str:
    """Where the sides meet: in direct contact, or in other entities."""
    ends = (explanation.subject, explanation.object)
    direct = any(met.subject_hops + met.object_hops == 1 for met in reason.meeting)
    others = [f"{met.entity}{MARK}" for met in reason.meeting if met.entity not in ends]
    if direct:
        return "in direct contact" + (f"; also by way of {listed(others)}" if others else "")
    reached = others or [met.entity for met in reason.meeting]
    return f"the sides meet in {listed(reached)}"


def early_words(reason: Reason) -> str:
    """After how many steps the sides met, where that was before the topology's last."""
    is_early = 0 < reason.steps < len(reason.contribution.topology)
    return f" after {counted(reason.steps, 'step')}" if is_early else ""


def _reason(explanation: Explanation, reason: Reason) -> Iterator[tuple[int, str]]:
    contribution = reason.contribution
    yield 0, f"{reason.number}. {signed(contribution.log_odds)}  {contribution.sentence}"
    if reason.same_as:
        yield 5, f"by the same connecting facts as {reason.same_as}{early_words(reason)}"
    elif reason.facts:
        if contribution.kind == "topology":
            yield 5, f"{meeting_words(explanation, reason)}{early_words(reason)}:"
        yield from _facts(explanation, reason)
    yield 0, ""


def _facts(explanation: Explanation, reason: Reason) -> Iterator[tuple[int, str]]:
    ends = (explanation.subject, explanation.object)
    marked = {met.entity for met in reason.meeting if met.entity not in ends}
    listed_facts, others = reason.cited
    for fact in listed_facts[:SHOWN]:
        yield 5, _fact(fact, marked)
    more = len(listed_facts) - SHOWN
    rest = [f"{counted(more, 'more fact')} like these"] if more > 0 else []
    if others:
        rest.append(f"{counted(len(others), 'bystander')} that lead elsewhere")
    if rest:
        yield 5, f"(and {', '.join(rest)})"


def _fact(fact: CitedFact, marked: set[str]) -> str:
    subject, object_ = (
        name + (MARK if name in marked else "") for name in (fact.subject, fact.object)
    )
    apart = f" ({fact.apart})" if fact.apart else ""
    return f"{subject} | {fact.predicate} | {object_} | {fact.date}{apart}"
