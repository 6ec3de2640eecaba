"""Kernel C-SVMs: the one public entry to the engines, and the rule that picks among them.

| engine        | what it does                                                      | when                        |
|---------------|-------------------------------------------------------------------|-----------------------------|
| `gram`        | whole Gram matrix in double precision, LIBSVM's loop, Newton      | n ≤ 450; nearly all support |
| `rough_gram`  | the same in single precision, Newton on the rows near the margin  | many support or d large     |
| `working_set` | LIBSVM's loop on the rows that a subsample points to, then Newton | n > 1200, few support       |
| `band`        | the loop on a band; rows far inside the margin rest at C, Newton  | few free, many at C         |
| `libsvm`      | LIBSVM's loop evaluating the kernel itself, Newton on its support | all else                    |

All end in the same place: `WorkingSet.run`, whose gap is over all rows. An engine that falls short of the tolerance
hands its best point to Newton steps with more patience, and what they cannot do is said in `reason`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qpsvm.arrays import FloatArray, Matrix
from qpsvm.errors import ParameterError
from qpsvm.kernels import Kernel
from qpsvm.operators import Operator
from qpsvm.solvers.kernel_band import band_outcome
from qpsvm.solvers.kernel_blocks import KernelBlocks
from qpsvm.solvers.kernel_decomposition import WHOLE_SHARE, growing_set
from qpsvm.solvers.kernel_dual import HingeDual
from qpsvm.solvers.kernel_probe import UNSEEN, Probe, probe, stratified_order
from qpsvm.solvers.kernel_working_set import LOOP_TOL, Effort, Outcome, WorkingSet, rough_margin

Engine = Literal["auto", "gram", "rough_gram", "working_set", "band", "libsvm"]
Reason = Literal["converged", "iteration_limit", "time_limit", "numerical_error"]
ENGINES = ("auto", "gram", "rough_gram", "working_set", "band", "libsvm")

#: Up to here a probe costs more than it can save.
TINY_ROWS = 450
#: Up to here a Gram matrix in double precision may be made; in single, stored in double, up to 512 MB.
GRAM_ROWS, LARGEST_GRAM = 2000, 8000
#: Rows of the probe: a share of n between limits.
PROBE_SHARE, LEAST_PROBE, LARGEST_PROBE = 1 / 10, 100, 1500
#: Share of the probe's rows that support from which nearly all rows will: single precision first would be wasted.
NEARLY_ALL = 0.93
#: Rows up to this far inside their right side take part in the last resort.
LAST_REACH = 0.3
#: Nanoseconds that LIBSVM's loop needs a kernel value that it evaluates itself: at all, and a feature. It needs
#: the rows of the support, n values each. Measured on one core (AVX2); only the ratio to the next line matters.
LOOP_NANOSECONDS = (32.0, 0.33)
#: The same for an entry of the whole Gram matrix, its share of the loop's reading included: at all, a row, a feature.
GRAM_NANOSECONDS = (4.0, 1 / 700, 0.02)
#: `band` pays where at most this share of the probe is free, and at least this many rows rest at C.
FEW_FREE, MANY_BOUND = 0.2, 2500
#: `working_set` pays from this size on, where at most this share supports; the set holds this much more than they.
SET_ROWS, SMALL_SHARE, SET_EXCESS = 1200, 0.35, 0.5
#: Newton steps of the last resort.
PATIENT_STEPS = 60


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
        "converged", "iteration_limit", "time_limit" or "numerical_error".
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
    reason: Reason
    gram: FloatArray | None


def solve_kernel(
    kernel: Kernel,
    X: Matrix,
    y: FloatArray,
    C: float | FloatArray,
    *,
    gram: FloatArray | Operator | None = None,
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
    gram : ndarray or Operator, shape (n, n), optional
        The Gram matrix where it exists already; wins over kernel and X.
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
    problem = HingeDual(np.asarray(y, dtype=np.float64), np.broadcast_to(np.asarray(C, dtype=np.float64), (n,)).copy())
    blocks = KernelBlocks(kernel, X, gram)
    effort = Effort(time_limit, max_iter, verbose)
    best: Outcome | None = None
    used: str = engine
    with np.errstate(all="ignore"):
        if start is not None:
            best, used = _from_start(blocks, problem, problem.balanced(problem.y * start), tol, effort), "start"
        if best is None or best.gap > tol:
            outcome, used = _run(engine, blocks, problem, tol, effort)
            best = outcome if best is None or outcome.gap < best.gap else best
        if best.gap > tol and not effort.late():
            best = min(best, _patient(blocks, problem, best, tol, effort), key=lambda o: o.gap)
    return KernelSolution(
        problem.y * best.beta + 0.0, best.b, best.u, best.exact, best.gap, used,
        effort.iterations + effort.newton_steps, _reason(best.gap <= tol, effort), blocks.whole,
    )


def _reason(converged: bool, effort: Effort) -> Reason:
    if converged:
        return "converged"
    if effort.late():
        return "time_limit"
    return "iteration_limit" if effort.exhausted() else "numerical_error"


def _run(
    engine: Engine, blocks: KernelBlocks, problem: HingeDual, tol: float, effort: Effort
) -> tuple[Outcome, str]:
    """Pick where asked to, and run."""
    n, look, zero = problem.n, None, np.zeros(problem.n)
    order = stratified_order(problem.y) if n > TINY_ROWS else np.arange(n)
    if n > TINY_ROWS and engine not in ("gram", "rough_gram", "libsvm"):
        size = int(np.clip(PROBE_SHARE * n, LEAST_PROBE, LARGEST_PROBE))
        look = probe(blocks, problem, order[:size], order[size : size + UNSEEN], effort)
    if engine == "auto":
        engine = choose(blocks, problem, look)
    if engine == "band" and look is not None:
        size = len(look.rows)
        second = probe(blocks, problem, order[size : 2 * size], order[2 * size : 2 * size + UNSEEN], effort)
        if second is not None:
            outcome = band_outcome(blocks, problem, look, second, tol, effort)
            if outcome is not None:
                return outcome, "band"
        engine = "working_set" if _set_fits(n, look) else "libsvm"
    if engine == "working_set" and look is not None:
        beta, u = growing_set(blocks, problem, look, effort)
        return _from_start(blocks, problem, beta, tol, effort, u), engine
    if engine == "libsvm" and blocks.samples is not None:
        beta = effort.loop(problem, blocks.samples, LOOP_TOL, float(blocks.kernel.gamma))  # type: ignore[attr-defined]
        return _from_start(blocks, problem, beta, tol, effort), engine
    if engine == "rough_gram" and blocks.single:
        K = blocks.rough_symmetric(None)
        beta = effort.loop(problem, K, LOOP_TOL)
        return _from_start(blocks, problem, beta, tol, effort, K @ beta), engine
    return WorkingSet(blocks, problem, np.arange(n), zero, effort).run(tol, True), "gram"


def choose(blocks: KernelBlocks, problem: HingeDual, look: Probe | None) -> Engine:
    """The rule: by size, by what the probe saw, and by the cost model of `GRAM_NANOSECONDS`."""
    n = problem.n
    if blocks.whole is not None or look is None or not blocks.fast:
        return "gram"
    nearly_all = look.support >= NEARLY_ALL
    if nearly_all and n <= GRAM_ROWS:
        return "gram"
    share, d = look.supporting, blocks.width
    few_free = look.free <= FEW_FREE and (look.support - look.free) * n >= MANY_BOUND
    if blocks.single and n > GRAM_ROWS and few_free:
        return "band"
    if blocks.single and n > SET_ROWS and share <= SMALL_SHARE and _set_fits(n, look):
        return "working_set"
    loop_entry = share * (LOOP_NANOSECONDS[0] + LOOP_NANOSECONDS[1] * d)
    gram_entry = GRAM_NANOSECONDS[0] + GRAM_NANOSECONDS[1] * n + GRAM_NANOSECONDS[2] * d
    if blocks.single and n <= LARGEST_GRAM and gram_entry < loop_entry:
        return "rough_gram"
    return "libsvm"


def _set_fits(n: int, look: Probe) -> bool:
    """Whether the working set that the probe foretells can have a Gram matrix."""
    return look.supporting * (1.0 + SET_EXCESS) * n <= LARGEST_GRAM


def _from_start(
    blocks: KernelBlocks, problem: HingeDual, beta: FloatArray, tol: float, effort: Effort, u: FloatArray | None = None
) -> Outcome:
    """Newton steps on the support of a feasible β and the rows near the margin, watched from outside."""
    if u is None:
        support = np.flatnonzero(beta)
        u = blocks.product(support, beta[support], np.arange(problem.n), rough=True)
    b = problem.intercept(u)
    inside = (beta != 0) | (1.0 - problem.y * (u + b) > -rough_margin(beta))
    rows = np.flatnonzero(inside) if inside.mean() < WHOLE_SHARE else np.arange(problem.n)
    return WorkingSet(blocks, problem, rows, beta, effort, u).run(tol, False)


def _patient(blocks: KernelBlocks, problem: HingeDual, best: Outcome, tol: float, effort: Effort) -> Outcome:
    """The last resort: from the best point, as many Newton steps as it takes."""
    inside = (best.beta != 0) | (1.0 - problem.y * (best.u + best.b) > -LAST_REACH)
    if inside.sum() > LARGEST_GRAM:
        return best
    effort.report("patient", int(inside.sum()), best.gap)
    working_set = WorkingSet(blocks, problem, np.flatnonzero(inside), best.beta, effort)
    return working_set.run(tol, False, PATIENT_STEPS)


__all__ = ["ENGINES", "Engine", "KernelSolution", "choose", "solve_kernel"]
