"""Bound the violation of an equation by a proof about the floating-point values of a result (`find_proven_bound`).

A residual is measured in doubles, with rounding errors. For some equations a proof bounds the violation rigorously: the
proof's α satisfies its box and its equalities in rational arithmetic, w is that of the result, and P − D is a sum of
nonnegative terms, (GAP.1), each of which is at most the proven gap. The other equations have no bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import round_up
from qpsvm.bounds.proof.feasible import compute_residual
from qpsvm.bounds.proof.gap_bounds import GapBounds
from qpsvm.bounds.proof.proof import Proof


class ProvenBound(NamedTuple):
    """Proven bound of one equation's violation.

    bound: Upper bound on the relative violation: 0 if the equation holds exactly, None if nothing is proven about it.
    description: What is bounded, as a sentence; or "".
    """

    bound: float | None = None
    description: str = ""

    @property
    def text(self) -> str:
        """The bound as text, rounded up, so that the printed number is a bound too."""
        if not self.bound:
            return "proven -" if self.bound is None else "proven 0"
        return f"proven ≤ {format_upper_bound(self.bound, 2)}"


#: The bound of an equation about which nothing is proven.
NO_BOUND = ProvenBound()
#: The bound of an equality that the proof's α satisfies exactly.
EXACT_EQUALITY = ProvenBound(0.0, "the α of the proof satisfies this equality in rational arithmetic")


def find_proven_bound(title: str, proof: Proof, claimed: float) -> ProvenBound:
    """Return the bound of the equation of a step, by its title, given the claimed value of P."""
    bounds = proof.record.get("bounds")
    if not isinstance(bounds, GapBounds) or math.isinf(proof.gap):
        return NO_BOUND
    proven = _bound_equation(title, proof, bounds, claimed)
    if proven.bound is not None and math.isfinite(proven.bound):
        return proven
    return NO_BOUND


def _bound_equation(title: str, proof: Proof, bounds: GapBounds, claimed: float) -> ProvenBound:
    """Return the bound, which may be infinite."""
    match title:
        case "Primal" | "Primal as a QP" | "Primal with the rows" | "Loss":
            return _bound_primal(proof, bounds, claimed)
        case "Dual feasibility":
            return ProvenBound(0.0, "the α of the proof satisfies its box in rational arithmetic")
        case "Stationarity in ρ" | "Stationarity in ε" | "Stationarity in μ":
            return EXACT_EQUALITY
        case "Stationarity in b" | "Recovering b":
            return _bound_b(title, proof)
        case "Stationarity in w" | "Stationarity in c" | "w of a linear kernel":
            return _bound_w(proof, bounds)
        case "Complementary slackness":
            return ProvenBound(bounds.gap, "the products are terms of P − D, so that their sum is no larger")
        case "Strong duality":
            return ProvenBound(bounds.gap, f"the two values differ by at most {format_upper_bound(proof.difference)}")
        case "Weak duality":
            return _bound_weak_duality(bounds)
    return NO_BOUND


def _bound_primal(proof: Proof, bounds: GapBounds, claimed: float) -> ProvenBound:
    """Bound the distance of the claimed value from P, where ξ is the shortfall of f, so that every constraint holds."""
    if not (math.isfinite(proof.primal) and math.isfinite(claimed) and bounds.min_size > 0.0):
        return NO_BOUND
    unit: Fraction = proof.record["point"].program.unit
    high = Fraction(proof.primal)
    low = Fraction(math.nextafter(proof.primal, -math.inf))
    low -= unit * (Fraction(bounds.primal[1]) - Fraction(bounds.primal[0]))
    distance = max(abs(Fraction(claimed) - low), abs(Fraction(claimed) - high))
    relative = round_up(distance / (unit * Fraction(bounds.min_size)))
    return ProvenBound(relative, f"P ≤ {proof.primal!r}, and ξ is the shortfall of f: every constraint holds")


def _bound_b(title: str, proof: Proof) -> ProvenBound:
    """Bound the equation of b: a sum of α without a penalty of b, or the value of b with one."""
    point = proof.record["point"]
    program = proof.record["point"].program
    if program.classes > 1 and title == "Stationarity in b":
        if any(not group.ridge for group in program.groups):
            return EXACT_EQUALITY
        return NO_BOUND
    b_groups = [group for group in program.groups if group.multiplier == "b"]
    if not any(group.ridge for group in b_groups):
        return EXACT_EQUALITY if title == "Stationarity in b" else NO_BOUND
    b = proof.record["held"].multipliers["b"]  # a rational number
    distance = abs(b - compute_residual(b_groups[0], point) / b_groups[0].ridge)
    text = f"b and the sum differ by at most {format_upper_bound(round_up(distance))}"
    return ProvenBound(round_up(distance / (1 + abs(b))), text)


def _bound_w(proof: Proof, bounds: GapBounds) -> ProvenBound:
    """Bound ‖w − w(α)‖, relative to ‖w‖ unless w may be 0."""
    if bounds.excess or not math.isfinite(bounds.distance) or proof.record["point"].program.classes > 1:
        return NO_BOUND  # K may be indefinite, or the distance is that of the w of all classes together
    if not bounds.min_norm > 0.0:
        return ProvenBound(bounds.distance, f"‖w − w(α)‖ ≤ {format_upper_bound(bounds.distance)}")
    relative = round_up(Fraction(bounds.distance) / Fraction(bounds.min_norm))
    return ProvenBound(relative, f"‖w − w(α)‖ ≤ {format_upper_bound(relative)}·‖w‖")


def _bound_weak_duality(bounds: GapBounds) -> ProvenBound:
    """Bound the amount by which D may exceed P: 0 for a proven kernel."""
    if not bounds.excess:
        return ProvenBound(0.0, "α and (w, b, ξ) are feasible, and weak duality is a theorem")
    if not bounds.min_size > 0.0:
        return NO_BOUND
    text = f"D exceeds P by at most {format_upper_bound(bounds.excess)}: K may be slightly indefinite"
    return ProvenBound(round_up(Fraction(bounds.excess) / Fraction(bounds.min_size)), text)
