"""The steps of the C-SVM, (CSVM.1) to (CSVM.16)."""

from __future__ import annotations

from qpsvm.bounds import certify
from qpsvm.derivation import intercept, measures
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared
from qpsvm.derivation.steps import shared as soft
from qpsvm.derivation.terms import Terms
from qpsvm.machines import CSVM

#: The upper bound of α_i.
UPPER = "C_i"


def steps(problem: CSVM) -> tuple[Step, ...]:
    """All steps, in order."""
    t = Terms.of(problem)
    return (
        shared.margin("CSVM.1"),
        Step(
            "CSVM.2", "Primal",
            "A wide margin is weighed against slack. ξ_i is how far sample i stays behind its margin, and C_i is the "
            "price of a unit of it.",
            shared.lines(
                rf"\min_{{{t.over},\xi}}\ \tfrac12{t.norm}+\sum_i C_i\xi_i",
                r"\text{subject to}\ y_i f(x_i)\ge 1-\xi_i,\ \xi_i\ge 0",
            ),
            CSVM._record, soft.primal,
        ),
        Step(
            "CSVM.3", "Lagrangian",
            "Every constraint gets a multiplier, the price of a unit of it: α_i for the margin and η_i for ξ_i ≥ 0. At "
            "the solution nothing is to be paid, so L is the primal value.",
            rf"\begin{{align*}}L={{}}&\tfrac12{t.norm}+\sum_i C_i\xi_i\\ &-\sum_i\alpha_i\bigl(y_i "
            rf"f(x_i)-1+\xi_i\bigr)\\ "
            r"&-\sum_i\eta_i\xi_i,\qquad \alpha,\eta\ge 0\end{align*}",
            soft.lagrangian, soft.lagrangian,
        ),
        shared.stationarity_in_w("CSVM.4", problem),
        intercept.stationarity_in_b("CSVM.5", problem),
        shared.stationarity_in_xi("CSVM.6", r"\eta_i=C_i-\alpha_i"),
        shared.dual_feasibility("CSVM.7", UPPER),
        shared.complementary_slackness("CSVM.8", UPPER),
        Step(
            "CSVM.9", "Substitution",
            f"Put w(α){t.puts()} and η = C − α into L: what {t.b_and}ξ added cancels, half of the quadratic term "
            f"cancels, and only "
            "kernel values are left.",
            shared.algebra(
                rf"\tfrac12{t.norm}+\sum_i C_i\xi_i\\ &\quad-\sum_i\alpha_i\bigl(y_i f(x_i)-1+\xi_i\bigr)"
                r"-\sum_i(C_i-\alpha_i)\xi_i",
                rf"\tfrac12{t.norm}-\sum_i\alpha_i y_i\langle w,\varphi(x_i)\rangle\\ &\quad"
                rf"{t.minus_b}+\sum_i\alpha_i",
                rf"\tfrac12{t.norm}-{t.norm}-0+\sum_i\alpha_i",
                rf"\sum_i\alpha_i-\tfrac12\sum_{{i,j}}\alpha_i\alpha_j y_i y_j {t.kernel}",
            ),
            soft.substitution, soft.substitution,
        ),
        Step(
            "CSVM.10", "Dual",
            "The best lower bound, written as a minimisation: n variables in a box, and one equality. At its solution "
            "a projected gradient step goes nowhere.",
            shared.lines(
                rf"\min_{{\alpha}}\ \tfrac12\alpha^{{\top}}Q\alpha{t.plus_square}-1^{{\top}}\alpha",
                r"\text{subject to}\ 0\le\alpha_i\le C_i"
                + t.balanced,
            ),
            CSVM._record, measures.dual_optimum,
        ),
        shared.weights_recovered("CSVM.11", problem),
        intercept.intercept_recovered(
            "CSVM.12", problem,
            "On the margin f(x_i) = y_i, so one margin vector would give b. The mean over all of them is less "
            "sensitive to rounding. Where there are none, b is a weighted quantile: every b that minimises the slack "
            "is as good.",
            shared.mean_over_margin(r"0<\alpha_i<C_i"),
        ),
        shared.kinds_of_samples("CSVM.13", UPPER),
        Step(
            "CSVM.14", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            rf"\tfrac12{t.norm}+\sum_i C_i\xi_i=\sum_i\alpha_i-\tfrac12\alpha^{{\top}}Q\alpha{t.minus_square}",
            soft.strong_duality, soft.strong_duality,
        ),
        shared.linear_weights("CSVM.15", problem),
        shared.weak_duality("CSVM.16", rf"{t.over},\xi", shared.slack_products(UPPER) + t.ridge, certify._measured),
    )  # fmt: skip
