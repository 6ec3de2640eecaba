"""State a machine as the exact program of a proof (`build_exact_program`).

Levels, upper bounds, curvatures and totals are those of the machine's `Specification`, unrounded. Linear constraints,
(OWN.2), are as the user wrote them, not as they are computed with: the points z behind the samples, unscaled, and h, or
where f has −K(x, x) besides, (h + Σ_l A_kl K(z_l, z_l))/2.
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
from qpsvm.bounds.proof.classes import of_classes
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup
from qpsvm.machines.problem.all_in_one_statement import AllInOneStatement
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_space import build_exact_diagonal, compute_half_diagonal


def build_exact_program(problem: DualStatement, levels: RationalVector | None = None) -> ExactDual:
    """Return the exact program of a problem: its record, and the rows of `constraints` behind it."""
    record, svm = problem._build_specification(), problem._dual_structure
    if problem.constraints:
        svm = problem._build_full_dual(svm.gram, problem.intercept, problem._textbook_constraint_rows)  # unscaled
    level, upper, curvature = map(record.to_rationals, (record.level, record.upper, record.curvature))
    if record.diagonal:
        level = compute_half_diagonal(problem) if levels is None else levels
    if behind := svm.m - len(record.sign):
        level, upper = (
            concatenate_rationals(level, compute_constraint_levels(problem)),
            concatenate_rationals(upper, from_constant(np.inf, behind)),
        )
        curvature = concatenate_rationals(curvature, from_constant(0.0, behind))
    totals = {group.multiplier: group.total for group in record.groups}
    entries = {len(record.sign) + k: -value for k, value in compute_exact_sums(problem).items()}
    groups = tuple(
        ExactGroup(
            group.multiplier, group.column, totals.get(group.multiplier, Fraction(0)), Fraction(group.ridge),
            group.formula, entries if group.multiplier == "b" else {},
        )
        for group in svm.groups
    )  # fmt: skip
    return ExactDual(svm.sign, level, upper, curvature, groups, svm.n, svm.rows, svm.mix, record.unit, behind)


def build_all_in_one_program(problem: AllInOneStatement) -> ExactDual:
    """Return the exact program of a machine of several classes, of which there is one for both machines."""
    label, C, weight = map(problem.samples.select_active, (problem.class_index, problem.C, problem.sample_weight))
    return of_classes(label, len(problem.classes), C, weight, problem._has_shared_slack, problem.intercept)


def compute_constraint_levels(problem: DualStatement) -> RationalVector:
    """−h of the linear constraints in units of f as the dual has it: (p,)."""
    size, own, first = Fraction(problem._f_scale), problem._diagonal_weight, problem.samples.active_features.shape[0]
    found: list[Fraction] = []
    for item in problem.constraints:
        bounds = [Fraction(h) for h in item.h.tolist()]
        if own and not item.over_w:
            value, A = build_exact_diagonal(problem), sp.csr_array(item.A)
            for k, row in enumerate(np.split(np.arange(A.nnz), A.indptr[1:-1])):
                parts = zip(A.data[row].tolist(), A.indices[row].tolist(), strict=True)
                bounds[k] -= Fraction(own) * sum((Fraction(a) * value(first + j) for a, j in parts), Fraction(0))
        first += item.points.shape[0]
        found += [-bound / size for bound in bounds]
    if size == 1:
        return from_floats(np.array([float(value) for value in found]))
    return from_fractions(found)


def compute_exact_sums(problem: DualStatement) -> dict[int, Fraction]:
    """c_k = Σ_l A_kl of the linear constraints by number, where it is no float."""
    found, first = {}, 0
    for item in problem.constraints:
        for k, row in enumerate([] if item.over_w else np.split(item.A.data, item.A.indptr[1:-1])):
            value = sum(map(Fraction, row.tolist()), Fraction(0))
            if value != Fraction(float(item.c[k])):
                found[first + k] = value
        first += len(item.h)
    return found
