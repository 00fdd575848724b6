"""The command `explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from apptek.commands.options import (
    AllowUnknownOption,
    JsonOption,
    ModelArgument,
    ObjectArgument,
    PastOnlyOption,
    SubjectArgument,
    TimeArgument,
    option,
    print_json,
)

if TYPE_CHECKING:
    from apptek.present.explanation_text import Length
    from apptek.results import Contrast, Counterfactual

_PANEL = "What would change it"
LengthOption = Annotated[
    Literal["sentence", "paragraph", "full"],
    option("--length", "One sentence, a paragraph, or everything with its facts."),
]
HtmlOption = Annotated[
    Path | None, option("--html", "Also write an HTML page with a drawing.", "FILE")
]
CounterfactualOption = Annotated[
    bool,
    option(
        "--counterfactual",
        "Find a small set of facts whose removal changes the answer.",
        rich_help_panel=_PANEL,
    ),
]
ToOption = Annotated[
    str | None,
    option("--to", "The predicate that the answer should become.", "NAME", rich_help_panel=_PANEL),
]
AddOption = Annotated[
    bool,
    option(
        "--add",
        "Also look for a single fact whose addition changes the answer.",
        rich_help_panel=_PANEL,
    ),
]


def explain(
    model: ModelArgument,
    subject: SubjectArgument,
    object_: ObjectArgument,
    time: TimeArgument,
    predicate: Annotated[
        str | None,
        option("--predicate", "Explain this predicate, not the most probable one.", "NAME"),
    ] = None,
    against: Annotated[
        str | None, option("--against", "Compare with this predicate, not the runner-up.", "NAME")
    ] = None,
    versus: Annotated[
        str | None, option("--versus", "Compare with the answer at TIME.", "TIME")
    ] = None,
    top: Annotated[int, option("--top", "Number of reasons to detail.", "N", min=1)] = 5,
    length: LengthOption = "paragraph",
    html: HtmlOption = None,
    past_only: PastOnlyOption = False,
    allow_unknown: AllowUnknownOption = False,
    counterfactual: CounterfactualOption = False,
    to: ToOption = None,
    add: AddOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain an answer: the evidence for a predicate and against it, with the facts behind it.

    Example: `apptek explain model Coresia Falgard 2019-07-26 --html why.html`
    """
    from apptek.predictor import Predictor, Query

    if (to is not None or add) and not counterfactual:
        raise typer.BadParameter("--to and --add go with --counterfactual")
    others = {"--predicate": predicate, "--against": against, "--versus": versus, "--html": html}
    if counterfactual and (given := [word for word, value in others.items() if value is not None]):
        raise typer.BadParameter(f"--counterfactual does not go with {given[0]}")
    if versus is not None and html is not None:
        raise typer.BadParameter("--html shows one time: leave out --versus")
    predictor = Predictor.load(model, past_only=past_only)
    query, known = Query(subject, object_, time), {"allow_unknown": allow_unknown}
    similar = predictor.similar_names(subject, object_)
    if counterfactual:
        changed = predictor.counterfactual(query, to, add=add, **known)
        _print_counterfactual(changed, similar, as_json=as_json)
    elif versus is not None:
        found = predictor.contrast(query, versus, predicate, against, **known)
        _print_contrast(found, length, similar, as_json=as_json)
    else:
        reasons = predictor.explain(query, predicate, against=against, most=top, **known)
        extras = {"calibrated": predictor.model.calibrated, "similar": similar}
        _print_explanation(reasons, length, html, extras, as_json=as_json)


def _print_explanation(
    explanation: Any, length: "Length", html: Path | None, extras: dict[str, Any], *, as_json: bool
) -> None:
    from apptek.files import write_whole
    from apptek.present.explanation_text import explanation_text
    from apptek.present.wording import similar_lines
    from apptek.results import to_dict
    from apptek.terminal import output, tell

    if html is not None:
        write_whole(html, explanation.html().encode())
        tell(f"The explanation with its drawing is in {html}")
    if as_json:
        print_json(to_dict(explanation) | extras)
        return
    console = output()
    text = explanation_text(explanation, console.width, length)
    lines = similar_lines(extras["similar"])
    console.print("\n".join([text, *lines]), markup=False, soft_wrap=True)
    if length != "full":
        tell("next: --length full for the numbers and the facts")


def _print_counterfactual(
    found: "Counterfactual", similar: dict[str, list[str]], *, as_json: bool
) -> None:
    from apptek.present.explanation_text import counterfactual_text
    from apptek.present.wording import similar_lines
    from apptek.results import to_dict
    from apptek.terminal import output

    if as_json:
        print_json(to_dict(found) | {"similar": similar})
        return
    console = output()
    text = counterfactual_text(found, console.width)
    console.print("\n".join([text, *similar_lines(similar)]), markup=False, soft_wrap=True)


def _print_contrast(
    found: "Contrast", length: "Length", similar: dict[str, list[str]], *, as_json: bool
) -> None:
    from apptek.present.explanation_text import contrast_text
    from apptek.present.wording import similar_lines
    from apptek.results import to_dict
    from apptek.terminal import output

    if as_json:
        print_json(to_dict(found) | {"similar": similar})
        return
    console = output()
    text = contrast_text(found, console.width, length)
    console.print("\n".join([text, *similar_lines(similar)]), markup=False, soft_wrap=True)
