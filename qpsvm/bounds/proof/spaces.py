"""Bound ⟨w, φ(x_i)⟩ with a radius, and the distance of w from w(α), for a proof (`Space`, `LinearSpace`, `BallSpace`).

A proof sees the samples only through their `Space`, which evaluates them in floats, in double-double or in rational
numbers. A radius is rigorous: it holds for IEEE 754 arithmetic, round to nearest, and sums in any order.

`BallSpace` has samples relative to the centre of a ball, so that samples far from the origin lose no accuracy:

    (BALL.1)  if 1ᵀβ = 1, subtracting a from every x and from c changes neither P nor D:  with a = c, w of the ball is 0
    (BALL.2)  ½‖x − c‖² by differences, each rounded once:  relative error γ_{d+4}
    (BALL.3)  ‖fl(Σβ_i (x_i − c)) − Σβ_i (x_i − c)‖ ≤ γ_{n+4} Σ|β_i|‖x_i − c‖
    (BALL.4)  for many sparse rows, ‖x‖² − 2cᵀx + ‖c‖² and Σβ_i x_i − c, with the same error relative to (‖x‖ + ‖c‖)²

The proof is about c exactly: the rounding of the differences is included in the radii.

`LinearSpace` computes ⟨w, x_i⟩ and ‖w − Σβ_i x_i‖ in one pass over X, with radii:

    (PLIN.1)  |fl(xᵀw) − xᵀw| ≤ γ_d Σ_j |x_j||w_j| ≤ γ_d ‖x‖‖w‖, in any order of summation; γ_k for a sparse row with k
              entries
    (PLIN.2)  ‖fl(Σβ_i x_i) − Σβ_i x_i‖ ≤ γ_{k+p} Σ|β_i|‖x_i‖ for the sum of p partial sums of at most k rows each
    (PLIN.3)  ‖x‖ by (ROUND.5)

The floats in X are rational numbers, and the proof is about these. If a source computes its rows as it reads them
(standardised, mapped), the proof is about the computed floats.

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
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
from qpsvm.bounds.accuracy import MAX_DOUBLE_DOUBLE_PRODUCTS, PRODUCTS_PER_STEP
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels.definite import Definiteness
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.blocks import Block
from qpsvm.data.rows.memory import as_block

#: Lower and upper bound, as rational numbers.
RationalInterval = tuple[Fraction, Fraction]
#: Number of rows of a partial sum of β_i x_i.
ROWS_PER_PARTIAL_SUM = 512


@dataclass(frozen=True, eq=False)
class PointValues:
    """⟨w, φ(x_i)⟩ at some points: |⟨w, φ(x_i)⟩ − high_i − low_i| ≤ radius_i, (k,) each."""

    high: FloatArray
    low: FloatArray
    radius: FloatArray


@dataclass(frozen=True, eq=False)
class SpaceMeasurement:
    """Values and norms from one evaluation of all points.

    values: At all n points.
    distance: Upper bound of ‖w − Σ_j β_j φ(x_j)‖.
    half_square: Lower and upper bound of ½‖w‖².
    dual_half_square: The same for ½‖w(α)‖²; None if it is only known from `half_square` and `distance`.
    min_half_square_distance: Lower bound of ½‖w − w(α)‖²; negative only if the kernel may be indefinite.
    """

    values: PointValues
    distance: float
    half_square: tuple[float, float]
    dual_half_square: tuple[float, float] | None = None
    min_half_square_distance: float = 0.0


@dataclass(frozen=True, eq=False)
class ExactValues:
    """Values and norms as intervals of rational numbers, of length 0 if the kernel values are rational.

    values: ⟨w, φ(x_i)⟩ at all n points.
    square, dual_square: ‖w‖², and ‖w(α)‖² = ‖Σ_j β_j φ(x_j)‖².
    square_distance: ‖w − w(α)‖².
    """

    values: Sequence[RationalInterval]
    square: RationalInterval
    dual_square: RationalInterval
    square_distance: RationalInterval


class Space(ABC):
    """The points of a program in feature space.

    n: Number of points.
    assumptions: Unproven assumptions about the kernel, as sentences; usually empty.
    """

    n: int
    assumptions: tuple[str, ...] = ()

    @abstractmethod
    def measure(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate all points once, in floats. Shapes: beta, beta_radius (n,)."""

    @abstractmethod
    def refine_values(self, primal_point: Primal, points: IntArray) -> PointValues | None:
        """Return ⟨w, φ(x_i)⟩ at some points in double-double; None if unavailable or too slow."""

    def refine_distance(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Return the upper bound `distance` in double-double; None if unavailable or too slow."""
        del primal_point, beta, beta_radius
        return None

    def evaluate_exactly(
        self, primal_point: Primal, beta: Sequence[Fraction], max_products: float
    ) -> ExactValues | None:
        """Return the values as rational numbers; None if unavailable, or with more than `max_products` products."""
        del primal_point, beta, max_products
        return None

    def bound_distances(self, centre: int | None) -> FloatArray | None:
        """Return lower bounds of ‖φ(x_i) − φ(x_c)‖, or of ‖φ(x_i)‖ without a centre, (n,); None if unavailable."""
        del centre
        return None

    def prove_definiteness(self, has_fixed_sum: bool) -> Definiteness:
        """Prove that the kernel matrix over these points is positive semidefinite, or how much it lacks.

        has_fixed_sum: Whether 1ᵀβ is the same for all β, (DEF.4).
        """
        del has_fixed_sum
        return Definiteness(0.0, is_by_construction=True)


class BallSpace(Space):
    """The points of a linear SVDD, relative to the centre.

    rows: The user's X, (n, d).
    centre (d,): c, exact floats.
    """

    def __init__(self, rows: RowSource, centre: FloatArray) -> None:
        self.rows, self.centre = rows, centre
        self.n, self.d = rows.shape
        self._uses_differences = not rows.is_sparse or self.n * self.d <= MAX_DOUBLE_DOUBLE_PRODUCTS
        self._half_squares, self._radius = np.empty(self.n), np.empty(self.n)
        square = float(centre @ centre)
        length = bound_norm(centre)
        for block in rows.blocks():
            for piece in block.iter_tiles():
                self._scan_piece(piece, square, length)

    def _scan_piece(self, piece: Block, square: float, length: float) -> None:
        """Compute ½‖x − c‖² of some rows, and its radius."""
        if self._uses_differences:
            differences = self._subtract_centre(piece)
            halves = 0.5 * np.einsum("ij,ij->i", differences, differences)  # (BALL.2)
            self._half_squares[piece.rows] = halves
            self._radius[piece.rows] = gamma(self.d + 8) * halves + self.d * UNDERFLOW
            return
        squares = piece.squared_norms()
        lengths = bound_row_norms(squares, self.d)
        self._half_squares[piece.rows] = 0.5 * (squares - 2.0 * piece.margins(self.centre) + square)  # (BALL.4)
        self._radius[piece.rows] = gamma(self.d + 12) * (lengths + length) ** 2 + self.d * UNDERFLOW

    def _subtract_centre(self, piece: Block) -> FloatArray:
        """Return x − c of some rows, each number rounded once: (k, d)."""
        differences: FloatArray = as_dense(piece.matrix) - self.centre
        return differences

    @property
    def levels(self) -> RationalVector:
        """½‖x_i − c‖², the levels of (DUAL.1) relative to c: (n,)."""
        with np.errstate(invalid="ignore"):
            low = np.maximum(self._half_squares - self._radius, 0.0) * (1.0 - gamma(4))
            high = (self._half_squares + self._radius) * (1.0 + gamma(4))
        return from_enclosure(
            np.where(np.isfinite(high), low, 0.0), np.where(np.isnan(high), np.inf, high), self._compute_level
        )

    @cached_property
    def _small_matrix(self) -> Matrix | None:
        """X in memory if it is small, for access row by row; else None."""
        if self.n * self.d <= BLOCK_NUMBERS:
            return self.rows.take(np.arange(self.n))
        return None

    def _take_row(self, i: int) -> Matrix:
        if self._small_matrix is None:
            return self.rows.take(np.array([i]))
        return self._small_matrix[i : i + 1]

    def _compute_level(self, i: int) -> Fraction:
        """Return ½‖x_i − c‖² exactly."""
        integers, exponent = as_integers(np.concatenate([as_dense(self._take_row(i))[0], self.centre]))
        square = sum((x - c) ** 2 for x, c in zip(integers[: self.d], integers[self.d :], strict=True))
        return Fraction(square, 2) * _power_of_two(2 * exponent)

    def measure(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate (BALL.3): w is 0, and w(α) is Σβ_i (x_i − c)."""
        del primal_point
        sums, zeros = np.zeros(self.d), np.zeros(self.n)
        for block in self.rows.blocks():
            for piece in block.iter_tiles():
                weights = beta[piece.rows]
                sums += self._subtract_centre(piece).T @ weights if self._uses_differences else piece.weights(weights)
        lengths = np.sqrt(2.0 * self.levels.bounds[1]) * (1.0 + gamma(4))
        if not self._uses_differences:
            sums -= self.centre
            lengths = lengths + 2.0 * bound_norm(self.centre)  # ‖x‖ + ‖c‖
        sum_error = gamma(self.n + 8) * float(np.abs(beta) @ lengths) + self.n * self.d * UNDERFLOW
        sum_error = (sum_error + float(beta_radius @ lengths)) * (1.0 + gamma(self.n + 4))
        return SpaceMeasurement(
            PointValues(zeros, zeros, zeros), (bound_norm(sums) + sum_error) * (1.0 + gamma(4)), (0.0, 0.0)
        )

    def refine_values(self, primal_point: Primal, points: IntArray) -> PointValues | None:
        """Return None: ⟨0, x − c⟩ is exactly 0."""
        del primal_point, points
        return None

    def evaluate_exactly(
        self, primal_point: Primal, beta: Sequence[Fraction], max_products: float
    ) -> ExactValues | None:
        """Return the values as rational numbers: products and sums of integers, scaled by powers of 2."""
        del primal_point
        if self.n * self.d > max_products:
            return None
        b, denominator = to_common_denominator(beta)
        weights = [Fraction(0)] * self.d
        for i in np.flatnonzero(np.array([value != 0 for value in b])).tolist():
            row = sp.csr_array(self._take_row(i))
            x, exponent = as_integers(row.data)
            scale = _power_of_two(exponent) * b[i]
            for j, v in zip(row.indices.tolist(), x, strict=True):
                weights[j] += scale * v
        differences = [
            value - denominator * Fraction(c) for value, c in zip(weights, self.centre.tolist(), strict=True)
        ]
        square = sum((v * v for v in differences), Fraction(0)) / denominator**2
        zero = Fraction(0), Fraction(0)
        return ExactValues([zero] * self.n, zero, (square, square), (square, square))


class LinearSpace(Space):
    """The points of a linear machine.

    rows: The user's X, (n, d), followed by the points of linear constraints.
    """

    def __init__(self, rows: RowSource) -> None:
        self.rows = rows
        self.n, self.d = rows.shape
        self._terms = max(int(rows.longest_row), 1)

    def measure(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate (PLIN.1) to (PLIN.3) in one pass over X."""
        w = primal_point.w
        assert w is not None
        values, lengths = np.empty(self.n), np.empty(self.n)
        sums = np.zeros(self.d)
        pieces = 0
        for block in self.rows.blocks():
            for piece in block.iter_tiles():
                values[piece.rows] = piece.margins(w)
                lengths[piece.rows] = bound_row_norms(piece.squared_norms(), self._terms)
                for start in range(0, piece.n, ROWS_PER_PARTIAL_SUM):
                    rows = slice(start, min(start + ROWS_PER_PARTIAL_SUM, piece.n))
                    sums += piece.weights(beta[piece.rows][rows], rows)
                    pieces += 1
        radius = lengths * bound_norm(w) * gamma(self._terms + 3)  # (PLIN.1)
        radius += self._terms * UNDERFLOW if w.any() else 0.0
        size = float(np.abs(beta) @ lengths) * (1.0 + gamma(self.n + 2))
        sum_error = gamma(ROWS_PER_PARTIAL_SUM + pieces + 4) * size + (
            self.n * self.d * UNDERFLOW if beta.any() else 0.0
        )  # (PLIN.2)
        sum_error += float(beta_radius @ lengths) * (1.0 + gamma(self.n + 2))
        distance = (bound_norm(w - sums) * (1.0 + gamma(4)) + sum_error) * (1.0 + gamma(4))
        square = float(np.square(w).sum())
        spread = gamma(self.d + 2) * square + self.d * UNDERFLOW
        half = (max(0.5 * (square - spread), 0.0), 0.5 * (square + spread) * (1.0 + gamma(2)))
        return SpaceMeasurement(PointValues(values, np.zeros(self.n), radius), distance, half)

    def refine_values(self, primal_point: Primal, points: IntArray) -> PointValues | None:
        """Evaluate some points by (ROUND.4)."""
        w = primal_point.w
        assert w is not None
        if len(points) * self.d > MAX_DOUBLE_DOUBLE_PRODUCTS:
            return None
        high = np.empty(len(points))
        low = np.empty(len(points))
        radius = np.empty(len(points))
        for X, positions in self._iter_dense_pieces(points):
            high[positions], low[positions], radius[positions] = multiply_to_pairs(X, w)
        return PointValues(high, low, radius)

    def refine_distance(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Bound the distance by (ROUND.4), a block of rows at a time."""
        assert primal_point.w is not None
        sums = self.sum_points(beta)
        if sums is None:
            return None
        sum_error = 0.0
        moved = np.flatnonzero(beta_radius)
        for X, positions in self._iter_dense_pieces(moved):
            sum_error += float(
                beta_radius[moved[positions]] @ bound_row_norms(as_block(X).squared_norms(), self._terms)
            )
        sum_error *= 1.0 + gamma(len(moved) + 2)
        high, error = two_sum(primal_point.w, -sums[0])
        difference = high + (error - sums[1])
        difference_radius = sums[2] + 4.0 * UNIT * (np.abs(difference) + np.abs(error) + np.abs(sums[1]))
        return (bound_norm(np.abs(difference) + difference_radius) * (1.0 + gamma(6)) + sum_error) * (1.0 + gamma(4))

    def sum_points(self, beta: FloatArray) -> FloatArray | None:
        """Return Σβ_i x_i as sums of two doubles, and radii, (3, d), by (ROUND.4); None if too slow."""
        support = np.flatnonzero(beta)
        if len(support) * self.d > MAX_DOUBLE_DOUBLE_PRODUCTS:
            return None
        sums = np.zeros((3, self.d))
        for X, positions in self._iter_dense_pieces(support):
            products = multiply_to_pairs(np.ascontiguousarray(X.T), beta[support[positions]])
            sums = np.array(sum_pairs(np.array([sums, products])))
        return sums

    def bound_distances(self, centre: int | None) -> FloatArray | None:
        """Return lower bounds of ‖x_i − x_c‖, or of ‖x_i‖ without a centre, by differences as in (BALL.2): (n,)."""
        if centre is None:
            c = np.zeros(self.d)
        else:
            c = as_dense(self.rows.take(np.array([centre])))[0]
        distances = np.empty(self.n)
        for X, positions in self._iter_dense_pieces(np.arange(self.n)):
            distances[positions] = bound_norms_below(X - c)
        return distances

    def _iter_dense_pieces(self, points: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield some points, a few dense rows at a time, and their positions in `points`, in one pass over X."""
        step = max(PRODUCTS_PER_STEP // max(self.d, 1), 1)
        for block, rows_of_block, positions in self.rows.locate_rows(points):
            index = np.arange(block.n)[rows_of_block]
            places = np.arange(len(points))[positions]
            for start in range(0, len(index), step):
                piece = slice(start, start + step)
                yield np.ascontiguousarray(as_dense(block.take(index[piece]))), places[piece]

    def evaluate_exactly(
        self, primal_point: Primal, beta: Sequence[Fraction], max_products: float
    ) -> ExactValues | None:
        """Return the values as rational numbers: products and sums of integers, scaled by powers of 2."""
        if self.n * self.d > max_products:
            return None
        assert primal_point.w is not None
        w, w_exponent = as_integers(primal_point.w)
        b, denominator = to_common_denominator(beta)
        own_weights: dict[int, Fraction] = {}
        values = []
        X = self.rows.take(np.arange(self.n))
        X = sp.csr_array(X)
        for i in range(self.n):
            stored = slice(*X.indptr[i : i + 2])
            places = X.indices[stored].tolist()
            x, exponent = as_integers(X.data[stored])
            dot = sum(w[j] * v for j, v in zip(places, x, strict=True))
            values.append(Fraction(dot) * _power_of_two(w_exponent + exponent))
            if b[i]:
                scale = _power_of_two(exponent) * b[i]
                for j, v in zip(places, x, strict=True):
                    own_weights[j] = own_weights.get(j, Fraction(0)) + scale * v
        square = Fraction(sum(v * v for v in w)) * _power_of_two(2 * w_exponent)
        own_square = sum((v * v for v in own_weights.values()), Fraction(0)) / denominator**2
        scale = denominator * _power_of_two(w_exponent)
        differences = (scale * v - own_weights.get(j, Fraction(0)) for j, v in enumerate(w))
        apart_square = sum((v * v for v in differences), Fraction(0)) / denominator**2
        return ExactValues(
            [(v, v) for v in values], (square, square), (own_square, own_square), (apart_square, apart_square)
        )


def bound_norms_below(differences: FloatArray) -> FloatArray:
    """Return lower bounds of the norms of rows (k, d), each entry of which is a difference of floats, rounded once."""
    terms = differences.shape[1]
    power = math.frexp(float(np.abs(differences).max(initial=0.0)))[1]
    scaled = np.ldexp(differences, -power)  # so that squares neither overflow, nor underflow where they matter
    squares = np.einsum("ij,ij->i", scaled, scaled) * (1.0 - gamma(terms + 6)) - terms * UNDERFLOW
    norms: FloatArray = np.ldexp(np.sqrt(np.maximum(squares, 0.0)) * (1.0 - 4.0 * UNIT), power)
    return norms


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
