"""The commands `explain`, about one answer, and `topologies`, about all that a model learned."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from apptek.commands.asking.predict import TIME
from apptek.commands.options import (
    AllowUnknownOption,
    AsOfOption,
    JsonOption,
    ModelArgument,
    TopOption,
    print_json,
)

if TYPE_CHECKING:
    from apptek.present.explanation_text import Length
    from apptek.results import Contrast


def explain(
    model: ModelArgument,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="The entity that acts.")],
    object_: Annotated[str, typer.Argument(metavar="OBJECT", help="The entity acted upon.")],
    time: Annotated[str, typer.Argument(metavar="TIME", help=TIME)],
    predicate: Annotated[
        str | None,
        typer.Option(
            "--predicate",
            metavar="NAME",
            help="Explain this predicate instead of the most probable one.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="NAME", help="Compare with this predicate, not the runner-up."
        ),
    ] = None,
    versus: Annotated[
        str | None,
        typer.Option("--versus", metavar="TIME", help="Tell what changes until this other time."),
    ] = None,
    top: TopOption = 5,
    length: Annotated[
        Literal["sentence", "paragraph", "full"],
        typer.Option("--length", help="One sentence, a paragraph, or everything with its facts."),
    ] = "paragraph",
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write an HTML page with a drawing."),
    ] = None,
    as_of: AsOfOption = False,
    allow_unknown: AllowUnknownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain an answer: what speaks for a predicate and against it, with the facts behind it.

    Example: `apptek explain model Coresia Falgard 2019-07-26 --html why.html`
    """
    from apptek.files import write_whole
    from apptek.predictor import Predictor, Query
    from apptek.present.explanation_text import explanation_text
    from apptek.present.wording import similar_lines
    from apptek.results import to_dict
    from apptek.terminal import output, tell

    query = Query(subject, object_, time)
    predictor = Predictor.load(model, as_of=as_of)
    if versus is not None:
        if html is not None:
            raise typer.BadParameter("--html shows one time: leave out --versus")
        found = predictor.contrast(query, versus, predicate, against, allow_unknown=allow_unknown)
        _print_contrast(found, length, predictor.similar_names(subject, object_), as_json=as_json)
        return
    explanation = predictor.explain(
        query, predicate, against=against, most=top, allow_unknown=allow_unknown
    )
    similar = predictor.similar_names(subject, object_)
    if html is not None:
        write_whole(html, explanation.html().encode())
        tell(f"The explanation with its drawing is in {html}")
    if as_json:
        extras = {"calibrated": predictor.model.calibrated, "similar": similar}
        print_json(to_dict(explanation) | extras)
    else:
        console = output()
        notes = similar_lines(similar)
        text = explanation_text(explanation, console.width, length)
        console.print("\n".join([text, *notes]), markup=False, soft_wrap=True)
        if length != "full":
            tell("next: --length full for the numbers and the facts")


def _print_contrast(
    found: "Contrast", length: "Length", similar: dict[str, list[str]], *, as_json: bool
) -> None:
    from apptek.present.what_if_text import contrast_text
    from apptek.present.wording import similar_lines
    from apptek.results import to_dict
    from apptek.terminal import output

    if as_json:
        print_json(to_dict(found) | {"similar": similar})
        return
    console = output()
    text = contrast_text(found, console.width, length)
    console.print("\n".join([text, *similar_lines(similar)]), markup=False, soft_wrap=True)


def topologies(
    model: ModelArgument,
    predicate: Annotated[
        str | None,
        typer.Option("--predicate", metavar="NAME", help="Only the features of this predicate."),
    ] = None,
    top: TopOption = 5,
    as_json: JsonOption = False,
) -> None:
    """Show what a model learned: the features with the largest weights for each predicate.

    A model of the preset `paper` also lists the topologies mined for each predicate, with the
    number and the share of its training episodes that they connected.

    Example: `apptek topologies model --predicate Threaten`
    """
    from apptek.data.name_matching import NameResolver
    from apptek.data.predicate_table import PredicateTable
    from apptek.explain.explainer import find_predicate
    from apptek.explain.strongest_weights import strongest
    from apptek.features.topologies.topology import describe, to_names
    from apptek.models.model_folder import load_model
    from apptek.present.wording import percent
    from apptek.terminal import output, table

    fitted = load_model(model)
    names, labels = fitted.dataset.predicates, fitted.dataset.labels or PredicateTable()
    resolver = NameResolver.of_predicates(fitted.dataset)
    predicate_id = None if predicate is None else find_predicate(predicate, resolver, names)
    shown = range(len(names)) if predicate_id is None else [predicate_id]
    space = fitted.space(fitted.main_view)
    weights = {p: strongest(fitted, space, p, top) for p in shown}
    mined: dict[int, list[Any]] = {p: [] for p in shown}
    for topology in fitted.mined.topologies:
        if topology.predicate in mined and len(mined[topology.predicate]) < top:
            mined[topology.predicate].append(topology)
    if as_json:
        print_json(
            {
                names[p]: {
                    "label": labels.label(names[p]),
                    "strongest": [asdict(weight) for weight in weights[p]],
                    "mined": [
                        {
                            "topology": to_names(topology.sequence, names),
                            "connected": topology.queries,
                            "share": topology.queries / fitted.mined.tried[p],
                            "examples": [
                                fitted.dataset.describe(fitted.dataset.train, fact)
                                for fact in topology.examples
                            ],
                        }
                        for topology in mined[p]
                    ],
                }
                for p in shown
            }
        )
        return
    words = {p: labels.shown(names[p]) for p in shown}
    weight_rows = [(words[p], f"{w.weight:+.2f}", w.words) for p in shown for w in weights[p]]
    title = "The largest weights: what speaks most for a predicate"
    output().print(table(title, ("predicate", "weight", "feature"), weight_rows))
    mined_rows = [
        (
            words[p],
            topology.queries,
            percent(topology.queries / fitted.mined.tried[p]),
            describe(topology.sequence, names, labels),
        )
        for p in shown
        for topology in mined[p]
    ]
    if mined_rows:
        header = ("predicate", "connected", "of its episodes", "topology")
        output().print(table("Mined topologies", header, mined_rows))
