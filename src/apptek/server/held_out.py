"""Facts of valid and test that a model does not answer from: what happened, too, between two."""

from typing import Any

import numpy as np

from apptek.arrays import Ints
from apptek.facts.facts import Dataset, Facts, join_facts
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import between
from apptek.graph.temporal_graph import positions_of
from apptek.models.model import Model
from apptek.present.wording import when_text
from apptek.server.schemas.responses import Fact
from apptek.server.served_model import Window

NO_FACT = -1  # the number of a fact that the graph does not hold


def held_out_facts(model: Model, subject: int, object_: int, window: Window) -> Facts:
    """The facts of valid and test from one to another that the graph does not hold.

    Those inside the window in order of time, then undated ones. Costs as much as the splits have
    facts; a model that answers from all facts has none.
    """
    data, graph = model.dataset, model.graph
    parts = [
        split.take(np.flatnonzero((split.subjects == subject) & (split.objects == object_)))
        for split in (data.valid, data.test)
    ]
    facts = join_facts(*parts)
    own = graph.facts.take(between(graph, subject, object_))
    known = set(zip(own.predicates.tolist(), own.since.tolist(), own.until.tolist(), strict=True))
    rows = zip(facts.predicates.tolist(), facts.since.tolist(), facts.until.tolist(), strict=True)
    facts = facts.take(np.asarray([row not in known for row in rows], np.bool_))
    first, last = _ends(model, facts)
    inside = (first == UNKNOWN) | ((first <= window.last) & (last >= window.first))
    facts, first = facts.take(inside), first[inside]
    return facts.take(np.lexsort((first, first == UNKNOWN)))


def _ends(model: Model, facts: Facts) -> tuple[Ints, Ints]:
    since, until = positions_of(facts, model.graph.axis, model.graph.open_end)
    return np.where(since == UNKNOWN, until, since), np.where(until == UNKNOWN, since, until)


def describe_held_out(model: Model, facts: Facts) -> list[Fact]:
    """The facts with their names and dates; they have no number."""
    ends = zip(*(ends.tolist() for ends in _ends(model, facts)), strict=True)
    return [
        Fact(fact=NO_FACT, **row_fields(model.dataset, facts, row, each))
        for row, each in enumerate(ends)
    ]


def row_fields(data: Dataset, facts: Facts, row: int, ends: tuple[int, int]) -> dict[str, Any]:
    """The fields of Fact but its number, of a row of facts with its first and last position."""
    since, until = (data.axis.format(int(codes[row])) for codes in (facts.since, facts.until))
    start, end = ends if ends[0] != UNKNOWN else (None, None)
    return {
        "subject": data.entities[int(facts.subjects[row])],
        "predicate": data.predicates[int(facts.predicates[row])],
        "object": data.entities[int(facts.objects[row])],
        "since": since,
        "until": until,
        "date": when_text(since, until),
        "start": start,
        "end": end,
    }
