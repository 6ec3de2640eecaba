"""Build the last steps of every machine: the saddle of L, and multipliers as derivatives of the optimum.

    (SADDLE.1)  saddle:  L(w, b, ξ, α') ≤ L(w, b, ξ, α) ≤ L(w', b', ξ, α) at the optimum, for all multipliers α' ≥ 0
                and all w', b'
    (PRICE.1)  the derivative by C_i is the factor of C_i, ∂P*/∂C_i = ∂P/∂C_i, such as ξ_i:
               (P*(C_i + Δ) − P)/Δ ≤ ∂P/∂C_i ≤ (P − P*(C_i − Δ))/Δ
    (PRICE.2)  the derivative by h_j is minus its multiplier, ∂P*/∂h_j = −π_j:
               (D − P*(h_j + Δ))/Δ ≤ π_j ≤ (P*(h_j − Δ) − D)/Δ

P is linear in C_i and D in h_j. So both differences enclose the term between them at every feasible point, and at the
optimum they enclose the derivative. The perturbed problems are solved, and P* is replaced by the certified bound with
which the inequality remains true.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.frozen import copy_without_cache
from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import Equation, EquationLine, display, line
from qpsvm.derivation.letter_builder import latex_to_text, letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.formulas import Formulas, step
from qpsvm.derivation.term_builders import operation, reindex
from qpsvm.derivation.terms import Term
from qpsvm.machines import Problem
from qpsvm.solve.call import solve

#: Relative change of C_i or h_j.
RELATIVE_CHANGE = 0.01
#: Largest number of rows for which the perturbed problems are solved.
MAX_SOLVED_ROWS = 1000


def halve_weights(at: Any) -> Any:
    """Return the point with half of all weights, and what depends on them."""
    return at.halve_weights()


def complement_multipliers(at: Any) -> Any:
    """Return the point with C − α in place of α, or the largest α less α if C is infinite."""
    return at.complement_multipliers()


def build_machine_saddle(machine: Formulas) -> Step:
    """Build the step about the saddle of a machine's Lagrangian, from its `Formulas`."""
    alphas = [reindex(rows.alpha, "_l").latex() for rows in machine.rows]
    alpha_l = alphas[0] if len(alphas) == 1 else rf"\max({','.join(alphas)})"
    largest = letter(rf"\max_l {alpha_l}", "max_alpha", "alpha.max()")
    other_multipliers = tuple(
        display((rows.upper or largest) - rows.alpha, rows.alpha.latex().replace(r"\alpha", r"\bar\alpha") + "=")
        for rows in machine.rows
    )
    letters = [machine.w, {"μ": r"\mu", "ρ": r"\rho"}.get(machine.b, "b" if machine.intercept else "")]
    rows = r",\pi" if machine.constraint_terms else ""
    return build_saddle_step(machine.build_lagrangian(eta=False), letters, other_multipliers, rows)


def build_saddle_step(L: Term, letters: list[str], other: tuple[EquationLine, ...], rows: str = "") -> Step:
    """Build the saddle of L: with other multipliers, at the solution, and with half of all weights.

    letters: LaTeX of the weights; "" entries are skipped.
    other: Lines that define the other multipliers.
    rows: LaTeX of the multipliers of linear constraints, after a comma; "" without constraints.
    """
    weights, half_weights = (",".join(front + name for name in letters if name) for front in ("", r"\tfrac12 "))

    def value(latex: str, name: str, at: Callable[[Any], Any]) -> Term:
        text = latex_to_text(latex.replace(r"\tfrac12 ", "½").replace(r"\bar\alpha", "α'"))
        return letter(latex, lambda point: L.value(at(point)), name, text)

    points = (
        value(rf"L({weights},\bar\alpha{rows})", "L_of_other_multipliers", complement_multipliers),
        value(rf"L({weights},\alpha{rows})", "L_of_the_solution", lambda at: at),
        value(rf"L({half_weights},\alpha{rows})", "L_of_half_the_weights", halve_weights),
    )
    chain = line(points[0], "≤", points[1], "≤", points[2], scale="objective_scale",
                 caption=lambda at: f"≤ {points[2].value(at):.6g}: L at three points")  # fmt: skip
    saddle = step(
        "Saddle",
        "Other multipliers, here the bound minus α, or the largest α minus α without a bound, do not increase L at "
        "the weights of the solution. Other weights, here half of each, do not decrease L at its multipliers. So the "
        "maximum over multipliers of the minimum over weights equals the minimum of the maximum.",
        Equation("below", (chain, *other)),
    )  # fmt: skip
    return replace(saddle, tag="SADDLE.1")


# --- multipliers as derivatives ---------------------------------------------------------------------------------------


def perturb_problem(problem: Problem, name: str, k: int, change: float) -> Problem:
    """Return the problem with C_i of active row k, or the bound h_k of linear constraint k, increased by a number.

    name: "C" or "h".
    """
    if name == "C":
        C: FloatArray = np.full(problem.n, getattr(problem, "C"))  # noqa: B009
        C[problem.active_rows[k]] += change / problem.sample_weight[problem.active_rows[k]]
        return problem.replace(C=C)
    perturbed: Problem = copy_without_cache(problem)
    perturbed.__dict__["constraints"] = tuple(map(copy, problem.constraints))
    for item in perturbed.constraints:
        vars(item)["h"] = np.where(np.arange(len(item.h)) == k, item.h + change, item.h)
        k -= len(item.h)
    return perturbed


def compute_perturbation(at: At, name: str, k: int) -> float:
    """Return Δ: `RELATIVE_CHANGE` times C_i of active row k, or times the largest bound |h_l|."""
    if name == "C":
        rows = at.problem.active_rows[k]
        return RELATIVE_CHANGE * float(np.full(at.problem.n, at.problem.C)[rows] * at.problem.sample_weight[rows])
    return RELATIVE_CHANGE * (max(float(np.abs(item.h).max()) for item in at.problem.constraints) or 1.0)


def solve_perturbed(at: At, name: str, k: int, sign: int) -> tuple[float, float]:
    """Solve the perturbed problem, and return D and P: a lower and an upper bound of its optimum."""
    cache: dict[Any, tuple[float, float]] = at.__dict__.setdefault("changed_optima", {})
    if (name, k, sign) not in cache:
        result = solve(perturb_problem(at.problem, name, k, sign * compute_perturbation(at, name, k)), check=False)
        cache[name, k, sign] = float(result.dual), float(result.primal)
    return cache[name, k, sign]


def build_sensitivity_step(title: str, tag: str, text: str, name: str, multipliers: Term, value: Term) -> Step:
    """Build the step that encloses the largest derivative, with respect to C_i or h_j, between two differences.

    name: "C" or "h".
    multipliers: ∂P/∂C_i for each C_i, or π_j for each h_j.
    value: P for C_i, D for h_j.
    """
    index, slope_sign = ("i", 1) if name == "C" else ("j", -1)

    def find_largest(at: At) -> int:
        return int(np.argmax(multipliers.value(at)))

    def difference(sign: int) -> Term:
        """Build (P* − P)/Δ for one sign of Δ, with P* replaced by the bound that preserves the inequality."""

        def find(at: At) -> float:
            k = find_largest(at)
            lower_bound, upper_bound = solve_perturbed(at, name, k, sign)
            change = (lower_bound if name == "C" else upper_bound) - value.value(at)
            return float(sign * slope_sign * change / compute_perturbation(at, name, k))

        perturbed = rf"P^*({name}_{index}{'+' if sign > 0 else '-'}\Delta)"
        unperturbed = value.latex()
        first, last = (perturbed, unperturbed) if sign * slope_sign > 0 else (unperturbed, perturbed)
        latex = rf"\tfrac{{{first}-{last}}}{{\Delta}}"
        return letter(latex, find, "difference_" + ("above" if sign > 0 else "below"), "a difference of optima")

    def describe(at: Any) -> str:
        where = at.name_sample(find_largest(at)) if name == "C" else repr(at.constraint_rows.names[find_largest(at)])
        return f"≤ {sides[2].value(at):.6g}, of {where}"

    def size(at: At) -> float:
        """Return the scale: the objective per unit of C_i, or h_j, relative to which it is rounded."""
        return max(
            float(largest_multiplier.value(at)),
            RELATIVE_CHANGE * at.objective_scale / compute_perturbation(at, name, find_largest(at)),
        )

    largest_multiplier = operation(
        "%s", "%s", "max(%s)", lambda at, values: float(values[find_largest(at)]), multipliers
    )
    sides = (difference(1), largest_multiplier, difference(-1))
    chain = line(sides[0], "≤", largest_multiplier, "≤", sides[2], caption=describe, scale=size)
    text += " It is measured for the largest multiplier, by two more solves."
    share = r"\Delta=\tfrac{C_i}{100}" if name == "C" else r"\Delta=\tfrac{\max_l|h_l|}{100}"
    return replace(step(title, text, Equation("below", (chain, share), explain_skipped_solves)), tag=tag)


def explain_skipped_solves(at: At) -> str:
    """Explain why the perturbed problems are not solved, or return ""."""
    if at.svm.m <= MAX_SOLVED_ROWS:
        return ""
    return f"it takes two more solves, which are limited to {MAX_SOLVED_ROWS} rows"


def build_penalty_sensitivity(penalty_derivative: Term, objective: Term) -> Step:
    """Build the step about the derivative of the optimum with respect to C_i, from ∂P/∂C_i and P."""
    return build_sensitivity_step(
        "Sensitivity to C", "PRICE.1",
        "The derivative of the optimum P* with respect to C_i is the factor of C_i in P, by the envelope theorem: P is "
        "stationary in all other variables.",
        "C", penalty_derivative, objective.with_name("P", "P"),
    )  # fmt: skip


def build_bound_sensitivity(multiplier: Term, dual: Term) -> Step:
    """Build the step about the derivative of the optimum with respect to h_j, from π_j and D."""
    return build_sensitivity_step(
        "Sensitivity to h", "PRICE.2",
        "The derivative of the optimum P* with respect to a bound h_j is minus its multiplier.",
        "h", multiplier, dual.with_name("D", "D"),
    )  # fmt: skip
