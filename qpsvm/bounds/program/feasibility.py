"""Find a strictly feasible point (`find_interior_point`), or multipliers that prove infeasibility (`prove_infeasible`).

HiGHS proposes both, by linear programs; neither is trusted. (PROGRAM.6) is checked in floats. If Gᵀz + Aᵀy has to be 0
exactly at variables without bounds, rational multipliers with that property are computed near those of HiGHS. All
multipliers are pairs y (p,), z (m,), for the rows of A and of G.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.bounds.program.linear_program import solve_linear_program
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.rational import MAX_MULTIPLICATIONS, as_multiple, dot_exactly, find_null_vector
from qpsvm.bounds.program.reduction import ROUNDING

#: A slack below this share of a row's terms, or this t in `find_interior_point`, counts as 0.
SLACK_TOL = 1e-9
#: A multiplier below this share of the largest, or a c_j below this share of its terms, is made 0; then all is proven.
ZERO_TOL = 1e-9
#: If a proof changes entries, (PROGRAM.7), the terms of the rows have to cancel by at least this factor at a feasible
#: point of the given program: there floats lose six digits in each row.
MIN_CANCELLATION = 1e6
#: Largest number of entries of a dense system.
MAX_ENTRIES = 1_000_000

Multipliers = tuple[FloatArray, FloatArray]


class InfeasibilityProof(NamedTuple):
    """Multipliers y (p,) and z (m,) that prove by (PROGRAM.6) that no point is feasible.

    program: The program that they were checked for; it may lack distant bounds of the given one.
    change: Relative change of entries of A and G, (PROGRAM.7).
    """

    y: FloatArray
    z: FloatArray
    program: QPBounds
    change: float = 0.0


class InteriorSearch(NamedTuple):
    """Result of a search for a point with slack in all rows of G and all bounds.

    point (n,): The point, whose slack may be rounding; None if none was found.
    has_slack: Whether the slack is more than rounding.
    multipliers: Multipliers that may prove that no point is feasible; None if the point has slack, or HiGHS failed.
    """

    point: FloatArray | None
    has_slack: bool
    multipliers: Multipliers | None


def find_interior_point(program: QPBounds) -> InteriorSearch:
    """Find a point with slack in all rows of G and all bounds by a linear program.

    It maximises t ≤ 1, for slacks of at least t‖G_i‖ in row i of G and t·min(1, ½(ub_j − lb_j)) at the bounds of x_j.
    If HiGHS fails, the multipliers are those of `_minimise_violation`.
    """
    n = program.qp.n
    m = len(program.h)
    p = len(program.b)
    with np.errstate(invalid="ignore"):
        width = np.minimum(1.0, 0.5 * (program.ub - program.lb))
    width = np.where(np.isfinite(width), width, 1.0)
    G = sp.csr_array(program.G)
    norms = np.sqrt(G.multiply(G).sum(axis=1))
    low = np.flatnonzero(np.isfinite(program.lb) & (width > 0))
    high = np.flatnonzero(np.isfinite(program.ub) & (width > 0))
    eye = sp.eye_array(n, format="csr")
    blocks = [
        sp.hstack([G, sp.csr_array(norms[:, None])]),
        sp.hstack([-eye[low], sp.csr_array(width[low][:, None])]),
        sp.hstack([eye[high], sp.csr_array(width[high][:, None])]),
    ]
    proposal = solve_linear_program(
        np.concatenate([np.zeros(n), [-1.0]]),
        [*zip(program.lb, program.ub, strict=True), (None, 1.0)],
        (sp.hstack([sp.csr_array(program.A), sp.csr_array((p, 1))], format="csr"), program.b),
        (sp.vstack(blocks, format="csr"), np.concatenate([program.h, -program.lb[low], program.ub[high]])),
        program.seconds,
    )
    if proposal is None:
        return InteriorSearch(None, False, _minimise_violation(program))
    t = float(proposal.x[-1])
    point = np.clip(proposal.x[:n], program.lb, program.ub) if t > 0.0 else None
    has_slack = t > SLACK_TOL
    return InteriorSearch(point, has_slack, None if has_slack else (proposal.y, proposal.z[:m]))


def move_off_rows(program: QPBounds, x: FloatArray) -> FloatArray | None:
    """Return a point (n,) in a direction from x that increases the slack of the rows and bounds active at x.

    The direction is a least-squares solution; None if there are too many such rows, or they are dependent. The point
    need not be feasible, because it only gives the direction in which (PROGRAM.5) moves.
    """
    start = np.clip(x, program.lb, program.ub)
    values = program.G @ start
    sizes = abs(program.G) @ np.abs(start)
    tight = np.flatnonzero(values > program.h - SLACK_TOL * (1.0 + sizes + np.abs(program.h)))
    with np.errstate(invalid="ignore"):
        width = np.where(np.isinf(program.ub - program.lb), 1.0, program.ub - program.lb)
    low, high = (np.flatnonzero(is_tight & (width > 0.0)) for is_tight in (start <= program.lb, start >= program.ub))
    n_active = len(program.b) + len(tight) + len(low) + len(high)
    if n_active * program.qp.n > MAX_ENTRIES or n_active > program.qp.n:
        return None
    G = as_dense(sp.csr_array(program.G)[tight])
    eye = np.eye(program.qp.n)
    system = np.vstack([as_dense(program.A), G, eye[low], eye[high]])
    step_limit = np.minimum(width, 1.0 + np.abs(start))
    sides = np.concatenate([np.zeros(len(program.b)), -(np.abs(G) @ step_limit), step_limit[low], -step_limit[high]])
    direction: FloatArray = lstsq(system, sides, lapack_driver="gelsy", check_finite=False)[0]
    if not (np.abs(system @ direction - sides) <= 0.5 * np.abs(sides) + SLACK_TOL).all():
        return None
    point: FloatArray = start + direction
    return point


def _minimise_violation(program: QPBounds) -> Multipliers | None:
    """Minimise the sum of the violations of all rows over lb ≤ x ≤ ub; return the multipliers of that program."""
    n = program.qp.n
    m = len(program.h)
    p = len(program.b)
    A, G = sp.csr_array(program.A), sp.csr_array(program.G)
    proposal = solve_linear_program(
        np.concatenate([np.zeros(n), np.ones(m + 2 * p)]),
        [*zip(program.lb, program.ub, strict=True), *[(0.0, None)] * (m + 2 * p)],
        (sp.hstack([A, sp.csr_array((p, m)), sp.eye_array(p), -sp.eye_array(p)], format="csr"), program.b),
        (sp.hstack([G, -sp.eye_array(m), sp.csr_array((m, 2 * p))], format="csr"), program.h),
        program.seconds,
    )
    return None if proposal is None else (proposal.y, proposal.z)


def prove_infeasible(program: QPBounds, y: FloatArray, z: FloatArray) -> InfeasibilityProof | None:
    """Return multipliers with (PROGRAM.6), equal or near to the given ones; None if none were found.

    A program that is infeasible only by rounding of its right-hand sides and bounds does not count. If entries are
    changed by (PROGRAM.7), every feasible x of the given program is far away: there Σ_i z_i Σ_j |G_ij x_j| is at least
    `MIN_CANCELLATION` times Σ_i z_i |h_i|.
    """
    min_multiplier = ZERO_TOL * max(float(np.abs(multipliers).max(initial=0.0)) for multipliers in (y, z))
    without_small = (np.where(np.abs(multipliers) > min_multiplier, multipliers, 0.0) for multipliers in (y, z))
    for each_y, each_z in ((y, z), tuple(without_small)):
        bound = program.bound_below(np.zeros(program.qp.n), each_y, each_z, rows_only=True)
        sides = float(np.abs(program.b) @ np.abs(bound.y) + np.abs(program.h) @ np.abs(bound.z))
        with np.errstate(invalid="ignore"):
            terms = np.nan_to_num(np.abs(bound.c * np.where(bound.c > 0.0, program.lb, program.ub)), posinf=0.0)
        if bound.value > (ROUNDING + MIN_CANCELLATION * bound.g_change) * (sides + float(terms.sum())):
            return InfeasibilityProof(bound.y, bound.z, program, bound.g_change)
    proof = _prove_infeasible_exactly(program, y, z)
    relaxed = None if proof else program.without_distant_bounds(np.zeros(program.qp.n))
    return proof if relaxed is None else prove_infeasible(relaxed, y, z)


def _prove_infeasible_exactly(program: QPBounds, y: FloatArray, z: FloatArray) -> InfeasibilityProof | None:
    """As `prove_infeasible`, in rational numbers v, for which c_j of (PROGRAM.1) is 0 where x_j has no bound."""
    multipliers = np.concatenate([y, np.maximum(z, 0.0)])
    used = np.flatnonzero(np.abs(multipliers) > ZERO_TOL * np.abs(multipliers).max(initial=0.0))
    if not len(used):
        return None
    rows = as_dense(sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)], format="csr")[used])
    sides = np.concatenate([program.b, program.h])[used]
    if rows.size > MAX_MULTIPLICATIONS:
        return None
    residual = rows.T @ multipliers[used]
    size = np.abs(rows.T) @ np.abs(multipliers[used])
    is_unbounded = np.where(residual > 0.0, ~np.isfinite(program.lb), ~np.isfinite(program.ub))
    free = ~np.isfinite(program.lb) & ~np.isfinite(program.ub)
    must_vanish = free | (is_unbounded & (np.abs(residual) <= ZERO_TOL * size))
    v = find_null_vector(rows[:, must_vanish].T, multipliers[used])
    if v is None or any(value < 0 for value, k in zip(v, used.tolist(), strict=True) if k >= len(y)):  # z ≥ 0
        return None
    parts = [-factor * Fraction(side) for factor, side in zip(v, sides.tolist(), strict=True)]
    for j in np.flatnonzero(np.abs(rows).max(axis=0) > 0.0).tolist():
        c = dot_exactly(v, rows[:, j].tolist())
        end = float(program.lb[j] if c > 0 else program.ub[j])
        if c and not np.isfinite(end):
            return None
        parts += [c * Fraction(end)] if c else []
    if sum(parts, Fraction(0)) <= Fraction(ROUNDING) * sum(map(abs, parts), Fraction(0)):
        return None
    exact_multipliers = np.zeros(len(multipliers))
    exact_multipliers[used] = as_multiple(v)
    return InfeasibilityProof(exact_multipliers[: len(y)], exact_multipliers[len(y) :], program)
