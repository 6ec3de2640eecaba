"""The fast road of squared hinges with a linear kernel and few features: each optimum by Newton, all bounds at once."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.constant import times
from qpsvm.arrays.rounding import UNIT, gamma
from qpsvm.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.backends.packages import built_in_version
from qpsvm.dual.bounds import FEW, NEXT_TO_NOTHING
from qpsvm.losses import gap_term, loss
from qpsvm.multiclass.bounds import ROUNDINGS, Points, known_slack, surplus_of
from qpsvm.multiclass.bulk import DENSE_ENTRIES, PRODUCTS, Found, gathered_in_bulk, points_of, usual
from qpsvm.multiclass.primal_newton import newton
from qpsvm.multiclass.split import Split
from qpsvm.multiclass.stack import Stack, stacked
from qpsvm.multiclass.together import Together
from qpsvm.problems.parameters import as_intercept, prices
from qpsvm.qp.solution import Solver
from qpsvm.resources.threads import one_thread
from qpsvm.samples import Samples

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
    """Solve all machines.

    Raises QPSVMError.
    """
    deadline = None if time_limit is None else monotonic() + time_limit
    as_intercept(split.intercept)  # type: ignore[arg-type]
    C = prices(split.parameters.get("C", 1.0), Samples(split.X, split.weight, split.weight))
    stack = stacked(split, times(C, split.weight)[split.order])
    with np.errstate(all="ignore"), one_thread():  # what is not finite is not certified
        space = split.own_space
        curvature = 0.5 / stack.upper
        found, iterations = _solved(split, stack, as_dense(space.rows.matrix()), curvature)
        own, points = points_of(space, stack, found)
        certified = squared_gaps(stack, points, curvature, split.intercept)
    solver = Solver("primal newton", built_in_version(), "converged")
    return gathered_in_bulk(split, stack, found, own, certified, iterations, (tol, deadline), solver)


def _solved(split: Split, stack: Stack, Z: FloatArray, curvature: FloatArray) -> tuple[Found, IntArray]:
    """The points of all machines: α = t/δ, w = w(α), and b = yᵀα where that is penalised."""
    P, d, kept = stack.machines, Z.shape[1], split.intercept
    alpha, u = np.empty_like(stack.upper), np.empty_like(stack.upper)
    b, W, steps = np.zeros(P), np.zeros((P, d)), np.zeros(P, dtype=np.intp)
    with_ones = Z if kept is None else np.column_stack([Z, np.ones(len(Z))])
    penalty = np.ones(with_ones.shape[1])
    if kept == "free":
        penalty[-1] = 0.0
    for p in range(P):
        part, parts = stack.part(p), stack.slices[p]
        own = with_ones[parts[0]] if len(parts) == 1 else np.concatenate([with_ones[each] for each in parts])
        y, delta = stack.sign[part], curvature[part]
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


def squared_gaps(stack: Stack, points: Points, curvature: FloatArray, intercept: str | None) -> FloatArray:
    """The relative gap of each machine from above, (P,), as `bounds.gaps`, for a loss with δ > 0 and U = ∞.

    Shapes: curvature (M,).
    """
    alpha, sign, most = points.alpha, stack.sign, float(stack.lengths.max())
    t, r = known_slack(stack, points)
    bent = curvature * alpha
    r += ROUNDINGS * UNIT * (np.abs(t) + r + bent)  # t − δα cancels where the row is at its optimum
    endless = np.full(len(alpha), np.inf)
    terms = np.maximum(gap_term(alpha, t + r, endless, curvature), gap_term(alpha, t - r, endless, curvature))
    difference = stack.sums(terms) * (1.0 + gamma(most + 16))
    losses = stack.sums(loss(t - r, endless, curvature)) * (1.0 - gamma(most + 8))
    distance, size = points.offset * FEW, 0.5 * points.square + losses
    if intercept == "free":
        slack, nothing = np.abs(t - bent) + r, np.zeros(stack.machines)
        surplus, reach = surplus_of(stack, alpha * sign, nothing, slack, alpha)
        distance = distance + surplus * float(points.sizes.max()) * FEW
        difference += surplus * (reach + stack.largest(curvature) * surplus)
    elif intercept == "penalised":
        known = np.abs(points.level) * (1.0 - 4.0 * UNIT) - points.level_radius
        apart = np.abs(points.level - stack.sums(alpha * sign)) + gamma(most + 2) * stack.sums(alpha) * FEW
        apart = (apart + points.level_radius + ROUNDINGS * UNIT * np.abs(points.level)) * FEW
        difference += 0.5 * apart * apart
        size = size + 0.5 * np.square(np.maximum(known, 0.0))
    difference += 0.5 * distance * distance
    good = (size > NEXT_TO_NOTHING) & (difference >= 0.0) & np.isfinite(difference) & np.isfinite(size)
    found: FloatArray = np.full(len(size), np.inf)
    np.divide(difference * FEW, size / FEW, out=found, where=good)
    return found
