"""The model that is served: its predictor, an index of its names, its time span, sample queries."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

import numpy as np

from apptek.agent.environment import DecisionProcess, Environment
from apptek.arrays import Ints
from apptek.config import View
from apptek.data.facts import Dataset, Facts
from apptek.data.name_index import NameIndex, entity_counts
from apptek.data.times import UNKNOWN
from apptek.errors import ApptekError, TimeFormatError, UnknownName
from apptek.graph.lookups import ends_of
from apptek.graph.temporal_graph import FOR_EVER, TemporalGraph
from apptek.models.answerer import Answerer
from apptek.models.manifest import model_digest
from apptek.predictor import Predictor, Query
from apptek.service.private_copy import private_copy
from apptek.service.problem_json import ServiceError, quoted, unknown_name
from apptek.service.schemas.requests import QueryFields

SAMPLES = 4
BEYOND = 30  # steps after the last fact that are shown at most
UNKNOWN_NAMES = 50  # unknown names of a batch for which others are offered
FAR_TIME = "A time far from all facts"
CANDIDATES = 400  # tuning facts that the samples are chosen from


@dataclass(frozen=True, slots=True)
class Window:
    """Positions on the time axis from first to last, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Everything that the answers are made from; nothing of it can be changed by others.

    The index of names is built in a thread of its own: with many entities it takes seconds, and
    the service can answer queries before it is ready.
    """

    predictor: Predictor
    folder: Path  # where the model was when it was opened
    digest: str
    span: Window
    samples: tuple[Query, ...]
    counts: Ints  # facts of each entity
    pending_index: "Future[NameIndex]"

    @classmethod
    def open(cls, folder: Path) -> "ServedModel":
        """Loads a model and runs it once, so that the kernels are compiled before any request."""
        with private_copy(folder) as copy:
            digest = model_digest(copy)
            predictor = Predictor.load(copy)
        model = predictor.model
        counts = entity_counts(model.graph.facts, len(model.dataset.entities))
        pool = ThreadPoolExecutor(1)
        pending_index = pool.submit(lambda: predictor.answerer.entities.index)
        pool.shutdown(wait=False)
        samples = sample_queries(predictor, counts)
        predictor.explain(samples[0])
        if model.occurrence is not None:
            predictor.forecast(samples[0].subject, samples[0].object, steps=1)
        model.graph.nearest([0], [UNKNOWN], model.config.agent.tknn)  # for the periphery
        asked = predictor.queries_of(samples[:1])
        process = DecisionProcess(predictor.answerer.main.space.graph, model.config.agent)
        Environment(process, asked)  # for the steps of the agent
        span = time_span(model.graph)
        return cls(predictor, folder, digest, span, samples, counts, pending_index)

    def answerer(self, view: View | None) -> Answerer:
        """What answers: with `ahead`, every query from what was known before its time."""
        answerer = self.predictor.answerer
        return answerer.ahead() if view == "ahead" else answerer

    @property
    def beyond(self) -> int:
        """How many steps after the last fact are worth a look: an eighth of what all facts span."""
        return max(min(BEYOND, (self.span.last - self.span.first + 1) // 8), 1)

    @property
    def index(self) -> NameIndex:
        """The index of the entities' names; waits until it is built."""
        return self.pending_index.result()

    def entity(self, name: str, where: str) -> int:
        """The id of an entity. Raises a ServiceError with similar names if there is none."""
        self._check_names({name: where}, allow_unknown=False)
        entity = self.predictor.answerer.entities.find(name)
        assert entity is not None
        return entity

    def _check_names(self, places: dict[str, str], *, allow_unknown: bool) -> None:
        resolver = self.predictor.answerer.entities
        if any(resolver.find(name) is None for name in places):
            _ = self.index  # it is built once: wait for it, instead of building another
        try:
            resolver.check(*places, allow_unknown=allow_unknown)
        except UnknownName as error:
            raise unknown_name(error, places[error.name]) from None

    def query(self, fields: QueryFields, *, allow_unknown: bool) -> Query:
        """A single question. Raises a ServiceError if the data cannot answer it."""
        self.time(fields.time, "time")
        self.check_names(fields.subject, fields.object, allow_unknown=allow_unknown)
        self.near_time(fields.time, "time")
        return Query(fields.subject, fields.object, fields.time)

    def check_names(self, subject: str, object_: str, *, allow_unknown: bool) -> None:
        """Raises a ServiceError for those of the two that are unknown, unless that is allowed."""
        self._check_names(
            {subject: "subject", object_: "object"} | {subject: "subject"},
            allow_unknown=allow_unknown,
        )

    def similar(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Names like those that mean no entity; of the first few of them, for it takes time."""
        resolver = self.predictor.answerer.entities
        unknown = (name for name in dict.fromkeys(names) if resolver.find(name) is None)
        first = list(islice(unknown, UNKNOWN_NAMES))
        if first:
            _ = self.index  # waits for it
        return {name: resolver.suggestions(name) for name in first}

    def predicate(self, name: str, where: str, status: int = 422) -> int:
        """The id of a predicate. Raises a ServiceError with similar names if there is none."""
        predicates = self.predictor.model.dataset.predicates
        predicate = self.predictor.answerer.predicate_names.find(name)
        if predicate is None:
            by_key = {known.casefold(): known for known in predicates}
            similar = get_close_matches(name[:200].casefold(), by_key, n=3)
            raise ServiceError(
                status,
                "Unknown predicate",
                f"The model knows no predicate {quoted(name)}.",
                advice="/api/predicates lists all predicates.",
                where=where,
                suggestions=[by_key[key] for key in similar],
            )
        return predicate

    def time(self, text: str, where: str) -> int:
        """The code of a time. Raises a ServiceError that says how times are written."""
        axis = self.predictor.model.dataset.axis
        try:
            return axis.parse(text)
        except TimeFormatError as error:
            expected = str(error).rpartition("expected ")[2]
            raise ServiceError(
                422,
                "Not a time of this data",
                f"{quoted(text)} cannot be read: expected {expected}.",
                advice=f"Write {axis.expected}, or ? if the time is unknown.",
                where=where,
            ) from None

    def near_time(self, text: str, where: str) -> int:
        """`time`, for a single question. Raises a ServiceError where it is far from all facts."""
        code = self.time(text, where)
        try:
            self.predictor.answerer.seen.check_time(code)
        except ApptekError as error:
            raise ServiceError(
                422,
                FAR_TIME,
                f"{str(error)[:1].upper()}{str(error)[1:]}.",
                advice="/api/model has the span of the facts.",
                where=where,
            ) from None
        return code

    def position(self, code: int) -> int:
        """The position of a time on the axis; UNKNOWN for an unknown time."""
        return UNKNOWN if code == UNKNOWN else self.predictor.model.dataset.axis.position(code)

    def is_outside_span(self, code: int) -> bool:
        """Whether a time is before the first or after the last fact."""
        position = self.position(code)
        return position != UNKNOWN and not self.span.first <= position <= self.span.last


def time_span(graph: TemporalGraph) -> Window:
    """From the earliest to the latest known time of a fact; 0 to 0 if no fact is dated."""
    first, last = ends_of(graph, np.arange(len(graph.facts)))
    last = np.where(last == FOR_EVER, first, last)  # an ongoing fact has no last time
    dated = first != UNKNOWN
    return Window(int(first[dated].min()), int(last[dated].max())) if dated.any() else Window(0, 0)


def query_of_fact(data: Dataset, facts: Facts, row: int) -> Query:
    """The query that a fact answers."""
    return Query(
        data.entities[int(facts.subjects[row])],
        data.entities[int(facts.objects[row])],
        data.axis.format(int(facts.times[row])),
    )


def sample_queries(predictor: Predictor, counts: Ints) -> tuple[Query, ...]:
    """A few tuning facts as queries that make a good first impression.

    Each has a different predicate; those that the model answers correctly come first, then those
    about entities with many facts.
    """
    data = predictor.model.dataset
    facts = data.valid if len(data.valid) else data.train
    rows = np.linspace(0, len(facts) - 1, min(CANDIDATES, len(facts))).astype(int)
    queries = [query_of_fact(data, facts, row) for row in rows]
    truths = [data.predicates[int(facts.predicates[row])] for row in rows]
    answers = predictor.predict(queries, top=1)
    correct = [a.predicates[0] == truth for a, truth in zip(answers, truths, strict=True)]
    fewest = np.minimum(counts[facts.subjects[rows]], counts[facts.objects[rows]])
    chosen: dict[str, Query] = {}
    for i in sorted(range(len(rows)), key=lambda i: (not correct[i], -int(fewest[i]), i)):
        if queries[i].subject != queries[i].object:
            chosen.setdefault(truths[i], queries[i])
    return tuple(chosen.values())[:SAMPLES] or (queries[0],)
