"""Solve linear ε-SVRs together: Newton steps for squared losses, else coordinate descent.

    (BULK.5)  a sample is two rows, of signs ±1 and levels ±t − ε, with α⁺ = max(β, 0) and α⁻ = max(−β, 0)

What descent gives up (`DescentPace`), and what the bounds do not certify, goes on as any problem does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.own.row_descent import DescentRows, RowDescent, is_descent_suitable
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.bounds.certificate import middle
from qpsvm.machines.epsilon_svr import EpsilonSVR
from qpsvm.many.multiclass.bulk import MachinePoints, build_bounded_points, has_default_options
from qpsvm.many.multiclass.gap_bounds import bound_gaps
from qpsvm.many.multiclass.newton import AffineRows, is_worthwhile, minimise_by_newton
from qpsvm.many.multiclass.one_by_one import solve_machine
from qpsvm.many.multiclass.split import REST
from qpsvm.many.multiclass.stack import Stack
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.losses import Loss, compress_constant
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import NO_INFORMATION, Caveat
from qpsvm.result.svm_result import SVMResult


def can_solve_regression(problem: EpsilonSVR, options: Mapping[str, Any]) -> bool:
    """Whether this road takes the problem: samples in memory that count alike, and nothing asked but a tolerance."""
    samples = problem.samples
    if not problem.space.is_linear or problem.space.samples.memory_matrix is None:
        return False
    X = problem.space.samples.memory_matrix
    asked = problem.constraints or not has_default_options(options) or options.get("time_limit") is not None
    alike = bool((samples.weight == 1.0).all()) and len(samples.weight) > 0
    return alike and not asked and ((problem.loss == "squared" and is_worthwhile(X)) or is_descent_suitable(*X.shape))


@dataclass(frozen=True, eq=False)
class RegressionPoint:
    """A point: β (n,), the w (d,) and b that the caller gets, its certified gap, and who made it in so many steps."""

    beta: FloatArray
    w: FloatArray
    b: float
    gap: float
    iterations: int
    solver: Solver

    @property
    def alpha(self) -> FloatArray:
        """α (2n,) of (BULK.5)."""
        return np.concatenate([np.maximum(self.beta, 0.0), np.maximum(-self.beta, 0.0)])


class RegressionSolver:
    """A problem, and its rows as the bounds see them."""

    def __init__(self, problem: EpsilonSVR) -> None:
        t, C, self.squared = problem._active_target, problem.C, problem.loss == "squared"
        n = len(t)
        upper, bend = (np.full(n, np.inf), 0.5 / C) if self.squared else (C, np.zeros(n))
        self.problem, self.Z = problem, problem.space.rows.matrix()
        self.stack = Stack(
            np.zeros((1, 2), dtype=np.intp), np.full((1, 2), n), np.array([0, 2 * n]), np.repeat([1.0, -1.0], n),
            np.tile(upper, 2), np.tile(bend, 2), level=np.concatenate([t - problem.epsilon, -t - problem.epsilon]),
        )  # fmt: skip
        self.losses = Loss(
            compress_constant(upper), t, compress_constant(-upper), problem.epsilon, compress_constant(bend)
        )

    def solve_by_newton(self) -> RegressionPoint | None:
        """By (SQNEWTON.2); None where it does not end."""
        free, kept = self.problem.intercept == "free", self.problem.intercept is not None
        Z, weight = (
            AffineRows(self.Z, kept),
            np.broadcast_to(1.0 / np.asarray(self.losses.curvature), len(self.problem.C)),
        )
        penalty = np.ones(Z.width)
        if free:
            penalty[-1] = 0.0
        solved = minimise_by_newton(Z, np.ones(Z.n), self.losses, weight, penalty)
        if solved is None:
            return None
        v, steps = solved
        beta = weight * self.losses.compute_tube_excess(self.losses.compute_residuals(Z.multiply(v)))
        return self._certify_point(beta, float(v[-1]) if free else None, steps, "primal newton")

    def solve_by_descent(self, tol: float) -> RegressionPoint:
        """By coordinate descent, about the middle of the levels where b is free; to a finer goal where it is not yet
        certified."""
        problem, losses, ones = self.problem, self.losses, np.ones(self.Z.shape[0])
        origin = float(np.median(problem._active_target)) if problem.intercept == "free" else 0.0
        rows = DescentRows(self.Z)
        machine = RowDescent(rows, ones, losses.shift_origin(origin), problem.intercept, tol)
        for _ in range(rows.MAX_GOALS):
            made = self._certify_point(machine.alpha, machine.b + origin, machine.iterations, "coordinate descent")
            if not machine.converged or not tol < made.gap < np.inf:
                break
            machine.continue_to_goal(0.5 * tol / made.gap)
        return made

    def _certify_point(self, beta: FloatArray, free: float | None, steps: int, name: str) -> RegressionPoint:
        """Certify a point with its w and the best b; `free` is b of a squared loss where it is free."""
        stack, problem, space, Z = self.stack, self.problem, self.problem.space, self.Z
        w = np.asarray(Z.T @ beta)
        f = np.tile(np.asarray(Z @ w), 2)
        b = 0.0
        if problem.intercept == "penalised":
            b = float(np.add.reduce(beta))
        elif problem.intercept == "free" and self.squared:
            b = 0.0 if free is None else free
        elif problem.intercept == "free":
            assert stack.level is not None
            ends = stack.sign * stack.level - f
            b = middle(*find_quantile_interval(ends, stack.upper, float(stack.upper[: len(beta)].sum())))
        alpha = np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        found = MachinePoints(alpha, f, np.array([b]), np.ones(1), w[None, :])
        own, points = build_bounded_points(space, stack, found)
        gap = float(bound_gaps(stack, points, problem.intercept)[0])
        return RegressionPoint(beta, w, float(own[0]), gap, steps, Solver(name, find_library_version(), "converged"))


def solve_regression(problem: EpsilonSVR, tol: float) -> BinaryMachines:
    """Solve it.

    Raises QPSVMError.
    """
    with np.errstate(all="ignore"), limit_blas_threads():  # what is not finite is not certified
        road = RegressionSolver(problem)
        made = road.solve_by_newton() if road.squared and is_worthwhile(road.Z) else None
        if (made is None or not made.gap <= tol) and is_descent_suitable(*road.Z.shape):
            made = road.solve_by_descent(tol)
    if made is None or not made.gap <= tol:
        start = None if made is None or not np.isfinite(made.alpha).all() else made.alpha
        return as_single_result(solve_machine(problem, start, {"tol": tol}))
    coef, recorded = _as_row(made.beta), LazyResults(1, RegressionResultBuilder(problem, made, tol))
    ends = problem.samples.target_range
    varied = ends is not None and ends[0] < ends[1]
    caveats = (NO_INFORMATION,) if varied and not made.w.any() else ()
    return _build_machines(
        coef, made.w, made.b, made.gap, caveats, Status.OPTIMAL, made.iterations, made.solver, "", recorded
    )


def as_single_result(result: SVMResult) -> BinaryMachines:
    """The result of a problem that was solved as any other."""
    coef, recorded = _as_row(result.coef), LazyResults(1, None, {0: result})
    assert result.w is not None  # the kernel is linear
    return _build_machines(
        coef, result.w, result.b, result.gap, result.caveats, result.status, result.iterations or 0, result.solver,
        result.message, recorded,
    )  # fmt: skip


def _as_row(beta: FloatArray) -> sp.csr_array:
    """β (n,) as (1, n)."""
    kept = beta.nonzero()[0]
    return sp.csr_array((beta[kept], kept, np.array([0, len(kept)])), shape=(1, len(beta)))


def _build_machines(
    coef: sp.csr_array, w: FloatArray, b: float, gap: float, caveats: tuple[Caveat, ...], status: Status, steps: int,
    solver: Solver, message: str, results: LazyResults,
) -> BinaryMachines:  # fmt: skip
    return BinaryMachines(
        classes=np.empty(0), machines=np.array([(0, REST)]), coef=coef, b=np.array([b]), rho=np.ones(1), w=w[None, :],
        gap=np.array([gap]), status=[status], iterations=np.array([steps]), solver=solver, message=message,
        results=results, caveats=caveats,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RegressionResultBuilder:
    """Makes the result from its α, as `bulk.BulkResultBuilder` does."""

    problem: EpsilonSVR
    point: RegressionPoint
    tol: float

    def __call__(self, p: int) -> SVMResult:
        """The same α as a result, certified again with all that `solve` has; one near it where that says no."""
        del p
        problem, made = self.problem, self.point
        result: SVMResult = problem.at(made.alpha, self.tol)
        if result.status is not Status.OPTIMAL:
            return solve_machine(problem, made.alpha, {"tol": self.tol})
        return replace(result, backend=made.solver.name, solver=made.solver, iterations=made.iterations)


__all__ = ["as_single_result", "can_solve_regression", "solve_regression"]
