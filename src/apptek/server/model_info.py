"""What the service says about its model: data and settings, names, topologies and weights."""

from collections import Counter
from dataclasses import asdict

import numpy as np

from apptek.explain.strongest_weights import strongest
from apptek.facts.predicate_table import PredicateTable
from apptek.facts.times import UNKNOWN
from apptek.paper.features import topologies_of
from apptek.paper.topologies import Mined, describe, to_names
from apptek.server.requests import QueryFields
from apptek.server.responses import (
    CountedName,
    Counts,
    Entities,
    MinedOut,
    ModelInfo,
    PredicateOut,
    Predicates,
    Span,
    Topologies,
    WeightOut,
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


def list_topologies(served: ServedModel, predicate: str | None, page: range) -> Topologies:
    """Return a page of the mined topologies and largest weights of each predicate, or of one.

    page  which of them: the first one of each predicate has number 0
    """
    model = served.model
    names = model.dataset.predicates
    if predicate is None:
        predicates = list(range(len(names)))
    else:
        predicates = [served.predicate(predicate, "predicate", 404)]
    numbers: Counter[int] = Counter()
    topologies = []
    part = topologies_of(model)
    found = Mined((), {}, {}) if part is None else part.mined
    for mined in found.topologies:  # of each predicate the commonest come first
        if mined.predicate in predicates and numbers[mined.predicate] in page:
            topologies.append(
                MinedOut(
                    predicate=names[mined.predicate],
                    topology=to_names(mined.sequence, names),
                    sentence=describe(mined.sequence, names, served.predictor.answerer.labels),
                    connected=mined.queries,
                    share=mined.queries / found.tried[mined.predicate],
                    examples=[
                        model.dataset.describe(model.dataset.train, fact) for fact in mined.examples
                    ],
                )
            )
        numbers[mined.predicate] += 1
    space = served.predictor.answerer.main.space
    pages = {  # one more of each than is shown, to see whether there is a next page
        row: strongest(model, space, row, len(page) + 1, first=page.start) for row in predicates
    }
    has_more = any(len(weights) > len(page) for weights in pages.values()) or any(
        numbers[row] > page.stop for row in predicates
    )
    return Topologies(
        topologies=topologies,
        strongest=[
            WeightOut(predicate=names[row], **asdict(weight))
            for row, weights in pages.items()
            for weight in weights[: len(page)]
        ],
        next_offset=page.stop if has_more else None,
    )
