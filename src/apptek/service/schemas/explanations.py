"""The bodies of responses that explain: reasons with their facts, support and drawing."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from apptek.results import Note
from apptek.service.schemas.responses import CLASSES, SIMILAR, VIEW, ClassShare, Fact, NearFact


class Open(BaseModel):
    """Further fields of an explanation are passed on."""

    model_config = ConfigDict(extra="allow")


class CitedFactOut(Open):
    """A fact that a reason cites. distance is signed: negative is before the query."""

    fact: int
    subject: str
    predicate: str
    object: str
    date: str
    distance: int | None
    apart: str
    on_path: bool = True


class ContributionOut(Open):
    """What a reason adds to the log-odds against the runner-up, and to the predicate's score."""

    sentence: str
    log_odds: float
    score: float


class MeetingOut(Open):
    """An entity that both sides reach, and how many hops it is from each."""

    entity: str
    subject_hops: int
    object_hops: int


class PartnerOut(Open):
    """Whom facts of a reason are with, and how many of them."""

    entity: str
    facts: int


class SupportOut(Open):
    """How often such evidence was seen in training, and how often the predicate then held."""

    when: str
    queries: int
    followed: int
    pairs: int
    confidence: float
    lift: float
    runner_up: int
    runner_up_lift: float
    is_itself: bool = Field(
        description="The evidence is the very fact that is asked about, or the same with the "
        "runner-up, which training hides: what was near in time is counted then."
    )
    contradicts: bool = Field(
        default=False,
        description="These counts, taken alone, point the other way than the reason does.",
    )
    words: str = Field(description="All of that in words.")


class ReasonOut(ContributionOut):
    """A contribution with the facts behind it."""

    number: int
    kind: str = "topology"
    meeting: list[MeetingOut] = []
    facts: list[CitedFactOut] = []
    partners: list[PartnerOut] = []
    support: SupportOut | None = None
    same_as: int = 0


class GroupOut(Open):
    """Small reasons taken together; members are indices into `further`."""

    name: str
    title: str
    log_odds: float
    members: list[int]


class PredicateShare(BaseModel):
    """A predicate and its probability."""

    predicate: str
    label: str
    probability: float


class DrawnEntity(Open):
    """An entity in a drawing, and its centre."""

    id: int
    name: str
    role: str
    x: float
    y: float


class DrawnFact(Open):
    """Facts in a drawing, or the query itself: a cubic curve, and the place of its label."""

    source: int
    target: int
    kind: str
    predicate: str
    date: str
    more: int
    curve: list[float]
    label: list[float]


class DrawingOut(Open):
    """The drawing of all reasons: entities as nodes, facts as edges."""

    title: str
    width: float
    height: float
    nodes: list[DrawnEntity]
    edges: list[DrawnFact]
    note: str


class ExplainedOut(Open):
    """Why a predicate. log_odds = bias + the log_odds of all `reasons`, `against` and `further`."""

    subject: str
    object: str
    time: str
    sentence: str = Field(description="The answer and its main reasons in one sentence.")
    paragraph: str = Field(description="The same in a few sentences.")
    predicate: str
    label: str
    probability: float
    runner_up: str
    runner_up_label: str
    runner_up_probability: float
    log_odds: float
    bias: float
    reasons: list[ReasonOut] = Field(description="What speaks most for the predicate.")
    against: list[ReasonOut] = Field(description="What speaks most against it.")
    further: list[ContributionOut]
    groups: list[GroupOut] = Field(description="The further reasons, taken together by sort.")
    ranked: list[PredicateShare]
    by_class: list[ClassShare] = Field(description=CLASSES)
    by_group: list[ClassShare]
    unseen_subject: bool
    unseen_object: bool
    unseen_time: bool
    view: Literal["within", "ahead"] = Field(description=VIEW)
    known: list[str] = Field(description="Predicates that facts have between the two at that time.")


class ExplanationOut(ExplainedOut):
    """Why a predicate, with a drawing of its reasons and the facts around them."""

    similar: dict[str, list[str]] = Field(description=SIMILAR)
    notes: list[Note] = Field(description="What is unusual about the query.")
    drawing: DrawingOut = Field(description="All reasons in one drawing.")
    periphery: list[NearFact] = Field(
        description="The facts nearest in time on both sides that no reason cites."
    )
    without: list[Fact] = Field(description="The facts that were left out.")
