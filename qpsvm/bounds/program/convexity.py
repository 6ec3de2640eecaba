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
from qpsvm.base.arrays.rounding import EPS, FEW_ROUNDINGS, ROUNDED, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.program.enclosures import as_exact, multiply_enclosed

#: Largest number of variables for which fractions are fast enough.
FRACTION_LIMIT = 24
#: Shifts t of (CONVEX.5), tried in decreasing order: their sums with a diagonal in [½, 2] are exact.
SHIFTS = (
    *(2.0**-k for k in (*range(3, 43, 4), *range(43, 52))),
    0.0,
    *(-(2.0**-k) for k in range(51, 30, -2)),
)
#: The diagonal of M is below 2, so a larger entry makes a 2 × 2 minor negative: P is not semidefinite.
LARGEST_ENTRY = 2.0


class Convexity:
    """(CONVEX.1) of a dense symmetric matrix.

    P (n, n): The floats of the matrix.
    entry_error: Bound of the distance of each exact entry from its float.
    support (k,): The variables whose rows are not 0.
    scale (k,): s of (CONVEX.3), over the support.
    is_regular: Whether M has a positive diagonal and no entry above `LARGEST_ENTRY`; otherwise P is indefinite.
    """

    def __init__(self, P: FloatArray, entry_error: float = 0.0) -> None:
        self.P = P
        self.entry_error = entry_error
        self.support = np.flatnonzero(np.abs(P).max(axis=1, initial=0.0) > 0.0)
        diagonal = np.diagonal(P)[self.support]
        self.scale = np.ldexp(1.0, -(np.frexp(np.where(diagonal > 0.0, diagonal, 1.0))[1] // 2))
        self.is_regular = bool((diagonal > 0.0).all()) and bool((np.abs(self.scaled) <= LARGEST_ENTRY).all())

    @cached
    def scaled(self) -> FloatArray:
        """M of (CONVEX.3), over the support: (k, k)."""
        return self.P[np.ix_(self.support, self.support)] * np.outer(self.scale, self.scale)

    @cached
    def scaled_error(self) -> float:
        """Error bound of the entries of M."""
        return self.entry_error * float(self.scale.max(initial=0.0)) ** 2

    @cached
    def curvature(self) -> FloatArray | None:
        """κ of (CONVEX.1), (n,): 0, or below 0 if P is semidefinite up to rounding only; None if P is indefinite."""
        kappa = np.zeros(len(self.P))
        if not self.is_regular:
            return None
        M, entry_error = self.scaled, self.scaled_error
        if is_positive_definite(M, entry_error) or (not entry_error and (is_dominant(M) or is_semidefinite(M))):
            return kappa
        shift = 4.0 * _cholesky_loss(M, entry_error)
        if _factor(M, -shift) is None:
            return None
        kappa[self.support] = -shift * FEW_ROUNDINGS / self.scale**2
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
        """κ of (CONVEX.1), (n,): positive in the support if that can be proven, otherwise 0."""
        kappa = np.zeros(len(self.P))
        if self.is_regular:
            kappa[self.support] = max(self.least_eigenvalue, 0.0) / self.scale**2
        return kappa

    @cached
    def least_eigenvalue(self) -> float:
        """Lower bound of λ_min(M), (CONVEX.3); −∞ if none was found."""
        M, entry_error = self.scaled, self.scaled_error
        if not len(M):
            return 0.0
        loss = (_cholesky_loss(M, entry_error) + EPS * float(np.abs(np.diagonal(M)).max())) * FEW_ROUNDINGS
        low = 0
        high = len(SHIFTS)
        while low < high:  # bisection for the first shift at which a factor exists
            middle = (low + high) // 2
            if _factor(M, SHIFTS[middle]) is not None:
                high = middle
            else:
                low = middle + 1
        best = -math.inf
        for shift in SHIFTS[low : low + 3]:
            L = _factor(M, shift)
            if L is None:
                continue
            if shift > 4.0 * loss:
                return float(shift - loss)
            shifted = M.copy()
            shifted[np.diag_indices(len(M))] -= shift
            diagonal_rounding = 2.0**-51 if shift < 0.0 else 0.0  # a sum above 2 is rounded
            best = max(
                best,
                shift - (bound_residual_norm(shifted, L) + len(M) * entry_error + diagonal_rounding) * FEW_ROUNDINGS,
            )
        return best

    def find_negative_direction(self) -> tuple[FloatArray, float] | None:
        """Return a direction (n,) with (CONVEX.7), and dᵀPd in floats; None if no such direction is certain."""
        d = self._find_likely_direction()
        Pd = multiply_enclosed(self.P, as_exact(d))
        value, rounding = dot_with_bound(d, Pd.value)
        rounding += float(np.abs(d) @ Pd.radius) + self.entry_error * float(np.abs(d).sum()) ** 2
        return (d, value) if value + rounding * FEW_ROUNDINGS < 0.0 else None

    def _find_likely_direction(self) -> FloatArray:
        """Find the direction (n,) that most likely satisfies (CONVEX.7), by the first of four rules that applies.

        A negative diagonal entry; a diagonal entry 0 in a row that is not 0; an entry of M above `LARGEST_ENTRY`; the
        eigenvector of the smallest eigenvalue of M.
        """
        diagonal = np.diagonal(self.P)
        d = np.zeros(len(self.P))
        j = int(np.argmin(diagonal))
        if diagonal[j] < 0.0:
            d[j] = 1.0
            return d
        if (diagonal[self.support] == 0.0).any():
            j = int(self.support[np.flatnonzero(diagonal[self.support] == 0.0)[0]])
            i = int(np.argmax(np.abs(self.P[j])))
            d[i] = abs(self.P[i, j])
            d[j] = -math.copysign(diagonal[i] or 1.0, self.P[i, j])
            d /= max(abs(d[i]), abs(d[j]))
            return d
        if not self.is_regular:
            a, b = divmod(int(np.argmax(np.abs(self.scaled))), len(self.scaled))
            d[self.support[a]] = self.scale[a]
            d[self.support[b]] = -math.copysign(self.scale[b], self.scaled[a, b])
            d /= np.abs(d).max()
            return d
        vector = np.linalg.eigh(self.scaled)[1][:, 0] * self.scale
        d[self.support] = vector / np.abs(vector).max()
        return d


def _cholesky_loss(M: FloatArray, entry_error: float) -> float:
    """Return c of (CONVEX.4), plus the effect of errors of at most `entry_error` in the entries."""
    share = gamma(len(M) + 2)
    return share / (1.0 - share) * float(np.abs(np.diagonal(M)).sum()) * FEW_ROUNDINGS + 2.0 * len(M) * (
        entry_error + UNDERFLOW
    )


def _factor(M: FloatArray, shift: float) -> FloatArray | None:
    """Return the floating-point Cholesky factor of M − shift·I; None if Cholesky fails."""
    shifted = M.copy()
    shifted[np.diag_indices(len(M))] -= shift
    try:
        return np.asarray(np.linalg.cholesky(shifted), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def is_positive_definite(P: FloatArray, entry_error: float = 0.0) -> bool:
    """Return whether (CONVEX.4) proves that a symmetric matrix (n, n) is positive definite.

    entry_error: Bound of the errors of the entries.
    """
    if not len(P):
        return True
    rounding = EPS * float(np.abs(np.diagonal(P)).max())  # rounding of the subtraction
    return _factor(P, (_cholesky_loss(P, entry_error) + rounding) * FEW_ROUNDINGS) is not None


def is_semidefinite(P: FloatArray) -> bool:
    """Return whether LDLᵀ in fractions proves P (n, n) semidefinite, (CONVEX.6); False for too many variables."""
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
    """Return whether P (n, n) is diagonally dominant, (CONVEX.6).

    The test in floats rejects most matrices; `math.fsum` rounds only once, so its sign is exact.
    """
    signed = np.abs(P)
    signed[np.diag_indices(len(P))] = -np.diagonal(P)
    if (signed.sum(axis=1) > ROUNDED * np.abs(np.diagonal(P))).any():
        return False
    return all(math.fsum(row) <= 0.0 for row in signed.tolist())


def bound_residual_norm(M: FloatArray, L: FloatArray) -> float:
    """Bound ‖M − LLᵀ‖₂ of symmetric M (n, n) from above.

    L is split into a high and a low part, such that the product of the high parts has no rounding.
    """
    n = len(M)
    largest_entry = float(np.abs(L).max())
    bits = (51 - n.bit_length()) // 2
    unit = math.ldexp(1.0, math.frexp(largest_entry)[1] - bits)
    high = np.round(L / unit) * unit
    low = L - high
    main_residual = M - high @ high.T
    mixed = high @ low.T
    residual = main_residual - (mixed + mixed.T + low @ low.T)
    high_norms = np.sqrt((high * high).sum(axis=1))
    low_norms = np.sqrt((low * low).sum(axis=1))
    rounding = gamma(n + 8) * (2.0 * np.outer(high_norms, low_norms) + np.outer(low_norms, low_norms))
    rounding += EPS * np.abs(main_residual)
    rounding_norm = (float(np.linalg.norm(rounding)) + n * UNDERFLOW) * FEW_ROUNDINGS
    square = residual @ residual  # ‖R‖₂² = ‖R²‖₂ ≤ ‖R²‖_F
    squared_norm = float(np.linalg.norm(square)) + gamma(n + 4) * float(np.linalg.norm(residual)) ** 2
    return (math.sqrt(squared_norm * FEW_ROUNDINGS) + rounding_norm) * FEW_ROUNDINGS
