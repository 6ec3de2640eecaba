"""Gather the points of many two-class machines into one result (`gather_machines`), and bound their rounding errors.

Shapes: P is the number of machines, M the number of their rows in total (`Stack`), n that of all samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import multiply_double_double
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.many.multiclass.gap_bounds import BoundedPoints, build_kernel_points, build_linear_points
from qpsvm.many.multiclass.one_by_one import limit_time, solve_machine
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import Stack
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import NO_INFORMATION, Caveat, is_rounding
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.space import FeatureSpace


@dataclass(frozen=True, eq=False)
class MachinePoints:
    """The points of all P machines.

    alpha, u (M,): α, and f without the intercept.
    b, rho (P,): The intercept in the coordinates of the rows, and the margin, which is 1 except in a ν-SVM.
    W (P, d): The weight vectors if the kernel is linear, else None.
    """

    alpha: FloatArray
    u: FloatArray
    b: FloatArray
    rho: FloatArray
    W: FloatArray | None


def build_bounded_points(space: FeatureSpace, stack: Stack, points: MachinePoints) -> tuple[FloatArray, BoundedPoints]:
    """Return the intercepts (P,) in the caller's coordinates, and the points with bounds on their rounding errors."""
    accuracy = Accuracy(space)
    row_norms = accuracy.bound_norms(np.arange(space.n))[stack.positions]
    if points.W is None:
        bounded = build_kernel_points(stack, points.alpha, points.u, points.b, points.rho, row_norms, accuracy.epsilon)
        return points.b, bounded
    b, intercepts = convert_intercepts(space, points.W, points.b)
    width = space.samples.longest_row
    return b, build_linear_points(stack, points.alpha, points.u, intercepts, points.rho, points.W, row_norms, width)


def convert_intercepts(
    space: FeatureSpace, W: FloatArray, b: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Convert intercepts (P,), given w (P, d), to the caller's coordinates, as `FeatureSpace.build_hyperplane` does.

    Returns these and, as they are rounded, the same converted back to the coordinates of the rows, with error bounds.
    """
    if space.origin is None:
        return b, (b, np.zeros(len(b)))
    caller_b = -multiply_double_double(np.column_stack([W, b]), np.append(space.origin, -1.0))[0]
    return caller_b, multiply_double_double(np.column_stack([W, caller_b]), np.append(space.origin, 1.0))


def gather_machines(
    split: Split,
    stack: Stack,
    points: MachinePoints,
    b: FloatArray,
    gaps: FloatArray,
    iterations: IntArray,
    tol: float,
    deadline: float | None,
    solver: Solver,
) -> BinaryMachines:
    """Gather the machines into one result; those whose gap exceeds `tol` are solved one by one first.

    b: The intercepts (P,) in the caller's coordinates.
    gaps, iterations (P,): The certified gaps, and the iterations; changed in place for machines solved one by one, as
        `points` are.
    deadline: In seconds of `time.monotonic`, or None.
    """
    beta, b = points.alpha * stack.sign, b.copy()
    solved: dict[int, SVMResult] = {}
    uncertain = np.flatnonzero(~(gaps <= tol)).tolist()
    for n_solved, p in enumerate(uncertain):
        part = stack.row_slice(p)
        start = points.alpha[part] if np.isfinite(points.alpha[part]).all() else None
        options = limit_time({"tol": tol}, deadline, len(uncertain) - n_solved)
        solved[p] = result = solve_machine(split.build_problem(p), start, options)
        beta[part], b[p], gaps[p], iterations[p] = result.coef, result.b, result.gap, result.iterations or 0
        points.rho[p] = result.rho
        if points.W is not None:
            points.W[p] = result.w
    coef = _build_coef(split, stack, beta)
    build = BulkResultBuilder(replace(split, space_cache={}), coef, solver, iterations, tol)
    messages = (f"{split.describe_machine(p)}: {result.message}" for p, result in solved.items() if result.message)
    return BinaryMachines(
        classes=split.labels,
        machines=split.pairs,
        coef=coef,
        b=b,
        rho=points.rho,
        w=points.W,
        gap=gaps,
        status=[solved[p].status if p in solved else Status.OPTIMAL for p in range(stack.n_machines)],
        iterations=iterations,
        solver=solver,
        message="; ".join(messages),
        results=LazyResults(stack.n_machines, build, solved),
        caveats=_list_caveats(split, stack, points, beta, solved),
    )


def _list_caveats(
    split: Split, stack: Stack, points: MachinePoints, beta: FloatArray, solved: Mapping[int, SVMResult]
) -> tuple[Caveat, ...]:
    """List the caveats of the machines `solved` one by one, and one for each other machine whose w is 0."""
    if points.W is not None:
        is_zero = ~points.W.any(axis=1)
    else:  # w is 0 if ‖w‖² = Σβ_i u_i is only rounding
        starts = stack.row_offsets[:-1]
        squares, masses = (np.add.reduceat(values, starts) for values in (beta * points.u, np.abs(beta)))
        is_zero = is_rounding(squares, masses, stack.row_counts, split.active_space.scale)
    caveats = [caveat for result in solved.values() for caveat in result.caveats]
    return (*caveats, *(NO_INFORMATION for p in np.flatnonzero(is_zero).tolist() if p not in solved))


def _build_coef(split: Split, stack: Stack, beta: FloatArray) -> sp.csr_array:
    """Return the coefficients β (M,) of all machines over the caller's rows, (P, n)."""
    support = beta.nonzero()[0]
    coef = sp.csr_array(
        (beta[support], split.order[stack.positions[support]], np.searchsorted(support, stack.row_offsets)),
        shape=(stack.n_machines, split.n),
    )
    coef.sort_indices()
    return coef


@dataclass(frozen=True, eq=False)
class BulkResultBuilder:
    """Builds the result of a machine from its coefficients, as `LazyResults` asks for it; no Gram matrix is stored."""

    split: Split
    coef: sp.csr_array
    solver: Solver
    iterations: IntArray
    tol: float

    def __call__(self, p: int) -> SVMResult:
        """Return the result of machine p at its α, certified again.

        The certificate is about (α, w, b), and b is computed again. If rounding in α changes it by too much, the
        problem is solved from this α.
        """
        positions, _ = self.split.locate_rows(p)
        beta = self.coef[[p]].toarray()[0]
        problem, alpha = self.split.build_problem(p), np.abs(beta[self.split.order[positions]])
        result = problem.at(alpha, self.tol)
        if result.status is not Status.OPTIMAL:
            return solve_machine(problem, alpha, {"tol": self.tol})
        return replace(result, backend=self.solver.name, solver=self.solver, iterations=int(self.iterations[p]))
