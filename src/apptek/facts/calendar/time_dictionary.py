"""The texts of times met while reading; at the end they fix the axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apptek.arrays import Ints
from apptek.errors import TimeFormatError
from apptek.facts.calendar.positions import DAY_SECONDS, Unit, position
from apptek.facts.calendar.stamps import read_stamps
from apptek.facts.calendar.written import (
    Kind,
    WrittenTime,
    check_pattern,
    named_pattern,
    read_by_pattern,
    read_time,
)
from apptek.facts.times import (
    FIRST,
    LARGEST,
    MANY,
    NEEDED,
    Granularity,
    TimeAxis,
    check_order,
    columns_of,
    whole,
)

NEARLY_ALL = 0.9  # of distinct times
END_OF_YEARS = 3000  # numbers of four digits below are years, if all are
FEWEST_STEPS = 3  # distinct integers that show a stride
ENOUGH_VALUES = 50  # distinct times that make a unit fine enough
_BY_PRECISION: tuple[Unit, ...] = ("year", "month", "day")
_NO_BOUNDS = (-(2**62), 2**62)  # an unknown end contradicts nothing


@dataclass(slots=True)
class TimeDictionary:
    """The distinct time texts met while reading, each parsed once; at the end they fix the axis.

    Calendar texts and integers do not mix, nor do times of day with an offset and without, nor
    dates with the day first and with the month first: whichever comes first is right, the other
    is refused. Where more distinct texts were refused than agreed, the first was the odd one; and
    where nearly all numbers are days (20140513) or years, the others are bad: see `outvoted`.

    unsettled  whether an interval was compared whose dates may be read in two orders
    marked     whether a date says by # what it lacks: then dates of different precision are meant
    precision  if given, of all dates: see WrittenTime
    """

    granularity: Granularity = "auto"
    date_format: str = ""  # a pattern of strptime, dmy or mdy; nothing: as the texts show
    kind: Kind = "either"
    zoned: bool | None = None
    order: str = ""
    ids: dict[str, int] = field(default_factory=dict)
    written: list[WrittenTime | None] = field(default_factory=list)
    unsettled: bool = False
    marked: bool = False
    precision: int | None = None
    refused: set[str] = field(default_factory=set)  # texts of another order, zone or kind
    voted: bool = False  # the kind, the order and the zone are those of most texts

    def __post_init__(self) -> None:
        if self.granularity != "auto":
            self.kind = "date"
        if self.date_format in FIRST:
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
            try:
                self._agree(written)
            except TimeFormatError:
                if written.kind == "date":
                    self.refused.add(text)
                raise
        if time_id is None:
            time_id = self.ids[text] = len(self.written)
            self.written.append(written)
            self.marked = self.marked or (written is not None and "#" in text)
        return time_id

    def add_all(self, texts: Sequence[str]) -> list[int]:
        """The ids of many texts; timestamps that are written alike are read all at once."""
        stamps = None if len(texts) < MANY or "%" in self.date_format else read_stamps(texts)
        if stamps is None:
            return [self.add(text) for text in texts]
        self._agree(stamps[0])
        start = len(self.written)
        fresh = dict(zip(texts, range(start, start + len(texts)), strict=True))
        if len(fresh) == len(texts) and self.ids.keys().isdisjoint(fresh):  # the usual case
            self.ids |= fresh
            self.written += stamps
            return list(fresh.values())
        for text, written in zip(texts, stamps, strict=True):
            if self.ids.setdefault(text, len(self.written)) == len(self.written):
                self.written.append(written)
        return [self.ids[text] for text in texts]

    def outvoted(self) -> tuple[Kind, bool | None, str] | None:
        """The `state` by most distinct texts, if it is another than that of the first ones."""
        if self.voted or self.date_format or not (self.refused or self.kind == "integer"):
            return None
        refused = [read_time(text) for text in self.refused]
        kind = self.kind
        if kind == "integer" and _are_dates([w for w in (*self.written, *refused) if w]):
            kind = "date"
        order = _majority(map(_order_of, self.written), map(_order_of, refused), self.order)
        zoned = _majority(map(_zone_of, self.written), map(_zone_of, refused), self.zoned)
        votes = kind, zoned, order
        return None if votes == self.state else votes

    def _read(self, text: str) -> WrittenTime | None:
        is_pattern = bool(self.date_format) and self.date_format not in FIRST
        written = read_by_pattern(text, self.date_format) if is_pattern else read_time(text)
        wanted = NEEDED.get(self.granularity, 0)  # 0 for auto
        if written is not None and written.as_date().precision < wanted:
            raise TimeFormatError(f"{whole(self.granularity)}, for {self.granularity}s")
        if written is None or self.precision is None:
            return written
        if min(written.as_date().precision, 2) != self.precision:
            unit = _BY_PRECISION[self.precision]
            raise TimeFormatError(
                f"a {unit}, as in most facts (--read granularity=mixed reads each as it is written)"
            )
        return written

    def _agree(self, written: WrittenTime) -> None:
        """Notes what a time decides; TimeFormatError if it contradicts those before."""
        if written.kind != "either":
            if self.kind not in ("either", written.kind):
                kind = "an integer" if self.kind == "integer" else "a calendar date"
                raise TimeFormatError(f"{kind}, as in {self._others()}")
            self.kind = written.kind
        if written.second >= 0:
            if self.zoned not in (None, written.zoned):
                how = "with an offset" if self.zoned else "without an offset"
                raise TimeFormatError(f"a time {how}, as in {self._others()}")
            self.zoned = written.zoned
        if written.order in FIRST:
            check_order(written, self.order or written.order, self._others())
            self.order = written.order

    def _others(self) -> str:
        return "most facts" if self.voted else "the facts before"

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

    def commonest_precision(self, counts: Sequence[int]) -> int | None:
        """The precision of most facts, if others are of another and nothing says that it is meant.

        `counts` are the facts of each id. None where all is well.
        """
        if self.granularity != "auto" or self.marked or self.precision is not None:
            return None
        used = [w if count else None for w, count in zip(self.written, counts, strict=True)]
        dated = self.kind == "date" or any(w is not None and w.is_compact for w in used)
        if self.kind == "integer" or not dated or _are_stamps(used):
            return None
        weights = _weights(used, counts)
        return _commonest(weights) if np.count_nonzero(weights) > 1 else None

    def date_pattern(self) -> str:
        """How dates are written: a pattern of strptime, ISO 8601, or integer."""
        if self.kind == "integer":
            return "integer"
        if not self.order:
            texts = (text for text, w in zip(self.ids, self.written, strict=True) if w is not None)
            return self.date_format or named_pattern(next(texts, "")) or "ISO 8601"
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
        return axis, axis.codes(used)

    def moments(self) -> Ints:
        """A number for each id, the same for texts that mean the same time."""
        numbers: dict[WrittenTime | None, int] = {}
        settled = (w if w is None else self._settled(w) for w in self.written)
        return np.asarray([numbers.setdefault(w, len(numbers)) for w in settled], np.int32)

    def _settled(self, written: WrittenTime) -> WrittenTime:
        """A time as a date, in the order of day and month that was found; an integer as it is."""
        if self.kind == "integer" or (written.kind == "date" and written.order != "open"):
            return written
        return written.settled(self.order).as_date()

    def _axis(self, used: list[WrittenTime | None], counts: Sequence[int]) -> TimeAxis:
        if self.granularity != "auto" and self.granularity != "mixed":
            return TimeAxis(self.granularity, date_format=self._how())
        compact = any(w is not None and w.kind == "date" for w in used)
        if self.kind == "integer" or (self.kind == "either" and not compact):
            years = [written.year for written in used if written is not None]
            # Four digits each: years, unless they lie where no data about people does.
            are_years = self.kind == "either" and years and max(years) < END_OF_YEARS
            return TimeAxis("year") if are_years else TimeAxis("integer", stride=_stride(years))
        if _are_stamps(used):
            return TimeAxis(_fine_enough(used), date_format=self._how())
        weights = _weights(used, counts)
        mixed = bool(np.count_nonzero(weights) > 1)
        unit = _BY_PRECISION[_commonest(weights)]
        return TimeAxis(unit, mixed=mixed, date_format=self._how())

    def _how(self) -> str:
        return self.date_format or self.order


def _are_dates(written: Sequence[WrittenTime]) -> bool:
    """Whether nearly all distinct times are days, or nearly all are years and the others far off.

    Far off, because numbers that are counted up may pass 1000, and are no years then.
    """
    days = sum(w.is_compact or w.kind == "date" for w in written)
    years = [w.year for w in written if w.kind == "either" and not w.is_compact]
    if max(days, len(years)) < NEARLY_ALL * len(written):
        return False
    if days >= len(years):
        return True
    lowest, highest = min(years), max(years)
    margin = (highest - lowest) // 2
    others = [w.year for w in written if w.kind == "integer"]
    near = any(lowest - margin <= other <= highest + margin for other in others)
    return highest < END_OF_YEARS and not near


def _stride(numbers: Sequence[int]) -> int:
    """What divides all differences of some numbers; 1 where there are too few to say."""
    distinct = np.unique(np.asarray(numbers, np.int64))
    return int(np.gcd.reduce(np.diff(distinct))) if len(distinct) >= FEWEST_STEPS else 1


def _majority(agreed: Iterable[Any], refused: Iterable[Any], now: Any) -> Any:
    """What refused texts say, if more of them say it than texts that agreed; else what is."""
    others = [value for value in refused if value is not None and value != now]
    return others[0] if len(others) > sum(value is not None for value in agreed) else now


def _order_of(written: WrittenTime | None) -> str | None:
    return written.order if written is not None and written.order in FIRST else None


def _zone_of(written: WrittenTime | None) -> bool | None:
    return written.zoned if written is not None and written.second >= 0 else None


def _are_stamps(written: Sequence[WrittenTime | None]) -> bool:
    """Whether all times that are known have a time of day."""
    return all(one is None or one.second >= 0 for one in written)


def _weights(written: Sequence[WrittenTime | None], counts: Sequence[int]) -> list[int]:
    """The facts by precision; beside plain days, a time of day counts as its day."""
    weights = [0, 0, 0]
    for one, count in zip(written, counts, strict=True):
        if one is not None:
            weights[min(one.as_date().precision, 2)] += count
    return weights


def _commonest(weights: list[int]) -> int:
    """The precision of most facts; a tie goes to the finer, in which both have positions."""
    return max(range(len(weights)), key=lambda precision: (weights[precision], precision))


def _fine_enough(used: list[WrittenTime | None]) -> Unit:
    """The coarsest unit from day to second with enough distinct values.

    Where there are too few times for that, the coarsest one that keeps them all apart.
    """
    years, months, days, seconds = columns_of([w for w in used if w is not None])
    moments = np.sort(position("day", years, months, days) * DAY_SECONDS + seconds)
    steps: dict[Unit, int] = {"day": DAY_SECONDS, "hour": 3600, "minute": 60, "second": 1}
    if np.abs(moments).max() > LARGEST:
        del steps["second"]
    # Of ascending numbers, the distinct ones are counted by where they change.
    counts = {u: 1 + int(np.count_nonzero(np.diff(moments // s))) for u, s in steps.items()}
    enough = min(ENOUGH_VALUES, max(counts.values()))
    return next(unit for unit, count in counts.items() if count >= enough)
