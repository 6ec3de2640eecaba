"""Solve small C-SVMs and ν-SVMs of several classes in bulk (`can_solve_in_bulk`, `solve_in_bulk`).

All machines share one Gram matrix. A working-set loop finds a point of each, a linear system its exact optimum, and
`gap_bounds` certifies all of them together. If there are too many samples for one Gram matrix, each pair of classes has
its own for the loop, in single precision, and rows of it in double precision for the rest. Machines that the bounds do
not certify, and machines of many rows, are solved one by one, warm-started at their points.

Shapes: P is the number of machines, M the number of their rows in total, r the number of rows of `Split.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.base.resources.workers import run_tiles
from qpsvm.many.multiclass.exact_optimum import find_best_intercept, find_exact_point
from qpsvm.many.multiclass.gap_bounds import MachinePoints, bound_gaps, refine_kernel_points
from qpsvm.many.multiclass.gather import CertifiedPoints, build_bounded_points, gather_machines
from qpsvm.many.multiclass.loops import (
    FINE_ITERATIONS,
    FINE_LOOP_ROWS,
    choose_tolerances,
    find_max_fine_rows,
    limit_iterations,
    run_loops,
    run_single_loop,
)
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import (
    CachedRowGram,
    LinearGram,
    MachineGram,
    SharedGram,
    Stack,
    compute_penalties,
    stack_machines,
    to_nu_svms,
)
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.status import Solver
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel_blocks import KernelBlocks
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS
from qpsvm.space.kernels.psd_rule import TreatedGram, is_psd
from qpsvm.space.kernels.space import FeatureSpace

#: Rows of a machine up to which bulk solving is faster: with a linear kernel, with another kernel, and with another
#: kernel and many pairs. For more rows `qpsvm.solve` is faster, as it evaluates fewer kernel values and fewer rows.
MAX_ROWS_LINEAR, MAX_ROWS_KERNEL, MAX_ROWS_MANY_PAIRS = 600, 1200, 1500
#: With a linear kernel, an interior-point solver takes about 12 d² products per row, and bulk solving d per pair of
#: rows: up to this multiple of d rows bulk solving is faster.
MAX_ROWS_PER_FEATURE = 10
#: The machines that can be solved in bulk, with the name of the only parameter that may be set.
BULK_PARAMETERS = {"CSVM": "C", "NuSVM": "nu"}
#: Number of entries, zeros included, up to which sparse samples of a linear kernel are stored densely.
DENSE_ENTRIES = 4_000_000
#: The options of `solve` that bulk solving supports with any value, and the only value that it accepts of the others.
SUPPORTED_OPTIONS = {"tol", "check", "time_limit"}
DEFAULT_OPTIONS = {"backend": "auto", "form": None, "polish": True, "verbose": False, "max_iter": None}
#: Products of two sample values per second, a conservative estimate: if the products for the kernel and the loop, which
#: cannot be interrupted, would exceed a time limit, the machines are solved one by one.
PRODUCTS_PER_SECOND = 2e9
#: Seconds that a machine takes per entry of its Gram matrix, by which work is distributed over threads.
SECONDS_PER_ENTRY = 2e-9
#: If the exact point of a machine with at most `FINE_LOOP_ROWS` rows is not found, its loop runs again, to this share
#: of the margin, which takes less time than `qpsvm.solve`.
REPEAT_TOLERANCE = 1e-6


def has_default_options(options: Mapping[str, Any]) -> bool:
    """Return whether the options of `solve` set nothing but a tolerance, a check and a time limit."""
    return all(
        name in SUPPORTED_OPTIONS or (name in DEFAULT_OPTIONS and value == DEFAULT_OPTIONS[name])
        for name, value in options.items()
    )


def can_solve_in_bulk(split: Split, options: Mapping[str, Any]) -> bool:
    """Return whether these machines can be solved in bulk, and at least one of them is small enough for that."""
    template = split.template
    parameter = BULK_PARAMETERS.get(template.machine)
    is_supported = (
        parameter is not None
        and set(template.parameters) <= {parameter}
        and template.intercept == "free"
        and not template.constraints
    )
    return (
        is_supported
        and has_default_options(options)
        and bool((split.row_counts <= find_max_bulk_rows(split)).any())
        and _has_suitable_kernel(split)
        and _fits_time_limit(split, options.get("time_limit"))
        and core.compiled is not None
    )


@dataclass(frozen=True, eq=False)
class LoopPoints:
    """The points of all machines after their loops.

    iterations (P,): The iterations of the loop of each machine.
    is_unfinished (P,): Which points are those of the loop, so that `_finish_point` may improve them.
    build_gram: A function that returns the Gram matrix of machine p.
    """

    points: MachinePoints
    iterations: IntArray
    is_unfinished: NDArray[np.bool_]
    build_gram: Callable[[int], MachineGram]


def solve_in_bulk(split: Split, tol: float, time_limit: float | None = None) -> BinaryMachines | None:
    """Solve all machines; None if they cannot be solved in bulk. Raises QPSVMError."""
    deadline = None if time_limit is None else monotonic() + time_limit
    stack = _build_stack(split)
    with np.errstate(all="ignore"), limit_blas_threads():  # a point that is not finite is not certified
        space = split.active_space
        if not _has_psd_gram(space):
            return None
        if split.has_separate_grams:
            looped = _loop_separately(split, stack, space)
        else:
            looped = _loop_over_shared_gram(split, stack, space)
        b, gaps = _certify_loop_points(stack, space, looped, tol)
    solver = Solver("working set", find_library_version(), "converged, then the exact split")
    certified = CertifiedPoints(looped.points, b, gaps, looped.iterations, solver)
    return gather_machines(split, stack, certified, tol, deadline)


def _has_suitable_kernel(split: Split) -> bool:
    """Return whether the Gram matrix is, or can be tested to be, semidefinite, and fits into memory."""
    n, d = split.X.shape
    if split.is_linear and sp.issparse(split.X) and n * d > DENSE_ENTRIES:
        return False
    if isinstance(split.kernel, Precomputed) and not split.has_separate_grams:
        return True
    has_gram = isinstance(split.kernel, BUILT_IN_KERNELS) or not split.has_separate_grams
    return split.kernel.is_psd and has_gram


def find_max_bulk_rows(split: Split) -> int:
    """Return the number of rows of a machine up to which bulk solving is faster."""
    if split.is_linear:
        return max(MAX_ROWS_LINEAR, min(MAX_ROWS_PER_FEATURE * split.X.shape[1], MAX_ROWS_MANY_PAIRS))
    if split.k == 2 or split.is_one_against_rest:
        return MAX_ROWS_KERNEL
    return MAX_ROWS_MANY_PAIRS


def _fits_time_limit(split: Split, limit: float | None) -> bool:
    """Return whether the steps that cannot be interrupted fit into a time limit; False with separate Gram matrices."""
    if limit is None:
        return True
    if split.has_separate_grams:
        return False
    if split.is_linear:
        n_rows = [len(split.locate_rows(p)[0]) for p in range(len(split.pairs))]
    else:
        n_rows = [split.n]
    products = float(np.square(np.array(n_rows), dtype=float).sum()) * split.X.shape[1]
    return bool(products <= limit * PRODUCTS_PER_SECOND)


def _certify_loop_points(
    stack: Stack, space: FeatureSpace, looped: LoopPoints, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Return the intercepts in the caller's coordinates, and the bounds of the gaps, (P,) each.

    Unfinished points with a gap above the tolerance are finished; then the error bounds of those that are still above
    it are refined.
    """
    b, points = build_bounded_points(space, stack, looped.points)
    gaps = bound_gaps(stack, points)
    uncertain = np.flatnonzero(~(gaps <= tol))
    unfinished = [p for p in uncertain.tolist() if looped.is_unfinished[p]]
    for p in unfinished:
        _finish_point(stack, p, looped.points, looped.build_gram(p))
    if unfinished:
        b, points = build_bounded_points(space, stack, looped.points)
        gaps = bound_gaps(stack, points)
        uncertain = np.flatnonzero(~(gaps <= tol))
    uncertain = uncertain[np.isfinite(stack.sum_by_machine(looped.points.alpha)[uncertain])]
    if len(uncertain) and not space.is_linear:
        gaps = bound_gaps(stack, refine_kernel_points(space, stack, points, uncertain))
    return b, gaps


def _has_psd_gram(space: FeatureSpace) -> bool:
    """Return whether the Gram matrix is semidefinite: by construction, or by the test of `FeatureSpace`.

    If it is tested, the space keeps the matrix, so that it is not tested again.
    """
    if space.kernel.is_psd:
        return True
    K = as_dense(space.X)
    tolerance = len(K) ** 2 * EPS * float(np.abs(K).max())
    if not np.array_equal(K, K.T) or not is_psd(K, tolerance):
        return False
    gram = KernelGram(space.kernel, space.X, blocks=KernelBlocks(space.kernel, space.X, K))
    space.__dict__["_treated_gram"] = TreatedGram(gram, gram)
    return True


def _build_stack(split: Split) -> Stack:
    """Build the stack of all machines. Raises QPSVMError."""
    if split.template.machine == "CSVM":
        return stack_machines(split, compute_penalties(split))
    split.build_separate_problem(0)  # checks ν itself
    nu = float(split.template.parameters.get("nu", 0.5))
    stack = to_nu_svms(stack_machines(split, split.weight[split.order]), nu)
    assert stack.nu is not None
    for p in np.flatnonzero(stack.nu < nu).tolist():  # raises if ν is infeasible by more than rounding
        split.build_separate_problem(p)
    return stack


def _loop_over_shared_gram(split: Split, stack: Stack, space: FeatureSpace) -> LoopPoints:
    """Find the points of all machines with one Gram matrix."""
    Z = np.ascontiguousarray(as_dense(space.rows.matrix())) if space.is_linear else None
    K = Z @ Z.T if Z is not None else np.ascontiguousarray(space.centred_gram.dense())

    def build_gram(p: int) -> MachineGram:
        if Z is None:
            return SharedGram(K, stack.list_slices(p))
        return LinearGram(Z, stack.list_slices(p))

    alpha, u, iterations = run_loops(split, stack, K, find_max_bulk_rows(split))
    is_fine = stack.row_counts <= find_max_fine_rows(split)
    W = None if Z is None else np.zeros((stack.n_machines, Z.shape[1]))
    points = MachinePoints(alpha, u, np.zeros(stack.n_machines), np.ones(stack.n_machines), W)
    if is_fine.any():
        _set_intercepts(stack, points, Z)
    is_large = stack.row_counts > find_max_bulk_rows(split)
    points.alpha[np.repeat(is_large, stack.row_counts)] = np.nan  # so that these are not certified
    for p in np.flatnonzero(~is_fine & ~is_large).tolist():
        _finish_point(stack, p, points, build_gram(p))
    return LoopPoints(points, iterations, is_fine, build_gram)


def _set_intercepts(stack: Stack, points: MachinePoints, Z: FloatArray | None) -> None:
    """Set b and ρ, and W and u if the kernel is linear, from α and u of the loop, for all machines at once.

    b is the midpoint between the largest lower bound on it, from rows whose β may increase, and the smallest upper
    bound, from rows whose β may decrease: at the optimum no other b is better. In a ν-SVM each class has such a level
    of u: ρ − b and −ρ − b.
    """
    alpha = points.alpha
    u = points.u
    sign = stack.sign
    if Z is not None and points.W is not None:
        machine_of_row = np.repeat(np.arange(stack.n_machines), stack.row_counts)
        beta = sp.csr_array((alpha * sign, stack.positions, stack.row_offsets), shape=(len(points.W), len(Z)))
        points.W[:] = beta @ Z
        u[:] = np.einsum("ij,ij->i", Z[stack.positions], points.W[machine_of_row])
    is_full = alpha >= stack.upper
    is_zero = alpha <= 0.0
    may_increase = np.where(sign > 0.0, ~is_full, ~is_zero)
    may_decrease = np.where(sign > 0.0, ~is_zero, ~is_full)
    if stack.nu is None:
        points.b[:] = _find_middles(stack, sign - u, may_increase, may_decrease)
        return
    positive_level, negative_level = (
        _find_middles(stack, -u, may_increase & of_class, may_decrease & of_class)
        for of_class in (sign > 0.0, sign < 0.0)
    )
    points.b[:], points.rho[:] = 0.5 * (positive_level + negative_level), 0.5 * (negative_level - positive_level)
    points.rho[~(points.rho > 0.0)] = np.nan  # so that these are not certified


def _find_middles(
    stack: Stack, values: FloatArray, may_increase: NDArray[np.bool_], may_decrease: NDArray[np.bool_]
) -> FloatArray:
    """Return the midpoint of the two bounds of each machine, or the only finite bound: (P,)."""
    low = stack.maximise_by_machine(np.where(may_increase, values, -np.inf))
    high = -stack.maximise_by_machine(np.where(may_decrease, -values, -np.inf))
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    return 0.5 * (low + high)


def _loop_separately(split: Split, stack: Stack, space: FeatureSpace) -> LoopPoints:
    """Find the points of all machines, with a separate Gram matrix for the loop of each."""
    Z = np.ascontiguousarray(as_dense(space.rows.matrix())) if space.is_linear else None
    n_machines = stack.n_machines
    n_rows = len(stack.sign)
    W = None if Z is None else np.zeros((n_machines, Z.shape[1]))
    points = MachinePoints(
        np.full(n_rows, np.nan), np.full(n_rows, np.nan), np.zeros(n_machines), np.ones(n_machines), W
    )
    iterations = np.zeros(n_machines, dtype=np.intp)

    def build_gram(p: int) -> MachineGram:
        if Z is None:
            return CachedRowGram(space.gram, stack.list_slices(p))
        return LinearGram(Z, stack.list_slices(p))

    def solve_one(p: int) -> None:
        gram = build_gram(p)
        machine = stack.take_machine(p)
        rows = gram.positions
        blocks: Any = getattr(space.gram, "blocks", None)
        if Z is not None:
            K = Z[rows] @ Z[rows].T
        else:
            K = blocks.compute_symmetric(rows, rough=True)
        tol = float(choose_tolerances(machine, float(K.diagonal().max()), 0)[0])
        points.alpha[stack.get_row_slice(p)], iterations[p] = run_single_loop(machine, K, tol, limit_iterations(len(K)))
        _finish_point(stack, p, points, gram)

    small = np.flatnonzero(stack.row_counts <= find_max_bulk_rows(split))
    n_entries = float(np.square(stack.row_counts[small], dtype=float).sum())
    run_tiles(solve_one, small.tolist(), n_entries * SECONDS_PER_ENTRY)
    return LoopPoints(points, iterations, np.zeros(n_machines, dtype=np.bool_), build_gram)


def _finish_point(stack: Stack, p: int, points: MachinePoints, gram: MachineGram) -> None:
    """Replace the point of machine p by its exact optimum; if that is not found, set u, b and w of its α."""
    part = stack.get_row_slice(p)
    nu = None if stack.nu is None else float(stack.nu[p])
    y, upper, alpha = stack.sign[part], stack.upper[part], points.alpha[part]
    optimum = find_exact_point(gram, y, upper, alpha, nu)
    if optimum is None and len(y) <= FINE_LOOP_ROWS:
        rows = np.arange(len(y))
        K = gram.compute_block(rows, rows)
        beta = alpha * y
        margin = 1.0 if nu is None else float(beta @ (K @ beta)) / nu  # at the optimum ρ ≥ ‖w‖²/ν
        alpha, _ = run_single_loop(stack.take_machine(p), K, REPEAT_TOLERANCE * margin, FINE_ITERATIONS)
        points.alpha[part] = alpha
        optimum = find_exact_point(gram, y, upper, alpha, nu)
    if optimum is not None:
        points.alpha[part], points.u[part] = optimum.alpha, optimum.u
        points.b[p], points.rho[p] = optimum.b, optimum.rho
    else:
        points.u[part], points.b[p] = evaluate_point(gram, y, upper, alpha)
        points.rho[p] = 1.0 if nu is None else np.nan  # so that it is not certified
    if points.W is not None and isinstance(gram, LinearGram):
        points.W[p] = gram.w


def evaluate_point(gram: MachineGram, y: FloatArray, upper: FloatArray, alpha: FloatArray) -> tuple[FloatArray, float]:
    """Return u (m,) of a point, and its best intercept."""
    support = alpha.nonzero()[0]
    u = gram.multiply_support(support, (alpha * y)[support])
    return u, find_best_intercept(u, y, upper)
