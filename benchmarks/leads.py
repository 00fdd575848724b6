"""The bench of leads: forecasts of the most active pairs after a gap, beside simple rules.

A model is fitted on the facts until each of six days. It forecasts a week that begins some days
later for the 400 ordered pairs with most facts so far. Rules that a user could apply by hand:

| rule         | its forecast                                                                      |
|--------------|-----------------------------------------------------------------------------------|
| rate_30 ...  | from the share of the last 30, 60 or 90 days on which the pair had a fact         |
| recalibrated | a logistic regression on five such rates, fitted on earlier weeks with that lead  |
| level_known  | the model, its log-odds shifted by what fits the outcome best: nobody knows that  |

Then medians: how often the next event came until the median, beside the chance stated for it.
"""

from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.evaluation.logistic import fit_logistic
from apptek.features.clock import Clock
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.occurrence.counts import PairCounts, distinct_times
from apptek.models.occurrence.events import Events, Meetings, Pairs
from apptek.models.occurrence.fitting import Period, fit_occurrence, leads_of, windows_of
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.occurrence.snapshots import counts_in
from apptek.reading.reader import read_dataset
from benchmarks.report import BenchReport, bench_dataset

CUTS = (150, 180, 211, 242, 272, 303)  # of 365: in a year, the last days of May to October
LEADS, WINDOW, ACTIVE = (0, 7, 14, 28, 42), 7, 400
SPANS = (7, 30, 60, 90, 180)  # of rates, in days
WEEKS, FIRST = 20, 90  # earlier weeks that a rule is recalibrated on; none in the first days
EVERY, UNTIL = 5, 60  # days between two looks at medians, and until when


def bench_leads(*, quick: bool = False, data: str | None = None) -> BenchReport:
    """Brier scores and levels by lead, mean over the cuts; medians by cut."""
    dataset = bench_dataset(quick) if data is None else read_dataset(data)
    facts, axis, size = dataset.all_facts(), dataset.axis, len(dataset.entities)
    events = Events.of(facts, axis, size)
    days = int(events.times[-1] - events.times[0]) + 1
    rows, medians = list[dict[str, Any]](), list[dict[str, Any]]()
    for share in CUTS[-2:] if quick else CUTS:
        last = int(events.times[0]) + round(share / 365 * days)
        known = facts.take(axis.positions(facts.times) <= last)
        clock = Clock.of(TemporalGraph.build(known, axis, size, len(dataset.predicates)))
        counts = PairCounts(events.before(last + 1), clock)
        windows, period = windows_of(axis, clock), Period.of(counts.events, last)
        model = fit_occurrence(counts, windows, period, seed=0, leads=leads_of(axis, clock))
        if model is None:
            raise ValueError("too little happens to measure forecasts on")
        cut = axis.format(last)
        rows += [{"cut": cut, **_of_lead(events, model, counts, last + 1, n)} for n in LEADS]
        medians.append({"cut": cut, **_medians(events, model, PairCounts(events, clock), last + 1)})
    names = [name for name in rows[0] if name not in ("cut", "lead")]
    means = {
        str(lead): {n: float(np.mean([r[n] for r in rows if r["lead"] == lead])) for n in names}
        for lead in LEADS
    }
    return BenchReport({}, {"leads": means, "cuts": rows, "medians": medians}, {})


def _of_lead(
    events: Events, model: OccurrenceModel, counts: PairCounts, moment: int, lead: int
) -> dict[str, Any]:
    """The Brier scores of one cut and lead, and how far the mean forecast is from what happened."""
    keys, first = _most_active(events, moment), moment + lead
    pairs = Pairs.at(keys, moment, events.width)
    hits = counts_in(events, keys, first, first + WINDOW - 1) > 0
    features, rates = counts.features(pairs), _rates(events, keys, moment)
    chances = model.occurrence(features, np.ones(len(keys), np.bool_), WINDOW, lead)
    odds = np.log(chances.probabilities) - np.log1p(-chances.probabilities)
    one = np.ones((len(keys), 1))
    level = fit_logistic(one, hits, one[:, 0], offsets=odds, penalty=0.0)[0]
    rules = {f"rate_{SPANS[n]}": 1 - (1 - rates[:, n]) ** WINDOW for n in (1, 2, 3)}
    rules["recalibrated"] = _recalibrated(events, rates, moment, lead)
    rules["level_known"] = 1 / (1 + np.exp(-odds - level))
    forecasts = {"model": chances.probabilities, **rules}
    return {
        "lead": lead,
        "observed": float(hits.mean()),
        "mean_minus_observed": float(chances.probabilities.mean() - hits.mean()),
        **{f"brier_{name}": float(((p - hits) ** 2).mean()) for name, p in forecasts.items()},
    }


def _most_active(events: Events, moment: int) -> Longs:
    keys, counts = np.unique(events.before(moment).keys(), return_counts=True)
    return keys[np.argsort(-counts, kind="stable")[:ACTIVE]]


def _rates(events: Events, keys: Longs, moment: int) -> Doubles:
    """The share of days with a fact in the last days of each span: (n, spans)."""
    columns = []
    for span in SPANS:
        found, counts = np.unique(
            distinct_times(events.within(moment - span, moment - 1))[0], return_counts=True
        )
        places = np.minimum(np.searchsorted(found, keys), len(found) - 1)
        columns.append((np.where(found[places] == keys, counts[places], 0) + 0.3) / (span + 1))
    return np.stack(columns, axis=1)


def _recalibrated(events: Events, rates: Doubles, moment: int, lead: int) -> Doubles:
    tables, hits = list[Doubles](), list[Bools]()
    start = max(int(events.times[0]) + FIRST, 0)
    for week in range(moment - lead - WINDOW, start, -WINDOW)[:WEEKS]:
        keys = _most_active(events, week)
        tables.append(np.log(_rates(events, keys, week)))
        hits.append(counts_in(events, keys, week + lead, week + lead + WINDOW - 1) > 0)
    table, happened = np.concatenate(tables), np.concatenate(hits)
    means, ones = table.mean(axis=0), np.ones((len(table), 1))
    weights = fit_logistic(
        np.concatenate([table - means, ones], axis=1), happened, ones[:, 0],
        offsets=np.zeros(len(table)), penalty=1.0,
    )  # fmt: skip
    asked = np.concatenate([np.log(rates) - means, np.ones((len(rates), 1))], axis=1)
    chances: Doubles = 1 / (1 + np.exp(-asked @ weights))
    return chances


def _medians(
    events: Events, model: OccurrenceModel, counts: PairCounts, first: int
) -> dict[str, Any]:
    """How often an event came until the median, of all pairs with a median, and what was stated."""
    stated, came, end = list[float](), list[bool](), int(events.times[-1])
    for moment in range(first, min(first + UNTIL, end - 1), EVERY):
        keys = Meetings(events).before(moment)
        features = counts.features(Pairs.at(keys, moment, events.width))
        longest, met = min(model.longest, end - moment + 1), np.ones(len(keys), np.bool_)
        rows = np.flatnonzero(model.occurrence(features, met, longest).probabilities >= 0.5)
        features, keys, met = features[rows], keys[rows], met[rows]
        lengths = range(1, longest + 1)
        grid = np.stack([model.occurrence(features, met, n).probabilities for n in lengths])
        medians = np.argmax(grid >= 0.5, axis=0)
        for place in np.unique(medians).tolist():
            own = np.flatnonzero(medians == place)
            came += (counts_in(events, keys[own], moment, moment + place) > 0).tolist()
            stated += grid[place, own].tolist()
    return {"questions": len(came), "stated": float(np.mean(stated)), "came": float(np.mean(came))}
