"""What the tools return: small, typed, in words where an assistant will quote them."""

from typing import Literal

from pydantic import BaseModel, Field, create_model

from apptek.present.wording import GIVEN
from apptek.results import VIEW, Forecast, Share, SuspectFact
from apptek.server.responses import KnownPredicate, copied_fields

CONDITION = f"Probabilities are those {GIVEN}."
FORECAST_CONDITION = (
    "`probability` is the chance of at least one such fact in the window. "
    f"A `share` is a probability {GIVEN}."
)


class FactOut(BaseModel):
    """A fact of the model's data."""

    subject: str
    predicate: str
    object: str
    date: str
    apart: str = Field(
        default="", description="How far it is from the time in question, where there is one."
    )


class Prediction(BaseModel):
    """The most probable predicates between two entities at a time."""

    subject: str
    object: str
    time: str
    condition: str = Field(default=CONDITION, description="What the probabilities presume.")
    predicates: list[KnownPredicate]
    by_class: list[Share]
    by_group: list[Share]
    view: Literal["all_facts", "past_only"] = Field(description=VIEW)
    notes: list[str]


class ReasonFound(BaseModel):
    """A reason, what it adds to the log-odds against the runner-up, and the facts it cites."""

    sentence: str
    log_odds: float
    facts: list[FactOut]
    more_facts: int = Field(description="How many facts it cites beyond those listed.")


class WhyPredicate(BaseModel):
    """Why a predicate: in words, and as reasons for and against it with their facts."""

    subject: str
    object: str
    time: str
    predicate: str
    probability: float
    runner_up: str = Field(description="What it is compared with.")
    runner_up_probability: float
    condition: str = Field(default=CONDITION, description="What the probabilities presume.")
    paragraph: str
    reasons: list[ReasonFound]
    against: list[ReasonFound]
    further: int = Field(description="How many small reasons are left out.")
    view: Literal["all_facts", "past_only"] = Field(description=VIEW)
    notes: list[str]


class PairForecast(create_model("ForecastFields", **copied_fields(Forecast))):  # type: ignore[misc]
    """What will happen between two entities in a window, and whether anything will."""

    condition: str = Field(default=FORECAST_CONDITION, description="What the numbers mean.")
    latest: list[FactOut] = Field(description="The last facts of the two before the window.")


class HistoryPage(BaseModel):
    """Facts between two entities in both directions, in order of time; undated ones last."""

    subject: str
    object: str
    total: int
    facts: list[FactOut]
    next_offset: int | None = Field(description="Where the next page begins; null: it was all.")


class AuditResult(BaseModel):
    """The least plausible facts, most suspicious first. Unusual is not the same as wrong."""

    facts: int = Field(description="How many facts the model answers from.")
    judged: int = Field(description="How many of them were judged.")
    condition: str = Field(default=CONDITION, description="What the probabilities presume.")
    suspects: list[SuspectFact]
