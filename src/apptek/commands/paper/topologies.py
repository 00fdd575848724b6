"""The command `paper topologies`."""

from dataclasses import asdict
from typing import Annotated, Any

from apptek.commands.options import JsonOption, ModelArgument, option, print_json


def topologies(
    model: ModelArgument,
    predicate: Annotated[
        str | None, option("--predicate", "Only the features of this predicate.", "NAME")
    ] = None,
    top: Annotated[
        int, option("--top", "Number of rows to print for each predicate.", "N", min=1)
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show what a model learned: the features with the largest weights for each predicate.

    A model `paper` also lists the topologies mined for each predicate, with the number and the
    share of its training episodes that they connected.

    Example: `apptek paper topologies model --predicate Threaten`
    """
    from apptek.explain.explainer import find_predicate
    from apptek.explain.strongest_weights import strongest
    from apptek.facts.name_matching import NameResolver
    from apptek.models.model_folder import load_model
    from apptek.paper.features import topologies_of
    from apptek.paper.topologies import Mined

    fitted = load_model(model)
    names, resolver = fitted.dataset.predicates, NameResolver.of_predicates(fitted.dataset)
    predicate_id = None if predicate is None else find_predicate(predicate, resolver, names)
    shown = range(len(names)) if predicate_id is None else [predicate_id]
    space = fitted.space(fitted.main_view)
    weights = {p: strongest(fitted, space, p, top) for p in shown}
    mined: dict[int, list[Any]] = {p: [] for p in shown}
    part = topologies_of(fitted)
    found = Mined((), {}, {}) if part is None else part.mined
    for topology in found.topologies:
        if topology.predicate in mined and len(mined[topology.predicate]) < top:
            mined[topology.predicate].append(topology)
    if as_json:
        print_json(_as_json(fitted, weights, mined, found.tried))
    else:
        _print_tables(fitted, weights, mined, found.tried)


def _as_json(
    fitted: Any, weights: dict[int, Any], mined: dict[int, Any], tried: dict[int, int]
) -> dict[str, Any]:
    from apptek.facts.predicate_table import PredicateTable
    from apptek.paper.topologies import to_names

    data = fitted.dataset
    names, labels = data.predicates, data.labels or PredicateTable()
    return {
        names[p]: {
            "label": labels.label(names[p]),
            "strongest": [asdict(weight) for weight in weights[p]],
            "mined": [
                {
                    "topology": to_names(topology.sequence, names),
                    "connected": topology.queries,
                    "share": topology.queries / tried[p],
                    "examples": [data.describe(data.train, fact) for fact in topology.examples],
                }
                for topology in mined[p]
            ],
        }
        for p in weights
    }


def _print_tables(
    fitted: Any, weights: dict[int, Any], mined: dict[int, Any], tried: dict[int, int]
) -> None:
    from apptek.facts.predicate_table import PredicateTable
    from apptek.paper.topologies import describe
    from apptek.present.wording import percent
    from apptek.terminal import output, table

    names, labels = fitted.dataset.predicates, fitted.dataset.labels or PredicateTable()
    words = {p: labels.shown(names[p]) for p in weights}
    weight_rows = [(words[p], f"{w.weight:+.2f}", w.words) for p in weights for w in weights[p]]
    title = "The largest weights: what speaks most for a predicate"
    output().print(table(title, ("predicate", "weight", "feature"), weight_rows))
    mined_rows = [
        (
            words[p],
            topology.queries,
            percent(topology.queries / tried[p]),
            describe(topology.sequence, names, labels),
        )
        for p in mined
        for topology in mined[p]
    ]
    if mined_rows:
        header = ("predicate", "connected", "of its episodes", "topology")
        output().print(table("Mined topologies", header, mined_rows))
