"""Measures that machines share: each is its equation, written in NumPy, as its two sides.

Letters are those of `quantities`, over the rows k of the dual (DUAL.1); `at` stands for "at the point that is
measured". Of a curved loss ξ_k is δ_kα_k, and only what is beyond, ζ_k, has a linear price and a multiplier η_k. In
units of the objective, with the multipliers μ of the groups, e their totals and V_k(ξ_k, ζ_k) what the slack costs:

    (ARGUMENT.1)  primal:  P = ½‖w‖² + Σ V_k(ξ_k, ζ_k) + eᵀμ,  and  s_k f_k ≥ margin_k − ξ_k − ζ_k,  ξ, ζ ≥ 0
    (ARGUMENT.2)  Lagrangian:  L = P − Σ α_k (s_k f_k − margin_k + ξ_k + ζ_k) − Σ η_k ζ_k;  linear constraints add
                  Σ λ_j (⟨g_j, w⟩ + c_j b − h_j), (OWN.4)
    (ARGUMENT.3)  substitution:  L at w(α) and ξ_k = δ_kα_k is D(α), whatever μ and ζ are
    (ARGUMENT.4)  strong duality:  P = D(α), with ξ as w needs it
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.derivation.display import HOLDS
from qpsvm.derivation.quantities import At, share
from qpsvm.derivation.residual import Relation, Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable
from qpsvm.program import solution as kkt

#: Share of the level by which a row may miss it and still be on it: rounding.
ROUNDING = 1e-9


# --- margin, primal and Lagrangian ------------------------------------------------------------------------------------


def margin_width(at: At) -> Sides:
    """Along w/‖w‖, the classes are 2ρ/‖w‖ apart: margin vectors, or support vectors moved forward by their slack."""
    on_it = at.alpha > 0 if at.svm.curved else at.on_margin
    plus, minus = on_it & (at.y > 0), on_it & (at.y < 0)
    if at.level != at.rho:
        raise NotMeasurable("ρ is 0: the reduced convex hulls meet, w is 0, and there is no margin")
    if not (plus.any() and minus.any()):
        of = "support" if at.svm.curved else "margin"
        raise NotMeasurable(f"no {of} vectors in one of the classes, so no two hyperplanes are touched")
    norm = np.sqrt(2 * at.half_norm - at.penalised_b**2)  # of w alone
    along_w = (at.f - at.b + at.y * at.xi) / norm  # ⟨w/‖w‖, φ(x_i)⟩
    width = along_w[plus].mean() - along_w[minus].mean()
    stated = 2 * at.rho / norm  # (HARD.1), (CSVM.1), (NUSVM.1), (SQHINGE.1), (HUBER.1)
    of = "support vectors along w, slack added," if at.svm.curved else "margin vectors along w,"
    return Sides(width, "=", stated, f"the way between the {of} and 2{at.say.rho}/‖w‖", stated)


def regularised_loss(at: At) -> Sides:
    """The norm and the loss of what w misses have the value claimed."""
    short = np.maximum(at.margin - at.y * at.f, 0)
    value = float(at.unit * (at.half_norm + at.cost(short) + at.levels_cost))  # (ARGUMENT.1), (PHINGE.1)
    return Sides(value, "=", at.result.primal, "norm and loss at w and b, and the value claimed", at.size)


def primal(at: At) -> tuple[Sides, ...]:
    """½‖w‖² + Σ C_i ξ_i has the value claimed, and (w, b, ξ) satisfies y_i f(x_i) ≥ 1 − ξ_i, ξ_i ≥ 0."""
    value = float(at.unit * (at.half_norm + at.cost(at.xi) + at.levels_cost))  # (ARGUMENT.1)
    of = "the primal's value at w, b and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *feasible_primal(at))


def feasible_primal(at: At) -> tuple[Sides, ...]:
    """y_i f(x_i) ≥ ρ − ξ_i and ξ_i ≥ 0."""
    of = f"{at.say.yf} of {{i}}, and {at.say.level} − ξ"
    return (
        worst(at.y * at.f, "≥", at.margin - at.xi, of, at.level, at.say.row),
        worst(at.xi, "≥", 0.0, "ξ of {i}, and 0", at.level, at.say.row),
    )


def lagrangian(at: At) -> Sides:
    """At the solution all penalties vanish: L(w, b, ξ, α, η) = P(w, ξ)."""
    value = float(at.unit * (at.half_norm + at.cost(at.xi) + at.levels_cost))
    penalty = at.alpha @ (at.y * at.f - at.margin + at.xi) + at.penalties - at.rows_worth  # Σ α (y f − 1 + ξ) + Σ η ξ
    L = value - float(at.unit * penalty)  # (ARGUMENT.2), (HARD.3), (CSVM.3), (NUSVM.3), (PHINGE.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


# --- stationarity -----------------------------------------------------------------------------------------------------


def stationarity_in_w(at: At) -> Sides:
    """w − Σ β_i φ(x_i) = 0, β = α∘y: as a vector for a linear kernel, else by its products with every φ(x_i)."""
    if at.is_linear:
        scale = size_of(at.w, at.terms_of_w)
        return worst(at.w, "=", at.w_of_alpha, f"entry {{i}} of w, and of Σ {at.say.coef} x_i", scale)
    of = f"⟨w, φ(x)⟩ at {{i}}, and Σ {at.say.coef} K(x_i, x) there"
    return worst(at.values - at.b, "=", at.u, of, size_of(at.u, at.terms_of_u), at.say.sample)


def stationarity_in_b(at: At) -> Sides:
    """E_bᵀα = e_b: yᵀα = 0 of a two-class machine."""
    return equality(at, "b")


def stationarity_in_rho(at: At) -> Sides:
    """1ᵀα = ν, or what else the group of ρ, or ε, is to add up to."""
    return equality(at, next(group.multiplier for group in at.svm.margins))


def equality(at: At, multiplier: str) -> Sides:
    """The equality of a group, E_gᵀα = e_g, with the sign that makes its total positive."""
    group = next((group for group in at.svm.groups if group.multiplier == multiplier), None)
    if group is None:
        raise NotMeasurable(f"there is no {multiplier}")
    turned = -1.0 if group.total < 0.0 else 1.0
    left, _, right = group.formula.replace("−", "", 2 if turned < 0.0 else 0).partition(" = ")
    value, total = turned * float(group.column @ at.alpha), abs(group.total)
    return Sides(value, "=", total, f"{left}, and {right}", at.total if multiplier == "b" and at.total else total)


def stationarity_in_xi(at: At) -> Sides:
    """η_i = C_i − α_i; C_i is p_i/λ for the primal hinge, whose multipliers are λα_i and λη_i."""
    return worst(at.eta, "=", at.C - at.alpha, f"η of {{i}}, and {at.say.C} − α", at.C, at.say.row)


def stationarity_in_curved_xi(at: At) -> Sides:
    """ξ_i = δ_i α_i, but for the part of it that has a linear price, ζ: α_i = 2 C_i ξ_i where C_i ξ_i² is paid."""
    stated = at.svm.curvature * at.alpha  # (LOSS.4)
    return worst(at.xi - at.zeta, "=", stated, "ξ of {i}, and δα", at.level, at.say.row)


def penalised_intercept(at: At) -> Sides:
    """b = E_bᵀα, as a b in the norm is a weight like the others: yᵀα of a two-class machine."""
    if at.intercept_in_kernel and at.problem.psd == "clip":
        raise NotMeasurable("psd='clip' projected K + 1, and b with it, so b is not yᵀα any more")
    b = float(at.y @ at.alpha)
    return Sides(at.b, "=", b, "b, and yᵀα" if at.say.two_class else "b, and Σ β_i", 1 + abs(b))


# --- the other optimality conditions ----------------------------------------------------------------------------------


def dual_feasibility(at: At) -> tuple[Sides, ...]:
    """0 ≤ α_i ≤ C_i. For a row of weight 0 this is α_i = 0."""
    return (
        worst(at.alpha, "≥", 0.0, "α of {i}, and 0", at.box, at.say.row),
        worst(at.alpha, "≤", at.C, f"α of {{i}}, and {at.say.C}", at.box, at.say.row),
        Sides(at.alpha_without_weight, "=", 0.0, "the largest |α| of a sample of weight 0, and 0", at.box.max()),
    )


def complementary_slackness(at: At) -> Sides:
    """α_i (y_i f(x_i) − ρ + ξ_i) = 0 and (C_i − α_i) ξ_i = 0, summed over the samples."""
    margin = np.abs(at.alpha * (at.y * at.f - at.margin + at.xi))
    slack = np.abs((at.linear_price - at.alpha) * at.zeta)  # ζ = ξ, but for the part of it that is curved
    return Sides(at.unit * float((margin + slack).sum()), "=", 0.0, "all products, added up by size, and 0", at.size)


# --- the dual ---------------------------------------------------------------------------------------------------------


def substitution(at: At) -> Sides:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b and ξ are."""
    slack = at.svm.curvature * at.alpha + at.zeta  # ξ, but of a curved loss as α gives it
    bend = 0.5 * float(at.svm.curvature @ at.alpha**2) + float(at.linear_price @ at.zeta)
    penalty = at.alpha @ (at.y * at.f_of_alpha - at.margin + slack) + at.penalties
    value = at.half_norm_of_alpha + bend + at.levels_cost
    L = float(
        at.unit * (value - penalty + at.rows_worth_of_alpha)
    )  # (ARGUMENT.3), (HARD.8), (CSVM.9), (NUSVM.10), (PHINGE.9)
    return Sides(L, "=", at.dual_value, f"L at {at.say.w}(α), and the dual's value at α", at.size)


def strong_duality(at: At) -> Sides:
    """½‖w‖² + Σ C_i ξ_i = Σ α_i − ½αᵀQα."""
    slack = np.maximum(at.margin - at.y * at.f, 0)
    value = at.half_norm + at.cost(slack) + at.levels_cost
    P = float(at.unit * value)  # (ARGUMENT.4), (CSVM.14), (NUSVM.15), (PHINGE.14)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)


def dual_optimum(at: At) -> tuple[Sides, ...]:
    """α is feasible for the dual, has the value claimed, and a projected gradient step from it goes nowhere."""
    gradient = at.y * at.f_of_alpha - at.margin + at.svm.curvature * at.alpha  # of L: b (and ρ) multiply equalities
    moved = np.clip(at.alpha - at.reach / at.level * gradient, 0, at.C)
    violated, reach = kkt.primal_residual(at.dual, at.dual_point), max(at.reach, float(np.abs(at.dual_point).max()))
    return (
        Sides(at.dual_value, "=", at.result.dual, "the dual's value at α, and the value claimed", at.size),
        worst(at.alpha, "=", moved, "α of {i}, and after a projected gradient step", at.reach, at.say.row),
        Sides(violated, "=", 0.0, "by how much α violates a constraint of the dual, and 0", reach),
    )


def weak_duality(at: At) -> Sides:
    """D(α) ≤ P(w, b, ξ), for every feasible α and every feasible (w, b, ξ)."""
    if share(kkt.primal_residual(at.dual, at.alpha), at.reach) > HOLDS:
        raise NotMeasurable("α is not feasible, so that the dual's value bounds nothing")
    if not np.isfinite(at.primal_value):
        raise NotMeasurable("a sample is behind its margin, so that the primal's value is infinite")
    return Sides(at.dual_value, "≤", at.primal_value, "the dual's value at α, and the primal's at w, b and ξ", at.size)


# --- back from the dual -----------------------------------------------------------------------------------------------


def decision_function_recovered(at: At) -> Sides:
    """f(x) = Σ β_i K(x_i, x) + b, β = α∘y, at samples between those trained on."""
    if at.new_samples is None:
        of = f"f − b at {{i}}, and Σ {at.say.coef} K(x_i, x) there"
        return worst(at.values - at.b, "=", at.u, of, size_of(at.u, at.terms_of_u), at.say.sample)
    K = at.kernel(at.new_samples, at.X)
    found = at.decision(at.new_samples)
    stated = K @ at.beta + at.b
    of = f"f half way between samples {{i}} and {{i}} + 1, and Σ {at.say.coef} K(x_i, x) + b there"
    return worst(found, "=", stated, of, size_of(stated - at.b, at.terms_of_u))


def linear_weights(at: At) -> tuple[Sides, ...]:
    """w = Σ β_i x_i, β = α∘y, and f(x) = wᵀx + b."""
    stated = at.X @ at.w + at.b
    return (
        stationarity_in_w(at),
        worst(at.values, "=", stated, "f at {i}, and wᵀx + b", size_of(at.values), at.say.sample),
    )


def intercept_recovered(at: At) -> Sides | tuple[Sides, ...]:
    """b is the mean of y_i (ℓ_i − δ_iα_i) − u_i over the rows with 0 < α_i < C_i, or anywhere in its interval."""
    reached = at.y * (at.margin - at.svm.curvature * at.alpha) - at.svm.at_rows(at.u)
    free = (at.alpha > 0) & (at.alpha < at.C) & ((at.kind == 1) | (np.isinf(at.C) & (at.kind > 0)))
    scale = at.level if at.svm.mirrored else 1 + abs(at.b)
    if free.any():
        b = float(reached[free].mean())
        free_rows = "samples with 0 < α < C" if at.svm.curved else at.say.on_margin
        return Sides(at.b, "=", b, f"b, and the mean of {at.say.reached} − u over the {free_rows}", scale)
    if at.svm.curved:
        raise NotMeasurable("no sample with 0 < α < C: b is any value that costs least")
    return _within(at, reached, "b", scale)


def level_recovered(at: At) -> tuple[Sides, ...]:
    """μ is a weighted quantile of ℓ − u, and ℓ − u itself of the samples on the boundary."""
    name, points = "−ρ" if at.svm.homogeneous else "μ", at.svm.level - at.u
    found = _within(at, points, name, at.level)
    if at.on_margin.any():
        mean = float(points[at.on_margin].mean())
        found = (*found, Sides(at.b, "=", mean, f"{name}, and its mean over the boundary", at.level))
    return found


def _within(at: At, points: FloatArray, name: str, scale: float) -> tuple[Sides, ...]:
    """b between the ends of the weighted quantile of what it would be on each row."""
    low, high = levels.interval(at.svm, at.svm.parts[0], points) or (-np.inf, np.inf)
    none = "" if at.on_margin.any() else f" (no {at.say.on_margin})"
    return (
        Sides(at.b, "≥", low, f"{name}, and the lower end of the weighted quantile{none}", scale),
        Sides(at.b, "≤", high, f"{name}, and the upper end of the weighted quantile{none}", scale),
    )


# --- kinds ------------------------------------------------------------------------------------------------------------


def kinds_of_samples(at: At) -> tuple[Sides, ...]:
    """α_i = 0 and y_i f ≥ ρ;  0 < α_i < C_i and y_i f = ρ − δ_iα_i;  α_i = C_i and y_i f ≤ ρ − δ_iα_i."""
    yf, f, inside, bend = at.y * at.f, at.say.yf, np.clip(at.alpha, 0, at.box), at.svm.curvature * at.alpha
    level, (idle, on_it, at_bound) = at.say.level + (" − δα" if at.svm.curved else ""), at.problem.kinds.words
    zero, full = at.kind == 0, np.isfinite(at.C) & (at.kind == 2)
    middle, straight = ~zero & ~full, full & (at.svm.curvature == 0.0)
    on_it = at_bound if at.svm.curved and np.isinf(at.C).all() else on_it

    claims: tuple[tuple[NDArray[np.bool_], FloatArray, Relation, Any, str], ...] = (
        (middle, yf, "=", at.margin - bend, f"{f} of {{i}}, {on_it}, and {level}"),
        (full, yf, "≤", at.margin - bend, f"{f} of {{i}}, {at_bound}, and {level}"),
        (zero, yf, "≥", at.margin, f"{f} of {{i}}, {idle}, and {at.say.level}"),
        (zero, at.alpha, "=", 0.0, f"α of {{i}}, {idle}, and 0"),
        (middle, at.alpha, "=", inside, f"α of {{i}}, {on_it}, and the same inside of its box"),
        (straight, at.alpha, "=", at.C, f"α of {{i}}, {at_bound}, and {at.say.C}"),
    )
    return tuple(_among(at, yf, *claim) for claim in claims if claim[0].any())


def _among(at: At, yf: FloatArray, rows: Any, left: FloatArray, relation: Relation, right: Any, of: str) -> Sides:
    places, right = np.flatnonzero(rows), np.broadcast_to(right, left.shape)
    scale = np.full(len(yf), at.level) if left is yf else at.box
    return worst(left[rows], relation, right[rows], of, scale[rows], lambda k: at.say.row(places[k]))


def shares(at: At) -> tuple[Sides, ...]:
    """The weight that violates its level is at most ν of all, the weight that supports at least."""
    total = max(abs(group.total) for group in at.svm.groups)
    outside = float(at.C[at.y * at.f < at.margin - ROUNDING * at.level].sum())
    supporting = float(at.C[at.alpha > 0].sum())
    return (  # (ONE.15), (SVDD.16), (NUSVM.17)
        Sides(outside, "≤", total, "the bounds of the samples outside, added up, and what all α add up to", total),
        Sides(supporting, "≥", total, "the bounds of the support vectors, added up, and what all α add up to", total),
    )
