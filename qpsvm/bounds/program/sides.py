"""Both sides of the optimum of any convex QP, from whatever point and multipliers a solver returned, rounding counted.

The QP is: minimise f(x) = ½xᵀPx + qᵀx + r subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. A solver's x violates a row by a
little, and its multipliers leave a little of (QP.1), so that neither bounds anything. What is proven instead:

    (PROGRAM.1)  from below: for all u, y and z ≥ 0 and every feasible x, with c = Pu + q + Gᵀz + Aᵀy,
                 f(x) ≥ r − ½uᵀPu − hᵀz − bᵀy + Σ_j [c_j x_j − ½δ(x_j − u_j)²]
                 where P + δI is positive semidefinite; each term is at least its minimum over [lb_j, ub_j]
    (PROGRAM.2)  where that minimum is −∞ for a c_j that is only rounding, u, y and z are moved so that c_j = 0 exactly
    (PROGRAM.3)  from above: f(x̂) of a feasible x̂ = x + e, where e stands in as many entries as A has rows, there
                 Ae = b − Ax, and bounds and rows of G have room for |e|
    (PROGRAM.4)  of a square system Be = ρ only an approximate inverse R is known: with ‖I − RB‖∞ ≤ κ < 1 it has one
                 solution, and ‖e‖∞ ≤ ‖Rρ‖∞/(1 − κ)
    (PROGRAM.5)  where no row has room, x is moved towards an interior point x₀: x + t(x₀ − x), for a t that is as small
                 as it may be
    (PROGRAM.6)  no point is feasible where (PROGRAM.1) with P = 0, q = 0, r = 0 is above 0 (Farkas)
    (PROGRAM.7)  P is positive definite where a Cholesky factor of P − γI exists in floats, γ = γ_{n+2} trace(P)/(1 −
                 γ_{n+2}); positive semidefinite where its LDLᵀ in fractions has no negative pivot
    (PROGRAM.8)  a row a with aᵀx ≤ s bounds x_j where the least of the others' sum is known: what is infinite in
                 (PROGRAM.1) may be finite over the bounds that rows imply

Sources: Dorn (1960) for (PROGRAM.1); Rump, *Verification methods*, Acta Numerica 19 (2010), for (PROGRAM.4); Rump,
*Verification of positive definiteness*, BIT 46 (2006), for (PROGRAM.7); Jansson, *Rigorous lower and upper bounds in
linear programming*, SIAM J. Optim. 14 (2004), for the way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import remembered
from qpsvm.base.arrays.rounding import FEW, UNDERFLOW, dot, gamma, total
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.program.faces import Face
from qpsvm.bounds.program.implied import implied_bounds
from qpsvm.bounds.program.near import Near, dominant, exactly, holds, picked, positive, product, semidefinite, solved
from qpsvm.program.qp import QP
from qpsvm.space.operators import Diagonal

#: Steps t of (PROGRAM.5) that are tried, in turn.
STEPS = (0.0, *(10.0**-k for k in range(14, 0, -1)))
#: Rounds in which an approximate solution is improved before its error is bounded.
ROUNDS = 3


class Multipliers(NamedTuple):
    """What (PROGRAM.1) is computed of: u (n,), y (p,), z (m,)."""

    u: FloatArray
    y: FloatArray
    z: FloatArray


class Lower(NamedTuple):
    """(PROGRAM.1): the bound, and the multipliers that it was computed with; why it is −∞ where it is."""

    value: float
    y: FloatArray
    z: FloatArray
    why: str = ""


class Upper(NamedTuple):
    """(PROGRAM.3): the bound, and a point within `radius` of a feasible one; why it is ∞ where it is."""

    value: float
    x: FloatArray
    radius: float
    why: str = ""


class Program:
    """A QP, with what is asked of it several times.

    Shapes: P (n, n), dense or a factor; G (m, n), A (p, n), with no rows where there are none.
    """

    def __init__(self, qp: QP) -> None:
        self.qp, n = qp, qp.n
        none = sp.csr_array((0, n))
        self.G, self.A = (none if M is None else M for M in (qp.G, qp.A))
        self.h, self.b = (np.zeros(0) if side is None else np.asarray(side) for side in (qp.h, qp.b))
        self.lb, self.ub = (np.array(side) for side in qp.bounds)
        self.factor = (sp.csr_array((n, 0)), qp.P.d) if isinstance(qp.P, Diagonal) else qp.P.factor()
        self.P, self.off = None, 0.0
        if self.factor is None:
            self.P = qp.P.dense()
            if not np.array_equal(self.P, self.P.T):  # xᵀPx is that of its symmetric part
                self.P, self.off = 0.5 * (self.P + self.P.T), 2.0**-53 * float(np.abs(self.P).max())

    def curved(self, x: FloatArray) -> Near:
        """Px, (n,)."""
        if self.P is not None:
            return product(self.P, exactly(x))
        assert self.factor is not None
        Z, d = self.factor
        own = Near(d * x, np.abs(d * x) * 2.0**-52 + UNDERFLOW)
        return own.plus(product(Z, product(Z.T, exactly(x)))) if Z.shape[1] else own

    @remembered
    def deficit(self) -> float:
        """δ ≥ 0 for which P + δI is positive semidefinite for certain, (PROGRAM.7); infinite where none is known."""
        if self.factor is not None:
            return max(0.0, -float(self.factor[1].min(initial=0.0)))
        assert self.P is not None
        support = np.flatnonzero(np.abs(self.P).max(axis=1, initial=0.0) > 0.0)
        P = self.P[np.ix_(support, support)]
        if positive(P, self.off) or (not self.off and (dominant(P) or semidefinite(P))):
            return 0.0
        delta = 4.0 * (gamma(len(P) + 2) * float(np.trace(P)) + 2.0 * len(P) * self.off + UNDERFLOW)
        return delta if positive(P + np.diag(np.full(len(P), delta)), 2.0 * self.off) else math.inf

    @remembered
    def not_convex(self) -> str:
        """What is said where P is not positive semidefinite for certain: whether some vᵀPv < 0, rounding counted."""
        assert self.P is not None or self.factor is not None
        dense = self.qp.P.dense()
        values, vectors = np.linalg.eigh(0.5 * (dense + dense.T))
        v = vectors[:, 0]
        curved = self.curved(v)
        square, rounding = dot(v, curved.value)
        if square + rounding + float(np.abs(v) @ curved.radius) * FEW < 0.0:
            return f"this is no convex QP: P has an eigenvalue of {values[0]:.3g}, below 0 for certain"
        return "P could not be shown to be positive semidefinite"

    def lower(self, u: FloatArray, y: FloatArray, z: FloatArray, rows_only: bool = False) -> Lower:
        """(PROGRAM.1) for a point (n,) and multipliers (p,), (m,); with `rows_only` for P = 0, q = 0 and r = 0."""
        at = Multipliers(np.zeros(self.qp.n) if rows_only else np.array(u), np.array(y), np.maximum(z, 0.0))
        delta = 0.0 if rows_only else self.deficit
        if delta == math.inf:
            return Lower(-math.inf, at.y, at.z, self.not_convex)
        c, loss = self._left(at, rows_only), 0.0
        box = self.lb, self.ub
        bad = self._unbounded(c, box)
        if rows_only and len(bad):
            columns = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)], format="csc")[:, bad].T
            if holds(columns, np.concatenate([at.y, at.z]), np.zeros(len(bad)), equal=True):
                c.value[bad] = c.radius[bad] = 0.0
                bad = bad[:0]
        if len(bad):
            moved = self._moved(at, bad, rows_only)
            if moved is None:
                box = self.implied
                bad = self._unbounded(c, box)
                moved = self._moved(at, bad, rows_only) if len(bad) else (at, c, loss)
            if moved is None:
                names = "a variable without a bound" if len(bad) == 1 else f"{len(bad)} variables without bounds"
                return Lower(-math.inf, at.y, at.z, f"the multipliers leave a rest of (QP.1) at {names}")
            at, c, loss = moved
        terms, off = self._least(c, delta, at.u, box)
        if terms == -math.inf and delta:
            terms, off = self._least(c, delta, at.u, self.implied)
        if terms == -math.inf:
            why = "the multipliers leave a rest of (QP.1) at variables without bounds"
            if delta:
                why = (
                    f"P is positive semidefinite up to {delta:.1g} only, by rounding, and there are variables without "
                )
                why += "bounds: give it by a factor, as qpsvm.LowRank(F) for FFᵀ, or bound all variables"
            return Lower(-math.inf, at.y, at.z, why)
        half = self.curved(at.u)
        square, rounding = dot(at.u, half.value)
        off += 0.5 * (rounding + float(np.abs(at.u) @ half.radius)) + loss
        rows, rounding = dot(np.concatenate([self.h, self.b]), np.concatenate([at.z, at.y]))
        constant = 0.0 if rows_only else self.qp.r
        found, summed = total(np.array([constant, -0.5 * square, -rows, terms]))
        return Lower(found - (off + rounding + summed) * FEW - 2.0**-52 * abs(found), at.y, at.z)

    def _left(self, at: Multipliers, rows_only: bool) -> Near:
        """c of (PROGRAM.1), (n,)."""
        own = exactly(np.zeros(self.qp.n)) if rows_only else self.curved(at.u).plus(exactly(self.qp.q))
        return own.plus(product(self.G.T, exactly(at.z))).plus(product(self.A.T, exactly(at.y)))

    @remembered
    def implied(self) -> tuple[FloatArray, FloatArray]:
        """(PROGRAM.8): bounds that every feasible point has, (n,) each."""
        return implied_bounds(self.A, self.b, self.G, self.h, self.lb, self.ub)

    @staticmethod
    def _unbounded(c: Near, box: tuple[FloatArray, FloatArray]) -> IntArray:
        """The variables where c_j x_j may go to −∞."""
        down = (c.value + c.radius > 0.0) & ~np.isfinite(box[0])
        up = (c.value - c.radius < 0.0) & ~np.isfinite(box[1])
        return np.flatnonzero(down | up)

    def _moved(self, at: Multipliers, bad: IntArray, rows_only: bool) -> tuple[Multipliers, Near, float] | None:
        """(PROGRAM.2): numbers near which others make c exactly 0 there; c for all of those; what the value loses."""
        n, p = self.qp.n, len(at.y)
        tight = np.flatnonzero(at.z > 0.0)
        M = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)[tight]], format="csr")
        here = as_dense(M[:, bad]).T  # (bad, p + tight)
        if not rows_only:
            here = np.hstack([self._columns(bad), here])
        own = here.shape[1] - p - len(tight)  # entries of u, before those of y and z
        largest = max(1.0, *(float(np.abs(part).max(initial=0.0)) for part in at))
        chosen = picked(here * np.concatenate([np.full(own + p, largest), at.z[tight]]))
        if chosen is None:
            return None
        B, reach = here[:, chosen], 0.0
        for turn in range(ROUNDS + 1):
            c = self._left(at, rows_only)
            step = solved(B, Near(-c.value[bad], c.radius[bad]))
            if step is None:
                return None
            reach = step[1]
            if turn < ROUNDS:
                whole = np.zeros(here.shape[1])
                whole[chosen] = step[0]
                u, y, z = at.u.copy(), at.y + whole[own : own + p], at.z.copy()
                u[:own] += whole[:own]
                z[tight] += whole[own + p :]
                at = Multipliers(u, y, z)
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
            slope = float(self.curved(at.u).size[moved].sum())
            loss += more * (reach * slope + 0.5 * trace * len(moved) * reach * reach)
        wider[bad] = 0.0
        value = c.value.copy()
        value[bad] = 0.0
        return at, Near(value, wider * FEW), loss * FEW

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
    def _least(c: Near, delta: float, u: FloatArray, box: tuple[FloatArray, FloatArray]) -> tuple[float, float]:
        """The least sum of c_j x_j − ½δ(x_j − u_j)² over a box, and its rounding."""
        low, high = c.value - c.radius, c.value + c.radius
        lb, ub = box
        with np.errstate(invalid="ignore", over="ignore"):
            ends = [np.where(side == 0.0, 0.0, side * bound) for side in (low, high) for bound in box]
            terms = np.minimum.reduce(ends)
            if delta:
                terms = terms - 0.5 * delta * (np.maximum(np.abs(ub - u), np.abs(u - lb)) * FEW) ** 2
        if not np.isfinite(terms).all():
            return -math.inf, 0.0
        value, rounding = total(terms)
        return value, rounding + 8.0 * 2.0**-53 * float(np.abs(terms).sum()) + len(terms) * UNDERFLOW

    def upper(self, x: FloatArray, inside: FloatArray | Face | None) -> Upper:
        """(PROGRAM.3) for a point (n,), moved towards an interior one, or one of a face, where needed, (PROGRAM.5)."""
        why, face = "", inside if isinstance(inside, Face) else None
        towards = inside.inside if isinstance(inside, Face) else inside
        for t in STEPS if towards is not None else STEPS[:1]:
            at = np.clip(x if towards is None or t == 0.0 else x + t * (towards - x), self.lb, self.ub)
            if face is not None:
                at[face.fixed] = face.inside[face.fixed]
            found = self._feasible(at, face)
            if isinstance(found, Upper):
                return found
            why = found
        return Upper(math.inf, np.clip(x, self.lb, self.ub), math.inf, why)

    def _feasible(self, x: FloatArray, face: Face | None) -> Upper | str:
        """The bound for a point between its bounds, or what it lacks."""
        equal, sides, over, most = self.A, self.b, self.G, self.h
        if face is not None:
            equal, sides, over, most = face.rows, face.sides, sp.csr_array(self.G)[face.roomy], self.h[face.roomy]
        p, moved, reach = len(sides), np.zeros(0, dtype=np.intp), 0.0
        if p and not holds(equal, x, sides, equal=True):
            A, room = as_dense(equal), np.minimum(np.minimum(x - self.lb, self.ub - x), 1.0 + np.abs(x))
            chosen = picked(A * room)
            if chosen is None:
                return f"no {p} entries of x can move so that all equalities hold"
            x, moved = x.copy(), chosen
            for turn in range(ROUNDS + 1):
                rest = product(equal, exactly(x)).plus(exactly(-sides))
                step = solved(A[:, moved], Near(-rest.value, rest.radius))
                if step is None:
                    return "the equalities are too ill-conditioned for floats"
                reach = step[1]
                if turn < ROUNDS:
                    x[moved] += step[0]
            if (np.minimum(x - self.lb, self.ub - x)[moved] < reach * FEW).any():
                return "the equalities leave no room between the bounds"
        values = product(over, exactly(x))
        needed = reach * (1.0 + gamma(p + 4)) * np.asarray(abs(over)[:, moved].sum(axis=1)).ravel()
        short = values.value + values.radius + needed * FEW - most
        near = np.flatnonzero(short + 2.0**-52 * (np.abs(most) + values.size) > 0.0)
        if len(near) and (len(moved) or not holds(over[near], x, most[near], equal=False)):
            return f"row {int(np.argmax(short))} of G has no room"
        return Upper(self._value(x, moved, reach), x, reach)

    def _value(self, x: FloatArray, moved: IntArray, reach: float) -> float:
        """f from above at all points that differ from x (n,) by at most `reach` in some entries."""
        curved = self.curved(x)
        square, off = dot(x, curved.value)
        linear, rounding = dot(self.qp.q, x)
        off = 0.5 * (off + float(np.abs(x) @ curved.radius)) + rounding
        if reach:
            more, slope = 1.0 + gamma(len(moved) + 4), float(curved.plus(exactly(self.qp.q)).size[moved].sum())
            trace = float(np.abs(self.qp.P.diagonal()).sum())
            off += more * (reach * slope + 0.5 * trace * len(moved) * reach * reach)
        value, rounding = total(np.array([0.5 * square, linear, self.qp.r]))
        off += rounding + 4.0 * 2.0**-53 * (abs(square) + abs(linear) + abs(self.qp.r))
        return value + off * FEW
