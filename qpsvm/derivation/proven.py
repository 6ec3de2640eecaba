"""Bound the violation of an equation by a proof about the floating-point values of a result (`find_proven_bound`).

A residual is measured in doubles. For some equations a proof bounds the violation whatever was rounded: the proof's α
satisfies its box and its equalities in rational arithmetic, w is that of the result, and (GAP.1), whose terms are not
negative, bounds the rest. There is no bound for the other equations.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import round_up
from qpsvm.bounds.proof.feasible import compute_residual
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.terms import GapBounds


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
EXACT_EQUALITY = ProvenBound(0.0, "the α of the proof keeps this equality as rational numbers do")


def find_proven_bound(title: str, proof: Proof, claimed: float) -> ProvenBound:
    """Return the bound of an equation, by the title of its step; titles not listed here have no bound."""
    bounds = proof.record.get("bounds")
    if not isinstance(bounds, GapBounds) or math.isinf(proof.gap):
        return NO_BOUND
    proven = _match_title(title, proof, bounds, claimed)
    return proven if proven.bound is not None and math.isfinite(proven.bound) else NO_BOUND


def _match_title(title: str, proof: Proof, bounds: GapBounds, claimed: float) -> ProvenBound:
    program, size = proof.record["point"].program, bounds.size
    of_b = [group for group in program.groups if group.multiplier == "b"]
    penalised = any(group.ridge for group in of_b)
    match title:
        case "Primal" | "Primal as a QP" | "Primal with the rows" | "Loss":
            return _bound_primal(proof, bounds, claimed)
        case "Dual feasibility":
            return ProvenBound(0.0, "the α of the proof keeps its box as rational numbers do")
        case "Stationarity in ρ" | "Stationarity in ε" | "Stationarity in μ":
            return EXACT_EQUALITY
        case "Stationarity in b" if program.classes > 1:
            return EXACT_EQUALITY if any(not group.ridge for group in program.groups) else NO_BOUND
        case "Stationarity in b" | "Recovering b" if penalised:
            b = proof.record["held"].multipliers["b"]  # |b − Σ E α|/(1 + |b|), a rational number
            apart = abs(b - compute_residual(of_b[0], proof.record["point"]) / of_b[0].ridge)
            return ProvenBound(
                round_up(apart / (1 + abs(b))), f"b and the sum are at most {format_upper_bound(round_up(apart))} apart"
            )
        case "Stationarity in b":
            return EXACT_EQUALITY
        case "Stationarity in w" | "Stationarity in c" | "w of a linear kernel":
            if (
                bounds.excess or not math.isfinite(bounds.distance) or program.classes > 1
            ):  # no length, or of all classes
                return NO_BOUND
            if not bounds.min_norm > 0.0:  # w may be 0
                return ProvenBound(bounds.distance, f"‖w − w(α)‖ ≤ {format_upper_bound(bounds.distance)}")
            share = round_up(Fraction(bounds.distance) / Fraction(bounds.min_norm))
            return ProvenBound(share, f"‖w − w(α)‖ ≤ {format_upper_bound(share)}·‖w‖")
        case "Complementary slackness":
            return ProvenBound(bounds.gap, "the products are terms of P − D, so that their sum is no larger")
        case "Strong duality":
            return ProvenBound(bounds.gap, f"the two values are at most {format_upper_bound(proof.difference)} apart")
        case "Weak duality" if not bounds.excess:
            return ProvenBound(0.0, "α and (w, b, ξ) are feasible, and weak duality is a theorem")
        case "Weak duality" if size > 0.0:
            lost = f"D is at most {format_upper_bound(bounds.excess)} above P, for all that is known of the kernel"
            return ProvenBound(round_up(Fraction(bounds.excess) / Fraction(size)), lost)
    return NO_BOUND


def _bound_primal(proof: Proof, bounds: GapBounds, claimed: float) -> ProvenBound:
    """Bound the distance of the claimed value from P. With ξ as f has it, every constraint holds."""
    if not (math.isfinite(proof.primal) and math.isfinite(claimed) and bounds.size > 0.0):
        return NO_BOUND
    unit: Fraction = proof.record["point"].program.unit
    high = Fraction(proof.primal)
    low = Fraction(math.nextafter(proof.primal, -math.inf))
    low -= unit * (Fraction(bounds.primal[1]) - Fraction(bounds.primal[0]))
    off = max(abs(Fraction(claimed) - low), abs(Fraction(claimed) - high))
    share = round_up(off / (unit * Fraction(bounds.size)))
    return ProvenBound(share, f"P ≤ {proof.primal!r}, and ξ is what f falls short: every constraint holds")
