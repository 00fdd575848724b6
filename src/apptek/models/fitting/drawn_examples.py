"""Which facts a fit learns from and tunes on, and the features of the queries for them.

The features are made in shards and left in the work folder.
"""

from collections.abc import Sequence

import numpy as np

from apptek.arrays import Bools
from apptek.config import View
from apptek.evaluation.filters import known_predicates
from apptek.facts.facts import Facts
from apptek.facts.queries import (
    Queries,
    askable,
    draw_evenly,
    held_out_queries,
    training_queries,
)
from apptek.facts.times import UNKNOWN
from apptek.features.space import FeatureSpace
from apptek.models.fitting.examples import (
    Examples,
    Rows,
    StoredExamples,
    split_into_shards,
    store_examples,
)
from apptek.models.fitting.stages import Fit
from apptek.ragged import Ragged, hstack
from apptek.seeding import generator

TUNING_SHARE = 0.1  # of the training queries, where valid cannot serve
MAX_NEWEST = 0.3  # the same, where many facts have the time of the cut


def tuning_rows(fit: Fit, view: View) -> tuple[Rows, Rows | None]:
    """The training facts to fit on, and those to tune on; None: valid is what it is tuned on.

    Where valid lies beyond train, its queries have no facts after them, which the view within must
    expect: it is tuned on a tenth of the training queries instead. Where a single file was split at
    random, weights of the view ahead would know the time of every valid fact: it is fitted on the
    older training facts and tuned on the newest, so that its probabilities hold for later ones.
    """
    data = fit.dataset
    usable = askable(data.train)
    if not len(data.valid):
        return usable, None
    if not data.lies_beyond_train("valid"):
        newest = _newest(fit, usable) if view == "past_only" and data.was_split else None
        return (usable, None) if newest is None else (usable[~newest], usable[newest])
    has_other_view = len(fit.config.views) > 1  # which then answers what lies beyond train
    if view == "past_only" or not has_other_view:
        return usable, None
    drawn = generator(fit.options.seed, "tuning").random(len(usable)) < TUNING_SHARE
    if drawn.all() or not drawn.any():  # too few facts to spare any
        return usable, None
    return usable[~drawn], usable[drawn]


def _newest(fit: Fit, rows: Rows) -> Bools | None:
    """Which training facts are the newest tenth, in whole times; None where none can be spared."""
    times = fit.dataset.train.times[rows]
    positions = fit.dataset.axis.positions(times)
    ordered = np.sort(positions[times != UNKNOWN])
    if not len(ordered):
        return None
    first = ordered[-max(1, round(TUNING_SHARE * len(ordered)))]
    newest: Bools = (times != UNKNOWN) & (positions >= first)
    return newest if newest.mean() <= MAX_NEWEST else None


def training_examples(
    fit: Fit, space: FeatureSpace, rows: Rows, view: View
) -> tuple[Sequence[Examples], Rows]:
    """The examples to fit on, and the training facts that they are of, one shard after the other.

    A fit of many queries looks at one shard at a time: which queries share one is drawn.
    """
    train, seed = fit.dataset.train, fit.options.seed
    rows = draw_evenly(train, rows, fit.config.fit.queries, generator(seed, "queries"))
    parts = split_into_shards(rows, generator(seed, "shards"))
    rows = np.concatenate(parts)
    # A loss that knew facts of valid or test would leak them.
    others = known_predicates(train.take(rows), (train,))
    starts = np.cumsum([0, *map(len, parts)]).tolist()

    def make(number: int) -> Examples:
        part, place = parts[number], (number, len(parts))
        queries = training_queries(train, part)
        features, cuts = _features(fit, space, queries, f"train, {view}", place)
        known = others.part(starts[number], starts[number + 1])
        return Examples(features, train.predicates[part], known, cuts)

    if len(parts) == 1:
        return [make(0)], rows
    stages = [f"examples, {view}, {number}" for number in range(len(parts))]
    for number, stage in enumerate(stages):
        if not fit.cache.path(stage).exists():
            store_examples(fit.cache, stage, make(number))
    return StoredExamples(fit.cache, stages), rows


def tuning_queries(fit: Fit, rows: Rows | None) -> tuple[Facts, Queries]:
    """The facts to tune on, and the queries for them: some training facts, or valid."""
    data, most = fit.dataset, fit.config.fit.tuning_queries
    rng = generator(fit.options.seed, "tuning queries")
    if rows is None:
        rows = draw_evenly(data.valid, np.arange(len(data.valid)), most, rng)
        facts = data.valid.take(rows)
        return facts, held_out_queries(facts)
    rows = draw_evenly(data.train, rows, most, rng)
    return data.train.take(rows), training_queries(data.train, rows)


def tuning_examples(
    fit: Fit, space: FeatureSpace, facts: Facts, queries: Queries, view: View
) -> Examples | None:
    """The examples to tune on; None where there are none."""
    if not len(facts):
        return None
    data = fit.dataset
    features, cuts = _features(fit, space, queries, f"valid, {view}")
    known = known_predicates(facts, (data.train, data.valid, data.test))
    return Examples(features, facts.predicates, known, cuts)


def _features(
    fit: Fit, space: FeatureSpace, queries: Queries, name: str, place: tuple[int, int] = (0, 1)
) -> tuple[Ragged, int]:
    """The features of some queries and the cuts, added parts from the work folder if there."""
    added = []
    for part in space.added:
        with fit.stage(f"apply {part.name}", *place):
            stage = f"{part.name} of {name}" + (f", {place[0]}" if place[1] > 1 else "")
            alone = FeatureSpace(space.graph, (part,))
            added.append(_added_rows(fit, alone, queries, stage))
    with fit.stage(f"features of {name}", *place):
        own = space.parts[: len(space.parts) - len(added)]
        if not own:
            return hstack(added), 0
        rows, cuts = FeatureSpace(space.graph, own).counted_rows(queries)
        return hstack([rows, *added]) if added else rows, cuts


def _added_rows(fit: Fit, space: FeatureSpace, queries: Queries, stage: str) -> Ragged:
    """Return the features of an added part, from the work folder if they are there."""
    stored = fit.cache.load(stage)
    if stored is not None:
        return Ragged.stored(stored[0], len(space)).checked()
    rows = space.rows(queries)
    fit.cache.save(stage, rows.arrays())
    return rows
