"""A model without some of its facts: what it answers to one query if they had not happened."""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Longs
from apptek.data.times import UNKNOWN
from apptek.graph.lookups import incoming, outgoing
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.answers import Query


@dataclass(frozen=True, slots=True)
class StruckOut:
    """An answerer for one query without some facts.

    kept  which fact of the whole graph each of its facts is
    """

    answerer: Answerer
    kept: Longs


def strike_out(answerer: Answerer, query: Query, facts: list[int]) -> StruckOut:
    """The answerer for this query alone: its graph has only the facts that the answer rests on.

    Where it depends on more than the facts of the two entities, all other facts stay.
    What entities are, which is learned from all facts, stays as it was.
    """
    model, graph = answerer.model, answerer.model.graph
    kept = np.setdiff1d(_relevant(answerer, query), np.asarray(facts, np.int64))
    part = TemporalGraph.build(
        graph.facts.take(kept),
        graph.axis,
        graph.entity_count,
        graph.predicate_count,
        open_end=graph.open_end,
    )
    changed = copy(answerer)
    changed.model = replace(model, sources=replace(model.sources, graph=part))
    changed.views = {name: _on(view, changed) for name, view in answerer.views.items()}
    return StruckOut(changed, kept)


def _on(view: WorkingView, answerer: Answerer) -> WorkingView:
    """The view on another graph; its traits are those of the whole one."""
    sources = answerer.model.sources
    space = sources.space(view.name, view.fitted.kinds)
    return replace(view, space=replace(space, traits=view.space.traits))


def _relevant(answerer: Answerer, query: Query) -> Longs:
    """The facts that an answer can depend on, ascending."""
    graph = answerer.model.graph
    if answerer.main.reaches_others:
        return np.arange(len(graph.facts))
    queries = answerer.queries_of([query])
    ends = [int(queries.subjects[0]), int(queries.objects[0])]
    rows = [look(graph, end) for end in ends if end >= 0 for look in (outgoing, incoming)]
    # One undated fact, if there are any, so that features for undated facts stay in place.
    undated = np.flatnonzero(graph.facts.times == UNKNOWN)[:1]
    return np.unique(np.concatenate([*rows, undated])).astype(np.int64)
