"""A result at an α that nobody solved for: the one that a user holds, or that a solver had on its way.

α is made feasible and certified. That gives w, b, ξ, the gap and each sample's share of it, as for any other result.
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.problems import Problem
from qpsvm.problems.reading import svm_result
from qpsvm.qp.solution import Solver, Status
from qpsvm.result import SVMResult

#: The relative gap up to which an α counts as optimal.
TOL = 1e-6


def result_at(problem: Problem, alpha: FloatArray) -> SVMResult:
    """The result at an α (n,), certified and not improved.

    Parameters
    ----------
    problem : Problem
    alpha : ndarray, shape (n,)
        Any finite numbers.

    Raises
    ------
    IndefiniteKernelError
        The Gram matrix is indefinite and psd="raise".
    """
    with np.errstate(all="ignore"):  # what overflows shows as an infinite gap
        certificate = problem.certify(alpha)
    status = Status.OPTIMAL if certificate.gap <= TOL else Status.INACCURATE
    return svm_result(
        problem.samples, problem.space, certificate, title=problem.title, status=status, message="", error=None,
        backend="you", form="dual", iterations=None, build_time=0.0, solve_time=0.0, solver=Solver("you", "", "held"),
        solver_gap=certificate.gap,
    )  # fmt: skip


def repair_of(result: SVMResult, alpha: FloatArray) -> float:
    """The largest change that made an α (n,) feasible, in units of C; of the largest α where nothing bounds it."""
    change = float(np.abs(result.alpha - alpha).max())
    bounds = np.where(np.isfinite(result.upper), result.upper, max(float(np.abs(alpha).max()), 0.0))
    size = float(bounds.max())
    return change / size if size > 0 else change
