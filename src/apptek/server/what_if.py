"""What would change an answer of the served model, and what changed between two times."""

from dataclasses import replace

from apptek.explain.contrast import contrast as find_contrast
from apptek.explain.counterfactual import counterfactual as find_counterfactual
from apptek.results import Contrast, Counterfactual
from apptek.server.schemas.requests import ContrastBody, CounterfactualBody
from apptek.server.served_model import ServedModel


def counterfactual(served: ServedModel, body: CounterfactualBody) -> Counterfactual:
    """A small set of facts whose removal changes the answer."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    if body.target is not None:
        served.predicate(body.target, "to")
    found = find_counterfactual(question.answerer, question.query, body.target, add=body.add)
    return replace(found, similar=question.similar)


def contrast(served: ServedModel, body: ContrastBody) -> Contrast:
    """What changes between the time of a query and another time."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_near(served.time(body.versus, "versus"), "versus")
    for name, where in ((body.predicate, "predicate"), (body.against, "against")):
        if name is not None:
            served.predicate(name, where)
    found = find_contrast(
        question.answerer, question.query, body.versus, body.predicate, body.against
    )
    return replace(found, similar=question.similar)
