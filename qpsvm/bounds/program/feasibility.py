"""Find a strictly feasible point, or multipliers that prove infeasibility.

HiGHS proposes both; neither is trusted. (PROGRAM.6) is checked in floats, and where its multipliers have to cancel at
variables without bounds, in rational numbers: those whose rows cancel exactly are next to the ones that HiGHS returns.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.bounds.program.linear_program import propose
from qpsvm.bounds.program.rational import MOST_STEPS, as_multiple, null_vector
from qpsvm.bounds.program.reduction import ROUNDING
from qpsvm.bounds.program.sides import QPBounds

#: A slack below this share of a row's terms is none; the most entries of the rows of a dense system.
NEXT_TO, MOST_ENTRIES = 1e-9, 1_000_000

Rows = tuple[FloatArray, FloatArray]


def interior_point(program: QPBounds) -> tuple[FloatArray | None, Rows | None]:
    """A point (n,) with room in all rows and bounds; or multipliers (p,), (m,) of HiGHS if there is none."""
    n, m, p = program.qp.n, len(program.h), len(program.b)
    with np.errstate(invalid="ignore"):
        width = np.minimum(1.0, 0.5 * (program.ub - program.lb))
    width = np.where(np.isfinite(width), width, 1.0)
    over = sp.csr_array(program.G)
    norms = np.sqrt(over.multiply(over).sum(axis=1))
    low = np.flatnonzero(np.isfinite(program.lb) & (width > 0))
    high = np.flatnonzero(np.isfinite(program.ub) & (width > 0))
    eye = sp.eye_array(n, format="csr")
    blocks = [
        sp.hstack([over, sp.csr_array(norms[:, None])]),
        sp.hstack([-eye[low], sp.csr_array(width[low][:, None])]),
        sp.hstack([eye[high], sp.csr_array(width[high][:, None])]),
    ]
    found = propose(
        np.concatenate([np.zeros(n), [-1.0]]),
        [*zip(program.lb, program.ub, strict=True), (None, 1.0)],
        (sp.hstack([sp.csr_array(program.A), sp.csr_array((p, 1))], format="csr"), program.b),
        (sp.vstack(blocks, format="csr"), np.concatenate([program.h, -program.lb[low], program.ub[high]])),
        program.seconds,
    )
    if found is None:
        return None, _least_violation(program)
    if found.x[-1] > 0.0:
        return np.clip(found.x[:n], program.lb, program.ub), None
    return None, (found.y, found.z[:m])


def off_the_rows(program: QPBounds, x: FloatArray) -> FloatArray | None:
    """A point (n,) in a direction from x in which the rows and bounds next to x have room, by least squares.

    None where these are too many, or depend on each other. It need not be feasible itself.
    """
    at = np.clip(x, program.lb, program.ub)
    values, sizes = program.G @ at, abs(program.G) @ np.abs(at)
    tight = np.flatnonzero(values > program.h - NEXT_TO * (1.0 + sizes + np.abs(program.h)))
    with np.errstate(invalid="ignore"):
        step = np.where(np.isinf(program.ub - program.lb), 1.0, program.ub - program.lb)
    low, high = (np.flatnonzero(near & (step > 0.0)) for near in (at <= program.lb, at >= program.ub))
    rows = len(program.b) + len(tight) + len(low) + len(high)
    if rows * program.qp.n > MOST_ENTRIES or rows > program.qp.n:
        return None
    G = as_dense(sp.csr_array(program.G)[tight])
    eye = np.eye(program.qp.n)
    system = np.vstack([as_dense(program.A), G, eye[low], eye[high]])
    room = np.minimum(step, 1.0 + np.abs(at))
    sides = np.concatenate([np.zeros(len(program.b)), -(np.abs(G) @ room), room[low], -room[high]])
    direction: FloatArray = lstsq(system, sides, lapack_driver="gelsy", check_finite=False)[0]
    if not (np.abs(system @ direction - sides) <= 0.5 * np.abs(sides) + NEXT_TO).all():
        return None
    found: FloatArray = at + direction
    return found


def _least_violation(program: QPBounds) -> Rows | None:
    """Multipliers (p,), (m,) of the least sum of violations of the rows, within the bounds."""
    n, m, p = program.qp.n, len(program.h), len(program.b)
    equal, over = sp.csr_array(program.A), sp.csr_array(program.G)
    found = propose(
        np.concatenate([np.zeros(n), np.ones(m + 2 * p)]),
        [*zip(program.lb, program.ub, strict=True), *[(0.0, None)] * (m + 2 * p)],
        (sp.hstack([equal, sp.csr_array((p, m)), sp.eye_array(p), -sp.eye_array(p)], format="csr"), program.b),
        (sp.hstack([over, -sp.eye_array(m), sp.csr_array((m, 2 * p))], format="csr"), program.h),
        program.seconds,
    )
    return None if found is None else (found.y, found.z)


def prove_infeasible(program: QPBounds, y: FloatArray, z: FloatArray) -> Rows | None:
    """Multipliers (p,), (m,) with (PROGRAM.6), those given or others next to them; None where none were found.

    Rows that contradict each other by no more than rounding of their sides are no proof: it is not what is meant.
    """
    bound = program.bound_below(np.zeros(program.qp.n), y, z, rows_only=True)
    sides = float(np.abs(program.b) @ np.abs(bound.y) + np.abs(program.h) @ np.abs(bound.z))
    with np.errstate(invalid="ignore"):
        ends = np.nan_to_num(np.abs(bound.c * np.where(bound.c > 0.0, program.lb, program.ub)), posinf=0.0)
    if bound.value > ROUNDING * (sides + float(ends.sum())):
        return bound.y, bound.z
    return _exactly(program, y, z)


def _exactly(program: QPBounds, y: FloatArray, z: FloatArray) -> Rows | None:
    """`prove_infeasible` in rational numbers: the multipliers cancel exactly wherever a variable has no bound."""
    multipliers = np.concatenate([y, np.maximum(z, 0.0)])
    used = np.flatnonzero(np.abs(multipliers) > 1e-9 * np.abs(multipliers).max(initial=0.0))
    if not len(used):
        return None
    rows = as_dense(sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)], format="csr")[used])
    sides = np.concatenate([program.b, program.h])[used]
    if rows.size > MOST_STEPS:
        return None
    left = rows.T @ multipliers[used]
    reach = np.abs(rows.T) @ np.abs(multipliers[used])
    with np.errstate(invalid="ignore"):
        open_side = np.where(left > 0.0, ~np.isfinite(program.lb), ~np.isfinite(program.ub))
    free = (~np.isfinite(program.lb) & ~np.isfinite(program.ub)) | (open_side & (np.abs(left) <= 1e-9 * reach))
    v = null_vector(rows[:, free].T, multipliers[used])
    if v is None or any(value < 0 for value, k in zip(v, used.tolist(), strict=True) if k >= len(y)):
        return None
    parts = [-factor * Fraction(side) for factor, side in zip(v, sides.tolist(), strict=True)]
    for j in np.flatnonzero(np.abs(rows).max(axis=0) > 0.0).tolist():
        rest = sum((factor * Fraction(a) for factor, a in zip(v, rows[:, j].tolist(), strict=True)), Fraction(0))
        end = float(program.lb[j] if rest > 0 else program.ub[j])
        if rest and not np.isfinite(end):
            return None
        parts += [rest * Fraction(end)] if rest else []
    if sum(parts, Fraction(0)) <= Fraction(ROUNDING) * sum(map(abs, parts), Fraction(0)):
        return None
    found = np.zeros(len(multipliers))
    found[used] = as_multiple(v)
    return found[: len(y)], found[len(y) :]
