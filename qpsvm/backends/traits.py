"""Describe machines by traits, which decide whether a backend supports them (`find_problem_traits`).

A backend lists the traits that it supports instead of machines, and supports a machine if it supports all its traits.
A machine has one trait of each kind, by its dual (DUAL.1), in which e is the right-hand side of an equality row:

| kind         | traits                                              | in (DUAL.1)                                 |
|--------------|-----------------------------------------------------|---------------------------------------------|
| kernel       | linear, kernel                                      | φ(x) = x, or not                            |
| level        | level 1, level 0, other levels                      | ℓ                                           |
| upper bounds | bounded, unbounded, partly bounded                  | U finite in all, no, or some rows           |
| curvature    | flat, curved, partly curved                         | δ = 0, δ > 0, or δ = 0 in some rows         |
| equalities   | no rows, balance, sum                               | none; sᵀα = 0; sᵀα = e ≠ 0                  |
|              | balance and total, one row, other rows              | sᵀα = 0 and 1ᵀα = e ≠ 0; another; others    |
| intercept    | unpenalised, penalised                              | no group of rows with a ridge, or one       |
| samples      | one α per sample, two-sided α, several α per sample | number of α per sample                      |
| functions    | one function, several functions                     | number of decision functions                |

A machine with several decision functions has two traits only, of kernel and functions: a backend accepts all or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.svm_dual import SVMDual

if TYPE_CHECKING:
    from qpsvm.machines.problem.problem import Problem


#: Every trait, and its description in messages about a machine that a backend does not accept.
TRAIT_DESCRIPTIONS = {
    "linear": "a linear kernel",
    "kernel": "a kernel that is not linear",
    "level 1": "a fixed margin level",
    "level 0": "a margin level that is a variable, as in a nu-SVM",
    "other levels": "different margin levels",
    "bounded": "upper bounds of α",
    "unbounded": "α without upper bounds, as in a hard margin",
    "partly bounded": "upper bounds of some α only",
    "flat": "a dual without a curvature term",
    "curved": "a loss that is not piecewise linear",
    "partly curved": "losses of which only some are piecewise linear",
    "no rows": "a machine without a free intercept",
    "balance": "only the equality yᵀα = 0",
    "sum": "a fixed sum of α, as in a one-class machine",
    "balance and total": "a second equality row, as in a nu-SVM",
    "one row": "an equality row other than yᵀα = 0",
    "other rows": "further equality rows",
    "unpenalised": "an intercept that is not penalised",
    "penalised": "a penalised intercept",
    "one α per sample": "one α per sample",
    "two-sided α": "two α per sample, one for each side, as in a regression",
    "several α per sample": "several α per sample, or several samples per α",
    "one function": "a machine with one decision function",
    "several functions": "a machine that learns several classes in one program",
}
Traits = frozenset[str]
#: All traits; and those of machines with one decision function.
ALL_TRAITS: Traits = frozenset(TRAIT_DESCRIPTIONS)
ONE_FUNCTION = ALL_TRAITS - {"several functions"}


def find_problem_traits(problem: Problem) -> Traits:
    """Return the traits of a problem's dual, without computing its Gram matrix."""
    return find_dual_traits(problem._dual_structure, problem.space.is_linear)


def find_dual_traits(svm: SVMDual, is_linear: bool) -> Traits:
    """Return the traits of a dual with a linear kernel, or another.

    They are cached in the dual, and so in its copies with another Gram matrix.
    """
    cache = svm.__dict__.setdefault("traits", {})
    if is_linear not in cache:
        cache[is_linear] = _compute_dual_traits(svm, is_linear)
    return cache[is_linear]  # type: ignore[no-any-return]


def _compute_dual_traits(svm: SVMDual, is_linear: bool) -> Traits:
    kernel = "linear" if is_linear else "kernel"
    if svm.classes is not None:
        return frozenset((kernel, "several functions"))
    return frozenset(
        (
            kernel,
            "one function",
            _classify_level(svm),
            _classify_bounds(svm),
            _classify_curvature(svm),
            _classify_equalities(svm),
            "penalised" if svm.penalised_groups else "unpenalised",
            _classify_samples(svm),
        )
    )


def _classify_level(svm: SVMDual) -> str:
    """Return the trait of the margin levels."""
    if svm.common_level == 1.0:
        return "level 1"
    return "level 0" if svm.common_level == 0.0 else "other levels"


def _classify_bounds(svm: SVMDual) -> str:
    """Return the trait of the upper bounds."""
    if svm.is_bounded:
        return "bounded"
    return "partly bounded" if np.isfinite(svm.upper).any() else "unbounded"


def _classify_samples(svm: SVMDual) -> str:
    """Return the trait of the number of α per sample."""
    if svm.has_one_row_per_sample:
        return "one α per sample"
    return "two-sided α" if svm.is_two_sided else "several α per sample"


def _classify_curvature(svm: SVMDual) -> str:
    """Return the trait of the curvature of the losses."""
    if not svm.has_curvature:
        return "flat"
    is_everywhere = find_common_value(svm.curvature) is not None or bool((svm.curvature > 0.0).all())
    return "curved" if is_everywhere else "partly curved"


def _classify_equalities(svm: SVMDual) -> str:
    """Return the trait of the equality rows."""
    groups = [group for group in svm.groups if not group.ridge]
    if not groups:
        return "no rows"
    balances = [group for group in groups if group.total == 0.0 and _is_constant(group.column, svm.sign)]
    if len(groups) == 1:
        if balances:
            return "balance"
        return "sum" if _is_constant(groups[0].column, svm.sign) else "one row"
    totals = [group for group in groups if group.total != 0.0 and _is_constant(group.column)]
    if len(balances) == len(totals) == 1 and len(groups) == 2:
        return "balance and total"
    return "other rows"


def _is_constant(column: FloatArray, sign: FloatArray | None = None) -> bool:
    """Return whether a column (m,), or its product with `sign`, is constant and not 0."""
    if column is sign:  # signs are ±1
        return True
    values = column if sign is None else column * sign
    return bool(len(values) and values[0] and (values == values[0]).all())
