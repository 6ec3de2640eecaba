"""Prove a lower bound of the convexity of a quadratic form, or find a direction of negative curvature.

    (CONVEX.1)  P − diag(κ) is positive semidefinite:  f(x) ≥ f(u) + ∇f(u)ᵀ(x − u) + ½Σ_j κ_j (x_j − u_j)²
    (CONVEX.2)  of a factor, P = ZZᵀ + diag(d):  κ = d
    (CONVEX.3)  M = SPS with s_j a power of 2 next to P_jj^−½ has no rounding; κ = λ/s² where λ ≤ λ_min(M)
    (CONVEX.4)  M is positive definite where a Cholesky factor of M − cI exists in floats, for
                c = γ_{n+2} trace(M)/(1 − γ_{n+2})
    (CONVEX.5)  λ_min(M) ≥ t − ‖M − tI − LLᵀ‖ for any L and t: a Cholesky factor in floats leaves next to nothing
    (CONVEX.6)  P is positive semidefinite where its LDLᵀ in fractions has no negative pivot, and where each diagonal
                entry is at least the sum of its row's others (Gershgorin)
    (CONVEX.7)  it is not where dᵀPd < 0 for some d

Sources: Rump, *Verification of positive definiteness*, BIT 46 (2006), for (CONVEX.4); Higham, *Accuracy and Stability
of Numerical Algorithms* (2002), section 10.1, for what (CONVEX.5) leaves.
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

#: Up to this many variables fractions are quick.
FRACTION_LIMIT = 24
#: Shifts t of (CONVEX.5) that are tried, from the largest: sums of them and a diagonal in [½, 2] have no rounding.
SHIFTS = (
    *(2.0**-k for k in (*range(3, 43, 4), *range(43, 52))), 0.0, *(-(2.0**-k) for k in range(51, 30, -2)),
)  # fmt: skip
#: An entry of M that is larger shows that P is not semidefinite: each 2 × 2 minor has a diagonal below 2.
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
        """κ of (CONVEX.1), (n,): 0, or below 0 where P is semidefinite but for rounding; None where it is not."""
        found = np.zeros(len(self.P))
        if not self.regular:
            return None
        M, off = self.scaled, self.scaled_error
        if is_positive_definite(M, off) or (not off and (is_dominant(M) or is_semidefinite(M))):
            return found
        less = 4.0 * _cholesky_loss(M, off)
        if _factor(M, -less) is None:
            return None
        found[self.support] = -less * FEW / self.scale**2
        return found

    @cached
    def sharp_curvature(self) -> FloatArray | None:
        """`curvature`, as near to 0 as can be shown."""
        found = self.curvature
        if found is None or not found.any():
            return found
        sharper = np.zeros(len(self.P))
        sharper[self.support] = min(self.least_eigenvalue, 0.0) / self.scale**2
        return np.maximum(found, sharper)

    @cached
    def strict_curvature(self) -> FloatArray:
        """κ of (CONVEX.1) above 0 wherever that can be shown, (n,)."""
        found = np.zeros(len(self.P))
        if self.regular:
            found[self.support] = max(self.least_eigenvalue, 0.0) / self.scale**2
        return found

    @cached
    def least_eigenvalue(self) -> float:
        """λ of (CONVEX.3), from below; −∞ where none was found."""
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
        """A direction (n,) with (CONVEX.7), and dᵀPd in floats; None where no such direction is certain."""
        for d in self._candidates():
            curved = product(self.P, as_exact(d))
            value, rounding = dot_with_bound(d, curved.value)
            rounding += float(np.abs(d) @ curved.radius) + self.off * float(np.abs(d).sum()) ** 2
            if value + rounding * FEW < 0.0:
                return d, value
        return None

    def _candidates(self) -> list[FloatArray]:
        """Directions that may have (CONVEX.7), (n,) each."""
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
    """c of (CONVEX.4), with what the entries are off."""
    share = gamma(len(M) + 2)
    return share / (1.0 - share) * float(np.abs(np.diagonal(M)).sum()) * FEW + 2.0 * len(M) * (off + UNDERFLOW)


def _factor(M: FloatArray, shift: float) -> FloatArray | None:
    """The Cholesky factor of M − shift·I in floats, where there is one."""
    shifted = M.copy()
    shifted[np.diag_indices(len(M))] -= shift
    try:
        return np.asarray(np.linalg.cholesky(shifted), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def is_positive_definite(P: FloatArray, off: float = 0.0) -> bool:
    """(CONVEX.4) of a symmetric matrix (n, n); `off` is what its entries are off."""
    if not len(P):
        return True
    rounding = 2.0**-52 * float(np.abs(np.diagonal(P)).max())  # of the subtraction
    return _factor(P, (_cholesky_loss(P, off) + rounding) * FEW) is not None


def is_semidefinite(P: FloatArray) -> bool:
    """(CONVEX.6) in fractions, for few variables."""
    if len(P) > FRACTION_LIMIT:
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


def is_dominant(P: FloatArray) -> bool:
    """(CONVEX.6) by sums of rows. `math.fsum` rounds once, so that its sign is exact."""
    signed = np.abs(P)
    signed[np.diag_indices(len(P))] = -np.diagonal(P)
    if (signed.sum(axis=1) > ROUNDED * np.abs(np.diagonal(P))).any():
        return False
    return all(math.fsum(row) <= 0.0 for row in signed.tolist())


def residual_norm(M: FloatArray, L: FloatArray) -> float:
    """‖M − LLᵀ‖₂ of symmetric M (n, n) from above: L is split, so that the product of its larger parts is exact."""
    n = len(M)
    largest = float(np.abs(L).max())
    bits = (51 - n.bit_length()) // 2
    unit = math.ldexp(1.0, math.frexp(largest)[1] - bits)
    high = np.round(L / unit) * unit
    low = L - high
    first = M - high @ high.T
    mixed = high @ low.T
    rest = first - (mixed + mixed.T + low @ low.T)
    sizes, small = np.sqrt((high * high).sum(axis=1)), np.sqrt((low * low).sum(axis=1))
    rounding = gamma(n + 8) * (2.0 * np.outer(sizes, small) + np.outer(small, small)) + 2.0**-52 * np.abs(first)
    off = (float(np.linalg.norm(rounding)) + n * UNDERFLOW) * FEW
    square = rest @ rest  # ‖R‖₂² = ‖R²‖₂ ≤ ‖R²‖_F
    size = float(np.linalg.norm(square)) + gamma(n + 4) * float(np.linalg.norm(rest)) ** 2
    return (math.sqrt(size * FEW) + off) * FEW
