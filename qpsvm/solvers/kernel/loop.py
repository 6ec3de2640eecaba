"""Run the working-set loop over (KDUAL.1): compiled if available, else LIBSVM's.

`run_working_set_loop` is the entry point. The compiled loop is sequential minimal optimisation with second-order
selection (Fan, Chen & Lin 2005) in β itself, so that it takes every machine: any ℓ, any box, tubes, one sum or the two
of (KDUAL.7), and any start. Its equations are in `core/c/loop.h`. It polls the clock and Ctrl-C, and returns its
current point when it is stopped.

    (KLOOP.4)  if 0 is not feasible, the loop starts with those rows at their bounds that have the largest residual
               ℓ − u at a uniform β (and the smallest, if β < 0 has a sum of its own), until the sums are met
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
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.libsvm import LoopResult, is_libsvm_problem, run_libsvm_loop
from qpsvm.solvers.shared.budget import MAX_ITERATIONS
from qpsvm.space.kernels.extended_blocks import ExtendedBlocks
from qpsvm.space.kernels.functions import RBF, Linear, Polynomial
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

#: Rows from which u of a uniform β is estimated.
LANDMARKS = 100

#: Bytes of kernel rows in single precision that may be cached: the default of scikit-learn's SVC.
CACHE_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class KernelSamples:
    """Samples X (n, d) and their kernel, whose rows are evaluated in single precision on demand.

    The rows stay cached from run to run, so that a stopped loop can resume at once.
    added (n,), corner: Those of (EXTEND.1); None without them.
    """

    kernel: RBF | Polynomial | Linear
    X: FloatArray
    cache_bytes: int = CACHE_BYTES
    added: FloatArray | None = None
    corner: float | None = None

    @classmethod
    def from_blocks(cls, blocks: GramBlocks, problem: KernelDual) -> KernelSamples | None:
        """Return the samples of a Gram matrix; None if the loop cannot evaluate its kernel."""
        if core.compiled is None:
            if is_libsvm_problem(problem):
                return cls._from_samples(blocks)
            return None
        if not isinstance(blocks, ExtendedBlocks):
            return cls._from_samples(blocks)
        samples = cls._from_samples(blocks.blocks)
        if samples is None:
            return None
        return replace(samples, added=blocks.added, corner=blocks.corner)

    @classmethod
    def _from_samples(cls, blocks: GramBlocks) -> KernelSamples | None:
        if not isinstance(blocks, KernelBlocks) or blocks.samples is None:
            return None
        assert isinstance(blocks.kernel, RBF)
        return cls(blocks.kernel, blocks.samples)

    @cached
    def rows(self) -> Any:
        """Row evaluator of `core/c/loop_values.h` for scaled samples, the degree p (0 for an RBF kernel), and c₀."""
        X = self.X
        kernel = self.kernel
        degree = 1
        offset = 0.0
        if isinstance(kernel, RBF):
            X, degree = (X - np.add.reduce(X) / max(len(X), 1)) * math.sqrt(kernel.gamma), 0  # type: ignore[arg-type]
        elif isinstance(kernel, Polynomial):
            X, degree, offset = X * math.sqrt(kernel.gamma), int(kernel.degree), kernel.coef0  # type: ignore[arg-type]
        single = np.ascontiguousarray(X, dtype=np.float32)
        added = b"" if self.added is None else np.ascontiguousarray(self.added)
        corner = -1.0 if self.corner is None else self.corner
        return core.compiled.loop_rows(single, *X.shape, degree, offset, self.cache_bytes, added, corner)


def run_working_set_loop(
    problem: KernelDual,
    data: NDArray[Any] | KernelSamples,
    tol: float = 1e-3,
    *,
    start: FloatArray | None = None,
    u: FloatArray | None = None,
    max_iter: int | None = None,
    clock: Clock | None = None,
) -> LoopResult:
    """Run the loop until no pair of rows violates its condition by more than tol, or a limit is reached.

    Shapes: data (n, n) float32 or float64, or samples (n, d); start (n,) and its u (n,), or None.
    """
    clock = clock or Clock()
    if core.compiled is None:
        return _run_libsvm(problem, data, tol, max_iter, clock)
    beta = _find_start(problem, data, start)
    has_g = False
    g = np.array(problem.level)
    if u is not None and start is not None:
        change = beta - start  # the rounding error of its sum
        rows = change.nonzero()[0]
        if not len(rows) or not isinstance(data, KernelSamples):
            has_g = True
            g = problem.level - u
        if len(rows) and not isinstance(data, KernelSamples):
            g -= change[rows] @ data[rows]
    result = _run_compiled(problem, data, beta, g, has_g, tol, max_iter, clock)
    assert result.u is not None
    if problem.mass is None or not problem.has_kink or problem.compute_multipliers(result.u).tube > 0.0:
        return result
    g = problem.level - result.u  # (KDUAL.8): solve without a tube
    without_tube = _run_compiled(problem.with_tube(0.0), data, result.beta.copy(), g, True, tol, max_iter, clock)
    fits = float(np.abs(without_tube.beta).sum()) + problem.fixed_mass <= problem.mass
    if fits:
        return replace(without_tube, iterations=result.iterations + without_tube.iterations)
    return result


def _find_start(problem: KernelDual, data: NDArray[Any] | KernelSamples, start: FloatArray | None) -> FloatArray:
    """Return a feasible starting point near the start, 0, or that of (KLOOP.4): (n,)."""
    if start is not None:
        return problem.make_feasible(start)
    zero = np.zeros(problem.n)
    if problem.is_sign_constrained and not problem.fixed_sum:
        return zero
    has_plain_kink = problem.has_kink and problem.mass is None and not (problem.fixed_sum or problem.total)
    if has_plain_kink and not ((problem.low > 0.0) | (problem.high < 0.0)).any():
        return zero
    if (problem.mass is None and problem.bound_share is None) or problem.has_kink:
        return problem.make_feasible(zero)
    beta = problem.build_uniform_start()
    if isinstance(data, KernelSamples):
        landmarks = np.random.default_rng(0).permutation(problem.n)[:LANDMARKS]
        weights = beta[landmarks] * (float(np.abs(beta).sum()) / float(np.abs(beta[landmarks]).sum()))
        u = data.kernel(data.X, data.X[landmarks]) @ weights
    else:
        u = data @ beta.astype(data.dtype, copy=False)
    return problem.fill_by_score(problem.level - u)


def _run_compiled(
    problem: KernelDual, data: NDArray[Any] | KernelSamples, beta: FloatArray, g: FloatArray, has_g: bool, tol: float,
    max_iter: int | None, clock: Clock,
) -> LoopResult:  # fmt: skip
    """Run the compiled loop from a feasible β, with g = ℓ − u if `has_g`; both arrays are overwritten."""
    tube = None
    if problem.mass is None and problem.has_kink:
        tube = np.full(problem.n, problem.tube, dtype=np.float64)
    if clock.find_stop_reason():
        max_iter = 0
    elif max_iter is None:
        max_iter = MAX_ITERATIONS
    arguments = (
        beta, g, np.ascontiguousarray(problem.low), np.ascontiguousarray(problem.high), tube,
        1 if problem.mass is None else 2, has_g, tol, max_iter, clock.find_stop_reason,
    )  # fmt: skip
    try:
        if isinstance(data, KernelSamples):
            iterations, _, finished = core.compiled.loop_over_rows(data.rows, arguments)
        else:
            row_major = data if data.strides[1] == data.itemsize else data.T  # K = Kᵀ
            iterations, _, finished = core.compiled.loop_over_matrix(row_major, arguments)
    except ValueError as error:
        if np.isfinite(beta).all() and (tube is None or np.isfinite(tube).all()):
            raise
        raise FloatingPointError(str(error)) from error  # the start was not finite
    return LoopResult(problem.make_feasible(beta), iterations, bool(finished), problem.level - g)


def _run_libsvm(
    problem: KernelDual,
    data: NDArray[Any] | KernelSamples,
    tol: float,
    max_iter: int | None,
    clock: Clock,
) -> LoopResult:
    """Run LIBSVM's loop on samples if it has the kernel and the machine, else on the Gram matrix."""
    if isinstance(data, KernelSamples):
        if isinstance(data.kernel, RBF) and is_libsvm_problem(problem):
            gamma = float(data.kernel.gamma)
            return run_libsvm_loop(problem, data.X, max_iter, clock, gamma=gamma, tol=tol)
        data = data.kernel(data.X, data.X)
    return run_libsvm_loop(problem, data, max_iter, clock, tol=tol)
