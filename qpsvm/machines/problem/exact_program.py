"""Build the dual of a machine in rational numbers, for a proof without rounding (`build_exact_program`).

Levels, upper bounds, curvatures and totals are those of the machine's `Specification`, unrounded. Linear constraints,
(OWN.2), are those of the user, without the scaling used for computation: their points z follow the samples, and their
bounds are h, or (h + Σ_l A_kl K(z_l, z_l))/2 if f = 2 f_dual − K(x, x).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rationals import (
    RationalVector,
    concatenate_rationals,
    from_constant,
    from_floats,
    from_fractions,
)
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_space import build_diagonal_of_index, compute_half_diagonal


def build_exact_program(problem: DualStatement, levels: RationalVector | None = None) -> ExactDual:
    """Return the exact dual: the rows of the machine's specification, followed by those of its linear constraints.

    levels: Levels ½K(x, x) of the samples if they are already known; used by a machine with these levels.
    """
    specification = problem._build_specification()
    svm = problem._dual_structure
    if problem.constraints:
        svm = problem._build_full_dual(svm.gram, problem.intercept, problem._textbook_constraint_rows)  # unscaled
    level = specification.to_rationals(specification.level)
    upper, curvature = (
        specification.to_rationals(specification.upper),
        specification.to_rationals(specification.curvature),
    )
    if specification.diagonal:
        level = compute_half_diagonal(problem) if levels is None else levels
    if n_constraints := svm.m - len(specification.sign):
        level = concatenate_rationals(level, _compute_constraint_levels(problem))
        upper = concatenate_rationals(upper, from_constant(np.inf, n_constraints))
        curvature = concatenate_rationals(curvature, from_constant(0.0, n_constraints))
    totals = {group.multiplier: group.total for group in specification.groups}
    # the column of b is sign·c, and linear constraints have the sign −1
    exact_entries = {len(specification.sign) + k: -c for k, c in _compute_inexact_sums(problem).items()}
    groups = tuple(
        ExactGroup(
            group.multiplier, group.column, totals.get(group.multiplier, Fraction(0)), Fraction(group.ridge),
            group.formula, exact_entries if group.multiplier == "b" else {},
        )
        for group in svm.groups
    )  # fmt: skip
    return ExactDual(
        svm.sign, level, upper, curvature, groups, svm.n, svm.rows, svm.mix, specification.unit, n_constraints
    )


def _compute_constraint_levels(problem: DualStatement) -> RationalVector:
    """Return −h of the linear constraints in the units of f in the dual: (p,)."""
    f_scale = Fraction(problem._f_scale)
    diagonal_weight = problem._diagonal_weight
    first_point = problem.samples.active_features.shape[0]
    negative_bounds: list[Fraction] = []
    for item in problem.constraints:
        bounds = [Fraction(h) for h in item.h.tolist()]
        if diagonal_weight and not item.over_w:  # a constraint on f, which contains K(z, z)
            diagonal_of_index = build_diagonal_of_index(problem)
            A = sp.csr_array(item.A)
            for k, row in enumerate(np.split(np.arange(A.nnz), A.indptr[1:-1])):
                entries = zip(A.data[row].tolist(), A.indices[row].tolist(), strict=True)
                bounds[k] -= Fraction(diagonal_weight) * sum(
                    (Fraction(a) * diagonal_of_index(first_point + j) for a, j in entries), Fraction(0)
                )
        first_point += item.points.shape[0]
        negative_bounds += [-bound / f_scale for bound in bounds]
    if f_scale == 1 and not diagonal_weight:  # the bounds are those of the user, which are floats
        return from_floats(np.array([float(bound) for bound in negative_bounds]))
    return from_fractions(negative_bounds)


def _compute_inexact_sums(problem: DualStatement) -> dict[int, Fraction]:
    """Return c_k = Σ_l A_kl exactly, by the index k of the constraint, where the float c_k is rounded."""
    inexact_sums = {}
    first_row = 0
    for item in problem.constraints:
        for k, row in enumerate([] if item.over_w else np.split(item.A.data, item.A.indptr[1:-1])):
            exact_sum = sum(map(Fraction, row.tolist()), Fraction(0))
            if exact_sum != Fraction(float(item.c[k])):
                inexact_sums[first_row + k] = exact_sum
        first_row += len(item.h)
    return inexact_sums
