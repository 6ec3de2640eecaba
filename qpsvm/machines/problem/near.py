"""Enclose every exact optimum of a problem, given the numbers of a result (`near`)."""

from __future__ import annotations

import math
from typing import Any

from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.near_optimum import NearOptimum, near_optimum
from qpsvm.bounds.near_points import Places
from qpsvm.bounds.proof.claims import Asked
from qpsvm.bounds.proof.classes import ClassesSpace, feasible_of_classes
from qpsvm.bounds.proof.spaces import BallSpace
from qpsvm.machines.problem.exact import (
    alpha_of,
    numbers_of_classes,
    points_and_numbers,
    space_of,
    stated,
    stated_of_classes,
)
from qpsvm.machines.problem.reading import check_point
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear

#: Up to so many times the measured gap, and this much, a bound is not looked at with more digits.
AS_GOOD, NOTHING = 1.5, 1e-13


def near(problem: Any, result: Any) -> NearOptimum:
    """Return (OPTIMA.1) for a result of a problem. Raises ParameterTypeError, DataError, UnsupportedError."""
    classes = isinstance(result, JointResult)
    check_point(problem, result)
    mapped = isinstance(problem.kernel, FeatureMap)
    if classes and mapped:
        raise UnsupportedError("no bounds for several classes in one program over a map of features: take pairs")
    if not isinstance(problem.kernel, (Linear, FeatureMap)) and (problem.space.shift or problem.space.clipped):
        raise UnsupportedError(
            f"the kernel matrix of {problem.kernel} was repaired (psd={problem.psd!r}): new samples have no place "
            "beside it, and nothing bounds f there"
        )
    gap = max(AS_GOOD * result.gap, NOTHING) if math.isfinite(result.gap) else NOTHING
    if classes:
        space: Any = ClassesSpace(space_of(problem), len(problem.classes))
        program, held = stated_of_classes(problem), numbers_of_classes(problem, result)
        alpha = problem.samples.taking_part(result.alpha).ravel()
        asked = Asked(program, space, held, alpha, repair=feasible_of_classes)
    else:
        space, held = points_and_numbers(problem, result)
        program = stated(problem, space.levels if isinstance(space, BallSpace) else None)
        asked = Asked(program, space, held, alpha_of(problem, result))
    free = not program.users and program.mix is None
    free &= any(group.multiplier == "b" and not group.ridge for group in program.groups)
    return near_optimum(asked, Places(space, Linear() if mapped else problem.kernel, free), gap)
