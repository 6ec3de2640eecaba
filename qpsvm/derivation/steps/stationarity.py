"""Build the steps of stationarity: where L is minimal over w, b, the other variables and the slacks.

∂L/∂w = 0 writes w as a combination of the samples, and a penalised b in the same way. Where L is linear in a variable,
its factor has to be 0: this is the balance of a free b, or an equality such as that of ρ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.bounds import certify
from qpsvm.bounds.levels import find_primal_points
from qpsvm.derivation.expressions import Equation, EquationLine, join_lines, line, write_stationarity
from qpsvm.derivation.letter_builder import latex_to_text, letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, step
from qpsvm.derivation.term_builders import total
from qpsvm.derivation.terms import Term
from qpsvm.program.svm_dual import build_intercept_groups
from qpsvm.result.svm_result import build_kkt_rows

#: Why the steps about b are absent without an intercept.
NO_INTERCEPT = "intercept=None: f(x) = ⟨w, φ(x)⟩ goes through the origin, there is no b"


def build_w_step(machine: Formulas, consequence: str = "the normal vector is a combination of the samples") -> Step:
    """Build the step ∂L/∂w = 0, with its consequence in words."""
    w = machine.w
    is_linear = machine.problem.space.is_linear
    if is_linear:
        comparison = "The kernel is linear, so both sides are vectors with one entry per feature."
    else:
        comparison = (
            f"In the feature space of {machine.problem.kernel} {w} has no entries to compare, so the products of "
            "both sides with every φ(x_i) are compared."
        )
    return step(
        f"Stationarity in {w}", f"At a minimum over {w} the Lagrangian is flat: {consequence}. {comparison}",
        Equation("alone", (build_w_line(machine, write_stationarity(w)),)), find_primal_points, general="DUAL.5",
        construction="" if is_linear else f"f is computed from α, and {w} is never formed",
    )  # fmt: skip


def build_w_line(machine: Formulas, before: str = "", right: Term | None = None, **line_options: Any) -> EquationLine:
    """Build the line: w is a combination of the samples, or another right-hand side."""
    w = letter(machine.w, "products", machine.w, machine.w)
    place = "entry" if machine.problem.space.is_linear else "product"
    right = right or sym.feature_sum(machine.coef) - (
        machine.constraint_terms and machine.constraint_terms.constraint_gradient
    )
    return line(w, "=", right, scale="products_scale", before=before, place=place, **line_options)


def build_b_step(machine: Formulas) -> Step:
    """Build the step ∂L/∂b = 0, for a free or a penalised b."""
    if machine.has_penalised_b:
        half = "(λ/2)" if machine.unit else "½"
        return step(
            "Stationarity in b",
            f"With {half}b² in the objective, b is penalised itself. So the derivative gives b, instead "
            f"of a balance between the {machine.sides}.",
            build_penalised_b_equation(write_stationarity("b"), machine.full_balance),
            certify.compute_penalised_multipliers,
            general="CERT.2",
        )
    middle = [] if machine.constraint_terms else ["=", total(machine.coef)]
    balance = line(
        machine.full_balance, *middle, "=", 0,
        scale=sym.compute_balance_scale, before=write_stationarity("b"),
        caption=lambda at: _describe_balance(machine, at),
    )  # fmt: skip
    return step(
        "Stationarity in b",
        f"b enters the Lagrangian only through b·Σ {machine.coef.text()}, which has no minimum over b unless the "
        f"factor is zero. So the multipliers of the two {machine.sides} have the same sum.",
        Equation("alone", (balance,)),
        build_intercept_groups,
        "" if machine.problem.intercept else NO_INTERCEPT,
        "DUAL.1",
    )


def build_other_variable_step(machine: Formulas, meaning: str = "") -> Step:
    """Build the step of stationarity in the other variable of the primal (ρ, ε or μ), in which L is linear.

    meaning: A sentence that the text ends with, after a blank.
    """
    assert machine.equality_term is not None
    latex = machine.other_variables[1:]
    name = latex_to_text(latex)
    assert machine.full_equality is not None
    _, left, right = machine.full_equality
    return step(
        f"Stationarity in {name}",
        f"{name} enters the Lagrangian only through {machine.equality_term.text()}, which has no minimum over {name} "
        f"unless the factor is zero.{meaning}",
        Equation("alone", (line(left, "=", right, before=write_stationarity(latex)),)),
        type(machine.problem)._build_specification,
    )


def build_xi_step(machine: Formulas) -> Step:
    """Build the step ∂L/∂ξ = 0, for a linear penalty."""
    return step(
        "Stationarity in ξ",
        f"ξ_{machine.row} is in two constraints, whose multipliers add up to the penalty per unit of slack. This "
        "gives η from α, so η is eliminated.",
        Equation("alone", build_eta_lines(machine, write_stationarity(*(slack.latex() for slack in machine.slacks)))),
        build_kkt_rows,
        general="DUAL.7",
        construction="η is eliminated: the library computes it from α and its bound",
    )


def build_curved_xi_step(machine: Formulas, text: str, *lines: EquationLine) -> Step:
    """Build the step of stationarity in ξ for a squared slack; its lines are written next to each other."""
    stationarity = write_stationarity(*(slack.latex() for slack in machine.slacks))
    return step("Stationarity in ξ", text, Equation("alone", tuple(join_lines(stationarity, *lines))))


def build_eta_lines(machine: Formulas, before: str) -> tuple[EquationLine, ...]:
    """Build the lines η = C − α, one per side of f; `before` is LaTeX in front of the first."""
    lines = (
        line(rows.eta or 0, "=", (rows.upper or sym.C) - rows.alpha, scale=sym.make_reader("C", rows.side))
        for rows in machine.rows
    )
    return tuple(join_lines(before, *lines))


def _describe_balance(machine: Formulas, at: Any) -> str:
    """Describe the balance of b, with the force of either side."""
    return (
        f"{machine.full_balance.text()}, and 0: {at.beta[at.beta > 0].sum():.6g} on one side, "
        f"{-at.beta[at.beta < 0].sum():.6g} on the other"
    )


def build_penalised_b_equation(before: str, *right_sides: Term) -> Equation:
    """Build the equation of a penalised b with its right-hand sides; `before` is LaTeX in front of it."""
    chain = [part for side in right_sides for part in ("=", side)]
    equation_line = line(sym.B, *chain, scale=lambda at: 1 + abs(float(np.sum(at.beta))), before=before)
    return Equation("alone", (equation_line,), lambda at:
                    "psd='clip' projected K + 1, and b with it, so b is no longer yᵀα"
                    if at.intercept_in_kernel and at.problem.psd == "clip" else "")  # fmt: skip
