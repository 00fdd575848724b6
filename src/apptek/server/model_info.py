"""What the service says about its model: data and settings, names, topologies and weights."""

from dataclasses import asdict

import numpy as np

from apptek.facts.predicate_table import PredicateTable
from apptek.forecast.window import time_of
from apptek.paper.features import topologies_of
from apptek.server import responses
from apptek.server.requests import QueryFields
from apptek.server.served_model import ServedModel


def describe_model(served: ServedModel) -> responses.ModelInfo:
    """Return data set, settings, metrics, counts and time span of the model, and sample queries."""
    model = served.model
    data = model.dataset
    return responses.ModelInfo(
        dataset=data.name,
        preset=model.preset,
        protocol=model.protocol,
        seed=model.seed,
        counts=responses.Counts(
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


def _describe_span(served: ServedModel) -> responses.Span:
    axis, facts = served.model.dataset.axis, served.model.graph.facts
    ends = (served.span.first, served.span.last)
    first, last = (time_of(axis, at) if facts.dated.any() else "?" for at in ends)
    return responses.Span(
        unit=axis.unit,
        mixed=axis.mixed,
        first=first,
        last=last,
        first_position=served.span.first,
        last_position=served.span.last,
        beyond=served.beyond,
        undated=int((~facts.dated).sum()),
    )


def find_entities(served: ServedModel, text: str, limit: int) -> responses.Entities:
    """Entities that match what was typed, or else similar names."""
    names = served.model.dataset.entities
    matches = served.index.search(text, limit)
    meant = served.predictor.answerer.entities.find(text)
    if meant is not None and meant not in matches:  # an alias
        matches = [meant, *matches][:limit]
    return responses.Entities(
        entities=[
            responses.CountedName(name=names[i], facts=int(served.counts[i])) for i in matches
        ],
        near=[] if matches else served.index.near(text),
    )


def list_predicates(served: ServedModel) -> responses.Predicates:
    """Return all predicates, and how often each is used."""
    data, facts = served.model.dataset, served.model.graph.facts
    counts = np.bincount(facts.predicates, minlength=len(data.predicates)).tolist()
    labels = data.labels or PredicateTable()
    return responses.Predicates(
        predicates=[
            responses.PredicateOut(
                name=name,
                facts=count,
                label=labels.label(name),
                kind=labels.class_of(name),
                group=labels.group_of(name),
            )
            for name, count in zip(data.predicates, counts, strict=True)
        ]
    )
