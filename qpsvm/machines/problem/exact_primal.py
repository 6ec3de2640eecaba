"""Collect the floats of a result as points of the exact program (`collect_alpha`, `collect_primal`).

The f of the program is that of the result divided by `_f_scale` (2 for an SVDD, else 1); so are w, b and coefficients.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_space import compute_half_diagonal
from qpsvm.result.svm_result import SVMResult


def collect_alpha(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Collect α for the rows of the program, followed by the multipliers of the linear constraints: (m,)."""
    alpha: FloatArray = problem._restrict_to_dual(result.alpha)
    if result.constraints is None:
        return alpha
    unit = problem._dual_structure.unit / problem._f_scale
    return np.concatenate([alpha, result.constraints["multiplier"] / unit])


def collect_costs(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Collect |t_k − δ_kα_k|, the sizes of the dual's gradient, for the rows of the program, as computed: (m,)."""
    gradient = np.abs(result.curvature * result.alpha - (result.margin - result.yf))
    costs: FloatArray = problem._restrict_to_dual(gradient)
    if result.constraints is None:
        return costs
    return np.concatenate([costs, np.abs(result.constraints["value"] - result.constraints["bound"])])


def collect_primal(problem: DualStatement, result: SVMResult) -> Primal:
    """Collect w or the coefficients, and every finite multiplier, from the floats of a result. Raises DataError."""
    f_scale = problem._f_scale
    w = result.model.w
    if result.b and not any(group.multiplier == "b" for group in problem._dual_structure.groups):
        raise DataError(
            f"{problem.title} has no intercept, and the result has b = {result.b!r}: no point of its primal"
        )
    multipliers = {
        name: Fraction(value) / Fraction(f_scale if name == "b" else 1)
        for name, value in collect_multipliers(problem, result).items()
        if math.isfinite(value)
    }
    if w is not None:
        return Primal(w / f_scale, None, multipliers)
    if (level := find_point_ball_level(problem, result)) is not None:
        multipliers["b"] = -level  # exact, as the ball of radius 0 must contain its sample
    return Primal(None, collect_coefficients(problem, result) / f_scale, multipliers)


def collect_multipliers(problem: DualStatement, result: SVMResult) -> dict[str, float]:
    """Collect the multipliers μ of all groups by name, such as b and ρ, from a result."""
    named = {"b": result.b, "rho": result.rho}
    names = [group.multiplier for group in problem._dual_structure.groups]
    return {name: float(named[name] if name in named else result.extras[name]) for name in names}


def find_point_ball_level(problem: DualStatement, result: SVMResult) -> Fraction | None:
    """Return ½K(x, x) for a ball of radius 0 around one sample x, if −b is this value rounded; else None."""
    if not problem._is_affine or problem.constraints or result.model.w is not None or result.radius != 0.0:
        return None
    coef = problem._select_active(result.coef)
    f_scale = problem._f_scale
    support = np.flatnonzero(coef)
    if len(support) != 1 or coef[support[0]] != f_scale:
        return None
    level = compute_half_diagonal(problem)[int(support[0])]
    if abs(Fraction(result.b) / Fraction(f_scale) + level) <= 4 * Fraction(UNIT) * level:
        return level
    return None


def collect_class_primal(problem: DualStatement, result: SVMResult) -> Primal:
    """Collect w or the coefficients of every class, and b, from the floats of a result. Raises DataError."""
    intercepts = np.asarray(result.b)
    if problem.intercept is None and intercepts.any():
        raise DataError(f"{problem.title} has no intercepts, and the result has b = {intercepts.tolist()}")
    b = enumerate(intercepts.tolist() if problem.intercept else ())
    multipliers = {f"b_{c}": Fraction(value) for c, value in b if np.isfinite(value)}
    if result.model.w is not None:
        return Primal(result.model.w, None, multipliers)
    return Primal(None, problem.samples.select_active(result.coef), multipliers)


def collect_coefficients(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Collect c of f(x) = Σ c_i K(x_i, x) + b over the active samples and the points of linear constraints: (n + q,).

    The result has the coefficients of the samples only. Its model has all nonzero ones: those of samples, then, in the
    order of Z, those of points.
    """
    sample_coef: FloatArray = problem._select_active(result.coef)
    if not problem.constraints:
        return sample_coef
    Z = problem._textbook_constraint_rows.Z
    model = result.model
    position = int(np.count_nonzero(sample_coef))
    point_coef = np.zeros(Z.shape[0])
    for k in range(Z.shape[0]):
        if position < len(model.coef) and np.array_equal(as_dense(model.vectors[[position]]), as_dense(Z[[k]])):
            point_coef[k] = model.coef[position]
            position += 1
    if position != len(model.coef):
        raise UnsupportedError("the model has coefficients of points that do not belong to this problem")
    return np.concatenate([sample_coef, point_coef])
