"""Train certified binary machines on samples of several classes, by the fastest method that supports them.

`solve_pairs` solves one machine for each pair of classes, `solve_rest` one for each class against all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.backends.own.row_newton import is_newton_suitable
from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.rows import RowSource
from qpsvm.many.multiclass.bulk import can_solve_in_bulk, solve_in_bulk
from qpsvm.many.multiclass.descent import can_solve_by_descent, solve_by_descent
from qpsvm.many.multiclass.loops import find_max_fine_rows
from qpsvm.many.multiclass.one_by_one import DEFAULT_TOLERANCE, solve_each
from qpsvm.many.multiclass.split import Split, split_classes
from qpsvm.many.multiclass.squared_hinge import can_solve_squared, solve_squared
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.psd_rule import PSDRule

#: Sparse samples with more columns than this are not solved in bulk, if coordinate descent can solve them.
WIDE_COLUMNS = 100


def solve_pairs(X: Matrix | RowSource, codes: IntArray, labels: NDArray[Any], **arguments: Any) -> BinaryMachines:
    """Solve one machine for each pair of classes, with the arguments of `solve_machines`."""
    return solve_machines(X, codes, labels, False, **arguments)


def solve_rest(X: Matrix | RowSource, codes: IntArray, labels: NDArray[Any], **arguments: Any) -> BinaryMachines:
    """Solve one machine for each class against all others, with the arguments of `solve_machines`."""
    return solve_machines(X, codes, labels, True, **arguments)


def solve_machines(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    rest: bool,
    *,
    machine: str = "CSVM",
    parameters: Mapping[str, Any],
    kernel: Kernel,
    sample_weight: FloatArray | None = None,
    psd: PSDRule = "raise",
    intercept: str | None = "free",
    n_jobs: int | None = None,
    constraints: Any = None,
    start: BinaryMachines | None = None,
    **options: Any,
) -> BinaryMachines:
    """Solve the binary machines of several classes.

    X (n, d), sample_weight (n,): The samples, and their weights.
    codes (n,), labels (k,): The class of each sample, from 0 on, and the label of each class.
    rest: Whether each class is separated from all others, or from each other class.
    machine, parameters: The name of the class of the problems, and its hyperparameters.
    start: Machines of the same classes and rows to start from.
    options: The options of `qpsvm.solve`.

    Raises DataError, QPSVMError.
    """
    machines = split_classes(
        X, codes, labels, rest, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
    starts = _list_starts(machines, start)
    if machines.is_out_of_core:
        return solve_each(machines, starts, n_jobs, options)
    solved = _solve_together(machines, options)
    if solved is not None:
        return solved
    return solve_each(replace(machines, is_sorted=not machines.is_linear), starts, n_jobs, options)


def _solve_together(machines: Split, options: Mapping[str, Any]) -> BinaryMachines | None:
    """Solve all machines together by the fastest method that supports them; None if there is none."""
    tol = as_tolerance(options.get("tol", DEFAULT_TOLERANCE))
    limit = options.get("time_limit")
    can_descend = can_solve_by_descent(machines, options)
    is_wide = sp.issparse(machines.X) and machines.X.shape[1] > WIDE_COLUMNS
    prefers_newton = machines.machine == "SquaredHinge" and is_newton_suitable(machines.X)
    if not (can_descend and is_wide and not prefers_newton):
        # `qpsvm.solve` is as fast for one such machine
        is_solved_alone = len(machines.pairs) == 1 and machines.n > find_max_fine_rows(machines)
        if not is_solved_alone and can_solve_in_bulk(machines, options):
            solved = solve_in_bulk(machines, tol, limit)
            if solved is not None:
                return solved
        elif can_solve_squared(machines, options):
            return solve_squared(replace(machines, is_sorted=not machines.uses_all_rows), tol, limit)
    if can_descend:
        return solve_by_descent(replace(machines, is_sorted=False), tol)
    return None


def _list_starts(machines: Split, start: BinaryMachines | None) -> Sequence[FloatArray | None]:
    """Return the coefficients (n,) from which each machine starts, or None for each. Raises DataError."""
    n_machines = len(machines.pairs)
    if start is None:
        return [None] * n_machines
    if start.coef.shape != (n_machines, machines.n) or not np.array_equal(start.machines, machines.pairs):
        raise DataError(
            f"the start has {start.coef.shape[0]} machines over {start.coef.shape[1]} rows, but there are "
            f"{n_machines} over {machines.n}: start from machines of the same classes over the same rows"
        )
    return list(start.coef.toarray())


__all__ = ["solve_pairs", "solve_rest"]
