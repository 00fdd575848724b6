"""Times on one axis: the codes of written times, and their positions.

A *code* represents a written time: equal texts have equal codes, and a code converts back to its
text. A *position* is its place on the axis in the axis' unit, so distances are differences between
positions. The two differ only on a calendar of mixed precision, where "1999" and "1999-01-01" are
two codes at the same position.

written_times.py describes the texts.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from pydantic import PositiveInt

from apptek.arrays import Ints
from apptek.errors import TimeFormatError
from apptek.facts.calendar import SECONDS, Unit, calendar, position
from apptek.facts.written_times import (
    EITHER,
    EXPECTED,
    INTEGER,
    NOTHING,
    OPEN,
    ORDERS,
    Written,
    as_dates,
    expected_of,
    precisions,
    read_by_pattern,
    read_time,
)

__all__ = ["EXPECTED", "UNKNOWN", "TimeAxis", "Unit"]

Granularity = Literal["auto", "second", "minute", "hour", "day", "week", "month", "year", "mixed"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)
UNKNOWN = int(np.iinfo(np.int32).min)
LARGEST = 2**31 - 1
# The precision that a text needs for a unit; see `precisions`.
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
_MONTHS, _DAYS = 13, 32  # values of a month and a day in a mixed code; 0: not written
_TOO_FINE = "a time from 1902 to 2037, or a granularity coarser than seconds"


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The axis of a data set's times.

    unit         the length of one step: integer, or a calendar unit, counted from 1970 (months and
                 years: from year 0). Mixed calendars use the unit in which most facts are written.
                 A week is written as its Monday.
    mixed        whether dates have different precisions; if so, codes are
                 (year * 13 + month) * 32 + day, and a position is the start of the written year,
                 month or day
    date_format  how dates were written, so that queries can use the same form: dmy, mdy, a
                 strptime pattern, or empty for unambiguous dates
    stride       for integers, the largest number that divides all their differences; 24 if hours
                 are counted and facts are dated by day (0, 24, 48, ...)
    """

    unit: Unit
    mixed: bool = False
    date_format: str = ""
    stride: PositiveInt = 1

    def codes(self, written: Written) -> Ints:
        """Return the codes of times that fit the axis. Finer dates are truncated to its unit."""
        dates = as_dates(written, self.date_format if self.date_format in FIRST else "")
        year, month, day, second = (dates[part] for part in ("year", "month", "day", "second"))
        if self.unit == "integer":
            codes = written["year"]
        elif self.mixed:
            codes = (year * _MONTHS + month) * _DAYS + day
        else:
            codes = position(self.unit, year, month, day, second)
        codes = np.where(written["kind"] == NOTHING, UNKNOWN, codes)
        if np.abs(codes[codes != UNKNOWN]).max(initial=0) > LARGEST:
            raise TimeFormatError(_TOO_FINE)
        return codes.astype(np.int32)

    def how_to_read(self) -> dict[str, str]:
        """Return the options for reading further files onto this axis.

        A pattern becomes its order of day and month, or stays a pattern if only that can be read.
        """
        only_so = any(part in self.date_format for part in ("%y", "%p", "%d%H"))
        date_format = self.date_format if only_so else self.order
        order = {"date_format": date_format} if date_format else {}
        if self.mixed:
            return {"granularity": "mixed", **order}
        if self.unit in ("integer", "year"):  # a bare number may be either
            return order
        return {"granularity": self.unit, **order}

    @property
    def order(self) -> str:
        """Whether day or month came first in the data: dmy, mdy, or empty if undetermined."""
        day, month = self.date_format.find("%d"), self.date_format.find("%m")
        if self.date_format in FIRST or min(day, month) < 0:
            return self.date_format if self.date_format in FIRST else ""
        if "%Y" in self.date_format[: min(day, month)]:
            return ""  # with the year first, day and month are unambiguous
        return "dmy" if day < month else "mdy"

    def holds(self, other: "TimeAxis") -> bool:
        """Return whether all times on another axis fit this one, perhaps truncated to its unit."""
        if "integer" in (self.unit, other.unit):
            return {self.unit, other.unit} <= {"integer", "year"}
        finer = GRANULARITIES.index(other.unit) <= GRANULARITIES.index(self.unit)
        return self.mixed or (not other.mixed and finer)

    def parse(self, text: str) -> int:
        """Return the code of a query's time. TimeFormatError states what is expected."""
        return _parse(self, text)

    @property
    def expected(self) -> str:
        """A description of how to write a time on this axis."""
        return (
            "a date such as 2014-05-13, 2014-05 or 2014" if self.mixed else TIME_FORMATS[self.unit]
        )

    def read(self, text: str) -> Written:
        """Read a query's time, written in a standard form or like the data."""
        written = read_time(text)
        is_pattern = "%" in self.date_format
        if written["fault"][0] or (written["order"][0] == OPEN and is_pattern):
            if is_pattern:
                return read_by_pattern(text, self.date_format)
            expected = expected_of(written[0])
            if expected == EXPECTED:  # the expected text also describes other data
                expected = f"{self.expected}, or ? for unknown"
            raise TimeFormatError(expected)
        order = int(written["order"][0])
        if order == OPEN and self.date_format not in FIRST:
            raise TimeFormatError("a date with the year first (day and month are ambiguous)")
        if 0 < order < OPEN and self.order not in ("", ORDERS[order]):
            raise TimeFormatError(f"the {FIRST[self.order]} first, as in the data")
        return written

    def check(self, written: Written) -> None:
        """Raise TimeFormatError if a query's time is not on this axis."""
        kind = int(written["kind"][0])
        if kind == NOTHING:
            return
        if kind != EITHER and (self.unit == "integer") != (kind == INTEGER):
            kinds = "integers" if self.unit == "integer" else "calendar dates"
            raise TimeFormatError(f"one of this data's times, which are {kinds}")
        too_coarse = precisions(as_dates(written, ""))[0] < NEEDED.get(self.unit, 0)
        if self.unit != "integer" and not self.mixed and too_coarse:
            raise TimeFormatError(f"{whole(self.unit)}, as in this data")

    def format(self, code: int) -> str:
        """Return the text of a code, which parse can read, or '?' if it is unknown."""
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
        """Return the positions of codes. UNKNOWN stays UNKNOWN. Only mixed axes need a copy."""
        if not self.mixed:
            return codes
        known = codes != UNKNOWN
        return np.where(known, position(self.unit, *_decode(codes)), UNKNOWN).astype(np.int32)

    def last_moments(self, codes: Ints) -> Ints:
        """Return the code of the last day of each year or month. Codes of days are unchanged.

        Every month gets 31 days. The codes sort correctly, and the end of a shorter month is up to
        three days too late, never too early.
        """
        if not self.mixed:
            return codes
        whole_year, whole_month = codes // _DAYS % _MONTHS == 0, codes % _DAYS == 0
        last: Ints = codes + np.int32(12 * _DAYS) * whole_year + np.int32(31) * whole_month
        return last

    def position(self, code: int) -> int:
        """Return the position of a single code."""
        return int(position(self.unit, *_decode(code))) if self.mixed else code


@lru_cache(maxsize=1 << 16)
def _parse(axis: TimeAxis, text: str) -> int:
    try:
        written = axis.read(text)
        axis.check(written)
        return int(axis.codes(written)[0])
    except TimeFormatError as error:
        raise TimeFormatError(error.expected, text) from None


def _decode(code: Any) -> tuple[Any, Any, Any]:
    """Return the year, month and day of a mixed code, or of an array of codes."""
    return code // _DAYS // _MONTHS, code // _DAYS % _MONTHS, code % _DAYS


def whole(unit: str) -> str:
    """Return what a text must contain to be on an axis with this unit."""
    if unit in SECONDS:
        return "a time of day, such as 2014-05-13 14:22"
    return "a day" if unit == "week" else f"a whole {unit}"
