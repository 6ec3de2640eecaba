"""The steps of the regularised hinge loss, (PHINGE.1) to (PHINGE.19)."""

from __future__ import annotations

import numpy as np

from qpsvm.bounds import certify
from qpsvm.derivation import intercept, measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps import shared
from qpsvm.derivation.steps import shared as soft
from qpsvm.derivation.terms import Terms
from qpsvm.machines import PrimalHinge
from qpsvm.machines.problem.reading import read
from qpsvm.program import solution as kkt
from qpsvm.space.kernels.space import FeatureSpace

#: The upper bound of α_i.
UPPER = r"\tfrac{p_i}{\lambda}"
#: Rows up to which K is factored for the primal QP of a kernel. This many take seconds, and 100 MB.
MOST_ROWS = 3000

At = Letters[PrimalHinge]


def steps(problem: PrimalHinge) -> tuple[Step, ...]:
    """All steps, in order."""
    t = Terms.of(problem)
    return (
        Step(
            "PHINGE.1", "Primal",
            "The mean hinge loss is the empirical risk: p_i is 1/n, or sample i's share of all weights. A sample "
            "beyond its margin adds nothing to it. The norm keeps w short.",
            rf"\min_{{{t.over}}}\ \tfrac{{\lambda}}{{2}}{t.norm}+\sum_i p_i\max\bigl(0,\,1-y_i f(x_i)\bigr)",
            regularised_loss, regularised_loss,
        ),
        Step(
            "PHINGE.2", "Primal as a QP",
            "The maximum of two linear functions is the smallest ξ_i above both: the kink becomes two linear "
            "constraints.",
            rf"\begin{{align*}}\min_{{{t.over},\xi}}\ &\tfrac{{\lambda}}{{2}}{t.norm}+\sum_i p_i\xi_i\\ "
            rf"\text{{subject to}}\ &y_i "
            r"f(x_i)\ge 1-\xi_i,\ \xi_i\ge 0\end{align*}",
            PrimalHinge._record, soft.primal,
        ),
        Step(
            "PHINGE.3", "Lagrangian",
            "The multipliers are written λα_i and λη_i, so that α and η mean the same as in the C-SVM. At the solution "
            "nothing is to be paid, so L is the primal value.",
            rf"\begin{{align*}}L={{}}&\tfrac{{\lambda}}{{2}}{t.norm}+\sum_i p_i\xi_i\\ "
            rf"&-\sum_i\lambda\alpha_i\bigl(y_i f(x_i)-1"
            r"+\xi_i\bigr)\\ &-\sum_i\lambda\eta_i\xi_i,\qquad \alpha,\eta\ge 0\end{align*}",
            soft.lagrangian, soft.lagrangian,
        ),
        shared.stationarity_in_w("PHINGE.4", problem),
        intercept.stationarity_in_b("PHINGE.5", problem, "(λ/2)"),
        shared.stationarity_in_xi("PHINGE.6", r"\eta_i=\tfrac{p_i}{\lambda}-\alpha_i"),
        shared.dual_feasibility("PHINGE.7", UPPER),
        shared.complementary_slackness("PHINGE.8", UPPER),
        Step(
            "PHINGE.9", "Substitution",
            f"Put w(α){t.puts()} and η into L: what {t.b_and}ξ added cancels, and only kernel values are left.",
            shared.algebra(
                rf"\tfrac{{\lambda}}{{2}}{t.norm}+\sum_i p_i\xi_i\\ &\quad-\sum_i\lambda\alpha_i\bigl(y_i "
                rf"f(x_i)-1+\xi_i"
                r"\bigr)\\ &\quad-\sum_i(p_i-\lambda\alpha_i)\xi_i",
                rf"\lambda\Bigl(\tfrac12{t.norm}+\sum_i\alpha_i\\ &\quad-\sum_i\alpha_i y_i\bigl(\langle w,\varphi(x_i)"
                rf"\rangle{t.plus_b}\bigr)\Bigr)",
                rf"\lambda\Bigl(\tfrac12{t.norm}-{t.norm}+\sum_i\alpha_i\Bigr)",
                rf"\lambda\Bigl(\sum_i\alpha_i-\tfrac12\sum_{{i,j}}\alpha_i\alpha_j y_i y_j {t.kernel}\Bigr)",
            ),
            soft.substitution, soft.substitution,
        ),
        Step(
            "PHINGE.10", "Dual",
            "The best lower bound, written as a minimisation. The equality is there only for a free intercept. At the "
            "solution a projected gradient step goes nowhere.",
            rf"\begin{{align*}}\min_{{\alpha}}\ "
            rf"&\lambda\bigl(\tfrac12\alpha^{{\top}}Q\alpha{t.plus_square}-1^{{\top}}\alpha\bigr)\\ "
            r"\text{subject to}\ &0\le\alpha_i\le \tfrac{p_i}{\lambda}"
            + t.balanced + r"\end{align*}",
            PrimalHinge._record, measures.dual_optimum,
        ),
        shared.weights_recovered("PHINGE.11", problem),
        _intercept_recovered(problem),
        shared.kinds_of_samples("PHINGE.13", UPPER),
        Step(
            "PHINGE.14", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            rf"\tfrac{{\lambda}}{{2}}{t.norm}+\sum_i "
            rf"p_i\xi_i=\lambda\bigl(\textstyle\sum_i\alpha_i-\tfrac12\alpha^{{\top}}Q"
            rf"\alpha{t.minus_square}\bigr)",
            soft.strong_duality, soft.strong_duality,
        ),
        Step(
            "PHINGE.15", "The same as a C-SVM",
            "Dividing by λ moves the weight from the norm to the loss. The α found here is certified for the C-SVM as "
            "it stands: α and f are the same, and the values are divided by λ.",
            shared.lines(
                rf"\tfrac{{1}}{{\lambda}}\Bigl(\tfrac{{\lambda}}{{2}}{t.norm}+\sum_i p_i\xi_i\Bigr)",
                rf"=\tfrac12{t.norm}+\sum_i C_i\xi_i,\qquad C_i=\frac{{p_i}}{{\lambda}}",
            ),
            PrimalHinge.equivalent_c_svm, equivalent_c_svm,
        ),
        Step(
            "PHINGE.16", "Multipliers of the QP",
            "A solver of the primal QP returns λα as the multipliers of its margin rows: with them its stationarity "
            "holds, block by block.",
            shared.lines(
                r"Px+q+G^{\top}z+z_{\mathrm{box}}=0",
                r"z_i=\lambda\alpha_i,\quad z_{\mathrm{box},\xi_i}=-\lambda\eta_i",
            ),
            read, multipliers_of_the_qp,
        ),
        Step(
            "PHINGE.17", "A feature of ones",
            "A penalised b is the weight of one more feature that is 1 for every sample. Its products are 1, so K + 1 "
            "takes the place of K, and no equality is left.",
            shared.lines(
                r"f(x_i)=\langle (w,b),\,(\varphi(x_i),1)\rangle",
                r"\phantom{f(x_i)}=\sum_j\alpha_j y_j\bigl(K(x_j,x_i)+1\bigr)",
            ),
            FeatureSpace.with_penalised_intercept, feature_of_ones,
            "" if problem.intercept == "penalised" else f"intercept={problem.intercept!r}: only a penalised b is a "
            "weight like the others",
        ),
        shared.linear_weights("PHINGE.18", problem),
        shared.weak_duality(
            "PHINGE.19", rf"{t.over},\xi", shared.slack_products(UPPER) + t.ridge, certify._measured, r"\lambda"
        ),
    )  # fmt: skip


def _intercept_recovered(problem: PrimalHinge) -> Step:
    return intercept.intercept_recovered(
        "PHINGE.12", problem,
        "At the kink f(x_i) = y_i, so one sample there would give b. The mean over all of them is less sensitive to "
        "rounding. Where there are none, b is a weighted quantile: every b that minimises the loss is as good.",
        shared.mean_over_margin(rf"0<\alpha_i<{UPPER}"),
    )  # fmt: skip


def regularised_loss(at: At) -> Sides:
    """(λ/2)‖w‖² + Σ p_i max(0, 1 − y_i f(x_i)) has the value claimed."""
    p = at.problem.shares
    value = float(at.problem.lam * at.half_norm + p @ np.maximum(0, 1 - at.y * at.f))  # (PHINGE.1)
    return Sides(value, "=", at.result.primal, "norm and loss at w and b, and the value claimed", at.size)


def equivalent_c_svm(at: At) -> tuple[Sides, ...]:
    """λ times the dual of the C-SVM with C_i = p_i/λ has the same value at the same α, the optimum of both."""
    c_svm = at.problem.equivalent_c_svm()
    value = -at.problem.lam * c_svm.qp("dual").objective(at.alpha)
    stated = at.problem.shares / at.problem.lam
    return (
        Sides(value, "=", at.result.primal, "λ times the value of the C-SVM's dual at α, and the optimum", at.size),
        worst(c_svm.upper, "=", stated, "C of {i} in the C-SVM, and p/λ", size_of(c_svm.upper), at.say.row),
    )


def multipliers_of_the_qp(at: At) -> tuple[Sides, ...]:
    """Px + q + Gᵀz + z_box = 0 for the primal QP with z = λα and z_box = −λη on the rows ξ ≥ 0."""
    if not at.is_linear and len(at.y) > MOST_ROWS:
        raise NotMeasurable(f"the primal of a kernel is written in a factor of K, made for at most {MOST_ROWS} rows")
    qp = at.problem.qp("primal")
    w = at.w if at.is_linear else at.problem.space.textbook_coordinates.T @ (at.alpha * at.y)
    b = [] if at.problem.space.computed_intercept is None else [at.b]
    z = at.unit * at.alpha
    rows = qp.split(kkt.gradient(qp, np.concatenate([w, b, at.xi]), np.zeros(0), z))
    priced, scale = at.unit * at.eta, size_of(at.unit * w, at.unit * at.terms_of_w)
    sides = [
        worst(rows["w"], "=", 0.0, "Px + q + Gᵀz in the row of w, entry {i}, and 0", scale),
        worst(rows["xi"], "=", priced, "Px + q + Gᵀz in the row of ξ of sample {i}, and λη", max(at.problem.shares)),
    ]
    if b:
        reach = max(at.total, 1 + abs(at.b)) if at.penalised_b else at.total  # as (PHINGE.5) measures b itself
        sides.append(Sides(rows["b"][0], "=", 0.0, "Px + q + Gᵀz in the row of b, and 0", at.unit * reach))
    return tuple(sides)


def feature_of_ones(at: At) -> Sides:
    """f(x_i) = Σ_j α_j y_j (K(x_j, x_i) + 1), that is y∘f = Qα with the Q of the dual."""
    Q_alpha = (at.dual.P @ at.alpha) / at.unit
    of = "y f of {i}, and its row of Qα"
    return worst(at.y * at.f, "=", Q_alpha, of, size_of(Q_alpha, at.terms), at.say.row)
