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

from qpsvm.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.errors import UnsupportedError
from qpsvm.kernels.functions import OWN, RBF, Kernel, Linear, Polynomial, Precomputed
from qpsvm.problems.constraints import Constraints
from qpsvm.proof.ball import BallSpace
from qpsvm.proof.exactly import Exactly, constant, floats, rationals
from qpsvm.proof.integers import as_integers
from qpsvm.rows import RowSource, as_row_source


def points_of(problem: Any) -> Matrix | RowSource:
    """The samples that take part, with the points of a user's rows behind them: (n + q, d)."""
    X: Matrix | RowSource = problem.samples.taken
    return problem._textbook_rows.behind(X) if getattr(problem, "constraints", ()) else X


def square_of(row: Matrix) -> Fraction:
    """‖x‖² of one row, exactly."""
    j, exponent = as_integers(sp.csr_array(row).data)
    return sum(v * v for v in j) * Fraction(2) ** (2 * exponent)


def own_value(kernel: Kernel) -> Callable[[Matrix], Fraction]:
    """K(x, x) of one row x, exactly.

    Raises
    ------
    UnsupportedError
        A kernel whose K(x, x) is no rational number that is known.
    """
    if isinstance(kernel, RBF):
        return lambda row: Fraction(1)  # noqa: ARG005
    if isinstance(kernel, Linear):
        return square_of
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        factor, shift, degree = Fraction(kernel.gamma), Fraction(kernel.coef0), int(kernel.degree)
        return lambda row: (factor * square_of(row) + shift) ** degree
    raise UnsupportedError(f"K(x, x) of the kernel {kernel} is no rational number: nothing is proven of this machine")


def half_diagonal(problem: Any) -> Exactly:
    """½K(x_i, x_i) of the samples that take part, the levels of a ball: (n,)."""
    kernel, X = problem.kernel, problem.samples.taken
    if isinstance(kernel, RBF):
        return constant(Fraction(1, 2), X.shape[0])
    if not isinstance(kernel, OWN) or isinstance(kernel, Precomputed) or problem.space.shift or problem.space.clipped:
        return floats(np.array(problem.space.gram.dense().diagonal()[: X.shape[0]]), Fraction(1, 2))
    if isinstance(kernel, Linear):
        return BallSpace(as_row_source(X), np.zeros(X.shape[1])).levels
    value, rows = own_value(kernel), as_row_source(X).matrix()
    return rationals([value(rows[[i]]) / 2 for i in range(rows.shape[0])])


def row_levels(problem: Any) -> Exactly:
    """−h of the user's rows in units of f as the dual has it: (p,)."""
    size = Fraction(problem.size_of_f)
    found: list[Fraction] = []
    for item in problem.constraints:
        bounds = [Fraction(h) for h in item.h.tolist()]
        if problem.diagonal and not isinstance(item, Constraints):
            value, A = own_value(problem.kernel), sp.csr_array(item.A)
            own = [value(item.Z[[k]]) for k in range(item.Z.shape[0])]
            for k, row in enumerate(np.split(np.arange(A.nnz), A.indptr[1:-1])):
                parts = zip(A.data[row].tolist(), A.indices[row].tolist(), strict=True)
                bounds[k] -= Fraction(problem.diagonal) * sum((Fraction(a) * own[j] for a, j in parts), Fraction(0))
        found += [-bound / size for bound in bounds]
    if size == 1:
        return floats(np.array([float(value) for value in found]))
    return rationals(found)


def exact_sums(problem: Any) -> dict[int, Fraction]:
    """c_k = Σ_l A_kl of the user's rows by number, where it is no float."""
    found, first = {}, 0
    for item in problem.constraints:
        if not isinstance(item, Constraints):
            A = sp.csr_array(item.A)
            for k, row in enumerate(np.split(A.data, A.indptr[1:-1])):
                value = sum(map(Fraction, row.tolist()), Fraction(0))
                if value != Fraction(float(item.sums[k])):
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
