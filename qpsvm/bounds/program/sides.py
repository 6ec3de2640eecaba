"""Bound the optimum of any convex QP from both sides, given a point and multipliers of any solver.

The QP is: minimise f(x) = ½xᵀPx + qᵀx + r subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. A solver's x violates a row by a
little, and its multipliers leave a little of (QP.1), so that neither bounds anything. What is proven instead:

    (PROGRAM.1)  from below: for all u, y and z ≥ 0 and every feasible x, with c = Pu + q + Gᵀz + Aᵀy,
                 f(x) ≥ r − ½uᵀPu − hᵀz − bᵀy + Σ_j [c_j x_j + ½κ_j (x_j − u_j)²]
                 where P − diag(κ) is positive semidefinite, (CONVEX.1); each term is at least its minimum over
                 [lb_j, ub_j], which is at least c_j u_j − c_j²/(2κ_j) for κ_j > 0, whatever the bounds
    (PROGRAM.2)  where that minimum is −∞ for a c_j that is only rounding, u, y and z are moved so that c_j = 0 exactly
    (PROGRAM.3)  from above: f(x̂) of a feasible x̂ = x + e, where e stands in as many entries as A has rows, there
                 Ae = b − Ax, and bounds and rows of G have room for |e|
    (PROGRAM.4)  of a square system Be = ρ only an approximate inverse R is known: with ‖I − RB‖∞ ≤ κ < 1 it has one
                 solution, and ‖e‖∞ ≤ ‖Rρ‖∞/(1 − κ)
    (PROGRAM.5)  where no row has room, x is moved towards an interior point x₀: x + t(x₀ − x), for a t that is as small
                 as it may be
    (PROGRAM.6)  no point is feasible where (PROGRAM.1) with P = 0, q = 0, r = 0 is above 0 (Farkas)
    (PROGRAM.7)  of a program within rounding of this one: q_j − c_j stands for q_j where c_j is only rounding of it;
                 else q_j and all G_ij with z_i > 0 change by one share of themselves, so that c_j = 0
    (PROGRAM.8)  a row a with aᵀx ≤ s bounds x_j where the least of the others' sum is known: what is infinite in
                 (PROGRAM.1) may be finite over the bounds that rows imply

Sources: Dorn (1960) for (PROGRAM.1); Rump, *Verification methods*, Acta Numerica 19 (2010), for (PROGRAM.4); Jansson,
*Rigorous lower and upper bounds in linear programming*, SIAM J. Optim. 14 (2004), for the way.
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
from qpsvm.base.arrays.rounding import FEW, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.program.convexity import Convexity
from qpsvm.bounds.program.faces import Face
from qpsvm.bounds.program.implied import implied_bounds
from qpsvm.bounds.program.near import Enclosure, Inverse, as_exact, holds, product, select_independent_columns
from qpsvm.bounds.program.rational import MOST_STEPS, null_vector
from qpsvm.program.qp import QP
from qpsvm.space.operators import Diagonal

#: Why nothing bounds a QP from below.
NOT_SHOWN_CONVEX = "P could not be shown to be positive semidefinite"
#: Steps t of (PROGRAM.5) that are tried, in turn.
STEPS = (0.0, *(10.0**-k for k in range(14, 0, -1)))
#: Rounds in which an approximate solution is improved before its error is bounded.
ROUNDS = 3


class DualArguments(NamedTuple):
    """What (PROGRAM.1) is computed of: u (n,), y (p,), z (m,)."""

    u: FloatArray
    y: FloatArray
    z: FloatArray


@dataclass(frozen=True)
class LowerBound:
    """(PROGRAM.1): the bound, and what it was computed with; why it is −∞ where it is.

    y (p,), z (m,): Multipliers.
    c (n,): What they leave of (QP.1): the multipliers of the bounds, with the sign turned.
    rests (n,): How far q is moved in (PROGRAM.7), from above; None where it is as it is.
    share: The share of themselves by which entries of G may be moved there.
    """

    value: float
    y: FloatArray
    z: FloatArray
    c: FloatArray
    why: str = ""
    rests: FloatArray | None = None
    share: float = 0.0


class Cleared(NamedTuple):
    """What (PROGRAM.1) is summed up of.

    at, c: Multipliers, and what they leave of (QP.1).
    loss: What the value loses by (PROGRAM.2).
    box: Bounds (n,) each, given or implied, over which each term has a least value.
    curvature (n,): κ of (CONVEX.1).
    rests, share: As of `LowerBound`.
    """

    at: DualArguments
    c: Enclosure
    loss: float
    box: tuple[FloatArray, FloatArray]
    curvature: FloatArray
    rests: FloatArray | None = None
    share: float = 0.0


class UpperBound(NamedTuple):
    """(PROGRAM.3): the bound, and a point within `radius` of a feasible one; why it is ∞ where it is."""

    value: float
    x: FloatArray
    radius: float
    why: str = ""


class QPBounds:
    """A QP, with what is asked of it several times.

    Shapes: P (n, n), dense or a factor; G (m, n), A (p, n), with no rows where there are none.
    rounding: The relative change of an entry of q that is allowed, (PROGRAM.7).
    seconds: How long a linear program may take.
    """

    def __init__(self, qp: QP, rounding: float = 0.0) -> None:
        self.qp, self.rounding, self.seconds, n = qp, rounding, math.inf, qp.n
        none = sp.csr_array((0, n))
        self.G, self.A = (none if M is None else M for M in (qp.G, qp.A))
        self.h, self.b = (np.zeros(0) if side is None else np.asarray(side) for side in (qp.h, qp.b))
        self.lb, self.ub = (np.array(side) for side in qp.bounds)
        self.factor = (sp.csr_array((n, 0)), qp.P.d) if isinstance(qp.P, Diagonal) else qp.P.factor()
        self.P: FloatArray | None = None
        self.off = 0.0
        if self.factor is not None and self.factor[0].shape[1] and self.factor[1].min(initial=0.0) < 0.0:
            self.factor = None
        if self.factor is None:
            self.P = qp.P.dense()
            if not np.array_equal(self.P, self.P.T):  # xᵀPx is that of its symmetric part
                self.P, self.off = 0.5 * (self.P + self.P.T), 2.0**-53 * float(np.abs(self.P).max())

    def apply_hessian(self, x: FloatArray) -> Enclosure:
        """Return Px: (n,)."""
        if self.P is not None:
            return product(self.P, as_exact(x))
        assert self.factor is not None
        Z, d = self.factor
        own = Enclosure(d * x, np.where((d == 0.0) | (x == 0.0), 0.0, np.abs(d * x) * 2.0**-52 + UNDERFLOW))
        return own.add(product(Z, product(Z.T, as_exact(x)))) if Z.shape[1] else own

    def adopt_convexity(self, other: QPBounds) -> None:
        """Take over what is known of the P of another program, which is that of this one."""
        if self.factor is None:
            self.__dict__["convexity"] = other.convexity

    @cached
    def convexity(self) -> Convexity:
        """Convexity of a dense P."""
        assert self.P is not None
        return Convexity(self.P, self.off)

    @property
    def curvature(self) -> FloatArray | None:
        """κ of (CONVEX.1), (n,): not above 0; None where P is not convex."""
        if self.factor is None:
            return self.convexity.curvature
        d = self.factor[1]
        return np.zeros(len(d)) if (d >= 0.0).all() else None

    @property
    def sharp_curvature(self) -> FloatArray | None:
        """`curvature`, as near to 0 as can be shown."""
        return self.convexity.sharp_curvature if self.factor is None else self.curvature

    @property
    def strict_curvature(self) -> FloatArray:
        """κ of (CONVEX.1), (n,), above 0 wherever that can be shown."""
        return self.convexity.strict_curvature if self.factor is None else self.factor[1]

    def negative_direction(self) -> tuple[FloatArray, float] | None:
        """d with dᵀPd < 0 for certain, (n,), and dᵀPd; None where none is known."""
        if self.factor is None:
            return self.convexity.negative_direction()
        d, unit = self.factor[1], np.zeros(self.qp.n)
        j = int(np.argmin(d))
        unit[j] = 1.0
        return (unit, float(d[j])) if d[j] < 0.0 else None

    def bound_below(
        self, u: FloatArray, y: FloatArray, z: FloatArray, rows_only: bool = False, sharp: bool = False
    ) -> LowerBound:
        """Bound the optimum by (PROGRAM.1), at u (n,) and multipliers (p,), (m,); `rows_only`: P = 0, q = 0, r = 0.

        sharp: Take more time for a curvature that is below 0 by rounding.
        """
        if rows_only:
            at = DualArguments(np.zeros(self.qp.n), np.array(y), np.maximum(z, 0.0))
        else:
            at = DualArguments(np.array(u), np.array(y), self._within_slacks(z))
        curvature = np.zeros(self.qp.n) if rows_only else self.sharp_curvature if sharp else self.curvature
        if curvature is None:
            return LowerBound(-math.inf, at.y, at.z, self._compute_residual(at, rows_only).value, NOT_SHOWN_CONVEX)
        found = self._clear_rests(at, curvature, rows_only)
        return found if isinstance(found, LowerBound) else self._sum_up(found, rows_only)

    def _clear_rests(self, at: DualArguments, curvature: FloatArray, rows_only: bool) -> Cleared | LowerBound:
        """Multipliers next to those given whose c_j x_j + ½κ_j(x_j − u_j)² have a least value each, where some are."""
        c, box = self._compute_residual(at, rows_only), (self.lb, self.ub)
        bad = self._unbounded(c, box)
        if len(bad) and rows_only:
            columns = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)], format="csc")[:, bad].T
            if holds(columns, np.concatenate([at.y, at.z]), np.zeros(len(bad)), equal=True):
                c.value[bad] = c.radius[bad] = 0.0
                bad = bad[:0]
        elif len(bad) or ((curvature < 0.0) & np.isinf(self.ub - self.lb)).any():
            strict = self.strict_curvature
            curvature = strict if strict.any() or not curvature.any() else curvature
            bad = bad[curvature[bad] <= 0.0]
        if (curvature < 0.0).any():
            return Cleared(at, c, 0.0, self.implied_bounds, curvature)
        if not len(bad):
            return Cleared(at, c, 0.0, box, curvature)
        moved = self._cancel_residual(at, bad, rows_only)
        if moved is not None:
            others = self._unbounded(moved[1], box)
            others = others[curvature[others] <= 0.0]
            if not len(others):
                return Cleared(*moved, box, curvature)
            bad = np.union1d(bad, others)
        if not rows_only:
            exact = self._in_fractions(at, bad)
            if exact is not None:
                return exact
            refined = self._refine_multipliers(at, bad) if self.rounding else at
            c = self._compute_residual(refined, rows_only)
            rests = self._bound_q_change(refined, c, bad) if self.rounding else None
            if rests is not None:
                c.value[bad] = c.radius[bad] = 0.0
                return Cleared(refined, c, 0.0, box, curvature, *rests)
        bad = self._unbounded(c, self.implied_bounds)
        bad = bad[curvature[bad] <= 0.0]
        moved = (
            self._cancel_residual(at, bad, rows_only) if len(bad) else (at, self._compute_residual(at, rows_only), 0.0)
        )
        if moved is not None:
            return Cleared(*moved, self.implied_bounds, curvature)
        names = "a variable without a bound" if len(bad) == 1 else f"{len(bad)} variables without bounds"
        return LowerBound(-math.inf, at.y, at.z, c.value, f"the multipliers leave a rest of (QP.1) at {names}")

    def _sum_up(self, cleared: Cleared, rows_only: bool) -> LowerBound:
        """The value of (PROGRAM.1), from below."""
        at, c, loss, box, curvature, rests, share = cleared
        terms, off = self._bound_box_minimum(c, curvature, at.u, box)
        if terms == -math.inf:
            why = "the multipliers leave a rest of (QP.1) at variables without bounds"
            if (curvature < 0.0).any():
                why = (
                    "P is positive semidefinite up to rounding only, and there are variables without bounds: give it "
                    "by a factor, as qpsvm.LowRank(F) for FFᵀ, or bound all variables"
                )
            return LowerBound(-math.inf, at.y, at.z, c.value, why)
        half = self.apply_hessian(at.u)
        square, rounding = dot_with_bound(at.u, half.value)
        off += 0.5 * (rounding + float(np.abs(at.u) @ half.radius)) + loss
        rows, rounding = dot_with_bound(np.concatenate([self.h, self.b]), np.concatenate([at.z, at.y]))
        constant = 0.0 if rows_only else self.qp.r
        value, summed = sum_with_bound(np.array([constant, -0.5 * square, -rows, terms]))
        value -= (off + rounding + summed) * FEW + 2.0**-52 * abs(value)
        return LowerBound(value, at.y, at.z, c.value, "", rests, share)

    @cached
    def slacks(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Variables that are in one row of G only, and in none of A: they, these rows, and their entries, (k,) each."""
        G, A = sp.csc_array(self.G), sp.csc_array(self.A)
        j = np.flatnonzero((np.diff(G.indptr) == 1) & (np.diff(A.indptr) == 0))
        return j, G.indices[G.indptr[j]], G.data[G.indptr[j]]

    @cached
    def slack_multipliers(self) -> tuple[FloatArray, FloatArray]:
        """Bounds (m,) each of z with which slacks that P does not know leave no rest: c_j ≥ 0, or ≤ 0, for certain."""
        low, high = np.zeros(len(self.h)), np.full(len(self.h), math.inf)
        j, rows, g = self.slacks
        up, down = np.isfinite(self.lb) & np.isinf(self.ub), np.isfinite(self.ub) & np.isinf(self.lb)
        flat = (up | down)[j] & (self.qp.P.diagonal()[j] == 0.0) & (g != 0.0)
        if flat.any() and self.curvature is not None:  # then a diagonal entry 0 is a row of zeros
            j, rows, g = j[flat], rows[flat], g[flat]
            sign = np.where(up[j], 1.0, -1.0)
            with np.errstate(all="ignore"):
                end, spare = -self.qp.q[j] / g, 2.0**-46 * np.abs(self.qp.q[j] / g)
            at_most = sign * g < 0.0
            np.minimum.at(high, rows[at_most], (end - spare)[at_most])
            np.maximum.at(low, rows[~at_most], (end + spare)[~at_most])
        return low, high

    def _within_slacks(self, z: FloatArray) -> FloatArray:
        """z (m,) ≥ 0 moved to where slacks leave no rest, where they let it."""
        low, high = self.slack_multipliers
        return np.clip(z, low, np.maximum(high, low))

    def _move_slacks(self, x: FloatArray) -> FloatArray:
        """Return x (n,) with slacks moved until their rows hold for certain, where their bounds permit it."""
        j, rows, g = self.slacks
        free = np.where(g < 0.0, np.isinf(self.ub[j]), np.isinf(self.lb[j])) & (g != 0.0)
        if not free.any():
            return x
        rows, first = np.unique(rows[free], return_index=True)
        j, g = j[free][first], g[free][first]
        values = product(sp.csr_array(self.G)[rows], as_exact(x))
        short = values.value + values.radius - self.h[rows]
        step = (np.maximum(short, 0.0) / np.abs(g) + np.abs(x[j]) * 2.0**-52) * (1.0 + 2.0**-48)
        found = x.copy()
        found[j] -= np.where(short > 0.0, np.sign(g) * step, 0.0)
        return found

    def _compute_residual(self, at: DualArguments, rows_only: bool) -> Enclosure:
        """Return c of (PROGRAM.1): (n,)."""
        own = as_exact(np.zeros(self.qp.n)) if rows_only else self.apply_hessian(at.u).add(as_exact(self.qp.q))
        return own.add(product(self.G.T, as_exact(at.z))).add(product(self.A.T, as_exact(at.y)))

    @cached
    def implied_bounds(self) -> tuple[FloatArray, FloatArray]:
        """(PROGRAM.8): bounds that every feasible point has, (n,) each."""
        return implied_bounds(self.A, self.b, self.G, self.h, self.lb, self.ub)

    @staticmethod
    def _unbounded(c: Enclosure, box: tuple[FloatArray, FloatArray]) -> IntArray:
        """The variables where c_j x_j may go to −∞."""
        down = (c.value + c.radius > 0.0) & ~np.isfinite(box[0])
        up = (c.value - c.radius < 0.0) & ~np.isfinite(box[1])
        return np.flatnonzero(down | up)

    def _bound_q_change(self, at: DualArguments, c: Enclosure, bad: IntArray) -> tuple[FloatArray, float] | None:
        """Bound the change of q, (n,), and the share of G's entries, by (PROGRAM.7); None if it is too large."""
        rests, q = np.zeros(self.qp.n), np.abs(self.qp.q)
        rests[bad] = c.size[bad]
        if (rests <= self.rounding * q).all():
            return rests, 0.0
        reach = (q + abs(sp.csr_array(self.G)).T @ at.z) * (1.0 - gamma(len(at.z) + 4))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(rests > 0.0, rests / reach, 0.0) * FEW
        share = float(shares.max())
        return (shares * q, share) if share <= self.rounding else None

    def _in_fractions(self, at: DualArguments, bad: IntArray) -> LowerBound | None:
        """(PROGRAM.2) in rational numbers next to those given, where (CONVEX.1) holds for κ = 0; None without these."""
        if self.P is None or self.off or self.curvature is None or self.curvature.any():
            return None
        p, n, tight = len(at.y), self.qp.n, np.flatnonzero(at.z > 0.0)
        if n * n * len(bad) > MOST_STEPS:
            return None
        M = np.vstack([self.P, as_dense(self.A), as_dense(sp.csr_array(self.G)[tight]), self.qp.q])
        found = null_vector(M[:, bad].T, np.concatenate([at.u, at.y, at.z[tight], [1.0]]))
        if found is None or found[-1] <= 0 or any(value < 0 for value in found[n + p :]):
            return None
        v = [value / found[-1] for value in found]
        terms = [sum((a * Fraction(b) for a, b in zip(v, column, strict=True)), Fraction(0)) for column in M.T.tolist()]
        curved = [sum((a * Fraction(b) for a, b in zip(v, row, strict=False)), Fraction(0)) for row in self.P.tolist()]
        value = Fraction(self.qp.r) - sum((a * b for a, b in zip(v, curved, strict=False)), Fraction(0)) / 2
        sides = np.concatenate([self.b, self.h[tight]]).tolist()
        value -= sum((a * Fraction(b) for a, b in zip(v[n:-1], sides, strict=True)), Fraction(0))
        for c, low, high in zip(terms, self.lb.tolist(), self.ub.tolist(), strict=True):
            end = low if c > 0 else high
            if c and math.isinf(end):
                return None
            value += c * Fraction(end) if c else 0
        z = at.z.copy()
        z[tight] = [float(each) for each in v[n + p : -1]]
        y = np.array([float(each) for each in v[n : n + p]])
        return LowerBound(round_down(value), y, z, np.array([float(c) for c in terms]))

    def _refine_multipliers(self, at: DualArguments, bad: IntArray) -> DualArguments:
        """Return multipliers that reduce c at some variables, relative to q_j and its terms, by least squares."""
        p, tight = len(at.y), np.flatnonzero(at.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)[tight]], format="csr")
        if not M.shape[0] or M.shape[0] * len(bad) > MOST_STEPS:
            return at
        c = self._compute_residual(at, False).value[bad]
        reach = np.abs(self.qp.q) + abs(M).T @ np.abs(np.concatenate([at.y, at.z[tight]]))
        weights = 1.0 / np.where(reach[bad] > 0.0, reach[bad], 1.0)
        step = np.linalg.lstsq(as_dense(M[:, bad]).T * weights[:, None], -c * weights, rcond=None)[0]
        z = at.z.copy()
        z[tight] = np.maximum(z[tight] + step[p:], 0.0)
        return DualArguments(at.u, at.y + step[:p], z)

    def _cancel_residual(
        self, at: DualArguments, bad: IntArray, rows_only: bool
    ) -> tuple[DualArguments, Enclosure, float] | None:
        """Return multipliers near exact ones that make c 0 there, c for all of those, and the loss, by (PROGRAM.2)."""
        n, p = self.qp.n, len(at.y)
        tight = np.flatnonzero(at.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)[tight]], format="csr")
        here = as_dense(M[:, bad]).T  # (bad, p + tight)
        if not rows_only:
            here = np.hstack([self._columns(bad), here])
        own = here.shape[1] - p - len(tight)  # entries of u, before those of y and z
        largest = max(1.0, *(float(np.abs(part).max(initial=0.0)) for part in at))
        room = at.z if rows_only else np.minimum(at.z, self.slack_multipliers[1] - at.z)
        chosen = select_independent_columns(
            here * np.concatenate([np.full(own + p, largest), np.minimum(room, largest)[tight]])
        )
        if chosen is None:
            return None
        try:
            inverse = Inverse(here[:, chosen])
        except np.linalg.LinAlgError:
            return None
        reach = 0.0
        for turn in range(ROUNDS + 1):
            c = self._compute_residual(at, rows_only)
            step, reach = inverse.solve(Enclosure(-c.value[bad], c.radius[bad]))
            if turn < ROUNDS:
                whole = np.zeros(here.shape[1])
                whole[chosen] = step
                u, y, z = at.u.copy(), at.y + whole[own : own + p], at.z.copy()
                u[:own] += whole[:own]
                z[tight] += whole[own + p :]
                at = DualArguments(u, y, z)
        rows = chosen[chosen >= own] - own
        if (at.z < 0.0).any() or (at.z[tight[rows[rows >= p] - p]] < reach).any():
            return None
        more, moved = 1.0 + gamma(n + 4), chosen[chosen < own]
        wider = c.radius + reach * more * abs(M[rows]).sum(axis=0)
        sides = np.concatenate([self.b, self.h[tight]])[rows]
        loss = reach * more * float(np.abs(sides).sum())
        if len(moved):  # −½(u + e)ᵀP(u + e) ≥ −½uᵀPu − |Pu|ᵀ|e| − ½ trace(P) ‖e‖²
            wider = wider + reach * more * np.abs(self._columns(moved)).sum(axis=0)
            trace = float(np.abs(self.qp.P.diagonal()).sum())
            slope = float(self.apply_hessian(at.u).size[moved].sum())
            loss += more * (reach * slope + 0.5 * trace * len(moved) * reach * reach)
        wider[bad] = 0.0
        value = c.value.copy()
        value[bad] = 0.0
        return at, Enclosure(value, wider * FEW), loss * FEW

    def _columns(self, rows: IntArray) -> FloatArray:
        """Some rows of P, (rows, n)."""
        if self.P is not None:
            return self.P[rows]
        assert self.factor is not None
        Z, d = self.factor
        found: FloatArray = as_dense(Z[rows] @ Z.T) if Z.shape[1] else np.zeros((len(rows), self.qp.n))
        found[np.arange(len(rows)), rows] += d[rows]
        return found

    @staticmethod
    def _bound_box_minimum(
        c: Enclosure, curvature: FloatArray, u: FloatArray, box: tuple[FloatArray, FloatArray]
    ) -> tuple[float, float]:
        """Bound the minimum of Σ c_j x_j + ½κ_j(x_j − u_j)² over a box, and its rounding."""
        low, high = c.value - c.radius, c.value + c.radius
        lb, ub = box
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            ends = [np.where(side == 0.0, 0.0, side * bound) for side in (low, high) for bound in box]
            terms = np.minimum.reduce(ends)
            sizes = np.abs(terms)
            if (curvature < 0.0).any():
                off = 0.5 * curvature * (np.maximum(np.abs(ub - u), np.abs(u - lb)) * FEW) ** 2
                terms, sizes = terms + off, sizes + np.abs(off)
            elif curvature.any():  # c u − c²/(2κ) is least at an end of c
                others = [(side * u, side * side / (2.0 * curvature)) for side in (low, high)]
                free = np.minimum.reduce([value - loss for value, loss in others])
                better = (curvature > 0.0) & (free > terms)
                sizes = np.where(better, np.maximum.reduce([abs(value) + loss for value, loss in others]), sizes)
                terms = np.where(better, free, terms)
        if not np.isfinite(terms).all():
            return -math.inf, 0.0
        value, rounding = sum_with_bound(terms)
        return value, rounding + 16.0 * 2.0**-53 * float(sizes.sum()) + len(terms) * UNDERFLOW

    def bound_above(self, x: FloatArray, inside: FloatArray | Face | None, share: float = 0.0) -> UpperBound:
        """(PROGRAM.3) for a point (n,), moved towards an interior one, or one of a face, where needed, (PROGRAM.5).

        It is feasible for all programs whose entries of G differ from these by a share of themselves.
        """
        why, face = "", inside if isinstance(inside, Face) else None
        if share and face is not None:  # its rows are equalities as they are
            return UpperBound(math.inf, np.clip(x, self.lb, self.ub), math.inf, "rows without room cannot be moved")
        towards = inside.inside if isinstance(inside, Face) else inside
        for t in STEPS if towards is not None else STEPS[:1]:
            at = np.clip(x if towards is None or t == 0.0 else x + t * (towards - x), self.lb, self.ub)
            if face is not None:
                at[face.fixed] = face.inside[face.fixed]
            at = self._move_slacks(at) if face is None else at
            found = self._feasible(at, face, share)
            if isinstance(found, UpperBound):
                return found
            why = found
        return UpperBound(math.inf, np.clip(x, self.lb, self.ub), math.inf, why)

    def _feasible(self, x: FloatArray, face: Face | None, share: float) -> UpperBound | str:
        """The bound for a point between its bounds, or what it lacks."""
        equal, sides, over, most = self.A, self.b, self.G, self.h
        if face is not None:
            equal, sides, over, most = face.rows, face.sides, sp.csr_array(self.G)[face.roomy], self.h[face.roomy]
        p, moved, reach = len(sides), np.zeros(0, dtype=np.intp), 0.0
        if p and not holds(equal, x, sides, equal=True):
            A, room = as_dense(equal), np.minimum(np.minimum(x - self.lb, self.ub - x), 1.0 + np.abs(x))
            chosen = select_independent_columns(A * room)
            if chosen is None:
                return f"no {p} entries of x can move so that all equalities hold"
            x, moved = x.copy(), chosen
            try:
                inverse = Inverse(A[:, moved])
            except np.linalg.LinAlgError:
                return "the equalities are too ill-conditioned for floats"
            for turn in range(ROUNDS + 1):
                rest = product(equal, as_exact(x)).add(as_exact(-sides))
                step, reach = inverse.solve(Enclosure(-rest.value, rest.radius))
                if turn < ROUNDS:
                    x[moved] += step
            if (np.minimum(x - self.lb, self.ub - x)[moved] < reach * FEW).any():
                return "the equalities leave no room between the bounds"
        values = product(over, as_exact(x))
        needed = reach * (1.0 + gamma(p + 4)) * np.asarray(abs(over)[:, moved].sum(axis=1)).ravel()
        if share:
            needed = needed + share * (abs(over) @ np.abs(x)) * (1.0 + gamma(self.qp.n + 4)) + share * needed
        short = values.value + values.radius + needed * FEW - most
        near = np.flatnonzero(short + 2.0**-52 * (np.abs(most) + values.size) > 0.0)
        if len(near) and (len(moved) or share or not holds(over[near], x, most[near], equal=False)):
            return f"row {int(np.argmax(short))} of G has no room"
        return UpperBound(self._value(x, moved, reach), x, reach)

    def _value(self, x: FloatArray, moved: IntArray, reach: float) -> float:
        """f from above at all points that differ from x (n,) by at most `reach` in some entries."""
        curved = self.apply_hessian(x)
        square, off = dot_with_bound(x, curved.value)
        linear, rounding = dot_with_bound(self.qp.q, x)
        off = 0.5 * (off + float(np.abs(x) @ curved.radius)) + rounding
        if reach:
            more, slope = 1.0 + gamma(len(moved) + 4), float(curved.add(as_exact(self.qp.q)).size[moved].sum())
            trace = float(np.abs(self.qp.P.diagonal()).sum())
            off += more * (reach * slope + 0.5 * trace * len(moved) * reach * reach)
        value, rounding = sum_with_bound(np.array([0.5 * square, linear, self.qp.r]))
        off += rounding + 4.0 * 2.0**-53 * (abs(square) + abs(linear) + abs(self.qp.r))
        return value + off * FEW
