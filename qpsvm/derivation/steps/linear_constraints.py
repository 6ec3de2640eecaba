"""Build the steps of a machine with linear constraints, (OWN.1) to (OWN.13).

Constraints add the same terms in every machine: to the Lagrangian, to w, to the balance of b, and a block of
multipliers. So these are the shared steps, with the terms of `ConstraintTerms`. The steps specific to the machine are
those of the problem without constraints, because its w differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import Equation, EquationLine, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.assemble import iter_sensitivity_steps
from qpsvm.derivation.steps.duality import (
    build_dual_step,
    build_strong_duality_step,
    build_substitution_step,
    build_weak_duality_step,
)
from qpsvm.derivation.steps.formulas import (
    MAX_NAMED,
    ConstraintTerms,
    Formulas,
    collect_bounds,
    number_steps,
    read_f_scale,
    step,
)
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_primal_step
from qpsvm.derivation.steps.recovery import build_recovered_f_step
from qpsvm.derivation.steps.slackness import build_box_step, build_slackness_step
from qpsvm.derivation.steps.stationarity import build_b_step, build_other_variable_step, build_w_step
from qpsvm.derivation.symbols import Meaning
from qpsvm.machines import SVDD, Constraints, OneClass, Problem, ValueConstraints
from qpsvm.machines.problem.forms import add_constraints_to_primal, build_constrained_qp
from qpsvm.machines.problem.linear_constraints import ConstraintRows, build_textbook_rows
from qpsvm.machines.problem.result_building import build_constraint_table


def build_meanings(problem: Problem) -> dict[str, Meaning]:
    """Build the meanings of the letters of the constraints; p is their number."""
    return {
        r"\pi": Meaning("multipliers of the constraints", "(p,)"),
        "g": Meaning("g_j, what constraint j multiplies w by", "(d,)"),
        "G": Meaning("all g_j, one per row", "(p, d)"),
        "h": Meaning("bounds of the constraints", "(p,)"),
        "d" if isinstance(problem, SVDD) else "c": Meaning("factor of the intercept in each constraint", "(p,)"),
        "A": Meaning("factors of the values of f in each constraint", "(p, q)"),
        "Z": Meaning("the points at which f is constrained", "(q, d)"),
        "z": Meaning("one of these points", "(d,)"),
    }


def steps(problem: Problem, machine: Formulas) -> tuple[Step, ...]:
    """Return all steps, in order, from those of the machine without constraints."""
    terms = machine.constraint_terms
    assert terms is not None
    lines = _build_constraint_lines(machine, terms)
    constraint_steps = (
        *_build_row_steps(problem, terms, lines),
        _extend_step(
            build_primal_step(
                machine,
                "The objective and the constraints of the machine are unchanged, and the linear constraints are added, "
                "without slack.",
            ),
            add_constraints_to_primal,
            *lines.hidden,
        ),
        build_lagrangian_step(
            machine, first="Every constraint gets a multiplier π_j, in addition to those of the machine."
        ),
        _extend_step(
            build_w_step(machine, "an active constraint contributes −π_j g_j, as a sample of negative sign would"),
            None,
            lines.lhs_equality,
        ),
        _build_balance_step(machine, terms),
        build_box_step(
            machine,
            "Multipliers of inequalities are not negative. A constraint has no slack, so "
            "nothing bounds its multiplier above.",
        ),
        build_slackness_step(
            machine,
            "Either a constraint holds with equality or its multiplier is zero. The multiplier is minus the derivative "
            "of the optimum: if h increases by a small t, the optimum decreases by πt. Other products are unchanged.",
            build_constraint_table,
        ),
        build_substitution_step(
            machine,
            "the terms of b and ξ cancel as without constraints, and besides the square the terms of the bounds remain",
            slack_texts=("what ξ gave",),
        ),
        _extend_step(
            build_dual_step(
                machine,
                "each constraint is one more sample, of sign −1 and level −h, whose multiplier has no upper bound",
            ),
            build_constrained_qp,
        ),
        build_recovered_f_step(machine),
        build_strong_duality_step(machine, "samples and rows"),
        build_weak_duality_step(machine),
    )
    return number_steps("OWN", *(replace(item, tag="") for item in constraint_steps), *iter_sensitivity_steps(machine))


class ConstraintLines(NamedTuple):
    """Lines about the left-hand sides of the constraints.

    inequality: They are at most h.
    claim: They are those of the table of the result; measured and not displayed.
    lhs_equality: They are the same from w and from α; measured and not displayed.
    """

    inequality: EquationLine
    claim: EquationLine
    lhs_equality: EquationLine

    @property
    def hidden(self) -> tuple[EquationLine, EquationLine]:
        """The inequality, measured and not displayed, and the claim."""
        return replace(self.inequality, shown=False), self.claim


def _build_constraint_lines(machine: Formulas, terms: ConstraintTerms) -> ConstraintLines:
    """Build the lines that several steps have."""
    code = terms.lhs.python()
    latex = "Gw+cb" if terms.b_factor else "Gw"
    if terms.is_ball:
        latex = r"2Gc+2\mu d"
    lhs = letter(latex, compute_lhs, "A @ f(Z)" if terms.lacks_diagonal else code, "the left side")
    claimed_lhs = letter("", read_claimed_lhs, "result.constraints['value']", "what the result says it is")
    lhs_of_w = letter("", lambda at: read_f_scale(at) * at.lhs, code, "the left side")
    lhs_of_alpha = letter(
        "",
        lambda at: read_f_scale(at) * at.lhs_of_alpha,
        code.replace(f"@ {machine.w}", f"@ {machine.w}_of_alpha"),
        "that by the two sums",
    )
    fields: dict[str, Any] = {"scale": "user_lhs_scale", "place": "constraint"}
    return ConstraintLines(
        line(lhs, "≤", letter("h", collect_bounds, "bound", "its bound"), **fields),
        line(lhs, "=", claimed_lhs, shown=False, **fields),
        line(lhs_of_w, "=", lhs_of_alpha, shown=False, **fields),
    )


def _build_row_steps(problem: Problem, terms: ConstraintTerms, lines: ConstraintLines) -> tuple[Step, Step]:
    """Build the steps of the constraints on w and of those on values of f; the first of those present has a preface."""
    tag = problem._dual_tag.split(".")[0]
    preface = (
        f"These steps are added by linear constraints. The machine's own steps, ({tag}.1) and so on, are those of "
        f"the same problem without constraints. {_explain_letters(problem)}"
    )
    has_weight_rows = any(isinstance(item, Constraints) for item in problem.constraints)
    has_value_rows = any(isinstance(item, ValueConstraints) for item in problem.constraints)
    if terms.b_factor:
        c_latex = rf",\quad {terms.b_factor.latex()}=\sum_l A_{{jl}}"
    else:
        c_latex = ""
    weight_rows = step(
        "Rows over w",
        f"{preface}Each row is an inequality that the weights and b have to keep: "
        f"{_describe_rows(problem, Constraints)}.",
        Equation("alone", (lines.inequality, lines.claim)),
        build_textbook_rows,
        "" if has_weight_rows else "all rows are over values of f, (OWN.2)",
    )
    value_rows = step(
        "Rows over values of f",
        f"{'' if has_weight_rows else preface}Each row is an inequality between values of f at points z: "
        f"{_describe_rows(problem, ValueConstraints)}. As f is linear in w and b, that is a row over w "
        "too, of g = Σ A φ(z) and c = Σ A"
        + (", whose bound is h and the K(z, z) that f lacks." if terms.lacks_diagonal else "."),
        Equation("below", (r"Af(Z)\le h", r"g_j=\sum_l A_{jl}\,\varphi(z_l)" + c_latex, *lines.hidden)),
        build_textbook_rows,
        "" if has_value_rows else "all rows are over w, (OWN.1)",
    )
    return weight_rows, value_rows


def _build_balance_step(machine: Formulas, terms: ConstraintTerms) -> Step:
    """Build the step of stationarity in b, or in the variable in its place."""
    reason = "b is penalised itself, so the derivative gives b." if machine.has_penalised_b else (
        "The balance of the samples becomes one of the samples and the multipliers of the constraints.")  # fmt: skip
    return replace(
        build_b_step(machine) if machine.b == "b" else build_other_variable_step(machine),
        text=f"{machine.b} is in the constraints too, with the factors "
        f"{terms.b_factor and terms.b_factor.text()}. {reason}",
        function=ConstraintRows.extend_dual,
        absent="" if terms.b_factor else "there is no b",
    )


def _extend_step(machine_step: Step, function: Callable[..., Any] | None, *lines: EquationLine) -> Step:
    """Extend a step of the machine by lines, and replace the function that states it unless `function` is None."""
    assert isinstance(machine_step.measure, Equation)
    measure = replace(machine_step.measure, lines=(*machine_step.measure.lines, *lines))
    return replace(machine_step, measure=measure, function=function or machine_step.function)


def compute_lhs(at: Any) -> FloatArray:
    """Return the left-hand sides in the user's units, (p,)."""
    return np.asarray(collect_bounds(at) + read_f_scale(at) * (at.lhs - at.constraint_rows.h))


def read_claimed_lhs(at: Any) -> FloatArray:
    """Return the left-hand sides that the result claims: (p,)."""
    table = at.result.constraints
    assert table is not None
    return np.asarray(collect_bounds(at) + (table["value"] - table["bound"]))


def _explain_letters(problem: Problem) -> str:
    """Explain letters of the constraints that mean something else in the machine's steps, or return ""."""
    if isinstance(problem, SVDD):
        return "f(x) = R² − ‖φ(x) − c‖² is ⟨w, φ(x)⟩ + b − K(x, x) with w = 2c and b = 2μ; b counts d_j in a row. "
    return "b stands for −ρ here. " if isinstance(problem, OneClass) else ""


def _describe_rows(problem: Problem, kind: type) -> str:
    """Describe the first constraints of a kind, each with its name and bound."""
    names = problem._textbook_constraint_rows.names
    h = np.concatenate([item.h for item in problem.constraints])
    is_of_kind = np.concatenate([np.full(len(item.h), isinstance(item, kind)) for item in problem.constraints])
    indices = np.flatnonzero(is_of_kind)
    text = ", ".join(f"{names[j]!r} with the bound {h[j]:.6g}" for j in indices[:MAX_NAMED])
    return text + (f", and {len(indices) - MAX_NAMED} more" if len(indices) > MAX_NAMED else "")
