"""Many parameters of one machine: a solve for each value of C, λ or ν, over one Gram matrix.

Each solve begins at the solution before it. What neighbours share is the split of the samples: those at their bound
start at the new bound, and the others where they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.checks import as_real_vector
from qpsvm.arrays.types import FloatArray
from qpsvm.errors import ParameterError, UnsupportedError
from qpsvm.problems import CSVM, NuSVM, PrimalHinge, Problem
from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult
from qpsvm.samples import original_labels
from qpsvm.solve import solve


def solve_path(problem: Problem, values: ArrayLike, **options: Any) -> list[SVMResult]:
    """Solve a problem for several C (λ for `PrimalHinge`, ν for `NuSVM`), each from the solution before it.

    Kernel values that are kept belong to `problem`: all solves share them, and they stay with it afterwards.

    Parameters
    ----------
    problem : CSVM, PrimalHinge or NuSVM
        Its own C is not used. Where C differs between samples, each value is the mean of C, and the ratios stay.
    values : array_like, shape (k,)
        Solved in this order.
    **options
        For `qpsvm.solve`. A `start` among them begins every solve.

    Returns
    -------
    list of SVMResult
        One for each value.

    Raises
    ------
    UnsupportedError
        A hard margin, which has nothing to vary.
    ParameterError
        A value that is not positive and finite, or no vector of them.
    KeyboardInterrupt
        Ctrl-C was pressed. It ends the path even where `solve` would return the best point so far.

    See Also
    --------
    qpsvm.plotting.path : The picture of it.

    Examples
    --------
    The more slack costs, the longer w, and the narrower the margin:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> results = qpsvm.solve_path(problem, [0.05, 0.1, 1.0])
    >>> print([round(float(result.w[0]), 6) for result in results])
    [0.3, 0.5, 1.0]
    """
    _, make = family(problem)
    results: list[SVMResult] = []
    for value in path_values(values):
        start = {"start": results[-1]} if results and "start" not in options else {}
        step = make(float(value))
        step.__dict__["space"] = problem.space  # kernel, samples and weights are the same; only the dual differs
        results.append(solve(step, **{**start, **options}))
        if results[-1].status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # it was meant for the path, not for one of its points
    return results


def family(problem: Problem) -> tuple[str, Callable[[float], Problem]]:
    """The letter of the parameter that varies, and a function from its value to the problem.

    Raises
    ------
    UnsupportedError
        A hard margin, or another machine that has none.
    """
    if not isinstance(problem, CSVM | PrimalHinge | NuSVM):
        raise UnsupportedError(
            f"a path varies the C of a CSVM, the lam of a PrimalHinge or the nu of a NuSVM; {type(problem).__name__} "
            "has none of them"
        )
    X, kernel, psd = problem.X, problem.kernel, problem.psd
    y, s = original_labels(problem.samples), problem.sample_weight
    if isinstance(problem, CSVM):
        ratios = problem.C / float(problem.C.mean())
        return "C", lambda C: CSVM(X, y, C * ratios, kernel, s, psd)
    if isinstance(problem, PrimalHinge):
        intercept = problem.intercept
        return "λ", lambda lam: PrimalHinge(X, y, lam, kernel, intercept, s, psd)
    return "ν", lambda nu: NuSVM(X, y, nu, kernel, s, psd)


def path_values(values: ArrayLike) -> FloatArray:
    """The values of a path, checked: (k,).

    Raises
    ------
    ParameterError, DataTypeError
        No vector of positive, finite numbers.
    """
    at = as_real_vector(values, "values")
    if at.ndim != 1:
        raise ParameterError(f"values must be a vector, one number for each point of the path, got shape {at.shape}")
    if not len(at) or not (np.isfinite(at) & (at > 0)).all():
        raise ParameterError("values must be positive and finite, at least one")
    return at
