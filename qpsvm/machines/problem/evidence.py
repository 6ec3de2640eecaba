"""Attach to errors the evidence that `error.verify()` checks: the infeasible problem, and the weights that prove it.

`proofs_of_errors` is imported only when a proof is requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import copy_without_cache
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import (
    InfeasibleConstraintsError,
    InfeasibleNuError,
    MarginNotFoundError,
    NotSeparableError,
    QPSVMError,
    UndecidedConstraintsError,
)
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.row_feasibility import build_infeasible_error, find_row_feasibility
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.program.svm_dual import SVMDual

#: An error about the convex hulls of two classes.
HullsError = TypeVar("HullsError", NotSeparableError, MarginNotFoundError)


def _call_proof(function: str, *arguments: Any) -> Any:
    """Call the function of `proofs_of_errors` of this name."""
    from qpsvm.machines.problem import proofs_of_errors

    return getattr(proofs_of_errors, function)(*arguments)


def attach_hull_proof(error: HullsError, problem: MachineStatement) -> HullsError:
    """Return the error with its evidence: the weights of the samples."""
    error._evidence = partial(_call_proof, "prove_hulls", copy_without_cache(problem), error.u + error.v)
    return error


def build_margin_error(problem: MachineStatement, u: FloatArray, v: FloatArray, distance: float) -> QPSVMError:
    """Build the error for two classes without a margin: their convex hulls meet, or no margin was found.

    u, v (n,): Weights of the nearest points of the two hulls.
    distance: Distance of these points.
    """
    meeting = _call_proof("find_common_point", problem, u + v)
    if isinstance(meeting, Mapping):  # exact weights of a common point
        weights = np.array([float(meeting.get(row, 0)) for row in problem.active_rows.tolist()])
        u = np.where(problem._active_target > 0.0, weights, 0.0)
        v = np.where(problem._active_target < 0.0, weights, 0.0)
        distance = 0.0
    if meeting:
        return attach_hull_proof(NotSeparableError(u, v, distance), problem)
    separable = True if meeting is False else None
    return attach_hull_proof(MarginNotFoundError(u, v, distance, separable), problem)


def build_constraints_error(error: InfeasibleConstraintsError, problem: MachineStatement) -> QPSVMError:
    """Build the error for linear constraints: proven infeasible, or without a feasible point found."""
    is_proven = _call_proof("is_proven_infeasible", problem, error.weights)
    decided = error if is_proven else UndecidedConstraintsError(error.weights, error.bound, error.residual)
    decided._evidence = partial(_call_proof, "prove_infeasible", copy_without_cache(problem), error.weights)
    return decided


def check_feasible_constraints(problem: MachineStatement, svm: SVMDual) -> SVMDual:
    """Check that the linear constraints are feasible; return the dual with the implied equalities marked.

    Raises InfeasibleConstraintsError, UndecidedConstraintsError.
    """
    constraints = svm.linear_constraints
    assert constraints is not None
    n_machine_rows = constraints.unconstrained_dual.m
    rows = np.arange(n_machine_rows, svm.m)
    if not (svm.level[rows] >= 0.0).any():  # w = 0, b = 0 is strictly feasible
        return svm
    gap_bounder = GapBounder(Accuracy(problem.space), svm)
    feasibility = find_row_feasibility(svm, gap_bounder, rows)
    if feasibility.farkas is not None:
        error = build_infeasible_error(svm, gap_bounder, rows, feasibility, problem._constraint_scale)
        raise build_constraints_error(error, problem)
    if not feasibility.equal.any():
        return svm
    equality_mask = np.concatenate([np.zeros(n_machine_rows, dtype=bool), feasibility.equal])
    return replace(svm, linear_constraints=replace(constraints, equality_mask=equality_mask))


def attach_balance_proof(error: InfeasibleNuError, problem: MachineStatement) -> InfeasibleNuError:
    """Return the error with its evidence: the samples, whose weights have different sums in the two classes."""
    error._evidence = partial(_call_proof, "prove_imbalance", error.nu, problem.samples)
    return error


def attach_class_balance_proof(
    error: InfeasibleNuError, sums: FloatArray, pair: tuple[int, int | None], radius: float, classes: NDArray[Any]
) -> InfeasibleNuError:
    """Return the error with its evidence, given only the sums of the weights of k classes.

    sums (k,), classes (k,): Sum of the weights, and label, of each class.
    pair: Indices of two classes; None instead of the second for all classes but the first.
    radius: Bound on the relative rounding error of the sums.
    """
    exact_sums = [Fraction(value) for value in sums.tolist()]
    one, other = pair
    one_sum = exact_sums[one]
    one_label = format_value(classes.tolist()[one])
    if other is None:
        other_sum = sum(exact_sums, -one_sum)
        other_label = "the rest"
    else:
        other_sum = exact_sums[other]
        other_label = format_value(classes.tolist()[other])
    labels = other_label, one_label
    error._evidence = partial(
        _call_proof, "prove_nu_exceeds_balance", error.nu, one_sum, other_sum, labels, Fraction(radius)
    )
    return error
