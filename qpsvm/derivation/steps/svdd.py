"""The steps of the SVDD, (SVDD.1) to (SVDD.20).

Where the samples of a linear kernel are centred inside, everything is measured there, by (SVDD.19): R² would be a small
difference of large numbers elsewhere.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds import levels
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps import novelty as enclosing
from qpsvm.derivation.steps import shared
from qpsvm.machines import SVDD
from qpsvm.machines.one_class import check_constant_diagonal
from qpsvm.result.model import Model
from qpsvm.space.kernels.space import FeatureSpace

#: The upper bound of α_i, the coefficient of a sample in f, and what is at least 0.
UPPER, COEF, F = "C_i", r"\alpha_i", r"R^2-\|\varphi(x_i)-c\|^2"

At = Letters[SVDD]


def steps(problem: SVDD) -> tuple[Step, ...]:
    """All steps, in order."""
    linear = problem.space.is_linear
    return (
        Step(
            "SVDD.1", "Ball",
            "f is positive inside of the ball and negative outside. A sample on the boundary has the distance R from "
            "the centre, and one outside pays for what the square of its distance exceeds R².",
            r"f(x)=R^2-\|\varphi(x)-c\|^2,\qquad \|\varphi(x_i)-c\|=R\ \text{ on the boundary}",
            ball, ball,
        ),
        Step(
            "SVDD.2", "Primal",
            "The smallest ball, some samples left outside for a price. Without anybody outside this is the smallest "
            "enclosing ball. C_i is sample i's share of all weights, over ν. They add up to 1/ν ≥ 1, so that R² < 0 "
            "would "
            "cost as much as it saves, or more, and R² ≥ 0 need not be asked for.",
            r"\begin{align*}\min_{c,R^2,\xi}\ &R^2+\sum_i C_i\xi_i\\ \text{subject to}\ &\|\varphi(x_i)-c\|^2\le "
            r"R^2+\xi_i,\ \xi_i\ge 0\end{align*}",
            primal, primal,
        ),
        Step(
            "SVDD.3", "As a QP",
            "The constraints are quadratic in c, all in the same way. With μ in place of R², ‖c‖² moves from the "
            "constraints to the objective, and what is left is a QP.",
            r"\begin{align*}\min_{c,\mu,\xi}\ &\|c\|^2+2\mu+\sum_i C_i\xi_i,\qquad \mu=\tfrac12(R^2-\|c\|^2)\\ "
            r"\text{subject to}\ &\langle c,\varphi(x_i)\rangle+\mu\ge\tfrac12\bigl(K(x_i,x_i)-\xi_i\bigr),"
            r"\ \xi_i\ge 0\end{align*}",
            SVDD._record, as_qp,
        ),
        Step(
            "SVDD.4", "Lagrangian",
            "Every constraint gets a multiplier, α_i for the ball and η_i for ξ_i ≥ 0. At the solution "
            "nothing is to be "
            "paid, so L is the primal value.",
            r"\begin{align*}L={}&\|c\|^2+2\mu+\sum_i C_i\xi_i\\ &-\sum_i\alpha_i\bigl(2\langle c,\varphi(x_i)\rangle"
            r"+2\mu-K(x_i,x_i)+\xi_i\bigr)\\ &-\sum_i\eta_i\xi_i,\qquad \alpha,\eta\ge 0\end{align*}",
            lagrangian, lagrangian,
        ),
        Step(
            "SVDD.5", "Stationarity in μ",
            "μ enters the Lagrangian only through 2μ(1 − Σ α_i), which has no minimum over μ unless the "
            "factor is zero.",
            r"\frac{\partial L}{\partial \mu}=0\quad\Longrightarrow\quad 1^{\top}\alpha=\sum_i\alpha_i=1",
            SVDD._record, measures.stationarity_in_b,
        ),
        centre(problem),
        shared.stationarity_in_xi("SVDD.7", r"\eta_i=C_i-\alpha_i"),
        shared.dual_feasibility("SVDD.8", UPPER),
        shared.complementary_slackness("SVDD.9", UPPER, latex=shared.lines(
            r"\alpha_i\bigl(R^2+\xi_i-\|\varphi(x_i)-c\|^2\bigr)=0", r"\bigl(C_i-\alpha_i\bigr)\,\xi_i=0"
        )),
        Step(
            "SVDD.10", "Substitution",
            "Put c(α), 1ᵀα = 1 and η = C − α into L: μ and ξ drop out.",
            shared.algebra(
                r"\|c\|^2+2\mu+\sum_i C_i\xi_i-\sum_i(C_i-\alpha_i)\xi_i\\ &\quad-\sum_i\alpha_i\bigl(2\langle c,"
                r"\varphi(x_i)\rangle+2\mu-K(x_i,x_i)+\xi_i\bigr)",
                r"\|c\|^2-2\|c\|^2+2\mu\,(1-1^{\top}\alpha)+\sum_i\alpha_i K(x_i,x_i)",
                r"\sum_i\alpha_i K(x_i,x_i)-\sum_{i,j}\alpha_i\alpha_j K(x_i,x_j)",
            ),
            substitution, substitution,
        ),
        Step(
            "SVDD.11", "Dual",
            "Minus the variance of the samples, each with the weight α_i: the dual looks for the weights that spread "
            "them most. At its solution a projected gradient step goes nowhere.",
            shared.lines(
                r"\min_{\alpha}\ \alpha^{\top}Q\alpha-\sum_i\alpha_i K(x_i,x_i)",
                r"\text{subject to}\ 1^{\top}\alpha=1,\ 0\le\alpha_i\le C_i",
            ),
            SVDD._record, measures.dual_optimum,
        ),
        shared.weights_recovered("SVDD.12", problem, f=shared.lines(
            r"f(x)=R^2-\|\varphi(x)-c\|^2", r"\phantom{f(x)}=2\sum_i\alpha_i K(x_i,x)+2\mu-K(x,x)"
        ), letters=("c", "μ")),
        Step(
            "SVDD.13", "Recovering R",
            "For a given centre, only R² and the slacks depend on R. The best R² has a share ν of the weights "
            "beyond it: "
            "a weighted quantile of the squared distances.",
            shared.lines(
                r"R^2=\|c\|^2+2\mu=\operatorname{quantile}_{1-\nu}\bigl(\|\varphi(x_i)-c\|^2;\,s_i\bigr)",
                r"0<\alpha_i<C_i\ \Rightarrow\ \|\varphi(x_i)-c\|=R",
            ),
            levels._soft_interval, radius_recovered, general="LEVEL.3",
        ),
        shared.kinds_of_samples("SVDD.14", UPPER, "0", "f(x_i)"),
        Step(
            "SVDD.15", "Strong duality",
            "The constraints of the QP are linear, so no gap remains: both optimal values are the same number. The "
            "library certifies how far the two values found are apart, as a sum over the samples.",
            r"R^2+\sum_i C_i\xi_i=\sum_i\alpha_i K(x_i,x_i)-\alpha^{\top}Q\alpha",
            strong_duality, strong_duality,
        ),
        enclosing.what_nu_bounds("SVDD.16", "C_i", "1"),
        Step(
            "SVDD.17", "Centre of a linear kernel",
            "Where φ(x) = x, the centre is a point among the samples. Distances from it are evaluated by differences, "
            "which have all their digits however far the samples are from the origin.",
            shared.lines(r"c=\sum_i\alpha_i x_i=X^{\top}\alpha", r"f(x)=R^2-\|x-c\|^2"),
            Model._inside, by_differences, "" if linear else
            f"c = Σ α_i φ(x_i) is a point in the feature space of {problem.kernel}, not among the samples; use "
            "decision_function(X), or Linear() as kernel",
        ),
        shared.weak_duality("SVDD.18", r"c,R^2,\xi",
            r"\|c-c(\alpha)\|^2+\sum_i\bigl(C_i-\alpha_i\bigr)\xi_i\\ &\quad"
            r"+\sum_i\alpha_i\bigl(R^2+\xi_i-\|\varphi(x_i)-c\|^2\bigr)", enclosing.gap,
        ),
        Step(
            "SVDD.19", "Translation",
            "Take the same vector a away from all φ(x_i): by 1ᵀα = 1 the centre moves with them, and no distance "
            "changes. Dense samples of a linear kernel are centred so, which saves their digits.",
            r"\varphi(x)\to\varphi(x)-a\quad\Longrightarrow\quad c\to c-a,\quad \|\varphi(x)-c\|\ \text{stays}",
            FeatureSpace.representable, translation, "" if linear else
            "the samples are not moved: K(x, z) is all that is known of φ",
        ),
        Step(
            "SVDD.20", "The one-class SVM",
            "Where all samples have one length in feature space, Σ α_i K(x_i, x_i) is a constant. What is left is the "
            "dual of a one-class SVM, in other units.",
            r"K(x,x)=\kappa\quad\Longrightarrow\quad \min_\alpha\ \alpha^{\top}Q\alpha-\kappa,\qquad f=\frac{2}{\nu S}"
            r"\,f_{\text{one-class}}",
            SVDD.equivalent_one_class, one_length, one_length_missing(problem),
        ),
    )  # fmt: skip


def centre(problem: SVDD) -> Step:
    """(SVDD.6): the step of all machines, with the letter of this one."""
    step = shared.stationarity_in_w("SVDD.6", problem, COEF)
    text = step.text.replace("over w", "over c").replace("the normal vector is a combination", "the centre is a mean")
    latex = r"\frac{\partial L}{\partial c}=0\quad\Longrightarrow\quad c=\sum_i\alpha_i\,\varphi(x_i)"
    return Step(
        step.tag, "Stationarity in c", text.replace(" w has", " c has"), latex, step.function, step.measure,
        general=step.general, construction=step.construction.replace("w is", "c is"),
    )  # fmt: skip


def one_length_missing(problem: SVDD) -> str:
    """Why (SVDD.20) says nothing for this problem, or ""."""
    try:
        check_constant_diagonal(problem)
    except UnsupportedError:
        return f"K(x, x) differs between the samples with {problem.kernel}: the two machines differ"
    return ""


def square(at: At) -> float:
    """R² = ‖c‖² + 2μ."""
    return 2.0 * (at.half_norm + at.b)


def distances(at: At) -> FloatArray:
    """‖φ(x_i) − c‖² = R² − f: (n,)."""
    return square(at) + 2.0 * (at.margin - at.f)


def ball(at: At) -> Sides:
    """The samples on the boundary are R away from the centre."""
    if not at.on_margin.any():
        raise NotMeasurable("no sample on the boundary, so that none shows how large the ball is")
    if at.is_linear:
        far = np.linalg.norm((at.X if isinstance(at.X, np.ndarray) else at.X.toarray())[at.on_margin] - at.w, axis=1)
    else:
        far = np.sqrt(np.maximum(distances(at)[at.on_margin], 0.0))
    stated = float(at.result.extras["radius"])  # (SVDD.1)
    of = "the mean distance of the boundary from the centre, and R"
    return Sides(float(far.mean()), "=", stated, of, max(stated, at.length))


def primal(at: At) -> tuple[Sides, ...]:
    """R² + Σ C_i ξ_i has the value claimed, and ‖φ(x_i) − c‖² ≤ R² + ξ_i, ξ_i ≥ 0."""
    radius, xi = float(at.result.extras["radius"]), 2.0 * at.xi
    value = float(radius * radius + at.C @ xi)  # (SVDD.2)
    of = "the primal's value at c, R and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *measures.feasible_primal(at))


def as_qp(at: At) -> Sides:
    """‖c‖² + 2μ = R²: the objective of the QP is that of (SVDD.2)."""
    radius = float(at.result.extras["radius"])
    if not at.is_linear:
        return Sides(square(at), "=", radius * radius, "‖c‖² + 2μ, and R²", at.size)
    norm = float(at.result.centre @ at.result.centre)  # in the caller's coordinates, where b is 2μ
    return Sides(norm + at.result.b, "=", radius * radius, "‖c‖² + 2μ, and R²", max(at.size, norm))


def lagrangian(at: At) -> Sides:
    """At the solution all penalties vanish: L(c, μ, ξ, α, η) = P(c, μ, ξ)."""
    value, xi = float(square(at) + 2.0 * at.C @ at.xi), 2.0 * at.xi
    L = value - float(at.alpha @ (2.0 * (at.f - at.margin) + xi) + at.eta @ xi)  # (SVDD.4)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def substitution(at: At) -> Sides:
    """L at c(α) = Σ α_i φ(x_i) is the dual's value at α, whatever μ and ξ are."""
    xi = 2.0 * at.xi
    value = float(2.0 * at.half_norm_of_alpha + 2.0 * at.b + at.C @ xi)
    L = value - float(at.alpha @ (2.0 * (at.u + at.b - at.margin) + xi) + at.eta @ xi)  # (SVDD.10)
    return Sides(L, "=", at.dual_value, "L at c(α), and the dual's value at α", at.size)  # (SVDD.10)


def radius_recovered(at: At) -> tuple[Sides, ...]:
    """μ is a weighted quantile, and R² = ‖c‖² + 2μ."""
    return (*enclosing.level_recovered(at), as_qp(at))


def strong_duality(at: At) -> Sides:
    """R² + Σ C_i ξ_i = Σ α_i K(x_i, x_i) − αᵀQα."""
    slack = np.maximum(2.0 * (at.margin - at.f), 0.0)
    P = float(square(at) + at.C @ slack)  # (SVDD.15)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (SVDD.15)


def by_differences(at: At) -> Sides:
    """f(x) = R² − ‖x − c‖² with c = Σ α_i x_i."""
    X = at.X if isinstance(at.X, np.ndarray) else at.X.toarray()
    radius = float(at.result.extras["radius"])
    stated = radius * radius - np.square(X - at.w_of_alpha).sum(axis=1)
    return worst(2.0 * (at.f - at.margin), "=", stated, "f of {i}, and R² − ‖x − c(α)‖²", at.level, at.say.sample)


def translation(at: At) -> Sides:
    """The centre over centred samples, moved back, is Σ α_i x_i over the samples as they are."""
    space = at.problem.space
    moved, own = space.moved(at.w), np.asarray(space.samples.weights(at.alpha))
    size = float(np.abs(own).max()) or at.length
    return worst(moved, "=", own, "entry {i} of c, moved back, and of Σ α_i x_i", size)


def one_length(at: At) -> Sides:
    """Σ α_i K(x_i, x_i) = κ, by 1ᵀα = 1."""
    diagonal = at.problem.space.gram.diagonal()
    return Sides(float(at.alpha @ diagonal), "=", float(diagonal[0]), "Σ α_i K(x_i, x_i), and κ", float(diagonal[0]))
