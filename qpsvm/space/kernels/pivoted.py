"""K ≈ LLᵀ from n·r kernel values: blocked, randomly pivoted partial Cholesky of a Gram matrix whose rank is low.

    (PIVOT.1)  K = LLᵀ + E,  L (n, r):  E is positive semidefinite, its diagonal is e, and E = 0 in the pivots' rows
    (PIVOT.2)  candidates J, half by chance in proportion to a_i e_i, half those of the largest a_i e_i, for prices a;
               K_JJ − L_J L_Jᵀ = RRᵀ with complete pivoting, as far as its diagonal is not far below the largest e in J:
               those are the new pivots
    (PIVOT.3)  L ← [L, (K_nJ − L L_Jᵀ) R⁻ᵀ],  e ← e − the squares of the new columns
    (PIVOT.4)  (Σ a_i √e_i / Σ a_i)² ≤ target:  for a = α, this times ½(Σα)² is what the certificate of α costs

The columns of a block cost one matrix product with those before. K is never made.

Sources: Chen, Epperly, Tropp & Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. (2025); Epperly, Tropp &
Webber, *Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky* (2024); Fine &
Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.blocks import KernelBlocks

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Settings:
    """Constants of the factorisation."""

    #: Candidates of a block, and most that are taken of them: the product with earlier columns is then worth its call.
    candidates: int = 128
    taken: int = 64
    #: A candidate is taken while its residual is above this share of the largest one: less would be wasted on rows
    #: that a later block would have done away with.
    share: float = 0.03
    #: The pace says nothing before one in so many of the columns allowed: at first e falls in few rows only.
    early: int = 3
    #: Rows worked on at a time: their part of a block stays in the cache.
    strip: int = 1024


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class PivotedFactor:
    """(PIVOT.1).

    L (n, r)
    rest (n,): e as computed: it is known to about r·eps·K_ii.
    pivots (r,): In the order of the columns.
    reached: Whether (PIVOT.4) holds, or rounding is all that is left of e.
    """

    L: FloatArray
    rest: FloatArray
    pivots: IntArray
    reached: bool

    @property
    def rank(self) -> int:
        """r."""
        return int(self.L.shape[1])


def pivoted_factor(
    blocks: KernelBlocks,
    rows: IntArray,
    prices: FloatArray,
    target: float,
    most: int,
    late: Callable[[], bool] = lambda: False,
    gives_up: bool = True,
) -> PivotedFactor | None:
    """Factor K over some rows. Shapes: rows (n,), prices (n,)."""
    factoring = _Factoring(blocks, rows, prices / float(prices.sum()), target)
    while not factoring.reached and factoring.rank < most and not (gives_up and factoring.hopeless(most)):
        if late():
            return None
        if not factoring.grow(most):
            break
    return factoring.factor()


class _Factoring:
    """The state between two blocks."""

    def __init__(self, blocks: KernelBlocks, rows: IntArray, prices: FloatArray, target: float) -> None:
        self.blocks, self.rows, self.prices, self.target = blocks, rows, prices, target
        self.rest = blocks.diagonal(rows).astype(np.float64)
        self.size = float(self.rest.max(initial=0.0))
        self.random = np.random.default_rng(0)
        self.columns: list[FloatArray] = []
        self.pivots: list[IntArray] = []
        self.rank = 0
        self.path = [(0, self.left)]

    @property
    def left(self) -> float:
        """The left side of (PIVOT.4)."""
        return float(self.prices @ np.sqrt(self.rest)) ** 2

    @property
    def floor(self) -> float:
        """What rounding leaves of e."""
        return (self.rank + 2) * EPS * self.size

    @property
    def reached(self) -> bool:
        """(PIVOT.4), or nothing but rounding left."""
        return self.path[-1][1] <= max(self.target * self.size, self.floor)

    def hopeless(self, most: int) -> bool:
        """Whether the target would take more than `most` columns at the pace of the last block: e falls more and more
        slowly."""
        if len(self.path) < 3 or SETTINGS.early * self.rank < most or most >= len(self.rows):
            return False
        (before, earlier), (now, left) = self.path[-2:]
        goal = max(self.target * self.size, self.floor)
        if not 0.0 < left < earlier:
            return not left <= goal
        each = np.log(earlier / left) / (now - before)
        return bool(now + np.log(left / goal) / each > most)

    def grow(self, most: int) -> bool:
        """One block, (PIVOT.2) and (PIVOT.3); False where no pivot is left."""
        chosen = self._candidates()
        known = [column[chosen] for column in self.columns]
        H = self.blocks.block(self.rows[chosen], self.rows[chosen])
        for part in known:
            H -= part @ part.T
        top = float(self.rest[chosen].max(initial=0.0))
        R, order, accepted, _ = lapack.dpstrf(H, tol=max(SETTINGS.share * top, self.floor), lower=1)
        taken = min(int(accepted), SETTINGS.taken, most - self.rank)
        if taken < 1 or not np.isfinite(R[:taken, :taken]).all():
            return False
        own = order[:taken] - 1
        R, pivots = np.tril(R[:taken, :taken]), chosen[own]
        earlier = [part[own].T for part in known]
        new, n = np.empty((len(self.rows), taken)), len(self.rows)
        for start in range(0, n, SETTINGS.strip):
            strip = slice(start, start + SETTINGS.strip)
            G = self.blocks.block(self.rows[strip], self.rows[pivots])
            for column, across in zip(self.columns, earlier, strict=True):
                G -= column[strip] @ across
            new[strip] = solve_triangular(R, G.T, lower=True, check_finite=False).T
            self.rest[strip] -= np.einsum("ij,ij->i", new[strip], new[strip])
        self.rest[pivots] = 0.0
        np.maximum(self.rest, 0.0, out=self.rest)
        self.columns.append(new)
        self.pivots.append(pivots)
        self.rank += taken
        self.path.append((self.rank, self.left))
        return True

    def _candidates(self) -> IntArray:
        """J of (PIVOT.2), sorted: at most `candidates` rows where a_i e_i is not 0."""
        half, n = SETTINGS.candidates // 2, len(self.rows)
        priced = self.prices * self.rest
        total = float(priced.sum())
        if np.count_nonzero(priced) <= SETTINGS.candidates or not 0.0 < total < np.inf:
            return np.flatnonzero(priced)[: SETTINGS.candidates]
        by_chance = np.searchsorted(np.cumsum(priced), total * self.random.random(half)).clip(0, n - 1)
        largest = np.argpartition(priced, n - half)[n - half :]
        return np.union1d(by_chance, largest)

    def factor(self) -> PivotedFactor:
        """What there is."""
        L, at = np.empty((len(self.rows), self.rank)), 0
        for k, column in enumerate(self.columns):
            L[:, at : at + column.shape[1]] = column
            at += column.shape[1]
            self.columns[k] = column[:0]  # of many rows, two copies are one too many
        pivots = np.concatenate(self.pivots) if self.pivots else np.zeros(0, dtype=np.intp)
        return PivotedFactor(L, self.rest, pivots, self.reached)


__all__ = ["PivotedFactor", "pivoted_factor"]
