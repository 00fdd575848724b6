"""The body of a response that explains: an explanation with its drawing and the facts around it."""

from apptek.present.drawing.labels import Drawing
from apptek.results import Explanation, described, record
from apptek.server.schemas.responses import Fact, NearFact


@record
class ServedExplanation(Explanation):
    """Why a predicate, with a drawing of its reasons and the facts around them."""

    drawing: Drawing = described("All reasons in one drawing.", default=None)
    periphery: list[NearFact] = described(
        "The facts nearest in time on both sides that no reason cites.", default_factory=list
    )
    without: list[Fact] = described("The facts that were left out.", default_factory=list)
