"""Solve small C-SVMs and ν-SVMs of several classes in bulk: one Gram matrix, one loop, bounds for all at once.

If there are too many samples for one Gram matrix, each pair of classes has its own for its loop, in single precision,
and rows of it in double precision for the rest. Machines that the bounds do not certify, and machines of many rows, are
solved one by one, warm-started at their points.

Shapes: P is the number of machines, M the number of their rows in total.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.backends.external.libsvm_ import describe_libsvm as libsvm
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.double_double import multiply_double_double
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.base.resources.workers import run_tiles
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.many.multiclass.exact_optimum import find_best_intercept, find_exact_point
from qpsvm.many.multiclass.gap_bounds import (
    StackPoints,
    bound_gaps,
    build_kernel_points,
    build_linear_points,
    refine_radii,
)
from qpsvm.many.multiclass.loops import (
    BESIDES,
    FINE_ITERATIONS,
    PER_ROW,
    can_loop,
    few_rows,
    loop_alone,
    loop_points,
    tolerances,
)
from qpsvm.many.multiclass.one_by_one import limit_time, result_of
from qpsvm.many.multiclass.split import REST, Split
from qpsvm.many.multiclass.stack import (
    GramValues,
    LinearValues,
    RowValues,
    Stack,
    StackKernel,
    compute_penalties,
    stack_machines,
    to_nu_svms,
)
from qpsvm.many.multiclass.together import BinaryMachines, Results
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import NO_INFORMATION, is_rounding
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS as BUILT_IN
from qpsvm.space.kernels.psd_rule import TreatedGram, is_psd
from qpsvm.space.kernels.space import FeatureSpace

#: Relative size of a rounding.
EPS = float(np.finfo(float).eps)
#: Rows of a machine up to which bulk solving is faster: with a linear kernel, with another kernel, and with another
#: kernel and many pairs. For more rows `qpsvm.solve` is faster, as it evaluates fewer kernel values and fewer rows.
MAX_ROWS_LINEAR, LARGEST, MAX_ROWS_MANY_PAIRS = 600, 1200, 1500
#: With a linear kernel, an interior-point solver takes about 12 d² products per row, and bulk solving d per pair of
#: rows: up to this multiple of d rows bulk solving is faster.
MAX_ROWS_PER_FEATURE = 10
#: The machines that can be solved in bulk, with the name of their only parameter.
OWN = {"CSVM": "C", "NuSVM": "nu"}
#: Number of entries, zeros included, up to which sparse samples of a linear kernel are stored densely.
DENSE_ENTRIES = 4_000_000
#: The options of `solve` that bulk solving supports, and the only values that it accepts of others.
KNOWN = {"tol", "check", "time_limit"}
USUAL = {"backend": "auto", "form": None, "polish": True, "verbose": False, "max_iter": None}
#: Products of two sample values per second, a conservative estimate: if the products for the kernel and the loop, which
#: cannot be interrupted, would exceed a time limit, the machines are solved one by one.
PRODUCTS = 2e9
#: Seconds that a machine takes per entry of its matrix.
ENTRY = 2e-9
#: If the exact point of a machine with at most this many rows is not found, its loop runs again, to this tolerance,
#: which takes less time than `qpsvm.solve`.
MAX_REPEATED_ROWS, REPEAT_TOLERANCE = 300, 1e-6


def has_usual_options(options: Mapping[str, Any]) -> bool:
    """Return whether the options of `solve` are only a tolerance and a time limit."""
    return all(name in KNOWN or (name in USUAL and value == USUAL[name]) for name, value in options.items())


def solves(split: Split, options: Mapping[str, Any]) -> bool:
    """Return whether these machines can be solved in bulk."""
    own = OWN.get(split.machine)
    plain = own is not None and set(split.parameters) <= {own} and split.intercept == "free" and not split.constraints
    n, d = split.X.shape
    wide = split.kernel_is_linear and sp.issparse(split.X) and n * d > DENSE_ENTRIES
    small = bool((split.lengths <= largest(split)).any())
    tested = isinstance(split.kernel, Precomputed) and not split.has_separate_grams
    known = (
        (split.kernel.is_psd and (isinstance(split.kernel, BUILT_IN) or not split.has_separate_grams)) or tested
    ) and not wide
    return (
        plain
        and has_usual_options(options)
        and small
        and known
        and _in_time(split, options.get("time_limit"))
        and can_loop()
    )


def largest(split: Split) -> int:
    """Return the number of rows of a machine up to which bulk solving is faster."""
    if split.kernel_is_linear:
        return max(MAX_ROWS_LINEAR, min(MAX_ROWS_PER_FEATURE * split.X.shape[1], MAX_ROWS_MANY_PAIRS))
    return MAX_ROWS_MANY_PAIRS if split.k > 2 and split.pairs[0, 1] != REST else LARGEST


def _in_time(split: Split, limit: float | None) -> bool:
    """Return whether the steps that cannot be interrupted fit into a time limit; False with separate Gram matrices."""
    if limit is None:
        return True
    if split.has_separate_grams:
        return False
    rows = np.array([len(split.places(p)[0]) for p in range(len(split.pairs))] if split.kernel_is_linear else [split.n])
    products = float(np.square(rows, dtype=float).sum()) * split.X.shape[1]
    return bool(products <= limit * PRODUCTS)


@dataclass(frozen=True, eq=False)
class MachinePoints:
    """The points of all P machines: α and f without intercept (M,), b and ρ (P,); W (P, d) if the kernel is linear."""

    alpha: FloatArray
    u: FloatArray
    b: FloatArray
    rho: FloatArray
    W: FloatArray | None


def solve_in_bulk(split: Split, tol: float, time_limit: float | None = None) -> BinaryMachines | None:
    """Solve all machines; None if they cannot be solved in bulk. Raises QPSVMError."""
    deadline = None if time_limit is None else monotonic() + time_limit
    stack, upper = _build_stack(split)
    with np.errstate(all="ignore"), limit_blas_threads():  # what is not finite is not certified
        space = split.active_space
        if not _has_psd_gram(space):
            return None
        rough = (
            _loop_separately(split, stack, space)
            if split.has_separate_grams
            else _loop_over_shared_gram(split, stack, space, upper)
        )
        if rough is None:
            return None
        own, points = build_stack_points(space, stack, rough.found)
        certified = bound_gaps(stack, points)
        uncertain = np.flatnonzero(~(certified <= tol))
        again = [p for p in uncertain.tolist() if rough.loose[p]]
        for p in again:
            _settle(stack, p, rough.found, rough.values(p))
        if again:
            own, points = build_stack_points(space, stack, rough.found)
            certified = bound_gaps(stack, points)
            uncertain = np.flatnonzero(~(certified <= tol))
        uncertain = uncertain[np.isfinite(stack.sums(rough.found.alpha)[uncertain])]
        if len(uncertain) and not space.is_linear:
            certified = bound_gaps(stack, refine_radii(space, stack, points, uncertain))
    return gather_machines(split, stack, rough.found, own, certified, rough.iterations, (tol, deadline), solver())


def solver() -> Solver:
    """Return the description of the solver."""
    if core.compiled is None:
        return libsvm()
    return Solver("working set", find_library_version(), "converged, then the exact split")


def _has_psd_gram(space: FeatureSpace) -> bool:
    """Return whether the Gram matrix is semidefinite: by construction, or by the test of `FeatureSpace`."""
    if space.kernel.is_psd:
        return True
    K = as_dense(space.X)
    tolerance = len(K) ** 2 * EPS * float(np.abs(K).max())
    if not np.array_equal(K, K.T) or not is_psd(K, tolerance):
        return False
    gram = KernelGram(space.kernel, space.X, blocks=KernelBlocks(space.kernel, space.X, K))
    space.__dict__["_treated_gram"] = TreatedGram(gram, gram)
    return True


def _build_stack(split: Split) -> tuple[Stack, FloatArray]:
    """Build the stack of all machines, and the upper bounds for LIBSVM, (r,) in `Split.order`. Raises QPSVMError."""
    weight = split.weight[split.order]
    if split.machine == "CSVM":
        upper = compute_penalties(split)
        return stack_machines(split, upper), upper
    split.build_separate_problem(0)  # ν itself is checked
    nu = float(split.parameters.get("nu", 0.5))
    stack = to_nu_svms(stack_machines(split, weight), nu)
    assert stack.nu is not None
    for p in np.flatnonzero(stack.nu < nu).tolist():  # by more than rounding?
        split.build_separate_problem(p)
    return stack, weight


@dataclass(frozen=True, eq=False)
class RoughPoints:
    """Points of all machines and their iterations, (P,).

    loose: Which points are as the loop left them, (P,): `_settle` may improve them.
    values: A function of a machine's number that returns the kernel values over its rows.
    """

    found: MachinePoints
    iterations: IntArray
    loose: NDArray[np.bool_]
    values: Callable[[int], StackKernel]


def _loop_over_shared_gram(split: Split, stack: Stack, space: FeatureSpace, upper: FloatArray) -> RoughPoints | None:
    """Find the points of all machines with one Gram matrix; None if the loop cannot run."""
    Z = np.ascontiguousarray(as_dense(space.rows.matrix())) if space.is_linear else None
    K = Z @ Z.T if Z is not None else np.ascontiguousarray(space.centred_gram.dense())

    def values(p: int) -> StackKernel:
        return GramValues(K, stack.slices(p)) if Z is None else LinearValues(Z, stack.slices(p))

    started = loop_points(split, stack, K, upper, largest(split))
    if started is None:
        return None
    alpha, u, iterations = started
    P, few = stack.n_machines, (stack.lengths <= few_rows(split)) & (u is not None)
    W = None if Z is None else np.zeros((P, Z.shape[1]))
    found = MachinePoints(alpha, np.full(len(alpha), np.nan) if u is None else u, np.zeros(P), np.ones(P), W)
    if few.any():
        set_intercepts(stack, found, Z)
    large = stack.lengths > largest(split)
    found.alpha[np.repeat(large, stack.lengths)] = np.nan  # which certifies nothing
    for p in np.flatnonzero(~few & ~large).tolist():
        _settle(stack, p, found, values(p))
    return RoughPoints(found, iterations, few, values)


def set_intercepts(stack: Stack, found: MachinePoints, Z: FloatArray | None) -> None:
    """Set b and ρ, and W and u if the kernel is linear, from α and u of the loop, for all machines at once.

    b is the midpoint between the largest lower bound on it, from rows whose β may increase, and the smallest upper
    bound, from rows whose β may decrease: at the optimum no other b is better. In a ν-SVM each class has such a level
    of u: ρ − b and −ρ − b.
    """
    alpha, u, sign = found.alpha, found.u, stack.sign
    if Z is not None and found.W is not None:
        rows = np.repeat(np.arange(stack.n_machines), stack.lengths)
        found.W[:] = sp.csr_array((alpha * sign, stack.places, stack.ends), shape=(len(found.W), len(Z))) @ Z
        u[:] = np.einsum("ij,ij->i", Z[stack.places], found.W[rows])
    full, empty = alpha >= stack.upper, alpha <= 0.0
    rises, falls = np.where(sign > 0.0, ~full, ~empty), np.where(sign > 0.0, ~empty, ~full)
    if stack.nu is None:
        found.b[:] = _middle(stack, sign - u, rises, falls)
        return
    first, second = (_middle(stack, -u, rises & own, falls & own) for own in (sign > 0.0, sign < 0.0))
    found.b[:], found.rho[:] = 0.5 * (first + second), 0.5 * (second - first)
    found.rho[~(found.rho > 0.0)] = np.nan  # which certifies nothing


def _middle(stack: Stack, values: FloatArray, rises: NDArray[np.bool_], falls: NDArray[np.bool_]) -> FloatArray:
    """Return the midpoint of the largest value of rows that may rise and the smallest of rows that may fall: (P,)."""
    low = stack.largest(np.where(rises, values, -np.inf))
    high = -stack.largest(np.where(falls, -values, -np.inf))
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    return 0.5 * (low + high)


def _loop_separately(split: Split, stack: Stack, space: FeatureSpace) -> RoughPoints | None:
    """Find the points of all machines, with a separate Gram matrix for the loop of each."""
    P, M = stack.n_machines, len(stack.sign)
    Z = np.ascontiguousarray(as_dense(space.rows.matrix())) if space.is_linear else None
    W = None if Z is None else np.zeros((P, Z.shape[1]))
    found = MachinePoints(np.full(M, np.nan), np.full(M, np.nan), np.zeros(P), np.ones(P), W)
    iterations = np.zeros(P, dtype=np.intp)

    def values(p: int) -> StackKernel:
        return RowValues(space.gram, stack.slices(p)) if Z is None else LinearValues(Z, stack.slices(p))

    def solve_one(p: int) -> None:
        own, one = values(p), stack.take_machine(p)
        blocks: Any = getattr(space.gram, "blocks", None)
        K = Z[own.places] @ Z[own.places].T if Z is not None else blocks.compute_symmetric(own.places, rough=True)
        tol = float(tolerances(one, float(K.diagonal().max()), 0)[0])
        looped = loop_alone(one, K, tol, PER_ROW * len(K) + BESIDES)
        if looped is not None:
            found.alpha[stack.row_slice(p)], iterations[p] = looped
            _settle(stack, p, found, own)

    pairs = np.flatnonzero(stack.lengths <= largest(split))
    run_tiles(solve_one, pairs.tolist(), float(np.square(stack.lengths[pairs], dtype=float).sum()) * ENTRY)
    return RoughPoints(found, iterations, np.zeros(P, dtype=np.bool_), values)


def _settle(stack: Stack, p: int, found: MachinePoints, values: StackKernel) -> None:
    """Replace the point of machine p by its exact optimum; if `find_exact_point` fails, complete the given point."""
    part, nu = stack.row_slice(p), None if stack.nu is None else float(stack.nu[p])
    y, upper, alpha = stack.sign[part], stack.upper[part], found.alpha[part]
    optimum = find_exact_point(values, y, upper, alpha, nu)
    if optimum is None and nu is None and len(y) <= MAX_REPEATED_ROWS:
        index = np.arange(len(y))
        finer = loop_alone(stack.take_machine(p), values.block(index, index), REPEAT_TOLERANCE, FINE_ITERATIONS)
        if finer is not None:
            found.alpha[part] = alpha = finer[0]
            optimum = find_exact_point(values, y, upper, alpha, nu)
    if optimum is not None:
        found.alpha[part], found.u[part], found.b[p], found.rho[p] = optimum.alpha, optimum.u, optimum.b, optimum.rho
    else:
        found.u[part], found.b[p] = evaluate_point(values, y, upper, alpha)
        found.rho[p] = 1.0 if nu is None else np.nan  # which certifies nothing
    if found.W is not None and isinstance(values, LinearValues):
        found.W[p] = values.w


def evaluate_point(
    values: StackKernel, y: FloatArray, upper: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, float]:
    """Return u (m,) of a point, and its best intercept."""
    support = alpha.nonzero()[0]
    u = values.product(support, (alpha * y)[support])
    return u, find_best_intercept(u, y, upper)


def build_stack_points(space: FeatureSpace, stack: Stack, found: MachinePoints) -> tuple[FloatArray, StackPoints]:
    """Return the intercepts (P,) in the caller's coordinates, and the points with bounds on their rounding errors."""
    accuracy = Accuracy(space)
    sizes = accuracy.sizes(np.arange(space.n))[stack.places]
    if found.W is None:
        return found.b, build_kernel_points(stack, found.alpha, found.u, found.b, found.rho, sizes, accuracy.epsilon)
    own, levels = found.b, (found.b, np.zeros(len(found.b)))
    if space.origin is not None:  # as `FeatureSpace.build_hyperplane`
        own = -multiply_double_double(np.column_stack([found.W, found.b]), np.append(space.origin, -1.0))[0]
        levels = multiply_double_double(np.column_stack([found.W, own]), np.append(space.origin, 1.0))
    width = space.samples.longest_row
    return own, build_linear_points(stack, found.alpha, found.u, levels, found.rho, found.W, sizes, width)


def gather_machines(
    split: Split,
    stack: Stack,
    found: MachinePoints,
    b: FloatArray,
    certified: FloatArray,
    iterations: IntArray,
    asked: tuple[float, float | None],
    solver: Solver,
) -> BinaryMachines:
    """Gather the machines into one result; those that are not certified are solved one by one first.

    b: The intercepts (P,) in the caller's coordinates.
    certified: The certified gaps (P,).
    asked: The requested gap, and the deadline by `time.monotonic`, or None.
    """
    known: dict[int, SVMResult] = {}
    beta, W, b, rho = found.alpha * stack.sign, found.W, b.copy(), found.rho
    tol, deadline = asked
    uncertain = np.flatnonzero(~(certified <= tol)).tolist()
    for done, p in enumerate(uncertain):
        part = stack.row_slice(p)
        start = found.alpha[part] if np.isfinite(found.alpha[part]).all() else None
        options = limit_time({"tol": tol}, deadline, len(uncertain) - done)
        known[p] = result = result_of(split.problem(p), start, options)
        beta[part], b[p], certified[p], iterations[p] = result.coef, result.b, result.gap, result.iterations or 0
        rho[p] = result.rho
        if W is not None:
            W[p] = result.w
    caveats = [each for result in known.values() for each in result.caveats]
    if W is not None:
        vanish = ~W.any(axis=1)
    else:  # ‖w‖² = Σβ_i u_i is nothing but its own rounding
        squares, total = (np.add.reduceat(each, stack.ends[:-1]) for each in (beta * found.u, np.abs(beta)))
        vanish = is_rounding(squares, total, np.diff(stack.ends), split.active_space.scale)
    caveats += [NO_INFORMATION for p in np.flatnonzero(vanish).tolist() if p not in known]
    kept = beta.nonzero()[0]
    coef = sp.csr_array(
        (beta[kept], split.order[stack.places[kept]], np.searchsorted(kept, stack.ends)),
        shape=(stack.n_machines, split.n),
    )
    coef.sort_indices()
    return BinaryMachines(
        classes=split.labels,
        machines=split.pairs,
        coef=coef,
        b=b,
        rho=rho,
        w=W,
        gap=certified,
        status=[known[p].status if p in known else Status.OPTIMAL for p in range(stack.n_machines)],
        iterations=iterations,
        solver=solver,
        message="; ".join(
            f"{split.describe_machine(p)}: {result.message}" for p, result in known.items() if result.message
        ),
        results=Results(
            stack.n_machines, BulkResultMaker(replace(split, spaces={}), coef, solver, iterations, tol), known
        ),
        caveats=tuple(caveats),
    )


@dataclass(frozen=True, eq=False)
class BulkResultMaker:
    """Builds the result of a machine from its α; the Gram matrix is not stored for this, but computed again."""

    split: Split
    coef: sp.csr_array
    solver: Solver
    iterations: IntArray
    tol: float

    def __call__(self, p: int) -> SVMResult:
        """Return the result of machine p at its α, certified again.

        If that is not optimal, because rounding in α changes b by more than the tolerance, the problem is solved from
        this α: the certificate is about (α, w, b).
        """
        places, _ = self.split.places(p)
        row = self.coef[[p]].toarray()[0]
        problem, alpha = self.split.problem(p), np.abs(row[self.split.order[places]])
        result = problem.at(alpha, self.tol)
        if result.status is not Status.OPTIMAL:
            return result_of(problem, alpha, {"tol": self.tol})
        return replace(result, backend=self.solver.name, solver=self.solver, iterations=int(self.iterations[p]))
