"""The command `explain`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from apptek.commands import options as opt
from apptek.commands.options import option

_CHANGE = "What would change it"  # a panel of the help


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of `explain`."""

    model: opt.ModelArgument
    subject: opt.SubjectArgument
    object_: opt.ObjectArgument
    time: opt.TimeArgument
    predicate: str | None = option(
        "--predicate NAME", "Explain this predicate instead of the most probable one."
    )
    against: str | None = option(
        "--against NAME", "Compare with this predicate instead of the runner-up."
    )
    versus: str | None = option("--versus TIME", "Compare with the answer at this other time.")
    top: int = option("--top N", "Number of reasons to show in detail.", 5, min=1)
    length: Literal["sentence", "paragraph", "full"] = option(
        "--length", "One sentence, a paragraph, or all reasons with their facts.", "paragraph"
    )
    html: Path | None = option(
        "--html FILE", "Save the explanation as an HTML page with a drawing."
    )
    past_only: opt.PastOnlyOption = False
    allow_unknown: opt.AllowUnknownOption = False
    counterfactual: bool = option(
        "--counterfactual",
        "Find a small set of facts whose removal changes the answer.",
        False,
        rich_help_panel=_CHANGE,
    )
    to: str | None = option(
        "--to NAME", "The predicate that the answer should become.", rich_help_panel=_CHANGE
    )
    add: bool = option(
        "--add",
        "In addition, find single facts that would change the answer if added.",
        False,
        rich_help_panel=_CHANGE,
    )
    mail: opt.MailOption = None
    suppose: opt.SupposeOption = None
    as_json: opt.JsonOption = False


@opt.takes_options
def explain(options: ExplainOptions) -> None:
    """Explain an answer: show the evidence for and against a predicate, with the facts behind it.

    Example: `apptek explain model Coresia Falgard 2019-07-26 --html why.html`
    """
    from apptek.files import write_whole
    from apptek.predictor import Predictor, Query
    from apptek.present import explanation_text as texts
    from apptek.terminal import tell

    pages, others = ("html", "mail", "suppose"), ("predicate", "against", "versus")
    if not options.counterfactual:
        opt.refuse(options, ("to", "add"), "needs --counterfactual")
    else:
        opt.refuse(options, others + pages, "cannot be combined with --counterfactual")
    if options.versus is not None:
        opt.refuse(options, pages, "cannot be combined with --versus")
    predictor = Predictor.load(options.model, past_only=options.past_only)
    query = Query(options.subject, options.object_, options.time)
    known: dict[str, Any] = {"allow_unknown": options.allow_unknown}
    shown: dict[str, Any] = {
        "as_json": options.as_json,
        "similar": predictor.similar_names(query.subject, query.object),
    }
    predicates = (options.predicate, options.against)
    if options.counterfactual:
        changed = predictor.counterfactual(query, options.to, add=options.add, **known)
        opt.print_result(changed, render=texts.counterfactual_text, **shown)
        return
    if options.versus is not None:
        contrast = predictor.contrast(query, options.versus, *predicates, **known)
        render = partial(texts.contrast_text, length=options.length)
        opt.print_result(contrast, render=render, **shown)
        return
    known["suppose"] = opt.read_suppose(options.suppose, predictor.model.dataset)
    why = predictor.explain(query, predicates[0], against=predicates[1], most=options.top, **known)
    if options.html is not None:
        write_whole(options.html, why.html().encode())
        tell(f"The explanation with its drawing is in {options.html}")
    opt.write_mail(options.mail, why)
    render = partial(texts.explanation_text, length=options.length)
    opt.print_result(why, render=render, calibrated=predictor.model.calibrated, **shown)
    if options.length != "full" and not options.as_json:
        tell("next: --length full for the numbers and the facts")
