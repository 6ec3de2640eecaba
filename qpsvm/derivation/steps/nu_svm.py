"""The steps of the ν-SVM, (NUSVM.1) to (NUSVM.19)."""

from __future__ import annotations

from qpsvm.base.resources.communicator import quantile_interval
from qpsvm.bounds import levels
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.latex import lines, numbered, step
from qpsvm.derivation.steps.shared import YF, Argument
from qpsvm.machines import NuSVM
from qpsvm.machines.nu_svm import largest_nu


def steps(problem: NuSVM) -> tuple[Step, ...]:
    """All steps, in order."""
    soft = Argument(
        problem, r"\sum_i a_i\xi_i", r"y_i f(x_i)\ge \rho-\xi_i,\ \xi_i\ge 0", rows=(rf"{YF}-\rho+ξ",), level=r"\rho",
        uppers=("a_i",), plus="", others=r",\rho", reward=r"-\nu\rho", equality=(r"1^{\top}\alpha=\nu", "1ᵀα = ν"),
        gone=r"+\rho\,(1^{\top}\alpha-\nu)",
    )  # fmt: skip
    return numbered(
        "NUSVM",
        soft.margin(),
        soft.primal(
            "The level ρ of the margin is a variable. −νρ rewards a high level, and the mean slack pays for it: a_i "
            "is 1/n, or sample i's share of all weights. ν balances the two in shares of samples, not in prices."
        ),
        soft.lagrangian(),
        soft.stationarity_in_w(),
        soft.stationarity_in_b(),
        soft.stationarity_in(
            "ρ", r"\rho", "ρ(Σ α_i − ν)", " So ν is the total of the multipliers.", measures.stationarity_in_rho
        ),
        soft.stationarity_in_xi(),
        soft.dual_feasibility(),
        soft.complementary_slackness(),
        soft.substitution("b, ρ and ξ drop out, and with them the linear term", "η = a − α"),
        soft.dual("the shortest way between two reduced convex hulls, one for each class"),
        soft.weights_recovered(),
        step(
            "Recovering b and ρ",
            "With s = ρ − b and t = ρ + b the primal splits into one problem for each class. Each is solved by a "
            "weighted quantile of u = K(α∘y).",
            lines(
                r"s=\rho-b=\operatorname{quantile}_{\nu/2}(u_i:y_i=+1)",
                r"t=\rho+b=\operatorname{quantile}_{\nu/2}(-u_i:y_i=-1)",
                r"\rho=\tfrac12(s+t),\quad b=\tfrac12(t-s)",
            ),
            levels._soft_interval, levels_recovered, general="LEVEL.3",
        ),
        soft.kinds_of_samples(),
        soft.strong_duality(),
        step(
            "How large ν may be", "The two equalities give each class half of ν, and no class can hold more than its "
            "weights.",
            lines(
                r"\sum_{y_i=+1}\alpha_i=\sum_{y_i=-1}\alpha_i=\frac{\nu}{2}",
                r"\nu\le\nu_{\max}=\frac{2\min(S_+,S_-)}{S}",
            ),
            largest_nu, half_in_each_class,
        ),
        soft.what_nu_bounds(
            rf"{YF}<\rho", r"\nu",
            "A sample behind the margin has α_i = a_i, so such samples weigh at most ν together. No α_i is larger than "
            "a_i, so the support vectors weigh at least ν together.",
        ),
        soft.linear_weights(),
        soft.weak_duality(),
    )  # fmt: skip


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


def half_in_each_class(at: At) -> tuple[Sides, ...]:
    """Each class holds ν/2, at most its weights."""
    nu, plus = at.problem.nu, at.y > 0
    return (
        Sides(float(at.alpha[plus].sum()), "=", nu / 2, "Σ α_i over the positive class, and ν/2", nu),
        Sides(float(at.alpha[~plus].sum()), "=", nu / 2, "Σ α_i over the negative class, and ν/2", nu),
        Sides(nu, "≤", at.problem.nu_max, "ν, and ν_max", nu),
    )
