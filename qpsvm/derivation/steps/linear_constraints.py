"""Build the steps of a machine with linear constraints, (OWN.1) to (OWN.13).

What constraints add is the same in every machine: a term of the Lagrangian, a part of w, a part of the balance, a block
of multipliers. So these steps are those of `shared`, of which the terms are `ConstraintTerms`. The machine's own steps
are those of the same problem without them, because their w is not the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import Equation, EquationLine, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.argument import MAX_NAMED, collect_bounds, find_unit, number_steps, step
from qpsvm.derivation.steps.shared import Argument
from qpsvm.derivation.symbols import Meaning
from qpsvm.machines import SVDD, Constraints, OneClass, Problem, ValueConstraints
from qpsvm.machines.problem.forms import add_constraints_to_primal, build_constrained_qp
from qpsvm.machines.problem.linear_constraints import ConstraintRows, build_textbook_rows
from qpsvm.machines.problem.reading import build_constraint_table


def build_meanings(problem: Problem) -> dict[str, Meaning]:
    """Build the meanings of the letters of the constraints; p is their number."""
    return {
        r"\pi": Meaning("multipliers of the constraints, their prices", "(p,)"),
        "g": Meaning("g_j, what constraint j multiplies w by", "(d,)"),
        "G": Meaning("all g_j, one per row", "(p, d)"),
        "h": Meaning("bounds of the constraints", "(p,)"),
        "d" if isinstance(problem, SVDD) else "c": Meaning("factor of the intercept in each constraint", "(p,)"),
        "A": Meaning("factors of the values of f in each constraint", "(p, q)"),
        "Z": Meaning("the points at which f is constrained", "(q, d)"),
        "z": Meaning("one of these points", "(d,)"),
    }


def compute_lhs(at: Any) -> FloatArray:
    """Return the left-hand sides in the user's units, (p,)."""
    return np.asarray(collect_bounds(at) + find_unit(at) * (at.lhs - at.rows.h))


def read_claimed_lhs(at: Any) -> FloatArray:
    """Return the left-hand sides that the result claims: (p,)."""
    table = at.result.constraints
    assert table is not None
    return np.asarray(collect_bounds(at) + (table["value"] - table["bound"]))


def steps(problem: Problem, own: Argument) -> tuple[Step, ...]:
    """Return all steps, in order."""
    users = own.constraint_terms
    assert users is not None
    machine, count = problem._dual_tag.split(".")[0], users.count
    alone = (
        f"These steps are added by linear constraints. The machine's own steps, ({machine}.1) and so on, are those of "
        f"the same problem without constraints. {explain_letters(problem)}"
    )
    linear, values = (any(isinstance(item, kind) for item in problem.constraints)
                      for kind in (Constraints, ValueConstraints))  # fmt: skip
    by_row = users.row.python()
    python = "A @ f(Z)" if users.lacks_diagonal else by_row
    left = letter(r"2Gc+2\mu d" if users.is_ball else "Gw+cb" if count else "Gw", compute_lhs, python, "the left side")
    there: dict[str, Any] = {"scale": "row_sizes_of_user", "place": "constraint"}
    rows = line(left, "≤", letter("h", collect_bounds, "bound", "its bound"), **there)
    claimed = letter("", read_claimed_lhs, "result.constraints['value']", "what the result says it is")
    kept = (replace(rows, shown=False), line(left, "=", claimed, shown=False, **there))
    by_sums = letter(
        "",
        lambda at: find_unit(at) * at.lhs_of_alpha,
        by_row.replace(f"@ {own.w}", f"@ {own.w}_of_alpha"),
        "that by the two sums",
    )
    flat_rows = line(letter("", lambda at: find_unit(at) * at.lhs, by_row, "the left side"), "=", by_sums, shown=False,
                     **there)  # fmt: skip
    price = "b has a price of its own, so the derivative gives b itself." if own.penalised else (
        "What was the balance of the samples alone is one of samples and prices.")  # fmt: skip
    of_b = own.stationarity_in_b() if own.b == "b" else own.stationarity_in()
    found = (
        step(
            "Rows over w",
            f"{alone}Each row is an inequality that the weights and b have to keep: "
            f"{_describe_rows(problem, Constraints)}.",
            Equation("alone", (rows, kept[1])),
            build_textbook_rows,
            "" if linear else "all rows are over values of f, (OWN.2)",
        ),
        step(
            "Rows over values of f",
            f"{'' if linear else alone}Each row is an inequality between values of f at points z: "
            f"{_describe_rows(problem, ValueConstraints)}. As f is linear in w and b, that is a row over w "
            "too, of g = Σ A φ(z) and c = Σ A"
            + (", whose bound is h and the K(z, z) that f lacks." if users.lacks_diagonal else "."),
            Equation(
                "below",
                (
                    r"Af(Z)\le h",
                    r"g_j=\sum_l A_{jl}\,\varphi(z_l)" + (rf",\quad {count.latex()}=\sum_l A_{{jl}}" if count else ""),
                    *kept,
                ),
            ),
            build_textbook_rows,
            "" if values else "all rows are over w, (OWN.1)",
        ),
        extend_step(
            own.primal(
                "The objective and the constraints of the machine stay as they are, and the rows stand beside them. No "
                "slack is allowed in a row."
            ),
            add_constraints_to_primal,
            *kept,
        ),
        own.lagrangian_step(
            first="Every row gets a multiplier π_j, the price of a unit of its bound, beside those of the machine."
        ),
        extend_step(
            own.stationarity_in_w("a row with a price pulls at it as a sample does, against its own direction g"),
            None,
            flat_rows,
        ),
        replace(
            of_b,
            text=f"{own.b} stands in the rows too, with the factors {count and count.text()}. {price}",
            function=ConstraintRows.extend_dual,
            absent="" if count else "there is no b",
        ),
        own.dual_feasibility(
            "Multipliers of inequalities are not negative. A row must not be broken, so nothing bounds its price."
        ),
        own.complementary_slackness(
            "Either a row holds with equality or its price is zero. A price says how fast the optimum falls with its "
            "bound: h more by a little t, the optimum less by πt. The machine's own products are as without rows.",
            build_constraint_table,
        ),
        own.substitution(
            "what b and ξ added cancels as without rows, and of the rows what their bounds cost is left "
            "beside the square",
            "what ξ gave",
        ),
        extend_step(
            own.dual("each row is one more sample, of sign −1 and level −h, whose price has no upper bound"),
            build_constrained_qp,
        ),
        own.weights_recovered(),
        own.strong_duality("samples and rows"),
        own.weak_duality(),
    )
    return number_steps("OWN", *(replace(each, tag="") for each in found), *own.sensitivity())


def extend_step(own: Step, function: Callable[..., Any] | None, *lines: EquationLine) -> Step:
    """Extend a step of the machine by lines, or by another function that states it."""
    assert isinstance(own.measure, Equation)
    measure = replace(own.measure, lines=(*own.measure.lines, *lines))
    return replace(own, measure=measure, function=function or own.function)


def explain_letters(problem: Problem) -> str:
    """Explain the letters of the constraints where a machine uses them differently."""
    if isinstance(problem, SVDD):
        return "f(x) = R² − ‖φ(x) − c‖² is ⟨w, φ(x)⟩ + b − K(x, x) with w = 2c and b = 2μ; b counts d_j in a row. "
    return "b stands for −ρ here. " if isinstance(problem, OneClass) else ""


def _describe_rows(problem: Problem, kind: type) -> str:
    """Describe the first rows of a kind, each with its name and bound."""
    names, bounds = problem._textbook_constraint_rows.names, [item.h for item in problem.constraints]
    mine = np.concatenate([np.full(len(item.h), isinstance(item, kind)) for item in problem.constraints])
    places, h = np.flatnonzero(mine), np.concatenate(bounds)
    described = [f"{names[j]!r} with the bound {h[j]:.6g}" for j in places[:MAX_NAMED]]
    return ", ".join(described) + (f", and {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else "")
