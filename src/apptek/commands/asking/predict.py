"""The command `predict`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apptek.commands.engine_options import Distribution, distributes
from apptek.commands.options import (
    AllowUnknownOption,
    AsOfOption,
    JsonOption,
    ModelArgument,
    TopOption,
    print_json,
)
from apptek.commands.reading_options import BAD_ROWS_SHOWN, OF_QUERIES, Reading, reads_queries
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.models.answers import Query
    from apptek.models.batch_files import ToTable

TIME = "The time, as the data writes times; '?' (in quotes) if unknown."
FOR_ENGINE = 8  # times as many queries are answered at once by an engine
UNKNOWN_SHOWN = 5  # names that a file asks about and the model does not know
_FILE_PANEL = "Many queries at once"


@distributes
@reads_queries
def predict(
    model: ModelArgument,
    subject: Annotated[
        str | None, typer.Argument(metavar="SUBJECT", help="The entity that acts.")
    ] = None,
    object_: Annotated[
        str | None, typer.Argument(metavar="OBJECT", help="The entity acted upon.")
    ] = None,
    time: Annotated[str | None, typer.Argument(metavar="TIME", help=TIME)] = None,
    top: TopOption = 10,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            rich_help_panel=_FILE_PANEL,
            help="A file of queries (subject, object, time) of any kind that `fit` reads.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            rich_help_panel=_FILE_PANEL,
            help="The file for the answers to --queries (.csv, .tsv, .parquet).",
        ),
    ] = None,
    hide_known: Annotated[
        bool,
        typer.Option(
            "--hide-known",
            help="Answer as `evaluate` does: from the training facts, without the fact that a "
            "query asks about.",
        ),
    ] = False,
    as_of: AsOfOption = False,
    allow_unknown: AllowUnknownOption = False,
    as_json: JsonOption = False,
    *,
    reading: Reading,
    spread: Distribution,
) -> None:
    """Rank the predicates between two entities at a time, most probable first.

    The probabilities are given that there is a fact between the two at that time. How probable that
    is, `apptek forecast` says.

    Example: `apptek predict model Coresia Falgard 2019-07-26`
    """
    from apptek.baselines.open_model import on_engine, open_model
    from apptek.models.answers import Query
    from apptek.models.batch_files import BATCH
    from apptek.results import to_dict
    from apptek.terminal import output, tell

    words = (subject, object_, time)
    if queries is not None and allow_unknown:
        raise typer.BadParameter("--allow-unknown is for a single question: files are answered")
    if queries is not None and out is not None and words == (None, None, None):
        spread.check(out)
        opened = open_model(model, as_of=as_of)
        with spread.open(out) as engine:
            at_once = BATCH * (1 if engine is None else FOR_ENGINE)
            answering = on_engine(opened, engine)
            to_table = partial(_answer_table, answering, top, hide_known)
            _answer_file(answering, queries, out, reading, at_once, to_table)
        return
    if subject is None or object_ is None or time is None or queries or out:
        raise typer.BadParameter("give SUBJECT OBJECT TIME, or --queries FILE and --out FILE")
    words_of_file = [*reading.words(), *spread.words()]
    if words_of_file:
        raise typer.BadParameter(f"{words_of_file[0]} is for a file of queries: see --queries")
    predictor = open_model(model, as_of=as_of)
    query = Query(subject, object_, time)
    (answer,) = predictor.predict(
        query, top=top, hide_known=hide_known, allow_unknown=allow_unknown
    )
    similar = predictor.similar_names(subject, object_)
    if as_json:
        print_json(to_dict(answer) | {"similar": similar})
        return
    _print_answer(answer, similar)
    if not predictor.model.calibrated:
        output().print("The probabilities are not calibrated: there were no valid facts to fit on.")
    axis = predictor.model.dataset.axis
    if (read := axis.format(axis.parse(time))) != time.strip():
        tell(f"{time} was read as {read}")
    if answer.view == "ahead" and "ahead" not in predictor.model.views:
        tell("this model was not fitted to look ahead: its probabilities may be too high")


def _answer_table(
    predictor: Any, top: int, hide_known: bool, queries: "Sequence[Query]", before: int
) -> Any:
    """The answers to some queries as a table, numbered after so many others."""
    from apptek.models.answer_tables import answer_rows
    from apptek.models.batch_files import answer_table
    from apptek.predictor import Predictor

    if isinstance(predictor, Predictor) and not hide_known:
        return answer_rows(predictor.answerer, queries, before, top=top)
    return answer_table(predictor.predict(queries, top=top, hide_known=hide_known), before)


def _answer_file(
    predictor: Any, queries: Path, out: Path, reading: Reading, at_once: int, to_table: "ToTable"
) -> None:
    from apptek.data.reading.options import ReadOptions
    from apptek.models.batch_files import UnknownNames, answer_file
    from apptek.present.wording import count_text
    from apptek.terminal import tell, working

    options = ReadOptions(**{name: getattr(reading, name) for name in OF_QUERIES})
    with working(f"answering {queries}"):
        unknown = UnknownNames()
        answered, skipped = answer_file(
            predictor,
            queries,
            out,
            reading=options,
            unknown=unknown,
            at_once=at_once,
            to_table=to_table,
        )
    for defect in skipped[:BAD_ROWS_SHOWN]:
        typer.echo(f"skipped: {defect}", err=True)
    noun = "query" if answered == 1 else "queries"
    if unknown.queries:
        tell(f"{unknown.queries:,} of {answered:,} {noun} with names that are not in this data:")
        commonest = [name for name, _ in unknown.names.most_common(UNKNOWN_SHOWN)]
        for name, near in predictor.similar_names(*commonest).items():
            like = f"; similar: {', '.join(near)}" if near else ""
            tell(f"{name} ({count_text(unknown.names[name])}){like}")
        if (others := len(unknown.names) - len(commonest)) > 0:
            tell(f"... and {counted(others, 'more name')}")
    if unknown.far_times:
        tell(
            f"{unknown.far_times:,} of {answered:,} {noun} with times that are far from all facts: "
            "their probabilities are not calibrated (see the columns far_time and calibrated)"
        )
    tell(f"{answered:,} {noun} answered, {len(skipped):,} skipped: {out}")


def _print_answer(answer: Any, similar: dict[str, list[str]]) -> None:
    from apptek.present.text import render_text
    from apptek.present.wording import similar_lines
    from apptek.terminal import output

    console = output()
    lines = [render_text(answer, console.width), *similar_lines(similar)]
    console.print("\n".join(lines), markup=False, soft_wrap=True)
