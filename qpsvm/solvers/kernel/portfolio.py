"""Kernel C-SVMs: the one public entry to the engines, and the rule that picks among them.

| engine   | what it does                                                                      | when                |
|----------|-----------------------------------------------------------------------------------|---------------------|
| `gram`   | whole Gram matrix in double precision, LIBSVM's loop, Newton                      | n ≤ 2000            |
| `band`   | the loop on a band around the foretold margin, all else resting at 0 or C, Newton | nearly always       |
| `dense`  | Newton by conjugate gradients on the whole Gram matrix in single precision        | nearly all free     |
| `libsvm` | LIBSVM's loop evaluating the kernel itself, Newton on its support                 | bands beyond memory |

Equal rows are made one first (`kernel_ties`). The cost model that picks is in `kernel_large`. An engine that falls
short of the tolerance hands its best point to the next, at last to Newton steps with more patience, and what they
cannot do is said in `reason`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.errors import ParameterError
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.kernels.functions import Kernel
from qpsvm.operators import Operator
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.large import large_outcome, start_outcome
from qpsvm.solvers.kernel.small import small_outcome
from qpsvm.solvers.kernel.ties import Ties, find_ties
from qpsvm.solvers.kernel.working_set import Effort, Outcome, WorkingSet
from qpsvm.solvers.shared.stopping import StopReason

Engine = Literal["auto", "gram", "band", "dense", "libsvm"]
ENGINES = ("auto", "gram", "band", "dense", "libsvm")

#: Up to here the whole Gram matrix is made in double precision.
GRAM_ROWS = 2000
#: The last resort: rows up to this far inside their right side take part, so many at most, in so many Newton steps.
LAST_REACH, LAST_ROWS, PATIENT_STEPS = 0.3, 5000, 60


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """What a kernel engine returns.

    Attributes
    ----------
    alpha : ndarray, shape (n,)
        Feasible: 0 ≤ α ≤ C, yᵀα = 0 up to rounding.
    b : float
    u : ndarray, shape (n,)
        K(y∘α); in double precision where `exact`, elsewhere to about seven digits: those rows lie strictly on the right
        side of the margin and contribute nothing to the gap.
    exact : ndarray of bool, shape (n,)
    gap_estimate : float
        Relative gap (KDUAL.4) over all rows.
    engine : str
    iterations : int
        Of LIBSVM's loop plus Newton steps.
    reason : str
        "converged", "iteration_limit", "time_limit", "interrupted" or "numerical_error".
    gram : ndarray, shape (n, n), or None
        The Gram matrix in double precision, if it was made or given.
    """

    alpha: FloatArray
    b: float
    u: FloatArray
    exact: Any
    gap_estimate: float
    engine: str
    iterations: int
    reason: StopReason
    gram: FloatArray | None


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

    Returns
    -------
    KernelSolution

    Raises
    ------
    ParameterError
        An engine that is not known.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    n = int(X.shape[0])
    upper = np.broadcast_to(np.asarray(C, dtype=np.float64), (n,)).copy()
    problem = HingeDual(np.asarray(y, dtype=np.float64), upper)
    effort = Effort(time_limit, max_iter, verbose)
    blocks = gram if isinstance(gram, KernelBlocks) else KernelBlocks(kernel, X, gram)
    ties = find_ties(X, problem.y) if blocks.fast and blocks.whole is None and n > GRAM_ROWS else None
    with np.errstate(all="ignore"):
        if ties is not None:
            part = HingeDual(problem.y[ties.rows], ties.total(upper))
            beta = None if start is None else part.y * ties.total(start)
            merged = _solve(KernelBlocks(kernel, X[ties.rows], None), part, engine, beta, tol, effort)
            return _untied(merged, ties, upper)
        beta = None if start is None else problem.y * start
        return _solve(blocks, problem, engine, beta, tol, effort)


def _untied(merged: KernelSolution, ties: Ties, upper: FloatArray) -> KernelSolution:
    """The solution over all rows, from that over one row of each group: the gap is the same."""
    alpha = ties.share_out(merged.alpha, upper)
    return replace(merged, alpha=alpha, u=ties.spread(merged.u), exact=ties.spread(merged.exact), gram=None)


def _solve(
    blocks: KernelBlocks, problem: HingeDual, engine: Engine, start: FloatArray | None, tol: float, effort: Effort
) -> KernelSolution:
    """By the start if that does, by the engine that suits the size, and by the last resort."""
    best: Outcome | None = None
    used: str = engine
    if start is not None:
        start = problem.balanced(start)
        if problem.n <= GRAM_ROWS:
            best, used = start_outcome(blocks, problem, start, tol, effort), "start"
    if best is None or best.gap > tol:
        outcome, used = _run(blocks, problem, engine, start, tol, effort)
        best = outcome if best is None or outcome.gap < best.gap else best
    if best.gap > tol and not effort.late():
        best = min(best, _patient(blocks, problem, best, tol, effort), key=lambda o: o.gap)
    return KernelSolution(
        problem.y * best.beta + 0.0,
        best.b,
        best.u,
        best.exact,
        best.gap,
        used,
        effort.iterations + effort.newton_steps,
        _reason(best.gap <= tol, effort),
        blocks.whole,
    )


def _reason(converged: bool, effort: Effort) -> StopReason:
    if converged:
        return "converged"
    stopped = effort.clock.stopped()
    if stopped:
        return stopped
    if effort.shortened:
        return "time_limit"
    return "iteration_limit" if effort.exhausted() else "numerical_error"


def _run(
    blocks: KernelBlocks, problem: HingeDual, engine: Engine, start: FloatArray | None, tol: float, effort: Effort
) -> tuple[Outcome, str]:
    if engine in ("auto", "gram") and problem.n <= GRAM_ROWS:
        return small_outcome(blocks, problem, tol, effort), "gram"
    return large_outcome(blocks, problem, engine, start, tol, effort)


def _patient(blocks: KernelBlocks, problem: HingeDual, best: Outcome, tol: float, effort: Effort) -> Outcome:
    """The last resort: from the best point, as many Newton steps as it takes."""
    inside = (best.beta != 0) | (1.0 - problem.y * (best.u + best.b) > -LAST_REACH)
    if inside.sum() > LAST_ROWS or not effort.affords(int(inside.sum()), blocks.width):
        return best
    effort.report("patient", int(inside.sum()), best.gap)
    working_set = WorkingSet(blocks, problem, np.flatnonzero(inside), best.beta, effort)
    return working_set.run(tol, PATIENT_STEPS)


__all__ = ["ENGINES", "Engine", "KernelSolution", "solve_kernel"]
