"""Why anything should happen between two entities: the features by family, in words."""

import math

import numpy as np

from apptek.arrays import Doubles
from apptek.explain.wording import counted
from apptek.occurrence.counts import COMMON, EITHER, LAST, NAMES
from apptek.occurrence.counts import FAMILIES as COUNTED

FAMILIES = (*COUNTED, "either", "common")
_PLACES = {name: place for place, name in enumerate(NAMES)}
_COLUMNS = {
    **{f: [i for i, n in enumerate(NAMES) if n.split()[0] == f] for f in COUNTED},
    "either": [NAMES.index(EITHER)],
    "common": [NAMES.index(COMMON)],
}


def by_family(contributions: Doubles) -> Doubles:
    """What each family adds, from what each feature adds: (n, 27) -> (n, 6)."""
    return np.stack([contributions[:, _COLUMNS[family]].sum(axis=1) for family in FAMILIES], axis=1)


def sentence(
    family: str, features: Doubles, ends: tuple[str, str], unit: str, oldest: float
) -> str:
    """What the features of a family say; `oldest` is the age from which on all count the same."""
    subject, object_ = ends if family != "reversed" else ends[::-1]
    if family == "common":
        return counted(_number(features, COMMON), "common partner")
    if family == "either":
        met = _number(features, "pair ever") or _number(features, "reversed ever")
        last = _ago(_age(features, EITHER), unit, oldest)
        never = "there was no fact between the two so far"
        return f"the last fact between the two was {last}" if met else never
    times, age = _number(features, f"{family} ever"), _age(features, f"{family} {LAST}")
    last = _ago(age, unit, oldest)
    if family in ("pair", "reversed"):
        if not times:
            return f"{subject} has not done anything to {object_} yet"
        preposition = "on" if unit == "day" else "at" if unit == "step" else "in"
        return (
            f"{subject} did something to {object_} {preposition} {counted(times, unit)}, "
            f"the last time {last}"
        )
    who, role = (subject, "subject") if family == "subject" else (object_, "object")
    if not times:
        return f"{who} is not the {role} of any fact yet"
    return f"{who} is the {role} of {counted(times, 'fact')}, the last one {last}"


def base_sentence(*, met: bool, beyond: bool) -> str:
    """What the reasons are added to; `beyond`: in a window longer than any that was learned."""
    whose = "pairs that have met" if met else "pairs that have not met yet"
    more = ", and what a window longer than any that was learned adds" if beyond else ""
    return f"the average of {whose}{more}"


def age_of_last(features: Doubles) -> float:
    """How long before the window the last fact between the two was."""
    return _age(features, EITHER)


def _number(features: Doubles, name: str) -> int:
    return round(math.expm1(features[_PLACES[name]]))


def _age(features: Doubles, name: str) -> float:
    return math.exp(features[_PLACES[name]])


def _ago(age: float, unit: str, oldest: float) -> str:
    """3 days before; "before" is before the window."""
    if age >= oldest * (1 - 1e-9):
        return f"{counted(math.floor(oldest), unit)} before or longer ago"
    return f"the {unit} before" if round(age) == 1 else f"{counted(round(age), unit)} before"
