"""Reading a C-SVM off its dual: for solvers that take samples and a price, and not matrices.

With P = σ² diag(y) K diag(y), q = −τ1, a box [0, u] and the row k yᵀx = 0, the substitution α = x σ²/τ gives the C-SVM
dual over K with C = u σ²/τ. Scaling a problem for a solver changes σ, τ and k, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.arrays import FloatArray, as_dense, common_value, times
from qpsvm.errors import UnsupportedError
from qpsvm.qp import QP

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


def recognise(qp: QP, scale: FloatArray | None, name: str) -> RecognisedCSVM:
    """Recognise the dual of a C-SVM or primal hinge problem.

    Parameters
    ----------
    qp : QP
    scale : ndarray, shape (n,), or None
        σy, as `LowRank` and `KernelGram` hold it; None where P is dense, and y is read off the balance row.
    name : str
        The backend, for the message.

    Raises
    ------
    UnsupportedError
        Another problem.
    """
    lb, ub = qp.bounds
    row = None if qp.A is None else first_row(qp.A)
    signed = scale if scale is not None else row
    target = float(-qp.q[0])
    one_row = row is None or (qp.A is not None and qp.A.shape[0] == 1 and qp.b is not None and not qp.b.any())
    boxed = qp.G is None and _same(lb, 0.0) and float(ub.min()) > 0 and float(ub.max()) < np.inf
    if signed is None or not (one_row and boxed and target > 0 and _same(qp.q, -target)):
        raise UnsupportedError(
            f"{name} takes duals of C-SVM and primal hinge problems (q = −1, 0 ≤ alpha ≤ C, at most the row yᵀα = 0); "
            "for hard margin and nu-SVM use interior_point, cvxopt or osqp"
        )
    y = np.sign(signed)
    unit = 1.0 if scale is None else float(max(scale.max(), -scale.min()))
    k = 0.0 if row is None else float(row[0] * y[0])
    same_labels = row is None or (k > 0 and _same(row * y, k))
    if not same_labels or (scale is not None and not _same(scale * y, unit)):
        raise UnsupportedError(f"{name} needs P = σ² diag(y) K diag(y) and the row yᵀα = 0 with the same labels y")
    return RecognisedCSVM(y, times(unit * unit / target, ub), unit, target, k)


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
