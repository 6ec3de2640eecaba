"""Combine machines, kernels, backends, forms and scales into the table of solves, such that any two values meet.

`CASES` is the table, `solve_case` solves one of its entries, and `find_reference` returns the solution to compare with,
up to units. New backends enter by their declared abilities, new machines by an entry of `machines.py`. All formulas are
plain NumPy, so that the library is not compared with itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from machines import MACHINES, SAMPLES, Machine, Point, Samples, name_machine
from pairwise import cover_pairs

import qpsvm
from qpsvm.backends import iter_backends

FORMS = ("dual", "primal")
#: The backends that are not educational; those have tests of their own.
SERIOUS = {backend.name: backend.abilities for backend in iter_backends() if not backend.abilities.is_educational}
#: The backends that accept every machine in every form.
BACKENDS = tuple(name for name, can in SERIOUS.items() if all(can.accepts_every_machine(form) for form in FORMS))
#: The backends that accept any QP.
GENERAL = tuple(name for name, can in SERIOUS.items() if can.accepts_any_qp)
SCALES = (1e-6, 1.0, 1e8)


# --- kernels ----------------------------------------------------------------------------------------------------------


def compute_gamma_scale(X: np.ndarray) -> float:
    """Return γ = 1/(d·var(X))."""
    return 1.0 / (X.shape[1] * X.var())


def compute_gaussian(X: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(−γ‖x − z‖²), computed from differences: (n, m)."""
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def compute_laplacian(X: Any, Z: Any) -> np.ndarray:
    """Return a positive definite custom kernel, exp(−‖x − z‖₁/2): (n, m)."""
    return np.exp(-np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2) / 2)


def clip_matrix(K: np.ndarray, centred: bool) -> np.ndarray:  # noqa: ARG001
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def shift_matrix(K: np.ndarray, centred: bool) -> np.ndarray:
    """Return K + σI with the smallest σ that leaves no negative eigenvalue, on 1ᵀβ = 0 if `centred`."""
    H = np.eye(len(K)) - (1.0 / len(K) if centred else 0.0)
    return K - np.linalg.eigvalsh(H @ K @ H)[0] * np.eye(len(K))


@dataclass(frozen=True, eq=False)
class KernelCase:
    """A kernel of the library, and the same kernel as a formula.

    Attributes
    ----------
    kernel : Kernel or callable
    formula : callable, X (n, d) to K (n, n)
    samples : callable, X (n, d) to the X that the problem is given
    scales : bool
        Whether K grows with s², the squared scale; otherwise gamma cancels the scale.
    psd : str
    treatment : callable, (K (n, n), whether 1ᵀβ = 0) to the matrix of the dual
    """

    kernel: Any
    formula: Callable[[np.ndarray], np.ndarray]
    samples: Callable[[np.ndarray], Any] = np.copy
    scales: bool = False
    psd: str = "raise"
    treatment: Callable[[np.ndarray, bool], np.ndarray] = lambda K, centred: K  # noqa: ARG005


def _compute_linear(X: np.ndarray) -> np.ndarray:
    return X @ X.T


def _compute_tanh(X: np.ndarray) -> np.ndarray:
    return np.tanh(compute_gamma_scale(X) * (X @ X.T) + 0.2)


SIGMOID = qpsvm.Sigmoid("scale", 0.2)
KERNELS = {
    "linear": KernelCase(qpsvm.Linear(), _compute_linear, scales=True),
    "polynomial": KernelCase(
        qpsvm.Polynomial(2, "scale", 1), lambda X: (compute_gamma_scale(X) * (X @ X.T) + 1.0) ** 2
    ),
    "rbf": KernelCase(qpsvm.RBF("scale"), lambda X: compute_gaussian(X, X, compute_gamma_scale(X))),
}
ALL_KERNELS = KERNELS | {
    "sparse": KernelCase(qpsvm.Linear(), _compute_linear, samples=sp.csr_array, scales=True),
    "precomputed": KernelCase(qpsvm.Precomputed(), _compute_linear, samples=_compute_linear, scales=True),
    "sigmoid-clip": KernelCase(SIGMOID, _compute_tanh, psd="clip", treatment=clip_matrix),
    "sigmoid-shift": KernelCase(SIGMOID, _compute_tanh, psd="shift", treatment=shift_matrix),
    # Indefinite, but not on the hyperplane 1ᵀβ = 0, which is all that a free intercept needs; nor is K + 1.
    "affine": KernelCase(qpsvm.Polynomial(1, "scale", -1), lambda X: compute_gamma_scale(X) * (X @ X.T) - 1.0),
    "callable": KernelCase(compute_laplacian, lambda X: compute_laplacian(X, X)),
}


# --- cells and cases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One problem of the table."""

    variant: str
    kernel: str
    scale: float

    @property
    def machine(self) -> Machine:
        """The machine."""
        return MACHINES[self.variant]

    @property
    def kernel_case(self) -> KernelCase:
        """The kernel."""
        return ALL_KERNELS[self.kernel]

    @property
    def samples(self) -> Samples:
        """The samples at scale 1."""
        return SAMPLES["sparse" if (self.kernel, self.machine.data) == ("sparse", "overlapping") else self.machine.data]

    @property
    def X(self) -> np.ndarray:
        """The samples at this scale, (n, d), dense."""
        return self.samples.X * self.scale

    @property
    def problem_data(self) -> Any:
        """The X that the problem is given."""
        return self.kernel_case.samples(self.X)

    @property
    def u(self) -> float:
        """s² if K grows with it, else 1."""
        return self.scale**2 if self.kernel_case.scales else 1.0

    @property
    def weights(self) -> np.ndarray | None:
        """Sample weights (n,), or None if the problem is given none."""
        if self.kernel in self.machine.weighted:
            return self.samples.weights
        return None

    @property
    def s(self) -> np.ndarray:
        """Sample weights (n,)."""
        if self.weights is None:
            return np.ones(len(self.samples.y))
        return self.weights

    @property
    def upper(self) -> np.ndarray:
        """The bounds of α (m,)."""
        return self.machine.upper(self.samples, self.s, self.u)

    @property
    def equalities(self) -> list[tuple[np.ndarray, float]]:
        """The equalities of α: (column (m,), total)."""
        return self.machine.equalities(self.samples, self.s, self.u)

    @property
    def has_explicit_w(self) -> bool:
        """Whether the result has w as a vector."""
        return self.kernel in ("linear", "sparse")

    def compute_unit(self, quantity: str) -> float:
        """Return the factor by which a quantity changes from scale 1 to this scale."""
        if self.kernel_case.scales:
            return self.scale ** getattr(self.machine.units, quantity)
        return 1.0

    def build_problem(self) -> qpsvm.Problem:
        """Build a new problem."""
        return self.machine.make(
            self.samples, self.problem_data, self.kernel_case.kernel, self.u, self.weights, psd=self.kernel_case.psd
        )

    def compute_gram(self) -> np.ndarray:
        """Return K (n, n) of the dual: plus 1 for a penalised intercept, repaired in the rows of positive weight."""
        K = self.kernel_case.formula(self.X) + (1.0 if self.machine.intercept == "penalised" else 0.0)
        rows = np.flatnonzero(self.s)
        K[np.ix_(rows, rows)] = self.kernel_case.treatment(K[np.ix_(rows, rows)], has_balance(self.variant))
        return K

    def build_point(self, result: qpsvm.SVMResult) -> Point:
        """Compute β from α, and f from w and b, or from β and b if there is no explicit w."""
        K = self.compute_gram()
        beta = self.machine.beta(self.samples, result.alpha)
        penalised = self.machine.intercept == "penalised"
        if self.has_explicit_w:
            f = self.X @ result.w + result.b
            norm = float(result.w @ result.w) + (result.b**2 if penalised else 0.0)
        else:
            adds_b = penalised and self.kernel_case.psd == "raise"  # K + 1 would drown a small K
            f_of_beta = (self.kernel_case.formula(self.X) if adds_b else K) @ beta
            stretch = self.machine.size
            if self.variant == "hard_margin":  # its primal point is w(α)/δ, not w(α)
                stretch = float(np.ptp(result.yf * self.samples.y) / np.ptp(f_of_beta))
            f = stretch * f_of_beta + (result.b if adds_b or not penalised else 0.0)
            norm = stretch**2 * float(beta @ f_of_beta) + (result.b**2 if adds_b else 0.0)
        if self.kernel_case.psd == "clip":  # a row without a weight has the kernel's own f
            f = np.where(self.s > 0, f, self.kernel_case.formula(self.X) @ result.coef + result.b)
        extras = dict(result.extras)
        return Point(self.samples, K, result.alpha, beta, f, norm, self.s, self.upper, self.u, result.rho, extras)

    def predict_decision(self, result: qpsvm.SVMResult) -> np.ndarray:
        """Return the result's f at the samples; for SVDD with a precomputed kernel K(x, x) is passed as well."""
        needs_diagonal = (self.variant, self.kernel) == ("svdd", "precomputed")
        return result.decision_function(
            self.problem_data, diagonal=self.kernel_case.formula(self.X).diagonal() if needs_diagonal else None
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


def has_balance(variant: str) -> bool:
    """Say whether the dual has the equality 1ᵀβ = 0."""
    return MACHINES[variant].intercept == "free" and variant not in ("one_class", "svdd")


def is_allowed(variant: str, kernel: str, backend: str, form: str, scale: float) -> bool:  # noqa: ARG001
    """Say whether this combination is a problem of the table."""
    penalised = MACHINES[variant].intercept == "penalised"
    if kernel == "affine":
        return penalised or has_balance(variant)  # otherwise it is indefinite
    if penalised and ALL_KERNELS[kernel].scales and scale < 1.0:
        return False  # K is 1e-12 of the intercept's 1, which a solver may neglect
    return kernel != "callable" or scale == 1.0  # its width does not scale with X


CASES = [
    Case(Cell(variant, kernel, scale), form, backend)
    for variant, kernel, backend, form, scale in cover_pairs(
        tuple(MACHINES), tuple(ALL_KERNELS), BACKENDS, FORMS, SCALES, allowed=is_allowed
    )
]
#: The machines with a hinge loss, and their cells, for tests that are not about solutions.
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
    """Solve a case with polishing; the result is cached."""
    return qpsvm.solve(case.cell.build_problem(), case.backend, case.form, check=False)


@cache
def solve_reference(variant: str, kernel: str) -> qpsvm.SVMResult:
    """Solve the dual at scale 1 by cvxopt, polished: the reference of all other results."""
    return solve_case(Case(Cell(variant, kernel, 1.0), "dual", "cvxopt"))


def find_reference(cell: Cell) -> qpsvm.SVMResult:
    """Return the reference that equals a cell's solution up to units.

    A penalised intercept has no unit that scales with X: with ½s²(‖w‖² + b²) and w = w₀/s the penalty is
    ½(‖w₀‖² + s²b²). So for a linear kernel and s² = 1e16 the intercept vanishes.
    """
    if cell.machine.intercept == "penalised" and cell.kernel_case.scales and cell.scale > 1.0:
        return solve_reference(name_machine(cell.variant.removesuffix("_penalised"), None), cell.kernel)
    return solve_reference(cell.variant, cell.kernel)
