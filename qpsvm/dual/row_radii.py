"""How exactly the decision values of an RBF machine are known, row by row: by the kernel values themselves.

Where most kernel values are nearly 0 that is far less than (ACC.2) has for every row. With L_i = ‖a_i‖² and the
exponents and radii of `accuracy`:

    (RADII.1)  |K̂ − K| ≤ (e^δ_ij − 1 + 8u) K or e⁻⁴⁰(1 + 8u),  δ_ij = s(L_i + L_j) + f, so that with δ = max δ_ij
               |û_i − u_i| ≤ Σ_j (δ_ij(1 + δ) + 8u + γ_{m+6}) |β_j| K_ij (1 + δ) + e⁻⁴⁰(1 + 8u) Σ_j |β_j|
    (RADII.2)  s, f = ½(3(d + 2) + 17)u, 0 by (KBLOCK.2);  0, 40γ_{d+6} by differences;  and where the kernel takes the
               one road or the other,  s, f = ½(2d + 10)u, 40γ_{d+6} + 26u √(max L/2),  L no more than products take
    (RADII.3)  in single precision, v = 2⁻²⁴:  s = (d + 6)v, f = 2⁻¹⁰⁰, 8v for 8u, and γ_{m+6} is joined by 33v for the
               32 products that are added up in single precision and for β

(RADII.3) is (KBLOCK.2) with factors of d + 2 columns that are rounded to single precision, 3v/2 (L_i + L_j), and then
multiplied, (d + 2)v (L_i + L_j). Products of single numbers underflow at 2⁻¹⁴⁹, far below f.

Sources: as in `accuracy`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.rounding import UNIT, gamma
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.accuracy import AT_A_TIME, FLOOR, FUNCTION_ROUNDINGS, LONGEST
from qpsvm.kernels.blocks import ROUGH_TERMS, KernelBlocks
from qpsvm.kernels.functions import LOWEST_EXPONENT, RBF
from qpsvm.kernels.gram import KernelGram
from qpsvm.kernels.products import squared_norms
from qpsvm.kernels.space import FeatureSpace

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
        return (3.0 * (blocks.terms + 2) + 17.0) * UNIT / 2.0, lengths, 0.0
    whole = X.mean(axis=0) if blocks.centre is None else blocks.centre
    origins = [0.0] if sp.issparse(X) else [whole, X[support].mean(axis=0)]
    lengths = np.max([squared_norms(X - origin if np.ndim(origin) else X) for origin in origins], axis=0)
    lengths *= 2.0 * float(space.kernel.gamma)  # type: ignore[attr-defined]
    fixed = gamma(d + 6) * -LOWEST_EXPONENT + 26.0 * UNIT * math.sqrt(float(lengths.max()) / 2.0)
    return (2.0 * d + 10.0) * UNIT / 2.0, np.minimum(lengths, 2.5 * LONGEST), fixed
