"""The occurrence model: the probability that one entity acts on another in a window.

A few window lengths have a horizon each; see horizon.py. The cumulative hazard -log(1 - P) adds up
over time, so it never falls with a longer window. If P is near 1, outcomes no longer distinguish
between hazards. A longer window then has at most the rate of the shorter one. Between two lengths,
the logarithm of the hazard is interpolated in the logarithm of the length. Shorter and longer
windows have the rate of the nearest fitted length.

The expected number of facts is P times the number per window with a fact. That is
e^a * (steps / P)^b * (times / P')^c, fitted for each length, because facts come in bursts. `steps`
is the expected number of steps with a fact: n (1 - e^(-hazard / n)) for a window of n steps.
`times` is the length divided by the mean gap between two of the pair's facts. P' is the chance of
an active pair with this rhythm. Both are needed because the hazard says little about the number of
facts if P is near 1. No exponent is negative, so a pair that stopped has few expected facts. A
longer window never has fewer expected facts.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.evaluation.predicate_classes import PredicateClasses
from apptek.features.clock import Clock
from apptek.models.entity_ranker import EntityRanker
from apptek.models.occurrence.horizon import LEAST, Horizon, hazards_of, log_numbers
from apptek.models.occurrence.pair_counts import NAMES
from apptek.setting_rules import config_from_json

_PLAIN = ("all_facts", "either", "fitted_until", "stride")  # fields that are JSON values
_TINY = 1e-300


def coherent(chances: Doubles, numbers: Doubles, anything: Doubles) -> Doubles:
    """Adjust the chances of at least one fact of each predicate, (B, R), to possible values.

    No chance is above the expected number of such facts, (B, R), or above the chance of any fact,
    (B, 1). Their sum is not below the chance of any fact: if it is, each chance is raised toward
    its bound. The order of the predicates is kept.
    """
    most = np.minimum(numbers, anything)
    kept = np.minimum(chances, most)
    room = most - kept
    missing = np.maximum(anything - kept.sum(axis=1, keepdims=True), 0.0)
    raised: Doubles = kept + room * np.minimum(
        missing / np.maximum(room.sum(axis=1, keepdims=True), _TINY), 1.0
    )
    return raised


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The chance and expected number of facts for some pairs in a window."""

    probabilities: Doubles  # of at least one fact
    expected: Doubles  # the number of facts, not below the probability

    def take(self, rows: slice | Longs) -> "Occurrence":
        """Return the values of the given pairs."""
        return Occurrence(self.probabilities[rows], self.expected[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceModel:
    """The regressions by window length, and the properties of the data that they need.

    fitted_until  the last position whose facts the model was fitted or calibrated on
    all_facts     whether the model's graph includes the validation and test facts
    predicates    a and b of a predicate's probability, see `predicate_probabilities`
    either        from 0 to 1: how independent the two directions of a pair are
    stride        the distance between two successive times, in the unit of the axis
    ranker        ranks the missing entity; None if there are too few facts to learn from
    """

    clock: Clock
    horizons: tuple[Horizon, ...]
    fitted_until: int
    all_facts: bool = True
    predicates: tuple[float, float] = (0.0, 1.0)
    either: float = 1.0
    stride: int = 1
    ranker: EntityRanker | None = None

    @property
    def longest(self) -> int:
        """The longest fitted window."""
        return self.horizons[-1].window

    @property
    def knows_busy(self) -> bool:
        """Whether pairs with many facts have a separate regression for any window length."""
        return any(horizon.busy is not None for horizon in self.horizons)

    @property
    def leads(self) -> list[int]:
        """The fitted leads, ascending from 0."""
        return sorted({0, *(lead for horizon in self.horizons for lead, *_ in horizon.leads)})

    def occurrence(self, features: Doubles, met: Bools, window: int, lead: int = 0) -> Occurrence:
        """Return the chance of any fact in a window of this length, and the expected number.

        lead  the time between the features and the window
        """
        return self.occurrences(features, met, [window], lead)[0]

    def occurrences(
        self, features: Doubles, met: Bools, windows: Sequence[int], lead: int = 0
    ) -> list[Occurrence]:
        """Return the chances and expected numbers for windows of several lengths."""
        most = max(self._around(window)[1] for window in windows)
        hazards = hazards_of(self.horizons[: most + 1], features, met, lead)
        numbers = list[Doubles]()  # their logarithms
        for horizon, hazard in zip(self.horizons, hazards, strict=False):
            numbers.append(
                log_numbers(hazard, features, horizon.window, self.stride, horizon.burst)
            )
            if len(numbers) > 1:  # a longer window has no fewer facts
                numbers[-1] = np.maximum(*numbers[-2:])
        return [self._between(hazards, numbers, window) for window in windows]

    def _between(self, hazards: list[Doubles], numbers: list[Doubles], window: int) -> Occurrence:
        """Interpolate the chance and the expected number between the fitted lengths."""
        lower, upper, share = self._around(window)
        logs = [np.log(hazards[place]) for place in (lower, upper)]
        times = window / self.horizons[lower].window if lower == upper else 1.0  # constant rate
        hazard = times * np.exp((1 - share) * logs[0] + share * logs[1])
        expected = times * np.exp((1 - share) * numbers[lower] + share * numbers[upper])
        chances = -np.expm1(-hazard)
        chances = np.clip(chances, LEAST, 1 - LEAST)
        return Occurrence(chances, np.maximum(expected, chances))

    def contributions(self, features: Doubles, met: Bools, window: int, lead: int = 0) -> Doubles:
        """Return each feature's contribution to the log-odds, the base, and the rest: (n, 30).

        The rest is the effect of the other window lengths: bounds, interpolation and extrapolation.
        """
        lower, upper, share = self._around(window)
        added = self.horizons[lower].contributions(features, met, lead)
        if lower != upper:
            above = self.horizons[upper].contributions(features, met, lead)
            added = (1 - share) * added + share * above
        chances = self.occurrence(features, met, window, lead).probabilities
        odds = np.log(chances) - np.log1p(-chances)
        return np.column_stack([added, odds - added.sum(axis=1)])

    def _around(self, window: int) -> tuple[int, int, float]:
        """Return the indices of the horizons below and above a length, and its position between."""
        lengths = [horizon.window for horizon in self.horizons]
        upper = min(int(np.searchsorted(lengths, window)), len(lengths) - 1)
        if not lengths[0] < window < lengths[upper]:
            return upper, upper, 0.0
        logs = [math.log(length) for length in (lengths[upper - 1], window, lengths[upper])]
        return upper - 1, upper, (logs[1] - logs[0]) / (logs[2] - logs[0])

    def predicate_probabilities(self, occurrence: Occurrence, shares: Doubles) -> Doubles:
        """Return P(at least one fact with the predicate): 1 - exp(-e^a (expected x share)^b).

        The result is adjusted to possible values: see `coherent`.
        """
        numbers = occurrence.expected[:, None] * shares
        return coherent(self._from_numbers(numbers), numbers, occurrence.probabilities[:, None])

    def class_probabilities(
        self, occurrence: Occurrence, shares: Doubles, classes: PredicateClasses
    ) -> Doubles:
        """Return P(at least one fact with a predicate in the class), by the same rule.

        It is at least the largest chance of the class's predicates and at most their sum.
        """
        of_predicates = self.predicate_probabilities(occurrence, shares)
        numbers = occurrence.expected[:, None] * classes.sums(shares)
        most = np.minimum(classes.sums(of_predicates), occurrence.probabilities[:, None])
        return np.clip(self._from_numbers(numbers), classes.largest(of_predicates), most)

    def _from_numbers(self, numbers: Doubles) -> Doubles:
        shift, slope = self.predicates
        return -np.expm1(-math.exp(shift) * np.maximum(numbers, LEAST) ** slope)

    def either_way(self, forward: Doubles, backward: Doubles) -> Doubles:
        """Return P(any fact in either direction): 1 - (1 - larger) (1 - smaller)^either."""
        larger, smaller = np.maximum(forward, backward), np.minimum(forward, backward)
        return either_way(larger, smaller, self.either)

    def to_json(self) -> dict[str, Any]:
        """Return the model for `json_bytes`."""
        return {
            "features": NAMES,
            "predicates": self.predicates,
            "clock": astuple(self.clock),
            **{name: getattr(self, name) for name in _PLAIN},
            "ranker": self.ranker and self.ranker.to_json(),
            "horizons": list(map(asdict, self.horizons)),
        }

    @classmethod
    def from_json(cls, about: Mapping[str, Any]) -> "OccurrenceModel":
        """Return the model from the result of `to_json`."""
        if tuple(about["features"]) != NAMES:
            raise ValueError("the occurrence model has different features from this version")
        json.dumps(about, allow_nan=False)  # raises ValueError for a number that is not finite
        horizons = [config_from_json(Horizon, entry) for entry in about["horizons"]]
        windows = [0, *(horizon.window for horizon in horizons)]
        if any(one >= other for one, other in pairwise(windows)):
            raise ValueError("the windows of the occurrence model do not grow from 1 on")
        if about["stride"] < 1 or not 0 <= about["either"] <= 1:
            raise ValueError("the occurrence model has an impossible stride or dependence")
        shift, slope = map(float, about["predicates"])
        return cls(
            clock=Clock(*about["clock"]),
            predicates=(shift, slope),
            horizons=tuple(horizons),
            **{name: about[name] for name in _PLAIN},
            ranker=EntityRanker.from_json(about["ranker"]) if about.get("ranker") else None,
        )


def either_way(larger: Doubles, smaller: Doubles, independent: float) -> Doubles:
    """Return P(one or both). `independent` is the weight of the less probable direction, 0 to 1."""
    return -np.expm1(np.log1p(-larger) + independent * np.log1p(-smaller))
