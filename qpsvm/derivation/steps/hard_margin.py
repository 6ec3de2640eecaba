"""The steps of the hard margin (HARD.1) to (HARD.16)."""

from __future__ import annotations

import numpy as np

from qpsvm.bounds import hard_margin as hard
from qpsvm.bounds import repair
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps import shared
from qpsvm.machines import HardMargin
from qpsvm.machines.problem import judge
from qpsvm.program import losses

At = Letters[HardMargin]


def steps(problem: HardMargin) -> tuple[Step, ...]:
    """All steps, in order."""
    return (
        shared.margin("HARD.1"),
        Step(
            "HARD.2", "Primal",
            "Maximising 2/‖w‖ is minimising ½‖w‖², a convex function, under one linear constraint a sample. The "
            "levels ±1 fix the scale of w.",
            shared.lines(r"\min_{w,b}\ \tfrac12\|w\|^2", r"\text{subject to}\ y_i f(x_i)\ge 1"),
            HardMargin._record, primal,
        ),
        Step(
            "HARD.3", "Lagrangian",
            "Every constraint gets a multiplier, the price of a unit of it. At the solution nothing is to be paid, so "
            "L is the primal value.",
            r"L=\tfrac12\|w\|^2-\sum_i\alpha_i\bigl(y_i f(x_i)-1\bigr),\qquad \alpha\ge 0",
            lagrangian, lagrangian,
        ),
        shared.stationarity_in_w("HARD.4", problem),
        shared.stationarity_in_b("HARD.5"),
        Step(
            "HARD.6", "Dual feasibility",
            "Multipliers of inequalities are not negative. Nothing bounds them above: a constraint that must not be "
            "violated may cost any price.",
            r"\alpha_i\ge 0",
            repair.boxed, dual_feasibility,
        ),
        Step(
            "HARD.7", "Complementary slackness",
            "A sample beyond its margin has no price: only those on the margin, the support vectors, hold the "
            "hyperplane.",
            r"\alpha_i\bigl(y_i f(x_i)-1\bigr)=0",
            losses.gap_term, complementary_slackness,
        ),
        Step(
            "HARD.8", "Substitution",
            "Put w(α) and yᵀα = 0 into L: b drops out, half of the quadratic term cancels, and only kernel values are "
            "left.",
            shared.algebra(
                r"\tfrac12\|w\|^2-\sum_i\alpha_i\bigl(y_i f(x_i)-1\bigr)",
                r"\tfrac12\|w\|^2-\sum_i\alpha_i y_i\langle w,\varphi(x_i)\rangle\\ &\quad"
                r"-b\,y^{\top}\alpha+\sum_i\alpha_i",
                r"\tfrac12\|w\|^2-\|w\|^2-0+\sum_i\alpha_i",
                r"\sum_i\alpha_i-\tfrac12\sum_{i,j}\alpha_i\alpha_j y_i y_j K(x_i,x_j)",
            ),
            substitution, substitution,
        ),
        Step(
            "HARD.9", "Dual",
            "The best lower bound, written as a minimisation. At its solution a projected gradient step goes nowhere.",
            shared.lines(
                r"\min_{\alpha}\ \tfrac12\alpha^{\top}Q\alpha-1^{\top}\alpha",
                r"\text{subject to}\ y^{\top}\alpha=0,\ \alpha\ge 0",
            ),
            HardMargin._record, measures.dual_optimum,
        ),
        shared.weights_recovered("HARD.10", problem),
        Step(
            "HARD.11", "Recovering b",
            "The plane is as far from the nearest sample of one class as from that of the other, with u = K(α∘y). Both "
            "are on the margin, where f(x_i) = y_i, so the mean of y_i − u_i over all such samples is the same b.",
            shared.lines(
                r"b=-\tfrac12\bigl(\min_{+}u+\max_{-}u\bigr)",
                r"\phantom{b}=\frac{1}{|M|}\sum_{i\in M}\Bigl(y_i-\sum_j\alpha_j y_j K(x_j,x_i)\Bigr)",
                r"M=\{i:\alpha_i>0\}",
            ),
            hard.hard_intercept, intercept_recovered,
        ),
        Step(
            "HARD.12", "Two kinds of samples",
            "Complementary slackness leaves two cases. The library tells them apart by comparing the slack with its "
            "multiplier, not by a cut like 1e-5.",
            r"\begin{align*}\alpha_i=0 &\;\Rightarrow\; y_i f(x_i)\ge 1\\ \alpha_i>0 &\;\Rightarrow\; y_i f(x_i)=1"
            r"\end{align*}",
            judge.split, measures.kinds_of_samples,
        ),
        Step(
            "HARD.13", "Strong duality",
            "Both optimal values are the same number. As ½αᵀQα = ½‖w‖², the sum of α gives the margin without w.",
            shared.lines(
                r"\tfrac12\|w\|^2=\sum_i\alpha_i-\tfrac12\|w\|^2",
                r"\Longrightarrow\quad\frac{2}{\|w\|}=\frac{2}{\sqrt{\sum_i\alpha_i}}",
            ),
            strong_duality, strong_duality,
        ),
        Step(
            "HARD.14", "Certificate",
            "A direction w(α) that separates the classes becomes feasible when it is divided by δ. A feasible α stays "
            "feasible when it is stretched, and the best factor is known. The two values that follow enclose the "
            "optimum.",
            shared.lines(
                r"\delta=\tfrac12\bigl(\min_{+}u-\max_{-}u\bigr)>0",
                r"\frac{(1^{\top}\alpha)^2}{2\|w(\alpha)\|^2}\le\tfrac12\|w^*\|^2\le\frac{\|w(\alpha)\|^2}{2\delta^2}",
            ),
            hard.stretched, certificate,
        ),
        shared.linear_weights("HARD.15", problem),
        shared.weak_duality(
            "HARD.16", "w,b", r"\tfrac12\|w-w(\alpha)\|^2+\sum_i\alpha_i\bigl(y_i f(x_i)-1\bigr)", hard.stretched
        ),
    )  # fmt: skip


def primal(at: At) -> tuple[Sides, ...]:
    """½‖w‖² has the value claimed, and y_i f(x_i) ≥ 1."""
    return (
        Sides(at.half_norm, "=", at.result.primal, "½‖w‖², and the value claimed", at.size),
        worst(at.y * at.f, "≥", 1.0, "y f of {i}, and 1", 1.0, at.say.row),
    )


def lagrangian(at: At) -> Sides:
    """At the solution all penalties vanish: L(w, b, α) = ½‖w‖²."""
    L = at.half_norm - float(at.alpha @ (at.y * at.f - 1))  # (HARD.3)
    return Sides(L, "=", at.half_norm, "L, and ½‖w‖²", at.size)


def dual_feasibility(at: At) -> Sides:
    """α_i ≥ 0."""
    return worst(at.alpha, "≥", 0.0, "α of {i}, and 0", at.largest, at.say.row)


def complementary_slackness(at: At) -> Sides:
    """α_i (y_i f(x_i) − 1) = 0, summed over the samples."""
    products = float(np.abs(at.alpha * (at.y * at.f - 1)).sum())
    return Sides(products, "=", 0.0, "all products, added up by size, and 0", at.size)


def substitution(at: At) -> Sides:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b is."""
    L = at.half_norm_of_alpha - float(at.alpha @ (at.y * (at.u + at.b) - 1))  # (HARD.8)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)  # (HARD.8)


def intercept_recovered(at: At) -> tuple[Sides, ...]:
    """b is the middle between the classes, and the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over those with α_i > 0."""
    middle = -float(at.u[at.y > 0].min() + at.u[at.y < 0].max()) / 2
    if not at.on_margin.any():
        raise NotMeasurable("no sample has α > 0")
    b = float((at.y - at.u)[at.on_margin].mean())
    return (
        Sides(at.b, "=", middle, "b, and −(min₊ u + max₋ u)/2", 1 + abs(b)),
        Sides(at.b, "=", b, "b, and the mean of y − u over the support vectors", 1 + abs(b)),
    )


def strong_duality(at: At) -> tuple[Sides, ...]:
    """½‖w‖² = Σ α_i − ½‖w‖², hence ‖w‖² = Σ α_i."""
    return (  # (HARD.13)
        Sides(at.half_norm, "=", at.dual_value, "½‖w‖², and the dual's value", at.size),
        Sides(2 * at.half_norm, "=", float(at.alpha.sum()), "‖w‖², and Σ α_i", at.size),
    )


def certificate(at: At) -> Sides:
    """‖w(α)‖²/(2δ²) = (1ᵀα)²/(2‖w(α)‖²) at the optimum, δ = (min₊ u − max₋ u)/2 > 0."""
    delta = (at.u[at.y > 0].min() - at.u[at.y < 0].max()) / 2
    norm2 = 2 * at.half_norm_of_alpha
    above = norm2 / (2 * delta**2) if delta > 0 else float("inf")  # w(α) separates nothing
    below = float(at.alpha.sum() ** 2 / (2 * norm2))
    of = "the upper value ‖w(α)‖²/(2δ²), and the lower (1ᵀα)²/(2‖w(α)‖²)"
    return Sides(above, "=", below, of, above if delta > 0 else below)
