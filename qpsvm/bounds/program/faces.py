"""Find the face of a set without interior points (`find_face`), and interior multipliers (`iter_interior_multipliers`).

    (FACE.1)  some rows and bounds are active at every feasible point: those with s = 0 where Σ min(s, 1) is largest in
              the cone of (x, τ, s), τ ≥ 1, Ax = τb, Gx + s ≤ τh and likewise for the bounds. The cone is scaled until
              all other s reach 1, and x/τ is feasible (Freund, Roundy and Todd 1985)
    (FACE.2)  these bounds fix their variables, these rows are equalities in the others, and the remaining rows have
              slack
    (FACE.3)  among dependent equalities only a maximal independent subset is solved. Each of the others is a linear
              combination of these with rational coefficients, computed or guessed, and checked in rational arithmetic.
              So it holds if these hold
    (FACE.4)  z and y are moved towards multipliers with reduced costs c_j > 0 if x_j has no upper bound, and c_j < 0 if
              it has no lower bound. Then rounding lowers (PROGRAM.1) only slightly, instead of making it −∞

Results of a linear program are never trusted: with a wrong face, `QPBounds.bound_above` finds no feasible point.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.program.enclosures import find_independent_rows
from qpsvm.bounds.program.linear_program import solve_linear_program
from qpsvm.bounds.program.rational import combine_rows, find_rational_combinations

#: A slack of (FACE.1) below this counts as 0. In exact arithmetic each is 0 or 1, so the midpoint separates them.
SLACK_THRESHOLD = 0.5


class Face(NamedTuple):
    """Face of the box and rows that contains all feasible points.

    interior_point (n,): A point with slack in every bound and row that is not fixed or tight.
    fixed: Indices of the variables fixed at a bound.
    equalities (k, n), rhs (k,): Rows that hold with equality, independent over the other variables.
    slack_rows: Indices of the rows of G with slack.
    """

    interior_point: FloatArray
    fixed: IntArray
    equalities: FloatArray
    rhs: FloatArray
    slack_rows: IntArray


def find_face(program: Any) -> Face | None:
    """Return the face of a QP by (FACE.1) to (FACE.3); None if none was found."""
    solution = _find_point_of_maximal_slack(program)
    if solution is None:
        return None
    x, slack = solution
    n, m, p = program.qp.n, len(program.h), len(program.b)
    x = np.clip(x, program.lb, program.ub)
    lower, upper = _find_bounded_variables(program)
    is_active = slack < SLACK_THRESHOLD
    tight = np.flatnonzero(is_active[:m])
    at_lower, at_upper = lower[is_active[m : m + len(lower)]], upper[is_active[m + len(lower) :]]
    fixed = np.union1d(np.union1d(at_lower, at_upper), np.flatnonzero(program.lb == program.ub))
    x[at_lower], x[at_upper] = program.lb[at_lower], program.ub[at_upper]
    rows = np.vstack([as_dense(program.A), as_dense(sp.csr_array(program.G)[tight])])
    rhs = np.concatenate([program.b, program.h[tight]])
    free = np.setdiff1d(np.arange(n), fixed)
    independent = find_independent_rows(rows[:, free])
    for k in np.setdiff1d(np.arange(len(rows)), independent):
        if not is_implied_row(rows, rhs, int(k), independent, x, fixed, is_equality=k < p):
            return None
    slack_rows = np.setdiff1d(np.arange(m), tight)
    return Face(x, fixed, rows[independent], rhs[independent], slack_rows)


def iter_interior_multipliers(program: Any, u: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield y (p,), z (m,) of (FACE.4) at u (n,): first with the largest minimal |c_j|, then with the largest sum."""
    m, p = len(program.h), len(program.b)
    gradient = program.apply_hessian(u).value + program.qp.q
    has_lower, has_upper = np.isfinite(program.lb), np.isfinite(program.ub)
    up, down = np.flatnonzero(has_lower & ~has_upper), np.flatnonzero(has_upper & ~has_lower)  # unbounded upwards, …
    free = np.flatnonzero(~has_lower & ~has_upper)
    columns = sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)], format="csc")
    n_slacks = len(up) + len(down)
    if not n_slacks or not p + m:
        return
    for slack_columns in (sp.csr_array(np.ones((n_slacks, 1))), sp.eye_array(n_slacks, format="csr")):
        k = slack_columns.shape[1]
        inequalities = sp.hstack([sp.vstack([-columns[:, up].T, columns[:, down].T]), slack_columns], format="csr")
        solution = solve_linear_program(
            np.concatenate([np.zeros(p + m), -np.ones(k)]),
            [(None, None)] * p + [(0.0, None)] * m + [(0.0, 1.0)] * k,
            (sp.hstack([columns[:, free].T, sp.csr_array((len(free), k))], format="csr"), -gradient[free]),
            (inequalities, np.concatenate([gradient[up], -gradient[down]])),
            program.seconds,
        )
        if solution is not None:
            yield solution.x[:p], solution.x[p : p + m]


def is_implied_row(
    rows: FloatArray, rhs: FloatArray, k: int, independent: IntArray, x: FloatArray, fixed: IntArray, is_equality: bool
) -> bool:
    """Return whether the `independent` rows imply row k, with `fixed` variables as in x (n,), (FACE.3)."""
    free = np.setdiff1d(np.arange(rows.shape[1]), fixed)
    basis, row = rows[np.ix_(independent, free)], rows[k, free]
    coefficients = np.linalg.lstsq(basis.T, row, rcond=None)[0] if len(independent) else np.zeros(0)
    fixed_values = dict(zip(fixed.tolist(), x[fixed].tolist(), strict=True))
    for c in find_rational_combinations(row, basis, coefficients):
        nonzeros, value = combine_rows(
            sp.csr_array(rows), rhs, [*independent.tolist(), k], [*c, Fraction(-1)], fixed_values
        )
        if not nonzeros:
            return value == 0 if is_equality else value <= 0
    return False


def _find_bounded_variables(program: Any) -> tuple[IntArray, IntArray]:
    """Return the variables with a finite lower and those with a finite upper bound, without fixed variables."""
    is_variable = program.lb < program.ub
    lower, upper = (np.flatnonzero(np.isfinite(bound) & is_variable) for bound in (program.lb, program.ub))
    return lower, upper


def _find_point_of_maximal_slack(program: Any) -> tuple[FloatArray, FloatArray] | None:
    """Return x/τ of (FACE.1), (n,), and min(s, 1) of the rows of G, the lower and the upper bounds, (k,)."""

    def homogenise(rows: Matrix, sides: FloatArray) -> Matrix:
        return sp.hstack([rows, sp.csr_array(-sides[:, None])])

    n, m = program.qp.n, len(program.h)
    lower, upper = _find_bounded_variables(program)
    fixed = np.flatnonzero(program.lb == program.ub)
    G, eye = sp.csr_array(program.G), sp.eye_array(n, format="csr")
    norms = np.sqrt(G.multiply(G).sum(axis=1))
    norms = np.where(norms > 0.0, norms, 1.0)
    inequalities = sp.vstack(
        [
            homogenise(sp.diags_array(1.0 / norms) @ G, program.h / norms),
            homogenise(-eye[lower], -program.lb[lower]),
            homogenise(eye[upper], program.ub[upper]),
        ],
        format="csr",
    )
    k = m + len(lower) + len(upper)
    equalities = sp.vstack(
        [homogenise(sp.csr_array(program.A), program.b), homogenise(eye[fixed], program.lb[fixed])], format="csr"
    )
    solution = solve_linear_program(
        np.concatenate([np.zeros(n + 1), -np.ones(k)]),
        [(None, None)] * n + [(1.0, None)] + [(0.0, 1.0)] * k,
        (sp.hstack([equalities, sp.csr_array((equalities.shape[0], k))], format="csr"), np.zeros(equalities.shape[0])),
        (sp.hstack([inequalities, sp.eye_array(k)], format="csr"), np.zeros(k)),
        program.seconds,
    )
    if solution is None:
        return None
    return solution.x[:n] / solution.x[n], solution.x[n + 1 :]
