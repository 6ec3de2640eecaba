"""Run LIBLINEAR's dual coordinate descent, and recover its multipliers (`run_liblinear`).

    (COORD.1)  α_i ← its optimal value for fixed other α; for a hinge clip(α_i + (1 − y_i⟨w, x_i⟩)/‖x_i‖², 0, C_i);
               w ← w + y_i Δα_i x_i,  rows in random order, pass by pass; rows that stay at a bound are shrunk
    (COORD.2)  row i has an extra feature ω in a column of its own:  its weight is ω y_i α_i, and K becomes K + ω²I

LIBLINEAR returns only w, so α is read from the weights of the n extra features. Each of these weights is a separate
number, so α_i has all its digits however small ω is. ω² = 10⁻¹⁸ mean K_ii is less than the rounding of other sums. The
intercept is the weight of a constant feature 1, and is penalised. This is the fastest method for many short rows, or if
α is mostly at bounds. The losses are the hinge, the ε-insensitive loss with one ε for all rows, and their squares.

The loop checks neither clock nor Ctrl-C, and always starts at α = 0, so `run_within_time` limits it. Its random
generator is global to the process: reseeding it for each run makes results reproducible, unless two threads share it.
The compiled function behind scikit-learn's class is called directly if it passes a test on four points.

Source: Hsieh, Chang, Lin, Keerthi & Sundararajan, *A dual coordinate descent method for large-scale linear SVM* (2008).
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.linear.descent import DescentResult, count_entries
from qpsvm.solvers.linear.row_problem import RowLosses
from qpsvm.solvers.shared.budget import MAX_ITERATIONS
from qpsvm.solvers.shared.timed_loop import run_within_time

#: ω of (COORD.2) in units of the root of the mean squared length of the rows.
RELATIVE_OMEGA = 1e-9
#: α within this share of a bound is snapped to it. Rounding may leave α that far away: α is a sum of up to 300 steps.
SNAP_SHARE = 1e-12
#: LIBLINEAR's numbers of its dual solvers, by loss. A tube is an ε-insensitive loss.
HINGE_DUAL, SQUARED_HINGE_DUAL, TUBE_DUAL, SQUARED_TUBE_DUAL = 3, 1, 13, 12
#: Seconds of a pass over all rows, per stored entry and per row.
ENTRY_SECONDS, ROW_SECONDS = 4e-9, 2e-8
#: Bytes per stored entry of X: the CSR form, temporary arrays while it is built, and LIBLINEAR's copy.
ENTRY_BYTES = 45.0


def fits_liblinear(X: Matrix) -> bool:
    """Return whether the entries of X (n, d), with three more per row, fit LIBLINEAR's 32-bit counters."""
    n, d = X.shape  # three more: the feature ω, the constant feature, and LIBLINEAR's end mark of a row
    return bool(max(count_entries(X) + 3 * n, n + d + 1) <= MAX_ITERATIONS)


def find_solver_type(losses: RowLosses, y: FloatArray, intercept: bool) -> int | None:
    """Return the number of LIBLINEAR's dual solver for the losses of rows with signs y (n,); None if it has none."""
    is_squared = losses.has_infinite_bound
    if is_squared:
        is_purely_squared = not np.isfinite(losses.high).any() and bool(np.all(np.asarray(losses.curvature) > 0.0))
        if losses.is_piecewise_linear or not is_purely_squared:  # a hard margin, or a mixture of losses
            return None
    elif not losses.is_piecewise_linear:
        return None
    if losses.is_one_sided:
        has_unit_level = isinstance(losses.level, float) and losses.level == 1.0
        if not has_unit_level:
            return None
        if intercept and not (y != y[0]).any():  # one label: rows flipped to another would need the constant −1
            return None
        return SQUARED_HINGE_DUAL if is_squared else HINGE_DUAL
    has_one_tube = isinstance(losses.tube, float) and bool(np.all(losses.high == -np.asarray(losses.low)))
    if not has_one_tube or not (y > 0.0).all():
        return None
    return SQUARED_TUBE_DUAL if is_squared else TUBE_DUAL


def build_targets(losses: RowLosses, y: FloatArray) -> FloatArray:
    """Return the targets of `fit`, (n,): the signs y (n,), or the levels of a regression."""
    if losses.is_one_sided:
        return y
    return np.ascontiguousarray(np.broadcast_to(losses.level, len(y)), dtype=np.float64)


def build_penalties(losses: RowLosses, n: int) -> FloatArray:
    """Return the C of each row, (n,): the bound of α or, for a squared loss t²/(2δ) with curvature δ, 1/(2δ)."""
    penalties = 0.5 / np.asarray(losses.curvature) if losses.has_infinite_bound else losses.high
    return np.ascontiguousarray(np.broadcast_to(penalties, n), dtype=np.float64)


def run_liblinear(
    X: Matrix,
    y: FloatArray,
    losses: RowLosses,
    intercept: bool,
    *,
    eps: float,
    max_passes: int,
    clock: Clock | None = None,
    mean: FloatArray | None = None,
) -> DescentResult:
    """Run (COORD.1) until no row violates its optimality condition by more than eps, or a limit is reached.

    Shapes: X (n, d), y (n,), mean (d,).

    mean: Subtracted from each row if X is dense; None to leave the rows as they are.
    """
    n, d = X.shape
    pass_seconds = ENTRY_SECONDS * (count_entries(X) + 2 * n) + ROW_SECONDS * n
    try:
        return run_within_time(
            partial(run_passes, X, y, losses, intercept, eps, mean),
            max_passes,
            lambda seconds: int(min(seconds / pass_seconds, MAX_ITERATIONS)),
            lambda: DescentResult(np.zeros(d), 0.0, np.zeros(n), 0, False),
            clock or Clock(),
        )
    except ValueError as error:
        raise FloatingPointError(str(error)) from error


def run_passes(
    X: Matrix, y: FloatArray, losses: RowLosses, intercept: bool, eps: float, mean: FloatArray | None, max_passes: int
) -> DescentResult:
    """Run at most `max_passes` passes in this process; the arguments are those of `run_liblinear`."""
    n, d = X.shape
    solver_type = find_solver_type(losses, y, intercept)
    assert solver_type is not None  # the backend accepts no other losses
    if losses.is_one_sided and n < 2:  # one row has one label, on which LIBLINEAR prints a warning
        return DescentResult(np.zeros(d), 0.0, np.zeros(n), 0, False)
    omega = RELATIVE_OMEGA * (_root_mean_square(X) or 1.0)
    Z = append_diagonal(X, omega, mean)
    bias = 1.0 if intercept else -1.0
    labels = _ensure_two_labels(Z, y) if losses.is_one_sided else None
    if labels is None:
        targets = build_targets(losses, y)
    else:
        targets = (labels > 0.0).astype(np.float64)
    penalties = build_penalties(losses, n)
    tube = float(losses.tube)  # one number, as checked by `find_solver_type`
    train = find_compiled_train()
    if train is None:
        raw, passes_made = _fit_class(Z, targets, penalties, intercept, eps, max_passes, solver_type, tube)
    else:
        # X, y, is sparse, solver, eps, bias, C, class weights, passes, seed, ε, row weights. A row's weight is its C.
        class_weights = np.ones(2) if losses.is_one_sided else np.empty(0)
        raw, passes_made = train(
            Z, targets, True, solver_type, eps, bias, 1.0, class_weights, max_passes, 0, tube, penalties
        )
    weights = raw.ravel()
    passes_made = int(np.max(passes_made))
    alpha = _snap_to_bounds(losses, losses.clip_to_box(y * weights[d : d + n] / omega))
    return DescentResult(
        weights[:d].copy(), float(weights[-1]) if intercept else 0.0, alpha, passes_made, passes_made < max_passes
    )


def _ensure_two_labels(Z: Matrix, y: FloatArray) -> FloatArray:
    """Return labels (n,) of both classes; if all are equal, flip every second one and, in place, its row of Z."""
    if len(y) < 2 or (y != y[0]).any():
        return y
    labels = y.copy()
    labels[1::2] *= -1.0
    Z.data *= np.repeat(labels * y, np.diff(Z.indptr))
    return labels


def _snap_to_bounds(losses: RowLosses, alpha: FloatArray) -> FloatArray:
    """Snap entries of α (n,) to 0 and the bounds if only rounding separates them."""
    upper = np.where(np.isfinite(losses.high), losses.high, 0.0)
    lower = np.where(np.isfinite(losses.low), losses.low, 0.0)
    alpha[(alpha <= SNAP_SHARE * upper) & (alpha >= SNAP_SHARE * lower)] = 0.0
    is_at_upper = (upper > 0.0) & (alpha >= (1.0 - SNAP_SHARE) * upper)
    alpha = np.where(is_at_upper, losses.high, alpha)
    is_at_lower = (lower < 0.0) & (alpha <= (1.0 - SNAP_SHARE) * lower)
    return np.where(is_at_lower, losses.low, alpha)


def append_diagonal(X: Matrix, omega: float, mean: FloatArray | None = None) -> Matrix:
    """Return [X − 1μᵀ, ωI] for X (n, d), as CSR with 32-bit indices: (n, d + n).

    mean (d,): μ, for a dense X; None for 0. A sparse X is not centred.
    """
    n, d = X.shape
    new_columns = d + np.arange(n, dtype=np.int32)
    if sp.issparse(X):
        rows = X.tocsr()
        starts = rows.indptr.astype(np.int32) + np.arange(n + 1, dtype=np.int32)
        new_entries = starts[1:] - 1  # the last entry of each row
        is_from_X = np.ones(rows.nnz + n, dtype=bool)
        is_from_X[new_entries] = False
        data = np.empty(len(is_from_X))
        data[is_from_X] = rows.data
        data[new_entries] = omega
        indices = np.empty(len(is_from_X), dtype=np.int32)
        indices[is_from_X] = rows.indices
        indices[new_entries] = new_columns
    else:
        values = np.empty((n, d + 1))
        values[:, :d] = X if mean is None else X - mean
        values[:, d] = omega
        columns = np.empty((n, d + 1), dtype=np.int32)
        columns[:, :d] = np.arange(d, dtype=np.int32)
        columns[:, d] = new_columns
        data = values.ravel()
        indices = columns.ravel()
        starts = (d + 1) * np.arange(n + 1, dtype=np.int32)
    return sp.csr_array((data, indices, starts), shape=(n, d + n))


def _root_mean_square(X: Matrix) -> float:
    """Return the root of the mean squared length of the rows."""
    values = X.data if sp.issparse(X) else X.ravel(order="K")
    return float(np.linalg.norm(values)) / float(np.sqrt(X.shape[0]))


def _fit_class(
    Z: Matrix, targets: FloatArray, penalties: FloatArray, intercept: bool, eps: float, max_passes: int,
    solver_type: int, tube: float,
) -> tuple[FloatArray, Any]:  # fmt: skip
    """Fit scikit-learn's class, which warns if the passes do not suffice; return its weights and number of passes.

    The last weight is the intercept.
    """
    from sklearn.svm._classes import LinearSVC, LinearSVR  # not sklearn.svm, which may be patched

    shared = {"dual": True, "tol": eps, "C": 1.0, "fit_intercept": intercept, "max_iter": max_passes, "random_state": 0}
    if solver_type in (HINGE_DUAL, SQUARED_HINGE_DUAL):
        estimator = LinearSVC(loss="hinge" if solver_type == HINGE_DUAL else "squared_hinge", **shared)
    else:
        if solver_type == SQUARED_TUBE_DUAL:
            loss = "squared_epsilon_insensitive"
        else:
            loss = "epsilon_insensitive"
        estimator = LinearSVR(loss=loss, epsilon=tube, **shared)
    estimator.fit(Z, targets, sample_weight=penalties)
    return np.append(np.ravel(estimator.coef_), estimator.intercept_), estimator.n_iter_


@cache
def find_compiled_train() -> Any:
    """Return the compiled function behind `LinearSVC`; None if it is absent or fails a test on four points."""
    try:
        from sklearn.svm import _liblinear

        _liblinear.set_verbosity_wrap(0)
        Z = append_diagonal(sp.csr_array(np.diag(np.sqrt([1.0, 2.0, 1.0, 2.0]))), 1e-9)
        raw, passes_made = _liblinear.train_wrap(
            Z, np.array([0.0, 0.0, 1.0, 1.0]), True, HINGE_DUAL, 1e-9, -1.0, 1.0, np.ones(2), 100, 0, 0.0,
            np.array([9.0, 9.0, 9.0, 0.25]),
        )  # fmt: skip
        signed_alpha = 1e9 * raw.ravel()[4:]
        has_converged = 0 < np.max(passes_made) < 100
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return None
    expected = [-1.0, -0.5, 1.0, 0.25]  # y_i min(1/‖x_i‖², C_i)
    is_correct = signed_alpha.shape == (4,) and has_converged and np.allclose(signed_alpha, expected, atol=1e-6)
    return _liblinear.train_wrap if is_correct else None
