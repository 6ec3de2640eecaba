"""Detect whether a column holds numbers, categories, dates, identifiers or text, and learn it (`learn_columns`).

All that is learnt here (categories, what fills in, first days) is learnt of the rows that are given: those that train.
Rare categories are those of scikit-learn's `OneHotEncoder(min_frequency=0.01)`, and what is filled in is that of its
`SimpleImputer`.
"""

from __future__ import annotations

import re
import reprlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import DataError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.files.columns import Cells, TableColumns, extract_days
from qpsvm.data.files.dates import DATE_PARTS, find_date_orders
from qpsvm.data.files.encoding import MISSING_LABEL, RARE_LABEL, Column, ColumnSummary
from qpsvm.data.files.sheet import Sheet, list_names, parse_numbers, split_names
from qpsvm.data.files.text_format import advise_decimal

#: How missing values are handled: refused, their rows left out, or filled in.
MissingPolicy = Literal["error", "drop", "median", "most-frequent"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = get_args(MissingPolicy)
#: A column identifies rows and describes nothing where it has more values than this, and than half the rows.
MANY_CATEGORIES = 20
#: Of more categories than that, one of a smaller share of the rows is rare.
MIN_CATEGORY_SHARE = 0.01
#: A text of at least this many words is no name.
MANY_WORDS = 3
#: Where at most this share of a column's cells are not numbers, these are misprints.
MISPRINT_SHARE = 0.1
#: At most this many misprints are named.
MAX_NAMED_MISPRINTS = 3
#: At most this many plain columns of numbers have a line each.
MAX_NUMBER_LINES = 20
#: What is said of a column that tells nothing.
CONSTANT_NOTE = ", the same in every row"
#: How a number calls itself that identifies rows: customer_id, orderNr, ID.
_IDENTIFIER = re.compile(
    r"(?:(?:^|[^a-zA-Z])(?:id|uid|uuid|guid|nr|no)|[a-z](?:Id|ID|Nr|No))$|^(?:ID|Id|UUID|GUID|__index_level_\d+__)$"
)


@dataclass(frozen=True)
class ColumnRules:
    """Options of a caller for the columns.

    keep: Columns that are features whatever they look like.
    date: Columns of dates, of which numbers are made.
    missing: How missing values of features are handled.
    texts, orders: Columns that are text, and the order of dates in columns, where the whole table has told: some of its
        rows may look otherwise.
    """

    keep: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    missing: MissingPolicy = "error"
    texts: tuple[str, ...] = ()
    orders: tuple[tuple[str, str], ...] = ()

    @property
    def fills_missing(self) -> bool:
        """Whether missing values are filled in."""
        return self.missing in ("median", "most-frequent")

    def resolve_names(self, sheet: Sheet, names: Sequence[str]) -> ColumnRules:
        """Resolve the options to the names of feature columns. Raises UnknownOptionError."""
        if self.missing not in MISSING_POLICIES:
            raise ParameterError(
                f"missing: unknown {self.missing!r}; {describe_nearest(self.missing, MISSING_POLICIES)}"
            )
        keep, date = split_names(self.keep, sheet.header), split_names(self.date, sheet.header)
        for option, given in (("keep", keep), ("date", date)):
            for name in given:
                if name not in names:
                    why = f"{sheet.path} has no column {name!r}; {describe_nearest(name, names)}"
                    if name in sheet.header:
                        why = f"column {name!r} is dropped, or is the target, groups or weights: it is no feature"
                    raise UnknownOptionError(f"{option}: {why}")
        both = next((name for name in date if name in keep), None)
        if both is not None:
            raise ParameterError(f"column {both!r} cannot be both of keep and of date")
        return replace(self, keep=keep, date=date)

    def with_detected(self, columns: TableColumns, made: Sequence[Column]) -> ColumnRules:
        """Return the rules with the types and date orders that the whole table shows."""
        texts = tuple(name for name, cells in columns.cells.items() if cells.to_numbers(cells.find_unit()) is None)
        orders = tuple((column.name, column.date) for column in made if column.date is not None)
        return replace(self, texts=texts, orders=orders)


def learn_columns(
    columns: TableColumns, names: Sequence[str], rules: ColumnRules
) -> tuple[tuple[Column, ...], tuple[ColumnSummary, ...]]:
    """Learn the encoding of each named column, and summarise it. Raises DataError."""
    found = [_learn_one(columns, name, rules, len(names) > 1) for name in names]
    return tuple(column for column, _ in found if column is not None), tuple(taken for _, taken in found)


def _learn_one(
    columns: TableColumns, name: str, rules: ColumnRules, others: bool
) -> tuple[Column | None, ColumnSummary]:
    cells = columns.cells[name]
    kept = name in rules.keep
    if cells.is_all_missing():
        if kept or name in rules.date:
            where = f"{columns.sheet.path}: column {name!r} has no value in {len(columns.rows)} rows"
            raise DataError(f"{where}: leave it out of --keep and --date (keep=, date=)")
        return None, ColumnSummary(name, "nothing", "left out: it has no value")
    if name in rules.date:
        return _learn_date(columns, name, rules)
    unit = "" if name in rules.texts else cells.find_unit()
    values = None if name in rules.texts else cells.to_numbers(unit)
    if values is not None:
        if not kept and _is_identifier(columns, name, values, others):
            return _omit_column(name, "identifier")
        constant = cells.missing is None and len(values) > 1 and bool((values == values[0]).all())
        kind, made = f"number in {unit}" if unit else "number", f"1 feature{CONSTANT_NOTE if constant else ''}"
        return _add_fill(Column(name, unit=unit), cells, values, rules, kind, made)
    different = cells.collect_texts()
    if name not in rules.texts and not kept:
        _refuse_misprints(columns, name, different)
    if not kept and find_date_orders(different):
        return None, ColumnSummary(name, "date", f"left out (--date {name} for {', '.join(DATE_PARTS)})")
    n = len(cells.present)
    if not kept and len(different) > max(MANY_CATEGORIES, n / 2):
        words = np.median([len(text.split()) for text in different])
        return _omit_column(name, "text" if words >= MANY_WORDS else "identifier")
    rare = _find_rare(cells, different)
    if len(rare) == len(different):
        if not kept:
            return _omit_column(
                name, f"category of {len(different)}", f", none in {MIN_CATEGORY_SHARE:.0%} of the rows"
            )
        rare = ()
    categories = tuple(text for text in different if text not in set(rare))
    made = f"{len(categories)} features" if len(categories) > 1 else "1 feature"
    if len(different) == 1 and cells.missing is None and n > 1:
        made += CONSTANT_NOTE
    if rare:
        made = f"{len(categories) + 1} features; {len(rare)} categories below {MIN_CATEGORY_SHARE:.0%} join as "
        made += f"{name}={RARE_LABEL}"
    column = Column(name, categories, rare)
    return _add_fill(column, cells, cells.values, rules, f"category of {len(different)}", made)


def _omit_column(name: str, kind: str, why: str = "") -> tuple[None, ColumnSummary]:
    return None, ColumnSummary(name, kind, f"left out{why} (--keep {name} to use it)")


def _is_identifier(columns: TableColumns, name: str, values: NDArray[np.float64], others: bool) -> bool:
    """Tell whether numbers (n,) tell rows apart: by the name, or because the first column counts the rows."""
    there = values[~np.isnan(values)]
    if len(there) <= MANY_CATEGORIES or not (there == np.floor(there)).all():
        return False
    if _IDENTIFIER.search(name) and len(np.unique(there)) > max(MANY_CATEGORIES, len(there) / 2):
        return True
    counts = others and len(there) == len(values) and columns.sheet.header[name] == 0
    return bool(counts and any(np.array_equal(values, columns.rows + first) for first in (0, 1)))


def _refuse_misprints(columns: TableColumns, name: str, different: Sequence[str]) -> None:
    """Refuse a column of numbers but for a few cells, or for marks in them. Raises DataError."""
    odd = {text for text in different if parse_numbers([text]) is None}
    advice = advise_decimal(different)
    n_numbers, n = sum(text not in odd for text in columns.cells[name].present.tolist()), len(columns.rows)
    many = len(different) > max(MANY_CATEGORIES, n / 2)
    if not advice and n_numbers <= (0.5 if many else 1.0 - MISPRINT_SHARE) * n:
        return
    at, first = columns.find_non_number(name)
    if advice:
        raise DataError(
            f"{at}: {reprlib.repr(first)} {advice}, leave the column out by --drop {name!r}, or take its texts as "
            f"categories by --keep {name!r}"
        )
    words = [first, *sorted(odd - {first})][:MAX_NAMED_MISPRINTS]
    others = {1: "", 2: f" (nor is {words[-1]!r})"}.get(len(odd), f" (nor are {len(odd) - 1} others)")
    options, argument = " ".join(map(shlex.quote, words)), ", ".join(map(repr, words))
    raise DataError(
        f"{at}: {reprlib.repr(first)} is not a number{others}, and {n_numbers} of {n} cells of the column are: correct "
        f"it; if it means that the value is missing, say so by --na {options} (na_values=[{argument}]); leave the "
        f"column out by --drop {name!r}; or take its texts as categories by --keep {name!r}"
    )


def _find_rare(cells: Cells, different: Sequence[str]) -> tuple[str, ...]:
    """Return the categories that few rows have, where there are many categories."""
    if len(different) <= MANY_CATEGORIES:
        return ()
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(min_frequency=MIN_CATEGORY_SHARE, handle_unknown="infrequent_if_exist")
    (found,) = encoder.fit(cells.present[:, None]).infrequent_categories_
    return () if found is None else tuple(map(str, found))


def _learn_date(columns: TableColumns, name: str, rules: ColumnRules) -> tuple[Column, ColumnSummary]:
    """Learn the encoding of a column of dates as numbers. Raises DataError."""
    cells = columns.cells[name]
    orders = find_date_orders(cells.collect_texts()) if cells.values.dtype == object else ()
    orders = tuple(order for known, order in rules.orders if known == name) or orders
    if len(orders) > 1:
        at, text = columns.describe_cell(int(np.argmax(~columns.mask_missing(()))), name)
        raise DataError(f"{at}: of {text!r} and all others day or month may be first; write year-month-day")
    days = extract_days(columns, name, *(orders or ("ymd",)))
    column = Column(name, date=orders[0], origin=int(np.nanmin(days)))
    made = ", ".join(f"{name}.{part}" for part in DATE_PARTS)
    return _add_fill(column, Cells(days, cells.missing), days, rules, "date", made)


def _add_fill(
    column: Column, cells: Cells, values: NDArray[Any], rules: ColumnRules, kind: str, made: str
) -> tuple[Column, ColumnSummary]:
    """Add the value that fills missing cells, and the feature that marks them, to a column."""
    if not rules.fills_missing:
        return column, ColumnSummary(column.name, kind, made)
    from sklearn.impute import SimpleImputer

    text = column.categories is not None
    how = "most_frequent" if text or rules.missing == "most-frequent" else "median"
    there = values if cells.missing is None else values[~cells.missing]
    fill: Any = SimpleImputer(strategy=how, missing_values="" if text else np.nan).fit(there[:, None]).statistics_[0]
    fill = str(fill) if text else float(np.floor(fill)) if column.date is not None else float(fill)
    column = replace(column, fill=fill, indicator=cells.missing is not None)
    if cells.missing is not None:
        if column.date is not None:
            message = f"day {int(fill) - int(column.origin or 0)}"
        else:
            message = f"{how.replace('_', '-')} {fill if text else f'{fill:g}'}"
        made += f"; {int(cells.missing.sum())} missing: {message}, and {column.name}={MISSING_LABEL}"
    return column, ColumnSummary(column.name, kind, made)


def describe_columns(taken: Sequence[ColumnSummary]) -> list[str]:
    """Describe the columns in lines: each with its kind and its features."""
    plain = [each for each in taken if (each.kind, each.outcome) == ("number", "1 feature")]
    short = {each.name for each in plain} if len(plain) > MAX_NUMBER_LINES else set()
    rows = [(each.name, each.kind, each.outcome) for each in taken if each.name not in short]
    if short:
        names = list_names([each.name for each in plain[:3]])
        rows.append((f"{names}, ...", "number", f"1 feature each, of {len(plain)} columns"))
    rows = [("column", "type", "encoding"), *rows]
    widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
    return [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
