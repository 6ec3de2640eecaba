"""Enclose every exact optimum of a problem in a ball, (OPTIMA.1), given a result (`enclose_optima`)."""

from __future__ import annotations

import math

from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.near_optimum import NearOptimum, build_near_optimum
from qpsvm.bounds.near_points import OriginDistances
from qpsvm.bounds.proof.exact_dual import ExactDual
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.machines.problem.verify import build_proof_request
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear

#: A proven gap is tight enough if it is at most the measured gap times the first number, or at most the second.
MAX_GAP_RATIO, NEGLIGIBLE_GAP = 1.5, 1e-13


def enclose_optima(problem: DualStatement, result: SVMResult) -> NearOptimum:
    """Return a set that contains every exact optimum. Raises ParameterTypeError, DataError, UnsupportedError."""
    has_feature_map = isinstance(problem.kernel, FeatureMap)
    if has_feature_map and problem._dual_structure.classes is not None:
        raise UnsupportedError("no bounds for several classes in one program over a map of features: take pairs")
    _check_kernel_unchanged(problem)
    request = build_proof_request(problem, result)
    kernel = Linear() if has_feature_map else problem.kernel
    distances = OriginDistances(request.space, kernel, _is_translation_invariant(request.program))
    return build_near_optimum(request, distances, _choose_target_gap(result.gap))


def _check_kernel_unchanged(problem: MachineStatement) -> None:
    """Check that the kernel matrix was not repaired. Raises UnsupportedError."""
    if not isinstance(problem.kernel, (Linear, FeatureMap)) and (problem.space.shift or problem.space.is_clipped):
        raise UnsupportedError(
            f"the kernel matrix of {problem.kernel} was repaired (psd={problem.psd!r}): new samples have no place "
            "beside it, and nothing bounds f there"
        )


def _choose_target_gap(measured_gap: float) -> float:
    """Return the gap up to which a proven gap is not computed with more digits."""
    if math.isfinite(measured_gap):
        return max(MAX_GAP_RATIO * measured_gap, NEGLIGIBLE_GAP)
    return NEGLIGIBLE_GAP


def _is_translation_invariant(program: ExactDual) -> bool:
    """Return whether translating all samples leaves the problem unchanged.

    It does if b is free and every dual variable belongs to one sample: no combinations, no linear constraints.
    """
    if program.n_constraint_rows or program.mix is not None:
        return False
    return any(group.multiplier == "b" and not group.ridge for group in program.groups)
