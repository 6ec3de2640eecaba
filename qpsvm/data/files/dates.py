"""Recognise the order of year, month and day in dates, and turn dates into numbers (`split_dates`).

A date is year-month-day, day.month.year or month/day/year, with -, / or . between the three; a time of day may follow,
and is not looked at. Day and month first look alike: only a number above 12 tells, or points between them, with which
the day is first. `bounds/proof/checker.py` states the same once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: What is made of a date: numbers; Monday is weekday 0, and days are counted from the first day that trains.
DATE_PARTS = ("year", "month", "weekday", "days")
DATE_ORDERS = ("ymd", "dmy", "mdy")
_TIME = r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|UTC|[-+]\d{2}:?\d{2}|[AaPp][Mm])?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII)


def parse_day(text: str, order: str) -> int | None:
    """Return the number of a day, 1 being 1 January of year 1, or None if the text is no date in this order."""
    found = (_YEAR_FIRST if order == "ymd" else _YEAR_LAST).fullmatch(text)
    if found is None:
        return None
    first, mark, second, third = found.groups()
    if mark == "." and order == "mdy":
        return None
    named = dict(zip(order, map(int, (first, second, third)), strict=True))
    try:
        return date(named["y"], named["m"], named["d"]).toordinal()
    except ValueError:
        return None


def find_date_orders(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the orders in which all of the texts are dates: none, one, or both day and month first."""
    different = list(texts)
    found = (order for order in DATE_ORDERS if all(parse_day(text, order) is not None for text in different))
    return tuple(found) if different else ()


def split_dates(days: FloatArray, origin: int) -> FloatArray:
    """Split the numbers of days (n,) into year, month, weekday and days since `origin`: (n, 4)."""
    different, place = np.unique(days, return_inverse=True)
    known = [date.fromordinal(int(day)) for day in different]
    rows = np.array([(each.year, each.month, each.weekday(), each.toordinal() - origin) for each in known], np.float64)
    found: FloatArray = rows.reshape(-1, len(DATE_PARTS))[place.reshape(-1)]
    return found
