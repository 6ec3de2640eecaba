"""The table behind the test matrix: pairs of variants, kernels, forms and backends at each scale.

A new backend is in it by what it says of itself; a new variant is one entry in `VARIANTS`. Everything else here is data
and plain NumPy: the formulas are written out again, so that the tests do not measure the library with itself.

Letters: X (n, d), y (n,) of ±1, K (n, n), s the factor that X is multiplied by.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from pairwise import cover_pairs

import qpsvm
from qpsvm.backends import everyone

FORMS = ("dual", "primal")
#: Those that are not there for study; the study solvers have tests of their own.
SERIOUS = {backend.name: backend.abilities for backend in everyone() if not backend.abilities.study}
#: Every backend that is expected to certify: every machine in every form.
BACKENDS = tuple(name for name, can in SERIOUS.items() if all(can.takes_all(form) for form in FORMS))
#: Those that take any QP at all, and not only those of support vector machines.
GENERAL = tuple(name for name, can in SERIOUS.items() if can.any_qp)
#: Those that take some variants and forms only; they have tests of their own.
PARTIAL = tuple(name for name in SERIOUS if name not in BACKENDS)
SCALES = (1e-6, 1.0, 1e8)


# --- samples ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """X (n, d) and y (n,) of ±1, with weights s_i and penalties C_i for the variants that take them."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray = field(init=False)
    penalties: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(3)
        weights = rng.uniform(0.2, 2.0, len(self.y))
        weights[[3, 11]] = 0.0
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "penalties", rng.uniform(0.5, 3.0, len(self.y)))


def blobs(n: int, d: int, distance: float, positive: float, seed: int) -> Samples:
    """Two normal clouds 2·distance apart along the first axis, a share `positive` of them in the positive class."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < round(positive * n), 1.0, -1.0)
    y = y[rng.permutation(n)]
    X = rng.normal(size=(n, d)) + 0.3
    X[:, 0] += distance * y
    return Samples(X, y)


def thinned(samples: Samples) -> Samples:
    """The same with a fifth of the entries of X zero."""
    kept = np.random.default_rng(5).random(samples.X.shape) < 0.8
    return Samples(np.where(kept, samples.X, 0.0), samples.y)


SAMPLES = {
    "separable": blobs(40, 2, distance=4.0, positive=0.4, seed=1),
    "overlapping": blobs(50, 3, distance=1.1, positive=0.4, seed=2),
    "balanced": blobs(40, 3, distance=0.8, positive=0.5, seed=4),
}
SAMPLES["sparse"] = thinned(SAMPLES["overlapping"])


# --- kernels ----------------------------------------------------------------------------------------------------------


def scale_gamma(X: np.ndarray) -> float:
    """γ = 1/(d·var(X))."""
    return 1.0 / (X.shape[1] * X.var())


def gaussian(X: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
    """exp(−γ‖x − z‖²) by differences."""
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def laplacian(X: Any, Z: Any) -> np.ndarray:
    """A kernel of the user's own, positive definite: exp(−‖x − z‖₁/2)."""
    return np.exp(-np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2) / 2)


def clipped(K: np.ndarray) -> np.ndarray:
    """The projection of K on the positive semidefinite matrices."""
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def shifted(K: np.ndarray) -> np.ndarray:
    """K + σI with the least σ that leaves no negative eigenvalue on 1ᵀβ = 0."""
    H = np.eye(len(K)) - 1.0 / len(K)
    return K - np.linalg.eigvalsh(H @ K @ H)[0] * np.eye(len(K))


@dataclass(frozen=True, eq=False)
class KernelCase:
    """A kernel as the library takes it, and the same as a formula.

    Attributes
    ----------
    kernel : Kernel or callable
    formula : callable, X (n, d) to K (n, n)
    samples : callable, X (n, d) to what the problem is given
    scales : bool
        Whether K grows with s²; otherwise its gamma undoes the scale.
    psd : str
    treatment : callable, K (n, n) to the matrix that the dual is solved with
    """

    kernel: Any
    formula: Callable[[np.ndarray], np.ndarray]
    samples: Callable[[np.ndarray], Any] = np.copy
    scales: bool = False
    psd: str = "raise"
    treatment: Callable[[np.ndarray], np.ndarray] = np.copy


def _linear(X: np.ndarray) -> np.ndarray:
    return X @ X.T


def _tanh(X: np.ndarray) -> np.ndarray:
    return np.tanh(scale_gamma(X) * (X @ X.T) + 0.2)


SIGMOID = qpsvm.Sigmoid("scale", 0.2)
KERNELS = {
    "linear": KernelCase(qpsvm.Linear(), _linear, scales=True),
    "polynomial": KernelCase(qpsvm.Polynomial(2, "scale", 1), lambda X: (scale_gamma(X) * (X @ X.T) + 1.0) ** 2),
    "rbf": KernelCase(qpsvm.RBF("scale"), lambda X: gaussian(X, X, scale_gamma(X))),
}
#: For the smaller list.
OTHER_KERNELS = {
    "sparse": KernelCase(qpsvm.Linear(), _linear, samples=sp.csr_array, scales=True),
    "precomputed": KernelCase(qpsvm.Precomputed(), _linear, samples=_linear, scales=True),
    "sigmoid-clip": KernelCase(SIGMOID, _tanh, psd="clip", treatment=clipped),
    "sigmoid-shift": KernelCase(SIGMOID, _tanh, psd="shift", treatment=shifted),
    # Indefinite, but not on the hyperplane yᵀα = 0, which is all that a free intercept needs.
    "affine": KernelCase(qpsvm.Polynomial(1, "scale", -1), lambda X: scale_gamma(X) * (X @ X.T) - 1.0),
    "callable": KernelCase(laplacian, lambda X: laplacian(X, X)),
}


# --- variants ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Units:
    """The powers of s by which a solution changes where K grows with s² and the parameters follow."""

    alpha: int
    w: int
    f: int
    value: int


@dataclass(frozen=True, eq=False)
class Variant:
    """A variant with its parameters.

    Attributes
    ----------
    make : callable, (samples, what the problem is given as X, kernel, u, psd) to Problem
        u = s² where K grows with s², else 1: the parameters follow, so that the problem is the same up to units.
    upper : callable, (samples, u) to C_i (n,)
    units : Units
    intercept : "free", "penalised" or None
    data : str
    nu : float
        1ᵀα; 0 where that is not a constraint.
    factor : callable, u to the factor of primal and dual values
    """

    make: Callable[[Samples, Any, Any, float, str], qpsvm.Problem]
    upper: Callable[[Samples, float], np.ndarray]
    units: Units
    intercept: Literal["free", "penalised"] | None = "free"
    data: str = "overlapping"
    nu: float = 0.0
    factor: Callable[[float], float] = lambda u: 1.0  # noqa: ARG005


HARD = Units(alpha=-2, w=-1, f=0, value=-2)
HINGE = Units(alpha=-2, w=-1, f=0, value=0)
NU = Units(alpha=0, w=1, f=2, value=2)
LAM = 0.02


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def _hinge(intercept: Literal["free", "penalised"] | None) -> Variant:
    return Variant(
        lambda s, X, k, u, psd: qpsvm.PrimalHinge(X, s.y, lam=LAM * u, kernel=k, intercept=intercept, psd=psd),
        lambda s, u: np.full(len(s.y), 1 / (LAM * u * len(s.y))),
        HINGE, intercept=intercept, factor=lambda u: LAM * u,
    )  # fmt: skip


VARIANTS = {
    "hard_margin": Variant(
        lambda s, X, k, u, psd: qpsvm.HardMargin(X, s.y, kernel=k, psd=psd),  # noqa: ARG005
        lambda s, u: np.full(len(s.y), np.inf),  # noqa: ARG005
        HARD, data="separable",
    ),
    "csvm": Variant(
        lambda s, X, k, u, psd: qpsvm.CSVM(X, s.y, C=1 / u, kernel=k, psd=psd),
        lambda s, u: np.full(len(s.y), 1 / u),
        HARD,
    ),
    "csvm_weighted": Variant(
        lambda s, X, k, u, psd: qpsvm.CSVM(X, s.y, s.penalties / u, k, sample_weight=s.weights, psd=psd),
        lambda s, u: s.penalties * s.weights / u,
        HARD,
    ),
    "nusvm": Variant(
        lambda s, X, k, u, psd: qpsvm.NuSVM(X, s.y, nu=0.5, kernel=k, psd=psd),  # noqa: ARG005
        lambda s, u: np.full(len(s.y), 1 / len(s.y)),  # noqa: ARG005
        NU, nu=0.5,
    ),
    "nusvm_weighted": Variant(
        lambda s, X, k, u, psd: qpsvm.NuSVM(X, s.y, nu=0.4, kernel=k, sample_weight=s.weights, psd=psd),  # noqa: ARG005
        lambda s, u: _shares(s.weights),  # noqa: ARG005
        NU, nu=0.4,
    ),
    "hinge_free": _hinge("free"),
    "hinge_penalised": _hinge("penalised"),
    "hinge_none": _hinge(None),
}  # fmt: skip
#: For the smaller list: problems whose b is not unique.
OTHER_VARIANTS = {
    "csvm_all_bounded": Variant(  # C so small that every α is C
        lambda s, X, k, u, psd: qpsvm.CSVM(X, s.y, C=1e-3 / u, kernel=k, psd=psd),
        lambda s, u: np.full(len(s.y), 1e-3 / u),
        HARD, data="balanced",
    ),
    "nusvm_largest": Variant(  # ν = ν_max: every α of the smaller class is at its bound, and b has no upper limit
        lambda s, X, k, u, psd: qpsvm.NuSVM(X, s.y, nu=0.8, kernel=k, psd=psd),  # noqa: ARG005
        lambda s, u: np.full(len(s.y), 1 / len(s.y)),  # noqa: ARG005
        NU, nu=0.8,
    ),
}  # fmt: skip
ALL_VARIANTS = VARIANTS | OTHER_VARIANTS
ALL_KERNELS = KERNELS | OTHER_KERNELS


# --- cells and cases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One problem of the matrix."""

    variant: str
    kernel: str
    scale: float

    @property
    def v(self) -> Variant:
        """The variant."""
        return ALL_VARIANTS[self.variant]

    @property
    def k(self) -> KernelCase:
        """The kernel."""
        return ALL_KERNELS[self.kernel]

    @property
    def samples(self) -> Samples:
        """The samples at scale 1."""
        return SAMPLES["sparse" if self.kernel == "sparse" else self.v.data]

    @property
    def X(self) -> np.ndarray:
        """The samples at this scale, (n, d), dense."""
        return self.samples.X * self.scale

    @property
    def given(self) -> Any:
        """What the problem is given as X."""
        return self.k.samples(self.X)

    @property
    def u(self) -> float:
        """s² where K grows with it."""
        return self.scale**2 if self.k.scales else 1.0

    @property
    def upper(self) -> np.ndarray:
        """C_i, (n,)."""
        return self.v.upper(self.samples, self.u)

    @property
    def explicit(self) -> bool:
        """Whether w is a vector that the result shows."""
        return self.kernel in ("linear", "sparse")

    def units(self, quantity: str) -> float:
        """What a quantity is multiplied by from scale 1 to this one."""
        return self.scale ** getattr(self.v.units, quantity) if self.k.scales else 1.0

    def problem(self) -> qpsvm.Problem:
        """A fresh problem."""
        return self.v.make(self.samples, self.given, self.k.kernel, self.u, self.k.psd)

    def __str__(self) -> str:
        return f"{self.variant}-{self.kernel}-{self.scale:g}"


@dataclass(frozen=True)
class Case:
    """One solve of the matrix."""

    cell: Cell
    form: str
    backend: str

    def __str__(self) -> str:
        return f"{self.cell}-{self.form}-{self.backend}"


CELLS = [Cell(v, k, s) for v, k, s in itertools.product(VARIANTS, KERNELS, SCALES)]
CELLS += [
    Cell(v, k, s)
    for v, k in [
        ("hard_margin", "precomputed"), ("csvm", "precomputed"), ("csvm_weighted", "precomputed"),
        ("nusvm", "precomputed"), ("hinge_none", "precomputed"),
        ("csvm", "sigmoid-clip"), ("csvm", "sigmoid-shift"), ("nusvm", "sigmoid-shift"),
        ("csvm", "affine"), ("nusvm", "affine"), ("hinge_free", "affine"),
        ("csvm_weighted", "sparse"), ("nusvm", "sparse"), ("hinge_none", "sparse"),
        ("csvm_all_bounded", "linear"), ("csvm_all_bounded", "rbf"),
        ("nusvm_largest", "linear"), ("nusvm_largest", "rbf"),
    ]
    for s in SCALES
]  # fmt: skip
CELLS += [Cell(v, "callable", 1.0) for v in ("csvm", "nusvm_weighted", "hinge_penalised")]


#: Every backend with either form.
WAYS = tuple(itertools.product(BACKENDS, FORMS))


def _cases() -> Iterator[Case]:
    """At every scale each pair of variant, kernel and way; each cell of the smaller list in two ways, by turns."""
    for turn, scale in enumerate(SCALES):
        kernels = tuple(KERNELS)[turn:] + tuple(KERNELS)[:turn]  # others of the triples at each scale
        for variant, kernel, (backend, form) in cover_pairs(tuple(VARIANTS), kernels, WAYS):
            yield Case(Cell(variant, kernel, scale), form, backend)
    for turn, cell in enumerate(cell for cell in CELLS if cell.variant not in VARIANTS or cell.kernel not in KERNELS):
        for backend, form in (WAYS[3 * turn % len(WAYS)], WAYS[(3 * turn + 5) % len(WAYS)]):
            yield Case(cell, form, backend)


CASES = [*_cases()]

#: Cases that a backend cannot bring to `optimal`, by name, with what the solver says (its raw status). It is empty:
#: scaled, retried at smaller tolerances and polished, every backend of the table finishes every case. A case that is
#: listed here and starts to pass must leave, and for the interior point solvers (cvxopt, cvxpy) nothing may be listed.
UNSOLVED: dict[str, str] = {}

#: The same for the textbook QP, handed to a solver as it stands and not polished (`problem.qp(form)`).
RAW_UNSOLVED: dict[str, str] = {}
#: Kernels that are positive semidefinite on yᵀα = 0 only: their dual is made with HKH, H = I − 11ᵀ/n, in place of K.
CENTRED = ("affine", "sigmoid-shift")


@cache
def solved(case: Case) -> qpsvm.SVMResult:
    """The library's answer, polished; each case once."""
    return qpsvm.solve(case.cell.problem(), case.backend, case.form, check=False)


@cache
def reference(variant: str, kernel: str) -> qpsvm.SVMResult:
    """cvxopt on the dual at scale 1, polished: what every other answer is compared with, after a change of units."""
    return solved(Case(Cell(variant, kernel, 1.0), "dual", "cvxopt"))


def reference_of(cell: Cell) -> qpsvm.SVMResult:
    """The reference in whose units a cell's solution is the same.

    A penalised intercept has no unit that could follow X: with (λs²/2)(‖w‖² + b²) and w = w₀/s the penalty is
    (λ/2)(‖w₀‖² + s²b²). So for a linear kernel it is the free intercept where s² is 1e-12, up to that, and none where
    s² is 1e16.
    """
    if cell.variant == "hinge_penalised" and cell.k.scales and cell.scale != 1.0:
        return reference("hinge_free" if cell.scale < 1 else "hinge_none", cell.kernel)
    return reference(cell.variant, cell.kernel)
