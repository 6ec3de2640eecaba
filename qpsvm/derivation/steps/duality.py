"""Build the steps of the dual: substitution into L, the dual itself, strong duality and weak duality.

    substitution:    L at w(α), and at the slacks that α determines, is D(α)                        (ARGUMENT.3)
    dual:            max D(α), written as min −D(α), over the α for which L has a minimum
    strong duality:  P = D(α) at the optimum                                                        (ARGUMENT.4)
    weak duality:    P − D(α) = Σ of nonnegative terms for any feasible point and α                 (GAP.1)

The lines of `display` are shown and not measured, those of `build_value_line` measured and not shown, those of `line`
both. `Term.with_name` changes only how a term is called in sentences. `add` and `multiply` leave out terms that are
None, which are those that a machine does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qpsvm.bounds import certify
from qpsvm.derivation.expressions import Equation, EquationLine, display, iter_constraints, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, build_value_line, step
from qpsvm.derivation.term_builders import HALF, add, multiply, negate, total
from qpsvm.derivation.terms import Term
from qpsvm.program.status import Status


def build_substitution_step(
    machine: Formulas, consequence: str = "", slack_texts: tuple[str, ...] = ("η = C − α",)
) -> Step:
    """Build the step that substitutes stationarity into L, line by line, each evaluated at w(α).

    consequence: What cancels, in words; "" for what cancels in a C-SVM.
    slack_texts: What is put in place of η, and of the slacks that α determines.
    """
    constraints, intercept = machine.constraint_terms, machine.intercept
    constraint_values = None if constraints is None else constraints.multiplier_product  # Σ π_j ⟨g_j, w⟩
    constraint_bounds = None if constraints is None else -constraints.cost  # −Σ π_j h_j
    b_term = None if intercept is None else sym.B * machine.full_balance
    norm = multiply(machine.norm_factor, machine.norm)
    product = letter(rf"\langle {machine.w},\varphi(x_i)\rangle", sym.W_DOT_PHI.function, f"(phi(X) @ {machine.w})")
    products = multiply(machine.product_factor, total(machine.coef * product))
    other_terms = [*machine.linear, negate(machine.curvature_term)]
    with_slacks_put_in = machine.scale_to_objective(
        add(norm, -products, constraint_values, negate(b_term), machine.equality_term, *other_terms), constraint_bounds
    )
    # products − constraint_values is ⟨w, w(α)⟩ = ‖w‖², and stationarity in b and in ρ, ε or μ makes their terms 0
    with_w_put_in = machine.scale_to_objective(
        add(norm, -multiply(machine.product_factor, machine.norm), *other_terms), constraint_bounds
    )
    with_kernel = machine.build_dual_value(None if constraints else machine.quadratic_sum)
    lagrangian = machine.build_lagrangian(eta=False)
    name = lagrangian.with_name(f"L at {machine.w}(α)")
    lines = (
        build_value_line(name, "=", sym.QP_VALUE, map_point=sym.substitute_w),
        display(lagrangian, "L&="),
        _build_aligned_line(name, with_slacks_put_in, sym.substitute_w),
        _build_aligned_line(name, with_w_put_in, sym.substitute_w_and_b),
        _build_aligned_line(name, with_kernel, sym.substitute_w),
    )
    consequence = consequence or (
        f"what {'b and ' if intercept else ''}the slack added cancels, half of the quadratic term cancels, and "
        "only kernel values are left"
    )
    text = f"Put {_join_substitutions(machine, slack_texts)} into L: {consequence}."
    return step("Substitution", text, Equation("aligned", lines))


def build_dual_step(machine: Formulas, description: str, *definitions: EquationLine) -> Step:
    """Build the step of the dual, the best lower bound, written as a minimisation.

    description: The dual in words.
    definitions: Lines that define symbols of the objective, written next to it.
    """
    balance = None  # yᵀα = 0
    if machine.problem.intercept == "free":
        balance = line(machine.full_balance, "=", 0, scale=sym.compute_balance_scale)
    equality = None  # from stationarity in ρ, ε or μ, such as Σα_i = νS
    if machine.full_equality:
        _, left, right = machine.full_equality
        equality = line(left, "=", right)
    nonnegative = sym.MULTIPLIERS_NONNEGATIVE if machine.constraint_terms else None  # π ≥ 0
    variables = r"\alpha" if len(machine.rows) == 1 else r"\alpha^\pm"
    if machine.constraint_terms:
        variables += r",\pi"
    D = machine.build_dual_value().with_name("the dual's value at α")
    lines = (
        display(machine.dual_objective, rf"\min_{{{variables}}}\ "),
        *(replace(definition, before=r",\quad ", joined=True) for definition in definitions),
        build_value_line(D, "=", sym.CLAIMED_DUAL),
        build_value_line(D, "=", sym.QP_VALUE),
        *iter_constraints(balance, equality, *(rows.box for rows in machine.rows), nonnegative),
        *sym.ALPHA_OPTIMAL,
        *([sym.MULTIPLIERS_STATIONARY] if machine.constraint_terms else []),
    )
    return step(
        "Dual",
        f"The best lower bound, written as a minimisation: {description}. At its solution a projected gradient "
        "step does not change α.",
        Equation("below", lines),
        function=type(machine.problem)._build_specification,  # states the dual that the solvers get
    )


def build_strong_duality_step(machine: Formulas, rows: str = "samples") -> Step:
    """Build the step of strong duality: no gap remains at the optimum; `rows` is what the gap is a sum over."""
    P = machine.objective
    D = machine.build_dual_value()
    P_named, D_named = P.with_name("the primal's value"), D.with_name("the dual's value")
    lines = (
        display(P),
        display(D, r"\quad="),
        build_value_line(P_named, "=", D_named, map_point=sym.with_needed_slack),
    )
    return step(
        "Strong duality",
        "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
        f"certifies how far the two values found are apart, as a sum over the {rows}.",
        Equation("below", lines),
    )


def build_weak_duality_step(machine: Formulas) -> Step:
    """Build the step of weak duality: P − D(α) is a sum of terms that are not negative."""
    w, constraints = machine.w, machine.constraint_terms
    alpha = r"\alpha,\pi" if constraints else r"\alpha"
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
    line_break = r"\\ &\quad "
    difference = multiply(machine.unit, add(*terms, broken=line_break))
    if constraints:
        difference = add(difference, total(sym.MULTIPLIER * constraints.bound_slack, "j"), broken=line_break)
    sum_of_terms = difference.with_name("the sum of terms that are not negative")
    lines = (
        build_value_line(D, "≤", P, map_point=sym.make_suboptimal, caption=_describe_weak_duality),
        display(P - D),
        display(difference, r"\quad=", r"\ \ge\ 0"),
        build_value_line(P - D, "=", sum_of_terms, "≥", 0, map_point=sym.make_suboptimal),
    )
    return step(
        "Weak duality",
        "Take any feasible α and any feasible point of the primal, optimal or not. The difference of their values "
        "is a sum of terms that are not negative, so every α bounds the optimum from below, and every point of the "
        "primal from above. This is what makes a certificate possible. At an optimal α the difference is nothing but "
        "rounding, so it is measured half way to another feasible α.",
        Equation("below", lines, sym.explain_infeasibility),
        function=certify.build_candidate,
        general="GAP.1",  # the code is that of this equation
        construction="for every feasible pair the difference is this sum",
    )


def _build_aligned_line(first: Term, second: Term, map_point: Callable[[At], At]) -> EquationLine:
    """Build the line "= second" below the line of the first term; it is measured at `map_point` of a point."""
    return line(first, "=", second, scale="objective_scale", left="&", map_point=map_point)


def _describe_weak_duality(at: Any) -> str:
    """Describe the two numbers of weak duality."""
    if at.result.status is Status.OPTIMAL:
        where = "half way to another feasible α"
    else:
        where = "at α"
    return f"the dual's value {where}, and the primal's value"


def _join_substitutions(machine: Formulas, slack_texts: tuple[str, ...]) -> str:
    """Join what is substituted into L: w, the balance of b, the equality from ρ, ε or μ, and `slack_texts`."""
    parts = [f"{machine.w}(α{', π' if machine.constraint_terms else ''})"]
    if machine.intercept is not None:
        balance = machine.full_balance.text()
        parts.append(f"b = {balance}" if machine.has_penalised_b else f"{balance} = 0")
    if machine.full_equality:
        _, left, right = machine.full_equality
        parts.append(f"{left.text()} = {right.text()}")
    *first, last = [*parts, *slack_texts]
    return f"{', '.join(first)}{' and ' if first else ''}{last}"
