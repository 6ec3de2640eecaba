"""State a relative gap at an optimal value of 0 (`relate_to_zero_size`, `bound_zero_size`).

If the reduced hulls of a ν-SVM meet, or the origin is in the reduced hull of a one-class SVM, the optimal value is 0.
No gap is relative to that, so it is relative to what the objective would be if nothing cancelled in w:

    (ZERO.1)  with levels of 0, w = 0 and μ = 0 are feasible, P = 0, and P − D = ½‖w(α)‖²
    (ZERO.2)  it is relative to ½S²,  S = Σ|β_i| times the mean distance ‖φ(x_i) − φ(x_c)‖ of the samples from x_c, the
              one with the largest |β|. With a free intercept, 1ᵀβ = 0, and w(α) and S do not depend on where the origin
              is; with other intercepts, the mean is that of ‖φ(x_i)‖
    (ZERO.3)  such a gap is stated up to 2⁻⁴⁰ only: a larger one may be more than rounding

Linear constraints do not count in S: their multipliers may cancel each other, and be arbitrarily large.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import FeasibleAlpha
from qpsvm.bounds.proof.gap_bounds import GapBounds
from qpsvm.bounds.proof.spaces import Space

#: Largest gap of (ZERO.3).
MAX_ZERO_GAP = 2.0**-40


def bound_zero_size(space: Space, sizes: FloatArray, is_centred: bool) -> float:
    """Return a lower bound of S of (ZERO.2); 0 if the distances are unknown.

    sizes (n,): Lower bounds of |β| of the samples.
    is_centred: Whether distances are from the sample with the largest |β|.
    """
    distances = space.bound_distances(int(sizes.argmax()) if is_centred else None)
    if distances is None:
        return 0.0
    return float(sizes.sum()) * float(distances[: len(sizes)].mean()) * (1.0 - gamma(2 * len(sizes) + 4))


def relate_to_zero_size(
    program: ExactDual, space: Space, primal_point: Primal, point: FeasibleAlpha, bounds: GapBounds
) -> GapBounds:
    """Return bounds whose gap is relative to ½S² of (ZERO.2), if (ZERO.1) and (ZERO.3) apply; else the given ones."""
    vectors = (primal_point.w, primal_point.coef)
    is_nonzero = any(primal_point.multipliers.values()) or any(v is not None and v.any() for v in vectors)
    has_ridge = any(group.ridge for group in program.groups)
    if is_nonzero or has_ridge or program.mix is not None:
        return bounds
    if not (program.level.is_zero and program.curvature.is_zero):
        return bounds
    n_samples = n_rows = program.m - program.n_constraint_rows
    if program.rows is not None:
        n_samples = int(program.rows[:n_rows].max(initial=-1)) + 1
    beta, radius = (values[:n_samples] for values in point.compute_beta())
    size = bound_zero_size(space, np.maximum(np.abs(beta) - radius, 0.0), has_balanced_intercept(program))
    if not size > 0.0:
        return bounds
    related = replace(bounds, primal=(0.0, 0.0), zero_size=size)
    return related if related.gap <= MAX_ZERO_GAP else bounds


def has_balanced_intercept(program: ExactDual) -> bool:
    """Return whether b is free, and its equality is Σ s_i α_i = 0."""
    return any(group.multiplier == "b" and not group.ridge and not group.total for group in program.groups)
