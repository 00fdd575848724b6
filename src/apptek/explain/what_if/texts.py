"""Counterfactuals and contrasts for the terminal."""

from collections.abc import Iterator

from apptek.data.predicate_table import PredicateTable
from apptek.explain.contrast import Contrast, asked_at
from apptek.explain.counterfactual import MOST, Counterfactual
from apptek.explain.text import Length, name_notes, wrapped
from apptek.present.wording import general_notes, percent, presumed, shown_time, signed
from apptek.safe_text import counted

SHOWN = 10  # changes of a contrast
OPPOSED = " (conflict is not tried for cooperation, nor cooperation for conflict)"


def counterfactual_text(
    found: Counterfactual, width: int = 100, labels: PredicateTable | None = None
) -> str:
    """What would change an answer, in lines of some width; predicates are shown by their labels."""
    return _lines(_counterfactual(found, labels or PredicateTable()), width)


def contrast_text(found: Contrast, width: int = 100, length: Length = "paragraph") -> str:
    """What changed between two days; in full: with numbers."""
    return _lines(_contrast(found, length), width)


def _lines(entries: Iterator[tuple[int, str]], width: int) -> str:
    lines = [line for entry in entries for line in wrapped(*entry, max(width, 40))]
    return "\n".join(lines) + "\n"


def _counterfactual(found: Counterfactual, labels: PredicateTable) -> Iterator[tuple[int, str]]:
    answer = labels.shown(found.answer)
    for note in found.notes:
        yield 0, note
    yield 0, f"{found.subject} | ? | {found.object} | {shown_time(found.time)}"
    yield 0, ""
    yield 0, f"answer: {answer} ({percent(found.probability)})"
    yield 0, presumed(found.time)
    yield 0, ""
    if found.outcome is None:
        change = f"makes it '{labels.shown(found.target)}'" if found.target else "changes it"
        yield 0, f"No set of up to {MOST} facts was found whose removal {change}."
    else:
        count = len(found.removed)
        these = "this fact" if count == 1 else f"these {count} facts"
        outcome = found.outcome
        other = labels.shown(outcome.predicate)
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
        yield from _additions(found, labels)


def _additions(found: Counterfactual, labels: PredicateTable) -> Iterator[tuple[int, str]]:
    if not found.additions:
        become = "changes it" if found.target is None else f"makes it {labels.shown(found.target)}"
        has_groups = any(entry.group for entry in labels.entries.values())
        yield 0, f"No single fact more between the two {become}{OPPOSED * has_groups}."
        return
    yield 0, "With one of these facts more it would change:"
    for each in found.additions:
        other, chance = labels.shown(each.outcome.predicate), percent(each.outcome.probability)
        yield 2, f"{each.sentence}: then {other} ({chance})"


def _contrast(found: Contrast, length: Length) -> Iterator[tuple[int, str]]:
    first, second = found.first, found.second
    general = general_notes(*first.unknown)
    for note in general:
        yield 0, note
    if length == "sentence":
        yield 0, found.sentence
        for note in name_notes(first):
            yield 0, note
        return
    times = [shown_time(each.time) for each in (first, second)]
    yield 0, f"{first.subject} | ? | {first.object} | {' and '.join(times)}"
    yield 0, ""
    yield 0, found.paragraph
    for note in found.notes[len(general) :]:
        yield 0, note
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
