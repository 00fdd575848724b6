"""What changed between two days: the same two predicates weighed at both."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from apptek.explain.explainer import explain, find_predicate
from apptek.explain.explanation import Contribution, Explanation, as_plain
from apptek.explain.text import name_notes, time_notes
from apptek.models.answerer import Answerer
from apptek.models.answers import Query
from apptek.present.wording import (
    GIVEN,
    GIVEN_FACT,
    at_time,
    general_notes,
    is_undated,
    percent,
)

TOLD = 3  # changes in the paragraph
SMALL = 0.1  # of the largest change: what is smaller is not told


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one reason adds to the log-odds at either time; without it, the sentence is empty."""

    kind: str
    family: str
    first_sentence: str
    second_sentence: str
    first: float
    second: float

    @property
    def change(self) -> float:
        """By how much the second day differs."""
        return self.second - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The same question at two times.

    first, second  the explanations: of the same predicate, against the same other one
    changes        what each reason adds at either time, the largest change first; together with the
                   change of the bias they are the change of the log-odds
    """

    first: Explanation
    second: Explanation
    changes: tuple[Change, ...]

    @property
    def sentence(self) -> str:
        """The largest change in the direction of the whole change, in one sentence."""
        gains = self.second.log_odds > self.first.log_odds
        told = [change for change in self._told() if (change.change > 0) == gains]
        why = f", mainly because {_reason(self, told[0])}" if told else ""
        return f"{self._answers()}{why}."

    @property
    def paragraph(self) -> str:
        """The largest changes in a few sentences."""
        words = [f"{self._answers()}."]
        sides = ((self.first.runner_up_label, False), (self.first.label, True))
        for label, gains in sides:
            told = [c for c in self._told() if (c.change > 0) == gains][:TOLD]
            if told:
                reasons = "; ".join(dict.fromkeys(_words(self, change) for change in told))
                words.append(f"What moved it towards '{label}': {reasons}.")
        return " ".join(words)

    def _answers(self) -> str:
        answers = [
            f"{(each.labels or each.ranked[0])[0]} ({percent(each.ranked[0][1])}) {asked_at(each)}"
            for each in (self.first, self.second)
        ]
        same = self.first.ranked[0][0] == self.second.ranked[0][0]
        undated = is_undated(self.first.time) or is_undated(self.second.time)
        condition = GIVEN_FACT if undated else GIVEN
        return f"{answers[0]}, {'and' if same else 'but'} {answers[1]} (each {condition})"

    def _told(self) -> list[Change]:
        """The changes that are large enough to be told; what the two are tells of no change.

        A reason whose counts alone point the other way than it does is not told.
        """
        doubtful = {
            reason.contribution.sentence
            for each in (self.first, self.second)
            for reason in each.all_reasons()
            if reason.support is not None and reason.support.contradicts
        }
        parts = [
            c
            for c in self.changes
            if c.kind != "trait" and not doubtful & {c.first_sentence, c.second_sentence}
        ]
        least = SMALL * max((abs(change.change) for change in parts), default=0.0)
        return [change for change in parts if abs(change.change) >= max(least, 1e-9)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unusual about the names and the two times."""
        times = [*time_notes(self.first), *time_notes(self.second)]
        names = [*general_notes(*self.first.unknown), *name_notes(self.first)]
        return tuple(dict.fromkeys([*names, *times]))

    def as_json(self) -> dict[str, Any]:
        """Everything, with the change of each reason."""
        plain = [as_plain(change) | {"change": change.change} for change in self.changes]
        return {
            "sentence": self.sentence,
            "paragraph": self.paragraph,
            "first": self.first.as_json(),
            "second": self.second.as_json(),
            "changes": plain,
            "bias_change": self.second.bias - self.first.bias,
            "change": self.second.log_odds - self.first.log_odds,
            "notes": list(self.notes),
        }


def contrast(
    answerer: Answerer,
    query: Query,
    other: str,
    predicate: str | None = None,
    against: str | None = None,
) -> Contrast:
    """What changes between the time of a query and another time.

    The answer at the first time is weighed against that at the second; where both are the same, or
    a predicate is named, against its runner-up, unless `against` names another one.
    """
    second = Query(query.subject, query.object, other)
    if predicate is None or against is None:
        predicate, against = _compared(answerer, (query, second), predicate, against)
    explained = [explain(answerer, each, predicate, against=against) for each in (query, second)]
    return Contrast(first=explained[0], second=explained[1], changes=_changes(*explained))


def _compared(
    answerer: Answerer, asked: tuple[Query, Query], predicate: str | None, against: str | None
) -> tuple[str, str]:
    """The answers at both times, or the one that both have and the next best at the first."""
    names = answerer.model.dataset.predicates
    chances = answerer.ranked(answerer.queries_of(asked)).probabilities
    first, second = (int(each.argmax()) for each in chances)
    if predicate is not None:
        first = find_predicate(predicate, answerer.predicate_names, names)
    if against is None:
        others = np.argsort(-chances[0], kind="stable").tolist()
        next_best = next((other for other in others if other != first), first)
        against = names[second if second != first else next_best]
    return names[first], against


def _changes(first: Explanation, second: Explanation) -> tuple[Change, ...]:
    parts = [{_identity(part): part for part in each.contributions()} for each in (first, second)]
    changes = []
    for key in dict.fromkeys((*parts[0], *parts[1])):
        one, two = (side.get(key) for side in parts)
        changes.append(
            Change(
                kind=key[0],
                family=key[1],
                first_sentence=one.sentence if one else "",
                second_sentence=two.sentence if two else "",
                first=one.log_odds if one else 0.0,
                second=two.log_odds if two else 0.0,
            )
        )
    return tuple(sorted(changes, key=lambda change: -abs(change.change)))


def _identity(part: Contribution) -> tuple[str, str, tuple[str, ...]]:
    """What makes two contributions the same at two times: a trait is what its sentence says."""
    return part.kind, part.family, part.topology or (part.sentence,)


def asked_at(explanation: Explanation) -> str:
    """When a question is about: on 2014-05-11, in 1999."""
    undated = is_undated(explanation.time)
    return "for the undated question" if undated else at_time(explanation.time)


def _reason(contrast: Contrast, change: Change) -> str:
    """What follows "because": a clause, or what the trees look at, which is none."""
    if change.kind == "reranker":
        return f"of {change.second_sentence or change.first_sentence}"
    return _words(contrast, change)


def _words(contrast: Contrast, change: Change) -> str:
    """A change in words; what is said is seen from its own time."""
    first, second = (
        asked_at(each) if is_undated(each.time) else f"as of {each.time}"
        for each in (contrast.first, contrast.second)
    )
    if not change.second_sentence:
        return f"{first}, {change.first_sentence}, but not {second}"
    if not change.first_sentence or abs(change.second) >= abs(change.first):
        return f"{second}, {change.second_sentence}"
    return f"{first}, {change.first_sentence}, which counts less {second}"
