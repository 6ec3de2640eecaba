"""Steps that several machines share. They differ only in a few symbols, which are parameters here.

`upper` is the LaTeX of the upper bound of α_i (C_i, a_i, p_i/λ), `level` that of what is to be reached (1, ρ), `coef`
that of the coefficient of a sample in f, `yf` that of what reaches the level and `missing` that of yf − level. What a
two-class machine writes is taken where nothing is said.

Measures of machines with slack, whatever it costs: primal, Lagrangian, substitution and strong duality.

Values are in the units of the objective, unit·(½‖w‖² + Σ C_i ξ_i): the unit is λ of the primal hinge, 1 of the C-SVM.
`cost` and `levels_cost` have what else may stand there: a slack that is squared, −νρ. Where the loss is curved, ξ is
α_i times its curvature, and only what is beyond, ζ, has a linear price and a multiplier η.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qpsvm.bounds.certificate import gap_sums
from qpsvm.bounds.points import primal_points
from qpsvm.bounds.repair import boxed
from qpsvm.derivation import measures
from qpsvm.derivation.measures import feasible_primal
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Measure, Step
from qpsvm.derivation.terms import Terms
from qpsvm.machines import Problem
from qpsvm.machines.problem import judge
from qpsvm.program.svm_dual import intercept_group
from qpsvm.result.decision_functions import DecisionFunctions
from qpsvm.result.svm_result import kkt_table
from qpsvm.space.kernels.space import FeatureSpace

#: The coefficient of sample i in f, and what reaches the level, of a two-class machine.
COEF, YF = r"\alpha_i y_i", "y_i f(x_i)"


def lines(*equations: str) -> str:
    """LaTeX of equations below each other."""
    return r"\begin{align*}" + r"\\ ".join(f"&{equation}" for equation in equations) + r"\end{align*}"


def mean_over_margin(condition: str) -> str:
    """LaTeX of b as the mean over the samples for which the condition holds."""
    return lines(
        r"b=\frac{1}{|M|}\sum_{i\in M}\Bigl(y_i-\sum_j\alpha_j y_j K(x_j,x_i)\Bigr)", rf"M=\{{i:{condition}\}}"
    )


def algebra(*sides: str) -> str:
    """LaTeX of L = … = …, a line each."""
    return r"\begin{align*}L&=" + r"\\ &=".join(sides) + r"\end{align*}"


def slack_products(upper: str, missing: str = f"{YF}-1") -> str:
    """LaTeX of what P − D is made of where samples may be behind their margin."""
    return (
        rf"\tfrac12\|w-w(\alpha)\|^2+\sum_i\bigl({upper}-\alpha_i\bigr)\xi_i\\ &\quad"
        rf"+\sum_i\alpha_i\bigl({missing}+\xi_i\bigr)"
    )


# --- from the margin to the optimality conditions ---------------------------------------------------------------------


def margin(tag: str, level: str = "1") -> Step:
    """How far the two hyperplanes of the margin are apart."""
    return Step(
        tag, "Margin",
        "A step of length t along w/‖w‖ changes f by t‖w‖, so the way from one hyperplane to the other is the "
        "difference of their levels over ‖w‖. It is measured between the margin vectors of the two classes.",
        rf"\operatorname{{dist}}\bigl(\{{f=-{level}\}},\{{f=+{level}\}}\bigr)=\frac{{2{level if level != '1' else ''}}}"
        r"{\|w\|}",
        measures.margin_width, measures.margin_width,
    )  # fmt: skip


def stationarity_in_w(tag: str, problem: Problem, coef: str = COEF) -> Step:
    """The Lagrangian is flat in w."""
    seen = (
        "The kernel is linear, so both sides are vectors with one entry a feature."
        if problem.space.is_linear
        else f"In the feature space of {problem.kernel} w has no entries to compare, so the products of both sides "
        "with every φ(x_i) are compared."
    )
    return Step(
        tag, "Stationarity in w",
        f"At a minimum over w the Lagrangian is flat: the normal vector is a combination of the samples. {seen}",
        rf"\frac{{\partial L}}{{\partial w}}=0\quad\Longrightarrow\quad w=\sum_i{coef}\,\varphi(x_i)",
        primal_points, measures.stationarity_in_w, general="DUAL.5",
        construction="" if problem.space.is_linear else "f is made of α, and w is never written down",
    )  # fmt: skip


def stationarity_in_b(tag: str, equation: str = "", text: str = "") -> Step:
    """The Lagrangian is flat in a free b: the equation is what is left of it."""
    return Step(
        tag, "Stationarity in b",
        text or "b enters the Lagrangian only through b·Σ α_i y_i, which has no minimum over b unless the factor is "
        "zero. So the two classes pull with the same total force.",
        r"\frac{\partial L}{\partial b}=0\quad\Longrightarrow\quad "
        + (equation or r"y^{\top}\alpha=\sum_i\alpha_i y_i=0"),
        intercept_group, measures.stationarity_in_b, general="DUAL.1",
    )  # fmt: skip


def stationarity_in_xi(tag: str, equation: str, row: str = "i") -> Step:
    """The Lagrangian is flat in ξ: the equation is η_i = …, with the letter of a row for i."""
    return Step(
        tag, "Stationarity in ξ",
        f"ξ_{row} stands in two constraints, and their multipliers share the price of a unit of slack. This gives η "
        "from α, so η is not needed any more.",
        rf"\frac{{\partial L}}{{\partial \xi_{row}}}=0\quad\Longrightarrow\quad {equation}",
        kkt_table, measures.stationarity_in_xi, general="DUAL.7",
        construction="η is no unknown any more, the library makes it of α and its bound",
    )  # fmt: skip


def dual_feasibility(tag: str, upper: str, latex: str = "") -> Step:
    """The box, whose LaTeX may be given whole; without an upper bound and LaTeX of its own, α ≥ 0 is all."""
    bounded = "With η expressed by α, its sign becomes the upper bound of α: the box of the dual."
    free = "The slack is squared and has no multiplier η, so that nothing bounds α above."
    return Step(
        tag, "Dual feasibility",
        f"Multipliers of inequalities are not negative. {bounded if upper else free}",
        latex or rf"\alpha_i\ge 0,\quad \eta_i\ge 0\quad\Longrightarrow\quad 0\le\alpha_i\le {upper}",
        boxed, measures.dual_feasibility, general="REPAIR.1",
    )  # fmt: skip


def complementary_slackness(
    tag: str, upper: str, missing: str = f"{YF}-1", latex: str = "", measure: Measure = measures.complementary_slackness
) -> Step:
    """Where a constraint has room its multiplier is zero; the LaTeX may be given whole."""
    return Step(
        tag, "Complementary slackness",
        "Either a constraint holds with equality or its multiplier is zero. The library adds these products up, sample "
        "by sample: their sum is the duality gap.",
        latex
        or lines(rf"\alpha_i\bigl({missing}+\xi_i\bigr)=0", rf"\bigl({upper}-\alpha_i\bigr)\,\xi_i=0"),
        gap_sums, measure, general="CERT.1",
    )  # fmt: skip


# --- back from the dual -----------------------------------------------------------------------------------------------


def weights_recovered(
    tag: str, problem: Problem, coef: str = COEF, f: str = "", letters: tuple[str, str] = ("w", "b")
) -> Step:
    """f from α; `f` is the LaTeX of it where it is more than a sum and b, `letters` those of its weights and level."""
    b, (weights, level) = Terms.of(problem).plus_b, letters
    needed = f"α and {level} are" if f or b else "α is"
    return Step(
        tag, f"Recovering {weights}",
        f"Put the stationarity in {weights} into f: products of features are kernel values, so {needed} all that a "
        "prediction needs. It is measured at samples half way between those trained on.",
        f
        or rf"\begin{{align*}}f(x)&=\langle w,\varphi(x)\rangle{b}\\ &=\sum_i{coef}\,K(x_i,x){b}\end{{align*}}",
        DecisionFunctions._values, measures.decision_function_recovered, general="DUAL.4",
        construction="" if problem.space.is_linear else "the decision function is this sum",
    )  # fmt: skip


def linear_weights(tag: str, problem: Problem, latex: str = "", words: str = "α_i y_i") -> Step:
    """w as a vector, where the kernel is linear. The LaTeX may be given whole, and the coefficients in words."""
    absent = (
        f"w = Σ {words} φ(x_i) is a vector in the feature space of {problem.kernel}, not in the space of the samples; "
        "use decision_function(X), or Linear() as kernel"
    )
    return Step(
        tag, "w of a linear kernel",
        "Where φ(x) = x, the sum over the samples can be done once and for all: w has one weight a feature, and "
        "predicting needs neither α nor the samples.",
        latex or lines(
            r"w=\sum_i\alpha_i y_i x_i=X^{\top}(\alpha\circ y)", r"f(x)=w^{\top}x" + Terms.of(problem).plus_b
        ),
        FeatureSpace.weights, measures.linear_weights, "" if problem.space.is_linear else absent, general="DUAL.5",
    )  # fmt: skip


def weak_duality(tag: str, point: str, products: str, function: Callable[..., Any], unit: str = "") -> Step:
    """D(α) ≤ P, because the difference is a sum of terms that are not negative; `point` is the LaTeX of P's letters."""
    difference = rf"{unit}\Bigl({products}\Bigr)" if unit else products
    return Step(
        tag, "Weak duality",
        "Take any feasible α and any feasible point of the primal, optimal or not. The difference of their values is a "
        "sum of terms that are not negative, so every α bounds the optimum from below, and every point of the primal "
        "from above. This is what makes a certificate possible.",
        lines(
            rf"P({point})-D(\alpha)", rf"\quad={difference}\ \ge\ 0",
            rf"\Longrightarrow\quad D(\alpha)\le P({point})",
        ),
        function, measures.weak_duality, general="GAP.1",
        construction="for every feasible pair the difference is this sum",
    )  # fmt: skip


def kinds_of_samples(tag: str, upper: str, level: str = "1", yf: str = YF, latex: str = "") -> Step:
    """What α says about where a sample lies."""
    return Step(
        tag, "Three kinds of samples",
        "Complementary slackness leaves three cases. The library tells them apart by comparing the slack with its "
        "multiplier, not by a cut like 1e-5.",
        latex
        or rf"\begin{{align*}}\alpha_i=0 &\;\Rightarrow\; {yf}\ge {level}\\"
        rf" 0<\alpha_i<{upper} &\;\Rightarrow\; {yf}={level}\\"
        rf" \alpha_i={upper} &\;\Rightarrow\; {yf}\le {level}\end{{align*}}",
        judge.split, measures.kinds_of_samples, general="DUAL.8",
    )  # fmt: skip


def primal(at: Letters[Any]) -> tuple[Sides, ...]:
    """½‖w‖² + Σ C_i ξ_i has the value claimed, and (w, b, ξ) satisfies y_i f(x_i) ≥ 1 − ξ_i, ξ_i ≥ 0."""
    value = float(at.unit * (at.half_norm + at.cost(at.xi) + at.levels_cost))
    of = "the primal's value at w, b and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *feasible_primal(at))


def lagrangian(at: Letters[Any]) -> Sides:
    """At the solution all penalties vanish: L(w, b, ξ, α, η) = P(w, ξ)."""
    value = float(at.unit * (at.half_norm + at.cost(at.xi) + at.levels_cost))
    penalty = at.alpha @ (at.y * at.f - at.margin + at.xi) + at.penalties  # Σ α (y f − 1 + ξ) + Σ η ξ
    L = value - float(at.unit * penalty)  # (CSVM.3), (PHINGE.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def substitution(at: Letters[Any]) -> Sides:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b and ξ are."""
    slack = at.svm.curvature * at.alpha + at.zeta  # ξ, but of a curved loss as α gives it
    bend = 0.5 * float(at.svm.curvature @ at.alpha**2) + float(at.linear_price @ at.zeta)
    penalty = at.alpha @ (at.y * at.f_of_alpha - at.margin + slack) + at.penalties
    L = float(at.unit * (at.half_norm_of_alpha + bend + at.levels_cost - penalty))  # (CSVM.9), (PHINGE.9)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)  # (CSVM.9), (PHINGE.9)


def strong_duality(at: Letters[Any]) -> Sides:
    """½‖w‖² + Σ C_i ξ_i = Σ α_i − ½αᵀQα."""
    slack = np.maximum(at.margin - at.y * at.f, 0)
    P = float(at.unit * (at.half_norm + at.cost(slack) + at.levels_cost))  # (CSVM.14), (PHINGE.14)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (CSVM.14), (PHINGE.14)
