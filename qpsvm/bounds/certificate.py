"""Define a feasible primal-dual pair with its gap, a sum of nonnegative terms, one per row (`Certificate`).

Notation of `svm_dual`, and m_k = ℓ_k − Σ E_kg μ_g over all groups but the intercept: what s_k f is to reach (1 for a
C-SVM, ρ for a ν-SVM), so that t_k = m_k − s_k f(x_r(k)).

    (GAP.1)  P(w, μ) − D(α) = ½‖w − w(α)‖² + Σ g_k + ½Σ R_g (μ_g − (E_gᵀα − e_g)/R_g)²   for any w, μ, feasible α
    (CERT.1)  g_k = ψ_k(t_k) + ½δ_kα_k² − α_kt_k ≥ 0, by (LOSS.3);  where δ = 0 that is
              g_k = (U_k − α_k) max(t_k, 0) + α_k max(−t_k, 0)
    (CERT.2)  the last sum is over the penalised groups, whose multiplier of α is (E_gᵀα − e_g)/R_g
    (CERT.3)  relative gap = (P − D) / max(|P|, |D|)

(GAP.1) follows from (DUAL.3) and Eᵀα = e row by row: no large numbers are subtracted, so what is computed here is
exact but for the rounding of f, w and Eᵀα. `with_rounding_bound` counts that too, and makes of it the measured gap that
a user is given, (COUNT.4); `qpsvm.bounds.proof` proves one. Source: Boyd & Vandenberghe, *Convex Optimization*, section
5.5.3, per row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.losses import bound_block_terms, compute_gap_term, compute_loss, find_block_maximum
from qpsvm.program.svm_dual import DualGroup, SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: Growth of the gap, relative to the objective, that averaging b over the margin vectors may cost: rounding.
AVERAGING_SLACK = 1e-14
#: Rows whose vectors are worked on at a time: a quarter of a megabyte each.
BLOCK = 32_768
#: What the kind of a row follows from.
KIND_OF = frozenset(("svm", "alpha", "yf", "margin"))


@dataclass(frozen=True, eq=False)
class Certificate:
    """A feasible primal-dual pair with the gap between its values, over the rows of the dual.

    Attributes
    ----------
    svm : SVMDual
        What it is a certificate of.
    alpha : ndarray, shape (m,)
        Dual feasible.
    yf : ndarray, shape (m,)
        s_k f(x_r(k)) at the primal point: y f of a two-class machine.
    margin : ndarray, shape (m,)
        What s f is to reach, m_k.
    multipliers : mapping of str to float
        μ of the groups other than the intercept, by name.
    intervals : mapping of str to (float, float)
        All values of each of these that are as good; empty where that is not known.
    b : float
        Intercept, in the coordinates of the feature space that was asked.
    b_interval : tuple of float
        Every b that is as good.
    w : ndarray, shape (d,), or None
        The primal point's weight vector, where the feature space is explicit; of an SVDD the centre, over the samples
        as they are computed with, which may be centred.
    coef : ndarray, shape (n,)
        f = K coef + b.
    primal, dual, gap : float
        Values in the units of the objective, and the relative gap: (CERT.3) as computed, or, once rounding is
        counted, the bound (COUNT.4).
    measured : float
        The gap before rounding was counted; NaN where it was not.
    level, level_radius : float
        The intercept over the rows computed with that b stands for, and how far it may be off.
    factor : float
        coef = factor·β, but for rounding; or factor·explicit.
    explicit : ndarray, shape (n,), or None
        Coefficients of a w over few samples, of a kernel that is not linear, which stands in for w(α).
    half_norm : float
        ½‖w‖².
    offset : float
        ‖w − w(α)‖.
    placed : int
        How often y f was taken over from a point with another b or factor, at a few roundings each.
    weight_radius : float or None
        How far `offset` may be off, where that is known better than a-priori.
    value_radius : ndarray, shape (n,), or None
        How far K coef may be off at each sample, where that is known row by row.
    slack, radius : ndarray, shape (n,), or None
        t and how far it may be off, where that is known better than a-priori: (m,) each.
    contributing : ndarray of int, or None
        Rows whose terms of the gap, rounding counted, are not exactly 0.
    size : float
        What that gap is a share of, from below; NaN where rounding was not counted.
    kind : ndarray of int8, shape (m,), or None
        Which rows are at a bound, if that was determined already.
    intercepts : ndarray, shape (k,), or None
        b of several classes in one program, as the caller gets it: its levels are multipliers, and b is 0.

    See Also
    --------
    Problem.certify : What makes one, of any α.

    Examples
    --------
    At α = ¼·1, the gap is the sum of the samples' shares, (GAP.1), here all of it:

    >>> import numpy as np
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> certificate = problem.certify([0.25, 0.25, 0.25, 0.25])
    >>> bool(np.isclose(certificate.terms.sum(), certificate.primal - certificate.dual))
    True
    >>> certificate.gap > 0.1 and certificate.dual <= 0.5 <= certificate.primal
    True
    """

    svm: SVMDual
    alpha: FloatArray
    yf: FloatArray
    margin: FloatArray
    b: float
    b_interval: tuple[float, float]
    w: FloatArray | None
    coef: FloatArray
    primal: float
    dual: float
    gap: float
    measured: float = math.nan
    level: float = 0.0
    level_radius: float = 0.0
    factor: float = 1.0
    half_norm: float = 0.0
    offset: float = 0.0
    placed: int = 0
    weight_radius: float | None = None
    value_radius: FloatArray | None = None
    slack: FloatArray | None = None
    radius: FloatArray | None = None
    contributing: IntArray | None = None
    size: float = math.nan
    multipliers: Mapping[str, float] = field(default_factory=dict)
    explicit: FloatArray | None = None
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kind: NDArray[np.int8] | None = None
    intercepts: FloatArray | None = None

    @property
    def rho(self) -> float:
        """The margin level ρ where that is a variable, else 1."""
        return self.multipliers.get("rho", 1.0)

    @property
    def upper(self) -> FloatArray:
        """U: (m,)."""
        return self.svm.upper

    @property
    def unit(self) -> float:
        """Factor from (CERT.1) to the units of the objective."""
        return self.svm.unit

    @property
    def rounding(self) -> float:
        """Part of `gap` that only bounds rounding errors; 0 if these were not bounded."""
        return max(self.gap - self.measured, 0.0) if math.isfinite(self.gap) and self.measured >= 0.0 else 0.0

    def __repr__(self) -> str:
        hidden = ("intervals", "kind")
        shown = {name: part for name, part in vars(self).items() if part is not None and name not in hidden}
        return build_repr("Certificate", **shown)

    def replace(self, **parts: Any) -> Certificate:
        """A copy with some attributes replaced: as `dataclasses.replace`, in a fraction of its time.

        Parameters
        ----------
        **parts
            Attributes by name.

        Returns
        -------
        Certificate
            Of the same dual.

        Examples
        --------
        >>> import qpsvm
        >>> certificate = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).certify([0.5, 0.5])
        >>> print(certificate.replace(gap=1.0).gap)
        1.0
        """
        copy = object.__new__(Certificate)
        copy.__dict__.update(self.__dict__)
        if not KIND_OF.isdisjoint(parts):
            copy.__dict__.pop("kind", None)
        for part in parts.values():
            if type(part) is np.ndarray:
                part.flags.writeable = False
        copy.__dict__.update(parts)
        return copy

    @property
    def violation(self) -> FloatArray:
        """Violation t of the margin, negative beyond it: (m,)."""
        return self.margin - self.yf

    @property
    def xi(self) -> FloatArray:
        """Slacks ξ = max(t, 0): (m,)."""
        return np.maximum(self.violation, 0.0)

    @property
    def gradient(self) -> FloatArray:
        """The gradient of the dual's Lagrangian, δα − t: (m,); ≥ 0 where α = 0, 0 where it is free, ≤ 0 where α = U."""
        short = self.violation
        return self.svm.curvature * self.alpha - short if self.svm.has_curvature else -short

    @property
    def terms(self) -> FloatArray:
        """The terms g of (CERT.1), (m,), in the units of the objective; infinite at a point that is not feasible."""
        return self.unit * objective_terms(
            self.alpha, self.svm.upper, self.yf, self.margin, self.svm.curvature, self.primal
        )


@dataclass(frozen=True, eq=False)
class Gap:
    """The gap's parts: bound of P − D, of the objective's size from below, and the rows that contribute."""

    difference: float
    size: float
    rows: IntArray

    @property
    def gap(self) -> float:
        if not self.difference > 0.0:
            return 0.0 if self.difference == 0.0 else math.inf  # NaN is no bound
        return self.difference / self.size if self.size > 0.0 and math.isfinite(self.difference) else math.inf


def gap_terms(
    alpha: FloatArray,
    upper: FloatArray,
    yf: FloatArray,
    margin: float | FloatArray,
    curvature: FloatArray | None = None,
) -> FloatArray:
    """(CERT.1): the terms g (m,) of the gap, for α, U, s∘f and δ (m,) each; δ = 0 where it is None."""
    t = margin - yf
    return compute_gap_term(alpha, t, upper, np.zeros_like(alpha) if curvature is None else curvature)


def objective_terms(
    alpha: FloatArray,
    upper: FloatArray,
    yf: FloatArray,
    margin: FloatArray,
    curvature: FloatArray,
    primal: float,
) -> FloatArray:
    """g of (CERT.1), (m,), of a point whose primal value is known.

    Where nothing may fall short, s f reaches the margin up to rounding if the primal value is finite.
    """
    if math.isinf(primal):
        return np.full(len(alpha), np.inf)
    reached = np.where(np.isinf(upper) & (curvature == 0.0), np.maximum(yf, margin), yf)
    return gap_terms(alpha, upper, reached, margin, curvature)


def gap_sums(svm: SVMDual, alpha: FloatArray, u: FloatArray, b: float, margin: FloatArray) -> tuple[float, float]:
    """Σ g_k of (CERT.1) and Σ ψ_k(t_k) over all rows at f = u + b, u (n,) at the samples.

    In blocks that stay in the cache: at 10⁷ rows, fresh memory for whole vectors takes longer than the arithmetic.
    Hard rows count as reached: whether they are is for the caller to know.
    """
    terms, losses = 0.0, 0.0
    values, common = svm.at_rows(u), find_common_value(margin)
    if svm.block > 1:
        t, (upper, curvature) = margin - svm.sign * (values + b), (svm.upper, svm.curvature)
        terms = float(bound_block_terms(alpha, t, t, upper, curvature, svm.block).sum())
        T = find_block_maximum(t, svm.block)
        return terms, float(compute_loss(T, upper[:: svm.block], curvature[:: svm.block]).sum())
    simple = svm.hard_rows is None and not svm.has_curvature
    for start in range(0, len(alpha), BLOCK):
        part = slice(start, start + BLOCK)
        a, C = alpha[part], svm.upper[part]
        t = values[part] + b
        t *= svm.sign[part]
        np.subtract(margin[part] if common is None else common, t, out=t)
        if simple:
            xi = np.maximum(t, 0.0)
            losses += float(C @ xi)
            np.subtract(xi, t, out=t)  # y f − m + ξ
            terms += float((C - a) @ xi) + float(a @ t)  # (CERT.1), (CSVM.8), (NUSVM.9), (PHINGE.8)
            continue
        if svm.hard_rows is not None:
            np.minimum(t, 0.0, out=t, where=svm.hard_rows[part])
        losses += float(compute_loss(t, C, svm.curvature[part]).sum())
        terms += float(compute_gap_term(a, t, C, svm.curvature[part]).sum())  # (CERT.1)
    return terms, losses


def middle(low: float, high: float) -> float:
    """The middle of an interval, or its finite end where the other is infinite."""
    if math.isinf(high):
        return low
    return high if math.isinf(low) else low + (high - low) / 2


def prefer_average(quantile: float, average: float, size: float) -> bool:
    """Whether the gap at the averaged b is as good as at the minimising b, up to rounding of values of this size."""
    return average <= quantile * (1 + 1e-9) + AVERAGING_SLACK * size


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """A primal candidate: decision values without intercept, u (n,), w, ½‖w‖², and w − w(α), None where that is 0.

    Of w = Σ_j c_j φ(x_j) with coefficients of its own, there are these, `coef` (n,), ‖w − w(α)‖ as measured, and by how
    much that may be more.
    """

    u: FloatArray
    w: FloatArray | None
    half_norm: float
    offset: FloatArray | None = None
    coef: FloatArray | None = None
    apart: float = 0.0
    apart_radius: float | None = None

    def times(self, factor: float) -> PrimalPoint:
        """w and w(α) times a factor."""
        w, offset = (None if part is None else factor * part for part in (self.w, self.offset))
        return PrimalPoint(factor * self.u, w, self.half_norm * factor * factor, offset)  # factor² may underflow

    def half_distance(self, growth: float = 0.0) -> float:
        """½‖(1 + growth)w − w(α)‖², or a bound of it."""
        if self.coef is not None:
            return 0.5 * (self.apart + growth * math.sqrt(2.0 * self.half_norm)) ** 2
        if self.offset is None or self.w is None:
            return growth * growth * self.half_norm
        difference = self.offset + growth * self.w
        return 0.5 * float(difference @ difference)


def kernel_point(space: FeatureSpace, coef: FloatArray) -> PrimalPoint:
    """w = Σ_j c_j φ(x_j) for c (n,), as w(α) where c = β, or what is left of β in a positive part."""
    u = space.centred_gram @ coef  # (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4): ⟨w, φ(x_i)⟩ = Σ_j β_j K(x_j, x_i)
    return PrimalPoint(u, None, max(0.5 * float(coef @ u), 0.0))  # what is below 0 is rounding


def multiplier(point: Certificate, group: DualGroup) -> float:
    """μ of a group: one of the margins, or else the intercept over the rows computed with."""
    return point.multipliers.get(group.multiplier, point.level)


def weighs(point: Certificate) -> bool:
    """Whether w is anything but exactly 0."""
    return bool((point.coef if point.w is None else point.w).any())
