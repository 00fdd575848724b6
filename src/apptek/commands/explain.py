"""The command `explain`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from apptek.commands import options as opt

_PANEL = "What would change it"
PredicateOption = Annotated[
    str | None,
    opt.option("--predicate", "Explain this predicate, not the most probable one.", "NAME"),
]
AgainstOption = Annotated[
    str | None, opt.option("--against", "Compare with this predicate, not the runner-up.", "NAME")
]
VersusOption = Annotated[
    str | None, opt.option("--versus", "Compare with the answer at TIME.", "TIME")
]
LengthOption = Annotated[
    Literal["sentence", "paragraph", "full"],
    opt.option("--length", "One sentence, a paragraph, or everything with its facts."),
]
HtmlOption = Annotated[
    Path | None, opt.option("--html", "Also write an HTML page with a drawing.", "FILE")
]
CounterfactualOption = Annotated[
    bool,
    opt.option(
        "--counterfactual",
        "Find a small set of facts whose removal changes the answer.",
        rich_help_panel=_PANEL,
    ),
]
ToOption = Annotated[
    str | None,
    opt.option(
        "--to", "The predicate that the answer should become.", "NAME", rich_help_panel=_PANEL
    ),
]
AddOption = Annotated[
    bool,
    opt.option(
        "--add",
        "Also look for a single fact whose addition changes the answer.",
        rich_help_panel=_PANEL,
    ),
]


def explain(
    model: opt.ModelArgument,
    subject: opt.SubjectArgument,
    object_: opt.ObjectArgument,
    time: opt.TimeArgument,
    predicate: PredicateOption = None,
    against: AgainstOption = None,
    versus: VersusOption = None,
    top: Annotated[int, opt.option("--top", "Number of reasons to detail.", "N", min=1)] = 5,
    length: LengthOption = "paragraph",
    html: HtmlOption = None,
    past_only: opt.PastOnlyOption = False,
    allow_unknown: opt.AllowUnknownOption = False,
    counterfactual: CounterfactualOption = False,
    to: ToOption = None,
    add: AddOption = False,
    mail: opt.MailOption = None,
    suppose: opt.SupposeOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Explain an answer: the evidence for a predicate and against it, with the facts behind it.

    Example: `apptek explain model Coresia Falgard 2019-07-26 --html why.html`
    """
    from apptek.files import write_whole
    from apptek.predictor import Predictor, Query
    from apptek.present import explanation_text as texts
    from apptek.terminal import tell

    if not counterfactual:
        opt.refuse({"--to": to, "--add": add}, "needs --counterfactual")
    pages = {"--html": html, "--mail": mail, "--suppose": suppose}
    others = {"--predicate": predicate, "--against": against, "--versus": versus}
    if counterfactual:
        opt.refuse(others | pages, "cannot be combined with --counterfactual")
    if versus is not None:
        opt.refuse(pages, "cannot be combined with --versus")
    predictor = Predictor.load(model, past_only=past_only)
    query, known = Query(subject, object_, time), dict[str, Any](allow_unknown=allow_unknown)
    similar = predictor.similar_names(subject, object_)
    shown: dict[str, Any] = {"as_json": as_json, "similar": similar}
    if counterfactual:
        changed = predictor.counterfactual(query, to, add=add, **known)
        opt.print_result(changed, render=texts.counterfactual_text, **shown)
        return
    if versus is not None:
        contrast = predictor.contrast(query, versus, predicate, against, **known)
        opt.print_result(contrast, render=partial(texts.contrast_text, length=length), **shown)
        return
    known["suppose"] = opt.read_suppose(suppose, predictor.model.dataset)
    explanation = predictor.explain(query, predicate, against=against, most=top, **known)
    if html is not None:
        write_whole(html, explanation.html().encode())
        tell(f"The explanation with its drawing is in {html}")
    opt.write_mail(mail, explanation)
    render = partial(texts.explanation_text, length=length)
    opt.print_result(explanation, render=render, calibrated=predictor.model.calibrated, **shown)
    if length != "full" and not as_json:
        tell("next: --length full for the numbers and the facts")
