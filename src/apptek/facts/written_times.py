"""Written times, read as arrays.

| text                                    | is                                             |
|-----------------------------------------|------------------------------------------------|
| 2014-05-13, 2014/5/13, 20140513         | a day (without dashes: 1000 to 2999)           |
| 13.05.2014, 05/13/2014, 13-05-2014      | a day, if the column shows which number it is  |
| 13 May 2014, 13-May-2014, May 13, 2014  | a day, by the English names of months          |
| 2014-05-13 14:22, 2014-05-13T14:22:07Z  | a time of day, with any of the days above      |
| 2014-05-13T14:22+02:00                  | the same; an offset is converted to UTC        |
| 2014-05, 2014-05-##, 201405             | a month (without a dash: 1900 to 2099)         |
| "1999-##-##", 600-##-##, 1999           | a year (quotes allowed; 3 digits with #)       |
| 17, -3, 1999                            | an integer, where no calendar text occurs      |
| (empty), ?, -, ####-##-##               | unknown                                        |

Texts that differ only in their digits are read together. One regular expression finds their
numbers.
"""

import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Longs
from apptek.errors import TimeFormatError
from apptek.facts.calendar import DAY_SECONDS, date_of, day_number, days_in

EXPECTED = (
    "a date (2014-05-13, 2014-05, 2014, 13.05.2014), a time (2014-05-13 14:22:00), an integer, or "
    "nothing for unknown; use --date-format for other forms, such as %d/%m/%y"
)
UNKNOWN_TEXTS = frozenset({"", "?", "-", "####-##-##"})
NOTHING, INTEGER, DATE, EITHER = range(4)  # EITHER: 1999, 201405 or 20140513, decided by all times
DMY, MDY, OPEN = range(1, 4)  # OPEN: 03.05.2014, whose first number is the month until settled
ORDERS = ("", "dmy", "mdy")
# An integer is its own year. Unwritten months and days are 0, and unwritten seconds since
# midnight are -1. A time with an offset is zoned and in UTC. A fault is an index of _FAULTS.
WRITTEN = np.dtype(
    [
        *(("kind", np.int8), ("order", np.int8), ("fault", np.int8), ("zoned", np.bool_)),
        *((name, np.int64) for name in ("year", "month", "day", "second")),
    ]
)
Written = npt.NDArray[Any]  # of WRITTEN
_FAULTS = (
    "",
    EXPECTED,
    "a month from 01 to 12",
    "a day that exists in {0:04d}-{1:02d}",
    "a time of day from 00:00:00 to 23:59:59",
    "a date with the year first, if there is an offset",
    "an offset of at most 14:00",
    "an integer of at most 31 bits (use a coarser unit)",
)
_NO_TIME, _MONTH, _DAY, _CLOCK_FAULT, _OPEN_ZONED, _OFFSET, _TOO_LARGE = range(1, 8)
_LARGEST = 2**31 - 1
_LARGEST_OFFSET = 14 * 60  # minutes; no zone is further from UTC
_CLOCK = (
    r"(?:[T ](?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})"
    r"(?:[.,][0-9]{1,9})?)?)?"
    r"(?: ?(?P<zone>Z|UTC|[+-](?P<zone_hour>[0-9]{2})(?::?(?P<zone_minute>[0-9]{2}))?))?)?"
)
_DIGITS = re.compile(r"(?P<sign>[+-]?)(?P<digits>[0-9]{1,18})")
_DAY_NAMED = re.compile(
    r"(?P<day>[0-9]{1,2})[ -](?P<name>[A-Za-z]{3,9})[ -](?P<year>[0-9]{4})" + _CLOCK
)
_MONTH_NAMED = re.compile(
    r"(?P<name>[A-Za-z]{3,9}) (?P<day>[0-9]{1,2}),? (?P<year>[0-9]{4})" + _CLOCK
)
_FORMS = (
    _DIGITS,
    re.compile(
        r"(?P<sign>-?)(?P<year>[0-9]{3,6})-"
        r"(?:##(?:-##)?|(?P<month>[0-9]{2})(?:-(?:##|(?P<day>[0-9]{2})))?)"
    ),
    re.compile(
        r"(?P<year>[0-9]{4})(?P<sep>[-/.]?)(?P<month>[0-9]{2})(?P=sep)(?P<day>[0-9]{2})" + _CLOCK
    ),
    re.compile(
        r"(?P<year>[0-9]{4})(?P<sep>[-/.])(?P<month>[0-9]{1,2})(?P=sep)(?P<day>[0-9]{1,2})" + _CLOCK
    ),
    _DAY_NAMED,
    _MONTH_NAMED,
    re.compile(
        r"(?P<first>[0-9]{1,2})(?P<sep>[./-])(?P<other>[0-9]{1,2})(?P=sep)(?P<year>[0-9]{4})"
        + _CLOCK
    ),
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH_OF = {name[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, len(name))}
_FINEST = (("Y", 0), ("y", 0), ("m", 1), ("b", 1), ("B", 1), ("d", 2), ("j", 2), ("H", 3), ("I", 3))


def read_times(texts: pa.Array) -> Written:
    """Read many texts as times. A text that is not a time has a fault."""
    shapes = pc.replace_substring_regex(texts, "[0-9]", "0").dictionary_encode()
    codes = shapes.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    written = np.zeros(len(texts), WRITTEN)
    ends = np.cumsum(np.bincount(codes, minlength=len(shapes.dictionary)))
    for rows in np.split(order, ends[:-1]) if len(order) else ():
        alike = texts.take(pa.array(rows)).cast(pa.binary())
        first, end = (int(offset) for offset in np.frombuffer(alike.buffers()[1], np.int32)[:2])
        size = end - first
        table = np.frombuffer(alike.buffers()[2] or b"", np.uint8, len(rows) * size)
        text = bytes(table[:size]).decode()
        written[rows] = _read_alike(text, table.reshape(len(rows), size))
    return written


def read_time(text: str) -> Written:
    """Read one text as an array with one element."""
    encoded = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    return _read_alike(text, encoded.reshape(1, -1))


def _read_alike(text: str, table: npt.NDArray[np.uint8]) -> Written:
    """Read texts (n, characters) that differ from `text` only in digits."""
    written = np.zeros(len(table), WRITTEN)
    written["second"] = -1
    bare = _bare(text)
    if bare in UNKNOWN_TEXTS:
        return written
    match = next((match for form in _FORMS if (match := form.fullmatch(bare))), None)
    named = match is not None and "name" in match.re.groupindex
    if match is None or (named and match["name"].lower() not in _MONTH_OF):
        written["fault"] = _NO_TIME
        return written
    table = table[:, text.index(bare) :]
    parts = {
        name: _number(table, *match.span(name))
        for name, cell in match.groupdict().items()
        if cell and cell.isdecimal()
    }
    written["kind"] = DATE
    if match.re is _DIGITS:
        _read_digits(written, parts["digits"] * (-1 if match["sign"] == "-" else 1), match)
        return written
    if "first" in parts:
        _order_day_and_month(written, parts)
    elif named:
        parts["month"] = np.full(len(table), _MONTH_OF[match["name"].lower()])
    if match.groupdict().get("sign"):
        parts["year"] = -parts["year"]
    _fill(written, parts, match.groupdict().get("zone"))
    return written


def _bare(text: str) -> str:
    """Return the text without padding spaces and surrounding quotes."""
    text = text.strip(" ")
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def _number(table: npt.NDArray[np.uint8], start: int, stop: int) -> Longs:
    """Return the numbers in a range of character columns."""
    number = np.zeros(len(table), np.int64)
    for column in range(start, stop):
        number = number * 10 + table[:, column] - ord("0")
    return number


def _read_digits(written: Written, value: Longs, match: "re.Match[str]") -> None:
    """Fill in integers, including those that may be years or days."""
    written["kind"], written["year"] = INTEGER, value
    written["fault"][np.abs(value) > _LARGEST] = _TOO_LARGE
    if match["sign"]:
        return
    if len(match["digits"]) == 4:
        written["kind"] = EITHER
    elif len(match["digits"]) == 6:
        year, month = value // 100, value % 100
        months = (month >= 1) & (month <= 12) & (year >= 1900) & (year < 2100)
        written["kind"][months] = EITHER
    elif len(match["digits"]) == 8:
        year, month, day = value // 10_000, value // 100 % 100, value % 100
        exists = (month >= 1) & (month <= 12) & (day >= 1)
        exists &= day <= days_in(year, np.clip(month, 1, 12))
        written["kind"][exists & (year >= 1000) & (year < 3000)] = EITHER


def _order_day_and_month(written: Written, parts: dict[str, Longs]) -> None:
    """Find the day and month of 13.05.2014 or 05.13.2014; the order is open if both fit."""
    first, other = parts["first"], parts["other"]
    parts["month"], parts["day"] = np.where(first > 12, (other, first), (first, other))
    written["order"] = np.where(first == other, 0, OPEN)
    written["order"][other > 12] = MDY
    written["order"][first > 12] = DMY


def _fill(written: Written, parts: dict[str, Longs], zone: str | None) -> None:
    """Fill in dates and any time of day that follows, in UTC if it has an offset."""
    for name in ("year", "month", "day"):
        if name in parts:
            written[name] = parts[name]
    if "month" in parts:
        month = parts["month"]
        _blame(written, (month < 1) | (month > 12), _MONTH)
        if "day" in parts:
            last = days_in(parts["year"], np.clip(month, 1, 12))
            _blame(written, (parts["day"] < 1) | (parts["day"] > last), _DAY)
    if "hour" not in parts:
        return
    hour, minute, second = (parts.get(name, np.int64(0)) for name in ("hour", "minute", "second"))
    _blame(written, (hour > 23) | (minute > 59) | (second > 59), _CLOCK_FAULT)
    seconds = (hour * 60 + minute) * 60 + second
    if zone is None:
        written["second"] = seconds
        return
    _blame(written, written["order"] == OPEN, _OPEN_ZONED)
    minutes = parts.get("zone_hour", np.int64(0)) * 60 + parts.get("zone_minute", np.int64(0))
    too_far = (minutes > _LARGEST_OFFSET) | (parts.get("zone_minute", np.int64(0)) > 59)
    _blame(written, np.broadcast_to(too_far, len(written)), _OFFSET)
    good = written["fault"] == 0
    days = day_number(*(np.where(good, written[name], 1) for name in ("year", "month", "day")))
    moments = days * DAY_SECONDS + seconds - minutes * (-60 if zone[0] == "-" else 60)
    shifted = date_of(moments // DAY_SECONDS)
    for name, part in zip(("year", "month", "day"), shifted, strict=True):
        written[name] = np.where(good, part, written[name])
    written["second"], written["zoned"], written["order"] = moments % DAY_SECONDS, True, 0


def _blame(written: Written, rows: Any, fault: int) -> None:
    written["fault"][rows & (written["fault"] == 0)] = fault


def expected_of(one: Any) -> str:
    """Return what was expected instead of a text with a fault."""
    return _FAULTS[one["fault"]].format(int(one["year"]), int(one["month"]))


def precisions(written: Written) -> Longs:
    """Return 0 for a year, 1 for a month, 2 for a day and 3 for a time of day."""
    found: Longs = (written["month"] > 0).astype(np.int64) + (written["day"] > 0)
    return np.where(written["second"] >= 0, 3, found)


def as_dates(written: Written, order: str) -> Written:
    """Return the times as dates. The order, dmy or mdy, applies where both are possible."""
    dates = written.copy()
    compact = (dates["kind"] == EITHER) & (dates["year"] > 9999)
    number = dates["year"][compact]
    number = np.where(number < 1_000_000, number * 100, number)  # a month has no day
    dates["year"][compact], dates["month"][compact] = number // 10_000, number // 100 % 100
    dates["day"][compact] = number % 100
    dates["kind"][dates["kind"] == EITHER] = DATE
    if order:
        is_open = dates["order"] == OPEN
        dates["order"][is_open] = ORDERS.index(order)
        if order == "dmy":
            months = dates["month"][is_open]
            dates["month"][is_open], dates["day"][is_open] = dates["day"][is_open], months
    return dates


def read_by_pattern(text: str, pattern: str) -> Written:
    """Read a time with a strptime pattern such as %d/%m/%Y, or raise TimeFormatError."""
    written, text = np.zeros(1, WRITTEN), _bare(text)
    written["second"] = -1
    if text in UNKNOWN_TEXTS:
        return written
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
    month, day = moment.month * (finest >= 1), moment.day * (finest >= 2)
    written[0] = (DATE, 0, 0, zoned, moment.year, month, day, second if finest == 3 else -1)
    return written


def check_pattern(pattern: str) -> None:
    """Raise TimeFormatError for an invalid strptime pattern, or one without a year."""
    try:
        datetime.strptime("", pattern)
    except ValueError as error:
        if "does not match format" not in str(error):  # "'Q' is a bad directive in format '%Q'"
            raise TimeFormatError(f"a pattern such as %d/%m/%Y ({error})") from None
    if not any(year in pattern for year in ("%Y", "%y", "%c", "%x", "%G")):
        raise TimeFormatError("a pattern with a year, such as %d/%m/%Y")
