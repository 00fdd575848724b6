"""Lists: the pairs to watch, and the facts that look wrong."""

from dataclasses import replace

import numpy as np

from apptek.arrays import Ints, Longs
from apptek.audit.audit import MOST_JUDGED, Audit, audit_facts, spread_evenly
from apptek.audit.judge import Judge
from apptek.audit.report import suspects_of, table_of_facts
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.watch import watch_list
from apptek.forecast.window import Length, Window
from apptek.present.audit_words import when_words
from apptek.results import SuspectFact, WatchList, WatchRow, described, extended, record
from apptek.server.forecasts import require_forecasts, window_of
from apptek.server.served_model import ServedModel
from apptek.server.workers import within

AUDITED = 120  # facts that are listed with their reasons
MOST_WATCHED = 200  # pairs of a list


@record
class WatchedPair(WatchRow):
    """A pair of the list."""

    groups: tuple[str | None, ...] = described("The groups of its predicates.", default=())


@record
class WatchedPairs(WatchList):
    """The pairs whose chance of an event changes most; `ready` is false while they are compared."""

    rows: tuple[WatchedPair, ...] = described("One for each pair.")
    ready: bool = described("Whether the pairs have been compared.", default=True)


@record
class ListedSuspect(SuspectFact):
    """A fact that looks wrong, with its group and time for a list."""

    group: str | None = described("The group of its predicate.", default=None)
    date: str = described("The time of the fact, as text.", default="")


@record
class SuspectFacts:
    """The least plausible facts; `ready` is false while the model judges them."""

    ready: bool = described("Whether the facts have been judged.")
    facts: int = described("How many facts are judged.")
    rows: tuple[ListedSuspect, ...] = described("The least plausible facts.")


def watched_pairs(served: ServedModel, length: Length, count: int, wait: float) -> WatchedPairs:
    """Return the pairs whose chance changes most, if they are found within some seconds."""
    require_forecasts(served)
    forecaster = served.predictor.forecaster
    window = window_of(served, None, length)
    name = f"watch {window.length}"  # the longest list, once, whatever count is asked for
    work = served.background.start(name, lambda: _watch(forecaster, window))
    found = within(wait, work)
    if found is not None:
        return replace(found, rows=found.rows[:count])
    data = served.model.dataset.name
    fields = forecaster.window_fields(window)
    return WatchedPairs(ready=False, **fields, data=data, rows=(), notes=())


def _watch(forecaster: Forecaster, window: Window) -> WatchedPairs:
    labels = forecaster.answerer.labels
    found = watch_list(forecaster, window, most=MOST_WATCHED)
    rows = tuple(
        extended(
            WatchedPair, row, groups=tuple(labels.group_of(p.predicate) for p in row.predicates)
        )
        for row in found.rows
    )
    return extended(WatchedPairs, replace(found, rows=rows))


def suspect_facts(served: ServedModel, wait: float) -> SuspectFacts:
    """Return the facts that look wrong, if they are found within some seconds; else nothing yet."""
    work = served.background.start("audit", lambda: _suspects(served))
    rows = within(wait, work)
    judged = min(len(served.model.graph.facts), MOST_JUDGED)
    return SuspectFacts(ready=rows is not None, facts=judged, rows=rows or ())


def _suspects(served: ServedModel) -> tuple[ListedSuspect, ...]:
    audit, judged = audited(served, MOST_JUDGED)
    table = table_of_facts(audit, audit.order[: min(AUDITED, len(judged))], AUDITED)
    group_of = served.predictor.answerer.labels.group_of
    return tuple(
        extended(ListedSuspect, one, group=group_of(one.predicate), date=when_words(one))
        for one in suspects_of(table, AUDITED)
    )


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
