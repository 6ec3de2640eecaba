"""Define a feasible primal-dual pair with its gap, a sum of nonnegative terms, one per row (`Certificate`).

The notation is that of `svm_dual`. On row k, s_k f should reach the margin m_k = ℓ_k − Σ E_kg μ_g, summed over all
groups g but the intercept: 1 for a C-SVM, ρ for a ν-SVM. Its violation is t_k = m_k − s_k f(x_r(k)).

    (GAP.1)  P(w, μ) − D(α) = ½‖w − w(α)‖² + Σ g_k + ½Σ R_g (μ_g − (E_gᵀα − e_g)/R_g)²   for any w, μ, feasible α
    (CERT.1)  g_k = ψ_k(t_k) + ½δ_kα_k² − α_kt_k ≥ 0, by (LOSS.3);  where δ = 0 that is
              g_k = (U_k − α_k) max(t_k, 0) + α_k max(−t_k, 0)
    (CERT.2)  the last sum is over the penalised groups; α determines the multiplier (E_gᵀα − e_g)/R_g of each
    (CERT.3)  relative gap = (P − D) / max(|P|, |D|)

(GAP.1) follows row by row from (DUAL.3) and Eᵀα = e. No large numbers are subtracted, so the gap is exact up to the
rounding of f, w and Eᵀα. `GapBounder` adds a bound of that rounding: the gap of a result is (COUNT.4).

Source: Boyd & Vandenberghe, *Convex Optimization*, section 5.5.3, per row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.losses import compute_block_terms, compute_gap_term, compute_loss, find_block_maximum
from qpsvm.program.svm_dual import DualGroup, SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: Largest increase of the gap, relative to the objective, that counts as rounding when b is averaged (`is_as_good`).
AVERAGING_SLACK = 1e-14
#: Number of rows processed at a time: vectors of a quarter of a megabyte.
ROWS_AT_A_TIME = 32_768
#: If one of these attributes is replaced, `kind` has to be determined again.
KIND_DEPENDS_ON = frozenset(("svm", "alpha", "yf", "margin"))


class EvaluatedViolations(NamedTuple):
    """Violations t and their error bounds, (m,) each."""

    t: FloatArray
    radius: FloatArray


@dataclass(frozen=True, eq=False)
class Certificate:
    """A feasible primal-dual pair with the gap between its values, over the rows of the dual.

    Attributes
    ----------
    svm : SVMDual
        The dual that it certifies.
    alpha : ndarray, shape (m,)
        Dual feasible point.
    yf : ndarray, shape (m,)
        s_k f(x_r(k)) at the primal point: y f for a two-class machine.
    margin : ndarray, shape (m,)
        Margin m_k that s f should reach.
    multipliers : mapping of str to float
        μ of the groups other than the intercept, by name.
    intervals : mapping of str to (float, float)
        Interval of equally good values of each; empty if unknown.
    b : float
        Intercept, in the coordinates of the caller's feature space.
    b_interval : tuple of float
        Interval of equally good values of b.
    w : ndarray, shape (d,), or None
        Weight vector of the primal point; None if the feature space is not explicit. For an SVDD it is the centre, in
        the coordinates of the computation, which may be centred.
    coef : ndarray, shape (n,)
        f = K coef + b.
    primal, dual, gap : float
        Values in the units of the objective, and the relative gap: (CERT.3) as computed, or, with the rounding
        bound, (COUNT.4).
    measured_gap : float
        The gap without the rounding bound; NaN if no rounding bound was added.
    centred_b, centred_b_radius : float
        The intercept in the coordinates of the computation, and a bound of its error.
    factor : float
        coef is factor·β, or factor·sparse_coef, up to rounding.
    sparse_coef : ndarray, shape (n,), or None
        Coefficients of a w other than w(α), over few samples, for a kernel that is not linear.
    half_norm : float
        ½‖w‖².
    weight_distance : float
        ‖w − w(α)‖.
    n_moves : int
        Number of times that yf was updated for another b or factor, with a few roundings each time.
    weight_distance_radius : float or None
        Error bound of `weight_distance`; None if only the a-priori bound is known.
    value_radius : ndarray, shape (n,), or None
        Error bound of K coef at each sample; None if only the a-priori bound is known.
    evaluated : EvaluatedViolations or None
        t from an evaluation in double-double; None if only yf, with its a-priori bound, is known.
    contributing : ndarray of int, or None
        Rows whose terms of the gap, including the rounding bound, are not exactly 0.
    size : float
        Lower bound of the denominator of the gap; NaN if no rounding bound was added.
    kind : ndarray of int8, shape (m,), or None
        Kind of each row: 0 for α = 0, 1 for a free α, 2 for α at its bound; None if not determined yet.
    intercepts : ndarray, shape (k,), or None
        For an all-in-one machine, b of each class in the caller's coordinates; its levels are multipliers, and b is 0.

    See Also
    --------
    Problem.certify : Certifies any α.

    Examples
    --------
    At α = ¼·1, w = w(α), so the gap is the sum of the terms of the samples, (GAP.1):

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
    measured_gap: float = math.nan
    centred_b: float = 0.0
    centred_b_radius: float = 0.0
    factor: float = 1.0
    half_norm: float = 0.0
    weight_distance: float = 0.0
    n_moves: int = 0
    weight_distance_radius: float | None = None
    value_radius: FloatArray | None = None
    evaluated: EvaluatedViolations | None = None
    contributing: IntArray | None = None
    size: float = math.nan
    multipliers: Mapping[str, float] = field(default_factory=dict)
    sparse_coef: FloatArray | None = None
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kind: NDArray[np.int8] | None = None
    intercepts: FloatArray | None = None

    @property
    def rho(self) -> float:
        """The margin level ρ if it is a variable, else 1."""
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
        if math.isfinite(self.gap) and self.measured_gap >= 0.0:
            return max(self.gap - self.measured_gap, 0.0)
        return 0.0

    def __repr__(self) -> str:
        hidden = ("intervals", "kind", "evaluated")
        displayed = {name: value for name, value in vars(self).items() if value is not None and name not in hidden}
        return build_repr("Certificate", **displayed)

    def replace(self, **parts: Any) -> Certificate:
        """Return a copy with some attributes replaced: a faster `dataclasses.replace`.

        Parameters
        ----------
        **parts
            Attributes by name.

        Returns
        -------
        Certificate
            A certificate of the same dual.

        Examples
        --------
        >>> import qpsvm
        >>> certificate = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).certify([0.5, 0.5])
        >>> print(certificate.replace(gap=1.0).gap)
        1.0
        """
        copy = object.__new__(Certificate)
        copy.__dict__.update(self.__dict__)
        if not KIND_DEPENDS_ON.isdisjoint(parts):
            copy.__dict__.pop("kind", None)
        for value in parts.values():
            if type(value) is np.ndarray:
                value.flags.writeable = False
            elif type(value) is EvaluatedViolations:
                freeze(value)
        copy.__dict__.update(parts)
        return copy

    @property
    def violation(self) -> FloatArray:
        """Violation t of the margin, negative beyond it: (m,)."""
        return self.margin - self.yf

    @property
    def best_violation(self) -> FloatArray:
        """The violation from an evaluation in double-double if there is one, else as computed: (m,)."""
        return self.violation if self.evaluated is None else self.evaluated.t

    @property
    def xi(self) -> FloatArray:
        """Slacks ξ = max(t, 0): (m,)."""
        return np.maximum(self.violation, 0.0)

    @property
    def gradient(self) -> FloatArray:
        """Gradient δα − t of the dual's Lagrangian, (m,); at an optimum ≥ 0 if α = 0, 0 if α is free, ≤ 0 if α = U."""
        violation = self.violation
        if self.svm.has_curvature:
            return self.svm.curvature * self.alpha - violation
        return -violation

    @property
    def terms(self) -> FloatArray:
        """Terms g of (CERT.1), (m,), in the units of the objective; infinite at an infeasible point."""
        svm = self.svm
        return svm.unit * compute_gap_terms(self.alpha, svm.upper, self.yf, self.margin, svm.curvature, self.primal)


@dataclass(frozen=True, eq=False)
class GapParts:
    """Parts of the gap: an upper bound of P − D, a lower bound of max(|P|, |D|), and the rows with nonzero terms."""

    difference: float
    size: float
    rows: IntArray

    @property
    def gap(self) -> float:
        """Upper bound of the relative gap; infinite if nothing is proven."""
        if not self.difference > 0.0:
            return 0.0 if self.difference == 0.0 else math.inf  # NaN is no bound
        if self.size > 0.0 and math.isfinite(self.difference):
            return self.difference / self.size
        return math.inf


def compute_gap_terms(
    alpha: FloatArray, upper: FloatArray, yf: FloatArray, margin: FloatArray, curvature: FloatArray, primal: float
) -> FloatArray:
    """Return the terms g of (CERT.1), (m,), of a point with a known primal value; infinite if that is infinite.

    Hard rows count as satisfied: with a finite primal value, they reach their margin up to rounding.
    """
    if math.isinf(primal):
        return np.full(len(alpha), np.inf)
    satisfied_yf = np.where(np.isinf(upper) & (curvature == 0.0), np.maximum(yf, margin), yf)
    return compute_gap_term(alpha, margin - satisfied_yf, upper, curvature)


def sum_gap_terms(svm: SVMDual, alpha: FloatArray, u: FloatArray, b: float, margin: FloatArray) -> tuple[float, float]:
    """Return Σ g_k of (CERT.1) and Σ ψ_k(t_k) over all rows at f = u + b, u (n,) at the samples.

    Rows are processed in parts that fit in the cache: with 10⁷ rows, allocating whole vectors takes longer than the
    arithmetic. Hard rows count as satisfied; callers check that.
    """
    terms, losses = 0.0, 0.0
    values = svm.at_rows(u)
    common = find_common_value(margin)
    if svm.block > 1:
        t = margin - svm.sign * (values + b)
        upper, curvature = svm.upper, svm.curvature
        terms = float(compute_block_terms(alpha, t, upper, curvature, svm.block).sum())
        T = find_block_maximum(t, svm.block)
        return terms, float(compute_loss(T, upper[:: svm.block], curvature[:: svm.block]).sum())
    only_hinges = svm.hard_rows is None and not svm.has_curvature
    for start in range(0, len(alpha), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        a = alpha[part]
        U = svm.upper[part]
        t = values[part] + b
        t *= svm.sign[part]
        np.subtract(margin[part] if common is None else common, t, out=t)
        if only_hinges:
            xi = np.maximum(t, 0.0)
            losses += float(U @ xi)
            np.subtract(xi, t, out=t)  # s f − m + ξ
            terms += float((U - a) @ xi) + float(a @ t)  # (CERT.1), (CSVM.8), (NUSVM.9), (PHINGE.8)
            continue
        if svm.hard_rows is not None:
            np.minimum(t, 0.0, out=t, where=svm.hard_rows[part])
        losses += float(compute_loss(t, U, svm.curvature[part]).sum())
        terms += float(compute_gap_term(a, t, U, svm.curvature[part]).sum())  # (CERT.1)
    return terms, losses


def find_middle(low: float, high: float) -> float:
    """Return the middle of an interval, or its finite end if the other is infinite."""
    if math.isinf(high):
        return low
    return high if math.isinf(low) else low + (high - low) / 2


def is_as_good(average_gap: float, least_gap: float, size: float) -> bool:
    """Return whether P − D at the averaged b is that at the best b, up to rounding; `size` is that of the objective."""
    return average_gap <= least_gap * (1 + 1e-9) + AVERAGING_SLACK * size


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """The w of a primal candidate, without multipliers. It is w(α), unless `difference` or `coef` is given.

    u (n,): Decision values without the intercept.
    w (d,): Weight vector; None for a kernel that is not linear.
    half_norm: ½‖w‖².
    difference (d,): w − w(α), for a linear kernel.
    coef (n,): c of w = Σ_j c_j φ(x_j), for another kernel.
    distance, distance_radius: With `coef`, ‖w − w(α)‖ as computed, and a bound on how much larger the exact value is.
    """

    u: FloatArray
    w: FloatArray | None
    half_norm: float
    difference: FloatArray | None = None
    coef: FloatArray | None = None
    distance: float = 0.0
    distance_radius: float | None = None

    def scale(self, factor: float) -> PrimalPoint:
        """Return the point for w and w(α) times a factor."""
        w, difference = (None if vector is None else factor * vector for vector in (self.w, self.difference))
        return PrimalPoint(factor * self.u, w, self.half_norm * factor * factor, difference)  # factor² may underflow

    def bound_half_distance(self, growth: float = 0.0) -> float:
        """Return ½‖(1 + growth)w − w(α)‖², or with `coef` an upper bound."""
        if self.coef is not None:
            return 0.5 * (self.distance + growth * math.sqrt(2.0 * self.half_norm)) ** 2
        if self.difference is None or self.w is None:
            return growth * growth * self.half_norm
        difference = self.difference + growth * self.w
        return 0.5 * float(difference @ difference)


def build_kernel_point(space: FeatureSpace, coef: FloatArray) -> PrimalPoint:
    """Return the point w = Σ_j c_j φ(x_j) for c (n,): w(α) if c = β."""
    u = space.centred_gram @ coef  # (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4): ⟨w, φ(x_i)⟩ = Σ_j β_j K(x_j, x_i)
    return PrimalPoint(u, None, max(0.5 * float(coef @ u), 0.0))  # below 0 only by rounding


def get_multiplier(point: Certificate, group: DualGroup) -> float:
    """Return μ of a group; that of the intercept is in the coordinates of the computation."""
    return point.multipliers.get(group.multiplier, point.centred_b)


def has_weight(point: Certificate) -> bool:
    """Return whether w is not exactly 0."""
    return bool((point.coef if point.w is None else point.w).any())
