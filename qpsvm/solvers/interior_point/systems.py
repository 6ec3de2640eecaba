"""The linear algebra of `interior_point`: one Newton system an iteration, for P with a factor and for P dense.

With B = [Z, Aᵀ] (n, k + p), u = (v, y) and R = diag(1_k, 0_p), the conditions of optimality are m + d∘x + q = f and
Bᵀx − Ru = g, where m = Bu, g = (0, b), and f collects the forces of the bounds. A Newton step with weights θ > 0
(the curvature of the bounds, plus d) is

    (IPM.1)  θ∘dx + B du = ρ,  Bᵀdx − R du = −r,  r = Bᵀx − Ru − g
    (IPM.2)  (R + BᵀD B) du = BᵀDρ + r,  dx = D(ρ − B du),  D = diag(1/θ)

(IPM.2) costs O(n (k + p)²) for BᵀDB, which is accumulated over chunks of rows, and needs memory beside B of one chunk.
Without a factor, (P + diag(θ)) takes the place of diag(θ) and u = y:

    (IPM.3)  H dx + Aᵀdy = ρ − γAᵀr,  A dx = −r,  H = P + diag(θ) + γAᵀA:  A H⁻¹Aᵀ dy = A H⁻¹(ρ − γAᵀr) + r

whose solution does not depend on γ; γ > 0 gives curvature to variables that only the rows hold.

Source: Ferris & Munson (2002), *Interior-point methods for massive support vector machines*; Fine & Scheinberg (2001).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.interior_point.chunk import SETTINGS
from qpsvm.solvers.interior_point.columns import Columns
from qpsvm.solvers.shared.cholesky import Cholesky


class Newton(Protocol):
    """A Newton system (IPM.1): `factor` once an iteration, `solve` for each right-hand side."""

    residual: FloatArray
    careful: bool  # whether to spend more on exact solutions; set where the residual grows
    costly: bool  # whether a factorisation costs several times as much as a solution

    def factor(self, theta: FloatArray, rho: FloatArray, x: FloatArray, u: FloatArray) -> None:
        """Prepare the matrix for θ (n,) and r = Bᵀx − Ru − g at x (n,), u; ρ (n,) is the first right-hand side."""

    def refresh(self, x: FloatArray, u: FloatArray) -> None:
        """r at x (n,), u, alone."""

    def solve(self, rho: FloatArray, residual: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dx (n,), du and dm = B du (n,) for ρ (n,), and for r or, without `residual`, for 0."""

    def energy(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """½xᵀPx without d, at x (n,), u and m = Bu or Px + Aᵀy, (n,)."""

    def force(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """m, (n,): what P and A contribute to the gradient at x (n,), u, besides d∘x."""


class FactoredNewton:
    """(IPM.2), for P = ZZᵀ + diag(d).

    B (n, k + p)
    g (k + p,): Right-hand side of Bᵀx − Ru = g.
    """

    def __init__(self, B: Columns, k: int, g: FloatArray) -> None:
        self._B, self._g = B, g
        self._lift = np.where(np.arange(len(g)) < k, 1.0, 0.0)  # R
        self.residual = np.zeros(len(g))
        self.careful, self.costly = False, len(g) > SETTINGS.costly_width

    def factor(self, theta: FloatArray, rho: FloatArray, x: FloatArray, u: FloatArray) -> None:
        """One pass: BᵀDB, and with it BᵀDρ and Bᵀx."""
        self._D = 1.0 / theta
        M, Bx, first = self._B.normal(self._D, x, rho, 0.0 if self.careful else SETTINGS.spare)
        M.ravel()[:: len(M) + 1] += self._lift
        Bx -= self._lift * u
        Bx -= self._g
        self.residual = Bx
        self._first: tuple[FloatArray, FloatArray] = (rho, first)
        self._M = Cholesky(M)

    def refresh(self, x: FloatArray, u: FloatArray) -> None:
        """One product with B."""
        self.residual = self._B.transposed_times(x) - self._lift * u - self._g

    def solve(self, rho: FloatArray, residual: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(IPM.2): two products with B, one for the right-hand side that `factor` saw; two more where it is careful."""
        right = self._first[1] if self._first[0] is rho else self._B.transposed_times(self._D * rho)
        r = self.residual if residual else 0.0
        du = self._M.solve(right + r if residual else right)
        dm = self._B.times(du)
        dx = rho - dm
        dx *= self._D
        if not self._B.exact and rho is not self._first[0]:  # the predictor's error does not matter
            missed = self._B.transposed_times(dx) - self._lift * du  # of (IPM.2)
            missed += r
            change = self._M.solve(missed)
            dm_change = self._B.times(change)
            return dx - self._D * dm_change, du + change, dm + dm_change
        if not self.careful:
            return dx, du, dm
        missing = rho - dm - dx / self._D  # refinement of (IPM.1) as a whole: D of 1e12 multiplies rounding
        r = r + self._B.transposed_times(dx) - self._lift * du
        change = self._M.solve(self._B.transposed_times(self._D * missing) + r)
        dm_change = self._B.times(change)
        return dx + self._D * (missing - dm_change), du + change, dm + dm_change

    def energy(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """½‖Zᵀx‖², with Zᵀx = v + r_v."""
        del x, m
        Zx = self._lift * (u + self.residual)
        return 0.5 * float(Zx @ Zx)

    def force(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """B u: (n,); x enters through v alone."""
        del x
        return self._B.times(u)


class DenseNewton:
    """(IPM.3), for a matrix P (n, n) of moderate size.

    P (n, n)
    A (p, n)
    b (p,)
    """

    def __init__(self, P: FloatArray, A: FloatArray, b: FloatArray) -> None:
        self._P, self._A, self._b = P, A, b
        weight = float(np.vdot(A, A))
        self._gamma = (float(P.trace()) or 1.0) / weight if weight else 0.0
        self._augmented = P + self._gamma * (A.T @ A) if len(A) else P
        self.residual = np.zeros(len(b))
        self.careful, self.costly = False, True

    def factor(self, theta: FloatArray, rho: FloatArray, x: FloatArray, u: FloatArray) -> None:
        """Cholesky factors of H and of its Schur complement A H⁻¹Aᵀ."""
        del rho
        H = self._augmented.copy()
        H.flat[:: len(H) + 1] += theta
        self._H = Cholesky(H)
        self.refresh(x, u)
        self._HA = self._H.solve(self._A.T) if len(self._A) else self._A.T
        self._S = Cholesky(self._A @ self._HA)

    def refresh(self, x: FloatArray, u: FloatArray) -> None:
        """A x − b."""
        del u
        self.residual = self._A @ x - self._b

    def solve(self, rho: FloatArray, residual: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(IPM.3)."""
        r = self.residual if residual else np.zeros(len(self._b))
        dx = self._H.solve(rho - self._gamma * (r @ self._A))
        dy = self._S.solve(self._A @ dx + r)
        dx -= self._HA @ dy
        return dx, dy, self.force(dx, dy)

    def energy(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """½xᵀ(m − Aᵀy)."""
        return 0.5 * float(x @ m - u @ (self._A @ x))

    def force(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """P x + Aᵀy: (n,)."""
        return self._P @ x + u @ self._A
