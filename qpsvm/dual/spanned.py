"""How far w(α) is from a w over few samples: from n·r kernel values, where α has many more than r support vectors.

Any w = Σ_j c_j φ(z_j) is a primal point, and (GAP.1) holds for it. Its f costs r kernel values a row; what is missing
is ‖w − w(α)‖, which seems to take all kernel values between support vectors. Instead each φ(x_i) is replaced by a
combination of the r pivots z, and what that leaves is bounded row by row:

    (SPAN.1)  w(α) = Σ_i β_i Σ_j A_ij φ(z_j) + Σ_i β_i ρ_i,  ρ_i = φ(x_i) − Σ_j A_ij φ(z_j):  true for any numbers A
    (SPAN.2)  ‖w − w(α)‖ ≤ ‖Σ_j g_j φ(z_j)‖ + Σ_i |β_i| ‖ρ_i‖,  g = c − Aᵀβ
    (SPAN.3)  ‖ρ_i‖² = K_ii − ‖L_i‖² + ‖RᵀA_i − L_i‖² − 2 A_iᵀs_i + A_iᵀG A_i,  s_i = k_i − R L_i,  G = K_zz − RRᵀ

for the column k_i of kernel values between the pivots and x_i, and again any numbers R and L. With R the Cholesky
factor of K_zz, L_i = R⁻¹k_i and A_i = R⁻ᵀL_i, the last three terms of (SPAN.3) are rounding, which is measured here:
nothing is said about how R, L and A came about. s and G are added up in blocks of few columns, to be off by less.

    (SPAN.4)  |s_ij| ≤ σ_i τ_j,  |G_jk| ≤ g τ_j τ_k,  a_i = Σ_j |A_ij| τ_j:  the last two terms are ≤ 2 a_i σ_i + g a_i²

with the sizes τ_j ≥ ‖φ(z_j)‖ of (ACC.1). Derivation of (SPAN.3): ‖ρ_i‖² = K_ii − 2A_iᵀk_i + A_iᵀK_zz A_i; put in k_i and
K_zz, and complete the square.

Sources: Fine & Scheinberg (2001) for the low-rank dual; Higham (2002), sections 3.1 and 10.3.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack, solve_triangular

from qpsvm.arrays.rounding import UNIT, gamma
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.accuracy import FUNCTION_ROUNDINGS, Accuracy
from qpsvm.kernels.functions import RBF
from qpsvm.kernels.space import FeatureSpace

#: Rows worked on at a time, and columns that are added up in one product.
STRIP, COLUMNS = 1024, 32
#: Exponents of the RBF kernel are not below this: what is lost is e⁻⁶⁰ < 10⁻²⁶, and numbers that are hardly there take
#: fifty times as long.
LOWEST_EXPONENT = -60.0
#: Most pivots, and most as a share of the support vectors: otherwise the kernel values among those cost no more.
MOST_PIVOTS, MOST_SHARE = 4000, 0.5
#: A few roundings, where it does not pay to count them.
FEW = 1.0 + 64 * UNIT


class Span:
    """w(α) beside the span of some samples.

    Parameters
    ----------
    space : FeatureSpace
        Of a kernel that is not linear, neither centred nor repaired.
    beta : ndarray, shape (n,)
        β of α.
    pivots : ndarray of int, shape (r,)
        The samples z.

    Attributes
    ----------
    nearest : ndarray, shape (r,)
        Aᵀβ: the coefficients c of the w nearest to w(α), up to rounding.
    """

    def __init__(self, space: FeatureSpace, beta: FloatArray, pivots: IntArray) -> None:
        self.space, self.pivots, self.beta = space, pivots, beta
        accuracy = Accuracy(space)
        self._tau, self._sizes = accuracy.sizes(pivots), accuracy.sizes
        self._epsilon = self._differences_epsilon(space.samples.longest_row) if self._by_differences else accuracy.epsilon
        self._K = self._values(pivots)
        self._factor()
        self.nearest = np.zeros(len(pivots))
        self._left = self._most_left = self._moved = 0.0
        support = np.flatnonzero(beta)
        for start in range(0, len(support), STRIP):
            self._add(support[start : start + STRIP])

    @cached_property
    def _by_differences(self) -> bool:
        """Whether kernel values come from differences of samples, which do not cancel."""
        return isinstance(self.space.kernel, RBF) and not sp.issparse(self.space.X)

    @staticmethod
    def _differences_epsilon(d: int) -> float:
        """ε of (ACC.4)."""
        return gamma(d + 6) / math.e + FUNCTION_ROUNDINGS * UNIT + math.exp(LOWEST_EXPONENT)

    def _values(self, rows: IntArray) -> FloatArray:
        """Kernel values between rows and pivots, each known to ε of the sizes: (k, r)."""
        if not self._by_differences:
            return self.space.gram.block(rows, self.pivots)
        from scipy.spatial.distance import cdist

        X, kernel = self.space.X, self.space.kernel
        assert isinstance(kernel, RBF)
        exponents: FloatArray = cdist(X[rows], X[self.pivots], "sqeuclidean")
        exponents *= -float(kernel.gamma)
        return np.exp(np.maximum(exponents, LOWEST_EXPONENT, out=exponents), out=exponents)

    def _factor(self) -> None:
        """R of the pivots that are independent in floating point, and g of (SPAN.4)."""
        floor = (len(self.pivots) + 2) * 2.0 * UNIT * float(self._K.diagonal().max(initial=0.0))
        factor, order, rank, _ = lapack.dpstrf(self._K, tol=floor, lower=1)
        self._kept = order[: int(rank)] - 1
        self._R = np.tril(factor[: int(rank), : int(rank)])
        tau = self._tau[self._kept]
        self._stretch = float((np.linalg.norm(self._R, axis=1) / tau).max(initial=0.0)) * (1.0 + gamma(len(tau) + 4))
        G = np.abs(_residual(self._K[np.ix_(self._kept, self._kept)], self._R, self._R)) / (tau * tau[:, None])
        self._g = (float(G.max(initial=0.0)) + self._few * (1.0 + self._stretch**2) + self._epsilon) * FEW

    @property
    def _few(self) -> float:
        """γ of a sum that is added up in blocks of columns."""
        return gamma(COLUMNS + len(self._kept) // COLUMNS + 6)

    def _add(self, rows: IntArray) -> None:
        """What some rows add to (SPAN.2)."""
        tau, size, weight = self._tau[self._kept], self._sizes(rows), np.abs(self.beta[rows])
        k = self._values(rows)[:, self._kept]
        L = solve_triangular(self._R, k.T, lower=True, check_finite=False).T
        A = solve_triangular(self._R, L.T, lower=True, trans=1, check_finite=False).T
        length2 = np.zeros(len(rows))
        for start in range(0, L.shape[1], COLUMNS):
            part = L[:, start : start + COLUMNS]
            length2 += np.einsum("ij,ij->i", part, part)
        length = np.sqrt(length2) * FEW
        sigma = np.abs(_residual(k, L, self._R) / tau).max(axis=1, initial=0.0)
        sigma += self._few * (size + length * self._stretch) + self._epsilon * size
        spread = np.abs(A) @ tau * (1.0 + gamma(len(tau) + 4))  # a
        apart = np.linalg.norm(A @ self._R - L, axis=1) * (1.0 + gamma(len(tau) + 4))
        apart += gamma(len(tau) + 4) * (spread * self._stretch + length)
        diagonal = self.space.kernel.diagonal(self.space.X[rows])
        rest = diagonal - length2
        off = self._epsilon * size**2 + self._few * (np.abs(diagonal) + length2) + apart**2
        off += spread * (2.0 * sigma + spread * self._g)
        self._left += float(weight @ np.sqrt(np.maximum(rest, 0.0)))
        self._most_left += float(weight @ np.sqrt(np.maximum(rest + off * FEW, 0.0)))
        self._moved += float(weight @ spread)
        self.nearest[self._kept] += self.beta[rows] @ A

    def distance(self, coef: FloatArray) -> tuple[float, float]:
        """‖w − w(α)‖ of (SPAN.2) for w = Σ_j c_j φ(z_j), c (r,): as measured, and by how much it may be more."""
        g = coef - self.nearest
        square = max(float(g @ (self._K @ g)), 0.0)
        size = float(np.abs(g) @ self._tau) * (1.0 + gamma(len(g) + 4))
        most = math.sqrt(square + (gamma(2 * len(g) + 8) + self._epsilon) * size * size) + 2.0 * UNIT * size
        summed = gamma(len(self.beta) + 8)
        most += summed * self._moved * FEW + self._most_left * (1.0 + summed)
        measured = math.sqrt(square) + self._left
        return measured, (most - measured) * FEW + 4.0 * UNIT * most


def _residual(K: FloatArray, L: FloatArray, R: FloatArray) -> FloatArray:
    """K − LRᵀ for a lower triangular R (q, q), K and L (k, q), off by γ_(COLUMNS + q/COLUMNS) of the sum of sizes."""
    left: FloatArray = np.array(K, order="C")
    for start in range(0, len(R), COLUMNS):
        stop = start + COLUMNS
        left[:, start:] -= L[:, start:stop] @ R[start:, start:stop].T
    return left


def span_of(space: FeatureSpace, beta: FloatArray, coef: FloatArray) -> Span | None:
    """The span of the samples where coef (n,) is not 0; None where w(α) costs no more, or K is not the kernel's own."""
    pivots, support = np.flatnonzero(coef), int(np.count_nonzero(beta))
    if space.is_linear or not space.is_plain or not 0 < len(pivots) <= min(MOST_PIVOTS, MOST_SHARE * support):
        return None
    return Span(space, beta, pivots)


__all__ = ["Span", "span_of"]
