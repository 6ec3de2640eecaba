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

Sources: Dorn (1960) for (PROGRAM.1); Rump, *Verification methods*, Acta Numerica 19 (2010), for (PROGRAM.4); Rump,
*Verification of positive definiteness*, BIT 46 (2006), for (PROGRAM.7); Jansson, *Rigorous lower and upper bounds in
linear programming*, SIAM J. Optim. 14 (2004), for the way.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.base.arrays.frozen import remembered
from qpsvm.base.arrays.rounding import FEW, UNDERFLOW, dot, gamma, total
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.program.qp import QP
from qpsvm.space.operators import Diagonal

#: Steps t of (PROGRAM.5) that are tried, in turn.
STEPS = (0.0, *(10.0**-k for k in range(14, 0, -1)))
#: Up to so many variables fractions are quick.
IN_FRACTIONS = 24
#: And up to so many entries of rows.
WHOLE = 20_000
#: Rounds in which an approximate solution is improved before its error is bounded.
ROUNDS = 3


class Near(NamedTuple):
    """Numbers as computed, and how far the exact ones may be: arrays of one shape."""

    value: FloatArray
    radius: FloatArray

    def plus(self, other: Near) -> Near:
        """The sum of both."""
        value = self.value + other.value
        return Near(value, (self.radius + other.radius + 2.0**-52 * np.abs(value)) * FEW)

    @property
    def size(self) -> FloatArray:
        """The largest absolute values that they may have."""
        return (np.abs(self.value) + self.radius) * FEW


def exactly(value: FloatArray) -> Near:
    """Numbers that are what they are."""
    return Near(value, np.zeros(value.shape))


def product(M: Matrix, x: Near) -> Near:
    """Mx of an exact matrix (m, k), by (ROUND.1): (m,)."""
    k = M.shape[1]
    reach = abs(M) @ (np.abs(x.value) * gamma(k + 4) + x.radius * (1.0 + gamma(k + 4)))
    touched = abs(M) @ ((x.value != 0.0) | (x.radius > 0.0)).astype(np.float64) > 0.0  # what is not is 0 exactly
    return Near(M @ x.value, np.where(touched, reach * (1.0 + gamma(k + 4)) + k * UNDERFLOW, 0.0))


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

    def lower(self, u: FloatArray, y: FloatArray, z: FloatArray, rows_only: bool = False) -> Lower:
        """(PROGRAM.1) for a point (n,) and multipliers (p,), (m,); with `rows_only` for P = 0, q = 0 and r = 0."""
        at = Multipliers(np.zeros(self.qp.n) if rows_only else np.array(u), np.array(y), np.maximum(z, 0.0))
        delta = 0.0 if rows_only else self.deficit
        if delta == math.inf:
            return Lower(-math.inf, at.y, at.z, "P could not be shown to be positive semidefinite")
        c, loss = self._left(at, rows_only), 0.0
        bad = self._unbounded(c)
        if rows_only and len(bad):
            columns = sp.vstack([sp.csr_array(self.A), sp.csr_array(self.G)], format="csc")[:, bad].T
            if holds(columns, np.concatenate([at.y, at.z]), np.zeros(len(bad)), equal=True):
                c.value[bad] = c.radius[bad] = 0.0
                bad = bad[:0]
        if len(bad):
            moved = self._moved(at, bad, rows_only)
            if moved is None:
                names = "a variable without a bound" if len(bad) == 1 else f"{len(bad)} variables without bounds"
                return Lower(-math.inf, at.y, at.z, f"the multipliers leave a rest of (QP.1) at {names}")
            at, c, loss = moved
        terms, off = self._least(c, delta, at.u)
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

    def _unbounded(self, c: Near) -> IntArray:
        """The variables where c_j x_j may go to −∞."""
        down = (c.value + c.radius > 0.0) & ~np.isfinite(self.lb)
        up = (c.value - c.radius < 0.0) & ~np.isfinite(self.ub)
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

    def _least(self, c: Near, delta: float, u: FloatArray) -> tuple[float, float]:
        """The least sum of c_j x_j − ½δ(x_j − u_j)² over the box, and its rounding."""
        low, high = c.value - c.radius, c.value + c.radius
        with np.errstate(invalid="ignore", over="ignore"):
            ends = [np.where(side == 0.0, 0.0, side * bound) for side in (low, high) for bound in (self.lb, self.ub)]
            terms = np.minimum.reduce(ends)
            if delta:
                terms = terms - 0.5 * delta * (np.maximum(np.abs(self.ub - u), np.abs(u - self.lb)) * FEW) ** 2
        if not np.isfinite(terms).all():
            return -math.inf, 0.0
        value, rounding = total(terms)
        return value, rounding + 8.0 * 2.0**-53 * float(np.abs(terms).sum()) + len(terms) * UNDERFLOW

    def upper(self, x: FloatArray, inside: FloatArray | None) -> Upper:
        """(PROGRAM.3) for a point (n,), moved towards an interior one (n,) where that is needed, (PROGRAM.5)."""
        why = ""
        for t in STEPS if inside is not None else STEPS[:1]:
            at = np.clip(x if inside is None or t == 0.0 else x + t * (inside - x), self.lb, self.ub)
            found = self._feasible(at)
            if isinstance(found, Upper):
                return found
            why = found
        return Upper(math.inf, np.clip(x, self.lb, self.ub), math.inf, why)

    def _feasible(self, x: FloatArray) -> Upper | str:
        """The bound for a point between its bounds, or what it lacks."""
        p, moved, reach = len(self.b), np.zeros(0, dtype=np.intp), 0.0
        if p and not holds(self.A, x, self.b, equal=True):
            A, room = as_dense(self.A), np.minimum(np.minimum(x - self.lb, self.ub - x), 1.0 + np.abs(x))
            chosen = picked(A * room)
            if chosen is None:
                return f"no {p} entries of x can move so that all equalities hold"
            x, moved = x.copy(), chosen
            for turn in range(ROUNDS + 1):
                rest = product(self.A, exactly(x)).plus(exactly(-self.b))
                step = solved(A[:, moved], Near(-rest.value, rest.radius))
                if step is None:
                    return "the equalities are too ill-conditioned for floats"
                reach = step[1]
                if turn < ROUNDS:
                    x[moved] += step[0]
            if (np.minimum(x - self.lb, self.ub - x)[moved] < reach * FEW).any():
                return "the equalities leave no room between the bounds"
        values = product(self.G, exactly(x))
        needed = reach * (1.0 + gamma(p + 4)) * np.asarray(abs(self.G)[:, moved].sum(axis=1)).ravel()
        short = values.value + values.radius + needed * FEW - self.h
        near = np.flatnonzero(short + 2.0**-52 * (np.abs(self.h) + values.size) > 0.0)
        if len(near) and (len(moved) or not holds(self.G[near], x, self.h[near], equal=False)):
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


def holds(M: Matrix, x: FloatArray, sides: FloatArray, equal: bool) -> bool:
    """Whether Mx = sides, or Mx ≤ sides, exactly: in fractions, for few entries."""
    rows = sp.csr_array(M)
    if rows.nnz > WHOLE:
        return False
    for k, side in enumerate(sides.tolist()):
        part = slice(rows.indptr[k], rows.indptr[k + 1])
        terms = zip(rows.data[part].tolist(), x[rows.indices[part]].tolist(), strict=True)
        rest = sum((Fraction(a) * Fraction(b) for a, b in terms), -Fraction(side))
        if rest > 0 or (equal and rest < 0):
            return False
    return True


def positive(P: FloatArray, off: float = 0.0) -> bool:
    """(PROGRAM.7): whether a symmetric matrix is positive definite for certain; `off` is what its entries are off."""
    n = len(P)
    if not n:
        return True
    share = gamma(n + 2)
    trace = float(np.abs(np.diagonal(P)).sum()) * FEW
    less = share / (1.0 - share) * trace + 2.0 * n * off + n * UNDERFLOW
    shifted = P.copy()
    shifted[np.diag_indices(n)] -= less * FEW + 2.0**-52 * np.abs(np.diagonal(P))
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def semidefinite(P: FloatArray) -> bool:
    """(PROGRAM.7) in fractions, for few variables."""
    if len(P) > IN_FRACTIONS:
        return False
    rows = [[Fraction(value) for value in row] for row in P.tolist()]
    while rows:
        place = max(range(len(rows)), key=lambda i: rows[i][i])
        pivot = rows[place][place]
        if pivot <= 0:
            return pivot == 0 and not any(value for row in rows for value in row)
        head = rows.pop(place)
        for row in rows:
            factor = row[place] / pivot
            row[:] = [a - factor * b for k, (a, b) in enumerate(zip(row, head, strict=True)) if k != place]
    return True


def dominant(P: FloatArray) -> bool:
    """Whether each diagonal entry is at least the sum of its row's others: positive semidefinite (Gershgorin).

    `math.fsum` rounds once, so that its sign is exact.
    """
    signed = np.abs(P)
    signed[np.diag_indices(len(P))] = -np.diagonal(P)
    return all(math.fsum(row) <= 0.0 for row in signed.tolist())


def picked(M: FloatArray) -> IntArray | None:
    """As many columns of a matrix (k, n) as it has rows, that are independent; None where there are none."""
    k, n = M.shape
    if k > n or not np.isfinite(M).all():
        return None
    _, R, order = qr(M, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    return np.sort(order[:k]) if k == 0 or sizes[-1] > 1e-12 * sizes[0] else None


def solved(B: FloatArray, right: Near) -> tuple[FloatArray, float] | None:
    """(PROGRAM.4): an approximate solution of Be = ρ, (k,), and ‖e‖∞ from above; None where B may be singular."""
    k = len(B)
    try:
        R = np.linalg.inv(B)
    except np.linalg.LinAlgError:
        return None
    error = np.abs(np.eye(k) - R @ B) + gamma(k + 4) * (np.abs(R) @ np.abs(B)) + 2.0**-52
    kappa = float(error.sum(axis=1).max(initial=0.0)) * (1.0 + gamma(k + 4))
    if not kappa < 0.5:
        return None
    step = R @ right.value
    size = float((np.abs(R) @ right.size).max(initial=0.0)) * (1.0 + gamma(k + 4)) + k * UNDERFLOW
    return step, size / (1.0 - kappa) * FEW
