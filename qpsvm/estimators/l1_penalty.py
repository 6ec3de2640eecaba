"""Solve linear SVMs with an L1 penalty by scikit-learn's LIBLINEAR, and certify the result (`solve_l1`).

    (L1.1)  minimise P = ‖w‖₁ + |v| + Σ C_i max(0, 1 − y_i f(x_i))²,  f(x) = ⟨w, x⟩ + s v;  without an intercept s = 0
    (L1.2)  maximise D = Σ (α_i − α_i²/(4C_i))  subject to  |Σ α_i y_i x_ij| ≤ 1 for each j,  |s Σ α_i y_i| ≤ 1,  α ≥ 0
    (L1.3)  β_i = 2C_i max(0, 1 − y_i f(x_i)) and α = β/τ, where τ is at least 1 and the largest of the sums of β in
            (L1.2), so that α is feasible whatever w is; of these τ the one with the largest D = Σβ/τ − Σβ²/(4Cτ²)
    (L1.4)  |fl(f(x_i)) − f(x_i)| ≤ γ_{d+2} (Σ_j |w_j x_ij| + |s v|);  fl(Σ_i β_i y_i x_ij) likewise, with γ_{n+1}

(L1.2) is the Fenchel dual of (L1.1), so that P − D bounds the distance of P from its optimum. (L1.4) is the usual bound
of a sum in any order, Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1; it makes the gap
that is returned an upper bound for the floating-point values of w and v.

Source of the problem and its solver: Fan et al., *LIBLINEAR: a library for large linear classification*, JMLR 9 (2008);
Yuan, Chang, Hsieh & Lin, *A comparison of optimization methods and software for large-scale L1-regularized linear
classification*, JMLR 11 (2010).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.program.status import Status

#: Tolerances of LIBLINEAR, tried in turn until the gap is small enough; its own default is the first. Its gap is about
#: ten times as large (measured on three tables).
SOLVER_TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
#: Iterations of LIBLINEAR if there is no limit.
MAX_ITERATIONS = 100_000


@dataclass(frozen=True)
class L1Solution:
    """Weights of a linear machine with an L1 penalty.

    w (d,), b: f(x) = ⟨w, x⟩ + b.
    gap: A bound on the relative duality gap, rounding included.
    status: OPTIMAL if the gap is at most the tolerance.
    iterations: Iterations of the last run of LIBLINEAR.
    """

    w: FloatArray
    b: float
    gap: float
    status: Status
    iterations: int


def l1_min_c(
    X: Any, y: Any, *, loss: str = "squared_hinge", fit_intercept: bool = True, intercept_scaling: float = 1.0
) -> float:
    """Return the largest C for which all weights of ``LinearSVC(penalty="l1")`` are 0: `sklearn.svm.l1_min_c`.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
    y : array_like, shape (n,)
    loss : {"squared_hinge", "log"}, default="squared_hinge"
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        The constant of the feature whose weight gives the intercept.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from qpsvm.estimators import LinearSVC, l1_min_c
    >>> X, y = np.array([[-1.0, 2.0], [0.5, -1.0], [2.0, 0.1]]), [0, 0, 1]
    >>> C = l1_min_c(X, y)
    >>> [bool(LinearSVC(penalty="l1", C=share * C).fit(X, y).coef_.any()) for share in (0.9, 1.1)]
    [False, True]
    """
    from sklearn.svm._bounds import l1_min_c as sklearn_l1_min_c

    options: Any = {"loss": loss, "fit_intercept": fit_intercept, "intercept_scaling": intercept_scaling}
    return float(sklearn_l1_min_c(X, y, **options))


def solve_l1(
    X: Matrix,
    y: FloatArray,
    C: FloatArray,
    intercept_scaling: float,
    tol: float,
    *,
    max_iter: int | None = None,
    random_state: Any = 0,
    deadline: float | None = None,
) -> L1Solution:
    """Solve (L1.1) by LIBLINEAR, with decreasing tolerances until the gap is certified.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, d)
    y : ndarray, shape (n,)
        Labels −1 and 1.
    C : ndarray, shape (n,)
        The penalty of each sample; samples of penalty 0 are ignored.
    intercept_scaling : float
        s; 0 for no intercept.
    tol : float
        The relative gap to reach.
    max_iter : int, optional
        Largest number of iterations of LIBLINEAR.
    random_state
        As in scikit-learn: determines the order in which LIBLINEAR visits features.
    deadline : float, optional
        Time on the monotonic clock after which no further run begins.

    Returns
    -------
    L1Solution
        The solution with the smallest gap.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm._classes import LinearSVC  # not sklearn.svm, whose names `patch_sklearn` may have taken

    s = intercept_scaling
    active = np.flatnonzero(C > 0.0)
    best: L1Solution | None = None
    for solver_tol in SOLVER_TOLERANCES:
        machine = LinearSVC(
            penalty="l1", dual=False, C=1.0, tol=solver_tol, fit_intercept=s > 0.0, intercept_scaling=s or 1.0,
            max_iter=MAX_ITERATIONS if max_iter is None else max_iter, random_state=random_state,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate decides
            machine.fit(X[active], y[active], sample_weight=C[active])
        w = machine.coef_[0]
        b = float(machine.intercept_[0]) if s else 0.0
        gap = bound_l1_gap(X, y, C, w, b, s)
        if best is None or gap < best.gap:
            status = Status.OPTIMAL if gap <= tol else Status.INACCURATE
            best = L1Solution(w, b, gap, status, int(machine.n_iter_))
        if best.status is Status.OPTIMAL or (deadline is not None and monotonic() >= deadline):
            break
    assert best is not None
    return best


def bound_l1_gap(X: Matrix, y: FloatArray, C: FloatArray, w: FloatArray, b: float, s: float) -> float:
    """Bound the relative gap of (L1.1) at f(x) = ⟨w, x⟩ + b, b = s v, from above; infinite if there is no bound.

    Rounding is included: (L1.4), and relative errors of at most γ of twice the number of operations in each sum.
    Shapes: X (n, d), y (n,), C (n,), w (d,).
    """
    n, d = X.shape
    active = C > 0.0
    smallest = float(C[active].min())
    largest = float(C.max())
    with np.errstate(over="ignore", invalid="ignore"):
        f = X @ w + b
        magnitude = abs(X) @ np.abs(w) + abs(b)
        radius = gamma(2 * d + 8) * magnitude + 4.0 * UNIT * (1.0 + np.abs(f)) + (d + 2) * UNDERFLOW  # (L1.4)
        margin_slack = 1.0 - y * f
        slack = np.maximum(0.0, margin_slack)
        most_slack = np.maximum(0.0, margin_slack + radius)

        loss = float((C * most_slack**2).sum()) + largest * n * UNDERFLOW
        primal = (float(np.abs(w).sum()) + (abs(b) / s if s else 0.0) + loss) * (1.0 + gamma(2 * (n + d) + 20))

        beta = 2.0 * C * slack  # whatever its rounding, α = β/τ is feasible
        signed = beta * y
        sums = np.append(np.abs(X.T @ signed), s * abs(float(signed.sum())))
        radii = gamma(2 * n + 8) * np.append(abs(X).T @ beta, s * float(beta.sum())) + (n + 2) * UNDERFLOW
        largest_sum = float((sums + radii).max()) * (1.0 + 4.0 * UNIT)
        linear = float(beta.sum()) * (1.0 - gamma(2 * n + 4))
        square = float((beta[active] ** 2 / (4.0 * C[active])).sum()) + n * UNDERFLOW * (1.0 + 1.0 / smallest)
        square *= 1.0 + gamma(2 * n + 10)
        tau = max(1.0, largest_sum, 2.0 * square / linear if linear > 0.0 else 1.0)  # (L1.3)
        dual = linear / tau * (1.0 - 4.0 * UNIT) - square / tau / tau * (1.0 + 8.0 * UNIT)
        dual -= abs(dual) * 4.0 * UNIT
        gap = (primal - dual) / dual * (1.0 + 8.0 * UNIT) if dual > 0.0 else math.inf
    return max(gap, 0.0) if math.isfinite(gap) else math.inf


def solve_l1_classes(X: Matrix, codes: IntArray, n_classes: int, penalties: FloatArray, **how: Any) -> list[L1Solution]:
    """Solve the machine of two classes, or that of each class against all others.

    codes (n,): The classes, counted from 0.
    penalties (n,): C of each sample.
    how: Further arguments of `solve_l1`.
    """
    positive = [1] if n_classes == 2 else range(n_classes)
    return [solve_l1(X, np.where(codes == c, 1.0, -1.0), penalties, **how) for c in positive]
