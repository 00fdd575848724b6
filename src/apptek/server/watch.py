"""The pairs to watch, returned as a list or as a file."""

import tempfile
from dataclasses import replace
from pathlib import Path

from starlette.responses import Response

from apptek.forecast.forecaster import read_filter
from apptek.forecast.pair_chances import read_rule, watched_entities
from apptek.present.tables import write_result
from apptek.results import WatchList, described, extended, record
from apptek.server.forecasts import window_keywords
from apptek.server.problem_json import ServiceError, refusing
from apptek.server.requests import MOST_WATCHED, WatchBody
from apptek.server.served_model import ServedModel
from apptek.server.workers import within

PATIENCE = 2.0  # maximum time that a request waits for background work, in seconds
EVENTS = ("predicate", "class_", "group")
FILES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@record
class WatchedPairs(WatchList):
    """The pairs whose chance of an event changes most; `ready` is false during the comparison."""

    ready: bool = described("Whether all pairs have been compared.", default=True)


def watch_list(served: ServedModel, asked: WatchBody) -> WatchedPairs | Response:
    """Return the pairs whose chance of an event changes most in a window.

    While the pairs are compared, `ready` is false: send the request again.
    """
    listed = watched_pairs(served, asked, PATIENCE)
    return listed if asked.format == "json" else _as_file(listed, asked.format)


def watched_pairs(served: ServedModel, body: WatchBody, wait: float) -> WatchedPairs:
    """Return the pairs whose chance changes most, if they are found within a few seconds.

    Raises a ServiceError if the request is invalid.
    """
    keywords, forecaster = window_keywords(served, body), served.predictor.forecaster
    named = [[text] if text else [] for text in (body.entity, body.country, body.alert)]
    advice = "Find names with /api/entities?q=."
    for where, names in (("entity", (named[0], [])), ("country", ([], named[1]))):
        with refusing(where, title="Nothing to watch", advice=advice):
            watched_entities(forecaster, *names)
    with refusing(
        "alert", title="Not a valid alert rule", advice="Write it as described in `detail`."
    ):
        for text in named[2]:
            read_rule(forecaster, text, read_filter(forecaster, None, None, None))
    window = forecaster.window(body.start, body.length)
    filters = body.model_dump_json(include={"entity", "country", "alert", *EVENTS})
    # Compute the longest list once, for every requested count or format.
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


def _as_file(listed: WatchedPairs, form: str) -> Response:
    """Return the list as a file. Raise a ServiceError while the pairs are being compared."""
    if not listed.ready:
        raise ServiceError(503, "The pairs are still being compared.", advice="Try again soon.")
    name = f"watch.{form}"
    with tempfile.TemporaryDirectory() as folder:
        write_result(Path(folder, name), listed, "watch")
        content = Path(folder, name).read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=FILES[form])
