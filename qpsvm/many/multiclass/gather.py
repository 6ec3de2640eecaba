"""Gather the solutions of many two-class machines into one result (`gather_machines`).

`build_bounded_points` bounds the rounding of all points. There are P machines, and samples have three numberings:

    samples      n of the caller
    active rows  r in the order of `Split.order` (r,), which holds their samples; `Split.active_space` is over these
    rows         M in total, one machine after the other, `Stack`; `Stack.positions` (M,) holds their active rows

Active rows are centred if the kernel is linear, for accuracy: f(x) = ⟨w, x − o⟩ + b = ⟨w, x⟩ + (b − ⟨w, o⟩).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import multiply_double_double
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.many.multiclass.gap_bounds import BoundedPoints, MachinePoints, build_kernel_points, build_linear_points
from qpsvm.many.multiclass.one_by_one import limit_time, solve_machine
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import Stack
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import NO_INFORMATION, is_rounding
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.space import FeatureSpace


@dataclass(frozen=True, eq=False)
class CertifiedPoints:
    """The primal-dual pairs of all P machines, with bounds on their gaps.

    caller_b, gaps, iterations (P,): The intercepts for the caller's samples, the certified gaps, and the iterations.
    """

    points: MachinePoints
    caller_b: FloatArray
    gaps: FloatArray
    iterations: IntArray
    solver: Solver


def build_bounded_points(space: FeatureSpace, stack: Stack, points: MachinePoints) -> tuple[FloatArray, BoundedPoints]:
    """Return the intercepts (P,) for the caller's samples, and the points with bounds on their rounding errors."""
    accuracy = Accuracy(space)
    row_norms = accuracy.bound_norms(np.arange(space.n))[stack.positions]
    if points.W is None:
        return points.b, build_kernel_points(stack, points, row_norms, accuracy.epsilon)
    caller_b, row_b = convert_intercepts(space, points.W, points.b)
    return caller_b, build_linear_points(stack, points, row_b, row_norms, space.samples.longest_row)


def convert_intercepts(
    space: FeatureSpace, W: FloatArray, b: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Convert the intercepts b (P,) of centred rows to the caller's samples, given w (P, d).

    Returns caller_b = b − ⟨w, o⟩, which is rounded, and the pair of caller_b + ⟨w, o⟩ and its error bounds: (P,) each.
    The gap is bounded for the latter, as caller_b is what the result contains; see `FeatureSpace.build_hyperplane`.
    """
    if space.origin is None:
        return b, (b, np.zeros(len(b)))
    # −(⟨w, o⟩ + b·(−1)) and ⟨w, o⟩ + caller_b·1, each in double-double
    caller_b = -multiply_double_double(np.column_stack([W, b]), np.append(space.origin, -1.0))[0]
    return caller_b, multiply_double_double(np.column_stack([W, caller_b]), np.append(space.origin, 1.0))


def gather_machines(
    split: Split, stack: Stack, certified: CertifiedPoints, tol: float, deadline: float | None = None
) -> BinaryMachines:
    """Gather the machines into one result; those whose gap exceeds `tol` are solved one by one first.

    These replace their entries of ρ, W, gaps and iterations in place; α, b and u of the points stay as they were.

    deadline: In seconds of `time.monotonic`; None for none.
    """
    points = certified.points
    gaps = certified.gaps
    iterations = certified.iterations
    beta = points.alpha * stack.sign
    b = certified.caller_b.copy()
    is_zero = _find_zero_weights(split, stack, points, beta)
    solved: dict[int, SVMResult] = {}
    uncertain = np.flatnonzero(~(gaps <= tol)).tolist()  # NaN, too
    for n_solved, p in enumerate(uncertain):
        part = stack.get_row_slice(p)
        start = points.alpha[part] if np.isfinite(points.alpha[part]).all() else None
        options = limit_time({"tol": tol}, deadline, len(uncertain) - n_solved)
        solved[p] = result = solve_machine(split.build_problem(p), start, options)
        beta[part] = result.coef
        b[p] = result.b
        gaps[p] = result.gap
        iterations[p] = result.iterations or 0
        points.rho[p] = result.rho
        if points.W is not None:
            points.W[p] = result.w
    coef = _build_coef(split, stack, beta)
    lean_split = replace(split, space_cache={})  # results may live long, and the cached space has a Gram matrix
    build_result = BulkResultBuilder(lean_split, coef, certified.solver, iterations, tol)
    messages = (f"{split.describe_machine(p)}: {result.message}" for p, result in solved.items() if result.message)
    caveats = [caveat for result in solved.values() for caveat in result.caveats]
    caveats += [NO_INFORMATION for p in np.flatnonzero(is_zero).tolist() if p not in solved]
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
        solver=certified.solver,
        message="; ".join(messages),
        results=LazyResults(stack.n_machines, build_result, solved),
        caveats=tuple(caveats),
    )


def _find_zero_weights(split: Split, stack: Stack, points: MachinePoints, beta: FloatArray) -> NDArray[np.bool_]:
    """Return whether w of each machine is 0, up to rounding if w is implicit: (P,). Shapes: beta (M,)."""
    if points.W is not None:
        is_zero: NDArray[np.bool_] = np.asarray(~points.W.any(axis=1))
    else:
        with np.errstate(all="ignore"):  # a point that is not finite is not certified
            squares = stack.sum_by_machine(beta * points.u)  # ‖w‖² = βᵀu
            beta_sums = stack.sum_by_machine(np.abs(beta))
            is_zero = is_rounding(squares, beta_sums, stack.row_counts, split.active_space.scale)
    return is_zero


def _build_coef(split: Split, stack: Stack, beta: FloatArray) -> sp.csr_array:
    """Return the coefficients β (M,) of all machines over the caller's samples, (P, n)."""
    support = beta.nonzero()[0]
    samples = split.order[stack.positions[support]]
    indptr = np.searchsorted(support, stack.row_offsets)  # the number of nonzero β before each machine
    coef = sp.csr_array((beta[support], samples, indptr), shape=(stack.n_machines, split.n))
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
        """Return the result of machine p, certified at its α.

        `Problem.at` computes w and b from α again, so the certified gap differs from the first one by rounding. If it
        exceeds `tol`, the machine is solved with α as the start.
        """
        positions, _ = self.split.locate_rows(p)
        beta = self.coef[[p]].toarray()[0]
        problem = self.split.build_problem(p)
        alpha = np.abs(beta[self.split.order[positions]])
        result = problem.at(alpha, self.tol)
        if result.status is not Status.OPTIMAL:
            return solve_machine(problem, alpha, {"tol": self.tol})
        return replace(result, backend=self.solver.name, solver=self.solver, iterations=int(self.iterations[p]))
