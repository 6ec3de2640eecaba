"""Enclose every exact optimum of a problem, given a result (`enclose_optima`)."""

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

#: A proven gap is good enough, and not computed with more digits, if it is at most this many times the measured gap,
MAX_GAP_RATIO = 1.5
#: or at most this.
NEGLIGIBLE_GAP = 1e-13


def enclose_optima(problem: DualStatement, result: SVMResult) -> NearOptimum:
    """Return (OPTIMA.1) for a result of a problem. Raises ParameterTypeError, DataError, UnsupportedError."""
    has_map = isinstance(problem.kernel, FeatureMap)
    if has_map and problem._dual_structure.classes is not None:
        raise UnsupportedError("no bounds for several classes in one program over a map of features: take pairs")
    _check_kernel_unchanged(problem)
    request = build_proof_request(problem, result)
    distances = OriginDistances(
        request.space, Linear() if has_map else problem.kernel, _has_translations(request.program)
    )
    return build_near_optimum(request, distances, _choose_target_gap(result.gap))


def _check_kernel_unchanged(problem: MachineStatement) -> None:
    """Check that the kernel matrix was not repaired. Raises UnsupportedError."""
    if not isinstance(problem.kernel, (Linear, FeatureMap)) and (problem.space.shift or problem.space.is_clipped):
        raise UnsupportedError(
            f"the kernel matrix of {problem.kernel} was repaired (psd={problem.psd!r}): new samples have no place "
            "beside it, and nothing bounds f there"
        )


def _choose_target_gap(measured_gap: float) -> float:
    """Return the gap up to which a proven gap is good enough, and not computed with more digits."""
    return max(MAX_GAP_RATIO * measured_gap, NEGLIGIBLE_GAP) if math.isfinite(measured_gap) else NEGLIGIBLE_GAP


def _has_translations(program: ExactDual) -> bool:
    """Return whether translating all samples leaves the problem as it is.

    It does if b is free, and every dual variable belongs to one sample: no combinations, no linear constraints.
    """
    has_only_samples = not program.n_constraint_rows and program.mix is None
    return has_only_samples and any(group.multiplier == "b" and not group.ridge for group in program.groups)
