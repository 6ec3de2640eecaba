"""Measures that C-SVM and primal hinge share, because both have slacks and the margin level 1.

Values are in the units of the objective λ(½‖w‖² + Σ C_i ξ_i), with λ = 1 for the C-SVM.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.derivation.letters import Letters
from qpsvm.derivation.measures import feasible_primal
from qpsvm.derivation.sides import Sides


def primal(at: Letters[Any]) -> tuple[Sides, ...]:
    """½‖w‖² + Σ C_i ξ_i has the value claimed, and (w, b, ξ) satisfies y_i f(x_i) ≥ 1 − ξ_i, ξ_i ≥ 0."""
    value = float(at.unit * (at.half_norm + at.C @ at.xi))
    of = "the primal's value at w, b and ξ, and the value claimed"
    return (Sides(value, "=", at.result.primal, of, at.size), *feasible_primal(at))


def lagrangian(at: Letters[Any]) -> Sides:
    """At the solution all penalties vanish: L(w, b, ξ, α, η) = P(w, ξ)."""
    value = float(at.unit * (at.half_norm + at.C @ at.xi))
    penalty = at.alpha @ (at.y * at.f - 1 + at.xi) + at.eta @ at.xi
    L = value - float(at.unit * penalty)  # (CSVM.3), (PHINGE.3)
    return Sides(L, "=", value, "L, and the primal's value", at.size)


def substitution(at: Letters[Any]) -> Sides:
    """L at w(α) = Σ α_i y_i φ(x_i) is the dual's value at α, whatever b and ξ are."""
    f = at.u + at.b
    penalty = at.alpha @ (at.y * f - 1 + at.xi) + at.eta @ at.xi
    L = float(at.unit * (at.half_norm_of_alpha + at.C @ at.xi - penalty))  # (CSVM.9), (PHINGE.9)
    return Sides(L, "=", at.dual_value, "L at w(α), and the dual's value at α", at.size)  # (CSVM.9), (PHINGE.9)


def strong_duality(at: Letters[Any]) -> Sides:
    """½‖w‖² + Σ C_i ξ_i = Σ α_i − ½αᵀQα."""
    P = float(at.unit * (at.half_norm + at.C @ np.maximum(1 - at.y * at.f, 0)))  # (CSVM.14), (PHINGE.14)
    return Sides(P, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (CSVM.14), (PHINGE.14)
