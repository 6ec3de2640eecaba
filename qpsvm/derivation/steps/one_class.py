"""The steps of the one-class SVM, (ONE.1) to (ONE.19)."""

from __future__ import annotations

import numpy as np

from qpsvm.bounds import levels
from qpsvm.bounds.zero_optimum import Vanishing
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import lines, numbered, step
from qpsvm.derivation.steps.shared import Argument
from qpsvm.machines import OneClass

#: What both novelty detectors say of ν.
WHAT_NU_BOUNDS = (
    "A sample outside has its α_i at the bound, so such samples weigh at most a share ν together. No α_i is above its "
    "bound, so the support vectors weigh at least that share."
)


def steps(problem: OneClass) -> tuple[Step, ...]:
    """All steps, in order."""
    plane = Argument(
        problem, r"\sum_i s_i\xi_i", r"\langle w,\varphi(x_i)\rangle\ge \rho-\xi_i,\ \xi_i\ge 0",
        rows=(r"\langle w,\varphi(x_i)\rangle-\rho+ξ",), reach="f(x_i)", level="0", uppers=("s_i",), plus="",
        others=r",\rho", reward=r"-\nu S\rho", equality=(r"1^{\top}\alpha=\nu S", "1ᵀα = νS"),
        gone=r"+\rho\,(1^{\top}\alpha-\nu S)", double=r"\tfrac12\sum_{i,j}\alpha_i\alpha_j", coef=r"\alpha_i",
        coef_words="α_i", matrix=r"X^{\top}\alpha", b="ρ",
    )  # fmt: skip
    return numbered(
        "ONE",
        step(
            "Plane",
            "The plane f = 0 is ρ/‖w‖ away from the origin. Samples on the boundary lie on it, so that this is how far "
            "they reach along w/‖w‖.",
            r"\operatorname{dist}\bigl(0,\{f=0\}\bigr)=\frac{\rho}{\|w\|}",
            distance_of_plane,
        ),
        plane.primal(
            "−νSρ rewards a plane far from the origin, and a sample on the side of the origin pays for it. S is the "
            "sum of the weights, n without any: ν balances the two in shares of samples."
        ),
        plane.lagrangian("α_i for the plane and η_i for ξ_i ≥ 0"),
        plane.stationarity_in_w(),
        plane.stationarity_in(
            "ρ", r"\rho", "ρ(Σ α_i − νS)", " So ν is the mean of the multipliers, in units of the weights.",
            measures.stationarity_in_b,
        ),
        plane.stationarity_in_xi(),
        plane.dual_feasibility(),
        plane.complementary_slackness(),
        plane.substitution("ρ and ξ drop out, and with them everything that is linear in α", "η = s − α"),
        plane.dual(
            "the shortest vector in the reduced convex hull of the samples, in units of νS: where the plane touches "
            "the hull, it stands at right angles to that"
        ),
        plane.weights_recovered(
            lines(r"f(x)=\langle w,\varphi(x)\rangle-\rho", r"\phantom{f(x)}=\sum_i\alpha_i K(x_i,x)-\rho")
        ),
        step(
            "Recovering ρ",
            "For a given w, only −νSρ and the slacks depend on ρ. The best ρ has a share ν of the weights below it: a "
            "weighted quantile of u = Kα.",
            lines(
                r"\rho=\operatorname{quantile}_{\nu}(u_i;\,s_i),\quad u_i=\sum_j\alpha_j K(x_j,x_i)",
                r"0<\alpha_i<s_i\ \Rightarrow\ u_i=\rho",
            ),
            levels._soft_interval, measures.level_recovered, general="LEVEL.3",
        ),
        plane.kinds_of_samples(),
        plane.strong_duality(),
        plane.what_nu_bounds("f(x_i)<0", r"\nu S", WHAT_NU_BOUNDS),
        plane.linear_weights(r"-\rho"),
        plane.weak_duality(),
        step(
            "The origin among the samples",
            "w = 0 and ρ = 0 cost nothing, so the optimum, at w*, ρ* and ξ*, is never above 0. It is 0 where the "
            "reduced hull of the samples holds the origin, and no plane parts them.",
            r"P(0,0,0)=0\quad\Longrightarrow\quad -\tfrac12\alpha^{\top}Q\alpha\ \le\ P(w^*,\rho^*,\xi^*)\ \le\ 0",
            Vanishing.nothing, never_above_0, general="VANISH.1",
        ),
        step(
            "All of the weight: ν = 1",
            "The bounds then leave no choice, α = s. No sample need be inside, and ρ may be as large as it likes: what "
            "a larger ρ earns is what the slacks cost.",
            r"\nu=1\quad\Longrightarrow\quad \alpha=s,\quad \rho\ge\max_i u_i",
            levels._soft_interval, all_of_the_weight, general="LEVEL.3",
        ),
    )  # fmt: skip


def distance_of_plane(at: At) -> Sides:
    """Along w/‖w‖ the samples on the boundary are ρ/‖w‖ away from the origin."""
    norm = float(np.sqrt(2.0 * at.half_norm))
    if not norm:
        raise NotMeasurable("w is 0: the origin is among the samples, and no plane parts them from it")
    if not at.on_margin.any():
        raise NotMeasurable("no sample on the boundary, so that none shows where the plane is")
    along_w = float((at.f - at.b)[at.on_margin].mean()) / norm
    stated = at.rho / norm  # (ONE.1)
    return Sides(along_w, "=", stated, "how far the boundary is along w, and ρ/‖w‖", max(abs(stated), at.level / norm))


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
