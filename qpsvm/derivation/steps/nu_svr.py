"""The steps of the ν-SVR, (NUSVR.1) to (NUSVR.18)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.resources.communicator import quantile_interval
from qpsvm.bounds import levels
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import two_sided
from qpsvm.derivation.steps.latex import lines, numbered, step
from qpsvm.machines import NuSVR


def steps(problem: NuSVR) -> tuple[Step, ...]:
    """All steps, in order."""
    tube = two_sided.argument(
        problem, r"\sum_i C_i(\xi_i+\xi^*_i)", ("C_i", "C_i"), others=r",\varepsilon",
        reward=r"+\nu\,\Sigma_C\,\varepsilon",
        equality=(r"1^{\top}(\alpha^++\alpha^-)=\nu\,\Sigma_C", "1ᵀ(α⁺ + α⁻) = νΣ_C"),
        gone=r"+\varepsilon\bigl(\nu\,\Sigma_C-1^{\top}(\alpha^++\alpha^-)\bigr)",
    )  # fmt: skip
    return numbered(
        "NUSVR",
        tube.loss(
            "The half width ε of the tube is a variable, and costs as much as a share ν of all samples that miss it by "
            "a unit; Σ_C is the sum of all C_i. So ν says how many samples may lie outside, and the noise in the data "
            "how wide the tube is.",
            r"\sum_i C_i\max\bigl(0,\,|t_i-f(x_i)|-\varepsilon\bigr)",
        ),
        tube.primal(
            "The loss is the smallest ξ_i and ξ*_i above three linear functions, one for each side of f. ε < 0 would "
            "save νΣ_C a unit and cost Σ_C or more, so that ε ≥ 0 need not be asked for."
        ),
        tube.lagrangian(two_sided.MULTIPLIERS),
        tube.stationarity_in_w(),
        tube.stationarity_in_b(),
        tube.stationarity_in(
            "ε", r"\varepsilon", "ε(ν ΣC_i − Σ α⁺_i − Σ α⁻_i)",
            " So ν is the total of the multipliers, as a share of what they are when all samples pull.",
            measures.stationarity_in_rho,
        ),
        tube.stationarity_in_xi(),
        tube.dual_feasibility(),
        tube.complementary_slackness(),
        tube.substitution("b, ε, ξ and ξ* drop out, and with ε the price of the tube", two_sided.ETA),
        tube.dual("2n variables in a box, and two equalities"),
        tube.weights_recovered(),
        step(
            "Recovering b and ε",
            "b + ε is the upper edge of the tube and b − ε the lower one, seen from u = Kβ. Each side has half of the "
            "mass, so that the primal splits into one problem for each edge, solved by a weighted quantile.",
            lines(
                r"b+\varepsilon:\ \text{a weight}\ \tfrac{\nu}{2}\Sigma_C\ \text{of the}\ t_i-u_i\ \text{lies above}",
                r"b-\varepsilon:\ \text{a weight}\ \tfrac{\nu}{2}\Sigma_C\ \text{of them lies below}",
            ),
            levels._soft_interval, edges_recovered, general="LEVEL.3",
        ),
        tube.kinds_of_samples(two_sided.KINDS),
        tube.strong_duality(),
        step(
            "What ν bounds",
            "A sample beyond the tube has α_i = C_i, so such samples weigh at most a share ν together. No sample "
            "inside has any α, so those on the edge and beyond weigh at least ν. The residual is by how much a bound "
            "fails.",
            r"\sum_{|t_i-f(x_i)|>\varepsilon}C_i\ \le\ \nu\,\Sigma_C\ \le\ \sum_{|t_i-f(x_i)|\ge\varepsilon}C_i",
            what_nu_bounds,
        ),
        tube.linear_weights(),
        tube.weak_duality(),
    )  # fmt: skip


def edges_recovered(at: At) -> tuple[Sides, ...]:
    """b + ε is the quantile of t − u that leaves half of the mass above, b − ε that which leaves it below."""
    C, left, epsilon = two_sided.prices(at), two_sided.targets(at) - at.u, at.multipliers["epsilon"]
    mass = 0.5 * at.problem.nu * float(C.sum())
    low, high = quantile_interval(left, C, mass)  # of the lower edge, (NUSVR.13)
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
    C, epsilon, rounding = two_sided.prices(at), at.multipliers["epsilon"], measures.ROUNDING * at.level
    missed = np.abs(two_sided.targets(at) - at.values)
    mass = at.problem.nu * float(C.sum())
    beyond, outside = float(C[missed > epsilon + rounding].sum()), float(C[missed >= epsilon - rounding].sum())
    return (  # (NUSVR.16)
        Sides(beyond, "≤", mass, "the weight beyond the tube, and ν ΣC_i", mass),
        Sides(outside, "≥", mass, "the weight on the edge and beyond, and ν ΣC_i", mass),
    )
