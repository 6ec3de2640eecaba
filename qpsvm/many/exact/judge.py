"""Prove a bound on the gap over a whole piece of a path, from its two ends alone.

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
    (BETWEEN.6)  where β of many samples is linear in s, so is K of them: two products, and a mean for each s;  what
                 rounding moves that β by, Δ, moves z by ρ_k Σρ|Δ|

Source: weak duality; Farin, *Curves and Surfaces for CAGD* (2002), chapter 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.many.exact.rows import Data, SignedRows

#: Where the optimal value is nearly 0, what a path is followed by is measured by this share of the terms of D.
NEARLY_ZERO = 1e-3
#: A gap up to which no better bound is computed.
ENOUGH = 1e-9
#: Share of the samples from which on (BETWEEN.6) saves time.
MANY = 0.3
#: A row is inside its bounds where it is so much of their distance, or of the largest v, away from both.
INSIDE = 1e-8
#: Ends of the parts of a wide piece, as shares of it.
_TOWARDS = np.geomspace(1e-5, 0.5, 30)
PARTS = np.concatenate([[0.0], _TOWARDS, 1.0 - _TOWARDS[-2::-1], [1.0]])


@dataclass(frozen=True, eq=False)
class PathPoints:
    """Columns of v (m, k) and μ (p, k) with the data at each: t, lo, hi (m, k), e (p, k); f (n, k) = K β.

    mass, off (k,): Σρ|β| as f was summed, and how far the β of that is from β, in Σρ|·|, where it is.
    """

    v: FloatArray
    mu: FloatArray
    t: FloatArray
    lo: FloatArray
    hi: FloatArray
    e: FloatArray
    f: FloatArray
    mass: FloatArray | None = None
    off: FloatArray | float = 0.0


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the rows: of pieces, of points, and of each kind of E at each point.

    missing, dual (3, pieces): Coefficients of (BETWEEN.2) and, without a ridge, of (BETWEEN.3).
    points (k, 3): The steepest |∇D| and what is unknown of it, the terms of D, Σρ|v|.
    kinds (k, kinds, 5): Σv, Σ|v|, the most room upwards and downwards, whether any v is not 0.
    """

    missing: FloatArray
    dual: FloatArray
    points: FloatArray
    kinds: FloatArray

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        return self.missing, self.dual, self.points, self.kinds

    @property
    def steepest(self) -> FloatArray:
        return self.points[:, 0]

    @property
    def terms(self) -> FloatArray:
        return self.points[:, 1]


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
        self.held: dict[str, FloatArray] = {}
        self.largest = max(float(np.abs(rows.E).max(initial=0.0)), 1.0)
        self.of_row = np.ascontiguousarray(of_row.ravel(), dtype=np.int64)
        self.row_sizes = np.ascontiguousarray(self.sizes[rows.sample])

    def repair(self, v: FloatArray, data: Data) -> FloatArray:
        """Clip v (m,) to its bounds, and correct each sum at the row of its kind of E with most room."""
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

    def points(self, v: list[FloatArray], mu: list[FloatArray], data: list[Data]) -> PathPoints:
        """Columns of points, with f from v alone."""
        parts = [np.array([each.parts[k] for each in data]).T for k in range(4)]
        return self.with_f(np.array(v).T, np.array(mu).T, *parts)

    def with_f(
        self, v: FloatArray, mu: FloatArray, t: FloatArray, lo: FloatArray, hi: FloatArray, e: FloatArray
    ) -> PathPoints:  # fmt: skip
        """Return the points of columns, with f."""
        return PathPoints(v, mu, t, lo, hi, e, self.rows.f(v))

    def points_along(
        self, v: FloatArray, mu: FloatArray, t: FloatArray, lo: FloatArray, hi: FloatArray, e: FloatArray,
        s: FloatArray, steady: NDArray[np.bool_],
    ) -> PathPoints:  # fmt: skip
        """Return the points at s (k,) in order, where v of `steady` samples (n,) is linear, (BETWEEN.6)."""
        beta, K, k = self.rows.beta(v).T, self.rows.K, len(s)  # (k, n)
        if not s[-1] > s[0] or np.count_nonzero(steady) < MANY * len(K) or not self.rows.symmetric:
            return self.with_f(v, mu, t, lo, hi, e)
        x = (s - s[0]) / (s[-1] - s[0])
        shares = np.column_stack([1.0 - x, x])
        ends = np.where(steady, beta[[0, -1]], 0.0)
        other, linear = np.flatnonzero(~steady), np.flatnonzero(steady & ends.any(axis=0))
        part = np.take(K, other, axis=0, out=self.reserve_buffer("part", len(other), len(K)), mode="clip")
        mine = np.take(beta, other, axis=1, out=self.reserve_buffer("mine", k, len(other)), mode="clip")
        f = np.matmul(mine, part, out=self.reserve_buffer("f", k, len(K)))
        f += np.matmul(shares, ends @ K, out=self.reserve_buffer("linear", k, len(K)))
        rest = np.take(beta, linear, axis=1, out=self.reserve_buffer("rest", k, len(linear)), mode="clip")
        rest -= np.matmul(shares, ends[:, linear], out=self.reserve_buffer("moved", k, len(linear)))
        off = np.abs(rest, out=rest) @ self.sizes[linear]
        mass = np.abs(mine, out=mine) @ self.sizes[other] + np.abs(shares) @ (np.abs(ends) @ self.sizes)
        return PathPoints(v, mu, t, lo, hi, e, f.T, mass + off, off)

    def reserve_buffer(self, name: str, *shape: int) -> FloatArray:
        """Return a reusable buffer: its previous content is lost."""
        size = math.prod(shape)
        if name not in self.held or self.held[name].size < size:
            self.held[name] = np.empty(size + size // 4)
        return self.held[name][:size].reshape(shape)

    def average_multipliers(self, points: PathPoints) -> tuple[PathPoints, NDArray[np.bool_]]:
        """Return the points with μ averaged over the rows inside their bounds, and where there are some: (k,).

        Where there are none, μ may be any of an interval.
        """
        at, known = points, np.ones(points.v.shape[1], dtype=np.bool_)
        if not self.hard.any() or self.mixing is None:
            return at, known & (not self.hard.any())
        size = np.minimum(at.hi - at.lo, np.abs(at.v).max(axis=0))
        inside = np.minimum(at.v - at.lo, at.hi - at.v) > INSIDE * size
        reached = at.t - self.rows.at_rows(at.f) - self.rows.curvature[:, None] * at.v
        if not self.hard.all():
            reached = reached - self.rows.E[:, ~self.hard] @ at.mu[~self.hard]
        theta = np.empty((len(self.kinds), len(known)))
        for kind, rows in enumerate(self.kinds):
            count = np.count_nonzero(inside[rows], axis=0)
            known &= count > 0
            theta[kind] = np.where(inside[rows], reached[rows], 0.0).sum(axis=0) / np.maximum(count, 1)
        mu = at.mu.copy()
        mu[self.hard] = np.where(known, self.mixing.T @ theta, mu[self.hard])
        return replace(at, mu=mu), known

    def gaps(self, points: PathPoints, first: IntArray, second: IntArray, counted: bool = True) -> FloatArray:
        """The relative gap that holds on pieces from columns `first` to columns `second`, rounding counted: (k,).

        Where it is not `counted`, what the optimum is worth as computed, beside the terms of D where that is nearly 0.
        """
        rows, at = self.rows, points
        with np.errstate(invalid="ignore", over="ignore"):
            B = np.abs(rows.beta(at.v))
            mass = self.sizes @ B if at.mass is None else at.mass  # Σ|β|ρ
            kappa = (self.epsilon + gamma(np.count_nonzero(B, axis=0).max(initial=0) + 12)) * mass * (1.0 + 1e-9)
            kappa += at.off
            sums = (self._sum_rows if core.compiled is None else self._compiled)(at, kappa, first, second, counted)
            off = self._uneven(at, sums)
            steep = sums.steepest + self.largest * np.abs(at.mu[self.hard]).sum(axis=0)
            terms = self._penalised(at, first, second)
            off, steep = np.maximum(off[first], off[second]), np.maximum(steep[first], steep[second])
            added = np.where(off > 0.0, off * steep + off * off * rows.top, 0.0)
            upper = sums.missing + np.stack(terms) + added
            upper *= 1.0 + gamma(rows.m + 20)
            lower, blur, terms_of = self._dual(at, sums, kappa * mass, first, second)
            floor = np.zeros(len(blur)) if counted else NEARLY_ZERO * terms_of
            found = _ratios(upper, lower, blur, floor)
            wide = np.flatnonzero(~(found <= ENOUGH))
            if len(wide):
                above, below = (_parts(each[:, wide]) for each in (upper, lower))
                parts = _ratios(above, below, blur[wide], floor[wide])
                found[wide] = np.minimum(found[wide], parts.max(axis=0))
            return found

    def _compiled(
        self, at: PathPoints, kappa: FloatArray, first: IntArray, second: IntArray, counted: bool
    ) -> _Sums:  # fmt: skip
        rows, k, kinds = self.rows, at.v.shape[1], len(self.kinds)
        shape = (3, len(first))
        found = _Sums(np.empty(shape), np.empty(shape), np.empty((k, 3)), np.empty((k, kinds, 5)))
        columns = [np.ascontiguousarray(part.T) for part in (at.v, at.t, at.lo, at.hi, at.mu, at.f)]
        arrays = (
            rows.E, rows.curvature, self.row_sizes, rows.sample, self.of_row, *columns, kappa,
            np.ascontiguousarray(first), np.ascontiguousarray(second), *found.arrays,
        )  # fmt: skip
        core.compiled.piece_sums(arrays, counted)
        return found

    def _sum_rows(
        self, at: PathPoints, kappa: FloatArray, first: IntArray, second: IntArray, counted: bool
    ) -> _Sums:  # fmt: skip
        rows = self.rows
        f = rows.at_rows(at.f)
        moved = rows.E @ at.mu
        bent = rows.curvature[:, None] * at.v
        gradient = at.t - f - bent
        z = gradient - moved
        radius = np.outer(self.row_sizes, kappa)
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
            room = np.where(endless, np.where(plus > 0.0, np.nan_to_num(plus / (2.0 * bend), nan=np.inf), 0.0), room)
        plus, minus = plus * np.abs(s), minus * np.abs(s)

        def sum_missed(a: IntArray, b: IntArray) -> FloatArray:
            whole = np.where(plus[:, b] > 0.0, room[:, a] * plus[:, b], 0.0) + alpha[:, a] * minus[:, b]
            return np.asarray(whole.sum(axis=0))

        def dual(a: IntArray, b: IntArray) -> FloatArray:
            value = (at.t[:, a] * at.v[:, b]).sum(axis=0) + (at.t[:, b] * at.v[:, a]).sum(axis=0)
            value = value - (at.v[:, a] * f[:, b]).sum(axis=0)
            return np.asarray(0.5 * (value - rows.curvature @ (at.v[:, a] * at.v[:, b])))

        whole = self.row_sizes @ alpha  # where opposite rows cancel, β says nothing
        terms = np.abs(at.t * at.v).sum(axis=0) + whole * whole + rows.curvature @ np.square(at.v)
        steepest = (np.abs(gradient) + radius).max(axis=0, initial=0.0)
        kinds = np.empty((len(kappa), len(self.kinds), 5))
        for k, of_kind in enumerate(self.kinds):
            v = at.v[of_kind]
            kinds[:, k] = np.column_stack([
                v.sum(axis=0), np.abs(v).sum(axis=0), (at.hi[of_kind] - v).max(axis=0),
                (v - at.lo[of_kind]).max(axis=0), v.any(axis=0),
            ])  # fmt: skip
        return _Sums(
            np.stack([sum_missed(first, first), 0.5 * (sum_missed(first, second) + sum_missed(second, first)),
                      sum_missed(second, second)]),
            np.stack([dual(first, first), dual(first, second), dual(second, second)]),
            np.column_stack([steepest, terms, whole]), kinds,
        )  # fmt: skip

    def _penalised(self, at: PathPoints, i: IntArray, j: IntArray) -> list[FloatArray]:
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

    def _uneven(self, at: PathPoints, sums: _Sums) -> FloatArray:
        """ΣΔ of (BETWEEN.4) at each point, infinite where no row has room: (k,)."""
        k = at.v.shape[1]
        if not self.hard.any():
            return np.zeros(k)
        if self.mixing is None:
            return np.full(k, np.inf)
        off = np.zeros(k)
        for kind, (rows, total) in enumerate(zip(self.kinds, self.mixing @ at.e[self.hard], strict=True)):
            own, mass, up, down, any_v = sums.kinds[:, kind].T
            each = np.abs(total - own) + gamma(len(rows) + 2) * mass + 2.0 * UNIT * np.abs(total)
            each = np.where((any_v != 0.0) | (total != 0.0), each, 0.0)
            off += np.where(np.minimum(up, down) >= each, each, np.inf)
        return off

    def _dual(
        self, at: PathPoints, sums: _Sums, blurred: FloatArray, i: IntArray, j: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
        """The coefficients of D, (3, k), how far they may be off by rounding, and the size of its terms: (k,)."""
        rows, soft, lower, terms = self.rows, ~self.hard, sums.dual, sums.terms
        if soft.any():
            h = (rows.E[:, soft].T @ at.v - at.e[soft]) / np.sqrt(rows.ridge[soft])[:, None]
            lower = lower - 0.5 * np.stack([(h[:, a] * h[:, b]).sum(axis=0) for a, b in ((i, i), (i, j), (j, j))])
            terms = terms + np.square(h).sum(axis=0)
        blur = blurred + gamma(rows.m + 10) * terms
        return lower, np.maximum(blur[i], blur[j]), np.minimum(terms[i], terms[j])


def _ratios(upper: FloatArray, lower: FloatArray, blur: FloatArray, floor: FloatArray) -> FloatArray:
    """(BETWEEN.3) from the coefficients of P − D and of D, (3, …, k) each: (…, k)."""
    largest = upper.max(axis=0)
    one_sign = (lower > 0.0).all(axis=0) | (lower < 0.0).all(axis=0)
    size = np.maximum(np.where(one_sign, np.abs(lower).min(axis=0) - blur, 0.0), floor)
    found = np.divide(largest, size, out=np.full(largest.shape, np.inf), where=size > 0.0)
    return np.where(largest == 0.0, 0.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf))


def _parts(coefficients: FloatArray) -> FloatArray:
    """The Bernstein coefficients (3, k) of parabolas on each of the `PARTS` of their piece: (3, parts, k)."""
    first, middle, last = coefficients
    a, b = PARTS[:-1, None], PARTS[1:, None]

    def blossom(u: FloatArray, v: FloatArray) -> FloatArray:
        return np.asarray((1 - u) * (1 - v) * first + ((1 - u) * v + u * (1 - v)) * middle + u * v * last)

    with np.errstate(invalid="ignore"):
        return np.stack([blossom(a, a), blossom(a, b), blossom(b, b)])
