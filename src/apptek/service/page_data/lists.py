"""Lists to look through: the pairs to watch, and the facts that look wrong."""

import numpy as np
from pydantic import BaseModel, Field

from apptek.audit.audit import MOST_JUDGED, audit_facts, spread_evenly
from apptek.audit.judge import Judge
from apptek.audit.report import table_of_facts
from apptek.forecasting.forecaster import Forecaster
from apptek.forecasting.watch import most_changed, watch
from apptek.forecasting.window import Length, Window
from apptek.present.wording import when_text
from apptek.results import Note, to_dict
from apptek.service.forecasts import require_forecasts, window_of
from apptek.service.schemas.responses import PredicateForecastOut
from apptek.service.served_model import ServedModel
from apptek.service.workers import within

AUDITED = 120  # facts that are listed with their reasons
MOST_WATCHED = 200  # pairs of a list


class WatchedPair(BaseModel):
    """A pair: its chance of anything, the change since the last forecast, and its past."""

    subject: str
    object: str
    probability: float
    expected: float
    previous: float = Field(description="The chance in the forecast for the window before.")
    change: float
    predicates: list[PredicateForecastOut]
    groups: list[str | None] = Field(description="The groups of these predicates.")
    reason: str = Field(description="What moved the chance most since that forecast.")
    past: list[int] = Field(description="The facts in each of the windows before this one.")


class WatchedPairs(BaseModel):
    """The pairs whose chance of anything changes most; `ready` is false while they are compared."""

    ready: bool = True
    first: str
    last: str
    length: int
    unit: str
    lead: int
    observed_until: str
    rows: list[WatchedPair]
    notes: list[Note]


class SuspectFact(BaseModel):
    """A fact that looks wrong: in which way, how much so, what was expected, and why."""

    subject: str
    predicate: str
    label: str
    object: str
    date: str
    time: str
    finding: str
    suspicion: float
    probability: float
    expected: str
    expected_label: str
    expected_probability: float
    group: str | None
    reason: str


class SuspectFacts(BaseModel):
    """The least plausible facts; while the model is asked about all of them, `ready` is false."""

    ready: bool
    facts: int = Field(description="How many facts are judged.")
    rows: list[SuspectFact]


def watched_pairs(served: ServedModel, length: Length, count: int, wait: float) -> WatchedPairs:
    """The pairs whose chance changes most in the next window, if found within some seconds."""
    require_forecasts(served)
    forecaster = served.predictor.forecaster
    window = window_of(served, None, length)
    name = f"watch {window.length}"  # the longest list, once, whatever count is asked for
    work = served.background.start(name, lambda: _watch(forecaster, window))
    found = within(wait, work)
    if found is not None:
        return found.model_copy(update={"rows": found.rows[:count]})
    return WatchedPairs(ready=False, **forecaster.window_fields(window), rows=[], notes=[])


def _watch(forecaster: Forecaster, window: Window) -> WatchedPairs:
    labels = forecaster.answerer.labels
    found = watch(forecaster, most_changed(forecaster, window, MOST_WATCHED), window)
    content = to_dict(found)
    for row in content["rows"]:
        row["groups"] = [labels.group_of(part["predicate"]) for part in row["predicates"]]
    return WatchedPairs.model_validate(content)


def suspect_facts(served: ServedModel, wait: float) -> SuspectFacts:
    """The facts that look wrong, if they are found within some seconds; else nothing yet."""
    work = served.background.start("audit", lambda: _audit(served))
    rows = within(wait, work)
    judged = min(len(served.predictor.model.graph.facts), MOST_JUDGED)
    return SuspectFacts(ready=rows is not None, facts=judged, rows=rows or [])


def _audit(served: ServedModel) -> list[SuspectFact]:
    model, labels = served.predictor.model, served.predictor.answerer.labels
    judged = spread_evenly(np.arange(len(model.graph.facts)), MOST_JUDGED)
    audit = audit_facts(Judge.of_model(model), judged)
    table = table_of_facts(audit, audit.order[: min(AUDITED, len(judged))], AUDITED)
    return [
        SuspectFact(
            **row,
            group=labels.group_of(row["predicate"]),
            date=when_text(row["since"], row["until"]),
            time=row["since"],
        )
        for row in table.to_pylist()
    ]
