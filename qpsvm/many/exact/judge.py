"""What is proven of a piece of a path, over the whole of it: from its two ends alone, whoever found them.

Between the ends, at s = (1 − x) s₀ + x s₁, v and μ are those of the ends in the same proportions; so are t, lo, hi and
e, and with them z = −g of (ACTIVE.1), f = Kβ, and Δ below. With α, U ≥ 0 of a row, s z its share of what is missing:

    (BETWEEN.1)  P − D ≤ Σ_k (a_k(s) z_k(s)₊ + α_k(s) z_k(s)₋) + ½Σ R_g (μ_g − μ_g(v))²,
                 a = U − α, or z₊/2δ where U = ∞
    (BETWEEN.2)  each factor lies below its chord, so the sum lies below a parabola with the Bernstein coefficients
                 S₀₀, ½S₀₁, S₁₁:  S_ij = Σ factors at ends i and j;  it is at most the largest of the three
    (BETWEEN.3)  D = tᵀv − ½‖v‖²_K − ½Σδv² − Σ(E_gᵀv − e_g)²/(2R_g) is a parabola, too: not nearer to 0 than its
                 nearest coefficient, where all have one sign.  The relative gap is at most (BETWEEN.2) over that; on a
                 wide piece, on each of some parts of it, whose coefficients are blossoms of those of the whole
    (BETWEEN.4)  Σv over the rows of one kind of E is off by r, as rounding leaves it: a feasible v′ differs by Δ = |r|
                 in one row that has room, so P − D grows by at most ΣΔ max_k(|∇_k D| + |μ|) + ½(ΣΔ)² max K_ii
    (BETWEEN.5)  z is known to ρ_k κ + 8u(|f| + |Eμ| + |t| + δ|v|), with κ of (ACC.2): z₊ and z₋ are that much larger

Source: weak duality; Farin, *Curves and Surfaces for CAGD* (2002), chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.many.exact.rows import Data, SignedRows

#: Where the optimal value is nearly 0, what a path is followed by is measured by this share of the terms of D.
NEARLY_ZERO = 1e-3
#: A gap up to which nobody asks for a better bound.
ENOUGH = 1e-9
#: Ends of the parts of a wide piece, as shares of it.
_TOWARDS = np.geomspace(1e-5, 0.5, 30)
PARTS = np.concatenate([[0.0], _TOWARDS, 1.0 - _TOWARDS[-2::-1], [1.0]])


@dataclass(frozen=True, eq=False)
class Points:
    """Columns of v (m, k) and μ (p, k) with the data at each: t, lo, hi (m, k), e (p, k); f (n, k) = K β."""

    v: FloatArray
    mu: FloatArray
    t: FloatArray
    lo: FloatArray
    hi: FloatArray
    e: FloatArray
    f: FloatArray


class PieceJudge:
    """(BETWEEN.1) to (BETWEEN.5) over the rows of one machine."""

    def __init__(self, rows: SignedRows) -> None:
        self.rows = rows
        accuracy = Accuracy(rows.space)
        self.sizes = accuracy.sizes(np.asarray(rows.distinct))  # ρ of the distinct samples
        width = rows.space.samples.longest_row
        self.epsilon = accuracy.epsilon + (gamma(width + 6) if rows.space.is_linear else 0.0)
        hard = rows.ridge == 0.0
        kinds, of_row = np.unique(rows.E[:, hard], axis=0, return_inverse=True)
        self.kinds = [np.flatnonzero(of_row.ravel() == k) for k in range(len(kinds))] if hard.any() else []
        self.mixing = np.linalg.inv(kinds.T) if hard.any() and kinds.shape[0] == kinds.shape[1] else None
        self.hard = hard

    def repaired(self, v: FloatArray, data: Data) -> FloatArray:
        """v (m,) within its bounds, and what its sums are off given to the row of each kind of E with most room."""
        v = np.clip(v, data.lo, data.hi)
        if self.mixing is None:
            return v
        for rows, total in zip(self.kinds, self.mixing @ data.e[self.hard], strict=True):
            for _ in range(2):
                off = float(total - v[rows].sum())
                room = np.minimum(data.hi[rows] - v[rows], v[rows] - data.lo[rows])
                k = rows[int(np.argmax(room))]
                if off and room.max() > 0.0:
                    v[k] = min(max(v[k] + off, data.lo[k]), data.hi[k])
        return v

    def points(self, v: list[FloatArray], mu: list[FloatArray], data: list[Data]) -> Points:
        """Columns of points, with f from v alone."""
        V = np.column_stack(v)
        parts = [np.column_stack([each.parts[k] for each in data]) for k in range(4)]
        return Points(V, np.column_stack(mu), parts[0], parts[1], parts[2], parts[3], self.rows.f(V))

    def gaps(self, points: Points, first: NDArray[Any], second: NDArray[Any], counted: bool = True) -> FloatArray:
        """The relative gap that holds on pieces from columns `first` to columns `second`, rounding counted: (k,).

        Where it is not `counted`, what the optimum is worth as computed, beside the terms of D where that is nearly 0.
        """
        rows, at = self.rows, points
        with np.errstate(invalid="ignore", over="ignore"):
            B = np.abs(rows.beta(at.v))
            mass = self.sizes @ B  # Σ|β|ρ
            kappa = (self.epsilon + gamma(np.count_nonzero(B, axis=0).max(initial=0) + 6)) * mass * (1.0 + 1e-9)
            f = rows.at_rows(at.f)
            moved = rows.E @ at.mu
            bent = rows.curvature[:, None] * at.v
            z = at.t - f - moved - bent
            radius = np.outer(self.sizes[rows.sample], kappa)
            radius += 8.0 * UNIT * (np.abs(f) + np.abs(moved) + np.abs(at.t) + np.abs(bent))
            if not counted:
                radius = np.zeros_like(radius)
            s = np.where(at.hi > 0.0, 1.0, np.where(at.lo < 0.0, -1.0, 0.0))  # a row without bounds has no share
            alpha, missing = np.abs(at.v), s * z
            plus, minus = np.maximum(missing + radius, 0.0), np.maximum(radius - missing, 0.0)
            upper = np.where(s > 0.0, at.hi, -at.lo) * np.abs(s)
            room = np.maximum(upper - alpha, 0.0) + 4.0 * UNIT * np.where(np.isinf(upper), 0.0, upper)
            endless = np.isinf(upper)
            if endless.any():
                bend = np.where(rows.curvature > 0.0, rows.curvature, np.nan)[:, None]
                room = np.where(
                    endless, np.where(plus > 0.0, np.nan_to_num(plus / (2.0 * bend), nan=np.inf), 0.0), room
                )
            plus, minus = plus * np.abs(s), minus * np.abs(s)
            off, steep = self._uneven(at, z + moved, radius)
            difference = self._coefficients(room, plus, alpha, minus, first, second)
            terms = self._penalised(at, first, second)
            off, steep = np.maximum(off[first], off[second]), np.maximum(steep[first], steep[second])
            added = np.where(off > 0.0, off * steep + off * off * rows.top, 0.0)
            upper = np.stack([a + b + added for a, b in zip(difference, terms, strict=True)])
            upper *= 1.0 + gamma(rows.m + 20)
            lower, blur, terms_of = self._dual(at, kappa, mass, first, second)
            floor = np.zeros(len(blur)) if counted else NEARLY_ZERO * terms_of
            found = _ratios(upper, lower, blur, floor)
            wide = np.flatnonzero(~(found <= ENOUGH))
            if len(wide):
                parts = [
                    _ratios(_part(upper[:, wide], a, b), _part(lower[:, wide], a, b), blur[wide], floor[wide])
                    for a, b in pairwise(PARTS.tolist())
                ]
                found[wide] = np.minimum(found[wide], np.maximum.reduce(parts))
            return found

    @staticmethod
    def _coefficients(
        room: FloatArray, plus: FloatArray, alpha: FloatArray, minus: FloatArray, i: NDArray[Any], j: NDArray[Any]
    ) -> list[FloatArray]:
        """S₀₀, ½S₀₁ and S₁₁ of (BETWEEN.2): (k,) each."""

        def sums(a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
            whole = np.where(plus[:, b] > 0.0, room[:, a] * plus[:, b], 0.0) + alpha[:, a] * minus[:, b]
            return np.asarray(whole.sum(axis=0))

        own = np.where(plus > 0.0, room * plus, 0.0).sum(axis=0) + (alpha * minus).sum(axis=0)
        return [own[i], 0.5 * (sums(i, j) + sums(j, i)), own[j]]

    def _penalised(self, at: Points, i: NDArray[Any], j: NDArray[Any]) -> list[FloatArray]:
        """The coefficients of ½ΣR(μ − μ(v))², rounding of μ(v) included."""
        rows = self.rows
        soft = ~self.hard
        if not soft.any():
            none = np.zeros(len(i))
            return [none, none, none]
        R = rows.ridge[soft][:, None]
        E = rows.E[:, soft]
        slope = (E.T @ at.v - at.e[soft]) / R
        off = np.abs(at.mu[soft] - slope)
        off += gamma(rows.m + 4) * (np.abs(E).T @ np.abs(at.v) + np.abs(at.e[soft])) / R
        own = 0.5 * (R * off * off).sum(axis=0)
        mixed = 0.5 * (R * off[:, i] * off[:, j]).sum(axis=0)
        return [own[i], mixed, own[j]]

    def _uneven(self, at: Points, gradient: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ΣΔ of (BETWEEN.4) at each point, infinite where no row has room, and the steepest |∇D| + |μ|: (k,) each."""
        k = at.v.shape[1]
        if not self.hard.any():
            return np.zeros(k), np.zeros(k)
        if self.mixing is None:
            return np.full(k, np.inf), np.ones(k)
        totals = self.mixing @ at.e[self.hard]
        off = np.zeros(k)
        for rows, total in zip(self.kinds, totals, strict=True):
            v = at.v[rows]
            each = np.abs(total - v.sum(axis=0))
            each += gamma(len(rows) + 2) * np.abs(v).sum(axis=0) + 2.0 * UNIT * np.abs(total)
            each = np.where(v.any(axis=0) | (total != 0.0), each, 0.0)
            room = np.minimum((at.hi[rows] - v).max(axis=0), (v - at.lo[rows]).max(axis=0))
            off += np.where(room >= each, each, np.inf)
        steepest = (np.abs(gradient) + radius).max(axis=0, initial=0.0)
        largest = max(float(np.abs(self.rows.E).max(initial=0.0)), 1.0)
        return off, steepest + largest * np.abs(at.mu[self.hard]).sum(axis=0)

    def _dual(
        self, at: Points, kappa: FloatArray, mass: FloatArray, i: NDArray[Any], j: NDArray[Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The coefficients of D, (3, k), how far they may be off by rounding, and the size of its terms: (k,)."""
        rows = self.rows
        beta = rows.beta(at.v)
        soft = ~self.hard
        h = (rows.E[:, soft].T @ at.v - at.e[soft]) / np.sqrt(rows.ridge[soft])[:, None] if soft.any() else None

        def dual(a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
            value = 0.5 * ((at.t[:, a] * at.v[:, b]).sum(axis=0) + (at.t[:, b] * at.v[:, a]).sum(axis=0))
            value = value - 0.5 * (beta[:, a] * at.f[:, b]).sum(axis=0)
            if rows.curvature.any():
                value = value - 0.5 * (rows.curvature @ (at.v[:, a] * at.v[:, b]))
            return np.asarray(value if h is None else value - 0.5 * (h[:, a] * h[:, b]).sum(axis=0))

        whole = self.sizes[rows.sample] @ np.abs(at.v)  # where opposite rows cancel, β says nothing
        terms = np.abs(at.t * at.v).sum(axis=0) + whole * whole + rows.curvature @ np.square(at.v)
        terms = terms if h is None else terms + np.square(h).sum(axis=0)
        blur = kappa * mass + gamma(rows.m + 10) * terms
        coefficients = np.stack([dual(i, i), dual(i, j), dual(j, j)])
        return coefficients, np.maximum(blur[i], blur[j]), np.minimum(terms[i], terms[j])


def _ratios(upper: FloatArray, lower: FloatArray, blur: FloatArray, floor: FloatArray) -> FloatArray:
    """(BETWEEN.3) from the coefficients of P − D and of D, (3, k) each: (k,)."""
    largest = upper.max(axis=0)
    one_sign = (lower > 0.0).all(axis=0) | (lower < 0.0).all(axis=0)
    size = np.maximum(np.where(one_sign, np.abs(lower).min(axis=0) - blur, 0.0), floor)
    found = np.divide(largest, size, out=np.full(len(largest), np.inf), where=size > 0.0)
    return np.where(largest == 0.0, 0.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf))


def _part(coefficients: FloatArray, a: float, b: float) -> FloatArray:
    """The Bernstein coefficients (3, k) of the same parabolas between two shares of their piece."""

    def blossom(u: float, v: float) -> FloatArray:
        first, middle, last = coefficients
        return np.asarray((1 - u) * (1 - v) * first + ((1 - u) * v + u * (1 - v)) * middle + u * v * last)

    with np.errstate(invalid="ignore"):
        return np.stack([blossom(a, a), blossom(a, b), blossom(b, b)])
