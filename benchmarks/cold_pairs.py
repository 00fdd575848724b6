"""Measures on valid what further kinds of features would be worth for pairs never seen.

    python -m benchmarks.cold_pairs icews14 --result cold-pairs-icews14.json

None of them is part of the product: this file makes them from the features that it has. Every trial
is a fit of the default preset in both views, its epoch chosen on valid.

constants  "the subject had predicate b with entity d", as rules with constants have it: a feature
           for a profile, a predicate b and an other entity d, for the (b, d) with most training
           facts; its value is made as that of the profile, z of the facts with both b and d
prior      share = z / (prior + sum of z) in place of z / (1 + sum of z): a larger prior shrinks
           what rests on few facts
rare       the value of a feature that n training queries have, times n / (n + prior)

Beside these: the MRR of the preset if the entities that train does not have were in no vocabulary,
and nothing were known of them, or what stands in their names.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.compiling import kernel, limit_threads
from apptek.config import FAMILIES, MOST_HISTORY_FACTS, View, preset
from apptek.evaluation.filters import groups
from apptek.evaluation.ranking import expected_ranks
from apptek.facts.facts import Dataset, Facts
from apptek.facts.protocols import apply_protocol
from apptek.facts.queries import Queries, QueryColumns, training_queries
from apptek.features.clock import EVER, MIDDLE, UNDATED_EVER, Clock, Fading, add_clock
from apptek.features.history import History
from apptek.features.history_kernels import (
    LEAST,
    SHARPNESS,
    SUBJECT_OUT,
    Sources,
    family_facts,
)
from apptek.features.new_names import NewNames
from apptek.features.space import make_space
from apptek.features.traits import types_from_names
from apptek.graph.slot_search import FIELDS, STREAMS
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.examples import ViewExamples, examples_of, join_examples
from apptek.models.fitting.linear_fit import fit_linear_softmax
from apptek.models.fitting.stages import Fit, FitOptions
from apptek.models.linear_softmax import LinearSoftmax
from apptek.ragged import Ragged, hstack
from apptek.reading.reader import read_dataset
from apptek.research.compare import bootstrap_interval
from apptek.research.result import Result, plain_settings, write_result
from apptek.seeding import generator
from apptek.setting_rules import with_settings

CLOCK = np.asarray([MIDDLE, EVER])  # the kernels that a constant has
SIDES = len(FAMILIES) - SUBJECT_OUT  # the profiles
SHOWN = ("unseen_pair", "unseen_entity", "seen_pair")


def prepare(fit: Fit, view: View) -> ViewExamples:
    """The examples of the default preset, as `fit` makes them, in one shard."""
    data, graph = fit.dataset, TemporalGraph.of(fit.dataset)
    kinds = types_from_names(data.entities, data.train, from_neighbours=view == "all_facts")
    clock = Clock.of(graph)
    space = make_space(graph.seen_in(view), data, fit.config, clock, tuple(kinds))
    made = examples_of(fit, space, view)
    return replace(made, train=[join_examples(made.train)])


def most_frequent(facts: Facts, others: Ints, entity_count: int, most: int) -> Longs:
    """The `most` keys predicate * entities + other entity with most facts, ascending."""
    keys, counts = np.unique(
        facts.predicates.astype(np.int64) * entity_count + others, return_counts=True
    )
    return np.sort(keys[np.argsort(-counts, kind="stable")[:most]])


def constants(history: History, train: Facts, queries: Queries, most: int) -> Ragged:
    """The constants of many queries; the columns are (profile * most + key) * kernels + kernel."""
    count = history.graph.entity_count
    out, into = (most_frequent(train, o, count, most) for o in (train.objects, train.subjects))
    places = len(queries) * SIDES * history.config.profile_facts * len(CLOCK)
    rows, columns = np.empty(places, np.int32), np.empty(places, np.int32)
    values = np.empty(places, np.float32)
    arguments: Any = (
        history.sources(), queries.for_kernels(history.graph.axis), history.fading,
        (out, into), count, most, rows, columns, values,
    )  # fmt: skip
    used = write_constants(*arguments)
    offsets = np.searchsorted(rows[:used], np.arange(len(queries) + 1)).astype(np.int64)
    weighed = np.float32(history.config.profile_weight) * np.log1p(
        np.float32(SHARPNESS) * values[:used]
    )
    return Ragged(offsets, columns[:used].copy(), SIDES * most * len(CLOCK), weighed)


@kernel
def write_constants(
    sources: Sources, queries: QueryColumns, fading: Fading, keys: tuple[Longs, Longs],
    entity_count: int, most: int, rows: Ints, columns: Ints, values: Floats,
) -> int:  # fmt: skip
    """Writes row, column and share of every constant; returns how many there are."""
    subjects, objects, whens, hidden = queries
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    sums, totals = np.zeros((most, fading.shape[0] + 7)), np.zeros(fading.shape[0] + 7)
    met, cuts = np.empty(MOST_HISTORY_FACTS, np.int64), np.zeros(1, np.int64)
    nothing = np.zeros((1, fading.shape[0] + 7))
    used = 0
    for row in range(subjects.size):
        for side in range(SIDES):
            family = SUBJECT_OUT + side
            count = family_facts(
                sources, family, subjects[row], objects[row], whens[row], hidden[row], streams,
                nearest, cuts,
            )  # fmt: skip
            facts = sources.facts
            known, others = (keys[0], facts[2]) if side % 2 == 0 else (keys[1], facts[0])
            totals[:] = 0.0
            met_count = 0
            for i in range(count):
                fact = nearest[i, 2]
                key = np.int64(facts[1][fact]) * entity_count + others[fact]
                place = np.searchsorted(known, key)
                if place == known.size or known[place] != key:
                    add_clock(nearest[i, 0], nearest[i, 1], whens[row], fading, nothing, 0, totals)
                    continue
                if sums[place, EVER] + sums[place, UNDATED_EVER] == 0:
                    met[met_count] = place
                    met_count += 1
                add_clock(nearest[i, 0], nearest[i, 1], whens[row], fading, sums, place, totals)
            for i in range(met_count):
                place = met[i]
                for number in range(CLOCK.size):
                    z, total = sums[place, CLOCK[number]], totals[CLOCK[number]]
                    if CLOCK[number] == EVER:  # a query has one of the two
                        z, total = z + sums[place, UNDATED_EVER], total + totals[UNDATED_EVER]
                    if z >= LEAST:
                        rows[used] = row
                        columns[used] = (side * most + place) * CLOCK.size + number
                        values[used] = z / (1.0 + total)
                        used += 1
                sums[place] = 0.0
    return used


def with_prior(history: History, rows: Ragged, prior: float) -> Ragged:
    """The history features with another prior, the other features as they are.

    The shares of a family and kernel add up to T / (1 + T), which gives T but for what is too
    small to be a feature.
    """
    ours = rows.columns < len(history)
    columns, width = rows.columns[ours], len(history.kernels)
    block = width * history.graph.predicate_count
    of_pair = columns < sum(f in ("pair", "reversed") for f in history.families) * block
    weights = np.where(of_pair, history.config.pair_weight, history.config.profile_weight)
    values = rows.flat_values[ours].astype(np.float64)
    shares = np.expm1(values / weights) / SHARPNESS
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))[ours]
    group = (row_of * len(history.families) + columns // block) * width + columns % width
    sums = np.bincount(group, shares)[group]
    totals = sums / np.maximum(1.0 - sums, 1e-6)
    shares *= (1.0 + totals) / (prior + totals)
    changed = rows.flat_values.copy()
    changed[ours] = weights * np.log1p(SHARPNESS * shares)
    return Ragged(rows.offsets, rows.columns, rows.width, changed)


def scaled(rows: Ragged, factors: Floats) -> Ragged:
    """The features, each times its factor."""
    values = rows.flat_values * factors[rows.columns]
    return Ragged(rows.offsets, rows.columns, rows.width, values)


def trials(made: ViewExamples, data: Dataset) -> Iterator[tuple[str, Ragged, Ragged]]:
    """The name of each trial and its features for train and valid; the first one is the preset."""
    history = made.space.history
    assert history is not None
    assert made.tuning is not None
    train, valid = made.train[0].rows, made.tuning.rows
    yield "default", train, valid
    for most in (1000, 5000, 20_000):
        added = (
            constants(history, data.train, asked, most)
            for asked in (training_queries(data.train, made.rows), made.queries)
        )
        pairs = zip((train, valid), added, strict=True)
        of_train, of_valid = (hstack(list(parts)) for parts in pairs)
        yield f"constants={most}", of_train, of_valid
    for prior in (0.3, 3.0, 10.0):
        yield (
            f"prior={prior:g}",
            with_prior(history, train, prior),
            with_prior(history, valid, prior),
        )
    counts = np.bincount(train.columns, minlength=train.width)
    for prior in (10.0, 100.0):
        factors = (counts / (counts + prior)).astype(np.float32)
        yield f"rare={prior:g}", scaled(train, factors), scaled(valid, factors)


def fitted(
    fit: Fit, made: ViewExamples, features: tuple[Ragged, Ragged]
) -> tuple[LinearSoftmax, dict[str, Any]]:
    """The weights over these features of train and valid, and what was chosen."""
    assert made.tuning is not None
    train, valid = replace(made.train[0], rows=features[0]), replace(made.tuning, rows=features[1])
    classifier, report = fit_linear_softmax(
        [train],
        valid,
        class_count=len(fit.dataset.predicates),
        config=fit.config.classifier,
        rng=generator(fit.options.seed, "classifier"),
        copies=made.space.copies(),
    )
    return classifier, {
        "l2": report.l2, "epoch": report.epoch, "features": train.rows.width
    }  # fmt: skip


def without_vocabulary(made: ViewExamples, data: Dataset) -> Iterator[tuple[str, Ragged]]:
    """The features of valid if no vocabulary had the entities that train has not.

    Of a new name nothing is known, or what stands in it.
    """
    traits = made.space.traits
    assert traits is not None
    told = NewNames(traits.kinds, strict=True)
    seen = np.zeros(len(data.entities), np.bool_)
    seen[data.train.subjects] = seen[data.train.objects] = True
    nothing = np.full(len(seen), -1, np.int32)
    read = np.asarray([told.id(name) for name in data.entities], np.int32)
    queries = made.queries
    for name, ids in (("new names, nothing known", nothing), ("new names, read", read)):
        ids[seen] = np.flatnonzero(seen)
        asked = replace(queries, subjects=ids[queries.subjects], objects=ids[queries.objects])
        yield name, made.space.rows(asked)


def measure(fit: Fit, view: View, only: str) -> Iterator[dict[str, Any]]:
    """The MRR of every trial in a view, with the difference from the preset."""
    made = prepare(fit, view)
    assert made.tuning is not None
    labels, others = made.tuning.labels, made.tuning.others
    members = groups(made.facts, fit.dataset.train, fit.dataset.predicates)
    every = {"all": np.ones(len(made.facts), np.bool_)} | {name: members[name] for name in SHOWN}
    shown = {group: rows for group, rows in every.items() if rows.any()}
    first: Doubles | None = None

    def entry(name: str, classifier: LinearSoftmax, rows: Ragged) -> dict[str, Any]:
        nonlocal first
        ranks = expected_ranks(classifier.scores(rows), labels, others)
        values = 1 / ranks
        first = values if first is None else first
        figures = {group: compared(values[own], first[own]) for group, own in shown.items()}
        return {"trial": name, "view": view, **figures}

    for name, train, valid in trials(made, fit.dataset):
        if first is None or name.startswith(only):
            classifier, chosen = fitted(fit, made, (train, valid))
            is_preset = first is None
            yield entry(name, classifier, valid) | chosen
            if is_preset:
                for variant, rows in without_vocabulary(made, fit.dataset):
                    yield entry(variant, classifier, rows) | chosen


def compared(values: Doubles, first: Doubles) -> dict[str, Any]:
    """The MRR, and its difference from that of the preset with a 95 % interval."""
    gains = values - first
    return {
        "queries": len(values),
        "mrr": float(values.mean()),
        "difference": float(gains.mean()),
        "interval": bootstrap_interval(gains, rng=generator(0, "bootstrap")),
    }


def main() -> None:
    """Fits every trial in both views and writes the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--only", default="", help="trials whose names begin so")
    parser.add_argument("--result", type=Path, required=True)
    asked = parser.parse_args()
    limit_threads(1)
    config = with_settings(preset("default"), asked.settings)
    data = apply_protocol(read_dataset(asked.data).labelled(), "official")
    options = FitOptions(config=config, preset="default")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        fit = Fit(data, options, Path(folder))
        for view in config.views:
            for entry in measure(fit, view, asked.only):
                found.append(entry)
                figures = [f"{g} {entry[g]['mrr']:.4f}" for g in ("all", *SHOWN) if g in entry]
                sys.stdout.write(f"{view}, {entry['trial']}: {', '.join(figures)}\n")
                sys.stdout.flush()
    write_result(
        asked.result,
        Result(
            model="cold_pairs",
            dataset=data.name,
            protocol="official",
            seed=options.seed,
            settings=plain_settings(config),
            extras={"asked": "valid", "trials": found},
        ),
    )


if __name__ == "__main__":
    main()
