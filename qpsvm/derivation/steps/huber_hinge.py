"""The steps of Huber's hinge, (HUBER.1) to (HUBER.17)."""

from __future__ import annotations

import numpy as np

from qpsvm.bounds import certify
from qpsvm.derivation import intercept, measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps import curved, shared
from qpsvm.derivation.steps import shared as soft
from qpsvm.derivation.terms import Terms
from qpsvm.machines import HuberHinge
from qpsvm.machines.problem import judge
from qpsvm.program import losses

#: The upper bound of α_i.
UPPER = "C_i"

At = Letters[HuberHinge]


def steps(problem: HuberHinge) -> tuple[Step, ...]:
    """All steps, in order."""
    t = Terms.of(problem)
    return (
        curved.margin("HUBER.1"),
        Step(
            "HUBER.2", "Primal",
            "Slack comes in two parts. ξ_i costs a square, and its last bit is cheaper than ζ_i until ξ_i = h; from "
            "there on ζ_i is the cheaper one.",
            shared.lines(
                rf"\min_{{{t.over},\xi,\zeta}}\ \tfrac12{t.norm}+\sum_i C_i\Bigl(\frac{{\xi_i^2}}{{2h}}+\zeta_i\Bigr)",
                r"\text{subject to}\ y_i f(x_i)\ge 1-\xi_i-\zeta_i,\ \xi_i,\zeta_i\ge 0",
            ),
            HuberHinge._record, soft.primal,
        ),
        Step(
            "HUBER.3", "Lagrangian",
            "The margin rows get multipliers α, and ζ_i ≥ 0 gets η_i. ξ_i ≥ 0 needs none: where a negative ξ_i is "
            "feasible 0 is, and it costs less. At the solution nothing is to be paid, so L is the primal value.",
            rf"\begin{{align*}}L={{}}&\tfrac12{t.norm}+\sum_i C_i\Bigl(\frac{{\xi_i^2}}{{2h}}+\zeta_i\Bigr)\\ "
            r"&-\sum_i\alpha_i\bigl(y_i f(x_i)-1+\xi_i+\zeta_i\bigr)\\ "
            r"&-\sum_i\eta_i\zeta_i,\qquad \alpha,\eta\ge 0\end{align*}",
            soft.lagrangian, soft.lagrangian,
        ),
        shared.stationarity_in_w("HUBER.4", problem),
        intercept.stationarity_in_b("HUBER.5", problem),
        Step(
            "HUBER.6", "Stationarity in ξ and ζ",
            "The last bit of ξ_i costs C_iξ_i/h, and the margin row pays α_i for it: α is the curved part of the slack "
            "in other units. ζ_i stands in two constraints, whose multipliers share its price.",
            r"\begin{align*}\frac{\partial L}{\partial \xi_i}=0&\;\Longrightarrow\;\xi_i=\frac{h\alpha_i}{C_i}\\ "
            r"\frac{\partial L}{\partial \zeta_i}=0&\;\Longrightarrow\;\eta_i=C_i-\alpha_i\end{align*}",
            losses.gap_term, stationarity_in_both_slacks, general="LOSS.4",
        ),
        shared.dual_feasibility("HUBER.7", UPPER),
        shared.complementary_slackness(
            "HUBER.8", UPPER,
            latex=shared.lines(
                r"\alpha_i\bigl(y_i f(x_i)-1+\xi_i+\zeta_i\bigr)=0", r"\bigl(C_i-\alpha_i\bigr)\,\zeta_i=0"
            ),
        ),
        Step(
            "HUBER.9", "Substitution",
            f"Put w(α){t.puts()}, ξ = hα/C and η = C − α into L: ζ drops out, half of each quadratic term cancels, and "
            "what is left of ξ is a square of α.",
            shared.algebra(
                rf"\tfrac12{t.norm}+\sum_i C_i\Bigl(\frac{{\xi_i^2}}{{2h}}+\zeta_i\Bigr)\\ &\quad"
                r"-\sum_i\alpha_i\bigl(y_i f(x_i)-1+\xi_i+\zeta_i\bigr)-\sum_i(C_i-\alpha_i)\zeta_i",
                rf"\tfrac12{t.norm}-{t.norm}+\sum_i\alpha_i+\sum_i\Bigl(\frac{{C_i\xi_i^2}}{{2h}}-\alpha_i\xi_i\Bigr)",
                rf"\sum_i\alpha_i-\tfrac12\sum_{{i,j}}\alpha_i\alpha_j y_i y_j {t.kernel}\\ &\quad"
                r"-\tfrac12\sum_i\frac{h\alpha_i^2}{C_i}",
            ),
            soft.substitution, soft.substitution,
        ),
        Step(
            "HUBER.10", "Dual",
            "The best lower bound, written as a minimisation: the box of a C-SVM, and a square. At its solution a "
            "projected gradient step goes nowhere.",
            shared.lines(
                rf"\min_{{\alpha}}\ \tfrac12\alpha^{{\top}}(Q+D)\alpha{t.plus_square}-1^{{\top}}\alpha,\quad "
                rf"D_{{ii}}=\frac{{h}}{{C_i}}",
                r"\text{subject to}\ 0\le\alpha_i\le C_i"
                + t.balanced,
            ),
            HuberHinge._record, measures.dual_optimum,
        ),
        shared.weights_recovered("HUBER.11", problem),
        intercept.intercept_recovered(
            "HUBER.12", problem,
            "Where α_i is between 0 and C_i, y_i f(x_i) is 1 less the slack, which α gives. One such sample would give "
            "b, and the mean over all of them is less sensitive to rounding.",
            shared.lines(
                r"b=\frac{1}{|M|}\sum_{i\in M}\Bigl(y_i\bigl(1-\tfrac{h\alpha_i}{C_i}\bigr)-\sum_j\alpha_j y_j "
                r"K(x_j,x_i)\Bigr)",
                r"M=\{i:0<\alpha_i<C_i\}",
            ),
            curved.intercept_recovered,
        ),
        Step(
            "HUBER.13", "Three kinds of samples",
            "Complementary slackness leaves three cases: beyond the margin, behind it by less than h, and behind it by "
            "more, where every sample pulls equally.",
            r"\begin{align*}\alpha_i=0 &\;\Rightarrow\; y_i f(x_i)\ge 1\\"
            r" 0<\alpha_i<C_i &\;\Rightarrow\; y_i f(x_i)=1-\tfrac{h\alpha_i}{C_i}\\"
            r" \alpha_i=C_i &\;\Rightarrow\; y_i f(x_i)\le 1-h\end{align*}",
            judge.split, curved.kinds_of_samples, general="DUAL.8",
        ),
        Step(
            "HUBER.14", "Strong duality",
            "The constraints are linear and the objective is convex, so no gap remains: both optimal values are the "
            "same number. The library certifies how far the two values found are apart, as a sum over the samples.",
            rf"\begin{{align*}}&\tfrac12{t.norm}+\sum_i C_i\Bigl(\frac{{\xi_i^2}}{{2h}}+\zeta_i\Bigr)\\ "
            rf"&\quad=\sum_i\alpha_i-\tfrac12\alpha^{{\top}}(Q+D)\alpha{t.minus_square}\end{{align*}}",
            soft.strong_duality, soft.strong_duality,
        ),
        shared.linear_weights("HUBER.15", problem),
        shared.weak_duality(
            "HUBER.16", rf"{t.over},\xi,\zeta",
            r"\tfrac12\|w-w(\alpha)\|^2+\sum_i \frac{C_i}{2h}\Bigl(\xi_i-\frac{h\alpha_i}{C_i}\Bigr)^2\\ &\quad"
            r"+\sum_i(C_i-\alpha_i)\zeta_i+\sum_i\alpha_i\bigl(y_i f(x_i)-1+\xi_i+\zeta_i\bigr)"
            + t.ridge,
            certify._measured,
        ),
        Step(
            "HUBER.17", "Between hinge and squared hinge",
            "What a slack t ≥ 0 costs, ψ_i(t), lies between the price of the C-SVM less C_ih/2 and that price "
            "itself, and is "
            "never above that of a square: it is the square up to t = h. So a small h gives the C-SVM, and a large one "
            "the squared hinge with C_i/(2h).",
            r"C_i\Bigl(t-\frac h2\Bigr)\ \le\ \psi_i(t)\ \le\ \min\Bigl(C_it,\ \frac{C_i}{2h}t^2\Bigr)",
            losses.loss, between_the_hinges,
        ),
    )  # fmt: skip


def stationarity_in_both_slacks(at: At) -> tuple[Sides, ...]:
    """ξ_i = hα_i/C_i, for the part of the slack whose square is paid, and η_i = C_i − α_i."""
    return measures.stationarity_in_curved_xi(at), measures.stationarity_in_xi(at)  # (HUBER.6)


def between_the_hinges(at: At) -> tuple[Sides, ...]:
    """The price of all slack is between that of the hinges less Ch/2, and that of the hinges and of the squares."""
    if not at.xi.any():
        raise NotMeasurable("no sample has slack")
    paid, h, C = at.cost(at.xi), at.problem.width, at.C
    least = float(C @ np.maximum(at.xi - h / 2, 0.0))
    most = float(C @ np.minimum(at.xi, at.xi**2 / (2 * h)))  # (HUBER.17)
    return (
        Sides(paid, "≥", least, "the price of all slack, and of the hinges less Ch/2", at.size),
        Sides(paid, "≤", most, "the price of all slack, and the cheaper of hinges and squares", at.size),
        worst(at.xi, "≥", 0.0, "ξ of {i}, and 0", at.level, at.say.row),
    )
