"""Kernel C-SVMs: the one public entry to the engines.

| engine   | its first guess at the rows that matter                               | when                   |
|----------|-----------------------------------------------------------------------|------------------------|
| `start`  | those not at rest in a point that is given                            | few are not            |
| `few`    | those that a subsample does not see far on their right side           | few support            |
| `gram`   | all, with the whole Gram matrix in double precision                   | n ≤ 2000               |
| `band`   | a band around a foretold margin, all else resting at 0 or C           | nearly always          |
| `dense`  | all: conjugate gradients on the Gram matrix in single precision       | nearly all free        |
| `libsvm` | LIBSVM's own, which evaluates the kernel itself                       | a band beyond memory,  |
|          |                                                                       | or of nearly all rows  |
| low_rank | all: a linear machine over the rows of a pivoted factor of K          | few features           |

Regressions and novelty machines (`interval`, `regression`) go through `start`, `gram`, `band` and `libsvm`, too; a
novelty machine that may leave few rows outside begins with `few`, on those that are farthest out, unless it has few
rows at all; a ν-SVR of many rows is a search for the width of its tube (`tube_search`), and LIBSVM's own where few rows
can be outside.

All but `dense` and `low_rank` are one loop (`working_set`): LIBSVM's loop on those rows, Newton steps on them, a look
outside. The order in which they are tried is in `engines`, the cost model that picks in `costs`. Equal rows are made
one first (`ties`). What no engine could do is said in `reason`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from qpsvm.arrays.constant import common_value, repeated
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.errors import ParameterError
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.kernels.functions import Kernel
from qpsvm.operators import Operator
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import Engines
from qpsvm.solvers.kernel.low_rank import LinearSolver
from qpsvm.solvers.kernel.ties import find_ties
from qpsvm.solvers.shared.stopping import StopReason

Engine = Literal["auto", "gram", "band", "dense", "libsvm", "low_rank"]
ENGINES = ("auto", "gram", "band", "dense", "libsvm", "low_rank")

#: From this many rows on equal ones are looked for: that takes a hundredth of the time of the whole.
TIES_FROM = 500


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """What a kernel engine returns.

    Attributes
    ----------
    alpha : ndarray, shape (n,)
        Feasible: 0 ≤ α ≤ C, yᵀα = 0 up to rounding.
    b : float
    u : ndarray, shape (n,)
        K(y∘α): in double precision where it matters, and to about seven digits in rows that lie strictly on their right
        side and contribute nothing to the gap.
    gap : float
        Relative gap (KDUAL.4) over all rows.
    engine : str
        Which one found the point: of `ENGINES`, "few", "start", or "none" where time ran out before any began.
    iterations : int
        Of LIBSVM's loop plus Newton steps.
    reason : str
        "converged", "iteration_limit", "time_limit", "interrupted" or "numerical_error".
    coef : ndarray, shape (n,), or None
        Where `low_rank` found the point: w = Σ_j coef_j φ(x_j) stands in for Σ_i α_i y_i φ(x_i), which is near it; u is
        that of w, and the gap that of the pair.
    """

    alpha: FloatArray
    b: float
    u: FloatArray
    gap: float
    engine: str
    iterations: int
    reason: StopReason
    coef: FloatArray | None = None


def solve_kernel(
    kernel: Kernel,
    X: Matrix,
    y: FloatArray,
    C: float | FloatArray,
    *,
    gram: FloatArray | Operator | KernelBlocks | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
    start: FloatArray | None = None,
    engine: Engine = "auto",
    linear: LinearSolver | None = None,
) -> KernelSolution:
    """Solve (KDUAL.1): the dual of the C-SVM with a free intercept.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, with every parameter a number.
    X : ndarray or csr_array, shape (n, d)
    y : ndarray, shape (n,)
        −1 or +1; both occur.
    C : float or ndarray, shape (n,)
        Positive and finite.
    gram : ndarray, Operator or KernelBlocks, shape (n, n), optional
        The Gram matrix where it exists already, or where its values come from; wins over kernel and X.
    tol : float
        Relative gap (KDUAL.4).
    max_iter : int, optional
        Iterations of LIBSVM's loop in all runs together.
    time_limit : float, optional
        Seconds.
    verbose : bool
        Print a line a round.
    start : ndarray, shape (n,), optional
        α of a neighbouring problem.
    engine : str
        See the module.
    linear : LinearSolver, optional
        What `low_rank` needs; without it, that engine is left out.

    Returns
    -------
    KernelSolution

    Raises
    ------
    ParameterError
        An engine that is not known, or `low_rank` without a linear solver.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "low_rank" and linear is None:
        raise ParameterError("the engine low_rank needs a linear solver: linear=…, as the backend kernel_newton has")
    n, effort = int(X.shape[0]), Effort(time_limit, max_iter, verbose)
    upper = np.asarray(C, dtype=np.float64)
    if upper.shape != (n,) or common_value(upper) is None:
        upper = np.broadcast_to(upper, (n,))
        upper = repeated(float(upper[0]), n) if (upper == upper[0]).all() else upper
    problem = HingeDual(np.asarray(y, dtype=np.float64), upper)
    blocks = gram if isinstance(gram, KernelBlocks) else KernelBlocks(kernel, X, gram)
    ties = find_ties(X, problem.y) if blocks.fast and blocks.whole is None and n > TIES_FROM else None
    with np.errstate(all="ignore"):
        if ties is None:
            return _solve(blocks, problem, engine, start, tol, effort, linear)
        part = HingeDual(problem.y[ties.rows], ties.total(problem.upper))
        start = None if start is None else ties.total(start)
        merged = _solve(KernelBlocks(kernel, X[ties.rows], None), part, engine, start, tol, effort, linear)
    coef = merged.coef
    if coef is not None:
        coef = np.zeros(n)
        coef[ties.rows] = merged.coef
    return replace(merged, alpha=ties.share_out(merged.alpha, problem.upper), u=ties.spread(merged.u), coef=coef)


def _solve(
    blocks: KernelBlocks,
    problem: HingeDual,
    engine: Engine,
    start: FloatArray | None,
    tol: float,
    effort: Effort,
    linear: LinearSolver | None,
) -> KernelSolution:
    engines = Engines(blocks, problem, tol, effort, linear)
    engines.run(engine, None if start is None else problem.balanced(problem.y * start))
    best, steps = engines.best, effort.iterations + effort.newton_steps
    alpha = problem.y * best.beta + 0.0  # no −0.0
    reason = effort.reason(best.gap <= tol)
    return KernelSolution(alpha, best.b, best.u, best.gap, engines.used, steps, reason, engines.coef)


__all__ = ["ENGINES", "Engine", "KernelSolution", "solve_kernel"]
