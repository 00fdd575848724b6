"""Windows: from a first time to a last one, both included, in the unit of the data."""

from dataclasses import dataclass
from typing import get_args

import numpy as np

from apptek.data.times import UNKNOWN, TimeAxis, Unit
from apptek.errors import ApptekError
from apptek.explain.wording import counted

USUAL: dict[Unit, int] = {"day": 7, "month": 1, "year": 1, "integer": 1}  # steps, if none are given
_MONTHS = {"months": 1, "years": 12}
_UNITS = {"days": "day", "months": "month", "years": "year", "steps": "integer"}


@dataclass(frozen=True, slots=True)
class Length:
    """How long a window is: until a time, or so many days, months, years or steps."""

    until: str | None = None
    days: int | None = None
    months: int | None = None
    years: int | None = None
    steps: int | None = None

    def given(self) -> list[str]:
        """The fields that say it."""
        return [name for name in ("until", *_UNITS) if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True)
class Window:
    """A window by positions on the axis, both included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        """In steps of the axis."""
        return self.last - self.first + 1

    def before(self) -> "Window":
        """The window of the same length that ends where this one begins."""
        return Window(self.first - self.length, self.first - 1)

    def texts(self, axis: TimeAxis) -> tuple[str, str]:
        """The first and the last time as they are written."""
        plain = TimeAxis(axis.unit)
        return plain.format(self.first), plain.format(self.last)


def unit_word(unit: Unit) -> str:
    """What one step of the axis is called."""
    return "step" if unit == "integer" else unit


def read_window(axis: TimeAxis, span: tuple[int, int], start: str | None, length: Length) -> Window:
    """The window that a user asks for; ApptekError says what is wrong with it.

    span   the first and the last position of a fact
    start  the first time of the window; by default the one after the last fact
    """
    first = span[1] + 1 if start is None else _position(axis, start)
    window = Window(first, _last(axis, first, length))
    unit, known = unit_word(axis.unit), span[1] - span[0] + 1
    begins, ends = window.texts(axis)
    if window.length < 1:
        raise ApptekError(
            f"the window ends at {ends}, before it begins at {begins}: it has at least one {unit}"
        )
    if window.length > known:
        raise ApptekError(
            f"a window of {counted(window.length, unit)} is longer than the time of all facts "
            f"({counted(known, unit)}): ask about a shorter one"
        )
    if first > span[1] + known:
        raise ApptekError(
            f"the window begins at {begins}, {counted(first - span[1], unit)} after the last fact: "
            f"that is beyond what {counted(known, unit)} of facts can tell"
        )
    if first <= span[0]:
        earliest, _ = Window(span[0], span[0]).texts(axis)
        raise ApptekError(
            f"nothing is known before {begins}: the first fact is of {earliest}, and a forecast "
            "needs facts before its window"
        )
    return window


def _position(axis: TimeAxis, text: str) -> int:
    code = axis.parse(text)
    if code == UNKNOWN:
        raise ApptekError("a window begins and ends at known times")
    return axis.position(code)


def _last(axis: TimeAxis, first: int, length: Length) -> int:
    given = length.given()
    if not given:
        return first + USUAL[axis.unit] - 1
    if len(given) > 1:
        raise ApptekError(f"the length of a window is given twice, by {' and '.join(given)}")
    (name,) = given
    if name == "until":
        assert length.until is not None
        _position(axis, length.until)
        code = np.asarray([axis.parse(length.until)], np.int32)
        return axis.position(int(axis.last_moments(code)[0]))
    number = int(getattr(length, name))
    if number < 1:
        raise ApptekError(f"a window of {number} {name}: expected at least 1")
    if _UNITS[name] == axis.unit:
        return first + min(number, 2**31) - 1
    if name in _MONTHS and axis.unit == "day":
        return _months_later(first, number * _MONTHS[name]) - 1
    if name == "years" and axis.unit == "month":
        return first + 12 * min(number, 2**24) - 1
    right = next(option for option, unit in _UNITS.items() if unit == axis.unit)
    raise ApptekError(f"the times of this data are {right}: give the window in {right} or until")


def _months_later(day: int, months: int) -> int:
    """The same day of a later month, or the last one of a month that is too short."""
    date = np.datetime64(day, "D")
    month = date.astype("datetime64[M]")
    later = month + np.timedelta64(min(months, 120_000), "M")
    apart = (date - month.astype("datetime64[D]")).astype(np.int64)
    last = (later + np.timedelta64(1, "M")).astype("datetime64[D]") - np.timedelta64(1, "D")
    same = later.astype("datetime64[D]") + np.timedelta64(int(apart), "D")
    return int(min(same, last).astype(np.int64))


assert set(get_args(Unit)) == set(USUAL) == set(_UNITS.values())
