"""Planted errors, by predicate or by direction, and how well a score detects them."""

from dataclasses import replace
from typing import Literal

import numpy as np

from apptek.arrays import Bools, Doubles
from apptek.audit.audit import Roles, exchanged
from apptek.errors import DataError
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Dataset, Facts

Error = Literal["frequency", "uniform", "direction"]
SHARE = 0.01  # proportion of training facts that become wrong


def plant_errors(
    data: Dataset, error: Error, *, rng: np.random.Generator, share: float = SHARE
) -> tuple[Dataset, Bools]:
    """Return the data set with errors in its training facts, and which facts are wrong.

    frequency  a different predicate, drawn by its frequency
    uniform    a different predicate, drawn uniformly
    direction  subject and object swapped

    An error that is a known fact (in train, valid or test) is not used: another one is chosen.
    """
    train, wanted = data.train, max(1, round(share * len(data.train)))
    candidates = exchanged(train) if error == "direction" else _other_predicates(data, error, rng)
    keys, known = fact_keys(candidates, data.all_facts())
    usable = np.flatnonzero(~np.isin(keys, known) & (train.subjects != train.objects))
    if len(usable) < wanted:
        raise DataError(f"{data.name}: no {wanted} facts can be made wrong by {error}")
    rows = rng.permutation(usable)[:wanted]
    columns = [column.copy() for column in train.columns()[:3]]
    for column, source in zip(columns, candidates.columns(), strict=False):
        column[rows] = source[rows]
    wrong = np.zeros(len(train), np.bool_)
    wrong[rows] = True
    damaged = Facts(columns[0], columns[1], columns[2], train.since, train.until)
    return replace(data, train=damaged), wrong


def _other_predicates(data: Dataset, error: Error, rng: np.random.Generator) -> Facts:
    """Return every training fact with a random predicate, which may be the true one by chance."""
    train = data.train
    shares = np.bincount(train.predicates, minlength=len(data.predicates)).astype(np.float64)
    if error == "uniform":
        shares = np.minimum(shares, 1.0)
    drawn = rng.choice(len(shares), len(train), p=shares / shares.sum()).astype(np.int32)
    return Facts(train.subjects, drawn, train.objects, train.since, train.until)


def precision_among_first(scores: Doubles, wrong: Bools, count: int) -> float:
    """Return the proportion of errors among the `count` highest scores; ties: in order."""
    return float(np.mean(wrong[np.argsort(-scores, kind="stable")[:count]]))


def familiarity(roles: Roles) -> Doubles:
    """Return the baseline: how often (s, r) and (r, o) occur, as a sum of logarithms."""
    familiar: Doubles = np.log1p(roles.subject_does) + np.log1p(roles.object_gets)
    return familiar
