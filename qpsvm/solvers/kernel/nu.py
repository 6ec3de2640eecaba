"""ν-SVMs on a Gram matrix: LIBSVM's loop until it knows the split, block pivoting for the rest.

The loop at its own default is right about nearly all rows; every digit more costs it as many iterations again, and a
round of pivoting gets all of them. Equal rows are made one first (`ties`), or K_FF would be singular. Where pivoting
leads nowhere, as where the reduced hulls meet, the loop's own best is the answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.libsvm import libsvm_nu_loop
from qpsvm.solvers.kernel.pivots import Conditions, Pivoted, pivoted
from qpsvm.solvers.kernel.portfolio import TIES_FROM, KernelSolution
from qpsvm.solvers.kernel.ties import find_ties
from qpsvm.space.kernels.blocks import KernelBlocks

#: LIBSVM's tolerances, one after the other where pivoting leads nowhere, and the iterations: so many a row and besides.
#: Where the reduced hulls meet it would never end.
TOLERANCES, PER_ROW, BESIDES = (1e-3, 1e-4), 100, 20_000
#: The same where another solver goes on: one tolerance, and the iterations that it is worth.
BRIEF, BRIEF_PER_ROW, BRIEF_BESIDES = (1e-3,), 20, 1000
#: An α from the loop within this share of its bound is there.
EDGE = 1e-9


def solve_kernel_nu(
    blocks: KernelBlocks,
    y: FloatArray,
    upper: FloatArray,
    nu: float,
    *,
    tol: float,
    time_limit: float | None,
    max_iter: int | None,
    start: FloatArray | None,
    verbose: bool = False,
    brief: bool = False,
) -> tuple[KernelSolution, float]:
    """Solve the dual of the ν-SVM: minimise ½αᵀQα with yᵀα = 0, 1ᵀα = ν, 0 ≤ α ≤ U.

    Shapes: y, upper (n,), start (n,) or None.
    """
    ties = find_ties(blocks.X, y) if blocks.fast and len(y) > TIES_FROM else None
    if ties is not None:
        merged, rho = solve_kernel_nu(
            KernelBlocks(blocks.kernel, blocks.X[ties.rows]), y[ties.rows], ties.total(upper), nu, tol=tol,
            time_limit=time_limit, max_iter=max_iter, start=None if start is None else ties.total(start),
            verbose=verbose, brief=brief,
        )  # fmt: skip
        if merged.engine == "pivots" or merged.reason in ("time_limit", "interrupted"):
            spread = y * ties.share_out(np.abs(merged.beta), np.asarray(upper))
            return replace(merged, beta=spread, u=ties.spread(merged.u)), rho
    effort, K = Effort(time_limit, max_iter, verbose), blocks.all()
    problem, n = Conditions.fixed_sum(y, upper, nu), len(y)
    alpha, finished = np.zeros(n) if start is None else start, False
    tolerances, per_row, besides = (BRIEF, BRIEF_PER_ROW, BRIEF_BESIDES) if brief else (TOLERANCES, PER_ROW, BESIDES)
    with np.errstate(all="ignore"):
        found = None if start is None else _tried(K, problem, start, tol, effort)
        for tolerance in tolerances if found is None else ():
            most = per_row * n + besides if max_iter is None else max(max_iter - effort.iterations, 1)
            loop = libsvm_nu_loop(y, upper, nu, K, most, effort.clock, tol=tolerance, verbose=verbose)
            if loop is None:
                break
            effort.iterations += loop.iterations
            alpha, finished = np.clip(y * loop.beta, 0.0, upper), loop.finished
            found = _tried(K, problem, np.where(alpha > (1.0 - EDGE) * upper, upper, alpha), tol, effort)
            if found is not None or effort.over():
                break
    steps = effort.iterations + effort.newton_steps
    if found is None:
        u = K @ (y * alpha)
        theta = np.array([-_level(u, alpha, upper, y == sign) for sign in (1.0, -1.0)])
        b, rho = _margin(theta)
        return KernelSolution(y * alpha, b, u, np.inf, "libsvm", steps, effort.reason(finished and not brief)), rho
    point, gap = found
    b, rho = _margin(point.theta)
    return KernelSolution(point.beta, b, point.u, gap, "pivots", steps, "converged"), rho


def _tried(
    K: FloatArray, problem: Conditions, alpha: FloatArray, tol: float, effort: Effort
) -> tuple[Pivoted, float] | None:
    """The solution from a guess at the split, and its relative gap; None where it leads nowhere."""
    if effort.late():
        return None
    found = pivoted(K, problem, alpha, effort)
    effort.newton_steps += found.rounds
    gap = _gap(problem, found) if found.found else np.inf
    effort.report("pivots", int(np.count_nonzero(alpha)), gap)
    return (found, gap) if gap <= tol else None


def _level(u: FloatArray, alpha: FloatArray, upper: FloatArray, rows: NDArray[np.bool_]) -> float:
    """The mean of u over the free rows of a class, or over its rows where none is free."""
    free = rows & (alpha > 0.0) & (alpha < upper)
    return float(u[free if free.any() else rows].mean())


def _gap(problem: Conditions, point: Pivoted) -> float:
    """(P − D) / P by (NUSVM.19), w = w(α)."""
    (b, rho), alpha = _margin(point.theta), problem.y * point.beta
    slack = rho - problem.y * (point.u + b)
    inside = np.maximum(slack, 0.0)
    difference = float((problem.upper - alpha) @ inside + alpha @ (inside - slack))
    value = 0.5 * float(point.beta @ point.u)  # −D, and P at the optimum is D
    gap = difference / value if value > 0.0 else np.inf
    return gap if np.isfinite(gap) else np.inf


def _margin(theta: FloatArray) -> tuple[float, float]:
    """b and ρ of (KPIVOT.3)."""
    return 0.5 * float(theta[0] + theta[1]), 0.5 * float(theta[1] - theta[0])


__all__ = ["solve_kernel_nu"]
