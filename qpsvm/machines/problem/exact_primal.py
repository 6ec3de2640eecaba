"""Collect the numbers of a result as points of the exact program: α, and w or the coefficients (`collect_primal`)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.machines.problem.all_in_one_statement import AllInOneStatement
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_space import compute_half_diagonal
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import SVMResult


def collect_alpha(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Collect α at the rows of the program, followed by the multipliers of the linear constraints: (m,)."""
    alpha: FloatArray = problem._restrict_to_dual(result.alpha)
    if result.constraints is None:
        return alpha
    unit = problem._dual_structure.unit / problem._f_scale
    return np.concatenate([alpha, result.constraints["price"] / unit])


def collect_primal(problem: DualStatement, result: SVMResult) -> Primal:
    """Collect w or the coefficients, and every finite multiplier, as the user has them."""
    size, w = Fraction(problem._f_scale), result.model.w
    multipliers = {}
    if result.b and not any(group.multiplier == "b" for group in problem._dual_structure.groups):
        raise DataError(
            f"{problem.title} has no intercept, and the result has b = {result.b!r}: no point of its primal"
        )
    for group in problem._dual_structure.groups:
        name = group.multiplier
        value = float(result.b if name == "b" else result.rho if name == "rho" else result.extras[name])
        if math.isfinite(value):
            multipliers[name] = Fraction(value) / (size if name == "b" else 1)
    if w is None:
        if (level := find_point_level(problem, result)) is not None:
            multipliers["b"] = -level
        return Primal(None, collect_coefficients(problem, result) / float(size), multipliers)
    return Primal(w / float(size), None, multipliers)


def find_point_level(problem: DualStatement, result: SVMResult) -> Fraction | None:
    """½K(x, x) of a ball of radius 0 around one sample x, of which b is a rounding; None of any other result."""
    if not problem._is_affine or problem.constraints or result.model.w is not None or result.radius != 0.0:
        return None
    coef, size = problem._select_active(result.coef), problem._f_scale
    own = np.flatnonzero(coef)
    if len(own) != 1 or coef[own[0]] != size:
        return None
    level = compute_half_diagonal(problem)[int(own[0])]
    return level if abs(Fraction(result.b) / Fraction(size) + level) <= 4 * Fraction(UNIT) * level else None


def collect_all_in_one_primal(problem: AllInOneStatement, result: AllInOneResult) -> Primal:
    """w or the coefficients of every class, and b, as a user has them. Raises DataError."""
    if problem.intercept is None and result.b.any():
        raise DataError(f"{problem.title} has no intercepts, and the result has b = {result.b.tolist()}")
    b = enumerate(result.b.tolist() if problem.intercept else ())
    multipliers = {f"b_{c}": Fraction(value) for c, value in b if np.isfinite(value)}
    if result.model.w is not None:
        return Primal(result.model.w, None, multipliers)
    return Primal(None, problem.samples.select_active(result.coef), multipliers)


def collect_coefficients(problem: DualStatement, result: SVMResult) -> FloatArray:
    """c of f(x) = Σ c_i K(x_i, x) + b over the active samples and the points of the linear constraints: (n + q,).

    A result has those of the samples; its model has all that are not 0, in this order, and the points themselves.
    """
    own: FloatArray = problem._select_active(result.coef)
    if not problem.constraints:
        return own
    Z, model, place = problem._textbook_constraint_rows.Z, result.model, int(np.count_nonzero(own))
    behind = np.zeros(Z.shape[0])
    for k in range(Z.shape[0]):
        if place < len(model.coef) and np.array_equal(as_dense(model.vectors[[place]]), as_dense(Z[[k]])):
            behind[k] = model.coef[place]
            place += 1
    if place != len(model.coef):
        raise UnsupportedError("the model has coefficients of points that do not belong to this problem")
    return np.concatenate([own, behind])
