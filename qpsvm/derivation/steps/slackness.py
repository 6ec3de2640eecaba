"""Build the steps about signs: the box of α, complementary slackness, and the kinds of samples that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.bounds.certificate import sum_gap_terms
from qpsvm.bounds.repair import clip_to_box
from qpsvm.derivation.expressions import Equation, EquationLine, join_lines, line
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, build_value_line, case, describe_costliest, step
from qpsvm.derivation.term_builders import add, magnitude, reindex, total
from qpsvm.derivation.terms import Term
from qpsvm.machines.problem import certifier


def build_box_step(machine: Formulas, text: str = "") -> Step:
    """Build the step of the box; without an upper bound, of α ≥ 0 alone."""
    has_upper_bound = any(rows.eta is not None for rows in machine.rows)
    text = text or "Multipliers of inequalities are not negative. " + (
        "With η expressed by α, its sign becomes the upper bound of α: the box of the dual."
        if has_upper_bound
        else "The slack is squared and has no multiplier η, so that nothing bounds α above."
    )
    multipliers = [rows.alpha for rows in machine.rows] + [rows.eta for rows in machine.rows if rows.eta is not None]
    signs = ",".join(reindex(multiplier, "_" + machine.row).latex() for multiplier in multipliers) + r"\ge 0"
    signs = r"\pi_j\ge 0,\quad " * bool(machine.constraint_terms) + signs
    boxes = join_lines("", *(replace(rows.box, shown=has_upper_bound) for rows in machine.rows), separator=r",\ ")
    lines: tuple[EquationLine | str, ...] = (
        signs + (r"\quad\Longrightarrow\quad " if has_upper_bound else ""),
        *boxes,
        sym.ALPHA_ZERO_WITHOUT_WEIGHT,
        *([replace(sym.MULTIPLIERS_NONNEGATIVE, shown=False)] if machine.constraint_terms else []),
    )
    return step("Dual feasibility", text, Equation("alone", lines), clip_to_box, general="REPAIR.1")


def build_slackness_step(machine: Formulas, text: str = "", function: Callable[..., Any] = sum_gap_terms) -> Step:
    """Build the step: if a constraint has slack, its multiplier is zero."""
    lines: list[EquationLine] = []
    if machine.constraint_terms is not None:
        constraint_product = sym.MULTIPLIER * machine.constraint_terms.bound_slack
        lines += [
            line(
                total(magnitude(constraint_product), "j"), "=", 0,
                scale="objective_scale", shown=False, caption=describe_costliest,
            ),
            line(constraint_product, "=", 0, measured=False),
        ]  # fmt: skip
    for rows in machine.rows:
        if rows.slack_product is None:
            products = [rows.product]
        else:
            products = [rows.product, rows.slack_product]
        lines += join_lines("", *(line(product, "=", 0, measured=False) for product in products))
    lines.append(_build_products_line(machine))
    return step(
        "Complementary slackness",
        text
        or "Either a constraint holds with equality or its multiplier is zero. The library adds these products "
        "up, sample by sample: their sum is the duality gap.",
        Equation("below", tuple(lines)),
        function,
        general="CERT.1",
    )


def build_kinds_step(machine: Formulas, *cases: EquationLine, text: str = "") -> Step:
    """Build the step about the position of a sample, given its α.

    cases: One per kind of sample; by default α = 0, 0 < α < C and α = C.
    text: How the first sentence continues.
    """
    rows = machine.rows[0]
    value = machine.compared_value
    level = machine.level
    alpha = rows.alpha
    upper = rows.upper
    if not cases:
        assert upper is not None
        cases = (
            case(sym.AT_ZERO, (alpha, "=", 0), (value, "≥", level)),
            case(sym.FREE, (0, "<", alpha, "<", upper), (value, "=", level)),
            case(sym.AT_BOUND, (alpha, "=", upper), (value, "≤", level)),
        )
    count = "two" if len(cases) == 2 else "three"
    return step(
        f"{count.capitalize()} kinds of samples",
        f"Complementary slackness leaves {count} cases{text or '.'} The library tells them apart by comparing the "
        "slack with its multiplier, not by a cut like 1e-5.",
        Equation("aligned", cases),
        certifier.classify_by_bounds,
        general="DUAL.8",
    )


def _build_products_line(machine: Formulas) -> EquationLine:
    """Build the line of all products, summed by absolute value."""
    products_sum = machine.scale_to_objective(
        add(*(total(magnitude(product), machine.row) for product in _list_products(machine)))
    )
    products_sum = products_sum.with_name("all products, added up by size")
    return build_value_line(products_sum, "=", 0, caption=lambda at: _describe_products(machine, at))


def _list_products(machine: Formulas) -> list[Term]:
    """List the products that are 0 at an optimum, of every row."""
    return [
        *(rows.product for rows in machine.rows),
        *(rows.slack_product for rows in machine.rows if rows.slack_product is not None),
    ]


def _describe_products(machine: Formulas, at: Any) -> str:
    """Describe the sum of all products, and the factors of that of a sample with 0 < α < C."""
    text = "all products, added up by size, and 0"
    free_rows = np.flatnonzero(sym.is_free(at))
    if not len(free_rows):
        return text
    row = int(free_rows[0])
    rows = machine.rows[row // (at.svm.m // len(machine.rows))]  # the side of f that the row is on
    alpha, slack = (np.asarray(factor.value(at)) for factor in rows.product.parts)
    k = row % len(alpha)
    return f"{text}; that of {at.name_row(row)} is {alpha[k]:.4g} · {slack[k]:.1e}"
