"""The hard margin as a C-SVM with a price that no α reaches: an exact penalty, raised step by step.

Where no α is at C, the solution of the C-SVM is that of the hard margin, as its own optimality conditions say. Where a
rising C frees hardly any of those at C, the classes are not separated, or hardly: that is not decided here, and the
last point is returned for others to go on from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.kernels.functions import Kernel
from qpsvm.solvers.kernel.portfolio import KernelSolution, solve_kernel
from qpsvm.solvers.shared.stopping import Clock

#: C, in units of one over the mean of K_ii. Beyond the last, α loses the digits that its steps need.
PRICES = (10.0, 100.0, 1e4, 1e6)
#: The gap of the C-SVM that is asked for, as a share of the hard margin's: there slack costs more than C.
FINER = 0.01
#: Share of the α at C that may still be there after a step.
STILL_BOUND = 0.75


def solve_kernel_hard(
    kernel: Kernel,
    X: Matrix,
    y: FloatArray,
    curvature: float,
    *,
    tol: float,
    time_limit: float | None,
    max_iter: int | None,
    start: FloatArray | None,
    **settings: Any,
) -> KernelSolution:
    """Solve the dual of the hard margin, or find that no α bounded by the last price does.

    Parameters
    ----------
    kernel, X, y
        As for `solve_kernel`.
    curvature : float
        The mean of K_ii, positive.
    tol : float
        Relative gap.
    time_limit : float or None
        Seconds.
    max_iter : int or None
        Of LIBSVM's loop in all steps together.
    start : ndarray, shape (n,), or None
        An α; where it is given, the last price comes first.
    **settings
        As for `solve_kernel`.

    Returns
    -------
    KernelSolution
        With the reason "numerical_error" where α is at the last price.
    """
    clock, iterations, bound = Clock(time_limit), 0, len(y)
    for price in PRICES if start is None else PRICES[-1:]:
        C = price / curvature
        left = None if max_iter is None else max(max_iter - iterations, 1)
        seconds = None if time_limit is None else max(clock.left, 0.0)
        answer = solve_kernel(
            kernel, X, y, C, start=start, tol=FINER * tol, time_limit=seconds, max_iter=left, **settings
        )
        iterations += answer.iterations
        answer, start, before = replace(answer, iterations=iterations), answer.alpha, bound
        bound = int(np.count_nonzero(answer.alpha >= C))
        limited = answer.reason not in ("converged", "numerical_error") or iterations >= (max_iter or np.inf)
        stuck = answer.gap > tol or (price > PRICES[0] and bound > STILL_BOUND * before)
        if not bound or limited or stuck:
            break
    return replace(answer, reason="numerical_error") if bound and answer.reason == "converged" else answer
