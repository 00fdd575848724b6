"""What changed between two times: the same two predicates weighed at both."""

from dataclasses import replace

import numpy as np

from apptek.explain.explainer import compared_predicates, explain
from apptek.facts.queries import Queries
from apptek.models.answerer import Answerer
from apptek.models.answers import Query
from apptek.present.explanation_text import OF_NAMES
from apptek.present.what_if_text import contrast_words
from apptek.results import Change, Contrast, Contribution, Explanation, Note


def contrast(
    answerer: Answerer,
    query: Query,
    other: str,
    predicate: str | None = None,
    against: str | None = None,
    queries: Queries | None = None,
) -> Contrast:
    """What changes between the time of a query and another time.

    The answer at the first time is weighed against that at the second; where both are the same, or
    a predicate is named, against its runner-up, unless `against` names another one. `queries` are
    the ids of the query at both times, where they were looked up already.
    """
    asked = (query, replace(query, time=other))
    ids = answerer.queries_of(asked) if queries is None else queries
    chances = answerer.ranked(ids).probabilities
    chosen, compared = compared_predicates(answerer, chances[0], predicate, against)
    if against is None and (winner := int(chances[1].argmax())) != chosen:
        compared = winner
    names = answerer.model.dataset.predicates
    first, later = (
        explain(
            answerer, each, names[chosen], against=names[compared],
            queries=ids.take(np.asarray([row])),
        )
        for row, each in enumerate(asked)
    )  # fmt: skip
    changes = _changes(first, later)
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


def _notes(first: Explanation, second: Explanation) -> tuple[Note, ...]:
    """What is unusual about the names and the two times, each of it once."""
    names = [note for note in first.notes if note.kind in ("unknown_name", *OF_NAMES)]
    kinds = ("undated", "view", "far")
    times = [note for each in (first, second) for note in each.notes if note.kind in kinds]
    return tuple({note.text: note for note in (*names, *times)}.values())


def _changes(first: Explanation, second: Explanation) -> tuple[Change, ...]:
    parts = [{_identity(part): part for part in each.contributions()} for each in (first, second)]
    changes = []
    for key in dict.fromkeys((*parts[0], *parts[1])):
        one, two = (side.get(key, Contribution()) for side in parts)
        sentences, difference = (one.sentence, two.sentence), two.log_odds - one.log_odds
        changes.append(Change(key[0], key[1], *sentences, one.log_odds, two.log_odds, difference))
    return tuple(sorted(changes, key=lambda change: -abs(change.change)))


def _identity(part: Contribution) -> tuple[str, str, tuple[str, ...]]:
    """What makes two contributions the same at two times: a trait is what its sentence says."""
    return part.kind, part.family, part.topology or (part.sentence,)
