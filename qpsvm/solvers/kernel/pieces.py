"""The pieces of a loss that rise: one a row of a C-SVM, two where β may be positive or negative.

    (PIECE.1)  β_i = base_i + Σ α_k s_k over the pieces k of row i,  0 ≤ α_k ≤ U_k:  k rises where s_k(t − f) > ε_k
    (PIECE.2)  the smoothed α over a diagonal ϱ:  α_k = U_k clip((s_k(t − f − ϱ base) − ε_k + c) / (h + U_k ϱ), 0, 1)

c is half of h, so that a piece begins before its edge; but 0 where a row has two of them, which must not rise at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import KernelDual

#: Halvings that find the width of a tube to a ten-thousandth.
HALVINGS = 14


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of the loss that rise, one or two a row: β of row i is its `base` and the sum of α_k sign_k over them.

    Attributes
    ----------
    target, base : ndarray, shape (n,)
    rows, sign, width, upper : ndarray, shape (m,)
        Row, direction, distance from the target, and the most that α can be.
    two : bool
        Whether the second half of the pieces is the other side of the rows.
    total : float
        Σβ.
    """

    target: FloatArray
    base: FloatArray
    sign: FloatArray
    width: FloatArray
    upper: FloatArray
    two: bool = False
    total: float = 0.0

    @classmethod
    def of(cls, problem: KernelDual) -> Pieces:
        """Of a problem; a ν-SVR's, at the tube that its targets ask for."""
        ones, total = np.ones(problem.n), problem.total
        if not problem.kinked:
            return cls(problem.level, problem.base, problem.sign, 0.0 * ones, problem.weight, total=total)
        tube = np.tile(ones * (problem.tube + problem.edges(0.0 * ones).tube), 2)
        sign, upper = np.concatenate([ones, -ones]), np.concatenate([problem.high, -problem.low])
        return cls(problem.level, 0.0 * ones, sign, tube, upper, True, total)

    def weighed(self, some: IntArray, factor: float) -> Pieces:
        """Of some of the rows, each of which counts as so many."""
        both = np.concatenate([some, some + len(self.target)]) if self.two else some
        return Pieces(
            self.target[some], self.base[some] * factor, self.sign[both], self.width[both], self.upper[both] * factor,
            self.two, self.total,
        )  # fmt: skip

    def spread(self, x: FloatArray) -> FloatArray:
        """x (n,) of the rows, for every piece: (m,)."""
        return np.tile(x, 2) if self.two else x

    def gathered(self, x: Any) -> Any:
        """Sums of x (m,) over the pieces of each row: (n,)."""
        n = len(self.target)
        return x[:n] + x[n:] if self.two else x

    def beta(self, t: FloatArray) -> FloatArray:
        """β (n,) for t (m,)."""
        found: FloatArray = self.base + self.gathered(self.sign * self.upper * np.clip(t, 0.0, 1.0))
        return found

    def free(self, t: FloatArray) -> NDArray[np.bool_]:
        """The rows with a piece that is neither at its beginning nor at its end: a mask (n,)."""
        free: NDArray[np.bool_] = self.gathered((t > 0.0) & (t < 1.0))
        return free


def tube_share(problem: KernelDual) -> float:
    """The share of rows outside of a tube whose width is to be found, too; 0 where it is given."""
    return 0.0 if problem.mass is None else min(problem.mass / problem.total_penalty, 1.0)


def tube_width(pieces: Pieces, size: FloatArray, h: float, rest: FloatArray, share: float) -> float:
    """The width of the tube at which Σ|β| is a share of the most that it can be, for |t − Gv − b| (n,): by halving."""
    upper = pieces.upper[: len(size)]
    slope, goal = upper / (h + upper * rest), share * float(upper.sum())
    low, high = 0.0, float(size.max())
    for _ in range(HALVINGS):
        width = 0.5 * (low + high)
        if float(np.minimum(np.maximum(size - width, 0.0) * slope, upper).sum()) > goal:
            low = width
        else:
            high = width
    return 0.5 * (low + high)


__all__ = ["Pieces", "tube_share", "tube_width"]
