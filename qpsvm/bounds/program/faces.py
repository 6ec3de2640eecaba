"""Find the face of a feasible set without interior points (`face_of`), and multipliers inside theirs (`dual_inside`).

    (FACE.1)  some rows and bounds are active at every feasible point: those without slack where Σ min(slack, 1) is the
              largest over the cone of (x, τ), τ ≥ 1 (Freund, Roundy and Todd 1985)
    (FACE.2)  these bounds fix their variables, these rows are equalities in the others, and the remaining rows have
              slack
    (FACE.3)  among dependent equalities only a maximal independent subset is solved. Each other one is a combination of
              these with rational coefficients, solved or guessed, and checked in fractions: then it holds with them
    (FACE.4)  z and y are moved towards multipliers with c_j > 0 where x_j has no upper bound, and c_j < 0 where it has
              no lower one: then rounding lowers (PROGRAM.1) a little, instead of making it −∞

Results of a linear program are never trusted: with a wrong face, `QPBounds.bound_above` finds no feasible point.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.program.linear_program import propose
from qpsvm.bounds.program.near import independent_rows
from qpsvm.bounds.program.rational import combinations_of, combine_rows

#: A slack of (FACE.1) below this counts as 0: it is 0 or 1 up to rounding.
SOME = 0.5


class Face(NamedTuple):
    """Face of the box and rows that contains all feasible points.

    inside (n,): A point with slack in every bound and row that is not fixed or tight.
    fixed: Variables that are at a bound.
    rows (k, n), sides (k,): Equalities, independent over the other variables.
    roomy: Rows of G with slack.
    """

    inside: FloatArray
    fixed: IntArray
    rows: FloatArray
    sides: FloatArray
    roomy: IntArray


def face_of(program: Any) -> Face | None:
    """Return the face of (FACE.1) to (FACE.3) of a QP; None if none exists, or none was found."""
    proposal = _find_supported_point(program)
    if proposal is None:
        return None
    x, slack = proposal
    n, m, p = program.qp.n, len(program.h), len(program.b)
    x = np.clip(x, program.lb, program.ub)
    low, high = _sides(program)
    at_low, at_high = low[slack[m : m + len(low)] < SOME], high[slack[m + len(low) :] < SOME]
    tight = np.flatnonzero(slack[:m] < SOME)
    fixed = np.union1d(np.union1d(at_low, at_high), np.flatnonzero(program.lb == program.ub))
    x[at_low], x[at_high] = program.lb[at_low], program.ub[at_high]
    rows = np.vstack([as_dense(program.A), as_dense(sp.csr_array(program.G)[tight])])
    sides = np.concatenate([program.b, program.h[tight]])
    free = np.setdiff1d(np.arange(n), fixed)
    chosen = independent_rows(rows[:, free])
    for k in np.setdiff1d(np.arange(len(rows)), chosen):
        if not follows(rows, sides, int(k), chosen, x, fixed, equal=k < p):
            return None
    roomy = np.setdiff1d(np.arange(m), tight)
    return Face(x, fixed, rows[chosen], sides[chosen], roomy)


def _sides(program: Any) -> tuple[IntArray, IntArray]:
    """Return the variables with a finite lower bound, and those with a finite upper one, without fixed variables."""
    between = program.lb < program.ub
    return np.flatnonzero(np.isfinite(program.lb) & between), np.flatnonzero(np.isfinite(program.ub) & between)


def _find_supported_point(program: Any) -> tuple[FloatArray, FloatArray] | None:
    """Return the point of (FACE.1), (n,), and the slacks in [0, 1] of the rows of G and of the bounds, (k,)."""
    n, m = program.qp.n, len(program.h)
    low, high = _sides(program)
    fixed = np.flatnonzero(program.lb == program.ub)
    G, eye = sp.csr_array(program.G), sp.eye_array(n, format="csr")
    norms = np.sqrt(G.multiply(G).sum(axis=1))
    norms = np.where(norms > 0.0, norms, 1.0)
    inequalities = sp.vstack(
        [
            sp.hstack([sp.diags_array(1.0 / norms) @ G, sp.csr_array(-(program.h / norms)[:, None])]),
            sp.hstack([-eye[low], sp.csr_array(program.lb[low][:, None])]),
            sp.hstack([eye[high], sp.csr_array(-program.ub[high][:, None])]),
        ],
        format="csr",
    )
    k = m + len(low) + len(high)
    equalities = sp.vstack(
        [
            sp.hstack([sp.csr_array(program.A), sp.csr_array(-program.b[:, None])]),
            sp.hstack([eye[fixed], sp.csr_array(-program.lb[fixed][:, None])]),
        ],
        format="csr",
    )
    proposal = propose(
        np.concatenate([np.zeros(n + 1), -np.ones(k)]),
        [(None, None)] * n + [(1.0, None)] + [(0.0, 1.0)] * k,
        (sp.hstack([equalities, sp.csr_array((equalities.shape[0], k))], format="csr"), np.zeros(equalities.shape[0])),
        (sp.hstack([inequalities, sp.eye_array(k)], format="csr"), np.zeros(k)),
        program.seconds,
    )
    if proposal is None:
        return None
    return proposal.x[:n] / proposal.x[n], proposal.x[n + 1 :]


def follows(
    rows: FloatArray, sides: FloatArray, k: int, chosen: IntArray, x: FloatArray, fixed: IntArray, equal: bool
) -> bool:
    """Return whether row k follows from the chosen rows if the fixed variables have the values in x (n,), (FACE.3)."""
    free = np.setdiff1d(np.arange(rows.shape[1]), fixed)
    basis, row = rows[np.ix_(chosen, free)], rows[k, free]
    coefficients = np.linalg.lstsq(basis.T, row, rcond=None)[0] if len(chosen) else np.zeros(0)
    fixed_values = dict(zip(fixed.tolist(), x[fixed].tolist(), strict=True))
    for c in combinations_of(row, basis, coefficients):
        nonzeros, side = combine_rows(
            sp.csr_array(rows), sides, [*chosen.tolist(), k], [*c, Fraction(-1)], fixed_values
        )
        if not nonzeros:
            return side == 0 if equal else side <= 0
    return False


def dual_inside(program: Any, u: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield multipliers (p,), (m,) of (FACE.4) for u (n,): with the largest common slack, then most slacks nonzero."""
    m, p = len(program.h), len(program.b)
    slope = program.apply_hessian(u).value + program.qp.q
    low, high = np.isfinite(program.lb), np.isfinite(program.ub)
    up, down, free = np.flatnonzero(low & ~high), np.flatnonzero(high & ~low), np.flatnonzero(~low & ~high)
    columns = sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)], format="csc")
    count = len(up) + len(down)
    if not count or not p + m:
        return
    for slack_columns in (sp.csr_array(np.ones((count, 1))), sp.eye_array(count, format="csr")):
        k = slack_columns.shape[1]
        inequalities = sp.hstack([sp.vstack([-columns[:, up].T, columns[:, down].T]), slack_columns], format="csr")
        proposal = propose(
            np.concatenate([np.zeros(p + m), -np.ones(k)]),
            [(None, None)] * p + [(0.0, None)] * m + [(0.0, 1.0)] * k,
            (sp.hstack([columns[:, free].T, sp.csr_array((len(free), k))], format="csr"), -slope[free]),
            (inequalities, np.concatenate([slope[up], -slope[down]])),
            program.seconds,
        )
        if proposal is not None:
            yield proposal.x[:p], proposal.x[p : p + m]
