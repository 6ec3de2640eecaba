"""Estimate the time of Newton steps and of coordinate descent for a linear SVM, to choose which runs first.

All constants in seconds are medians of measurements on one core of an AVX-512 machine. Only their ratios matter.
"""

from __future__ import annotations

import math

# Which Newton systems are factored
#: Limit of the columns for which Newton systems are factored: beyond, a factor costs more than some hundred products
#: with the rows.
FACTORED_COLUMNS = 1500
#: With squared losses, systems of up to this many columns are factored even if there are fewer rows.
MIN_FACTORED_COLUMNS = 100

# Coordinate descent
#: Seconds per call of the compiled loop.
DESCENT_CALL_SECONDS = 3e-4
#: Seconds per entry of X in a pass.
DESCENT_ENTRY_SECONDS = 1e-9
#: Overhead per row in a pass, in entries.
ENTRIES_PER_ROW = 16
#: Estimated passes for at most `WIDE_ROWS_PER_COLUMN` rows per column.
WIDE_PASSES = 60.0
WIDE_ROWS_PER_COLUMN = 4
#: Estimated passes for more rows: this number, plus the next one times the conditioning.
MIN_PASSES = 10.0
CONDITIONING_PASSES = 5.0
#: Conditioning above which descent is too slow.
MAX_CONDITIONING = 15.0
#: Passes for squared losses: Newton's method is chosen if it takes no longer than these.
SQUARED_PASSES = 60.0

# Newton steps
#: Seconds per call.
NEWTON_CALL_SECONDS = 4e-3
#: Seconds of vector operations per row.
NEWTON_ROW_SECONDS = 4e-7
#: Seconds of passes per entry of X.
NEWTON_ENTRY_SECONDS = 1e-8
#: Seconds of linear systems per column and entry of at most `MAX_SYSTEM_ROWS` rows.
NEWTON_SYSTEM_SECONDS = 1e-9
MAX_SYSTEM_ROWS = 3000
#: Seconds per entry of all steps together, with too many columns for a factor.
UNFACTORED_ENTRY_SECONDS = 1e-5
#: A sparse entry costs as much as this many dense ones.
SPARSE_ENTRY_COST = 5.0

# Newton's method for squared losses only, about six steps
#: Seconds per call.
SQUARED_CALL_SECONDS = 5e-4
#: Seconds per entry of a dense X.
SQUARED_ENTRY_SECONDS = 1.6e-8
#: Seconds per entry of a dense X and column.
SQUARED_COLUMN_SECONDS = 5e-11
#: Seconds per pair of entries in a row of a sparse X.
SPARSE_PAIR_SECONDS = 3e-9
#: Seconds per column³ of a sparse X.
SPARSE_CUBE_SECONDS = 1e-10


def estimate_newton_seconds(n: int, d: int, n_entries: int, is_squared: bool, is_sparse: bool) -> float:
    """Estimate the seconds of Newton steps from a cold start, for X (n, d) with `n_entries` stored entries."""
    if is_squared and are_columns_few(n, d):
        if is_sparse:
            pair_seconds = SPARSE_PAIR_SECONDS * n_entries * n_entries / max(n, 1)
            return SQUARED_CALL_SECONDS + pair_seconds + SPARSE_CUBE_SECONDS * float(d) ** 3
        return SQUARED_CALL_SECONDS + (SQUARED_ENTRY_SECONDS + SQUARED_COLUMN_SECONDS * d) * n_entries
    if d > min(FACTORED_COLUMNS, n):
        return NEWTON_CALL_SECONDS + UNFACTORED_ENTRY_SECONDS * n_entries
    cost = n_entries * (SPARSE_ENTRY_COST if is_sparse else 1.0)
    seconds = NEWTON_CALL_SECONDS + NEWTON_ROW_SECONDS * n + NEWTON_ENTRY_SECONDS * cost
    return seconds + NEWTON_SYSTEM_SECONDS * min(n, MAX_SYSTEM_ROWS) * d * cost / max(n, 1)


def are_columns_few(n: int, d: int) -> bool:
    """Return whether the Newton systems of squared losses are factored: they have few enough columns."""
    return d <= min(FACTORED_COLUMNS, max(n, MIN_FACTORED_COLUMNS))


def is_squared_newton_quick(n: int, d: int, n_entries: int, is_sparse: bool) -> bool:
    """Return whether Newton's method is predicted to be the fastest for squared losses."""
    if not are_columns_few(n, d):
        return False
    newton_seconds = estimate_newton_seconds(n, d, n_entries, True, is_sparse)
    return newton_seconds <= SQUARED_CALL_SECONDS + SQUARED_PASSES * estimate_pass_seconds(n, n_entries)


def is_wide(n: int, d: int) -> bool:
    """Return whether there are enough columns for coordinate descent to converge soon for any C."""
    return n <= WIDE_ROWS_PER_COLUMN * d


def estimate_descent_seconds(n: int, d: int, n_entries: int, conditioning: float) -> float:
    """Estimate the seconds of coordinate descent; infinite if it is too slow.

    conditioning: The mean of C‖(x, 1)‖²; not used if X is wide.
    """
    wide = is_wide(n, d)
    if not wide and not conditioning <= MAX_CONDITIONING:
        return math.inf
    passes = WIDE_PASSES if wide else MIN_PASSES + CONDITIONING_PASSES * conditioning
    return DESCENT_CALL_SECONDS + estimate_pass_seconds(n, n_entries) * passes


def estimate_pass_seconds(n: int, n_entries: int) -> float:
    """Estimate the seconds of a pass of coordinate descent over n rows with `n_entries` stored entries."""
    return DESCENT_ENTRY_SECONDS * (n_entries + ENTRIES_PER_ROW * n)
