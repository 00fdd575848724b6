"""An explanation for the terminal: a sentence, a paragraph, or everything."""

import textwrap
from collections.abc import Callable, Iterator
from typing import Literal

from apptek.data.predicate_table import labelled
from apptek.explain.explanation import CitedFact, Contribution, Explanation, Reason
from apptek.explain.groups import Group
from apptek.models.answers import Answer
from apptek.present.wording import (
    general_notes,
    later_notes,
    listed,
    meant_notes,
    percent,
    share_lines,
    shown_time,
    signed,
)
from apptek.safe_text import counted, printable

Length = Literal["sentence", "paragraph", "full"]
SHOWN = 6  # facts written out with a reason
DATES = 3  # of the facts with one partner
MEMBERS = 8  # of a group that are written out, the strongest; JSON holds all
BASE = "how common the two are in general"  # what the bias says
MARK = " *"  # after the name of a meeting entity


def explanation_text(explanation: Explanation, width: int = 100, length: Length = "full") -> str:
    """The query and its answer with reasons; lines of some width.

    Names with characters that a terminal must not see are shown without these.
    """
    width = max(width, 40)
    general = [(0, note) for note in general_notes(*explanation.unknown)]
    entries = [*general, *ENTRIES[length](explanation)]
    lines = [line for entry in entries for line in wrapped(*entry, width)]
    return "\n".join(lines) + "\n"


def wrapped(indent: int, text: str, width: int) -> list[str]:
    """A paragraph; what follows its first line stands a little deeper."""
    if not text:
        return [""]
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 if indent else 0),
        break_on_hyphens=False,
    )


def _sentence(explanation: Explanation) -> Iterator[tuple[int, str]]:
    yield 0, explanation.sentence
    for note in name_notes(explanation):
        yield 0, note


def _paragraph(explanation: Explanation) -> Iterator[tuple[int, str]]:
    yield 0, query_words(explanation)
    yield 0, ""
    yield 0, explanation.paragraph
    for note in [*share_lines(explanation.by_class, explanation.by_group), *_notes(explanation)]:
        yield 0, note


def _entries(explanation: Explanation) -> Iterator[tuple[int, str]]:
    """Everything: the paragraphs with their indents."""
    yield 0, query_words(explanation)
    yield 0, ""
    chosen = labelled(explanation.predicate, explanation.label)
    other = labelled(explanation.runner_up, explanation.runner_up_label)
    if explanation.recorded:
        yield 0, explanation.recorded
    ours = f"{chosen} ({percent(explanation.probability)})"
    runner_up = f"{other} ({percent(explanation.runner_up_probability)})"
    yield 0, f"{explanation.role}: {ours}"
    if not explanation.is_only:
        yield 0, f"{explanation.runner_up_role}: {runner_up}"
    for note in [*share_lines(explanation.by_class, explanation.by_group), *_notes(explanation)]:
        yield 0, note
    yield 0, ""
    yield 0, explanation.sentence
    if explanation.is_only:  # nothing is for it or against it
        return
    yield 0, ""
    titles = (
        "What speaks for it:",
        f"What speaks against it, and for '{explanation.runner_up_label}':",
    )
    for title, reasons in zip(titles, (explanation.reasons, explanation.against), strict=True):
        if reasons:
            yield 0, title
            yield 0, ""
        for reason in reasons:
            yield from _reason(explanation, reason)
    for group in explanation.groups:
        yield from _group(explanation, group)
    if explanation.contributions():
        yield 0, f"{signed(explanation.bias)}  {BASE}"
        yield (
            0,
            f"= {signed(explanation.log_odds)} log-odds against '{explanation.runner_up_label}'",
        )


ENTRIES: dict[Length, Callable[[Explanation], Iterator[tuple[int, str]]]] = {
    "sentence": _sentence,
    "paragraph": _paragraph,
    "full": _entries,
}


def _group(explanation: Explanation, group: Group) -> Iterator[tuple[int, str]]:
    members = [explanation.further[index] for index in group.members]
    yield 0, f"{signed(group.log_odds)}  {group.title} ({counted(len(members), 'more reason')})"
    most = len(members) if len(members) == MEMBERS + 1 else MEMBERS
    for part in members[:most]:
        yield 5, _member(part)
    if rest := members[most:]:
        total = signed(sum(part.log_odds for part in rest))
        yield 5, f"and {len(rest)} more, together {total}"
    yield 0, ""


def _member(part: Contribution) -> str:
    return f"{signed(part.log_odds)}  {part.sentence}"


def query_words(explanation: Explanation) -> str:
    """The query written like a fact: A | ? | B | 2014-05-13."""
    when = shown_time(explanation.time)
    return f"{explanation.subject} | ? | {explanation.object} | {when}"


def notes(explanation: Explanation) -> list[str]:
    """What is unusual about the query, in words; first of all, that the answer is general."""
    return [*general_notes(*explanation.unknown), *_notes(explanation)]


def _notes(explanation: Explanation) -> list[str]:
    remarks = [
        *name_notes(explanation), *time_notes(explanation), *recorded_notes(explanation),
    ]  # fmt: skip
    parts = explanation.contributions()
    kinds = {part.kind for part in parts if part.family != "question"}
    if kinds <= {"reranker"}:
        remarks.append("Nothing connects the two: the answer is what is common in general.")
    if (name := explanation.subject) == explanation.object:
        remarks.append(
            f"Subject and object are the same: the question is what {name} does to itself."
        )
        if "topology" in kinds:
            remarks.append("Both are one, so everything connects them at once.")
    return remarks


def query_notes(answer: Answer) -> list[str]:
    """Which names of a query were read as others, and what of it is not in the facts."""
    unseen = {"subject": answer.unseen_subject, "object": answer.unseen_object}
    if answer.view == "within":  # what lies ahead cannot have occurred
        unseen["time"] = answer.unseen_time
    query = answer.query
    notes = meant_notes((query.subject, answer.meant_subject), (query.object, answer.meant_object))
    meant = {"subject": answer.meant_subject, "object": answer.meant_object}
    for name in (name for name in unseen if unseen[name]):
        where = f"before {query.time}" if meant.get(name) in answer.later else "in the facts"
        notes.append(f"The {name} does not occur {where}.")
    return notes


def name_notes(explanation: Explanation) -> list[str]:
    """Which names were read as others, and which are not in the facts before the time."""
    subject, object_ = explanation.subject, explanation.object
    unseen = ((subject, explanation.unseen_subject), (object_, explanation.unseen_object))
    sentences = [part.sentence for part in explanation.contributions()]
    read = [
        f"All that the model knows of {name} is read from its name."
        for name, is_so in unseen
        if is_so and any(f" is read from the name {name}" in sentence for sentence in sentences)
    ]
    return [
        *meant_notes((explanation.asked_subject, subject), (explanation.asked_object, object_)),
        *later_notes(explanation.later, explanation.time),
        *read,
    ]


def time_notes(explanation: Explanation) -> list[str]:
    """Whether the time occurs in the facts, and in which view it was answered."""
    if explanation.view == "ahead":
        ahead = f"Answered ahead, from what was known before {explanation.time}."
        notes = [ahead, explanation.age_note]
        return [] if explanation.time == "?" else [note for note in notes if note]
    if explanation.time == "?":
        return ["Answered within the data, from all facts, whatever their time."]
    unseen = [f"No fact is dated {explanation.time}."] if explanation.unseen_time else []
    return [*unseen, "Answered within the data, from facts before and after."]


def recorded_notes(explanation: Explanation) -> list[str]:
    """Whether facts that the question asks for are recorded, so that they are evidence."""
    count = len(explanation.known)
    if not count:
        return []
    these = "The recorded fact is" if count == 1 else "The recorded facts are"
    return [f"{these} part of what the answer uses."]


def meeting_words(explanation: Explanation, reason: Reason) -> str:
    """Where the sides meet: in direct contact, or in other entities."""
    ends = (explanation.subject, explanation.object)
    direct = any(met.subject_hops + met.object_hops == 1 for met in reason.meeting)
    others = [f"{met.entity}{MARK}" for met in reason.meeting if met.entity not in ends]
    if direct:
        return "in direct contact" + (f"; also by way of {listed(others)}" if others else "")
    reached = others or [met.entity for met in reason.meeting]
    return f"the sides meet in {listed(reached)}"


def sequence_words(explanation: Explanation, reason: Reason) -> str:
    """All steps of a topology, of which its sentence names those that connect."""
    steps = [f"'{explanation.words.label(name)}'" for name in reason.contribution.topology]
    return f"all steps of the topology: {', then '.join(steps)}"


def early_words(reason: Reason) -> str:
    """After how many steps the sides met, where that was before the topology's last."""
    is_early = 0 < reason.steps < len(reason.contribution.topology)
    return f" after {counted(reason.steps, 'step')}" if is_early else ""


def _reason(explanation: Explanation, reason: Reason) -> Iterator[tuple[int, str]]:
    contribution = reason.contribution
    yield 0, f"{reason.number}. {signed(contribution.log_odds)}  {contribution.sentence}"
    if reason.support is not None:
        yield 5, reason.support.words
    if contribution.kind == "topology":
        yield 5, sequence_words(explanation, reason)
    if reason.same_as:
        yield 5, f"by the same connecting facts as {reason.same_as}{early_words(reason)}"
    elif reason.facts:
        if contribution.kind == "topology":
            yield 5, f"{meeting_words(explanation, reason)}{early_words(reason)}:"
        yield from _facts(explanation, reason)
    yield 0, ""


def _facts(explanation: Explanation, reason: Reason) -> Iterator[tuple[int, str]]:
    if reason.is_bundled:
        yield from _by_partner(reason)
        return
    ends = (explanation.subject, explanation.object)
    marked = {met.entity for met in reason.meeting if met.entity not in ends}
    listed_facts, others = reason.cited
    for fact in listed_facts[:SHOWN]:
        yield 5, _fact(fact, marked, explanation.words.label(fact.predicate))
    more = len(listed_facts) - SHOWN
    rest = [f"{counted(more, 'more fact')} like these"] if more > 0 else []
    if others:
        rest.append(f"{counted(len(others), 'bystander')} that lead elsewhere")
    if rest:
        yield 5, f"(and {', '.join(rest)})"


def _by_partner(reason: Reason) -> Iterator[tuple[int, str]]:
    """The facts of one entity, bundled by whom they are with."""
    bundles = reason.bundles()
    for partner, facts in bundles[:SHOWN]:
        dates = [_date(fact) for fact in facts]
        yield 5, f"{len(facts)} with {partner}: {listed(dates, DATES)}"
    if rest := bundles[SHOWN:]:
        count = sum(len(facts) for _, facts in rest)
        yield 5, f"(and {count} with {counted(len(rest), 'other entity')})"


def _date(fact: CitedFact) -> str:
    return f"{fact.date} ({fact.apart})" if fact.apart else fact.date


def _fact(fact: CitedFact, marked: set[str], label: str) -> str:
    subject, object_ = (
        name + (MARK if name in marked else "") for name in (fact.subject, fact.object)
    )
    return f"{subject} | {label} | {object_} | {_date(fact)}"
