"""The steps of the quantile SVR, (QSVR.1) to (QSVR.17)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import two_sided
from qpsvm.derivation.steps.latex import cases, lines, numbered, step
from qpsvm.machines import QuantileSVR


def steps(problem: QuantileSVR) -> tuple[Step, ...]:
    """All steps, in order."""
    curve = two_sided.argument(
        problem, r"\sum_i C_i\bigl(\tau\xi_i+(1-\tau)\xi^*_i\bigr)", (r"\tau C_i", r"(1-\tau)C_i"), ""
    )
    return numbered(
        "QSVR",
        curve.loss(
            "A number that is missed from below costs τ a unit, one that is missed from above 1 − τ. Where all x are "
            "the same, the mean of that loss is smallest at the τ-quantile of t, as the mean square is at the mean.",
            r"\sum_i C_i\max\bigl(\tau(t_i-f(x_i)),\,(1-\tau)(f(x_i)-t_i)\bigr)",
        ),
        curve.primal(
            "The maximum of two linear functions is the smallest number above both: its kink becomes two linear "
            "constraints, with a slack and a price for each side of f."
        ),
        curve.lagrangian(two_sided.MULTIPLIERS),
        curve.stationarity_in_w(),
        curve.stationarity_in_b(),
        curve.stationarity_in_xi(),
        curve.dual_feasibility(),
        curve.complementary_slackness(),
        curve.substitution(eta=two_sided.ETA),
        curve.dual(
            "only β meets the objective, so that it is a problem of n variables between −(1 − τ)C and τC"
        ),
        curve.weights_recovered(),
        curve.intercept_recovered(
            "On the curve f(x_i) = t_i, so one sample there would give b. The mean over all of them is less sensitive "
            "to rounding. Where there are none, b is the weighted τ-quantile of t − u: every b of its interval is as "
            "good.",
            lines(
                r"b=\frac{1}{|M|}\sum_{i\in M}(t_i-u_i),\quad u_i=\sum_j\beta_j K(x_j,x_i)",
                r"M=\{i:-(1-\tau)C_i<\beta_i<\tau C_i,\ \beta_i\ne 0\}",
            ),
        ),
        curve.kinds_of_samples(
            cases((r"-(1-\tau)C_i<\beta_i<\tau C_i", "t_i=f(x_i)"), (r"\beta_i=\tau C_i", r"t_i\ge f(x_i)"),
                  (r"\beta_i=-(1-\tau)C_i", r"t_i\le f(x_i)"))
        ),
        curve.strong_duality(),
        step(
            "What τ bounds",
            "A sample above the curve has β_i = τC_i, one below it −(1 − τ)C_i, and all β_i add up to 0. So at most a "
            "share τ lies below f and at most 1 − τ above, which makes f a quantile of the training samples. The "
            "residual is by how much a bound fails.",
            lines(
                r"\sum_{t_i<f(x_i)}C_i\ \le\ \tau\,\Sigma_C", r"\sum_{t_i>f(x_i)}C_i\ \le\ (1-\tau)\,\Sigma_C"
            ),
            what_tau_bounds,
            absent="" if problem.intercept == "free" else
            f"intercept={problem.intercept!r}: without a free b, Σ β_i is not 0",
        ),
        curve.linear_weights(),
        curve.weak_duality(),
    )  # fmt: skip


def what_tau_bounds(at: At) -> tuple[Sides, ...]:
    """The weight with t < f is at most τ ΣC_i, that with t > f at most (1 − τ) ΣC_i."""
    above, below = np.split(at.problem.svm.upper, 2)
    left, rounding = two_sided.targets(at) - at.values, measures.ROUNDING * at.level
    C, tau = above + below, at.problem.quantile
    total = float(C.sum())
    return (  # (QSVR.15)
        Sides(float(C[left < -rounding].sum()), "≤", tau * total, "the weight below f, and τ ΣC_i", total),
        Sides(float(C[left > rounding].sum()), "≤", (1 - tau) * total, "the weight above f, and (1 − τ) ΣC_i", total),
    )
