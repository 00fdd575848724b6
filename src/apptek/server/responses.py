"""The response bodies."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from apptek.present.drawing import Drawing
from apptek.results import Answer, Explanation, described, record

SIMILAR = "Names similar to each of the first 50 unknown names."


class Health(BaseModel):
    """The state of the service."""

    status: Literal["ok"] = "ok"
    version: str
    model: str = Field(description="The digest of the model, as `apptek info --check` prints it.")


class Span(BaseModel):
    """The time axis of the data. Positions are in its unit, such as days since 1970-01-01.

    If no fact is dated, first and last are "?" and both positions are 0.
    """

    unit: Literal["integer", "year", "month", "week", "day", "hour", "minute", "second"]
    mixed: bool
    first: str
    last: str
    first_position: int
    last_position: int
    beyond: int = Field(description="The number of steps after the last fact that the page shows.")
    undated: int = Field(description="The number of training facts without a time.")


class ModelInfo(BaseModel):
    """The served model."""

    summary: dict[str, Any] = Field(
        description="What `apptek info --json` reports about the model."
    )
    span: Span
    forecasts: bool = Field(description="Whether the model can forecast.")


class CountedName(BaseModel):
    """A name, and the number of facts that contain it."""

    name: str
    facts: int


class Entities(BaseModel):
    """Matching entities, best first. If there are none, `near` contains similar names."""

    entities: list[CountedName]
    near: list[str]


class PredicateOut(CountedName):
    """A predicate with its label, class and group. Class and group can be null."""

    label: str
    kind: str | None = Field(serialization_alias="class")
    group: str | None


class Predicates(BaseModel):
    """All predicates, ordered by name."""

    predicates: list[PredicateOut]


@record
class Answers:
    """One answer per query, in the same order."""

    answers: list[Answer]
    unknown: int = described("The number of queries with an unknown name.")
    far_times: int = described("The number of queries with a time far from all facts.")
    similar: dict[str, list[str]] = described(SIMILAR)


@record
class Fact:
    """A fact of the model."""

    fact: int
    subject: str
    predicate: str
    object: str
    since: str
    until: str
    date: str


class EntityTimeline(BaseModel):
    """The first of the `total` facts of an entity, or of all its members, in order of time.

    Undated facts come last. For `does` and `receives`, the time from `first` to `last` is divided
    into equal parts. For each layer (group, class or predicate), `does` contains the number of
    facts with the entity as subject that begin in each part; `receives`, those with it as object.
    """

    entity: str
    members: list[str] = Field(
        description="The entity, and the entities with its name in brackets."
    )
    total: int
    facts: list[Fact]
    first: int
    last: int
    layers: list[str]
    does: list[list[int]]
    receives: list[list[int]]


@record
class HistoryPage:
    """Facts between two entities in both directions, in order of time. Undated facts come last."""

    subject: str
    object: str
    total: int
    facts: tuple[Fact, ...]
    latest: str | None = described("The start of the latest dated fact; null if there is none.")
    next_offset: int | None = described("The offset of the next page; null on the last page.")


@record
class ServedExplanation(Explanation):
    """An explanation with a drawing of its reasons."""

    drawing: Drawing = described("All reasons in one drawing.", default=None)
    without: list[Fact] = described("The facts that were left out.", default_factory=list)
