"""Contrasts and counterfactuals in words, and as text for the terminal."""

from collections.abc import Iterator

from apptek.present.explanation_text import OF_NAMES, Length, of_kinds, wrapped_lines
from apptek.present.wording import (
    GIVEN,
    GIVEN_FACT,
    at_time,
    is_undated,
    percent,
    presumed,
    shown_time,
    signed,
)
from apptek.results import Change, Contrast, Counterfactual, Explanation
from apptek.safe_text import counted

TOLD = 3  # changes in the paragraph
SMALL = 0.1  # of the largest change: what is smaller is not told
SHOWN = 10  # changes of a contrast
OPPOSED = " (conflict is not tried for cooperation, nor cooperation for conflict)"
Two = tuple[Explanation, Explanation]  # of the same question at two times


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

    A reason whose counts alone point the other way than it does is not told.
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
    for change in found.changes[:SHOWN]:
        words = change.second_sentence or change.first_sentence
        yield (
            0,
            (
                f"{signed(change.change)}  {words} ({signed(change.first)} {asked_at(first)}, "
                f"{signed(change.second)} {asked_at(second)})"
            ),
        )
    rest = found.changes[SHOWN:]
    if rest:
        total = sum(change.change for change in rest)
        yield 0, f"{signed(total)}  {counted(len(rest), 'smaller change')}"
    yield 0, f"= {signed(second.log_odds - first.log_odds)}"
