"""The contract of scorers, which `apptek.research` ships: our own keep it, broken ones do not."""

from typing import Any

import numpy as np
import pytest
from learned_parts import LEARNED, settings_of

from apptek.errors import ApptekError
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.research import check_baseline, check_scorer
from apptek.synthetic.world import make_world


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(1000, 0).dataset


@pytest.mark.parametrize("name", ["frequency", "profile", "pair", "recency"])
def test_the_counting_baselines_keep_the_contract(name: str, data: Dataset) -> None:
    check_baseline(name, data)


@pytest.mark.parametrize("name", LEARNED)
def test_the_learned_baselines_keep_the_contract(name: str, data: Dataset) -> None:
    check_baseline(name, data, config=settings_of(name, "training.epochs=1"))


def zeros(queries: Queries) -> Any:
    return np.zeros((len(queries), 26))


def test_a_function_can_be_checked(data: Dataset) -> None:
    assert len(data.predicates) == 26
    check_scorer(zeros, data)


class Remembering:
    """The scores of a call depend on how many there were."""

    calls = 0

    def scores(self, queries: Queries) -> Any:
        self.calls += 1
        return zeros(queries) + self.calls


@pytest.mark.parametrize(
    ("scorer", "problem"),
    [
        (lambda queries: zeros(queries)[:, :-1], "returned shape"),
        (lambda queries: zeros(queries) * np.nan, "NaN"),
        (lambda queries: zeros(queries) + np.arange(len(queries))[:, None], "order of the queries"),
        (lambda queries: zeros(queries) + len(queries), "other queries"),
        (Remembering(), "differ between two calls"),
    ],
)
def test_a_broken_scorer_is_found_out(scorer: Any, problem: str, data: Dataset) -> None:
    with pytest.raises(ApptekError, match=problem):
        check_scorer(scorer, data)
