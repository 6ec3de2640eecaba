"""Measures of machines with slack, whatever it costs: primal, Lagrangian, substitution and strong duality.

Values are in the units of the objective, unit·(½‖w‖² + Σ C_i ξ_i): the unit is λ of the primal hinge, 1 of the C-SVM.
`cost` and `levels_cost` have what else may stand there: a slack that is squared, −νρ. Where the loss is curved, ξ is
α_i times its curvature, and only what is beyond, ζ, has a linear price and a multiplier η.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.derivation.letters import Letters
from qpsvm.derivation.measures import feasible_primal
from qpsvm.derivation.sides import Sides


def primal(at: Letters[Any]) -> tuple[Sides, ...]:
    """½‖w‖² + Σ C_i ξ_i has the value claimed, and (w, b, ξ) satisfies y_i f(x_i) ≥ 1 − ξ_i, ξ_i ≥ 0."""
    value = float(at.unit * (at.half_norm + at.cost(at.xi) + at.levels_cost))
    of = "the primal's value at w, b and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *feasible_primal(at))


def lagrangian(at: Letters[Any]) -> Sides:
    """At the solution all penalties vanish: L(w, b, ξ, α, η) = P(w, ξ)."""
    value = float(at.unit * (at.half_norm + at.cost(at.xi) + at.levels_cost))
    penalty = at.alpha @ (at.y * at.f - at.margin + at.xi) + at.penalties  # Σ α (y f − 1 + ξ) + Σ η ξ
    L = value - float(at.unit * penalty)  # (CSVM.3), (PHINGE.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def substitution(at: Letters[Any]) -> Sides:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b and ξ are."""
    slack = at.svm.curvature * at.alpha + at.zeta  # ξ, but of a curved loss as α gives it
    bend = 0.5 * float(at.svm.curvature @ at.alpha**2) + float(at.linear_price @ at.zeta)
    penalty = at.alpha @ (at.y * at.f_of_alpha - at.margin + slack) + at.penalties
    L = float(at.unit * (at.half_norm_of_alpha + bend + at.levels_cost - penalty))  # (CSVM.9), (PHINGE.9)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)  # (CSVM.9), (PHINGE.9)


def strong_duality(at: Letters[Any]) -> Sides:
    """½‖w‖² + Σ C_i ξ_i = Σ α_i − ½αᵀQα."""
    slack = np.maximum(at.margin - at.y * at.f, 0)
    P = float(at.unit * (at.half_norm + at.cost(slack) + at.levels_cost))  # (CSVM.14), (PHINGE.14)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (CSVM.14), (PHINGE.14)
