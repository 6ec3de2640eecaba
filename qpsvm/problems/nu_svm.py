"""The ν-SVM (Schölkopf, Smola, Williamson & Bartlett 2000): the margin level ρ is a variable, ν bounds fractions.

Derivation
----------
With a_i = s_i/Σs (1/n without weights) and f(x) = ⟨w, φ(x)⟩ + b:

    (NUSVM.1)  margin:  the hyperplanes f = −ρ and f = +ρ are 2ρ/‖w‖ apart; ρ is a variable, which −νρ makes large
    (NUSVM.2)  primal:  minimise ½‖w‖² − νρ + Σ a_i ξ_i  over w, b, ρ, ξ  subject to  y_i f(x_i) ≥ ρ − ξ_i,  ξ_i ≥ 0
    (NUSVM.3)  Lagrangian:  L = ½‖w‖² − νρ + Σ a_i ξ_i − Σ α_i (y_i f(x_i) − ρ + ξ_i) − Σ η_i ξ_i,  α, η ≥ 0
    (NUSVM.4)  ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i)
    (NUSVM.5)  ∂L/∂b = 0:  yᵀα = 0
    (NUSVM.6)  ∂L/∂ρ = 0:  1ᵀα = ν
    (NUSVM.7)  ∂L/∂ξ_i = 0:  η_i = a_i − α_i
    (NUSVM.8)  dual feasibility:  α_i ≥ 0 and η_i ≥ 0, that is 0 ≤ α_i ≤ a_i
    (NUSVM.9)  complementary slackness:  α_i (y_i f(x_i) − ρ + ξ_i) = 0  and  (a_i − α_i) ξ_i = 0
    (NUSVM.10)  substitution of (NUSVM.4) to (NUSVM.7):  L = −½ Σ_ij α_i α_j y_i y_j K(x_i, x_j)
    (NUSVM.11)  dual:  minimise ½αᵀQα  subject to  yᵀα = 0,  1ᵀα = ν,  0 ≤ α_i ≤ a_i,  Q_ij = y_i y_j K(x_i, x_j)
    (NUSVM.12)  w is recovered from α:  f(x) = Σ α_i y_i K(x_i, x) + b
    (NUSVM.13)  b and ρ are recovered: with s = ρ − b and t = ρ + b the primal splits, s is the quantile of u = K(α∘y)
                over the positive class at level ν/2, t that of −u over the negative one; ρ = (s + t)/2, b = (t − s)/2
    (NUSVM.14)  three kinds of samples:  α_i = 0 and y_i f ≥ ρ, peripheral;  0 < α_i < a_i and y_i f = ρ, on the
                margin;  α_i = a_i and y_i f ≤ ρ, inside the margin or on the wrong side
    (NUSVM.15)  strong duality:  the optimal values of (NUSVM.2) and (NUSVM.11) differ in sign only
    (NUSVM.16)  both sums fixed means ν/2 in each class, so ν ≤ ν_max = 2·min(S₊, S₋)/S, with S the sums of weights
    (NUSVM.17)  what ν bounds, by (NUSVM.6) and (NUSVM.14):  the share of weight with y_i f < ρ is at most ν, the share
                of weight that supports is at least ν
    (NUSVM.18)  linear kernel only:  w = Σ α_i y_i x_i has one weight a feature, and f(x) = wᵀx + b

ρ ≥ 0 is not asked for: it holds at the optimum, because w = 0, ρ = 0 is feasible with value 0. The constraint on the
sum is an equality; with ≥ ν, which has the same optimum, solvers drift where ρ ≈ 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.arrays.checks import as_positive
from qpsvm.arrays.constant import repeated, times
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.dual.certificate import (
    Certificate,
    capped_simplex,
    gap_sums,
    middle,
    prefer_average,
    quantile_interval,
    relative_gap,
)
from qpsvm.dual.proven import Equalities
from qpsvm.errors import InfeasibleNuError, ParameterError
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import PSDRule
from qpsvm.operators import Diagonal, Operator
from qpsvm.problems.base import Form, Problem
from qpsvm.problems.c_svm import CSVM
from qpsvm.problems.hinge import PrimalPoint, margin_group, margin_rows, primal_points
from qpsvm.problems.reading import check_result
from qpsvm.qp.program import QP, Rows
from qpsvm.result import SVMResult

#: Smallest unit of α handed to a solver: its square and the inverse of that are still ordinary numbers.
SMALLEST_UNIT = 1e-60


class NuSVM(Problem):
    """Soft-margin SVM with ν instead of C.

    Where the reduced hulls meet, the optimum is w = 0 and its value 0, to which no gap is relative. A result counts as
    optimal there if no entry of w(α) is more than the rounding of its own sum; its gap is ‖w(α)‖²/(Σ α_i ‖φ(x_i)‖)²,
    the objective in units of what it would be if nothing cancelled, and w, b and ρ are 0.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
    y : array_like, shape (n,)
        Any two labels; the larger in sort order is +1.
    nu : float, default=0.5
        In (0, ν_max], ν_max = 2·min(S₊, S₋)/S ≤ 1: at most this share of the weights has y f < ρ, at least this share
        belongs to support vectors.
    kernel : Kernel, str or callable, default=Linear()
    sample_weight : array_like, shape (n,), optional
    psd : "raise", "clip" or "shift", default="raise"

    Raises
    ------
    InfeasibleNuError
        ν > ν_max; carries ν_max.
    DataError, DataTypeError, ParameterError
        See `Problem`.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, Neural Computation 12 (2000).
    """

    _level = 0.0

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
    ) -> None:
        nu = as_positive(nu, "nu")
        if nu > 1:
            raise ParameterError(f"nu must be in (0, 1], got {nu!r}")
        super().__init__(X, y, kernel, sample_weight, "free", psd)
        s = self.sample_weight
        nu_max = 2 * min(float(s[self.y > 0].sum()), float(s[self.y < 0].sum())) / float(s.sum())  # (NUSVM.16)
        if nu > nu_max * (1 + 1e-12 + self.n * np.finfo(float).eps):
            raise InfeasibleNuError(nu, nu_max)
        self.nu = min(nu, nu_max)
        self.nu_max = nu_max

    @cached_property
    def upper(self) -> FloatArray:
        """a_i = s_i/Σs of the rows that take part."""
        s = self.taking_part(self.sample_weight)
        return times(1.0 / float(s.sum()), s)

    @property
    def title(self) -> str:
        """The variant with its parameters."""
        return f"ν-SVM, ν = {self.nu:g}, kernel {self.kernel}"

    def _dual(self, Q: Operator) -> QP:
        n = len(self.labels)
        return QP(  # (NUSVM.11); the second row is negated so that its multiplier is +ρ
            P=Q, q=repeated(0.0, n), A=np.vstack([self.labels, -np.ones(n)]), b=np.array([0.0, -self.nu]),
            lb=repeated(0.0, n), ub=self.upper, variables={"alpha": slice(0, n)},
            constraints={"balance": Rows("A", slice(0, 1), "yᵀα = 0"), "nu": Rows("A", slice(1, 2), "−1ᵀα = −ν")},
            formula=f"½ αᵀQα,  {self._entry}", title=f"{self.title}: dual (NUSVM.11)",
        )

    def _primal(self, Z: Matrix) -> QP:
        n, r = Z.shape
        y = self.labels
        return QP(  # (NUSVM.2)
            P=Diagonal(np.concatenate([np.ones(r), np.zeros(2 + n)])),
            q=np.concatenate([np.zeros(r + 1), [-self.nu], self.upper]),
            G=margin_rows(Z, y, [-y[:, None], np.ones((n, 1)), -sp.eye_array(n)]), h=np.zeros(n),
            lb=np.concatenate([np.full(r + 2, -np.inf), np.zeros(n)]),
            variables={
                "w": slice(0, r), "b": slice(r, r + 1), "rho": slice(r + 1, r + 2), "xi": slice(r + 2, r + 2 + n)
            },
            constraints=margin_group(n, "y_i (wᵀx_i + b) ≥ ρ − ξ_i"),
            formula="½ ‖w‖² − νρ + Σ a_i ξ_i", title=f"{self.title}: primal (NUSVM.2)",
        )

    def _scaling(self, form: Form) -> tuple[dict[str, float], dict[str, float], float]:
        kappa = self.space.scale
        s = min(1.0 / len(self.labels), self.nu / 2)  # the size of α: a_i, or ν/2 on a single vector of each class
        s = max(s, SMALLEST_UNIT)
        t = 1.0 / (s * s * kappa)
        if form == "dual":
            return {"alpha": s}, {"balance": 1 / s, "nu": 1 / s}, t
        level = s * kappa  # the size of b, ρ and ξ
        return {"w": s * float(np.sqrt(kappa)), "b": level, "rho": level, "xi": level}, {"margin": 1 / level}, t

    def _alpha_from_margin(self, multipliers: FloatArray) -> FloatArray:
        return multipliers

    def _from_lift(self, v: FloatArray) -> FloatArray:
        return v  # (NUSVM.4)

    def _certify(self, alpha: FloatArray, w: FloatArray | None = None, enough: float = 0.0) -> Certificate:
        a = self._feasible(alpha)
        beta = a * self.labels
        own, points = primal_points(self.space, beta, w)
        best: Certificate | None = None
        for point in points:
            b, interval, rho, terms, loss = self._best_levels(a, point)
            primal = point.half_norm - self.nu * rho + loss
            gap = relative_gap(point.half_distance() + terms, primal, -own)
            if best is None or gap < best.gap:
                plane = self.space.plane(beta, point.w, b)
                shift = plane.b - b
                best = Certificate(
                    alpha=a, yf=self.labels * (point.u + plane.level), rho=rho, b=plane.b,
                    b_interval=(min(interval[0] + shift, plane.b), max(interval[1] + shift, plane.b)),
                    w=plane.w, coef=plane.coef,
                    upper=self.upper, unit=1.0, primal=primal, dual=-own, gap=gap, level=plane.level,
                    level_radius=plane.level_radius, half_norm=point.half_norm,
                    offset=float(np.sqrt(2.0 * point.half_distance())),
                )
            if best.gap <= enough:
                break
        assert best is not None  # w(α) is always a candidate
        return best

    def _feasible(self, alpha: FloatArray) -> FloatArray:
        """Each class projected on its capped simplex of mass ν/2, (NUSVM.16)."""
        a = np.empty_like(alpha)
        for sign in (1.0, -1.0):
            members = self.labels == sign
            a[members] = capped_simplex(alpha[members], self.upper[members], self.nu / 2)
        return a

    def _best_levels(
        self, a: FloatArray, point: PrimalPoint
    ) -> tuple[float, tuple[float, float], float, float, float]:
        """b, its interval, ρ, Σg and Σa_iξ_i at a primal candidate, by (NUSVM.13)."""
        y, u, level = self.labels, point.u, self.nu / 2
        positive = y > 0
        s_low, s_high = quantile_interval(u[positive], self.upper[positive], level)
        t_low, t_high = quantile_interval(-u[~positive], self.upper[~positive], level)
        s, t = middle(s_low, s_high), middle(t_low, t_high)
        interval = ((t_low - s_high) / 2, (t_high - s_low) / 2)

        def at(s: float, t: float) -> tuple[float, float, float, float]:
            rho, b = (s + t) / 2, (t - s) / 2
            return rho, b, *gap_sums(a, self.upper, y, u, b, rho)

        rho, b, terms, loss = at(s, t)
        on_margin = (a > 0) & (a < self.upper)
        plus, minus = on_margin & positive, on_margin & ~positive
        if plus.any() and minus.any():
            averaged = at(float(u[plus].mean()), float(-u[minus].mean()))
            if prefer_average(terms, averaged[2], 2 * point.half_norm):
                rho, b, terms, loss = averaged
                interval = (min(interval[0], b), max(interval[1], b))
        return b, interval, rho, terms, loss

    def in_own_units(self, alpha: FloatArray) -> FloatArray:
        """Scaled to Σα = ν, (NUSVM.6)."""
        return alpha * (self.nu / max(float(alpha.sum()), np.finfo(float).tiny))

    def _equalities(self) -> Equalities:
        E = np.column_stack([self.labels > 0, self.labels < 0]).astype(np.float64)  # (NUSVM.16)
        return Equalities(E, np.full(2, self.nu / 2), np.zeros(2))

    def _note(self, certificate: Certificate) -> str:
        note = super()._note(certificate)
        if certificate.rho == 0.0:  # set by `Proof` alone
            note = (
                "rho is 0: the reduced convex hulls meet as far as doubles can tell, the optimal w is 0, and f carries "
                f"no information. {note}"
            )
        return note.strip()

    def equivalent_c_svm(self, result: SVMResult) -> CSVM:
        """The C-SVM with the same decision function up to the factor ρ: C = 1/(nρ), with weights s_i/(ρ Σs).

        Parameters
        ----------
        result : SVMResult
            Of this problem.

        Raises
        ------
        ParameterError
            ρ is 0: the reduced hulls meet, and no C-SVM is equivalent.
        ParameterTypeError, DataError
            Not a result, or over other rows.
        """
        check_result(self, result)
        if not result.rho > 0:
            raise ParameterError(
                f"rho is 0 (measured {result.rho:.1e}): the reduced convex hulls meet, w = 0, and no C-SVM is "
                f"equivalent to nu = {self.nu:g}; choose a larger nu"
            )
        C = 1.0 / (result.rho * float(self.sample_weight.sum()))
        labels = self.classes[(self.y > 0).astype(int)]
        machine = CSVM(self.X, labels, C, self.kernel, self.sample_weight, self.psd)
        machine.feature_names = self.feature_names
        return machine
