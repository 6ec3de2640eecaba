"""The functions that walk all the way: from samples of several classes to certified binary machines.

The fast road where all samples are too many for one Gram matrix, and those of two classes are not: pair by pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.rows import RowSource
from qpsvm.many.grid.walk import run_tasks
from qpsvm.many.multiclass.bulk import solve_in_bulk, solves
from qpsvm.many.multiclass.one_by_one import TOLERANCE, solve_each
from qpsvm.many.multiclass.split import Split, split
from qpsvm.many.multiclass.squared_hinge import solve_squared, solves_squared
from qpsvm.many.multiclass.together import Results, Together
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram import PSDRule


def solve_apart(split: Split, tol: float, n_jobs: int | None) -> Together | None:
    """Solve the machines of pairs, each in bulk by itself."""
    P = len(split.pairs)
    if split.machine == "NuSVM":
        for p in range(P):
            split.bare(p)  # is ν feasible?
    found = [each for (each,) in run_tasks(_pair, [(split, p, tol) for p in range(P)], [1] * P, n_jobs, False)]
    if any(together is None for together, _ in found):
        return None
    parts = [(together, rows) for together, rows in found if together is not None]
    singles = [together for together, _ in parts]
    return Together(
        classes=split.labels, machines=split.pairs, coef=_spread(parts, split.n),
        b=_joined([each.b for each in singles]), rho=_joined([each.rho for each in singles]),
        w=None if singles[0].w is None else np.vstack([each.w for each in singles if each.w is not None]),
        gap=_joined([each.gap for each in singles]), status=[each.status[0] for each in singles],
        iterations=np.concatenate([each.iterations for each in singles]), solver=singles[0].solver,
        message="; ".join(each.message for each in singles if each.message),
        results=Results(P, First([each.results for each in singles])),
    )  # fmt: skip


def _pair(split: Split, p: int, tol: float) -> list[tuple[Together | None, IntArray]]:
    part, rows = split.alone(p)
    return [(solve_in_bulk(part, tol), rows)]


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate(parts)


def _spread(parts: list[tuple[Together, IntArray]], n: int) -> sp.csr_array:
    """Coefficients over some of the rows, one machine each, as a matrix over all rows."""
    columns = [rows[together.coef.indices] for together, rows in parts]
    ends = np.cumsum([0, *(len(each) for each in columns)])
    values = np.concatenate([together.coef.data for together, _ in parts])
    return sp.csr_array((values, np.concatenate(columns), ends), shape=(len(parts), n))


@dataclass(frozen=True, eq=False)
class First:
    """The results of machines that were solved apart: the only one of each."""

    parts: list[Sequence[SVMResult]]

    def __call__(self, p: int) -> SVMResult:
        """Of one of them."""
        return self.parts[p][0]


def solve_pairs(X: Matrix | RowSource, codes: IntArray, labels: NDArray[Any], **how: Any) -> Together:
    """One machine for each pair of classes: see `solve_machines`."""
    return solve_machines(X, codes, labels, False, **how)


def solve_rest(X: Matrix | RowSource, codes: IntArray, labels: NDArray[Any], **how: Any) -> Together:
    """One machine for each class, against all others: see `solve_machines`."""
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
    start: Together | None = None,
    **options: Any,
) -> Together:
    """The binary machines of several classes, by the fast road where it takes them.

    Shapes: X (n, d), codes (n,), labels (k,), sample_weight (n,). Raises DataError, QPSVMError.
    """
    machines = split(
        X, codes, labels, rest, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
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
