from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apptek.facts.fact_keys import fact_keys, first_occurrences, is_among
from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN

Row = tuple[int, int, int, int, int]
LARGEST = 2**31 - 1

# Few values, so that facts repeat; and the largest ones, so that keys must be renumbered.
ids = st.sampled_from([0, 1, 2, LARGEST])
times = st.sampled_from([UNKNOWN, UNKNOWN + 1, -1, 0, 1, LARGEST])
row = st.tuples(ids, ids, ids, times, times)
parts = st.lists(st.lists(row, max_size=9), min_size=1, max_size=3)
keys = st.lists(st.one_of(st.integers(0, 5), st.sampled_from([2**22, 2**22 + 1, 2**62])))


def facts_of(rows: list[Row]) -> Facts:
    columns = np.asarray(rows, np.int32).reshape(-1, 5).T.copy()
    return Facts(*columns)


def points_of(rows: list[Row]) -> Facts:
    subjects, predicates, objects, since, _ = facts_of(rows).columns()
    return Facts(subjects, predicates, objects, since, since)


def rows_of(facts: Facts) -> list[Row]:
    return [tuple(row) for row in np.stack(facts.columns(), axis=1).tolist()]


def longs(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(values, np.int64)


@pytest.mark.parametrize("make", [facts_of, points_of])
@given(parts=parts)
def test_two_facts_have_one_key_only_if_they_are_equal(
    make: Callable[[list[Row]], Facts], parts: list[list[Row]]
) -> None:
    facts = [make(rows) for rows in parts]
    keys = [key for part in fact_keys(*facts) for key in part.tolist()]
    rows = [fact for part in facts for fact in rows_of(part)]
    assert [len(part) for part in fact_keys(*facts)] == [len(part) for part in facts]
    assert len(set(zip(keys, rows, strict=True))) == len(set(keys)) == len(set(rows))


def test_columns_that_would_overflow_64_bits_together_do_not_collide() -> None:
    """Three columns of 2**22 numbers each would shift the subject out of the key."""
    high = 2**22 - 1
    rows: list[Row] = [(0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (2, high, high, high, high)]
    (keys,) = fact_keys(points_of(rows))
    assert len(set(keys.tolist())) == 3


@given(keys=keys)
def test_each_key_stays_where_it_occurs_first(keys: list[int]) -> None:
    expected = [key not in keys[:row] for row, key in enumerate(keys)]
    mask = first_occurrences(longs(keys))
    assert (mask is None) == all(expected)
    if mask is not None:
        assert mask.tolist() == expected


@given(keys=keys, others=keys)
def test_keys_are_among_the_others_or_not(keys: list[int], others: list[int]) -> None:
    assert is_among(longs(keys), longs(others)).tolist() == [key in others for key in keys]
