"""What the service says about its model: data and settings, names, topologies and weights."""

from dataclasses import asdict

import numpy as np

from apptek.facts.predicate_table import PredicateTable
from apptek.facts.times import UNKNOWN
from apptek.paper.features import topologies_of
from apptek.server.requests import QueryFields
from apptek.server.responses import (
    CountedName,
    Counts,
    Entities,
    ModelInfo,
    PredicateOut,
    Predicates,
    Span,
)
from apptek.server.served_model import ServedModel


def describe_model(served: ServedModel) -> ModelInfo:
    """Return the model's data, settings, metrics, counts and time span."""
    model = served.model
    data = model.dataset
    return ModelInfo(
        dataset=data.name,
        preset=model.preset,
        protocol=model.protocol,
        seed=model.seed,
        counts=Counts(
            entities=len(data.entities),
            predicates=len(data.predicates),
            facts=len(model.graph.facts),
            train=len(data.train),
            valid=len(data.valid),
            test=len(data.test),
            topologies=len(topologies_of(model) or ()),
        ),
        span=_describe_span(served),
        metrics=model.main.report,
        settings=asdict(model.config),
        samples=[QueryFields(**asdict(query)) for query in served.samples],
        forecasts=model.occurrence is not None,
    )


def _describe_span(served: ServedModel) -> Span:
    data = served.model.dataset
    facts = served.model.graph.facts
    dated = facts.times[facts.dated]
    positions = data.axis.positions(dated)
    first = int(dated[positions.argmin()]) if len(dated) else UNKNOWN
    last = int(dated[positions.argmax()]) if len(dated) else UNKNOWN
    return Span(
        unit=data.axis.unit,
        mixed=data.axis.mixed,
        first=data.axis.format(first),
        last=data.axis.format(last),
        first_position=served.span.first,
        last_position=served.span.last,
        beyond=served.beyond,
        undated=len(facts) - len(dated),
    )


def find_entities(served: ServedModel, text: str, limit: int) -> Entities:
    """Entities that match what was typed, or else similar names."""
    names = served.model.dataset.entities
    matches = served.index.search(text, limit)
    meant = served.predictor.answerer.entities.find(text)
    if meant is not None and meant not in matches:  # an alias
        matches = [meant, *matches][:limit]
    return Entities(
        entities=[CountedName(name=names[i], facts=int(served.counts[i])) for i in matches],
        near=[] if matches else served.index.near(text),
    )


def list_predicates(served: ServedModel) -> Predicates:
    """Return all predicates with the number of their facts."""
    data, facts = served.model.dataset, served.model.graph.facts
    counts = np.bincount(facts.predicates, minlength=len(data.predicates)).tolist()
    labels = data.labels or PredicateTable()
    return Predicates(
        predicates=[
            PredicateOut(
                name=name,
                facts=count,
                label=labels.label(name),
                kind=labels.class_of(name),
                group=labels.group_of(name),
            )
            for name, count in zip(data.predicates, counts, strict=True)
        ]
    )
