"""Prove a lower bound of the curvature of a quadratic form, or find a direction of negative curvature (`Convexity`).

    (CONVEX.1)  P − diag(κ) is positive semidefinite:  f(x) ≥ f(u) + ∇f(u)ᵀ(x − u) + ½Σ_j κ_j (x_j − u_j)²
    (CONVEX.2)  for a factor, P = ZZᵀ + diag(d):  κ = d
    (CONVEX.3)  M = SPS with s_j a power of 2 near P_jj^−½ has no rounding; κ = λ/s² where λ ≤ λ_min(M)
    (CONVEX.4)  M is positive definite if floating-point Cholesky succeeds for M − cI, with
                c = γ_{n+2} trace(M)/(1 − γ_{n+2})
    (CONVEX.5)  λ_min(M) ≥ t − ‖M − tI − LLᵀ‖ for any L and t; the norm is small for a floating-point Cholesky factor L
    (CONVEX.6)  P is positive semidefinite if its LDLᵀ in fractions has no negative pivot, or if each diagonal entry
                is at least the sum of the absolute values of the others in its row (Gershgorin)
    (CONVEX.7)  P is not positive semidefinite if dᵀPd < 0 for some d

Sources: Rump, *Verification of positive definiteness*, BIT 46 (2006), for (CONVEX.4); Higham, *Accuracy and Stability
of Numerical Algorithms* (2002), section 10.1, for the norm in (CONVEX.5).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW, dot_with_bound
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import FEW, ROUNDED, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.program.near import as_exact, product

#: Largest number of variables for which fractions are fast enough.
FRACTION_LIMIT = 24
#: Shifts t of (CONVEX.5), tried in decreasing order: their sums with a diagonal in [½, 2] are exact.
SHIFTS = (
    *(2.0**-k for k in (*range(3, 43, 4), *range(43, 52))), 0.0, *(-(2.0**-k) for k in range(51, 30, -2)),
)  # fmt: skip
#: A larger entry of M shows that P is not semidefinite: each 2 × 2 minor has a diagonal below 2.
LARGEST_ENTRY = 2.0


class Convexity:
    """(CONVEX.1) of a dense symmetric matrix (n, n), whose exact entries are at most `off` from its floats."""

    def __init__(self, P: FloatArray, off: float = 0.0) -> None:
        self.P, self.off = P, off
        self.support = np.flatnonzero(np.abs(P).max(axis=1, initial=0.0) > 0.0)
        diagonal = np.diagonal(P)[self.support]
        self.scale = np.ldexp(1.0, -(np.frexp(np.where(diagonal > 0.0, diagonal, 1.0))[1] // 2))
        self.regular = bool((diagonal > 0.0).all()) and bool((np.abs(self.scaled) <= LARGEST_ENTRY).all())

    @cached
    def scaled(self) -> FloatArray:
        """M of (CONVEX.3), over the variables whose rows are not 0."""
        return self.P[np.ix_(self.support, self.support)] * np.outer(self.scale, self.scale)

    @cached
    def scaled_error(self) -> float:
        """Error bound of the entries of M."""
        return self.off * float(self.scale.max(initial=0.0)) ** 2

    @cached
    def curvature(self) -> FloatArray | None:
        """κ of (CONVEX.1), (n,): 0, or below 0 if P is semidefinite up to rounding only; None if P is indefinite."""
        kappa = np.zeros(len(self.P))
        if not self.regular:
            return None
        M, off = self.scaled, self.scaled_error
        if is_positive_definite(M, off) or (not off and (is_dominant(M) or is_semidefinite(M))):
            return kappa
        less = 4.0 * _cholesky_loss(M, off)
        if _factor(M, -less) is None:
            return None
        kappa[self.support] = -less * FEW / self.scale**2
        return kappa

    @cached
    def sharp_curvature(self) -> FloatArray | None:
        """`curvature`, as close to 0 as can be proven."""
        kappa = self.curvature
        if kappa is None or not kappa.any():
            return kappa
        sharper_kappa = np.zeros(len(self.P))
        sharper_kappa[self.support] = min(self.least_eigenvalue, 0.0) / self.scale**2
        return np.maximum(kappa, sharper_kappa)

    @cached
    def strict_curvature(self) -> FloatArray:
        """κ of (CONVEX.1), (n,), positive wherever that can be proven."""
        kappa = np.zeros(len(self.P))
        if self.regular:
            kappa[self.support] = max(self.least_eigenvalue, 0.0) / self.scale**2
        return kappa

    @cached
    def least_eigenvalue(self) -> float:
        """Lower bound of λ_min(M), (CONVEX.3); −∞ if none was found."""
        M, off = self.scaled, self.scaled_error
        if not len(M):
            return 0.0
        loss = (_cholesky_loss(M, off) + 2.0**-52 * float(np.abs(np.diagonal(M)).max())) * FEW
        places = range(len(SHIFTS))
        low, high = 0, len(places)
        while low < high:  # the first shift at which a factor exists
            middle = (low + high) // 2
            low, high = (low, middle) if _factor(M, SHIFTS[middle]) is not None else (middle + 1, high)
        best = -math.inf
        for shift in SHIFTS[low : low + 3]:
            L = _factor(M, shift)
            if L is None:
                continue
            if shift > 4.0 * loss:
                return float(shift - loss)
            shifted = M.copy()
            shifted[np.diag_indices(len(M))] -= shift
            off_diagonal = 2.0**-51 if shift < 0.0 else 0.0  # a sum above 2 is rounded
            best = max(best, shift - (residual_norm(shifted, L) + len(M) * off + off_diagonal) * FEW)
        return best

    def negative_direction(self) -> tuple[FloatArray, float] | None:
        """Return a direction (n,) with (CONVEX.7), and dᵀPd in floats; None if no such direction is certain."""
        for d in self._candidates():
            curved = product(self.P, as_exact(d))
            value, rounding = dot_with_bound(d, curved.value)
            rounding += float(np.abs(d) @ curved.radius) + self.off * float(np.abs(d).sum()) ** 2
            if value + rounding * FEW < 0.0:
                return d, value
        return None

    def _candidates(self) -> list[FloatArray]:
        """Return directions (n,) that may satisfy (CONVEX.7)."""
        diagonal, n = np.diagonal(self.P), len(self.P)
        unit = np.zeros(n)
        j = int(np.argmin(diagonal))
        if diagonal[j] < 0.0:
            unit[j] = 1.0
            return [unit]
        if (diagonal[self.support] == 0.0).any():  # in a row that is not 0
            j = int(self.support[np.flatnonzero(diagonal[self.support] == 0.0)[0]])
            i = int(np.argmax(np.abs(self.P[j])))
            unit[i], unit[j] = abs(self.P[i, j]), -math.copysign(diagonal[i] or 1.0, self.P[i, j])
            return [unit / max(abs(unit[i]), abs(unit[j]))]
        if not self.regular:
            a, b = divmod(int(np.argmax(np.abs(self.scaled))), len(self.scaled))
            unit[self.support[a]], unit[self.support[b]] = (
                self.scale[a],
                -math.copysign(self.scale[b], self.scaled[a, b]),
            )
            return [unit / np.abs(unit).max()]
        vector = np.linalg.eigh(self.scaled)[1][:, 0] * self.scale
        unit[self.support] = vector / np.abs(vector).max()
        return [unit]


def _cholesky_loss(M: FloatArray, off: float) -> float:
    """Return c of (CONVEX.4), plus the effect of errors of at most `off` of the entries."""
    share = gamma(len(M) + 2)
    return share / (1.0 - share) * float(np.abs(np.diagonal(M)).sum()) * FEW + 2.0 * len(M) * (off + UNDERFLOW)


def _factor(M: FloatArray, shift: float) -> FloatArray | None:
    """Return the floating-point Cholesky factor of M − shift·I; None if Cholesky fails."""
    shifted = M.copy()
    shifted[np.diag_indices(len(M))] -= shift
    try:
        return np.asarray(np.linalg.cholesky(shifted), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def is_positive_definite(P: FloatArray, off: float = 0.0) -> bool:
    """Return whether (CONVEX.4) proves a symmetric matrix (n, n), with errors of at most `off`, positive definite."""
    if not len(P):
        return True
    rounding = 2.0**-52 * float(np.abs(np.diagonal(P)).max())  # rounding of the subtraction
    return _factor(P, (_cholesky_loss(P, off) + rounding) * FEW) is not None


def is_semidefinite(P: FloatArray) -> bool:
    """Return whether P is semidefinite by LDLᵀ in fractions, (CONVEX.6); False for too many variables."""
    if len(P) > FRACTION_LIMIT:
        return False
    rows = [[Fraction(value) for value in row] for row in P.tolist()]
    while rows:
        pivot_row = max(range(len(rows)), key=lambda i: rows[i][i])
        pivot = rows[pivot_row][pivot_row]
        if pivot <= 0:
            return pivot == 0 and not any(value for row in rows for value in row)
        head = rows.pop(pivot_row)
        for row in rows:
            factor = row[pivot_row] / pivot
            row[:] = [a - factor * b for k, (a, b) in enumerate(zip(row, head, strict=True)) if k != pivot_row]
    return True


def is_dominant(P: FloatArray) -> bool:
    """Return whether P is diagonally dominant, (CONVEX.6); `math.fsum` rounds only once, so its sign is exact."""
    signed = np.abs(P)
    signed[np.diag_indices(len(P))] = -np.diagonal(P)
    if (signed.sum(axis=1) > ROUNDED * np.abs(np.diagonal(P))).any():
        return False
    return all(math.fsum(row) <= 0.0 for row in signed.tolist())


def residual_norm(M: FloatArray, L: FloatArray) -> float:
    """Bound ‖M − LLᵀ‖₂ of symmetric M (n, n) from above.

    L is split into a high and a low part, such that the product of the high parts is exact.
    """
    n = len(M)
    largest_entry = float(np.abs(L).max())
    bits = (51 - n.bit_length()) // 2
    unit = math.ldexp(1.0, math.frexp(largest_entry)[1] - bits)
    high = np.round(L / unit) * unit
    low = L - high
    first = M - high @ high.T
    mixed = high @ low.T
    residual = first - (mixed + mixed.T + low @ low.T)
    sizes, small = np.sqrt((high * high).sum(axis=1)), np.sqrt((low * low).sum(axis=1))
    rounding = gamma(n + 8) * (2.0 * np.outer(sizes, small) + np.outer(small, small)) + 2.0**-52 * np.abs(first)
    off = (float(np.linalg.norm(rounding)) + n * UNDERFLOW) * FEW
    square = residual @ residual  # ‖R‖₂² = ‖R²‖₂ ≤ ‖R²‖_F
    size = float(np.linalg.norm(square)) + gamma(n + 4) * float(np.linalg.norm(residual)) ** 2
    return (math.sqrt(size * FEW) + off) * FEW
