"""Reading a C-SVM or a ν-SVM off its dual: for solvers that take samples and a price, and not matrices.

With P = σ² diag(y) K diag(y), q = −τ1, a box [0, u] and the row k yᵀx = 0, the substitution α = x σ²/τ gives the C-SVM
dual over K with C = u σ²/τ. With q = 0 and a second row m1ᵀx = mt, it is the dual of a ν-SVM with the weights u and
Σx = t. Scaling a problem for a solver changes σ, τ, k, m and t, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.arrays.constant import common_value, times
from qpsvm.arrays.types import FloatArray, as_dense
from qpsvm.errors import UnsupportedError
from qpsvm.qp.program import QP

#: How far what should be one number in every row may vary, relatively: scaling rounds.
UNIFORM = 1e-12


@dataclass(frozen=True, eq=False)
class RecognisedCSVM:
    """A C-SVM dual in the units of a QP.

    Attributes
    ----------
    y, C : ndarray, shape (n,)
    unit, target, row : float
        σ, τ and k; k is 0 where there is no balance row.
    """

    y: FloatArray
    C: FloatArray
    unit: float
    target: float
    row: float

    def x(self, alpha: FloatArray) -> FloatArray:
        """The QP's variables from α (n,)."""
        return times(self.target / (self.unit * self.unit), alpha)

    def alpha(self, x: FloatArray) -> FloatArray:
        """α (n,) from the QP's variables."""
        return times(self.unit * self.unit / self.target, x)

    def balance(self, b: float) -> FloatArray:
        """The multiplier of the balance row, (1,) or (0,)."""
        return np.array([b * self.target / self.row]) if self.row else np.zeros(0)


def recognise(qp: QP, scale: FloatArray | None, name: str, hard: bool = False) -> RecognisedCSVM:
    """Recognise the dual of a C-SVM or primal hinge problem, or of a hard margin.

    Parameters
    ----------
    qp : QP
    scale : ndarray, shape (n,), or None
        σy, as `LowRank` and `KernelGram` hold it; None where P is dense, and y is read off the balance row.
    name : str
        The backend, for the message.
    hard : bool
        Whether C may be infinite.

    Raises
    ------
    UnsupportedError
        Another problem.
    """
    row = None if qp.A is None else first_row(qp.A)
    target = float(-qp.q[0])
    one_row = row is None or (qp.A is not None and qp.A.shape[0] == 1 and qp.b is not None and not qp.b.any())
    signed = scale is not None or row is not None
    if not (signed and one_row and _boxed(qp, hard) and target > 0 and _same(qp.q, -target)):
        raise UnsupportedError(
            f"{name} takes duals of C-SVM and primal hinge problems (q = −1, 0 ≤ alpha ≤ C, at most the row yᵀα = 0); "
            "for hard margin and nu-SVM use interior_point, cvxopt or osqp"
        )
    y, unit, k = _labels(row, scale, name)
    return RecognisedCSVM(y, times(unit * unit / target, qp.bounds[1]), unit, target, k)


@dataclass(frozen=True, eq=False)
class RecognisedNuSVM:
    """A ν-SVM dual in the units of a QP.

    Attributes
    ----------
    y, upper : ndarray, shape (n,)
    total : float
        t, the sum of x.
    unit, row, level : float
        σ, k and m.
    """

    y: FloatArray
    upper: FloatArray
    total: float
    unit: float
    row: float
    level: float

    @property
    def nu(self) -> float:
        """ν: the sum of x as a share of the most that it could be."""
        return min(1.0, self.total / float(self.upper.sum()))

    def x(self, coefficients: FloatArray) -> FloatArray:
        """The QP's variables from α (n,) in any unit: its sum sets it."""
        return coefficients * (self.total / float(coefficients.sum()))

    def multipliers(self, coefficients: FloatArray, b: float) -> FloatArray:
        """Of the two rows, (2,), from α/ρ and b/ρ: the gradient of free entries is σ²(ρ − y_i b) in units of x."""
        rho = self.unit**2 * self.total / float(coefficients.sum())
        return np.array([rho * b / self.row, -rho / self.level])


def recognise_nu(qp: QP, scale: FloatArray | None, name: str) -> RecognisedNuSVM:
    """Recognise the dual of a ν-SVM: as `recognise`.

    Raises
    ------
    UnsupportedError
        Another problem.
    """
    A = None if qp.A is None else as_dense(qp.A)
    two_rows = A is not None and qp.b is not None and len(A) == 2 and qp.b[0] == 0 and _same(A[1], A[1, 0])
    if A is None or qp.b is None or not (two_rows and _boxed(qp)) or qp.q.any():
        raise UnsupportedError(f"{name} takes duals of nu-SVMs with the rows yᵀα = 0 and 1ᵀα = ν; use interior_point")
    y, unit, k = _labels(A[0], scale, name)
    return RecognisedNuSVM(y, qp.bounds[1], float(qp.b[1] / A[1, 0]), unit, k, float(A[1, 0]))


def _boxed(qp: QP, hard: bool = False) -> bool:
    """Whether there are only rows of equalities and a box [0, u] with finite u > 0; or, if `hard`, all infinite."""
    lb, ub = qp.bounds
    least, most = float(ub.min()), float(ub.max())
    bounded = most < np.inf or (hard and least == np.inf)
    return qp.G is None and _same(lb, 0.0) and least > 0 and bounded


def _labels(row: FloatArray | None, scale: FloatArray | None, name: str) -> tuple[FloatArray, float, float]:
    """y, σ and k, from the balance row k y and the factor σy of P; one of the two may be absent."""
    signed = scale if scale is not None else row
    assert signed is not None
    y = np.sign(signed)
    unit = 1.0 if scale is None else float(max(scale.max(), -scale.min()))
    k = 0.0 if row is None else float(row[0] * y[0])
    same_labels = row is None or (k > 0 and _same(row * y, k))
    if not same_labels or (scale is not None and not _same(scale * y, unit)):
        raise UnsupportedError(f"{name} needs P = σ² diag(y) K diag(y) and the row yᵀα = 0 with the same labels y")
    return y, unit, k


def first_row(A: Any) -> FloatArray:
    """The first row of a dense or sparse matrix: (n,)."""
    row: FloatArray = as_dense(A)[0]
    return row


def _same(values: FloatArray, value: float) -> bool:
    """Whether all values are one number: (n,)."""
    slack = UNIFORM * abs(value)
    if common_value(values) == value:
        return True
    least, most = np.minimum.reduce(values), np.maximum.reduce(values)
    return bool(least >= value - slack and most <= value + slack)
