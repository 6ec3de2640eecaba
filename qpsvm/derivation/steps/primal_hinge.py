"""The steps of the regularised hinge loss, (PHINGE.1) to (PHINGE.19)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import lines, numbered, step
from qpsvm.derivation.steps.shared import Argument
from qpsvm.machines import PrimalHinge
from qpsvm.machines.problem.reading import read
from qpsvm.program import solution as kkt
from qpsvm.space.kernels.space import FeatureSpace

#: Rows up to which K is factored for the primal QP of a kernel. This many take seconds, and 100 MB.
MOST_ROWS = 3000


def steps(problem: PrimalHinge) -> tuple[Step, ...]:
    """All steps, in order."""
    soft = Argument(
        problem, r"\sum_i p_i\xi_i", r"y_i f(x_i)\ge 1-\xi_i,\ \xi_i\ge 0", uppers=(r"\tfrac{p_i}{\lambda}",),
        unit=r"\lambda",
    )  # fmt: skip
    return numbered(
        "PHINGE",
        soft.loss(
            "The mean hinge loss is the empirical risk: p_i is 1/n, or sample i's share of all weights. A sample "
            "beyond its margin adds nothing to it. The norm keeps w short.",
            r"\sum_i p_i\max\bigl(0,\,1-y_i f(x_i)\bigr)", "Primal",
        ),
        soft.primal(
            "The maximum of two linear functions is the smallest ξ_i above both: the kink becomes two linear "
            "constraints.",
            "Primal as a QP",
        ),
        soft.lagrangian(
            first="The multipliers are written λα_i and λη_i, so that α and η mean the same as in the C-SVM."
        ),
        soft.stationarity_in_w(),
        soft.stationarity_in_b(),
        soft.stationarity_in_xi(),
        soft.dual_feasibility(),
        soft.complementary_slackness(),
        soft.substitution(eta="η"),
        soft.dual("n variables in a box, and one equality, which is there only for a free intercept"),
        soft.weights_recovered(),
        soft.intercept_recovered(
            "At the kink f(x_i) = y_i, so one sample there would give b. The mean over all of them is less sensitive "
            "to rounding. Where there are none, b is a weighted quantile: every b that minimises the loss is as good."
        ),
        soft.kinds_of_samples(),
        soft.strong_duality(),
        step(
            "The same as a C-SVM",
            "Dividing by λ moves the weight from the norm to the loss. The α found here is certified for the C-SVM as "
            "it stands: α and f are the same, and the values are divided by λ.",
            lines(
                rf"\tfrac{{1}}{{\lambda}}\Bigl(\tfrac{{\lambda}}{{2}}{soft.norm}+\sum_i p_i\xi_i\Bigr)",
                rf"=\tfrac12{soft.norm}+\sum_i C_i\xi_i,\qquad C_i=\frac{{p_i}}{{\lambda}}",
            ),
            PrimalHinge.equivalent_c_svm, equivalent_c_svm,
        ),
        step(
            "Multipliers of the QP",
            "A solver of the primal QP returns λα as the multipliers of its margin rows: with them its stationarity "
            "holds, block by block.",
            lines(
                r"Px+q+G^{\top}z+z_{\mathrm{box}}=0",
                r"z_i=\lambda\alpha_i,\quad z_{\mathrm{box},\xi_i}=-\lambda\eta_i",
            ),
            read, multipliers_of_the_qp,
        ),
        step(
            "A feature of ones",
            "A penalised b is the weight of one more feature that is 1 for every sample. Its products are 1, so K + 1 "
            "takes the place of K, and no equality is left.",
            lines(
                r"f(x_i)=\langle (w,b),\,(\varphi(x_i),1)\rangle",
                r"\phantom{f(x_i)}=\sum_j\alpha_j y_j\bigl(K(x_j,x_i)+1\bigr)",
            ),
            FeatureSpace.with_penalised_intercept, feature_of_ones,
            "" if soft.penalised else f"intercept={problem.intercept!r}: only a penalised b is a weight like the "
            "others",
        ),
        soft.linear_weights(),
        soft.weak_duality(),
    )  # fmt: skip


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
