"""Check who and when on a model that was fitted on a split by time, such as ICEWS14's forecast.

`python -m benchmarks.who_when MODEL [--result FILE]`

median   questions in the test period whose median lies inside the observed time: how often the
         event came by then, beside the chance that was stated for it
members  countries with several members, windows of 7 days: for each exponent of `at_least_one`, the
         log-loss before the test period; then stated and observed chances in the test period
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles
from apptek.features.traits import split_name
from apptek.forecast.event_filter import EventFilter, read_filter
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.learning import predicates_in
from apptek.forecast.next_event import HALF, chance_grid, median_lengths, median_steps
from apptek.forecast.partners import MEMBERS, at_least_one
from apptek.forecast.window import Window
from apptek.models.model_folder import load_model
from apptek.models.occurrence.events import Meetings, Pairs
from apptek.models.occurrence.snapshots import counts_in
from apptek.research.result import Result, write_result

EVERY, DAYS = 3, 7
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_MEMBERS = 5
EVENTS: tuple[dict[str, str], ...] = (
    {}, {"group": "material conflict"}, {"group": "verbal cooperation"},
    {"predicate": "Make statement"}, {"predicate": "Consult"},
)  # fmt: skip


def check_median(forecaster: Forecaster, event: EventFilter) -> dict[str, Any]:
    """Return how many medians lie inside the observed time, and how often the event came."""
    data, stated, came, lengths = forecaster.model.dataset, [0.0], [False], [0]
    first = forecaster.occurrence.fitted_until + 1
    for moment in range(first, forecaster.observed + 1, EVERY):
        events = forecaster.events
        keys = Meetings(events).before(moment)
        pairs = Pairs.at(keys, moment, events.width)
        longest = min(forecaster.occurrence.longest, forecaster.observed - moment + 1)
        made = forecaster.pair_forecasts(
            pairs.subjects, pairs.objects, Window(moment, moment + longest - 1)
        )
        rows = np.flatnonzero(made.probabilities >= HALF)  # else there is no median in it
        pairs = pairs.take(rows)
        made = forecaster.pair_forecasts(pairs.subjects, pairs.objects, made.window)
        shares = forecaster.shares(pairs) if event.name else None
        medians = median_steps(forecaster, made, shares, event)
        grid, steps = chance_grid(forecaster, made, shares, event), median_lengths(forecaster)
        for median in np.unique(medians[(medians > 0) & (medians <= longest)]).tolist():
            own = np.flatnonzero(medians == median)
            facts, count = forecaster.model.graph.facts, len(data.predicates)
            happened = predicates_in(facts, data.axis, pairs.take(own), median, count)
            came += np.atleast_1d(happened[:, event.predicates].any(axis=1)).tolist()
            stated += grid[np.flatnonzero(steps == median)[0], own].tolist()
            lengths += [median] * len(own)
    chances, hits, medians = np.asarray(stated)[1:], np.asarray(came)[1:], np.asarray(lengths)[1:]
    later = medians > 1  # a median of one step may have any chance from one half on
    return {
        "questions": len(hits),
        "came": _mean(hits),
        "stated": _mean(chances),
        "questions_beyond_one_step": int(later.sum()),
        "came_beyond_one_step": _mean(hits[later]),
        "stated_beyond_one_step": _mean(chances[later]),
    }


def _mean(values: Bools | Doubles) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


def check_members(forecaster: Forecaster) -> dict[str, Any]:
    """Return the log-loss of each exponent before test, and the reliability in test."""
    names, countries = forecaster.model.dataset.entities, dict[str, list[int]]()
    for entity, name in enumerate(names):
        if part := split_name(name):
            countries.setdefault(part[1], []).append(entity)
    groups = [np.asarray(ids) for ids in countries.values() if len(ids) >= LEAST_MEMBERS]
    end = forecaster.occurrence.fitted_until
    before, after = (
        [_outcomes(forecaster, groups, moment) for moment in range(start, stop - DAYS + 2, DAYS)]
        for start, stop in ((end - 4 * DAYS + 1, end), (end + 1, forecaster.observed))
    )

    def loss(parts: list[tuple[list[Doubles], Bools]], exponent: float) -> float:
        terms = []
        for chances, hits in parts:
            stated = np.concatenate([at_least_one(part, exponent) for part in chances])
            stated = np.clip(stated, 1e-9, 1 - 1e-9)
            terms.append(-np.log(np.where(hits, stated, 1 - stated)))
        return round(float(np.concatenate(terms).mean()), 6)

    stated = np.concatenate([at_least_one(part) for parts, _ in after for part in parts])
    hits = np.concatenate([part for _, part in after])
    bins = np.digitize(stated, (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8))
    return {
        "countries": len(groups),
        "exponent": MEMBERS,
        "log_loss_before_test": {str(e): loss(before, e) for e in EXPONENTS},
        "test": [
            {"pairs": int(own.sum()), "stated": _mean(stated[own]), "came": _mean(hits[own])}
            for place in range(8)
            if (own := bins == place).any()
        ],
    }


def _outcomes(
    forecaster: Forecaster, groups: list[Any], moment: int
) -> tuple[list[Doubles], Bools]:
    """The chances of each member and partner that had met, and whether any of them came true."""
    events, window = forecaster.events, Window(moment, moment + DAYS - 1)
    past, chances, hits = events.before(moment), list[Doubles](), list[Bools]()
    for ids in groups:
        partners = np.setdiff1d(past.objects[np.isin(past.subjects, ids)], ids)
        if not len(partners):
            continue
        actors, others = np.repeat(ids, len(partners)), np.tile(partners, len(ids))
        made = forecaster.pair_forecasts(actors, others, window)
        chances.append(made.probabilities.reshape(len(ids), -1))
        keys, places = np.unique(made.pairs.keys(events.width), return_inverse=True)
        counts = counts_in(events, keys, window.first, window.last)[places]
        hits.append(counts.reshape(len(ids), -1).sum(axis=0) > 0)
    return chances, np.concatenate(hits)


def main() -> None:
    """Print both checks as JSON, and write the result file."""
    parser = argparse.ArgumentParser(description="Check who and when.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--result", type=Path)
    given = parser.parse_args()
    model = load_model(given.model)
    forecaster = Forecaster(model)
    median = {}
    for words in EVENTS:
        predicate, group = words.get("predicate"), words.get("group")
        event = read_filter(forecaster, predicate, None, group)
        median[event.name or "anything"] = check_median(forecaster, event)
    found = {"median": median, "members": check_members(forecaster)}
    print(json.dumps(found, indent=1))
    if given.result:
        entries = {
            "model": "who_when", "dataset": model.dataset.name, "protocol": model.protocol,
            "seed": model.seed, "data": {"train": model.dataset.train.digest()}, **found,
            "command": f"python -m benchmarks.who_when {given.model.name}",
        }  # fmt: skip
        write_result(given.result, Result.from_json(entries))


if __name__ == "__main__":
    main()
