"""Times of day, dates in other orders, and the unit that a data set gets."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from time_texts import axis_of

from apptek.errors import DataError, TimeFormatError
from apptek.facts.calendar import Unit, calendar, date_of, day_number, position
from apptek.facts.times import Granularity, TimeAxis
from apptek.facts.written_times import read_time, read_times
from apptek.reading.reader import read_dataset

moments = st.datetimes(datetime(1902, 1, 1), datetime(2037, 12, 31)).map(
    lambda moment: moment.replace(microsecond=0)
)


@given(st.integers(-(10**7), 10**7))
def test_a_day_number_is_that_of_numpy(number: int) -> None:
    assert day_number(*date_of(number)) == number
    year = int(np.datetime64(number, "D").astype("datetime64[Y]").astype(int)) + 1970
    assert date_of(number)[0] == year


@given(moments, st.sampled_from(["week", "day", "hour", "minute", "second"]))
def test_a_position_begins_at_or_before_the_moment_and_the_next_one_after_it(
    moment: datetime, unit: Unit
) -> None:
    second = moment.hour * 3600 + moment.minute * 60 + moment.second
    place = position(unit, moment.year, moment.month, moment.day, second)
    starts = []
    for step in (place, place + 1):
        year, month, day, seconds = calendar(unit, step)
        starts.append(datetime(year, month, day) + timedelta(seconds=seconds))
    assert starts[0] <= moment < starts[1]
    assert unit != "week" or starts[0].weekday() == 0


@given(st.lists(moments, min_size=1), st.sampled_from(["second", "minute", "hour", "day", "week"]))
def test_what_an_axis_writes_it_reads_back(dates: list[datetime], unit: Granularity) -> None:
    axis, codes = axis_of(*(date.isoformat(" ") for date in dates), granularity=unit)
    assert (axis.unit, axis.mixed) == (unit, False)
    assert [axis.parse(axis.format(code)) for code in codes] == codes


@given(moments, st.integers(-14 * 60, 14 * 60))
def test_an_offset_is_converted_to_utc(moment: datetime, minutes: int) -> None:
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{moment.isoformat()}{sign}{size // 60:02d}:{size % 60:02d}"
    utc = datetime.fromisoformat(text).astimezone(UTC)
    _, (code,) = axis_of(text, granularity="minute")
    assert code == int(utc.timestamp()) // 60


def stamps(count: int, step: int) -> list[str]:
    start = datetime(2021, 5, 3)
    return [(start + timedelta(seconds=step * number)).isoformat() for number in range(count)]


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (stamps(50, 86_400 + 3601), "day"),
        ([*stamps(49, 86_400), "2021-05-03T10:00:00"], "hour"),
        (stamps(200, 900), "hour"),  # the quarters of an hour of GDELT, over 50 hours
        (stamps(100, 900), "minute"),
        (stamps(60, 1), "second"),
        (stamps(10, 86_400), "day"),  # too few: what keeps them apart
        (stamps(3, 3600), "hour"),
        (["2021-05-03 14:22:07"], "day"),
        (["1800-01-01 00:00:01", "1800-01-01 00:00:02"], "day"),  # out of reach in seconds
    ],
)
def test_the_coarsest_unit_with_enough_values_is_taken(texts: list[str], unit: Unit) -> None:
    assert axis_of(*texts)[0] == TimeAxis(unit)


def test_a_senseless_pattern_is_refused() -> None:
    with pytest.raises(TimeFormatError, match=r"^a pattern such as %d/%m/%Y"):
        axis_of(date_format="%Q %Y")


def test_further_files_must_have_the_order_of_a_pattern() -> None:
    axis, _ = axis_of("03/05/2021", date_format="%d/%m/%Y")
    assert axis.how_to_read() == {"granularity": "day", "date_format": "dmy"}
    with pytest.raises(TimeFormatError, match=r"^the day first$"):
        axis_of("05/13/2021", date_format=axis.how_to_read()["date_format"])
    with pytest.raises(TimeFormatError, match=r"expected the day first, as in the data$"):
        axis.parse("05/13/2021")
    assert axis.parse("13/05/2021") == axis.parse("2021-05-13")
    months = TimeAxis("day", date_format="%m/%d/%Y")
    assert months.parse("03/05/2021") == months.parse("2021-03-05")
    assert TimeAxis("day", date_format="%Y-%d-%m").how_to_read() == {"granularity": "day"}


@given(times=st.lists(moments, min_size=1, max_size=8), damage=st.data())
def test_many_times_are_read_as_one_by_one(times: list[datetime], damage: st.DataObject) -> None:
    forms = ["%Y-%m-%d %H:%M:%S", "%Y/%m/%dT%H:%MZ", "%Y%m%d%H%M%S", "%d.%m.%Y", "%d %B %Y", "%Y"]
    texts = [time.strftime(damage.draw(st.sampled_from(forms))) for time in times]
    for row in damage.draw(st.lists(st.integers(0, len(texts) - 1), max_size=3)):
        place = damage.draw(st.integers(0, len(texts[row]) - 1))
        letter = damage.draw(st.sampled_from('0123456789/:\u00e9 "#+'))
        texts[row] = texts[row][:place] + letter + texts[row][place + 1 :]
    together = read_times(pa.array(texts, pa.string()))
    assert together.tolist() == [read_time(text)[0].tolist() for text in texts]


def rows_of_days(pattern: str, count: int) -> list[str]:
    days = (date(2021, 1, 4) + timedelta(days=number) for number in range(count))
    return [f"a{n % 7},helps,b{n % 5},{day.strftime(pattern)}" for n, day in enumerate(days)]


@pytest.mark.parametrize("place", [0, 7, 199])
def test_one_mistyped_date_does_not_outvote_all_others(tmp_path: Path, place: int) -> None:
    rows = rows_of_days("%d/%m/%Y", 200)
    rows[place] = "a,helps,b,05/25/2021"
    file = tmp_path / "days.csv"
    file.write_text("subject,predicate,object,time\n" + "\n".join(rows) + "\n")
    expected = rf"days.csv:{place + 2}: .*05/25/2021.*expected the day first.*would leave 199"
    with pytest.raises(DataError, match=expected):
        read_dataset(file)
    data = read_dataset(file, skip_bad=True)
    assert len(data.all_facts()) == 199
    assert data.span_of(data.all_facts()).startswith("2021-01-0")
