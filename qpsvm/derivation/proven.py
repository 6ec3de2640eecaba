"""What is proven of a step: a bound of how far its equation is from holding, true of the very numbers of a result.

A residual is measured in doubles. A proof knows of some equations how far they are from holding whatever was rounded:
α of the proof keeps its box and its equalities as rational numbers do, w is that of the user, and both of them bound
the rest by (GAP.1), whose parts are not negative. Of the others it says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from qpsvm.base.arrays.exactly import above
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof.feasible import missing
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.terms import GapBounds


class Proven(NamedTuple):
    """What a proof says of one equation.

    bound: By how much it does not hold, at most, relative; 0 where it holds exactly, None where nothing is
        proven of it.
    of: What that is a bound of, as a sentence; or "".
    """

    bound: float | None = None
    of: str = ""

    @property
    def text(self) -> str:
        """For people: rounded up, so that what is printed is a bound too."""
        if not self.bound:
            return "proven -" if self.bound is None else "proven 0"
        return f"proven ≤ {at_most(self.bound, 2)}"


#: What is known of an equation that no proof is about.
NOTHING = Proven()


class Known(NamedTuple):
    """A proof, its bounds, and the primal's value as the result has it."""

    proof: Proof
    bounds: GapBounds
    claimed: float


def proven_of(measure: str, proof: Proof, claimed: float) -> Proven:
    """The bound of an equation."""
    bounds, say = proof.record.get("bounds"), BOUNDS.get(measure)
    if say is None or not isinstance(bounds, GapBounds) or math.isinf(proof.gap):
        return NOTHING
    found = say(Known(proof, bounds, claimed)) if callable(say) else Proven(0.0, say)
    return found if found.bound is not None and math.isfinite(found.bound) else NOTHING


def _primal(known: Known) -> Proven:
    """How far the value claimed is from P. With ξ as f has it, every constraint holds: else P were infinite."""
    proof, bounds, claimed = known
    if not (math.isfinite(proof.primal) and math.isfinite(claimed) and bounds.size > 0.0):
        return NOTHING
    unit: Fraction = proof.record["point"].program.unit
    high = Fraction(proof.primal)
    low = Fraction(math.nextafter(proof.primal, -math.inf))
    low -= unit * (Fraction(bounds.primal[1]) - Fraction(bounds.primal[0]))
    off = max(abs(Fraction(claimed) - low), abs(Fraction(claimed) - high))
    share = above(off / (unit * Fraction(bounds.size)))
    return Proven(share, f"P ≤ {proof.primal!r}, and ξ is what f falls short: every constraint holds")


def _balance(known: Known) -> Proven:
    """Of a free intercept an equality; of a penalised one, b itself."""
    program = known.proof.record["point"].program
    if program.classes > 1:
        return Proven(0.0, KEPT) if any(not group.ridge for group in program.groups) else NOTHING
    penalised = any(group.ridge and group.multiplier == "b" for group in program.groups)
    return _penalised(known) if penalised else Proven(0.0, KEPT)


def _penalised(known: Known) -> Proven:
    """|b − Σ E α|/(1 + |b|), a rational number."""
    point, held = known.proof.record["point"], known.proof.record["held"]
    group = next((group for group in point.program.groups if group.ridge and group.multiplier == "b"), None)
    if group is None:
        return NOTHING
    b = held.multipliers["b"]
    apart = abs(b - missing(group, point) / group.ridge)
    return Proven(above(apart / (1 + abs(b))), f"b and the sum are at most {at_most(above(apart))} apart")


def _weights(known: Known) -> Proven:
    """‖w − w(α)‖ as a share of ‖w‖, or as it is where w may be 0."""
    bounds, program = known.bounds, known.proof.record["point"].program
    if bounds.lost or not math.isfinite(bounds.apart) or program.classes > 1:  # no length, or that of all classes
        return NOTHING
    if not bounds.length > 0.0:
        return Proven(bounds.apart, f"‖w − w(α)‖ ≤ {at_most(bounds.apart)}")
    share = above(Fraction(bounds.apart) / Fraction(bounds.length))
    return Proven(share, f"‖w − w(α)‖ ≤ {at_most(share)}·‖w‖")


def _slackness(known: Known) -> Proven:
    return Proven(known.bounds.gap, "the products are terms of P − D, so that their sum is no larger")


def _strong(known: Known) -> Proven:
    return Proven(known.bounds.gap, f"the two values are at most {at_most(known.proof.difference)} apart")


def _weak(known: Known) -> Proven:
    """0, but for what is not known of the kernel."""
    lost, size = known.bounds.lost, known.bounds.size
    if not lost:
        return Proven(0.0, "α and (w, b, ξ) are feasible, and weak duality is a theorem")
    return (
        Proven(
            above(Fraction(lost) / Fraction(size)),
            f"D is at most {at_most(lost)} above P, for all that is known of the kernel",
        )
        if size > 0.0
        else NOTHING
    )


#: What is said of an equality that the α of a proof keeps.
KEPT = "the α of the proof keeps this equality as rational numbers do"
#: From the name of a measure to what is proven of its equation: a bound, or why it holds exactly. Whatever is not here,
#: no proof is about.
BOUNDS: dict[str, Callable[[Known], Proven] | str] = {
    "primal": _primal, "regularised_loss": _primal,
    "dual_feasibility": "the α of the proof keeps its box as rational numbers do",
    "stationarity_in_b": _balance, "stationarity_in_rho": KEPT, "stationarity_in_epsilon": KEPT,
    "penalised_intercept": _penalised, "stationarity_in_w": _weights, "linear_weights": _weights,
    "complementary_slackness": _slackness, "strong_duality": _strong,
    "weak_duality": _weak,
}  # fmt: skip
