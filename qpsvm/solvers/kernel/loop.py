"""A short run of LIBSVM's loop: what Newton steps start from, and no more.

The loop finds which rows support faster than anything else, and is slow to find the last digits where C is large: where
it needs more iterations than this, Newton steps are cheaper.
"""

from __future__ import annotations

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.working_set import Effort

#: Iterations of a short run, a row and besides.
ITERATIONS_PER_ROW, ITERATIONS = 2, 50


def short_loop(K: FloatArray, problem: HingeDual, tolerance: float, effort: Effort) -> FloatArray:
    """Run the loop on a Gram matrix with few iterations, which count as the effort's.

    Parameters
    ----------
    K : ndarray, shape (n, n)
    problem : HingeDual
    tolerance : float
        In units of the margin.
    effort : Effort

    Returns
    -------
    ndarray, shape (n,)
        β, feasible.
    """
    most = ITERATIONS_PER_ROW * problem.n + ITERATIONS
    if effort.loop_iterations is not None:
        most = min(most, effort.loop_iterations - effort.iterations)
    short = Effort(None if effort.seconds is None else max(effort.clock.left, 0.0), most, effort.verbose)
    beta = short.loop(problem, K, tolerance)
    effort.iterations += short.iterations
    return beta


__all__ = ["short_loop"]
