"""Run the working-set loop over (KDUAL.1): compiled if available, else LIBSVM's.

Sequential minimal optimisation with second-order selection (Fan, Chen & Lin 2005), in β itself, so that every machine
is the same to it: any ℓ, any box, tubes, one sum or the two of (KDUAL.7), and any start. `core/c/loop.h` has its
equations. It looks at the clock and the interrupt key while it runs, and ends with the point that it has.

    (KLOOP.4)  where 0 is not feasible, the loop begins with the rows at their bounds whose residual ℓ − u of an even
               spread is the largest (and the smallest, where β < 0 has a sum of its own), until the sums are met
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.kernel.dual import Edges, KernelDual
from qpsvm.solvers.kernel.libsvm import LoopResult, is_libsvm_problem, run_libsvm_loop
from qpsvm.solvers.shared.budget import MAX_ITERATIONS
from qpsvm.space.kernels.functions import RBF, Linear, Polynomial

#: Rows whose even spread says roughly what that of all rows has for u.
LANDMARKS = 100

#: Bytes of kernel rows in single precision that may be kept: SVC's own default.
CACHE_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class KernelSamples:
    """Samples X (n, d) and their kernel, whose rows are evaluated in single precision as they are needed.

    They are kept from run to run, so that a loop goes on where it was stopped.
    """

    kernel: RBF | Polynomial | Linear
    X: FloatArray
    cache_bytes: int = CACHE_BYTES

    @cached
    def rows(self) -> Any:
        """The rows as `core/c/loop_values.h` takes them: from a (n, d), p, which is 0 for an RBF kernel, and c₀."""
        X, kernel, degree, offset = self.X, self.kernel, 1, 0.0
        if isinstance(kernel, RBF):
            X, degree = (X - np.add.reduce(X) / max(len(X), 1)) * math.sqrt(kernel.gamma), 0  # type: ignore[arg-type]
        elif isinstance(kernel, Polynomial):
            X, degree, offset = X * math.sqrt(kernel.gamma), int(kernel.degree), kernel.coef0  # type: ignore[arg-type]
        single = np.ascontiguousarray(X, dtype=np.float32)
        return core.compiled.loop_rows(single, *X.shape, degree, offset, self.cache_bytes)


def run_working_set_loop(
    problem: KernelDual,
    data: NDArray[Any] | KernelSamples,
    tol: float = 1e-3,
    *,
    start: FloatArray | None = None,
    u: FloatArray | None = None,
    most: int | None = None,
    clock: Clock | None = None,
    verbose: bool = False,
) -> LoopResult:
    """Run the loop until no pair of rows violates its condition by more than tol, or a limit is reached.

    Shapes: data (n, n) float32 or float64, or samples (n, d); start (n,) with its u (n,), if that is known.
    """
    clock = clock or Clock()
    if core.compiled is None:
        return _run_libsvm(problem, data, tol, most, clock, verbose)
    beta = _find_start(problem, data, start)
    known, g = False, np.array(problem.level)
    if u is not None and start is not None:
        moved = beta - start  # by the rounding of its sum
        rows = moved.nonzero()[0]
        if not len(rows) or not isinstance(data, KernelSamples):
            known, g = True, problem.level - u
        if len(rows) and not isinstance(data, KernelSamples):
            g -= moved[rows] @ data[rows]
    result = _run_compiled(problem, data, beta, g, known, tol, most, clock)
    assert result.u is not None
    if problem.mass is None or not problem.has_kink or problem.compute_edges(result.u).tube > 0.0:
        return result
    g = problem.level - result.u  # (KDUAL.8): without a tube
    again = _run_compiled(problem.with_tube(Edges(0.0)), data, result.beta.copy(), g, True, tol, most, clock)
    fits = float(np.abs(again.beta).sum()) + problem.fixed_mass <= problem.mass
    return replace(again, iterations=result.iterations + again.iterations) if fits else result


def evaluates_kernel(problem: KernelDual) -> bool:
    """Return whether the loop evaluates the kernel of a problem on demand."""
    return core.compiled is not None or is_libsvm_problem(problem)


def _find_start(problem: KernelDual, data: NDArray[Any] | KernelSamples, start: FloatArray | None) -> FloatArray:
    """Find a feasible starting point: the start, 0, or (KLOOP.4). (n,)."""
    if start is not None:
        return problem.make_feasible(start)
    zero = np.zeros(problem.n)
    if problem.is_sign_constrained and not problem.fixed_sum:
        return zero
    kinked = problem.has_kink and problem.mass is None and not (problem.fixed_sum or problem.total)
    if kinked and not ((problem.low > 0.0) | (problem.high < 0.0)).any():
        return zero
    if (problem.mass is None and problem.bound_share is None) or problem.has_kink:
        return problem.make_feasible(zero)
    beta = problem.build_uniform_start()
    if isinstance(data, KernelSamples):
        some = np.random.default_rng(0).permutation(problem.n)[:LANDMARKS]
        weights = beta[some] * (float(np.abs(beta).sum()) / float(np.abs(beta[some]).sum()))
        u = data.kernel(data.X, data.X[some]) @ weights
    else:
        u = data @ beta.astype(data.dtype, copy=False)
    return problem.fill_by_score(problem.level - u)


def _run_compiled(
    problem: KernelDual, data: NDArray[Any] | KernelSamples, beta: FloatArray, g: FloatArray, known: bool, tol: float,
    most: int | None, clock: Clock,
) -> LoopResult:  # fmt: skip
    """Run the compiled loop from a feasible β and its g, both of which it changes."""
    tube = None
    if problem.mass is None and problem.has_kink:
        tube = np.full(problem.n, problem.tube, dtype=np.float64)
    most = 0 if clock.find_stop_reason() else MAX_ITERATIONS if most is None else most
    recorded = (
        beta, g, np.ascontiguousarray(problem.low), np.ascontiguousarray(problem.high), tube,
        1 if problem.mass is None else 2, known, tol, most, clock.find_stop_reason,
    )  # fmt: skip
    try:
        if isinstance(data, KernelSamples):
            iterations, _, finished = core.compiled.loop_over_rows(data.rows, recorded)
        else:
            by_rows = data if data.flags.c_contiguous or data.strides[1] == data.itemsize else data.T  # K = Kᵀ
            iterations, _, finished = core.compiled.loop_over_matrix(by_rows, recorded)
    except ValueError as error:
        if np.isfinite(beta).all() and (tube is None or np.isfinite(tube).all()):
            raise
        raise FloatingPointError(str(error)) from error  # a start that is no number
    return LoopResult(problem.make_feasible(beta), iterations, bool(finished), problem.level - g)


def _run_libsvm(
    problem: KernelDual, data: NDArray[Any] | KernelSamples, tol: float, most: int | None, clock: Clock, verbose: bool
) -> LoopResult:
    if isinstance(data, KernelSamples):
        if isinstance(data.kernel, RBF) and is_libsvm_problem(problem):
            width = float(data.kernel.gamma)
            return run_libsvm_loop(problem, data.X, most, clock, gamma=width, tol=tol, verbose=verbose)
        data = data.kernel(data.X, data.X)
    return run_libsvm_loop(problem, data, most, clock, tol=tol, verbose=verbose)
