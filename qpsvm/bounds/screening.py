"""Bound the rounding of decision values row by row (`row_radii`), and of β in double-double (`combined_beta`).

For rows that combine several samples, β = Aᵀ(s∘α) comes as a sum of two doubles: the lengths of samples far from the
origin would magnify its rounding.

For an RBF kernel, the values themselves bound the rounding of f. Where most of them are nearly 0 that is far less than
(ACC.2) has for every row. With L_i = ‖a_i‖² and the exponents and radii of `accuracy`:

    (RADII.1)  |K̂ − K| ≤ (e^δ_ij − 1 + 8u) K or e⁻⁴⁰(1 + 8u),  δ_ij = s(L_i + L_j) + f, so that with δ = max δ_ij
               |û_i − u_i| ≤ Σ_j (δ_ij(1 + δ) + 8u + γ_{m+6}) |β_j| K_ij (1 + δ) + e⁻⁴⁰(1 + 8u) Σ_j |β_j|
    (RADII.2)  s, f = γ_{1.5d+12}, 0 by (KBLOCK.3);  0, 40γ_{d+6} by differences;  and where the kernel takes the
               one road or the other,  s, f = ½(2d + 10)u, 40γ_{d+6} + 26u √(max L/2),  L no more than products take

Sources: as in `accuracy`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import (
    UNDERFLOW,
    sum_columns_to_pairs,
    two_product,
    two_sum,
)
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import AT_A_TIME, FLOOR, FUNCTION_ROUNDINGS, LONGEST, Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.blocks import KernelBlocks, bound_exponent_error
from qpsvm.space.kernels.functions import LOWEST_EXPONENT, RBF
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.kernels.space import FeatureSpace

#: Roundings of a few sums of numbers of which none is negative.
FEW = 1.0 + 2.0**-40
#: δ from which on (RADII.1) is of no use.
LOOSE = 0.1


def combined_beta(svm: SVMDual, alpha: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """β = Aᵀ(s∘α) as a sum of two doubles, and how far that may be off. Shapes: alpha (m,) → high, low, radii (n,)."""
    assert svm.mix is not None
    kept = np.flatnonzero(alpha)
    part = svm.mix[kept]
    signed = np.repeat((alpha * svm.sign)[kept], np.diff(part.indptr))
    products, errors = two_product(part.data, signed)
    high, low, radii = sum_columns_to_pairs(part.indices, products, svm.n)
    rest, rest_low, more = sum_columns_to_pairs(part.indices, errors, svm.n)
    low = low + rest
    radii = radii + more + np.abs(rest_low) + 2.0**-52 * np.abs(low)
    radii += UNDERFLOW * np.bincount(part.indices, minlength=svm.n)
    return *two_sum(high, low), radii * FEW


def tighten_constraint_radii(
    accuracy: Accuracy, svm: SVMDual, point: Certificate, rows: IntArray | slice, t: FloatArray, r: FloatArray
) -> None:
    """Put in r for the linear constraints, changed in place, where |g||w| bounds it by less than norms do.

    A row that says w_j ≥ 0 is evaluated without rounding.
    """
    index = np.arange(svm.m)[rows] if isinstance(rows, slice) else rows
    users = svm.linear_constraints
    assert users is not None
    assert point.w is not None
    behind = np.flatnonzero(index >= users.unconstrained_dual.m)
    if not len(behind):
        return
    places = index[behind] - users.unconstrained_dual.m
    sizes, terms = _user_sizes(accuracy, svm, point.w)
    moved = np.zeros(len(behind))
    for group in svm.margin_groups:
        moved += np.abs(point.multipliers[group.multiplier] * group.column[index[behind]])
    own = gamma(terms + 4 + 4 * point.placed) * sizes[places] + (4.0 + 4.0 * point.placed) * UNIT * (
        np.abs(t[behind]) + moved
    )
    known = 0.0 if svm.level_radius is None else svm.level_radius[index[behind]]
    exact = (sizes[places] == 0.0) & (moved == 0.0)  # nothing was added to the level
    r[behind] = np.minimum(r[behind], np.where(exact, known, (own + known + UNDERFLOW) * FEW))


def _user_sizes(accuracy: Accuracy, svm: SVMDual, w: FloatArray) -> tuple[FloatArray, int]:
    """|g||w| of the linear constraints, (p,), and how many products are added up in one."""
    users = svm.linear_constraints
    assert users is not None
    behind = np.arange(users.unconstrained_dual.n, svm.n)
    Z = accuracy.space.rows.take(behind)
    sizes = np.asarray(abs(Z) @ np.abs(w)).ravel()
    terms = accuracy.space.samples.longest_row
    if svm.mix is None:
        return sizes, terms
    part = svm.mix[users.unconstrained_dual.m :]
    whole = np.concatenate([np.zeros(users.unconstrained_dual.n), sizes])
    return np.asarray(abs(part) @ whole), terms + int(np.diff(part.indptr).max(initial=1))


def rbf_blocks(space: FeatureSpace) -> KernelBlocks | None:
    """Return the blocks of an RBF Gram matrix; None for other kernels, and for a matrix that was changed."""
    if not space.is_linear and isinstance(space.kernel, RBF) and isinstance(space.centred_gram, KernelGram):
        return space.centred_gram.blocks
    return None


def row_radii(space: FeatureSpace, rows: IntArray, beta: FloatArray) -> FloatArray | None:
    """Bound the error of u = Kβ, as computed in double precision, at some rows, (RADII.1).

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
    parts = [blocks.compute_block(rows[i : i + step], support) @ W for i in range(0, len(rows), step)]
    plain, long = np.concatenate(parts).T if parts else np.zeros((2, 0))
    radii = (steep * lengths[rows] + fixed + 2.0 * FUNCTION_ROUNDINGS * UNIT) * plain + steep * long
    return _add_rounding(radii, plain, weights, worst, gamma(len(support) + 6))


def _add_rounding(radii: FloatArray, plain: FloatArray, weights: FloatArray, worst: float, terms: float) -> FloatArray:
    """(RADII.1) from its first part (r,), Σ|β_j|K̂_ij (r,), |β| (s,), δ, and what adding up costs."""
    radii = radii + terms * plain + FLOOR * float(weights.sum())
    radii *= 1.0 + 4.0 * worst + 4.0 * terms
    return radii


def _exponents(space: FeatureSpace, blocks: KernelBlocks, support: IntArray) -> tuple[float, FloatArray, float]:
    """s, L (n,) and f of (RADII.2), for sums over some rows."""
    d, X, lengths = space.samples.longest_row, space.X, blocks.squared_lengths
    if blocks.is_exact:
        return 0.0, np.zeros(space.n), gamma(d + 6) * -LOWEST_EXPONENT
    if lengths is not None:
        return bound_exponent_error(blocks.terms), lengths, 0.0
    whole = X.mean(axis=0) if blocks.centre is None else blocks.centre
    origins = [0.0] if sp.issparse(X) else [whole, X[support].mean(axis=0)]
    lengths = np.max([squared_norms(X - origin if np.ndim(origin) else X) for origin in origins], axis=0)
    lengths *= 2.0 * float(space.kernel.gamma)  # type: ignore[attr-defined]
    fixed = gamma(d + 6) * -LOWEST_EXPONENT + 26.0 * UNIT * math.sqrt(float(lengths.max()) / 2.0)
    return (2.0 * d + 10.0) * UNIT / 2.0, np.minimum(lengths, 2.5 * LONGEST), fixed
