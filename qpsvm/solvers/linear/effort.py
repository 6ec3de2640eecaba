"""Estimate the time of Newton steps and of coordinate descent for a linear machine, to choose which goes first.

Medians of measurements on one core of an AVX-512 machine. Only their ratios matter.
"""

from __future__ import annotations

import math

#: Most columns for which the Newton systems of linear machines are factored. Beyond, a factor costs more than some
#: hundred products with the rows.
FACTORED_COLUMNS = 1500
#: Seconds of a run of the compiled loop, of a number in a pass, and the numbers that a row's own work is worth.
RUN, NUMBER, ROW = 3e-4, 1e-9, 16
#: Passes, whole ones that those of few rows add up to: where columns are not few, so many rows for each; else at least
#: so many, and more with how far a row's α can move its own margin, up to a reach beyond which they lead nowhere.
WIDE_PASSES, ROWS_PER_COLUMN, LEAST_PASSES, REACH_PASSES, MOST_REACH = 60.0, 4, 10.0, 5.0, 15.0
#: Seconds of the Newton steps: of a call; of vectors, for each row; of their passes, for each number in X; of their
#: systems, for each number in at most so many rows and each column; with too many columns for a factor, a number.
CALL, VECTORS, PASS, STEP, STEP_ROWS, WIDE = 4e-3, 4e-7, 1e-8, 1e-9, 3000, 1e-5
#: As how many dense numbers a sparse one counts in them.
SPARSE_NUMBER = 5.0
#: The share of it that they take where every loss is a square: Newton's own steps, some five.
SMOOTH = 0.3


def estimate_newton_seconds(n: int, d: int, entries: int, smooth: bool, sparse: bool) -> float:
    """Estimate the seconds of Newton steps from a cold start, for n rows of d columns with `entries` numbers."""
    if d > min(FACTORED_COLUMNS, n):
        return CALL + WIDE * entries
    weighed = entries * (SPARSE_NUMBER if sparse else 1.0)
    seconds = CALL + VECTORS * n + PASS * weighed + STEP * min(n, STEP_ROWS) * d * weighed / max(n, 1)
    return SMOOTH * seconds if smooth else seconds


def is_wide(n: int, d: int) -> bool:
    """Return whether there are enough columns for coordinate descent to end soon for any C."""
    return n <= ROWS_PER_COLUMN * d


def estimate_descent_seconds(n: int, d: int, entries: int, reach: float) -> float:
    """Estimate the seconds of coordinate descent for a mean of C‖(x, 1)‖² of `reach`; infinite if it is too slow."""
    wide = is_wide(n, d)
    passes = WIDE_PASSES if wide else LEAST_PASSES + REACH_PASSES * reach
    return RUN + estimate_pass_seconds(n, entries) * passes if wide or reach <= MOST_REACH else math.inf


def estimate_pass_seconds(n: int, entries: int) -> float:
    """Estimate the seconds of a pass of coordinate descent over n rows with `entries` numbers."""
    return NUMBER * (entries + ROW * n)
