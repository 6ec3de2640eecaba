"""The fast road of small C-SVMs and ν-SVMs: one Gram matrix, one loop, each exact optimum, all bounds at once.

The loop is LIBSVM's, in one call for all pairs of classes. What the bounds do not certify goes the way of any machine,
from where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.external.libsvm_ import Loop, available, solver
from qpsvm.base.arrays.frozen import times
from qpsvm.base.arrays.rounding import dots
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.resources.limits import one_thread
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.data.samples import Samples
from qpsvm.machines.problem.parameters import prices
from qpsvm.many.multiclass.exact_optimum import again, best_intercept, loop_points, settle
from qpsvm.many.multiclass.gap_bounds import Points, gaps, kernel_points, linear_points, refined
from qpsvm.many.multiclass.one_by_one import in_time, result_of
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import GramValues, LinearValues, Stack, Values, stacked, with_shares
from qpsvm.many.multiclass.together import Results, Together
from qpsvm.program.solution import Solver, Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import KernelGram, Treated, is_psd
from qpsvm.space.kernels.space import FeatureSpace

#: Relative size of a rounding.
EPS = float(np.finfo(float).eps)
#: Rows of the largest machine up to which this road is the shorter one, with a linear kernel and with another. Beyond,
#: `qpsvm.solve` looks at fewer kernel values, and at fewer rows; and LIBSVM's loop, which nothing can stop, grows long.
LARGEST_LINEAR, LARGEST = 600, 1200
#: The same for pairs of more than `MOST_ROWS` rows in all, of another kernel than a linear one.
LARGEST_APART = 2500
#: With a linear kernel, interior points take some 12 d² products a row, and this road d with each other row:
#: up to so many times d rows it is the shorter one.
LARGEST_WIDTHS = 10
#: The machines of this road, by the name of their one parameter.
OWN = {"CSVM": "C", "NuSVM": "nu"}
#: Entries of sparse samples of a linear kernel, zeros included, up to which they are stored densely.
DENSE_ENTRIES = 4_000_000
#: The options of `solve` that this road knows, and what others have to be.
KNOWN = {"tol", "check", "time_limit"}
USUAL = {"backend": "auto", "form": None, "polish": True, "verbose": False, "max_iter": None}
#: Products of two values of samples in a second, a few times fewer than there are: where a time limit has no room for
#: those of the kernel and of the loop, which nothing can stop, the machines are solved one by one.
PRODUCTS = 2e9


def usual(options: Mapping[str, Any]) -> bool:
    """Whether nothing is asked of `solve` but a tolerance, and a limit of time."""
    return all(name in KNOWN or (name in USUAL and value == USUAL[name]) for name, value in options.items())


def solves(split: Split, options: Mapping[str, Any]) -> bool:
    """Whether this road takes these machines."""
    own = OWN.get(split.machine)
    plain = own is not None and set(split.parameters) <= {own} and split.intercept == "free" and not split.constraints
    n, d = split.X.shape
    wide = split.kernel_is_linear and sp.issparse(split.X) and n * d > DENSE_ENTRIES
    linear = max(LARGEST_LINEAR, min(LARGEST_WIDTHS * d, LARGEST_APART))
    largest = linear if split.kernel_is_linear else LARGEST_APART if split.apart else LARGEST
    small = split.largest <= largest
    tested = isinstance(split.kernel, Precomputed) and not split.apart
    known = (split.kernel.is_psd or tested) and not wide
    return plain and usual(options) and small and known and _in_time(split, options.get("time_limit")) and available()


def _in_time(split: Split, limit: float | None) -> bool:
    """Whether a time limit has room for what nothing can stop; machines apart from each other are not asked for it."""
    if limit is None:
        return True
    if split.apart:
        return False
    rows = np.array([len(split.places(p)[0]) for p in range(len(split.pairs))] if split.kernel_is_linear else [split.n])
    products = float(np.square(rows, dtype=float).sum()) * split.X.shape[1]
    return bool(products <= limit * PRODUCTS)


@dataclass(frozen=True, eq=False)
class Found:
    """The points of all machines: α and f without intercept (M,), b and ρ (P,), and of a linear kernel w (P, d)."""

    alpha: FloatArray
    u: FloatArray
    b: FloatArray
    rho: FloatArray
    W: FloatArray | None


def solve_in_bulk(split: Split, tol: float, time_limit: float | None = None) -> Together | None:
    """Solve all machines.

    Raises QPSVMError.
    """
    deadline = None if time_limit is None else monotonic() + time_limit
    stack, upper = _stated(split)
    with np.errstate(all="ignore"), one_thread():  # what is not finite is not certified
        space = split.own_space
        if not _trusted(space):
            return None
        data, loop = _source(space)
        started = loop_points(split, stack, data, upper, loop)
        if started is None:
            return None
        alpha, iterations = started
        found = _settled(stack, data, loop, alpha)
        own, points = points_of(space, stack, found)
        certified = gaps(stack, points)
        uncertain = np.flatnonzero(~(certified <= tol))
        if len(uncertain) and not space.is_linear:
            certified = gaps(stack, refined(space, stack, points, uncertain))
    return gathered_in_bulk(split, stack, found, own, certified, iterations, (tol, deadline), solver())


def _trusted(space: FeatureSpace) -> bool:
    """Whether the Gram matrix is positive semidefinite: by construction, or else by the test of `FeatureSpace`."""
    if space.kernel.is_psd:
        return True
    K = as_dense(space.X)
    tolerance = len(K) ** 2 * EPS * float(np.abs(K).max())
    if not np.array_equal(K, K.T) or not is_psd(K, tolerance):
        return False
    gram = KernelGram(space.kernel, space.X, blocks=KernelBlocks(space.kernel, space.X, K))
    space.__dict__["_treated"] = Treated(gram, gram)
    return True


def _stated(split: Split) -> tuple[Stack, FloatArray]:
    """The rows of all machines with their bounds; and those of LIBSVM, (r,) over `Split.order`.

    Raises QPSVMError.
    """
    weight = split.weight[split.order]
    if split.machine == "CSVM":
        C = prices(split.parameters.get("C", 1.0), Samples(split.X, split.weight, split.weight))
        upper = times(C, split.weight)[split.order]
        return stacked(split, upper), upper
    split.bare(0)  # ν itself is checked
    nu = float(split.parameters.get("nu", 0.5))
    stack = with_shares(stacked(split, weight), nu)
    assert stack.nu is not None
    for p in np.flatnonzero(stack.nu < nu).tolist():  # by more than rounding?
        split.bare(p)
    return stack, weight


def _source(space: FeatureSpace) -> tuple[FloatArray, Loop]:
    """Where kernel values come from: samples (r, d) of a linear kernel, and else the Gram matrix (r, r)."""
    if space.is_linear:
        return np.ascontiguousarray(as_dense(space.rows.matrix())), "linear"
    return np.ascontiguousarray(space.centred.dense()), "precomputed"


def _settled(stack: Stack, data: FloatArray, loop: Loop, alpha: FloatArray) -> Found:
    """The optimum of each machine, or where `settle` does not come to it, the point that was given."""
    P, u = stack.machines, np.empty(len(alpha))
    b, rho = np.empty(P), np.ones(P)
    kind = LinearValues if loop == "linear" else GramValues
    W = np.zeros((P, data.shape[1])) if kind is LinearValues else None
    for p in range(P):
        part, nu = stack.part(p), None if stack.nu is None else float(stack.nu[p])
        values, y, upper = kind(data, stack.slices(p)), stack.sign[part], stack.upper[part]
        found = settle(values, y, upper, alpha[part], nu)
        finer = again(stack, p, data, loop) if found is None else None
        if finer is not None:
            alpha[part] = finer
            found = settle(values, y, upper, finer)
        if found is not None:
            alpha[part], u[part], b[p], rho[p] = found.alpha, found.u, found.b, found.rho
        else:
            u[part], b[p] = as_it_is(values, y, upper, alpha[part])
            rho[p] = 1.0 if nu is None else np.nan  # which certifies nothing
        if W is not None and isinstance(values, LinearValues):
            W[p] = values.w
    return Found(alpha, u, b, rho, W)


def as_it_is(values: Values, y: FloatArray, upper: FloatArray, alpha: FloatArray) -> tuple[FloatArray, float]:
    """u (m,) of a point, and its best intercept."""
    support = alpha.nonzero()[0]
    u = values.product(support, (alpha * y)[support])
    return u, best_intercept(u, y, upper)


def points_of(space: FeatureSpace, stack: Stack, found: Found) -> tuple[FloatArray, Points]:
    """The caller's intercepts (P,), and the points with what is known of their rounding."""
    accuracy = Accuracy(space)
    sizes = accuracy.sizes(np.arange(space.n))[stack.places]
    if found.W is None:
        return found.b, kernel_points(stack, found.alpha, found.u, found.b, found.rho, sizes, accuracy.epsilon)
    own, levels = found.b, (found.b, np.zeros(len(found.b)))
    if space.origin is not None:  # as `FeatureSpace.plane`
        own = -dots(np.column_stack([found.W, found.b]), np.append(space.origin, -1.0))[0]
        levels = dots(np.column_stack([found.W, own]), np.append(space.origin, 1.0))
    width = space.samples.longest_row
    return own, linear_points(stack, found.alpha, found.u, levels, found.rho, found.W, sizes, width)


def gathered_in_bulk(
    split: Split,
    stack: Stack,
    found: Found,
    b: FloatArray,
    certified: FloatArray,
    iterations: IntArray,
    asked: tuple[float, float | None],
    solver: Solver,
) -> Together:
    """The machines side by side, those solved by themselves that are not certified.

    b (P,) is the caller's, and what is asked for are a gap and the time when all should be over.
    """
    known: dict[int, SVMResult] = {}
    beta, W, b, rho = found.alpha * stack.sign, found.W, b.copy(), found.rho
    tol, deadline = asked
    uncertain = np.flatnonzero(~(certified <= tol)).tolist()
    for done, p in enumerate(uncertain):
        part = stack.part(p)
        start = found.alpha[part] if np.isfinite(found.alpha[part]).all() else None
        options = in_time({"tol": tol}, deadline, len(uncertain) - done)
        known[p] = result = result_of(split.problem(p), start, options)
        beta[part], b[p], certified[p], iterations[p] = result.coef, result.b, result.gap, result.iterations or 0
        rho[p] = result.rho
        if W is not None:
            W[p] = result.w
    kept = beta.nonzero()[0]
    coef = sp.csr_array(
        (beta[kept], split.order[stack.places[kept]], np.searchsorted(kept, stack.ends)),
        shape=(stack.machines, split.n),
    )
    coef.sort_indices()
    return Together(
        classes=split.labels, machines=split.pairs, coef=coef, b=b, rho=rho, w=W, gap=certified,
        status=[known[p].status if p in known else Status.OPTIMAL for p in range(stack.machines)],
        iterations=iterations, solver=solver,
        message="; ".join(f"{split.named(p)}: {result.message}" for p, result in known.items() if result.message),
        results=Results(stack.machines, Maker(replace(split, spaces={}), coef, solver, iterations, tol), known),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes the result of a machine from its α; the Gram matrix is not kept for that, but made again."""

    split: Split
    coef: sp.csr_array
    solver: Solver
    iterations: IntArray
    tol: float

    def __call__(self, p: int) -> SVMResult:
        """The same α as a result, certified again with all that `solve` has.

        Where rounding in α tells b apart by more than the tolerance, a result near it: what is certified is (α, w, b).
        """
        places, _ = self.split.places(p)
        row = self.coef[[p]].toarray()[0]
        problem, alpha = self.split.problem(p), np.abs(row[self.split.order[places]])
        result = problem.at(alpha, self.tol)
        if result.status is not Status.OPTIMAL:
            return result_of(problem, alpha, {"tol": self.tol})
        return replace(result, backend=self.solver.name, solver=self.solver, iterations=int(self.iterations[p]))
