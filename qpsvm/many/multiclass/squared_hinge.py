"""The fast road of squared hinges with a linear kernel and few features: each optimum by Newton, all bounds at once.

Newton's method on the primal, whose second derivative jumps only:

    (SQNEWTON.1)  over w and b:  minimise ½‖w‖² + ½Rb² + Σ (1 − y_i f(x_i))₊²/(2δ_i),  δ = 1/(2C), R = 0 or 1
    (SQNEWTON.2)  where the rows A violate their margin:  (diag(1, …, 1, R) + Z_Aᵀ D Z_A) v = Z_Aᵀ D y_A,
                  v = (w, b), Z with a column of ones, D = diag(1/δ_A)

Where the rows that violate their margin at v are A again, v is the optimum. A step that does not lower the objective is
halved until it does.

Source: Keerthi & DeCoste, *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6 (2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from qpsvm.backends.contract import built_in_version
from qpsvm.base.arrays.frozen import times
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.resources.limits import one_thread
from qpsvm.data.samples import Samples
from qpsvm.machines.problem.parameters import as_intercept, prices
from qpsvm.many.multiclass.bulk import DENSE_ENTRIES, PRODUCTS, Found, gathered_in_bulk, points_of, usual
from qpsvm.many.multiclass.gap_bounds import gaps
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import Stack, stacked, with_squares
from qpsvm.many.multiclass.together import Together
from qpsvm.program.solution import Solver

#: Steps, of which ten are usual; and halvings of one.
STEPS, HALVINGS = 40, 20


def newton(Z: FloatArray, y: FloatArray, weight: FloatArray, penalty: FloatArray) -> tuple[FloatArray, int] | None:
    """v of (SQNEWTON.2) and the number of steps, or None. Shapes: Z (m, d), y, weight (m,), penalty (d,)."""
    v = np.zeros(Z.shape[1])
    t = np.ones(len(y))
    short, value = t > 0.0, _value(v, t, weight, penalty)
    for step in range(1, STEPS + 1):
        A, D = Z[short], weight[short]
        H = (A * D[:, None]).T @ A
        H[np.diag_indices_from(H)] += penalty
        _, target, failed = lapack.dposv(H, A.T @ (D * y[short]), overwrite_a=1)
        if failed:
            return None
        aimed = 1.0 - y * (Z @ target)
        if np.array_equal(aimed > 0.0, short):
            return target, step
        share, direction, slope = 1.0, target - v, aimed - t
        for _ in range(HALVINGS):
            next_v, next_t = v + share * direction, t + share * slope
            lower = _value(next_v, next_t, weight, penalty)
            if lower < value:
                break
            share *= 0.5
        else:
            return None
        v, t, value = next_v, next_t, lower
        short = t > 0.0
    return None


def _value(v: FloatArray, t: FloatArray, weight: FloatArray, penalty: FloatArray) -> float:
    """Twice the objective of (SQNEWTON.1)."""
    positive = np.maximum(t, 0.0)
    return float(penalty @ (v * v) + weight @ (positive * positive))


#: Features up to which a step, which takes d² products a row, is the shorter road; and rows, of all machines.
FEW_FEATURES, MANY_ROWS = 100, 100_000
#: Steps of a machine, for telling whether a time limit has room for them.
USUAL_STEPS = 10


def solves_squared(split: Split, options: Mapping[str, Any]) -> bool:
    """Whether this road takes these machines."""
    n, d = split.X.shape
    own = split.machine == "SquaredHinge" and set(split.parameters) <= {"C"} and not split.constraints
    dense = not sp.issparse(split.X) or n * d <= DENSE_ENTRIES
    few = d <= FEW_FEATURES and split.rows_in_all <= MANY_ROWS
    limit = options.get("time_limit")
    in_time = limit is None or USUAL_STEPS * split.rows_in_all * d * d <= limit * PRODUCTS
    return own and split.kernel_is_linear and dense and few and usual(options) and in_time


def solve_squared(split: Split, tol: float, time_limit: float | None = None) -> Together:
    """Solve all machines. Raises QPSVMError."""
    deadline = None if time_limit is None else monotonic() + time_limit
    as_intercept(split.intercept)
    C = prices(split.parameters.get("C", 1.0), Samples(split.X, split.weight, split.weight))
    stack = with_squares(stacked(split, times(C, split.weight)[split.order]))
    with np.errstate(all="ignore"), one_thread():  # what is not finite is not certified
        space = split.own_space
        found, iterations = newton_points(split, stack, as_dense(space.rows.matrix()))
        own, points = points_of(space, stack, found)
        certified = gaps(stack, points, split.intercept)
    solver = Solver("primal newton", built_in_version(), "converged")
    return gathered_in_bulk(split, stack, found, own, certified, iterations, (tol, deadline), solver)


def newton_points(split: Split, stack: Stack, Z: FloatArray) -> tuple[Found, IntArray]:
    """The points of all machines: α = t/δ, w = w(α), and b = yᵀα where that is penalised."""
    P, d, kept = stack.machines, Z.shape[1], split.intercept
    alpha, u = np.empty_like(stack.upper), np.empty_like(stack.upper)
    b, W, steps = np.zeros(P), np.zeros((P, d)), np.zeros(P, dtype=np.intp)
    with_ones = Z if kept is None else np.column_stack([Z, np.ones(len(Z))])
    penalty = np.ones(with_ones.shape[1])
    if kept == "free":
        penalty[-1] = 0.0
    for p in range(P):
        part, parts = stack.part(p), stack.slices(p)
        own = with_ones[parts[0]] if len(parts) == 1 else np.concatenate([with_ones[each] for each in parts])
        y, delta = stack.sign[part], stack.curvature[part]
        solved = newton(own, y, 1.0 / delta, penalty)
        if solved is None:
            alpha[part], u[part] = np.nan, np.nan  # which certifies nothing
            continue
        v, steps[p] = solved
        alpha[part] = np.maximum(1.0 - y * (own @ v), 0.0) / delta
        beta = alpha[part] * y
        W[p] = beta @ own[:, :d]
        u[part] = own[:, :d] @ W[p]
        b[p] = 0.0 if kept is None else v[-1] if kept == "free" else np.add.reduce(beta)
    return Found(alpha, u, b, np.ones(P), W), steps
