"""An α that was given, as the point that a derivation measures: not repaired, so that what it violates is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.dual.certify import evaluate
from qpsvm.problems import Problem
from qpsvm.problems.reading import svm_result
from qpsvm.qp.solution import Solver, Status
from qpsvm.result import SVMResult

#: By how many roundings of its largest entry a feasible α may differ from the one that it was certified as.
ROUNDINGS = 64


def point_of(problem: Problem, alpha: FloatArray, certified: SVMResult) -> SVMResult:
    """What to measure at an α (n,): the certified result where that is optimal at this very α, else α as it stands."""
    rounding = ROUNDINGS * float(np.finfo(float).eps * np.abs(alpha).max())
    same = bool((np.abs(certified.alpha - alpha) <= rounding).all())
    return certified if same and certified.status is Status.OPTIMAL else as_it_stands(problem, alpha)


def as_it_stands(problem: Problem, alpha: FloatArray) -> SVMResult:
    """α (n,) with w = w(α), the best b and ρ for that, and ξ. Its values are the objectives': they bound nothing.

    Rows of weight 0 keep the α that they were given.
    """
    space = problem.space.uncentred()  # centring is for α with yᵀα = 0
    with np.errstate(all="ignore"):  # what overflows is shown as infinite
        point = evaluate(space, problem.svm, problem._gather(alpha))
        result = svm_result(
            problem, point, title=problem.title, status=Status.CANDIDATE, backend="none",
            form="dual", iterations=None, build_time=0.0, solve_time=0.0, solver_gap=point.gap,
            solver=Solver("no solver", "", "the point was given"),
        )  # fmt: skip
    return replace(result, alpha=alpha)
