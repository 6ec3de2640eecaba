"""The steps of the ε-SVR, (ESVR.1) to (ESVR.16), for both losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.derivation import measures
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared, two_sided
from qpsvm.derivation.terms import Terms
from qpsvm.machines import EpsilonSVR

#: The upper bounds of α⁺_i and α⁻_i.
PRICES = ("C_i", "C_i")
#: How far f may be from t, in front of a slack.
WIDTH = r"\varepsilon+"

At = Letters[EpsilonSVR]


def steps(problem: EpsilonSVR) -> tuple[Step, ...]:
    """All steps, in order."""
    squared = problem.loss == "squared"
    return (*_to_the_dual(problem, squared), *_back(problem, squared))


def _to_the_dual(problem: EpsilonSVR, squared: bool) -> tuple[Step, ...]:
    cost = r"\sum_i C_i(\xi_i^2+{\xi^*_i}^2)" if squared else r"\sum_i C_i(\xi_i+\xi^*_i)"
    prices = None if squared else PRICES
    power, t = "^2" if squared else "", two_sided.terms(problem)
    return (
        Step(
            "ESVR.1", "Loss",
            "What is within ε of its target is right, and costs nothing. What is further away pays C_i for each unit "
            "beyond ε" + (", squared." if squared else ", so that a single outlier pulls with a bounded force."),
            rf"\min_{{{t.over}}}\ \tfrac12{t.norm}+\sum_i C_i\max\bigl(0,\,|t_i-f(x_i)|-\varepsilon\bigr){power}",
            loss, loss,
        ),
        Step(
            "ESVR.2", "Primal",
            "The loss is the smallest ξ_i and ξ*_i above three linear functions: its kinks become linear constraints, "
            "one for each side of f.",
            rf"\begin{{align*}}\min_{{{t.over},\xi,\xi^*}}\ &\tfrac12{t.norm}+{cost}\\ \text{{subject to}}\ "
            rf"&t_i-f(x_i)\le "
            r"\varepsilon+\xi_i,\ \xi_i\ge 0\\ &f(x_i)-t_i\le \varepsilon+\xi^*_i,\ \xi^*_i\ge 0\end{align*}",
            EpsilonSVR._record, two_sided.primal,
        ),
        Step(
            "ESVR.3", "Lagrangian",
            "Every constraint gets a multiplier: α⁺_i above f, α⁻_i below it"
            + (". ξ² is never made smaller by a negative ξ, so that ξ ≥ 0 needs none." if squared else
               ", and η_i, η*_i for the slacks.")
            + " At the solution nothing is to be paid, so L is the primal value.",
            two_sided.lagrangian_latex(rf"\tfrac12{t.norm}+{cost}", WIDTH, not squared),
            two_sided.lagrangian, two_sided.lagrangian,
        ),
        shared.stationarity_in_w("ESVR.4", problem, two_sided.BETA),
        two_sided.stationarity_in_b("ESVR.5", problem),
        _stationarity_in_xi(squared),
        shared.dual_feasibility(
            "ESVR.7", "" if squared else PRICES[0], r"\alpha^\pm_i\ge 0" if squared else
            r"\alpha^\pm_i\ge 0,\ \eta_i,\eta^*_i\ge 0\quad\Longrightarrow\quad 0\le\alpha^\pm_i\le C_i",
        ),
        two_sided.complementary_slackness("ESVR.8", WIDTH, prices),
        _substitution(t, squared, cost),
        Step(
            "ESVR.10", "Dual",
            "The best lower bound, written as a minimisation: 2n variables, but only β = α⁺ − α⁻ meets the kernel. At "
            "its solution a projected gradient step goes nowhere.",
            shared.lines(
                rf"\min_{{\alpha^\pm}}\ \tfrac12\beta^{{\top}}K\beta{t.plus_square}-t^{{\top}}\beta",
                r"\quad+\varepsilon\,1^{\top}(\alpha^++\alpha^-)",
                *([r"\quad+\sum_i\tfrac{(\alpha^+_i)^2+(\alpha^-_i)^2}{4C_i}"] if squared else []),
                r"\text{subject to}\ " + (r"\alpha^\pm_i\ge 0" if squared else r"0\le\alpha^\pm_i\le C_i") + t.balanced,
            ),
            EpsilonSVR._record, measures.dual_optimum,
        ),
    )  # fmt: skip


def _stationarity_in_xi(squared: bool) -> Step:
    if not squared:
        return shared.stationarity_in_xi("ESVR.6", r"\eta_i=C_i-\alpha^+_i,\quad \eta^*_i=C_i-\alpha^-_i")
    return Step(
        "ESVR.6", "Stationarity in ξ",
        "The price of ξ_i grows with it, so that at the minimum α is the slope of the loss: a sample pulls the more, "
        "the further it is beyond the tube.",
        r"\frac{\partial L}{\partial \xi_i}=0\quad\Longrightarrow\quad \alpha^+_i=2C_i\xi_i,"
        r"\quad \alpha^-_i=2C_i\xi^*_i",
        slope, slope,
    )  # fmt: skip


def _substitution(t: Terms, squared: bool, cost: str) -> Step:
    bend = r"-\sum_i\tfrac{(\alpha^+_i)^2+(\alpha^-_i)^2}{4C_i}" if squared else ""
    above, below = (each.replace("{width}", WIDTH) for each in (two_sided.ABOVE, two_sided.BELOW))
    last = "" if squared else rf"\\ &\quad-{two_sided.ETAS}"
    return Step(
        "ESVR.9", "Substitution",
        f"Put w(α){t.puts('1ᵀβ')} and "
        + ("ξ = α⁺/(2C), ξ* = α⁻/(2C) into L: half of each quadratic term cancels, and what is left of the slacks is a "
           "square of α."
           if squared else
           f"what ξ gave into L: what {t.b_and}the slacks added cancels, half of the quadratic term cancels, and only "
           "kernel values are left."),
        shared.algebra(
            rf"\tfrac12{t.norm}+{cost}\\ &\quad-{above}\\ &\quad-{below}{last}",
            rf"\tfrac12{t.norm}-\sum_i\beta_i\langle w,\varphi(x_i)\rangle\\ &\quad{t.minus_b}"
            r"+t^{\top}\beta-\varepsilon\,1^{\top}(\alpha^++\alpha^-)" + bend,
            r"t^{\top}\beta-\varepsilon\,1^{\top}(\alpha^++\alpha^-)" + bend + r"\\ &\quad"
            rf"-\tfrac12\sum_{{i,j}}\beta_i\beta_j {t.kernel}",
        ),
        two_sided.substitution, two_sided.substitution,
    )  # fmt: skip


def _back(problem: EpsilonSVR, squared: bool) -> tuple[Step, ...]:
    prices = None if squared else PRICES
    slack, t = (r"-\xi_i", r"+\xi^*_i") if squared else ("", ""), two_sided.terms(problem)
    free = r"0<\alpha^{sign}_i" + ("" if squared else "<C_i")
    return (
        shared.weights_recovered("ESVR.11", problem, two_sided.BETA),
        two_sided.intercept_step(
            "ESVR.12", problem,
            shared.lines(
                rf"{free.format(sign='+')}\ \Rightarrow\ b=t_i-\varepsilon{slack[0]}-u_i",
                rf"{free.format(sign='-')}\ \Rightarrow\ b=t_i+\varepsilon{slack[1]}-u_i",
                r"u_i=\sum_j\beta_j K(x_j,x_i)",
            ),
            ("Where α⁺_i or α⁻_i is positive, f is beyond the tube by the slack, which α gives. So every support "
            "vector "
             "gives b, and the mean over all of them is less sensitive to rounding."
             if squared else
             "On an edge of the tube f is known, so one sample there would give b. The mean over all of them is less "
             "sensitive to rounding. Where there are none, b is a weighted quantile: every b of its interval is as "
             "good."),
        ),
        _kinds(squared),
        Step(
            "ESVR.14", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            "certifies how far the two values found are apart, as a sum over the samples.",
            rf"\tfrac12{t.norm}+\sum_i C_i\max\bigl(0,\,|t_i-f(x_i)|-\varepsilon\bigr)" + ("^2" if squared else "")
            + r"=D(\alpha)",
            two_sided.strong_duality, two_sided.strong_duality,
        ),
        two_sided.linear_weights("ESVR.15", problem),
        two_sided.weak_duality("ESVR.16", problem, WIDTH, prices),
    )  # fmt: skip


def _kinds(squared: bool) -> Step:
    if squared:
        latex = (
            r"\begin{align*}\alpha^+_i=\alpha^-_i=0 &\;\Rightarrow\; |t_i-f(x_i)|\le\varepsilon\\"
            r" \alpha^\pm_i>0 &\;\Rightarrow\; |t_i-f(x_i)|=\varepsilon+\tfrac{\alpha^\pm_i}{2C_i}\end{align*}"
        )
        step = shared.kinds_of_samples("ESVR.13", "", latex=latex)
        text = "Complementary slackness leaves two cases: inside the tube, and beyond it by as much as α says."
        return replace(step, title="Two kinds of samples", text=text)
    return shared.kinds_of_samples(
        "ESVR.13", "",
        latex=r"\begin{align*}\alpha^+_i=\alpha^-_i=0 &\;\Rightarrow\; |t_i-f(x_i)|\le\varepsilon\\"
        r" 0<\alpha^\pm_i<C_i &\;\Rightarrow\; |t_i-f(x_i)|=\varepsilon\\"
        r" \alpha^\pm_i=C_i &\;\Rightarrow\; |t_i-f(x_i)|\ge\varepsilon\end{align*}",
    )  # fmt: skip


def loss(at: At) -> Sides:
    """½‖w‖² + Σ C_i max(0, |t_i − f(x_i)| − ε), or with squares, has the value claimed."""
    beyond = np.maximum(np.abs(two_sided.targets(at) - at.values) - at.problem.epsilon, 0.0)
    price = two_sided.prices(at) @ (beyond**2 if at.problem.loss == "squared" else beyond)
    value = float(at.half_norm + price)  # (ESVR.1)
    return Sides(value, "=", at.result.primal, "norm and loss at w and b, and the value claimed", at.size)


def slope(at: At) -> Sides:
    """α⁺_i = 2C_i ξ_i and α⁻_i = 2C_i ξ*_i, for the squared loss."""
    C = np.tile(two_sided.prices(at), 2)
    return measures.slope_of_square(at, 2.0 * C * at.xi)  # (ESVR.6)
