"""The command `explain`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from apptek.commands.options import (
    AllowUnknownOption,
    JsonOption,
    MailOption,
    ModelArgument,
    ObjectArgument,
    PastOnlyOption,
    SubjectArgument,
    SupposeOption,
    TimeArgument,
    option,
    print_result,
    read_suppose,
    refuse,
    write_mail,
)

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
    mail: MailOption = None,
    suppose: SupposeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain an answer: the evidence for a predicate and against it, with the facts behind it.

    Example: `apptek explain model Coresia Falgard 2019-07-26 --html why.html`
    """
    from apptek.files import write_whole
    from apptek.predictor import Predictor, Query
    from apptek.present import explanation_text as texts
    from apptek.terminal import tell

    if not counterfactual:
        refuse({"--to": to, "--add": add}, "needs --counterfactual")
    pages = {"--html": html, "--mail": mail, "--suppose": suppose}
    others = {"--predicate": predicate, "--against": against, "--versus": versus}
    if counterfactual:
        refuse(others | pages, "cannot be combined with --counterfactual")
    if versus is not None:
        refuse(pages, "cannot be combined with --versus")
    predictor = Predictor.load(model, past_only=past_only)
    query, known = Query(subject, object_, time), {"allow_unknown": allow_unknown}
    shown: dict[str, Any] = {
        "as_json": as_json,
        "similar": predictor.similar_names(subject, object_),
    }
    if counterfactual:
        changed = predictor.counterfactual(query, to, add=add, **known)
        print_result(changed, render=texts.counterfactual_text, **shown)
        return
    if versus is not None:
        contrast = predictor.contrast(query, versus, predicate, against, **known)
        print_result(contrast, render=partial(texts.contrast_text, length=length), **shown)
        return
    supposed: dict[str, Any] = {"suppose": read_suppose(suppose, predictor.model.dataset), **known}
    explanation = predictor.explain(query, predicate, against=against, most=top, **supposed)
    if html is not None:
        write_whole(html, explanation.html().encode())
        tell(f"The explanation with its drawing is in {html}")
    write_mail(mail, explanation)
    render = partial(texts.explanation_text, length=length)
    print_result(explanation, render=render, calibrated=predictor.model.calibrated, **shown)
    if length != "full" and not as_json:
        tell("next: --length full for the numbers and the facts")
