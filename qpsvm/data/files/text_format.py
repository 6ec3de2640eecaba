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
#: Blanks in numbers: the space, and the two no-break spaces.
_BLANKS = " \u00a0\u202f"
#: By decimal mark, a number in four groups: sign and unit; whole part, maybe with thousands marks; decimals; exponent
#: and unit.
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
    """How a CSV text is written. `bounds/proof/checker.py` states the same independently.

    na_values: Cells that mean "no value", in addition to the empty one, NA and the like.
    decimal: "." if commas may mark thousands, "," if points may; "" if only plain numbers are numbers.
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
        match = _WRITTEN_NUMBER[self.decimal].fullmatch(cell)
        if match is None:
            if self.decimal == "," and "." in cell and _is_number(cell):
                raise DataError(f"{cell!r} has a decimal point, but decimals have a comma by --decimal , (decimal=',')")
            return cell
        before, whole, decimals, after = match.groups()
        fraction = "" if decimals is None else f".{decimals}"
        return f"{before}{re.sub('[^0-9]', '', whole)}{fraction}{after}"


#: The default: only plain numbers are numbers, in UTF-8.
PLAIN = TextFormat()


def _is_number(text: str) -> bool:
    """Return whether Python reads a float; not 1_000, which only a programmer writes."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def find_unit(texts: Sequence[str]) -> str:
    """Return the sign, such as "$" or "%", that every one of the texts (k,) has next to its number; "" if none."""
    unit = next((sign for sign in UNITS if texts and sign in texts[0]), "")
    return unit if unit and all(map(_is_number, strip_unit(texts, unit))) else ""


def strip_unit(texts: Iterable[str], unit: str) -> list[str]:
    """Return the texts without their unit, which is at one end or after a sign; "" for a text without it."""
    pattern = re.compile(rf"([+-]?)\s?{re.escape(unit)}\s?(.+)|(.+?)\s?{re.escape(unit)}")
    matches = map(pattern.fullmatch, texts)
    return ["" if match is None else "".join(match.groups("")) for match in matches]


def advise_decimal(texts: Sequence[str]) -> str:
    """Advise the decimal mark by which all texts are numbers, with or without a unit; "" if there is none."""
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
