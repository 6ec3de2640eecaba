"""Find a direction along which a QP is unbounded below (`find_ray`).

    (RAY.1)  Pd = 0, qᵀd < 0, Gd ≤ 0, Ad = 0, and d_j ≥ 0, or ≤ 0, where x_j has a lower, or an upper bound: from any
             feasible x, x + td is feasible for all t ≥ 0, and f(x + td) = f(x) + t qᵀd
    (RAY.2)  for a program within rounding of this one: P + E replaces P, with Ed = −Pd and
             E_ij = P_ij² (λ_i d_j + λ_j d_i), which minimises Σ (E_ij/P_ij)² over all symmetric E

HiGHS proposes d in floats, and (RAY.1) is then made to hold exactly, in rational numbers. The support of the proposal
and the rows of G that are tight on it (Gd = 0) are kept: d is a rational vector near it, on that support, in the null
space of P, A and these rows. If it fails (RAY.1), P is left out, and (RAY.2) tried.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rounding import SMALLEST_NORMAL, gamma
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.bounds.program.linear_program import solve_linear_program
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.rational import (
    MAX_MULTIPLICATIONS,
    as_multiple,
    dot_exactly,
    find_null_vector,
    project_on_null_space,
)

#: Eigenvalues of P below this share of the largest count as 0.
EIGENVALUE_TOL = 1e-10
#: Entries of d below this count as 0: HiGHS returns them up to its tolerance.
ENTRY_TOL = 1e-8


class Ray(NamedTuple):
    """A direction d (n,) that satisfies (RAY.1) after relative changes of the entries of P of at most `change`."""

    direction: FloatArray
    change: float


def find_ray(program: QPBounds, allowed: float) -> Ray | None:
    """Find a direction with (RAY.1), or with (RAY.2) for relative changes of P of at most `allowed`; None without one.

    qᵀd is also negative for all relative changes of q up to `allowed`.
    """
    n = program.qp.n
    if n * n > MAX_MULTIPLICATIONS:
        return None
    curved_directions = _find_curved_directions(program)
    proposal = _propose_direction(program, curved_directions)
    if proposal is None:
        return None
    support = np.flatnonzero(np.abs(proposal) > ENTRY_TOL)
    G = as_dense(program.G)
    is_tight = np.abs(G @ proposal) <= ENTRY_TOL * np.maximum(np.abs(G) @ np.abs(proposal), 1e-300)
    rows = np.vstack([as_dense(program.A), G[is_tight]])[:, support]
    hessian_rows = _build_hessian_rows(program)[:, support]
    nonzero_rows = hessian_rows[np.abs(hessian_rows).max(axis=1, initial=0.0) > 0.0]
    d = find_null_vector(np.vstack([nonzero_rows, rows]), proposal[support])
    ray = None if d is None else _check_ray(program, G, support.tolist(), d, allowed)
    if ray is not None:
        return ray
    d = find_null_vector(rows, proposal[support])
    if d is None:
        return None
    d = _refine_null_vector(d, rows, np.vstack([curved_directions[:, support], rows]))
    return _check_ray(program, G, support.tolist(), d, allowed)


def _build_hessian_rows(program: QPBounds) -> FloatArray:
    """Return a matrix (k, n) with the null space of P: P itself, or for P = ZZᵀ + D the rows of Zᵀ and D."""
    if program.hessian.factor is None:
        assert program.hessian.dense is not None
        return program.hessian.dense
    Z, diagonal = program.hessian.factor
    return np.vstack([as_dense(Z).T, np.diag(diagonal)])


def _compute_twice_product(program: QPBounds, d: list[Fraction], support: list[int]) -> list[Fraction]:
    """Return 2Pd (n,) exactly, for the direction with entries d at `support` and 0 elsewhere."""
    if program.hessian.factor is None:  # P counts as ½(P + Pᵀ)
        P = program.qp.P.dense()
        pairs = zip(P[:, support].tolist(), P.T[:, support].tolist(), strict=True)
        return [dot_exactly(d, row) + dot_exactly(d, column) for row, column in pairs]
    Z = as_dense(program.hessian.factor[0])
    diagonal = program.hessian.factor[1]
    Z_products = [dot_exactly(d, column) for column in Z[support].T.tolist()]
    products = [2 * dot_exactly(Z_products, row) for row in Z.tolist()]
    for j, value in zip(support, d, strict=True):
        products[j] += 2 * value * Fraction(float(diagonal[j]))
    return products


def _refine_null_vector(d: list[Fraction], rows: FloatArray, all_rows: FloatArray) -> list[Fraction]:
    """Return a vector near d (n,) with Mv = 0 for the rows M (k, n), like d, and smaller products with all rows (l, n).

    The entries of d that follow from others are off by rounding, times the condition of the system that gives them.
    """
    largest_entry = max(map(abs, d))
    if not largest_entry:
        return d
    scaled = np.array([float(value / largest_entry) for value in d])
    correction = project_on_null_space(all_rows, scaled) - scaled
    size = Fraction(float(np.abs(correction).max()))
    step = find_null_vector(rows, correction)  # its largest entry is about 1
    if step is None:
        return d
    return [value / largest_entry + size * change for value, change in zip(d, step, strict=True)]


def _find_curved_directions(program: QPBounds) -> FloatArray:
    """Return the eigenvectors of P whose eigenvalues are not rounding, (k, n): d with Pd = 0 is orthogonal to them."""
    dense = program.qp.P.dense()
    values, vectors = np.linalg.eigh(0.5 * (dense + dense.T))
    is_curved = np.abs(values) > EIGENVALUE_TOL * max(float(np.abs(values).max()), SMALLEST_NORMAL)
    directions: FloatArray = vectors[:, is_curved].T
    return directions


def _propose_direction(program: QPBounds, curved_directions: FloatArray) -> FloatArray | None:
    """Propose a direction (n,) with a largest entry of 1, orthogonal to some others (k, n), by HiGHS."""
    zero_rows = sp.csr_array(np.vstack([curved_directions, as_dense(program.A)]))
    bounds = [
        (0.0 if np.isfinite(lb) else -1.0, 0.0 if np.isfinite(ub) else 1.0)
        for lb, ub in zip(program.lb, program.ub, strict=True)
    ]
    q = program.qp.q / (float(np.abs(program.qp.q).max()) or 1.0)
    equalities = zero_rows, np.zeros(zero_rows.shape[0])
    inequalities = program.G, np.zeros(len(program.h))
    proposal = solve_linear_program(q, bounds, equalities, inequalities, program.seconds)
    if proposal is None or not q @ proposal.x < -ENTRY_TOL:
        return None
    return np.asarray(proposal.x / np.abs(proposal.x).max())


def _check_ray(program: QPBounds, G: FloatArray, support: list[int], d: list[Fraction], allowed: float) -> Ray | None:
    """Return the ray with entries d at `support`; None if (RAY.1) and (RAY.2) fail."""
    for j, value in zip(support, d, strict=True):
        if (value < 0 and np.isfinite(program.lb[j])) or (value > 0 and np.isfinite(program.ub[j])):
            return None
    cost = [value * Fraction(float(program.qp.q[j])) for j, value in zip(support, d, strict=True)]
    if not sum(cost, Fraction(0)) < -Fraction(allowed) * sum(map(abs, cost), Fraction(0)):
        return None
    if any(dot_exactly(d, row) for row in as_dense(program.A)[:, support].tolist()):
        return None
    if any(dot_exactly(d, row) > 0 for row in G[:, support].tolist()):
        return None
    direction = np.zeros(program.qp.n)
    direction[support] = as_multiple(d)
    twice_Pd = _compute_twice_product(program, d, support)
    if not any(twice_Pd):
        return Ray(direction, 0.0)
    largest_entry = max(map(abs, d))
    Pd = np.array([float(value / (2 * largest_entry)) for value in twice_Pd])
    scaled = np.zeros(program.qp.n)
    scaled[support] = [float(value / largest_entry) for value in d]
    change = _bound_change(program.qp.P.dense(), scaled, Pd)
    return Ray(direction, change) if change <= allowed else None


def _bound_change(P: FloatArray, d: FloatArray, Pd: FloatArray) -> float:
    """Bound the largest |E_ij/P_ij| of (RAY.2) from above, for d and Pd (n,).

    Rounding leaves a residual Ed + Pd, which a further change of one entry per row removes. If d_i ≠ 0 that is E_ii,
    which occurs in no other row; else it is the E_ij with the largest |P_ij d_j|, and E_ji is multiplied by d_i = 0.
    """
    squares = P * P
    weights = squares * np.outer(d, d)
    weights[np.diag_indices(len(P))] += squares @ (d * d)
    factors = np.linalg.lstsq(weights, -Pd, rcond=None)[0]
    E = squares * (np.outer(factors, d) + np.outer(d, factors))
    residual = np.abs(Pd + E @ d) + gamma(len(P) + 8) * (np.abs(E) @ np.abs(d) + np.abs(Pd))
    sizes = np.abs(P)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = np.where(sizes > 0.0, np.abs(E) / sizes, 0.0)
        capacity = np.where(d == 0.0, (sizes * np.abs(d)).max(axis=1), np.diagonal(sizes) * np.abs(d))
        added = np.where(residual > 0.0, residual / capacity, 0.0)
    return float(changes.max() + added.max()) * (1.0 + 1e-9)
