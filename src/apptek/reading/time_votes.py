"""How to interpret a data set's times: all distinct texts vote, and those that disagree are bad.

Calendar texts and integers do not mix. The same is true of times of day with and without an offset,
of dates with the day first and with the month first, and (by default) of years and days. The
majority of the facts decides. On ties, dates, the day first, and an offset win.
"""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Bools, Ints, Longs
from apptek.errors import TimeFormatError
from apptek.facts.calendar import DAY_SECONDS, Unit, position
from apptek.facts.times import FIRST, LARGEST, NEEDED, Granularity, TimeAxis, whole
from apptek.facts.written_times import (
    DATE,
    DMY,
    EITHER,
    INTEGER,
    MDY,
    NOTHING,
    OPEN,
    WRITTEN,
    Written,
    as_dates,
    check_pattern,
    expected_of,
    precisions,
    read_by_pattern,
    read_times,
)

NEARLY_ALL = 0.9  # of distinct times
END_OF_YEARS = 3000  # if all numbers have four digits and are below this, they are years
FEWEST_STEPS = 3  # distinct integers required for a stride
ENOUGH_VALUES = 50  # distinct times that make a unit fine enough
_UNITS: tuple[Unit, ...] = ("year", "month", "day")  # by precision
_MIDNIGHT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_FAR = 2**62  # an unknown end does not contradict anything


def without_midnight(text: str) -> str:
    """Return the day of a time at midnight, in the time's own zone."""
    return text[:10] if re.fullmatch(_MIDNIGHT, text) else text


def without_midnights(texts: pa.Array) -> pa.Array:
    """Return the days of times if all times of day are midnight in their own zone."""
    at_midnight = pc.match_substring_regex(texts, f"^{_MIDNIGHT}$")
    has_clock = pc.match_substring(texts, ":")
    if not pc.any(at_midnight).as_py() or pc.any(pc.greater(has_clock, at_midnight)).as_py():
        return texts
    return pc.if_else(at_midnight, pc.utf8_slice_codeunits(texts, 0, 10), texts)


class TimeVotes:
    """The distinct time texts of a data set, and the required format.

    written   see WRITTEN
    good      which texts are valid so far
    expected  the expected format for each of the other texts
    kind      INTEGER, DATE or EITHER; with DATE, integers are bad
    """

    def __init__(
        self, texts: pa.Array, granularity: Granularity, date_format: str, kind: int = EITHER
    ) -> None:
        if "%" not in date_format and NEEDED.get(granularity, 0) <= NEEDED["day"]:
            texts = without_midnights(texts)
        self.texts, self.granularity, self.date_format = texts, granularity, date_format
        self.kind = DATE if granularity != "auto" else kind
        self.order = date_format if date_format in FIRST else ""
        self.good = np.ones(len(texts), np.bool_)
        self.expected: dict[int, str] = {}
        if date_format and not self.order:
            check_pattern(date_format)
            self.written = self._read_by_pattern()
        else:
            self.written = read_times(texts)
            for row in np.flatnonzero(self.written["fault"]).tolist():
                self.expected[row] = expected_of(self.written[row])
        self.good[list(self.expected)] = False
        too_coarse = precisions(as_dates(self.written, "")) < NEEDED.get(granularity, 0)
        self._refuse(too_coarse, f"{whole(granularity)}, for {granularity}s")

    def _read_by_pattern(self) -> Written:
        written = np.zeros(len(self.texts), WRITTEN)
        for row, text in enumerate(self.texts.to_pylist()):
            try:
                written[row] = read_by_pattern(text, self.date_format)[0]
            except TimeFormatError as error:
                self.expected[row] = str(error)
        return written

    def _refuse(self, texts: Bools, expected: str) -> None:
        """Mark known times as bad that were good so far."""
        refused = texts & self.good & (self.written["kind"] != NOTHING)
        self.expected |= dict.fromkeys(np.flatnonzero(refused).tolist(), expected)
        self.good &= ~refused

    def vote(self, counts: Longs) -> None:
        """Settle the kind, the order of day and month, and offsets; counts: facts per text."""
        used = self.good & (counts > 0) & (self.written["kind"] != NOTHING)

        def wins(one: Bools, other: Bools) -> tuple[bool, str]:
            weights = [int(counts[used & texts].sum()) for texts in (one, other)]
            return weights[0] >= weights[1], ", as in most facts" * (weights[0] != weights[1])

        self._vote_kind(used, wins)
        day_first, month_first = (self.written["order"] == order for order in (DMY, MDY))
        as_others = ""
        if not self.order and (used & (day_first | month_first)).any():
            is_day_first, as_others = wins(day_first, month_first)
            self.order = "dmy" if is_day_first else "mdy"
        if self.order:
            others = month_first if self.order == "dmy" else day_first
            self._refuse(others, f"the {FIRST[self.order]} first{as_others}")
        stamps, zoned = self.written["second"] >= 0, self.written["zoned"]
        if (used & stamps & zoned).any() and (used & stamps & ~zoned).any():
            are_zoned, as_others = wins(stamps & zoned, stamps & ~zoned)
            how = "with" if are_zoned else "without"
            self._refuse(stamps & (zoned != are_zoned), f"a time {how} an offset{as_others}")

    def _vote_kind(self, used: Bools, wins: Callable[[Bools, Bools], tuple[bool, str]]) -> None:
        """Settle whether times are dates or integers."""
        dates, integers = (self.written["kind"] == kind for kind in (DATE, INTEGER))
        as_others = ""
        if self.kind == EITHER and (used & integers).any():
            self.kind = INTEGER
            if _are_dates(self.written[used]):
                self.kind, as_others = DATE, ", as in most facts"
            elif (used & dates).any():
                are_dates, as_others = wins(dates, integers)
                self.kind = DATE if are_dates else INTEGER
        elif self.kind == EITHER and (used & dates).any():
            self.kind = DATE
        if self.kind == DATE:
            self._refuse(integers, f"a calendar date{as_others}")
        elif self.kind == INTEGER:
            self._refuse(dates, f"an integer{as_others}")

    def bounds(self) -> tuple[Longs, Longs]:
        """Return the first and last moment of each text, as comparable numbers."""
        unknown = self.written["kind"] == NOTHING
        if self.kind == INTEGER:
            low = high = self.written["year"]
        else:
            dates = as_dates(self.written, self.order)
            unknown = unknown | (dates["order"] == OPEN)
            year, month, day, second = (dates[p] for p in ("year", "month", "day", "second"))
            # Month 0 and day 0 sort before all others, 15 and 31 after: a year contains its days.
            low = ((year * 16 + month) * 32 + day) * DAY_SECONDS + np.maximum(second, 0)
            high = (year * 16 + np.where(month, month, 15)) * 32 + np.where(day, day, 31)
            high = high * DAY_SECONDS + np.where(second < 0, DAY_SECONDS - 1, second)
        return np.where(unknown, -_FAR, low), np.where(unknown, _FAR, high)

    def vote_precision(self, counts: Longs) -> None:
        """Mark dates whose precision differs from the majority's as bad, unless some contain #."""
        known = self.good & (counts > 0) & (self.written["kind"] != NOTHING)
        if self.granularity != "auto" or self.kind == INTEGER or not known.any():
            return
        marked = any("#" in text for text in self.texts.filter(pa.array(known)).to_pylist())
        compact = (self.written["kind"] == EITHER) & (self.written["year"] > 9999)
        dated = self.kind == DATE or (known & compact).any()
        if marked or not dated or (self.written["second"][known] >= 0).all():
            return
        levels = np.minimum(precisions(as_dates(self.written, "")), 2)
        commonest = _commonest(np.bincount(levels[known], counts[known], minlength=3))
        self._refuse(
            levels != commonest,
            f"a {_UNITS[commonest]}, as in most facts (--read granularity=mixed reads each as it "
            "is written)",
        )

    def resolve(self, counts: Longs) -> tuple[TimeAxis, Ints]:
        """Return the axis, and the code of every text on it."""
        used = self.good & (counts > 0)
        if not self.order and (used & (self.written["order"] == OPEN)).any():
            text = self._first_text(used & (self.written["order"] == OPEN))
            raise TimeFormatError(
                f"some dates can be read in two ways, such as {text!r}: use --date-format "
                f"{_pattern(text, 'dmy')} or --date-format {_pattern(text, 'mdy')}"
            )
        written = self.written.copy()
        written["kind"][~used] = NOTHING
        axis = self._axis(written, counts)
        return axis, axis.codes(written)

    def _axis(self, written: Written, counts: Longs) -> TimeAxis:
        how = self.date_format or self.order
        if self.granularity != "auto" and self.granularity != "mixed":
            return TimeAxis(self.granularity, date_format=how)
        known = written["kind"] != NOTHING
        some = written[known]
        compact = ((some["kind"] == EITHER) & (some["year"] > 9999)).any()
        if self.kind == INTEGER or (self.kind == EITHER and not compact and len(some)):
            years = self.kind == EITHER and some["year"].max() < END_OF_YEARS
            return TimeAxis("year") if years else TimeAxis("integer", stride=_stride(some["year"]))
        if not len(some):
            return TimeAxis("integer") if self.kind == EITHER else TimeAxis("day", date_format=how)
        dates = as_dates(some, self.order)
        if (dates["second"] >= 0).all():
            return TimeAxis(_fine_enough(dates), date_format=how)
        # Among plain days, a time of day counts as its day.
        weights = np.bincount(np.minimum(precisions(dates), 2), counts[known], minlength=3)
        mixed = bool(np.count_nonzero(weights) > 1)
        return TimeAxis(_UNITS[_commonest(weights)], mixed=mixed, date_format=how)

    def moments(self) -> Ints:
        """Return a number for each text. Texts that mean the same time have the same number."""
        times = self.written if self.kind == INTEGER else as_dates(self.written, self.order)
        times["order"] = 0
        return np.unique(times, return_inverse=True)[1].astype(np.int32)

    def notes(self, axis: TimeAxis) -> list[str]:
        """Return a note if integers may be dates, such as 010224."""
        if axis.unit != "integer":
            return []
        padded = self.texts.filter(pc.match_substring_regex(self.texts, "^0[0-9]{5}$"))
        advice = "are read as integers; if they are dates, use --date-format %d%m%y or similar"
        return [f"times such as {text} {advice}" for text in padded[:1].to_pylist()]

    def describe(self, axis: TimeAxis, counts: Longs) -> dict[str, str]:
        """Return the unit and written form of the facts' times. `counts` are facts per time."""
        good = self.good & (counts > 0)
        known = good & (self.written["kind"] != NOTHING)
        stamped = bool((good & (self.written["second"] >= 0)).any())
        return {
            "granularity": axis.unit,
            "date_format": self._date_pattern(known) if known.any() else "none",
            "time_of_day": "yes" if stamped else "no",
        }

    def _date_pattern(self, known: Bools) -> str:
        """Return a strptime pattern, "ISO 8601" or "integer"."""
        ordered = known & (self.written["order"] > 0)
        if self.order and ordered.any():
            return _pattern(self._first_text(ordered), self.order)
        pattern = "" if self.order else self.date_format
        return "integer" if self.kind == INTEGER else pattern or "ISO 8601"

    def _first_text(self, texts: Bools) -> str:
        return str(self.texts[int(np.flatnonzero(texts)[0])].as_py())


def _pattern(text: str, order: str) -> str:
    """Return the strptime pattern of a date such as 13.05.2014."""
    separator = next(c for c in text.strip('" ') if not c.isdigit())
    return separator.join(("%d", "%m", "%Y") if order == "dmy" else ("%m", "%d", "%Y"))


def _are_dates(written: Written) -> bool:
    """Return whether nearly all texts are days, or nearly all are years and the rest are far off.

    Far off, because sequence numbers may also exceed 1000.
    """
    kinds, numbers = written["kind"], written["year"]
    days = int(((kinds == DATE) | ((kinds == EITHER) & (numbers > 9999))).sum())
    years = numbers[(kinds == EITHER) & (numbers <= 9999)]
    if max(days, len(years)) < NEARLY_ALL * len(written):
        return False
    if days >= len(years):
        return True
    lowest, highest = int(years.min()), int(years.max())
    margin = (highest - lowest) // 2
    others = numbers[kinds == INTEGER]
    near = ((others >= lowest - margin) & (others <= highest + margin)).any()
    return highest < END_OF_YEARS and not near


def _stride(numbers: Longs) -> int:
    """Return the greatest common divisor of the numbers' differences, or 1 for too few numbers."""
    distinct = np.unique(numbers)
    return int(np.gcd.reduce(np.diff(distinct))) if len(distinct) >= FEWEST_STEPS else 1


def _commonest(weights: Longs) -> int:
    """Return the precision of most facts. On ties, the finer one that occurs wins."""
    return 2 - int(np.argmax(weights[::-1]))


def _fine_enough(dates: Written) -> Unit:
    """Return the coarsest unit from day to second with enough distinct values.

    If there are too few times for that, return the coarsest unit that keeps them all distinct.
    """
    days = position("day", dates["year"], dates["month"], dates["day"])
    moments = np.sort(days * DAY_SECONDS + dates["second"])
    steps: dict[Unit, int] = {"day": DAY_SECONDS, "hour": 3600, "minute": 60, "second": 1}
    if np.abs(moments).max() > LARGEST:
        del steps["second"]
    # In sorted numbers, count distinct ones by where the value changes.
    counts = {u: 1 + int(np.count_nonzero(np.diff(moments // s))) for u, s in steps.items()}
    enough = min(ENOUGH_VALUES, max(counts.values()))
    return next(unit for unit, count in counts.items() if count >= enough)
