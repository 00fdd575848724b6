"""Queries as features, with their labels: in memory, or in shards on the disk.

The linear fit reads one shard at a time, so that its memory does not grow with the number of
queries. The re-ranker (preset max) joins all shards, so its memory grows with the number of
queries, up to `fit.queries`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Arrays, Bools, Ints, close_columns
from apptek.config import View
from apptek.evaluation.filters import known_predicates
from apptek.facts.queries import Queries, askable, draw_evenly, held_out_queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.features.space import FeatureSpace
from apptek.models.fitting.stages import Fit
from apptek.models.model import rolling_graph
from apptek.ragged import Ragged, vstack
from apptek.resuming import StageCache
from apptek.seeding import generator

Rows = npt.NDArray[Any]
SHARD = 131_072  # examples per shard; fewer are kept in memory
MOST_LOGITS = 2_500_000_000  # limit of an epoch: training queries x predicates
MOST_SCORES = 25_000_000  # limit of tuning queries x predicates: 100 MB
TUNING_SHARE = 0.1  # of the training queries, to tune on if the validation set cannot be used
MAX_NEWEST = 0.3  # the largest such proportion, if many facts share the time of the cut


@dataclass(frozen=True, slots=True)
class Examples:
    """Queries as features, with their predicates and other known predicates of the same (u, v, t).

    In training, these other predicates come only from training facts and are excluded from the
    loss. In validation, they are filtered out of the ranks.
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
    """Return all examples in memory, one shard after another."""
    if len(shards) == 1:
        return shards[0]
    parts = list(shards)
    labels = np.concatenate([part.labels for part in parts])
    others = vstack([part.others for part in parts])
    return Examples(vstack([part.rows for part in parts]), labels, others)


class StoredExamples(Sequence[Examples]):
    """Shards of examples in a stage cache, each memory-mapped while it is in use."""

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
    """Store a shard in a cache."""
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

    rows       the training facts of the examples in `train`, one shard after another
    queries    the queries of the facts to tune on; without such facts, `tuning` is None
    is_newest  whether the facts to tune on are the newest training facts
    seen       the feature space of the tuning queries. If the validation set is later than the
               training set, it includes all earlier validation facts, as if the model were updated
               daily
    """

    space: FeatureSpace
    train: Sequence[Examples]
    rows: Rows
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
    queries, tuning = _tuning_examples(fit, seen, spared, view)
    is_newest = view == "past_only" and spared is not None
    return ViewExamples(space, train, rows, queries, tuning, is_newest, seen)


def tuning_rows(fit: Fit, view: View) -> tuple[Rows, Rows | None]:
    """Return the training facts to fit on and to tune on, or None to tune on the validation set.

    If the validation set is later than the training set, its queries have no facts after them. The
    all_facts view must expect later facts, so it is tuned on a tenth of the training queries
    instead. If a single file was split at random, the training set also contains facts from the
    time of each validation fact. The past_only view is then fitted on the older training facts and
    tuned on the newest, so that its probabilities are valid for later facts.
    """
    data = fit.dataset
    usable = askable(data.train)
    if not len(data.valid):
        return usable, None
    if not data.lies_beyond_train("valid"):
        newest = _newest(fit, usable) if view == "past_only" and data.was_split else None
        return (usable, None) if newest is None else (usable[~newest], usable[newest])
    has_other_view = len(fit.config.views) > 1  # which then answers later queries
    if view == "past_only" or not has_other_view:
        return usable, None
    drawn = generator(fit.options.seed, "tuning").random(len(usable)) < TUNING_SHARE
    if drawn.all() or not drawn.any():  # too few facts to hold any out
        return usable, None
    return usable[~drawn], usable[drawn]


def _newest(fit: Fit, rows: Rows) -> Bools | None:
    """Return which training facts are the newest tenth, or None if none can be held out.

    Facts with the same time are kept together.
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
    """Return the examples to fit on, and each example's training fact, shard by shard.

    With many queries, the shards are stored in the work folder, and each query's shard is drawn at
    random.
    """
    train, seed = fit.dataset.train, fit.options.seed
    most = min(fit.config.fit.queries, MOST_LOGITS // len(fit.dataset.predicates))
    rows = draw_evenly(train, rows, most, generator(seed, "queries"))
    parts = split_into_shards(rows, generator(seed, "shards"))
    rows = np.concatenate(parts)
    # Using validation or test facts in the loss would leak them.
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
    """Split rows into shards, each ascending. If there are several, draw each row's shard."""
    size = size or SHARD
    if len(rows) <= size:
        return [rows]
    shuffled = rng.permutation(rows)
    return [np.sort(shuffled[start : start + size]) for start in range(0, len(rows), size)]


def _tuning_examples(
    fit: Fit, space: FeatureSpace, rows: Rows | None, view: View
) -> tuple[Queries, Examples | None]:
    """Return the queries of the facts to tune on, and their examples if there are any.

    rows  the training facts to tune on, or None for the validation set
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
        return queries, None
    with fit.stage(f"features of valid, {view}"):
        features = space.rows(queries)
    known = known_predicates(facts, (data.train, data.valid, data.test))
    return queries, Examples(features, facts.predicates, known)
