"""What-if answers: an answer with supposed facts next to the answer without. No model changes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Ints, Matrix
from apptek.errors import ApptekError, ArgumentError, TimeFormatError
from apptek.explain.contrast import contrasted, reason_changes
from apptek.explain.explainer import explain, find_predicate, without_facts
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.models.answerer import Answerer
from apptek.models.updating import is_new
from apptek.present.sentences import fact_sentence
from apptek.present.what_if_words import FORM, answer_sentence, known_fact_note, late_fact_note
from apptek.reading.frames import time_text
from apptek.results import Change, Note, Query, SupposedChance, SupposedFact, WhatIf

LISTED = 10  # number of predicates whose probabilities are compared
LEAST = 0.005  # smallest change in a reason's log-odds that is not displayed as 0


@dataclass(frozen=True, slots=True)
class Supposition:
    """Supposed facts, as ids and as text with a flag for whether they count."""

    facts: Facts
    listed: tuple[SupposedFact, ...]
    notes: tuple[Note, ...] = ()

    def before(self, positions: Ints, moment: int, shown: str) -> "Supposition":
        """Return a copy in which only facts before `moment` count. `shown` is that time as text."""
        listed, notes = [], [*self.notes]
        for fact, position in zip(self.listed, positions.tolist(), strict=True):
            if fact.counts and position >= moment:
                notes.append(late_fact_note(fact, shown))
            listed.append(replace(fact, counts=fact.counts and position < moment))
        return Supposition(self.facts, tuple(listed), tuple(notes))

    @property
    def counted(self) -> Facts:
        """The supposed facts that count."""
        return self.facts.take(np.asarray([fact.counts for fact in self.listed], np.bool_))


def read_supposed(answerer: Answerer, suppose: Any) -> Supposition:
    """Look up supposed facts: "SUBJECT | PREDICATE | OBJECT | TIME", or tuples of the four.

    UnknownName, UnknownPredicateError, TimeFormatError or ApptekError describe the first invalid
    fact. A fact that is already in the data does not count twice.
    """
    suppose = [suppose] if isinstance(suppose, str | tuple) else suppose
    rows = [_row(answerer, each, f"supposed fact {n}") for n, each in enumerate(suppose, 1)]
    if not rows:
        raise ArgumentError(f"there is no supposed fact; expected {FORM}")
    columns = [np.asarray(column, np.int32) for column in zip(*rows, strict=True)]
    facts = Facts(columns[0], columns[1], columns[2], columns[3], columns[3])
    are_new = is_new(facts, answerer.model.graph.facts).tolist()
    listed = [_in_words(answerer, *each) for each in zip(rows, are_new, strict=True)]
    notes = [known_fact_note(fact) for fact in listed if not fact.counts]
    return Supposition(facts, tuple(listed), tuple(notes))


def _row(answerer: Answerer, given: Any, where: str) -> tuple[int, int, int, int]:
    cells = [cell.strip() for cell in given.split("|")] if isinstance(given, str) else [*given]
    if len(cells) != 4 or not all(isinstance(cell, str) and cell for cell in cells[:3]):
        raise ArgumentError(f"{where}: found {given!r}, expected {FORM}")
    subject, predicate, object_, time = (*cells[:3], time_text(cells[3]))
    answerer.entities.check(subject, object_, where=where)
    try:
        known = find_predicate(predicate, answerer.predicate_names)
        code = answerer.model.dataset.axis.parse(time)
        answerer.seen.check_time(code)
    except ApptekError as error:
        raise type(error)(f"{where}: {error}") from None
    if code == UNKNOWN:
        raise TimeFormatError(f"{where}: found {time!r}, expected the time when it would happen")
    return answerer.entity_id(subject), known, answerer.entity_id(object_), code


def _in_words(answerer: Answerer, row: tuple[int, int, int, int], is_new: bool) -> SupposedFact:
    data, date = answerer.model.dataset, answerer.model.dataset.axis.format(row[3])
    names = (data.entities[row[0]], data.predicates[row[1]], data.entities[row[2]])
    return SupposedFact(fact_sentence(answerer.labels, *names, date), *names, date, is_new)


def what_if(
    answerer: Answerer,
    query: Query,
    suppose: Any,
    predicate: str | None = None,
    *,
    against: str | None = None,
    queries: Queries | None = None,
) -> WhatIf:
    """Return the answer to a query with and without supposed facts, and the reasons that change.

    The query keeps its view: with `past_only`, a supposed fact counts only if it is before the
    query's time. `queries` is the query as ids, if it was looked up already.
    """
    queries = answerer.queries_of([query]) if queries is None else queries
    supposed = read_supposed(answerer, suppose)
    data, code = answerer.model.dataset, int(queries.times[0])
    if answerer.view_of(queries).name == "past_only" and code != UNKNOWN:
        positions = data.axis.positions(supposed.facts.times)
        supposed = supposed.before(positions, data.axis.position(code), data.axis.format(code))
    changed = without_facts(answerer, queries, [], supposed.counted).answerer
    two = (answerer, changed)
    chances = np.concatenate([each.ranked(queries).probabilities for each in two])
    compared, changes = changed_reasons(
        two, query, queries, compared_in(answerer, chances, predicate, against)
    )
    rows = _chances(answerer, chances)
    return WhatIf(
        sentence=answer_sentence(rows, supposed.listed),
        facts=supposed.listed,
        chances=rows,
        compared=compared,
        changes=changes,
        notes=supposed.notes,
    )


def compared_in(
    answerer: Answerer, chances: Matrix, predicate: str | None = None, against: str | None = None
) -> tuple[int, int]:
    """Return the predicate to explain in two answers, (2, R), and the predicate to compare it with.

    If the top predicate does not change, compare it with the other predicate that gains most.
    """
    chosen, other = contrasted(answerer, chances, predicate, against)
    gains = np.delete(chances[1] - chances[0], chosen)
    if against is None and int(chances[1].argmax()) == chosen and gains.max(initial=0.0) > 0.0:
        best = int(gains.argmax())
        return chosen, best + (best >= chosen)
    return chosen, other


def changed_reasons(
    two: tuple[Answerer, Answerer], query: Query, queries: Queries, compared: tuple[int, int]
) -> tuple[tuple[str, ...], tuple[Change, ...]]:
    """Return the labels of two predicates, and the reasons that changed between them."""
    names = [two[0].model.dataset.predicates[predicate] for predicate in compared]
    first, second = (
        explain(each, query, names[0], against=names[1], queries=queries) for each in two
    )
    changes = [each for each in reason_changes(first, second) if abs(each.change) >= LEAST]
    return tuple(map(two[0].labels.label, names)), tuple(changes)


def _chances(answerer: Answerer, both: Matrix) -> tuple[SupposedChance, ...]:
    """Return the highest probabilities in either of two answers, (2, R)."""
    names, labels = answerer.model.dataset.predicates, answerer.labels
    order = np.argsort(-both.max(axis=0), kind="stable")[:LISTED]
    return tuple(
        chance("predicate", names[place], labels.label(names[place]), *both[:, place].tolist())
        for place in order.tolist()
    )


def chance(
    kind: str,
    name: str,
    label: str,
    without: float,
    supposed: float,
    ends: tuple[str, str] = ("", ""),
) -> SupposedChance:
    """Return a probability with and without the supposed facts."""
    return SupposedChance(kind, name, label, *ends, without, supposed, supposed - without)
