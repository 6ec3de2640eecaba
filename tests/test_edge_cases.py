"""Valid but nasty input: a certified answer, or an honest status with an honest gap.

`test_matrix` has what is common; each case here is there for what no other says. Results are judged exactly.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from exact_arithmetic import as_fractions, dot
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import exact_gram, find_faults
from pairwise import cover_pairs

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, Linear, NuSVM, Polynomial, Precomputed, PrimalHinge, Sigmoid

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::qpsvm.InaccurateWarning")

BACKENDS = ("cvxopt", "osqp", "cvxpy")
FORMS = ("dual", "primal")
#: These must reach `optimal`; OSQP, a first-order method, may say that it did not.
ACCURATE = ("cvxopt", "cvxpy")

#: CVXPY, which takes longest to compile a problem, in one form: `test_matrix` has it in both.
WAYS = [
    (backend, form) for backend, form in itertools.product(BACKENDS, FORMS) if (backend, form) != ("cvxpy", "primal")
]
each_way = for_each("backend, form", WAYS)


def rotate_ways(**cases: Iterable[Any]) -> Callable[..., Any]:
    """Give each case in two of the five ways, one of which is accurate, and each way two cases of five.

    What is particular about a case is the library's, before and after a backend; `test_matrix` has them all in all.
    """
    rows = [
        (*case, *WAYS[(k + far) % 5]) for k, case in enumerate(itertools.product(*cases.values())) for far in (0, 2)
    ]
    return for_each(", ".join((*cases, "backend", "form")), rows)


TOL = 1e-6
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Task:
    """A machine of two classes in plain numbers: y is −1/+1."""

    X: Any
    y: Any
    variant: str = "c"
    kernel: Any = Linear()  # noqa: RUF009  (frozen)
    C: Any = 1.0
    nu: float = 0.5
    lam: float = 0.1
    intercept: Any = "free"
    weight: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> qpsvm.Problem:
        """The library's."""
        X = self.X
        y = self.y
        kernel = self.kernel
        weight = self.weight
        if self.variant == "c":
            return CSVM(X, y, self.C, kernel, weight, **self.options)
        if self.variant == "nu":
            return NuSVM(X, y, self.nu, kernel, weight, **self.options)
        if self.variant == "hinge":
            return PrimalHinge(X, y, self.lam, kernel, self.intercept, weight, **self.options)
        return HardMargin(X, y, kernel, **self.options)

    def solve(self, backend: str = "cvxopt", form: str | None = None, **options: Any) -> qpsvm.SVMResult:
        """A result, whatever its status."""
        return qpsvm.solve(self.problem, backend, form, check=False, **options)  # type: ignore[arg-type]


def verify(task: Task, result: qpsvm.SVMResult, optimal: bool = True) -> None:
    """No claim of the result is false, in exact arithmetic; `optimal` asks for the status, too."""
    assert result.summary()
    assert not find_faults(task.problem, result, TOL)
    assert not optimal or result.status == "optimal", f"{result!r}: {result.solver}"


def solve(task: Task, backend: str = "cvxopt", form: str | None = None, optimal: bool | None = None) -> qpsvm.SVMResult:
    result = task.solve(backend, form)
    verify(task, result, backend in ACCURATE if optimal is None else optimal)
    return result


# data


def blobs(n: int = 24, d: int = 3, apart: float = 1.0, seed: int = 0, share: float = 0.5) -> tuple[Any, Any]:
    """Two Gaussian clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < max(1, round(share * n)), 1, -1)
    return rng.normal(size=(n, d)) + apart * y[:, None] / 2, y


X0, Y0 = blobs(apart=1.5)
XS, YS = blobs(20, 3, apart=8.0, seed=1)  # separable


def gamma_for(X: Any) -> float:
    spread = float(np.asarray(X, float).var(axis=0).sum())
    return 1.0 / spread if spread > 0 else 1.0


def columns(*factors: float) -> Any:
    return np.array(factors)


def with_rows(X: Any, y: Any, copies: Any, sign: int) -> tuple[Any, Any]:
    return np.vstack([X, X[copies]]), np.concatenate([y, sign * y[copies]])


LATTICE = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=2)))

#: name → X, y.
DATA: dict[str, tuple[Any, Any]] = {
    "offset 1e6 spreads": (X0 + 1e6, Y0),
    "offset 1e8 spreads": (X0 + 1e8, Y0),
    "columns from 1e-4 to 1e4": (X0 * columns(1e-4, 1, 1e4), Y0),
    "duplicates, same label": with_rows(X0, Y0, slice(0, 12), 1),
    "duplicates, opposite label": with_rows(X0, Y0, slice(6, 18), -1),
    "every row in both classes": with_rows(X0, Y0, slice(None), -1),
    "a constant column of 1e6": (np.column_stack([X0, np.full(24, 1e6)]), Y0),
    "all columns constant": (np.full((24, 3), 0.1), Y0),
    "all zero": (np.zeros((24, 3)), Y0),
    "the same column twice": (X0[:, [0, 0, 1]], Y0),
    "one feature": (X0[:, :1], Y0),
    "n = 2": (np.array([[0.0, 1.0], [2.0, 5.0]]), np.array([1, -1])),
    "n = 2, the same sample": (np.ones((2, 2)), np.array([1, -1])),
    "one sample against sixty": blobs(61, 2, 2.0, seed=3, share=1 / 61),
    "n < d": blobs(10, 40, 0.5, seed=4),
    "a lattice": (LATTICE, np.where(LATTICE.sum(axis=1) % 2, 1, -1)),
    "subnormal column": (np.column_stack([X0, X0[:, 0] * 1e-310]), Y0),
}

Parameters = Callable[[Any], dict[str, Any]]
VARIANTS: dict[str, Parameters] = {
    "C-SVM": lambda y: {"variant": "c", "C": 1.0},  # noqa: ARG005
    "nu-SVM": lambda y: {"variant": "nu", "nu": 1.4 * min((y > 0).mean(), (y < 0).mean())},
    "hinge": lambda y: {"variant": "hinge", "lam": 0.05},  # noqa: ARG005
    "hinge, penalised": lambda y: {"variant": "hinge", "lam": 0.05, "intercept": "penalised"},  # noqa: ARG005
    "hinge, none": lambda y: {"variant": "hinge", "lam": 0.05, "intercept": None},  # noqa: ARG005
}
KERNELS: dict[str, Callable[[Any], Any]] = {"linear": lambda X: Linear(), "rbf": lambda X: RBF(gamma_for(X))}  # noqa: ARG005


@pytest.mark.slow
@for_each("name, variant, kernel, way", cover_pairs(tuple(DATA), tuple(VARIANTS), tuple(KERNELS), WAYS))
def test_nasty_data(name: str, variant: str, kernel: str, way: tuple[str, str]) -> None:
    X, y = DATA[name]
    backend, form = way
    task = Task(X, y, kernel=KERNELS[kernel](X), **VARIANTS[variant](y))
    uncentred = kernel == "linear" and variant in ("hinge, penalised", "hinge, none")  # an offset is part of the model
    solve(task, backend, form, backend in ACCURATE and not (uncentred and "1e" in name))


# scales


#: Linear problems whose effective C (C times the size of K) is 1e12 and more, or that an offset makes so.
CONDITIONING = {
    "features × 1e-8": Task(X0 * 1e-8, Y0, C=1e16),
    "features × 1e-8, nu": Task(X0 * 1e-8, Y0, variant="nu", nu=0.5),
    "features × 1e-6, penalised": Task(X0 * 1e-6, Y0, variant="hinge", lam=5e-14, intercept="penalised"),
    "features × 1e8, C = 1": Task(X0 * 1e8, Y0),
    "features × 1e8, C = 1, hinge": Task(X0 * 1e8, Y0, variant="hinge", lam=0.05),
    "features × 1e8, no intercept": Task(X0 * 1e8, Y0, variant="hinge", lam=0.05, intercept=None),
    "columns from 1e-8 to 1e8": Task(X0 * columns(1e-8, 1, 1e8), Y0),
    "an outlier of 1e6": Task(np.vstack([X0, np.full((1, 3), 1e6)]), np.append(Y0, -1)),
    "an outlier of 1e6, nu": Task(np.vstack([X0, np.full((1, 3), 1e6)]), np.append(Y0, -1), variant="nu", nu=0.5),
    "offset 1e6, penalised": Task(X0 + 1e6, Y0, variant="hinge", lam=0.05, intercept="penalised"),
    "offset 1e6, no intercept": Task(X0 + 1e6, Y0, variant="hinge", lam=0.05, intercept=None),
    "sparse, offset 1e6": Task(sp.csr_array(X0 + 1e6), Y0),
    "sparse, offset 1e6, rbf": Task(sp.csr_array(X0 + 1e6), Y0, kernel=RBF(0.3)),
    "C = 1e-8": Task(X0, Y0, C=1e-8),
    "C = 1e-8, rbf": Task(X0, Y0, C=1e-8, kernel=RBF(0.3)),
    "C = 1e8": Task(X0, Y0, C=1e8),
    "C = 1e8, rbf": Task(X0, Y0, C=1e8, kernel=RBF(0.3)),
    "C = 1e12": Task(X0, Y0, C=1e12),
    "C from 1e-4 to 1e4": Task(X0, Y0, C=np.logspace(-4, 4, 24)[np.random.default_rng(0).permutation(24)]),
    "weights from 1e-4 to 1e4": Task(X0, Y0, weight=np.logspace(-4, 4, 24)[np.random.default_rng(5).permutation(24)]),
    "C from 1e-8 to 1e8": Task(X0, Y0, C=np.logspace(-8, 8, 24)[np.random.default_rng(0).permutation(24)]),
}


@pytest.mark.slow
@for_each("name", CONDITIONING)
def test_hard_conditioning_is_honest_everywhere_and_solved_somewhere(name: str) -> None:
    task = CONDITIONING[name]
    statuses = {(b, f): solve(task, b, f, optimal=False).status for b in BACKENDS for f in FORMS}
    assert "optimal" in [statuses[b, f] for b in ACCURATE for f in FORMS]


@for_each("name", [n for n in CONDITIONING if n.startswith(("features", "C = 1e8", "C from 1e-4"))])
def test_hard_conditioning_is_solved_where_nothing_is_chosen(name: str) -> None:
    """`solve(problem)` alone: the library picks backend and form, and may try another when the certificate says no."""
    task = CONDITIONING[name]
    verify(task, qpsvm.solve(task.problem, check=False))


# C, weights, ν


@for_each("name", ["as it is", "every row in both classes", "all zero", "bits", "1:2", "weights"])
def test_b_interval_is_every_b_that_is_as_good(name: str) -> None:
    data = DATA | {"as it is": (X0, Y0), "bits": ((X0 > 0).astype(float), Y0)}
    if name in ("1:2", "weights"):
        X, y = blobs(12, 2, 1.0, seed=8, share=1 / 3)
    else:
        X, y = data[name]
    weight = np.linspace(1, 2, 12) if name == "weights" else None
    for C, kernel in itertools.product((1e-3, 1.0), KERNELS.values()):
        task = Task(X, y, C=C, kernel=kernel(X), weight=weight)
        result = solve(task)
        u = result.decision_function(X) - result.b
        upper = C * (np.ones(len(y)) if weight is None else weight)
        points = np.sort(y - u)  # the hinge loss is linear between these
        losses = np.array([upper @ np.maximum(1 - y * (u + b), 0) for b in points])
        best = points[losses <= losses.min() + 1e-9 * upper.sum()]
        assert result.b_interval == pytest.approx((best.min(), best.max()), abs=1e-6)


NUS: dict[str, tuple[float, Any]] = {
    "nu_max": (2 / 3, None),
    "a rounding below nu_max": (float(np.nextafter(2 / 3, 0)), None),
    "a rounding above nu_max": (float(np.nextafter(2 / 3, 1)), None),
    "three roundings above": (2 / 3 * (1 + 3 * EPS), None),
    "nu_max with weights": (2 * 0.8 / 2.4, np.where(np.arange(24) < 8, 0.1, 0.1)),
    "nu = 1": (1.0, np.where(np.arange(24) < 8, 0.2, 0.1)),
    "1e-3": (1e-3, None),
    "1e-8": (1e-8, None),
    "1e-15": (1e-15, None),
}


@pytest.mark.slow
@rotate_ways(kernel=KERNELS, name=NUS)
def test_nu_at_the_ends_of_its_range(name: str, kernel: str, backend: str, form: str) -> None:
    X, y = blobs(24, 3, 1.5, share=1 / 3)
    nu, weight = NUS[name]
    task = Task(X, y, "nu", KERNELS[kernel](X), nu=nu, weight=weight)
    problem = task.problem
    assert isinstance(problem, NuSVM)
    if nu < 1e-12 and backend == "cvxpy":  # every number is rounding, and Clarabel ends without a point
        return
    solve(replace(task, nu=min(nu, problem.nu_max)), backend, form, backend in ACCURATE and nu > 1e-12)


MEETING = {
    "every row in both classes": (np.vstack([X0, X0]), np.repeat([1, -1], 24), 0.5),
    "every row in both classes, quadratic": (np.vstack([X0, X0]), np.repeat([1, -1], 24), 0.5),
    "one point": (np.ones((6, 2)), np.repeat([1, -1], 3), 0.7),
    "a cross": (np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([1, 1, -1, -1]), 1.0),
    "far inside": (*blobs(40, 2, 0.2, seed=2), 0.3),
    "far from the origin": (1e6 + np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([1, 1, -1, -1]), 1.0),
}


@pytest.mark.slow
@each_way
@for_each("name", MEETING)
def test_reduced_hulls_that_meet(name: str, backend: str, form: str) -> None:
    X, y, nu = MEETING[name]
    kernel = Polynomial(2, 1.0, 1.0) if "quadratic" in name else Linear()
    task = Task(X, y, "nu", kernel, nu=nu)
    result = solve(task, backend, form)
    problem = task.problem
    assert isinstance(problem, NuSVM)
    size = np.abs(X - X.mean(axis=0)).max() ** (2 if "quadratic" in name else 1)
    if result.status == "optimal":
        assert abs(result.rho) <= 1e-3 * nu * size
        assert abs(result.primal) <= 1e-6 * nu**2 * size**2
        if abs(result.rho) < 1e-9 * nu * size:
            assert "rho" in result.message
            with pytest.raises(qpsvm.QPSVMError, match="rho"):
                problem.equivalent_c_svm(result)


@pytest.mark.slow
@each_way
@for_each("share", [0.1, 0.3, 0.5, 0.8])
def test_reduced_hulls_that_all_but_meet(share: float, backend: str, form: str) -> None:
    """With a wide kernel the optimum is 1e-9 of the size of K: what is tiny must not pass for solved."""
    X = np.array([[0.0], [0.7], [-0.4], [-0.6], [1.0], [-0.5]])
    y = np.array([1, -1, -1, 1, 1, -1])
    task = Task(X, y, "nu", RBF(0.1), nu=share, weight=np.array([0.5, 0.5, 1, 1, 2, 2]))
    solve(task, backend, form, optimal=backend == "cvxopt")


@pytest.mark.slow
@rotate_ways(kernel=KERNELS, variant=VARIANTS)
def test_a_weight_of_two_is_the_row_twice_and_of_zero_is_no_row(
    variant: str, kernel: str, backend: str, form: str
) -> None:
    weight = np.array([0.0, 1.0, 2.0] * 8)
    parameters: dict[str, Any] = {**VARIANTS[variant](Y0), "kernel": KERNELS[kernel](X0)}
    rows = np.repeat(np.arange(24), weight.astype(int))
    weighted = Task(X0, Y0, weight=weight, **parameters)
    repeated = Task(X0[rows], Y0[rows], **parameters)
    result = solve(weighted, backend, form)
    expected = solve(repeated)
    assert (result.alpha[weight == 0] == 0).all()
    assert not np.isin(result.support, np.flatnonzero(weight == 0)).any()
    if result.status == "optimal" and result.gap < 1e-9:
        np.testing.assert_allclose(result.decision_function(X0), expected.decision_function(X0), atol=1e-6)
        merged = np.bincount(rows, expected.alpha, minlength=24)
        assert result.alpha.sum() == pytest.approx(merged.sum(), rel=1e-6)


def test_weights_multiply_c() -> None:
    weight = np.tile(np.linspace(0.1, 3, 12), 2)
    both = [solve(Task(X0, Y0, C=2 * weight)), solve(Task(X0, Y0, C=2.0, weight=weight))]
    np.testing.assert_allclose(both[0].alpha, both[1].alpha, atol=1e-9)
    nothing = np.where(np.arange(24) % 5, weight, 0)
    scaled = [solve(Task(X0, Y0, "nu", nu=0.7, weight=k * nothing)) for k in (1.0, 1e-12, 1e12)]
    for other in scaled[1:]:
        np.testing.assert_allclose(other.decision_function(X0), scaled[0].decision_function(X0), atol=1e-9)


def test_c_nu_and_lambda_are_three_names_of_one_path() -> None:
    for kernel in KERNELS.values():
        c = Task(X0, Y0, C=0.7, kernel=kernel(X0))
        problem = c.problem
        assert isinstance(problem, CSVM)
        first = solve(c)
        nu_problem = problem.equivalent_nu_svm(first)
        second = qpsvm.solve(nu_problem)
        third = qpsvm.solve(nu_problem.equivalent_c_svm(second))
        fourth = solve(Task(X0, Y0, "hinge", kernel(X0), lam=1 / (0.7 * 24)))
        f = first.decision_function(X0)
        np.testing.assert_allclose(second.decision_function(X0) / second.rho, f, atol=1e-7)
        np.testing.assert_allclose(third.decision_function(X0), f, atol=1e-7)
        np.testing.assert_allclose(fourth.decision_function(X0), f, atol=1e-7)


# how the same numbers are stored


def sparse_with_zeros(X: Any) -> Any:
    """CSR with an explicit zero in every row, and column indices in descending order."""
    d = X.shape[1]
    indices = np.tile(np.arange(d)[::-1], len(X)).astype(np.int32)
    return sp.csr_matrix((X[:, ::-1].ravel().copy(), indices, np.arange(0, X.size + 1, d, dtype=np.int32)), X.shape)


def split_entries(X: Any) -> Any:
    """Return X as COO with every entry given as two halves."""
    row, column = np.indices(X.shape)
    twice = [np.concatenate([part.ravel()] * 2) for part in (row, column, X / 2)]
    return sp.coo_array((twice[2], (twice[0], twice[1])), shape=X.shape)


STORED: dict[str, Callable[[Any], Any]] = {
    "list of lists": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "memoryview": memoryview,
    "big-endian": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype("g"),
    "matrix": np.asmatrix,
    "nothing masked": np.ma.masked_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "dok": sp.dok_array,
    "dia": sp.dia_array,
    "unsorted, explicit zeros": sparse_with_zeros,
    "halves in coo": split_entries,
    "64-bit indices": lambda X: with_long_indices(sp.csr_array(X)),
    **{dtype: lambda X, dtype=dtype: X.astype(dtype) for dtype in ("f4", "f2", "i8", "i1", "u1", "bool")},
    **{f"sparse {dtype}": lambda X, dtype=dtype: sp.csr_array(X.astype(dtype)) for dtype in ("f4", "i1", "u1", "bool")},
}


def with_long_indices(X: Any) -> Any:
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)


ROUND = np.abs(np.round(4 * X0))  # exact in a byte, with zeros
BITS = np.minimum(ROUND, 1.0)
KINDS_OF_KERNELS = (Linear(), RBF(0.02), Polynomial(2, 0.03, 1.0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the matrix subclass is not the recommended way:PendingDeprecationWarning")
@for_each("kernel", KINDS_OF_KERNELS)
@for_each("name", STORED)
def test_storage_does_not_matter(name: str, kernel: Any) -> None:
    X = BITS if "bool" in name else ROUND
    f = solve(Task(X, Y0, kernel=kernel)).decision_function(X)
    for form in FORMS:
        result = qpsvm.solve(CSVM(STORED[name](X.copy()), Y0, kernel=kernel), form=form)  # type: ignore[arg-type]
        np.testing.assert_allclose(result.decision_function(X), f, atol=1e-6)
        np.testing.assert_allclose(result.decision_function(STORED[name](X.copy())), f, atol=1e-6)


@for_each("dtype", ["f8", "f4"])
def test_input_is_not_changed(dtype: str) -> None:
    unsorted = sparse_with_zeros(ROUND.astype(dtype))
    weight = np.linspace(1, 2, 24)
    K = ROUND @ ROUND.T
    indices, data = unsorted.indices.copy(), unsorted.data.copy()
    copies = K.copy(), weight.copy(), Y0.copy()
    for kernel in (Linear(), RBF(0.3), Polynomial(2, 0.5)):
        qpsvm.solve(CSVM(unsorted, Y0, weight, kernel, weight)).decision_function(unsorted)
    qpsvm.solve(CSVM(K, Y0, kernel="precomputed", psd="clip")).decision_function(K)
    qpsvm.solve(CSVM(K, Y0, kernel=lambda A, B: K if len(A) == len(B) == 24 else A @ B.T))
    np.testing.assert_array_equal(unsorted.indices, indices)
    np.testing.assert_array_equal(unsorted.data, data)
    for now, before in zip((K, weight, Y0), copies, strict=True):
        np.testing.assert_array_equal(now, before)


def test_a_kernel_may_return_lists_or_a_matrix_that_it_keeps() -> None:
    f = solve(Task(X0, Y0)).decision_function(X0)
    kept = X0 @ X0.T
    before = kept.copy()
    for kernel in (
        lambda A, B: (A @ B.T).tolist(),
        lambda A, B: kept if len(A) == len(B) == 24 else A @ B.T,
        lambda A, B: np.asfortranarray(A @ B.T),
    ):
        result = qpsvm.solve(CSVM(X0, Y0, kernel=kernel), check=False)
        np.testing.assert_allclose(result.decision_function(X0), f, atol=1e-5)
    np.testing.assert_array_equal(kept, before)


def test_a_precomputed_kernel_is_the_kernel() -> None:
    kernel = RBF(0.3)
    new = np.random.default_rng(9).normal(size=(5, 3))
    weight = np.where(np.arange(24) % 7, 1.0, 0)
    expected = solve(Task(X0, Y0, kernel=kernel, weight=weight))
    K, to_new = kernel(X0, X0), kernel(new, X0)
    K = (K + K.T) / 2
    for form, matrix in itertools.product(FORMS, (K, sp.csr_array(K), np.asfortranarray(K), K.astype("g"))):
        task = Task(matrix, Y0, kernel=Precomputed(), weight=weight)
        result = task.solve("cvxopt", form)
        verify(task, result)
        np.testing.assert_allclose(result.decision_function(to_new), expected.decision_function(new), atol=1e-6)


def test_dense_and_sparse_samples_predict_the_same() -> None:
    for kernel, offset in itertools.product(KINDS_OF_KERNELS, (0.0, 1e6)):
        if offset and isinstance(kernel, Polynomial):
            continue
        X = ROUND + offset
        new = ROUND[::-1] + offset + 0.25
        for stored in (X, sp.csr_array(X)):
            result = qpsvm.solve(CSVM(stored, Y0, kernel=kernel), check=False)
            f = result.decision_function(new)
            for other in (sp.csr_array(new), sp.coo_matrix(new), np.asfortranarray(new), new.astype(np.longdouble)):
                np.testing.assert_allclose(result.decision_function(other), f, atol=1e-6)
            one_by_one = np.concatenate([result.decision_function(new[[i]]) for i in range(len(new))])
            np.testing.assert_allclose(one_by_one, f, atol=1e-6)


def test_a_result_is_independent_of_the_samples_after_it_is_made() -> None:
    for kernel in (Linear(), RBF(0.3)):
        X = X0.copy()
        result = qpsvm.solve(CSVM(X, Y0, kernel=kernel))
        f = result.decision_function(X0)
        again = pickle.loads(pickle.dumps(result))
        X[:] = 7.0
        np.testing.assert_array_equal(result.decision_function(X0), f)
        np.testing.assert_array_equal(again.decision_function(X0), f)
        assert again.status is result.status
        assert again.summary() == result.summary()


def test_order_of_rows_and_columns_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    rows, cols = rng.permutation(24), rng.permutation(3)
    for kernel in (Linear(), RBF(0.3)):
        straight = solve(Task(X0, Y0, kernel=kernel, weight=np.linspace(1, 2, 24)))
        mixed = solve(Task(X0[rows][:, cols], Y0[rows], kernel=kernel, weight=np.linspace(1, 2, 24)[rows]))
        np.testing.assert_allclose(mixed.alpha, straight.alpha[rows], atol=1e-8)
        assert mixed.b == pytest.approx(straight.b, abs=1e-8)


# labels

LABELS: dict[str, tuple[Any, Any]] = {
    "minus and plus": (-1, 1),
    "zero and one": (0, 1),
    "floats": (0.25, 0.75),
    "adjacent floats": (1.0, float(np.nextafter(1.0, 2))),
    "large integers": (2**62, 2**62 + 1),
    "booleans": (False, True),
    "text": ("no", "yes"),
    "text, empty": ("", "a"),
    "text, accents": ("Ärger", "été"),
    "bytes": (b"no", b"yes"),
    "text of different length": ("a", "a much longer label"),
}


@pytest.mark.slow
@for_each("name", LABELS)
@for_each("as_object", [False, True])
def test_labels_of_any_kind_and_their_flip(name: str, as_object: bool, tmp_path: Path) -> None:
    small, large = sorted(LABELS[name])
    y, flipped = (np.array([pair[(v > 0) * 1] for v in Y0], dtype=object if as_object else None)
                  for pair in ((small, large), (large, small)))  # fmt: skip
    for kernel in (Linear(), RBF(0.3)):
        result, mirror = (qpsvm.solve(CSVM(X0, labels, kernel=kernel)) for labels in (y, flipped))
        reference = solve(Task(X0, Y0, kernel=kernel))
        np.testing.assert_allclose(result.decision_function(X0), reference.decision_function(X0), atol=1e-12)
        np.testing.assert_allclose(mirror.decision_function(X0), -reference.decision_function(X0), atol=1e-8)
        np.testing.assert_allclose(mirror.alpha, result.alpha, atol=1e-8)
        assert mirror.b == pytest.approx(-result.b, abs=1e-8)
        assert list(result.classes) == [small, large]
        right = result.predict(X0) == y
        np.testing.assert_array_equal(right, (reference.decision_function(X0) > 0) == (Y0 > 0))
        if as_object and not isinstance(small, str):
            continue
        result.save(tmp_path / "model.npz")
        again = qpsvm.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.predict(X0), result.predict(X0))
        np.testing.assert_allclose(again.decision_function(X0), result.decision_function(X0), rtol=1e-14, atol=1e-14)


def test_pandas_goes_in_as_it_is() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X0, columns=["a", "b", "c"], index=range(100, 124))
    f = solve(Task(X0, Y0)).decision_function(X0)
    for y in (
        pandas.Series(Y0, index=range(5, 29)),
        pandas.Series(np.where(Y0 > 0, "z", "a")),
        pandas.Categorical(np.where(Y0 > 0, "z", "a")),
        pandas.array(Y0 > 0, dtype="boolean"),
    ):
        result = qpsvm.solve(CSVM(frame, y, sample_weight=pandas.Series(np.ones(24))))
        np.testing.assert_allclose(result.decision_function(frame), f, atol=1e-9)
        assert len(result.predict(frame)) == 24


@for_each("kind", [np.float64, np.float32, np.int64, np.array])
def test_numpy_scalars_are_numbers(kind: Any, tmp_path: Path) -> None:
    one, two = kind(1), kind(2)
    for kernel in (RBF(one), Polynomial(two, one, one), Sigmoid(one, one)):
        problem = CSVM(X0, Y0, one, kernel, psd="clip")
        result = qpsvm.solve(problem, "osqp", tol=np.float32(1e-6), max_iter=np.int64(4000), check=False)
        result.save(tmp_path / "model.npz")
        again = qpsvm.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.decision_function(X0), result.decision_function(X0))
    PrimalHinge(X0, Y0, one)
    NuSVM(X0, Y0, one)


# the hard margin


def draw_squares(margin: float, scale: float = 1.0, offset: float = 0.0) -> tuple[Any, Any]:
    """Return two squares of side 2, `margin` apart."""
    square = np.array([[0.0, 0], [2, 0], [0, 2], [2, 2], [1, 1]])
    X = np.vstack([square - np.array([2.0, 0]), square + np.array([margin, 0.5])])
    return scale * (X + offset), np.repeat([-1, 1], 5)


SEPARABLE: dict[str, tuple[Any, Any, Any]] = {
    "blobs": (XS, YS, Linear()),
    "blobs × 1e8": (XS * 1e8, YS, Linear()),
    "blobs × 1e-8": (XS * 1e-8, YS, Linear()),
    "blobs + 1e6": (XS + 1e6, YS, Linear()),
    "blobs, rbf": (XS, YS, RBF(0.1)),
    "blobs + 1e6, rbf": (XS + 1e6, YS, RBF(0.1)),
    "overlapping blobs, rbf": (X0, Y0, RBF(1.0)),
    "cubic": (X0, Y0, Polynomial(3, 1.0, 1.0)),
    "margin 1e-3": (*draw_squares(1e-3), Linear()),
    "margin 1e-6": (*draw_squares(1e-6), Linear()),
    "margin 1e-6, × 1e8": (*draw_squares(1e-6, 1e8), Linear()),
    "margin 1e-3, + 1e6": (*draw_squares(1e-3, offset=1e6), Linear()),
    "n = 2": (np.array([[0.0], [1.0]]), np.array([1, -1]), Linear()),
    "n = 2, 1e-8 apart": (np.array([[1.0], [1 + 1e-8]]), np.array([1, -1]), Linear()),
    "n < d": (*blobs(10, 40, 0.5, seed=4), Linear()),
    "duplicates": (np.vstack([XS, XS]), np.concatenate([YS, YS]), Linear()),
    "one against many": (np.vstack([XS[YS < 0], [[20.0, 20, 20]]]), np.append(YS[YS < 0], 1), Linear()),
}


@pytest.mark.slow
@rotate_ways(name=SEPARABLE)
def test_separable_classes(name: str, backend: str, form: str) -> None:
    X, y, kernel = SEPARABLE[name]
    result = solve(Task(X, y, "hard", kernel), backend, form)
    if result.status == "optimal":
        assert (result.predict(X) == y).all()


NEAR_TWINS = np.vstack([X0, X0 + 1e-3])  # opposite labels 1e-3 apart: separable, with a tiny margin


@pytest.mark.slow
@for_each("kernel", [RBF(1.0), RBF(30.0), Polynomial(9, 1.0, 1.0)])
def test_a_tiny_margin_in_feature_space(kernel: Any) -> None:
    task = Task(NEAR_TWINS, np.repeat([1, -1], 24), "hard", kernel)
    try:
        result = qpsvm.solve(task.problem, check=False)
    except qpsvm.QPSVMError:
        pytest.fail("check=False must return")
    if result.status == "infeasible":
        assert isinstance(result.error, qpsvm.NotSeparableError)
        check_meeting(task.X, task.y, kernel, result.error)
    else:
        verify(task, result, optimal=False)


XOR = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([1, 1, -1, -1])
CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
#: Sample 7 is 1e-8 from a segment of the other hull, and a linear program with a tolerance of 1e-7 stops there.
EDGE = np.array([
    [100.3, 100.3], [100.1, 100.36524755954743], [99.63824205398559, 100.20496623516082], [99.9902149707079, 100.0],
    [100.00099999997765, 99.9], [100.1, 100.0], [99.79048478603363, 100.39057998657226], [100.0, 100.00000001192093],
    [100.3, 99.86863261461258], [99.8, 99.80965970754623], [100.3, 100.0],
])  # fmt: skip
INSEPARABLE: dict[str, tuple[Any, Any, Any]] = {
    "a sample 1e-8 from an edge": (EDGE, np.array([1, 1, -1, -1, 1, -1, -1, 1, 1, -1, -1]), Linear()),
    "duplicates, narrow rbf": (np.array([[-5.0, 4], [-1, -5], [-3, 5], [0, -1], [2, 0], [-5, 4]]),
                               np.array([1, 1, -1, -1, 1, -1]), RBF(10.0)),
    "overlapping blobs": (X0, Y0, Linear()),
    "blobs × 1e8": (X0 * 1e8, Y0, Linear()),
    "blobs × 1e-8": (X0 * 1e-8, Y0, Linear()),
    "blobs + 1e6": (X0 + 1e6, Y0, Linear()),
    "columns from 1e-4 to 1e4": (X0 * columns(1e-4, 1, 1e4), Y0, Linear()),
    "sparse": (sp.csr_array(ROUND), Y0, Linear()),
    "xor": (*XOR, Linear()),
    "just touching": (*draw_squares(0.0), Linear()),
    "touching + 1e6": (*draw_squares(0.0, offset=1e6), Linear()),
    "a corner on an edge": (np.array([[0.0, 0], [2, 0], [1, 0], [1, 1]]), np.array([1, 1, -1, -1]), Linear()),
    "n = 2, the same sample": (np.ones((2, 2)), np.array([1, -1]), Linear()),
    "all columns constant": (np.full((24, 3), 0.1), Y0, Linear()),
    "a point inside": (np.vstack([CUBE, [[0.5, 0.5, 0.5]]]), np.append(np.ones(8, int), -1), Linear()),
    "duplicates, rbf": (np.vstack([X0, X0[:1]]), np.append(Y0, -Y0[0]), RBF(1.0)),
    "all duplicates, rbf": (np.vstack([X0, X0]), np.repeat([1, -1], 24), RBF(1.0)),
    "duplicates + 1e6, rbf": (np.vstack([X0, X0[:1]]) + 1e6, np.append(Y0, -Y0[0]), RBF(1.0)),
    "duplicates, quadratic": (np.vstack([X0, X0[:1]]), np.append(Y0, -Y0[0]), Polynomial(2, 1.0, 1.0)),
    "mirror images, even polynomial": (np.vstack([X0, -X0]), np.repeat([1, -1], 24), Polynomial(2, 1.0, 0.0)),
    "overlapping blobs, degree 1": (X0, Y0, Polynomial(1, 1.0, 1.0)),
    "overlapping blobs, degree 1, coef0 -1": (X0, Y0, Polynomial(1, 1.0, -1.0)),
}  # fmt: skip


def check_meeting(X: Any, y: Any, kernel: Any, error: qpsvm.NotSeparableError) -> None:
    """Check by arithmetic that u and v are convex weights of the two classes whose points meet."""
    u, v = error.u, error.v
    assert u.shape == v.shape == y.shape
    assert (u >= 0).all()
    assert (v >= 0).all()
    assert (u[y < 0] == 0).all()
    assert (v[y > 0] == 0).all()
    assert u.sum() == pytest.approx(1, abs=1e-12)
    assert v.sum() == pytest.approx(1, abs=1e-12)
    if isinstance(kernel, Linear):
        dense = np.asarray(X.toarray() if sp.issparse(X) else X).astype(np.longdouble)
        centred = dense - dense.mean(axis=0)  # the sums are 1, so a common offset cancels
        distance = np.linalg.norm((u - v) @ centred)
        size = np.sqrt((centred**2).sum(axis=1).max())
    else:
        K = exact_gram(kernel, X)
        delta = as_fractions(u - v)
        distance = abs(float(dot(delta, [dot(row, delta) for row in K]))) ** 0.5
        size = max(abs(float(row[i])) for i, row in enumerate(K)) ** 0.5
    assert distance <= 1e-7 * size
    assert 0 <= error.distance < 1e-7


@pytest.mark.slow
@rotate_ways(name=INSEPARABLE)
def test_inseparable_classes_carry_their_proof(name: str, backend: str, form: str) -> None:
    X, y, kernel = INSEPARABLE[name]
    problem = HardMargin(X, y, kernel)
    with pytest.raises(qpsvm.NotSeparableError) as caught:
        qpsvm.solve(problem, backend, form)  # type: ignore[arg-type]
    check_meeting(X, y, kernel, caught.value)
    result = qpsvm.solve(problem, backend, form, check=False)  # type: ignore[arg-type]
    assert result.status == "infeasible"
    assert result.gap == np.inf
    assert isinstance(result.error, qpsvm.NotSeparableError)
    assert result.summary()
    f = result.decision_function(X)
    assert not np.isnan(f).any()
    if backend != "cvxopt":  # which ends far out on a ray, where f is the rounding of an α of 1e20
        noise = (
            8 * EPS * float((np.abs(kernel(X, X) if not isinstance(kernel, Linear) else X @ X.T) @ result.alpha).max())
        )
        np.testing.assert_allclose(f, y * result.yf, atol=1e-6 * np.abs(result.yf).max() + noise)


@pytest.mark.slow
@for_each("kernel", [*map(RBF, (0.1, 1.0, 10.0)), *(Polynomial(p, 1.0, 1.0) for p in (2, 3))])
@for_each("backend", BACKENDS)
def test_the_same_sample_in_both_classes_is_never_separated(backend: str, kernel: Any) -> None:
    """Margins of the size of rounding are no margins: a kernel matrix of rank n in floating point proves nothing."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        n = int(rng.integers(3, 12))
        X = rng.integers(-5, 6, size=(n, 2)).astype(float)
        y = rng.choice([-1, 1], n)
        X[-1] = X[0]
        y[0] = 1
        y[-1] = -1
        with pytest.raises(qpsvm.NotSeparableError) as caught:
            qpsvm.solve(HardMargin(X, y, kernel), backend)
        check_meeting(X, y, kernel, caught.value)


@pytest.mark.slow
@for_each("backend", BACKENDS)
def test_samples_close_to_the_other_hull_do_not_hide_that_the_hulls_overlap(backend: str) -> None:
    rng = np.random.default_rng(1)
    square, labels = XOR
    for _ in range(15):
        near = square[rng.integers(4, size=8)] * rng.random((8, 1)) + rng.choice([0, 1e-9, 1e-8, 1e-7], size=(8, 2))
        X = 100 + np.vstack([square, near]) * rng.choice([1e-3, 1, 1e3])
        y = np.concatenate([labels, rng.choice([-1, 1], 8)])
        with pytest.raises(qpsvm.NotSeparableError) as caught:
            qpsvm.solve(HardMargin(X, y), backend)
        check_meeting(X, y, Linear(), caught.value)


@for_each("intercept", ["penalised", None])
def test_a_kernel_that_only_a_free_intercept_makes_definite_is_refused_without(intercept: Any) -> None:
    X = X0[:, :1] / 10  # K + 1 − 5 and K − 5: indefinite
    with pytest.raises(qpsvm.IndefiniteKernelError) as caught:
        qpsvm.solve(PrimalHinge(X, Y0, kernel=Polynomial(1, 1.0, -5.0), intercept=intercept))
    offset = -5.0 + (intercept == "penalised")
    assert caught.value.eigenvalue == pytest.approx(np.linalg.eigvalsh(X @ X.T + offset)[0], rel=1e-9)


# limits


@pytest.mark.slow
@for_each("variant, kernel", itertools.product(VARIANTS, KERNELS))
@for_each("backend, limit", itertools.product(BACKENDS, ["max_iter", "time_limit"]))
@for_each("polish", [True, False])
def test_a_solver_that_is_stopped_at_once_is_reported_honestly(
    variant: str, kernel: str, backend: str, limit: str, polish: bool
) -> None:
    if (backend, limit) == ("cvxopt", "time_limit"):  # which keeps none
        return
    task = Task(X0, Y0, kernel=KERNELS[kernel](X0), **VARIANTS[variant](Y0))
    verify(task, task.solve(backend, polish=polish, **{limit: 1 if limit == "max_iter" else 1e-9}), optimal=False)


@for_each("backend", BACKENDS)
@for_each("verbose", [1, 0, np.True_])
def test_verbose_may_be_anything_that_is_true_or_not(verbose: Any, backend: str, capfd: Any) -> None:
    result = qpsvm.solve(CSVM(X0, Y0), backend, verbose=verbose)
    assert result.status == "optimal"
    assert bool(capfd.readouterr().out) is bool(verbose)


@pytest.mark.slow
@for_each("backend", BACKENDS)
@for_each("tol, kernel", itertools.product((1e-15, 1e-30, 1e-300), KERNELS))
def test_tolerances_beyond_reach_are_not_pretended(tol: float, kernel: str, backend: str) -> None:
    result = Task(X0, Y0, kernel=KERNELS[kernel](X0)).solve(backend, tol=tol)
    assert (result.status == "optimal") == (result.gap <= tol)
    assert result.gap <= 1e-9 or backend == "osqp"


# anything at all


@st.composite
def tasks(draw: st.DrawFn, variants: tuple[str, ...] = ("c", "nu", "hinge")) -> Task:
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    # multiples of 2⁻¹⁰: of samples 1e-18 apart no double has the answer, and `hostile` asks whether that is said
    entry = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]) | st.integers(-4096, 4096).map(lambda k: k / 1024)
    X = np.array(draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    y[0] = 1
    y[-1] = -1
    X *= 10.0 ** draw(st.integers(-3, 3))
    power = draw(st.integers(-4, 4))
    size = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    size = size if size > 1e-12 else 1.0
    kernel = draw(st.sampled_from([Linear(), RBF(0.5 / size), RBF(20 / size), Polynomial(2, 1 / size, 1.0)]))
    if not isinstance(kernel, Polynomial):  # for which an offset is part of the model, not of the rounding
        X += draw(st.sampled_from([0.0, 0.0, 100.0]))
    C = 10.0**power / (size if isinstance(kernel, Linear) else 1.0)
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n).map(np.array))
    if weight is not None:
        weight[[0, -1]] = 1.0
    s = np.ones(n) if weight is None else weight
    variant = draw(st.sampled_from(variants))
    nu_max = 2 * min(s[y > 0].sum(), s[y < 0].sum()) / s.sum()
    nu = nu_max * draw(st.sampled_from([1.0, 0.5, 0.1, 1e-3]))
    if variant == "hinge":
        intercept = draw(st.sampled_from(["free", "penalised", None]))
    else:
        intercept = "free"
    X = X if intercept == "free" else X - X.mean(axis=0)
    return Task(X, y, variant, kernel, C, nu, 1 / (C * s.sum()), intercept, weight)


@pytest.mark.slow
@given(task=tasks(), backend=st.sampled_from(BACKENDS), form=st.sampled_from(FORMS))
@settings(max_examples=120)
def test_any_small_problem_is_certified_or_answered_honestly(task: Task, backend: str, form: str) -> None:
    solve(task, backend, form)


@pytest.mark.slow
@given(task=tasks(variants=("hard",)), backend=st.sampled_from(BACKENDS), form=st.sampled_from(FORMS))
@settings(max_examples=80)
def test_any_small_hard_margin_is_proven_either_way(task: Task, backend: str, form: str) -> None:
    result = replace(task, weight=None).solve(backend, form)
    if isinstance(result.error, qpsvm.NotSeparableError):
        assert result.status == "infeasible"
        check_meeting(task.X, task.y, task.kernel, result.error)
    else:
        verify(replace(task, weight=None), result, optimal=False)
