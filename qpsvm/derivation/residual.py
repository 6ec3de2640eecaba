"""Compute the residual of an equation or inequality from its two sides (`BothSides`).

It is the absolute difference of the sides of an equation, or the amount by which an inequality is violated, relative to
a scale. An α given by the user is measured as it is (`choose_point`): it is not repaired, so that its violations show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certify import evaluate
from qpsvm.derivation.display import RESIDUAL_TOL
from qpsvm.derivation.relative_size import relative_to
from qpsvm.machines import Problem
from qpsvm.machines.problem.result_building import build_svm_result
from qpsvm.program.status import Solver, Status
from qpsvm.result.svm_result import SVMResult

#: A given α counts as equal to the certified one if they differ by at most this many units in the last place of its
#: largest entry: certification repairs rounding errors in α, and scaling and shifting it takes a few operations.
MAX_ULPS = 64


def choose_point(problem: Problem, alpha: FloatArray, certified: SVMResult) -> SVMResult:
    """Choose the point to measure at an α (n,): the certified result if it is optimal at this α, else α as given."""
    rounding = MAX_ULPS * float(EPS * np.abs(alpha).max())
    is_unchanged = bool((np.abs(certified.alpha - alpha) <= rounding).all())
    if is_unchanged and certified.status is Status.OPTIMAL:
        return certified
    return evaluate_unrepaired(problem, alpha)


def evaluate_unrepaired(problem: Problem, alpha: FloatArray) -> SVMResult:
    """Return a result at α (n,) as given, with w(α), the best b and ρ for it, and ξ.

    Its primal and dual values are plain objective values, not certified bounds. Rows of weight 0 keep their given α.
    """
    space = problem.space.without_centring()  # centring requires yᵀα = 0
    with np.errstate(all="ignore"):  # what overflows is shown as infinite
        point = evaluate(space, problem.svm, problem._restrict_to_dual(alpha))
        result = build_svm_result(
            problem, point, status=Status.CANDIDATE, backend="none",
            form="dual", iterations=None, build_time=0.0, solve_time=0.0, solver_gap=point.gap,
            solver=Solver("no solver", "", "the point was given"),
        )  # fmt: skip
    return replace(result, alpha=alpha)


class NotMeasurableError(Exception):
    """Raised if an equation cannot be measured at a solution. The message says what is missing."""


Relation = Literal["=", "≤", "≥"]


@dataclass(frozen=True)
class BothSides:
    """An equation or an inequality at a point, as two numbers.

    relation: The relation between the numbers if it holds.
    description: What the two numbers are.
    scale: The scale of the residual; if it is 0, the residual is absolute.
    worst_residual: The residual of the worst row, if these are the sides of another row; None if they are its sides.
    """

    left: float
    relation: Relation
    right: float
    description: str
    scale: float = 1.0
    worst_residual: float | None = None

    @property
    def residual(self) -> float:
        """The violation relative to the scale."""
        if self.worst_residual is not None:
            return self.worst_residual
        return relative_to(float(compute_violation(self.left, self.relation, self.right)), self.scale)


def compute_violation(left: float | FloatArray, relation: Relation, right: float | FloatArray) -> FloatArray:
    """Compute the violation of the relation for each entry; NaN if the difference is NaN (as for ∞ − ∞)."""
    difference = np.asarray(left) - right
    if relation == "=":
        return np.abs(difference)
    return np.asarray(np.maximum(difference if relation == "≤" else -difference, 0.0))


def find_worst_entry(
    left: FloatArray, relation: Relation, right: FloatArray | float, label: str, scale: FloatArray | float,
    names: IntArray | Callable[[int], str] | None = None, preferred: NDArray[np.bool_] | None = None,
) -> BothSides:  # fmt: skip
    """Find the entry with the largest residual; if the relation holds everywhere, the most informative entry.

    That is the largest entry of an equation, and the entry of an inequality that is closest to being violated, among
    the `preferred` entries if there are any. Arrays have the shape (k,).

    label: A template for `str.format`, in which {i} is the name of the entry.
    names: The name of each entry, or a function of its index; None for the index itself.
    """
    right, scale = np.broadcast_to(right, left.shape), np.broadcast_to(scale, left.shape)
    violation = compute_violation(left, relation, right)
    residuals = np.divide(violation, scale, out=violation.copy(), where=scale > 0.0)
    worst_residual = float(residuals.max())
    i = int(residuals.argmax())
    if relation == "=" and worst_residual <= RESIDUAL_TOL:
        i = int(np.abs(right).argmax())
    elif worst_residual == 0.0:
        slack = right - left if relation == "≤" else left - right
        if preferred is not None and preferred.any():
            slack = np.where(preferred, slack, np.inf)
        i = int(slack.argmin())
    name: str | int = i
    if names is not None:
        name = names(i) if callable(names) else int(names[i])
    text = label.format(i=name)
    return BothSides(float(left[i]), relation, float(right[i]), text, float(scale[i]), worst_residual)


def choose_shown_sides(sides: tuple[BothSides, ...]) -> BothSides:
    """Choose the comparison with the largest residual; the first if all hold, or if a residual is NaN."""
    residuals = [both.residual for both in sides]
    if any(map(math.isnan, residuals)) or max(residuals) <= RESIDUAL_TOL:
        return sides[0]
    return sides[residuals.index(max(residuals))]
