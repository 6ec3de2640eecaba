"""One sign, factor or term that is wrong in an equality of a step is seen: by what is measured, at one of four points.

Of what is displayed and not measured, `test_displayed` changes the LaTeX. What is changed here is the expression of a
step as it stands there, also of machines with rows of a user's and of all classes in one program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from displayed_formulas import Space
from displayed_points import draw_point, find_optimal_point
from test_displayed import AT_ANY_ALPHA, AT_ANY_POINT, IDENTITIES, letters, name, problem_of, read_step

import qpsvm
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.constraint_quantities import build_quantities
from qpsvm.derivation.expressions import EquationLine
from qpsvm.derivation.residual import NotMeasurableError
from qpsvm.derivation.terms import SUM, Term, term
from qpsvm.machines import AllInOneProblem

HOLDS, SEEN, SAMPLED = 1e-8, 1e-6, 0.15
#: Steps of which the products that vanish at the optimum stand in a line that is displayed as well.
HIDDEN = ("Lagrangian", "Complementary slackness")
CASES = [
    ("c", "free", "linear", True, False), ("c", "penalised", "rbf", True, True),
    ("hinge", "free", "linear", True, True), ("squared", "penalised", "linear", False, False),
    ("huber", "penalised", "linear", False, True), ("svr", "free", "rbf", False, False),
    ("svr", "penalised", "linear", True, True), ("svr2", None, "linear", True, False),
    ("quantile", "free", "linear", False, True), ("nu", "", "linear", True, False),
    ("nusvr", "", "linear", True, False), ("nusvr", "", "linear", False, True),
    ("one", "", "linear", True, True), ("ball", "", "linear", True, False),
    ("ball", "", "rbf", False, True), ("rank", "", "linear", True, False),
    ("cs", "free", "linear", True, False), ("cs", "penalised", "rbf", False, False),
    ("ww", "free", "rbf", True, False), ("ww", "penalised", "linear", False, False),
    ("cs2", "free", "linear", True, False),
]  # fmt: skip


def iter_changes(whole: Term) -> Iterator[Term]:
    """Yield the term with a part that is twice as large, or of a sum one with the other sign or left out."""
    inside = getattr(whole.function, "__self__", None)
    if isinstance(inside, Term) and not whole.parts:
        for other in iter_changes(inside):
            if r"\\" in other.latex():
                latex = other.latex()
            else:
                latex = rf"\bigl({other.latex()}\bigr)"
            yield replace(whole, function=other.value, written=(latex,) * 3)
    for k, part in enumerate(whole.parts):
        options = [part + part] + ([term(0) - part, part - part] if whole.rank == SUM else [])
        for other in (*options, *iter_changes(part)):
            yield replace(whole, parts=(*whole.parts[:k], other, *whole.parts[k + 1 :]))


def points(problem: Any) -> list[Any]:
    """The optimum, and points that are none: feasible, not feasible, and with another w and b."""
    result = qpsvm.solve(problem, tol=1e-13, check=False)
    rng = np.random.default_rng(8)
    if isinstance(problem, AllInOneProblem):
        some = rng.uniform(0.1, 1.0, result.alpha.shape) * problem._all_in_one_dual.upper.max()
        return [AllInOneQuantities(problem, point) for point in (result, problem.at(some))]
    some = rng.uniform(0.1, 1.0, len(result.alpha)) * np.minimum(result.upper, 2.0)
    if result.constraints is None:
        lam = np.zeros(0)
    else:
        lam = rng.uniform(0.5, 1.0, len(result.constraints))
    certified = problem.at(np.concatenate([some, lam]))
    feasible, infeasible = (
        build_quantities(problem, each) for each in (certified, replace(certified, alpha=certified.alpha + 0.1))
    )
    found = [build_quantities(problem, result), feasible, infeasible]
    if problem.intercept == "penalised":
        found.append(of_alpha(problem, feasible))
    if problem.constraints:
        rows = {"lhs": feasible.lhs + rng.normal(size=len(feasible.lhs))}
    else:
        rows = {}
    return [*found, feasible.with_symbols(
        values=feasible.values + rng.normal(size=len(feasible.values)), b=feasible.b + 0.3,
        square_of_w=feasible.square_of_w + 1.0, **rows,
    )]  # fmt: skip


def of_alpha(problem: Any, at: Any) -> Any:
    """The point with the penalised b that α, and π, give."""
    b = float(at.beta.sum()) - (float(at.constraint_rows.c @ at.constraint_multipliers) if problem.constraints else 0.0)
    return at.with_symbols(b=b, values=at.values - at.b + b)


def residuals(line: EquationLine, at: Any) -> list[float]:
    try:
        with np.errstate(all="ignore"):
            return [sides.residual for sides in line.iter_sides(at) if sides.relation == "="]
    except NotMeasurableError:
        return []


class Judged:
    """The display of a step, read by the parser of `test_displayed` at the optimum and at random points."""

    def __init__(self, problem: Any) -> None:
        space = Space.from_problem(problem)
        rng = np.random.default_rng(1)
        result = qpsvm.solve(problem, tol=1e-13, check=False)
        self.optimum = letters(problem, space, find_optimal_point(problem, result, space))
        self.others = [
            letters(problem, space, draw_point(problem, space, rng, recovered)) for recovered in (True, False)
        ]

    def false(self, step: Any, mutant: Any) -> bool | None:
        latex = replace(step, latex=mutant.latex())
        at = [self.optimum]
        if step.title in AT_ANY_ALPHA | AT_ANY_POINT:
            at.append(self.others[step.title in AT_ANY_POINT])
        try:
            return any(read_step(each, latex).failures for each in at)
        except (KeyError, SyntaxError, ValueError, AssertionError):
            return None  # what is no display any more


def is_equivalent(line: EquationLine, one: Term, other: Term, points: list[Any]) -> bool:
    """Say whether a change changes nothing where the equation is to hold, such as a slack's where there is none."""
    found = []
    for point in points:
        at = point if line.map_point is None else line.map_point(point)
        try:
            with np.errstate(all="ignore"):
                found.append(np.allclose(one.value(at), other.value(at), rtol=1e-9, atol=1e-9))
        except NotMeasurableError:
            found.append(True)
    return all(found)


def options(step: Any, rng: np.random.Generator) -> Iterator[tuple[int, EquationLine, Term]]:
    """The lines of a step that say an equality, or show a term, each with one term changed."""
    for place, line in enumerate(step.measure.lines):
        if (
            not isinstance(line, EquationLine)
            or "\\text" in line.before
            or line.relations not in ((), ("=",), ("=", "="))
        ):
            continue
        if any(side.latex() == "0" for side in line.sides):
            continue  # twice 0 is 0
        if not line.shown and step.title in HIDDEN:
            continue
        for k, side in enumerate(line.sides):
            if k or line.left is None:
                for other in iter_changes(side):
                    if rng.uniform() < SAMPLED:
                        yield place, replace(line, sides=(*line.sides[:k], other, *line.sides[k + 1 :])), other


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=name)
def test_one_changed_term_of_a_step_is_seen(case):
    problem = problem_of(*case)
    rng = np.random.default_rng(3)
    at = points(problem)
    unseen = []
    count = 0
    judge = Judged(problem)
    for step in qpsvm.derive(problem):
        if step.absent or step.measure.explain_unmeasurable(at[0]):
            continue
        for place, mutant, other in options(step, rng):
            line = step.measure.lines[place]
            one = next(a for a, b in zip(line.sides, mutant.sides, strict=True) if a is not b)
            if line.measured and not residuals(line, at[0]):
                continue  # nothing to measure it on
            if is_equivalent(line, one, other, at[: 2 if step.title in IDENTITIES else 1]):
                continue
            count += 1
            seen: bool | None = False
            for point in at if line.measured else ():
                pairs = zip(residuals(line, point), residuals(mutant, point), strict=True)
                seen = seen or any(before <= HOLDS and not after <= SEEN for before, after in pairs)
            if not seen and line.shown:
                whole = replace(
                    step.measure, lines=(*step.measure.lines[:place], mutant, *step.measure.lines[place + 1 :])
                )
                seen = judge.false(step, whole)
            unseen += [] if seen or seen is None else [f"{step.tag}: {other.latex()}"]
    assert count >= 15
    assert not unseen, "\n".join(unseen)
