"""Measures that several machines share: each is its equation, written in NumPy, as its two sides.

Letters are those of `letters`. `at` stands for "at the point that is measured".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import hinge_intercepts
from qpsvm.derivation.display import HOLDS
from qpsvm.derivation.quantities import Letters, share
from qpsvm.derivation.residual import Relation, Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable
from qpsvm.program import solution as kkt
from qpsvm.program.svm_dual import Group

# --- margin -----------------------------------------------------------------------------------------------------------


def margin_width(at: Letters[Any]) -> Sides:
    """Along w/‖w‖, the margin vectors of the two classes are 2ρ/‖w‖ apart."""
    plus, minus = at.on_margin & (at.y > 0), at.on_margin & (at.y < 0)
    if at.level != at.rho:
        raise NotMeasurable("ρ is 0: the reduced convex hulls meet, w is 0, and there is no margin")
    if not (plus.any() and minus.any()):
        raise NotMeasurable("no margin vectors in one of the classes, so no two hyperplanes are touched")
    norm = np.sqrt(2 * at.half_norm - at.penalised_b**2)  # of w alone
    along_w = (at.f - at.b) / norm  # ⟨w/‖w‖, φ(x_i)⟩
    width = along_w[plus].mean() - along_w[minus].mean()
    stated = 2 * at.rho / norm  # (HARD.1), (CSVM.1), (NUSVM.1)
    return Sides(width, "=", stated, f"the way between the margin vectors along w, and 2{at.say.rho}/‖w‖", stated)


# --- stationarity -----------------------------------------------------------------------------------------------------


def stationarity_in_w(at: Letters[Any]) -> Sides:
    """w − Σ β_i φ(x_i) = 0, β = α∘y: as a vector for a linear kernel, else by its products with every φ(x_i)."""
    if at.is_linear:
        scale = size_of(at.w, at.terms_of_w)
        return worst(at.w, "=", at.w_of_alpha, f"entry {{i}} of w, and of Σ {at.say.coef} x_i", scale)
    of = f"⟨w, φ(x)⟩ at {{i}}, and Σ {at.say.coef} K(x_i, x) there"
    return worst(at.values - at.b, "=", at.u, of, size_of(at.u, at.terms_of_u), at.say.sample)


def stationarity_in_b(at: Letters[Any]) -> Sides:
    """E_bᵀα = e_b: yᵀα = 0 of a two-class machine."""
    group = at.svm.intercept
    if group is None:
        raise NotMeasurable("there is no b")
    return equality(at, group)


def equality(at: Letters[Any], group: Group) -> Sides:
    """The equality of a group, E_gᵀα = e_g."""
    left, right = at.say.sides_of(group)
    return Sides(float(group.column @ at.alpha), "=", group.total, f"{left}, and {right}", at.total or abs(group.total))


def stationarity_in_xi(at: Letters[Any]) -> Sides:
    """η_i = C_i − α_i; C_i is p_i/λ for the primal hinge, whose multipliers are λα_i and λη_i."""
    return worst(at.eta, "=", at.C - at.alpha, f"η of {{i}}, and {at.say.C} − α", at.C, at.say.row)


def stationarity_in_curved_xi(at: Letters[Any]) -> Sides:
    """ξ_i = δ_i α_i, but for the part of it that has a linear price, ζ: α_i = 2 C_i ξ_i where C_i ξ_i² is paid."""
    curved = at.xi - at.zeta
    return worst(curved, "=", at.svm.curvature * at.alpha, "ξ of {i}, and δα", at.level, at.say.row)


def slope_of_square(at: Letters[Any], slope: FloatArray) -> Sides:
    """α_i is the slope of the loss, 2 C_i ξ_i where C_i ξ_i² is paid: (m,)."""
    return worst(at.alpha, "=", slope, "α of {i}, and the slope of its loss, 2Cξ", at.box, at.say.row)


def penalised_intercept(at: Letters[Any]) -> Sides:
    """b = E_bᵀα, as a b in the norm is a weight like the others: yᵀα of a two-class machine."""
    if at.intercept_in_kernel and at.problem.psd == "clip":
        raise NotMeasurable("psd='clip' projected K + 1, and b with it, so b is not yᵀα any more")
    b = float(at.y @ at.alpha)
    return Sides(at.b, "=", b, "b, and yᵀα" if at.say.two_class else "b, and Σ β_i", 1 + abs(b))


# --- the other optimality conditions ----------------------------------------------------------------------------------


def dual_feasibility(at: Letters[Any]) -> tuple[Sides, ...]:
    """0 ≤ α_i ≤ C_i. For a row of weight 0 this is α_i = 0."""
    return (
        worst(at.alpha, "≥", 0.0, "α of {i}, and 0", at.box, at.say.row),
        worst(at.alpha, "≤", at.C, f"α of {{i}}, and {at.say.C}", at.box, at.say.row),
        Sides(at.alpha_without_weight, "=", 0.0, "the largest |α| of a sample of weight 0, and 0", at.box.max()),
    )


def complementary_slackness(at: Letters[Any]) -> Sides:
    """α_i (y_i f(x_i) − ρ + ξ_i) = 0 and (C_i − α_i) ξ_i = 0, summed over the samples."""
    margin = np.abs(at.alpha * (at.y * at.f - at.margin + at.xi))
    slack = np.abs((at.linear_price - at.alpha) * at.zeta)  # ζ = ξ, but for the part of it that is curved
    return Sides(at.unit * float((margin + slack).sum()), "=", 0.0, "all products, added up by size, and 0", at.size)


def feasible_primal(at: Letters[Any]) -> tuple[Sides, ...]:
    """y_i f(x_i) ≥ ρ − ξ_i and ξ_i ≥ 0."""
    of = f"{at.say.yf} of {{i}}, and {at.say.level} − ξ"
    return (
        worst(at.y * at.f, "≥", at.margin - at.xi, of, at.level, at.say.row),
        worst(at.xi, "≥", 0.0, "ξ of {i}, and 0", at.level, at.say.row),
    )


# --- the dual ---------------------------------------------------------------------------------------------------------


def dual_optimum(at: Letters[Any]) -> tuple[Sides, ...]:
    """α is feasible for the dual, has the value claimed, and a projected gradient step from it goes nowhere."""
    gradient = at.y * at.f_of_alpha - at.margin + at.svm.curvature * at.alpha  # of L: b (and ρ) multiply equalities
    moved = np.clip(at.alpha - at.reach / at.level * gradient, 0, at.C)
    violated = kkt.primal_residual(at.dual, at.alpha)
    return (
        Sides(at.dual_value, "=", at.result.dual, "the dual's value at α, and the value claimed", at.size),
        worst(at.alpha, "=", moved, "α of {i}, and after a projected gradient step", at.reach, at.say.row),
        Sides(violated, "=", 0.0, "by how much α violates a constraint of the dual, and 0", at.reach),
    )


def weak_duality(at: Letters[Any]) -> Sides:
    """D(α) ≤ P(w, b, ξ), for every feasible α and every feasible (w, b, ξ)."""
    if share(kkt.primal_residual(at.dual, at.alpha), at.reach) > HOLDS:
        raise NotMeasurable("α is not feasible, so that the dual's value bounds nothing")
    if not np.isfinite(at.primal_value):
        raise NotMeasurable("a sample is behind its margin, so that the primal's value is infinite")
    return Sides(at.dual_value, "≤", at.primal_value, "the dual's value at α, and the primal's at w, b and ξ", at.size)


# --- back from the dual -----------------------------------------------------------------------------------------------


def decision_function_recovered(at: Letters[Any]) -> Sides:
    """f(x) = Σ β_i K(x_i, x) + b, β = α∘y, at samples between those trained on."""
    if at.new_samples is None:
        of = f"f − b at {{i}}, and Σ {at.say.coef} K(x_i, x) there"
        return worst(at.values - at.b, "=", at.u, of, size_of(at.u, at.terms_of_u), at.say.sample)
    K = at.kernel(at.new_samples, at.X)
    found = at.decision(at.new_samples)
    stated = K @ at.beta + at.b
    of = f"f half way between samples {{i}} and {{i}} + 1, and Σ {at.say.coef} K(x_i, x) + b there"
    return worst(found, "=", stated, of, size_of(stated - at.b, at.terms_of_u))


def linear_weights(at: Letters[Any]) -> tuple[Sides, ...]:
    """w = Σ β_i x_i, β = α∘y, and f(x) = wᵀx + b."""
    stated = at.X @ at.w + at.b
    return (
        stationarity_in_w(at),
        worst(at.values, "=", stated, "f at {i}, and wᵀx + b", size_of(at.values), at.say.sample),
    )


def intercept_recovered(at: Letters[Any]) -> Sides | tuple[Sides, ...]:
    """b is the mean of y_i − Σ_j α_j y_j K(x_j, x_i) over the margin vectors. Without any, it is in its interval."""
    if at.on_margin.any():
        b = float((at.y - at.u)[at.on_margin].mean())
        return Sides(at.b, "=", b, "b, and the mean of y − u over the margin vectors", 1 + abs(b))
    low, high = hinge_intercepts(at.u, at.y, at.C)
    return (
        Sides(at.b, "≥", low, "b, and the lower end of the weighted quantile (no margin vectors)", 1 + abs(at.b)),
        Sides(at.b, "≤", high, "b, and the upper end of the weighted quantile (no margin vectors)", 1 + abs(at.b)),
    )


def kinds_of_samples(at: Letters[Any]) -> tuple[Sides, ...]:
    """α_i = 0 and y_i f ≥ ρ;  0 < α_i < C_i and y_i f = ρ;  α_i = C_i and y_i f ≤ ρ.  A curved loss has no bound."""
    yf, f, level, inside = at.y * at.f, at.say.yf, at.say.level, np.clip(at.alpha, 0, at.box)
    (idle, on_it, at_bound), (zero, margin, bound) = at.problem.kinds.words, (at.kind == kind for kind in (0, 1, 2))
    full = bound & np.isfinite(at.C) & (at.svm.curvature == 0.0)

    def among(rows: NDArray[np.bool_], left: FloatArray, relation: Relation, right: Any, of: str) -> Sides:
        places = np.flatnonzero(rows)
        scale = np.full(len(yf), at.level) if left is yf else at.box
        right = np.broadcast_to(right, left.shape)
        return worst(left[rows], relation, right[rows], of, scale[rows], lambda k: at.say.row(places[k]))

    claims: tuple[tuple[NDArray[np.bool_], FloatArray, Relation, Any, str], ...] = (
        (margin, yf, "=", at.margin, f"{f} of {{i}}, {on_it}, and {level}"),
        (bound, yf, "≤", at.margin, f"{f} of {{i}}, {at_bound}, and {level}"),
        (zero, yf, "≥", at.margin, f"{f} of {{i}}, {idle}, and {level}"),
        (zero, at.alpha, "=", 0.0, f"α of {{i}}, {idle}, and 0"),
        (margin, at.alpha, "=", inside, f"α of {{i}}, {on_it}, and the same inside of its box"),
        (full, at.alpha, "=", at.C, f"α of {{i}}, {at_bound}, and {at.say.C}"),
    )
    return tuple(among(*claim) for claim in claims if claim[0].any())
