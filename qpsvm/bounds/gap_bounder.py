"""Bound the gap of the returned floating-point values (α, w, b, ρ), all rounding included (`GapBounder`).

The gap (GAP.1) holds for an α̂ that satisfies every equality exactly: α itself, or α with changed last digits, (FEAS.3).
The violations t_k = m_k − s_k f_k are known up to a radius r_k (`accuracy`), and each term is bounded for all t in
t_k ± r_k, (BOUND.2), (BOUND.5):

    (COUNT.1)  P − D ≤ ½(‖w − w(α)‖ + radius + Σ|α̂_k − α_k| ρ_k)² + Σ g_k(t_k ± r_k) + ½Σ R_g d_g², where d_g is the
               distance of a penalised multiplier from that of α̂, (CERT.2)
    (COUNT.4)  gap = (upper bound of P − D) / (lower bound of P, or of |D| for a homogeneous machine)

Linear constraints are rows like the others. Two opposite ones can only be satisfied as an equality, and no pair of
floats (w, b) satisfies it to the last bit:

    (COUNT.5)  an equality counts as satisfied if |t| ≤ 8r, a few times the rounding of its own evaluation;  its term is
               α(|t| + r), the change of P for a change of the level by |t| + r at the multiplier α

Rows with α = 0 and t < −r, or α = U and t > r + δU, contribute exactly 0: usually most rows.

Sources: `certificate` for the terms of the gap; Higham (2002) for a-priori error bounds, see `arrays.rounding`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.double_double import NEXT_TO_NOTHING, UNDERFLOW, dot_with_bound, sum_with_bound
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import round_up, round_up_from
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, bound_norm, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds import repair
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate, GapParts, get_multiplier, has_weight
from qpsvm.bounds.constraint_radii import tighten_constraint_radii
from qpsvm.bounds.proof.exact_dual import ExactDual, state_dual_exactly, state_group_exactly
from qpsvm.bounds.proof.feasible import ExactAlpha, compute_residual, make_feasible
from qpsvm.bounds.proof.terms import Ends, RowBounds, bound_sum, bound_terms_above, sum_terms, widen_ends
from qpsvm.program.svm_dual import DualGroup, SVMDual

#: An equality counts as satisfied if |t| is at most this many radii, (COUNT.5).
EQUALITY_RADII = 8.0


class GapBounder:
    """Bounds the gaps of points of one dual.

    equal (m,): Mask of the linear constraints that can only be satisfied as equalities; None if there are none.
    is_homogeneous: Whether every level is 0 and a group has a total, as in a ν-SVM. Then the gap is relative to |D|.
    """

    def __init__(self, accuracy: Accuracy, svm: SVMDual, equal: NDArray[np.bool_] | None = None) -> None:
        self.accuracy = accuracy
        self.svm = svm
        self.equal = equal
        self.is_homogeneous = svm.is_homogeneous and any(group.total for group in svm.groups)
        self._last_kappa: tuple[Certificate | None, float] = None, 0.0
        self._last_repair: tuple[FloatArray | None, ExactAlpha | None] = None, None

    # --- the gap ---

    def bound_gap(self, point: Certificate) -> GapParts:
        """Bound P − D from above and max(|P|, |D|) from below, (COUNT.1) and (COUNT.4)."""
        alpha, is_feasible = self._find_alpha(point)
        distance = self._bound_distance(point, alpha) if is_feasible else math.inf
        terms, rows, (min_loss, max_loss) = self._bound_row_sums(point, alpha)
        difference = 0.5 * distance * distance + terms
        if distance > 0.0:
            difference += UNDERFLOW  # its square may have underflowed
        norm = self._bound_norm_below(point)
        penalties = 0.0
        for group in self.svm.penalised_groups if is_feasible else ():
            error, mu = self.bound_multiplier_distance(point, alpha, group)
            difference += 0.5 * group.ridge * error * error  # ** may raise OverflowError
            penalties += 0.5 * group.ridge * mu * mu
        if self.is_homogeneous:  # |D| = ½‖w(α̂)‖² + …
            size = 0.5 * max(norm - distance, 0.0) ** 2
        elif self.accuracy.space.is_affine and point.w is not None:  # ½R², because ½‖w‖² and μ may cancel
            size = max(self.compute_half_square(point) - point.centred_b_radius, 0.0) + min_loss
        else:
            primal = 0.5 * norm * norm + min_loss
            if primal < NEXT_TO_NOTHING and (difference > 0.0 or has_weight(point)):  # products may have underflowed
                difference += (len(point.alpha) + 4) * UNDERFLOW
            size = self._add_multiplier_terms(point, primal + penalties)
            if self.svm.linear_constraints is not None:
                size = max(size, -self._bound_primal_above(point, penalties, max_loss))
        return GapParts(difference * FEW_ROUNDINGS, size / FEW_ROUNDINGS, rows)

    def _add_multiplier_terms(self, point: Certificate, primal: float) -> float:
        """Add lower bounds of e_g μ_g for all groups to a lower bound of the other terms of P."""
        for group in self.svm.groups:
            if group.total:
                mu = get_multiplier(point, group)
                primal += group.total * mu - abs(group.total) * (abs(mu) * 4.0 * UNIT + point.centred_b_radius)
        return primal

    def update_gap(self, point: Certificate) -> Certificate:
        """Return the point with its gap (COUNT.4), and the rows that contribute to it."""
        parts = self.bound_gap(point)
        return point.replace(gap=parts.gap, contributing=parts.rows, size=parts.size)

    def sum_terms_of_rows(self, point: Certificate, rows: IntArray, t: FloatArray, r: FloatArray) -> float:
        """Bound Σ g_k over some rows, in whole blocks, from above, for t ± r. Shapes: rows, t and r (k,)."""
        alpha, _ = self._find_alpha(point)
        ends = self._bound_violations(t, r, rows)
        return bound_sum(bound_terms_above(self._enclose_rows(alpha).take(rows), ends, self.svm.block), up=True)

    def _bound_row_sums(self, point: Certificate, alpha: ExactAlpha) -> tuple[float, IntArray, tuple[float, float]]:
        """Return an upper bound of Σ g_k, the rows with nonzero bounds (k,), and both bounds of Σ ψ_k(t_k)."""
        g, (_, terms), losses = sum_terms(
            self._enclose_rows(alpha),
            lambda rows: self._bound_violations(*self.enclose_violations(point, rows), rows),
            self.svm.block,
            both=self.svm.linear_constraints is not None,
        )
        rows = (g > 0.0).nonzero()[0]
        if not self.accuracy.has_all_norms:  # bound the few remaining rows again, by individual radii
            terms = self.sum_terms_of_rows(point, rows, *self.enclose_violations(point, rows))
        return terms, rows, losses

    def _bound_violations(self, t: FloatArray, r: FloatArray, rows: IntArray | slice) -> Ends:
        """Return lower and upper bounds of t at some rows, for its value and radius: (r,) each."""
        low, high = widen_ends(t, r)
        equal = None if self.equal is None else self.equal[rows]
        if equal is not None and equal.any():  # (COUNT.5)
            low = np.where(equal, -FEW_ROUNDINGS * (np.abs(t) + r), low)
            high = np.where(equal, np.where(np.abs(t) <= EQUALITY_RADII * r, 0.0, np.inf), high)
        return low, high

    def _find_alpha(self, point: Certificate) -> tuple[ExactAlpha, bool]:
        """Return the α̂ of `find_feasible` and True, or α and False if there is none."""
        repaired = self.find_feasible(point)
        if repaired is None:
            return ExactAlpha(point.alpha, {}), False
        return repaired, True

    # --- t, with its radius ---

    def enclose_violations(self, point: Certificate, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
        """Return the violations t of some rows, and their error bounds: (r,) each."""
        if point.evaluated is not None:
            return point.evaluated.t[rows].copy(), point.evaluated.radius[rows]
        common_margin = find_common_value(point.margin)
        margin = point.margin[rows] if common_margin is None else common_margin
        margin_rounding = self.svm.bound_margin_rounding(point.multipliers, rows)
        t: FloatArray
        if self.svm.is_two_sided and not has_weight(point):  # f = b, so t is rounded only once
            t = margin - self.svm.sign[rows] * point.centred_b
            return t, UNIT * np.abs(t) + point.centred_b_radius + margin_rounding
        t = margin - point.yf[rows]
        relative = (2.0 + 4.0 * point.n_moves) * UNIT
        absolute: FloatArray | float = self._bound_value_radius(point, rows) + margin_rounding
        absolute += (1 + point.n_moves) * point.centred_b_radius
        r = relative * np.abs(t)
        r += (absolute + relative * (abs(point.centred_b) + np.abs(margin))) * FEW_ROUNDINGS
        if self.svm.linear_constraints is not None and point.w is not None:
            tighten_constraint_radii(self.accuracy, self.svm, point, rows, t, r)
        return t, r

    def _bound_value_radius(self, point: Certificate, rows: IntArray | slice) -> FloatArray | float:
        """Bound the error of K coef, or Zw, at some rows: (r,), or one number for all of them."""
        if self.svm.mix is not None:
            return self._compute_kappa(point) * self._mix_factor * FEW_ROUNDINGS * self.bound_dual_row_norms(rows)
        if point.value_radius is not None:
            return point.value_radius[rows if self.svm.rows is None else self.svm.rows[rows]]
        are_norms_cheap = self.accuracy.has_all_norms or not isinstance(rows, slice)
        norm = self.bound_dual_row_norms(rows) if are_norms_cheap else self.accuracy.max_norm
        return self._compute_kappa(point) * FEW_ROUNDINGS * norm

    @cached
    def _mix_factor(self) -> float:
        """Factor of κ for rows that combine up to k samples: a sum of k products adds γ_k, and κ ≥ γ₆‖w‖."""
        if self.svm.mix is not None:
            k = int(np.diff(self.svm.mix.indptr).max(initial=1))
        else:
            k = 0
        return 1.0 + (k + 3) / 6.0

    def bound_dual_row_norms(self, rows: IntArray | slice) -> FloatArray:
        """Bound ‖φ‖ of some rows, (r,); a combination of samples is bounded by the triangle inequality."""
        svm = self.svm
        if svm.mix is None:
            return self.accuracy.bound_norms(rows if svm.rows is None else svm.rows[rows])
        norms: FloatArray = abs(svm.mix[rows]) @ self.accuracy.bound_norms(np.arange(svm.n))
        return norms * self._mix_factor  # exceeds the rounding of the sum

    def bound_value_radii(self, point: Certificate) -> FloatArray:
        """Bound the error of K coef at every sample: (n,), a new array."""
        if point.value_radius is not None:
            return np.array(point.value_radius)
        return np.asarray(self._compute_kappa(point) * FEW_ROUNDINGS * self.accuracy.bound_norms(np.arange(self.svm.n)))

    def _compute_kappa(self, point: Certificate) -> float:
        """Return κ, the factor of ρ_i in (ACC.2), at a point; the last one is cached, as every block needs it."""
        cached_point, kappa = self._last_kappa
        if cached_point is not point:
            kappa = self.accuracy.compute_radius_factor(point.coef, point.w)
            self._last_kappa = point, kappa
        return kappa

    # --- α, exactly ---

    @cached
    def exact_dual(self) -> ExactDual:
        """The box and the equalities of the dual, without their rounding."""
        return state_dual_exactly(self.svm)

    def find_feasible(self, point: Certificate) -> ExactAlpha | None:
        """Return an α̂ close to α that satisfies every equality exactly; None if none is found."""
        cached_alpha, repaired = self._last_repair
        if cached_alpha is not point.alpha or point.alpha.flags.writeable:
            repaired = self._repair(point)
            self._last_repair = point.alpha, repaired
        return repaired

    def _repair(self, point: Certificate) -> ExactAlpha | None:
        """Compute `find_feasible`: α itself, else α repaired in floats, else in rational numbers."""
        svm = self.svm
        if not math.isfinite(float(np.add.reduce(point.alpha))):
            return None
        if svm.classes is not None:  # `repair` made the sums exactly 0, or no repair is possible
            sums = [sum_with_bound(beta) for beta in svm.beta(point.alpha).reshape(svm.classes.k, -1)]
            is_balanced = all(value == error == 0.0 for value, error in sums)
            must_be_balanced = svm.classes.intercept == "free"
            return ExactAlpha(point.alpha, {}) if is_balanced or not must_be_balanced else None
        if not all(math.isfinite(group.total) for group in svm.groups):
            return None
        if self._is_feasible(point.alpha):
            return ExactAlpha(point.alpha, {})
        if svm.is_hard:  # α was scaled after its repair
            repaired = repair.make_feasible(svm, point.alpha)
            if self._is_feasible(repaired):
                return ExactAlpha(repaired, {})
        costs = np.abs(self.enclose_violations(point, slice(None))[0] - svm.curvature * point.alpha)
        return make_feasible(self.exact_dual, point.alpha, costs)

    def _is_feasible(self, alpha: FloatArray) -> bool:
        """Return whether α (m,) satisfies every equality exactly."""
        for group in self.svm.groups:
            column = group.column
            if group.ridge:
                continue
            # if no product is rounded, a float sum with its error bound decides
            if column is self.svm.sign or abs(find_common_value(column) or 0.0) == 1.0:
                if group.rest or sum_with_bound(column * alpha, -group.total, -group.low) != (0.0, 0.0):
                    return False
            elif compute_residual(state_group_exactly(group), ExactAlpha(alpha, {})):
                return False
        return True

    def _enclose_rows(self, alpha: ExactAlpha) -> RowBounds:
        """Return lower and upper bounds of α, U and δ: (m,) each."""
        return RowBounds(alpha.ends, *self._box_ends)

    @cached
    def _box_ends(self) -> tuple[Ends, Ends]:
        """Lower and upper bounds of the exact U and δ: (m,) each."""
        svm = self.svm
        low = high = svm.curvature
        if svm.has_curvature:
            for _ in range(2):
                low = np.nextafter(low, 0.0)
                high = np.nextafter(high, np.inf)
            low, high = (np.where(svm.curvature > 0.0, end, 0.0) for end in (low, high))
        if svm.upper_radius is None:
            upper = svm.upper
        else:
            upper = round_up_from(svm.upper, svm.upper_radius)
        return (svm.upper, upper), (low, high)

    # --- parts of the gap ---

    @staticmethod
    def compute_half_square(point: Certificate) -> float:
        """Return ½R² = ½‖w‖² + μ of a ball, rounded once."""
        assert point.w is not None
        return 0.5 * max(dot_with_bound(point.w, point.w, 2.0 * point.centred_b)[0], 0.0)

    def _bound_primal_above(self, point: Certificate, penalties: float, losses: float) -> float:
        """Bound P from above: with linear constraints P may be negative, and then −P is the size."""
        square_error = 2.0 * point.half_norm - self._bound_norm_below(point) ** 2  # of ‖w‖²
        primal = point.half_norm + max(square_error, 0.0) + losses + penalties * FEW_ROUNDINGS
        for group in self.svm.groups:
            mu = get_multiplier(point, group)
            primal += group.total * mu + abs(group.total * mu) * 4.0 * UNIT
        return primal + 16.0 * UNIT * (point.half_norm + losses + penalties + abs(primal))

    def _bound_distance(self, point: Certificate, repaired: ExactAlpha) -> float:
        """Bound ‖w − w(α̂)‖ from above, by way of the β that was computed from α."""
        distance = self._bound_distance_to_beta(point)
        distance += self._bound_projection_error(point)
        distance += self._bound_beta_error(point)
        return distance + self._bound_repair(point, repaired) * FEW_ROUNDINGS

    def _bound_distance_to_beta(self, point: Certificate) -> float:
        """Bound ‖w − Σ β_i φ(x_i)‖ from above, for β as computed; its projection instead if K was clipped."""
        n_terms = len(point.coef) + (0 if point.w is None else len(point.w))
        rounding = 1.0 + gamma(n_terms + 8)
        distance = point.weight_distance * rounding
        if point.w is not None:
            radius = point.weight_distance_radius
            if radius is None:
                radius = self.accuracy.bound_weight_error(np.abs(self.svm.beta(point.alpha)))
            distance += radius
            distance += (3.0 + point.n_moves) * UNIT * bound_norm(point.w) * FEW_ROUNDINGS
        elif point.sparse_coef is not None:  # coef is sparse_coef·factor, rounded
            distance = self.bound_weight_distance(point) * rounding
        elif point.factor != 1.0:  # coef is β·factor, rounded
            size = self._bound_coef_size(point)
            norm_error = math.sqrt(self._compute_kappa(point) * FEW_ROUNDINGS * size)
            distance += 2.0 * UNIT * size + abs(1.0 - 1.0 / point.factor) * norm_error
        return distance

    def _bound_projection_error(self, point: Certificate) -> float:
        """Bound the distance between β and its projection, which are equal up to rounding; 0 if K was not clipped."""
        positive_part = self.accuracy.space.positive_part
        if positive_part is None:
            return 0.0
        classes = self.svm.beta(point.alpha).reshape(-1, self.accuracy.space.samples.n)
        distances = [positive_part.bound_distance(positive_part.coefficients(beta), beta) for beta in classes]
        return math.hypot(*distances) * max(point.factor, 1.0) * FEW_ROUNDINGS

    def _bound_beta_error(self, point: Certificate) -> float:
        """Bound the distance of w that the rounding of β causes; 0 if β is exact, or its rounding is included."""
        is_included = self.svm.mix is not None and point.w is not None and point.weight_distance_radius is not None
        beta_radius = self.svm.bound_beta_rounding(point.alpha)
        if is_included or beta_radius is None:
            return 0.0
        error = float(beta_radius @ self.accuracy.bound_norms(np.arange(self.svm.n)))
        return error * max(point.factor, 1.0) * FEW_ROUNDINGS

    def _bound_repair(self, point: Certificate, repaired: ExactAlpha) -> float:
        """Bound ‖w(α̂) − w(α)‖ from above."""
        low, high = repaired.ends
        if low is point.alpha:
            return 0.0
        changes = np.maximum(high - point.alpha, point.alpha - low)
        rows = changes.nonzero()[0]
        return float(changes[rows] @ self.bound_dual_row_norms(rows)) * (1.0 + gamma(len(rows) + 4))

    def bound_multiplier_distance(self, point: Certificate, alpha: ExactAlpha, group: DualGroup) -> tuple[float, float]:
        """Return an upper bound of |μ − μ(α)| for a penalised multiplier μ, (CERT.2), and a lower bound of |μ|."""
        mu = get_multiplier(point, group)
        if not math.isfinite(mu):
            return math.inf, 0.0
        best = compute_residual(state_group_exactly(group), alpha) / Fraction(group.ridge)
        distance = round_up(abs(Fraction(mu) - best)) + point.centred_b_radius
        return distance * FEW_ROUNDINGS, max(abs(mu) - point.centred_b_radius, 0.0)

    def bound_weight_distance(self, point: Certificate) -> float:
        """Bound ‖w − w(α)‖ of an explicit w over few samples from above."""
        size = self._bound_coef_size(point)
        norm_error = math.sqrt(self._compute_kappa(point) * FEW_ROUNDINGS * size)
        distance = point.weight_distance + (point.weight_distance_radius or 0.0) + (2.0 + point.n_moves) * UNIT * size
        return distance + abs(point.factor - 1.0) * norm_error

    def _bound_coef_size(self, point: Certificate) -> float:
        """Bound Σ|coef_i| ρ_i from above."""
        return self.accuracy.bound_norm_sum(point.coef)[0] * FEW_ROUNDINGS

    def _bound_norm_below(self, point: Certificate) -> float:
        """Bound ‖w‖ from below."""
        if point.w is not None:
            return float(np.linalg.norm(point.w)) * (1.0 - gamma(len(point.w) + 4))
        size, n_terms = self.accuracy.bound_norm_sum(point.coef)
        error = self._compute_kappa(point) * FEW_ROUNDINGS * size
        if point.value_radius is not None and self.is_homogeneous:  # then ½‖w‖² was computed from these values
            support = point.coef.nonzero()[0]
            error = min(error, float(np.abs(point.coef[support]) @ point.value_radius[support]) * FEW_ROUNDINGS)
        return math.sqrt(max(2.0 * point.half_norm * (1.0 - gamma(n_terms + 8)) - error, 0.0))
