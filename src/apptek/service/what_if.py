"""What would change an answer of the served model, and what changed between two times."""

from apptek.explain.contrast import contrast as find_contrast
from apptek.explain.counterfactual import counterfactual as find_counterfactual
from apptek.service.schemas.requests import ContrastBody, CounterfactualBody
from apptek.service.schemas.what_if import ContrastOut, CounterfactualOut
from apptek.service.served_model import ServedModel


def counterfactual(served: ServedModel, body: CounterfactualBody) -> CounterfactualOut:
    """The smallest set of facts without which the answer would be another."""
    query = served.query(body, allow_unknown=body.allow_unknown)
    if body.target is not None:
        served.predicate(body.target, "to")
    answerer = served.answerer(body.view)
    found = find_counterfactual(answerer, query, body.target, add=body.add)
    similar = served.similar([query.subject, query.object])
    return CounterfactualOut.model_validate(found.as_json() | {"similar": similar})


def contrast(served: ServedModel, body: ContrastBody) -> ContrastOut:
    """What changes between the time of a query and another time."""
    query = served.query(body, allow_unknown=body.allow_unknown)
    served.near_time(body.versus, "versus")
    for name, where in ((body.predicate, "predicate"), (body.against, "against")):
        if name is not None:
            served.predicate(name, where)
    answerer = served.answerer(body.view)
    found = find_contrast(answerer, query, body.versus, body.predicate, body.against)
    similar = served.similar([query.subject, query.object])
    return ContrastOut.model_validate(found.as_json() | {"similar": similar})
