"""Explanations, contrasts and counterfactuals for the terminal; contrasts as sentences."""

import textwrap
from collections.abc import Iterator
from typing import Any, Literal

from apptek import results
from apptek.present.explanation_words import (
    aside_words,
    early_words,
    meeting_words,
    sequence_words,
)
from apptek.present.template import render
from apptek.present.wording import GIVEN, at_time, is_undated, percent, shown_time
from apptek.safe_text import counted

Length = Literal["sentence", "paragraph", "full"]
SHOWN = 6  # number of facts shown with a reason
MEMBERS = 8  # number of group members shown, the strongest first; JSON contains all
OF_NAMES = ("read_as", "later_name", "from_name")  # types of notes about names
MARK = " *"  # follows the name of a meeting entity
TOLD = 3  # number of changes mentioned in the paragraph
SMALL = 0.1  # changes smaller than this share of the largest one are omitted
CHANGES = 10  # number of changes in a contrast
Two = tuple[results.Explanation, results.Explanation]  # the same question at two times


def explanation_text(
    explanation: results.Explanation, width: int = 100, length: Length = "full"
) -> str:
    """Return the query, its answer and the reasons, wrapped to a width."""

    def members(group: results.Group) -> list[results.Contribution]:
        return [explanation.further[index] for index in group.members]

    about = {"reason_lines": _reason_lines, "members_of": members, "most": MEMBERS}
    return _wrapped("explanation", width, e=explanation, length=length, **about)


def counterfactual_text(found: results.Counterfactual, width: int = 100) -> str:
    """Return what would change an answer, wrapped to a width."""
    return _wrapped("counterfactual", width, c=found)


def contrast_text(found: results.Contrast, width: int = 100, length: Length = "paragraph") -> str:
    """Return what changed between two times; with `length` full, include numbers."""
    about = {"asked_at": asked_at, "shown": CHANGES}
    return _wrapped("contrast", width, c=found, length=length, **about)


def _wrapped(template: str, width: int, **values: Any) -> str:
    """Return the lines of a template, wrapped to a width.

    Characters in names that are unsafe for a terminal are removed. Continuation lines of an
    indented paragraph are indented slightly more.
    """
    lines = []
    text = render(f"{template}.txt.j2", of_names=OF_NAMES, **values)
    for line in text.removesuffix("\n").split("\n"):
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        lines += textwrap.wrap(
            words,
            max(width, 40),
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 2 if indent else 0),
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines) + "\n"


def _reason_lines(explanation: results.Explanation, reason: results.Reason) -> Iterator[str]:
    """Yield the training statistics for a reason, and its facts."""
    early = early_words(reason)
    if reason.support is not None:
        yield reason.support.words
    if reason.kind == "topology":
        yield sequence_words(explanation, reason)
    if reason.same_as:
        yield f"connects the pair through the same facts as reason {reason.same_as}{early}"
    elif reason.facts:
        if reason.kind == "topology":
            yield f"{meeting_words(explanation, reason, MARK)}{early}:"
        yield from _facts(explanation, reason)


def _facts(explanation: results.Explanation, reason: results.Reason) -> Iterator[str]:
    ends = (explanation.subject, explanation.object)
    marked = {met.entity for met in reason.meeting if met.entity not in ends}
    listed_facts, others = reason.cited
    for fact in listed_facts[:SHOWN]:
        subject, object_ = (
            name + (MARK if name in marked else "") for name in (fact.subject, fact.object)
        )
        date = f"{fact.date} ({fact.apart})" if fact.apart else fact.date
        yield f"{subject} | {explanation.shown(fact.predicate)} | {object_} | {date}"
    more = len(listed_facts) - SHOWN
    rest = [f"{counted(more, 'more fact')} like these"] if more > 0 else []
    if others:
        rest.append(aside_words(len(others)))
    if rest:
        yield f"(and {', '.join(rest)})"


def contrast_words(two: Two, changes: tuple[results.Change, ...]) -> tuple[str, str]:
    """Return a sentence and a paragraph about what changed between two times."""
    first, second = two
    answers, told = _answers(two), _told(two, changes)
    gains = second.log_odds > first.log_odds
    main = next((change for change in told if (change.change > 0) == gains), None)
    why = f", mainly because {_words(two, main)}" if main else ""
    words = [f"{answers}."]
    for label, towards in ((first.runner_up_label, False), (first.label, True)):
        some = [change for change in told if (change.change > 0) == towards][:TOLD]
        if some:
            reasons = "; ".join(dict.fromkeys(_words(two, change) for change in some))
            words.append(f"What moved the answer towards '{label}': {reasons}.")
    return f"{answers}{why}.", " ".join(words)


def _answers(two: Two) -> str:
    answers = [
        f"{each.ranked[0].label} ({percent(each.ranked[0].probability)}) {asked_at(each)}"
        for each in two
    ]
    same = two[0].ranked[0].predicate == two[1].ranked[0].predicate
    return f"{answers[0]}, {'and' if same else 'but'} {answers[1]} ({GIVEN})"


def _told(two: Two, changes: tuple[results.Change, ...]) -> list[results.Change]:
    """Return the changes in facts that are large enough to mention.

    Changes of reasons that their own counts contradict are omitted.
    """
    doubtful = {
        reason.sentence
        for each in two
        for reason in each.all_reasons()
        if reason.support is not None and reason.support.contradicts
    }
    parts = [
        change
        for change in changes
        if change.kind in ("history", "topology")
        and not doubtful & {change.first_sentence, change.second_sentence}
    ]
    least = SMALL * max((abs(change.change) for change in parts), default=0.0)
    return [change for change in parts if abs(change.change) >= max(least, 1e-9)]


def asked_at(explanation: results.Explanation) -> str:
    """Return the time of a question: on 2014-05-11, in 1999."""
    undated = is_undated(explanation.time)
    return "for the undated question" if undated else at_time(explanation.time)


def _words(two: Two, change: results.Change) -> str:
    """Return a change in words, with the time of the question that its sentence refers to."""
    first, second = (shown_time(each.time) for each in two)
    if not change.second_sentence:
        return f"{change.first_sentence} (only for {first})"
    if not change.first_sentence or abs(change.second) >= abs(change.first):
        return f"{change.second_sentence} (for {second})"
    return f"{change.first_sentence} (for {first}; counts less for {second})"
