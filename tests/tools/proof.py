"""A certificate that is independent of the library's.

`prove` takes what a user gets (α, b, ρ, and w where there is one) and computes the primal and the dual value again, in
long double, from X, y and the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, Linear, NuSVM, Polynomial, Precomputed, PrimalHinge, Sigmoid

TOL = 1e-6
EPS = float(np.finfo(float).eps)
Long = np.longdouble


@dataclass(frozen=True)
class Task:
    """A problem in plain numbers: y is −1/+1, and the weights are all the library is told about single samples."""

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
    def s(self) -> Any:
        return np.ones(len(self.y)) if self.weight is None else np.asarray(self.weight, float)

    @property
    def upper(self) -> Any:
        """C_i, each variant's bound on α_i."""
        return {
            "c": self.C * self.s,
            "nu": self.s / self.s.sum(),
            "hinge": self.s / self.s.sum() / self.lam,
            "hard": np.full(len(self.y), np.inf),
        }[self.variant]

    @property
    def problem(self) -> qpsvm.Problem:
        X, y, kernel, weight = self.X, self.y, self.kernel, self.weight
        if self.variant == "c":
            return CSVM(X, y, self.C, kernel, weight, **self.options)
        if self.variant == "nu":
            return NuSVM(X, y, self.nu, kernel, weight, **self.options)
        if self.variant == "hinge":
            return PrimalHinge(X, y, self.lam, kernel, self.intercept, weight, **self.options)
        return HardMargin(X, y, kernel, **self.options)

    def solve(self, backend: str = "cvxopt", form: str | None = None, **options: Any) -> qpsvm.SVMResult:
        return qpsvm.solve(self.problem, backend, form, check=False, **options)  # type: ignore[arg-type]


def gram(kernel: Any, A: Any, B: Any) -> Any:
    """K(a_i, b_j) in long double, one formula a kernel, no tricks."""
    A, B = (np.asarray(M.toarray() if sp.issparse(M) else M).astype(Long) for M in (A, B))
    if isinstance(kernel, RBF):
        return np.exp(-Long(kernel.gamma) * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=-1))
    if isinstance(kernel, Precomputed):
        return A
    products = A @ B.T
    if isinstance(kernel, Polynomial):
        return (Long(kernel.gamma) * products + Long(kernel.coef0)) ** int(kernel.degree)
    if isinstance(kernel, Sigmoid):
        return np.tanh(Long(kernel.gamma) * products + Long(kernel.coef0))
    assert isinstance(kernel, Linear)
    return products


@dataclass(frozen=True)
class Proof:
    """Primal and dual value, the gap relative to `size`, f at the samples, and the share that may be rounding."""

    primal: float
    dual: float
    gap: float
    f: Any
    rounding: float
    size: float


def prove(task: Task, result: qpsvm.SVMResult, K: Any = None) -> Proof:
    """Check that α is feasible, and compute P and D at what the result offers; K replaces the kernel's Gram matrix."""
    y, alpha, upper = task.y.astype(Long), result.alpha.astype(Long), task.upper.astype(Long)
    free = task.intercept == "free" or task.variant != "hinge"
    assert (alpha >= 0).all()
    assert (alpha <= upper * (1 + 8 * EPS)).all()
    assert (alpha[task.s == 0] == 0).all()
    if free:
        assert abs(y @ alpha) <= 1e-12 * alpha.sum()
    if task.variant == "nu":
        assert float(alpha.sum()) == pytest.approx(task.nu, rel=1e-12)
    beta = y * alpha
    linear = isinstance(task.kernel, Linear) and K is None
    if linear:
        X = np.asarray(task.X.toarray() if sp.issparse(task.X) else task.X).astype(Long)
        Z = X - X.mean(axis=0) if free else X  # yᵀα = 0: centring is free
        w, own = result.w.astype(Long), Z.T @ beta
        own_noise = 4 * EPS * (abs(Z).T @ alpha)  # what rounding costs Σ α_i y_i z_i, computed in doubles
        f, square, own_square = X @ w + Long(result.b), w @ w, own @ own
        noise = 4 * EPS * (abs(X) @ abs(w) + abs(Long(result.b)))  # what rounding w and b to doubles costs f
        floor = float((Z**2).sum(axis=1).max() + (EPS * abs(X).max()) ** 2) if free else 0.0
        own_rounding = abs(own) @ own_noise + own_noise @ own_noise / 2
    else:
        own_rounding = Long(0)
        K = gram(task.kernel, task.X, task.X) if K is None else np.asarray(K).astype(Long)
        own_square = beta @ K @ beta
        noise = 16 * EPS * len(y) * (abs(K) @ abs(beta) + abs(Long(result.b)))
        coef = Long(1) * beta
        if len(result.model.coef) in (0, np.count_nonzero(beta)):  # what predicts, not w(α)
            coef[beta != 0] = result.model.coef if len(result.model.coef) else 0
            if coef.any():  # w(α) times what makes it feasible
                stretch = abs(coef).sum() / abs(beta).sum()
                assert abs(coef - stretch * beta).max(initial=0) <= 4 * EPS * abs(coef).max(initial=0)
        f = K @ coef
        square, f = coef @ f, f + Long(result.b)
        floor = float(abs(K.diagonal()).max())
    if task.intercept == "penalised" and task.variant == "hinge":
        square, own_square = square + Long(result.b) ** 2, own_square + beta.sum() ** 2
        if np.isfinite(result.gap):  # ½(b − Σβ)² is one of the terms that the gap is the sum of
            most = 2 * result.gap * max(abs(result.primal), abs(result.dual)) / task.lam
            assert abs(result.b - float(beta.sum())) <= 1.01 * most**0.5 + 1e-12 * float(alpha.sum())
    if task.intercept is None and task.variant == "hinge":
        assert result.b == 0
    rho = Long(result.rho)
    weights = np.where(task.s > 0, upper, 0)
    if task.variant == "hard":
        assert result.rho == 1
        worst = (y * f).min()
        assert worst >= 1 - 1e-6 - noise.max() or result.status != "optimal"
        primal = square / 2 / min(worst, Long(1)) ** 2 if worst > 0 else Long(np.inf)
        dual, allowance = alpha.sum() - own_square / 2, 4 * noise.max() * square
    else:
        loss = weights @ np.maximum(rho - y * f, 0)
        level = task.nu * rho if task.variant == "nu" else Long(0)
        total = Long(0) if task.variant == "nu" else alpha.sum()
        primal, dual, allowance = square / 2 - level + loss, total - own_square / 2, weights @ noise
    size = max(abs(primal), abs(dual))
    if task.variant == "nu" and result.rho == 0:  # the hulls meet: in units of what w would be if nothing cancelled
        size = Long(floor) * alpha.sum() ** 2 / 2
    if not np.isfinite(primal):
        return Proof(float(primal), float(dual), np.inf, f, 0.0, np.inf)
    gap = (primal - dual) / size if size > 0 else Long(0)
    rounding = float((allowance + own_rounding) / size) if size > 0 else 0.0
    return Proof(float(primal), float(dual), float(gap), f, rounding, float(size))


def verify(
    task: Task,
    result: qpsvm.SVMResult,
    optimal: bool = True,
    K: Any = None,
    K_error: float = 1e-9,
    kinds: bool = True,
) -> Proof:
    """Every field is a number, the status is honest, the gap is what it is, and prediction agrees with training.

    `kinds` asks that samples on the margin lie there to six digits of f. K, known to a relative K_error, stands for the
    kernel's Gram matrix where that was made definite.
    """
    fields = (result.alpha, result.b, *result.b_interval, result.rho, result.xi, result.yf, result.primal, result.dual)
    assert not any(np.isnan(part).any() for part in (*fields, result.gap, result.terms))
    assert result.gap >= 0
    assert (result.status == "optimal") == (result.gap <= TOL)
    assert result.summary()
    if optimal:
        assert result.status == "optimal", f"{result!r}: {result.solver}"
    proof = prove(task, result, K)
    assert -1e-9 - proof.rounding <= proof.gap, proof
    if result.status == "optimal":
        assert proof.gap <= TOL + 1e-9 + proof.rounding, (proof, result.gap)
    elif np.isfinite(result.gap):  # honest: no better than claimed, and worse by no more than rounding
        slack = proof.rounding + 1e-9 + 1e-3 * result.gap
        assert result.gap - result.rounding - slack <= proof.gap <= result.gap + slack
    factor = task.lam if task.variant == "hinge" else 1.0
    if np.isfinite(result.gap):
        values = max(abs(proof.primal), abs(proof.dual))
        unsure = proof.rounding + result.rounding + 1e-9 + 1e-3 * result.gap  # D is P less the gap, within its slack
        tolerance = factor * (values * K_error + proof.size * unsure + 1e-300)
        assert result.dual == pytest.approx(factor * proof.dual, rel=1e-9, abs=tolerance)
        assert result.primal == pytest.approx(factor * proof.primal, rel=1e-9, abs=tolerance)
    if kinds:
        check_kinds(task, result, proof)
    if K is None:
        noise = 1e-9 * (float(np.abs(proof.f).max()) + result.rho) + 1e3 * EPS * float(term_size(task, result))
        np.testing.assert_allclose(result.decision_function(task.X), proof.f.astype(float), rtol=0, atol=noise)
        np.testing.assert_allclose(task.y * result.yf, proof.f.astype(float), rtol=0, atol=noise)
    return proof


def check_kinds(task: Task, result: qpsvm.SVMResult, proof: Proof) -> None:
    """The classes of samples partition the rows, and say what the samples do; b lies in its interval."""
    everything = np.concatenate([np.flatnonzero(result.kind == 0), result.on_margin, result.at_bound])
    assert sorted(everything) == list(range(len(task.y)))
    assert np.array_equal(result.support, np.sort(np.concatenate([result.on_margin, result.at_bound])))
    low, high = result.b_interval
    assert low <= result.b <= high
    if result.gap > 1e-12 or (task.variant == "nu" and not has_margin(task, result)):
        return
    yf = task.y * proof.f.astype(float)
    noise = 1e-6 * (result.rho + np.abs(yf).max()) + 1e3 * EPS * float(term_size(task, result))
    np.testing.assert_allclose(yf[result.on_margin], result.rho, rtol=0, atol=noise)
    assert (yf[result.at_bound] <= result.rho + noise).all()
    assert (yf[(result.kind == 0) & (task.s > 0)] >= result.rho - noise).all()
    np.testing.assert_allclose(result.xi, np.maximum(result.rho - yf, 0), rtol=0, atol=noise)


def has_margin(task: Task, result: qpsvm.SVMResult) -> bool:
    """Whether ρ is more than the rounding of a ν-SVM whose reduced hulls meet."""
    X = np.asarray(task.X.toarray() if sp.issparse(task.X) else task.X, float)
    linear = isinstance(task.kernel, Linear)
    sizes = ((X - X.mean(axis=0)) ** 2).sum(axis=1) if linear else np.abs(gram(task.kernel, X, X).diagonal())
    return bool(result.rho > 1e-6 * task.nu * np.sqrt(sizes.max()))


def term_size(task: Task, result: qpsvm.SVMResult) -> Any:
    """The largest sum of absolute terms in any f(x_i): what its rounding is relative to."""
    if not isinstance(task.kernel, Linear):
        return (np.abs(gram(task.kernel, task.X, task.X)) @ np.abs(result.alpha)).max() + abs(result.b)
    X = task.X.toarray() if sp.issparse(task.X) else np.asarray(task.X, float)
    return (np.abs(X) @ np.abs(result.w)).max() + abs(result.b)
