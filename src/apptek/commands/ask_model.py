"""Commands that ask a model: predict, explain."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.models import AsOfOption, ModelArgument, TopOption
from apptek.commands.options import JsonOption, SkipBadOption, print_json

WHEN = "As the data writes times; '?', in quotes, if unknown."


def predict(
    model: ModelArgument,
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT", help="Who acts.")] = None,
    object_: Annotated[str | None, typer.Argument(metavar="OBJECT", help="On whom.")] = None,
    time: Annotated[str | None, typer.Argument(metavar="TIME", help=WHEN)] = None,
    top: TopOption = 10,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries", help="A file of queries: subject, object, time (csv, tsv, parquet)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where answers to --queries go (csv, tsv, parquet)."),
    ] = None,
    skip_bad: SkipBadOption = False,
    as_of: AsOfOption = False,
    as_json: JsonOption = False,
) -> None:
    """Which predicates hold between two entities at a time, most probable first.

    Example: `apptek predict model "North Korea" "South Korea" 2014-08-15`
    """
    from apptek.baselines.open_model import open_model
    from apptek.models.answers import Query
    from apptek.models.batch_files import answer_file
    from apptek.terminal import tell, working

    one = (subject, object_, time)
    if (queries is None) == any(word is None for word in one) or (queries is None) != (out is None):
        raise typer.BadParameter("give SUBJECT OBJECT TIME, or --queries FILE and --out FILE")
    predictor = open_model(model, as_of=as_of)
    if queries is not None and out is not None:
        with working(f"answering {queries}"):
            answered, left_out = answer_file(predictor, queries, out, top=top, skip_bad=skip_bad)
        for defect in left_out[:20]:
            typer.echo(f"left out: {defect}", err=True)
        tell(f"{answered:,} queries answered, {len(left_out):,} left out: {out}")
        return
    assert subject is not None
    assert object_ is not None
    assert time is not None
    (answer,) = predictor.predict([Query(subject, object_, time)], top=top)
    if as_json:
        print_json(asdict(answer))
    else:
        _print_answer(answer, predictor.model.dataset)


def explain(
    model: ModelArgument,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who acts.")],
    object_: Annotated[str, typer.Argument(metavar="OBJECT", help="On whom.")],
    time: Annotated[str, typer.Argument(metavar="TIME", help=WHEN)],
    predicate: Annotated[
        str | None, typer.Option("--predicate", help="Explain this one, not the most probable.")
    ] = None,
    top: TopOption = 5,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write one HTML file, with drawings.")
    ] = None,
    as_of: AsOfOption = False,
    as_json: JsonOption = False,
) -> None:
    """Why a predicate: what speaks for it, with the facts behind it.

    Example: `apptek explain model "North Korea" "South Korea" 2014-08-15 --html why.html`
    """
    from apptek.explain.html_report import explanation_html
    from apptek.explain.text import explanation_text
    from apptek.files import write_whole
    from apptek.predictor import Predictor, Query
    from apptek.terminal import output, tell

    query = Query(subject, object_, time)
    predictor = Predictor.load(model, as_of=as_of)
    found = predictor.explain(query, predicate, most=top)
    if html is not None:
        write_whole(html, explanation_html(found).encode())
        tell(f"The explanation with drawings is in {html}")
    if as_json:
        print_json(found.as_json())
    else:
        console = output()
        notes = _near_names(predictor.model.dataset, query)
        text = "\n".join([explanation_text(found, console.width), *notes])
        console.print(text, markup=False, soft_wrap=True)


def _print_answer(answer: Any, data: Any) -> None:
    from apptek.terminal import BAR, output, table

    query = answer.query
    pairs = zip(answer.predicates, answer.probabilities, strict=True)
    rows = [(name, f"{share:6.1%}", BAR * round(share * 30)) for name, share in pairs]
    title = f"{query.subject}, ?, {query.object}, {query.time}"
    console = output()
    console.print(table(title, ("predicate", "probability", ""), rows), markup=False)
    unseen = {
        "subject": answer.unseen_subject,
        "object": answer.unseen_object,
        "time": answer.unseen_time,
    }
    notes = [f"The {name} does not occur in the training facts." for name in unseen if unseen[name]]
    if answer.known:
        notes.append(f"Among the training facts of that time: {', '.join(answer.known)}.")
    for note in [*notes, *_near_names(data, query)]:
        console.print(note, markup=False, soft_wrap=True)


def _near_names(data: Any, query: Any) -> list[str]:
    """What may have been meant by a name that the data does not have."""
    from apptek.explain.name_index import NameIndex, entity_counts

    strange = [name for name in (query.subject, query.object) if data.entities.find(name) is None]
    if not strange:
        return []
    index = NameIndex(data.entities, entity_counts(data.train, len(data.entities)))
    found = {name: index.near(name) for name in strange}
    return [f"Near {name}: {', '.join(near)}." for name, near in found.items() if near]
