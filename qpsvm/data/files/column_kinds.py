"""Detect whether a column holds numbers, categories, dates, identifiers or text, and learn it (`learn_columns`).

Everything that is learnt here (categories, fill values, first days) is learnt from the given rows: the training rows.
Rare categories are those of scikit-learn's `OneHotEncoder(min_frequency=0.01)`, and fill values those of its
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
#: A column only identifies rows if it has more different values than this, and than half the number of rows.
MANY_CATEGORIES = 20
#: If there are more categories than that, those of a smaller share of the rows are rare.
MIN_CATEGORY_SHARE = 0.01
#: Texts of at least this many words are text, not names.
MANY_WORDS = 3
#: If at most this share of a column's cells are not numbers, these are misprints.
MISPRINT_SHARE = 0.1
#: Largest number of misprints that a message lists.
MAX_NAMED_MISPRINTS = 3
#: Largest number of ordinary columns of numbers that are described in one line each.
MAX_NUMBER_LINES = 20
#: Note on a constant column.
CONSTANT_NOTE = ", the same in every row"
#: Names of columns of numbers that identify rows: customer_id, orderNr, ID.
_IDENTIFIER = re.compile(
    r"(?:(?:^|[^a-zA-Z])(?:id|uid|uuid|guid|nr|no)|[a-z](?:Id|ID|Nr|No))$|^(?:ID|Id|UUID|GUID|__index_level_\d+__)$"
)


@dataclass(frozen=True)
class ColumnRules:
    """Options of a caller for the columns.

    keep: Columns that are features whatever they look like.
    date: Columns of dates, which are converted to numbers.
    missing: How missing values of features are handled.
    texts, orders: Columns of text, and the order of dates in columns, as found in the whole table: a part of its rows
        may look different.
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

    def with_detected(self, columns: TableColumns, learnt: Sequence[Column]) -> ColumnRules:
        """Return the rules with the types and date orders that the whole table shows."""
        texts = tuple(name for name, cells in columns.cells.items() if cells.to_numbers(cells.find_unit()) is None)
        orders = tuple((column.name, column.date) for column in learnt if column.date is not None)
        return replace(self, texts=texts, orders=orders)


def learn_columns(
    columns: TableColumns, names: Sequence[str], rules: ColumnRules
) -> tuple[tuple[Column, ...], tuple[ColumnSummary, ...]]:
    """Learn the encoding of each named column, and summarise it. Raises DataError."""
    learnt = [_learn_column(columns, name, rules, len(names) > 1) for name in names]
    return tuple(column for column, _ in learnt if column is not None), tuple(summary for _, summary in learnt)


def _learn_column(
    columns: TableColumns, name: str, rules: ColumnRules, has_others: bool
) -> tuple[Column | None, ColumnSummary]:
    """Learn one column; None if it is left out."""
    cells = columns.cells[name]
    if cells.is_all_missing():
        if name in rules.keep or name in rules.date:
            where = f"{columns.sheet.path}: column {name!r} has no value in {len(columns.rows)} rows"
            raise DataError(f"{where}: leave it out of --keep and --date (keep=, date=)")
        return None, ColumnSummary(name, "nothing", "left out: it has no value")
    if name in rules.date:
        return _learn_date(columns, name, rules)
    unit = "" if name in rules.texts else cells.find_unit()
    values = None if name in rules.texts else cells.to_numbers(unit)
    if values is None:
        return _learn_texts(columns, name, rules)
    if name not in rules.keep and _is_identifier(columns, name, values, has_others):
        return _omit_column(name, "identifier")
    is_constant = cells.missing is None and len(values) > 1 and bool((values == values[0]).all())
    kind = f"number in {unit}" if unit else "number"
    outcome = f"1 feature{CONSTANT_NOTE if is_constant else ''}"
    return _add_fill(Column(name, unit=unit), cells, values, rules, kind, outcome)


def _learn_texts(columns: TableColumns, name: str, rules: ColumnRules) -> tuple[Column | None, ColumnSummary]:
    """Learn a column of texts as categories; without --keep, leave out dates, identifiers, long texts and rare ones.

    Raises DataError.
    """
    cells = columns.cells[name]
    texts = cells.collect_texts()
    n = len(cells.present)
    if name not in rules.keep:
        if name not in rules.texts:
            _refuse_misprints(columns, name, texts)
        if find_date_orders(texts):
            return None, ColumnSummary(name, "date", f"left out (--date {name} for {', '.join(DATE_PARTS)})")
        if len(texts) > max(MANY_CATEGORIES, n / 2):
            n_words = np.median([len(text.split()) for text in texts])
            return _omit_column(name, "text" if n_words >= MANY_WORDS else "identifier")
    kind = f"category of {len(texts)}"
    rare = _find_rare(cells, texts)
    if len(rare) == len(texts):
        if name not in rules.keep:
            return _omit_column(name, kind, f", none in {MIN_CATEGORY_SHARE:.0%} of the rows")
        rare = ()
    categories = tuple(sorted(set(texts).difference(rare)))
    is_constant = len(texts) == 1 and cells.missing is None and n > 1
    outcome = _describe_categories(name, len(categories), len(rare), is_constant)
    return _add_fill(Column(name, categories, rare), cells, cells.values, rules, kind, outcome)


def _describe_categories(name: str, n_categories: int, n_rare: int, is_constant: bool) -> str:
    """Describe the features of a column of categories: one for each, and one for all rare categories."""
    if n_rare:
        share = f"{MIN_CATEGORY_SHARE:.0%}"
        return f"{n_categories + 1} features; {n_rare} categories below {share} join as {name}={RARE_LABEL}"
    if n_categories > 1:
        return f"{n_categories} features"
    return f"1 feature{CONSTANT_NOTE if is_constant else ''}"


def _omit_column(name: str, kind: str, why: str = "") -> tuple[None, ColumnSummary]:
    return None, ColumnSummary(name, kind, f"left out{why} (--keep {name} to use it)")


def _is_identifier(columns: TableColumns, name: str, values: NDArray[np.float64], has_others: bool) -> bool:
    """Return whether numbers (n,) identify rows: by the name, or because the first column counts the rows."""
    present = values[~np.isnan(values)]
    if len(present) <= MANY_CATEGORIES or not (present == np.floor(present)).all():
        return False
    if _IDENTIFIER.search(name) and len(np.unique(present)) > max(MANY_CATEGORIES, len(present) / 2):
        return True
    may_count_rows = has_others and len(present) == len(values) and columns.sheet.header[name] == 0
    return bool(may_count_rows and any(np.array_equal(values, columns.rows + first) for first in (0, 1)))


def _refuse_misprints(columns: TableColumns, name: str, texts: Sequence[str]) -> None:
    """Refuse a column that is of numbers except for a few cells, or for marks in them. Raises DataError."""
    non_numbers = {text for text in texts if parse_numbers([text]) is None}
    advice = advise_decimal(texts)
    n_numbers = sum(text not in non_numbers for text in columns.cells[name].present.tolist())
    n = len(columns.rows)
    is_varied = len(texts) > max(MANY_CATEGORIES, n / 2)
    if not advice and n_numbers <= (0.5 if is_varied else 1.0 - MISPRINT_SHARE) * n:
        return
    place, first = columns.find_non_number(name)
    if advice:
        raise DataError(
            f"{place}: {reprlib.repr(first)} {advice}, leave the column out by --drop {name!r}, or take its texts as "
            f"categories by --keep {name!r}"
        )
    words = [first, *sorted(non_numbers - {first})][:MAX_NAMED_MISPRINTS]
    others = {1: "", 2: f" (nor is {words[-1]!r})"}.get(len(non_numbers), f" (nor are {len(non_numbers) - 1} others)")
    options = " ".join(map(shlex.quote, words))
    argument = ", ".join(map(repr, words))
    raise DataError(
        f"{place}: {reprlib.repr(first)} is not a number{others}, and {n_numbers} of {n} cells of the column are: "
        f"correct it; if it means that the value is missing, say so by --na {options} (na_values=[{argument}]); leave "
        f"the column out by --drop {name!r}; or take its texts as categories by --keep {name!r}"
    )


def _find_rare(cells: Cells, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the rare categories; none if there are few categories."""
    if len(texts) <= MANY_CATEGORIES:
        return ()
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(min_frequency=MIN_CATEGORY_SHARE, handle_unknown="infrequent_if_exist")
    (found,) = encoder.fit(cells.present[:, None]).infrequent_categories_
    return () if found is None else tuple(map(str, found))


def _learn_date(columns: TableColumns, name: str, rules: ColumnRules) -> tuple[Column, ColumnSummary]:
    """Learn the encoding of a column of dates as numbers. Raises DataError."""
    cells = columns.cells[name]
    if cells.values.dtype == object:
        orders = find_date_orders(cells.collect_texts())
    else:
        orders = ()
    orders = tuple(order for known, order in rules.orders if known == name) or orders
    if len(orders) > 1:
        place, text = columns.describe_cell(int(np.argmax(~columns.mask_missing(()))), name)
        raise DataError(f"{place}: of {text!r} and all others day or month may be first; write year-month-day")
    days = extract_days(columns, name, *(orders or ("ymd",)))
    column = Column(name, date=orders[0], origin=int(np.nanmin(days)))
    outcome = ", ".join(f"{name}.{part}" for part in DATE_PARTS)
    return _add_fill(column, Cells(days, cells.missing), days, rules, "date", outcome)


def _add_fill(
    column: Column, cells: Cells, values: NDArray[Any], rules: ColumnRules, kind: str, outcome: str
) -> tuple[Column, ColumnSummary]:
    """Add the value that fills missing cells, and the feature that marks them, to a column."""
    if not rules.fills_missing:
        return column, ColumnSummary(column.name, kind, outcome)
    from sklearn.impute import SimpleImputer

    is_text = column.categories is not None
    if is_text or rules.missing == "most-frequent":
        strategy = "most_frequent"
    else:
        strategy = "median"
    present = values if cells.missing is None else values[~cells.missing]
    fill: Any = (
        SimpleImputer(strategy=strategy, missing_values="" if is_text else np.nan).fit(present[:, None]).statistics_[0]
    )
    if is_text:
        fill = str(fill)
    elif column.date is not None:
        fill = float(np.floor(fill))
    else:
        fill = float(fill)
    column = replace(column, fill=fill, indicator=cells.missing is not None)
    if cells.missing is not None:
        if column.date is not None:
            message = f"day {int(fill) - int(column.origin or 0)}"
        else:
            message = f"{strategy.replace('_', '-')} {fill if is_text else f'{fill:g}'}"
        outcome += f"; {int(cells.missing.sum())} missing: {message}, and {column.name}={MISSING_LABEL}"
    return column, ColumnSummary(column.name, kind, outcome)


def describe_columns(summaries: Sequence[ColumnSummary]) -> list[str]:
    """Describe the columns in lines: each with its kind and its features."""
    ordinary = [each for each in summaries if (each.kind, each.outcome) == ("number", "1 feature")]
    if len(ordinary) > MAX_NUMBER_LINES:
        joined = {each.name for each in ordinary}
    else:
        joined = set()
    rows = [(each.name, each.kind, each.outcome) for each in summaries if each.name not in joined]
    if joined:
        names = list_names([each.name for each in ordinary[:3]])
        rows.append((f"{names}, ...", "number", f"1 feature each, of {len(ordinary)} columns"))
    rows = [("column", "type", "encoding"), *rows]
    widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
    return [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
