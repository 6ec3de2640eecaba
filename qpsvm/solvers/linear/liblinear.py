"""Run LIBLINEAR's dual coordinate descent, and return its multipliers.

    (COORD.1)  α_i ← the best α_i for the others, for a hinge clip(α_i + (1 − y_i⟨w, x_i⟩)/‖x_i‖², 0, C_i),
               w ← w + y_i Δα_i x_i,  rows in random order, pass by pass; rows that stay at a bound are set aside
    (COORD.2)  row i has one more feature, δ, in a column of its own:  its weight is δ y_i α_i, and K becomes K + δ²I

LIBLINEAR returns w alone. By (COORD.2) it returns α too: that weight is stored apart from all others, so that α_i has
all its digits however small δ is, and with δ² = 10⁻¹⁸ mean K_ii the sums are the same to the last bit. The intercept is
the weight of a feature 1, penalised. Where rows are many and short, or α mostly at bounds, nothing is faster.
It has hinges, squared hinges, and the absolute and squared loss outside of a tube of one width.

The loop knows no clock and no interrupt key, and always begins at α = 0: a short run is made in this process, a long
one in a child (`run_sliced`). Its random numbers are the process's: begun again each time, so that the answer is the
same each time, but shared by runs in two threads. As with LIBSVM's, the compiled function behind scikit-learn's class
is called directly where it passes a test on four points.

Source: Hsieh, Chang, Lin, Keerthi & Sundararajan, *A dual coordinate descent method for large-scale linear SVM* (2008).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.linear.descent import DescentResult, count_entries
from qpsvm.solvers.linear.row_problem import RowLosses
from qpsvm.solvers.shared.budget import MAX_ITERATIONS
from qpsvm.solvers.shared.time_slices import run_sliced

#: δ of (COORD.2) in units of the root of the mean squared length of the rows.
OWN_FEATURE = 1e-9
#: α within this share of its bound is at it: what adding up up to 300 steps may leave.
AT_BOUND = 1e-12
#: LIBLINEAR's numbers for the duals of the hinge loss and its square, and of the loss outside of a tube and its square.
HINGE_DUAL, SQUARED_HINGE_DUAL, TUBE_DUAL, SQUARED_TUBE_DUAL = 3, 1, 13, 12
#: Seconds of a pass over all rows for each number in them, and for each row; and the share of it that a pass takes in
#: the mean, because rows are set aside. A time limit counts on the whole. Without one a child process is worth its
#: 30 ms only where the mean is too long.
NUMBER_SECONDS, ROW_SECONDS, MEAN_SHARE = 4e-9, 2e-8, 0.15
#: Bytes for each number: in compressed rows, while they are made, and in LIBLINEAR's own list of them.
NUMBER_BYTES = 45.0


def fits_liblinear(X: Matrix) -> bool:
    """Return whether LIBLINEAR can count the numbers of X (n, d), with three more a row."""
    n, d = X.shape
    return bool(max(count_entries(X) + 3 * n, n + d + 1) <= MAX_ITERATIONS)


def find_solver_type(losses: RowLosses, y: FloatArray, intercept: bool) -> int | None:
    """Find LIBLINEAR's solver number for the dual of these losses, of rows with signs y (n,); None if there is none."""
    squared = losses.has_infinite_bound
    if squared and (
        losses.is_piecewise_linear or np.isfinite(losses.high).any() or not np.all(np.asarray(losses.curvature) > 0.0)
    ):
        return None
    if not squared and not losses.is_piecewise_linear:
        return None
    if losses.is_one_sided:
        known = isinstance(losses.level, float) and losses.level == 1.0
        known = known and (not intercept or bool((y != y[0]).any()))
        return (SQUARED_HINGE_DUAL if squared else HINGE_DUAL) if known else None
    known = isinstance(losses.tube, float) and bool(np.all(losses.high == -np.asarray(losses.low)))
    known = known and bool((y > 0.0).all())
    return (SQUARED_TUBE_DUAL if squared else TUBE_DUAL) if known else None


def build_targets(losses: RowLosses, y: FloatArray) -> FloatArray:
    """Return the y of `fit`: the signs y (n,), or the levels of a regression."""
    return y if losses.is_one_sided else np.ascontiguousarray(np.broadcast_to(losses.level, len(y)), dtype=np.float64)


def build_penalties(losses: RowLosses, n: int) -> FloatArray:
    """Return the C of each row: (n,)."""
    each = 0.5 / np.asarray(losses.curvature) if losses.has_infinite_bound else losses.high
    return np.ascontiguousarray(np.broadcast_to(each, n), dtype=np.float64)


def run_liblinear(
    X: Matrix,
    y: FloatArray,
    losses: RowLosses,
    intercept: bool,
    *,
    eps: float,
    most: int,
    clock: Clock | None = None,
    verbose: bool = False,
    mean: FloatArray | None = None,
) -> DescentResult:
    """Run (COORD.1) until no row violates its condition by more than eps, or a limit is reached.

    Shapes: X (n, d), y (n,), mean (d,).
    """
    n, d = X.shape
    clock = clock or Clock()
    seconds = NUMBER_SECONDS * (count_entries(X) + 2 * n) + ROW_SECONDS * n
    seconds *= MEAN_SHARE if clock.limit is None else 1.0

    def build_empty() -> DescentResult:
        return DescentResult(np.zeros(d), 0.0, np.zeros(n), 0, False)

    # Nearly all runs need more passes than a slice that is merely worth while: it is made only where time may run out.
    worthwhile = most if clock.limit is None else 1
    return run_sliced(
        run_passes, (X, y, losses, intercept, eps, mean), worthwhile, most,
        lambda allowed: int(min(allowed / seconds, MAX_ITERATIONS)), build_empty, clock, verbose,
    )  # fmt: skip


def run_passes(
    X: Matrix, y: FloatArray, losses: RowLosses, intercept: bool, eps: float, mean: FloatArray | None, most: int
) -> DescentResult:
    """Run at most `most` passes in this process; as in `descend`."""
    n, d = X.shape
    task = find_solver_type(losses, y, intercept)
    assert task is not None  # it is asked before
    if losses.is_one_sided and n < 2:  # it would have one label, and LIBLINEAR prints a warning of its own
        return DescentResult(np.zeros(d), 0.0, np.zeros(n), 0, False)
    delta = OWN_FEATURE * (_root_mean_square(X) or 1.0)
    Z, bias = append_diagonal(X, delta, mean), 1.0 if intercept else -1.0
    target, penalty = build_targets(losses, y), build_penalties(losses, n)
    tube = float(losses.tube)  # one number, says `find_solver_type`
    if losses.is_one_sided:
        target = (_ensure_two_labels(Z, y) > 0.0).astype(np.float64)
    train = find_compiled_train()
    if train is None:
        raw, made = _fit_class(Z, target, penalty, intercept, eps, most, task, tube)
    else:
        # solver, eps, bias, C, class weights, passes, seed, ε of a regression, and the weight of each row, which is C
        classes = np.ones(2) if losses.is_one_sided else np.empty(0)
        raw, made = train(Z, target, True, task, eps, bias, 1.0, classes, most, 0, tube, penalty)
    weights, made = raw.ravel(), int(np.max(made))
    alpha = _snap_to_bounds(losses, losses.clip_to_box(y * weights[d : d + n] / delta))
    return DescentResult(weights[:d].copy(), float(weights[-1]) if intercept else 0.0, alpha, made, made < most)


def _ensure_two_labels(Z: Matrix, y: FloatArray) -> FloatArray:
    """Return labels of both kinds, (n,); if all are equal, Z is changed: a row x of y = 1 is a row −x of y = −1."""
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
    alpha[(alpha <= AT_BOUND * upper) & (alpha >= AT_BOUND * lower)] = 0.0
    near = (upper > 0.0) & (alpha >= (1.0 - AT_BOUND) * upper)
    alpha = np.where(near, losses.high, alpha)
    near = (lower < 0.0) & (alpha <= (1.0 - AT_BOUND) * lower)
    return np.where(near, losses.low, alpha)


def append_diagonal(X: Matrix, delta: float, mean: FloatArray | None = None) -> Matrix:
    """[X − 1μᵀ, δI] for X (n, d), in compressed rows with short indices: (n, d + n)."""
    n, d = X.shape
    places = np.arange(n, dtype=np.int32)
    if sp.issparse(X):
        rows = X.tocsr()
        starts = rows.indptr.astype(np.int32) + np.arange(n + 1, dtype=np.int32)
        given = np.ones(rows.nnz + n, dtype=bool)
        given[starts[1:] - 1] = False
        data, indices = np.empty(len(given)), np.empty(len(given), dtype=np.int32)
        data[given], indices[given] = rows.data, rows.indices
        data[starts[1:] - 1], indices[starts[1:] - 1] = delta, d + places
    else:
        values, columns = np.empty((n, d + 1)), np.empty((n, d + 1), dtype=np.int32)
        values[:, :d] = X if mean is None else X - mean
        values[:, d], columns[:, :d], columns[:, d] = delta, np.arange(d, dtype=np.int32), d + places
        data, indices, starts = values.ravel(), columns.ravel(), (d + 1) * np.arange(n + 1, dtype=np.int32)
    return sp.csr_array((data, indices, starts), shape=(n, d + n))


def _root_mean_square(X: Matrix) -> float:
    """Return the root of the mean squared length of the rows."""
    values = X.data if sp.issparse(X) else X.ravel(order="K")
    return float(np.linalg.norm(values)) / float(np.sqrt(X.shape[0]))


def _fit_class(
    Z: Matrix, target: FloatArray, penalty: FloatArray, intercept: bool, eps: float, most: int, task: int, tube: float
) -> tuple[FloatArray, Any]:
    """Fit by the public classes, which warn if the passes do not suffice."""
    from sklearn.svm._classes import LinearSVC, LinearSVR  # not sklearn.svm, which may be patched

    shared = {"dual": True, "tol": eps, "C": 1.0, "fit_intercept": intercept, "max_iter": most, "random_state": 0}
    if task in (HINGE_DUAL, SQUARED_HINGE_DUAL):
        machine = LinearSVC(loss="hinge" if task == HINGE_DUAL else "squared_hinge", **shared)
    else:
        squared = task == SQUARED_TUBE_DUAL
        loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
        machine = LinearSVR(loss=loss, epsilon=tube, **shared)
    machine.fit(Z, target, sample_weight=penalty)
    return np.append(np.ravel(machine.coef_), machine.intercept_), machine.n_iter_


@cache
def find_compiled_train() -> Any:
    """The compiled function behind `LinearSVC`, or None where it is absent or does not answer four points rightly."""
    try:
        from sklearn.svm import _liblinear

        _liblinear.set_verbosity_wrap(0)
        Z = append_diagonal(sp.csr_array(np.diag(np.sqrt([1.0, 2.0, 1.0, 2.0]))), 1e-9)
        raw, made = _liblinear.train_wrap(
            Z, np.array([0.0, 0.0, 1.0, 1.0]), True, HINGE_DUAL, 1e-9, -1.0, 1.0, np.ones(2), 100, 0, 0.0,
            np.array([9.0, 9.0, 9.0, 0.25]),
        )  # fmt: skip
        alpha, enough = 1e9 * raw.ravel()[4:], 0 < np.max(made) < 100
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return None
    right = alpha.shape == (4,) and enough and np.allclose(alpha, [-1.0, -0.5, 1.0, 0.25], atol=1e-6)
    return _liblinear.train_wrap if right else None
