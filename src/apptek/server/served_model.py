"""The served model: its predictor, name index, time span and sample queries."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from apptek.arrays import Ints
from apptek.config import View
from apptek.errors import ApptekError, ModelError, UnknownName
from apptek.explain.explainer import find_predicate
from apptek.explain.what_if import what_if
from apptek.facts.facts import Dataset, Facts
from apptek.facts.name_matching import NameIndex, entity_counts
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.forecast.window import Window
from apptek.graph.lookups import ends_of
from apptek.graph.temporal_graph import FOR_EVER, TemporalGraph
from apptek.models.answerer import Answerer
from apptek.models.asked_queries import query_of_fact
from apptek.models.manifest import model_digest, open_folder, verify_folder
from apptek.models.model import Model
from apptek.paper.environment import DecisionProcess, Environment
from apptek.predictor import Predictor, Query
from apptek.results import WhatIf
from apptek.server.problem_json import problem_of, refusing
from apptek.server.requests import QueryFields, SupposedBody
from apptek.server.workers import BackgroundWork

BEYOND = 30  # maximum number of steps to show after the last fact
UNKNOWN_NAMES = 50  # maximum number of unknown names in a batch that get suggestions
FAR_TIME = "A time far from all facts"
NOT_A_TIME = "Not a valid time for this data"
AS_IN_DATA = "Write times like those in the data."
NO_PREDICATE = "Unknown predicate"
CANDIDATES = 400  # tuning facts from which samples are chosen


@dataclass(frozen=True, slots=True)
class Question:
    """A query with resolved names and time, passed between routes.

    ids       a single row; names that are not in the data have ids below 0
    answerer  the requested view's answerer
    similar   names similar to the unknown ones
    """

    query: Query
    ids: Queries
    answerer: Answerer
    similar: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model and the indexes behind all answers; read-only.

    The name index is built in the background. With many entities this takes seconds; the service
    can answer queries before it is ready.
    """

    predictor: Predictor
    folder: Path  # the path of the model folder when the model was opened
    digest: str
    span: Window
    sample: Query
    counts: Ints  # number of facts per entity
    pending_index: "Future[NameIndex]"
    background: BackgroundWork = field(default_factory=BackgroundWork)

    @classmethod
    def open(cls, folder: Path) -> "ServedModel":
        """Load a model and run it once, so that kernels are compiled before the first request."""
        with private_copy(folder) as copy:
            digest = model_digest(copy)
            predictor = Predictor.load(copy)
        model = predictor.model
        counts = entity_counts(model.graph.facts, len(model.dataset.entities))
        background = BackgroundWork()
        pending_index = background.start("names", lambda: predictor.answerer.entities.index)
        facts, rows = sample_facts(model.dataset, counts)
        sample = query_of_fact(model.dataset, facts, rows[0] if rows else 0)
        predictor.explain(sample)
        if model.occurrence is not None:
            predictor.forecast(sample.subject, sample.object, steps=1)
        asked = predictor.answerer.queries_of([sample])
        process = DecisionProcess(predictor.answerer.main.space.graph, model.config.agent)
        Environment(process, asked)  # needed for the agent's steps
        span = time_span(model.graph)
        return cls(predictor, folder, digest, span, sample, counts, pending_index, background)

    @property
    def model(self) -> Model:
        """The model: its data, graph and settings."""
        return self.predictor.model

    def answerer(self, view: View | None) -> Answerer:
        """Return a view's answerer. With `past_only`, queries use only facts before their time."""
        answerer = self.predictor.answerer
        return answerer.past_view() if view == "past_only" else answerer

    @property
    def beyond(self) -> int:
        """The number of steps to show after the last fact: an eighth of the facts' time span."""
        return max(min(BEYOND, (self.span.last - self.span.first + 1) // 8), 1)

    @property
    def index(self) -> NameIndex:
        """The index of entity names; waits until it is built."""
        return self.pending_index.result()

    def pair(self, subject: str, object_: str, *, allow_unknown: bool = False) -> tuple[int, int]:
        """Return the ids of two entities."""
        names = {"subject": subject, "object": object_}
        one, other = self.ids(names, allow_unknown=allow_unknown)
        return one, other

    def ids(self, names: dict[str, str], *, allow_unknown: bool = False) -> list[int]:
        """Return the ids of names, given by request field. Unknown names have ids below 0.

        Raises a ServiceError with similar names if unknown names are not allowed.
        """
        answerer = self.predictor.answerer
        ids = [answerer.entity_id(name) for name in names.values()]
        if min(ids, default=0) < 0:
            _ = self.index  # wait for the one that is being built, instead of building another
            try:
                answerer.entities.check(*names.values(), allow_unknown=allow_unknown)
            except UnknownName as error:
                where = next(field for field, name in names.items() if name == error.name)
                raise problem_of(error, where) from None
        return ids

    def question(self, fields: QueryFields, view: View | None, *, allow_unknown: bool) -> Question:
        """Look up a single question. Raises a ServiceError if the data cannot answer it."""
        query = Query(fields.subject, fields.object, fields.time)
        code = self.time(query.time, "time")
        pair = self.pair(query.subject, query.object, allow_unknown=allow_unknown)
        with refusing("time", title=FAR_TIME, advice="/api/model has the span of the facts."):
            self.predictor.answerer.seen.check_time(code)
        ids = Queries(*(np.asarray([value], np.int32) for value in (*pair, code, -1)))
        similar = self.similar((query.subject, query.object), pair)
        return Question(query, ids, self.answerer(view), similar)

    def what_if(
        self,
        question: Question,
        suppose: Sequence[SupposedBody],
        predicate: str | None = None,
        *,
        against: str | None = None,
    ) -> WhatIf | None:
        """Return the answer with and without supposed facts, or None if there are none.

        Raises a ServiceError if a fact cannot be supposed.
        """
        if not suppose:
            return None
        with supposing():
            return what_if(
                question.answerer, question.query, [each.row() for each in suppose], predicate,
                against=against, queries=question.ids,
            )  # fmt: skip

    def batch(self, asked: Sequence[Query]) -> Queries:
        """Look up many queries, which may include unknown names.

        Raises a ServiceError that identifies the query if a name or time is invalid.
        """
        with refusing("queries", title=NOT_A_TIME, advice=AS_IN_DATA):
            return self.predictor.answerer.queries_of(asked)

    def similar(self, names: Iterable[str], ids: Iterable[int]) -> dict[str, list[str]]:
        """Return names similar to the first few with an id below 0 (the search is slow)."""
        named = zip(names, ids, strict=True)
        unknown = dict.fromkeys(name for name, entity in named if entity < 0)
        if unknown:
            _ = self.index  # wait until the index is built
        resolver = self.predictor.answerer.entities
        return {name: resolver.suggestions(name) for name in islice(unknown, UNKNOWN_NAMES)}

    def predicate(self, name: str, where: str) -> int:
        """Return a predicate's id. Unknown predicates raise a ServiceError with similar names."""
        with refusing(where, title=NO_PREDICATE, advice="/api/predicates lists all predicates."):
            return find_predicate(name, self.predictor.answerer.predicate_names)

    def check_predicates(self, **names: str | None) -> None:
        """Raise a ServiceError for the first unknown predicate, and identify its field."""
        for where, name in names.items():
            if name is not None:
                self.predicate(name, where)

    def time(self, text: str, where: str) -> int:
        """Return the code of a time. Raises a ServiceError that explains how to write times."""
        axis = self.model.dataset.axis
        with refusing(where, title=NOT_A_TIME, advice=AS_IN_DATA):
            return axis.parse(text)

    def position(self, code: int) -> int:
        """Return a time's position on the axis; UNKNOWN for an unknown time."""
        return UNKNOWN if code == UNKNOWN else self.model.dataset.axis.position(code)


# Used around code that reads supposed facts.
supposing = partial(
    refusing, "suppose", title="This fact cannot be supposed",
    advice="Use names and predicates from the data, and a time near its facts.",
)  # fmt: skip


def time_span(graph: TemporalGraph) -> Window:
    """Return the earliest and latest known time of a fact; (0, 0) if no fact is dated."""
    first, last = ends_of(graph, np.arange(len(graph.facts)))
    last = np.where(last == FOR_EVER, first, last)  # an ongoing fact has no last time
    dated = first != UNKNOWN
    return Window(int(first[dated].min()), int(last[dated].max())) if dated.any() else Window(0, 0)


def sample_facts(data: Dataset, counts: Ints) -> tuple[Facts, list[int]]:
    """Return tuning facts between different entities, most active entities first."""
    facts = data.valid if len(data.valid) else data.train
    rows = np.linspace(0, len(facts) - 1, min(CANDIDATES, len(facts))).astype(int)
    fewest = np.minimum(counts[facts.subjects[rows]], counts[facts.objects[rows]])
    fewest[facts.subjects[rows] == facts.objects[rows]] = 0
    return facts, rows[np.argsort(-fewest, kind="stable")][: np.count_nonzero(fewest)].tolist()


@contextmanager
def private_copy(folder: Path) -> Iterator[Path]:
    """Yield a private copy of a model folder. Memory maps of the copy remain valid after the block.

    Raises ApptekError if the folder is not a complete model, changes while it is copied, or does
    not fit on the disk. Errors raised in the block mention the folder instead of its copy.
    """
    open_folder(folder)
    with tempfile.TemporaryDirectory(prefix="apptek-serve-") as private:  # for this user only
        copy = Path(private, "model")
        try:
            shutil.copytree(folder, copy)
            verify_folder(copy)
            yield copy
        except ModelError as error:
            raise ModelError(str(error).replace(str(copy), str(folder))) from None
        except OSError as error:
            reason = error.strerror or "a file cannot be read"
            raise ApptekError(
                f"{folder} cannot be copied to {private}: {reason}; set TMPDIR to another folder"
            ) from None
