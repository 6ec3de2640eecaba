"""Measure how far each sample moves the machine, from the exact leave-one-out machines (`influence`).

    (INFLUENCE.1)  ‖w − w₋ᵢ‖ = √(dᵀKd) with d = β − β₋ᵢ, of f = Σ β_j K(x_j, ·) + b;  of a linear machine from w itself
    (INFLUENCE.2)  max_j |f(x_j) − f₋ᵢ(x_j)|, and its mean, over all samples: with the intercept
    (INFLUENCE.3)  ‖w − w₋ᵢ‖² ≤ ψ_i(f₋ᵢ) − ψ_i(f), the loss of (DUAL.3) that the sample has without itself, less the one
                   that it has; where the losses of the others do not depend on i.  α_i = 0 makes all of them 0

The last one is strong convexity, twice: P(w₋ᵢ) ≥ P(w) + ½‖w − w₋ᵢ‖², and the same of P₋ᵢ = P − ψ_i from w₋ᵢ to w.

Sources: Cook, *Detection of influential observation in linear regression*, Technometrics 19 (1977); Bousquet &
Elisseeff, *Stability and generalization*, JMLR 2 (2002), for the argument of (INFLUENCE.3).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.machines import Problem
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.many.exact.functions import Functions
from qpsvm.many.exact.leave_one_out import LeaveOneOut, leave_one_out
from qpsvm.many.exact.rows import kernel_matrix
from qpsvm.result.svm_result import SVMResult


@dataclass(frozen=True, eq=False)
class Influence:
    """How far the machine moves without each sample, or without its group.

    Attributes
    ----------
    distance : ndarray, shape (n,)
        ‖w − w₋ᵢ‖ in the space of the kernel; 0 where the machine is the same, NaN where there is none.
    largest : ndarray, shape (n,)
        The largest |f(x_j) − f₋ᵢ(x_j)| over all samples x_j.
    mean : ndarray, shape (n,)
        Its mean over all samples.
    norm : float
        ‖w‖, which distances may be compared with.
    gap : ndarray, shape (n,)
        The certified relative gap of each machine without a sample.
    left_out : LeaveOneOut
        These machines: their decisions, functions, status, and what there is to know.

    See Also
    --------
    influence : What makes one.

    Examples
    --------
    >>> import qpsvm
    >>> found = qpsvm.influence(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5], [1.5]], [0, 0, 1, 1, 1]))
    >>> print(found.distance.round(3), found.largest.round(3), found.order)
    [0.167 0.667 0.167 0.    0.333] [0.875 3.    0.875 0.    1.   ] [1 0 4 2]
    """

    distance: FloatArray
    largest: FloatArray
    mean: FloatArray
    norm: float
    gap: FloatArray
    left_out: LeaveOneOut = field(repr=False)

    @property
    def order(self) -> IntArray:
        """The samples that matter, those whose absence moves f most first: all others could be left out, one by one."""
        moved = np.flatnonzero(self.largest > 0.0)
        return np.asarray(moved[np.argsort(-self.mean[moved], kind="stable")])

    def __repr__(self) -> str:
        first = "".join(f", most of row {row}" for row in self.order[:1])
        return f"<Influence: {len(self.order)} of {len(self.distance)} samples matter{first}, {self.left_out.status}>"


def influence(
    problem: Problem,
    result: SVMResult | None = None,
    groups: ArrayLike | None = None,
    *,
    tol: float = 1e-9,
    time_limit: float | None = None,
    verbose: bool = False,
) -> Influence:
    """Measure how far the machine moves without each sample, by the exact machines without them.

    Parameters
    ----------
    problem : Problem
        Of two classes, a regression, or a one-class SVM.
    result : SVMResult, optional
        Of this problem, to begin from; it is solved where absent.
    groups : array_like, shape (n,), optional
        Labels: samples with the same one are left out together, and have the influence of their group.
    tol : float, default=1e-9
        Relative gap up to which a machine counts as optimal.
    time_limit : float, optional
        Seconds; samples that were not reached have NaN.
    verbose : bool, default=False
        A progress bar, where tqdm is installed; else a line at every tenth of the way.

    Returns
    -------
    Influence
        Distances of w and of f, one for each sample.

    Raises
    ------
    ParameterError, ParameterTypeError, DataError
        No problem; a result of another one; groups of another length.
    UnsupportedError
        What `leave_one_out` refuses, and an SVDD.
    TooLargeError
        The kernel matrix does not fit: said before it is made.

    See Also
    --------
    leave_one_out : What is predicted of each sample without it.
    qpsvm.plotting.influence : A picture.

    Notes
    -----
    Whether a sample matters is no property of it alone: of two equal samples on the margin one may make up for the
    other. `groups` leaves them out together.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5], [1.5]], [0, 0, 1, 1, 1])
    >>> result = qpsvm.solve(problem)
    >>> found = qpsvm.influence(problem, result)
    >>> moved = result.w - qpsvm.solve(qpsvm.CSVM(problem.X[:4], [0, 0, 1, 1])).w
    >>> bool(np.isclose(found.distance[4], np.linalg.norm(moved)))
    True
    """
    if isinstance(problem, BaseProblem) and problem._diagonal_weight:
        raise UnsupportedError("f of an SVDD is more than a sum of kernel values: take a OneClass of these samples")
    found = leave_one_out(problem, result, groups, tol=tol, time_limit=time_limit, verbose=verbose)
    functions = found.functions
    distance, norm = _distances(problem, functions)
    values = functions.evaluate_distinct(problem.X)
    apart = np.abs(values - values[:, :1])  # (INFLUENCE.2)
    w, most, mean = (
        _of_samples(functions, each, found.gap) for each in (distance, apart.max(axis=0), apart.mean(axis=0))
    )
    return Influence(w, most, mean, norm, found.gap, found)


def _distances(problem: Problem, functions: Functions) -> tuple[FloatArray, float]:
    """(INFLUENCE.1) of each function, and ‖w‖ of the first."""
    coef = np.array(functions.coef)
    apart = coef - coef[0]
    apart[0] = coef[0]
    if functions.in_space:
        sizes = np.linalg.norm(apart, axis=1)
    else:
        sizes = np.sqrt(np.maximum(np.einsum("kj,jk->k", apart, kernel_matrix(problem) @ apart.T), 0.0))
    norm, sizes[0] = float(sizes[0]), 0.0
    return sizes, norm


def _of_samples(functions: Functions, each: FloatArray, gap: FloatArray) -> FloatArray:
    """Return the value of each sample from that of its function; NaN without one, or if not reached."""
    return np.where((functions.machine < 0) | np.isnan(gap), np.nan, each[functions.machine])


__all__ = ["Influence", "influence"]
