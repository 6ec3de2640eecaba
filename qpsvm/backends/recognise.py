"""Recognise the support vector machine that a QP is the dual of (`recognise_statement`).

A QP built by a problem carries its statement (`QP.statement`). A QP written by hand is compared with these duals, whose
factors σ, τ, k, m and t allow for a scaling of the problem, as for a solver. All have the box 0 ≤ x ≤ u.

    (READ.1)  C-SVM: P = σ² diag(y) K diag(y), q = −τ1, and the row k yᵀx = 0 or none.  With α = v x, v = σ²/τ, this is
              τ²/σ² times the dual over K with C = v u, and its row is k/v times yᵀα = 0
              ν-SVM: the same P, q = 0, and a second row m1ᵀx = mt.  With α = x, this is σ² times the dual, 1ᵀα = t
              one-class machine: any dense P = K, q = 0, and the single row k1ᵀx = kt
    (READ.2)  regression, two α per sample:  P = [K, −K; −K, K], q = (ε − t, ε + t) with the targets t, and the row
              k(1, −1)ᵀx = 0:  s = (1, −1), ℓ = −q
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value, multiply, repeat_value
from qpsvm.base.arrays.rounding import ROUNDED
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.qp import QP
from qpsvm.program.svm_dual import DualGroup, Statement, SVMDual, build_intercept_groups
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.operators import Dense, LowRank, Operator


def recognise_statement(qp: QP, name: str) -> Statement:
    """Recognise a machine's dual from the numbers of a QP without a statement. Raises UnsupportedError.

    name: Name of the backend, for the message of the error.
    """
    statement = _find_statement(qp, name)
    if statement is None:
        raise UnsupportedError(
            f"{name} takes duals of C-SVM, hard margin and primal hinge problems (q = −1, 0 ≤ alpha ≤ C, at most the "
            "row yᵀα = 0) and of nu-SVMs (q = 0, and the row 1ᵀα = ν); use interior_point, cvxopt or osqp"
        )
    return statement


def describe_statement(statement: Statement) -> str:
    """Describe, in a few words, the machine whose dual a QP was recognised as."""
    svm = statement.svm
    C = svm.upper[0]
    level = svm.common_level
    samples = f"{svm.gram.shape[0]} samples"
    if np.isfinite(C) and _is_constant(svm.upper, float(C)):
        bound = f", C = {C:.6g}"
    else:
        bound = ""
    if svm.is_two_sided:
        width = -0.5 * (svm.level[: svm.n] + svm.level[svm.n :])
        if np.ptp(width) <= ROUNDED * (1.0 + np.abs(svm.level).max()):
            tube = f", ε = {width[0]:.6g}"
        else:
            tube = ""
        return f"an epsilon-SVR of {samples}{bound}{tube}"
    if level == 1.0:
        if svm.is_hard:
            return f"a hard margin of {samples}"
        return f"a C-SVM of {samples}{bound}"
    if level == 0.0:
        if len(svm.groups) > 1:
            return f"a nu-SVM of {samples}"
        return f"a one-class machine of {samples}"
    return f"a machine of {samples}"


def _find_statement(qp: QP, name: str) -> Statement | None:
    """Return the statement; None if the QP is no known dual. Raises UnsupportedError for an unsupported P."""
    rows = [] if qp.A is None else list(as_dense(qp.A))
    lb, ub = qp.bounds
    if qp.G is not None or not _is_constant(lb, 0.0) or not ub.min() > 0.0 or len(rows) > 2:
        return None
    if len(rows) == 1 and isinstance(qp.P, Dense):
        recognise = _recognise_regression if qp.q.any() else _recognise_one_class
        statement = recognise(qp, qp.P, rows[0])
        if statement is not None:
            return statement
    return _recognise_two_class(qp, rows, name)


def _recognise_two_class(qp: QP, rows: list[FloatArray], name: str) -> Statement | None:
    """Recognise a C-SVM or ν-SVM by (READ.1), given the rows of A; None if it is neither. Raises UnsupportedError."""
    label_row = rows[0] if rows else None
    label_scale = _find_label_scale(qp.P)
    if label_row is None and label_scale is None:
        return None
    y, sigma, k = _extract_labels(label_row, label_scale, name)
    gram = _extract_gram(qp.P, y, sigma, name)
    rhs = [] if qp.b is None else qp.b.tolist()
    if rows and rhs[0] != 0.0:
        return None
    if len(rows) == 2:
        return _recognise_nu_svm(qp, gram, y, sigma, k, rows[1], rhs[1])
    return _recognise_c_svm(qp, gram, y, sigma, k if rows else None)


def _recognise_nu_svm(
    qp: QP, gram: Operator, y: FloatArray, sigma: float, k: float, sum_row: FloatArray, total: float
) -> Statement | None:
    """Recognise a ν-SVM by (READ.1), the second row m1ᵀx = `total`; None if the QP is not its dual."""
    m = float(sum_row[0])
    if not _is_constant(sum_row, m) or not m or qp.q.any():
        return None
    n = len(y)
    margin = DualGroup("nu", "rho", repeat_value(-1.0, n), -(total / m), formula="−1ᵀα = −ν")
    groups = (*build_intercept_groups(y, "free"), margin)
    svm = SVMDual(gram, y, repeat_value(0.0, n), qp.bounds[1], repeat_value(0.0, n), groups)
    return Statement(svm, 1.0, sigma * sigma, {"balance": k, "nu": -m})


def _recognise_c_svm(qp: QP, gram: Operator, y: FloatArray, sigma: float, k: float | None) -> Statement | None:
    """Recognise a C-SVM by (READ.1), k None without the row; None if the QP is not its dual."""
    tau = float(-qp.q[0])
    if not tau > 0 or not _is_constant(qp.q, -tau):
        return None
    n = len(y)
    v = sigma * sigma / tau
    groups = () if k is None else build_intercept_groups(y, "free")
    svm = SVMDual(gram, y, repeat_value(1.0, n), multiply(v, qp.bounds[1]), repeat_value(0.0, n), groups)
    return Statement(svm, v, tau / v, {"balance": (1.0 if k is None else k) / v})


def _recognise_one_class(qp: QP, P: Dense, row: FloatArray) -> Statement | None:
    """Recognise a one-class machine by (READ.1); None if the QP is not its dual."""
    if qp.b is None or not row[0] or not _is_constant(row, float(row[0])) or not qp.b[0] / row[0] > 0.0:
        return None
    k = float(row[0])
    zeros = repeat_value(0.0, qp.n)
    groups = (DualGroup("total", "b", repeat_value(1.0, qp.n), float(qp.b[0]) / k, formula="1ᵀα = t"),)
    svm = SVMDual(P, repeat_value(1.0, qp.n), level=zeros, upper=qp.bounds[1], curvature=zeros, groups=groups)
    return Statement(svm, rows={"total": k})


def _recognise_regression(qp: QP, P: Dense, row: FloatArray) -> Statement | None:
    """Recognise a regression by (READ.2); None if the QP is not its dual."""
    n, remainder = divmod(qp.n, 2)
    K = P.matrix[:n, :n]
    ub = qp.bounds[1]
    if remainder or qp.b is None or qp.b[0] or not row[0]:
        return None
    sign = np.repeat([1.0, -1.0], n)
    if not _is_constant(row * sign, float(row[0])) or not np.array_equal(P.matrix, np.block([[K, -K], [-K, K]])):
        return None
    samples = np.tile(np.arange(n), 2)
    svm = SVMDual(
        Dense(K), sign, -qp.q, ub, repeat_value(0.0, qp.n), build_intercept_groups(sign, "free"), rows=samples
    )
    return Statement(svm, rows={"balance": float(row[0])})


def _find_label_scale(P: Operator) -> FloatArray | None:
    """Return σy (n,), which `LowRank` and `KernelGram` store; None if y must be read from the row k yᵀx = 0."""
    return P.scale if isinstance(P, LowRank | KernelGram) else None


def _extract_gram(P: Operator, y: FloatArray, sigma: float, name: str) -> Operator:
    """Return K (n, n), from P = σ² diag(y) K diag(y). Raises UnsupportedError."""
    if isinstance(P, KernelGram) and P.scale is not None:
        return KernelGram(P.kernel, P.X, P.offset, blocks=P.blocks)
    if isinstance(P, LowRank) and P.scale is not None and P.d is None:
        return LowRank(P.source)
    if isinstance(P, Dense):
        return Dense(P.matrix * y * y[:, None] / (sigma * sigma))
    raise UnsupportedError(
        f"{name} needs a dual with P = diag(y) X Xᵀ diag(y) as its factor, over a kernel's Gram matrix, or dense, not "
        f"{P.describe()}; use interior_point, cvxopt or osqp"
    )


def _extract_labels(row: FloatArray | None, scale: FloatArray | None, name: str) -> tuple[FloatArray, float, float]:
    """Return y (n,), σ and k from the row k y (n,) and the scale σy (n,) of P. Raises UnsupportedError.

    One of the two may be None: then k = 1, or σ = 1.
    """
    scaled_labels = scale if scale is not None else row
    assert scaled_labels is not None
    y = np.sign(scaled_labels)
    sigma = 1.0 if scale is None else float(max(scale.max(), -scale.min()))
    k = 1.0 if row is None else float(row[0] * y[0])
    row_has_labels = row is None or (k > 0 and _is_constant(row * y, k))
    if not row_has_labels or (scale is not None and not _is_constant(scale * y, sigma)):
        raise UnsupportedError(f"{name} needs P = σ² diag(y) K diag(y) and the row yᵀα = 0 with the same labels y")
    return y, sigma, k


def _is_constant(values: FloatArray, value: float) -> bool:
    """Return whether all values (n,) equal a number, up to rounding."""
    if find_common_value(values) == value:
        return True
    tolerance = ROUNDED * abs(value)
    minimum, maximum = np.minimum.reduce(values), np.maximum.reduce(values)
    return bool(minimum >= value - tolerance and maximum <= value + tolerance)
