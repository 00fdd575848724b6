"""Times as they are written.

| text                                    | is                                             |
|-----------------------------------------|------------------------------------------------|
| 2014-05-13, 2014/05/13, 20140513        | a day (without dashes: 1000 to 2999)           |
| 13.05.2014, 05/13/2014, 13-05-2014      | a day, if the column shows which number is it  |
| 13 May 2014, 13-May-2014, May 13, 2014  | a day, by the English names of months          |
| 2014-05-13 14:22, 2014-05-13T14:22:07Z  | a time of day, with any of the days above      |
| 2014-05-13T14:22+02:00, 20140513142200  | the same; an offset is converted to UTC        |
| 2014-05, 2014-05-##                     | a month                                        |
| "1999-##-##", 600-##-##, 1999           | a year (quotes allowed; 3 digits with #)       |
| 17, -3, 1999                            | an integer, where no calendar text occurs      |
| (empty), ?, -, ####-##-##               | unknown                                        |
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from apptek.errors import TimeFormatError
from apptek.facts.calendar.positions import DAY_SECONDS, date_of, day_number, days_in

Kind = Literal["integer", "date", "either"]
Order = Literal["", "dmy", "mdy", "open"]

EXPECTED = (
    "a date (2014-05-13, 2014-05, 2014, 13.05.2014), a time (2014-05-13 14:22:00), an integer, or "
    "nothing for unknown"
)
UNKNOWN_TEXTS = frozenset({"", "?", "-", "####-##-##"})
_CALENDAR = re.compile(r"(-?[0-9]{3,6})-(?:(##)(?:-##)?|([0-9]{2})(?:-(?:(##)|([0-9]{2})))?)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_YEAR = re.compile(r"[0-9]{4}")
_COMPACT = re.compile(r"[12][0-9]{7}")
_CLOCK = (
    r"(?:[T ](?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})"
    r"(?:[.,][0-9]{1,9})?)?)?(?: ?(?P<zone>Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
YEAR_FIRST = re.compile(
    r"(?P<year>[0-9]{4})(?P<sep>[-/.]?)(?P<month>[0-9]{2})(?P=sep)(?P<day>[0-9]{2})" + _CLOCK
)
PACKED = re.compile(
    r"(?P<year>[12][0-9]{3})(?P<month>[0-9]{2})(?P<day>[0-9]{2})"
    r"(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?P<second>[0-9]{2})?(?P<zone>Z)?"
)
_YEAR_LAST = re.compile(
    r"(?P<first>[0-9]{1,2})(?P<sep>[./-])(?P<other>[0-9]{1,2})(?P=sep)(?P<year>[0-9]{4})" + _CLOCK
)
_DAY_NAMED = re.compile(
    r"(?P<day>[0-9]{1,2})[ -](?P<name>[A-Za-z]{3,9})[ -](?P<year>[0-9]{4})" + _CLOCK
)
_MONTH_NAMED = re.compile(
    r"(?P<name>[A-Za-z]{3,9}) (?P<day>[0-9]{1,2}),? (?P<year>[0-9]{4})" + _CLOCK
)
_NEEDS_PATTERN = re.compile(
    r"[0-9]{1,2}(?P<sep>[./-])[0-9]{1,2}(?P=sep)(?P<year>[0-9]{4}|[0-9]{2})"
    r"(?P<clock> [0-9]{1,2}:[0-9]{2}(?P<second>:[0-9]{2})?(?P<gap> ?)(?P<half>[AaPp][Mm])?)?"
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH_OF = {name[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, len(name))}
_LARGEST = 2**31 - 1
_LARGEST_OFFSET = 14 * 60  # minutes: no zone is farther from UTC
_FINEST = (("Y", 0), ("y", 0), ("m", 1), ("b", 1), ("B", 1), ("d", 2), ("j", 2), ("H", 3), ("I", 3))


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A time as it is written: an integer, or a date whose month and day are 0 where absent.

    A bare year such as 1999, or a day such as 20140513, may be both ("either"): the other times of
    the data decide.

    second  seconds since midnight (of UTC, if there is an offset); -1 without a time of day
    zoned   whether it has an offset
    order   which number of 13.05.2014 comes first, where it says so; "open" for 03.05.2014, whose
            month is taken to be the first one until `settled` says otherwise
    """

    kind: Kind
    year: int  # the integer itself where it is one
    month: int = 0
    day: int = 0
    second: int = -1
    zoned: bool = False
    order: Order = ""

    @property
    def is_compact(self) -> bool:
        """Whether it is written like 20140513."""
        return self.kind == "either" and self.year > 9999

    def as_date(self) -> "WrittenTime":
        """The same time, as a date."""
        if not self.is_compact:
            return self
        return WrittenTime("date", self.year // 10_000, self.year // 100 % 100, self.year % 100)

    def settled(self, order: str) -> "WrittenTime":
        """The same time, read in this order (dmy or mdy) where it may be read in two."""
        if self.order != "open" or not order:
            return self
        if order == "mdy":
            return replace(self, order="mdy")
        return replace(self, month=self.day, day=self.month, order="dmy")

    @property
    def precision(self) -> int:
        """0 year, 1 month, 2 day, 3 time of day."""
        return 3 if self.second >= 0 else (self.month > 0) + (self.day > 0)

    def bounds(self, kind: Kind) -> tuple[int, int]:
        """Two numbers that order times of one kind: the first and the last moment of this one."""
        if kind == "integer":
            return self.year, self.year
        if self.is_compact:
            return self.as_date().bounds(kind)
        # Month 0 and day 0 sort before, 15 and 31 after all that exist: a year holds its days.
        low = (self.year * 16 + self.month) * 32 + self.day
        high = (self.year * 16 + (self.month or 15)) * 32 + (self.day or 31)
        last = self.second if self.second >= 0 else DAY_SECONDS - 1
        return low * DAY_SECONDS + max(self.second, 0), high * DAY_SECONDS + last


def read_time(text: str) -> WrittenTime | None:
    """Parses a time, None where it is unknown; TimeFormatError says what is expected."""
    text = _bare(text)
    if text in UNKNOWN_TEXTS:
        return None
    if len(text) <= 18:  # a timestamp with seconds is longer
        if _INTEGER.fullmatch(text):
            return _read_digits(text)
        match = _CALENDAR.fullmatch(text)
        if match is not None:
            year, _, month, _, day = match.groups()
            has_month, has_day = month is not None, day is not None
            return _date(int(year), int(month or 0), int(day or 0), has_month, has_day)
    match = YEAR_FIRST.fullmatch(text) or PACKED.fullmatch(text)
    if match is not None:
        return _stamped(_date(int(match["year"]), int(match["month"]), int(match["day"])), match)
    match = _DAY_NAMED.fullmatch(text) or _MONTH_NAMED.fullmatch(text)
    if match is not None and match["name"].lower() in _MONTH_OF:
        month = _MONTH_OF[match["name"].lower()]
        return _stamped(_date(int(match["year"]), month, int(match["day"])), match)
    match = _YEAR_LAST.fullmatch(text)
    if match is None:
        raise TimeFormatError(EXPECTED + _hint(text))
    date = _date_of_two(int(match["year"]), int(match["first"]), int(match["other"]))
    return _stamped(date, match)


def _bare(text: str) -> str:
    """The text without the spaces that pad it, and without quotes around it."""
    text = text.strip(" ")
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def named_pattern(text: str) -> str:
    """The pattern of a day whose month is named, such as %d %B %Y; empty for any other text."""
    match = _DAY_NAMED.fullmatch(text) or _MONTH_NAMED.fullmatch(text)
    if match is None:
        return ""
    month = "%b" if len(match["name"]) == 3 and match["name"].lower() != "may" else "%B"
    if match.re is _DAY_NAMED:
        separator = text[match.end("day")]
        return separator.join(("%d", month, "%Y"))
    return f"{month} %d{',' if ',' in text else ''} %Y"


def _hint(text: str) -> str:
    """How to have a time read that needs a pattern: of twelve hours, or of two digits a year."""
    match = _NEEDS_PATTERN.fullmatch(text)
    if match is None or not (match["half"] or len(match["year"]) == 2):
        return ""
    separator, year = match["sep"], "%y" if len(match["year"]) == 2 else "%Y"
    clock = "" if match["clock"] is None else " %I:%M" if match["half"] else " %H:%M"
    clock += ":%S" if match["second"] else ""
    clock += f"{match['gap']}%p" if match["half"] else ""
    first, other = (separator.join((*two, year)) + clock for two in (("%d", "%m"), ("%m", "%d")))
    return f"; this one can be read by --date-format '{first}' or '{other}'"


def _read_digits(text: str) -> WrittenTime:
    packed = PACKED.fullmatch(text)
    if packed is not None:  # such as 20140513142200, which is no integer of 31 bits anyway
        date = _date(int(packed["year"]), int(packed["month"]), int(packed["day"]))
        return _stamped(date, packed)
    value = int(text)
    if abs(value) > _LARGEST:
        raise TimeFormatError("an integer of at most 31 bits (use a coarser unit)")
    return WrittenTime("either" if _may_be_a_date(text) else "integer", value)


def _may_be_a_date(digits: str) -> bool:
    """Whether an integer is written like a year, or like a day that exists."""
    if _YEAR.fullmatch(digits):
        return True
    if not _COMPACT.fullmatch(digits):
        return False
    year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:])
    return 1 <= month <= 12 and 1 <= day <= days_in(year, month)


def _date(
    year: int, month: int, day: int, has_month: bool = True, has_day: bool = True
) -> WrittenTime:
    if has_month and not 1 <= month <= 12:
        raise TimeFormatError("a month from 01 to 12")
    if has_day and not 1 <= day <= days_in(year, month):
        raise TimeFormatError(f"a day that exists in {year:04d}-{month:02d}")
    return WrittenTime("date", year, month, day)


def _date_of_two(year: int, first: int, other: int) -> WrittenTime:
    """The date of 13.05.2014 or 05.13.2014; open where both numbers may be the month."""
    if first > 12 or other > 12:
        day, month = (first, other) if first > 12 else (other, first)
        return replace(_date(year, month, day), order="dmy" if first > 12 else "mdy")
    date = _date(year, first, other)  # every month has twelve days
    return date if first == other else replace(date, order="open")


def _stamped(date: WrittenTime, match: "re.Match[str]") -> WrittenTime:
    """The date with the time of day that stands after it, in UTC if it has an offset."""
    parts = match.group("hour", "minute", "second", "zone")
    if parts[0] is None:
        return date
    hour, minute, second, zone = int(parts[0]), int(parts[1] or 0), int(parts[2] or 0), parts[3]
    if hour > 23 or minute > 59 or second > 59:
        raise TimeFormatError("a time of day from 00:00:00 to 23:59:59")
    seconds = (hour * 60 + minute) * 60 + second
    if zone is None:
        return WrittenTime("date", date.year, date.month, date.day, seconds, order=date.order)
    if date.order == "open":  # the day may change, and the month with it
        raise TimeFormatError("a date with the year first, if there is an offset")
    if zone not in ("Z", "UTC"):
        hours, of_hour = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
        minutes = hours * 60 + of_hour
        if of_hour > 59 or minutes > _LARGEST_OFFSET:
            raise TimeFormatError("an offset of at most 14:00")
        seconds -= minutes * (60 if zone[0] == "+" else -60)
    shift, seconds = divmod(seconds, DAY_SECONDS)
    if shift:
        year, month, day = date_of(day_number(date.year, date.month, date.day) + shift)
        return WrittenTime("date", year, month, day, seconds, True)
    return WrittenTime("date", date.year, date.month, date.day, seconds, True)


def read_by_pattern(text: str, pattern: str) -> WrittenTime | None:
    """Parses a time by a pattern of strptime, such as %d/%m/%Y; None where it is unknown."""
    text = _bare(text)
    if text in UNKNOWN_TEXTS:
        return None
    try:
        moment = datetime.strptime(text, pattern)
    except (ValueError, OverflowError):
        raise TimeFormatError(f"a time as in {pattern}, or nothing for unknown") from None
    zoned = moment.tzinfo is not None
    if zoned:
        try:
            moment = (moment - (moment.utcoffset() or timedelta())).replace(tzinfo=None)
        except OverflowError:
            raise TimeFormatError("a time between the years 1 and 9999 in UTC") from None
    finest = max((level for letter, level in _FINEST if f"%{letter}" in pattern), default=3)
    second = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return WrittenTime(
        "date",
        moment.year,
        moment.month if finest >= 1 else 0,
        moment.day if finest >= 2 else 0,
        second if finest == 3 else -1,
        zoned,
    )


def check_pattern(pattern: str) -> None:
    """Refuses a pattern that is none of strptime, or has no year; TimeFormatError says so."""
    try:
        datetime.strptime("", pattern)
    except ValueError as error:
        if "does not match format" not in str(error):  # "'Q' is a bad directive in format '%Q'"
            raise TimeFormatError(f"a pattern such as %d/%m/%Y ({error})") from None
    if not any(year in pattern for year in ("%Y", "%y", "%c", "%x", "%G")):
        raise TimeFormatError("a pattern with a year, such as %d/%m/%Y")
