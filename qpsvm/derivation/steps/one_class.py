"""The steps of the one-class SVM, (ONE.1) to (ONE.19)."""

from __future__ import annotations

import numpy as np

from qpsvm.bounds import levels
from qpsvm.bounds.zero_optimum import Vanishing
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps import novelty as enclosing
from qpsvm.derivation.steps import shared
from qpsvm.machines import OneClass

#: The upper bound of α_i, the coefficient of a sample in f, and what reaches the level 0.
UPPER, COEF, F = "s_i", r"\alpha_i", "f(x_i)"

At = Letters[OneClass]


def steps(problem: OneClass) -> tuple[Step, ...]:
    """All steps, in order."""
    return (
        Step(
            "ONE.1", "Plane",
            "The plane f = 0 is ρ/‖w‖ away from the origin. Samples on the boundary lie on it, so that this is how far "
            "they reach along w/‖w‖.",
            r"\operatorname{dist}\bigl(0,\{f=0\}\bigr)=\frac{\rho}{\|w\|}",
            plane, plane,
        ),
        Step(
            "ONE.2", "Primal",
            "−νSρ rewards a plane far from the origin, and a sample on the side of the origin pays for it. S "
            "is the sum "
            "of the weights, n without any: ν balances the two in shares of samples.",
            r"\begin{align*}\min_{w,\rho,\xi}\ &\tfrac12\|w\|^2-\nu S\rho+\sum_i s_i\xi_i\\ \text{subject to}\ &"
            r"\langle w,\varphi(x_i)\rangle\ge \rho-\xi_i,\ \xi_i\ge 0\end{align*}",
            OneClass._record, primal,
        ),
        Step(
            "ONE.3", "Lagrangian",
            "Every constraint gets a multiplier, α_i for the plane and η_i for ξ_i ≥ 0. At the solution "
            "nothing is to be "
            "paid, so L is the primal value.",
            r"\begin{align*}L={}&\tfrac12\|w\|^2-\nu S\rho+\sum_i s_i\xi_i\\ &-\sum_i\alpha_i\bigl(\langle w,"
            r"\varphi(x_i)\rangle-\rho+\xi_i\bigr)-\sum_i\eta_i\xi_i,\qquad \alpha,\eta\ge 0\end{align*}",
            lagrangian, lagrangian,
        ),
        shared.stationarity_in_w("ONE.4", problem, COEF),
        Step(
            "ONE.5", "Stationarity in ρ",
            "ρ enters the Lagrangian only through ρ(Σ α_i − νS), which has no minimum over ρ unless the "
            "factor is zero. "
            "So ν is the mean of the multipliers, in units of the weights.",
            r"\frac{\partial L}{\partial \rho}=0\quad\Longrightarrow\quad 1^{\top}\alpha=\sum_i\alpha_i=\nu S",
            OneClass._record, measures.stationarity_in_b,
        ),
        shared.stationarity_in_xi("ONE.6", r"\eta_i=s_i-\alpha_i"),
        shared.dual_feasibility("ONE.7", UPPER),
        shared.complementary_slackness("ONE.8", UPPER, F),
        Step(
            "ONE.9", "Substitution",
            "Put w(α), 1ᵀα = νS and η = s − α into L: ρ and ξ drop out, and with them everything that is linear in α.",
            shared.algebra(
                r"\tfrac12\|w\|^2-\nu S\rho+\sum_i s_i\xi_i\\ &\quad-\sum_i\alpha_i\bigl(\langle w,\varphi(x_i)\rangle"
                r"-\rho+\xi_i\bigr)-\sum_i(s_i-\alpha_i)\xi_i",
                r"\tfrac12\|w\|^2-\|w\|^2+\rho\,(1^{\top}\alpha-\nu S)",
                r"-\tfrac12\sum_{i,j}\alpha_i\alpha_j K(x_i,x_j)",
            ),
            substitution, substitution,
        ),
        Step(
            "ONE.10", "Dual",
            "The shortest vector in the reduced convex hull of the samples, in units of νS: where the plane "
            "touches the "
            "hull, it stands at right angles to that. At its solution a projected gradient step goes nowhere.",
            shared.lines(
                r"\min_{\alpha}\ \tfrac12\alpha^{\top}Q\alpha",
                r"\text{subject to}\ 1^{\top}\alpha=\nu S,\ 0\le\alpha_i\le s_i",
            ),
            OneClass._record, measures.dual_optimum,
        ),
        shared.weights_recovered("ONE.11", problem, f=shared.lines(
            r"f(x)=\langle w,\varphi(x)\rangle-\rho", r"\phantom{f(x)}=\sum_i\alpha_i K(x_i,x)-\rho"
        ), letters=("w", "ρ")),
        Step(
            "ONE.12", "Recovering ρ",
            "For a given w, only −νSρ and the slacks depend on ρ. The best ρ has a share ν of the weights below it: a "
            "weighted quantile of u = Kα.",
            shared.lines(
                r"\rho=\operatorname{quantile}_{\nu}(u_i;\,s_i),\quad u_i=\sum_j\alpha_j K(x_j,x_i)",
                r"0<\alpha_i<s_i\ \Rightarrow\ u_i=\rho",
            ),
            levels._soft_interval, enclosing.level_recovered, general="LEVEL.3",
        ),
        shared.kinds_of_samples("ONE.13", UPPER, "0", F),
        Step(
            "ONE.14", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            r"\tfrac12\|w\|^2-\nu S\rho+\sum_i s_i\xi_i=-\tfrac12\alpha^{\top}Q\alpha",
            strong_duality, strong_duality,
        ),
        enclosing.what_nu_bounds("ONE.15", "s_i", r"\nu S"),
        shared.linear_weights("ONE.16", problem, shared.lines(
            r"w=\sum_i\alpha_i x_i=X^{\top}\alpha", r"f(x)=w^{\top}x-\rho"
        ), "α_i"),
        shared.weak_duality("ONE.17", r"w,\rho,\xi", shared.slack_products(UPPER, F), enclosing.gap),
        Step(
            "ONE.18", "The origin among the samples",
            "w = 0 and ρ = 0 cost nothing, so the optimum, at w*, ρ* and ξ*, is never above 0. It is 0 where the "
            "reduced "
            "hull of the samples holds the origin, and no plane parts them.",
            r"P(0,0,0)=0\quad\Longrightarrow\quad -\tfrac12\alpha^{\top}Q\alpha\ \le\ P(w^*,\rho^*,\xi^*)\ \le\ 0",
            Vanishing.nothing, never_above_0, general="VANISH.1",
        ),
        Step(
            "ONE.19", "All of the weight: ν = 1",
            "The bounds then leave no choice, α = s. No sample need be inside, and ρ may be as large as it likes: what "
            "a larger ρ earns is what the slacks cost.",
            r"\nu=1\quad\Longrightarrow\quad \alpha=s,\quad \rho\ge\max_i u_i",
            levels._soft_interval, all_of_the_weight,
        ),
    )  # fmt: skip


def plane(at: At) -> Sides:
    """Along w/‖w‖ the samples on the boundary are ρ/‖w‖ away from the origin."""
    norm = float(np.sqrt(2.0 * at.half_norm))
    if not norm:
        raise NotMeasurable("w is 0: the origin is among the samples, and no plane parts them from it")
    if not at.on_margin.any():
        raise NotMeasurable("no sample on the boundary, so that none shows where the plane is")
    along_w = float((at.f - at.b)[at.on_margin].mean()) / norm
    stated = at.rho / norm  # (ONE.1)
    return Sides(along_w, "=", stated, "how far the boundary is along w, and ρ/‖w‖", max(abs(stated), at.level / norm))


def primal(at: At) -> tuple[Sides, ...]:
    """½‖w‖² − νSρ + Σ s_i ξ_i has the value claimed, and (w, ρ, ξ) satisfies f ≥ −ξ_i, ξ_i ≥ 0."""
    value = float(at.half_norm - at.svm.groups[0].total * at.rho + at.C @ at.xi)
    of = "the primal's value at w, ρ and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *measures.feasible_primal(at))


def lagrangian(at: At) -> Sides:
    """At the solution all penalties vanish: L(w, ρ, ξ, α, η) = P(w, ρ, ξ)."""
    value = float(at.half_norm - at.svm.groups[0].total * at.rho + at.C @ at.xi)
    L = value - float(at.alpha @ (at.f + at.xi) + at.eta @ at.xi)  # (ONE.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def substitution(at: At) -> Sides:
    """L at w(α) = Σ α_i φ(x_i) is the dual's value at α, whatever ρ and ξ are."""
    value = float(at.half_norm_of_alpha - at.svm.groups[0].total * at.rho + at.C @ at.xi)
    L = value - float(at.alpha @ (at.u - at.rho + at.xi) + at.eta @ at.xi)  # (ONE.9)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)  # (ONE.9)


def strong_duality(at: At) -> Sides:
    """½‖w‖² − νSρ + Σ s_i ξ_i = −½αᵀQα."""
    slack = np.maximum(-at.f, 0.0)
    P = float(at.half_norm - at.svm.groups[0].total * at.rho + at.C @ slack)  # (ONE.14)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (ONE.14)


def never_above_0(at: At) -> Sides:
    """P at the optimum is at most its value at w = 0, ρ = 0."""
    return Sides(at.primal_value, "≤", 0.0, "the primal's value, and that of w = 0, ρ = 0", at.size)


def all_of_the_weight(at: At) -> tuple[Sides, ...]:
    """α = s, and ρ is at least every u_i."""
    if at.problem.nu < 1.0:
        raise NotMeasurable(f"ν is {at.problem.nu:g}, so that there is a choice")
    rows = int(np.argmax(np.abs(at.alpha - at.C)))
    return (
        Sides(float(at.alpha[rows]), "=", float(at.C[rows]), f"α of {at.say.row(rows)}, and its weight", at.largest),
        Sides(at.rho, "≥", float(at.u.max()), "ρ, and the largest u", at.level),
    )
