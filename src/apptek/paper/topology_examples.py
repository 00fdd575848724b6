"""The topologies that a model has mined for some predicates, each with an example query."""

from collections.abc import Sequence
from typing import Any

from apptek.errors import ApptekError
from apptek.facts.queries import Queries, training_queries
from apptek.features.space import Connection, CoreFact
from apptek.models.model import Model
from apptek.paper.connection import connect
from apptek.paper.environment import DecisionProcess
from apptek.paper.features import Topologies, topologies_of
from apptek.paper.topologies import MinedTopology, to_names
from apptek.present.wording import when_text

TOP = 10  # topologies of each predicate
FACTS = 8  # of an example's path


def mined_topologies(model: Model, predicates: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The topologies of each predicate, ready for JSON; those first that connected most episodes.

    connected  the episodes of the predicate's training queries that it connected
    share      their share of all these episodes
    weight     what it adds to the predicate's score where it connects a query
    example    one of these queries, the facts that connect it, and the number of other facts
    """
    names = model.dataset.predicates
    for name in predicates:
        if names.find(name) is None:
            raise ApptekError(f"{model.dataset.name} has no predicate {name!r}")
    part = topologies_of(model)
    if part is None:
        raise ApptekError("the model has no topologies: fit it with --model paper")
    process = DecisionProcess(model.graph, model.config.agent)
    queries = training_queries(model.dataset.train)
    described = {}
    for name in predicates:
        row = names.find(name)
        most_frequent = [m for m in part.mined.topologies if m.predicate == row][:TOP]
        described[name] = [
            {
                "topology": to_names(mined.sequence, names),
                "connected": mined.queries,
                "share": mined.queries / part.mined.tried[mined.predicate],
                "weight": _weight(model, part, mined),
                "example": _example(model, process, queries, mined),
            }
            for mined in most_frequent
        ]
    return described


def _weight(model: Model, part: Topologies, mined: MinedTopology) -> float:
    column = model.space(model.main_view).first(part.name)
    column += part.found.sequences.index(mined.sequence)
    return float(model.main.classifier.weights[column, mined.predicate])


def _example(
    model: Model, process: DecisionProcess, queries: Queries, mined: MinedTopology
) -> dict[str, Any] | None:
    """The example with the fewest facts on its path; None where replaying connects none."""
    connections = ((row, connect(process, queries, mined.sequence, row)) for row in mined.examples)
    met = [(row, connection) for row, connection in connections if connection is not None]
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
