"""Enclose every exact optimum of a problem, given a result (`enclose_optima`, `enclose_all_in_one_optima`)."""

from __future__ import annotations

import math

from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.near_optimum import NearOptimum, near_optimum
from qpsvm.bounds.near_points import Places
from qpsvm.bounds.proof.claims import ProofRequest
from qpsvm.bounds.proof.classes import ClassesSpace, feasible_of_classes
from qpsvm.bounds.proof.exact_dual import ExactDual
from qpsvm.bounds.proof.spaces import BallSpace
from qpsvm.machines.problem.all_in_one_statement import AllInOneStatement
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_primal import collect_all_in_one_primal, collect_alpha
from qpsvm.machines.problem.exact_program import build_all_in_one_program
from qpsvm.machines.problem.exact_space import build_exact_space
from qpsvm.machines.problem.result_checks import check_point
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.machines.problem.verify import build_registered_program, build_space_and_primal
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear

#: A proven gap is good enough, and not computed with more digits, if it is at most this many times the measured gap,
MAX_GAP_RATIO = 1.5
#: or at most this.
NEGLIGIBLE_GAP = 1e-13


def enclose_optima(problem: DualStatement, result: SVMResult) -> NearOptimum:
    """Return (OPTIMA.1) for a result of a problem. Raises ParameterTypeError, DataError, UnsupportedError."""
    check_point(problem, result)
    _check_kernel_unchanged(problem)
    space, primal_point = build_space_and_primal(problem, result)
    program = build_registered_program(problem, space.levels if isinstance(space, BallSpace) else None)
    request = ProofRequest(program, space, primal_point, collect_alpha(problem, result))
    kernel = Linear() if isinstance(problem.kernel, FeatureMap) else problem.kernel
    places = Places(space, kernel, _has_translations(program))
    return near_optimum(request, places, _choose_target_gap(result.gap))


def enclose_all_in_one_optima(problem: AllInOneStatement, result: AllInOneResult) -> NearOptimum:
    """Return (OPTIMA.1) for a result of several classes in one program. Raises DataError, UnsupportedError."""
    check_point(problem, result)
    if isinstance(problem.kernel, FeatureMap):
        raise UnsupportedError("no bounds for several classes in one program over a map of features: take pairs")
    _check_kernel_unchanged(problem)
    space = ClassesSpace(build_exact_space(problem), len(problem.classes))
    program = build_all_in_one_program(problem)
    primal_point = collect_all_in_one_primal(problem, result)
    alpha = problem.samples.select_active(result.alpha).ravel()
    request = ProofRequest(program, space, primal_point, alpha, repair=feasible_of_classes)
    places = Places(space, problem.kernel, _has_translations(program))
    return near_optimum(request, places, _choose_target_gap(result.gap))


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
