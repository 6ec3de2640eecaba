"""Samples as vectors from the centre of a ball: a cloud that is far from the origin is as near to it as any other.

    (BALL.1)  where 1ᵀβ = 1, x − a for every x and c − a for c change neither P nor D:  with a = c the ball's own w is 0
    (BALL.2)  ½‖x − c‖² by differences, of which each is rounded once:  off by γ_{d+4} of itself
    (BALL.3)  ‖fl(Σβ_i (x_i − c)) − Σβ_i (x_i − c)‖ ≤ γ_{n+4} Σ|β_i|‖x_i − c‖
    (BALL.4)  of many sparse rows, ‖x‖² − 2cᵀx + ‖c‖² and Σβ_i x_i − c, off by as much of (‖x‖ + ‖c‖)²

The theorem is about c as it is: the differences are rounded, and their rounding is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.rounding import UNDERFLOW, gamma
from qpsvm.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.proof.exact_dual import Held
from qpsvm.proof.exactly import Exactly, enclosed
from qpsvm.proof.integers import as_integers, common
from qpsvm.proof.spaces import ExactValues, Measured, Space, Values
from qpsvm.rows import RowSource
from qpsvm.rows.blocks import Block

#: Numbers of sparse rows up to which they are written out for (BALL.2).
WRITTEN_OUT = 200_000_000
#: Numbers that are kept where rational numbers are asked for.
GATHERED = 10_000_000
#: Length that numbers may have lost whose squares underflow, for each of them.
TINY_LENGTH = 2.0**-500


class BallSpace(Space):
    """The points of a linear SVDD, from the centre.

    rows: X as the user has it, (n, d).
    centre (d,): c, these floats exactly.
    """

    def __init__(self, rows: RowSource, centre: FloatArray) -> None:
        self.rows, self.centre = rows, centre
        self.n, self.d = rows.shape
        self._written_out = not rows.is_sparse or self.n * self.d <= WRITTEN_OUT
        self._halves, self._radius = np.empty(self.n), np.empty(self.n)
        square = float(centre @ centre)
        length = math.sqrt(square) * (1.0 + gamma(self.d + 4)) + self.d * TINY_LENGTH
        for block in rows.blocks():
            for piece in block.pieces():
                self._look(piece, square, length)

    def _look(self, piece: Block, square: float, length: float) -> None:
        """½‖x − c‖² of some rows and its radius."""
        if self._written_out:
            apart = self._apart(piece)
            halves = 0.5 * np.einsum("ij,ij->i", apart, apart)  # (BALL.2)
            self._halves[piece.rows] = halves
            self._radius[piece.rows] = gamma(self.d + 8) * halves + self.d * UNDERFLOW
            return
        squares = piece.squared_norms()
        lengths = np.sqrt(squares) * (1.0 + gamma(self.d + 4)) + self.d * TINY_LENGTH
        self._halves[piece.rows] = 0.5 * (squares - 2.0 * piece.margins(self.centre) + square)  # (BALL.4)
        self._radius[piece.rows] = gamma(self.d + 12) * (lengths + length) ** 2 + self.d * UNDERFLOW

    def _apart(self, piece: Block) -> FloatArray:
        """x − c of some rows, each number rounded once: (k, d)."""
        found: FloatArray = as_dense(piece.matrix) - self.centre
        return found

    @property
    def levels(self) -> Exactly:
        """½‖x_i − c‖², the levels of (DUAL.1) in these coordinates: (n,)."""
        with np.errstate(invalid="ignore"):
            low = np.maximum(self._halves - self._radius, 0.0) * (1.0 - gamma(4))
            high = (self._halves + self._radius) * (1.0 + gamma(4))
        return enclosed(np.where(np.isfinite(high), low, 0.0), np.where(np.isnan(high), np.inf, high), self._level)

    @cached_property
    def _gathered(self) -> Matrix | None:
        """X, where it is small: it is asked for row by row."""
        return self.rows.take(np.arange(self.n)) if self.n * self.d <= GATHERED else None

    def _row(self, i: int) -> Matrix:
        return self.rows.take(np.array([i])) if self._gathered is None else self._gathered[i : i + 1]

    def _level(self, i: int) -> Fraction:
        j, exponent = as_integers(np.concatenate([as_dense(self._row(i))[0], self.centre]))
        return Fraction(sum((x - c) ** 2 for x, c in zip(j[: self.d], j[self.d :], strict=True)), 2) * _power(
            2 * exponent
        )

    def measured(self, held: Held, beta: FloatArray, beta_radius: FloatArray) -> Measured:
        """(BALL.3): w is 0, and w(α) is Σβ_i (x_i − c)."""
        del held
        sums, nothing = np.zeros(self.d), np.zeros(self.n)
        for block in self.rows.blocks():
            for piece in block.pieces():
                weights = beta[piece.rows]
                sums += self._apart(piece).T @ weights if self._written_out else piece.weights(weights)
        lengths = np.sqrt(2.0 * self.levels.bounds[1]) * (1.0 + gamma(4))
        if not self._written_out:
            sums -= self.centre
            length = float(np.linalg.norm(self.centre)) * (1.0 + gamma(self.d + 8)) + self.d * TINY_LENGTH
            lengths = lengths + 2.0 * length  # ‖x‖ + ‖c‖
        off = gamma(self.n + 8) * float(np.abs(beta) @ lengths) + self.n * self.d * UNDERFLOW
        off = (off + float(beta_radius @ lengths)) * (1.0 + gamma(self.n + 4))
        own = float(np.linalg.norm(sums)) * (1.0 + gamma(self.d + 8)) + self.d * TINY_LENGTH
        return Measured(Values(nothing, nothing, nothing), (own + off) * (1.0 + gamma(4)), (0.0, 0.0))

    def sharpened(self, held: Held, points: IntArray) -> Values | None:
        """There is nothing to sharpen: ⟨0, x − c⟩ is 0."""
        del held, points
        return None

    def exact(self, held: Held, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """Every product and every sum as an integer."""
        del held
        if self.n * self.d > most:
            return None
        b, denominator = common(beta)
        own = [Fraction(0)] * self.d
        for i in np.flatnonzero(np.array([value != 0 for value in b])).tolist():
            row = sp.csr_array(self._row(i))
            x, exponent = as_integers(row.data)
            scale = _power(exponent) * b[i]
            for j, v in zip(row.indices.tolist(), x, strict=True):
                own[j] += scale * v
        apart = [value - denominator * Fraction(c) for value, c in zip(own, self.centre.tolist(), strict=True)]
        square = sum((v * v for v in apart), Fraction(0)) / denominator**2
        nothing = Fraction(0), Fraction(0)
        return ExactValues([nothing] * self.n, nothing, (square, square))


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
