"""The body of a response that explains: an explanation with its drawing and the facts around it."""

from pydantic import BaseModel, ConfigDict, Field

from apptek.results import Explanation, described, record
from apptek.service.schemas.responses import Fact, NearFact


class Open(BaseModel):
    """Further fields are passed on."""

    model_config = ConfigDict(extra="allow")


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
    note: str = Field(description="How many facts are not drawn; empty for none.")


@record
class ServedExplanation(Explanation):
    """Why a predicate, with a drawing of its reasons and the facts around them."""

    drawing: DrawingOut = described("All reasons in one drawing.", default=None)
    periphery: list[NearFact] = described(
        "The facts nearest in time on both sides that no reason cites.", default_factory=list
    )
    without: list[Fact] = described("The facts that were left out.", default_factory=list)
