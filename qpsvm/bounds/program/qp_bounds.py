"""Bound the optimum of any convex QP from both sides, given a point and multipliers of any solver (`QPBounds`).

The QP is: minimise f(x) = ½xᵀPx + qᵀx + r subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. A solver's x violates some
constraints slightly, and its multipliers satisfy stationarity, (QP.1), only approximately, so neither bounds the
optimum by itself. These statements are proven instead:

    (PROGRAM.1)  from below: for all u, y and z ≥ 0 and every feasible x, with c = Pu + q + Gᵀz + Aᵀy,
                 f(x) ≥ r − ½uᵀPu − hᵀz − bᵀy + Σ_j [c_j x_j + ½κ_j (x_j − u_j)²]
                 where P − diag(κ) is positive semidefinite, (CONVEX.1); each term is at least its minimum over
                 [lb_j, ub_j], which is at least c_j u_j − c_j²/(2κ_j) for κ_j > 0, whatever the bounds
    (PROGRAM.2)  where that minimum is −∞ for a c_j that is only rounding, u, y and z are moved so that c_j = 0 exactly
    (PROGRAM.3)  from above: f(x̂) of a feasible x̂ = x + e, where e is nonzero in as many entries as A has rows,
                 Ae = b − Ax, and the bounds and rows of G have at least |e| of slack
    (PROGRAM.4)  given only an approximate inverse R of B: if ‖I − RB‖∞ ≤ κ < 1, the square system Be = ρ has one
                 solution, and ‖e‖∞ ≤ ‖Rρ‖∞/(1 − κ)
    (PROGRAM.5)  if the slack does not suffice, x is moved towards an interior point x₀: x + t(x₀ − x), with the
                 smallest t tried that works
    (PROGRAM.6)  no point is feasible if (PROGRAM.1) with P = 0, q = 0, r = 0 is above 0 (Farkas)
    (PROGRAM.7)  for a program within rounding of this one: q_j − c_j replaces q_j where c_j is only rounding of it;
                 else q_j and all G_ij with z_i > 0 are changed by the same relative amount, so that c_j = 0
    (PROGRAM.8)  a row aᵀx ≤ s bounds x_j if the minimum of its other terms is known: a minimum that is infinite in
                 (PROGRAM.1) may be finite over these implied bounds

Sources: Dorn (1960) for (PROGRAM.1); Rump, *Verification methods*, Acta Numerica 19 (2010), for (PROGRAM.4); Jansson,
*Rigorous lower and upper bounds in linear programming*, SIAM J. Optim. 14 (2004), for the method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW, dot_with_bound, sum_with_bound
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import round_down
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.program.convexity import Convexity
from qpsvm.bounds.program.enclosures import (
    Enclosure,
    Inverse,
    as_exact,
    holds_exactly,
    multiply_enclosed,
    select_independent_columns,
)
from qpsvm.bounds.program.implied import compute_implied_bounds
from qpsvm.bounds.program.rational import MAX_MULTIPLICATIONS, dot_exactly, find_null_vector
from qpsvm.program.qp import QP
from qpsvm.space.operators import Diagonal

#: Reason given if a QP has no lower bound.
NOT_PROVEN_CONVEX = "P could not be shown to be positive semidefinite"
#: Reason given if the terms of a bound overflow.
OVERFLOW = "the terms of a bound exceed the range of floats"
#: Steps t of (PROGRAM.5) that are tried, in turn.
INTERIOR_STEPS = (0.0, *(10.0**-k for k in range(14, 0, -1)))
#: Rounds in which an approximate solution is improved before its error is bounded.
REFINEMENT_ROUNDS = 3


class DualArguments(NamedTuple):
    """Arguments of (PROGRAM.1): the point u (n,), and the multipliers y (p,), z (m,)."""

    u: FloatArray
    y: FloatArray
    z: FloatArray


@dataclass(frozen=True)
class LowerBound:
    """Lower bound of the optimum, (PROGRAM.1), and the multipliers it was computed with.

    y (p,), z (m,): Multipliers.
    c (n,): Residual of (QP.1), which is minus the multipliers of the bounds.
    reason: Why the bound is −∞; empty otherwise.
    q_change (n,): Upper bounds of the change of q in (PROGRAM.7); None if q is unchanged.
    g_change: Relative change of entries of G in (PROGRAM.7).
    """

    value: float
    y: FloatArray
    z: FloatArray
    c: FloatArray
    reason: str = ""
    q_change: FloatArray | None = None
    g_change: float = 0.0


class BoundedTerms(NamedTuple):
    """Inputs of the sum in (PROGRAM.1), all of whose terms have a minimum.

    dual, c: u, y and z, and the enclosure of c of (PROGRAM.1).
    loss: Amount by which (PROGRAM.2) lowers the value.
    box: Lower and upper bounds (n,), given or implied, over which every term has a minimum.
    curvature (n,): κ of (CONVEX.1).
    q_change, g_change: As in `LowerBound`.
    """

    dual: DualArguments
    c: Enclosure
    loss: float
    box: tuple[FloatArray, FloatArray]
    curvature: FloatArray
    q_change: FloatArray | None = None
    g_change: float = 0.0


class UpperBound(NamedTuple):
    """Upper bound of the optimum, (PROGRAM.3), and a point within `radius` of a feasible one.

    reason: Why the bound is ∞; empty otherwise.
    """

    value: float
    x: FloatArray
    radius: float
    reason: str = ""


class Face(NamedTuple):
    """Face of the box and rows that contains all feasible points.

    interior_point (n,): A point with slack in every bound and row that is not fixed or tight.
    fixed: Indices of the variables fixed at a bound.
    equalities (r, n), rhs (r,): Rows that hold with equality, independent over the variables that are not fixed.
    slack_rows: Indices of the rows of G with slack.
    """

    interior_point: FloatArray
    fixed: IntArray
    equalities: FloatArray
    rhs: FloatArray
    slack_rows: IntArray


class QPBounds:
    """Bounds on the optimum of one QP; intermediate results are cached.

    G (m, n), A (p, n): With zero rows if the QP has no such constraints.
    factor: Z (n, k) and d (n,) of P = ZZᵀ + diag(d); or None, and P is dense.
    P (n, n), entry_error: The dense P, or None; and a bound on the rounding error of its entries.
    rounding: Largest relative change of an entry of q that (PROGRAM.7) may make.
    seconds: Time limit of a linear program.
    """

    def __init__(self, qp: QP, rounding: float = 0.0) -> None:
        self.qp = qp
        self.rounding = rounding
        self.seconds = math.inf
        n = qp.n
        no_rows = sp.csr_array((0, n))
        self.G, self.A = (no_rows if M is None else M for M in (qp.G, qp.A))
        self.h, self.b = (np.zeros(0) if side is None else np.asarray(side) for side in (qp.h, qp.b))
        self.lb, self.ub = (np.array(side) for side in qp.bounds)
        self.factor = (sp.csr_array((n, 0)), qp.P.d) if isinstance(qp.P, Diagonal) else qp.P.factor()
        self.P: FloatArray | None = None
        self.entry_error = 0.0
        if self.factor is not None and self.factor[0].shape[1] and self.factor[1].min(initial=0.0) < 0.0:
            self.factor = None
        if self.factor is None:
            self.P = qp.P.dense()
            if not np.array_equal(self.P, self.P.T):  # xᵀPx only depends on the symmetric part of P
                self.P, self.entry_error = 0.5 * (self.P + self.P.T), 2.0**-53 * float(np.abs(self.P).max())

    def apply_hessian(self, x: FloatArray) -> Enclosure:
        """Return Px: (n,)."""
        if self.P is not None:
            return multiply_enclosed(self.P, as_exact(x))
        assert self.factor is not None
        Z, d = self.factor
        diagonal_part = Enclosure(d * x, np.where((d == 0.0) | (x == 0.0), 0.0, np.abs(d * x) * 2.0**-52 + UNDERFLOW))
        if not Z.shape[1]:
            return diagonal_part
        return diagonal_part.add(multiply_enclosed(Z, multiply_enclosed(Z.T, as_exact(x))))

    def adopt_convexity(self, other: QPBounds) -> None:
        """Reuse the convexity analysis of another program with the same P."""
        if self.factor is None:
            self.__dict__["convexity"] = other.convexity

    @cached
    def convexity(self) -> Convexity:
        """Convexity of a dense P."""
        assert self.P is not None
        return Convexity(self.P, self.entry_error)

    @property
    def curvature(self) -> FloatArray | None:
        """κ ≤ 0 of (CONVEX.1), (n,); None if P could not be shown to be positive semidefinite."""
        if self.factor is None:
            return self.convexity.curvature
        d = self.factor[1]
        return np.zeros(len(d)) if (d >= 0.0).all() else None

    @property
    def sharp_curvature(self) -> FloatArray | None:
        """`curvature`, as close to 0 as can be proven."""
        if self.factor is None:
            return self.convexity.sharp_curvature
        return self.curvature

    @property
    def strict_curvature(self) -> FloatArray:
        """κ of (CONVEX.1), (n,), positive wherever that can be proven."""
        if self.factor is None:
            return self.convexity.strict_curvature
        return self.factor[1]

    def find_negative_direction(self) -> tuple[FloatArray, float] | None:
        """Return d (n,) with dᵀPd < 0 for certain, and dᵀPd; None if no such direction is known."""
        if self.factor is None:
            return self.convexity.find_negative_direction()
        d = self.factor[1]
        unit = np.zeros(self.qp.n)
        j = int(np.argmin(d))
        unit[j] = 1.0
        return (unit, float(d[j])) if d[j] < 0.0 else None

    def bound_below(
        self, u: FloatArray, y: FloatArray, z: FloatArray, rows_only: bool = False, sharp: bool = False
    ) -> LowerBound:
        """Bound the optimum from below by (PROGRAM.1), at u (n,) and multipliers y (p,), z (m,).

        rows_only: Set P = 0, q = 0, r = 0, as in (PROGRAM.6).
        sharp: Take more time for a curvature that is below 0 by rounding only.
        """
        curvature: FloatArray | None
        if rows_only:
            dual = DualArguments(np.zeros(self.qp.n), np.array(y), np.maximum(z, 0.0))
            curvature = np.zeros(self.qp.n)
        else:
            dual = DualArguments(np.array(u), np.array(y), self._clip_to_slack_bounds(z))
            curvature = self.sharp_curvature if sharp else self.curvature
        if curvature is None:
            return LowerBound(
                -math.inf, dual.y, dual.z, self._compute_residual(dual, rows_only).value, NOT_PROVEN_CONVEX
            )
        bounded = self._find_bounded_terms(dual, curvature, rows_only)
        if isinstance(bounded, LowerBound):
            return bounded
        return self._sum_terms(bounded, rows_only)

    def _find_bounded_terms(
        self, dual: DualArguments, curvature: FloatArray, rows_only: bool
    ) -> BoundedTerms | LowerBound:
        """Find multipliers near the given ones for which every term c_j x_j + ½κ_j(x_j − u_j)² has a minimum.

        It has none if c_j is not 0, perhaps only by rounding, x_j has no bound on that side, and κ_j = 0: these j are
        `unbounded`. The remedies are, in turn: a positive κ, (PROGRAM.2), rational multipliers, (PROGRAM.7), and
        implied bounds, (PROGRAM.8). Returns a `LowerBound` if it was computed in rational numbers, or is −∞.
        """
        c = self._compute_residual(dual, rows_only)
        box = self.lb, self.ub
        unbounded = self._find_unbounded(c, box)
        if len(unbounded) and rows_only:
            columns = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)], format="csc")[:, unbounded].T
            if holds_exactly(columns, np.concatenate([dual.y, dual.z]), np.zeros(len(unbounded)), equal=True):
                c.value[unbounded] = c.radius[unbounded] = 0.0
                unbounded = unbounded[:0]
        elif len(unbounded) or ((curvature < 0.0) & np.isinf(self.ub - self.lb)).any():
            strict = self.strict_curvature  # 0 if no κ is proven to be positive
            curvature = strict if strict.any() else curvature
            unbounded = unbounded[curvature[unbounded] <= 0.0]
        if (curvature < 0.0).any():  # such terms need both bounds, and `_sum_terms` reports a missing one
            return BoundedTerms(dual, c, 0.0, self.implied_bounds, curvature)
        if not len(unbounded):
            return BoundedTerms(dual, c, 0.0, box, curvature)
        cancelled = self._cancel_residual(dual, unbounded, rows_only)
        if cancelled is not None:
            still_unbounded = self._find_unbounded(cancelled[1], box)
            still_unbounded = still_unbounded[curvature[still_unbounded] <= 0.0]
            if not len(still_unbounded):
                return BoundedTerms(*cancelled, box, curvature)
            unbounded = np.union1d(unbounded, still_unbounded)
        if not rows_only:
            exact = self._bound_in_rationals(dual, unbounded)
            if exact is not None:
                return exact
            if self.rounding:
                refined = self._refine_multipliers(dual, unbounded)
                c = self._compute_residual(refined, rows_only)
                changes = self._bound_q_change(refined, c, unbounded)
                if changes is not None:
                    c.value[unbounded] = c.radius[unbounded] = 0.0
                    return BoundedTerms(refined, c, 0.0, box, curvature, *changes)
        return self._use_implied_bounds(dual, c, curvature, rows_only)

    def _use_implied_bounds(
        self, dual: DualArguments, c: Enclosure, curvature: FloatArray, rows_only: bool
    ) -> BoundedTerms | LowerBound:
        """Return terms with a minimum over the implied bounds, (PROGRAM.8), by (PROGRAM.2) if needed; or −∞."""
        unbounded = self._find_unbounded(c, self.implied_bounds)
        unbounded = unbounded[curvature[unbounded] <= 0.0]
        if len(unbounded):
            cancelled = self._cancel_residual(dual, unbounded, rows_only)
        else:
            cancelled = dual, self._compute_residual(dual, rows_only), 0.0
        if cancelled is not None:
            return BoundedTerms(*cancelled, self.implied_bounds, curvature)
        if len(unbounded) == 1:
            names = "a variable without a bound"
        else:
            names = f"{len(unbounded)} variables without bounds"
        return LowerBound(-math.inf, dual.y, dual.z, c.value, f"the multipliers leave a rest of (QP.1) at {names}")

    def _sum_terms(self, bounded: BoundedTerms, rows_only: bool) -> LowerBound:
        """Return a lower bound of the value of (PROGRAM.1)."""
        dual, c, loss, box, curvature, q_change, g_change = bounded
        terms, error = self._bound_box_minimum(c, curvature, dual.u, box)
        if terms == -math.inf:
            reason = "the multipliers leave a rest of (QP.1) at variables without bounds"
            if (curvature < 0.0).any():
                reason = (
                    "P is positive semidefinite up to rounding only, and there are variables without bounds: give it "
                    "by a factor, as qpsvm.LowRank(F) for FFᵀ, or bound all variables"
                )
            return LowerBound(-math.inf, dual.y, dual.z, c.value, reason)
        half = self.apply_hessian(dual.u)
        square, rounding = dot_with_bound(dual.u, half.value)
        error += 0.5 * (rounding + float(np.abs(dual.u) @ half.radius)) + loss
        rows, rounding = dot_with_bound(np.concatenate([self.h, self.b]), np.concatenate([dual.z, dual.y]))
        constant = 0.0 if rows_only else self.qp.r
        value, summed = sum_with_bound(np.array([constant, -0.5 * square, -rows, terms]))
        value -= (error + rounding + summed) * FEW_ROUNDINGS + 2.0**-52 * abs(value)
        if not math.isfinite(value):
            return LowerBound(-math.inf, dual.y, dual.z, c.value, OVERFLOW)
        return LowerBound(value, dual.y, dual.z, c.value, "", q_change, g_change)

    @cached
    def slacks(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Variables in exactly one row of G and none of A: their indices, the rows and the entries, (k,) each."""
        G, A = sp.csc_array(self.G), sp.csc_array(self.A)
        j = np.flatnonzero((np.diff(G.indptr) == 1) & (np.diff(A.indptr) == 0))
        return j, G.indices[G.indptr[j]], G.data[G.indptr[j]]

    @cached
    def slack_multipliers(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of z, (m,) each: within them c_j x_j has a minimum for each slack x_j with one bound and P_jj = 0."""
        low = np.zeros(len(self.h))
        high = np.full(len(self.h), math.inf)
        j, rows, g = self.slacks
        up, down = np.isfinite(self.lb) & np.isinf(self.ub), np.isfinite(self.ub) & np.isinf(self.lb)
        flat = (up | down)[j] & (self.qp.P.diagonal()[j] == 0.0) & (g != 0.0)
        if flat.any() and self.curvature is not None:  # then a diagonal entry 0 is a row of zeros
            j, rows, g = j[flat], rows[flat], g[flat]
            sign = np.where(up[j], 1.0, -1.0)
            with np.errstate(all="ignore"):
                end = -self.qp.q[j] / g  # c_j = 0 at end, up to rounding
                spare = 2.0**-46 * np.abs(self.qp.q[j] / g)
            at_most = sign * g < 0.0
            np.minimum.at(high, rows[at_most], (end - spare)[at_most])
            np.maximum.at(low, rows[~at_most], (end + spare)[~at_most])
        return low, high

    def _clip_to_slack_bounds(self, z: FloatArray) -> FloatArray:
        """Clip z (m,) ≥ 0 to `slack_multipliers`, where these bounds are consistent."""
        low, high = self.slack_multipliers
        return np.clip(z, low, np.maximum(high, low))

    def _move_slacks(self, x: FloatArray) -> FloatArray:
        """Return x (n,) with slacks moved until their rows hold for certain, if their bounds permit it."""
        j, rows, g = self.slacks
        free = np.where(g < 0.0, np.isinf(self.ub[j]), np.isinf(self.lb[j])) & (g != 0.0)
        if not free.any():
            return x
        rows, first = np.unique(rows[free], return_index=True)  # one slack per row
        j, g = j[free][first], g[free][first]
        values = multiply_enclosed(sp.csr_array(self.G)[rows], as_exact(x))
        violation = values.value + values.radius - self.h[rows]
        step = (np.maximum(violation, 0.0) / np.abs(g) + np.abs(x[j]) * 2.0**-52) * (1.0 + 2.0**-48)
        moved_x = x.copy()
        moved_x[j] -= np.where(violation > 0.0, np.sign(g) * step, 0.0)
        return moved_x

    def _compute_residual(self, dual: DualArguments, rows_only: bool) -> Enclosure:
        """Return c of (PROGRAM.1): (n,)."""
        if rows_only:
            gradient = as_exact(np.zeros(self.qp.n))
        else:
            gradient = self.apply_hessian(dual.u).add(as_exact(self.qp.q))
        return gradient.add(multiply_enclosed(self.G.T, as_exact(dual.z))).add(
            multiply_enclosed(self.A.T, as_exact(dual.y))
        )

    @cached
    def implied_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds that the constraints imply for every feasible point, (PROGRAM.8): (n,) each."""
        return compute_implied_bounds(self.A, self.b, self.G, self.h, self.lb, self.ub)

    @staticmethod
    def _find_unbounded(c: Enclosure, box: tuple[FloatArray, FloatArray]) -> IntArray:
        """Return the variables for which c_j x_j may be unbounded below."""
        down = (c.value + c.radius > 0.0) & ~np.isfinite(box[0])
        up = (c.value - c.radius < 0.0) & ~np.isfinite(box[1])
        return np.flatnonzero(down | up)

    def _bound_q_change(
        self, dual: DualArguments, c: Enclosure, unbounded: IntArray
    ) -> tuple[FloatArray, float] | None:
        """Bound the changes of q, (n,), and of entries of G, by (PROGRAM.7); None if they are too large."""
        change, q = np.zeros(self.qp.n), np.abs(self.qp.q)
        change[unbounded] = c.size[unbounded]
        if (change <= self.rounding * q).all():
            return change, 0.0
        size = (q + abs(sp.csr_array(self.G)).T @ dual.z) * (1.0 - gamma(len(dual.z) + 4))
        with np.errstate(divide="ignore", invalid="ignore"):
            relative_change = np.where(change > 0.0, change / size, 0.0) * FEW_ROUNDINGS
        g_change = float(relative_change.max())
        if g_change <= self.rounding:
            return relative_change * q, g_change
        return None

    def _bound_in_rationals(self, dual: DualArguments, unbounded: IntArray) -> LowerBound | None:
        """Evaluate (PROGRAM.1) at nearby rational multipliers with c_j = 0 for these j; None if none, or κ ≠ 0."""
        if self.P is None or self.entry_error or self.curvature is None or self.curvature.any():
            return None
        p = len(dual.y)
        n = self.qp.n
        tight = np.flatnonzero(dual.z > 0.0)
        if n * n * len(unbounded) > MAX_MULTIPLICATIONS:
            return None
        M = np.vstack([self.P, as_dense(self.A), as_dense(sp.csr_array(self.G)[tight]), self.qp.q])
        vector = find_null_vector(M[:, unbounded].T, np.concatenate([dual.u, dual.y, dual.z[tight], [1.0]]))
        if vector is None or vector[-1] <= 0 or min(vector[n + p :]) < 0:
            return None
        weights = [value / vector[-1] for value in vector]  # u, y, z of the tight rows, and 1
        u = weights[:n]
        c = [dot_exactly(weights, column) for column in M.T.tolist()]
        minimum = self._minimise_exactly(c)
        if minimum is None:
            return None
        value = Fraction(self.qp.r) - dot_exactly(u, [dot_exactly(u, row) for row in self.P.tolist()]) / 2 + minimum
        value -= dot_exactly(weights[n:-1], np.concatenate([self.b, self.h[tight]]).tolist())
        z = dual.z.copy()
        try:
            y = np.array([float(y_k) for y_k in weights[n : n + p]])
            z[tight] = [float(z_k) for z_k in weights[n + p : -1]]
            return LowerBound(round_down(value), y, z, np.array([float(c_j) for c_j in c]))
        except OverflowError:  # a rational beyond the range of floats
            return None

    def _minimise_exactly(self, c: list[Fraction]) -> Fraction | None:
        """Return the minimum of Σ c_j x_j within the bounds of x; None if it is −∞."""
        minimum = Fraction(0)
        for c_j, low, high in zip(c, self.lb.tolist(), self.ub.tolist(), strict=True):
            end = low if c_j > 0 else high
            if c_j and math.isinf(end):
                return None
            minimum += c_j * Fraction(end) if c_j else 0
        return minimum

    def _refine_multipliers(self, dual: DualArguments, unbounded: IntArray) -> DualArguments:
        """Return multipliers that reduce c_j at these j, relative to q_j and the terms of c_j, by least squares."""
        p = len(dual.y)
        tight = np.flatnonzero(dual.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)[tight]], format="csr")
        if not M.shape[0] or M.shape[0] * len(unbounded) > MAX_MULTIPLICATIONS:
            return dual
        c = self._compute_residual(dual, False).value[unbounded]
        sizes = np.abs(self.qp.q) + abs(M).T @ np.abs(np.concatenate([dual.y, dual.z[tight]]))
        weights = 1.0 / np.where(sizes[unbounded] > 0.0, sizes[unbounded], 1.0)
        step = np.linalg.lstsq(as_dense(M[:, unbounded]).T * weights[:, None], -c * weights, rcond=None)[0]
        z = dual.z.copy()
        z[tight] = np.maximum(z[tight] + step[p:], 0.0)
        return DualArguments(dual.u, dual.y + step[:p], z)

    def _cancel_residual(
        self, dual: DualArguments, unbounded: IntArray, rows_only: bool
    ) -> tuple[DualArguments, Enclosure, float] | None:
        """Return u, y, z near exact ones with c_j = 0 for these j, an enclosure of c, and the loss, (PROGRAM.2).

        The enclosure is that of c at the exact ones, and loss bounds how much lower they make the value of (PROGRAM.1).
        The chosen entries of (u, y, z) are moved, and `reach` bounds the distance of each from the exact one.
        """
        n = self.qp.n
        p = len(dual.y)
        tight = np.flatnonzero(dual.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)[tight]], format="csr")
        columns = as_dense(M[:, unbounded]).T  # (unbounded, p + tight): derivatives of c_j by y and z
        if not rows_only:
            columns = np.hstack([self._take_hessian_rows(unbounded), columns])
        n_u = columns.shape[1] - p - len(tight)  # entries of u, before those of y and z
        largest_entry = max(1.0, *(float(np.abs(vector).max(initial=0.0)) for vector in dual))
        slack = dual.z if rows_only else np.minimum(dual.z, self.slack_multipliers[1] - dual.z)  # by which z may move
        chosen = select_independent_columns(
            columns * np.concatenate([np.full(n_u + p, largest_entry), np.minimum(slack, largest_entry)[tight]])
        )
        if chosen is None:
            return None
        try:
            inverse = Inverse(columns[:, chosen])
        except np.linalg.LinAlgError:
            return None
        reach = 0.0
        for iteration in range(REFINEMENT_ROUNDS + 1):
            c = self._compute_residual(dual, rows_only)
            step, reach = inverse.solve(Enclosure(-c.value[unbounded], c.radius[unbounded]))
            if iteration < REFINEMENT_ROUNDS:
                full_step = np.zeros(columns.shape[1])
                full_step[chosen] = step
                u = dual.u.copy()
                y = dual.y + full_step[n_u : n_u + p]
                z = dual.z.copy()
                u[:n_u] += full_step[:n_u]
                z[tight] += full_step[n_u + p :]
                dual = DualArguments(u, y, z)
        moved_rows = chosen[chosen >= n_u] - n_u
        if (dual.z < 0.0).any() or (dual.z[tight[moved_rows[moved_rows >= p] - p]] < reach).any():
            return None
        growth = 1.0 + gamma(n + 4)  # of a sum of n products, by rounding
        moved_u = chosen[chosen < n_u]
        radius = c.radius + reach * growth * abs(M[moved_rows]).sum(axis=0)
        sides = np.concatenate([self.b, self.h[tight]])[moved_rows]
        loss = reach * growth * float(np.abs(sides).sum())
        if len(moved_u):  # −½(u + e)ᵀP(u + e) ≥ −½uᵀPu − |Pu|ᵀ|e| − ½ trace(P) ‖e‖²
            radius = radius + reach * growth * np.abs(self._take_hessian_rows(moved_u)).sum(axis=0)
            trace = float(np.abs(self.qp.P.diagonal()).sum())
            slope = float(self.apply_hessian(dual.u).size[moved_u].sum())
            loss += growth * (reach * slope + 0.5 * trace * len(moved_u) * reach * reach)
        value = c.value.copy()
        value[unbounded] = radius[unbounded] = 0.0
        return dual, Enclosure(value, radius * FEW_ROUNDINGS), loss * FEW_ROUNDINGS

    def _take_hessian_rows(self, rows: IntArray) -> FloatArray:
        """Return some rows of P: (rows, n)."""
        if self.P is not None:
            return self.P[rows]
        assert self.factor is not None
        Z, d = self.factor
        block: FloatArray = as_dense(Z[rows] @ Z.T) if Z.shape[1] else np.zeros((len(rows), self.qp.n))
        block[np.arange(len(rows)), rows] += d[rows]
        return block

    @staticmethod
    def _bound_box_minimum(
        c: Enclosure, curvature: FloatArray, u: FloatArray, box: tuple[FloatArray, FloatArray]
    ) -> tuple[float, float]:
        """Return Σ min c_j x_j + ½κ_j(x_j − u_j)² over a box, and a bound on its rounding; −∞ if a minimum is."""
        low, high = c.value - c.radius, c.value + c.radius
        lb, ub = box
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            ends = [np.where(side == 0.0, 0.0, side * bound) for side in (low, high) for bound in box]
            terms = np.minimum.reduce(ends)
            sizes = np.abs(terms)
            if (curvature < 0.0).any():
                error = 0.5 * curvature * (np.maximum(np.abs(ub - u), np.abs(u - lb)) * FEW_ROUNDINGS) ** 2
                terms = terms + error
                sizes = sizes + np.abs(error)
            elif curvature.any():  # over all x the minimum is c u − c²/(2κ), concave in c: least at low or high
                minima = [(side * u, side * (side / (2.0 * curvature))) for side in (low, high)]  # c² may underflow
                free = np.minimum.reduce([value - drop for value, drop in minima])
                better = (curvature > 0.0) & (free > terms)
                sizes = np.where(better, np.maximum.reduce([abs(value) + drop for value, drop in minima]), sizes)
                terms = np.where(better, free, terms)
        if not np.isfinite(terms).all():
            return -math.inf, 0.0
        value, rounding = sum_with_bound(terms)
        return value, rounding + 16.0 * 2.0**-53 * float(sizes.sum()) + len(terms) * UNDERFLOW

    def bound_above(self, x: FloatArray, interior: FloatArray | Face | None, g_change: float = 0.0) -> UpperBound:
        """Bound the optimum from above by (PROGRAM.3) at x (n,), moved towards `interior` if needed, (PROGRAM.5).

        interior: An interior point (n,), or a face with a point inside it; None if unknown.
        g_change: The point is feasible for every G that differs by at most this relative change.
        """
        reason = ""
        face = interior if isinstance(interior, Face) else None
        if g_change and face is not None:  # the rows of a face hold as equalities: their entries must not change
            return UpperBound(math.inf, np.clip(x, self.lb, self.ub), math.inf, "rows without room cannot be moved")
        towards = interior.interior_point if isinstance(interior, Face) else interior
        for t in INTERIOR_STEPS if towards is not None else INTERIOR_STEPS[:1]:
            point = np.clip(x if towards is None or t == 0.0 else x + t * (towards - x), self.lb, self.ub)
            if face is not None:
                point[face.fixed] = face.interior_point[face.fixed]
            point = self._move_slacks(point) if face is None else point
            bound = self._bound_above_at(point, face, g_change)
            if isinstance(bound, UpperBound):
                return bound
            reason = bound
        return UpperBound(math.inf, np.clip(x, self.lb, self.ub), math.inf, reason)

    def _bound_above_at(self, x: FloatArray, face: Face | None, g_change: float) -> UpperBound | str:
        """Return the upper bound at a point within lb and ub, or the reason why there is none."""
        equal = self.A
        sides = self.b
        G = self.G
        h = self.h
        if face is not None:
            equal, sides = face.equalities, face.rhs
            G = sp.csr_array(self.G)[face.slack_rows]
            h = self.h[face.slack_rows]
        p = len(sides)
        moved_entries = np.zeros(0, dtype=np.intp)
        reach = 0.0
        if not np.isfinite(x).all():
            return OVERFLOW
        if p and not holds_exactly(equal, x, sides, equal=True):
            solved = self._solve_equalities(x, equal, sides)
            if isinstance(solved, str):
                return solved
            x, moved_entries, reach = solved
        values = multiply_enclosed(G, as_exact(x))
        needed = reach * (1.0 + gamma(p + 4)) * np.asarray(abs(G)[:, moved_entries].sum(axis=1)).ravel()
        if g_change:
            needed = needed + g_change * (abs(G) @ np.abs(x)) * (1.0 + gamma(self.qp.n + 4)) + g_change * needed
        violation = values.value + values.radius + needed * FEW_ROUNDINGS - h
        undecided = np.flatnonzero(~(violation + 2.0**-52 * (np.abs(h) + values.size) <= 0.0))  # NaN: after overflow
        if len(undecided) and (
            len(moved_entries) or g_change or not holds_exactly(G[undecided], x, h[undecided], equal=False)
        ):
            return f"row {int(np.argmax(violation))} of G has no room"
        value = self._bound_objective(x, moved_entries, reach)
        return UpperBound(value, x, reach) if math.isfinite(value) else OVERFLOW

    def _solve_equalities(
        self, x: FloatArray, equal: Matrix, sides: FloatArray
    ) -> tuple[FloatArray, IntArray, float] | str:
        """Move p entries of x (n,) to within `reach` of a point where all p equalities hold, (PROGRAM.3), (PROGRAM.4).

        Return the point, the moved entries and `reach`; or the reason why that fails.
        """
        p = len(sides)
        A = as_dense(equal)
        width = np.minimum(np.minimum(x - self.lb, self.ub - x), 1.0 + np.abs(x))
        moved_entries = select_independent_columns(A * width)
        if moved_entries is None:
            return f"no {p} entries of x can move so that all equalities hold"
        x = x.copy()
        reach = 0.0
        try:
            inverse = Inverse(A[:, moved_entries])
        except np.linalg.LinAlgError:
            return "the equalities are too ill-conditioned for floats"
        for iteration in range(REFINEMENT_ROUNDS + 1):
            residual = multiply_enclosed(equal, as_exact(x)).add(as_exact(-sides))
            step, reach = inverse.solve(Enclosure(-residual.value, residual.radius))
            if iteration < REFINEMENT_ROUNDS:
                x[moved_entries] += step
        if not (np.minimum(x - self.lb, self.ub - x)[moved_entries] >= reach * FEW_ROUNDINGS).all():
            return "the equalities leave no room between the bounds"
        return x, moved_entries, reach

    def _bound_objective(self, x: FloatArray, moved_entries: IntArray, reach: float) -> float:
        """Bound f from above at all points that differ from x (n,) by at most `reach` in each of the moved entries."""
        curved = self.apply_hessian(x)
        square, error = dot_with_bound(x, curved.value)
        linear, rounding = dot_with_bound(self.qp.q, x)
        error = 0.5 * (error + float(np.abs(x) @ curved.radius)) + rounding
        if reach:
            growth = 1.0 + gamma(len(moved_entries) + 4)
            slope = float(curved.add(as_exact(self.qp.q)).size[moved_entries].sum())
            trace = float(np.abs(self.qp.P.diagonal()).sum())
            error += growth * (reach * slope + 0.5 * trace * len(moved_entries) * reach * reach)
        value, rounding = sum_with_bound(np.array([0.5 * square, linear, self.qp.r]))
        error += rounding + 4.0 * 2.0**-53 * (abs(square) + abs(linear) + abs(self.qp.r))
        return value + error * FEW_ROUNDINGS
