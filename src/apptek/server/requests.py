"""The request bodies."""

from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from apptek.forecast.window import Length

MAX_BATCH = 5_000  # queries
MOST_WATCHED = 200  # maximum number of pairs in a watch list

Name = Annotated[str, Field(min_length=1, max_length=10_000)]
Time = Annotated[
    str, Field(max_length=100, description="The time, written as in the data; ? if unknown.")
]
AllowUnknown = Annotated[
    bool,
    Field(
        description="Give a generic answer if a name is not in the data. By default, an unknown "
        "name returns a problem with suggestions."
    ),
]
View = Annotated[
    Literal["all_facts", "past_only"] | None,
    Field(
        description="past_only: use only facts before the time. Default: all_facts, if "
        "the model allows it."
    ),
]
Top = Annotated[int, Field(ge=1, le=1000, description="The number of predicates to return.")]

Coverage = Annotated[
    float | None,
    Field(
        gt=0,
        lt=1,
        description="Instead of `top`: the fewest predicates that contain the true one in this "
        "proportion of cases, such as 0.9.",
    ),
]


class _StrictBody(BaseModel):
    """A body without extra fields."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_extra_fields(cls, body: Any) -> Any:
        # Pydantic would report every extra field. For a body with 300,000 of them, this would use a
        # lot of memory.
        if isinstance(body, dict) and len(body) > len(cls.model_fields):
            extra = next(name for name in body if name not in cls.model_fields)
            raise PydanticCustomError(
                "extra_forbidden", "There is no field {name}", {"name": repr(extra)[:80]}
            )
        return body


class SupposedBody(_StrictBody):
    """A hypothetical fact. It is not added to the model."""

    subject: Name
    predicate: Name
    object: Name
    time: Annotated[str, Field(max_length=100, description="The time at which it would happen.")]

    def row(self) -> tuple[str, str, str, str]:
        """Return the fact as a tuple."""
        return self.subject, self.predicate, self.object, self.time


Suppose = Annotated[
    list[SupposedBody],
    Field(
        max_length=100,
        description="Supposed facts; `what_if` compares the answers without and with them.",
    ),
]


class QueryFields(_StrictBody):
    """A query: which predicate holds between subject and object at that time?"""

    subject: Name
    object: Name
    time: Time = "?"


class PredictQuery(QueryFields):
    """One query to predict."""

    top: Top = 10
    coverage: Coverage = None
    view: View = None
    allow_unknown: AllowUnknown = False
    suppose: Suppose = []


class PredictBatch(_StrictBody):
    """Several queries to predict. The answers are in the same order.

    Queries with unknown names get a generic answer, and are flagged and counted.
    """

    queries: Annotated[list[QueryFields], Field(min_length=1, max_length=MAX_BATCH, fail_fast=True)]
    top: Top = 10
    coverage: Coverage = None
    view: View = None


def _form(body: Any) -> str:
    return "many" if isinstance(body, dict) and "queries" in body else "one"


# The tag selects the form that a body is validated against. Errors then refer to one form only.
PredictBody = Annotated[
    Annotated[PredictQuery, Tag("one")] | Annotated[PredictBatch, Tag("many")], Discriminator(_form)
]


class ExplainBody(QueryFields):
    """A query and the predicate to explain, by default the most probable one."""

    predicate: Name | None = None
    against: Name | None = Field(
        default=None, description="The predicate to compare with; by default the runner-up."
    )
    top: int = Field(
        default=5, ge=0, le=50, description="The number of reasons to return with facts."
    )
    view: View = None
    without: list[Annotated[int, Field(ge=0, lt=2**31)]] = Field(
        default=[], max_length=100, description="Facts to leave out of the answer."
    )
    width: float | None = Field(
        default=None, ge=200, le=4000, description="The width of the drawing."
    )
    allow_unknown: AllowUnknown = False
    suppose: Suppose = []


class CounterfactualBody(QueryFields):
    """A query and the answer that it should get instead, by default any other predicate."""

    target: Name | None = Field(
        default=None, alias="to", description="The predicate that the answer should become."
    )
    add: bool = Field(
        default=False,
        description="Whether to search for single facts whose addition changes the answer.",
    )
    view: View = None
    allow_unknown: AllowUnknown = False


Start = Annotated[str | None, Field(alias="from", max_length=100, description="The first time.")]
Until = Annotated[str | None, Field(max_length=100, description="The last time.")]
Members = Annotated[
    bool, Field(description="Whether Police (Egypt), Citizen (Egypt), ... count as Egypt.")
]
Steps = Annotated[int, Field(ge=1, le=10_000_000)]


class WindowBody(_StrictBody):
    """A window, and the events to count in it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    start: Start = None
    until: Until = None
    days: Steps | None = None
    months: Steps | None = None
    years: Steps | None = None
    hours: Steps | None = None
    minutes: Steps | None = None
    steps: Steps | None = None
    predicate: Name | None = Field(
        default=None, description="Count only events with this predicate."
    )
    class_: Name | None = Field(
        default=None, alias="class", description="Count only events of this class."
    )
    group: Name | None = Field(default=None, description="Count only events of this group.")

    @property
    def length(self) -> Length:
        """The length of the window."""
        return Length(**{each.name: getattr(self, each.name) for each in fields(Length)})


class ForecastBody(WindowBody):
    """Two entities and a window, which has a start and either an end or a length.

    Without `from`, the window begins after the last observed time. The default length is 7 days. It
    is shorter if the facts cover less than two weeks, and one step for data in longer units. If a
    predicate, class or group is given, `next_event` refers to its events.
    """

    subject: Name
    object: Name
    top: Top = 10
    allow_unknown: AllowUnknown = False
    suppose: Suppose = []


class PartnersBody(WindowBody):
    """An actor and a window, as for a forecast."""

    actor: Name
    top: Annotated[int, Field(ge=1, le=1000, description="The number of partners to return.")] = 10
    members: Members = False


class WatchBody(WindowBody):
    """The pairs and events to watch in a window, as for a forecast; by default all of them."""

    entity: Name | None = Field(default=None, description="Only pairs with this entity.")
    country: Name | None = Field(
        default=None,
        description="Only pairs with an entity from this country, as in Police (India).",
    )
    alert: Name | None = Field(
        default=None, description="List pairs that meet this rule first: 'rise > 20'."
    )
    limit: Annotated[int, Field(ge=1, le=MOST_WATCHED, description="The number of pairs.")] = 40
    format: Annotated[
        Literal["json", "csv", "xlsx"], Field(description="csv and xlsx are returned as files.")
    ] = "json"


class EntitiesBody(_StrictBody):
    """A fact whose subject or object is missing and will be ranked."""

    subject: Name | None = None
    object: Name | None = None
    predicate: Name
    time: Time
    top: Annotated[int, Field(ge=1, le=1000, description="How many entities to return.")] = 10


class EntitiesQuery(_StrictBody):
    """Text to search for in names."""

    q: Annotated[str, Field(max_length=10_000, description="A name, or words from it.")] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class SearchQuery(_StrictBody):
    """Words to search for in names and events."""

    q: Annotated[str, Field(max_length=10_000, description="Words from names or events.")] = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 8


class RangeQuery(_StrictBody):
    """A range of times, by default all of the data."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    start: Start = None
    until: Until = None


class HistoryQuery(RangeQuery):
    """A pair, a range of times and a page."""

    subject: Name
    object: Name
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the previous page.")] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 50


class TimelineQuery(RangeQuery):
    """A range of times, and whose facts count."""

    limit: Annotated[int, Field(ge=1, le=5000, description="The maximum number to return.")] = 500
    members: Members = False


class RibbonQuery(RangeQuery):
    """A pair and a range of times."""

    subject: Name
    object: Name
    view: View = None


class StepsBody(QueryFields):
    """A query, and the predicates by which both sides were expanded so far."""

    steps: list[Name] = Field(default=[], max_length=20)
    view: View = None
    width: float | None = Field(default=None, ge=200, le=4000)
