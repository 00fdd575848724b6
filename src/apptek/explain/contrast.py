"""What changed between two times: the same two predicates weighed at both."""

import numpy as np

from apptek.explain.explainer import explain, find_predicate
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
) -> Contrast:
    """What changes between the time of a query and another time.

    The answer at the first time is weighed against that at the second; where both are the same, or
    a predicate is named, against its runner-up, unless `against` names another one.
    """
    second = Query(query.subject, query.object, other)
    if predicate is None or against is None:
        predicate, against = _compared(answerer, (query, second), predicate, against)
    first, later = (explain(answerer, each, predicate, against=against) for each in (query, second))
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
    times = [n for each in (first, second) for n in each.notes if n.kind in ("undated", "view")]
    return tuple({note.text: note for note in (*names, *times)}.values())


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
        one, two = (side.get(key, Contribution()) for side in parts)
        sentences, difference = (one.sentence, two.sentence), two.log_odds - one.log_odds
        changes.append(Change(key[0], key[1], *sentences, one.log_odds, two.log_odds, difference))
    return tuple(sorted(changes, key=lambda change: -abs(change.change)))


def _identity(part: Contribution) -> tuple[str, str, tuple[str, ...]]:
    """What makes two contributions the same at two times: a trait is what its sentence says."""
    return part.kind, part.family, part.topology or (part.sentence,)
