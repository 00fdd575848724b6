"""Changes between two answers: at two times, or with and without supposed facts."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from apptek.arrays import Matrix
from apptek.explain.explainer import compared_predicates, explain
from apptek.models.answerer import Answerer
from apptek.present.explanation_text import OF_NAMES, contrast_words
from apptek.results import Change, Contrast, Contribution, Explanation, Note, Query

Identity = tuple[str, str, tuple[str, ...]]  # a reason's kind, its family, and what else matches


def contrast(
    answerer: Answerer,
    query: Query,
    other: str,
    predicate: str | None = None,
    against: str | None = None,
) -> Contrast:
    """Return how the answer to a query changes at another time.

    The top predicate at the first time is compared with the top predicate at the second time. If
    both are the same, or `predicate` is given, it is compared with its runner-up or with `against`.
    """
    asked = (query, replace(query, time=other))
    ids = answerer.queries_of(asked)
    chances = answerer.ranked(ids).probabilities
    chosen, compared = contrasted(answerer, chances, predicate, against)
    names = answerer.model.dataset.predicates
    first, later = (
        explain(
            answerer, each, names[chosen], against=names[compared],
            queries=ids.take(np.asarray([row])),
        )
        for row, each in enumerate(asked)
    )  # fmt: skip
    changes = reason_changes(first, later)
    sentence, paragraph = contrast_words((first, later), changes)
    return Contrast(
        sentence=sentence,
        paragraph=paragraph,
        first=first,
        second=later,
        changes=changes,
        bias_change=later.bias - first.bias,
        change=later.log_odds - first.log_odds,
        notes=_notes(first, later),
    )


def contrasted(
    answerer: Answerer, chances: Matrix, predicate: str | None, against: str | None
) -> tuple[int, int]:
    """Return the predicate to explain in two answers, (2, R), and the one to compare with it."""
    chosen, compared = compared_predicates(answerer, chances[0], predicate, against)
    winner = int(chances[1].argmax())
    return chosen, winner if against is None and winner != chosen else compared


def _notes(first: Explanation, second: Explanation) -> tuple[Note, ...]:
    """Return the notes about the names and about both times, without duplicates."""
    names = [note for note in first.notes if note.kind in ("unknown_name", *OF_NAMES)]
    kinds = ("undated", "view", "far")
    times = [note for each in (first, second) for note in each.notes if note.kind in kinds]
    return tuple({note.text: note for note in (*names, *times)}.values())


def reason_changes(first: Explanation, second: Explanation) -> tuple[Change, ...]:
    """Return what each reason adds in the two answers, largest change first."""
    parts = (
        {_identity(part): (part.sentence, part.log_odds) for part in each.contributions()}
        for each in (first, second)
    )
    return tuple(sorted(changes_of(*parts), key=lambda change: -abs(change.change)))


def changes_of(
    before: Mapping[Identity, tuple[str, float]], after: Mapping[Identity, tuple[str, float]]
) -> list[Change]:
    """Return the changes between two answers, given the sentence and log-odds of each reason."""
    changes = []
    for key in dict.fromkeys((*before, *after)):
        (first, one), (second, two) = (side.get(key, ("", 0.0)) for side in (before, after))
        changes.append(Change(key[0], key[1], first, second, one, two, two - one))
    return changes


def _identity(part: Contribution) -> Identity:
    """Return the key that matches contributions at two times; for a trait, it is the sentence."""
    return part.kind, part.family, part.topology or (part.sentence,)
