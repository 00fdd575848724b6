"""What the service reports about its model: data, settings and names."""

import numpy as np

from apptek import __version__
from apptek.facts.predicate_table import PredicateTable
from apptek.forecast.window import time_of
from apptek.models.model import summarize
from apptek.server import responses
from apptek.server.requests import EntitiesQuery
from apptek.server.served_model import ServedModel


def describe_model(served: ServedModel) -> responses.ModelInfo:
    """Return a summary of the model, its settings, and the time span of its facts."""
    model, axis, facts = served.model, served.model.dataset.axis, served.model.graph.facts
    ends = (served.span.first, served.span.last)
    first, last = (time_of(axis, at) if facts.dated.any() else "?" for at in ends)
    span = responses.Span(
        unit=axis.unit,
        mixed=axis.mixed,
        first=first,
        last=last,
        first_position=served.span.first,
        last_position=served.span.last,
        beyond=served.beyond,
        undated=int((~facts.dated).sum()),
    )
    return responses.ModelInfo(
        summary=summarize(model), span=span, forecasts=model.occurrence is not None
    )


def health(served: ServedModel) -> responses.Health:
    """Return the state of the service."""
    return responses.Health(version=__version__, model=served.digest)


def search_entities(served: ServedModel, asked: EntitiesQuery) -> responses.Entities:
    """Return entities whose name, or a word in it, begins with the text; most frequent first.

    Use these names in other questions. `facts` is the number of facts about an entity. If nothing
    matches, `near` contains similar names.
    """
    names = served.model.dataset.entities
    matches = served.index.search(asked.q, asked.limit)
    meant = served.predictor.answerer.entities.find(asked.q)
    if meant is not None and meant not in matches:  # an alias
        matches = [meant, *matches][: asked.limit]
    return responses.Entities(
        entities=[
            responses.CountedName(name=names[i], facts=int(served.counts[i])) for i in matches
        ],
        near=[] if matches else served.index.near(asked.q),
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
