"""Solve linear ε-SVRs by Newton steps for squared losses, else by coordinate descent (`solve_regression`).

`gap_bounds` certifies the point as that of a classification, in which

    (BULK.5)  a sample with target t is two rows, of signs ±1 and levels ±t − ε, with α⁺ = max(β, 0), α⁻ = max(−β, 0)

ε is the half-width of the tube and β the coefficient of the sample. If no method reaches the tolerance, `qpsvm.solve`
solves the problem, warm-started at the last point.

Shapes: n samples, d features; u is f without the intercept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.own.row_descent import DescentRows, RowDescent, is_descent_suitable
from qpsvm.backends.own.row_newton import is_newton_suitable, minimise_over_rows
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.bounds.certificate import find_middle
from qpsvm.machines.epsilon_svr import EpsilonSVR
from qpsvm.many.multiclass.bulk import has_default_options
from qpsvm.many.multiclass.gap_bounds import MachinePoints, bound_gaps
from qpsvm.many.multiclass.gather import build_bounded_points
from qpsvm.many.multiclass.one_by_one import solve_machine
from qpsvm.many.multiclass.split import REST
from qpsvm.many.multiclass.stack import Stack
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.losses import Loss, compress_constant
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import NO_INFORMATION, Caveat
from qpsvm.result.svm_result import SVMResult


def can_solve_regression(problem: EpsilonSVR, options: Mapping[str, Any]) -> bool:
    """Return whether `solve_regression` supports the problem, and is estimated to be fast.

    It needs samples in memory with weights of 1, no linear constraints, and no options but a tolerance.
    """
    if not problem.space.is_linear or problem.space.samples.memory_matrix is None:
        return False
    X = problem.space.samples.memory_matrix
    weight = problem.samples.weight
    is_unlimited = has_default_options(options) and options.get("time_limit") is None
    has_unit_weights = bool((weight == 1.0).all()) and len(weight) > 0
    is_fast = (problem.loss == "squared" and is_newton_suitable(X)) or is_descent_suitable(*X.shape)
    return has_unit_weights and not problem.constraints and is_unlimited and is_fast


def solve_regression(problem: EpsilonSVR, tol: float) -> BinaryMachines:
    """Solve a regression that `can_solve_regression` accepts; the result has the form of one machine.

    Raises QPSVMError.
    """
    point = _find_point(problem, tol)
    if point is None or not point.gap <= tol:
        if point is not None and np.isfinite(point.alpha).all():
            start = point.alpha
        else:
            start = None
        return as_single_result(solve_machine(problem, start, {"tol": tol}))
    target_range = problem.samples.target_range
    has_varied_targets = target_range is not None and target_range[0] < target_range[1]
    results = LazyResults(1, RegressionResultBuilder(problem, point, tol))
    caveats = (NO_INFORMATION,) if has_varied_targets and not point.w.any() else ()
    return _build_single_machine(point, results, Status.OPTIMAL, "", caveats)


def as_single_result(result: SVMResult) -> BinaryMachines:
    """Convert a result of `qpsvm.solve` to the form of one machine."""
    assert result.w is not None  # the kernel is linear
    point = RegressionPoint(result.coef, result.w, result.b, result.gap, result.iterations or 0, result.solver)
    results = LazyResults(1, None, {0: result})
    return _build_single_machine(point, results, result.status, result.message, result.caveats)


def _find_point(problem: EpsilonSVR, tol: float) -> RegressionPoint | None:
    """Return the point of Newton steps, or of descent if that gap exceeds the tolerance; None if neither is suited."""
    with np.errstate(all="ignore"), limit_blas_threads():  # a point that is not finite is not certified
        solver = RegressionSolver(problem)
        if solver.is_squared and is_newton_suitable(solver.Z):
            point = solver.solve_by_newton()
        else:
            point = None
        if (point is None or not point.gap <= tol) and is_descent_suitable(*solver.Z.shape):
            point = solver.solve_by_descent(tol)
    return point


@dataclass(frozen=True, eq=False)
class RegressionPoint:
    """A certified point of a regression.

    beta (n,): The coefficients β.
    w (d,), b: The hyperplane in the caller's coordinates.
    gap: The certified relative gap.
    iterations, solver: The number of iterations, and the solver that ran them.
    """

    beta: FloatArray
    w: FloatArray
    b: float
    gap: float
    iterations: int
    solver: Solver

    @property
    def alpha(self) -> FloatArray:
        """α of (BULK.5): (2n,)."""
        return _split_signs(self.beta)


class RegressionSolver:
    """Solves a regression by one of two methods, and certifies the point.

    Z (n, d): The samples in the coordinates of the feature space.
    stack: The rows of (BULK.5): those with sign 1, then those with sign −1.
    losses: The loss of each sample.
    """

    def __init__(self, problem: EpsilonSVR) -> None:
        self.problem = problem
        self.Z = problem.space.rows.matrix()
        self.is_squared = problem.loss == "squared"
        target = problem._active_target
        n = len(problem._active_target)
        if self.is_squared:
            upper = np.full(n, np.inf)
            curvature = 0.5 / problem.C
        else:
            upper = problem.C
            curvature = np.zeros(n)
        self.stack = Stack(
            slice_starts=np.zeros((1, 2), dtype=np.intp), slice_lengths=np.full((1, 2), n),
            row_offsets=np.array([0, 2 * n]), sign=np.repeat([1.0, -1.0], n), upper=np.tile(upper, 2),
            curvature=np.tile(curvature, 2),
            level=np.concatenate([target - problem.epsilon, -target - problem.epsilon]),
        )  # fmt: skip
        self.losses = Loss(
            high=compress_constant(upper), level=target, low=compress_constant(-upper), tube=problem.epsilon,
            curvature=compress_constant(curvature),
        )  # fmt: skip

    def solve_by_newton(self) -> RegressionPoint:
        """Solve a squared loss by (SQNEWTON.2)."""
        point = minimise_over_rows(
            self.problem.space.rows, np.ones(self.Z.shape[0]), self.losses, self.problem.intercept
        )
        return self._certify_point(point.multipliers, point.b, point.steps, "primal newton")

    def solve_by_descent(self, tol: float) -> RegressionPoint:
        """Solve by coordinate descent, and continue to a finer goal while the gap exceeds the tolerance.

        For a free intercept, targets are shifted by their median.
        """
        problem = self.problem
        signs = np.ones(self.Z.shape[0])
        rows = DescentRows(self.Z)
        if problem.intercept == "free":
            origin = float(np.median(problem._active_target))
        else:
            origin = 0.0
        descent = RowDescent(rows, signs, self.losses.shift_origin(origin), problem.intercept, tol)
        for _ in range(rows.MAX_GOALS):
            point = self._certify_point(descent.alpha, descent.b + origin, descent.iterations, "coordinate descent")
            if not descent.converged or not tol < point.gap < np.inf:
                break
            descent.continue_to_goal(0.5 * tol / point.gap)  # half, as the loop only estimates the gap
        return point

    def _certify_point(self, beta: FloatArray, solver_b: float, iterations: int, solver_name: str) -> RegressionPoint:
        """Certify β (n,) with its w and the best intercept, as in `_find_intercept`."""
        w = np.asarray(self.Z.T @ beta)
        u = np.tile(np.asarray(self.Z @ w), 2)
        b = self._find_intercept(beta, u, solver_b)
        points = MachinePoints(_split_signs(beta), u, np.array([b]), np.ones(1), w[None, :])
        caller_b, bounded = build_bounded_points(self.problem.space, self.stack, points)
        gap = float(bound_gaps(self.stack, bounded, self.problem.intercept)[0])
        solver = Solver(solver_name, find_library_version(), "converged")
        return RegressionPoint(beta, w, float(caller_b[0]), gap, iterations, solver)

    def _find_intercept(self, beta: FloatArray, u: FloatArray, solver_b: float) -> float:
        """Return the best intercept for β (n,) and u (2n,); the solver's if it is free and the loss squared."""
        stack = self.stack
        intercept = self.problem.intercept
        if intercept == "penalised":
            return float(np.add.reduce(beta))
        if intercept is None:
            return 0.0
        if self.is_squared:
            return solver_b
        assert stack.level is not None
        ends_of_tubes = stack.sign * stack.level - u
        return find_middle(*find_quantile_interval(ends_of_tubes, stack.upper, float(stack.upper[: len(beta)].sum())))


@dataclass(frozen=True, eq=False)
class RegressionResultBuilder:
    """Builds the `SVMResult` of a regression from its α, as `gather.BulkResultBuilder` does."""

    problem: EpsilonSVR
    point: RegressionPoint
    tol: float

    def __call__(self, p: int) -> SVMResult:
        """Return the result at α, certified again as by `solve`; if that fails, solve, warm-started at α."""
        del p  # there is one machine
        result: SVMResult = self.problem.at(self.point.alpha, self.tol)
        if result.status is not Status.OPTIMAL:
            return solve_machine(self.problem, self.point.alpha, {"tol": self.tol})
        return replace(
            result, backend=self.point.solver.name, solver=self.point.solver, iterations=self.point.iterations
        )


def _build_single_machine(
    point: RegressionPoint, results: LazyResults, status: Status, message: str, caveats: tuple[Caveat, ...]
) -> BinaryMachines:
    """Build the result of one machine."""
    beta = point.beta
    support = beta.nonzero()[0]
    coef = sp.csr_array((beta[support], support, np.array([0, len(support)])), shape=(1, len(beta)))
    return BinaryMachines(
        classes=np.empty(0), machines=np.array([(0, REST)]), coef=coef, b=np.array([point.b]), rho=np.ones(1),
        w=point.w[None, :], gap=np.array([point.gap]), status=[status], iterations=np.array([point.iterations]),
        solver=point.solver, message=message, results=results, caveats=caveats,
    )  # fmt: skip


def _split_signs(beta: FloatArray) -> FloatArray:
    """Return (α⁺, α⁻) of (BULK.5), (2n,), given β (n,)."""
    return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])


__all__ = ["as_single_result", "can_solve_regression", "solve_regression"]
