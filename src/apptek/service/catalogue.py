"""What the served model knows: itself, names, topologies, histories."""

from dataclasses import asdict

import numpy as np

from apptek import __version__
from apptek.data.times import UNKNOWN
from apptek.explain.strongest_weights import strongest
from apptek.features.topologies.topology import describe, to_names
from apptek.models.model import Model
from apptek.service.histories import Window, facts_between, facts_of, timeline
from apptek.service.loaded_model import Served
from apptek.service.problems import TITLES, ServiceError, quoted
from apptek.service.schemas import (
    Counted,
    Counts,
    Entities,
    EntityTimeline,
    Health,
    MinedOut,
    ModelInfo,
    PairHistory,
    Predicates,
    Question,
    Span,
    Topologies,
    WeighedOut,
)


def health(served: Served) -> Health:
    """That it answers; also when the folder has gone, as everything is in memory or mapped."""
    return Health(version=__version__, model_on_disk=(served.folder / "model.json").exists())


def model_info(served: Served) -> ModelInfo:
    """The model's data, settings, metrics, counts and time span."""
    model = served.predictor.model
    data = model.dataset
    return ModelInfo(
        dataset=data.name,
        preset=model.preset,
        protocol=model.protocol,
        seed=model.seed,
        counts=Counts(
            entities=len(data.entities),
            predicates=len(data.predicates),
            train=len(data.train),
            valid=len(data.valid),
            test=len(data.test),
            topologies=len(model.topologies),
        ),
        span=_span(served, model),
        metrics=model.report,
        settings=asdict(model.config),
        samples=[Question(**asdict(query)) for query in served.samples],
    )


def _span(served: Served, model: Model) -> Span:
    dated = model.dataset.train.times[model.dataset.train.dated]
    places = model.dataset.axis.positions(dated)
    first = int(dated[places.argmin()]) if len(dated) else UNKNOWN
    last = int(dated[places.argmax()]) if len(dated) else UNKNOWN
    return Span(
        unit=model.dataset.axis.unit,
        mixed=model.dataset.axis.mixed,
        first=model.dataset.axis.format(first),
        last=model.dataset.axis.format(last),
        first_position=served.span.first,
        last_position=served.span.last,
        undated=len(model.dataset.train) - len(dated),
    )


def entities(served: Served, text: str, limit: int) -> Entities:
    """Entities by what was typed."""
    names = served.predictor.model.dataset.entities
    found = served.index.search(text, limit)
    return Entities(
        entities=[Counted(name=names[place], facts=int(served.counts[place])) for place in found],
        near=[] if found else served.index.near(text),
    )


def predicates(served: Served) -> Predicates:
    """All predicates with the number of their training facts."""
    data = served.predictor.model.dataset
    counts = np.bincount(data.train.predicates, minlength=len(data.predicates)).tolist()
    pairs = zip(data.predicates, counts, strict=True)
    return Predicates(predicates=[Counted(name=name, facts=count) for name, count in pairs])


def window(served: Served, since: str | None, until: str | None) -> Window:
    """From one written time to another; the whole span where they are not given.

    A ServiceError where a time is unknown, or the last is before the first.
    """
    axis = served.predictor.model.dataset.axis
    first, last = served.span.first, served.span.last
    if since is not None:
        first = served.position(_known_time(served, since, "from"))
    if until is not None:
        code = np.asarray([_known_time(served, until, "to")], np.int32)
        last = served.position(int(axis.last_moments(code)[0]))
    if since is None or until is None:  # beyond the span nothing is found
        return Window(min(first, last), last) if since is None else Window(first, max(first, last))
    if first > last:
        raise ServiceError(
            422,
            TITLES[422],
            f"The window ends at {quoted(until)}, before it begins at {quoted(since)}.",
            advice="Exchange the two times.",
            where="to",
        )
    return Window(first, last)


def _known_time(served: Served, text: str, where: str) -> int:
    code = served.time(text, where)
    if code == UNKNOWN:
        raise ServiceError(
            422,
            "Not a time of this data",
            "A window begins and ends at known times.",
            advice=f"Write a time, or leave out {where!r} for the whole span.",
            where=where,
        )
    return code


def entity_timeline(served: Served, name: str, within: Window, limit: int) -> EntityTimeline:
    """The history of an entity."""
    data, graph = served.predictor.model.dataset, served.predictor.model.graph
    facts = facts_of(graph, served.entity(name, "name", 404))
    found = timeline(data, graph, facts, within, limit)
    return EntityTimeline(entity=name, **dict(found))


def pair_history(
    served: Served, subject: str, object_: str, within: Window, limit: int
) -> PairHistory:
    """The history of a pair, in both directions."""
    data, graph = served.predictor.model.dataset, served.predictor.model.graph
    one, other = served.entity(subject, "subject", 404), served.entity(object_, "object", 404)
    forward, backward = (
        timeline(data, graph, facts_between(graph, *ends), within, limit)
        for ends in ((one, other), (other, one))
    )
    return PairHistory(subject=subject, object=object_, forward=forward, backward=backward)


def topologies(served: Served, predicate: str | None, limit: int) -> Topologies:
    """The first `limit` mined topologies and largest weights of each predicate, or of one."""
    model = served.predictor.model
    names = model.dataset.predicates
    wanted = None if predicate is None else served.predicate(predicate, "predicate", 404)
    counts: dict[int, int] = {}
    found = []
    for mined in model.mined.topologies:
        counts[mined.predicate] = counts.get(mined.predicate, 0) + 1
        if wanted in (None, mined.predicate) and counts[mined.predicate] <= limit:
            found.append(
                MinedOut(
                    predicate=names[mined.predicate],
                    topology=to_names(mined.sequence, names),
                    sentence=describe(mined.sequence, names),
                    connected=mined.queries,
                    share=mined.queries / model.mined.tried[mined.predicate],
                    examples=[
                        model.dataset.describe(model.dataset.train, e) for e in mined.examples
                    ],
                )
            )
    space = served.predictor.answerer.space
    weighed = [
        WeighedOut(predicate=names[row], **asdict(one))
        for row in (range(len(names)) if wanted is None else [wanted])
        for one in strongest(model, space, row, limit)
    ]
    return Topologies(topologies=found, strongest=weighed)
