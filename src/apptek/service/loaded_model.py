"""The served model: a predictor, the index of its names, its time span, a few sample queries."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from apptek.arrays import Ints
from apptek.data.times import UNKNOWN
from apptek.errors import TimeFormatError
from apptek.explain.name_index import NameIndex, entity_counts
from apptek.predictor import Predictor, Query
from apptek.service.histories import Window, whole_span
from apptek.service.problems import ServiceError, quoted

SAMPLES = 4
TRIED = 400  # tuning facts that samples are chosen from
_WRITTEN = {
    "day": "a day such as 2014-05-13",
    "month": "a month such as 2014-05",
    "year": "a year such as 1999",
    "integer": "a whole number",
}


@dataclass(frozen=True, slots=True)
class Served:
    """What every answer is made from. The index is built beside the start, as it may take long."""

    predictor: Predictor
    folder: Path
    span: Window
    samples: tuple[Query, ...]
    counts: Ints  # training facts of each entity
    building: "Future[NameIndex]"

    @classmethod
    def open(cls, folder: Path) -> "Served":
        """Loads a model, and answers some queries so that the kernels are there."""
        predictor = Predictor.load(folder)
        model = predictor.model
        counts = entity_counts(model.dataset.train, len(model.dataset.entities))
        pool = ThreadPoolExecutor(1)
        building = pool.submit(NameIndex, model.dataset.entities, counts)
        pool.shutdown(wait=False)
        samples = sample_queries(predictor, counts)
        predictor.explain(samples[0])
        return cls(predictor, folder, whole_span(model.graph), samples, counts, building)

    @property
    def index(self) -> NameIndex:
        """The index of the entities' names."""
        return self.building.result()

    def entity(self, name: str, where: str, status: int = 422) -> int:
        """The id of an entity; a ServiceError with near names where there is none."""
        found = self.predictor.model.dataset.entities.find(name)
        if found is None:
            near = self.index.near(name)
            advice = "Choose one of the suggestions, or " if near else ""
            raise ServiceError(
                status,
                "Unknown entity",
                f"The model knows no entity {quoted(name)}.",
                advice=f"{advice}find names with /api/entities?q=.".capitalize(),
                where=where,
                suggestions=near,
            )
        return found

    def predicate(self, name: str, where: str, status: int = 422) -> int:
        """The id of a predicate; a ServiceError with near names where there is none."""
        names = self.predictor.model.dataset.predicates
        found = names.find(name)
        if found is None:
            folded = {known.casefold(): known for known in names}
            near = get_close_matches(name[:200].casefold(), folded, n=3)
            raise ServiceError(
                status,
                "Unknown predicate",
                f"The model knows no predicate {quoted(name)}.",
                advice="All predicates are in /api/predicates.",
                where=where,
                suggestions=[folded[key] for key in near],
            )
        return found

    def time(self, text: str, where: str) -> int:
        """The code of a time; a ServiceError that says how times are written."""
        axis = self.predictor.model.dataset.axis
        try:
            return axis.parse(text)
        except TimeFormatError as error:
            written = _WRITTEN[axis.unit]
            raise ServiceError(
                422,
                "Not a time of this data",
                f"{quoted(text)} cannot be read: expected {str(error).rpartition('expected ')[2]}.",
                advice=f"Write {written}, or ? where it is unknown.",
                where=where,
            ) from None

    def position(self, code: int) -> int:
        """Where a time lies on the axis; UNKNOWN stays so."""
        return UNKNOWN if code == UNKNOWN else self.predictor.model.dataset.axis.position(code)

    def is_outside(self, code: int) -> bool:
        """Whether a time lies before the first or after the last training fact."""
        place = self.position(code)
        return place != UNKNOWN and not self.span.first <= place <= self.span.last


def sample_queries(predictor: Predictor, counts: Ints) -> tuple[Query, ...]:
    """Tuning facts that are answered rightly, of different predicates, about much-used entities."""
    data = predictor.model.dataset
    facts = data.valid if len(data.valid) else data.train
    rows = np.linspace(0, len(facts) - 1, min(TRIED, len(facts))).astype(int)
    queries = [
        Query(
            data.entities[int(facts.subjects[row])],
            data.entities[int(facts.objects[row])],
            data.axis.format(int(facts.times[row])),
        )
        for row in rows
    ]
    truths = [data.predicates[int(facts.predicates[row])] for row in rows]
    answers = predictor.predict(queries, top=1)
    right = [a.predicates[0] == truth for a, truth in zip(answers, truths, strict=True)]
    used = np.minimum(counts[facts.subjects[rows]], counts[facts.objects[rows]])
    chosen: dict[str, Query] = {}
    for place in sorted(range(len(rows)), key=lambda i: (not right[i], -int(used[i]), i)):
        query = queries[place]
        if query.subject != query.object:
            chosen.setdefault(truths[place], query)
    return tuple(chosen.values())[:SAMPLES] or (queries[0],)
