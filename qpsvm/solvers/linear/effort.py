"""Estimate the time of Newton steps and of coordinate descent for a linear machine, to choose which goes first.

Medians of measurements on one core of an AVX-512 machine. Only their ratios matter.
"""

from __future__ import annotations

import math

#: Limit of the columns for which the Newton systems of linear machines are factored. Beyond, a factor costs more than
#: some hundred products with the rows.
FACTORED_COLUMNS = 1500
#: Seconds of a run of the compiled loop, seconds per number in a pass, and the overhead per row as a count of numbers.
RUN, NUMBER, ROW = 3e-4, 1e-9, 16
#: Estimated number of full passes. A table with at most `ROWS_PER_COLUMN` rows per column needs `WIDE_PASSES`. Others
#: need `MIN_PASSES`, plus `REACH_PASSES` times the reach, the mean of C‖(x, 1)‖²; above `MAX_REACH` descent is too
#: slow.
WIDE_PASSES, ROWS_PER_COLUMN, MIN_PASSES, REACH_PASSES, MAX_REACH = 60.0, 4, 10.0, 5.0, 15.0
#: Seconds of the Newton steps: per call; of vector operations, per row; of passes, per number in X; of linear systems,
#: per column and number in at most `STEP_ROWS` rows; and with too many columns for a factor, per number in all.
CALL, VECTORS, PASS, STEP, STEP_ROWS, WIDE = 4e-3, 4e-7, 1e-8, 1e-9, 3000, 1e-5
#: A sparse number costs as much as this many dense ones in the Newton steps.
SPARSE_NUMBER = 5.0
#: Columns for which the systems of squared losses are factored even if there are fewer rows.
FEW_COLUMNS = 100
#: Seconds of Newton's method if every loss is squared, about six steps: per call, per number in dense X, and per number
#: and column; per product of two numbers of a sparse row, and per column³.
SQUARED_CALL, SQUARED_NUMBER, SQUARED_PRODUCT = 5e-4, 1.6e-8, 5e-11
SPARSE_SQUARED_PRODUCT, SQUARED_CUBE = 3e-9, 1e-10
#: Passes of coordinate descent that squared losses need: with fewer, Newton's method is slower.
SQUARED_PASSES = 60.0


def estimate_newton_seconds(n: int, d: int, entries: int, squared: bool, sparse: bool) -> float:
    """Estimate the seconds of Newton steps from a cold start, for n rows of d columns with `entries` numbers."""
    if squared and are_columns_few(n, d):
        if sparse:
            return SQUARED_CALL + SPARSE_SQUARED_PRODUCT * entries * entries / max(n, 1) + SQUARED_CUBE * float(d) ** 3
        return SQUARED_CALL + (SQUARED_NUMBER + SQUARED_PRODUCT * d) * entries
    if d > min(FACTORED_COLUMNS, n):
        return CALL + WIDE * entries
    weighed = entries * (SPARSE_NUMBER if sparse else 1.0)
    return CALL + VECTORS * n + PASS * weighed + STEP * min(n, STEP_ROWS) * d * weighed / max(n, 1)


def are_columns_few(n: int, d: int) -> bool:
    """Return whether there are few enough columns to factor the systems of squared losses."""
    return d <= min(FACTORED_COLUMNS, max(n, FEW_COLUMNS))


def is_squared_newton_quick(n: int, d: int, entries: int, sparse: bool) -> bool:
    """Return whether Newton's method is predicted to be the fastest for squared losses."""
    if not are_columns_few(n, d):
        return False
    newton_seconds = estimate_newton_seconds(n, d, entries, True, sparse)
    return newton_seconds <= SQUARED_CALL + SQUARED_PASSES * estimate_pass_seconds(n, entries)


def is_wide(n: int, d: int) -> bool:
    """Return whether there are enough columns for coordinate descent to converge soon for any C."""
    return n <= ROWS_PER_COLUMN * d


def estimate_descent_seconds(n: int, d: int, entries: int, reach: float) -> float:
    """Estimate the seconds of coordinate descent for a mean of C‖(x, 1)‖² of `reach`; infinite if it is too slow."""
    wide = is_wide(n, d)
    passes = WIDE_PASSES if wide else MIN_PASSES + REACH_PASSES * reach
    return RUN + estimate_pass_seconds(n, entries) * passes if wide or reach <= MAX_REACH else math.inf


def estimate_pass_seconds(n: int, entries: int) -> float:
    """Estimate the seconds of a pass of coordinate descent over n rows with `entries` numbers."""
    return NUMBER * (entries + ROW * n)
