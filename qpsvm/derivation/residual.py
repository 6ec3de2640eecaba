"""Compute the residual of an equation from its two sides (`BothSides`), relative to a size.

A residual is a size, so it is never negative. Rounding may make either side of an equation the larger one, so their
difference is taken absolutely; of an inequality only what goes the wrong way counts.

An α that was given, as the point that a derivation measures: not repaired, so that what it violates is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certify import evaluate
from qpsvm.derivation.display import HOLDS
from qpsvm.derivation.relative_size import relative_to
from qpsvm.machines import Problem
from qpsvm.machines.problem.reading import build_svm_result
from qpsvm.program.status import Solver, Status
from qpsvm.result.svm_result import SVMResult

#: By how many roundings of its largest entry a feasible α may differ from the one that it was certified as.
ROUNDINGS = 64


def choose_point(problem: Problem, alpha: FloatArray, certified: SVMResult) -> SVMResult:
    """Choose the point to measure at an α (n,): the certified result if it is optimal at this α, else α as given."""
    rounding = ROUNDINGS * float(np.finfo(float).eps * np.abs(alpha).max())
    same = bool((np.abs(certified.alpha - alpha) <= rounding).all())
    return certified if same and certified.status is Status.OPTIMAL else evaluate_unrepaired(problem, alpha)


def evaluate_unrepaired(problem: Problem, alpha: FloatArray) -> SVMResult:
    """Return α (n,) with w(α), the best b and ρ for that, and ξ. Its values are mere objectives, not bounds.

    Rows of weight 0 keep the α that they were given.
    """
    space = problem.space.without_centring()  # centring is for α with yᵀα = 0
    with np.errstate(all="ignore"):  # what overflows is shown as infinite
        point = evaluate(space, problem.svm, problem._restrict_to_dual(alpha))
        result = build_svm_result(
            problem, point, status=Status.CANDIDATE, backend="none",
            form="dual", iterations=None, build_time=0.0, solve_time=0.0, solver_gap=point.gap,
            solver=Solver("no solver", "", "the point was given"),
        )  # fmt: skip
    return replace(result, alpha=alpha)


class NotMeasurable(Exception):
    """Raised by a measure where a solution has nothing to measure the equation on. The message says what is missing."""


Relation = Literal["=", "≤", "≥"]


@dataclass(frozen=True)
class BothSides:
    """An equation or an inequality at a point, as two numbers.

    relation: How they stand to each other where it holds.
    of: What the two numbers are.
    scale: What their difference is relative to. Where it is 0, the difference counts as it is.
    largest or None: The residual of the worst row, where these are the sides of another.
    """

    left: float
    relation: Relation
    right: float
    of: str
    scale: float = 1.0
    largest: float | None = None

    @property
    def residual(self) -> float:
        """By how much it does not hold, relative."""
        if self.largest is not None:
            return self.largest
        return relative_to(float(compute_violation(self.left, self.relation, self.right)), self.scale)


def compute_violation(left: float | FloatArray, relation: Relation, right: float | FloatArray) -> FloatArray:
    """Compute the violation of the relation, for each entry; NaN if there is no difference."""
    difference = np.asarray(left) - right
    if relation == "=":
        return np.abs(difference)
    return np.asarray(np.maximum(difference if relation == "≤" else -difference, 0.0))


def find_worst_entry(
    left: FloatArray, relation: Relation, right: FloatArray | float, of: str, scale: FloatArray | float,
    names: IntArray | Callable[[int], str] | None = None, preferred: NDArray[np.bool_] | None = None,
) -> BothSides:  # fmt: skip
    """Find the entry where the sides differ most; if all agree, the one that is most informative.

    That is the largest of an equation; of an inequality the one that comes nearest to fail, among those that are
    `preferred` if there are any. Shapes: left, right (k,), scale (k,), names (k,), preferred (k,).
    """
    right, scale = np.broadcast_to(right, left.shape), np.broadcast_to(scale, left.shape)
    wrong = compute_violation(left, relation, right)
    errors = np.divide(wrong, scale, out=wrong.copy(), where=scale > 0.0)
    largest = float(errors.max())
    i = int(errors.argmax())
    if relation == "=" and largest <= HOLDS:
        i = int(np.abs(right).argmax())
    elif largest == 0.0:
        room = right - left if relation == "≤" else left - right
        i = int((room if preferred is None or not preferred.any() else np.where(preferred, room, np.inf)).argmin())
    name = i if names is None else names(i) if callable(names) else int(names[i])
    return BothSides(float(left[i]), relation, float(right[i]), of.format(i=name), float(scale[i]), largest)


def choose_shown_sides(sides: tuple[BothSides, ...]) -> BothSides:
    """Choose which of several comparisons to show: the first if all hold, else the one that fails most."""
    residuals = [each.residual for each in sides]
    if any(map(math.isnan, residuals)) or max(residuals) <= HOLDS:
        return sides[0]
    return sides[residuals.index(max(residuals))]
