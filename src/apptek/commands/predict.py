"""The command `predict`."""

from typing import Annotated, Any

import typer

from apptek.commands import options as opt
from apptek.commands.reading_options import Reading, list_skipped, reads_queries
from apptek.safe_text import counted

OPEN = "?"  # in the place of the missing entity
UNKNOWN_SHOWN = 5  # unknown names of a file to print
_FILE_PANEL = "Many queries at once"
QueriesOption = Annotated[
    Any,
    opt.option(
        "--queries",
        "A file of queries (subject, object, time), in any format that `fit` reads, or a database.",
        "FILE",
        parser=opt.file_or_database,
        rich_help_panel=_FILE_PANEL,
    ),
]
AnswersOption = Annotated[
    Any,
    opt.option(
        "--out",
        "The output file for --queries (.csv, .tsv, .parquet; as RDF: .ttl, .nt, .trig), or a "
        "table of a database (URL#TABLE).",
        "FILE",
        parser=opt.file_or_database,
        rich_help_panel=_FILE_PANEL,
    ),
]
PredicateOption = Annotated[
    str | None,
    opt.option(
        "--predicate", "With '?' as SUBJECT or OBJECT: rank the entities with this one.", "NAME"
    ),
]
CoverageOption = Annotated[
    float | None,
    opt.option(
        "--coverage",
        "Instead of N, list the fewest predicates that contain the true one in this share of "
        "cases, such as 0.9.",
        "SHARE",
    ),
]
HideKnownOption = Annotated[
    bool,
    opt.option(
        "--hide-known",
        "Answer as `evaluate` does: from the training facts, with the fact in question hidden.",
    ),
]


@reads_queries
def predict(
    model: opt.ModelArgument,
    subject: Annotated[str | None, opt.argument("SUBJECT", "The entity that acts.")] = None,
    object_: Annotated[str | None, opt.argument("OBJECT", "The entity acted upon.")] = None,
    time: Annotated[str | None, opt.argument("TIME", opt.TIME)] = None,
    top: Annotated[int, opt.option("--top", "Number of predicates to list.", "N", min=1)] = 10,
    coverage: CoverageOption = None,
    queries: QueriesOption = None,
    out: AnswersOption = None,
    predicate: PredicateOption = None,
    hide_known: HideKnownOption = False,
    past_only: opt.PastOnlyOption = False,
    allow_unknown: opt.AllowUnknownOption = False,
    suppose: opt.SupposeOption = None,
    as_json: opt.JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Rank the predicates between two entities at a time, most probable first.

    Probabilities are conditional on an event between the pair at that time. For the probability
    of an event, use `apptek forecast`.

    With '?' in the place of SUBJECT or OBJECT and a --predicate, rank the missing entity, from the
    facts before that time. `--suppose` shows what a fact would change: the answer without and with
    it.

    Example: `apptek predict model Coresia Falgard 2019-07-26`
    """
    from apptek.predictor import Predictor
    from apptek.results import Query

    if queries is not None and allow_unknown:
        raise typer.BadParameter("--allow-unknown is for a single query: files are answered")
    if suppose and (queries is not None or hide_known):
        raise typer.BadParameter("--suppose is for a single query, without --hide-known")
    if queries is not None and out is not None and (subject, object_, time) == (None, None, None):
        answering = Predictor.load(model, past_only=past_only)
        how = {"top": top, "coverage": coverage, "hide_known": hide_known}
        _answer_file(answering, queries, out, reading, how)
        return
    if subject is None or object_ is None or time is None or queries or out:
        raise typer.BadParameter("give SUBJECT OBJECT TIME, or --queries FILE and --out FILE")
    if words_of_file := reading.words():
        raise typer.BadParameter(f"{words_of_file[0]} is for a file of queries: see --queries")
    is_open = _open_slots(subject, object_, predicate)
    if predicate is not None:
        given = {"--suppose": suppose, "--coverage": coverage, "--hide-known": hide_known,
                 "--allow-unknown": allow_unknown}  # fmt: skip
        opt.refuse(given, "cannot be combined with a missing entity ('?')")
    predictor = Predictor.load(model, past_only=past_only)
    if predicate is not None:
        ends = (None if is_open[0] else subject, None if is_open[1] else object_)
        ranking = predictor.rank_entities(*ends, predicate=predicate, time=time, top=top)
        opt.print_result(ranking, as_json=as_json)
        return
    asked = Query(subject, object_, time)
    (answer,) = predictor.predict(
        asked, top=top, coverage=coverage, hide_known=hide_known, allow_unknown=allow_unknown,
        suppose=opt.read_suppose(suppose, predictor.model.dataset),
    )  # fmt: skip
    opt.print_result(answer, as_json=as_json, similar=predictor.similar_names(subject, object_))
    if not as_json:
        _tell_limits(predictor.model, answer, time)


def _open_slots(subject: str, object_: str, predicate: str | None) -> list[bool]:
    """Return which of the two is asked for; refuse what is neither a pair nor a missing entity."""
    is_open = [name.strip() == OPEN for name in (subject, object_)]
    if all(is_open):
        raise typer.BadParameter("SUBJECT and OBJECT are both '?': name one of them")
    if predicate is None and any(is_open):
        raise typer.BadParameter("'?' ranks the missing entity: give the predicate (--predicate)")
    if predicate is not None and not any(is_open):
        raise typer.BadParameter("--predicate is for a missing entity: give '?' as one of the two")
    return is_open


def _tell_limits(model: Any, answer: Any, time: str) -> None:
    """Print how the time was read, and limits of the model."""
    from apptek.terminal import output, tell

    if not model.calibrated:
        output().print("The probabilities are not calibrated: the fit had no valid facts.")
    axis = model.dataset.axis
    if (read := axis.format(axis.parse(time))) != time.strip():
        tell(f"{time} was read as {read}")
    if answer.view == "past_only" and "past_only" not in model.views:
        tell("this model was not fitted for --past-only: its probabilities may be too high")


def _answer_file(predictor: Any, queries: Any, out: Any, reading: Reading, how: Any) -> None:
    from apptek.commands.answer_file import UnknownNames, answer_file
    from apptek.reading.options import ReadOptions
    from apptek.terminal import tell, working

    unknown = UnknownNames()
    with working(f"answering {queries}"):
        answered, skipped = answer_file(
            predictor,
            queries,
            out,
            reading=ReadOptions(**reading.keywords()),
            unknown=unknown,
            **how,
        )
    list_skipped(skipped)
    asked = counted(answered, "query")
    _tell_unknown(predictor, unknown, asked)
    if unknown.far_times:
        tell(
            f"{unknown.far_times:,} of {asked} with times that are far from all facts: "
            "their probabilities are not calibrated (see the columns far_time and calibrated)"
        )
    tell(f"{asked} answered, {len(skipped):,} skipped: {out}")


def _tell_unknown(predictor: Any, unknown: Any, queries: str) -> None:
    """Print the most frequent unknown names, with similar names."""
    from apptek.present.wording import count_text
    from apptek.terminal import tell

    if not unknown.queries:
        return
    tell(f"{unknown.queries:,} of {queries} with names that are not in this data:")
    commonest = [name for name, _ in unknown.names.most_common(UNKNOWN_SHOWN)]
    for name, near in predictor.similar_names(*commonest).items():
        like = f"; similar: {', '.join(near)}" if near else ""
        tell(f"{name} ({count_text(unknown.names[name])}){like}")
    if (others := len(unknown.names) - len(commonest)) > 0:
        tell(f"... and {counted(others, 'more name')}")
