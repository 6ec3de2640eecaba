"""Measures and steps of the regressions, which have two rows a sample: above f with α⁺ and ξ, below it with α⁻ and ξ*.

Half of each vector over the rows of the dual, (2n,), belongs to either side.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import as_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import certify, levels
from qpsvm.derivation import intercept, measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared
from qpsvm.derivation.terms import Terms
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameters import taking_prices

At = Letters[Any]

#: The coefficient of a sample in f.
BETA = r"\beta_i"
#: The sums that stand in several steps.
ABOVE = r"\sum_i\alpha^+_i\bigl({width}\xi_i-t_i+f(x_i)\bigr)"
BELOW = r"\sum_i\alpha^-_i\bigl({width}\xi^*_i+t_i-f(x_i)\bigr)"
ETAS = r"\sum_i(\eta_i\xi_i+\eta^*_i\xi^*_i)"
#: LaTeX of what is 0 of a free b.
SURPLUS = r"1^{\top}\beta"
#: Share of the spread of the targets by which a sample may be off an edge, and still be on it: rounding.
ROUNDING = 1e-9


def halves(vector: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What belongs to the rows above f and to those below it: (n,) each, of (2n,)."""
    n = len(vector) // 2
    return vector[:n], vector[n:]


def targets(at: At) -> FloatArray:
    """t of the samples that take part: (n,)."""
    t: FloatArray = at.problem.labels
    return t


def width(at: At) -> float:
    """ε at the point: what f may miss a target by."""
    fixed: float = at.multipliers.get("epsilon", getattr(at.problem, "epsilon", 0.0))
    return fixed


def prices(at: At) -> FloatArray:
    """C_i of the samples that take part: (n,)."""
    return as_floats(taking_prices(at.problem.C, at.problem.samples))


# --- measures ---------------------------------------------------------------------------------------------------------


def penalty(at: At, f: FloatArray, xi: FloatArray) -> float:
    """What L takes off at f (n,) and slacks (2n,): the sums of α⁺(ε + ξ − t + f) and α⁻(ε + ξ* + t − f)."""
    t, epsilon, (above, below), (short, over) = targets(at), width(at), halves(at.alpha), halves(xi)
    return float(above @ (epsilon + short - t + f) + below @ (epsilon + over + t - f))


def primal(at: At) -> tuple[Sides, ...]:
    """½‖w‖² and the price of ξ and ξ* have the value claimed; t − f ≤ ε + ξ, f − t ≤ ε + ξ*, and ξ, ξ* ≥ 0."""
    value = float(at.half_norm + at.cost(at.xi) + at.levels_cost)  # (ESVR.2), (NUSVR.2), (QSVR.2)
    t, epsilon, (short, over), scale = targets(at), width(at), halves(at.xi), at.level
    return (
        Sides(value, "=", at.result.primal, "the primal's value at w, b, ξ and ξ*, and the value claimed", at.size),
        worst(t - at.values, "≤", epsilon + short, "t − f of {i}, and ε + ξ", scale, at.say.sample),
        worst(at.values - t, "≤", epsilon + over, "f − t of {i}, and ε + ξ*", scale, at.say.sample),
        worst(at.xi, "≥", 0.0, "ξ of {i}, and 0", scale, at.say.row),
    )


def lagrangian(at: At) -> Sides:
    """At the solution all penalties vanish: L = P."""
    value = float(at.half_norm + at.cost(at.xi) + at.levels_cost)
    L = value - penalty(at, at.values, at.xi) - at.penalties  # (ESVR.3), (NUSVR.3), (QSVR.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def substitution(at: At) -> Sides:
    """L at w(α) = Σ β_i φ(x_i) is the dual's value at α, whatever b, ε, ξ and ξ* are."""
    slack = at.svm.curvature * at.alpha + at.zeta  # where it is squared, ξ as α gives it
    price = 0.5 * float(at.svm.curvature @ at.alpha**2) + float(at.linear_price @ at.zeta)
    value = at.half_norm_of_alpha + price + at.levels_cost
    L = value - penalty(at, at.u + at.b, slack) - at.penalties  # (ESVR.9), (NUSVR.10), (QSVR.9)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)


def strong_duality(at: At) -> Sides:
    """½‖w‖² and the price of what f misses its targets by are the value of the dual."""
    missed, epsilon = targets(at) - at.values, width(at)
    slack = np.maximum(np.concatenate([missed, -missed]) - epsilon, 0.0)
    P = float(at.half_norm + at.cost(slack) + at.levels_cost)  # (ESVR.14), (NUSVR.15), (QSVR.14)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)


def intercept_recovered(at: At) -> Sides | tuple[Sides, ...]:
    """b is the mean of t ∓ (ε + δα) − u over the rows with 0 < α < U. Without any, b is in its interval."""
    reached = at.y * (at.margin - at.svm.curvature * at.alpha) - at.svm.at_rows(at.u)
    free = (at.alpha > 0) & (at.alpha < at.C) & (at.kind > 0)
    if at.svm.curved:
        free &= at.kind == 2
    else:
        free &= at.kind == 1
    if free.any():
        b = float(reached[free].mean())
        return Sides(at.b, "=", b, "b, and the mean of t − u over the samples on an edge, less or plus ε", at.level)
    low, high = at.result.b_interval
    return (
        Sides(at.b, "≥", low, "b, and the lower end of its interval (no sample is on an edge)", at.level),
        Sides(at.b, "≤", high, "b, and the upper end of its interval (no sample is on an edge)", at.level),
    )


# --- steps ------------------------------------------------------------------------------------------------------------


def lagrangian_latex(objective: str, width: str, penalised: bool = True) -> str:
    """L: the objective less what every constraint is worth; without η where ξ ≥ 0 needs no multiplier."""
    above, below = (each.replace("{width}", width) for each in (ABOVE, BELOW))
    etas = rf"\\ &-{ETAS},\qquad \alpha^\pm,\eta,\eta^*\ge 0" if penalised else r",\qquad \alpha^\pm\ge 0"
    return rf"\begin{{align*}}L={{}}&{objective}\\ &-{above}\\ &-{below}{etas}\end{{align*}}"


def stationarity_in_b(tag: str, problem: Problem) -> Step:
    """The Lagrangian is flat in b; a penalised b has a price of its own."""
    if problem.intercept == "penalised":
        return Step(
            tag, "Stationarity in b",
            "With ½b² in the objective, b has a price of its own. So the derivative gives b itself, instead of a "
            "balance between the two sides.",
            r"\frac{\partial L}{\partial b}=0\quad\Longrightarrow\quad b=\sum_i\beta_i",
            certify.penalised_multipliers, measures.penalised_intercept, general="CERT.2",
        )  # fmt: skip
    step = shared.stationarity_in_b(
        tag, r"\sum_i\alpha^+_i-\sum_i\alpha^-_i=1^{\top}\beta=0",
        "b enters the Lagrangian only through b·Σ β_i, which has no minimum over b unless the factor is zero. So the "
        "samples above f pull with the same total force as those below it.",
    )  # fmt: skip
    return step if problem.intercept == "free" else replace(step, absent=intercept.NO_INTERCEPT)


def intercept_step(tag: str, problem: Problem, latex: str, text: str) -> Step:
    """b from α, where it is free."""
    if problem.intercept == "penalised":
        return Step(
            tag, "Recovering b",
            "A penalised intercept is a weight like the others, and it is read off α in the same way.",
            r"b=\sum_i\beta_i", certify.penalised_multipliers, measures.penalised_intercept, general="CERT.2",
        )  # fmt: skip
    return Step(
        tag, "Recovering b", text, latex, levels.average, intercept_recovered,
        "" if problem.intercept == "free" else intercept.NO_INTERCEPT, general="LEVEL.5",
    )  # fmt: skip


def complementary_slackness(tag: str, width: str, prices: tuple[str, str] | None) -> Step:
    """Both rows of a sample; without prices the slack is squared, and has no multiplier."""
    rows = [
        rf"\alpha^+_i\bigl({width}\xi_i-t_i+f(x_i)\bigr)=0", rf"\alpha^-_i\bigl({width}\xi^*_i+t_i-f(x_i)\bigr)=0"
    ]  # fmt: skip
    if prices:
        rows += [rf"({prices[0]}-\alpha^+_i)\,\xi_i=0", rf"({prices[1]}-\alpha^-_i)\,\xi^*_i=0"]
    return shared.complementary_slackness(tag, "", latex=shared.lines(*rows))


def products(width: str, prices: tuple[str, str] | None) -> str:
    """LaTeX of what P − D is made of."""
    if prices is None:
        above = r"C_i\bigl(\xi_i-\tfrac{\alpha^+_i}{2C_i}\bigr)^2"
        below = r"C_i\bigl(\xi^*_i-\tfrac{\alpha^-_i}{2C_i}\bigr)^2"
    else:
        above, below = rf"({prices[0]}-\alpha^+_i)\,\xi_i", rf"({prices[1]}-\alpha^-_i)\,\xi^*_i"
    first = rf"\alpha^+_i\bigl({width}\xi_i-t_i+f(x_i)\bigr)"
    second = rf"\alpha^-_i\bigl({width}\xi^*_i+t_i-f(x_i)\bigr)"
    return rf"\tfrac12\|w-w(\alpha)\|^2+\sum_i\bigl[{above}+{first}\bigr]\\ &\quad+\sum_i\bigl[{below}+{second}\bigr]"


def linear_weights(tag: str, problem: Problem) -> Step:
    """w as a vector, where the kernel is linear."""
    b = Terms.of(problem).plus_b
    latex = shared.lines(r"w=\sum_i\beta_i x_i=X^{\top}\beta", rf"f(x)=w^{{\top}}x{b}")
    return shared.linear_weights(tag, problem, latex, "β_i")


def terms(problem: Problem) -> Terms:
    """What is there of b."""
    return Terms.of(problem, SURPLUS)


def weak_duality(tag: str, problem: Problem, width: str, prices: tuple[str, str] | None, point: str = "") -> Step:
    """D ≤ P; `point` is the LaTeX of what else stands in P behind w and b."""
    t = terms(problem)
    return shared.weak_duality(tag, rf"{t.over}{point},\xi,\xi^*", products(width, prices) + t.ridge, certify._measured)
