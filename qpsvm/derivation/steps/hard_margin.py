"""The steps of the hard margin (HARD.1) to (HARD.16)."""

from __future__ import annotations

from dataclasses import replace

from qpsvm.bounds import certify
from qpsvm.bounds import hard_margin as hard
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import cases, lines, numbered, step
from qpsvm.derivation.steps.shared import YF, Argument
from qpsvm.machines import HardMargin
from qpsvm.program.losses import gap_term


def steps(problem: HardMargin) -> tuple[Step, ...]:
    """All steps, in order."""
    hull = Argument(problem, "", rf"{YF}\ge 1", rows=(f"{YF}-1",), slacks=(), etas=())
    return numbered(
        "HARD",
        hull.margin(),
        hull.primal(
            "Maximising 2/‖w‖ is minimising ½‖w‖², a convex function, under one linear constraint a sample. The "
            "levels ±1 fix the scale of w."
        ),
        hull.lagrangian(first="Every constraint gets a multiplier, the price of a unit of it."),
        hull.stationarity_in_w(),
        hull.stationarity_in_b(),
        replace(
            hull.dual_feasibility(),
            text="Multipliers of inequalities are not negative. Nothing bounds them above: a constraint that must not "
            "be violated may cost any price.",
        ),
        replace(
            hull.complementary_slackness(), function=gap_term,
            text="A sample beyond its margin has no price: only those on the margin, the support vectors, hold the "
            "hyperplane.",
        ),
        hull.substitution("b drops out, half of the quadratic term cancels, and only kernel values are left", ""),
        hull.dual("one variable a sample, and one equality"),
        hull.weights_recovered(),
        step(
            "Recovering b",
            "The plane is as far from the nearest sample of one class as from that of the other, with u = K(α∘y). Both "
            "are on the margin, where f(x_i) = y_i, so the mean of y_i − u_i over all such samples is the same b.",
            lines(
                r"b=-\tfrac12\bigl(\min_{+}u+\max_{-}u\bigr)",
                r"\phantom{b}=\frac{1}{|M|}\sum_{i\in M}\Bigl(y_i-\sum_j\alpha_j y_j K(x_j,x_i)\Bigr)",
                r"M=\{i:\alpha_i>0\}",
            ),
            hard.hard_intercept, intercept_recovered,
        ),
        hull.kinds_of_samples(
            cases((r"\alpha_i=0", rf"{YF}\ge 1"), (r"\alpha_i>0", f"{YF}=1")), "Two kinds of samples",
            "Complementary slackness leaves two cases. The library tells them apart by comparing the slack with its "
            "multiplier, not by a cut like 1e-5.",
        ),
        step(
            "Strong duality",
            "Both optimal values are the same number. As ½αᵀQα = ½‖w‖², the sum of α gives the margin without w.",
            lines(
                r"\tfrac12\|w\|^2=\sum_i\alpha_i-\tfrac12\|w\|^2",
                r"\Longrightarrow\quad\frac{2}{\|w\|}=\frac{2}{\sqrt{\sum_i\alpha_i}}",
            ),
            strong_duality,
        ),
        step(
            "Certificate",
            "A direction w(α) that separates the classes becomes feasible when it is divided by δ. A feasible α stays "
            "feasible when it is stretched, and the best factor is known. The two values that follow enclose the "
            "optimum.",
            lines(
                r"\delta=\tfrac12\bigl(\min_{+}u-\max_{-}u\bigr)>0",
                r"\frac{(1^{\top}\alpha)^2}{2\|w(\alpha)\|^2}\le\tfrac12\|w^*\|^2\le\frac{\|w(\alpha)\|^2}{2\delta^2}",
            ),
            certify._measure, certificate,
        ),
        hull.linear_weights(),
        hull.weak_duality(),
    )  # fmt: skip


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
    total = float(at.alpha.sum())  # (HARD.13)
    return measures.strong_duality(at), Sides(2 * at.half_norm, "=", total, "‖w‖², and Σ α_i", at.size)  # (HARD.13)


def certificate(at: At) -> Sides:
    """‖w(α)‖²/(2δ²) = (1ᵀα)²/(2‖w(α)‖²) at the optimum, δ = (min₊ u − max₋ u)/2 > 0."""
    delta = (at.u[at.y > 0].min() - at.u[at.y < 0].max()) / 2
    norm2 = 2 * at.half_norm_of_alpha
    above = norm2 / (2 * delta**2) if delta > 0 else float("inf")  # w(α) separates nothing
    below = float(at.alpha.sum() ** 2 / (2 * norm2))
    of = "the upper value ‖w(α)‖²/(2δ²), and the lower (1ᵀα)²/(2‖w(α)‖²)"
    return Sides(above, "=", below, of, above if delta > 0 else below)
