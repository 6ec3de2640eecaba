"""The steps of the hard margin (HARD.1) to (HARD.15)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation import measures, shared
from qpsvm.derivation.letters import Letters, share
from qpsvm.derivation.step import Step
from qpsvm.dual import hard
from qpsvm.problems import HardMargin, reading

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
            HardMargin._primal, primal,
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
            dual_feasibility, dual_feasibility,
        ),
        Step(
            "HARD.7", "Complementary slackness",
            "A sample beyond its margin has no price: only those on the margin, the support vectors, hold the "
            "hyperplane.",
            r"\alpha_i\bigl(y_i f(x_i)-1\bigr)=0",
            complementary_slackness, complementary_slackness,
        ),
        Step(
            "HARD.8", "Substitution",
            "Put w(α) and yᵀα = 0 into L: b drops out, half of the quadratic term cancels, and only kernel values are "
            "left.",
            r"L=\sum_i\alpha_i-\tfrac12\sum_{i,j}\alpha_i\alpha_j y_i y_j K(x_i,x_j)",
            substitution, substitution,
        ),
        Step(
            "HARD.9", "Dual",
            "The best lower bound, written as a minimisation. At its solution a projected gradient step goes nowhere.",
            shared.lines(
                r"\min_{\alpha}\ \tfrac12\alpha^{\top}Q\alpha-1^{\top}\alpha",
                r"\text{subject to}\ y^{\top}\alpha=0,\ \alpha\ge 0",
            ),
            HardMargin._dual, measures.dual_optimum,
        ),
        shared.weights_recovered("HARD.10"),
        Step(
            "HARD.11", "Recovering b",
            "On the margin y_i f(x_i) = 1, that is f(x_i) = y_i, so one such sample would give b. The mean over all of "
            "them is less sensitive to rounding.",
            shared.mean_over_margin(r"\alpha_i>0"),
            intercept_recovered, intercept_recovered,
        ),
        Step(
            "HARD.12", "Two kinds of samples",
            "Complementary slackness leaves two cases. The library tells them apart by comparing the slack with its "
            "multiplier, not by a cut like 1e-5.",
            r"\begin{align*}\alpha_i=0 &\;\Rightarrow\; y_i f(x_i)\ge 1\\ \alpha_i>0 &\;\Rightarrow\; y_i f(x_i)=1"
            r"\end{align*}",
            reading.kinds, measures.kinds_of_samples,
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
    )  # fmt: skip


def primal(at: At) -> float:
    """½‖w‖² has the value claimed, and y_i f(x_i) ≥ 1."""
    violation = np.maximum(1 - at.y * at.f, 0).max()
    return float(max(abs(at.half_norm - at.result.primal) / at.size, violation))


def lagrangian(at: At) -> float:
    """At the solution all penalties vanish: L(w, b, α) = ½‖w‖²."""
    L = at.half_norm - at.alpha @ (at.y * at.f - 1)
    return float(abs(L - at.half_norm) / at.size)


def dual_feasibility(at: At) -> float:
    """α_i ≥ 0."""
    return share(np.maximum(-at.alpha, 0).max(), at.largest)


def complementary_slackness(at: At) -> float:
    """α_i (y_i f(x_i) − 1) = 0, summed over the samples."""
    return float(np.abs(at.alpha * (at.y * at.f - 1)).sum() / at.size)


def substitution(at: At) -> float:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b is."""
    L = at.half_norm_of_alpha - at.alpha @ (at.y * (at.u + at.b) - 1)
    return float(abs(L + at.dual.objective(at.alpha)) / at.size)


def intercept_recovered(at: At) -> float:
    """b is the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over the samples with α_i > 0."""
    b = (at.y - at.u)[at.on_margin].mean()
    return float(abs(at.b - b) / (1 + abs(b)))


def strong_duality(at: At) -> float:
    """½‖w‖² = Σ α_i − ½‖w‖², hence ‖w‖² = Σ α_i."""
    value = abs(at.half_norm + at.dual.objective(at.alpha))
    return float(max(value, abs(2 * at.half_norm - at.alpha.sum())) / at.size)


def certificate(at: At) -> float:
    """‖w(α)‖²/(2δ²) = (1ᵀα)²/(2‖w(α)‖²) at the optimum, δ = (min₊ u − max₋ u)/2 > 0."""
    delta = (at.u[at.y > 0].min() - at.u[at.y < 0].max()) / 2
    if delta <= 0:
        return float("inf")  # w(α) separates nothing
    norm2 = 2 * at.half_norm_of_alpha
    above, below = norm2 / (2 * delta**2), at.alpha.sum() ** 2 / (2 * norm2)
    return float(abs(above - below) / above)  # rounding, and an α that is not feasible, can put `below` above
