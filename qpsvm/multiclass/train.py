"""The two functions that walk all the way: from samples of several classes to certified binary machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.checks import as_tolerance
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.errors import DataError
from qpsvm.kernels.functions import Kernel
from qpsvm.kernels.indefinite import PSDRule
from qpsvm.multiclass.apart import solve_apart
from qpsvm.multiclass.bulk import solve_in_bulk, solves
from qpsvm.multiclass.one_by_one import TOLERANCE, solve_each
from qpsvm.multiclass.split import Split, split
from qpsvm.multiclass.squared import solve_squared, solves_squared
from qpsvm.multiclass.together import Together
from qpsvm.rows import RowSource


def solve_pairs(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    *,
    machine: str = "CSVM",
    parameters: Mapping[str, Any],
    kernel: Kernel,
    sample_weight: FloatArray | None = None,
    psd: PSDRule = "raise",
    intercept: str | None = "free",
    n_jobs: int | None = None,
    constraints: Any = None,
    start: Together | None = None,
    **solve_options: Any,
) -> Together:
    """One machine for each pair of classes.

    Shapes: X (n, d), codes (n,), labels (k,), sample_weight (n,). Raises DataError, QPSVMError.
    """
    machines = split(
        X, codes, labels, False, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
    return _solved(machines, n_jobs, start, solve_options)


def solve_rest(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    *,
    machine: str = "CSVM",
    parameters: Mapping[str, Any],
    kernel: Kernel,
    sample_weight: FloatArray | None = None,
    psd: PSDRule = "raise",
    intercept: str | None = "free",
    n_jobs: int | None = None,
    constraints: Any = None,
    start: Together | None = None,
    **solve_options: Any,
) -> Together:
    """One machine for each class, against all others.

    Raises DataError, QPSVMError.
    """
    machines = split(
        X, codes, labels, True, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
    return _solved(machines, n_jobs, start, solve_options)


def _solved(machines: Split, n_jobs: int | None, start: Together | None, options: Mapping[str, Any]) -> Together:
    starts = _starts(machines, start)
    if machines.is_stored:
        return solve_each(machines, starts, n_jobs, options)
    if solves(machines, options):
        tol = as_tolerance(options.get("tol", TOLERANCE))
        limit = options.get("time_limit")
        together = solve_apart(machines, tol, n_jobs) if machines.apart else solve_in_bulk(machines, tol, limit)
        if together is not None:
            return together
    elif solves_squared(machines, options):
        tol = as_tolerance(options.get("tol", TOLERANCE))
        return solve_squared(machines, tol, options.get("time_limit"))
    return solve_each(machines, starts, n_jobs, options)


def _starts(machines: Split, start: Together | None) -> Sequence[FloatArray | None]:
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
