"""Build the steps of the dual: substitution into L, the dual itself, strong duality and weak duality.

These are (ARGUMENT.3) and (ARGUMENT.4) of `assemble`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qpsvm.bounds import certify
from qpsvm.derivation.expressions import Equation, EquationLine, display, iter_constraints, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, build_value_line, step
from qpsvm.derivation.term_builders import HALF, add, multiply, total
from qpsvm.program.status import Status


def build_substitution_step(machine: Formulas, consequence: str = "", eta: str = "η = C − α") -> Step:
    """Build the step that substitutes stationarity into L, line by line, each evaluated at w(α).

    consequence: What cancels, in words.
    eta: What is put in place of η, and of further variables, separated by ", ".
    """
    b_term = None if machine.intercept is None else sym.B * machine.full_balance
    constraint_cross, constraint_cost = None, None
    if machine.constraint_terms:
        constraint_cross, constraint_cost = machine.constraint_terms.multiplier_product, -machine.constraint_terms.cost
    norm = multiply(machine.norm_factor, machine.norm)
    product = letter(rf"\langle {machine.w},\varphi(x_i)\rangle", sym.W_DOT_PHI.function, f"(phi(X) @ {machine.w})")
    cross = multiply(machine.product_factor, total(machine.coef * product))
    rest = [*machine.linear, machine.curvature_term and -machine.curvature_term]
    lagrangian = machine.build_lagrangian(eta=False)
    sides = (
        machine.scale_to_objective(
            add(norm, -cross, constraint_cross, b_term and -b_term, machine.equality_term, *rest), constraint_cost
        ),
        machine.scale_to_objective(add(norm, -multiply(machine.product_factor, machine.norm), *rest), constraint_cost),
        machine.build_dual_value(None if machine.constraint_terms else machine.quadratic_sum),
    )  # fmt: skip
    L = lagrangian.with_name(f"L at {machine.w}(α)")
    lines = (
        build_value_line(L, "=", sym.QP_VALUE, map_point=sym.substitute_w), display(lagrangian, "L&="),
        *(line(L, "=", side, scale="objective_scale", left="&", map_point=map_point)
          for side, map_point in zip(sides, (sym.substitute_w, sym.substitute_w_and_b, sym.substitute_w), strict=True)),
    )  # fmt: skip
    consequence = consequence or (
        f"what {'b and ' if b_term else ''}the slack added cancels, half of the quadratic term cancels, and "
        "only kernel values are left"
    )
    text = f"Put {_join_substitutions(machine, eta)} into L: {consequence}."
    return step("Substitution", text, Equation("aligned", lines))


def build_dual_step(machine: Formulas, description: str, *definitions: EquationLine) -> Step:
    """Build the step of the dual, the best lower bound, written as a minimisation.

    description: The dual in words.
    definitions: Lines that define symbols of the objective, written next to it.
    """
    has_free_b = machine.problem.intercept == "free"
    balance = line(machine.full_balance, "=", 0, scale=sym.compute_balance_scale) if has_free_b else None
    equality = None
    if machine.sides_of_equality:
        _, left, right = machine.sides_of_equality
        equality = line(left, "=", right)
    alpha = (r"\alpha" if len(machine.rows) == 1 else r"\alpha^\pm") + r",\pi" * bool(machine.constraint_terms)
    D = machine.build_dual_value().with_name("the dual's value at α")
    lines = (
        display(machine.dual_objective, rf"\min_{{{alpha}}}\ "),
        *(replace(definition, before=r",\quad ", joined=True) for definition in definitions),
        build_value_line(D, "=", sym.CLAIMED_DUAL),
        build_value_line(D, "=", sym.QP_VALUE),
        *iter_constraints(
            balance,
            equality,
            *(rows.box for rows in machine.rows),
            sym.MULTIPLIERS_NONNEGATIVE if machine.constraint_terms else None,
        ),
        *sym.ALPHA_OPTIMAL,
        *([sym.MULTIPLIERS_STATIONARY] if machine.constraint_terms else []),
    )
    return step(
        "Dual",
        f"The best lower bound, written as a minimisation: {description}. At its solution a projected gradient "
        "step does not change α.",
        Equation("below", lines), type(machine.problem)._build_specification,
    )  # fmt: skip


def build_strong_duality_step(machine: Formulas, rows: str = "samples") -> Step:
    """Build the step of strong duality: no gap remains at the optimum; `rows` is what the gap is a sum over."""
    return step(
        "Strong duality",
        "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
        f"certifies how far the two values found are apart, as a sum over the {rows}.",
        Equation(
            "below",
            (
                display(machine.objective),
                display(machine.build_dual_value(), r"\quad="),
                build_value_line(
                    machine.objective.with_name("the primal's value"),
                    "=",
                    machine.build_dual_value().with_name("the dual's value"),
                    map_point=sym.with_needed_slack,
                ),
            ),
        ),
    )


def build_weak_duality_step(machine: Formulas) -> Step:
    """Build the step of weak duality: P − D(α) is a sum of terms that are not negative."""
    w = machine.w
    alpha = r"\alpha,\pi" if machine.constraint_terms else r"\alpha"
    squared_distance = letter(rf"\|{w}-{w}({alpha})\|^2", "squared_distance", f"norm({w} - {w}_of_alpha)**2")
    terms = [
        multiply(machine.norm_factor, squared_distance),
        HALF * (sym.B - machine.full_balance) ** 2 if machine.has_penalised_b else None,
        machine.curvature_gap,
    ]
    terms += [total(rows.slack_product, machine.row) for rows in machine.rows if rows.slack_product is not None]
    terms += [total(rows.product, machine.row) for rows in machine.rows]
    P = machine.objective.with_name("the primal's value", f"P({machine.variables})")
    D = machine.build_dual_value().with_name("the dual's value at α", rf"D({alpha})")
    difference = add(
        multiply(machine.unit, add(*terms, broken=r"\\ &\quad ")),
        machine.constraint_terms and total(sym.MULTIPLIER * machine.constraint_terms.bound_slack, "j"),
        broken=r"\\ &\quad ",
    )
    lines = (
        build_value_line(D, "≤", P, map_point=sym.make_suboptimal, caption=_describe_weak_duality),
        display(P - D),
        display(difference, r"\quad=", r"\ \ge\ 0"),
        build_value_line(
            P - D,
            "=",
            difference.with_name("the sum of terms that are not negative"),
            "≥",
            0,
            map_point=sym.make_suboptimal,
        ),
    )
    return step(
        "Weak duality",
        "Take any feasible α and any feasible point of the primal, optimal or not. The difference of their values "
        "is a sum of terms that are not negative, so every α bounds the optimum from below, and every point of the "
        "primal from above. This is what makes a certificate possible. At an optimal α it is measured half way "
        "to another feasible one.",
        Equation("below", lines, sym.explain_infeasibility), certify.build_candidate, general="GAP.1",
        construction="for every feasible pair the difference is this sum",
    )  # fmt: skip


def _describe_weak_duality(at: Any) -> str:
    """Describe the two numbers of weak duality."""
    where = "half way to another feasible α" if at.result.status is Status.OPTIMAL else "at α"
    return f"the dual's value {where}, and the primal's value"


def _join_substitutions(machine: Formulas, eta: str) -> str:
    """Join what is substituted into L: w, the balance of b, the equality of the other variable, and `eta`."""
    parts = [f"{machine.w}(α{', π' if machine.constraint_terms else ''})"]
    if machine.intercept is not None:
        balance = machine.full_balance.text()
        parts.append(f"b = {balance}" if machine.has_penalised_b else f"{balance} = 0")
    if machine.sides_of_equality:
        parts.append(" = ".join(side.text() for side in machine.sides_of_equality[1:]))
    *first, last = filter(None, [*parts, *eta.split(", ")])
    return f"{', '.join(first)}{' and ' if first else ''}{last}"
