"""Find the face of a set without interior points (`find_face`), and interior multipliers (`iter_interior_multipliers`).

The set is Ax = b, Gx ≤ h, lb ≤ x ≤ ub, with n variables, p equalities and m inequalities:

    (FACE.1)  some rows and bounds are active at every feasible point: those with slack s = 0 where Σ min(s, 1) is
              largest over all (x, τ, s) with τ ≥ 1, s ≥ 0, Ax = τb, Gx + s_G ≤ τh, τ lb + s_lb ≤ x, x + s_ub ≤ τ ub.
              With a large τ every other s reaches 1, and x/τ is feasible (Freund, Roundy and Todd 1985)
    (FACE.2)  these bounds fix their variables, these rows are equalities in the others, and the remaining rows have
              slack
    (FACE.3)  among dependent equalities only a maximal independent subset is solved. It implies every other equality:
              a linear combination of the subset with rational coefficients, computed or guessed, and checked exactly
    (FACE.4)  y and z ≥ 0 are moved towards multipliers for which the reduced costs c = Pu + q + Aᵀy + Gᵀz are positive
              if x_j has no upper bound, and negative if it has no lower bound. Then rounding of c_j lowers the bound
              (PROGRAM.1) of the optimum, in which c_j x_j is minimised, only slightly, instead of making it −∞

Results of a linear program are never trusted: with a wrong face, `bound_above` finds no feasible point.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.program.enclosures import find_independent_rows
from qpsvm.bounds.program.linear_program import solve_linear_program
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.rational import combine_rows, find_rational_combinations
from qpsvm.bounds.program.upper_bound import Face

#: A slack of (FACE.1) below this counts as 0. In exact arithmetic each is 0 or 1, so the midpoint separates them.
SLACK_THRESHOLD = 0.5


def find_face(program: QPBounds) -> Face | None:
    """Return the face of a QP by (FACE.1) to (FACE.3); None if none was found."""
    solution = _find_point_of_maximal_slack(program)
    if solution is None:
        return None
    x, *slacks = solution
    n = program.qp.n
    m = len(program.h)
    p = len(program.b)
    x = np.clip(x, program.lb, program.ub)
    lower, upper = _find_bounded_variables(program)
    is_tight, is_at_lower, is_at_upper = (slack < SLACK_THRESHOLD for slack in slacks)
    tight = np.flatnonzero(is_tight)
    at_lower = lower[is_at_lower]
    at_upper = upper[is_at_upper]
    fixed = np.union1d(np.union1d(at_lower, at_upper), np.flatnonzero(program.lb == program.ub))
    x[at_lower], x[at_upper] = program.lb[at_lower], program.ub[at_upper]
    rows = np.vstack([as_dense(program.A), as_dense(sp.csr_array(program.G)[tight])])
    rhs = np.concatenate([program.b, program.h[tight]])
    free = np.setdiff1d(np.arange(n), fixed)
    independent = find_independent_rows(rows[:, free])
    for i in np.setdiff1d(np.arange(len(rows)), independent):
        if not is_implied_row(rows, rhs, int(i), independent, x, fixed, is_equality=i < p):
            return None
    slack_rows = np.setdiff1d(np.arange(m), tight)
    return Face(x, fixed, rows[independent], rhs[independent], slack_rows)


def iter_interior_multipliers(program: QPBounds, u: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield y (p,), z (m,) of (FACE.4) at u (n,): with the largest minimum, then sum, of min(|c_j|, 1) over these j."""
    m, p = len(program.h), len(program.b)
    gradient = program.hessian.apply(u).value + program.qp.q
    has_lower, has_upper = np.isfinite(program.lb), np.isfinite(program.ub)
    up, down = np.flatnonzero(has_lower & ~has_upper), np.flatnonzero(has_upper & ~has_lower)  # c_j > 0, and c_j < 0
    free = np.flatnonzero(~has_lower & ~has_upper)  # c_j = 0
    columns = sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)], format="csc")
    n_signs = len(up) + len(down)
    if not n_signs or not p + m:
        return
    for t_columns in (sp.csr_array(np.ones((n_signs, 1))), sp.eye_array(n_signs, format="csr")):  # |c_j| ≥ t, or t_j
        n_t = t_columns.shape[1]
        inequalities = sp.hstack([sp.vstack([-columns[:, up].T, columns[:, down].T]), t_columns], format="csr")
        solution = solve_linear_program(
            cost=np.concatenate([np.zeros(p + m), -np.ones(n_t)]),
            bounds=[(None, None)] * p + [(0.0, None)] * m + [(0.0, 1.0)] * n_t,
            equalities=(sp.hstack([columns[:, free].T, sp.csr_array((len(free), n_t))], format="csr"), -gradient[free]),
            inequalities=(inequalities, np.concatenate([gradient[up], -gradient[down]])),
            seconds=program.seconds,
        )
        if solution is not None:
            yield solution.x[:p], solution.x[p : p + m]


def is_implied_row(
    rows: FloatArray, rhs: FloatArray, i: int, independent: IntArray, x: FloatArray, fixed: IntArray, is_equality: bool
) -> bool:
    """Return whether the `independent` equalities imply row i, = or ≤ rhs, with `fixed` entries of x (n,), (FACE.3)."""
    free = np.setdiff1d(np.arange(rows.shape[1]), fixed)
    basis = rows[np.ix_(independent, free)]
    row = rows[i, free]
    if len(independent):
        coefficients = np.linalg.lstsq(basis.T, row, rcond=None)[0]
    else:
        coefficients = np.zeros(0)
    fixed_values = dict(zip(fixed.tolist(), x[fixed].tolist(), strict=True))
    for c in find_rational_combinations(row, basis, coefficients):
        members = [*independent.tolist(), i]
        factors = [*c, Fraction(-1)]
        nonzeros, violation = combine_rows(sp.csr_array(rows), rhs, members, factors, fixed_values)
        if not nonzeros:  # row i is the combination of the others: then row·x − rhs is this violation
            return violation == 0 if is_equality else violation <= 0
    return False


def _find_bounded_variables(program: QPBounds) -> tuple[IntArray, IntArray]:
    """Return the variables with a finite lower and those with a finite upper bound, without fixed variables."""
    is_variable = program.lb < program.ub
    lower, upper = (np.flatnonzero(np.isfinite(bound) & is_variable) for bound in (program.lb, program.ub))
    return lower, upper


def _find_point_of_maximal_slack(program: QPBounds) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return x/τ of (FACE.1), (n,), and min(s, 1) of the rows of G, of the lower, and of the upper bounds."""

    def homogenise(rows: Matrix, sides: FloatArray) -> Matrix:
        """Return the matrix that gives rows·x − τ·sides from (x, τ)."""
        return sp.hstack([rows, sp.csr_array(-sides[:, None])])

    n = program.qp.n
    m = len(program.h)
    lower, upper = _find_bounded_variables(program)
    fixed = np.flatnonzero(program.lb == program.ub)
    G = sp.csr_array(program.G)
    eye = sp.eye_array(n, format="csr")
    norms = np.sqrt(G.multiply(G).sum(axis=1))
    norms = np.where(norms > 0.0, norms, 1.0)
    G_rows = homogenise(sp.diags_array(1.0 / norms) @ G, program.h / norms)
    lower_rows = homogenise(-eye[lower], -program.lb[lower])
    upper_rows = homogenise(eye[upper], program.ub[upper])
    inequalities = sp.vstack([G_rows, lower_rows, upper_rows], format="csr")
    A_rows = homogenise(sp.csr_array(program.A), program.b)
    fixed_rows = homogenise(eye[fixed], program.lb[fixed])
    equalities = sp.vstack([A_rows, fixed_rows], format="csr")
    n_slacks, n_equalities = inequalities.shape[0], equalities.shape[0]
    solution = solve_linear_program(
        cost=np.concatenate([np.zeros(n + 1), -np.ones(n_slacks)]),
        bounds=[(None, None)] * n + [(1.0, None)] + [(0.0, 1.0)] * n_slacks,
        equalities=(
            sp.hstack([equalities, sp.csr_array((n_equalities, n_slacks))], format="csr"),
            np.zeros(n_equalities),
        ),
        inequalities=(sp.hstack([inequalities, sp.eye_array(n_slacks)], format="csr"), np.zeros(n_slacks)),
        seconds=program.seconds,
    )
    if solution is None:
        return None
    x = solution.x[:n]
    tau = solution.x[n]
    slacks = solution.x[n + 1 :]
    G_slacks, lower_slacks, upper_slacks = np.split(slacks, [m, m + len(lower)])
    return x / tau, G_slacks, lower_slacks, upper_slacks
