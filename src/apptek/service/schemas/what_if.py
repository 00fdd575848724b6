"""The bodies of responses that tell what would change an answer, or what changed it."""

from typing import Literal

from pydantic import BaseModel, Field

from apptek.results import Note
from apptek.service.schemas.explanations import CitedFactOut, ExplainedOut, Open
from apptek.service.schemas.responses import SIMILAR, VIEW


class OutcomeOut(BaseModel):
    """The most probable predicate after a change, and what the former answer then has."""

    predicate: str
    probability: float
    answer_probability: float


class AdditionOut(BaseModel):
    """A single fact between the two that would change the answer."""

    sentence: str
    subject: str
    predicate: str
    object: str
    date: str
    outcome: OutcomeOut


class CounterfactualOut(Open):
    """What would change an answer."""

    subject: str
    object: str
    time: str
    view: Literal["within", "ahead"] = Field(description=VIEW)
    answer: str
    probability: float
    target: str | None
    removed: list[CitedFactOut] = Field(description="Without these facts the answer changes.")
    sentences: list[str] = Field(description="The same facts in words.")
    outcome: OutcomeOut | None = Field(description="The answer then; null: nothing was found.")
    additions: list[AdditionOut] | None
    unseen_subject: bool
    unseen_object: bool
    notes: list[Note]
    similar: dict[str, list[str]] = Field(description=SIMILAR)


class ChangeOut(Open):
    """What one reason adds to the log-odds at either time, and the difference."""

    kind: str
    family: str
    first_sentence: str
    second_sentence: str
    first: float
    second: float
    change: float


class ContrastOut(BaseModel):
    """The same question at two times, and the reasons that changed, the largest change first."""

    sentence: str
    paragraph: str
    first: ExplainedOut
    second: ExplainedOut
    changes: list[ChangeOut]
    bias_change: float
    change: float
    notes: list[Note]
    similar: dict[str, list[str]] = Field(description=SIMILAR)
