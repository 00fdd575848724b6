"""What a fitted model has mined for some predicates, for a result file: with an example each."""

from collections.abc import Sequence
from typing import Any

from apptek.agent.environment import DecisionProcess
from apptek.data.queries import Queries, training_queries
from apptek.errors import ApptekError
from apptek.explain.wording import when_text
from apptek.features.topologies.connection import Connection, CoreFact, Surroundings, connect
from apptek.features.topologies.mining import MinedTopology
from apptek.features.topologies.topology import to_names
from apptek.models.model import Model

TOP = 10  # topologies of each predicate
FACTS = 8  # of an example's connection


def mined_topologies(model: Model, predicates: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """For each predicate its topologies, those first that connected most of its episodes.

    connected  episodes of the predicate's training queries that it connected
    share      of all their episodes
    weight     what it adds to the predicate's score where it fires
    example    one of these queries, the facts that connect it, and how many stand by
    """
    names = model.dataset.predicates
    for name in predicates:
        if names.find(name) is None:
            raise ApptekError(f"{model.dataset.name} has no predicate {name!r}")
    process = DecisionProcess(model.graph, model.config.agent)
    queries = training_queries(model.dataset.train)
    rows = {name: names.find(name) for name in predicates}
    return {
        name: [
            _described(model, process, queries, one)
            for one in [m for m in model.mined.topologies if m.predicate == row][:TOP]
        ]
        for name, row in rows.items()
    }


def _described(
    model: Model, process: DecisionProcess, queries: Queries, one: MinedTopology
) -> dict[str, Any]:
    topologies = model.sources.topologies.sequences
    column = len(model.classifier.weights) - len(topologies) + topologies.index(one.sequence)
    return {
        "topology": to_names(one.sequence, model.dataset.predicates),
        "connected": one.queries,
        "share": one.queries / model.mined.tried[one.predicate],
        "weight": float(model.classifier.weights[column, one.predicate]),
        "example": _example(model, process, queries, one),
    }


def _example(
    model: Model, process: DecisionProcess, queries: Queries, one: MinedTopology
) -> dict[str, Any] | None:
    """The example with the fewest facts on its way; None where replaying connects none."""
    found = (
        (row, connect(Surroundings(process, queries, row), one.sequence)) for row in one.examples
    )
    met = [(row, connection) for row, connection in found if connection is not None]
    if not met:
        return None
    row, connection = min(met, key=lambda pair: (len(_path(pair[1])), pair[0]))
    train, names = model.dataset.train, model.dataset.entities
    others = [fact for fact in connection.core if not fact.on_path]
    return {
        "subject": names[int(train.subjects[row])],
        "object": names[int(train.objects[row])],
        "time": model.dataset.axis.format(int(queries.times[row])),
        "meeting": [names[entity] for entity in connection.meeting],
        "facts": [_fact(model, fact) for fact in _path(connection)[:FACTS]],
        "bystanders": {
            side: sum(fact.side in (side, "both") for fact in others)
            for side in ("subject", "object")
        },
    }


def _path(connection: Connection) -> list[CoreFact]:
    return [fact for fact in connection.core if fact.on_path]


def _fact(model: Model, core: CoreFact) -> dict[str, Any]:
    data, facts = model.dataset, model.graph.facts
    since, until = int(facts.since[core.fact]), int(facts.until[core.fact])
    return {
        "subject": data.entities[int(facts.subjects[core.fact])],
        "predicate": data.predicates[int(facts.predicates[core.fact])],
        "object": data.entities[int(facts.objects[core.fact])],
        "date": when_text(data.axis.format(since), data.axis.format(until)),
        "side": core.side,
        "step": core.step,
    }
