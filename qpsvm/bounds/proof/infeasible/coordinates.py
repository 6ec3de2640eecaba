"""Points of a feature space in whole numbers, such that a combination of them is 0 wherever it is 0 in these.

    (PCOORD.1)  linear kernel:  the features themselves, each in units of its own power of 2
    (PCOORD.2)  polynomial kernel with whole p and r ≥ 0:  monomials, as
                (gxᵀz + r)^p = Σ_a p!/(a!(p − |a|)!) g^|a| r^(p − |a|) x^a z^a; or, if these are more than the points,
                Gram columns, which are rational: Kγ = 0 makes γᵀKγ = ‖Σγ_l φ(z_l)‖² = 0. For p = 1 and r < 0, where
                K is definite on Σγ_l = 0 alone, only 1 and x: if both are 0 then Σγ_l f(z_l) is for every f; and
                ‖Σγ_l φ(z_l)‖² is known where the 1 is
    (PCOORD.3)  precomputed kernel:  columns of the matrix as given; Kγ = 0 makes Σγ_l f(z_l) = 0 for every
                f(z) = Σ a_i K(x_i, z), whether K is positive semidefinite or not
    (PCOORD.4)  any other kernel:  which points are the same; ‖Σγ_l φ(z_l)‖ ≤ Σ|γ_l|, the same points taken together,
                for a Gaussian, whose φ have length 1

Numbers are what they are: floats are rational numbers, and features of samples are floats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.exactly import as_integers, common
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.proof.infeasible.cancelling import Integers
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed

#: Numbers that are made whole, and products of two of them in a Gram matrix, that take about a second.
NUMBERS, PRODUCTS = 4e6, 3e6
#: The largest whole exponent of a polynomial kernel whose values are made.
LARGEST_DEGREE = 32


@dataclass(frozen=True, eq=False)
class Coordinates:
    """q points in m whole coordinates.

    whole (m, q)
    exponents: 1 is this power of 2 in each coordinate of (PCOORD.1).
    factors: Of the squares of monomials; None for ones.
    unit: What 1 is in Gram columns.
    kind: (PCOORD.1), (PCOORD.2), (PCOORD.3), and (PCOORD.4) with or without a known length.
    """

    whole: Integers
    exponents: tuple[int, ...]
    factors: tuple[Fraction, ...] | None
    unit: Fraction
    kind: Literal["features", "gram", "matrix", "unit", "same"]

    def square(self, weights: Sequence[Fraction]) -> Fraction | None:
        """‖Σγ_l φ(z_l)‖² for γ (q,), or what it is not above; None where nothing is known."""
        whole, denominator = common(weights)
        factors = np.array(whole, dtype=object)
        sums = (self.whole @ factors).tolist()
        if not any(sums):
            return Fraction(0)
        if self.kind == "features" and not (self._conditional and sums[0]):
            found = self._squares(sums)
        elif self.kind == "gram":
            found = self.unit * int(factors @ np.array(sums, dtype=object))
        elif self.kind == "unit":
            found = Fraction(sum(abs(value) for value in sums)) ** 2
        else:
            return None
        return found / denominator**2

    def _squares(self, values: Sequence[int]) -> Fraction:
        """The squared length of coordinates (PCOORD.1), (m,)."""
        if self.factors is not None:
            parts = zip(self.exponents, self.factors, values, strict=True)
            return sum((factor * Fraction(4) ** exponent * value**2 for exponent, factor, value in parts), Fraction(0))
        used = [(exponent, value) for exponent, value in zip(self.exponents, values, strict=True) if value]
        least = min((exponent for exponent, _ in used), default=0)
        return sum(value * value << 2 * (exponent - least) for exponent, value in used) * Fraction(4) ** least

    @property
    def _conditional(self) -> bool:
        """Whether K is definite only where the combination of ones, the first of the monomials, is 0."""
        return self.factors is not None and self.factors[0] < 0

    @property
    def longest(self) -> Fraction:
        """The largest K(z, z); 0 where nothing is known."""
        if self.kind == "features" and not self._conditional:
            return max((self._squares(column) for column in self.whole.T.tolist()), default=Fraction(0))
        if self.kind == "gram":
            return self.unit * max(self.whole.diagonal().tolist(), default=0)
        return Fraction(self.kind == "unit")


def coordinates(kernel: Kernel, points: Matrix) -> Coordinates | None:
    """Points of a kernel's feature space, (q, d); None where that takes too long.

    Shapes: points (q, d).
    """
    q = points.shape[0]
    if isinstance(kernel, (Linear, Precomputed)):
        used = _used(points)
        if used.size > NUMBERS:
            return None
        whole, exponents = _whole_columns(used)
        return Coordinates(whole, exponents, None, Fraction(1), "features" if isinstance(kernel, Linear) else "matrix")
    if isinstance(kernel, Polynomial) and (kernel.is_psd or kernel.degree == 1) and kernel.degree <= LARGEST_DEGREE:
        used = _used(points)
        width = math.comb(used.shape[1] + int(kernel.degree), int(kernel.degree))
        if width <= q or not kernel.is_psd:
            return _monomials(kernel, used) if width * q <= NUMBERS else None
        return _gram(kernel, used) if q * used.size <= PRODUCTS else None
    rows: dict[bytes, int] = {}
    place = [rows.setdefault(_key(points, k), len(rows)) for k in range(q)]
    if len(rows) * q > NUMBERS:
        return None
    whole = np.full((len(rows), q), 0, dtype=object)
    whole[place, np.arange(q)] = 1
    return Coordinates(whole, (), None, Fraction(1), "unit" if isinstance(kernel, RBF) else "same")


def _key(points: Matrix, k: int) -> bytes:
    """The same for the same point."""
    row = as_dense(points[[k]])[0] + 0.0  # no −0
    places = np.flatnonzero(row)
    return bytes(places.tobytes() + row[places].tobytes())


def _used(points: Matrix) -> FloatArray:
    """The columns in which there is a number, dense: (q, d')."""
    used = columns_of(points)
    return as_dense(sp.csc_array(points)[:, used] if sp.issparse(points) else points[:, used])


def columns_of(points: Matrix) -> IntArray:
    """The columns in which there is a number, those of (PCOORD.1): (d',)."""
    if sp.issparse(points):
        return np.flatnonzero(np.diff(sp.csc_array(points).indptr))
    return np.flatnonzero((as_dense(points) != 0.0).any(axis=0))


def _whole_columns(values: FloatArray) -> tuple[Integers, tuple[int, ...]]:
    """Floats (q, d) as integers (d, q) and the exponent of each of the d."""
    found = np.zeros(values.shape[::-1], dtype=object)
    exponents = []
    for j in range(values.shape[1]):
        found[j], exponent = as_integers(values[:, j])
        exponents.append(exponent)
    return found, tuple(exponents)


def _monomials(kernel: Polynomial, points: FloatArray) -> Coordinates:
    """(PCOORD.2), for fewer monomials than points."""
    features, own = _whole_columns(points)
    degree, gamma, constant = int(kernel.degree), Fraction(float(kernel.gamma)), Fraction(float(kernel.coef0))
    whole, exponents, factors = [], [], []
    for total in range(degree + 1) if constant else (degree,):
        for places in combinations_with_replacement(range(len(features)), total):
            powers = Counter(places)
            column = np.full(len(points), 1, dtype=object)
            for place, power in powers.items():
                column = column * features[place] ** power
            whole.append(column)
            exponents.append(sum(own[place] * power for place, power in powers.items()))
            ways = math.factorial(degree) // math.prod(map(math.factorial, [*powers.values(), degree - total]))
            factors.append(ways * gamma**total * constant ** (degree - total))
    coordinates = np.array(whole, dtype=object).reshape(len(whole), len(points))
    return Coordinates(coordinates, tuple(exponents), tuple(factors), Fraction(1), "features")


def _gram(kernel: Polynomial, points: FloatArray) -> Coordinates:
    """(PCOORD.2)."""
    q = len(points)
    whole, exponent = as_integers(points.ravel())
    Z = np.array(whole, dtype=object).reshape(points.shape)
    products = Z @ Z.T if Z.size else np.full((q, q), 0, dtype=object)
    factor, constant = Fraction(float(kernel.gamma)) * Fraction(2) ** (2 * exponent), Fraction(kernel.coef0)
    denominator = math.lcm(factor.denominator, constant.denominator)
    base = products * int(factor * denominator) + int(constant * denominator)
    degree = int(kernel.degree)
    return Coordinates(base**degree, (), None, Fraction(1, denominator**degree), "gram")
