"""The two functions that walk all the way: from samples of several classes to certified binary machines.

The fast road where all samples are too many for one Gram matrix, and those of two classes are not: pair by pair.

The optimum of a squared hinge over few features: Newton's method on the primal, whose second derivative jumps only.

    (SQNEWTON.1)  over w and b:  minimise ½‖w‖² + ½Rb² + Σ (1 − y_i f(x_i))₊²/(2δ_i),  δ = 1/(2C), R = 0 or 1
    (SQNEWTON.2)  where the rows A are short of their margin:  (diag(1, …, 1, R) + Z_Aᵀ D Z_A) v = Z_Aᵀ D y_A,
                  v = (w, b), Z with a column of ones, D = diag(1/δ_A)

Where the rows short of their margin at v are A again, v is the optimum. A step that does not lower the objective is
halved until it does.

Source: Keerthi & DeCoste, *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6 (2005).

The fast road of squared hinges with a linear kernel and few features: each optimum by Newton, all bounds at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.backends.contract import built_in_version
from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.arrays.vectors import times
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import one_thread
from qpsvm.bounds.gap_bounds import FEW, NEXT_TO_NOTHING
from qpsvm.data.rows import RowSource
from qpsvm.data.samples import Samples
from qpsvm.machines.problem.parameters import as_intercept, prices
from qpsvm.many.grid.walk import run_tasks
from qpsvm.many.multiclass.bulk import (
    DENSE_ENTRIES,
    PRODUCTS,
    Found,
    gathered_in_bulk,
    points_of,
    solve_in_bulk,
    solves,
    usual,
)
from qpsvm.many.multiclass.gap_bounds import ROUNDINGS, Points, known_slack, surplus_of
from qpsvm.many.multiclass.one_by_one import TOLERANCE, solve_each
from qpsvm.many.multiclass.split import Split, split
from qpsvm.many.multiclass.stack import Stack, stacked
from qpsvm.many.multiclass.together import Results, Together
from qpsvm.program.losses import gap_term, loss
from qpsvm.program.solution import Solver
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram import PSDRule


def solve_apart(split: Split, tol: float, n_jobs: int | None) -> Together | None:
    """Solve the machines of pairs, each in bulk by itself."""
    P = len(split.pairs)
    if split.machine == "NuSVM":
        for p in range(P):
            split.bare(p)  # is ν feasible?
    found = [each for (each,) in run_tasks(_pair, [(split, p, tol) for p in range(P)], [1] * P, n_jobs, False)]
    if any(together is None for together, _ in found):
        return None
    parts = [(together, rows) for together, rows in found if together is not None]
    singles = [together for together, _ in parts]
    return Together(
        classes=split.labels, machines=split.pairs, coef=_spread(parts, split.n),
        b=_joined([each.b for each in singles]), rho=_joined([each.rho for each in singles]),
        w=None if singles[0].w is None else np.vstack([each.w for each in singles if each.w is not None]),
        gap=_joined([each.gap for each in singles]), status=[each.status[0] for each in singles],
        iterations=np.concatenate([each.iterations for each in singles]), solver=singles[0].solver,
        message="; ".join(each.message for each in singles if each.message),
        results=Results(P, First([each.results for each in singles])),
    )  # fmt: skip


def _pair(split: Split, p: int, tol: float) -> list[tuple[Together | None, IntArray]]:
    part, rows = split.alone(p)
    return [(solve_in_bulk(part, tol, apart=True), rows)]


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate(parts)


def _spread(parts: list[tuple[Together, IntArray]], n: int) -> sp.csr_array:
    """Coefficients over some of the rows, one machine each, as a matrix over all rows."""
    columns = [rows[together.coef.indices] for together, rows in parts]
    ends = np.cumsum([0, *(len(each) for each in columns)])
    values = np.concatenate([together.coef.data for together, _ in parts])
    return sp.csr_array((values, np.concatenate(columns), ends), shape=(len(parts), n))


@dataclass(frozen=True, eq=False)
class First:
    """The results of machines that were solved apart: the only one of each."""

    parts: list[Sequence[SVMResult]]

    def __call__(self, p: int) -> SVMResult:
        """Of one of them."""
        return self.parts[p][0]


#: Steps, of which ten are usual; and halvings of one.
STEPS, HALVINGS = 40, 20


def newton(Z: FloatArray, y: FloatArray, weight: FloatArray, penalty: FloatArray) -> tuple[FloatArray, int] | None:
    """v of (SQNEWTON.2) and the number of steps, or None.

    Shapes: Z (m, d), y, weight (m,), penalty (d,).
    """
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
        found, iterations = _newton_solved(split, stack, as_dense(space.rows.matrix()), curvature)
        own, points = points_of(space, stack, found)
        certified = squared_gaps(stack, points, curvature, split.intercept)
    solver = Solver("primal newton", built_in_version(), "converged")
    return gathered_in_bulk(split, stack, found, own, certified, iterations, (tol, deadline), solver)


def _newton_solved(split: Split, stack: Stack, Z: FloatArray, curvature: FloatArray) -> tuple[Found, IntArray]:
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


def solve_pairs(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    *,
    machine: str = "CSVM",
    parameters: Mapping[str, Any],
    kernel: Kernel,
    sample_weight: FloatArray | None = None,
    psd: PSDRule = "raise",
    intercept: str | None = "free",
    n_jobs: int | None = None,
    constraints: Any = None,
    start: Together | None = None,
    **solve_options: Any,
) -> Together:
    """One machine for each pair of classes.

    Shapes: X (n, d), codes (n,), labels (k,), sample_weight (n,). Raises DataError, QPSVMError.
    """
    machines = split(
        X, codes, labels, False, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
    return _solved(machines, n_jobs, start, solve_options)


def solve_rest(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    *,
    machine: str = "CSVM",
    parameters: Mapping[str, Any],
    kernel: Kernel,
    sample_weight: FloatArray | None = None,
    psd: PSDRule = "raise",
    intercept: str | None = "free",
    n_jobs: int | None = None,
    constraints: Any = None,
    start: Together | None = None,
    **solve_options: Any,
) -> Together:
    """One machine for each class, against all others.

    Raises DataError, QPSVMError.
    """
    machines = split(
        X, codes, labels, True, machine=machine, parameters=parameters, kernel=kernel, sample_weight=sample_weight,
        psd=psd, intercept=intercept, constraints=constraints,
    )  # fmt: skip
    return _solved(machines, n_jobs, start, solve_options)


def _solved(machines: Split, n_jobs: int | None, start: Together | None, options: Mapping[str, Any]) -> Together:
    starts = _starts(machines, start)
    if machines.is_stored:
        return solve_each(machines, starts, n_jobs, options)
    if solves(machines, options):
        tol = as_tolerance(options.get("tol", TOLERANCE))
        limit = options.get("time_limit")
        together = solve_apart(machines, tol, n_jobs) if machines.apart else solve_in_bulk(machines, tol, limit)
        if together is not None:
            return together
    elif solves_squared(machines, options):
        tol = as_tolerance(options.get("tol", TOLERANCE))
        return solve_squared(machines, tol, options.get("time_limit"))
    return solve_each(machines, starts, n_jobs, options)


def _starts(machines: Split, start: Together | None) -> Sequence[FloatArray | None]:
    """The coefficients of each machine to begin with."""
    P = len(machines.pairs)
    if start is None:
        return [None] * P
    if start.coef.shape != (P, machines.n) or not np.array_equal(start.machines, machines.pairs):
        raise DataError(
            f"the start has {start.coef.shape[0]} machines over {start.coef.shape[1]} rows, and there are {P} over "
            f"{machines.n}: begin with machines of the same classes over the same rows"
        )
    return list(start.coef.toarray())


__all__ = ["solve_pairs", "solve_rest"]
