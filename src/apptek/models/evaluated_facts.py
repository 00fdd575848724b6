"""The facts that a model is evaluated on, whatever facts it answers from."""

from dataclasses import replace

from apptek.data.facts import join_facts
from apptek.errors import ApptekError
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import Model


def with_training_facts(model: Model) -> Model:
    """The model on the graph of the facts that it was fitted on; updates only add to them."""
    if len(model.graph.facts) == len(model.dataset.train):
        return model
    return _with_graph(model, TemporalGraph.of(model.dataset))


def with_earlier_facts(model: Model) -> Model:
    """The model on a graph in which each query that looks ahead sees all facts before its time.

    So a query sees what a model would that is updated day by day. Undated facts of valid and test
    are before no query: they are left out.
    """
    data = model.dataset
    dated = [facts.take(facts.dated) for facts in (data.valid, data.test)]
    if not any(map(len, dated)):
        raise ApptekError(f"{data.name} has no dated facts after train: nothing to roll through")
    return _with_graph(model, TemporalGraph.of(replace(data, train=join_facts(data.train, *dated))))


def _with_graph(model: Model, graph: TemporalGraph) -> Model:
    return replace(model, sources=replace(model.sources, graph=graph))
