"""Queries as features, with their labels: in memory, or in shards on the disk.

The linear fit reads one shard at a time, so that its memory does not grow with the number of
queries. The re-ranker (preset max) joins all shards: its memory grows up to `fit.queries`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Arrays, Bools, Ints, close_columns
from apptek.config import View
from apptek.evaluation.filters import known_predicates
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries, askable, draw_evenly, held_out_queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.features.space import FeatureSpace
from apptek.models.fitting.stages import Fit
from apptek.models.model import rolling_graph
from apptek.ragged import Ragged, vstack
from apptek.resuming import StageCache
from apptek.seeding import generator

Rows = npt.NDArray[Any]
SHARD = 131_072  # examples per shard; fewer stay in memory
MOST_LOGITS = 2_500_000_000  # limit of an epoch: training queries x predicates
MOST_SCORES = 25_000_000  # limit of tuning queries x predicates: 100 MB
TUNING_SHARE = 0.1  # share of the training queries to tune on, if valid cannot be used
MAX_NEWEST = 0.3  # largest such share, if many facts have the time of the cut


@dataclass(frozen=True, slots=True)
class Examples:
    """Queries as features, with their predicates and the other known ones of the same (u, v, t).

    In training, the others are excluded from the loss, and come only from training facts. In
    validation, they are the filter of the ranks.
    """

    rows: Ragged
    labels: Ints
    others: Ragged

    def __post_init__(self) -> None:
        close_columns(self, "labels")

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Rows) -> "Examples":
        """Return some examples, in this order."""
        return Examples(self.rows.take(rows), self.labels[rows], self.others.take(rows))


def join_examples(shards: Sequence[Examples]) -> Examples:
    """Return all examples, one shard after the other, in memory."""
    if len(shards) == 1:
        return shards[0]
    parts = list(shards)
    labels = np.concatenate([part.labels for part in parts])
    others = vstack([part.others for part in parts])
    return Examples(vstack([part.rows for part in parts]), labels, others)


class StoredExamples(Sequence[Examples]):
    """Shards of examples in a cache of stages, each mapped from the disk while it is used."""

    def __init__(self, cache: StageCache, stages: Sequence[str]) -> None:
        self.cache, self.stages = cache, list(stages)
        for stage in stages:
            self._load(stage, check=True)

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, number: Any) -> Any:
        return self._load(self.stages[number])

    def _load(self, stage: str, *, check: bool = False) -> Examples:
        stored = self.cache.load(stage, check=check)
        assert stored is not None
        arrays, record = stored
        rows = Ragged(arrays["offsets"], arrays["columns"], record["width"], arrays.get("values"))
        others = Ragged(arrays["other_offsets"], arrays["others"])
        return Examples(rows, arrays["labels"], others)


def store_examples(cache: StageCache, stage: str, examples: Examples) -> None:
    """Keep a shard in a cache."""
    rows = examples.rows
    arrays: Arrays = {
        "offsets": rows.offsets,
        "columns": rows.columns,
        "labels": examples.labels,
        "other_offsets": examples.others.offsets,
        "others": examples.others.columns,
    }
    if rows.values is not None:
        arrays["values"] = rows.values
    cache.save(stage, arrays, {"width": rows.width})


@dataclass(frozen=True, slots=True)
class ViewExamples:
    """The examples that a view is fitted and tuned on.

    rows       the training facts of `train`, one shard after the other
    facts      to tune on, with the queries for them; `tuning` is None without such facts
    is_newest  whether these are the newest training facts
    seen       the features that the tuning queries see: if valid is later than train, those of
               every earlier fact, including valid, as if the model were updated day by day
    """

    space: FeatureSpace
    train: Sequence[Examples]
    rows: Rows
    facts: Facts
    queries: Queries
    tuning: Examples | None
    is_newest: bool
    seen: FeatureSpace


def examples_of(fit: Fit, space: FeatureSpace, view: View) -> ViewExamples:
    """Draw the facts that a view is fitted and tuned on, and compute their features."""
    usable, spared = tuning_rows(fit, view)
    train, rows = _training_examples(fit, space, usable, view)
    seen, data = space, fit.dataset
    if view == "past_only" and spared is None and data.lies_beyond_train("valid"):
        seen = space.on(rolling_graph(data, data.valid).seen_in(view))
    facts, queries, tuning = _tuning_examples(fit, seen, spared, view)
    is_newest = view == "past_only" and spared is not None
    return ViewExamples(space, train, rows, facts, queries, tuning, is_newest, seen)


def tuning_rows(fit: Fit, view: View) -> tuple[Rows, Rows | None]:
    """Return the training facts to fit on, and those to tune on; None: it is tuned on valid.

    If valid lies beyond train, its queries have no facts after them, which the view all_facts must
    expect: it is tuned on a tenth of the training queries instead. If a single file was split at
    random, weights of the view past_only would know the time of every valid fact: it is fitted on
    the older training facts and tuned on the newest, so that its probabilities hold for later ones.
    """
    data = fit.dataset
    usable = askable(data.train)
    if not len(data.valid):
        return usable, None
    if not data.lies_beyond_train("valid"):
        newest = _newest(fit, usable) if view == "past_only" and data.was_split else None
        return (usable, None) if newest is None else (usable[~newest], usable[newest])
    has_other_view = len(fit.config.views) > 1  # which then answers queries after train
    if view == "past_only" or not has_other_view:
        return usable, None
    drawn = generator(fit.options.seed, "tuning").random(len(usable)) < TUNING_SHARE
    if drawn.all() or not drawn.any():  # too few facts to spare any
        return usable, None
    return usable[~drawn], usable[drawn]


def _newest(fit: Fit, rows: Rows) -> Bools | None:
    """Return which training facts are the newest tenth, in whole times; None: none can be spared.

    Facts of one time stay together.
    """
    times = fit.dataset.train.times[rows]
    positions = fit.dataset.axis.positions(times)
    ordered = np.sort(positions[times != UNKNOWN])
    if not len(ordered):
        return None
    first = ordered[-max(1, round(TUNING_SHARE * len(ordered)))]
    newest: Bools = (times != UNKNOWN) & (positions >= first)
    return newest if newest.mean() <= MAX_NEWEST else None


def _training_examples(
    fit: Fit, space: FeatureSpace, rows: Rows, view: View
) -> tuple[Sequence[Examples], Rows]:
    """Return the examples to fit on, and the training facts that they are of, shard by shard.

    The shards of many queries are left in the work folder: which queries share one is drawn.
    """
    train, seed = fit.dataset.train, fit.options.seed
    most = min(fit.config.fit.queries, MOST_LOGITS // len(fit.dataset.predicates))
    rows = draw_evenly(train, rows, most, generator(seed, "queries"))
    parts = split_into_shards(rows, generator(seed, "shards"))
    rows = np.concatenate(parts)
    # A loss that knew facts of valid or test would leak them.
    others = known_predicates(train.take(rows), (train,))
    starts = np.cumsum([0, *map(len, parts)]).tolist()

    def make(number: int) -> Examples:
        part, place = parts[number], (number, len(parts))
        queries = training_queries(train, part)
        with fit.stage(f"features of train, {view}", *place):
            features = space.rows(queries)
        known = others.part(starts[number], starts[number + 1])
        return Examples(features, train.predicates[part], known)

    if len(parts) == 1:
        return [make(0)], rows
    stages = [f"examples, {view}, {number}" for number in range(len(parts))]
    for number, stage in enumerate(stages):
        if not fit.cache.path(stage).exists():
            store_examples(fit.cache, stage, make(number))
    return StoredExamples(fit.cache, stages), rows


def split_into_shards(rows: Rows, rng: np.random.Generator, size: int | None = None) -> list[Rows]:
    """Return the rows in shards, each ascending; of several, which row is in which is drawn."""
    size = size or SHARD
    if len(rows) <= size:
        return [rows]
    shuffled = rng.permutation(rows)
    return [np.sort(shuffled[start : start + size]) for start in range(0, len(rows), size)]


def _tuning_examples(
    fit: Fit, space: FeatureSpace, rows: Rows | None, view: View
) -> tuple[Facts, Queries, Examples | None]:
    """Return the facts to tune on, the queries for them, and these as examples, if there are any.

    rows  of training facts; None: those of valid
    """
    data = fit.dataset
    most = min(fit.config.fit.tuning_queries, MOST_SCORES // len(data.predicates))
    rng = generator(fit.options.seed, "tuning queries")
    if rows is None:
        drawn = draw_evenly(data.valid, np.arange(len(data.valid)), most, rng)
        facts = data.valid.take(drawn)
        queries = held_out_queries(facts)
    else:
        drawn = draw_evenly(data.train, rows, most, rng)
        facts, queries = data.train.take(drawn), training_queries(data.train, drawn)
    if not len(facts):
        return facts, queries, None
    with fit.stage(f"features of valid, {view}"):
        features = space.rows(queries)
    known = known_predicates(facts, (data.train, data.valid, data.test))
    return facts, queries, Examples(features, facts.predicates, known)
