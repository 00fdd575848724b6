"""Many timestamps that are written alike, read all at once; written.py reads them one by one."""

from collections.abc import Sequence

import numpy as np

from apptek.arrays import Longs
from apptek.facts.calendar.positions import days_in
from apptek.facts.calendar.written import PACKED, YEAR_FIRST, WrittenTime

_PARTS = ("year", "month", "day", "hour", "minute", "second")
_MONTHS = [[days_in(year, month) for month in range(1, 13)] for year in (2001, 2000)]
_DAYS_IN = np.asarray(_MONTHS)  # of a common year, of a leap year


def read_stamps(texts: Sequence[str]) -> list[WrittenTime] | None:
    """The times of texts such as 2014-05-13 14:22:07, all of the same form.

    None where they are not, or one of them is no time of day: read_time then says which.
    """
    first = texts[0]
    match = YEAR_FIRST.fullmatch(first) or PACKED.fullmatch(first)
    if match is None or match["hour"] is None or match["zone"] not in (None, "Z", "UTC"):
        return None
    joined = "".join(texts)
    if not joined.isascii() or set(map(len, texts)) != {len(first)}:
        return None
    table = np.frombuffer(joined.encode(), np.uint8).reshape(len(texts), len(first))
    is_digit = np.asarray([character.isdigit() for character in first])
    digits = table[:, is_digit] - np.uint8(ord("0"))  # a character before 0 becomes a large number
    if digits.max() > 9 or (table[:, ~is_digit] != table[0, ~is_digit]).any():
        return None
    year, month, day, hour, minute, second = (_number(table, *match.span(part)) for part in _PARTS)
    is_year = (year >= 1000) & (year < 3000) if match.re is PACKED else year >= 0
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    is_month = (month >= 1) & (month <= 12)
    is_day = (day >= 1) & (day <= _DAYS_IN[is_leap.astype(np.int8), (month - 1) % 12])
    is_clock = (hour < 24) & (minute < 60) & (second < 60)
    if not (is_year & is_month & is_day & is_clock).all():
        return None
    columns = (year, month, day, (hour * 60 + minute) * 60 + second)
    zoned = match["zone"] is not None
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [WrittenTime("date", y, m, d, s, zoned) for y, m, d, s in rows]


def _number(table: np.ndarray[tuple[int, int], np.dtype[np.uint8]], start: int, stop: int) -> Longs:
    """The numbers that stand in some columns of characters; 0 in none."""
    number = np.zeros(len(table), np.int64)
    for column in range(start, stop):
        number = number * 10 + table[:, column] - ord("0")
    return number
