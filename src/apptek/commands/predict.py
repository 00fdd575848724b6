"""The command `predict`."""

from dataclasses import dataclass
from typing import Any

import typer

from apptek.commands import options as opt
from apptek.commands.options import argument, option
from apptek.commands.reading_options import QueriesReading, list_skipped
from apptek.safe_text import counted

OPEN = "?"  # in the place of the missing entity
UNKNOWN_SHOWN = 5  # unknown names of a file to print
_FILE = "Many queries at once"  # a panel of the help


OF_TRAINING = "Based on the training facts only (forecast also uses the validation and test sets)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """The options of `predict`."""

    model: opt.ModelArgument
    subject: str | None = argument("SUBJECT", opt.SUBJECT)
    object_: str | None = argument("OBJECT", opt.OBJECT)
    time: str | None = argument("TIME", opt.TIME)
    top: int = option("--top N", "The number of predicates to list.", 10, min=1)
    coverage: float | None = option(
        "--coverage SHARE",
        "List the fewest predicates that contain the true one in this proportion of cases, such as "
        "0.9, instead of N.",
    )
    queries: Any = option(
        "--queries FILE",
        "A file of queries (subject, object, time) in any format that `fit` reads, or a database.",
        parser=opt.file_or_database,
        rich_help_panel=_FILE,
    )
    out: Any = option(
        "--out FILE",
        "The output file for --queries (.csv, .tsv, .parquet, or .ttl, .nt, .trig for RDF), or a "
        "database table (URL#TABLE).",
        parser=opt.file_or_database,
        rich_help_panel=_FILE,
    )
    predicate: str | None = option(
        "--predicate NAME", "The predicate of the fact, if SUBJECT or OBJECT is '?' (missing)."
    )
    past_only: opt.PastOnlyOption = False
    allow_unknown: opt.AllowUnknownOption = False
    suppose: opt.SupposeOption = None
    as_json: opt.JsonOption = False


@opt.takes_options
def predict(options: PredictOptions, reading: QueriesReading) -> None:
    """Rank the predicates that may hold between two entities at a given time.

    Probabilities are conditional on an event between the pair at that time. For the probability
    of an event, use `apptek forecast`.

    With '?' as SUBJECT or OBJECT and a --predicate, the command ranks the candidates for the
    missing entity. It then uses only facts before the given time. `--suppose` shows the answer
    without and with a hypothetical fact.

    Example: `apptek predict model Coresia Falgard 2019-07-26`
    """
    from apptek.predictor import Predictor

    names = (options.subject, options.object_, options.time)
    files = (options.queries, options.out)
    if options.queries is not None:
        opt.refuse(options, ["allow_unknown"], "cannot be combined with --queries")
        opt.refuse(options, ["suppose"], "cannot be combined with --queries")
    is_file, is_single = names == (None,) * 3 and None not in files, files == (None, None)
    if not is_file and not (is_single and None not in names):
        raise typer.BadParameter("give SUBJECT OBJECT TIME, or --queries FILE and --out FILE")
    if not is_file and (words_of_file := reading.words()):
        raise typer.BadParameter(f"{words_of_file[0]} is for a file of queries: see --queries")
    is_open = [name is not None and name.strip() == OPEN for name in names[:2]]
    _check_open(options, is_open)
    predictor = Predictor.load(options.model, past_only=options.past_only)
    if is_file:
        _answer_file(predictor, options, reading)
    elif options.predicate is not None:
        ends = [None if missing else name for name, missing in zip(names, is_open, strict=False)]
        time, top = options.time, options.top
        ranking = predictor.rank_entities(*ends, predicate=options.predicate, time=time, top=top)
        opt.print_result(ranking, as_json=options.as_json)
    else:
        _answer_query(predictor, options)


def _check_open(options: PredictOptions, is_open: list[bool]) -> None:
    """Raise a usage error unless the options give a pair, or a pair with one missing entity."""
    if all(is_open):
        raise typer.BadParameter("SUBJECT and OBJECT are both '?': name one of them")
    if options.predicate is None and any(is_open):
        raise typer.BadParameter("'?' requires --predicate, the predicate of the fact")
    if options.predicate is not None:
        if not any(is_open):
            why = "only works with '?' as SUBJECT or OBJECT"
            raise typer.BadParameter(f"--predicate {why}")
        others = ("suppose", "coverage", "allow_unknown")
        opt.refuse(options, others, "cannot be combined with a missing entity ('?')")


def _answer_query(predictor: Any, options: PredictOptions) -> None:
    """Answer one query and print the answer."""
    from apptek.results import Query

    query = Query(options.subject or "", options.object_ or "", options.time or "")
    (answer,) = predictor.predict(
        query,
        top=options.top,
        coverage=options.coverage,
        allow_unknown=options.allow_unknown,
        suppose=opt.read_suppose(options.suppose, predictor.model.dataset),
    )
    similar = predictor.similar_names(query.subject, query.object)
    occurrence = predictor.model.occurrence
    if occurrence is not None and not occurrence.all_facts and not options.as_json:
        typer.echo(OF_TRAINING)
    opt.print_result(answer, as_json=options.as_json, similar=similar)
    if not options.as_json:
        _tell_limits(predictor.model, answer, query.time)


def _tell_limits(model: Any, answer: Any, time: str) -> None:
    """Print how the time was read, and the limits of the model."""
    from apptek.terminal import output, tell

    if not model.calibrated:
        output().print(
            "The probabilities are not calibrated, because there were no validation facts."
        )
    axis = model.dataset.axis
    if (read := axis.format(axis.parse(time))) != time.strip():
        tell(f"{time} was read as {read}")
    if answer.view == "past_only" and "past_only" not in model.views:
        tell("this model was not fitted for --past-only, so its probabilities may be too high")


def _answer_file(predictor: Any, options: PredictOptions, reading: QueriesReading) -> None:
    """Answer a file of queries, and print what is unusual about them."""
    from apptek.commands.answer_file import answer_file
    from apptek.reading.options import ReadOptions
    from apptek.terminal import tell, working

    with working(f"answering {options.queries}"):
        answered = answer_file(
            predictor,
            options.queries,
            options.out,
            reading=ReadOptions(**reading.keywords()),
            top=options.top,
            coverage=options.coverage,
        )
    list_skipped(answered.skipped)
    asked = counted(answered.queries, "query")
    _tell_unknown(predictor, answered, asked)
    if answered.far_times:
        tell(
            f"{answered.far_times:,} of {asked} have times far from all facts, so their "
            "probabilities are not calibrated (see the columns far_time and calibrated)"
        )
    tell(f"{asked} answered, {len(answered.skipped):,} skipped: {options.out}")


def _tell_unknown(predictor: Any, answered: Any, queries: str) -> None:
    """Print the most frequent unknown names, with similar names."""
    from apptek.present.wording import count_text
    from apptek.terminal import tell

    if not answered.unknown:
        return
    tell(f"names that are not in this data ({answered.unknown:,} of {queries}):")
    commonest = [name for name, _ in answered.names.most_common(UNKNOWN_SHOWN)]
    for name, near in predictor.similar_names(*commonest).items():
        like = f"; similar: {', '.join(near)}" if near else ""
        tell(f"{name} ({count_text(answered.names[name])}){like}")
    if (others := len(answered.names) - len(commonest)) > 0:
        tell(f"... and {counted(others, 'more name')}")
