"""A user's rows and a ball's levels in rational numbers: what the exact program has beside a machine's own rows.

(OWN.2) as the user wrote it, not as it is computed with: the points z behind the samples, unscaled, and h, or where f
has −K(x, x) besides, (h + Σ_l A_kl K(z_l, z_l))/2 without rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.exactly import Exactly, as_integers, constant, floats, rationals
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.spaces import BallSpace
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid


def points_of(problem: Any) -> Matrix | RowSource:
    """The samples that take part, with the points of a user's rows behind them: (n + q, d)."""
    X: Matrix | RowSource = problem.samples.taken
    return problem._textbook_rows.behind(X) if getattr(problem, "constraints", ()) else X


def square_of(row: Matrix) -> Fraction:
    """‖x‖² of one row, exactly."""
    j, exponent = as_integers(sp.csr_array(row).data)
    return sum(v * v for v in j) * Fraction(2) ** (2 * exponent)


def by_matrix(problem: Any) -> bool:
    """Whether a proof is about the kernel matrix as it is: of kernels that it knows no function of."""
    kernel, space = problem.kernel, problem.space
    known = isinstance(kernel, (RBF, Polynomial, Sigmoid)) and not (space.shift or space.clipped)
    return not known or (getattr(problem, "affine", False) and own_value(kernel) is None)


def own_value(kernel: Kernel) -> Callable[[Matrix], Fraction] | None:
    """K(x, x) of one row x, exactly; None where that is no rational number."""
    if isinstance(kernel, RBF):
        return lambda row: Fraction(1)  # noqa: ARG005
    if isinstance(kernel, Linear):
        return square_of
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        factor, shift, degree = Fraction(kernel.gamma), Fraction(kernel.coef0), int(kernel.degree)
        return lambda row: (factor * square_of(row) + shift) ** degree
    return None


def _own_values(problem: Any) -> Callable[[int], Fraction]:
    """K(x, x) of each of the points, exactly."""
    value = own_value(problem.kernel)
    if value is None or (not problem.space.is_linear and by_matrix(problem)):
        diagonal = np.diagonal(problem.space.gram.dense()).tolist()
        return lambda i: Fraction(diagonal[i])
    points = as_row_source(points_of(problem))
    return lambda i: value(points.take(np.array([i])))


def half_diagonal(problem: Any) -> Exactly:
    """½K(x_i, x_i) of the samples that take part, the levels of a ball: (n,)."""
    kernel, X = problem.kernel, problem.samples.taken
    n = X.shape[0]
    if isinstance(kernel, Linear):
        return BallSpace(as_row_source(X), np.zeros(X.shape[1])).levels
    if by_matrix(problem):
        return floats(np.diagonal(problem.space.gram.dense())[:n].copy(), Fraction(1, 2))
    if isinstance(kernel, RBF):
        return constant(Fraction(1, 2), n)
    value = _own_values(problem)
    return rationals([value(i) / 2 for i in range(n)])


def row_levels(problem: Any) -> Exactly:
    """−h of the user's rows in units of f as the dual has it: (p,)."""
    size, own, first = Fraction(problem.size_of_f), problem.diagonal, problem.samples.taken.shape[0]
    found: list[Fraction] = []
    for item in problem.constraints:
        bounds = [Fraction(h) for h in item.h.tolist()]
        if own and not item.over_w:
            value, A = _own_values(problem), sp.csr_array(item.A)
            for k, row in enumerate(np.split(np.arange(A.nnz), A.indptr[1:-1])):
                parts = zip(A.data[row].tolist(), A.indices[row].tolist(), strict=True)
                bounds[k] -= Fraction(own) * sum((Fraction(a) * value(first + j) for a, j in parts), Fraction(0))
        first += item.points.shape[0]
        found += [-bound / size for bound in bounds]
    if size == 1:
        return floats(np.array([float(value) for value in found]))
    return rationals(found)


def exact_sums(problem: Any) -> dict[int, Fraction]:
    """c_k = Σ_l A_kl of the user's rows by number, where it is no float."""
    found, first = {}, 0
    for item in problem.constraints:
        for k, row in enumerate([] if item.over_w else np.split(item.A.data, item.A.indptr[1:-1])):
            value = sum(map(Fraction, row.tolist()), Fraction(0))
            if value != Fraction(float(item.c[k])):
                found[first + k] = value
        first += len(item.h)
    return found


def coefficients(problem: Any, result: Any) -> FloatArray:
    """c of f(x) = Σ c_i K(x_i, x) + b over the samples that take part and the points of a user's rows: (n + q,).

    A result has those of the samples; its model has all that are not 0, in this order, and the points themselves.
    """
    own: FloatArray = problem.taking_part(result.coef)
    if not problem.constraints:
        return own
    Z, model, place = problem._textbook_rows.Z, result.model, int(np.count_nonzero(own))
    behind = np.zeros(Z.shape[0])
    for k in range(Z.shape[0]):
        if place < len(model.coef) and np.array_equal(as_dense(model.vectors[[place]]), as_dense(Z[[k]])):
            behind[k] = model.coef[place]
            place += 1
    if place != len(model.coef):
        raise UnsupportedError("the model has coefficients of points that are none of this problem's")
    return np.concatenate([own, behind])
