"""Results as text, for `__repr__` and the command line."""

from collections.abc import Callable
from functools import singledispatch

from apptek import results
from apptek.evaluation.ranking import Evaluation
from apptek.present.audit_words import audit_lines, instead_words, shown_predicate, when_words
from apptek.present.explanation_text import contrast_text, counterfactual_text, explanation_text
from apptek.present.explanation_words import FAR, answer_notes, recorded_answer
from apptek.present.forecast_words import backtest_text, window_text
from apptek.present.metrics_text import evaluation_text
from apptek.present.partner_words import actor_text, event_lines, ranking_text
from apptek.present.template import render
from apptek.present.watch_words import COLUMNS, SINCE, status_words, watch_lines
from apptek.present.what_if_words import COLUMNS as SIDE_BY_SIDE
from apptek.present.what_if_words import IN_TEXT, chance_cells
from apptek.present.wording import (
    general_notes,
    listed,
    percent,
    points,
    share_lines,
    shown_time,
    similar_lines,
)
from apptek.safe_text import counted, printable_lines
from apptek.terminal import BAR, table_text

WIDTH = 100  # for text outside a terminal
BAR_WIDTH, ANSWER_BAR_WIDTH = 20, 30  # characters in a bar for 100 %
SHOWN = 10  # number of answers


def render_text(result: results.Result, width: int = WIDTH) -> str:
    """Return a result as text without a trailing newline. Sentences are not wrapped."""
    return printable_lines(with_what_if(result, width, _text))


def with_what_if(result: results.Result, width: int, render: Callable[..., str]) -> str:
    """Return the text of a result, preceded by the changes that supposed facts would cause."""
    what_if, text = getattr(result, "what_if", None), render(result, width)
    return text if what_if is None else f"{what_if_text(what_if, width)}\n\nWithout them:\n{text}"


def what_if_text(what_if: results.WhatIf, width: int) -> str:
    """Return the answers side by side, and the reasons that changed."""
    rows = [chance_cells(row) for row in what_if.chances if row.kind in IN_TEXT]
    title = f"Suppose: {listed([fact.sentence for fact in what_if.facts])}"
    table = table_text(title, SIDE_BY_SIDE, rows, width)
    return render("what_if.txt.j2", w=what_if, table=table.split("\n")).rstrip("\n")


@singledispatch
def _text(result: results.Result, width: int) -> str:
    raise TypeError(f"{type(result).__name__} has no text of {width} columns")


_text.register(results.Backtest)(backtest_text)
_text.register(Evaluation)(evaluation_text)
_text.register(results.ActorForecast)(actor_text)
_text.register(results.EntityRanking)(ranking_text)


@_text.register
def _explanation(explanation: results.Explanation, width: int) -> str:
    return explanation_text(explanation, width).rstrip("\n")


@_text.register
def _contrast(contrast: results.Contrast, width: int) -> str:
    return contrast_text(contrast, width, "full").rstrip("\n")


@_text.register
def _counterfactual(found: results.Counterfactual, width: int) -> str:
    return counterfactual_text(found, width).rstrip("\n")


@_text.register
def _answer(answer: results.Answer, width: int) -> str:
    query = answer.query
    title = f"{query.subject}, ?, {query.object}, {shown_time(query.time)}"
    rows = [
        (one.shown, percent(one.probability), BAR * round(one.probability * ANSWER_BAR_WIDTH))
        for one in answer.ranked
    ]
    notes = answer_notes(answer)
    lines = [
        *(note.text for note in notes if note.kind == "unknown_name"),
        recorded_answer(answer),
        table_text(title, ("predicate", "probability", ""), rows, width),
        *share_lines(answer.by_class, answer.by_group),
        *(note.text for note in notes if note.kind != "unknown_name"),
    ]
    return "\n".join(filter(None, lines))


@_text.register
def _answers(answers: results.Answers, width: int) -> str:
    texts = [_answer(answer, width) for answer in answers[:SHOWN]]
    if len(answers) > SHOWN:
        texts.append(f"... and {counted(len(answers) - SHOWN, 'more answer')}")
    if len(answers) > 1 and answers.unknown_count:
        texts.append(f"{answers.unknown_count:,} of {len(answers):,} answers are generic answers.")
    if len(answers) > 1 and answers.far_count:
        texts.append(f"{answers.far_count:,} of {len(answers):,} answers: {FAR}")
    return "\n\n".join(texts) or "no answers"


@_text.register
def _forecast(forecast: results.Forecast, width: int) -> str:
    rows = [
        (f"{part.subject} -> {part.object}", part.shown, percent(part.probability),
         BAR * round(part.probability * BAR_WIDTH))
        for part in forecast.predicates
    ]  # fmt: skip
    table = table_text("At least once in the window", ("", "predicate", "chance", ""), rows, width)
    general, similar = general_notes(*forecast.unseen), similar_lines(forecast.similar)
    timing = event_lines(forecast)
    about = {"f": forecast, "general": general, "similar": similar, "timing": timing}
    return render("forecast.txt.j2", table=table.split("\n"), **about).rstrip("\n")


@_text.register
def _watch(watched: results.WatchList, width: int) -> str:
    rows, columns = [_watch_cells(row) for row in watched.rows], [*COLUMNS]
    if watched.since:
        columns.append(SINCE)
        rows = [(*row, status_words(of)) for row, of in zip(rows, watched.rows, strict=True)]
    alerts = [f"ALERT {alert.sentence}" for alert in watched.alerts]
    title = " | ".join(filter(None, [window_text(watched), watched.event]))
    table = table_text(title, columns, rows, width) if rows else title
    return "\n".join([*alerts, table, *watch_lines(watched)])


def _watch_cells(row: results.WatchRow) -> tuple[object, ...]:
    names = (row.subject, row.object)
    ends = (f"{name} (unknown)" if name in row.unseen else name for name in names)
    first = row.predicates[0]
    return (
        (", ".join(ends), f"{percent(first.probability)} {first.shown}", row.reason),
        percent(row.probability),
        points(row.change),
    )


@_text.register
def _audit(report: results.AuditReport, width: int) -> str:
    rows = [
        (
            f"{each.subject} | {shown_predicate(each)} | {each.object}",
            when_words(each),
            instead_words(each),
        )
        for each in report.suspects
    ]
    table = table_text("Least plausible", ("fact", "when", "expected"), rows, width)
    return "\n".join([*[table] * bool(rows), *audit_lines(report)])
