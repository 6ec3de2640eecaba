"""Enclose every exact optimum of a problem, given the numbers of a result (`enclose_optima`)."""

from __future__ import annotations

import math
from typing import Any

from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.near_optimum import NearOptimum, near_optimum
from qpsvm.bounds.near_points import Places
from qpsvm.bounds.proof.claims import ProofRequest
from qpsvm.bounds.proof.classes import ClassesSpace, feasible_of_classes
from qpsvm.bounds.proof.spaces import BallSpace
from qpsvm.machines.problem.exact_primal import collect_all_in_one_primal, collect_alpha
from qpsvm.machines.problem.exact_program import build_all_in_one_program
from qpsvm.machines.problem.exact_space import build_exact_space
from qpsvm.machines.problem.reading import check_point
from qpsvm.machines.problem.verify import build_registered_program, build_space_and_primal
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear

#: Up to so many times the measured gap, and this much, a bound is not looked at with more digits.
AS_GOOD, NOTHING = 1.5, 1e-13


def enclose_optima(problem: Any, result: Any) -> NearOptimum:
    """Return (OPTIMA.1) for a result of a problem. Raises ParameterTypeError, DataError, UnsupportedError."""
    classes = isinstance(result, AllInOneResult)
    check_point(problem, result)
    mapped = isinstance(problem.kernel, FeatureMap)
    if classes and mapped:
        raise UnsupportedError("no bounds for several classes in one program over a map of features: take pairs")
    if not isinstance(problem.kernel, (Linear, FeatureMap)) and (problem.space.shift or problem.space.is_clipped):
        raise UnsupportedError(
            f"the kernel matrix of {problem.kernel} was repaired (psd={problem.psd!r}): new samples have no place "
            "beside it, and nothing bounds f there"
        )
    gap = max(AS_GOOD * result.gap, NOTHING) if math.isfinite(result.gap) else NOTHING
    if classes:
        space: Any = ClassesSpace(build_exact_space(problem), len(problem.classes))
        program, held = build_all_in_one_program(problem), collect_all_in_one_primal(problem, result)
        alpha = problem.samples.select_active(result.alpha).ravel()
        asked = ProofRequest(program, space, held, alpha, repair=feasible_of_classes)
    else:
        space, held = build_space_and_primal(problem, result)
        program = build_registered_program(problem, space.levels if isinstance(space, BallSpace) else None)
        asked = ProofRequest(program, space, held, collect_alpha(problem, result))
    free = not program.users and program.mix is None
    free &= any(group.multiplier == "b" and not group.ridge for group in program.groups)
    return near_optimum(asked, Places(space, Linear() if mapped else problem.kernel, free), gap)
