"""Build the steps of the primal and of its Lagrangian, (ARGUMENT.1) and (ARGUMENT.2) of `assemble`."""

from __future__ import annotations

from qpsvm.derivation.expressions import Equation, EquationLine, display, iter_constraints, line
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.formulas import Formulas, build_value_line, iter_minimum, step
from qpsvm.derivation.term_builders import reindex
from qpsvm.derivation.terms import Term

#: Why ξ ≥ 0 needs no multiplier if the square of ξ is penalised.
NO_MULTIPLIER_NEEDED = "where a negative ξ_i is feasible 0 is, and it costs less"


def build_loss_step(machine: Formulas, text: str, loss: Term, title: str = "Loss") -> Step:
    """Build the step of the primal without slacks."""
    lines = tuple(iter_minimum(machine.main_variables, machine.regulariser + loss, "norm and loss at w and b"))
    return step(title, text, Equation("alone", lines))


def build_primal_step(machine: Formulas, text: str, *further_lines: EquationLine, title: str = "Primal") -> Step:
    """Build the step of the primal: objective and constraints."""
    constraints = [rows.constraint for rows in machine.rows]
    constraints += [line(slack, "≥", 0, scale="level") for slack in machine.slacks]
    constraints += [_build_constraint_line(machine)] if machine.constraint_terms else []
    lines = (*iter_minimum(machine.variables, machine.objective), *iter_constraints(*constraints), *further_lines)
    return step(title, text, Equation("below", lines), type(machine.problem)._build_specification)


def build_lagrangian_step(
    machine: Formulas, multipliers: str = "α_i for the margin and η_i for ξ_i ≥ 0", first: str = ""
) -> Step:
    """Build the step of the Lagrangian: every constraint with its multiplier.

    multipliers, first: The multipliers in words; or the whole first sentence of the text, which names them.
    """
    first = first or f"Every constraint gets a multiplier, the cost of a unit of violation: {multipliers}."
    names = [reindex(rows.alpha).latex() for rows in machine.rows]
    names += [reindex(rows.eta).latex() for rows in machine.rows if rows.eta is not None]
    names += [r"\pi"] if machine.constraint_terms else []
    L = machine.build_lagrangian()
    lines = (
        display(L, "L&=", rf",\qquad {','.join(names)}\ge 0"),
        build_value_line(L.with_name("L"), "=", machine.objective.with_name("the primal's value")),
    )
    return step(
        "Lagrangian",
        f"{first} At the solution the products vanish, so L equals the primal value.",
        Equation("aligned", lines),
    )


def _build_constraint_line(machine: Formulas) -> EquationLine:
    """Build the line of the linear constraints in the primal."""
    assert machine.constraint_terms is not None
    return line(
        machine.constraint_terms.lhs, "≤", machine.constraint_terms.bound, scale="user_lhs_scale", place="constraint"
    )
