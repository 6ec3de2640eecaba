"""Build the last steps of every machine: the saddle of L, and multipliers as derivatives of the optimum.

    (SADDLE.1)  saddle:  L(w, b, ξ, α') ≤ L(w, b, ξ, α) ≤ L(w', b', ξ, α) at the optimum, for all multipliers α' ≥ 0
                and all w', b'
    (PRICE.1)  the derivative with respect to C_i is the factor of C_i in P, ∂P*/∂C_i = ∂P/∂C_i, such as ξ_i:
               (P*(C_i + Δ) − P)/Δ ≤ ∂P/∂C_i ≤ (P − P*(C_i − Δ))/Δ
    (PRICE.2)  the derivative with respect to h_j is minus its multiplier, ∂P*/∂h_j = −π_j:
               (D − P*(h_j + Δ))/Δ ≤ π_j ≤ (P*(h_j − Δ) − D)/Δ

P is linear in C_i, and D in h_j. So the inequalities hold at every feasible point, and at the optimum the two quotients
enclose the derivative. The perturbed problems are solved, and P* is replaced by the certified bound that preserves the
inequality.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
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
#: How both sensitivity steps are measured.
MEASUREMENT = "It is measured for the largest multiplier, by two more solves."


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


def build_saddle_step(L: Term, letters: list[str], other_multipliers: tuple[EquationLine, ...], rows: str = "") -> Step:
    """Build the saddle of L: with other multipliers, at the solution, and with half of all weights.

    letters: LaTeX of the weights; "" entries are skipped.
    other_multipliers: Lines that define the other multipliers.
    rows: LaTeX of the multipliers of linear constraints, after a comma; "" without constraints.
    """
    names = [name for name in letters if name]
    weights = ",".join(names)
    half_weights = ",".join(rf"\tfrac12 {name}" for name in names)

    def evaluate_lagrangian(latex: str, python: str, move: Callable[[Any], Any]) -> Term:
        text = latex_to_text(latex.replace(r"\tfrac12 ", "½").replace(r"\bar\alpha", "α'"))
        return letter(latex, lambda at: L.value(move(at)), python, text)

    points = (
        evaluate_lagrangian(
            rf"L({weights},\bar\alpha{rows})", "L_of_other_multipliers", lambda at: at.complement_multipliers()
        ),
        evaluate_lagrangian(rf"L({weights},\alpha{rows})", "L_of_the_solution", lambda at: at),
        evaluate_lagrangian(rf"L({half_weights},\alpha{rows})", "L_of_half_the_weights", lambda at: at.halve_weights()),
    )
    chain = line(points[0], "≤", points[1], "≤", points[2], scale="objective_scale",
                 caption=lambda at: f"≤ {points[2].value(at):.6g}: L at three points")  # fmt: skip
    saddle = step(
        "Saddle",
        "Other multipliers, here the bound minus α, or the largest α minus α without a bound, do not increase L at "
        "the weights of the solution. Other weights, here half of each, do not decrease L at its multipliers. So the "
        "maximum over multipliers of the minimum over weights equals the minimum of the maximum.",
        Equation("below", (chain, *other_multipliers)),
    )
    return replace(saddle, tag="SADDLE.1")


# --- multipliers as derivatives ---------------------------------------------------------------------------------------


def perturb_problem(problem: Problem, name: str, k: int, change: float) -> Problem:
    """Return the problem with C_i of active row k, or the bound h_k of linear constraint k, increased by `change`.

    name: "C" or "h".
    """
    if name == "C":
        C: FloatArray = np.full(problem.n, getattr(problem, "C"))  # noqa: B009
        row = problem.active_rows[k]
        C[row] += change / problem.sample_weight[row]
        return problem.replace(C=C)
    perturbed: Problem = copy_without_cache(problem)
    perturbed.__dict__["constraints"] = tuple(map(copy, problem.constraints))
    for constraint in perturbed.constraints:
        h = constraint.h
        vars(constraint)["h"] = np.where(np.arange(len(h)) == k, h + change, h)
        k -= len(h)  # the position among the bounds of the next constraint
    return perturbed


def compute_perturbation(at: At, name: str, k: int) -> float:
    """Return Δ: `RELATIVE_CHANGE` times C_i of active row k, or times the largest bound |h_l|."""
    if name == "C":
        row = at.problem.active_rows[k]
        C = np.full(at.problem.n, at.problem.C)
        return RELATIVE_CHANGE * float(C[row] * at.problem.sample_weight[row])
    largest = max(float(np.abs(constraint.h).max()) for constraint in at.problem.constraints)
    return RELATIVE_CHANGE * (largest or 1.0)


def solve_perturbed(at: At, name: str, k: int, sign: int) -> tuple[float, float]:
    """Solve the perturbed problem, and return D and P: a lower and an upper bound of its optimum."""
    cache: dict[Any, tuple[float, float]] = at.__dict__.setdefault("perturbed_optima", {})
    if (name, k, sign) not in cache:
        result = solve(perturb_problem(at.problem, name, k, sign * compute_perturbation(at, name, k)), check=False)
        cache[name, k, sign] = float(result.dual), float(result.primal)
    return cache[name, k, sign]


@dataclass(frozen=True)
class SensitivityEnclosure:
    """The largest derivative of the optimum with respect to C_i or h_j, enclosed by two difference quotients.

    name: "C" or "h".
    multipliers: ∂P/∂C_i for each C_i, or π_j for each h_j.
    value: P for C_i, D for h_j.
    """

    name: str
    multipliers: Term
    value: Term

    @property
    def slope(self) -> int:
        """Derivative of the optimum per unit of the multiplier: 1 for C, −1 for h."""
        return 1 if self.name == "C" else -1

    def build_equation(self) -> Equation:
        """Build the enclosure of the largest multiplier."""
        largest = operation(
            "%s", "%s", "max(%s)", lambda at, values: float(values[self._find_largest(at)]), self.multipliers
        )
        lower = self._build_quotient(1)
        upper = self._build_quotient(-1)

        def write_caption(at: Any) -> str:
            k = self._find_largest(at)
            if self.name == "C":
                owner = at.name_sample(k)
            else:
                owner = repr(at.constraint_rows.names[k])
            return f"≤ {upper.value(at):.6g}, of {owner}"

        def compute_scale(at: At) -> float:
            """Return the multiplier, or the objective per unit of C_i or h_j if that is larger."""
            change = compute_perturbation(at, self.name, self._find_largest(at))
            return max(float(largest.value(at)), RELATIVE_CHANGE * at.objective_scale / change)

        chain = line(lower, "≤", largest, "≤", upper, caption=write_caption, scale=compute_scale)
        if self.name == "C":
            definition = r"\Delta=\tfrac{C_i}{100}"
        else:
            definition = r"\Delta=\tfrac{\max_l|h_l|}{100}"
        return Equation("below", (chain, definition), explain_skipped_solves)

    def _find_largest(self, at: At) -> int:
        """Return the index of the largest multiplier."""
        return int(np.argmax(self.multipliers.value(at)))

    def _build_quotient(self, sign: int) -> Term:
        """Build the difference quotient for one sign of Δ."""
        index = "i" if self.name == "C" else "j"
        perturbed = rf"P^*({self.name}_{index}{'+' if sign > 0 else '-'}\Delta)"
        unperturbed = self.value.latex()
        is_increase = sign * self.slope > 0
        if is_increase:
            first, last = perturbed, unperturbed
        else:
            first, last = unperturbed, perturbed
        latex = rf"\tfrac{{{first}-{last}}}{{\Delta}}"
        name = "difference_above" if sign > 0 else "difference_below"
        return letter(latex, lambda at: self._compute_quotient(at, sign), name, "a difference of optima")

    def _compute_quotient(self, at: At, sign: int) -> float:
        """Compute a difference quotient, with P* replaced by the bound that preserves the inequality."""
        k = self._find_largest(at)
        lower_bound, upper_bound = solve_perturbed(at, self.name, k, sign)
        change = (lower_bound if self.name == "C" else upper_bound) - self.value.value(at)
        return float(sign * self.slope * change / compute_perturbation(at, self.name, k))


def explain_skipped_solves(at: At) -> str:
    """Explain why the perturbed problems are not solved, or return ""."""
    if at.svm.m <= MAX_SOLVED_ROWS:
        return ""
    return f"it takes two more solves, which are limited to {MAX_SOLVED_ROWS} rows"


def build_penalty_sensitivity(penalty_derivative: Term, objective: Term) -> Step:
    """Build the step about the derivative of the optimum with respect to C_i, from ∂P/∂C_i and P."""
    sensitivity = step(
        "Sensitivity to C",
        "The derivative of the optimum P* with respect to C_i is the factor of C_i in P, by the envelope theorem: P is "
        "stationary in all other variables. " + MEASUREMENT,
        SensitivityEnclosure("C", penalty_derivative, objective.with_name("P", "P")).build_equation(),
    )
    return replace(sensitivity, tag="PRICE.1")


def build_bound_sensitivity(multiplier: Term, dual: Term) -> Step:
    """Build the step about the derivative of the optimum with respect to h_j, from π_j and D."""
    sensitivity = step(
        "Sensitivity to h",
        "The derivative of the optimum P* with respect to a bound h_j is minus its multiplier. " + MEASUREMENT,
        SensitivityEnclosure("h", multiplier, dual.with_name("D", "D")).build_equation(),
    )
    return replace(sensitivity, tag="PRICE.2")
