"""Measure how the machine changes without each sample, from the exact leave-one-out machines (`influence`).

    (INFLUENCE.1)  ‖w − w₋ᵢ‖ = √(dᵀKd) with d = β − β₋ᵢ, of f = Σ β_j K(x_j, ·) + b;  of a linear machine from w itself
    (INFLUENCE.2)  the largest and the mean |f(x_j) − f₋ᵢ(x_j)| over all samples j, with the intercept
    (INFLUENCE.3)  ‖w − w₋ᵢ‖² ≤ ψ_i(f₋ᵢ) − ψ_i(f), the loss of (DUAL.3) of sample i under the machine without it, minus
                   that under the full machine, if the other losses do not depend on i.  All are 0 if α_i = 0

(INFLUENCE.3) adds two bounds of strong convexity: P(w₋ᵢ) ≥ P(w) + ½‖w − w₋ᵢ‖², and the same for P₋ᵢ = P − ψ_i with w
and w₋ᵢ exchanged.

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
from qpsvm.many.exact.functions import LeaveOneOutFunctions
from qpsvm.many.exact.leave_one_out import LeaveOneOut, leave_one_out
from qpsvm.many.exact.rows import compute_kernel_matrix
from qpsvm.result.svm_result import SVMResult


@dataclass(frozen=True, eq=False)
class Influence:
    """Change of the machine without each sample, or without its group.

    Attributes
    ----------
    distance : ndarray, shape (n,)
        ‖w − w₋ᵢ‖ in the feature space of the kernel; 0 if the machine is the same, NaN if there is no machine.
    largest : ndarray, shape (n,)
        The largest |f(x_j) − f₋ᵢ(x_j)| over all samples x_j.
    mean : ndarray, shape (n,)
        The mean of |f(x_j) − f₋ᵢ(x_j)| over all samples x_j.
    norm : float
        ‖w‖, for comparison with the distances.
    gap : ndarray, shape (n,)
        The certified relative gap of each machine without a sample.
    left_out : LeaveOneOut
        These machines: their decisions, functions, status and message.

    See Also
    --------
    influence : Computes it.

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
        """Samples whose removal changes f, the largest mean change first."""
        influential = np.flatnonzero(self.largest > 0.0)
        return np.asarray(influential[np.argsort(-self.mean[influential], kind="stable")])

    def __repr__(self) -> str:
        largest = "".join(f", most of row {row}" for row in self.order[:1])
        return f"<Influence: {len(self.order)} of {len(self.distance)} samples matter{largest}, {self.left_out.status}>"


def influence(
    problem: Problem,
    result: SVMResult | None = None,
    groups: ArrayLike | None = None,
    *,
    tol: float = 1e-9,
    time_limit: float | None = None,
    verbose: bool = False,
) -> Influence:
    """Measure the change of the machine without each sample, by the exact machines without them.

    Parameters
    ----------
    problem : Problem
        With two classes, a regression, or a one-class SVM.
    result : SVMResult, optional
        The result of this problem; computed if omitted.
    groups : array_like, shape (n,), optional
        Labels: samples with the same label are left out together, and have the influence of their group.
    tol : float, default=1e-9
        Relative gap up to which a machine counts as optimal.
    time_limit : float, optional
        Seconds; samples not reached in time have NaN.
    verbose : bool, default=False
        Show a progress bar if tqdm is installed, else a line for every tenth of the work.

    Returns
    -------
    Influence
        Distances of w and of f, one per sample.

    Raises
    ------
    ParameterError, ParameterTypeError, DataError
        Not a problem; a result of another problem; groups of wrong length.
    UnsupportedError
        As for `leave_one_out`, and for an SVDD.
    TooLargeError
        The kernel matrix does not fit into memory; checked before it is computed.

    See Also
    --------
    leave_one_out : The predictions for each sample by the machine without it.
    qpsvm.plotting.influence : Plots the result.

    Notes
    -----
    The influence of a sample depends on the others: of two equal samples on the margin one may replace the other, so
    both may have none. `groups` leaves them out together.

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
    if isinstance(problem, Problem) and problem._diagonal_weight:
        raise UnsupportedError("f of an SVDD is more than a sum of kernel values: take a OneClass of these samples")
    left_out = leave_one_out(problem, result, groups, tol=tol, time_limit=time_limit, verbose=verbose)
    functions = left_out.functions
    distances, norm = _compute_distances(problem, functions)
    values = functions.evaluate_distinct(problem.X)  # (n, k), the full machine first
    differences = np.abs(values - values[:, :1])  # (INFLUENCE.2)
    changes = functions.select_values(np.array([distances, differences.max(axis=0), differences.mean(axis=0)]))
    distance, largest, mean = np.where(np.isnan(left_out.gap), np.nan, changes)  # (n,) each
    return Influence(distance, largest, mean, norm, left_out.gap, left_out)


def _compute_distances(problem: Problem, functions: LeaveOneOutFunctions) -> tuple[FloatArray, float]:
    """Return (INFLUENCE.1) of each distinct function, (k,), and ‖w‖ of the first, the full machine."""
    coef = np.array(functions.w_or_coef)
    differences = coef - coef[0]
    differences[0] = coef[0]  # for ‖w‖
    if functions.has_weights:
        distances = np.linalg.norm(differences, axis=1)
    else:
        products = compute_kernel_matrix(problem) @ differences.T
        distances = np.sqrt(np.maximum(np.einsum("kj,jk->k", differences, products), 0.0))
    norm = float(distances[0])
    distances[0] = 0.0
    return distances, norm


__all__ = ["Influence", "influence"]
