"""Time as the data writes it: texts, their codes, and positions on one axis.

| text                          | is                                       |
|-------------------------------|------------------------------------------|
| 2014-05-13, 20140513          | a day (without dashes: 1000 to 2999)     |
| 2014-05, 2014-05-##           | a month                                  |
| "1999-##-##", 600-##-##, 1999 | a year (quotes allowed; 3 digits with #) |
| 17, -3, 1999                  | an integer, where no calendar text occurs|
| (empty), ?, -, ####-##-##     | unknown                                  |

A *code* names one written time: equal texts, equal codes, and back. A *position* is where it lies
on the axis, in the axis' unit; distances are differences of positions. The two differ only on a
calendar of mixed precision, where "1999" and "1999-01-01" are two codes at one position.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from apptek.arrays import Ints
from apptek.errors import TimeFormatError

Kind = Literal["integer", "date", "either"]
Unit = Literal["integer", "year", "month", "day"]

UNKNOWN = int(np.iinfo(np.int32).min)
EXPECTED = "YYYY-MM-DD, YYYY-MM, YYYY, YYYY-##-##, an integer, or nothing for unknown"
UNKNOWN_TEXTS = frozenset({"", "?", "-", "####-##-##"})
_CALENDAR = re.compile(r"(-?[0-9]{3,6})-(?:(##)(?:-##)?|([0-9]{2})(?:-(?:(##)|([0-9]{2})))?)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_YEAR = re.compile(r"[0-9]{4}")
_COMPACT = re.compile(r"[12][0-9]{7}")
_UNITS: tuple[Unit, ...] = ("year", "month", "day")  # by precision 0, 1, 2
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LARGEST = 2**31 - 1
_NO_BOUNDS = (-(2**62), 2**62)  # an unknown end contradicts nothing


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A time as it is written: an integer, or a date whose month and day are 0 where absent.

    A bare year such as 1999, or a day such as 20140513, may be both ("either"): the other times of
    the data decide.
    """

    kind: Kind
    year: int  # the integer itself where it is one
    month: int = 0
    day: int = 0

    @property
    def is_compact(self) -> bool:
        """Whether it is written like 20140513."""
        return self.kind == "either" and self.year > 9999

    def as_date(self) -> "WrittenTime":
        """The same time, as a date."""
        if not self.is_compact:
            return self
        return WrittenTime("date", self.year // 10_000, self.year // 100 % 100, self.year % 100)

    @property
    def precision(self) -> int:
        """0 year, 1 month, 2 day."""
        return (self.month > 0) + (self.day > 0)

    def bounds(self, kind: Kind) -> tuple[int, int]:
        """Two numbers that order times of one kind: the first and the last moment of this one."""
        if kind == "integer":
            return self.year, self.year
        if self.is_compact:
            return self.as_date().bounds(kind)
        # Month 0 and day 0 sort before, 15 and 31 after all that exist: a year holds its days.
        low = (self.year * 16 + self.month) * 32 + self.day
        high = (self.year * 16 + (self.month or 15)) * 32 + (self.day or 31)
        return low, high


def read_time(text: str) -> WrittenTime | None:
    """Parses a time, None where it is unknown; TimeFormatError says what is expected."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    if text in UNKNOWN_TEXTS:
        return None
    if _INTEGER.fullmatch(text):
        value = int(text)
        if abs(value) > _LARGEST:
            raise TimeFormatError("an integer of at most 31 bits (use a coarser unit)")
        return WrittenTime("either" if _may_be_a_date(text) else "integer", value)
    match = _CALENDAR.fullmatch(text)
    if match is None:
        raise TimeFormatError(EXPECTED)
    year, _, month, _, day = match.groups()
    return _date(int(year), month, day)


def _may_be_a_date(digits: str) -> bool:
    """Whether an integer is written like a year, or like a day that exists."""
    if _YEAR.fullmatch(digits):
        return True
    if not _COMPACT.fullmatch(digits):
        return False
    year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:])
    return 1 <= month <= 12 and 1 <= day <= _days_in(year, month)


def _date(year: int, month: str | None, day: str | None) -> WrittenTime:
    if month is None:
        return WrittenTime("date", year)
    if not 1 <= int(month) <= 12:
        raise TimeFormatError("a month from 01 to 12")
    if day is None:
        return WrittenTime("date", year, int(month))
    if not 1 <= int(day) <= _days_in(year, int(month)):
        raise TimeFormatError(f"a day that exists in {year:04d}-{month}")
    return WrittenTime("date", year, int(month), int(day))


def _days_in(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _DAYS[month - 1]


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The line on which a data set's times lie.

    unit   the length of one step: integer, year, month or day (days count from 1970-01-01, months
           from year 0). Mixed calendars take the unit in which most facts are written.
    mixed  whether dates of different precision occur; then codes are (year * 13 + month) * 32 + day
           and a position is the start of the year, month or day that is written.
    """

    unit: Unit
    mixed: bool = False

    def code(self, written: WrittenTime | None) -> int:
        """The code of a time; a date that is finer than the axis is cut to the axis' unit."""
        if written is None:
            return UNKNOWN
        if (self.unit == "integer") != (written.kind == "integer") and written.kind != "either":
            kind = "integers" if self.unit == "integer" else "calendar dates"
            raise TimeFormatError(f"one of this data's times, which are {kind}")
        if self.unit == "integer":
            return written.year
        written = written.as_date()
        if self.mixed:
            return (written.year * 13 + written.month) * 32 + written.day
        if written.precision < _UNITS.index(self.unit):
            raise TimeFormatError(f"a whole {self.unit}, as in this data")
        return _position(self.unit, written.year, written.month, written.day)

    def parse(self, text: str) -> int:
        """The code of a time in a query; TimeFormatError says what was found and expected."""
        try:
            return self.code(read_time(text))
        except TimeFormatError as error:
            raise TimeFormatError(f"time {text!r}: expected {error}") from None

    def format(self, code: int) -> str:
        """The text of a code, which parse reads back; '?' where it is unknown."""
        code = int(code)  # np.datetime64 takes no numpy integers
        if code == UNKNOWN:
            return "?"
        if self.unit == "integer":
            return str(code)
        year, month, day = _decode(code) if self.mixed else _calendar(self.unit, code)
        if not month and not 0 <= year <= 9999:
            return f"{year:04d}-##-##"  # without the marks it would be an integer
        return "-".join([f"{year:04d}", *(f"{part:02d}" for part in (month, day) if part)])

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
        return _position(self.unit, *_decode(code)) if self.mixed else code


def _decode(code: int) -> tuple[int, int, int]:
    return code // 32 // 13, code // 32 % 13, code % 32


def _position(unit: Unit, year: int, month: int, day: int) -> int:
    if unit == "year":
        return year
    months = year * 12 + max(month, 1) - 1
    if unit == "month":
        return months
    # numpy's calendar, because datetime.date has no year below 1 or above 9999.
    first = np.datetime64(months - 1970 * 12, "M").astype("datetime64[D]")
    return int(first.astype(np.int64)) + max(day, 1) - 1


def _calendar(unit: Unit, position: int) -> tuple[int, int, int]:
    if unit == "year":
        return position, 0, 0
    if unit == "month":
        return position // 12, position % 12 + 1, 0
    date = np.datetime64(position, "D")
    months = int(date.astype("datetime64[M]").astype(np.int64))
    day = position - int(np.datetime64(months, "M").astype("datetime64[D]").astype(np.int64)) + 1
    return months // 12 + 1970, months % 12 + 1, day


@dataclass(slots=True)
class TimeDictionary:
    """The distinct time texts met while reading, each parsed once; at the end they fix the axis.

    Calendar texts and integers do not mix: whichever comes first is right, the other is refused.
    """

    kind: Kind = "either"
    ids: dict[str, int] = field(default_factory=dict)
    written: list[WrittenTime | None] = field(default_factory=list)

    def add(self, text: str) -> int:
        """The id of `text`; TimeFormatError says what was expected instead."""
        time_id = self.ids.get(text)
        written = read_time(text) if time_id is None else self.written[time_id]
        # Also for a text that is known: the kind may have been reset since it was added.
        if written is not None and written.kind != "either":
            if self.kind not in ("either", written.kind):
                kind = "an integer" if self.kind == "integer" else "a calendar date"
                raise TimeFormatError(f"{kind}, as in the facts before")
            self.kind = written.kind
        if time_id is None:
            time_id = self.ids[text] = len(self.written)
            self.written.append(written)
        return time_id

    def bounds_of(self, time_id: int) -> tuple[int, int]:
        """First and last moment of a time, to see whether an interval ends before it starts."""
        written = self.written[time_id]
        return _NO_BOUNDS if written is None else written.bounds(self.kind)

    def resolve(self, counts: Sequence[int]) -> tuple[TimeAxis, Ints]:
        """The axis, and the code of every id on it; `counts` are the facts of each id."""
        used = [w if count else None for w, count in zip(self.written, counts, strict=True)]
        axis = self._axis(used, counts)
        return axis, np.asarray([axis.code(written) for written in used], np.int32)

    def _axis(self, used: list[WrittenTime | None], counts: Sequence[int]) -> TimeAxis:
        compact = any(written is not None and written.is_compact for written in used)
        if self.kind == "integer" or (self.kind == "either" and not compact):
            years = [written.year for written in used if written is not None]
            # Four digits each: years, unless they lie where no data about people does.
            are_years = self.kind == "either" and years and max(years) < 3000
            return TimeAxis("year" if are_years else "integer")
        weights = [0, 0, 0]  # facts by precision
        for written, count in zip(used, counts, strict=True):
            if written is not None:
                weights[written.as_date().precision] += count
        # A tie goes to the finer unit, in which both precisions have positions.
        unit = _UNITS[max(range(3), key=lambda precision: (weights[precision], precision))]
        return TimeAxis(unit, mixed=sum(weight > 0 for weight in weights) > 1)
