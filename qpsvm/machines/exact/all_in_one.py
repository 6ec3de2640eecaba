"""A machine of several classes as the exact program of a proof: `stated`, of which there is one for both machines."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.bounds.proof.claims import Asked
from qpsvm.bounds.proof.classes import ClassesSpace, feasible_of_classes, of_classes
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.kernels.points import matrix_space
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.prove import prove
from qpsvm.bounds.proof.spaces import Space
from qpsvm.machines.exact.program import space_of
from qpsvm.machines.exact.record import recorded
from qpsvm.machines.problem.reading import check_point, title_of
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.space.kernels.feature_map import FeatureMap


def verified(problem: Any, result: JointResult, tol: float | None = None) -> Proof:
    """What is proven of the numbers of a result. Raises ParameterTypeError, DataError, UnsupportedError."""
    if not isinstance(result, JointResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {shown(result)}")
    check_point(problem, result)
    alpha = problem.samples.taking_part(result.alpha)
    proof = prove(Asked(stated(problem), ClassesSpace(_space(problem), alpha.shape[1]), held_numbers(problem, result),
                        alpha.ravel(), result.gap, tol, title_of(problem, result),
                        {"stated": partial(recorded, problem, result)}, feasible_of_classes))  # fmt: skip
    return replace(proof, alpha=proof.alpha.reshape(alpha.shape))


def _space(problem: Any) -> Space:
    """The samples in feature space. Here a map of features is a kernel like others, and known by its matrix."""
    if isinstance(problem.kernel, FeatureMap):
        return matrix_space(problem.space.gram.dense())
    return space_of(problem)


def stated(problem: Any) -> ExactDual:
    """The exact program of a problem."""
    label, C, weight = map(problem.samples.taking_part, (problem.label, problem.C, problem.sample_weight))
    return of_classes(label, len(problem.classes), C, weight, problem.shared, problem.intercept)


def held_numbers(problem: Any, result: JointResult) -> Primal:
    """w or the coefficients of every class, and b, as a user has them. Raises DataError."""
    if problem.intercept is None and result.b.any():
        raise DataError(f"{problem.title} has no intercepts, and the result has b = {result.b.tolist()}")
    b = enumerate(result.b.tolist() if problem.intercept else ())
    multipliers = {f"b_{c}": Fraction(value) for c, value in b if np.isfinite(value)}
    if result.model.w is not None:
        return Primal(result.model.w, None, multipliers)
    return Primal(None, problem.samples.taking_part(result.coef), multipliers)
