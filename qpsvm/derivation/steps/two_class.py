"""Build the terms that two-class machines share, and the steps about their margin and about ν (`build_two_class`)."""

from __future__ import annotations

from typing import Any

from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, RowTerms, step
from qpsvm.derivation.term_builders import HALF, dot, multiply, total
from qpsvm.derivation.terms import Term, term
from qpsvm.machines import Problem


def build_two_class(
    problem: Problem, upper: Term | None, penalty: Term | None, level: Term | float = 1.0, slack: Term | None = sym.XI,
    penalised_slack: Term | None = sym.XI, **terms: Any,
) -> Formulas:  # fmt: skip
    """Build the terms of a machine that requires y f ≥ level − slack.

    upper: The upper bound of α; None if there is none.
    penalty: The slack's part of the primal objective; None if the margin is hard.
    level: The required value of y f: 1, or a variable such as ρ.
    slack: The slack of a row; None if the margin is hard.
    penalised_slack: The part of the slack with a linear penalty, whose multiplier is η; None if there is none.
    terms: Further fields of `Formulas`, which override those of this function.
    """
    compared_value = sym.Y * sym.F
    has_eta = upper is not None and penalised_slack is not None
    eta, penalised_slack = (sym.ETA, penalised_slack) if has_eta else (None, None)
    rows = RowTerms(sym.ALPHA, slack, compared_value, term(level), eta, penalised_slack, upper)
    quadratic = HALF * letter(r"\alpha^{\top}Q\alpha", "quadratic", "alpha @ Q @ alpha")
    dual_terms: dict[str, Any] = {"linear": (total(sym.ALPHA),), "quadratic": quadratic} | terms
    return Formulas(
        problem, (rows,), penalty, coef=sym.ALPHA * sym.Y, pair_factor=r"\alpha_i\alpha_j y_i y_j",
        balance=dot(sym.Y, sym.ALPHA), compared_value=compared_value, level=level, matrix=r"X^{\top}(\alpha\circ y)",
        **dual_terms,
    )  # fmt: skip


def build_margin_step(machine: Formulas) -> Step:
    """Build the step about the distance between the two hyperplanes of the margin."""
    level = machine.level if isinstance(machine.level, Term) else None
    level_latex = level.latex() if level else "1"
    if machine.curvature_term:  # no samples on the margin itself
        measurement = "Every support vector has slack, so each is first moved by ξ_i/‖w‖ to its hyperplane."
        samples = "the support vectors along w, slack added"
    else:
        measurement = "It is measured between the margin vectors of the two classes."
        samples = "the margin vectors along w"
    distance = letter(
        rf"\operatorname{{dist}}\bigl(\{{f=-{level_latex}\}},\{{f=+{level_latex}\}}\bigr)",
        sym.measure_margin,
        "distance",
        f"the distance between {samples}",
    )
    return step(
        "Margin",
        "A step of length t along w/‖w‖ changes f by t‖w‖, so the distance from one hyperplane to the other is the "
        f"difference of their levels over ‖w‖. {measurement}",
        Equation("alone", (line(distance, "=", multiply(2, level) / sym.NORM),)),
    )


def build_nu_step(machine: Formulas, compared_value: Term, level: Term | float, alpha_sum: Term, text: str) -> Step:
    """Build the step about the bounds of ν: weight of margin errors ≤ Σα ≤ weight of support vectors.

    A margin error is a sample with compared_value < level. The text of the step begins with `text`.
    """
    C = machine.rows[0].upper
    assert C is not None
    error_weight = sym.sum_weights_where(compared_value, "<", level, C)
    support_weight = sym.sum_weights_where(sym.ALPHA, ">", 0, C, 0.0)
    chain = line(error_weight, "≤", alpha_sum, "≤", support_weight, scale=lambda at: alpha_sum.value(at))
    return step("What ν bounds", f"{text} The residual is the violation of a bound.", Equation("alone", (chain,)))
