"""Block pivoting for the hard margin: guess the free rows, solve, and swap all rows that are on the wrong side at once.

With β = y∘α, F the rows with α > 0, and all others at 0:

    (KPIVOT.1)  K_FF β_F + b 1 = y_F,  1ᵀβ_F = 0:  every free row lies on the margin
    (KPIVOT.2)  the rows of F with α < 0 leave it, the rows outside with y f < 1 join;  where there are none of either,
                this is the hard margin

No row is ever at a price C, so a step needs no line search, and a rough guess is as good as a fine one: from LIBSVM's
loop after one iteration a row, F is right after a few rounds. The count of rows on the wrong side falls with nearly
every round. Where it stops falling the rounds end, and a method that never goes back takes over. The count need not
fall where K_FF is singular: the sum of α is then so large that u = Kβ has no digits left, which is seen at once.
Of many rows K is made over a part W only, and a look outside lets rows join that.
Source: Portugal, Júdice & Vicente, *A comparison of block pivoting and interior-point algorithms for linear least
squares problems with nonnegative variables*, Mathematics of Computation 63 (1994).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import EPS, KernelBlocks
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.newton_step import LARGEST_FREE_SET, product
from qpsvm.solvers.shared.cholesky import Cholesky, NumericalTrouble


@dataclass(frozen=True)
class Settings:
    """Constants of the rounds."""

    #: Rounds at most: the hardest that ended had thirteen.
    rounds: int = 30
    #: The count of rows on the wrong side has fallen where it is at most this share of the least so far; the rounds end
    #: after more than so many in which it has not.
    fallen: float = 0.9
    strikes: int = 2
    #: Above this sum of α, in units of one over the mean of K_ii, u has lost too many digits for any tolerance.
    hopeless: float = 1e13
    #: A slack is 0 where it is at most so many roundings of the sum that it comes from.
    roundings: float = 4.0
    #: Looks outside W; the rows that join it are at most so many, or as many as this share of W.
    looks: int = 12
    joining: int = 300
    share: float = 0.5


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Pivoted:
    """How the rounds ended.

    Attributes
    ----------
    beta, u : ndarray, shape (n,)
        β of the hard margin and u = Kβ over all rows; zeros where it was not found.
    b : float
    gap : float
        (HARD.14), relative; infinite where the hard margin was not found.
    rounds : int
    hopeless : bool
        α grew beyond what double precision can tell.
    """

    beta: FloatArray
    u: FloatArray
    b: float
    gap: float
    rounds: int
    hopeless: bool = False


def hard_gap(y: FloatArray, beta: FloatArray, u: FloatArray) -> float:
    """The relative gap of the direction β, u = Kβ, (n,): (P − D)/P with both as in (HARD.14)."""
    norm2, reach = float(beta @ u), 0.5 * (float(u[y > 0].min()) - float(u[y < 0].max()))
    if not (reach > 0.0 and norm2 > 0.0):
        return np.inf
    gap = 1.0 - (float(np.abs(beta).sum()) / norm2 * reach) ** 2
    return gap if np.isfinite(gap) else np.inf


def block_pivoting(blocks: KernelBlocks, y: FloatArray, free: IntArray, whole: bool, effort: Effort) -> Pivoted:
    """Find the free rows of the hard margin from a guess at them, and with them its α.

    Parameters
    ----------
    blocks : KernelBlocks
        Of n rows.
    y : ndarray, shape (n,)
        −1/+1; both occur.
    free : ndarray of int, shape (f,)
        The guess.
    whole : bool
        With the Gram matrix of all rows; else with that of the guess and what joins it.
    effort : Effort
        Looked at between rounds.

    Returns
    -------
    Pivoted
    """
    n, rounds = len(y), 0
    nothing = Pivoted(np.zeros(n), np.zeros(n), 0.0, np.inf, 0)
    rows = np.arange(n) if whole else free
    inside = np.zeros(n, dtype=bool)
    inside[free] = True
    if whole:
        K = blocks.all()
    elif len(rows) <= LARGEST_FREE_SET and effort.affords(len(rows), blocks.width):
        K = blocks.symmetric(rows)
    else:
        return nothing
    for _ in range(SETTINGS.looks):
        found = _Rounds(K, y[rows], inside[rows]).run(effort)
        rounds += found.rounds
        beta = np.zeros(n)
        beta[rows] = found.beta
        if found.gap == np.inf or whole:
            return Pivoted(beta, found.u, found.b, found.gap, rounds, found.hopeless)
        support = beta.nonzero()[0]
        u = blocks.product(support, beta[support], np.arange(n))
        gap = hard_gap(y, beta, u)
        slack = 1.0 - y * (u + found.b)
        slack[rows] = 0.0
        effort.report("pivots", len(rows), gap)
        wrong = (slack > _noise(beta, blocks.diagonal(support))).nonzero()[0]
        if not len(wrong) or effort.late():
            return Pivoted(beta, u, found.b, gap, rounds)
        most = max(SETTINGS.joining, int(SETTINGS.share * len(rows)))
        wrong = wrong[np.argsort(-slack[wrong], kind="stable")[:most]]
        if not (len(rows) + len(wrong) <= LARGEST_FREE_SET and effort.affords(len(rows) + len(wrong), blocks.width)):
            break
        K, rows = blocks.grown(K, rows, wrong), np.append(rows, wrong)
        inside = beta != 0.0
        inside[wrong] = True
    return Pivoted(nothing.beta, nothing.u, 0.0, np.inf, rounds)


def _noise(beta: FloatArray, diagonal: FloatArray) -> float:
    """What rounding may make of a slack that is 0."""
    return SETTINGS.roundings * EPS * (1.0 + float(np.abs(beta).sum()) * float(diagonal.max(initial=0.0)))


class _Rounds:
    """(KPIVOT.2) over a Gram matrix K (m, m), from a guess at the free rows (m,)."""

    def __init__(self, K: FloatArray, y: FloatArray, free: NDArray[np.bool_]) -> None:
        self.K, self.y, self.free = K, y, free.copy()
        self.diagonal = K.diagonal()
        self.unit = float(self.diagonal.mean())

    def run(self, effort: Effort) -> Pivoted:
        """Rounds until no row is on the wrong side; the gap is infinite where they did not get there."""
        fewest, strikes, hopeless = np.inf, 0, False
        for count in range(1, SETTINGS.rounds + 1):
            step = self._solved()
            if step is None:
                break
            beta, u, b, factor = step
            total = float(np.abs(beta).sum()) * self.unit
            hopeless = not total < SETTINGS.hopeless
            slack = 1.0 - self.y * (u + b)
            leaving = self.free & (self.y * beta < 0.0)
            joining = ~self.free & (slack > _noise(beta, self.diagonal))
            wrong = int(np.count_nonzero(leaving)) + int(np.count_nonzero(joining))
            if not wrong:
                return self._corrected(beta, u, b, factor, count)
            strikes = 0 if wrong <= SETTINGS.fallen * fewest else strikes + 1
            fewest = min(fewest, wrong)
            if hopeless or strikes > SETTINGS.strikes or effort.late():
                break
            self.free = (self.free & ~leaving) | joining
        m = len(self.y)
        return Pivoted(np.zeros(m), np.zeros(m), 0.0, np.inf, count, hopeless)

    def _solved(self) -> tuple[FloatArray, FloatArray, float, Cholesky] | None:
        """β, Kβ (m,), b and the factor of (KPIVOT.1); None where there is no factor or nothing is free."""
        F = self.free.nonzero()[0]
        try:
            factor = Cholesky(self.K[F[:, None], F])
            x, b = _bordered(factor, self.y[F])
        except NumericalTrouble:
            return None
        beta = np.zeros(len(self.y))
        beta[F] = x
        return beta, product(self.K, beta, F), b, factor

    def _corrected(self, beta: FloatArray, u: FloatArray, b: float, factor: Cholesky, count: int) -> Pivoted:
        """The point, or with one more solve for what rounding left of (KPIVOT.1), where that is better."""
        F = self.free.nonzero()[0]
        gap = hard_gap(self.y, beta, u)
        change = np.zeros(len(beta))
        change[F], db = _bordered(factor, (self.y - u - b)[F], -float(beta.sum()))
        better = beta + change
        if (self.y * better >= 0.0).all():
            finer = u + product(self.K, change, F)
            finer_gap = hard_gap(self.y, better, finer)
            if abs(finer_gap) < abs(gap):
                return Pivoted(better, finer, b + db, abs(finer_gap), count)
        return Pivoted(beta, u, b, abs(gap), count)


def _bordered(factor: Cholesky, right: FloatArray, total: float = 0.0) -> tuple[FloatArray, float]:
    """x and b with K_FF x + b 1 = right, 1ᵀx = total: (f,) and a number.

    Raises
    ------
    NumericalTrouble
        There is no finite solution.
    """
    solved = factor.solve(np.column_stack([right, np.ones(len(right))]))
    sums = solved.sum(axis=0)
    if not (len(right) and np.isfinite(sums).all() and sums[1] > 0.0):
        raise NumericalTrouble("the rows on the margin do not determine b")
    b = (float(sums[0]) - total) / float(sums[1])
    x: FloatArray = solved[:, 0] - b * solved[:, 1]
    return x, b


__all__ = ["Pivoted", "block_pivoting", "hard_gap"]
