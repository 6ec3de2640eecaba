"""u = Kβ of many rows: in single precision where that settles on which side of its margin a row is.

A row with α = 0 that is beyond its margin contributes exactly nothing to the gap, however far beyond it is, and the
multipliers depend on which side of a quantile it lies and on nothing else, (LEVEL.3). With û_i − R_i ≤ u_i ≤ û_i + R_i
by the worst-case radius of single precision, (RADII.3), a row k of sample i is left at that as long as

    (FAR.1)  α_k = 0,  t_k < −2R_i,  and |c_k||θ_k − θ| > 2R_i for both ends θ of the interval of its multiplier

All others are evaluated in double precision, those with α ≠ 0 from the start: ‖w‖² and P need every digit of them. The
radius stays with the point, so that all that follows, `bounds` above all, is as rigorous as it is for other points.

Rows that are combinations of samples, in twice the precision: (DUAL.6) with all the digits that the numbers have.

f(x_i) and f(x_j) of a pair may be large where their difference is not, and so may ‖x_i‖ and ‖x_j‖. So f comes as a sum
of two doubles for each sample, and only the difference is rounded; and so do the coefficients β = Aᵀ(s∘α), whose
rounding the lengths of samples far from the origin would magnify.

    (COMB.1)  |Σ_i A_ki f(x_i) − value_k| ≤ u|value_k| + Σ_i |A_ki| radius_i + the rounding of (ROUND.4) over 2 numbers
              a sample and the level

How exactly the decision values of an RBF machine are known, row by row: by the kernel values themselves.

Where most kernel values are nearly 0 that is far less than (ACC.2) has for every row. With L_i = ‖a_i‖² and the
exponents and radii of `accuracy`:

    (RADII.1)  |K̂ − K| ≤ (e^δ_ij − 1 + 8u) K or e⁻⁴⁰(1 + 8u),  δ_ij = s(L_i + L_j) + f, so that with δ = max δ_ij
               |û_i − u_i| ≤ Σ_j (δ_ij(1 + δ) + 8u + γ_{m+6}) |β_j| K_ij (1 + δ) + e⁻⁴⁰(1 + 8u) Σ_j |β_j|
    (RADII.2)  s, f = γ_{1.5d+12}, 0 by (KBLOCK.3);  0, 40γ_{d+6} by differences;  and where the kernel takes the
               one road or the other,  s, f = ½(2d + 10)u, 40γ_{d+6} + 26u √(max L/2),  L no more than products take
    (RADII.3)  in single precision, v = 2⁻²⁴:  s = (d + 6)v, f = 2⁻¹⁰⁰, 8v for 8u, and γ_{m+6} is joined by 33v for the
               32 products that are added up in single precision and for β

(RADII.3) is (KBLOCK.2) with factors of d + 2 columns that are rounded to single precision, 3v/2 (L_i + L_j), and then
multiplied, (d + 2)v (L_i + L_j). Products of single numbers underflow at 2⁻¹⁴⁹, far below f.

Sources: as in `accuracy`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import UNDERFLOW, UNIT, column_sums, dots, gamma, two_product, two_sum
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds import levels
from qpsvm.bounds.accuracy import AFFORDABLE, AT_A_TIME, FLOOR, FUNCTION_ROUNDINGS, LONGEST, Accuracy
from qpsvm.bounds.certificate import PrimalPoint
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.blocks import ROUGH_TERMS, KernelBlocks, exponent_error
from qpsvm.space.kernels.functions import LOWEST_EXPONENT, RBF
from qpsvm.space.kernels.gram import CACHE_ROWS, KernelGram
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.kernels.space import FeatureSpace

#: Roundings of a few sums of numbers of which none is negative.
FEW = 1.0 + 2.0**-40


def combined_values(
    accuracy: Accuracy,
    svm: SVMDual,
    rows: IntArray,
    coef: FloatArray,
    w: FloatArray | None,
    b: float,
    levels: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Σ_i A_ki ⟨w, φ(x_i)⟩ + b minus a level at some rows of the dual, in twice the precision, and its radius.

    Shapes: rows (r,), levels (r,) → values, radii (r,).
    """
    assert svm.mix is not None
    part = svm.mix[rows]
    longest = int(np.diff(part.indptr).max(initial=0))
    used = np.unique(part.indices)
    if len(rows) * (2 * longest + 2) > AFFORDABLE:
        return None
    found = accuracy.sharp_parts(used, coef, w, 0.0, np.zeros(len(used)))
    if found is None:
        return None
    entry, place = _places(part.indptr), np.searchsorted(used, part.indices)
    A, high, low, radius = (np.zeros((len(rows), longest)) for _ in range(4))
    A[entry] = part.data
    for values, given in zip((high, low, radius), found, strict=True):
        values[entry] = given[place]
    ends = np.column_stack([np.full(len(rows), b), -levels])
    values, radii = dots(np.hstack([high, low, ends]), np.hstack([A, A, np.ones((len(rows), 2))]))
    return values, radii + (np.abs(A) * radius).sum(axis=1) * FEW + longest * UNDERFLOW  # (COMB.1)


def _places(indptr: IntArray) -> tuple[IntArray, IntArray]:
    """Where the entries of a CSR matrix stand in one that is padded to the longest row: rows and places."""
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return rows, np.arange(len(rows)) - np.repeat(indptr[:-1] - indptr[0], lengths)


def combined_beta(svm: SVMDual, alpha: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """β = Aᵀ(s∘α) as a sum of two doubles, and how far that may be off.

    Shapes: alpha (m,) → high, low, radii (n,).
    """
    assert svm.mix is not None
    kept = np.flatnonzero(alpha)
    part = svm.mix[kept]
    signed = np.repeat((alpha * svm.sign)[kept], np.diff(part.indptr))
    products, errors = two_product(part.data, signed)
    high, low, radii = column_sums(part.indices, products, svm.n)
    rest, rest_low, more = column_sums(part.indices, errors, svm.n)
    low = low + rest
    radii = radii + more + np.abs(rest_low) + 2.0**-52 * np.abs(low)
    radii += UNDERFLOW * np.bincount(part.indices, minlength=svm.n)
    return *two_sum(high, low), radii * FEW


#: δ from which on (RADII.1) is of no use.
LOOSE = 0.1
#: Unit roundoff v of a single, and what its underflows may do to an exponent.
ROUGH_UNIT, ROUGH_UNDERFLOW = 2.0**-24, 2.0**-100


def rbf_blocks(space: FeatureSpace) -> KernelBlocks | None:
    """Where the values of an RBF Gram matrix come from; None for other kernels, and where a matrix was changed."""
    if not space.is_linear and isinstance(space.kernel, RBF) and isinstance(space.centred, KernelGram):
        return space.centred.blocks
    return None


def row_radii(space: FeatureSpace, rows: IntArray, beta: FloatArray) -> FloatArray | None:
    """How far u = Kβ, as computed in double precision, may be off at some rows, (RADII.1).

    Shapes: rows (r,), beta (n,) → (r,).
    """
    blocks, support = rbf_blocks(space), np.flatnonzero(beta)
    if blocks is None or not len(support):
        return None
    steep, lengths, fixed = _exponents(space, blocks, support)
    worst = 2.0 * steep * float(lengths.max()) + fixed
    if not worst < LOOSE:
        return None
    weights = np.abs(beta[support])
    W = np.column_stack([weights, weights * lengths[support]])
    step = max(AT_A_TIME // len(support), 1)
    parts = [blocks.block(rows[i : i + step], support) @ W for i in range(0, len(rows), step)]
    plain, long = np.concatenate(parts).T if parts else np.zeros((2, 0))
    radii = (steep * lengths[rows] + fixed + 2.0 * FUNCTION_ROUNDINGS * UNIT) * plain + steep * long
    return _summed(radii, plain, weights, worst, gamma(len(support) + 6))


def rough_values(
    blocks: KernelBlocks, rows: IntArray, support: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Σ_j weights_j K_ij in single precision, and how far it may be off in the worst case, (RADII.3).

    Shapes: rows, support (r,), weights (s,) → values, radii (r,).
    """
    lengths = blocks.lengths
    assert lengths is not None
    steep = (blocks.terms + 6) * ROUGH_UNIT
    worst = 2.0 * steep * float(lengths.max()) + ROUGH_UNDERFLOW
    largest = float(np.abs(weights).max(initial=0.0))
    if not (worst < LOOSE and 0.0 < largest < math.inf):
        return None
    exponent = math.frexp(largest)[1]
    shrunk = np.ldexp(weights, -exponent)  # singles have a short range
    plain, signed, long = blocks.rough_sums(
        support, np.array([np.abs(shrunk), shrunk, np.abs(shrunk) * lengths[support]]), rows
    )
    radii = (steep * lengths[rows] + ROUGH_UNDERFLOW + 2.0 * FUNCTION_ROUNDINGS * ROUGH_UNIT) * plain + steep * long
    radii = _summed(
        radii, plain, np.abs(shrunk), worst, gamma(len(support) + 6) + 1.01 * (ROUGH_TERMS + 1) * ROUGH_UNIT
    )
    radii += len(support) * ROUGH_UNDERFLOW
    return np.ldexp(signed, exponent), np.ldexp(radii, exponent)


def _summed(radii: FloatArray, plain: FloatArray, weights: FloatArray, worst: float, terms: float) -> FloatArray:
    """(RADII.1) from its first part (r,), Σ|β_j|K̂_ij (r,), |β| (s,), δ, and what adding up costs."""
    radii = radii + terms * plain + FLOOR * float(weights.sum())
    radii *= 1.0 + 4.0 * worst + 4.0 * terms
    return radii


def _exponents(space: FeatureSpace, blocks: KernelBlocks, support: IntArray) -> tuple[float, FloatArray, float]:
    """s, L (n,) and f of (RADII.2), for sums over some rows."""
    d, X, lengths = space.samples.longest_row, space.X, blocks.lengths
    if blocks.exact:
        return 0.0, np.zeros(space.n), gamma(d + 6) * -LOWEST_EXPONENT
    if lengths is not None:
        return exponent_error(blocks.terms), lengths, 0.0
    whole = X.mean(axis=0) if blocks.centre is None else blocks.centre
    origins = [0.0] if sp.issparse(X) else [whole, X[support].mean(axis=0)]
    lengths = np.max([squared_norms(X - origin if np.ndim(origin) else X) for origin in origins], axis=0)
    lengths *= 2.0 * float(space.kernel.gamma)  # type: ignore[attr-defined]
    fixed = gamma(d + 6) * -LOWEST_EXPONENT + 26.0 * UNIT * math.sqrt(float(lengths.max()) / 2.0)
    return (2.0 * d + 10.0) * UNIT / 2.0, np.minimum(lengths, 2.5 * LONGEST), fixed


@dataclass(frozen=True)
class Settings:
    """Constants."""

    #: Kernel values (rows × support) from which on two kinds of rows pay: a twentieth of a second.
    values: int = 20_000_000
    #: Rows that say whether single precision settles anything: their median radius is at most this share of their mean
    #: |u|. Beyond, hardly any row is so far from its margin.
    sample: int = 1024
    useful: float = 0.3
    #: How often multipliers and rows are looked at in turn, before all rows are evaluated in double precision.
    rounds: int = 5


SETTINGS = Settings()


class FarRows:
    """u (n,) over the samples, its radius (n,), and which of them are in single precision, (n,).

    space: Its samples, of an RBF kernel.
    blocks: Where its kernel values come from.
    beta (n,)
    held (n,): The samples with an α ≠ 0, β = 0 or not: in double precision.
    """

    def __init__(self, space: FeatureSpace, blocks: KernelBlocks, beta: FloatArray, held: NDArray[np.bool_]) -> None:
        self.blocks, self.support = blocks, np.flatnonzero(beta)
        self.weights, self.kappa = beta[self.support], Accuracy(space).kappa(beta, None)
        self.u, self.radius = np.zeros(space.n), np.full(space.n, self.kappa)
        self.rough: NDArray[np.bool_] = np.zeros(space.n, dtype=bool)
        self.u[self.support] = blocks.own_product(self.support, self.weights)
        others = np.flatnonzero(~held)
        if not self._roughly(others):
            self.sharpen(others)
        self.sharpen(np.flatnonzero(held & (beta == 0.0)))

    def _roughly(self, rows: IntArray) -> bool:
        """Evaluate some rows in single precision, if that may settle any of them."""
        sample = np.zeros(len(rows), dtype=bool)
        sample[:: max(len(rows) // SETTINGS.sample, 1)] = True
        for part in (rows[sample], rows[~sample]):
            found = rough_values(self.blocks, part, self.support, self.weights)
            if found is None or not len(rows):
                return False
            self.u[part], self.radius[part] = found
            if not np.median(self.radius[rows[sample]]) <= SETTINGS.useful * np.abs(self.u[rows[sample]]).mean():
                return False
        self.rough[rows] = True
        return True

    def sharpen(self, rows: IntArray) -> None:
        """Evaluate some rows in double precision."""
        self.u[rows] = self.blocks.product(self.support, self.weights, rows)
        self.radius[rows], self.rough[rows] = self.kappa, False

    def point(self) -> PrimalPoint:
        """The candidate w(α), as it is known now."""
        half_norm = max(0.5 * float(self.weights @ self.u[self.support]), 0.0)
        return PrimalPoint(self.u, None, half_norm, radius=self.radius)

    def settled(self, svm: SVMDual, multipliers: Callable[[PrimalPoint], Mapping[str, float]]) -> PrimalPoint:
        """The candidate w(α) with every row in single precision as in (FAR.1), for the best multipliers."""
        for _ in range(SETTINGS.rounds):
            rows = self._open(svm, multipliers(self.point()))
            if not len(rows):
                return self.point()
            self.sharpen(rows)
        self.sharpen(np.flatnonzero(self.rough))
        return self.point()

    def _open(self, svm: SVMDual, multipliers: Mapping[str, float]) -> IntArray:
        """The samples in single precision of which (FAR.1) does not hold."""
        radius = 2.0 * svm.at_rows(self.radius)
        near = ~(svm.margin(multipliers) - svm.sign * (svm.at_rows(self.u) + svm.b(multipliers)) < -radius)
        for part in svm.parts:
            points = levels.reaches(svm, part, self.u)
            rows = np.arange(svm.m) if part.rows is None else np.flatnonzero(part.rows)
            reach = radius[rows] / np.maximum(np.abs(part.column[rows]), np.finfo(float).tiny)
            for end in levels.interval(svm, part, points) or ():
                near[rows] |= np.abs(points - end) <= reach
        found = near if svm.rows is None else np.bincount(svm.rows, near, minlength=len(self.u)) > 0
        return np.flatnonzero(found & self.rough)


def far_rows(space: FeatureSpace, svm: SVMDual, alpha: FloatArray, beta: FloatArray) -> FarRows | None:
    """u = Kβ, β of α, with rows in single precision; None where they are too few, or there is no worst-case radius."""
    blocks, n = rbf_blocks(space), space.n
    if blocks is None or svm.hard is not None or svm.mix is not None:
        return None
    if not (blocks.fast and blocks.single) or blocks.whole is not None:
        return None
    values = n * int(np.count_nonzero(beta))
    if values < SETTINGS.values or (n <= CACHE_ROWS and blocks.streamed + values > n * n):  # the whole matrix pays
        return None
    blocks.streamed += values
    held = svm.beta_size(alpha) > 0.0  # where a sample's α cancel, β is 0
    return FarRows(space, blocks, beta, held)


__all__ = ["FarRows", "far_rows"]
