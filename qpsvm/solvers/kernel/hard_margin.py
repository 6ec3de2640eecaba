"""Solve the dual of a kernel hard margin (`solve_kernel_hard`).

If no α of a C-SVM is at C, its optimality conditions are those of the hard margin. So C is an exact penalty, which is
raised twice if needed. A linear machine with few features has few support vectors, which an active set finds
(`solve_active_set`). If the last penalty frees hardly any α at C, or α exceeds the range of double precision, the
classes are not separable, or hardly: this module does not decide that, and returns the last point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.ties import find_ties
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.duplicate_rows import MIN_MERGED_SHARE, MIN_ROWS_FOR_TIES
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.hard_active_set import solve_active_set
from qpsvm.solvers.kernel.solve import KernelSolution, solve_kernel
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.space.kernels.functions import Kernel, Linear
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

#: C, in units of one over the mean of K_ii. Above the last one, α loses the digits that the Newton steps need.
PENALTIES = (100.0, 1e4, 1e6)
#: Target gap of the C-SVM, as a share of that of the hard margin, in which slack costs more than C.
GAP_SHARE = 0.01
#: Features of a linear hard margin up to which it has few support vectors.
ACTIVE_SET_COLUMNS = 60


def solve_kernel_hard(
    kernel: Kernel,
    X: Matrix,
    y: FloatArray,
    curvature: float,
    *,
    gram: Any = None,
    tol: float,
    time_limit: float | None,
    max_iter: int | None,
    start: FloatArray | None,
    verbose: bool = False,
    engine: Any = "auto",
) -> KernelSolution:
    """Solve the dual of the hard margin; the reason is "numerical_error" if the last penalty does not suffice.

    Shapes: start (n,) or None.
    """
    effort = Effort(time_limit, max_iter, verbose)
    has_few_columns = isinstance(kernel, Linear) and isinstance(X, np.ndarray) and X.shape[1] <= ACTIVE_SET_COLUMNS
    if engine == "auto" and has_few_columns:
        small_solution, hulls_meet = _solve_few_support(
            lambda j: X @ X[j], np.einsum("ij,ij->i", X, X), X @ (y @ X), y, tol
        )
        if hulls_meet or small_solution.reason == "converged":
            return small_solution
    blocks = gram if isinstance(gram, KernelBlocks) else KernelBlocks(kernel, X, gram)
    if blocks.is_fast and blocks.full_matrix is None and len(y) > MIN_ROWS_FOR_TIES:
        ties = find_ties(X, y, min_share=MIN_MERGED_SHARE)
    else:
        ties = None
    if ties is not None:
        merged = solve_kernel_hard(
            kernel, X[ties.first_rows], y[ties.first_rows], curvature, tol=tol, time_limit=time_limit,
            max_iter=max_iter, start=None if start is None else ties.sum_groups(start), verbose=verbose, engine=engine,
        )  # fmt: skip
        spread = np.zeros(len(y))
        spread[ties.first_rows] = merged.beta
        return replace(merged, beta=spread, u=ties.expand_groups(merged.u))

    def solve_soft(C: float, start: FloatArray | None) -> KernelSolution:
        """Solve the C-SVM from β, within what is left of the limits."""
        return solve_kernel(
            blocks, KernelDual.from_hinges(y, repeat_value(C, len(y))), start=start, tol=GAP_SHARE * tol,
            time_limit=None if time_limit is None else max(effort.clock.remaining, 0.0),
            max_iter=None if max_iter is None else max(max_iter - effort.iterations, 1),
            verbose=verbose, engine=engine,
        )  # fmt: skip

    return _raise_penalty(solve_soft, curvature, None if start is None else y * start, len(y), tol, effort)


def _raise_penalty(
    solve_soft: Callable[[float, FloatArray | None], KernelSolution], curvature: float, beta: FloatArray | None, n: int,
    tol: float, effort: Effort,
) -> KernelSolution:  # fmt: skip
    """Solve C-SVMs with larger and larger penalties until no α is at its bound.

    solve_soft: Solves for a C, from β.
    beta: The start; with one, only the last penalty is tried.
    """
    n_bound = n
    for penalty in PENALTIES if beta is None else PENALTIES[-1:]:
        C = penalty / curvature
        solution = solve_soft(C, beta)
        effort.iterations += solution.iterations
        solution = replace(solution, iterations=effort.iterations)
        beta = solution.beta
        previous_bound = n_bound
        n_bound = int(np.count_nonzero(np.abs(beta) >= C))
        limited = solution.reason not in ("converged", "numerical_error") or effort.is_exhausted()
        if limited or not n_bound or solution.gap > tol or 2 * n_bound > previous_bound:  # hardly any is freed
            break
    if n_bound and solution.reason == "converged":
        return replace(solution, reason="numerical_error")
    return solution


def _solve_few_support(
    column: Callable[[int], FloatArray], diagonal: FloatArray, towards: FloatArray, y: FloatArray, tol: float
) -> tuple[KernelSolution, bool]:
    """Solve for a hard margin with few support vectors; return the solution, and whether the hulls seem to meet.

    `towards`, (n,): f for the direction between the class means, which selects the initial active set.
    """
    first = int(np.where(y > 0, towards, np.inf).argmin()), int(np.where(y < 0, towards, -np.inf).argmax())
    with np.errstate(all="ignore"):
        result = solve_active_set(column, diagonal, y, first)
        gap = compute_hard_gap(y, result.beta, result.u) if result.found else np.inf
    reason: StopReason = "converged" if gap <= tol else "numerical_error"
    beta = y * np.maximum(y * result.beta, 0.0)
    hulls_seem_to_meet = result.hulls_meet or (result.found and not gap <= tol)
    return KernelSolution(beta, result.b, result.u, gap, "active set", result.steps, reason), hulls_seem_to_meet


def compute_hard_gap(y: FloatArray, beta: FloatArray, u: FloatArray) -> float:
    """Return the relative gap (P − D)/P of the direction β, u = Kβ, (n,), with both as in (HARD.14)."""
    norm2 = float(beta @ u)
    reach = 0.5 * (float(u[y > 0].min()) - float(u[y < 0].max()))
    if not (reach > 0.0 and norm2 > 0.0):
        return np.inf
    gap = abs(1.0 - (float(np.abs(beta).sum()) / norm2 * reach) ** 2)
    return gap if np.isfinite(gap) else np.inf
