import datetime
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from time_texts import axis_of, read, votes_of

from apptek.errors import TimeFormatError
from apptek.facts.times import UNKNOWN, TimeAxis

days = st.dates().map(lambda day: (day.year, day.month, day.day))
months = st.tuples(st.integers(-9999, 999_999), st.integers(1, 12)).map(lambda ym: (*ym, 0))
years = st.integers(-9999, 999_999).map(lambda year: (year, 0, 0))


def text_of(date: tuple[int, int, int]) -> str:
    """A date as YAGO writes it: ## for what is not known."""
    year, month, day = date
    sign = "-" if year < 0 else ""
    ends = "".join(f"-{part:02d}" if part else "-##" for part in (month, day))
    return f"{sign}{abs(year):04d}{ends}"


@given(st.lists(st.one_of(days, months, years), min_size=1))
def test_a_written_date_can_be_formatted_and_parsed_back(dates: list[tuple[int, int, int]]) -> None:
    axis, codes = axis_of(*(text_of(date) for date in dates))
    assert [axis.parse(axis.format(code)) for code in codes] == codes


@given(st.lists(st.integers(1 - 2**31, 2**31 - 1)).map(lambda values: [-1, *values]))
def test_integers_are_their_own_codes_and_positions(values: list[int]) -> None:
    axis, codes = axis_of(*map(str, values))
    assert replace(axis, stride=1) == TimeAxis("integer")
    assert codes == values
    assert axis.positions(np.asarray(codes, np.int32)).tolist() == values


@given(st.lists(st.dates(), min_size=1))
def test_a_day_lies_where_the_calendar_of_python_says(dates: list[datetime.date]) -> None:
    axis, codes = axis_of(*(f"{date.year:04d}-{date.month:02d}-{date.day:02d}" for date in dates))
    epoch = datetime.date(1970, 1, 1)
    assert axis == TimeAxis("day")
    assert codes == [(date - epoch).days for date in dates]


@given(st.lists(st.one_of(days, months, years), min_size=1))
def test_positions_of_a_calendar_keep_the_order_of_its_dates(
    dates: list[tuple[int, int, int]],
) -> None:
    axis, codes = axis_of(*(text_of(date) for date in dates))
    positions = axis.positions(np.asarray(codes, np.int32)).tolist()
    in_order = sorted(zip(dates, positions, strict=True))
    assert [position for _, position in in_order] == sorted(positions)
    assert positions == [axis.position(code) for code in codes]


@given(st.text(alphabet='0123456789-#?"+ \u0661', max_size=12))
def test_any_text_is_a_time_of_31_bits_or_refused(text: str) -> None:
    try:
        assert -(2**31) < read(text)[1] < 2**31
    except TimeFormatError:
        return


def test_a_time_without_facts_has_no_say_in_the_axis() -> None:
    votes, _ = votes_of("2014-05-13", "1999")
    assert votes.resolve(np.asarray([1, 0]))[0] == TimeAxis("day")


@given(st.lists(st.one_of(days, months, years), min_size=1))
def test_two_dates_have_one_code_only_if_they_are_the_same(
    dates: list[tuple[int, int, int]],
) -> None:
    _, codes = axis_of(*(text_of(date) for date in dates))
    assert len(set(codes)) == len(set(dates))
    assert UNKNOWN not in codes
