"""Times on one axis: the codes of written times, and their positions.

A *code* names one written time: equal texts, equal codes, and back. A *position* is where it lies
on the axis, in the axis' unit; distances are differences of positions. The two differ only on a
calendar of mixed precision, where "1999" and "1999-01-01" are two codes at one position.

The texts are those of calendar/written.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, get_args

import numpy as np

from apptek.arrays import Ints, Longs
from apptek.errors import TimeFormatError
from apptek.facts.calendar.positions import SECONDS, Unit, calendar, position
from apptek.facts.calendar.written import (
    EXPECTED,
    UNKNOWN_TEXTS,
    WrittenTime,
    read_by_pattern,
    read_time,
)

__all__ = ["EXPECTED", "UNKNOWN", "UNKNOWN_TEXTS", "TimeAxis", "Unit", "WrittenTime", "read_time"]

Granularity = Literal["auto", "second", "minute", "hour", "day", "week", "month", "year", "mixed"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)
MANY = 1000  # times from which on it pays to read them at once
UNKNOWN = int(np.iinfo(np.int32).min)
LARGEST = 2**31 - 1
# What a text must have to be a whole unit: see WrittenTime.precision.
NEEDED = {"year": 0, "month": 1, "week": 2, "day": 2, "hour": 3, "minute": 3, "second": 3}
FIRST = {"dmy": "day", "mdy": "month"}
TIME_FORMATS = {
    "day": "a day such as 2014-05-13",
    "week": "a day of the week such as 2014-05-13",
    "hour": "a time such as 2014-05-13 14:00",
    "minute": "a time such as 2014-05-13 14:22",
    "second": "a time such as 2014-05-13 14:22:07",
    "month": "a month such as 2014-05",
    "year": "a year such as 1999",
    "integer": "a whole number",
}
_TOO_FINE = "a time from 1902 to 2037, or a granularity coarser than seconds"


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The line on which a data set's times lie.

    unit         the length of one step: integer, or a unit of the calendar, which counts from 1970
                 (months and years: from year 0). Mixed calendars take the unit in which most facts
                 are written. A week is written as its Monday.
    mixed        whether dates of different precision occur; then codes are
                 (year * 13 + month) * 32 + day, and a position is the start of the year, month or
                 day that is written.
    date_format  how dates were written, so that queries may be written alike: dmy, mdy, a pattern
                 of strptime, or nothing for dates that need no explanation
    stride       of integers: the largest number that divides all their differences; 24 where
                 hours are counted and facts are dated by day (0, 24, 48, ...)
    """

    unit: Unit
    mixed: bool = False
    date_format: str = ""
    stride: int = 1

    def code(self, written: WrittenTime | None) -> int:
        """The code of a time; a date that is finer than the axis is cut to the axis' unit."""
        if written is None:
            return UNKNOWN
        if (self.unit == "integer") != (written.kind == "integer") and written.kind != "either":
            kind = "integers" if self.unit == "integer" else "calendar dates"
            raise TimeFormatError(f"one of this data's times, which are {kind}")
        if self.unit == "integer":
            return written.year
        written = written.settled(self.date_format).as_date()
        if self.mixed:
            return (written.year * 13 + written.month) * 32 + written.day
        if written.precision < NEEDED[self.unit]:
            raise TimeFormatError(f"{whole(self.unit)}, as in this data")
        date = (written.year, written.month, written.day, written.second)
        code: int = position(self.unit, *date)
        if abs(code) > LARGEST:
            raise TimeFormatError(_TOO_FINE)
        return code

    def how_to_read(self) -> dict[str, str]:
        """The options with which further files are read onto this axis.

        A pattern asks for its order of day and month, and for itself where only it can be read.
        """
        only_so = any(part in self.date_format for part in ("%y", "%p"))
        date_format = self.date_format if only_so else self.order
        order = {"date_format": date_format} if date_format else {}
        if self.mixed:
            return {"granularity": "mixed", **order}
        if self.unit in ("integer", "year"):  # a bare number may be either of these
            return order
        return {"granularity": self.unit, **order}

    @property
    def order(self) -> str:
        """Which of day and month came first in the data, dmy or mdy; empty where it is open."""
        day, month = self.date_format.find("%d"), self.date_format.find("%m")
        if self.date_format in FIRST or min(day, month) < 0:
            return self.date_format if self.date_format in FIRST else ""
        if "%Y" in self.date_format[: min(day, month)]:
            return ""  # with the year first, nobody takes the day for the month
        return "dmy" if day < month else "mdy"

    def codes(self, written: Sequence[WrittenTime | None]) -> Ints:
        """The codes of many times; timestamps are computed all at once."""
        stamps = [w for w in written if w is not None]
        if self.mixed or len(stamps) < MANY or any(w.second < 0 for w in stamps):
            return np.asarray([self.code(one) for one in written], np.int32)
        known = np.asarray([w is not None for w in written])
        codes = np.full(len(written), UNKNOWN, np.int64)
        codes[known] = position(self.unit, *columns_of(stamps))
        if np.abs(codes[known]).max() > LARGEST:
            raise TimeFormatError(_TOO_FINE)
        return codes.astype(np.int32)

    def holds(self, other: "TimeAxis") -> bool:
        """Whether all times of another axis can be written on this one, be it cut to its unit."""
        if "integer" in (self.unit, other.unit):
            return {self.unit, other.unit} <= {"integer", "year"}
        finer = GRANULARITIES.index(other.unit) <= GRANULARITIES.index(self.unit)
        return self.mixed or (not other.mixed and finer)

    def parse(self, text: str) -> int:
        """The code of a time in a query; TimeFormatError says what was found and expected."""
        try:
            return self.code(self._read(text))
        except TimeFormatError as error:
            raise TimeFormatError(f"time {text!r}: expected {error}") from None

    @property
    def expected(self) -> str:
        """How to write a time of this axis."""
        return (
            "a date such as 2014-05-13, 2014-05 or 2014" if self.mixed else TIME_FORMATS[self.unit]
        )

    def _read(self, text: str) -> WrittenTime | None:
        """A query's time, written in a way of its own or like the data."""
        try:
            written = read_time(text)
        except TimeFormatError as error:
            if "%" in self.date_format:
                return read_by_pattern(text, self.date_format)
            if str(error).startswith(EXPECTED):  # which tells what other data may have as well
                raise TimeFormatError(f"{self.expected}, or ? for unknown") from None
            raise
        if written is not None and written.order in FIRST and self.order:
            check_order(written, self.order, "the data")
        if written is None or written.order != "open" or self.date_format in FIRST:
            return written
        if "%" in self.date_format:
            return read_by_pattern(text, self.date_format)
        raise TimeFormatError("a date with the year first: it may be day or month first")

    def format(self, code: int) -> str:
        """The text of a code, which parse reads back; '?' where it is unknown."""
        code = int(code)
        if code == UNKNOWN:
            return "?"
        if self.unit == "integer":
            return str(code)
        year, month, day, second = (*_decode(code), 0) if self.mixed else calendar(self.unit, code)
        if not month and not 0 <= year <= 9999:
            return f"{year:04d}-##-##"  # without the marks it would be an integer
        date = "-".join([f"{year:04d}", *(f"{part:02d}" for part in (month, day) if part)])
        if self.mixed or self.unit not in SECONDS:
            return date
        clock = f"{date} {second // 3600:02d}:{second // 60 % 60:02d}"
        return f"{clock}:{second % 60:02d}" if self.unit == "second" else clock

    def positions(self, codes: Ints) -> Ints:
        """The positions of codes, UNKNOWN of UNKNOWN; the same array unless the axis is mixed."""
        if not self.mixed:
            return codes
        distinct, inverse = np.unique(codes, return_inverse=True)
        positions = [
            UNKNOWN if code == UNKNOWN else self.position(code) for code in distinct.tolist()
        ]
        return np.asarray(positions, np.int32)[inverse]

    def last_moments(self, codes: Ints) -> Ints:
        """The codes of the last day of each year or month that is written; a day stays itself.

        Every month is given 31 days: the codes sort correctly, and the position of a shorter
        month's end is up to three days too late, never too early.
        """
        if not self.mixed:
            return codes
        whole_year, whole_month = codes // 32 % 13 == 0, codes % 32 == 0
        last: Ints = codes + np.int32(12 * 32) * whole_year + np.int32(31) * whole_month
        return last

    def position(self, code: int) -> int:
        """The position of one code."""
        return position(self.unit, *_decode(code)) if self.mixed else code


def check_order(written: WrittenTime, order: str, where: str) -> None:
    """TimeFormatError where a date shows another order of day and month."""
    if written.order in FIRST and written.order != order:
        raise TimeFormatError(f"the {FIRST[order]} first, as in {where}")


def columns_of(stamps: Sequence[WrittenTime]) -> tuple[Longs, Longs, Longs, Longs]:
    """Years, months, days and seconds."""
    parts = ("year", "month", "day", "second")
    years, months, days, seconds = (
        np.fromiter(map(attrgetter(part), stamps), np.int64, len(stamps)) for part in parts
    )
    return years, months, days, seconds


def _decode(code: int) -> tuple[int, int, int]:
    return code // 32 // 13, code // 32 % 13, code % 32


def whole(unit: str) -> str:
    """What a text must hold to lie on an axis of this unit."""
    if unit in SECONDS:
        return "a time of day, such as 2014-05-13 14:22"
    return "a day" if unit == "week" else f"a whole {unit}"
