"""The table of solves: machine, intercept, kernel, backend, form and scale, of which each two values meet once.

A new backend is in it by what it says of itself; a new machine is one entry of `machines.py`. Everything here is data
and plain NumPy: the formulas are written out again, so that the tests do not measure the library with itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from machines import MACHINES, SAMPLES, Machine, Point, Samples, name_of
from pairwise import cover_pairs

import qpsvm
from qpsvm.backends import iter_backends

FORMS = ("dual", "primal")
#: Those that are not there for study; the study solvers have tests of their own.
SERIOUS = {backend.name: backend.abilities for backend in iter_backends() if not backend.abilities.is_educational}
#: Every backend that is expected to certify: every machine in every form.
BACKENDS = tuple(name for name, can in SERIOUS.items() if all(can.accepts_every_machine(form) for form in FORMS))
#: Those that take any QP at all, and not only those of support vector machines.
GENERAL = tuple(name for name, can in SERIOUS.items() if can.accepts_any_qp)
#: Those that take some machines and forms only; they have tests of their own.
PARTIAL = tuple(name for name in SERIOUS if name not in BACKENDS)
SCALES = (1e-6, 1.0, 1e8)


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


def clip_matrix(K: np.ndarray, centred: bool) -> np.ndarray:  # noqa: ARG001
    """Project K on the positive semidefinite matrices."""
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def shift_matrix(K: np.ndarray, centred: bool) -> np.ndarray:
    """Return K + σI, σ the least without a negative eigenvalue, on 1ᵀβ = 0 where that is all the dual needs."""
    H = np.eye(len(K)) - (1.0 / len(K) if centred else 0.0)
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
    treatment : callable, K (n, n) and whether 1ᵀβ = 0 to the matrix that the dual is solved with
    """

    kernel: Any
    formula: Callable[[np.ndarray], np.ndarray]
    samples: Callable[[np.ndarray], Any] = np.copy
    scales: bool = False
    psd: str = "raise"
    treatment: Callable[[np.ndarray, bool], np.ndarray] = lambda K, centred: K  # noqa: ARG005


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
ALL_KERNELS = KERNELS | {
    "sparse": KernelCase(qpsvm.Linear(), _linear, samples=sp.csr_array, scales=True),
    "precomputed": KernelCase(qpsvm.Precomputed(), _linear, samples=_linear, scales=True),
    "sigmoid-clip": KernelCase(SIGMOID, _tanh, psd="clip", treatment=clip_matrix),
    "sigmoid-shift": KernelCase(SIGMOID, _tanh, psd="shift", treatment=shift_matrix),
    # Indefinite, but not on the hyperplane 1ᵀβ = 0, which is all that a free intercept needs; nor is K + 1.
    "affine": KernelCase(qpsvm.Polynomial(1, "scale", -1), lambda X: scale_gamma(X) * (X @ X.T) - 1.0),
    "callable": KernelCase(laplacian, lambda X: laplacian(X, X)),
}


# --- cells and cases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One problem of the table."""

    variant: str
    kernel: str
    scale: float

    @property
    def v(self) -> Machine:
        """The machine."""
        return MACHINES[self.variant]

    @property
    def k(self) -> KernelCase:
        """The kernel."""
        return ALL_KERNELS[self.kernel]

    @property
    def samples(self) -> Samples:
        """The samples at scale 1."""
        return SAMPLES["sparse" if (self.kernel, self.v.data) == ("sparse", "overlapping") else self.v.data]

    @property
    def X(self) -> np.ndarray:
        """The samples at this scale, (n, d), dense."""
        return self.samples.X * self.scale

    @property
    def problem_data(self) -> Any:
        """What the problem is given as X."""
        return self.k.samples(self.X)

    @property
    def u(self) -> float:
        """s² where K grows with it."""
        return self.scale**2 if self.k.scales else 1.0

    @property
    def weights(self) -> np.ndarray | None:
        """s (n,), or None where the problem is given none."""
        return self.samples.weights if self.kernel in self.v.weighted else None

    @property
    def s(self) -> np.ndarray:
        """s (n,)."""
        return np.ones(len(self.samples.y)) if self.weights is None else self.weights

    @property
    def upper(self) -> np.ndarray:
        """The bounds of α."""
        return self.v.upper(self.samples, self.s, self.u)

    @property
    def sums(self) -> list[tuple[np.ndarray, float]]:
        """The equalities of α."""
        return self.v.sums(self.samples, self.s, self.u)

    @property
    def explicit(self) -> bool:
        """Whether w is a vector that the result shows."""
        return self.kernel in ("linear", "sparse")

    def units(self, quantity: str) -> float:
        """What a quantity is multiplied by from scale 1 to this one."""
        return self.scale ** getattr(self.v.units, quantity) if self.k.scales else 1.0

    def problem(self) -> qpsvm.Problem:
        """A fresh problem."""
        return self.v.make(self.samples, self.problem_data, self.k.kernel, self.u, self.weights, psd=self.k.psd)

    def gram(self) -> np.ndarray:
        """K (n, n) as the dual has it: with the penalised intercept's 1, definite in the rows that have a weight."""
        K, rows = self.k.formula(self.X) + (1.0 if self.v.intercept == "penalised" else 0.0), np.flatnonzero(self.s)
        K[np.ix_(rows, rows)] = self.k.treatment(K[np.ix_(rows, rows)], balances(self.variant))
        return K

    def point(self, result: qpsvm.SVMResult) -> Point:
        """The result in plain NumPy: β of α, and f of w and b, or of β and b where no w is shown."""
        K, beta, penalised = self.gram(), self.v.beta(self.samples, result.alpha), self.v.intercept == "penalised"
        if self.explicit:
            f = self.X @ result.w + result.b
            norm = float(result.w @ result.w) + (result.b**2 if penalised else 0.0)
        else:
            apart = penalised and self.k.psd == "raise"  # K + 1 would drown a small K
            u, stretch = (self.k.formula(self.X) if apart else K) @ beta, self.v.size
            if self.variant == "hard_margin":  # its primal point is w(α)/δ, not w(α)
                stretch = float(np.ptp(result.yf * self.samples.y) / np.ptp(u))
            f = stretch * u + (result.b if apart or not penalised else 0.0)
            norm = stretch**2 * float(beta @ u) + (result.b**2 if apart else 0.0)
        if self.k.psd == "clip":  # a row without a weight has the kernel's own f
            f = np.where(self.s > 0, f, self.k.formula(self.X) @ result.coef + result.b)
        extras = dict(result.extras)
        return Point(self.samples, K, result.alpha, beta, f, norm, self.s, self.upper, self.u, result.rho, extras)

    def decision(self, result: qpsvm.SVMResult) -> np.ndarray:
        """What a user gets, who knows K(x, x) where a matrix does not say it."""
        unsaid = (self.variant, self.kernel) == ("svdd", "precomputed")
        return result.decision_function(
            self.problem_data, diagonal=self.k.formula(self.X).diagonal() if unsaid else None
        )

    def __str__(self) -> str:
        return f"{self.variant}-{self.kernel}-{self.scale:g}"


@dataclass(frozen=True)
class Case:
    """One solve of the table."""

    cell: Cell
    form: str
    backend: str

    def __str__(self) -> str:
        return f"{self.cell}-{self.form}-{self.backend}"


def balances(variant: str) -> bool:
    """Whether the machine asks for 1ᵀβ = 0."""
    return MACHINES[variant].intercept == "free" and variant not in ("one_class", "svdd")


def is_allowed(variant: str, kernel: str, backend: str, form: str, scale: float) -> bool:  # noqa: ARG001
    """Say whether there is such a problem."""
    penalised = MACHINES[variant].intercept == "penalised"
    if kernel == "affine":
        return penalised or balances(variant)  # otherwise it is indefinite
    if penalised and ALL_KERNELS[kernel].scales and scale < 1.0:
        return False  # K is 1e-12 of the intercept's 1, and a solver need not see it
    return kernel != "callable" or scale == 1.0  # its width does not follow X


CASES = [
    Case(Cell(variant, kernel, scale), form, backend)
    for variant, kernel, backend, form, scale in cover_pairs(
        tuple(MACHINES), tuple(ALL_KERNELS), BACKENDS, FORMS, SCALES, allowed=is_allowed
    )
]
#: The variants of the hinge loss, and problems of these, for tests that are not about solutions.
VARIANTS = (
    "hard_margin", "csvm", "csvm_weighted", "nusvm", "nusvm_weighted", "hinge_free", "hinge_penalised", "hinge_none",
)  # fmt: skip
CELLS = [
    Cell(variant, kernel, scale)
    for variant, kernel, scale in itertools.product(VARIANTS, ALL_KERNELS, SCALES)
    if is_allowed(variant, kernel, "", "", scale) and (kernel in KERNELS or variant in ("csvm", "nusvm_weighted"))
]


@cache
def solve_case(case: Case) -> qpsvm.SVMResult:
    """Return the library's answer, polished; each case once."""
    return qpsvm.solve(case.cell.problem(), case.backend, case.form, check=False)


@cache
def reference(variant: str, kernel: str) -> qpsvm.SVMResult:
    """cvxopt on the dual at scale 1, polished: what every other answer is compared with, after a change of units."""
    return solve_case(Case(Cell(variant, kernel, 1.0), "dual", "cvxopt"))


def reference_of(cell: Cell) -> qpsvm.SVMResult:
    """The reference in whose units a cell's solution is the same.

    A penalised intercept has no unit that could follow X: with ½s²(‖w‖² + b²) and w = w₀/s the penalty is
    ½(‖w₀‖² + s²b²). So for a linear kernel there is no intercept where s² is 1e16.
    """
    if cell.v.intercept == "penalised" and cell.k.scales and cell.scale > 1.0:
        return reference(name_of(cell.variant.removesuffix("_penalised"), None), cell.kernel)
    return reference(cell.variant, cell.kernel)
