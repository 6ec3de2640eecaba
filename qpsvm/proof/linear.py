"""Samples as vectors: ⟨w, x_i⟩ and ‖w − Σβ_i x_i‖ in one pass over X, with radii.

    (PLIN.1)  |fl(xᵀw) − xᵀw| ≤ γ_d Σ_j |x_j||w_j| ≤ γ_d ‖x‖‖w‖, in any order of summation; of a sparse row with k
              numbers γ_k
    (PLIN.2)  ‖fl(Σβ_i x_i) − Σβ_i x_i‖ ≤ γ_{k+p} Σ|β_i|‖x_i‖, where the sums of p pieces of at most k rows are added
    (PLIN.3)  ‖x‖ ≤ fl(√Σx_j²)(1 + γ_{d+2}), but for what underflows

X is what it is: floats are rational numbers, and the theorem is about these. Where a source makes its rows as it reads
them (standardised, mapped), it is about the floats that it makes.

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.rounding import UNDERFLOW, UNIT, dots_in_two, gamma, sum_in_two, two_sum
from qpsvm.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.proof.exact_dual import Held
from qpsvm.proof.integers import as_integers, common
from qpsvm.proof.spaces import ExactValues, Measured, Space, Values
from qpsvm.rows import RowSource
from qpsvm.rows.memory import as_block

#: Numbers that are worked on in twice the precision at a time, and in all.
AT_A_TIME, AFFORDABLE = 1_000_000, 200_000_000
#: Rows whose β_i x_i are added up before these sums are.
PIECE = 512
#: Length that numbers may have lost whose squares underflow, for each of them.
TINY_LENGTH = 2.0**-500


class LinearSpace(Space):
    """The points of a linear machine.

    rows: X as the user has it, (n, d), with the points of the user's rows behind the samples.
    """

    def __init__(self, rows: RowSource) -> None:
        self.rows = rows
        self.n, self.d = rows.shape
        self._terms = max(int(rows.longest_row), 1)

    def measured(self, held: Held, beta: FloatArray, beta_radius: FloatArray) -> Measured:
        """(PLIN.1) to (PLIN.3), each number read once."""
        w = held.w
        assert w is not None
        values, lengths = np.empty(self.n), np.empty(self.n)
        sums, pieces = np.zeros(self.d), 0
        for block in self.rows.blocks():
            for piece in block.pieces():
                values[piece.rows] = piece.margins(w)
                lengths[piece.rows] = piece.squared_norms()
                for start in range(0, piece.n, PIECE):
                    some = slice(start, min(start + PIECE, piece.n))
                    sums += piece.weights_at(beta[piece.rows][some], some)
                    pieces += 1
        np.sqrt(lengths, out=lengths)
        lengths *= 1.0 + gamma(self._terms + 6)  # (PLIN.3)
        lengths += self._terms * TINY_LENGTH
        radius = lengths * _length(w) * gamma(self._terms + 3)  # (PLIN.1)
        radius += self._terms * UNDERFLOW if w.any() else 0.0
        size = float(np.abs(beta) @ lengths) * (1.0 + gamma(self.n + 2))
        off = gamma(PIECE + pieces + 4) * size + (self.n * self.d * UNDERFLOW if beta.any() else 0.0)  # (PLIN.2)
        off += float(beta_radius @ lengths) * (1.0 + gamma(self.n + 2))
        apart = (_length(w - sums) * (1.0 + gamma(4)) + off) * (1.0 + gamma(4))
        square = float(np.square(w).sum())
        spread = gamma(self.d + 2) * square + self.d * UNDERFLOW
        half = (max(0.5 * (square - spread), 0.0), 0.5 * (square + spread) * (1.0 + gamma(2)))
        return Measured(Values(values, np.zeros(self.n), radius), apart, half)

    def sharpened(self, held: Held, points: IntArray) -> Values | None:
        """By (ROUND.4)."""
        w = held.w
        assert w is not None
        if len(points) * self.d > AFFORDABLE:
            return None
        high, low, radius = np.empty(len(points)), np.empty(len(points)), np.empty(len(points))
        for X, some in self._pieces(points):
            high[some], low[some], radius[some] = dots_in_two(X, w)
        return Values(high, low, radius)

    def sharpened_apart(self, held: Held, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """By (ROUND.4), some rows after the others."""
        support = np.flatnonzero((beta != 0.0) | (beta_radius != 0.0))
        if len(support) * self.d > AFFORDABLE or not len(support):
            return None
        found, off = np.zeros((3, self.d)), 0.0
        for X, some in self._pieces(support):
            part = dots_in_two(np.ascontiguousarray(X.T), beta[support[some]])
            found = np.array(sum_in_two(np.array([found, part])))
            lengths = np.sqrt(as_block(X).squared_norms()) * (1.0 + gamma(self._terms + 6)) + self._terms * TINY_LENGTH
            off += float(beta_radius[support[some]] @ lengths)
        off *= 1.0 + gamma(len(support) + 2)
        assert held.w is not None
        high, error = two_sum(held.w, -found[0])
        apart = high + (error - found[1])
        lost = found[2] + 4.0 * UNIT * (np.abs(apart) + np.abs(error) + np.abs(found[1]))
        return (_length(np.abs(apart) + lost) * (1.0 + gamma(6)) + off) * (1.0 + gamma(4))

    def _pieces(self, points: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
        """Some of the points, a few dense rows at a time, and their places among those asked for: X is read once."""
        step = max(AT_A_TIME // max(self.d, 1), 1)
        for block, at, where in self.rows.holding(points):
            index, places = np.arange(block.n)[at], np.arange(len(points))[where]
            for start in range(0, len(index), step):
                some = slice(start, start + step)
                yield np.ascontiguousarray(as_dense(block.take(index[some]))), places[some]

    def exact(self, held: Held, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """Every product and every sum as an integer."""
        if self.n * self.d > most:
            return None
        assert held.w is not None
        w, w_exponent = as_integers(held.w)
        b, denominator = common(beta)
        own: dict[int, list[Fraction]] = {}
        values = []
        X = self.rows.take(np.arange(self.n))
        X = sp.csr_array(X)
        for i in range(self.n):
            stored = slice(*X.indptr[i : i + 2])
            places, (x, exponent) = X.indices[stored].tolist(), as_integers(X.data[stored])
            dot = sum(w[j] * v for j, v in zip(places, x, strict=True))
            values.append(Fraction(dot) * _power(w_exponent + exponent))
            if b[i]:
                scale = _power(exponent) * b[i]
                for j, v in zip(places, x, strict=True):
                    own.setdefault(j, []).append(scale * v)
        square = Fraction(sum(v * v for v in w)) * _power(2 * w_exponent)
        own_square = sum((sum(parts, Fraction(0)) ** 2 for parts in own.values()), Fraction(0)) / denominator**2
        return ExactValues([(v, v) for v in values], (square, square), (own_square, own_square))


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def _length(w: FloatArray) -> float:
    """‖w‖ from above."""
    largest = float(np.abs(w).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if not math.isfinite(largest):
        return math.inf
    scaled = w / largest
    return largest * math.sqrt(float(scaled @ scaled)) * (1.0 + gamma(len(w) + 8))
