import datetime
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from time_texts import UNKNOWN_TIME, axis_of, read, votes_of, written

from apptek.errors import TimeFormatError
from apptek.facts.times import EXPECTED, UNKNOWN, TimeAxis

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2014-05-13", written("date", 2014, 5, 13)),
        ("2016-02-29", written("date", 2016, 2, 29)),
        ("2014-05", written("date", 2014, 5)),
        ("2014-05-##", written("date", 2014, 5)),
        ('"1999-##-##"', written("date", 1999)),
        ("600-##-##", written("date", 600)),
        ("-044-03-15", written("date", -44, 3, 15)),
        ("1999-##", written("date", 1999)),
        ("1999", written("either", 1999)),
        ("20140513", written("either", 20140513)),
        ("20140230", written("integer", 20140230)),
        ("20141301", written("integer", 20141301)),
        ("30140513", written("integer", 30140513)),
        ("02014051", written("integer", 2014051)),
        ("+20140513", written("integer", 20140513)),
        ("17", written("integer", 17)),
        ("-3", written("integer", -3)),
        ("600", written("integer", 600)),
        ("", UNKNOWN_TIME),
        ("?", UNKNOWN_TIME),
        ("-", UNKNOWN_TIME),
        ('""', UNKNOWN_TIME),
        ("####-##-##", UNKNOWN_TIME),
        ("2021-05-03 14:22:00", written("date", 2021, 5, 3, 51_720)),
        ("2021-05-03T14:22:07.123456", written("date", 2021, 5, 3, 51_727)),
        ("2021-05-03 14:22", written("date", 2021, 5, 3, 51_720)),
        ("2021-05-03T14", written("date", 2021, 5, 3, 50_400)),
        ("2021-05-03T14:22:00Z", written("date", 2021, 5, 3, 51_720, True)),
        ("2021-05-03 14:22:00 UTC", written("date", 2021, 5, 3, 51_720, True)),
        ("2021-05-03T23:00:00-0500", written("date", 2021, 5, 4, 14_400, True)),
        ("2021-01-01T00:30:00+01", written("date", 2020, 12, 31, 84_600, True)),
        ("20210503T142200Z", written("date", 2021, 5, 3, 51_720, True)),
        ("2021/05/03", written("date", 2021, 5, 3)),
        ("13.05.2021", written("date", 2021, 5, 13, order="dmy")),
        ("05/13/2021", written("date", 2021, 5, 13, order="mdy")),
        ("3/5/2021", written("date", 2021, 3, 5, order="open")),
        ("5/5/2021 12:00", written("date", 2021, 5, 5, 12 * 3600)),
        ("13 May 2021", written("date", 2021, 5, 13)),
        ("3-Sep-2021", written("date", 2021, 9, 3)),
        ("May 3, 2021", written("date", 2021, 5, 3)),
    ],
)
def test_every_form_of_the_table_is_read(text: str, expected: tuple[object, ...]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2014-02-30", "a day that exists in 2014-02"),
        ("2015-02-29", "a day that exists in 2015-02"),
        ("1900-02-29", "a day that exists in 1900-02"),
        ("2014-04-00", "a day that exists in 2014-04"),
        ("2014-13-01", "a month from 01 to 12"),
        ("2014-00", "a month from 01 to 12"),
        ("2021-05-03 24:00", "a time of day from 00:00:00 to 23:59:59"),
        ("2021-05-03 23:59:60", "a time of day from 00:00:00 to 23:59:59"),
        ("31.02.2021", "a day that exists in 2021-02"),
        ("13/13/2021", "a month from 01 to 12"),
        ("03/05/2021 14:22Z", "a date with the year first, if there is an offset"),
        ("2147483648", "an integer of at most 31 bits (use a coarser unit)"),
        ("-2147483648", "an integer of at most 31 bits (use a coarser unit)"),
        *(
            (text, EXPECTED)
            for text in (
                *("yesterday", "2014-5-", "2014/5-13", "13.05.1", "20 14", "2014\u00a0", '"2014'),
                *("1e3", "1.0", "2014-##-05", "20140-051-3", "1234567-01-01", "\u0662\u0660"),
                *("2014-05-13T", "2014-05-13T1:30", "14:22", "2014-05-13 14:22 CET", "May 2014"),
                *("13 Mai 2014", "2014-05-13Z", "99999999999999999999"),
            )
        ),
    ],
)
def test_what_is_no_time_is_refused(text: str, expected: str) -> None:
    with pytest.raises(TimeFormatError) as caught:
        read(text)
    assert str(caught.value) == expected


def test_bare_years_are_years_unless_an_integer_is_among_them() -> None:
    assert axis_of("1999", "2001") == (TimeAxis("year"), [1999, 2001])
    assert axis_of("1999", "4001") == (TimeAxis("integer"), [1999, 4001])
    assert axis_of("1999", "2001-##-##") == (TimeAxis("year"), [1999, 2001])
    assert axis_of("1999", "17") == (TimeAxis("integer"), [1999, 17])


def test_days_without_dashes_are_days_unless_an_integer_is_among_them() -> None:
    days = axis_of("2021-05-11", "2021-06-03")
    assert days[0] == TimeAxis("day")
    assert axis_of("20210511", "20210603") == days
    assert axis_of("20210511", "2021-06-03") == axis_of("2021-05-11", "20210603") == days
    assert axis_of("20210511", "20210631") == (TimeAxis("integer"), [20210511, 20210631])
    assert axis_of("17", "20210511") == (TimeAxis("integer"), [17, 20210511])
    assert axis_of("20210511", "17") == (TimeAxis("integer"), [20210511, 17])
    assert axis_of("20210511", "2021")[0] == TimeAxis("day", mixed=True)
    assert days[0].parse("20210511") == days[0].parse("2021-05-11")
    assert TimeAxis("year").parse("20210511") == 2021
    assert TimeAxis("integer").parse("20210511") == 20210511


def test_an_interval_of_days_without_dashes_has_an_order() -> None:
    (lows, highs) = votes_of("20210511", "20210603", "2021")[0].bounds()
    assert highs[0] < lows[1]
    assert lows[2] < lows[0] < highs[2]


def test_a_mixed_calendar_takes_the_unit_that_most_facts_are_written_in() -> None:
    axis, codes = axis_of("1999", "1999-01-01", "2001", "2003")
    assert axis == TimeAxis("year", mixed=True)
    assert len(set(codes)) == 4
    positions = axis.positions(np.asarray(codes, np.int32))
    assert positions.tolist() == [1999, 1999, 2001, 2003]


def test_a_time_without_facts_has_no_say_in_the_axis() -> None:
    votes, _ = votes_of("2014-05-13", "1999")
    assert votes.resolve(np.asarray([1, 0]))[0] == TimeAxis("day")


@pytest.mark.parametrize(
    ("texts", "bad", "expected"),
    [
        (("1999", "17", "2014-05-13"), 1, "a calendar date"),
        (("1999", "2014-05-13", "17"), 2, "a calendar date"),
        (("17", "2014-05-13", "2014-05-14"), 0, "a calendar date, as in most facts"),
        (("2014-05-13", "17", "18"), 0, "an integer, as in most facts"),
    ],
)
def test_of_two_kinds_the_more_frequent_is_right_or_else_dates(
    texts: tuple[str, ...], bad: int, expected: str
) -> None:
    votes, _ = votes_of(*texts)
    assert np.flatnonzero(~votes.good).tolist() == [bad]
    assert votes.expected[bad] == expected


def test_a_query_finer_than_the_axis_is_cut_to_it() -> None:
    assert TimeAxis("year").parse("1999-12-31") == 1999
    assert TimeAxis("month").parse("1999-12-31") == TimeAxis("month").parse("1999-12")


@pytest.mark.parametrize(
    ("axis", "text", "expected"),
    [
        (TimeAxis("day"), "2014-05", "a whole day, as in this data"),
        (TimeAxis("day"), "next week", "a day such as 2014-05-13, or ? for unknown"),
        (TimeAxis("day", mixed=True), "soon",
         "a date such as 2014-05-13, 2014-05 or 2014, or ? for unknown"),
        (TimeAxis("integer"), "soon", "a whole number, or ? for unknown"),
        (TimeAxis("integer"), "2014-05-13", "one of this data's times, which are integers"),
        (TimeAxis("day"), "17", "one of this data's times, which are calendar dates"),
        (TimeAxis("day"), "2014-02-30", "a day that exists in 2014-02"),
    ],
)  # fmt: skip
def test_a_query_that_is_not_on_the_axis_is_refused(
    axis: TimeAxis, text: str, expected: str
) -> None:
    with pytest.raises(TimeFormatError) as caught:
        axis.parse(text)
    assert str(caught.value) == f"time {text!r}: expected {expected}"


@pytest.mark.parametrize(
    ("since", "until", "fits"),
    [
        ("1999-05-13", "1999", True),
        ("1999", "1999-05-13", True),
        ("1999-05", "1999-05-01", True),
        ("1999-05-02", "1999-05-01", False),
        ("2000", "1999-12-31", False),
        ("?", "1999", True),
        ("1999", "?", True),
    ],
)
def test_a_coarse_end_contradicts_only_what_lies_wholly_after_it(
    since: str, until: str, fits: bool
) -> None:
    lows, highs = votes_of(since, until)[0].bounds()
    assert (lows[0] <= highs[1]) == fits


@given(st.lists(st.one_of(days, months, years), min_size=1))
def test_two_dates_have_one_code_only_if_they_are_the_same(
    dates: list[tuple[int, int, int]],
) -> None:
    _, codes = axis_of(*(text_of(date) for date in dates))
    assert len(set(codes)) == len(set(dates))
    assert UNKNOWN not in codes
