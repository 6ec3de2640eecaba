"""Bound ⟨w, φ(x_i)⟩ with a radius, and the distance of w from w(α), for a proof (`Space`).

A radius is rigorous: true for IEEE 754 arithmetic, round to nearest, and sums in any order.

Samples as vectors from the centre of a ball: a cloud that is far from the origin is as near to it as any other.

    (BALL.1)  where 1ᵀβ = 1, x − a for every x and c − a for c change neither P nor D:  with a = c the ball's own w is 0
    (BALL.2)  ½‖x − c‖² by differences, of which each is rounded once:  off by γ_{d+4} of itself
    (BALL.3)  ‖fl(Σβ_i (x_i − c)) − Σβ_i (x_i − c)‖ ≤ γ_{n+4} Σ|β_i|‖x_i − c‖
    (BALL.4)  of many sparse rows, ‖x‖² − 2cᵀx + ‖c‖² and Σβ_i x_i − c, off by as much of (‖x‖ + ‖c‖)²

The theorem is about c as it is: the differences are rounded, and their rounding is counted.

Samples as vectors: ⟨w, x_i⟩ and ‖w − Σβ_i x_i‖ in one pass over X, with radii.

    (PLIN.1)  |fl(xᵀw) − xᵀw| ≤ γ_d Σ_j |x_j||w_j| ≤ γ_d ‖x‖‖w‖, in any order of summation; of a sparse row with k
              numbers γ_k
    (PLIN.2)  ‖fl(Σβ_i x_i) − Σβ_i x_i‖ ≤ γ_{k+p} Σ|β_i|‖x_i‖, where the sums of p pieces of at most k rows are added
    (PLIN.3)  ‖x‖ by (ROUND.5)

X is what it is: floats are rational numbers, and the theorem is about these. Where a source makes its rows as it reads
them (standardised, mapped), it is about the floats that it makes.

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW, multiply_to_pairs, sum_pairs, two_sum
from qpsvm.base.arrays.rationals import RationalVector, as_integers, from_enclosure, to_common_denominator
from qpsvm.base.arrays.rounding import UNIT, bound_norm, bound_row_norms, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.bounds.accuracy import AFFORDABLE, AT_A_TIME
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels.definite import Definiteness
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.blocks import Block
from qpsvm.data.rows.memory import as_block

#: A rational between two.
Between = tuple[Fraction, Fraction]
#: Rows whose β_i x_i are added up before these sums are.
PIECE = 512


@dataclass(frozen=True, eq=False)
class PointValues:
    """⟨w, φ(x_i)⟩ at some points: |⟨w, φ(x_i)⟩ − high_i − low_i| ≤ radius_i, (k,) each."""

    high: FloatArray
    low: FloatArray
    radius: FloatArray


@dataclass(frozen=True, eq=False)
class SpaceMeasurement:
    """What one look at all points gives.

    values: At all n points.
    apart: At least ‖w − Σ_j β_j φ(x_j)‖.
    half_square: ½‖w‖² from below and from above.
    own_half: ½‖w(α)‖² likewise; None where the two others have to do.
    half_apart_low: ½‖w − w(α)‖² from below: less than 0 only where it is no norm, as the kernel may not be
        positive semidefinite.
    """

    values: PointValues
    apart: float
    half_square: tuple[float, float]
    own_half: tuple[float, float] | None = None
    half_apart_low: float = 0.0


@dataclass(frozen=True, eq=False)
class ExactValues:
    """The same in rational numbers, each between two: equal ones where the kernel is rational.

    values: ⟨w, φ(x_i)⟩ at all n points.
    square, own_square: ‖w‖², and ‖w(α)‖² = ‖Σ_j β_j φ(x_j)‖².
    """

    values: Sequence[Between]
    square: Between
    own_square: Between


class Space(ABC):
    """The points of a program in feature space.

    n: Points.
    assumptions: What is taken for granted of the kernel, in words: "the kernel matrix is positive
        semidefinite"; mostly empty.
    """

    n: int
    assumptions: tuple[str, ...] = ()

    @abstractmethod
    def measure(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate all points once, in floats. Shapes: beta, beta_radius (n,)."""

    @abstractmethod
    def refine_values(self, held: Primal, points: IntArray) -> PointValues | None:
        """Return ⟨w, φ(x_i)⟩ at some points in double-double; None if unavailable or too slow."""

    def refine_distance(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Return the distance `apart` in double-double; None if unavailable or too slow."""
        del held, beta, beta_radius
        return None

    def exact(self, held: Primal, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """Return the values as rational numbers; None if unavailable, or if they take more than `most` products."""
        del held, beta, most
        return None

    def definiteness(self, plane: bool) -> Definiteness:
        """Return what is proven of the kernel matrix over these points: of vectors, that it is semidefinite."""
        del plane
        return Definiteness(0.0, built=True)


class BallSpace(Space):
    """The points of a linear SVDD, from the centre.

    rows: X as the user has it, (n, d).
    centre (d,): c, these floats exactly.
    """

    def __init__(self, rows: RowSource, centre: FloatArray) -> None:
        self.rows, self.centre = rows, centre
        self.n, self.d = rows.shape
        self._written_out = not rows.is_sparse or self.n * self.d <= AFFORDABLE
        self._halves, self._radius = np.empty(self.n), np.empty(self.n)
        square, length = float(centre @ centre), bound_norm(centre)
        for block in rows.blocks():
            for piece in block.iter_tiles():
                self._scan_piece(piece, square, length)

    def _scan_piece(self, piece: Block, square: float, length: float) -> None:
        """Compute ½‖x − c‖² of some rows, and its radius."""
        if self._written_out:
            apart = self._subtract_centre(piece)
            halves = 0.5 * np.einsum("ij,ij->i", apart, apart)  # (BALL.2)
            self._halves[piece.rows] = halves
            self._radius[piece.rows] = gamma(self.d + 8) * halves + self.d * UNDERFLOW
            return
        squares = piece.squared_norms()
        lengths = bound_row_norms(squares, self.d)
        self._halves[piece.rows] = 0.5 * (squares - 2.0 * piece.margins(self.centre) + square)  # (BALL.4)
        self._radius[piece.rows] = gamma(self.d + 12) * (lengths + length) ** 2 + self.d * UNDERFLOW

    def _subtract_centre(self, piece: Block) -> FloatArray:
        """Return x − c of some rows, each number rounded once: (k, d)."""
        found: FloatArray = as_dense(piece.matrix) - self.centre
        return found

    @property
    def levels(self) -> RationalVector:
        """½‖x_i − c‖², the levels of (DUAL.1) in these coordinates: (n,)."""
        with np.errstate(invalid="ignore"):
            low = np.maximum(self._halves - self._radius, 0.0) * (1.0 - gamma(4))
            high = (self._halves + self._radius) * (1.0 + gamma(4))
        return from_enclosure(
            np.where(np.isfinite(high), low, 0.0), np.where(np.isnan(high), np.inf, high), self._level
        )

    @cached_property
    def _small_matrix(self) -> Matrix | None:
        """X, where it is small: it is asked for row by row."""
        return self.rows.take(np.arange(self.n)) if self.n * self.d <= BLOCK_NUMBERS else None

    def _row(self, i: int) -> Matrix:
        return self.rows.take(np.array([i])) if self._small_matrix is None else self._small_matrix[i : i + 1]

    def _level(self, i: int) -> Fraction:
        j, exponent = as_integers(np.concatenate([as_dense(self._row(i))[0], self.centre]))
        return Fraction(sum((x - c) ** 2 for x, c in zip(j[: self.d], j[self.d :], strict=True)), 2) * _power(
            2 * exponent
        )

    def measure(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate (BALL.3): w is 0, and w(α) is Σβ_i (x_i − c)."""
        del held
        sums, nothing = np.zeros(self.d), np.zeros(self.n)
        for block in self.rows.blocks():
            for piece in block.iter_tiles():
                weights = beta[piece.rows]
                sums += self._subtract_centre(piece).T @ weights if self._written_out else piece.weights(weights)
        lengths = np.sqrt(2.0 * self.levels.bounds[1]) * (1.0 + gamma(4))
        if not self._written_out:
            sums -= self.centre
            lengths = lengths + 2.0 * bound_norm(self.centre)  # ‖x‖ + ‖c‖
        off = gamma(self.n + 8) * float(np.abs(beta) @ lengths) + self.n * self.d * UNDERFLOW
        off = (off + float(beta_radius @ lengths)) * (1.0 + gamma(self.n + 4))
        return SpaceMeasurement(
            PointValues(nothing, nothing, nothing), (bound_norm(sums) + off) * (1.0 + gamma(4)), (0.0, 0.0)
        )

    def refine_values(self, held: Primal, points: IntArray) -> PointValues | None:
        """Return None: ⟨0, x − c⟩ is exactly 0."""
        del held, points
        return None

    def exact(self, held: Primal, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """Every product and every sum as an integer."""
        del held
        if self.n * self.d > most:
            return None
        b, denominator = to_common_denominator(beta)
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


class LinearSpace(Space):
    """The points of a linear machine.

    rows: X as the user has it, (n, d), with the points of linear constraints behind the samples.
    """

    def __init__(self, rows: RowSource) -> None:
        self.rows = rows
        self.n, self.d = rows.shape
        self._terms = max(int(rows.longest_row), 1)

    def measure(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate (PLIN.1) to (PLIN.3), each number read once."""
        w = held.w
        assert w is not None
        values, lengths = np.empty(self.n), np.empty(self.n)
        sums, pieces = np.zeros(self.d), 0
        for block in self.rows.blocks():
            for piece in block.iter_tiles():
                values[piece.rows] = piece.margins(w)
                lengths[piece.rows] = bound_row_norms(piece.squared_norms(), self._terms)
                for start in range(0, piece.n, PIECE):
                    some = slice(start, min(start + PIECE, piece.n))
                    sums += piece.weights(beta[piece.rows][some], some)
                    pieces += 1
        radius = lengths * bound_norm(w) * gamma(self._terms + 3)  # (PLIN.1)
        radius += self._terms * UNDERFLOW if w.any() else 0.0
        size = float(np.abs(beta) @ lengths) * (1.0 + gamma(self.n + 2))
        off = gamma(PIECE + pieces + 4) * size + (self.n * self.d * UNDERFLOW if beta.any() else 0.0)  # (PLIN.2)
        off += float(beta_radius @ lengths) * (1.0 + gamma(self.n + 2))
        apart = (bound_norm(w - sums) * (1.0 + gamma(4)) + off) * (1.0 + gamma(4))
        square = float(np.square(w).sum())
        spread = gamma(self.d + 2) * square + self.d * UNDERFLOW
        half = (max(0.5 * (square - spread), 0.0), 0.5 * (square + spread) * (1.0 + gamma(2)))
        return SpaceMeasurement(PointValues(values, np.zeros(self.n), radius), apart, half)

    def refine_values(self, held: Primal, points: IntArray) -> PointValues | None:
        """Evaluate some points by (ROUND.4)."""
        w = held.w
        assert w is not None
        if len(points) * self.d > AFFORDABLE:
            return None
        high, low, radius = np.empty(len(points)), np.empty(len(points)), np.empty(len(points))
        for X, some in self._pieces(points):
            high[some], low[some], radius[some] = multiply_to_pairs(X, w)
        return PointValues(high, low, radius)

    def refine_distance(self, held: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Bound the distance by (ROUND.4), a block of rows at a time."""
        support = np.flatnonzero((beta != 0.0) | (beta_radius != 0.0))
        if len(support) * self.d > AFFORDABLE:
            return None
        found, off = np.zeros((3, self.d)), 0.0
        for X, some in self._pieces(support):
            part = multiply_to_pairs(np.ascontiguousarray(X.T), beta[support[some]])
            found = np.array(sum_pairs(np.array([found, part])))
            off += float(beta_radius[support[some]] @ bound_row_norms(as_block(X).squared_norms(), self._terms))
        off *= 1.0 + gamma(len(support) + 2)
        assert held.w is not None
        high, error = two_sum(held.w, -found[0])
        apart = high + (error - found[1])
        lost = found[2] + 4.0 * UNIT * (np.abs(apart) + np.abs(error) + np.abs(found[1]))
        return (bound_norm(np.abs(apart) + lost) * (1.0 + gamma(6)) + off) * (1.0 + gamma(4))

    def _pieces(self, points: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
        """Some of the points, a few dense rows at a time, and their places among those asked for: X is read once."""
        step = max(AT_A_TIME // max(self.d, 1), 1)
        for block, at, where in self.rows.locate_rows(points):
            index, places = np.arange(block.n)[at], np.arange(len(points))[where]
            for start in range(0, len(index), step):
                some = slice(start, start + step)
                yield np.ascontiguousarray(as_dense(block.take(index[some]))), places[some]

    def exact(self, held: Primal, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """Every product and every sum as an integer."""
        if self.n * self.d > most:
            return None
        assert held.w is not None
        w, w_exponent = as_integers(held.w)
        b, denominator = to_common_denominator(beta)
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
