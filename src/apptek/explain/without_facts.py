"""A model without some of its facts, or with additional ones: its answer to one query."""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from apptek.arrays import Longs
from apptek.facts.facts import Facts, join_facts
from apptek.facts.queries import Queries
from apptek.graph.lookups import incoming, outgoing
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import Answerer, Views, WorkingView


@dataclass(frozen=True, slots=True)
class PartOfFacts:
    """An answerer that uses only part of the facts.

    kept  the index of each fact in the whole graph; added facts are numbered after the last one
    """

    answerer: Answerer
    kept: Longs


def without_facts(
    answerer: Answerer,
    queries: Queries,
    removed: npt.ArrayLike,
    added: Facts | None = None,
) -> PartOfFacts:
    """Return an answerer for one query, with some facts removed from its graph and others added.

    The graph contains only the facts that the answer depends on: the facts of the two entities, or
    all facts if the scores depend on them.
    """
    graph = answerer.model.graph
    if answerer.view_of(queries).reaches_others:
        relevant = np.arange(len(graph.facts))
    else:
        ends = (int(queries.subjects[0]), int(queries.objects[0]))
        rows = [look(graph, end) for end in ends if end >= 0 for look in (outgoing, incoming)]
        relevant = np.concatenate([np.zeros(0, np.int64), *rows])
    kept = np.setdiff1d(relevant, np.asarray(removed, np.int64)).astype(np.int64)
    numbers = len(graph.facts) + np.arange(0 if added is None else len(added))
    return PartOfFacts(with_only(answerer, kept, added), np.concatenate([kept, numbers]))


def with_only(answerer: Answerer, kept: Longs, added: Facts | None = None) -> Answerer:
    """Return an answerer that sees only these facts and the added ones.

    The learned properties of entities, which come from all facts, do not change.
    """
    model, graph = answerer.model, answerer.model.graph
    facts = graph.facts.take(kept)
    part = graph.with_facts(facts if added is None else join_facts(facts, added))
    changed = copy(answerer)
    changed.model = replace(model, graph=part)
    changed.views = Views(lambda name: _on(answerer.views[name], part))
    return changed


def _on(view: WorkingView, graph: TemporalGraph) -> WorkingView:
    """Return the same view on another graph."""
    return replace(view, space=view.space.on(graph.seen_in(view.name)))
