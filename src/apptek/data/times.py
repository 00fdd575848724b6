"""Times on one axis: the codes of written times, and their positions.

A *code* names one written time: equal texts, equal codes, and back. A *position* is where it lies
on the axis, in the axis' unit; distances are differences of positions. The two differ only on a
calendar of mixed precision, where "1999" and "1999-01-01" are two codes at one position.

The texts are those of calendar/written.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from apptek.arrays import Ints
from apptek.data.calendar.positions import DAY_SECONDS, SECONDS, Unit, calendar, position
from apptek.data.calendar.written import (
    EXPECTED,
    UNKNOWN_TEXTS,
    Kind,
    WrittenTime,
    check_pattern,
    read_by_pattern,
    read_time,
)
from apptek.errors import TimeFormatError

__all__ = ["EXPECTED", "UNKNOWN", "UNKNOWN_TEXTS", "TimeAxis", "Unit", "WrittenTime", "read_time"]

Granularity = Literal["auto", "second", "minute", "hour", "day", "week", "month", "year"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)
ENOUGH_VALUES = 50  # distinct times that make a unit fine enough
UNKNOWN = int(np.iinfo(np.int32).min)
_LARGEST = 2**31 - 1
_NO_BOUNDS = (-(2**62), 2**62)  # an unknown end contradicts nothing
_BY_PRECISION: tuple[Unit, ...] = ("year", "month", "day")
# What a text must have to be a whole unit: see WrittenTime.precision.
_NEEDED = {"year": 0, "month": 1, "week": 2, "day": 2, "hour": 3, "minute": 3, "second": 3}
_FIRST = {"dmy": "day", "mdy": "month"}


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
    """

    unit: Unit
    mixed: bool = False
    date_format: str = ""

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
        if written.precision < _NEEDED[self.unit]:
            raise TimeFormatError(f"{_whole(self.unit)}, as in this data")
        date = (written.year, written.month, written.day, written.second)
        code = position(self.unit, *date)
        if abs(code) > _LARGEST:
            raise TimeFormatError("a time from 1902 to 2037, or a granularity coarser than seconds")
        return code

    def how_to_read(self) -> dict[str, str]:
        """The options with which further files are read onto this axis."""
        order = {"date_format": self.date_format} if self.date_format in _FIRST else {}
        if self.mixed or self.unit in ("integer", "year"):  # a bare number may be either of these
            return order
        return {"granularity": self.unit, **order}

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

    def _read(self, text: str) -> WrittenTime | None:
        """A query's time, written in a way of its own or like the data."""
        try:
            written = read_time(text)
        except TimeFormatError:
            if "%" not in self.date_format:
                raise
            return read_by_pattern(text, self.date_format)
        if written is None or written.order != "open" or self.date_format in _FIRST:
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


def _decode(code: int) -> tuple[int, int, int]:
    return code // 32 // 13, code // 32 % 13, code % 32


def _whole(unit: str) -> str:
    """What a text must hold to lie on an axis of this unit."""
    if unit in SECONDS:
        return "a time of day, such as 2014-05-13 14:22"
    return "a day" if unit == "week" else f"a whole {unit}"


@dataclass(slots=True)
class TimeDictionary:
    """The distinct time texts met while reading, each parsed once; at the end they fix the axis.

    Calendar texts and integers do not mix, nor do times of day with an offset and without, nor
    dates with the day first and with the month first: whichever comes first is right, the other
    is refused.

    unsettled  whether an interval was compared whose dates may be read in two orders
    """

    granularity: Granularity = "auto"
    date_format: str = ""  # a pattern of strptime, dmy or mdy; nothing: as the texts show
    kind: Kind = "either"
    zoned: bool | None = None
    order: str = ""
    ids: dict[str, int] = field(default_factory=dict)
    written: list[WrittenTime | None] = field(default_factory=list)
    unsettled: bool = False

    def __post_init__(self) -> None:
        if self.granularity != "auto":
            self.kind = "date"
        if self.date_format in _FIRST:
            self.order = self.date_format
        elif self.date_format:
            check_pattern(self.date_format)

    @property
    def state(self) -> tuple[Kind, bool | None, str]:
        """What the texts so far have decided; assign it to forget what was decided since."""
        return self.kind, self.zoned, self.order

    @state.setter
    def state(self, state: tuple[Kind, bool | None, str]) -> None:
        self.kind, self.zoned, self.order = state

    def add(self, text: str) -> int:
        """The id of `text`; TimeFormatError says what was expected instead."""
        time_id = self.ids.get(text)
        written = self._read(text) if time_id is None else self.written[time_id]
        # Also for a text that is known: the state may have been reset since it was added.
        if written is not None:
            self._agree(written)
        if time_id is None:
            time_id = self.ids[text] = len(self.written)
            self.written.append(written)
        return time_id

    def _read(self, text: str) -> WrittenTime | None:
        is_pattern = bool(self.date_format) and self.date_format not in _FIRST
        written = read_by_pattern(text, self.date_format) if is_pattern else read_time(text)
        wanted = _NEEDED.get(self.granularity, 0)  # 0 for auto
        if written is not None and written.as_date().precision < wanted:
            raise TimeFormatError(f"{_whole(self.granularity)}, for {self.granularity}s")
        return written

    def _agree(self, written: WrittenTime) -> None:
        """Notes what a time decides; TimeFormatError if it contradicts those before."""
        if written.kind != "either":
            if self.kind not in ("either", written.kind):
                kind = "an integer" if self.kind == "integer" else "a calendar date"
                raise TimeFormatError(f"{kind}, as in the facts before")
            self.kind = written.kind
        if written.second >= 0:
            if self.zoned not in (None, written.zoned):
                how = "with an offset" if self.zoned else "without an offset"
                raise TimeFormatError(f"a time {how}, as in the facts before")
            self.zoned = written.zoned
        if written.order in _FIRST:
            if self.order not in ("", written.order):
                raise TimeFormatError(f"the {_FIRST[self.order]} first, as in the facts before")
            self.order = written.order

    def bounds_of(self, time_id: int) -> tuple[int, int]:
        """First and last moment of a time, to see whether an interval ends before it starts."""
        written = self.written[time_id]
        if written is None:
            return _NO_BOUNDS
        if written.order == "open" and not self.order:
            self.unsettled = True
            return _NO_BOUNDS
        return written.settled(self.order).bounds(self.kind)

    def open_text(self, counts: Sequence[int]) -> str | None:
        """A text that may be read with the day or with the month first, if the others do not say.

        `counts` are the facts of each id.
        """
        if self.order:
            return None
        texts = zip(self.ids, self.written, counts, strict=True)
        return next((t for t, w, count in texts if count and w and w.order == "open"), None)

    def date_pattern(self) -> str:
        """How dates are written: a pattern of strptime, ISO 8601, or integer."""
        if self.kind == "integer":
            return "integer"
        if not self.order:
            return self.date_format or "ISO 8601"
        texts = (text for text, w in zip(self.ids, self.written, strict=True) if w and w.order)
        first = next(texts, "//").strip('"')
        separator = next(character for character in first if not character.isdigit())
        return separator.join(("%d", "%m", "%Y") if self.order == "dmy" else ("%m", "%d", "%Y"))

    def resolve(self, counts: Sequence[int]) -> tuple[TimeAxis, Ints]:
        """The axis, and the code of every id on it; `counts` are the facts of each id."""
        text = self.open_text(counts)
        if text is not None:
            separator = next(c for c in text if not c.isdigit())
            forms = [separator.join(form) for form in (("%d", "%m", "%Y"), ("%m", "%d", "%Y"))]
            raise TimeFormatError(
                f"the dates may be read in two ways, such as {text!r}: "
                f"say --date-format {forms[0]} or --date-format {forms[1]}"
            )
        used = [
            self._settled(w) if count and w is not None else None
            for w, count in zip(self.written, counts, strict=True)
        ]
        axis = self._axis(used, counts)
        return axis, np.asarray([axis.code(written) for written in used], np.int32)

    def _settled(self, written: WrittenTime) -> WrittenTime:
        """A time as a date, in the order of day and month that was found; an integer as it is."""
        if self.kind == "integer" or (written.kind == "date" and written.order != "open"):
            return written
        return written.settled(self.order).as_date()

    def _axis(self, used: list[WrittenTime | None], counts: Sequence[int]) -> TimeAxis:
        if self.granularity != "auto":
            return TimeAxis(self.granularity, date_format=self._how())
        compact = any(w is not None and w.kind == "date" for w in used)
        if self.kind == "integer" or (self.kind == "either" and not compact):
            years = [written.year for written in used if written is not None]
            # Four digits each: years, unless they lie where no data about people does.
            are_years = self.kind == "either" and years and max(years) < 3000
            return TimeAxis("year" if are_years else "integer")
        weights = [0, 0, 0, 0]  # facts by precision
        for written, count in zip(used, counts, strict=True):
            if written is not None:
                weights[written.precision] += count
        if weights[3] and not any(weights[:3]):
            return TimeAxis(_fine_enough(used), date_format=self._how())
        weights[2] += weights.pop()  # beside plain days, a time of day counts as its day
        # A tie goes to the finer unit, in which both precisions have positions.
        unit = _BY_PRECISION[max(range(3), key=lambda precision: (weights[precision], precision))]
        mixed = sum(weight > 0 for weight in weights) > 1
        return TimeAxis(unit, mixed=mixed, date_format=self._how())

    def _how(self) -> str:
        return self.date_format or self.order


def _fine_enough(used: list[WrittenTime | None]) -> Unit:
    """The coarsest unit from day to second with enough distinct values.

    Where there are too few times for that, the coarsest one that keeps them all apart.
    """
    stamps = [w for w in used if w is not None]
    days = [position("day", w.year, w.month, w.day) * DAY_SECONDS + w.second for w in stamps]
    moments = np.unique(np.asarray(days, np.int64))
    steps: dict[Unit, int] = {"day": DAY_SECONDS, "hour": 3600, "minute": 60, "second": 1}
    if np.abs(moments).max() > _LARGEST:
        del steps["second"]
    counts = {unit: len(np.unique(moments // step)) for unit, step in steps.items()}
    enough = min(ENOUGH_VALUES, max(counts.values()))
    return next(unit for unit, count in counts.items() if count >= enough)
