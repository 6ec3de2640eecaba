"""Solve the binary machines of several classes, by the fastest method that supports them (`solve_machines`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.limits import DEFAULT_TOLERANCE
from qpsvm.backends.own.row_newton import is_newton_suitable
from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError
from qpsvm.many.multiclass.bulk import can_solve_in_bulk, solve_in_bulk
from qpsvm.many.multiclass.descent import can_solve_by_descent, solve_by_descent
from qpsvm.many.multiclass.loops import find_max_fine_rows
from qpsvm.many.multiclass.one_by_one import solve_each
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.squared_hinge import can_solve_squared, solve_squared
from qpsvm.many.multiclass.together import BinaryMachines

#: Sparse samples with more columns than this are not solved in bulk, if coordinate descent can solve them.
WIDE_COLUMNS = 100


def solve_machines(
    split: Split, start: BinaryMachines | None = None, n_jobs: int | None = None, **options: Any
) -> BinaryMachines:
    """Solve the binary machines of several classes.

    start: Machines of the same classes and rows to start from.
    n_jobs: Number of processes for machines that are solved one by one.
    options: The options of `qpsvm.solve`.

    Raises DataError, QPSVMError.
    """
    starts = _list_starts(split, start)
    if split.is_out_of_core:
        return solve_each(split, starts, n_jobs, options)
    solved = _solve_together(split, options)
    if solved is not None:
        return solved
    return solve_each(replace(split, is_sorted=not split.is_linear), starts, n_jobs, options)


def _solve_together(split: Split, options: Mapping[str, Any]) -> BinaryMachines | None:
    """Solve all machines together by the fastest method that supports them; None if there is none."""
    tol = as_tolerance(options.get("tol", DEFAULT_TOLERANCE))
    limit = options.get("time_limit")
    can_descend = can_solve_by_descent(split, options)
    is_wide = sp.issparse(split.X) and split.X.shape[1] > WIDE_COLUMNS
    prefers_newton = split.template.machine == "SquaredHinge" and is_newton_suitable(split.X)
    if not (can_descend and is_wide and not prefers_newton):
        # `qpsvm.solve` is as fast for one such machine
        is_solved_alone = len(split.pairs) == 1 and split.n > find_max_fine_rows(split)
        if not is_solved_alone and can_solve_in_bulk(split, options):
            solved = solve_in_bulk(split, tol, limit)
            if solved is not None:
                return solved
        elif can_solve_squared(split, options):
            return solve_squared(replace(split, is_sorted=not split.uses_all_rows), tol, limit)
    if can_descend:
        return solve_by_descent(replace(split, is_sorted=False), tol)
    return None


def _list_starts(split: Split, start: BinaryMachines | None) -> Sequence[FloatArray | None]:
    """Return the coefficients (n,) from which each machine starts, or None for each. Raises DataError."""
    n_machines = len(split.pairs)
    if start is None:
        return [None] * n_machines
    if start.coef.shape != (n_machines, split.n) or not np.array_equal(start.machines, split.pairs):
        raise DataError(
            f"the start has {start.coef.shape[0]} machines over {start.coef.shape[1]} rows, but there are "
            f"{n_machines} over {split.n}: start from machines of the same classes over the same rows"
        )
    return list(start.coef.toarray())
