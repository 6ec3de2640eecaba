"""Solve linear SVMs by coordinate descent, Newton's method, or the augmented Lagrangian (`solve_linear`).

    (LIN.1)  minimise ½‖w‖² (+ ½b² if the intercept is penalised) + Σ φ_i(ℓ_i − y_i(x_iᵀw + b)),  φ of `row_problem`

The solve prepares rows, losses and a start, chooses the methods, and maps the solution back. With a free intercept
dense columns are centred internally, and so are the levels of a regression, whose y_i are 1; the intercept is mapped
back: b = b_centred − μᵀw, plus the median of the levels. With far more columns than rows, the problem is solved in n
coordinates (`wide_rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.base.arrays.checks import as_finite_vector, as_real
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import ParameterError
from qpsvm.base.resources.messages import log_progress
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.program.losses import compress_constant
from qpsvm.solvers.linear.augmented_lagrangian import AugmentedLagrangian
from qpsvm.solvers.linear.descent import as_start, find_descent_point, is_newton_cheap, should_start_with_descent
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows, build_label_scaled_rows
from qpsvm.solvers.linear.row_problem import LinearPoint, LinearStart, RowLosses, RowProblem, certify_pair, compute_mean
from qpsvm.solvers.linear.squared_losses import has_squared_losses, minimise_squared
from qpsvm.solvers.linear.wide_rows import WideReduction, reduce_wide
from qpsvm.solvers.linear.working_set import improve_start, is_large, solve_large
from qpsvm.solvers.shared.budget import Budget, StopReason

#: If the tolerance is at most `DEFAULT_TOL`, the pair is improved up to a gap of `ROUNDING_GOAL`, if that is cheap and
#: takes at most `FEW_STEPS` steps.
DEFAULT_TOL, ROUNDING_GOAL, FEW_STEPS = 1e-6, 1e-18, 5
#: Limit of ‖w − Σ α_i y_i x_i‖ after a solve, as a share of ‖w‖.
STATIONARITY_TOL = 1e-6
ENGINES = ("auto", "coordinate", "newton")
Intercept: TypeAlias = Literal["free", "penalised"] | None
#: Whether coordinate descent runs first: if it pays, always or never.
Engine: TypeAlias = Literal["auto", "coordinate", "newton"]


@dataclass(frozen=True)
class SolveProgress:
    """Progress of a run.

    passes: Passes over all rows so far.
    rows: Number of rows.
    gap: Estimated relative gap over all rows, or over a subset in the stages "band" and "subsample".
    seconds: Seconds since the start.
    """

    stage: str
    passes: int
    rows: int
    gap: float
    seconds: float


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Solution of `solve_linear`.

    w (d,)
    alpha (n,): lo ≤ α ≤ hi (0 ≤ α_i ≤ C_i for hinges), and yᵀα = 0 up to rounding if the intercept is free and the run
        converged.
    iterations: Newton steps, including those on subsets of the rows, plus passes of coordinate descent.
    reason: "converged", "iteration_limit", "time_limit" or "numerical_error" (rounding, or non-finite numbers, prevent
        a smaller gap).
    engine: The methods that made steps: "coordinate", "newton", or "coordinate and newton".
    gap: The relative gap of (w, b) and α over all rows, as the run measures it.
    """

    w: FloatArray
    b: float
    alpha: FloatArray
    iterations: int
    reason: StopReason
    engine: str = "newton"
    gap: float = float("inf")


def solve_linear(
    X: Matrix | RowSource,
    y: FloatArray,
    C: float | FloatArray | RowLosses,
    *,
    intercept: Intercept = "free",
    total: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 3000,
    time_limit: float | None = None,
    verbose: bool = False,
    start: tuple[FloatArray, float, FloatArray] | None = None,
    engine: Engine = "auto",
    progress: Callable[[SolveProgress], None] | None = None,
) -> LinearSolution:
    """Solve (LIN.1) to a relative gap of `tol`.

    y: ±1 by class, or 1 for every row of a regression and of novelty detection.
    C: The penalties of hinges, or the losses of the rows.
    total: Required yᵀα.
    max_iter: Limit of the iterations, as they are counted in `LinearSolution`.
    start: w, b and α.
    engine: As in `Engine`.

    Shapes: X (n, d), y (n,), C (n,). Raises ParameterError, DataError.
    """
    if intercept not in ("free", "penalised", None):
        raise ParameterError(f"intercept must be 'free', 'penalised' or None, got {intercept!r}")
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if not tol > 0:
        raise ParameterError(f"tol must be positive, got {tol!r}")
    with np.errstate(all="ignore"):  # non-finite values are detected, and end the run
        y = np.asarray(y, dtype=np.float64)
        source = as_row_source(X)
        budget = Budget(max_iter, time_limit, verbose)
        losses = C if isinstance(C, RowLosses) else RowLosses(compress_constant(C))
        rows, frame = _build_rows(source, y, losses, intercept, is_centred=intercept == "free" and not total)
        losses = losses.shift_origin(frame.origin) if frame.origin else losses
        problem, first = _build_problem(rows, losses, intercept, total)
        if start is not None:
            first = _read_start(problem, start, frame)
        _set_progress(budget, rows, progress)
        may_choose = engine == "auto" and start is None
        by_coordinates = engine == "coordinate" or (may_choose and should_start_with_descent(problem))
        point, reason, used_engine = _run_engines(problem, first, tol, budget, by_coordinates)
    w, b = frame.to_caller(point.W)
    return LinearSolution(w, b, point.alpha, budget.steps, reason, used_engine, point.relative_gap)


def _build_rows(
    source: RowSource, y: FloatArray, losses: RowLosses, intercept: Intercept, is_centred: bool
) -> tuple[LabelScaledRows, _CoordinateFrame]:
    """Return the rows in the coordinates of the solve, and the map from these."""
    unit = 0.0 if intercept is None else 1.0
    reduction = reduce_wide(source.memory_matrix, is_centred)
    if reduction is None:
        rows, mean = build_label_scaled_rows(source, y, unit, is_centred)
    else:
        rows = LabelScaledRows(as_row_source(reduction.L), y, unit)
        mean = reduction.mean
    origin = losses.median_level if is_centred and bool((y > 0.0).all()) else 0.0
    return rows, _CoordinateFrame(mean, reduction, origin, intercept is not None)


def _build_problem(
    rows: LabelScaledRows, losses: RowLosses, intercept: Intercept, total: float
) -> tuple[RowProblem, LinearStart]:
    """Build (ALM.1) for (LIN.1), and a start."""
    problem = RowProblem.from_rows(rows, losses, intercept == "free")
    if total:
        return _add_sum_constraint(problem, total)
    return problem, _build_start(problem, intercept)


def _build_start(problem: RowProblem, intercept: Intercept) -> LinearStart:
    """Start at W = (0, mean ℓy), or (0, 0) if levels are centred, and a = 0."""
    rows, losses = problem.rows, problem.losses
    W = np.zeros(rows.d + 1)
    if losses.is_one_sided and intercept is not None:
        W[-1] = compute_mean(losses.level * rows.y)
    return LinearStart(W, None, losses.first_sigma)


def _add_sum_constraint(problem: RowProblem, total: float) -> tuple[RowProblem, LinearStart]:
    """Return (ALM.1) with yᵀα = `total`, and a start: each α at the same share of its bound, and b a quantile.

    The levels may all be 0: then the unit of r is the interquartile range of the residuals at this start.
    """
    rows, losses = problem.rows, problem.losses
    offset = problem.offset.copy()
    offset[-1] = -total
    W = np.zeros(rows.d + 1)
    alpha = np.zeros(rows.n)
    positive = bool(rows.y[0] > 0.0)
    bound = np.broadcast_to(losses.high if (total > 0.0) == positive else losses.low, rows.n)
    max_sum = float(bound @ rows.y)
    if max_sum and np.isfinite(max_sum):
        share = min(total / max_sum, 1.0)
        alpha = share * bound
        W = rows.gradient(alpha)
        W[-1] = 0.0
        residual = rows.y * losses.compute_residuals(rows.margins(W))
        low, W[-1], high = np.quantile(residual, [0.25, 1.0 - share if positive else share, 0.75])
        losses = replace(losses, unit=float(high - low) or float(np.abs(residual).max()) or None)
    constrained = replace(problem, losses=losses, offset=offset)
    return constrained, LinearStart(W, alpha, losses.warm_sigma)


def _run_engines(
    problem: RowProblem, first: LinearStart, tol: float, budget: Budget, by_coordinates: bool
) -> tuple[LinearPoint, StopReason, str]:
    """Run descent if `by_coordinates`, then Newton steps if needed.

    Returns the best pair, the reason to stop, and the engines that made steps.
    """
    descent_point = find_descent_point(problem, tol, budget) if by_coordinates else None
    if descent_point is not None:
        reason = "converged" if descent_point.relative_gap <= tol else budget.find_stop_reason()
        if reason == "converged" and tol <= DEFAULT_TOL:
            descent_point = _finish_by_newton(problem, descent_point, budget, is_newton_cheap(problem))
        if reason is not None:
            return descent_point, reason, "coordinate"
        first = as_start(problem, descent_point)
    point, reason, used_engine = _run_newton(problem, first, tol, budget)
    if reason == "converged" and tol <= DEFAULT_TOL:
        point = _finish_by_newton(problem, point, budget, False)
    if descent_point is None:
        return point, reason, used_engine
    best = descent_point if descent_point.relative_gap < point.relative_gap else point
    return best, reason, "coordinate and newton"


def _finish_by_newton(problem: RowProblem, pair: LinearPoint, budget: Budget, to_rounding: bool) -> LinearPoint:
    """Take a few Newton steps from a good pair of a smooth loss, and return the better pair.

    The goal is rounding if `to_rounding`, else ‖w − Σ α_i y_i x_i‖ ≤ `STATIONARITY_TOL` ‖w‖: the gap does not ensure
    it, because the difference contributes only ½‖w − w(α)‖² to the gap, a negligible share of P if C is large.
    """
    if not (problem.losses.has_infinite_bound or np.any(problem.losses.curvature)):
        return pair
    goal = ROUNDING_GOAL
    w = pair.W[:-1]
    if not to_rounding:
        difference = w - problem.rows.gradient(pair.alpha)[:-1]
        if difference @ difference <= STATIONARITY_TOL**2 * float(w @ w):
            return pair
        size = max(abs(pair.dual + pair.gap), abs(pair.dual))
        goal = max(0.5 * STATIONARITY_TOL**2 * float(w @ w) / size, ROUNDING_GOAL)
    if pair.relative_gap <= goal:
        return pair
    max_steps = budget.max_steps
    if max_steps is None:
        budget.max_steps = budget.steps + FEW_STEPS
    else:
        budget.max_steps = min(max_steps, budget.steps + FEW_STEPS)
    refined = _run_newton(problem, as_start(problem, pair), goal, budget)[0]
    budget.max_steps = max_steps
    return refined if refined.relative_gap < pair.relative_gap else pair


def _run_newton(
    problem: RowProblem, first: LinearStart, tol: float, budget: Budget
) -> tuple[LinearPoint, StopReason, str]:
    """Run only Newton steps: on the primal of squared losses; else on bands of rows, if there are many rows.

    If a bound is infinite, there are no bands, as far rows never reach one; many rows start from subsamples.
    """
    has_many_rows = is_large(problem.rows.n, problem.rows.d)
    if has_many_rows and not problem.losses.has_infinite_bound:
        return *solve_large(problem, first, tol, budget), "newton"
    start = improve_start(problem, first, budget) if has_many_rows else first
    if has_squared_losses(problem):
        point = certify_pair(problem, minimise_squared(problem, start, budget))
        reason = "converged" if point.relative_gap <= tol else budget.find_stop_reason()
        if reason is not None:
            return point, reason, "newton"
    return *AugmentedLagrangian(problem, start, budget).run(tol), "newton"


@dataclass(frozen=True, eq=False)
class _CoordinateFrame:
    """Maps between the caller's w (d,) and b, and W in the coordinates of the rows.

    mean (d,): μ, or None for 0.
    origin: The level that was subtracted from those of a regression.
    """

    mean: FloatArray | None
    reduction: WideReduction | None
    origin: float
    has_intercept: bool

    def to_rows(self, w: FloatArray, b: float) -> FloatArray:
        """Convert to W."""
        b += (0.0 if self.mean is None else float(self.mean @ w)) - self.origin
        w = w if self.reduction is None else self.reduction.project(w)
        return np.append(w, b if self.has_intercept else 0.0)

    def to_caller(self, W: FloatArray) -> tuple[FloatArray, float]:
        """Convert to w and b."""
        if self.reduction is None:
            w = W[:-1].copy()
        else:
            w = self.reduction.expand(W[:-1])
        if not self.has_intercept:
            return w, 0.0
        return w, float(W[-1]) - (0.0 if self.mean is None else float(self.mean @ w)) + self.origin


def _set_progress(budget: Budget, rows: LabelScaledRows, progress: Callable[[SolveProgress], None] | None) -> None:
    """Log the progress of the run, and pass it to the callback `progress` if given."""
    total = rows.n

    def report(stage: str, gap: float) -> None:
        log_progress(stage, gap, rows.passes, total)
        if progress is not None:
            progress(SolveProgress(stage, rows.passes, total, gap, budget.clock.seconds))

    budget.on_progress = report


def _read_start(
    problem: RowProblem, start: tuple[FloatArray, float, FloatArray], frame: _CoordinateFrame
) -> LinearStart:
    """Return the caller's w, b and α in the coordinates of the rows."""
    rows, losses = problem.rows, problem.losses
    w = as_finite_vector(start[0], "start[0], w,", rows.d if frame.reduction is None else frame.reduction.width)
    alpha = losses.clip_to_box(as_finite_vector(start[2], "start[2], alpha,", rows.n))
    return LinearStart(frame.to_rows(w, as_real(start[1], "start[1], b,")), alpha, losses.warm_sigma)
