"""Find an α to begin at, or one whose certificate can be afforded (`read_neighbouring_alpha`, `find_affordable_alpha`).

A certificate over a kernel costs n × (support vectors) kernel values. Any feasible α can be certified; of the rows that
a solver left above 0, those with the largest α are kept, equally many of each class. The gap shows what that costs.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.checks import find_order
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.bounds.repair import feasible
from qpsvm.data.rows import as_row_source
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import estimate_kernel_seconds
from qpsvm.space.kernels.space import FeatureSpace

#: Rows this close to the margin of the other result start between 0 and C, in units of the margin level or, where rows
#: have levels of their own, of what is usually missing.
BAND = 0.1
#: The kind of a sample whose α is at its bound.
FULL = 2


def find_affordable_alpha(space: FeatureSpace, svm: SVMDual, alpha: FloatArray, seconds: float) -> FloatArray:
    """Return an α (m,) near this one whose certificate takes at most `seconds`, if there is one.

    Shapes: alpha (m,).
    """
    most = int(min(seconds / _estimate_row_seconds(space), float(svm.m)))
    whole = feasible(svm, alpha)
    if not whole.any() and svm.is_hard:  # nothing bounds the direction from one class to another
        return _keep_largest(np.ones(svm.m), svm.sign, 2)
    if np.count_nonzero(whole) <= most:
        return alpha
    part = _keep_largest(whole, svm.sign, most)
    return part if np.count_nonzero(feasible(svm, part)) < np.count_nonzero(whole) else alpha


def estimate_certificate_seconds(space: FeatureSpace, alpha: FloatArray) -> float:
    """Estimate the seconds of a certificate of α (m,), where the kernel is not linear."""
    return float(np.count_nonzero(alpha)) * _estimate_row_seconds(space)


def _estimate_row_seconds(space: FeatureSpace) -> float:
    """Estimate the seconds of the kernel values of one support vector."""
    n, d = space.samples.shape
    return estimate_kernel_seconds(n, d)


def _keep_largest(alpha: FloatArray, y: FloatArray, most: int) -> FloatArray:
    """Keep at most `most` entries of α, the largest of each class: (n,)."""
    part = np.zeros(len(alpha))
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero((y == sign) & (alpha > 0))
        kept = max(most // 2, 1)
        if len(rows) > kept:
            rows = rows[np.argpartition(alpha[rows], len(rows) - kept)[len(rows) - kept :]]
        part[rows] = alpha[rows]
    return part


def read_neighbouring_alpha(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Return an α over the rows of the dual, (m,), those of linear constraints among them, not yet feasible.

    Raises DataError.
    """
    alpha, rows = _read_alpha(problem, result), problem._constraint_rows
    if rows is None:
        return alpha
    known = result.constraint_multipliers
    prices = np.array([known.get(name, 0.0) for name in rows.names])
    return np.concatenate([alpha, prices * rows.scale * (problem._f_scale / problem.svm.unit)])


def _read_alpha(problem: DualStatement, result: SVMResult) -> FloatArray:
    """Read a starting α over the rows of the machine itself from the result of a neighbouring problem.

    Over the same number of rows it keeps the other result's split: what is at its bound goes to the new bound. Over
    other rows of the same features it follows from what the f of the other result leaves missing at these rows.

    Raises DataError.
    """
    samples, svm = (
        problem.samples,
        problem.svm if problem.svm.linear_constraints is None else problem.svm.linear_constraints.unconstrained_dual,
    )
    margin = result.margin
    level = result.rho if result.rho > 0 and len(margin) and (margin == result.rho).all() else 1.0
    bounded = np.isfinite(svm.upper)
    if len(result.alpha) == problem._n_dual_variables and len(result.coef) == samples.n:
        alpha = problem._rescale_alpha(problem._restrict_to_dual(result.alpha / level))
        full = problem._restrict_to_dual((result.alpha > 0.0) & (result.alpha >= result.upper))
        if len(result.kind) == len(result.alpha):
            full = problem._restrict_to_dual((result.kind == FULL) & np.isfinite(result.upper))
        kept: FloatArray = np.where(full & bounded, svm.upper, alpha)
        return kept
    if result.model.n_features != samples.X.shape[1] or isinstance(problem.kernel, Precomputed):
        raise DataError(
            f"start is a result over {len(result.coef)} rows of {result.model.n_features} features, this problem has "
            f"{samples.n} rows of {samples.X.shape[1]}; give the same rows, or the same features"
        )
    f = samples.select_active(result.decision_function(_align_features(samples, result))) / level
    short = svm.level - svm.sign * svm.at_rows(f)
    if problem._diagonal_weight:  # f has the level in it
        short = -svm.at_rows(f) / problem._f_scale
    width = 1.0 if svm.common_level == 1.0 else float(np.abs(short).mean()) or 1.0
    share: FloatArray = np.clip(0.5 + short / (BAND * width), 0.0, 1.0)
    return np.where(bounded, svm.upper, 0.0) * share


def _align_features(samples: TrainingSamples, result: SVMResult) -> Matrix:
    """Return X with its columns in the order of the other result, if both have names."""
    given, known = samples.feature_names, result.model.feature_names
    order = None if given is None or known is None else find_order(given, known, "this problem, unlike that of start,")
    return samples.X if order is None else as_row_source(samples.X).matrix()[:, order]
