"""The steps of the ν-SVR, (NUSVR.1) to (NUSVR.18)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.resources.communicator import quantile_interval
from qpsvm.bounds import levels
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared, two_sided
from qpsvm.machines import NuSVR

#: The upper bounds of α⁺_i and α⁻_i, and how far f may be from t, in front of a slack.
PRICES, WIDTH = ("C_i", "C_i"), r"\varepsilon+"
#: What the primal minimises.
COST = r"\tfrac12\|w\|^2+\nu\,\Sigma_C\,\varepsilon+\sum_i C_i(\xi_i+\xi^*_i)"

At = Letters[NuSVR]


def steps(problem: NuSVR) -> tuple[Step, ...]:
    """All steps, in order."""
    return (*_to_the_dual(problem), *_back(problem))


def _to_the_dual(problem: NuSVR) -> tuple[Step, ...]:
    above, below = (each.replace("{width}", WIDTH) for each in (two_sided.ABOVE, two_sided.BELOW))
    return (
        Step(
            "NUSVR.1", "Loss",
            "The half width ε of the tube is a variable, and costs as much as a share ν of all samples that miss it by "
            "a unit; Σ_C is the sum of all C_i. So ν says how many samples may lie outside, and the noise in the "
            "data how "
            "wide the tube is.",
            r"\min_{w,b,\varepsilon}\ \tfrac12\|w\|^2+\nu\,\Sigma_C\,\varepsilon+\sum_i C_i\max\bigl(0,\,|t_i-f(x_i)|"
            r"-\varepsilon\bigr)",
            loss, loss,
        ),
        Step(
            "NUSVR.2", "Primal",
            "The loss is the smallest ξ_i and ξ*_i above three linear functions, one for each side of f. ε < 0 would "
            "save "
            "νΣ_C a unit and cost Σ_C or more, so that ε ≥ 0 need not be asked for.",
            rf"\begin{{align*}}\min_{{w,b,\varepsilon,\xi,\xi^*}}\ &{COST}\\ \text{{subject to}}\ &t_i-f(x_i)\le "
            r"\varepsilon+\xi_i,\ \xi_i\ge 0\\ &f(x_i)-t_i\le \varepsilon+\xi^*_i,\ \xi^*_i\ge 0\end{align*}",
            NuSVR._record, two_sided.primal,
        ),
        Step(
            "NUSVR.3", "Lagrangian",
            "Every constraint gets a multiplier: α⁺_i above f, α⁻_i below it, and η_i, η*_i for the slacks. At the "
            "solution nothing is to be paid, so L is the primal value.",
            two_sided.lagrangian_latex(COST, WIDTH), two_sided.lagrangian, two_sided.lagrangian,
        ),
        shared.stationarity_in_w("NUSVR.4", problem, two_sided.BETA),
        two_sided.stationarity_in_b("NUSVR.5", problem),
        Step(
            "NUSVR.6", "Stationarity in ε",
            "ε enters the Lagrangian only through ε(ν ΣC_i − Σ α⁺_i − Σ α⁻_i), which has no minimum over ε unless the "
            "factor is zero. So ν is the total of the multipliers, as a share of what they are when all samples pull.",
            r"\frac{\partial L}{\partial\varepsilon}=0\quad\Longrightarrow\quad "
            r"1^{\top}(\alpha^++\alpha^-)=\nu\,\Sigma_C",
            NuSVR._record, stationarity_in_epsilon,
        ),
        shared.stationarity_in_xi("NUSVR.7", r"\eta_i=C_i-\alpha^+_i,\quad \eta^*_i=C_i-\alpha^-_i"),
        shared.dual_feasibility(
            "NUSVR.8", PRICES[0],
            r"\alpha^\pm_i\ge 0,\ \eta_i,\eta^*_i\ge 0\quad\Longrightarrow\quad 0\le\alpha^\pm_i\le C_i",
        ),
        two_sided.complementary_slackness("NUSVR.9", WIDTH, PRICES),
        Step(
            "NUSVR.10", "Substitution",
            "Put w(α), both equalities and η into L: b, ε, ξ and ξ* drop out, and with ε the price of the tube.",
            shared.algebra(
                rf"{COST}\\ &\quad-{above}\\ &\quad-{below}\\ &\quad-{two_sided.ETAS}",
                r"\tfrac12\|w\|^2-\sum_i\beta_i\langle w,\varphi(x_i)\rangle-b\,1^{\top}\beta\\ &\quad+t^{\top}\beta"
                r"+\varepsilon\bigl(\nu\,\Sigma_C-1^{\top}(\alpha^++\alpha^-)\bigr)",
                r"t^{\top}\beta-\tfrac12\sum_{i,j}\beta_i\beta_j K(x_i,x_j)",
            ),
            two_sided.substitution, two_sided.substitution,
        ),
        Step(
            "NUSVR.11", "Dual",
            "The best lower bound, written as a minimisation: 2n variables in a box, and two equalities. At its "
            "solution a projected gradient step goes nowhere.",
            shared.lines(
                r"\min_{\alpha^\pm}\ \tfrac12\beta^{\top}K\beta-t^{\top}\beta",
                r"\text{subject to}\ 1^{\top}\beta=0,\ 1^{\top}(\alpha^++\alpha^-)=\nu\,\Sigma_C,",
                r"\phantom{\text{subject to}\ }0\le\alpha^\pm_i\le C_i",
            ),
            NuSVR._record, measures.dual_optimum,
        ),
    )  # fmt: skip


def _back(problem: NuSVR) -> tuple[Step, ...]:
    return (
        shared.weights_recovered("NUSVR.12", problem, two_sided.BETA),
        Step(
            "NUSVR.13", "Recovering b and ε",
            "b + ε is the upper edge of the tube and b − ε the lower one, seen from u = Kβ. Each side has half of the "
            "mass, so that the primal splits into one problem for each edge, solved by a weighted quantile.",
            shared.lines(
                r"b+\varepsilon:\ \text{a weight}\ \tfrac{\nu}{2}\Sigma_C\ \text{of the}\ t_i-u_i\ \text{lies above}",
                r"b-\varepsilon:\ \text{a weight}\ \tfrac{\nu}{2}\Sigma_C\ \text{of them lies below}",
            ),
            levels._soft_interval, edges_recovered, general="LEVEL.3",
        ),
        shared.kinds_of_samples(
            "NUSVR.14", "",
            latex=r"\begin{align*}\alpha^+_i=\alpha^-_i=0 &\;\Rightarrow\; |t_i-f(x_i)|\le\varepsilon\\"
            r" 0<\alpha^\pm_i<C_i &\;\Rightarrow\; |t_i-f(x_i)|=\varepsilon\\"
            r" \alpha^\pm_i=C_i &\;\Rightarrow\; |t_i-f(x_i)|\ge\varepsilon\end{align*}",
        ),
        Step(
            "NUSVR.15", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            r"\tfrac12\|w\|^2+\nu\,\Sigma_C\,\varepsilon"
            r"+\sum_i C_i\max\bigl(0,\,|t_i-f(x_i)|-\varepsilon\bigr)=D(\alpha)",
            two_sided.strong_duality, two_sided.strong_duality,
        ),
        Step(
            "NUSVR.16", "What ν bounds",
            "A sample beyond the tube has α_i = C_i, so such samples weigh at most a share ν together. No sample "
            "inside has any α, so those on the edge and beyond weigh at least ν. The residual is by how much a bound "
            "fails.",
            r"\sum_{|t_i-f(x_i)|>\varepsilon}C_i\ \le\ \nu\,\Sigma_C\ \le\ \sum_{|t_i-f(x_i)|\ge\varepsilon}C_i",
            what_nu_bounds, what_nu_bounds,
        ),
        two_sided.linear_weights("NUSVR.17", problem),
        two_sided.weak_duality("NUSVR.18", problem, WIDTH, PRICES, r",\varepsilon"),
    )  # fmt: skip


def loss(at: At) -> Sides:
    """½‖w‖² + ν ΣC_i ε + Σ C_i max(0, |t_i − f(x_i)| − ε) has the value claimed."""
    C, epsilon = two_sided.prices(at), two_sided.width(at)
    beyond = np.maximum(np.abs(two_sided.targets(at) - at.values) - epsilon, 0.0)
    value = float(at.half_norm + at.problem.nu * C.sum() * epsilon + C @ beyond)  # (NUSVR.1)
    return Sides(value, "=", at.result.primal, "norm, tube and loss at w, b and ε, and the value claimed", at.size)


def stationarity_in_epsilon(at: At) -> Sides:
    """1ᵀ(α⁺ + α⁻) = ν ΣC_i."""
    mass = float(at.problem.nu * two_sided.prices(at).sum())
    return Sides(float(at.alpha.sum()), "=", mass, "1ᵀ(α⁺ + α⁻), and ν ΣC_i", mass)


def edges_recovered(at: At) -> tuple[Sides, ...]:
    """b + ε is the quantile of t − u that leaves half of the mass above, b − ε that which leaves it below."""
    C, left, epsilon = two_sided.prices(at), two_sided.targets(at) - at.u, two_sided.width(at)
    mass = 0.5 * at.problem.nu * float(C.sum())
    low, high = quantile_interval(left, C, mass)  # of the lower edge
    above, top = (-end for end in reversed(quantile_interval(-left, C, mass)))
    whole = at.problem.nu == 1.0  # where ε may be smaller than 0 at no price, it is 0
    lower, upper = at.b - epsilon, at.b + epsilon
    return (
        Sides(lower, "≥", min(low, above) if whole else low, "b − ε, and the lower end of its quantile", at.level),
        Sides(lower, "≤", max(high, top) if whole else high, "b − ε, and the upper end of its quantile", at.level),
        Sides(upper, "≥", min(low, above) if whole else above, "b + ε, and the lower end of its quantile", at.level),
        Sides(upper, "≤", max(high, top) if whole else top, "b + ε, and the upper end of its quantile", at.level),
    )


def what_nu_bounds(at: At) -> tuple[Sides, ...]:
    """The weight with |t − f| > ε is at most ν ΣC_i, the weight with |t − f| ≥ ε at least that."""
    C, epsilon, rounding = two_sided.prices(at), two_sided.width(at), two_sided.ROUNDING * at.level
    missed = np.abs(two_sided.targets(at) - at.values)
    mass = at.problem.nu * float(C.sum())
    beyond, outside = float(C[missed > epsilon + rounding].sum()), float(C[missed >= epsilon - rounding].sum())
    return (  # (NUSVR.16)
        Sides(beyond, "≤", mass, "the weight beyond the tube, and ν ΣC_i", mass),
        Sides(outside, "≥", mass, "the weight on the edge and beyond, and ν ΣC_i", mass),
    )
