"""What errors have to show, for `error.verify()`: samples, rows and weights of a problem without a solution.

(`problems.base` imports this file, so a problem is any object here; and proofs are loaded when somebody asks for one.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import bare
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import (
    InfeasibleConstraintsError,
    InfeasibleNuError,
    MarginNotFoundError,
    NotSeparableError,
    QPSVMError,
    UndecidedConstraintsError,
    UnsupportedError,
)
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.gap_bounds import Bounds
from qpsvm.bounds.restoration import infeasible, room_of
from qpsvm.data.rows import Mapped, RowSource, as_row_source
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Precomputed

if TYPE_CHECKING:
    from qpsvm.bounds.proof.infeasible.constraints import Rows
    from qpsvm.bounds.proof.infeasible.hulls import Decided, Meeting
    from qpsvm.bounds.proof.proof import Proof

#: Numbers of X up to which all samples are looked at.
LOOKED_AT = 1e5
#: Coordinates in which points cancel where they do in feature space, and only there: what of them separates classes.
SPANNING = {
    "features": "a rational combination of the monomials", "gram": "a rational combination of kernel functions",
    "matrix": "a rational combination of the rows of the kernel matrix",
}  # fmt: skip


#: An error about two classes: it keeps which.
HullsError = TypeVar("HullsError", NotSeparableError, MarginNotFoundError)


def with_hulls(error: HullsError, problem: Any) -> HullsError:
    """The error with what proves it: the samples with weights."""
    error._evidence = partial(_hulls, bare(problem), error.u + error.v)
    return error


def without_margin(problem: Any, u: FloatArray, v: FloatArray, distance: float) -> QPSVMError:
    """What is true of two classes between which no margin was found: that their hulls meet, or that none was found.

    Shapes: u, v (n,).
    """
    from qpsvm.bounds.proof.infeasible.hulls import meet

    known = meet(_meeting(problem, u + v)) if problem.comm.serial else None
    if isinstance(known, Mapping):  # where other points were measured
        weights = np.array([float(known.get(number, 0)) for number in problem.rows.tolist()])
        u, v, distance = (*(np.where(problem.labels * side > 0.0, weights, 0.0) for side in (1.0, -1.0)), 0.0)
    if known:
        return with_hulls(NotSeparableError(u, v, distance), problem)
    return with_hulls(MarginNotFoundError(u, v, distance, None if known is None else True), problem)


def without_rows(error: InfeasibleConstraintsError, problem: Any) -> QPSVMError:
    """What is true of a user's rows that no point was found to keep: that there is none, or that none was found."""
    from qpsvm.bounds.proof.infeasible.constraints import kept_by_none

    try:
        known = kept_by_none(*_excluding(problem, error.weights))
    except UnsupportedError:
        known = False
    found = error if known else UndecidedConstraintsError(error.weights, error.bound, error.residual)
    found._evidence = partial(_excluded, bare(problem), error.weights)
    return found


def with_feasible_rows(problem: Any, svm: SVMDual) -> SVMDual:
    """The dual, once it is known that the linear constraints can be kept, and which of them as equalities only.

    Raises InfeasibleConstraintsError, UndecidedConstraintsError.
    """
    users = svm.users
    assert users is not None
    own = users.own.m
    rows = np.arange(own, svm.m)
    if not (svm.level[rows] >= 0.0).any():  # w = 0, b = 0 keeps them with room to spare
        return svm
    bounds = Bounds(Accuracy(problem.space), svm)
    found = room_of(svm, bounds, rows)
    if found.farkas is not None:
        raise without_rows(infeasible(svm, bounds, rows, found, problem.user_rows.scale), problem)
    if not found.equal.any():
        return svm
    return replace(svm, users=replace(users, equal=np.concatenate([np.zeros(own, dtype=bool), found.equal])))


def with_sums(error: InfeasibleNuError, problem: Any) -> InfeasibleNuError:
    """The error with what proves it: the sums of the weights of both classes."""
    if problem.samples.comm.serial:
        error._evidence = partial(_balance, error.nu, problem.samples.weight, problem.samples.target, _labels(problem))
    return error


def _hulls(problem: Any, weights: FloatArray) -> Proof:
    from qpsvm.bounds.proof.infeasible.hulls import meeting
    from qpsvm.machines.exact.record import recorded

    if not problem.comm.serial:
        raise UnsupportedError("a proof needs all samples in one process: solve the problem in one")
    proof = meeting(_meeting(problem, weights))
    return replace(proof, record={**proof.record, "stated": partial(recorded, problem)})


def _meeting(problem: Any, weights: FloatArray) -> Meeting:
    """The question whether two classes meet, and the samples with weights."""
    from qpsvm.bounds.proof.infeasible.constraints import Rows
    from qpsvm.bounds.proof.infeasible.coordinates import coordinates
    from qpsvm.bounds.proof.infeasible.hulls import Meeting

    chosen = np.flatnonzero(weights > 0.0)
    kernel, points, assumed = _points(problem, chosen)
    signs = [int(sign) for sign in problem.labels[chosen].tolist()]
    terms = [[(place, Fraction(-sign))] for place, sign in enumerate(signs)]
    numbers = problem.rows[chosen].tolist()
    known = coordinates(kernel, points)
    ones = [Fraction(-1)] * len(chosen)
    rows = Rows(known, terms, [Fraction(-sign) for sign in signs], ones, [str(number) for number in numbers])
    return Meeting(
        problem.title, rows, signs, weights[chosen], numbers, _labels(problem), partial(_decided, problem, weights),
        (problem.labels.tolist(), problem.rows.tolist()), assumed,
    )  # fmt: skip


def _points(problem: Any, chosen: Any) -> tuple[Kernel, Matrix, tuple[str, ...]]:
    """Samples as points of a kernel, those of a kernel that nobody can compute by its matrix; and what is assumed."""
    from qpsvm.machines.exact.program import space_of

    kernel: Kernel = problem.kernel
    if isinstance(kernel, FeatureMap):
        return Linear(), _rows(problem).take(chosen), ("the features are the floats that the map makes",)
    if _matrix_only(problem):
        return Precomputed(), problem.space.gram.dense()[chosen], space_of(problem).assumptions
    return kernel, _rows(problem).take(chosen), ()


def _matrix_only(problem: Any) -> bool:
    """Whether the points are known by their kernel matrix alone."""
    from qpsvm.machines.exact.constraints import by_matrix

    return not isinstance(problem.kernel, (Linear, FeatureMap)) and by_matrix(problem)


def _rows(problem: Any) -> RowSource:
    """The samples that take part; those of a feature map as the floats that it makes of them."""
    rows = as_row_source(problem.samples.taken)
    return Mapped(rows, problem.kernel) if isinstance(problem.kernel, FeatureMap) else rows


def _labels(problem: Any) -> tuple[str, str]:
    """The names of the classes −1 and +1."""
    first, second = problem.samples.classes.tolist()
    return shown(first), shown(second)


def _decided(problem: Any, beta: FloatArray) -> Decided | str | None:
    """Whether the classes meet, by other means than the weights of the error: exactly, or why they do not."""
    from qpsvm.bounds.proof.infeasible.coordinates import columns_of, coordinates
    from qpsvm.bounds.proof.infeasible.hulls import Decided, decided

    X = problem.samples.taken
    if isinstance(problem.kernel, RBF) and not isinstance(X, RowSource):
        return None if _shared(X, problem.labels) else (
            "no sample is in both of them, and features of different samples are linearly independent for a Gaussian "
            "(Micchelli 1986)"
        )  # fmt: skip
    n, width = _rows(problem).shape
    if n * (n if _matrix_only(problem) else width) > LOOKED_AT:
        return None
    kernel, points, _ = _points(problem, np.arange(n))
    known = coordinates(kernel, points)
    if known is None or known.kind not in SPANNING:
        return None
    signs = problem.labels.astype(np.int64)
    found = decided(known.whole * signs.astype(object), signs, np.abs(beta))
    if found is None or found.weights:
        return found
    if not isinstance(kernel, Linear):
        return SPANNING[known.kind]
    w = [Fraction(0)] * points.shape[1]
    for place, exponent, value in zip(columns_of(points).tolist(), known.exponents, found.w, strict=True):
        w[place] = value / Fraction(2) ** exponent
    return Decided([], w)


def _shared(X: Matrix, y: FloatArray) -> bool:
    """Whether a sample is in both classes."""
    dense = not sp.issparse(X)
    classes: tuple[set[bytes], set[bytes]] = set(), set()
    for i, sign in enumerate(y.tolist()):
        row = (X[i] if dense else as_dense(X[[i]])[0]) + 0.0
        classes[sign > 0].add(row.tobytes())
    return not classes[0].isdisjoint(classes[1])


def _excluded(problem: Any, weights: Mapping[str, float]) -> Proof:
    from qpsvm.bounds.proof.infeasible.constraints import excluded

    return excluded(problem.title, *_excluding(problem, weights))


def _excluding(problem: Any, weights: Mapping[str, float]) -> tuple[Rows, FloatArray]:
    """The rows with weights, and these.

    Raises UnsupportedError.
    """
    from qpsvm.bounds.proof.infeasible.constraints import Rows
    from qpsvm.bounds.proof.infeasible.coordinates import coordinates

    points, terms, c, bounds, names = _user_rows(problem, weights)
    kernel: Kernel = problem.kernel
    if problem.psd != "raise" and not kernel.is_psd:
        raise UnsupportedError(f"no proof for the kernel {kernel} with psd={problem.psd!r}, which makes another of it")
    known = coordinates(kernel, points)
    h = []
    for bound, diagonal in bounds:
        for place, a in diagonal:
            own = None if known is None else known.own_square(place)
            if own is None:
                raise UnsupportedError(f"no proof for the kernel {kernel}: its K(x, x) are not known without rounding")
            bound -= Fraction(problem.diagonal) * a * own
        h.append(bound)
    has_b = any(group.multiplier == "b" for group in problem.outlined.groups)
    near = np.array([weights[name] for name in names])
    return Rows(known, terms, c if has_b else None, h, names), near


#: A_kl and the l of one row.
Terms = list[tuple[int, Fraction]]


def _user_rows(
    problem: Any, weights: Mapping[str, float]
) -> tuple[Matrix, list[Terms], list[Fraction], list[tuple[Fraction, Terms]], list[str]]:
    """The rows with weights as the user wrote them: points, A, c, h with what f has of K(z, z) besides, and names."""
    points: list[Matrix] = []
    terms: list[Terms] = []
    c: list[Fraction] = []
    bounds: list[tuple[Fraction, Terms]] = []
    names: list[str] = []
    count = seen = 0

    def add(name: str, rows: Matrix, factors: list[float], own: Fraction | None, bound: float, exact: bool) -> None:
        nonlocal count
        term = [(count + k, Fraction(a)) for k, a in enumerate(factors)]
        count += rows.shape[0]
        points.append(sp.csr_array(rows) if sp.issparse(rows) else sp.csr_array(np.asarray(rows)))
        terms.append(term)
        c.append(sum((a for _, a in term), Fraction(0)) if own is None else own)
        bounds.append((Fraction(bound), term if problem.diagonal and not exact else []))
        names.append(name)

    for item in problem.constraints:
        called = item.called(seen)
        seen += len(called)
        for k, name in enumerate(called):
            if name not in weights:
                continue
            if item.over_w:
                add(name, item.G[[k]], [1.0], Fraction(float(item.c[k])), float(item.h[k]), exact=True)
            else:
                stored = slice(*item.A.indptr[k : k + 2])
                add(name, item.Z[item.A.indices[stored]], item.A.data[stored].tolist(), None, float(item.h[k]), False)
    for i, sign in enumerate(problem.labels.tolist()) if "margin[" in "".join(weights) else ():
        if f"margin[{i}]" in weights and f"margin[{i}]" not in names:
            add(f"margin[{i}]", as_row_source(problem.samples.taken).take(np.array([i])), [-sign], None, -1.0, False)
    return sp.csr_array(sp.vstack(points)), terms, c, bounds, names


def _balance(nu: float, weight: FloatArray, y: FloatArray, labels: tuple[str, str]) -> Proof:
    from qpsvm.base.arrays.exactly import sum_of
    from qpsvm.bounds.proof.infeasible.constraints import balance

    return balance(nu, sum_of(weight[y > 0]), sum_of(weight[y < 0]), labels)


def with_totals(
    error: InfeasibleNuError, sums: FloatArray, pair: tuple[int, int | None], radius: float, classes: NDArray[Any]
) -> InfeasibleNuError:
    """The error with what proves it, where only the sums of the weights of k classes are known.

    Shapes: sums (k,), classes (k,).
    """
    exact, (one, other) = [Fraction(value) for value in sums.tolist()], pair
    rest = sum(exact, -exact[one]) if other is None else exact[other]
    labels = "the rest" if other is None else shown(classes.tolist()[other]), shown(classes.tolist()[one])
    error._evidence = partial(_totals, error.nu, exact[one], rest, labels, Fraction(radius))
    return error


def _totals(nu: float, above: Fraction, below: Fraction, labels: tuple[str, str], radius: Fraction) -> Proof:
    from qpsvm.bounds.proof.infeasible.constraints import balance

    return balance(nu, above, below, labels, radius)
