"""Answers and explanations in plain words: sentences, notes, and the basis of each reason."""

from collections.abc import Collection
from typing import NamedTuple

from apptek.facts.predicate_table import labelled
from apptek.present.sentences import NO_SUMS, RECORDED
from apptek.present.wording import (
    CONDITION,
    GIVEN,
    count_text,
    general_notes,
    is_undated,
    listed,
    percent,
    read_as_notes,
    recorded_words,
    signed,
)
from apptek.results import Answer, Explanation, Note, Reason, Support
from apptek.safe_text import counted

LEADING = 2  # number of reasons for the answer in the sentence, plus one against it
TOLD = 3  # number of reasons on each side in the paragraph
SMALL = 0.1  # reasons smaller than this share of the largest weight are omitted
FAIR = 1 / 3  # a reason with at least this share of a group's weight precedes the group

FAR = "This time is so far from all facts that the probabilities are not calibrated."
FOR_IT, AGAINST_IT = "Evidence for it", "Evidence against it and for"  # headings of reasons
SAME = "Subject and object are the same entity, so every path connects them."
BASE = "the base rates of the two predicates"  # the meaning of the bias
WITHOUT = "because it is common in general"
ITSELF = "This is the fact you asked about. It was hidden during training."
OF_RUNNER_UP = "This fact records the runner-up at that time. It was hidden during training."
# Used if the counts of a reason alone do not support the reason.
ALONE = "On its own, this evidence favours {}; combined with the other reasons, it favours {}."


class Told(NamedTuple):
    """A reason (a clause), or a group of small reasons (a title)."""

    log_odds: float
    words: str
    is_group: bool
    is_sum: bool = False  # for a group: whether it is a sum of small reasons


def sentence(explanation: Explanation) -> str:
    """Return the answer in one sentence, with the strongest evidence for it and against it.

    If the predicate is not the answer, the evidence against it comes first.
    """
    if explanation.is_only:
        return _only(explanation)
    for_it, against = _told(explanation)
    words, is_likelier = _answer_words(explanation), explanation.log_odds >= 0
    main, other, opposite = for_it, against, "against it"
    if not is_likelier:
        main, other, opposite = against, for_it, "for it"
    because = [f"because {'of ' if p.is_group else ''}{p.words}" for p in _leading(main, LEADING)]
    words = f"{_first(explanation)}{words}, mainly {', and '.join(because or [WITHOUT])}"
    return f"{words}; {opposite}: {_listed(_leading(other, 1))}." if other else f"{words}."


def _first(explanation: Explanation) -> str:
    """Return the recorded facts in words, as the beginning of a sentence or paragraph."""
    return f"{recorded(explanation)} ".lstrip()


def recorded(explanation: Explanation) -> str:
    """Return the recorded facts in words; empty if there are none."""
    return recorded_words([explanation.shown(name) for name in explanation.known])


def runner_up_role(explanation: Explanation) -> str:
    """Return the runner-up's role: the next best, the answer itself, or a chosen alternative."""
    others = (one.predicate for one in explanation.ranked if one.predicate != explanation.predicate)
    if explanation.runner_up != next(others, explanation.runner_up):
        return "compared with"
    return "runner-up" if explanation.is_first else "the answer"


def _leading(parts: list[Told], most: int) -> list[Told]:
    """Return the strongest reasons, or a group with the strongest event if they include a group.

    The event comes first if its weight is comparable to the group's, because titles are vague.
    """
    leading = parts[:most]
    told = next((part for part in parts if not part.is_group), None)
    group = next((part for part in leading if part.is_group), None)
    if told is None or group is None:
        return leading
    is_fair = abs(told.log_odds) >= FAIR * abs(group.log_odds)
    return [told, group] if is_fair else [group, told]


def _answer_words(explanation: Explanation) -> str:
    """Return the predicate, and the runner-up unless it is simply the next best."""
    label, other = explanation.label, explanation.runner_up_label
    words = f"{label} ({percent(explanation.probability)}, {GIVEN})"
    if runner_up_role(explanation) == "the answer":
        return f"Not {words}, but {other}"
    if runner_up_role(explanation) == "runner-up":
        return words
    than = "rather than" if explanation.log_odds >= 0 else "is less likely than"
    return f"{words} {than} {other} ({percent(explanation.runner_up_probability)})"


def paragraph(explanation: Explanation) -> str:
    """Return the answer in a few sentences, with the evidence for it and against it."""
    if explanation.is_only:
        return _only(explanation)
    for_it, against = _told(explanation)
    runner_up = f"'{explanation.runner_up_label}'"
    place = "ahead of" if explanation.log_odds >= 0 else "behind"
    if runner_up_role(explanation) == "the answer":
        place += " the answer"
    chance, other = explanation.probability, explanation.runner_up_probability
    answer = f"{explanation.label} ({percent(chance)}), {place} {runner_up} ({percent(other)})"
    words = [f"{_first(explanation)}{answer}, {GIVEN}."]
    if for_it:
        words.append(f"{FOR_IT}: {_listed(for_it[:TOLD])}.")
    if against:
        words.append(f"{AGAINST_IT} {runner_up}: {_listed(against[:TOLD])}.")
    return " ".join(words)


def _only(explanation: Explanation) -> str:
    chance = percent(explanation.probability)
    return f"{_first(explanation)}{explanation.label} ({chance}): the data has no other predicate."


def support_words(support: Support, log_odds: float, *, of_answer: bool = True) -> str:
    """Return a reason's training counts as sentences.

    of_answer  if training hid the fact itself: whether its predicate is the answer (true) or the
               runner-up (false)
    """
    itself = f"{ITSELF if of_answer else OF_RUNNER_UP} " if support.is_itself else ""
    evidence = f"similar evidence{f' {support.when}' if support.when else ''}"
    if not support.queries:
        return f"{itself}Training had no {evidence}."
    this = f"{_times(support.followed)} with this answer"
    if support.followed:
        this += (
            f" ({percent(support.confidence)}, {support.lift:.1f} times its usual rate, "
            f"{counted(support.pairs, 'pair')} of entities)"
        )
    other = f"{_times(support.runner_up)} with the runner-up"
    if support.runner_up:
        other += (
            f" ({percent(support.runner_up / support.queries)}, "
            f"{support.runner_up_lift:.1f} times its usual rate)"
        )
    words = f"{itself}In training, {evidence} occurred {_times(support.queries)}: {this}, {other}."
    if not support.contradicts:
        return words
    other, favoured = ("the runner-up", "this answer")[:: 1 if log_odds > 0 else -1]
    return f"{words} {ALONE.format(other if _favoured(support) else 'neither', favoured)}"


def contradicts_alone(support: Support, log_odds: float) -> bool:
    """Return whether the counts of a reason alone contradict its contribution."""
    return bool(support.queries) and _favoured(support) * log_odds <= 0


def _favoured(support: Support) -> float:
    """Return which side the rounded lifts favour: the answer if > 0, neither if 0."""
    return round(support.lift, 1) - round(support.runner_up_lift, 1)


def _times(number: int) -> str:
    return count_text(number) if number else "never"


def _listed(parts: list[Told]) -> str:
    """Join reasons as in: A; B; events between A and others (several small effects)."""
    return "; ".join(f"{p.words} (several small effects)" if p.is_sum else p.words for p in parts)


def _told(explanation: Explanation) -> tuple[list[Told], list[Told]]:
    """Return the evidence for and against the answer, strongest first.

    Small contributions are omitted. Reasons with the same words are merged. A reason that its own
    counts contradict appears only if there is no other reason on its side, and then with a remark.
    """
    clear, doubtful = (_summed(explanation, contradicts=doubt) for doubt in (False, True))
    clear += [
        Told(g.log_odds, g.title, True, g.name not in NO_SUMS)
        for g in explanation.groups
        if g.name != RECORDED
    ]
    weights = [abs(part.log_odds) for part in (*clear, *doubtful)]
    least = SMALL * max(weights, default=0.0)
    labels = {1: explanation.label, -1: explanation.runner_up_label}
    sides = []
    for sign, label in labels.items():
        large = [
            sorted(
                (p for p in parts if sign * p.log_odds > 0 and abs(p.log_odds) >= least),
                key=lambda part: -abs(part.log_odds),
            )
            for parts in (clear, doubtful)
        ]
        remark = f" (which on its own does not favour '{label}')"
        told = [part._replace(words=f"{part.words}{remark}") for part in large[1][:1]]
        sides.append(large[0] or told)
    return sides[0], sides[1]


def _summed(explanation: Explanation, *, contradicts: bool) -> list[Told]:
    """Return the reasons that their own counts contradict, or all others; each wording once."""
    added: dict[str, float] = {}
    for reason in explanation.all_reasons():
        if (reason.support is not None and reason.support.contradicts) == contradicts:
            added[reason.sentence] = added.get(reason.sentence, 0.0) + reason.log_odds
    return [Told(log_odds, words, False) for words, log_odds in added.items()]


def explanation_notes(explanation: Explanation, from_name: Collection[str]) -> tuple[Note, ...]:
    """Return notes about what is unusual in the question, starting with unknown names.

    from_name  entities that the model knows only by name
    """
    subject, object_ = explanation.subject, explanation.object
    asked = ((explanation.asked_subject, subject), (explanation.asked_object, object_))
    read = (
        Note(
            "from_name",
            f"The only information about {name} comes from its name.",
            {"name": name},
        )
        for name in dict.fromkeys((subject, object_))
        if name in from_name
    )
    return (
        *name_notes(explanation.unknown, asked, explanation.later, explanation.time),
        *read,
        *time_notes(
            explanation.view,
            explanation.time,
            unseen=explanation.unseen_time,
            age=explanation.age_note,
        ),
        *_connection_notes(explanation),
    )


def name_notes(
    unknown: Collection[str],
    asked: Collection[tuple[str, str | None]],
    later: Collection[str],
    time: str,
) -> list[Note]:
    """Return notes about names that are unknown, were read as another name, or occur only later.

    asked  pairs of a given name and the name that it was read as
    """
    return [
        *(Note("unknown_name", text, {"name": n}) for n in unknown for text in general_notes(n)),
        *read_as_notes(*asked),
        *(
            Note(
                "later_name",
                f"The model has no facts about {name} before {time}.",
                {"name": name, "time": time},
            )
            for name in later
        ),
    ]


def time_notes(view: str, time: str, *, unseen: bool, age: str) -> list[Note]:
    """Return notes about the answer's view, and about a time that does not occur in the facts.

    age  the age of the newest fact, if the time is after all facts
    """
    if view == "past_only":
        text = f"Based only on facts before {time}."
        notes = [Note("view", text, {"view": view}), *([Note("far", age)] if age else [])]
        return [] if is_undated(time) else notes
    if is_undated(time):
        text = "Based on all facts, regardless of their time."
        return [Note("view", text, {"view": view})]
    notes = [Note("undated", f"No fact is dated {time}.", {"time": time})] if unseen else []
    text = "Based on facts before and after this time."
    return [*notes, Note("view", text, {"view": view})]


def _connection_notes(explanation: Explanation) -> list[Note]:
    """Return notes about recorded facts, a pair without connection, and two equal names."""
    notes, known = [], list(explanation.known)
    if known:
        text = f"The answer uses the recorded fact{'s' * (len(known) > 1)}."
        notes.append(Note("recorded", text, {"predicates": known}))
    parts = (*explanation.all_reasons(), *explanation.further)
    kinds = {part.kind for part in parts if part.family != "question"}
    if kinds <= {"reranker", "counting"}:
        text = "No facts connect this pair, so the answer reflects what is common in general."
        notes.append(Note("connection", text))
    if (name := explanation.subject) == explanation.object:
        text = f"Subject and object are the same: the question is what {name} does to itself."
        notes.append(Note("connection", text, {"same": name}))
        if "topology" in kinds:
            notes.append(Note("connection", SAME))
    return notes


def meeting_words(explanation: Explanation, reason: Reason, mark: str = "") -> str:
    """Return where the sides meet: in direct contact, or in other entities marked with `mark`."""
    ends = (explanation.subject, explanation.object)
    direct = any(met.subject_hops + met.object_hops == 1 for met in reason.meeting)
    others = [f"{met.entity}{mark}" for met in reason.meeting if met.entity not in ends]
    if direct:
        return "connects the pair directly" + (f"; also through {listed(others)}" if others else "")
    reached = others or [met.entity for met in reason.meeting]
    return f"connects the pair through {listed(reached)}"


def sequence_words(explanation: Explanation, reason: Reason) -> str:
    """Return all steps of a topology; the reason's sentence names only those that connect."""
    steps = [f"'{explanation.shown(name)}'" for name in reason.topology]
    return f"full topology: {', then '.join(steps)}"


def early_words(reason: Reason) -> str:
    """Return the step at which the sides met, if it was before the topology's last step."""
    is_early = 0 < reason.steps < len(reason.topology)
    return f" (after {reason.steps} of {len(reason.topology)} steps)" if is_early else ""


def facts_headline(explanation: Explanation, reason: Reason) -> str:
    """Return what connects the facts of a reason, as a heading for their table."""
    also = listed(
        [
            f"{other.number} ({signed(other.log_odds)})"
            for other in explanation.all_reasons()
            if other.same_as == reason.number
        ],
        9,
    )
    words = "the facts, nearest in time first"
    if reason.kind != "history":
        met = f"{meeting_words(explanation, reason)}{early_words(reason)}"
        words = f"{met}; {sequence_words(explanation, reason)}"
    same = f" The same facts also support {also}." if also else ""
    return f"{words[:1].upper()}{words[1:]}.{same}"


def aside_words(count: int) -> str:
    """Return in words how many of a topology's facts are not on a path between the sides."""
    return f"{counted(count, 'fact')} that {'does' if count == 1 else 'do'} not connect the pair"


def rest_words(reason: Reason, shown: int) -> str:
    """Return the title of the collapsed list of facts that follows a reason's first facts."""
    counting, others = reason.cited
    noun = "more fact" if reason.kind == "history" else "more connecting fact"
    words = [counted(len(counting) - shown, noun)] if len(counting) > shown else []
    if others:
        words.append(aside_words(len(others)))
    return ", ".join(words)


def recorded_answer(answer: Answer) -> str:
    """Return the recorded predicates of a query in words; empty if there are none."""
    labels = dict(zip(answer.predicates, answer.labels, strict=True))
    return recorded_words([labelled(name, labels.get(name, "")) for name in answer.known])


def answer_notes(answer: Answer) -> list[Note]:
    """Return notes about unknown names, what the probabilities assume, and anything unusual."""
    query = answer.query
    asked = ((query.subject, answer.meant_subject), (query.object, answer.meant_object))
    # No fact can have a future time, so the note would say nothing about forecasts.
    unseen = answer.unseen_time and answer.view == "all_facts"
    ends = (
        (query.subject, answer.meant_subject, answer.unseen_subject),
        (query.object, answer.meant_object, answer.unseen_object),
    )
    unknown = [name for name, meant, is_so in ends if is_so and meant not in answer.later]
    return [
        *name_notes(list(dict.fromkeys(unknown)), (), (), query.time),
        Note("conditional", CONDITION),
        *name_notes((), asked, answer.later, query.time),
        *time_notes(answer.view, query.time, unseen=unseen, age=answer.age_note),
        *([Note("far", FAR)] if answer.far_time else []),
        *_set_notes(answer),
    ]


def _set_notes(answer: Answer) -> list[Note]:
    """Return how often the listed predicates contain the true one, if a coverage was given."""
    if answer.coverage is None:
        return []
    count, share = len(answer.predicates), f"{100 * answer.coverage:.3g} %"
    size = counted(count, "predicate")
    text = (
        f"Sets chosen this way contain the true predicate in {share} of cases; this set has {size}."
    )
    return [Note("set", text, {"coverage": answer.coverage, "predicates": count})]
