"""Points of a feature space in whole numbers, such that a combination of them is 0 wherever it is 0 in these.

    (PCOORD.1)  linear kernel:  the features themselves, each in units of its own power of 2
    (PCOORD.2)  polynomial kernel with whole p and r ≥ 0:  monomials, as
                (gxᵀz + r)^p = Σ_a p!/(a!(p − |a|)!) g^|a| r^(p − |a|) x^a z^a; or, if these are more than the points,
                Gram columns, which are rational: Kγ = 0 makes γᵀKγ = ‖Σγ_l φ(z_l)‖² = 0. For p = 1 and r < 0, where
                K is definite on Σγ_l = 0 alone, only 1 and x: if both are 0 then Σγ_l f(z_l) is for every f
    (PCOORD.3)  precomputed kernel:  columns of the matrix as given; Kγ = 0 makes Σγ_l f(z_l) = 0 for every
                f(z) = Σ a_i K(x_i, z), whether K is positive semidefinite or not
    (PCOORD.4)  any other kernel:  which points are the same

Numbers are what they are: floats are rational numbers, and features of samples are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.exactly import as_integers
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.proof.infeasible.cancelling import NUMBERS, Integers
from qpsvm.space.kernels.functions import Kernel, Linear, Polynomial, Precomputed

#: Products of two numbers in a Gram matrix that take about a second.
PRODUCTS = 3e6
#: The largest whole exponent of a polynomial kernel whose values are made.
LARGEST_DEGREE = 32


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Points in whole coordinates, (m, q), each in units of a power of 2 if they are features.

    kind: (PCOORD.1) or monomials, Gram columns, (PCOORD.3), (PCOORD.4).
    """

    whole: Integers
    kind: Literal["features", "gram", "matrix", "same"]
    exponents: tuple[int, ...] = ()


def coordinates(kernel: Kernel, points: Matrix) -> Coordinates | None:
    """Points of a kernel's feature space, (q, d); None where that takes too long."""
    q = points.shape[0]
    if isinstance(kernel, (Linear, Precomputed)):
        used = _used(points)
        if used.size > NUMBERS:
            return None
        whole, exponents = _whole_columns(used)
        return Coordinates(whole, "features" if isinstance(kernel, Linear) else "matrix", exponents)
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
    return Coordinates(whole, "same")


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
    features, degree = _whole_columns(points)[0], int(kernel.degree)
    totals = range(degree + 1) if kernel.coef0 else (degree,)
    whole = [
        math.prod((features[place] for place in places), start=np.full(len(points), 1, dtype=object))
        for total in totals
        for places in combinations_with_replacement(range(len(features)), total)
    ]
    return Coordinates(np.array(whole, dtype=object).reshape(len(whole), len(points)), "features")


def _gram(kernel: Polynomial, points: FloatArray) -> Coordinates:
    """(PCOORD.2)."""
    q = len(points)
    whole, exponent = as_integers(points.ravel())
    Z = np.array(whole, dtype=object).reshape(points.shape)
    products = Z @ Z.T if Z.size else np.full((q, q), 0, dtype=object)
    factor, constant = Fraction(float(kernel.gamma)) * Fraction(2) ** (2 * exponent), Fraction(kernel.coef0)
    denominator = math.lcm(factor.denominator, constant.denominator)
    base = products * int(factor * denominator) + int(constant * denominator)
    return Coordinates(base ** int(kernel.degree), "gram")
