"""Ways to split facts: a single file at random or by time, a benchmark by a protocol.

A protocol uses the published splits, the splits that the paper must have used, or a cut by date:

| protocol | train                | valid                     | test                       |
|----------|----------------------|---------------------------|----------------------------|
| official | as it is             | as it is                  | as it is                   |
| paper    | as it is             | the public test, filtered | the public valid, filtered |
| forecast | up to the first date | up to the second date     | all later facts            |

Filtered: facts with an entity, a predicate or a written time that train lacks are dropped. By date:
the facts in all three files, each once, cut at the dates in the forecasting literature. Only some
benchmarks have such dates.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from apptek.arrays import Ints
from apptek.errors import DataError, TimeFormatError
from apptek.facts.benchmarks import BENCHMARKS
from apptek.facts.fact_keys import fact_keys, first_occurrences
from apptek.facts.facts import SPLITS, Dataset, Facts
from apptek.facts.times import UNKNOWN
from apptek.seeding import generator

Protocol = Literal["official", "paper", "forecast"]
PROTOCOLS: tuple[Protocol, ...] = ("official", "paper", "forecast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How to split: at random with a seed, or by time (train first, test last).

    When splitting by time, simultaneous facts are kept together. Undated facts become training
    facts.
    """

    by: Literal["random", "time"] = "random"
    train: float = 0.8
    valid: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in ("random", "time"):
            raise DataError(f"split by {self.by!r}: expected random or time")
        if self.seed < 0:
            raise DataError(f"split with seed {self.seed}: expected 0 or more")
        if not (0 < self.train <= 1 and 0 <= self.valid <= 1 and self.train + self.valid <= 1):
            raise DataError(
                f"split {self.train:g}/{self.valid:g}: expected proportions for train and valid, "
                "above 0 and with a sum of at most 1"
            )


def split_facts(dataset: Dataset, splitting: Splitting) -> Dataset:
    """Return the data set with its training facts split in three. Each part keeps their order.

    A random split draws from the sorted facts, so it does not depend on the order of the rows.
    """
    facts = dataset.train
    shares = (splitting.train, splitting.train + splitting.valid)
    cuts = [round(len(facts) * share) for share in shares]
    if splitting.by == "random":
        (keys,) = fact_keys(facts)
        drawn = generator(splitting.seed, "split").permutation(len(facts))
        order = np.argsort(keys, kind="stable")[drawn]
    else:
        if not facts.dated.any():
            raise DataError(f"{dataset.name} cannot be split by time: no fact is dated")
        times = dataset.axis.positions(facts.times)
        order = np.argsort(times, kind="stable")
        cuts = [_end_of_time(times[order], cut) for cut in cuts]
    train, valid, test = (facts.take(np.sort(rows)) for rows in np.split(order, cuts))
    return replace(dataset, train=train, valid=valid, test=test, was_split=True)


def _end_of_time(ordered: Ints, cut: int) -> int:
    """Return the first position from `cut` on where a new time starts, so that no time is divided.

    UNKNOWN sorts first and counts as one time, so all undated facts become training facts.
    """
    return int(np.searchsorted(ordered, ordered[cut - 1], side="right")) if cut else 0


def apply_protocol(dataset: Dataset, protocol: Protocol) -> Dataset:
    """Return the data set under a protocol, with unchanged names, ids and read report."""
    if protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise DataError(f"there is no protocol {protocol!r}; the known ones are {known}")
    if protocol == "official":
        return dataset
    if protocol == "forecast":
        return cut_by_date(dataset, _forecast_cuts(dataset))
    # Swapped on purpose: only this matches the paper's counts, see docs/deviations.md.
    valid, test = (_without_unseen(dataset, facts) for facts in (dataset.test, dataset.valid))
    return replace(dataset, valid=valid, test=test)


def cut_by_date(dataset: Dataset, last_times: tuple[str, str]) -> Dataset:
    """Return the facts in all splits, each once, cut at these times. Later facts are the test set.

    A fact is placed by its since, or by its until if since is unknown. Undated facts become
    training facts. Facts keep their order: training facts first, then validation and test facts.
    """
    axis, cuts = dataset.axis, " and ".join(last_times)
    other_files = f"{dataset.name} cannot be cut at {cuts}, as the public files are"
    try:
        train_until, valid_until = (axis.position(axis.parse(time)) for time in last_times)
    except TimeFormatError as error:
        raise DataError(f"{other_files}: {error}") from None
    facts = dataset.all_facts()
    (keys,) = fact_keys(facts)
    firsts = first_occurrences(keys)
    if firsts is not None:
        facts = facts.take(firsts)
    times = dataset.axis.positions(facts.times)  # UNKNOWN is before all times
    in_train, in_test = times <= train_until, times > valid_until
    parts = [facts.take(rows) for rows in (in_train, ~(in_train | in_test), in_test)]
    for split, part in zip(SPLITS, parts, strict=True):
        if not len(part):
            raise DataError(f"{other_files}: {split} would be empty")
    return replace(dataset, train=parts[0], valid=parts[1], test=parts[2])


def _forecast_cuts(dataset: Dataset) -> tuple[str, str]:
    benchmark = BENCHMARKS.get(dataset.name)
    if benchmark is None or benchmark.forecast_cuts is None:
        known = " and ".join(name for name, known in BENCHMARKS.items() if known.forecast_cuts)
        raise DataError(
            f"{dataset.name} has no protocol forecast: only {known} have published dates to cut "
            "at; to split your own file by time, use --split-by time"
        )
    return benchmark.forecast_cuts


def _without_unseen(dataset: Dataset, facts: Facts) -> Facts:
    """Return the facts without names or times unseen in train. An unknown end counts as seen."""
    train = dataset.train
    ends, times = (
        np.append(train.subjects, train.objects),
        np.append(distinct_times(train), UNKNOWN),
    )
    seen = np.isin(facts.subjects, ends) & np.isin(facts.objects, ends)
    seen &= np.isin(facts.predicates, train.predicates)
    return facts.take(seen & np.isin(facts.since, times) & np.isin(facts.until, times))


def distinct_times(facts: Facts) -> Ints:
    """Return the distinct known time codes of the facts (since and until), in ascending order."""
    codes = np.union1d(facts.since, facts.until)
    known: Ints = codes[codes != UNKNOWN]
    return known
