"""Residuals that several machines share: each is its equation, written in NumPy, relative to the size of its terms.

A residual is a size, so it is never negative. Rounding may make either side of an equation the larger one, so their
difference is taken absolutely. What it is divided by is a size as well.

Letters are those of `letters`. `at` stands for "at the solution".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.derivation.letters import Letters, relative, share
from qpsvm.derivation.step import NotMeasurable
from qpsvm.dual.certificate import hinge_intercepts
from qpsvm.qp import kkt

# --- margin -----------------------------------------------------------------------------------------------------------


def margin_width(at: Letters[Any]) -> float:
    """Along w/‖w‖, the margin vectors of the two classes are 2ρ/‖w‖ apart."""
    plus, minus = at.on_margin & (at.y > 0), at.on_margin & (at.y < 0)
    if not (plus.any() and minus.any()):
        raise NotMeasurable("no margin vectors in one of the classes, so no two hyperplanes are touched")
    if at.level != at.rho:
        raise NotMeasurable("ρ is 0: the reduced convex hulls meet, w is 0, and there is no margin")
    norm = np.sqrt(2 * at.half_norm)
    along_w = (at.f - at.b) / norm  # ⟨w/‖w‖, φ(x_i)⟩
    width = along_w[plus].mean() - along_w[minus].mean()
    return float(abs(width / (2 * at.rho / norm) - 1))


# --- stationarity -----------------------------------------------------------------------------------------------------


def stationarity_in_w(at: Letters[Any]) -> float:
    """w − Σ α_i y_i φ(x_i) = 0: as a vector for a linear kernel, else by its products with every φ(x_i)."""
    if at.is_linear:
        return relative(at.w - at.w_of_alpha, at.w, at.terms_of_w)
    return relative((at.f - at.b) - at.u, at.u, at.terms)


def stationarity_in_b(at: Letters[Any]) -> float:
    """yᵀα = 0."""
    return share(abs(float(at.y @ at.alpha)), at.total)


def stationarity_in_xi(at: Letters[Any]) -> float:
    """η_i = C_i − α_i."""
    return float((np.abs(at.eta - (at.C - at.alpha)) / at.C).max())


# --- the other optimality conditions ----------------------------------------------------------------------------------


def dual_feasibility(at: Letters[Any]) -> float:
    """0 ≤ α_i ≤ C_i. For a row of weight 0 this is α_i = 0."""
    below = np.maximum(-at.alpha, 0)
    above = np.maximum(at.alpha - at.C, 0)
    return float(max((np.maximum(below, above) / at.C).max(), at.alpha_without_weight / at.C.max()))


def complementary_slackness(at: Letters[Any]) -> float:
    """α_i (y_i f(x_i) − ρ + ξ_i) = 0 and (C_i − α_i) ξ_i = 0, summed over the samples."""
    margin = np.abs(at.alpha * (at.y * at.f - at.rho + at.xi))
    slack = np.abs((at.C - at.alpha) * at.xi)
    return float(at.unit * (margin + slack).sum() / at.size)


def primal_violation(at: Letters[Any]) -> float:
    """y_i f(x_i) ≥ ρ − ξ_i and ξ_i ≥ 0."""
    violation = np.maximum(at.rho - at.xi - at.y * at.f, -at.xi)
    return float(max(violation.max(), 0) / at.level)


# --- the dual ---------------------------------------------------------------------------------------------------------


def dual_optimum(at: Letters[Any]) -> float:
    """α is feasible for the dual, has the value claimed, and a projected gradient step from it goes nowhere."""
    gradient = at.y * (at.u + at.b) - at.rho  # of the dual's Lagrangian: b (and ρ) multiply its equalities
    step = at.largest / at.level
    moved = np.clip(at.alpha - step * gradient, 0, at.C)
    infeasible = share(kkt.primal_residual(at.dual, at.alpha), at.largest)
    value = abs(at.dual.objective(at.alpha) + at.result.dual) / at.size
    return float(max(infeasible, value, relative(moved - at.alpha, at.alpha)))


# --- back from the dual -----------------------------------------------------------------------------------------------


def decision_function_recovered(at: Letters[Any]) -> float:
    """f(x) = Σ α_i y_i K(x_i, x) + b, at samples between those trained on."""
    if at.new_samples is None:
        return relative((at.f - at.b) - at.u, at.u, at.terms)
    K = at.problem.kernel(at.new_samples, at.X)
    found = at.result.decision_function(at.new_samples)
    stated = K @ (at.alpha * at.y) + at.b
    return relative(found - stated, stated - at.b, at.terms)


def linear_weights(at: Letters[Any]) -> float:
    """w = Σ α_i y_i x_i, and f(x) = wᵀx + b."""
    w = relative(at.w - at.w_of_alpha, at.w, at.terms_of_w)
    return max(w, relative(at.f - (at.X @ at.w + at.b), at.f))


def intercept_recovered(at: Letters[Any]) -> float:
    """b is the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over the margin vectors. Without any, it is in its interval."""
    if at.on_margin.any():
        b = (at.y - at.u)[at.on_margin].mean()
        return float(abs(at.b - b) / (1 + abs(b)))
    low, high = hinge_intercepts(at.u, at.y, at.C)
    return float(max(low - at.b, at.b - high, 0) / (1 + abs(at.b)))


def kinds_of_samples(at: Letters[Any]) -> float:
    """α_i = 0 and y_i f ≥ ρ;  0 < α_i < C_i and y_i f = ρ;  α_i = C_i and y_i f ≤ ρ."""
    slack = (at.y * at.f - at.rho) / at.level
    filled = at.alpha / np.where(np.isfinite(at.C), at.C, at.largest or 1.0)
    inside = np.clip(filled, 0, 1)
    wrong = np.select(
        [at.kind == 0, at.kind == 1, at.kind == 2],
        [
            np.maximum(np.abs(filled), -slack),
            np.maximum(np.abs(filled - inside), np.abs(slack)),
            np.maximum(np.abs(1 - filled), slack),
        ],
    )
    return float(wrong.max())
