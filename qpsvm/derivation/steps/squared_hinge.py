"""The steps of the squared hinge, (SQHINGE.1) to (SQHINGE.17)."""

from __future__ import annotations

from qpsvm.bounds import certify
from qpsvm.derivation import intercept, measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, size_of, worst
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import curved, shared
from qpsvm.derivation.steps import shared as soft
from qpsvm.derivation.terms import Terms
from qpsvm.machines import SquaredHinge
from qpsvm.machines.problem import judge
from qpsvm.program import losses

At = Letters[SquaredHinge]


def steps(problem: SquaredHinge) -> tuple[Step, ...]:
    """All steps, in order."""
    t = Terms.of(problem)
    return (
        curved.margin("SQHINGE.1"),
        Step(
            "SQHINGE.2", "Primal",
            "A wide margin is weighed against the squares of slack. A little slack costs next to nothing, and a sample "
            "far on the wrong side costs more than many near their margin.",
            shared.lines(
                rf"\min_{{{t.over},\xi}}\ \tfrac12{t.norm}+\sum_i C_i\xi_i^2",
                r"\text{subject to}\ y_i f(x_i)\ge 1-\xi_i,\ \xi_i\ge 0",
            ),
            SquaredHinge._record, soft.primal,
        ),
        Step(
            "SQHINGE.3", "Lagrangian",
            "The margin rows get multipliers. ξ_i ≥ 0 needs none: where a negative ξ_i is feasible 0 is, and it costs "
            "less. At the solution nothing is to be paid, so L is the primal value.",
            rf"\begin{{align*}}L={{}}&\tfrac12{t.norm}+\sum_i C_i\xi_i^2\\ &-\sum_i\alpha_i\bigl(y_i "
            rf"f(x_i)-1+\xi_i\bigr),"
            r"\qquad \alpha\ge 0\end{align*}",
            soft.lagrangian, soft.lagrangian,
        ),
        shared.stationarity_in_w("SQHINGE.4", problem),
        intercept.stationarity_in_b("SQHINGE.5", problem),
        Step(
            "SQHINGE.6", "Stationarity in ξ",
            "The last bit of slack costs 2C_iξ_i, and the margin row pays α_i for it. So α is the slack in other "
            "units, and there is no slack without a multiplier.",
            r"\frac{\partial L}{\partial \xi_i}=0\quad\Longrightarrow\quad \xi_i=\frac{\alpha_i}{2C_i}",
            losses.gap_term, measures.stationarity_in_curved_xi, general="LOSS.4",
        ),
        shared.dual_feasibility("SQHINGE.7", "", r"\alpha_i\ge 0"),
        shared.complementary_slackness(
            "SQHINGE.8", "", latex=r"\alpha_i\bigl(y_i f(x_i)-1+\xi_i\bigr)=0"
        ),
        Step(
            "SQHINGE.9", "Substitution",
            f"Put w(α){t.puts()} and ξ = α/(2C) into L: half of each quadratic term cancels, and what is left of the "
            "slack is a square of α.",
            shared.algebra(
                rf"\tfrac12{t.norm}+\sum_i C_i\xi_i^2-\sum_i\alpha_i\bigl(y_i f(x_i)-1+\xi_i\bigr)",
                rf"\tfrac12{t.norm}-{t.norm}+\sum_i\alpha_i+\sum_i\bigl(C_i\xi_i^2-\alpha_i\xi_i\bigr)",
                rf"\sum_i\alpha_i-\tfrac12\sum_{{i,j}}\alpha_i\alpha_j y_i y_j {t.kernel}\\ &\quad"
                r"-\sum_i\frac{\alpha_i^2}{4C_i}",
            ),
            soft.substitution, soft.substitution,
        ),
        Step(
            "SQHINGE.10", "Dual",
            "The best lower bound, written as a minimisation: α has no upper bound, and the square keeps it from "
            "growing. At its solution a projected gradient step goes nowhere.",
            shared.lines(
                rf"\min_{{\alpha}}\ \tfrac12\alpha^{{\top}}(Q+D)\alpha{t.plus_square}-1^{{\top}}\alpha,\quad "
                rf"D_{{ii}}=\frac{{1}}{{2C_i}}",
                r"\text{subject to}\ 0\le\alpha_i" + t.balanced,
            ),
            SquaredHinge._record, measures.dual_optimum,
        ),
        shared.weights_recovered("SQHINGE.11", problem),
        intercept.intercept_recovered(
            "SQHINGE.12", problem,
            "Where α_i is positive, y_i f(x_i) is 1 less the slack, which α gives. So every support vector gives b, "
            "and the mean over all of them is less sensitive to rounding.",
            shared.lines(
                r"b=\frac{1}{|S|}\sum_{i\in S}\Bigl(y_i\bigl(1-\tfrac{\alpha_i}{2C_i}\bigr)-\sum_j\alpha_j y_j "
                r"K(x_j,x_i)\Bigr)",
                r"S=\{i:\alpha_i>0\}",
            ),
            curved.intercept_recovered,
        ),
        Step(
            "SQHINGE.13", "Two kinds of samples",
            "Complementary slackness leaves two cases. No support vector lies on the margin itself: the first bit of "
            "slack is free, so that every one has some.",
            r"\begin{align*}\alpha_i=0 &\;\Rightarrow\; y_i f(x_i)\ge 1\\"
            r" \alpha_i>0 &\;\Rightarrow\; y_i f(x_i)=1-\tfrac{\alpha_i}{2C_i}\end{align*}",
            judge.split, curved.kinds_of_samples, general="DUAL.8",
        ),
        Step(
            "SQHINGE.14", "Strong duality",
            "The constraints are linear and the objective is convex, so no gap remains: both optimal values are the "
            "same number. The library certifies how far the two values found are apart, as a sum over the samples.",
            rf"\begin{{align*}}&\tfrac12{t.norm}+\sum_i C_i\xi_i^2\\ &\quad=\sum_i\alpha_i-\tfrac12\alpha^{{\top}}(Q+D)"
            rf"\alpha{t.minus_square}\end{{align*}}",
            soft.strong_duality, soft.strong_duality,
        ),
        shared.linear_weights("SQHINGE.15", problem),
        shared.weak_duality(
            "SQHINGE.16", rf"{t.over},\xi",
            r"\tfrac12\|w-w(\alpha)\|^2+\sum_i C_i\Bigl(\xi_i-\frac{\alpha_i}{2C_i}\Bigr)^2\\ &\quad"
            r"+\sum_i\alpha_i\bigl(y_i f(x_i)-1+\xi_i\bigr)" + t.ridge,
            certify._measured,
        ),
        Step(
            "SQHINGE.17", "A hard margin in a larger space",
            "D on the diagonal is a kernel of its own: every sample has one more feature, which no other sample has. "
            "With these any classes can be separated, and the hard margin there is this machine.",
            shared.lines(
                r"\tilde\varphi(x_i)=\Bigl(\varphi(x_i),\ \tfrac{1}{\sqrt{2C_i}}\,e_i\Bigr)",
                r"\langle\tilde\varphi(x_i),\tilde\varphi(x_j)\rangle=(K+D)_{ij}",
                r"y_i f(x_i)+\frac{\alpha_i}{2C_i}\ \ge\ 1",
            ),
            SquaredHinge._record, hard_margin_in_a_larger_space,
        ),
    )  # fmt: skip


def hard_margin_in_a_larger_space(at: At) -> tuple[Sides, ...]:
    """(K + D)(α∘y) + b has no sample within its margin, and half the square of its norm is the value of the dual."""
    longer = at.y * at.f_of_alpha + at.svm.curvature * at.alpha  # (SQHINGE.17)
    norm = at.half_norm_of_alpha + 0.5 * float(at.svm.curvature @ at.alpha**2)
    scale = size_of(longer, at.terms)
    return (
        Sides(norm, "=", at.dual_value, "half the square of the norm of (w, v), and the dual's value", at.size),
        worst(longer, "≥", 1.0, "y f of {i} with the feature of its own, and 1", scale, at.say.row),
    )
