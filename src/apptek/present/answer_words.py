"""Answers in words: what the facts hold already, and what is unusual about a question."""

from typing import Any

from apptek.facts.predicate_table import labelled
from apptek.present.explanation_words import name_notes, time_notes
from apptek.present.wording import presumed, recorded_words
from apptek.results import Answer, Note

FAR = "The time is far from all facts, so the probabilities are not calibrated."
VIEWS = {"all_facts": "With all facts", "past_only": "Only the past"}
BASELINES = {"frequency": "the most frequent predicate", "recency": "counting"}
NO_QUALITY = "there were no held-out facts to measure it on"


def recorded(answer: Answer) -> str:
    """The predicates that the facts hold for a query, in words; empty where there are none."""
    labels = dict(zip(answer.predicates, answer.labels, strict=True))
    return recorded_words([labelled(name, labels.get(name, "")) for name in answer.known])


def answer_notes(answer: Answer) -> list[Note]:
    """Which names are not in the data, what the probabilities presume, what else is unusual."""
    query = answer.query
    asked = ((query.subject, answer.meant_subject), (query.object, answer.meant_object))
    return [
        *name_notes(answer.unknown_names, (), (), query.time),
        Note("conditional", presumed(query.time)),
        *name_notes((), asked, (), query.time),
        *_unseen_notes(answer),
        *time_notes(answer.view, query.time, unseen=False, age=answer.age_note),
        *([Note("far", FAR)] if answer.far_time else []),
    ]


def _unseen_notes(answer: Answer) -> list[Note]:
    """What of a query is not in the facts."""
    time = answer.query.time
    ends = {
        "subject": (answer.unseen_subject, answer.meant_subject),
        "object": (answer.unseen_object, answer.meant_object),
    }
    notes = []
    for name, (is_unseen, meant) in ends.items():
        if is_unseen and meant is not None:
            where = f"before {time}" if meant in answer.later else "in the facts"
            text = f"The {name} does not occur {where}."
            notes.append(Note("later_name", text, {"name": meant, "time": time}))
    if answer.unseen_time and answer.view == "all_facts":  # what lies ahead cannot have occurred
        notes.append(Note("undated", "The time does not occur in the facts.", {"time": time}))
    return notes


def quality_text(quality: dict[str, Any] | None) -> str:
    """Return how often the top prediction was correct, and whether counting does as well."""
    if quality is None:
        return NO_QUALITY
    compared = {name: quality[name] for name in BASELINES if name in quality}
    asked = min(quality["queries"], 100)  # of more than 100 facts, so many of 100
    right, *others = (round(part["hits_at_1"] * asked) for part in (quality, *compared.values()))
    noun = "held-out fact" if asked == 1 else "held-out facts"
    which = f"recent {noun}" if quality["newest"] else noun
    names = (BASELINES[name].removeprefix("the ") for name in compared)
    beside = ", ".join(f"{name}: {count}" for name, count in zip(names, others, strict=True))
    text = f"the top prediction was correct for {right} of {asked} {which} ({beside})"
    for verdict, is_so in (("worse than", _is_worse), ("no better than", _is_no_better)):
        if rivals := [BASELINES[name] for name, part in compared.items() if is_so(part)]:
            text += f"; {verdict} {' or '.join(rivals)}"
    return text


def _is_worse(baseline: dict[str, Any]) -> bool:
    return bool(baseline["interval"][1] < 0)


def _is_no_better(baseline: dict[str, Any]) -> bool:
    low, high = baseline["interval"]
    return bool(low <= 0 <= high)
