"""The steps of the quantile SVR, (QSVR.1) to (QSVR.17)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared, two_sided
from qpsvm.derivation.terms import Terms
from qpsvm.machines import QuantileSVR

#: The upper bounds of α⁺_i and α⁻_i. The tube has no width.
PRICES, WIDTH = (r"\tau C_i", r"(1-\tau)C_i"), ""

At = Letters[QuantileSVR]


def steps(problem: QuantileSVR) -> tuple[Step, ...]:
    """All steps, in order."""
    return (*_to_the_dual(problem), *_back(problem))


def _cost(t: Terms) -> str:
    """LaTeX of what the primal minimises."""
    return rf"\tfrac12{t.norm}+\sum_i C_i\bigl(\tau\xi_i+(1-\tau)\xi^*_i\bigr)"


def _to_the_dual(problem: QuantileSVR) -> tuple[Step, ...]:
    above, below = (each.replace("{width}", WIDTH) for each in (two_sided.ABOVE, two_sided.BELOW))
    t = two_sided.terms(problem)
    cost = _cost(t)
    return (
        Step(
            "QSVR.1", "Loss",
            "A number that is missed from below costs τ a unit, one that is missed from above 1 − τ. Where all x are "
            "the same, the mean of that loss is smallest at the τ-quantile of t, as the mean square is at the mean.",
            rf"\min_{{{t.over}}}\ \tfrac12{t.norm}+\sum_i C_i\max\bigl(\tau(t_i-f(x_i)),\,(1-\tau)(f(x_i)-t_i)\bigr)",
            loss, loss,
        ),
        Step(
            "QSVR.2", "Primal",
            "The maximum of two linear functions is the smallest number above both: its kink becomes two linear "
            "constraints, with a slack and a price for each side of f.",
            rf"\begin{{align*}}\min_{{{t.over},\xi,\xi^*}}\ &{cost}\\ \text{{subject to}}\ &t_i-f(x_i)\le \xi_i,\ "
            rf"\xi_i\ge 0"
            r"\\ &f(x_i)-t_i\le \xi^*_i,\ \xi^*_i\ge 0\end{align*}",
            QuantileSVR._record, two_sided.primal,
        ),
        Step(
            "QSVR.3", "Lagrangian",
            "Every constraint gets a multiplier: α⁺_i above f, α⁻_i below it, and η_i, η*_i for the slacks. At the "
            "solution nothing is to be paid, so L is the primal value.",
            two_sided.lagrangian_latex(cost, WIDTH), two_sided.lagrangian, two_sided.lagrangian,
        ),
        shared.stationarity_in_w("QSVR.4", problem, two_sided.BETA),
        two_sided.stationarity_in_b("QSVR.5", problem),
        shared.stationarity_in_xi("QSVR.6", r"\eta_i=\tau C_i-\alpha^+_i,\quad \eta^*_i=(1-\tau)C_i-\alpha^-_i"),
        shared.dual_feasibility(
            "QSVR.7", PRICES[0],
            shared.lines(
                r"\alpha^\pm_i\ge 0,\quad \eta_i,\eta^*_i\ge 0",
                r"\Longrightarrow\quad 0\le\alpha^+_i\le\tau C_i,\quad 0\le\alpha^-_i\le(1-\tau)C_i",
            ),
        ),
        two_sided.complementary_slackness("QSVR.8", WIDTH, PRICES),
        Step(
            "QSVR.9", "Substitution",
            f"Put w(α){t.puts('1ᵀβ')} and both η into L: what {t.b_and}the slacks added cancels, half of the "
            f"quadratic term cancels, and only "
            "kernel values are left.",
            shared.algebra(
                rf"{cost}\\ &\quad-{above}\\ &\quad-{below}\\ &\quad-{two_sided.ETAS}",
                rf"\tfrac12{t.norm}-\sum_i\beta_i\langle w,\varphi(x_i)\rangle{t.minus_b}+t^{{\top}}\beta",
                rf"t^{{\top}}\beta-\tfrac12\sum_{{i,j}}\beta_i\beta_j {t.kernel}",
            ),
            two_sided.substitution, two_sided.substitution,
        ),
        Step(
            "QSVR.10", "Dual",
            "The best lower bound, written as a minimisation. Only β meets the objective, so that it is a problem of n "
            "variables between −(1 − τ)C and τC. At its solution a projected gradient step goes nowhere.",
            shared.lines(
                rf"\min_{{\alpha^\pm}}\ \tfrac12\beta^{{\top}}K\beta{t.plus_square}-t^{{\top}}\beta",
                r"\text{subject to}\ 0\le\alpha^+_i\le\tau C_i,\ 0\le\alpha^-_i\le(1-\tau)C_i" + t.balanced,
            ),
            QuantileSVR._record, measures.dual_optimum,
        ),
    )  # fmt: skip


def _back(problem: QuantileSVR) -> tuple[Step, ...]:
    t = two_sided.terms(problem)
    return (
        shared.weights_recovered("QSVR.11", problem, two_sided.BETA),
        two_sided.intercept_step(
            "QSVR.12", problem,
            shared.lines(
                r"b=\frac{1}{|M|}\sum_{i\in M}(t_i-u_i),\quad u_i=\sum_j\beta_j K(x_j,x_i)",
                r"M=\{i:-(1-\tau)C_i<\beta_i<\tau C_i,\ \beta_i\ne 0\}",
            ),
            "On the curve f(x_i) = t_i, so one sample there would give b. The mean over all of them is less sensitive "
            "to rounding. Where there are none, b is the weighted τ-quantile of t − u: every b of its interval is as "
            "good.",
        ),
        shared.kinds_of_samples(
            "QSVR.13", "",
            latex=r"\begin{align*}-(1-\tau)C_i<\beta_i<\tau C_i &\;\Rightarrow\; t_i=f(x_i)\\"
            r" \beta_i=\tau C_i &\;\Rightarrow\; t_i\ge f(x_i)\\"
            r" \beta_i=-(1-\tau)C_i &\;\Rightarrow\; t_i\le f(x_i)\end{align*}",
        ),
        Step(
            "QSVR.14", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            rf"{_cost(t)}=t^{{\top}}\beta-\tfrac12\beta^{{\top}}K\beta{t.minus_square}",
            two_sided.strong_duality, two_sided.strong_duality,
        ),
        Step(
            "QSVR.15", "What τ bounds",
            "A sample above the curve has β_i = τC_i, one below it −(1 − τ)C_i, and all β_i add up to 0. So at most a "
            "share τ lies below f and at most 1 − τ above, which makes f a quantile of the training samples. The "
            "residual is by how much a bound fails.",
            shared.lines(
                r"\sum_{t_i<f(x_i)}C_i\ \le\ \tau\,\Sigma_C", r"\sum_{t_i>f(x_i)}C_i\ \le\ (1-\tau)\,\Sigma_C"
            ),
            what_tau_bounds, what_tau_bounds,
            "" if problem.intercept == "free" else f"intercept={problem.intercept!r}: without a free b, Σ β_i is not 0",
        ),
        two_sided.linear_weights("QSVR.16", problem),
        two_sided.weak_duality("QSVR.17", problem, WIDTH, PRICES),
    )  # fmt: skip


def loss(at: At) -> Sides:
    """½‖w‖² + Σ C_i max(τ(t_i − f(x_i)), (1 − τ)(f(x_i) − t_i)) has the value claimed."""
    (above, below), left = np.split(at.problem.svm.upper, 2), two_sided.targets(at) - at.values
    value = float(at.half_norm + np.maximum(above * left, -below * left).sum())  # (QSVR.1)
    return Sides(value, "=", at.result.primal, "norm and loss at w and b, and the value claimed", at.size)


def what_tau_bounds(at: At) -> tuple[Sides, ...]:
    """The weight with t < f is at most τ ΣC_i, that with t > f at most (1 − τ) ΣC_i."""
    above, below = np.split(at.problem.svm.upper, 2)
    left, rounding = two_sided.targets(at) - at.values, two_sided.ROUNDING * at.level
    C, tau = above + below, at.problem.quantile
    total = float(C.sum())
    return (  # (QSVR.15)
        Sides(float(C[left < -rounding].sum()), "≤", tau * total, "the weight below f, and τ ΣC_i", total),
        Sides(float(C[left > rounding].sum()), "≤", (1 - tau) * total, "the weight above f, and (1 − τ) ΣC_i", total),
    )
