"""The command `counterfactual`: which facts would have to be missing for another answer."""

from typing import Annotated

import typer

from apptek.commands.asking.predict import TIME
from apptek.commands.options import (
    AllowUnknownOption,
    AsOfOption,
    JsonOption,
    ModelArgument,
    print_json,
)


def counterfactual(
    model: ModelArgument,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="The entity that acts.")],
    object_: Annotated[str, typer.Argument(metavar="OBJECT", help="The entity acted upon.")],
    time: Annotated[str, typer.Argument(metavar="TIME", help=TIME)],
    target: Annotated[
        str | None,
        typer.Option("--to", metavar="PREDICATE", help="What the answer should become."),
    ] = None,
    add: Annotated[
        bool,
        typer.Option(
            "--add",
            help="Also look for a single fact between the two that would change the answer.",
        ),
    ] = False,
    as_of: AsOfOption = False,
    allow_unknown: AllowUnknownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find a small set of facts whose removal changes the answer.

    The search is greedy: it removes the fact whose loss weakens the answer most, again and again,
    and then puts back every fact that is not needed.

    Example: `apptek counterfactual model Coresia Falgard 2019-07-26 --add`
    """
    from apptek.predictor import Predictor, Query
    from apptek.present.what_if_text import counterfactual_text
    from apptek.present.wording import similar_lines
    from apptek.results import to_dict
    from apptek.terminal import output

    predictor = Predictor.load(model, as_of=as_of)
    query = Query(subject, object_, time)
    found = predictor.counterfactual(query, target, add=add, allow_unknown=allow_unknown)
    similar = predictor.similar_names(subject, object_)
    if as_json:
        print_json(to_dict(found) | {"similar": similar})
        return
    console = output()
    text = counterfactual_text(found, console.width)
    console.print("\n".join([text, *similar_lines(similar)]), markup=False, soft_wrap=True)
