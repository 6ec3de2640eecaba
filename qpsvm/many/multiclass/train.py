"""Train certified binary machines on samples of several classes (`solve_machines`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.rows import RowSource
from qpsvm.many.multiclass.bulk import can_solve_in_bulk, solve_in_bulk
from qpsvm.many.multiclass.descent import can_solve_by_descent, solve_by_descent
from qpsvm.many.multiclass.loops import FINE_LOOP_ROWS
from qpsvm.many.multiclass.newton import MAX_DENSE_COLUMNS, is_worthwhile
from qpsvm.many.multiclass.one_by_one import DEFAULT_TOLERANCE, solve_each
from qpsvm.many.multiclass.split import Split, split_classes
from qpsvm.many.multiclass.squared_hinge import can_solve_squared, solve_squared
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.psd_rule import PSDRule


def solve_pairs(X: Matrix | RowSource, codes: IntArray, labels: NDArray[Any], **how: Any) -> BinaryMachines:
    """Solve one machine for each pair of classes: see `solve_machines`."""
    return solve_machines(X, codes, labels, False, **how)


def solve_rest(X: Matrix | RowSource, codes: IntArray, labels: NDArray[Any], **how: Any) -> BinaryMachines:
    """Solve one machine for each class, against all others: see `solve_machines`."""
    return solve_machines(X, codes, labels, True, **how)


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
    """The binary machines of several classes, by the fast road where it takes them.

    Shapes: X (n, d), codes (n,), labels (k,), sample_weight (n,). Raises DataError, QPSVMError.
    """
    machines = split_classes(
        X, codes, labels, rest, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
    starts = _list_starts(machines, start)
    if machines.is_out_of_memory:
        return solve_each(machines, starts, n_jobs, options)
    wide = sp.issparse(X) and X.shape[1] > MAX_DENSE_COLUMNS
    if wide and not (machine == "SquaredHinge" and is_worthwhile(X)) and can_solve_by_descent(machines, options):
        return solve_by_descent(replace(machines, is_sorted=False), as_tolerance(options.get("tol", DEFAULT_TOLERANCE)))
    alone = len(machines.pairs) == 1 and machines.n > FINE_LOOP_ROWS  # as any other problem
    if not alone and can_solve_in_bulk(machines, options):
        tol = as_tolerance(options.get("tol", DEFAULT_TOLERANCE))
        limit = options.get("time_limit")
        together = solve_in_bulk(machines, tol, limit)
        if together is not None:
            return together
    elif can_solve_squared(machines, options):
        tol = as_tolerance(options.get("tol", DEFAULT_TOLERANCE))
        return solve_squared(replace(machines, is_sorted=not machines.uses_all_rows), tol, options.get("time_limit"))
    if can_solve_by_descent(machines, options):
        return solve_by_descent(replace(machines, is_sorted=False), as_tolerance(options.get("tol", DEFAULT_TOLERANCE)))
    return solve_each(replace(machines, is_sorted=not machines.kernel_is_linear), starts, n_jobs, options)


def _list_starts(machines: Split, start: BinaryMachines | None) -> Sequence[FloatArray | None]:
    """The coefficients of each machine to begin with."""
    P = len(machines.pairs)
    if start is None:
        return [None] * P
    if start.coef.shape != (P, machines.n) or not np.array_equal(start.machines, machines.pairs):
        raise DataError(
            f"the start has {start.coef.shape[0]} machines over {start.coef.shape[1]} rows, and there are {P} over "
            f"{machines.n}: begin with machines of the same classes over the same rows"
        )
    return list(start.coef.toarray())


__all__ = ["solve_pairs", "solve_rest"]
