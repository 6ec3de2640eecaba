"""The steps of the ν-SVM, (NUSVM.1) to (NUSVM.19)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.resources.communicator import quantile_interval
from qpsvm.bounds import certify, levels
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared
from qpsvm.machines import NuSVM
from qpsvm.machines.nu_svm import largest_nu

#: The upper bound of α_i, and the level of the margin.
UPPER, LEVEL = "a_i", r"\rho"
#: Share of ρ by which y f may be below it and still be on the margin: rounding.
ROUNDING = 1e-9

At = Letters[NuSVM]


def steps(problem: NuSVM) -> tuple[Step, ...]:
    """All steps, in order."""
    return (
        shared.margin("NUSVM.1", LEVEL),
        Step(
            "NUSVM.2", "Primal",
            "The level ρ of the margin is a variable. −νρ rewards a high level, and the mean slack pays for it: a_i "
            "is 1/n, or sample i's share of all weights. ν balances the two in shares of samples, not in prices.",
            r"\begin{align*}\min_{w,b,\rho,\xi}\ &\tfrac12\|w\|^2-\nu\rho+\sum_i a_i\xi_i\\ \text{subject to}\ &y_i "
            r"f(x_i)\ge \rho-\xi_i,\ \xi_i\ge 0\end{align*}",
            NuSVM._record, primal,
        ),
        Step(
            "NUSVM.3", "Lagrangian",
            "Every constraint gets a multiplier, α_i for the margin and η_i for ξ_i ≥ 0. At the solution nothing is to "
            "be paid, so L is the primal value.",
            r"\begin{align*}L={}&\tfrac12\|w\|^2-\nu\rho+\sum_i a_i\xi_i\\ &-\sum_i\alpha_i\bigl(y_i f(x_i)-\rho+\xi_i"
            r"\bigr)\\ &-\sum_i\eta_i\xi_i,\qquad \alpha,\eta\ge 0\end{align*}",
            lagrangian, lagrangian,
        ),
        shared.stationarity_in_w("NUSVM.4", problem),
        shared.stationarity_in_b("NUSVM.5"),
        Step(
            "NUSVM.6", "Stationarity in ρ",
            "ρ enters the Lagrangian only through ρ(Σ α_i − ν), which has no minimum over ρ unless the factor is zero. "
            "So ν is the total of the multipliers.",
            r"\frac{\partial L}{\partial \rho}=0\quad\Longrightarrow\quad 1^{\top}\alpha=\sum_i\alpha_i=\nu",
            NuSVM._record, stationarity_in_rho,
        ),
        shared.stationarity_in_xi("NUSVM.7", r"\eta_i=a_i-\alpha_i"),
        shared.dual_feasibility("NUSVM.8", UPPER),
        shared.complementary_slackness("NUSVM.9", UPPER, rf"{shared.YF}-\rho"),
        Step(
            "NUSVM.10", "Substitution",
            "Put w(α), yᵀα = 0, 1ᵀα = ν and η = a − α into L: b, ρ and ξ drop out, and with them the linear term.",
            shared.algebra(
                r"\tfrac12\|w\|^2-\nu\rho+\sum_i a_i\xi_i\\ &\quad-\sum_i\alpha_i\bigl(y_i f(x_i)-\rho+\xi_i\bigr)"
                r"-\sum_i(a_i-\alpha_i)\xi_i",
                r"\tfrac12\|w\|^2-\sum_i\alpha_i y_i\langle w,\varphi(x_i)\rangle\\ &\quad-b\,y^{\top}\alpha"
                r"+\rho\,(1^{\top}\alpha-\nu)",
                r"\tfrac12\|w\|^2-\|w\|^2-0+0",
                r"-\tfrac12\sum_{i,j}\alpha_i\alpha_j y_i y_j K(x_i,x_j)",
            ),
            substitution, substitution,
        ),
        Step(
            "NUSVM.11", "Dual",
            "The shortest way between two reduced convex hulls, one for each class. At its solution a projected "
            "gradient step goes nowhere.",
            shared.lines(
                r"\min_{\alpha}\ \tfrac12\alpha^{\top}Q\alpha",
                r"\text{subject to}\ y^{\top}\alpha=0,\ 1^{\top}\alpha=\nu,\ 0\le\alpha_i\le a_i",
            ),
            NuSVM._record, measures.dual_optimum,
        ),
        shared.weights_recovered("NUSVM.12", problem),
        Step(
            "NUSVM.13", "Recovering b and ρ",
            "With s = ρ − b and t = ρ + b the primal splits into one problem for each class. Each is solved by a "
            "weighted quantile of u = K(α∘y).",
            shared.lines(
                r"s=\rho-b=\operatorname{quantile}_{\nu/2}(u_i:y_i=+1)",
                r"t=\rho+b=\operatorname{quantile}_{\nu/2}(-u_i:y_i=-1)",
                r"\rho=\tfrac12(s+t),\quad b=\tfrac12(t-s)",
            ),
            levels._soft_interval, levels_recovered,
        ),
        shared.kinds_of_samples("NUSVM.14", UPPER, LEVEL),
        Step(
            "NUSVM.15", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            r"\tfrac12\|w\|^2-\nu\rho+\sum_i a_i\xi_i=-\tfrac12\alpha^{\top}Q\alpha",
            strong_duality, strong_duality,
        ),
        Step(
            "NUSVM.16", "How large ν may be",
            "The two equalities give each class half of ν, and no class can hold more than its weights.",
            shared.lines(
                r"\sum_{y_i=+1}\alpha_i=\sum_{y_i=-1}\alpha_i=\frac{\nu}{2}",
                r"\nu\le\nu_{\max}=\frac{2\min(S_+,S_-)}{S}",
            ),
            largest_nu, half_in_each_class,
        ),
        Step(
            "NUSVM.17", "What ν bounds",
            "A sample behind the margin has α_i = a_i, so such samples weigh at most ν together. No α_i is larger than "
            "a_i, so the support vectors weigh at least ν together. The residual is by how much a bound fails.",
            r"\sum_{y_i f(x_i)<\rho}a_i\ \le\ \nu\ \le\ \sum_{\alpha_i>0}a_i",
            what_nu_bounds, what_nu_bounds,
        ),
        shared.linear_weights("NUSVM.18", problem),
        shared.weak_duality(
            "NUSVM.19", r"w,b,\rho,\xi", shared.slack_products(UPPER, rf"{shared.YF}-\rho"), certify._measured
        ),
    )  # fmt: skip


def primal(at: At) -> tuple[Sides, ...]:
    """½‖w‖² − νρ + Σ a_i ξ_i has the value claimed, and (w, b, ρ, ξ) satisfies y_i f(x_i) ≥ ρ − ξ_i, ξ_i ≥ 0."""
    value = float(at.half_norm - at.problem.nu * at.rho + at.C @ at.xi)
    of = "the primal's value at w, b, ρ and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *measures.feasible_primal(at))


def lagrangian(at: At) -> Sides:
    """At the solution all penalties vanish: L(w, b, ρ, ξ, α, η) = P(w, ρ, ξ)."""
    value = float(at.half_norm - at.problem.nu * at.rho + at.C @ at.xi)
    L = value - float(at.alpha @ (at.y * at.f - at.rho + at.xi) + at.eta @ at.xi)  # (NUSVM.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def stationarity_in_rho(at: At) -> Sides:
    """1ᵀα = ν."""
    return Sides(float(at.alpha.sum()), "=", at.problem.nu, "1ᵀα, and ν", at.problem.nu)


def substitution(at: At) -> Sides:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b, ρ and ξ are."""
    f = at.u + at.b
    value = float(at.half_norm_of_alpha - at.problem.nu * at.rho + at.C @ at.xi)
    L = value - float(at.alpha @ (at.y * f - at.rho + at.xi) + at.eta @ at.xi)  # (NUSVM.10)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)  # (NUSVM.10)


def levels_recovered(at: At) -> tuple[Sides, ...]:
    """ρ − b is the quantile of u over the positive class at level ν/2, ρ + b that of −u over the negative one."""
    positive, level = at.y > 0, at.problem.nu / 2
    s_low, s_high = quantile_interval(at.u[positive], at.C[positive], level)
    t_low, t_high = quantile_interval(-at.u[~positive], at.C[~positive], level)
    s, t = at.rho - at.b, at.rho + at.b
    return (
        Sides(s, "≥", s_low, "ρ − b, and the lower end of the quantile of u, positive class", at.level),
        Sides(s, "≤", s_high, "ρ − b, and the upper end of the quantile of u, positive class", at.level),
        Sides(t, "≥", t_low, "ρ + b, and the lower end of the quantile of −u, negative class", at.level),
        Sides(t, "≤", t_high, "ρ + b, and the upper end of the quantile of −u, negative class", at.level),
    )


def strong_duality(at: At) -> Sides:
    """½‖w‖² − νρ + Σ a_i ξ_i = −½αᵀQα."""
    P = float(at.half_norm - at.problem.nu * at.rho + at.C @ np.maximum(at.rho - at.y * at.f, 0))  # (NUSVM.15)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (NUSVM.15)


def half_in_each_class(at: At) -> tuple[Sides, ...]:
    """Each class holds ν/2, at most its weights."""
    nu, plus = at.problem.nu, at.y > 0
    return (
        Sides(float(at.alpha[plus].sum()), "=", nu / 2, "Σ α_i over the positive class, and ν/2", nu),
        Sides(float(at.alpha[~plus].sum()), "=", nu / 2, "Σ α_i over the negative class, and ν/2", nu),
        Sides(nu, "≤", at.problem.nu_max, "ν, and ν_max", nu),
    )


def what_nu_bounds(at: At) -> tuple[Sides, ...]:
    """The weight with y f < ρ is at most ν, the weight that supports at least ν."""
    nu = at.problem.nu
    behind = float(at.C[at.y * at.f < at.rho - ROUNDING * at.level].sum())
    supporting = float(at.C[at.alpha > 0].sum())
    return (  # (NUSVM.17)
        Sides(behind, "≤", nu, "the weight behind the margin, and ν", nu),
        Sides(supporting, "≥", nu, "the weight of the support vectors, and ν", nu),
    )
