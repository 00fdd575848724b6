"""Positions on the calendar: days since 1970-01-01, from which every other unit is derived.

Dates use the Gregorian calendar, even in years before its introduction, below 1 and above 9999.
"""

from typing import Any, Literal

Unit = Literal["integer", "year", "month", "week", "day", "hour", "minute", "second"]
SECONDS = {"hour": 3600, "minute": 60, "second": 1}  # the units below a day
DAY_SECONDS = 86_400
_MONDAY = 3  # days from Monday, 1969-12-29, to 1970-01-01


def days_in(year: Any, month: Any) -> Any:
    """Return the number of days in a month, or in each month of an array."""
    return day_number(year + month // 12, month % 12 + 1, 1) - day_number(year, month, 1)


def day_number(year: Any, month: Any, day: Any) -> Any:
    """Return the number of days from 1970-01-01 to a date. Arrays give an array."""
    # Years begin in March, so that a leap day is the last day of its year. 400 years are an era.
    era, of_era = divmod(year - (month <= 2), 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def date_of(number: Any) -> tuple[Any, Any, Any]:
    """Return the year, month and day of a day number, or of an array of them."""
    era, of_era = divmod(number + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 - 12 * (month >= 10)
    return year + era * 400 + (month <= 2), month, day


def position(unit: Unit, year: Any, month: Any, day: Any, second: Any = 0) -> Any:
    """Return the position of a date plus seconds since midnight. A month or day of 0 counts as 1.

    Arrays give an array.
    """
    if unit == "year":
        return year
    month, day = month + (month == 0), day + (day == 0)
    if unit == "month":
        return year * 12 + month - 1
    days = day_number(year, month, day)
    if unit == "day":
        return days
    if unit == "week":
        return (days + _MONDAY) // 7
    return (days * DAY_SECONDS + second * (second > 0)) // SECONDS[unit]


def calendar(unit: Unit, place: Any) -> tuple[Any, Any, Any, Any]:
    """Return a position's year, month, day and seconds since midnight, with 0 for finer parts.

    A week is represented by its Monday. An array gives arrays.
    """
    if unit == "year":
        return place, 0, 0, 0
    if unit == "month":
        return place // 12, place % 12 + 1, 0, 0
    days, second = day_and_second(unit, place)
    return *date_of(days), second


def day_and_second(unit: Unit, places: Any) -> tuple[Any, Any]:
    """Return the day number and the seconds since midnight of a position or an array of them."""
    if unit == "week":
        return places * 7 - _MONDAY, places * 0
    days, seconds = divmod(places * SECONDS.get(unit, DAY_SECONDS), DAY_SECONDS)
    return days, seconds
