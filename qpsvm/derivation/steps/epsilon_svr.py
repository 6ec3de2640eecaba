"""The steps of the ε-SVR, (ESVR.1) to (ESVR.16), for both losses."""

from __future__ import annotations

from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import two_sided
from qpsvm.derivation.steps.latex import cases, flat, lines, numbered
from qpsvm.derivation.steps.shared import NEEDS_NONE
from qpsvm.machines import EpsilonSVR


def steps(problem: EpsilonSVR) -> tuple[Step, ...]:
    """All steps, in order."""
    squared = problem.loss == "squared"
    tube = two_sided.argument(problem, r"\sum_i C_i(\xi_i+\xi^*_i)", ("C_i", "C_i"))
    if squared:
        tube = two_sided.argument(
            problem, r"\sum_i C_i(\xi_i^2+{\xi^*_i}^2)", ("C_i", "C_i"), priced=(),
            bend=r"\sum_i\tfrac{(\alpha^+_i)^2+(\alpha^-_i)^2}{4C_i}",
            bend_gap=r"\sum_i C_i\Bigl(\bigl(\xi_i-\tfrac{\alpha^+_i}{2C_i}\bigr)^2"
            r"+\bigl(\xi^*_i-\tfrac{\alpha^-_i}{2C_i}\bigr)^2\Bigr)",
        )  # fmt: skip
    below, (over, under) = ("", (r"-\xi_i", r"+\xi^*_i")) if squared else ("<C_i", ("", ""))
    return numbered(
        "ESVR",
        tube.loss(
            "What is within ε of its target is right, and costs nothing. What is further away pays C_i for each unit "
            "beyond ε" + (", squared." if squared else ", so that a single outlier pulls with a bounded force."),
            rf"\sum_i C_i\max\bigl(0,\,|t_i-f(x_i)|-\varepsilon\bigr){'^2' if squared else ''}",
        ),
        tube.primal(
            "The loss is the smallest ξ_i and ξ*_i above three linear functions: its kinks become linear constraints, "
            "one for each side of f."
        ),
        tube.lagrangian(
            two_sided.MULTIPLIERS,
            f"The rows get multipliers, α⁺_i above f, α⁻_i below. ξ ≥ 0 needs none: {NEEDS_NONE}." if squared else "",
        ),
        tube.stationarity_in_w(),
        tube.stationarity_in_b(),
        tube.stationarity_in_curved_xi(
            "The price of ξ_i grows with it, so that at the minimum α is the slope of the loss: a sample pulls the "
            "more, the further it is beyond the tube.",
            flat(r"\xi_i", r"\alpha^+_i=2C_i\xi_i,\quad \alpha^-_i=2C_i\xi^*_i"),
        ) if squared else tube.stationarity_in_xi(),
        tube.dual_feasibility(),
        tube.complementary_slackness(),
        tube.substitution(
            "half of each quadratic term cancels, and what is left of the slacks is a square of α",
            "ξ = α⁺/(2C), ξ* = α⁻/(2C)",
        ) if squared else tube.substitution(eta=two_sided.ETA),
        tube.dual("2n variables, but only β = α⁺ − α⁻ meets the kernel"),
        tube.weights_recovered(),
        tube.intercept_recovered(
            "Where α⁺_i or α⁻_i is positive, f is beyond the tube by the slack, which α gives. So every support vector "
            "gives b, and the mean over all of them is less sensitive to rounding."
            if squared else
            "On an edge of the tube f is known, so one sample there would give b. The mean over all of them is less "
            "sensitive to rounding. Where there are none, b is a weighted quantile: all b of its interval are as good.",
            lines(
                rf"0<\alpha^+_i{below}\ \Rightarrow\ b=t_i-\varepsilon{over}-u_i",
                rf"0<\alpha^-_i{below}\ \Rightarrow\ b=t_i+\varepsilon{under}-u_i",
                r"u_i=\sum_j\beta_j K(x_j,x_i)",
            ),
        ),
        tube.kinds_of_samples(
            cases((r"\alpha^+_i=\alpha^-_i=0", r"|t_i-f(x_i)|\le\varepsilon"),
                  (r"\alpha^\pm_i>0", r"|t_i-f(x_i)|=\varepsilon+\tfrac{\alpha^\pm_i}{2C_i}")),
            "Two kinds of samples",
            "Complementary slackness leaves two cases: inside the tube, and beyond it by as much as α says.",
        ) if squared else tube.kinds_of_samples(two_sided.KINDS),
        tube.strong_duality(),
        tube.linear_weights(),
        tube.weak_duality(),
    )  # fmt: skip
