"""Weak duality, P ≥ D for any two feasible points: of the kernel that is needed only that, and it may be lacking a bit.

    (LACK.1)  P(w, μ) − D(α′) = ½δᵀKδ + terms that are not negative,  w = Σ_i c_i φ(x_i),  δ = c − β(α′)
    (LACK.2)  with K + 1aᵀ + a1ᵀ + σI positive semidefinite, (DEF.1), and η = 1ᵀδ:  by (DEF.5) no α′ has a dual
              objective above P + ½σ‖δ‖² + |η||a|ᵀ|δ|
    (LACK.3)  β_i(α′) is between the sums of the prices of the rows of point i with either sign, so |δ_i| is bounded
    (LACK.4)  of rows that nothing bounds, but that bend, δ_k > 0, a term is at least ½δ_k e_k², where
              e_k = α′_k − max(t_k, 0)/δ_k, and |δ_i| ≤ |ρ_i| + Σ|e_k| with ρ_i = c_i − Σ s_k max(t_k, 0)/δ_k, next to
              nothing of good numbers. With κ the least δ_k over the number of rows of a point, and σ ≤ κ/4, (LACK.2)
              adds at most Σσρ_i² + |η||a_i||ρ_i| + η²a_i²/κ
    (LACK.5)  E_g = κs for an equality E_gᵀα = e_g:  1ᵀβ = e_g/κ for all α, and η = 1ᵀc − e_g/κ is a rounding

The gap of numbers that are proven to be optimal up to it counts this: it is P − D plus what (LACK.2) adds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW, gamma
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.arrays.words import at_most
from qpsvm.proof.definite import Definiteness
from qpsvm.proof.exact_dual import ExactDual, Held
from qpsvm.proof.exactly import above, below, sum_of
from qpsvm.proof.proof import Claim
from qpsvm.proof.spaces import ExactValues, Measured, Space, Values
from qpsvm.proof.terms import IN, OUT, shortfalls


@dataclass(frozen=True, eq=False)
class Duality:
    """What is said of a kernel.

    lost: No α has a dual objective above P by more than this, in units of (DUAL.1).
    assumptions: What has to be assumed for that.
    """

    lost: float = 0.0
    claims: tuple[Claim, ...] = ()
    assumptions: tuple[str, ...] = ()


def weak_duality(program: ExactDual, space: Space, held: Held, found: ExactValues | Measured) -> Duality:
    """(LACK.1) to (LACK.5) for the points of a program, and the w in a user's hands."""
    total = total_of_beta(program)
    known = space.definiteness(total is not None)
    if known.sigma == 0.0 and known.built:
        return Duality()
    where = "" if known.offset is None else " where 1ᵀβ is what the intercept makes it"
    if known.sigma == 0.0 and known.offset is None:
        return Duality(claims=(Claim("kernel", "proven", "the kernel matrix is positive semidefinite", 0.0),))
    off = 0.0 if known.offset is None or total is None else above(abs(sum_of(_coef(held)) - total))
    lost = _lost(program, held, known, off)
    if not math.isfinite(lost):
        lost = _lost_to_bends(program, held, known, off, found)
    if not math.isfinite(lost):
        known_so_far = (
            f": that is proven with {at_most(known.sigma)} added to its diagonal{where}"
            if known.sigma < math.inf
            else ""
        )
        return Duality(assumptions=(f"the kernel matrix is positive semidefinite{known_so_far}",))
    lacking = f" but for {at_most(known.sigma)} on its diagonal" if known.sigma else ""
    text = (
        f"the kernel matrix is positive semidefinite{where}{lacking}: no other α has a dual objective more than "
        f"{at_most(above(Fraction(lost) * program.unit))} above P, which the gap counts"
    )
    return Duality(lost, (Claim("kernel", "proven", text, known.sigma),))


def duality_by_matrix(space: Space) -> Duality:
    """The same of a program whose α nobody has bounded here: all or nothing."""
    known = space.definiteness(False)
    if known.sigma == 0.0 and known.built:
        return Duality()
    text = "the kernel matrix is positive semidefinite"
    if known.sigma == 0.0:
        return Duality(claims=(Claim("kernel", "proven", text, 0.0),))
    return Duality(assumptions=(text,))


def total_of_beta(program: ExactDual) -> Fraction | None:
    """e_g/κ of (LACK.5); None where no equality is such."""
    if program.mix is not None or not program.m:
        return None
    for group in program.groups:
        factor = float(group.column[0] * program.sign[0])
        if not group.ridge and not group.entries and factor and np.array_equal(group.column, factor * program.sign):
            return group.total / Fraction(factor)
    return None


def _coef(held: Held) -> FloatArray:
    assert held.coef is not None
    return held.coef


def _rows(program: ExactDual) -> IntArray:
    return np.arange(program.m) if program.rows is None else program.rows


def _lost(program: ExactDual, held: Held, known: Definiteness, off: float) -> float:
    """(LACK.2) by (LACK.3); infinite where nothing bounds α."""
    price, coef = program.price.bounds[1], _coef(held)
    if not np.isfinite(price).all() or not math.isfinite(known.sigma):
        return math.inf
    if program.mix is not None:
        above_0 = below_0 = abs(program.mix).T @ price
    else:
        above_0, below_0 = (
            np.bincount(_rows(program), np.where(program.sign == side, price, 0.0), minlength=program.n)
            for side in (1.0, -1.0)
        )
    furthest: FloatArray = np.maximum(np.abs(coef - above_0), np.abs(coef + below_0))
    furthest = furthest * (1.0 + gamma(program.m + 8)) + UNDERFLOW
    lost = 0.5 * known.sigma * float(furthest @ furthest)
    if known.offset is not None:
        lost += off * float(np.abs(known.offset) @ furthest)
    return lost * (1.0 + gamma(2 * program.n + 16)) + UNDERFLOW


def _lost_to_bends(
    program: ExactDual, held: Held, known: Definiteness, off: float, found: ExactValues | Measured
) -> float:
    """(LACK.2) by (LACK.4); infinite where some row does not bend, or not enough."""
    bend, rows = program.curvature.bounds, _rows(program)
    if program.mix is not None or not program.m:
        return math.inf
    least = float(bend[0].min()) / int(np.bincount(rows).max())
    if not (known.sigma <= 0.25 * IN * least and least > 0.0 and np.isinf(program.price.bounds[0]).all()):
        return math.inf
    with np.errstate(all="ignore"):
        low, high = (np.maximum(end, 0.0) for end in shortfalls(program, held, _values(found)).ends)
        low, high = IN * (low / bend[1]), OUT * (high / bend[0]) + UNDERFLOW
        own, spread = (np.bincount(rows, part, minlength=program.n) for part in (program.sign * low, high - low))
        coef, few = np.abs(_coef(held)), gamma(program.m + 8)
        sizes = np.bincount(rows, high, minlength=program.n)
        rest = (np.abs(_coef(held) - own) + spread + few * (sizes + coef)) * OUT  # ρ
        a = np.zeros(program.n) if known.offset is None else np.abs(known.offset)
        lost = known.sigma * float(rest @ rest) + off * float(a @ rest) + off * off * float(a @ a) / least
    lost = lost * (1.0 + gamma(2 * program.n + 16)) * OUT + UNDERFLOW
    return lost if math.isfinite(lost) else math.inf


def _values(found: ExactValues | Measured) -> Values:
    """⟨w, φ⟩ at all points in floats."""
    if isinstance(found, Measured):
        return found.values
    low, high = (np.array([end(pair[k]) for pair in found.values]) for k, end in ((0, below), (1, above)))
    return Values(low, np.zeros(len(low)), (high - low) * OUT + UNDERFLOW)
