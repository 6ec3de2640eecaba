"""Read a starting α from another result (`read_neighbouring_alpha`), or reduce an α (`find_affordable_alpha`).

A certificate over a kernel takes n × (support vectors) kernel values. Any feasible α can be certified, so the largest
entries of α are kept, equally many of each class, and the others set to 0. This increases the gap, which shows it.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.checks import find_order
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.bounds.repair import make_feasible
from qpsvm.data.rows import as_row_source
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import estimate_kernel_seconds
from qpsvm.space.kernels.space import FeatureSpace

#: Rows this close to the margin of the other result start between 0 and C, in units of the margin level, or of the mean
#: violation if rows have different levels.
BAND = 0.1
#: The kind of a sample whose α is at its bound.
FULL = 2


def find_affordable_alpha(space: FeatureSpace, svm: SVMDual, alpha: FloatArray, seconds: float) -> FloatArray:
    """Return an α (m,) near this one whose certificate takes at most `seconds`, if there is one.

    Shapes: alpha (m,).
    """
    max_rows = int(min(seconds / _estimate_row_seconds(space), float(svm.m)))
    repaired = make_feasible(svm, alpha)
    if not repaired.any() and svm.is_hard:  # α = 0 gives no direction: start from one sample per class
        return _keep_largest(np.ones(svm.m), svm.sign, 2)
    if np.count_nonzero(repaired) <= max_rows:
        return alpha
    reduced = _keep_largest(repaired, svm.sign, max_rows)
    if np.count_nonzero(make_feasible(svm, reduced)) < np.count_nonzero(repaired):
        return reduced
    return alpha


def estimate_certificate_seconds(space: FeatureSpace, alpha: FloatArray) -> float:
    """Estimate the seconds of a certificate of α (m,) for a kernel that is not linear."""
    return float(np.count_nonzero(alpha)) * _estimate_row_seconds(space)


def _estimate_row_seconds(space: FeatureSpace) -> float:
    """Estimate the seconds of the kernel values of one support vector."""
    n, d = space.samples.shape
    return estimate_kernel_seconds(n, d)


def _keep_largest(alpha: FloatArray, y: FloatArray, max_entries: int) -> FloatArray:
    """Return α (n,) with at most `max_entries` nonzeros, the largest of each class."""
    largest = np.zeros(len(alpha))
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero((y == sign) & (alpha > 0))
        n_kept = max(max_entries // 2, 1)
        if len(rows) > n_kept:
            rows = rows[np.argpartition(alpha[rows], len(rows) - n_kept)[len(rows) - n_kept :]]
        largest[rows] = alpha[rows]
    return largest


def read_neighbouring_alpha(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Return α from another result over the rows of the dual, (m,), including linear constraints, not yet feasible.

    Raises DataError.
    """
    alpha = _read_alpha(problem, result)
    rows = problem._constraint_rows
    if rows is None:
        return alpha
    multipliers = result.constraint_multipliers
    scaled_multipliers = np.array([multipliers.get(name, 0.0) for name in rows.names])
    return np.concatenate([alpha, scaled_multipliers * rows.scale * (problem._f_scale / problem.svm.unit)])


def _read_alpha(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Read a starting α over the rows of the machine itself from the result of a neighbouring problem.

    With the same number of rows, it has the split of the other result: α at its bound is set to the new bound. With
    other rows of the same features, it is computed from the violations of these rows by the other result's f.

    Raises DataError.
    """
    samples = problem.samples
    svm = problem.svm if problem.svm.linear_constraints is None else problem.svm.linear_constraints.unconstrained_dual
    margin = result.margin
    if result.rho > 0 and len(margin) and (margin == result.rho).all():
        level = result.rho
    else:
        level = 1.0
    bounded = np.isfinite(svm.upper)
    if len(result.alpha) == problem._n_dual_variables and len(result.coef) == samples.n:
        alpha = problem._rescale_alpha(problem._restrict_to_dual(result.alpha / level))
        full = problem._restrict_to_dual((result.alpha > 0.0) & (result.alpha >= result.upper))
        if len(result.kind) == len(result.alpha):
            full = problem._restrict_to_dual((result.kind == FULL) & np.isfinite(result.upper))
        with_same_split: FloatArray = np.where(full & bounded, svm.upper, alpha)
        return with_same_split
    if result.model.n_features != samples.X.shape[1] or isinstance(problem.kernel, Precomputed):
        raise DataError(
            f"start is a result over {len(result.coef)} rows of {result.model.n_features} features, this problem has "
            f"{samples.n} rows of {samples.X.shape[1]}; give the same rows, or the same features"
        )
    f = samples.select_active(result.decision_function(_align_features(samples, result))) / level
    violation = svm.level - svm.sign * svm.at_rows(f)
    if problem._diagonal_weight:  # f includes the level
        violation = -svm.at_rows(f) / problem._f_scale
    width = 1.0 if svm.common_level == 1.0 else float(np.abs(violation).mean()) or 1.0
    share: FloatArray = np.clip(0.5 + violation / (BAND * width), 0.0, 1.0)
    return np.where(bounded, svm.upper, 0.0) * share


def _align_features(samples: TrainingSamples, result: SVMResult) -> Matrix:
    """Return X with its columns in the order of the other result, if both have names."""
    names = samples.feature_names
    model_names = result.model.feature_names
    if names is None or model_names is None:
        order = None
    else:
        order = find_order(names, model_names, "this problem, unlike that of start,")
    if order is None:
        return samples.X
    return as_row_source(samples.X).matrix()[:, order]
