"""An explanation in plain words, short: in one sentence, or in a paragraph."""

from typing import TYPE_CHECKING, NamedTuple

from apptek.explain.groups import OF_TREES
from apptek.present.wording import count_text, given, percent
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.explain.explanation import Explanation, Support

LEADING = 2  # what the sentence tells in favour of the answer; it tells one thing against it
TOLD = 3  # what the paragraph tells, for the answer and against it
SMALL = 0.1  # of what weighs most: what weighs less is not told
FAIR = 1 / 3  # of the weight of a group: what can be told is told before it

WITHOUT = "because that is common in general"
ITSELF = "This is the very fact that is asked about, which training hides."
OF_RUNNER_UP = "This is a fact of the runner-up at that very time, which training hides."
# Where the counts of a reason, taken alone, point the other way than the reason does.
ALONE = (
    "These counts alone favour the runner-up; beside the other reasons, it favours this answer.",
    "These counts alone favour this answer; beside the other reasons, it favours the runner-up.",
)


class Told(NamedTuple):
    """A reason, which is a clause, or a group of small ones, which has a title."""

    log_odds: float
    words: str
    is_group: bool
    is_sum: bool = False  # of a group: whether it adds up small reasons


def sentence(explanation: "Explanation") -> str:
    """The answer in one sentence: what speaks for it most, and what speaks against it.

    A predicate that is not the answer is told the other way round.
    """
    if explanation.is_only:
        return _only(explanation)
    for_it, against = _told(explanation)
    words, is_ahead = _answer_words(explanation), explanation.log_odds >= 0
    main, other, opposite = for_it, against, "against it"
    if not is_ahead:
        main, other, opposite = against, for_it, "for it"
    because = [f"because {'of ' if p.is_group else ''}{p.words}" for p in _leading(main, LEADING)]
    words = f"{_first(explanation)}{words}, mainly {', and '.join(because or [WITHOUT])}"
    return f"{words}; {opposite}: {_listed(_leading(other, 1))}." if other else f"{words}."


def _first(explanation: "Explanation") -> str:
    """What the facts hold already, which comes first."""
    return f"{explanation.recorded} ".lstrip()


def _leading(parts: list[Told], most: int) -> list[Told]:
    """The weightiest parts, a group never alone where something that happened can be told.

    What happened comes first if it weighs a fair share of the group: a title says little.
    """
    leading = parts[:most]
    told = next((part for part in parts if not part.is_group), None)
    group = next((part for part in leading if part.is_group), None)
    if told is None or group is None:
        return leading
    is_fair = abs(told.log_odds) >= FAIR * abs(group.log_odds)
    return [told, group] if is_fair else [group, told]


def _answer_words(explanation: "Explanation") -> str:
    """The predicate, and what it is compared with where that is not the next best."""
    label, other = explanation.label, explanation.runner_up_label
    words = f"{label} ({percent(explanation.probability)}, {given(explanation.time)})"
    if explanation.runner_up_role == "the answer":
        return f"Not {words}, but {other}"
    if explanation.runner_up_role == "runner-up":
        return words
    than = "rather than" if explanation.log_odds >= 0 else "less than"
    return f"{words} {than} {other} ({percent(explanation.runner_up_probability)})"


def paragraph(explanation: "Explanation") -> str:
    """The answer in a few sentences: what speaks for it and against it."""
    if explanation.is_only:
        return _only(explanation)
    for_it, against = _told(explanation)
    runner_up = f"'{explanation.runner_up_label}'"
    place = "ahead of" if explanation.log_odds >= 0 else "behind"
    if explanation.runner_up_role == "the answer":
        place += " the answer"
    chance, other = explanation.probability, explanation.runner_up_probability
    answer = f"{explanation.label} ({percent(chance)}), {place} {runner_up} ({percent(other)})"
    words = [f"{_first(explanation)}{answer}, {given(explanation.time)}."]
    if for_it:
        words.append(f"For it: {_listed(for_it[:TOLD])}.")
    if against:
        words.append(f"Against it, and for {runner_up}: {_listed(against[:TOLD])}.")
    return " ".join(words)


def _only(explanation: "Explanation") -> str:
    chance = percent(explanation.probability)
    return f"{_first(explanation)}{explanation.label} ({chance}): the data has no other predicate."


def support_words(support: "Support", log_odds: float, *, of_answer: bool = True) -> str:
    """What training says about a reason that adds so much.

    of_answer  whether the fact that training hides, if any, is of the answer, not the runner-up
    """
    itself = f"{ITSELF if of_answer else OF_RUNNER_UP} " if support.is_itself else ""
    evidence = f"such evidence{f' {support.when}' if support.when else ''}"
    if not support.queries:
        return f"{itself}In training, there was no {evidence}."
    this = f"{_times(support.followed)} with this answer"
    if support.followed:
        this += (
            f" ({percent(support.confidence)}, {support.lift:.1f} times its usual share, "
            f"{counted(support.pairs, 'pair')} of entities)"
        )
    other = f"{_times(support.runner_up)} with the runner-up"
    if support.runner_up:
        other += (
            f" ({percent(support.runner_up / support.queries)}, "
            f"{support.runner_up_lift:.1f} times its usual share)"
        )
    seen = f"{itself}In training, {evidence} was seen {count_text(support.queries)}"
    words = f"{seen}: {this}, {other}."
    return f"{words} {ALONE[log_odds < 0]}" if support.contradicts else words


def contradicts_alone(support: "Support", log_odds: float) -> bool:
    """Whether the counts of a reason, taken alone, point the other way than what it adds."""
    alone = round(support.lift, 1) - round(support.runner_up_lift, 1)  # as they are shown
    return bool(support.queries) and alone * log_odds < 0


def _times(number: int) -> str:
    return count_text(number) if number else "never"


def _listed(parts: list[Told]) -> str:
    """A; B; and, taken together, what they did to others."""
    return "; ".join(f"taken together, {p.words}" if p.is_sum else p.words for p in parts)


def _told(explanation: "Explanation") -> tuple[list[Told], list[Told]]:
    """What speaks for the answer and against it, the weightiest first, without what is small.

    Reasons with the same words are one. A reason whose counts alone point the other way is told
    only where there is no other on its side, and then with that remark.
    """
    clear, doubtful = (_summed(explanation, contradicts=doubt) for doubt in (False, True))
    clear += [Told(g.log_odds, g.title, True, g.name not in OF_TREES) for g in explanation.groups]
    weights = [abs(part.log_odds) for part in (*clear, *doubtful)]
    least = SMALL * max(weights, default=0.0)
    others = {1: explanation.runner_up_label, -1: explanation.label}
    sides = []
    for sign, other in others.items():
        large = [
            sorted(
                (p for p in parts if sign * p.log_odds > 0 and abs(p.log_odds) >= least),
                key=lambda part: -abs(part.log_odds),
            )
            for parts in (clear, doubtful)
        ]
        remark = f" (which alone would point to '{other}')"
        told = [part._replace(words=f"{part.words}{remark}") for part in large[1][:1]]
        sides.append(large[0] or told)
    return sides[0], sides[1]


def _summed(explanation: "Explanation", *, contradicts: bool) -> list[Told]:
    """The reasons whose counts alone contradict them, or the others, each wording once."""
    added: dict[str, float] = {}
    for reason in explanation.all_reasons():
        if (reason.support is not None and reason.support.contradicts) == contradicts:
            part = reason.contribution
            added[part.sentence] = added.get(part.sentence, 0.0) + part.log_odds
    return [Told(log_odds, words, False) for words, log_odds in added.items()]
