"""Build the steps of the C-SVM, (CSVM.1) to (CSVM.16)."""

from __future__ import annotations

from typing import Any

from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.letters import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as of
from qpsvm.derivation.steps.argument import RowTerms, step
from qpsvm.derivation.steps.shared import Argument
from qpsvm.derivation.term_builders import HALF, dot, multiply, total
from qpsvm.derivation.terms import Term, term
from qpsvm.machines import CSVM, Problem


def build_two_class(
    problem: Problem, upper: Term | None, price: Term | None, level: Term | float = 1.0, slack: Term | None = of.XI,
    priced: Term | None = of.XI, **more: Any,
) -> Argument:  # fmt: skip
    """Build a machine whose y f is to reach a level, less slack."""
    reach, eta = of.Y * of.F, None if upper is None or priced is None else of.ETA
    rows = RowTerms(of.ALPHA, slack, reach, term(level), eta, priced if eta else None, upper)
    quadratic = HALF * letter(r"\alpha^{\top}Q\alpha", "quadratic", "alpha @ Q @ alpha")
    given: dict[str, Any] = {"linear": (total(of.ALPHA),), "quadratic": quadratic} | more
    return Argument(
        problem, (rows,), price, coef=of.ALPHA * of.Y, pairs=r"\alpha_i\alpha_j y_i y_j",
        pull=dot(of.Y, of.ALPHA), reach=reach, level=level, matrix=r"X^{\top}(\alpha\circ y)", **given,
    )  # fmt: skip


def build_margin_step(own: Argument) -> Step:
    """Build the step about the distance of the two hyperplanes of the margin."""
    level = own.level if isinstance(own.level, Term) else None
    name = level.latex() if level else "1"
    seen, of_whom = "It is measured between the margin vectors of the two classes.", "the margin vectors along w"
    if own.bend:
        seen = "Samples that support have slack: it is measured after a step of ξ/‖w‖ towards their hyperplane."
        of_whom = "the support vectors along w, slack added"
    way = letter(
        rf"\operatorname{{dist}}\bigl(\{{f=-{name}\}},\{{f=+{name}\}}\bigr)", of.measure_margin, "distance",
        f"the way between {of_whom}"
    )  # fmt: skip
    return step(
        "Margin",
        "A step of length t along w/‖w‖ changes f by t‖w‖, so the way from one hyperplane to the other is the "
        f"difference of their levels over ‖w‖. {seen}",
        Equation("alone", (line(way, "=", multiply(2, level) / of.NORM),)),
    )


def build_nu_step(own: Argument, reach: Term, level: Term | float, middle: Term, text: str) -> Step:
    """Build the step about the weights that violate the level and that support; `middle` is the sum of all α."""
    C = own.rows[0].upper
    assert C is not None
    outside, supporting = of.weight_where(reach, "<", level, C), of.weight_where(of.ALPHA, ">", 0, C, 0.0)
    chain = line(outside, "≤", middle, "≤", supporting, scale=lambda at: middle.value(at))
    return step("What ν bounds", f"{text} The residual is by how much a bound fails.", Equation("alone", (chain,)))


def argument(problem: CSVM) -> Argument:
    """Build the terms of the machine."""
    return build_two_class(problem, of.C, total(of.C * of.XI))


def steps(problem: CSVM) -> tuple[Step, ...]:
    """Return all steps, in order."""
    soft = argument(problem)
    return soft.steps(
        "CSVM",
        first=build_margin_step(soft),
        primal=soft.primal(
            "A wide margin is weighed against slack. ξ_i is how far y_i f(x_i) falls short of 1, and C_i is the price "
            "of a unit of it."
        ),
        dual=soft.dual("n variables in a box, and one equality"),
    )
