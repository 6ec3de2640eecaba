"""The steps of ranking, (RANK.1) to (RANK.15)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import lines, numbered, step
from qpsvm.derivation.steps.shared import Argument
from qpsvm.machines import Ranking
from qpsvm.space.kernels.feature_map import FeatureMap

#: What is to be 1.
APART = "f(x_i)-f(x_j)"


def steps(problem: Ranking) -> tuple[Step, ...]:
    """All steps, in order."""
    order = Argument(
        problem, r"\sum_k C_k\xi_k", rf"{APART}\ge 1-\xi_k,\ \xi_k\ge 0", rows=(f"{APART}-1+ξ",), row="k",
        reach=APART, alphas=(r"\alpha_k",), slacks=(r"\xi_k",), etas=(r"\eta_k",), uppers=("C_k",),
        plus=r"\sum_k\alpha_k", quadratic=r"\tfrac12\,\alpha^{\top}AKA^{\top}\alpha", coef=r"\beta_i", coef_words="β_i",
        double=r"\tfrac12\sum_{i,j}\beta_i\beta_j", matrix=r"X^{\top}A^{\top}\alpha",
    )  # fmt: skip
    return numbered(
        "RANK",
        step(
            "Order",
            "A step of length t along w/‖w‖ changes f by t‖w‖. So a pair whose scores are 1 apart is 1/‖w‖ apart along "
            "w: this is the margin. It is measured at the pairs that are just in order.",
            r"\xi_k=0\ \Rightarrow\ \frac{\langle w,\,\varphi(x_i)-\varphi(x_j)\rangle}{\|w\|}"
            r"=\frac{f(x_i)-f(x_j)}{\|w\|}\ \ge\ \frac{1}{\|w\|}",
            apart_along_w,
        ),
        order.primal(
            "Pairs far apart are weighed against slack. ξ_k is what is missing to 1 in pair k, and C_k is the price of "
            "a unit of it."
        ),
        order.lagrangian("α_k for the order of a pair and η_k for ξ_k ≥ 0"),
        step(
            "Stationarity in w",
            "At a minimum over w the Lagrangian is flat: w is a combination of differences. Sample by sample it is "
            "what it wins as the better one less what it loses as the worse one.",
            lines(
                r"\frac{\partial L}{\partial w}=0\ \Longrightarrow\ w=\sum_k\alpha_k\bigl(\varphi(x_i)-\varphi(x_j)"
                r"\bigr)",
                r"\phantom{\frac{\partial L}{\partial w}=0\ \Longrightarrow\ w}=\sum_i\beta_i\,\varphi(x_i),\quad "
                r"\beta=A^{\top}\alpha",
            ),
            Ranking._record, stationarity_in_w,
            construction="" if problem.space.is_linear else "f is made of α, and w is never written down",
        ),
        order.stationarity_in_xi(),
        order.dual_feasibility(),
        order.complementary_slackness(),
        order.substitution("ξ drops out, half of the quadratic term cancels, and only kernel values are left"),
        order.dual("a variable for each pair, in a box, and no equality"),
        step(
            "Recovering f",
            "Put the stationarity in w into f: products of features are kernel values, so β is all that a score "
            "needs. What one sample wins another one loses, so β adds up to 0.",
            lines(r"f(x)=\langle w,\varphi(x)\rangle=\sum_i\beta_i K(x_i,x)", r"\sum_i\beta_i=0"),
            Ranking._record, f_recovered,
            construction="" if problem.space.is_linear else "the decision function is this sum",
        ),
        order.kinds_of_samples(),
        order.strong_duality("pairs"),
        order.linear_weights(),
        order.weak_duality(),
        step(
            "The same as a C-SVM of differences",
            "A difference is a sample of class +1, and a hyperplane through the origin is to have all of them on one "
            "side. Turned round it is a sample of class −1. Both say the same, and so does the value.",
            lines(
                r"z_k=\varphi(x_i)-\varphi(x_j),\quad y_k=+1",
                r"\min_{w,\xi}\ \tfrac12\|w\|^2+\sum_k C_k\xi_k",
                r"\text{subject to}\ y_k\langle w,z_k\rangle\ge 1-\xi_k",
            ),
            Ranking._record, svm_of_differences,
        ),
    )  # fmt: skip


def apart_along_w(at: At) -> Sides:
    """Along w/‖w‖, the two samples of a pair that is just in order are 1/‖w‖ apart."""
    edge = at.on_margin
    if not edge.any():
        raise NotMeasurable("no pair is just in order: every one is apart by more than 1, or by less")
    norm = np.sqrt(2 * at.half_norm)
    stated = 1 / norm  # (RANK.1)
    of = "the way between the samples of pair {i} along w, and 1/‖w‖"
    places = np.flatnonzero(edge)
    return worst(at.f[edge] / norm, "=", stated, of, stated, lambda k: str(places[k]))


def stationarity_in_w(at: At) -> Sides:
    """w = Σ α_k (φ(x_i) − φ(x_j)): summed pair by pair for a linear kernel, else by the products with every φ(x_i)."""
    if not at.is_linear:
        return measures.stationarity_in_w(at)
    pairs = at.problem.pairs[at.problem.in_dual]
    kernel = at.problem.kernel
    X = kernel.features(at.problem.X) if isinstance(kernel, FeatureMap) else at.problem.X
    difference = X[pairs[:, 0]] - X[pairs[:, 1]]
    stated = difference.T @ at.alpha  # (RANK.4)
    of = "entry {i} of w, and of Σ α_k (x_i − x_j)"
    return worst(at.w, "=", stated, of, size_of(at.w, at.terms_of_w))


def f_recovered(at: At) -> tuple[Sides, ...]:
    """f(x) = Σ β_i K(x_i, x), and Σ β_i = 0."""
    surplus = float(at.beta.sum())
    return (
        measures.decision_function_recovered(at),  # (RANK.10)
        Sides(surplus, "=", 0.0, "Σ β_i, and 0", at.total),
    )


def svm_of_differences(at: At) -> Sides:
    """The loss of a C-SVM without intercept over the differences z_k, all of class +1, is that of the pairs."""
    pairs = at.problem.pairs[at.problem.in_dual]
    place = np.cumsum(at.problem.sample_weight > 0) - 1
    values = at.values[place[pairs]]
    loss = at.C @ np.maximum(1.0 - (values[:, 0] - values[:, 1]), 0.0)
    P = float(at.half_norm + loss)  # (RANK.15)
    return Sides(P, "=", at.result.primal, "the value of the C-SVM over differences, and the value claimed", at.size)
