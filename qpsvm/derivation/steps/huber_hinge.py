"""The steps of Huber's hinge, (HUBER.1) to (HUBER.17)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import cases, numbered, step
from qpsvm.derivation.steps.shared import NEEDS_NONE, YF, Argument
from qpsvm.machines import HuberHinge
from qpsvm.program import losses


def steps(problem: HuberHinge) -> tuple[Step, ...]:
    """All steps, in order."""
    curve = r"\tfrac{h\alpha_i}{C_i}"
    soft = Argument(
        problem, r"\sum_i C_i\Bigl(\frac{\xi_i^2}{2h}+\zeta_i\Bigr)",
        r"y_i f(x_i)\ge 1-\xi_i-\zeta_i,\ \xi_i,\zeta_i\ge 0", slacks=(r"\xi_i+\zeta_i",), priced=(r"\zeta_i",),
        quadratic=r"\tfrac12\alpha^{\top}(Q+D)\alpha", bend=r"\tfrac12\sum_i\frac{h\alpha_i^2}{C_i}", curve=curve,
        bend_gap=r"\sum_i\frac{C_i}{2h}\Bigl(\xi_i-\frac{h\alpha_i}{C_i}\Bigr)^2",
    )  # fmt: skip
    return numbered(
        "HUBER",
        soft.margin(),
        soft.primal(
            "Slack comes in two parts. ξ_i costs a square, and its last bit is cheaper than ζ_i until ξ_i = h; from "
            "there on ζ_i is the cheaper one."
        ),
        soft.lagrangian(
            first=f"The margin rows get multipliers α, and ζ_i ≥ 0 gets η_i. ξ_i ≥ 0 needs none: {NEEDS_NONE}."
        ),
        soft.stationarity_in_w(),
        soft.stationarity_in_b(),
        step(
            "Stationarity in ξ and ζ",
            "The last bit of ξ_i costs C_iξ_i/h, and the margin row pays α_i for it: α is the curved part of the slack "
            "in other units. ζ_i stands in two constraints, whose multipliers share its price.",
            r"\begin{align*}\frac{\partial L}{\partial \xi_i}=0&\;\Longrightarrow\;\xi_i=\frac{h\alpha_i}{C_i}\\ "
            r"\frac{\partial L}{\partial \zeta_i}=0&\;\Longrightarrow\;\eta_i=C_i-\alpha_i\end{align*}",
            stationarity_in_both_slacks,
        ),
        soft.dual_feasibility(),
        soft.complementary_slackness(),
        soft.substitution(
            "ζ drops out, half of each quadratic term cancels, and what is left of ξ is a square of α",
            "ξ = hα/C, η = C − α",
        ),
        soft.dual("the box of a C-SVM, and a square", r",\quad D_{ii}=\frac{h}{C_i}"),
        soft.weights_recovered(),
        soft.intercept_recovered(
            "Where α_i is between 0 and C_i, y_i f(x_i) is 1 less the slack, which α gives. One such sample would give "
            "b, and the mean over all of them is less sensitive to rounding."
        ),
        soft.kinds_of_samples(
            cases((r"\alpha_i=0", rf"{YF}\ge 1"), (r"0<\alpha_i<C_i", f"{YF}=1-{curve}"),
                  (r"\alpha_i=C_i", rf"{YF}\le 1-h")),
            text="Complementary slackness leaves three cases: beyond the margin, behind it by less than h, and behind "
            "it by more, where every sample pulls equally.",
        ),
        soft.strong_duality(),
        soft.linear_weights(),
        soft.weak_duality(),
        step(
            "Between hinge and squared hinge",
            "What a slack t ≥ 0 costs, ψ_i(t), lies between the price of the C-SVM less C_ih/2 and that price itself, "
            "and is never above that of a square: it is the square up to t = h. So a small h gives the C-SVM, and a "
            "large one the squared hinge with C_i/(2h).",
            r"C_i\Bigl(t-\frac h2\Bigr)\ \le\ \psi_i(t)\ \le\ \min\Bigl(C_it,\ \frac{C_i}{2h}t^2\Bigr)",
            losses.loss, between_the_hinges,
        ),
    )  # fmt: skip


def stationarity_in_both_slacks(at: At) -> tuple[Sides, ...]:
    """ξ_i = hα_i/C_i, for the part of the slack whose square is paid, and η_i = C_i − α_i."""
    return measures.stationarity_in_curved_xi(at), measures.stationarity_in_xi(at)  # (HUBER.6)


def between_the_hinges(at: At) -> tuple[Sides, ...]:
    """The price of all slack is between that of the hinges less Ch/2, and that of the hinges and of the squares."""
    if not at.xi.any():
        raise NotMeasurable("no sample has slack")
    paid, h, C = at.cost(at.xi), at.problem.width, at.C
    least = float(C @ np.maximum(at.xi - h / 2, 0.0))
    most = float(C @ np.minimum(at.xi, at.xi**2 / (2 * h)))  # (HUBER.17)
    return (
        Sides(paid, "≥", least, "the price of all slack, and of the hinges less Ch/2", at.size),
        Sides(paid, "≤", most, "the price of all slack, and the cheaper of hinges and squares", at.size),
        worst(at.xi, "≥", 0.0, "ξ of {i}, and 0", at.level, at.say.row),
    )
