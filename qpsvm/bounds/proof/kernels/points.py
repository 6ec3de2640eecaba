"""Evaluate ⟨w, φ(x_i)⟩ = Σ_j c_j K_ij with radii, in blocks that fit the cache.

    (KSUM.1)  û_i = Σ_j c_j K̂_ij, a sum of at most `MAX_WIDTH` terms a block, the blocks one after the other:  off by
              γ_k Σ|c_j||K̂_ij| for k = WIDTH + blocks + 1, and by Σ_j |c_j| times the radii of the values
    (KSUM.2)  these are sums with K̂ once more: Σ|c_j||K̂_ij|(c + e_i + e_j) + t_i Σ|c_j| t_j
    (KSUM.3)  |vᵀKw| ≤ N(v)N(w),  N(v) = Σ|v_j| sizes_j, whether K is positive semidefinite or not
    (KSUM.4)  with δ = c − β:  ½βᵀKβ = ½cᵀKc − δᵀKc + ½δᵀKδ, where cᵀKc = Σc_i u_i, δᵀKc = Σδ_i u_i
    (KSUM.5)  δᵀKδ ≤ N(δ)²; where δ is no rounding, it is measured as cᵀKc is

Values between support vectors are made once for both sides. Only columns with c_j ≠ 0 are made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW, dot_with_bound, two_sum
from qpsvm.base.arrays.rounding import FEW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels.definite import MOST_ROWS, Definiteness, definiteness
from qpsvm.bounds.proof.kernels.exact import exact_values, sharp_sums
from qpsvm.bounds.proof.kernels.values import COLUMNS, ROWS, KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.space.kernels.functions import RBF, Kernel, Polynomial, Sigmoid

#: Terms of one sum.
WIDTH = max(ROWS, COLUMNS)
#: δ of (KSUM.5) is a rounding where N(δ) is less than this share of N(c).
ROUNDING = 1e-10


class KernelSpace(Space):
    """The points of a kernel machine.

    values: K over them.
    """

    def __init__(self, values: KernelValues) -> None:
        self.kernel_values = values
        self.n = values.n

    def measure(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """(KSUM.1) to (KSUM.5)."""
        assert held.coef is not None
        with np.errstate(all="ignore"):
            return self._measure_coef(held.coef, beta, beta_radius)

    def _measure_coef(self, coef: FloatArray, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        values = self.kernel_values
        off = coef - beta  # δ
        lost = beta_radius + UNIT * np.abs(off)
        size, rest = self._norm(off), self._norm(lost)
        real = size > ROUNDING * self._norm(coef)  # δ is no rounding
        support = np.flatnonzero((coef != 0.0) | (off != 0.0) if real else coef)
        columns = [coef, off] if real else [coef]
        sums, radii = _sums(values, support, np.column_stack([column[support] for column in columns]))
        u, radius = sums[:, 0], radii[:, 0]
        square, spread = _form(coef, u, radius)
        cross, cross_spread = _form(off, u, radius)
        cross_spread += float(lost @ (np.abs(u) + radius)) * (1.0 + gamma(self.n + 2))
        far = size * size * FEW
        low = -far
        if real:
            own, own_spread = _form(off, sums[:, 1], radii[:, 1])
            far, low = min(far, (own + own_spread) * FEW), max(low, own - own_spread * FEW)
        extra = (2.0 * size + rest) * rest * FEW  # of δ ± lost
        extra += UNDERFLOW if size or rest else 0.0
        far, low = max(far, 0.0) + extra, min(low, 0.0) - extra
        low = 0.0 if values.definite or not (size or rest) else low * FEW
        half = _widen_interval(0.5 * square, 0.5 * spread)
        own_half = _widen_interval(0.5 * square - cross, 0.5 * spread + cross_spread, (low * 0.5, far * 0.5))
        apart = math.sqrt(far) * FEW if far >= 0.0 else math.inf
        floor = 0.0 if values.definite else -math.inf
        return SpaceMeasurement(
            PointValues(u, np.zeros(self.n), radius), apart,
            (max(half[0], floor), half[1]), (max(own_half[0], floor), own_half[1]), 0.5 * low,
        )  # fmt: skip

    def _norm(self, v: FloatArray) -> float:
        """N(v) of (KSUM.3) from above."""
        return float(np.abs(v) @ self.kernel_values.sizes) * (1.0 + gamma(self.n + 2))

    def refine_values(self, held: Primal, points: IntArray) -> PointValues | None:
        """By (KTWO.4)."""
        assert held.coef is not None
        support = np.flatnonzero(held.coef)
        return sharp_sums(self.kernel_values, points, support, held.coef[support])

    def refine_distance(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Bound (KSUM.5), measured in double-double."""
        assert held.coef is not None
        off, low = two_sum(held.coef, -beta)
        support = np.flatnonzero(off)
        found = sharp_sums(self.kernel_values, support, support, off[support])
        if found is None:
            return None
        square, spread = dot_with_bound(np.tile(off[support], 2), np.concatenate([found.high, found.low]))
        spread += float(np.abs(off[support]) @ found.radius) * (1.0 + gamma(len(support) + 2))
        lost = self._norm(beta_radius + np.abs(low))
        far = max(square + spread * FEW, 0.0) * FEW + (2.0 * self._norm(off) + lost) * lost * FEW + UNDERFLOW
        return math.sqrt(far) * FEW

    def exact(self, held: Primal, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """By (KRAT.1) to (KRAT.4)."""
        assert held.coef is not None
        return exact_values(self.kernel_values, held.coef, beta, most)

    def definiteness(self, plane: bool) -> Definiteness:
        """By construction, or by a factor, (DEF.1)."""
        if self.kernel_values.definite:
            return Definiteness(0.0, built=True)
        if self.n > MOST_ROWS:
            return Definiteness(math.inf)
        return definiteness(*self.kernel_values.full_matrix(), plane)


def kernel_space(kernel: Kernel, X: Matrix) -> KernelSpace:
    """The points X (n, d) of one of the library's kernels that is a function of them. Raises UnsupportedError."""
    if isinstance(kernel, RBF):
        return KernelSpace(RBFValues(kernel, X))
    if isinstance(kernel, (Polynomial, Sigmoid)):
        return KernelSpace(ProductValues(kernel, X))
    raise UnsupportedError(f"the kernel {kernel} is no function that a proof knows; its matrix can be proven about")


def matrix_space(K: FloatArray) -> KernelSpace:
    """The points of a kernel matrix (n, n), these floats exactly."""
    return KernelSpace(MatrixValues(K))


def _sums(values: KernelValues, support: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Kc for some vectors c at once, and radii, (n, q) each, by (KSUM.1) and (KSUM.2): support (s,), weights (s, q)."""
    n, (s, q) = values.n, weights.shape
    others = np.ones(n, dtype=bool)
    others[support] = False
    order = np.concatenate([support, np.flatnonzero(others)])
    block, sizes = values.make_block_function(order, s), np.abs(weights)
    absolute = np.hstack([sizes, values.exponent[support, None] * sizes])
    found, added, more = np.zeros((n, q)), np.zeros((n, 2 * q)), np.zeros((n, q))

    def add_block(K: FloatArray, extra: FloatArray | None, rows: slice, columns: slice) -> None:
        found[rows] += K @ weights[columns]
        added[rows] += np.abs(K) @ absolute[columns]
        if extra is not None:
            more[rows] += extra @ sizes[columns]

    for first, last in ((0, s), (s, n)):
        for top in range(first, last, ROWS):
            rows = slice(top, min(top + ROWS, last))
            for left in range(top if first < s else 0, s, COLUMNS):
                columns = slice(left, min(left + COLUMNS, s))
                K, extra = block(rows, columns)
                add_block(K, extra, rows, columns)
                behind = slice(max(rows.stop, left), columns.stop)  # of the support, the other side of the diagonal
                if first < s and behind.start < behind.stop:
                    skipped = behind.start - left
                    add_block(K[:, skipped:].T, None if extra is None else extra[:, skipped:].T, behind, rows)
    terms = min(s, WIDTH) + s // ROWS + s // COLUMNS + 4
    radii = added[:, :q] * (gamma(terms + 2) + (values.relative + values.exponent[order])[:, None]) + added[:, q:]
    floors = (values.floor[support] @ sizes) * (1.0 + gamma(s + 2))
    radii += values.floor[order, None] * floors + more + s * UNDERFLOW
    radii *= (1.0 + gamma(terms + 8)) * FEW
    back = np.argsort(order)
    return found[back], np.where(np.isnan(radii), np.inf, radii)[back]


def _form(v: FloatArray, u: FloatArray, radius: FloatArray) -> tuple[float, float]:
    """Σ v_i u_i of u_i ± radius_i, and how far that may be off."""
    support = np.flatnonzero(v)
    found, spread = dot_with_bound(v[support], u[support])
    inherited = float(np.abs(v[support]) @ radius[support]) * (1.0 + gamma(len(support) + 2))
    return found, (spread + inherited) * FEW


def _widen_interval(middle: float, spread: float, more: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
    """Enclose a number within a spread of a float, plus a term between two numbers: from below and above."""
    low, high = middle - spread + more[0], middle + spread + more[1]
    slack = 4.0 * UNIT * (abs(middle) + spread + abs(more[0]) + abs(more[1]))
    low, high = low - slack, high + slack
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
