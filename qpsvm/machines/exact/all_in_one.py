"""A machine of several classes as the exact program of a proof: `stated`, of which there is one for both machines."""

from __future__ import annotations

from functools import partial
from typing import Any

from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import ParameterTypeError
from qpsvm.bounds.proof.all_in_one import AskedJoint, prove_joint
from qpsvm.bounds.proof.all_in_one_dual import ExactJoint, HeldJoint
from qpsvm.bounds.proof.exact_dual import Held
from qpsvm.bounds.proof.kernels.points import matrix_space
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.spaces import Space
from qpsvm.machines.exact.program import space_of
from qpsvm.machines.exact.record import recorded
from qpsvm.machines.problem.parameters import taking_prices
from qpsvm.machines.problem.reading import check_point, title_of
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.space.kernels.feature_map import FeatureMap


def verified(problem: Any, result: JointResult, tol: float | None = None) -> Proof:
    """What is proven of the numbers of a result.

    Raises ParameterTypeError, DataError, UnsupportedError.
    """
    if not isinstance(result, JointResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {shown(result)}")
    check_point(problem, result)
    alpha = problem.samples.taking_part(result.alpha)
    asked = AskedJoint(stated(problem), _space(problem), held_numbers(problem, result), alpha, result.gap, tol,
                       title_of(problem, result), {"stated": partial(recorded, problem, result)})  # fmt: skip
    return prove_joint(asked)


def _space(problem: Any) -> Space:
    """The samples in feature space. Here a map of features is a kernel like others, and known by its matrix."""
    if isinstance(problem.kernel, FeatureMap):
        return matrix_space(problem.space.gram.dense())
    return space_of(problem)


def stated(problem: Any) -> ExactJoint:
    """The exact program of a problem."""
    samples = problem.samples
    price = taking_prices(problem.C, samples)
    return ExactJoint(samples.taking_part(problem.label), len(problem.classes), price, problem.shared,
                      problem.intercept)  # fmt: skip


def held_numbers(problem: Any, result: JointResult) -> HeldJoint:
    """w or the coefficients of every class, and b, as a user has them."""
    if result.model.w is not None:
        return HeldJoint(tuple(Held(w, None) for w in result.model.w), result.b)
    coef = problem.samples.taking_part(result.coef)
    return HeldJoint(tuple(Held(None, column.copy()) for column in coef.T), result.b)
