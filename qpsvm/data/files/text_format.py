"""Read a table's text as its author wrote it: missing values, decimal commas, currency signs (`TextFormat`)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from qpsvm.base.errors import DataError, ParameterError

#: How decimals are marked; "" where numbers have no thousands marks and a decimal point.
DecimalMark = Literal["", ".", ","]
#: Signs that a number of a column may begin or end with, if all of them do.
UNITS = "%$€£¥"
#: Blanks in numbers: the usual one, and two that no line is broken at.
_BLANKS = " \u00a0\u202f"
#: A number with an optional sign and unit, whose thousands may be marked; by decimal mark.
_WRITTEN_NUMBER = {
    mark: re.compile(
        rf"([+-]?[{UNITS}]?[{_BLANKS}]?[+-]?)(\d{{1,3}}(?:[{thousands}{_BLANKS}'’]\d{{3}})+|\d+)(?:\{mark}(\d*))?"
        rf"((?:[eE][+-]?\d+)?[{_BLANKS}]?[{UNITS}]?)",
        re.ASCII,
    )
    for mark, thousands in ((".", ","), (",", "."))
}


@dataclass(frozen=True)
class TextFormat:
    """How a CSV text is written. `bounds/proof/checker.py` states the same once more.

    na_values: Cells that mean "no value", in addition to the empty one, NA and the like.
    decimal: "." where commas may mark thousands, "," where points may; "" where only plain numbers are numbers.
    charset: The character encoding of the file.

    Raises ParameterError.
    """

    na_values: tuple[str, ...] = ()
    decimal: DecimalMark = ""
    charset: str = "utf-8"

    def __post_init__(self) -> None:
        if self.decimal not in get_args(DecimalMark):
            raise ParameterError(f"decimal: a decimal mark is '.' or ',', got {self.decimal!r}")
        try:
            codecs.lookup(self.charset)
        except LookupError:
            raise ParameterError(
                f"encoding: Python knows no character encoding {self.charset!r}; common ones are latin-1, cp1252, "
                "utf-16 and utf-8"
            ) from None

    @property
    def missing_numbers(self) -> list[float]:
        """The numbers among `na_values`, for columns that are numbers and not text."""
        return [float(text) for text in self.na_values if _is_number(text)]

    def normalise_cells(self, cells: Sequence[str]) -> Sequence[str]:
        """Return cells (k,) with "" for missing ones, and numbers with a decimal point and without thousands marks.

        Raises DataError for a decimal point where decimals have a comma; the message begins with the cell.
        """
        if not self.na_values and not self.decimal:
            return cells
        return [self._normalise_cell(cell.strip()) for cell in cells]

    def _normalise_cell(self, cell: str) -> str:
        if cell in self.na_values:
            return ""
        if not self.decimal:
            return cell
        found = _WRITTEN_NUMBER[self.decimal].fullmatch(cell)
        if found is None:
            if self.decimal == "," and "." in cell and _is_number(cell):
                raise DataError(f"{cell!r} has a decimal point, but decimals have a comma by --decimal , (decimal=',')")
            return cell
        before, whole, decimals, after = found.groups()
        fraction = "" if decimals is None else f".{decimals}"
        return f"{before}{re.sub('[^0-9]', '', whole)}{fraction}{after}"


#: How a text is written unless a caller says otherwise.
PLAIN = TextFormat()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def find_unit(texts: Sequence[str]) -> str:
    """Return the sign, such as "$" or "%", that every one of the texts (k,) has next to its number; "" if none."""
    unit = next((sign for sign in UNITS if texts and sign in texts[0]), "")
    if unit and all(map(_is_number, strip_unit(texts, unit))):
        return unit
    return ""


def strip_unit(texts: Iterable[str], unit: str) -> list[str]:
    """Return the texts without their unit, which is at one end or after a sign; "" for a text without it."""
    form = re.compile(rf"([+-]?)\s?{re.escape(unit)}\s?(.+)|(.+?)\s?{re.escape(unit)}")
    stripped = []
    for text in texts:
        found = form.fullmatch(text)
        sign, after, before = ("", "", "") if found is None else found.groups("")
        stripped.append(f"{sign}{after}{before}")
    return stripped


def advise_decimal(texts: Sequence[str]) -> str:
    """Advise which decimal mark makes numbers of all the texts, with or without a unit; "" if none does."""
    fitting = []
    marks: tuple[DecimalMark, ...] = (",", ".")
    for mark in marks:
        try:
            cells = TextFormat(decimal=mark).normalise_cells(texts)
        except DataError:
            continue
        if all(map(_is_number, cells)) or find_unit(cells):
            fitting.append(f"--decimal {mark} (decimal='{mark}')")
    if not fitting:
        return ""
    return f"has thousands marks or a decimal comma: name the decimal mark by {' or '.join(fitting)}"
