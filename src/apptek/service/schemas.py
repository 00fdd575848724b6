"""What goes in and what comes out, typed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

EXAMPLE: JsonDict = {"subject": "North Korea", "object": "South Korea", "time": "2014-08-15"}
Name = Annotated[str, Field(min_length=1, max_length=10_000)]
Time = Annotated[str, Field(max_length=100, description="As the data writes times; ? if unknown.")]
Top = Annotated[int, Field(ge=1, le=1000, description="How many predicates to return.")]


class _Asked(BaseModel):
    """A request that has no other fields. Of too many the first is named, as errors cost memory."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_fields(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) > len(cls.model_fields):
            extra = next(name for name in given if name not in cls.model_fields)
            raise PydanticCustomError(
                "extra_forbidden", "There is no field {name}", {"name": repr(extra)[:80]}
            )
        return given


class Question(_Asked):
    """What holds between the two at that time?"""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    subject: Name
    object: Name
    time: Time = "?"


class OneQuestion(Question):
    """One query.

    allow_unknown: answer although a name occurs nowhere in the data; else that is a problem.
    """

    top: Top = 10
    allow_unknown: bool = False


class ManyQuestions(_Asked):
    """A batch of queries, answered in their order."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"queries": [EXAMPLE], "top": 3}]}
    )

    queries: Annotated[list[Question], Field(min_length=1, fail_fast=True)]
    top: Top = 10
    allow_unknown: bool = False


def _form(body: Any) -> str:
    return "many" if isinstance(body, dict) and "queries" in body else "one"


PredictBody = Annotated[
    Annotated[OneQuestion, Tag("one")] | Annotated[ManyQuestions, Tag("many")], Discriminator(_form)
]


class ExplainBody(Question):
    """A query, and the predicate to explain; none: the most probable one."""

    predicate: Name | None = None
    top: int = Field(default=5, ge=0, le=50, description="How many reasons come with their facts.")
    allow_unknown: bool = False


class Health(BaseModel):
    """Whether the service answers."""

    status: Literal["ok"] = "ok"
    version: str
    model_on_disk: bool = Field(description="False: the model's folder has gone since the start.")


class Span(BaseModel):
    """The time axis of the data; positions count in its unit (days from 1970-01-01).

    Where all facts are undated, first and last are ? and the positions 0.
    """

    unit: Literal["integer", "year", "month", "day"]
    mixed: bool
    first: str
    last: str
    first_position: int
    last_position: int
    undated: int = Field(description="Training facts without a time.")


class Counts(BaseModel):
    """How much of each the model has."""

    entities: int
    predicates: int
    train: int
    valid: int
    test: int
    topologies: int


class ModelInfo(BaseModel):
    """The served model."""

    dataset: str
    preset: str
    protocol: str
    seed: int
    counts: Counts
    span: Span
    metrics: dict[str, Any] = Field(description="What fitting noted on the tuning split.")
    settings: dict[str, Any]
    samples: list[Question] = Field(description="Queries for a first look.")


class Counted(BaseModel):
    """A name, and how many training facts have it."""

    name: str
    facts: int


class Entities(BaseModel):
    """Entities found, the best first; `near` are like what was typed, where nothing was found."""

    entities: list[Counted]
    near: list[str]


class Predicates(BaseModel):
    """All predicates, by name."""

    predicates: list[Counted]


class Ranked(BaseModel):
    """A predicate; `known` if the training facts have it between the two at that time."""

    predicate: str
    probability: float
    known: bool


class AnswerOut(Question):
    """A query and its predicates, most probable first."""

    model_config = ConfigDict(extra="ignore")

    predicates: list[Ranked]
    unseen_subject: bool
    unseen_object: bool
    unseen_time: bool
    outside_span: bool


class Answers(BaseModel):
    """One answer for each query, in their order."""

    answers: list[AnswerOut]


class Fact(BaseModel):
    """A training fact; start and end are positions on the axis, null where undated."""

    fact: int
    subject: str
    predicate: str
    object: str
    since: str
    until: str
    date: str
    start: int | None
    end: int | None


class NearFact(Fact):
    """A fact near the query: on whose side, and how far in time (below 0: before)."""

    side: Literal["subject", "object"]
    distance: int | None
    apart: str


class Timeline(BaseModel):
    """Facts in the order of time, the first of `total`, and how all of them spread.

    counts: of equal parts of the span from first to last, how many facts begin in each.
    """

    total: int
    undated: int
    first: int
    last: int
    counts: list[int]
    facts: list[Fact]


class EntityTimeline(Timeline):
    """The facts of an entity."""

    entity: str


class PairHistory(BaseModel):
    """The facts from subject to object, and those from object to subject."""

    subject: str
    object: str
    forward: Timeline
    backward: Timeline


class MinedOut(BaseModel):
    """A topology mined for a predicate: the episodes that it connected, and their share."""

    predicate: str
    topology: list[str]
    sentence: str
    connected: int
    share: float
    examples: list[str]


class WeighedOut(BaseModel):
    """A feature in words, and its weight for a predicate; part: history or topology."""

    predicate: str
    part: str
    words: str
    weight: float


class Topologies(BaseModel):
    """By predicate: mined topologies, commonest first, and the features of the largest weights."""

    topologies: list[MinedOut]
    strongest: list[WeighedOut]


class _Open(BaseModel):
    """What an explanation holds beyond these fields is passed on."""

    model_config = ConfigDict(extra="allow")


class CitedFactOut(_Open):
    """A fact that a reason cites; `distance` is signed, below 0: before the query."""

    fact: int
    subject: str
    predicate: str
    object: str
    date: str
    distance: int | None
    apart: str
    on_path: bool = True


class ContributionOut(_Open):
    """What a reason adds to the log-odds against the runner-up, and to the predicate's score."""

    sentence: str
    log_odds: float
    score: float


class MeetingOut(_Open):
    """An entity that both sides reach, and the hops from each."""

    entity: str
    subject_hops: int
    object_hops: int


class ReasonOut(ContributionOut):
    """A contribution in detail."""

    number: int
    kind: str = "topology"
    meeting: list[MeetingOut] = []
    facts: list[CitedFactOut] = []
    same_as: int = 0


class Share(BaseModel):
    """A predicate and its probability."""

    predicate: str
    probability: float


class DrawnNode(_Open):
    """An entity of a drawing and where its centre is."""

    id: int
    name: str
    role: str
    x: float
    y: float
    named: bool


class DrawnLine(_Open):
    """A fact of a drawing (-1: the question) as a cubic curve, and where its label is."""

    source: int
    target: int
    fact: int
    kind: str
    predicate: str
    date: str
    more: int
    curve: list[float]
    label: list[float]


class DrawingOut(_Open):
    """The drawing of a reason: nodes and edges on a sheet of some size."""

    number: int
    title: str
    width: float
    height: float
    nodes: list[DrawnNode]
    edges: list[DrawnLine]
    note: str


class ExplanationOut(_Open):
    """Why a predicate: log_odds = bias + the log_odds of all reasons and `further` ones."""

    subject: str
    object: str
    time: str
    predicate: str
    probability: float
    runner_up: str
    runner_up_probability: float
    log_odds: float
    bias: float
    reasons: list[ReasonOut]
    further: list[ContributionOut]
    ranked: list[Share]
    unseen_subject: bool
    unseen_object: bool
    unseen_time: bool
    known: list[str] = Field(description="What the training facts hold between them then.")
    notes: list[str] = Field(description="What is unusual about the query, in words.")
    drawings: list[DrawingOut]
    periphery: list[NearFact] = Field(
        description="The facts nearest in time on both sides that no reason cites."
    )
