"""Bound the optimum of any convex QP from below, given a point and multipliers of any solver (`QPBounds`).

The QP is: minimise f(x) = ½xᵀPx + qᵀx + r subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. A solver's x violates some
constraints slightly, and its multipliers satisfy stationarity, (QP.1), only approximately, so neither bounds the
optimum by itself. These statements are proven instead, those from above in `upper_bound`:

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
                 else q_j and all G_ij with z_i > 0 are changed by the same relative amount, so that c_j = 0. In
                 (PROGRAM.6), in which q = 0, all A_ij with y_i ≠ 0 are changed too
    (PROGRAM.8)  a row aᵀx ≤ s bounds x_j if the minimum of its other terms is known: a minimum that is infinite in
                 (PROGRAM.1) may be finite over these implied bounds
    (PROGRAM.9)  without some bounds of x the optimum is no larger. So a bound that only stands for infinity, such as
                 1e20, is left out, lest it be multiplied by a c_j that is only rounding

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
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.program.enclosures import (
    Enclosure,
    Inverse,
    as_exact,
    holds_exactly,
    multiply_enclosed,
    select_independent_columns,
)
from qpsvm.bounds.program.hessian import Hessian
from qpsvm.bounds.program.implied import compute_implied_bounds
from qpsvm.bounds.program.rational import MAX_MULTIPLICATIONS, dot_exactly, find_null_vector
from qpsvm.program.qp import QP

#: Reason given if a QP has no lower bound.
NOT_PROVEN_CONVEX = "P could not be shown to be positive semidefinite"
#: Reason given if the terms of a bound overflow.
OVERFLOW = "the terms of a bound exceed the range of floats"
#: A bound is distant if it differs from x_j by more than this many times 1 + |x_j|.
DISTANT = 1e3
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
    g_change: Relative change of entries of G in (PROGRAM.7), and of A in (PROGRAM.6).
    """

    value: float
    y: FloatArray
    z: FloatArray
    c: FloatArray
    reason: str = ""
    q_change: FloatArray | None = None
    g_change: float = 0.0


class DualPoint(NamedTuple):
    """u, y and z of (PROGRAM.1), the enclosure of c, and the amount by which (PROGRAM.2) lowers the value."""

    dual: DualArguments
    c: Enclosure
    loss: float = 0.0


class BoundedTerms(NamedTuple):
    """Inputs of the sum in (PROGRAM.1), all of whose terms have a minimum.

    box: Lower and upper bounds (n,), given or implied, over which every term has a minimum.
    curvature (n,): κ of (CONVEX.1).
    q_change, g_change: As in `LowerBound`.
    """

    point: DualPoint
    box: tuple[FloatArray, FloatArray]
    curvature: FloatArray
    q_change: FloatArray | None = None
    g_change: float = 0.0


class QPBounds:
    """Lower bounds on the optimum of one QP; intermediate results are cached.

    G (m, n), A (p, n): With zero rows if the QP has no such constraints.
    rounding: Largest relative change of an entry of q that (PROGRAM.7) may make.
    hessian: P; given if that of another program with the same P has been analysed.
    seconds: Time limit of a linear program.
    """

    def __init__(self, qp: QP, rounding: float = 0.0, hessian: Hessian | None = None) -> None:
        self.qp = qp
        self.rounding = rounding
        self.hessian = hessian or Hessian(qp.P)
        self.seconds = math.inf
        no_rows = sp.csr_array((0, qp.n))
        self.G, self.A = (no_rows if M is None else M for M in (qp.G, qp.A))
        self.h, self.b = (np.zeros(0) if side is None else np.asarray(side) for side in (qp.h, qp.b))
        self.lb, self.ub = (np.array(side) for side in qp.bounds)

    def bound_below(
        self, u: FloatArray, y: FloatArray, z: FloatArray, rows_only: bool = False, sharp: bool = False
    ) -> LowerBound:
        """Bound the optimum from below by (PROGRAM.1), at u (n,) and multipliers y (p,), z (m,).

        rows_only: Set P = 0, q = 0, r = 0, as in (PROGRAM.6).
        sharp: Take more time for a curvature that is below 0 by rounding only.
        """
        if rows_only:
            dual = DualArguments(np.zeros(self.qp.n), np.array(y), np.maximum(z, 0.0))
            curvature: FloatArray | None = np.zeros(self.qp.n)
        else:
            dual = DualArguments(np.array(u), np.array(y), self._clip_multipliers(z))
            curvature = self.hessian.sharp_curvature if sharp else self.hessian.curvature
        point = self._evaluate(dual, rows_only)
        if curvature is None:
            return _build_infinite_bound(point, NOT_PROVEN_CONVEX)
        bounded = self._find_bounded_terms(point, curvature, rows_only)
        if isinstance(bounded, LowerBound):
            return bounded
        return self._sum_terms(bounded, rows_only)

    def without_distant_bounds(self, x: FloatArray) -> QPBounds | None:
        """Return the program without the bounds that are distant from x (n,), (PROGRAM.9); None if there are none."""
        distance = DISTANT * (1.0 + np.abs(x))
        lb = np.where(x - self.lb > distance, -np.inf, self.lb)
        ub = np.where(self.ub - x > distance, np.inf, self.ub)
        if (lb == self.lb).all() and (ub == self.ub).all():
            return None
        relaxed = QPBounds(self.qp.replace(lb=lb, ub=ub), self.rounding, self.hessian)
        relaxed.seconds = self.seconds
        return relaxed

    def _find_bounded_terms(
        self, point: DualPoint, curvature: FloatArray, rows_only: bool
    ) -> BoundedTerms | LowerBound:
        """Find multipliers near the given ones for which every term c_j x_j + ½κ_j(x_j − u_j)² has a minimum.

        It has none if c_j is not 0, perhaps only by rounding, x_j has no bound on that side, and κ_j = 0: these j are
        `unbounded`. The remedies are, in turn: a positive κ, (PROGRAM.2), rational multipliers, (PROGRAM.7), and
        implied bounds, (PROGRAM.8). Returns a `LowerBound` if it was computed in rational numbers, or is −∞.
        """
        box = self.lb, self.ub
        unbounded = self._find_unbounded(point.c, box)
        if rows_only:
            if len(unbounded) and self._is_exactly_zero(point.dual, unbounded):
                _set_zero(point.c, unbounded)
                unbounded = unbounded[:0]
        elif len(unbounded) or ((curvature < 0.0) & np.isinf(self.ub - self.lb)).any():
            strict_curvature = self.hessian.strict_curvature  # 0 if no κ is proven to be positive
            curvature = strict_curvature if strict_curvature.any() else curvature
            unbounded = unbounded[curvature[unbounded] <= 0.0]
        if (curvature < 0.0).any():  # such terms need both bounds, and `_sum_terms` reports a missing one
            return BoundedTerms(point, self.implied_bounds, curvature)
        if not len(unbounded):
            return BoundedTerms(point, box, curvature)
        return self._move_multipliers(point, unbounded, curvature, rows_only)

    def _move_multipliers(
        self, point: DualPoint, unbounded: IntArray, curvature: FloatArray, rows_only: bool
    ) -> BoundedTerms | LowerBound:
        """Try the remedies of `_find_bounded_terms` from (PROGRAM.2) on."""
        box = self.lb, self.ub
        c = point.c
        cancelled = self._cancel_residual(point.dual, unbounded, rows_only)
        if cancelled is not None:
            still_unbounded = self._find_unbounded(cancelled.c, box)
            still_unbounded = still_unbounded[curvature[still_unbounded] <= 0.0]
            if not len(still_unbounded):
                return BoundedTerms(cancelled, box, curvature)
            unbounded = np.union1d(unbounded, still_unbounded)
        bound = None if rows_only else self._bound_in_rationals(point.dual, unbounded)
        if bound is not None:
            return bound
        if self.rounding:
            refined = self._evaluate(self._refine_multipliers(point.dual, unbounded, rows_only), rows_only)
            still_unbounded = self._find_unbounded(refined.c, box)
            still_unbounded = still_unbounded[curvature[still_unbounded] <= 0.0]
            changes = self._bound_changes(refined, still_unbounded, rows_only)
            if changes is not None:
                _set_zero(refined.c, still_unbounded)
                return BoundedTerms(refined, box, curvature, *changes)
            c = refined.c  # less of it is rounding
        unbounded = self._find_unbounded(c, self.implied_bounds)
        return self._use_implied_bounds(point, unbounded[curvature[unbounded] <= 0.0], curvature, rows_only)

    def _is_exactly_zero(self, dual: DualArguments, unbounded: IntArray) -> bool:
        """Return whether Gᵀz + Aᵀy is exactly 0 at these j."""
        columns = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)], format="csc")[:, unbounded].T
        return holds_exactly(columns, np.concatenate([dual.y, dual.z]), np.zeros(len(unbounded)), equal=True)

    def _use_implied_bounds(
        self, point: DualPoint, unbounded: IntArray, curvature: FloatArray, rows_only: bool
    ) -> BoundedTerms | LowerBound:
        """Return terms with a minimum over the implied bounds, (PROGRAM.8), by (PROGRAM.2) for these j; or −∞."""
        if not len(unbounded):
            return BoundedTerms(point, self.implied_bounds, curvature)
        cancelled = self._cancel_residual(point.dual, unbounded, rows_only)
        if cancelled is not None:
            return BoundedTerms(cancelled, self.implied_bounds, curvature)
        if len(unbounded) == 1:
            names = "a variable without a bound"
        else:
            names = f"{len(unbounded)} variables without bounds"
        return _build_infinite_bound(point, f"the multipliers leave a rest of (QP.1) at {names}")

    def _sum_terms(self, bounded: BoundedTerms, rows_only: bool) -> LowerBound:
        """Return a lower bound of the value of (PROGRAM.1)."""
        point, box, curvature, q_change, g_change = bounded
        dual, c, loss = point
        terms, error = self._bound_box_minimum(c, curvature, dual.u, box)
        if terms == -math.inf:
            reason = "the multipliers leave a rest of (QP.1) at variables without bounds"
            if (curvature < 0.0).any():
                reason = (
                    "P is positive semidefinite up to rounding only, and there are variables without bounds: give it "
                    "by a factor, as qpsvm.LowRank(F) for FFᵀ, or bound all variables"
                )
            return _build_infinite_bound(point, reason)
        Pu = self.hessian.apply(dual.u)
        square, square_error = dot_with_bound(dual.u, Pu.value)
        error += 0.5 * (square_error + float(np.abs(dual.u) @ Pu.radius)) + loss
        rows, rows_error = dot_with_bound(np.concatenate([self.h, self.b]), np.concatenate([dual.z, dual.y]))
        constant = 0.0 if rows_only else self.qp.r
        value, sum_error = sum_with_bound(np.array([constant, -0.5 * square, -rows, terms]))
        value -= (error + rows_error + sum_error) * FEW_ROUNDINGS + 2.0 * UNIT * abs(value)
        if not math.isfinite(value):
            return _build_infinite_bound(point, OVERFLOW)
        return LowerBound(value, dual.y, dual.z, c.value, "", q_change, g_change)

    @cached
    def slack_variables(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Variables in exactly one row of G and none of A: their indices, the rows and the entries, (k,) each."""
        G = sp.csc_array(self.G)
        A = sp.csc_array(self.A)
        j = np.flatnonzero((np.diff(G.indptr) == 1) & (np.diff(A.indptr) == 0))
        return j, G.indices[G.indptr[j]], G.data[G.indptr[j]]

    @cached
    def multiplier_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of z, (m,) each: within them c_j x_j has a minimum for each slack x_j with one bound and P_jj = 0."""
        low = np.zeros(len(self.h))
        high = np.full(len(self.h), math.inf)
        j, rows, g = self.slack_variables
        has_low = np.isfinite(self.lb) & np.isinf(self.ub)
        has_high = np.isfinite(self.ub) & np.isinf(self.lb)
        is_linear = (has_low | has_high)[j] & (self.qp.P.diagonal()[j] == 0.0) & (g != 0.0)
        if is_linear.any() and self.hessian.curvature is not None:  # then a diagonal entry 0 is a row of zeros
            j, rows, g = j[is_linear], rows[is_linear], g[is_linear]
            sign = np.where(has_low[j], 1.0, -1.0)
            with np.errstate(all="ignore"):
                end = -self.qp.q[j] / g  # c_j = 0 at end, up to rounding
                spare = 2.0**-46 * np.abs(self.qp.q[j] / g)
            is_upper = sign * g < 0.0
            np.minimum.at(high, rows[is_upper], (end - spare)[is_upper])
            np.maximum.at(low, rows[~is_upper], (end + spare)[~is_upper])
        return low, high

    def _clip_multipliers(self, z: FloatArray) -> FloatArray:
        """Clip z (m,) ≥ 0 to `multiplier_bounds`, where these are consistent."""
        low, high = self.multiplier_bounds
        return np.clip(z, low, np.maximum(high, low))

    def adjust_slack_variables(self, x: FloatArray) -> FloatArray:
        """Return x (n,) with slack variables moved until their rows hold for certain, if their bounds permit it."""
        j, rows, g = self.slack_variables
        is_movable = np.where(g < 0.0, np.isinf(self.ub[j]), np.isinf(self.lb[j])) & (g != 0.0)
        if not is_movable.any():
            return x
        rows, first = np.unique(rows[is_movable], return_index=True)  # one slack variable per row
        j = j[is_movable][first]
        g = g[is_movable][first]
        values = multiply_enclosed(sp.csr_array(self.G)[rows], as_exact(x))
        violation = values.value + values.radius - self.h[rows]
        step = (np.maximum(violation, 0.0) / np.abs(g) + np.abs(x[j]) * 2.0 * UNIT) * (1.0 + 2.0**-48)
        adjusted = x.copy()
        adjusted[j] -= np.where(violation > 0.0, np.sign(g) * step, 0.0)
        return adjusted

    def _evaluate(self, dual: DualArguments, rows_only: bool) -> DualPoint:
        """Compute c of (PROGRAM.1), (n,)."""
        if rows_only:
            gradient = as_exact(np.zeros(self.qp.n))
        else:
            gradient = self.hessian.apply(dual.u).add(as_exact(self.qp.q))
        c = gradient.add(multiply_enclosed(self.G.T, as_exact(dual.z)))
        return DualPoint(dual, c.add(multiply_enclosed(self.A.T, as_exact(dual.y))))

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

    def _bound_changes(
        self, point: DualPoint, unbounded: IntArray, rows_only: bool
    ) -> tuple[FloatArray | None, float] | None:
        """Bound the changes of q, (n,), and of entries of G, by (PROGRAM.7); None if they are too large."""
        dual = point.dual
        change = np.zeros(self.qp.n)
        change[unbounded] = point.c.size[unbounded]
        size = abs(sp.csr_array(self.G)).T @ dual.z
        if rows_only:
            size = size + abs(sp.csr_array(self.A)).T @ np.abs(dual.y)
        else:
            q = np.abs(self.qp.q)
            if (change <= self.rounding * q).all():
                return change, 0.0
            size = size + q
        size *= 1.0 - gamma(len(dual.y) + len(dual.z) + 4)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative_change = np.where(change > 0.0, change / size, 0.0) * FEW_ROUNDINGS
        g_change = float(relative_change.max(initial=0.0))
        if g_change <= self.rounding:
            return (None if rows_only else relative_change * q), g_change
        return None

    def _bound_in_rationals(self, dual: DualArguments, unbounded: IntArray) -> LowerBound | None:
        """Evaluate (PROGRAM.1) at nearby rational multipliers with c_j = 0 for these j; None if none, or κ ≠ 0."""
        P = self.hessian.dense
        if P is None or self.hessian.entry_error or self.qp.n**2 * len(unbounded) > MAX_MULTIPLICATIONS:
            return None
        curvature = self.hessian.curvature
        if curvature is None or curvature.any():
            return None
        n = self.qp.n
        p = len(dual.y)
        tight = np.flatnonzero(dual.z > 0.0)
        M = np.vstack([P, as_dense(self.A), as_dense(sp.csr_array(self.G)[tight]), self.qp.q])
        vector = find_null_vector(M[:, unbounded].T, np.concatenate([dual.u, dual.y, dual.z[tight], [1.0]]))
        if vector is None or vector[-1] <= 0 or min(vector[n + p :]) < 0:
            return None
        weights = [value / vector[-1] for value in vector]  # u, y, z of the tight rows, and 1
        u = weights[:n]
        c = [dot_exactly(weights, column) for column in M.T.tolist()]
        minimum = self._minimise_exactly(c)
        if minimum is None:
            return None
        value = Fraction(self.qp.r) - dot_exactly(u, [dot_exactly(u, row) for row in P.tolist()]) / 2 + minimum
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

    def _refine_multipliers(self, dual: DualArguments, unbounded: IntArray, rows_only: bool) -> DualArguments:
        """Return multipliers that reduce c_j at these j, relative to q_j and the terms of c_j, by least squares.

        Without P and q, multipliers that are 0 stay 0.
        """
        equalities = np.flatnonzero(dual.y) if rows_only else np.arange(len(dual.y))
        tight = np.flatnonzero(dual.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A)[equalities], sp.csr_array(self.G)[tight]], format="csr")
        if not M.shape[0] or M.shape[0] * len(unbounded) > MAX_MULTIPLICATIONS:
            return dual
        c = self._evaluate(dual, rows_only).c.value[unbounded]
        q_size = 0.0 if rows_only else np.abs(self.qp.q)
        sizes = q_size + abs(M).T @ np.abs(np.concatenate([dual.y[equalities], dual.z[tight]]))
        weights = 1.0 / np.where(sizes[unbounded] > 0.0, sizes[unbounded], 1.0)
        step = np.linalg.lstsq(as_dense(M[:, unbounded]).T * weights[:, None], -c * weights, rcond=None)[0]
        y = dual.y.copy()
        z = dual.z.copy()
        y[equalities] += step[: len(equalities)]
        z[tight] = np.maximum(z[tight] + step[len(equalities) :], 0.0)
        return DualArguments(dual.u, y, z)

    def _cancel_residual(self, dual: DualArguments, unbounded: IntArray, rows_only: bool) -> DualPoint | None:
        """Move u, y and z close to exact ones with c_j = 0 for these j, (PROGRAM.2); None if that fails.

        The c returned is that at the exact ones, and the loss bounds how much lower they make the value of (PROGRAM.1).
        """
        n_u = 0 if rows_only else self.qp.n  # entries of u that may move
        p = len(dual.y)
        tight = np.flatnonzero(dual.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)[tight]], format="csr")
        columns = as_dense(M[:, unbounded]).T  # (unbounded, p + tight): derivatives of c_j by y and z
        if not rows_only:
            columns = np.hstack([self.hessian.take_rows(unbounded), columns])
        chosen = select_independent_columns(columns * self._weight_entries(dual, tight, rows_only))
        if chosen is None:
            return None
        try:
            inverse = Inverse(columns[:, chosen])
        except np.linalg.LinAlgError:
            return None

        def solve_residual(c: Enclosure) -> tuple[FloatArray, float]:
            return inverse.solve(Enclosure(-c.value[unbounded], c.radius[unbounded]))

        for _ in range(REFINEMENT_ROUNDS):
            step = np.zeros(columns.shape[1])
            step[chosen] = solve_residual(self._evaluate(dual, rows_only).c)[0]
            u = dual.u.copy()
            u[:n_u] += step[:n_u]
            z = dual.z.copy()
            z[tight] += step[n_u + p :]
            dual = DualArguments(u, dual.y + step[n_u : n_u + p], z)
        c = self._evaluate(dual, rows_only).c
        reach = solve_residual(c)[1]
        moved_u = chosen[chosen < n_u]
        moved_rows = chosen[chosen >= n_u] - n_u
        moved_z = tight[moved_rows[moved_rows >= p] - p]
        if (dual.z < 0.0).any() or (dual.z[moved_z] < reach).any():
            return None
        growth = 1.0 + gamma(self.qp.n + 4)  # of a sum of n products, by rounding
        rhs = np.concatenate([self.b, self.h[tight]])[moved_rows]
        radius = c.radius + reach * growth * abs(M[moved_rows]).sum(axis=0)
        loss = reach * growth * float(np.abs(rhs).sum())
        if len(moved_u):  # in −½uᵀPu
            radius = radius + reach * growth * np.abs(self.hessian.take_rows(moved_u)).sum(axis=0)
            gradient_size = float(self.hessian.apply(dual.u).size[moved_u].sum())
            loss += growth * self.hessian.bound_change(gradient_size, len(moved_u), reach)
        exact_c = Enclosure(c.value.copy(), radius * FEW_ROUNDINGS)
        _set_zero(exact_c, unbounded)
        return DualPoint(dual, exact_c, loss * FEW_ROUNDINGS)

    def _weight_entries(self, dual: DualArguments, tight: IntArray, rows_only: bool) -> FloatArray:
        """Return how far each entry of u (unless `rows_only`), y and z[tight] may move."""
        largest_entry = max(1.0, *(float(np.abs(vector).max(initial=0.0)) for vector in dual))
        if rows_only:
            n_free = len(dual.y)
            slack = dual.z
        else:
            n_free = len(dual.u) + len(dual.y)
            slack = np.minimum(dual.z, self.multiplier_bounds[1] - dual.z)
        return np.concatenate([np.full(n_free, largest_entry), np.minimum(slack, largest_entry)[tight]])

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
        return value, rounding + 16.0 * UNIT * float(sizes.sum()) + len(terms) * UNDERFLOW


def _build_infinite_bound(point: DualPoint, reason: str) -> LowerBound:
    """Return the bound −∞."""
    return LowerBound(-math.inf, point.dual.y, point.dual.z, point.c.value, reason)


def _set_zero(c: Enclosure, indices: IntArray) -> None:
    """Set some entries to exactly 0."""
    c.value[indices] = 0.0
    c.radius[indices] = 0.0
