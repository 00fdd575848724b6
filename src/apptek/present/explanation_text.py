"""Explanations, contrasts and counterfactuals for the terminal, and contrasts in words."""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from apptek.facts.predicate_table import labelled
from apptek.present.explanation_words import (
    early_words,
    meeting_words,
    recorded,
    runner_up_role,
    sequence_words,
)
from apptek.present.wording import (
    GIVEN,
    GIVEN_FACT,
    at_time,
    is_undated,
    listed,
    percent,
    presumed,
    share_lines,
    shown_time,
    signed,
)
from apptek.results import (
    Change,
    CitedFact,
    Contrast,
    Contribution,
    Counterfactual,
    Explanation,
    Group,
    Note,
    Reason,
)
from apptek.safe_text import counted, printable

Length = Literal["sentence", "paragraph", "full"]
SHOWN = 6  # facts written out with a reason
DATES = 3  # of the facts with one partner
MEMBERS = 8  # of a group that are written out, the strongest; JSON holds all
BASE = "how common the two are in general"  # what the bias says
OF_NAMES = ("read_as", "later_name", "from_name")  # kinds of notes about names
MARK = " *"  # after the name of a meeting entity
TOLD = 3  # changes in the paragraph
SMALL = 0.1  # of the largest change: what is smaller is not told
CHANGES = 10  # changes of a contrast
OPPOSED = " (conflict is not tried for cooperation, nor cooperation for conflict)"
Two = tuple[Explanation, Explanation]  # of the same question at two times


def explanation_text(explanation: Explanation, width: int = 100, length: Length = "full") -> str:
    """The query and its answer with reasons; lines of some width.

    Names with characters that a terminal must not see are shown without these.
    """
    general = [(0, note) for note in of_kinds(explanation.notes, "unknown_name")]
    return wrapped_lines([*general, *ENTRIES[length](explanation)], width)


def wrapped_lines(entries: Iterable[tuple[int, str]], width: int) -> str:
    """Paragraphs with their indents, in lines of some width."""
    lines = [line for entry in entries for line in wrapped(*entry, max(width, 40))]
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
    for note in of_kinds(explanation.notes, *OF_NAMES):
        yield 0, note


def _paragraph(explanation: Explanation) -> Iterator[tuple[int, str]]:
    yield 0, query_words(explanation)
    yield 0, ""
    yield 0, explanation.paragraph
    for line in _lines_below(explanation):
        yield 0, line


def _entries(explanation: Explanation) -> Iterator[tuple[int, str]]:
    """Everything: the paragraphs with their indents."""
    yield 0, query_words(explanation)
    yield 0, ""
    chosen = labelled(explanation.predicate, explanation.label)
    other = labelled(explanation.runner_up, explanation.runner_up_label)
    if explanation.known:
        yield 0, recorded(explanation)
    ours = f"{chosen} ({percent(explanation.probability)})"
    runner_up = f"{other} ({percent(explanation.runner_up_probability)})"
    yield 0, f"{'answer' if explanation.is_first else 'asked about'}: {ours}"
    if not explanation.is_only:
        yield 0, f"{runner_up_role(explanation)}: {runner_up}"
    for line in _lines_below(explanation):
        yield 0, line
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


def _lines_below(explanation: Explanation) -> list[str]:
    """The classes, and all notes but those that stand above the answer."""
    notes = [note.text for note in explanation.notes if note.kind != "unknown_name"]
    return [*share_lines(explanation.by_class, explanation.by_group), *notes]


def query_words(explanation: Explanation) -> str:
    """The query written like a fact: A | ? | B | 2014-05-13."""
    when = shown_time(explanation.time)
    return f"{explanation.subject} | ? | {explanation.object} | {when}"


def of_kinds(notes: Iterable[Note], *kinds: str) -> list[str]:
    """The texts of the notes of some kinds."""
    return [note.text for note in notes if note.kind in kinds]


def _reason(explanation: Explanation, reason: Reason) -> Iterator[tuple[int, str]]:
    yield 0, f"{reason.number}. {signed(reason.log_odds)}  {reason.sentence}"
    if reason.support is not None:
        yield 5, reason.support.words
    if reason.kind == "topology":
        yield 5, sequence_words(explanation, reason)
    if reason.same_as:
        yield 5, f"by the same connecting facts as {reason.same_as}{early_words(reason)}"
    elif reason.facts:
        if reason.kind == "topology":
            yield 5, f"{meeting_words(explanation, reason, MARK)}{early_words(reason)}:"
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
        yield 5, _fact(fact, marked, explanation.shown(fact.predicate))
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


def contrast_words(two: Two, changes: tuple[Change, ...]) -> tuple[str, str]:
    """Return a sentence and a paragraph about what changed between two times."""
    first, second = two
    answers, told = _answers(two), _told(two, changes)
    gains = second.log_odds > first.log_odds
    main = next((change for change in told if (change.change > 0) == gains), None)
    why = f", mainly because {_because(two, main)}" if main else ""
    words = [f"{answers}."]
    for label, towards in ((first.runner_up_label, False), (first.label, True)):
        some = [change for change in told if (change.change > 0) == towards][:TOLD]
        if some:
            reasons = "; ".join(dict.fromkeys(_words(two, change) for change in some))
            words.append(f"What moved it towards '{label}': {reasons}.")
    return f"{answers}{why}.", " ".join(words)


def _answers(two: Two) -> str:
    answers = [
        f"{each.ranked[0].label} ({percent(each.ranked[0].probability)}) {asked_at(each)}"
        for each in two
    ]
    same = two[0].ranked[0].predicate == two[1].ranked[0].predicate
    condition = GIVEN_FACT if any(is_undated(each.time) for each in two) else GIVEN
    return f"{answers[0]}, {'and' if same else 'but'} {answers[1]} (each {condition})"


def _told(two: Two, changes: tuple[Change, ...]) -> list[Change]:
    """The changes that are large enough to be told; what the two are tells of no change.

    A reason whose counts alone do not point its way is not told.
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
        if change.kind != "trait" and not doubtful & {change.first_sentence, change.second_sentence}
    ]
    least = SMALL * max((abs(change.change) for change in parts), default=0.0)
    return [change for change in parts if abs(change.change) >= max(least, 1e-9)]


def asked_at(explanation: Explanation) -> str:
    """When a question is about: on 2014-05-11, in 1999."""
    undated = is_undated(explanation.time)
    return "for the undated question" if undated else at_time(explanation.time)


def _because(two: Two, change: Change) -> str:
    """What follows "because": a clause, or what the trees look at, which is none."""
    if change.kind == "reranker":
        return f"of {change.second_sentence or change.first_sentence}"
    return _words(two, change)


def _words(two: Two, change: Change) -> str:
    """A change in words; what is said is seen from its own time."""
    first, second = (
        asked_at(each) if is_undated(each.time) else f"as of {each.time}" for each in two
    )
    if not change.second_sentence:
        return f"{first}, {change.first_sentence}, but not {second}"
    if not change.first_sentence or abs(change.second) >= abs(change.first):
        return f"{second}, {change.second_sentence}"
    return f"{first}, {change.first_sentence}, which counts less {second}"


def counterfactual_text(found: Counterfactual, width: int = 100) -> str:
    """What would change an answer, in lines of some width."""
    return wrapped_lines(_counterfactual(found), width)


def contrast_text(found: Contrast, width: int = 100, length: Length = "paragraph") -> str:
    """What changed between two days; in full: with numbers."""
    return wrapped_lines(_contrast(found, length), width)


def _counterfactual(found: Counterfactual) -> Iterator[tuple[int, str]]:
    answer = found.shown(found.answer)
    for note in found.notes:
        yield 0, note.text
    yield 0, f"{found.subject} | ? | {found.object} | {shown_time(found.time)}"
    yield 0, ""
    yield 0, f"answer: {answer} ({percent(found.probability)})"
    yield 0, presumed(found.time)
    yield 0, ""
    if found.outcome is None:
        change = f"makes it '{found.shown(found.target)}'" if found.target else "changes it"
        yield 0, f"No set of up to {found.max_removed} facts was found whose removal {change}."
    else:
        count = len(found.removed)
        these = "this fact" if count == 1 else f"these {count} facts"
        outcome = found.outcome
        other = found.shown(outcome.predicate)
        yield (
            0,
            (
                f"Without {these} it would be {other} ({percent(outcome.probability)}; "
                f"{answer} {percent(outcome.answer_probability)}):"
            ),
        )
        for sentence in found.sentences:
            yield 2, sentence
        if count > 1:
            yield 0, "Each of them is needed; another set may be smaller."
    if found.additions is not None:
        yield 0, ""
        yield from _additions(found)


def _additions(found: Counterfactual) -> Iterator[tuple[int, str]]:
    if not found.additions:
        become = "changes it" if found.target is None else f"makes it {found.shown(found.target)}"
        opposed = OPPOSED if found.predicate_groups else ""
        yield 0, f"No single fact more between the two {become}{opposed}."
        return
    yield 0, "With one of these facts more it would change:"
    for each in found.additions:
        other, chance = found.shown(each.outcome.predicate), percent(each.outcome.probability)
        yield 2, f"{each.sentence}: then {other} ({chance})"


def _contrast(found: Contrast, length: Length) -> Iterator[tuple[int, str]]:
    first, second = found.first, found.second
    for note in of_kinds(found.notes, "unknown_name"):
        yield 0, note
    if length == "sentence":
        yield 0, found.sentence
        for note in of_kinds(first.notes, *OF_NAMES):
            yield 0, note
        return
    times = [shown_time(each.time) for each in (first, second)]
    yield 0, f"{first.subject} | ? | {first.object} | {' and '.join(times)}"
    yield 0, ""
    yield 0, found.paragraph
    for text in (note.text for note in found.notes if note.kind != "unknown_name"):
        yield 0, text
    if length != "full":
        return
    yield 0, ""
    yield 0, f"'{first.label}' against '{first.runner_up_label}', in log-odds:"
    for time, each in zip(times, (first, second), strict=True):
        yield 2, f"{time}: {signed(each.log_odds)}"
    yield 0, ""
    for change in found.changes[:CHANGES]:
        words = change.second_sentence or change.first_sentence
        yield (
            0,
            (
                f"{signed(change.change)}  {words} ({signed(change.first)} {asked_at(first)}, "
                f"{signed(change.second)} {asked_at(second)})"
            ),
        )
    rest = found.changes[CHANGES:]
    if rest:
        total = sum(change.change for change in rest)
        yield 0, f"{signed(total)}  {counted(len(rest), 'smaller change')}"
    yield 0, f"= {signed(second.log_odds - first.log_odds)}"
