"""Estimate the time of Newton steps and of coordinate descent for a linear SVM, to choose which runs first.

All constants in seconds are medians of measurements on one core of an AVX-512 machine. Only their ratios matter.
"""

from __future__ import annotations

import math

#: Limit of the columns for which Newton systems are factored: beyond, a factor costs more than some hundred products
#: with the rows. With squared losses, up to the second limit they are factored even if there are fewer rows.
FACTORED_COLUMNS, MIN_FACTORED_COLUMNS = 1500, 100
#: Coordinate descent: seconds per call of the compiled loop and per entry of X in a pass; overhead per row, in entries.
DESCENT_CALL_SECONDS, DESCENT_ENTRY_SECONDS, ENTRIES_PER_ROW = 3e-4, 1e-9, 16
#: Estimated passes of coordinate descent: `WIDE_PASSES` for at most `WIDE_ROWS_PER_COLUMN` rows per column; else
#: `MIN_PASSES` plus `CONDITIONING_PASSES` times the conditioning; above `MAX_CONDITIONING` descent is too slow.
WIDE_PASSES, WIDE_ROWS_PER_COLUMN = 60.0, 4
MIN_PASSES, CONDITIONING_PASSES, MAX_CONDITIONING = 10.0, 5.0, 15.0
#: Passes of coordinate descent for squared losses: Newton's method is chosen if it takes no longer than these.
SQUARED_PASSES = 60.0
#: Newton steps, in seconds: per call; of vector operations, per row; of passes, per entry of X; of linear systems, per
#: column and entry of at most `MAX_SYSTEM_ROWS` rows; and with too many columns for a factor, per entry in all.
NEWTON_CALL_SECONDS, NEWTON_ROW_SECONDS, NEWTON_ENTRY_SECONDS = 4e-3, 4e-7, 1e-8
NEWTON_SYSTEM_SECONDS, MAX_SYSTEM_ROWS, UNFACTORED_ENTRY_SECONDS = 1e-9, 3000, 1e-5
#: A sparse entry costs as much as this many dense ones in these Newton steps.
SPARSE_ENTRY_COST = 5.0
#: Newton's method for squared losses only, about six steps, in seconds: per call; per entry of a dense X, and per entry
#: and column; per pair of entries in a row of a sparse X, and per column³.
SQUARED_CALL_SECONDS, SQUARED_ENTRY_SECONDS, SQUARED_COLUMN_SECONDS = 5e-4, 1.6e-8, 5e-11
SPARSE_PAIR_SECONDS, SPARSE_CUBE_SECONDS = 3e-9, 1e-10


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
