"""Lists: the pairs to watch, and the facts that look wrong."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from starlette.responses import Response

from apptek.arrays import Ints, Longs
from apptek.audit.audit import MOST_JUDGED, Audit, audit_facts, spread_evenly
from apptek.audit.judge import Judge
from apptek.audit.report import suspects_of, table_of_facts
from apptek.forecast.alerts import read_rule
from apptek.forecast.event_filter import read_filter
from apptek.forecast.pair_chances import watched_entities
from apptek.present.tables import write_result
from apptek.results import SuspectFact, WatchList, described, extended, record
from apptek.server.forecasts import window_keywords
from apptek.server.problem_json import ServiceError, refusing
from apptek.server.requests import MOST_WATCHED, WatchBody
from apptek.server.served_model import ServedModel, temporary_place
from apptek.server.workers import within

EVENTS = ("predicate", "class_", "group")
AUDITED = 120  # facts that are listed with their reasons
FILES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@record
class WatchedPairs(WatchList):
    """The pairs whose chance of an event changes most; `ready` is false while they are compared."""

    ready: bool = described("Whether the pairs have been compared.", default=True)


@record
class SuspectFacts:
    """The least plausible facts; `ready` is false while the model judges them."""

    ready: bool = described("Whether the facts have been judged.")
    facts: int = described("How many facts are judged.")
    rows: tuple[SuspectFact, ...] = described("The least plausible facts.")


def watched_pairs(served: ServedModel, body: WatchBody, wait: float) -> WatchedPairs:
    """Return the pairs whose chance changes most, if they are found within some seconds.

    Raises a ServiceError for what no pair can be watched by.
    """
    keywords, forecaster = window_keywords(served, body), served.predictor.forecaster
    named = [[text] if text else [] for text in (body.entity, body.country, body.alert)]
    advice = "Find names with /api/entities?q=."
    for where, names in (("entity", (named[0], [])), ("country", ([], named[1]))):
        with refusing(where, title="Nothing to watch", advice=advice):
            watched_entities(forecaster, *names)
    with refusing("alert", title="Not an alert", advice="Write it as the detail says."):
        for text in named[2]:
            read_rule(forecaster, text, read_filter(forecaster, None, None, None))
    window = forecaster.window(body.start, body.length)
    filters = body.model_dump_json(include={"entity", "country", "alert", *EVENTS})
    # The longest list, once, whatever count or format is asked for.
    work = served.background.start(
        f"watch {window.length} {window.first} {filters}",
        lambda: served.predictor.watch(
            most=MOST_WATCHED, entity=named[0], country=named[1], alerts=named[2], **keywords
        ),
    )
    found = within(wait, work)
    if found is not None:
        return extended(WatchedPairs, replace(found, rows=found.rows[: body.limit]))
    fields, data = forecaster.window_fields(window), served.model.dataset.name
    return WatchedPairs(ready=False, **fields, data=data, rows=(), notes=())


def watch_file(served: ServedModel, body: WatchBody, wait: float) -> Response:
    """Return the list as a file. Raises a ServiceError while the pairs are compared."""
    listed = watched_pairs(served, body, wait)
    if not listed.ready:
        raise ServiceError(503, "The pairs are still compared.", advice="Send it again soon.")
    name = f"watch.{body.format}"
    with tempfile.TemporaryDirectory(dir=temporary_place()) as folder:
        write_result(Path(folder, name), listed, "watch")
        content = Path(folder, name).read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=FILES[body.format])


def suspect_facts(served: ServedModel, wait: float) -> SuspectFacts:
    """Return the facts that look wrong, if they are found within some seconds; else nothing yet."""
    work = served.background.start("audit", lambda: _suspects(served))
    rows = within(wait, work)
    judged = min(len(served.model.graph.facts), MOST_JUDGED)
    return SuspectFacts(ready=rows is not None, facts=judged, rows=rows or ())


def _suspects(served: ServedModel) -> tuple[SuspectFact, ...]:
    audit, judged = audited(served, MOST_JUDGED)
    table = table_of_facts(audit, audit.order[: min(AUDITED, len(judged))], AUDITED)
    return tuple(suspects_of(table, AUDITED))


def audited(served: ServedModel, most: int, of_entity: Ints | None = None) -> tuple[Audit, Longs]:
    """Return the audit of a model, and the facts that it judges.

    If there are more than `most` facts, it judges an even sample of that size. If an entity is
    given, up to half of the sample are facts of this entity.
    """
    model = served.model
    every = np.arange(len(model.graph.facts))
    judged = spread_evenly(every, most)
    if of_entity is not None and len(every) > most:
        judged = np.union1d(spread_evenly(every, most // 2), spread_evenly(of_entity, most // 2))
    return audit_facts(Judge.of_model(model), judged), judged
