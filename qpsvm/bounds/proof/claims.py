"""State what is proven in sentences: from bounds to a `Proof`, for every machine.

Weak duality, P ≥ D for any two feasible points: of the kernel that is needed only that, and it may be lacking a bit.

    (LACK.1)  P(w, μ) − D(α′) = ½δᵀKδ + terms that are not negative,  w = Σ_i c_i φ(x_i),  δ = c − β(α′)
    (LACK.2)  with K + 1aᵀ + a1ᵀ + σI positive semidefinite, (DEF.1), and η = 1ᵀδ:  by (DEF.5) no α′ has a dual
              objective above P + ½σ‖δ‖² + |η||a|ᵀ|δ|
    (LACK.3)  β_i(α′) is between the sums of the penalties of the rows of point i with either sign, so |δ_i| is bounded
    (LACK.4)  of rows that nothing bounds, but that bend, δ_k > 0, a term is at least ½δ_k e_k², where
              e_k = α′_k − max(t_k, 0)/δ_k, and |δ_i| ≤ |ρ_i| + Σ|e_k| with ρ_i = c_i − Σ s_k max(t_k, 0)/δ_k, next to
              nothing of good numbers. With κ the least δ_k over the number of rows of a point, and σ ≤ κ/4, (LACK.2)
              adds at most Σσρ_i² + |η||a_i||ρ_i| + η²a_i²/κ
    (LACK.5)  E_g = κs for an equality E_gᵀα = e_g:  1ᵀβ = e_g/κ for all α, and η = 1ᵀc − e_g/κ is a rounding

The gap of numbers that are proven to be optimal up to it counts this: it is P − D plus what (LACK.2) adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.double_double import TINY, UNDERFLOW
from qpsvm.base.arrays.formatting import format_lower_bound, format_upper_bound
from qpsvm.base.arrays.rationals import round_down, round_up, sum_floats
from qpsvm.base.arrays.rounding import FEW, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import Feasible, feasible
from qpsvm.bounds.proof.kernels.definite import Definiteness
from qpsvm.bounds.proof.proof import Claim, Proof, Verdict
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.bounds.proof.terms import IN, GapBounds, violations


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """What is to be proven.

    program, space, held: The machine, its points, and the numbers.
    alpha (m,): At the rows of the program.
    measured: The gap that was measured.
    tol or None: The gap that was promised.
    record: For a proof file.
    repair: What makes α feasible: as `feasible`.
    """

    program: ExactDual
    space: Space
    held: Primal
    alpha: FloatArray
    measured: float = math.nan
    tol: float | None = None
    title: str = ""
    record: Mapping[str, Any] | None = None
    repair: Callable[..., Feasible | None] = feasible


@dataclass(frozen=True, eq=False)
class Duality:
    """What is said of a kernel.

    lost: No α has a dual objective above P by more than this, in units of (DUAL.1).
    assumptions: What has to be assumed for that.
    """

    lost: float = 0.0
    claims: tuple[Claim, ...] = ()
    assumptions: tuple[str, ...] = ()


def weak_duality(program: ExactDual, space: Space, held: Primal, found: ExactValues | SpaceMeasurement) -> Duality:
    """(LACK.1) to (LACK.5) for the points of a program, and the w in a user's hands."""
    total = total_of_beta(program)
    known = space.definiteness(total is not None)
    if known.sigma == 0.0 and known.built:
        return Duality()
    where = "" if known.offset is None else " where 1ᵀβ is what the intercept makes it"
    if known.sigma == 0.0 and known.offset is None:
        return Duality(claims=(Claim("kernel", "proven", "the kernel matrix is positive semidefinite", 0.0),))
    off = 0.0 if known.offset is None or total is None else round_up(abs(sum_floats(_coef(held)) - total))
    lost = _bound_loss(program, held, known, off) if program.classes == 1 else math.inf
    if not math.isfinite(lost):
        lost = _lost_to_bends(program, held, known, off, found)
    if not math.isfinite(lost):
        known_so_far = (
            f": that is proven with {format_upper_bound(known.sigma)} added to its diagonal{where}"
            if known.sigma < math.inf
            else ""
        )
        return Duality(assumptions=(f"the kernel matrix is positive semidefinite{known_so_far}",))
    lacking = f" but for {format_upper_bound(known.sigma)} on its diagonal" if known.sigma else ""
    text = (
        f"the kernel matrix is positive semidefinite{where}{lacking}: no other α has a dual objective more than "
        f"{format_upper_bound(round_up(Fraction(lost) * program.unit))} above P, which the gap counts"
    )
    return Duality(lost, (Claim("kernel", "proven", text, known.sigma),))


def total_of_beta(program: ExactDual) -> Fraction | None:
    """e_g/κ of (LACK.5); None where no equality is such."""
    if program.mix is not None or not program.m:
        return None
    for group in program.groups:
        factor = float(group.column[0] * program.sign[0])
        if not group.ridge and not group.entries and factor and np.array_equal(group.column, factor * program.sign):
            return group.total / Fraction(factor)
    return None


def _coef(held: Primal) -> FloatArray:
    """Return the coefficients at all pairs of a sample and a class, (n k,)."""
    assert held.coef is not None
    return held.coef.ravel()


def _rows(program: ExactDual) -> IntArray:
    return np.arange(program.m) if program.rows is None else program.rows


def _bound_loss(program: ExactDual, held: Primal, known: Definiteness, off: float) -> float:
    """Bound (LACK.2) by (LACK.3); infinite if α is unbounded."""
    penalty, coef = program.upper.bounds[1], _coef(held)
    if not np.isfinite(penalty).all() or not math.isfinite(known.sigma):
        return math.inf
    if program.mix is not None:
        above_0 = below_0 = abs(program.mix).T @ penalty
    else:
        above_0, below_0 = (
            np.bincount(_rows(program), np.where(program.sign == side, penalty, 0.0), minlength=program.n)
            for side in (1.0, -1.0)
        )
    furthest: FloatArray = np.maximum(np.abs(coef - above_0), np.abs(coef + below_0))
    furthest = furthest * (1.0 + gamma(program.m + 8)) + UNDERFLOW
    lost = 0.5 * known.sigma * float(furthest @ furthest)
    if known.offset is not None:
        lost += off * float(np.abs(known.offset) @ furthest)
    return lost * (1.0 + gamma(2 * program.n + 16)) + UNDERFLOW


def _lost_to_bends(
    program: ExactDual, held: Primal, known: Definiteness, off: float, found: ExactValues | SpaceMeasurement
) -> float:
    """(LACK.2) by (LACK.4); infinite where some row does not bend, or not enough."""
    bend, rows = program.curvature.bounds, _rows(program)
    if program.mix is not None or not program.m:
        return math.inf
    least = float(bend[0].min()) / int(np.bincount(rows).max())
    if not (known.sigma <= 0.25 * IN * least and least > 0.0 and np.isinf(program.upper.bounds[0]).all()):
        return math.inf
    with np.errstate(all="ignore"):
        low, high = (np.maximum(end, 0.0) for end in violations(program, held, _values(found)).ends)
        low, high = IN * (low / bend[1]), FEW * (high / bend[0]) + UNDERFLOW
        own, spread = (np.bincount(rows, part, minlength=program.n) for part in (program.sign * low, high - low))
        coef, few = np.abs(_coef(held)), gamma(program.m + 8)
        sizes = np.bincount(rows, high, minlength=program.n)
        rest = (np.abs(_coef(held) - own) + spread + few * (sizes + coef)) * FEW  # ρ
        a = np.zeros(program.n) if known.offset is None else np.abs(known.offset)
        lost = known.sigma * float(rest @ rest) + off * float(a @ rest) + off * off * float(a @ a) / least
    lost = lost * (1.0 + gamma(2 * program.n + 16)) * FEW + UNDERFLOW
    return lost if math.isfinite(lost) else math.inf


def _values(found: ExactValues | SpaceMeasurement) -> PointValues:
    """⟨w, φ⟩ at all points in floats."""
    if isinstance(found, SpaceMeasurement):
        return found.values
    low, high = (np.array([end(pair[k]) for pair in found.values]) for k, end in ((0, round_down), (1, round_up)))
    return PointValues(low, np.zeros(len(low)), (high - low) * FEW + UNDERFLOW)


def build_proof(
    asked: ProofRequest, point: Feasible, found: GapBounds, remains: float, others: Sequence[Claim], kernel: Duality
) -> Proof:
    """Build the proof, with further claims: the gap that remains with other intercepts, or wider bounds."""
    unit = float(asked.program.unit)
    return Proof(
        title=asked.title, gap=found.gap, least_gap=found.least_gap,
        primal=_times(unit, found.primal[1], up=True), dual=_times(unit, found.dual[0], up=False),
        difference=_times(unit, found.difference[1], up=True), alpha=point.alpha, exactly=found.exactly,
        claims=(*_claims(asked, point, found), *kernel.claims, *others), remains=remains,
        assumptions=(*asked.space.assumptions, *kernel.assumptions),
        record={**(asked.record or {}), "point": point, "held": asked.held, "bounds": found},
    )  # fmt: skip


def _times(unit: float, value: float, up: bool) -> float:
    if unit == 1.0 or not math.isfinite(value):
        return value
    exact = Fraction(unit) * Fraction(value)
    return round_up(exact) if up else round_down(exact)


def _bound_distance(point: Feasible, alpha: FloatArray) -> float:
    """Bound the distance of the point from an α, in its worst row."""
    near = math.nextafter(float(np.abs(point.alpha - alpha).max(initial=0.0)), math.inf)
    near = 0.0 if np.array_equal(point.alpha, alpha) else near
    return max(near, *(round_up(abs(v - Fraction(float(alpha[k])))) for k, v in point.carriers.items()), 0.0)


def _claims(asked: ProofRequest, point: Feasible, found: GapBounds) -> list[Claim]:
    """The sentences."""
    near, unit = _bound_distance(point, asked.alpha), float(asked.program.unit)
    primal, dual = _times(unit, found.primal[1], up=True), _times(unit, found.dual[0], up=False)
    count = len(point.carriers)
    beside = "" if not count else " but for one fraction" if count == 1 else f" but for {count} fractions"
    claims = [
        Claim(
            "feasible",
            "proven",
            f"α keeps {asked.program.constraints_text} exactly, as integers times 2^{point.exponent}"
            f"{beside}; it is within {format_upper_bound(near, 2)} of the one that was given",
            near,
        ),
        Claim("dual", "proven", f"its objective D is at least {dual!r}", dual),
    ]
    text = "" if asked.tol is None else f"the relative gap is at most the tolerance, {asked.tol:g}"
    if not math.isfinite(found.difference[1]):
        why = "some row that must reach its margin may violate it"
        claims.append(Claim("primal", "open", f"no bound of the primal objective: {why}", math.inf))
        return [*claims, Claim("optimal", "open", text, asked.tol)] if text else claims
    claims.append(Claim("primal", "proven", f"the objective P of these w, b is at most {primal!r}", primal))
    how = "is, rounded up," if found.exactly else "is at most"
    known: Verdict = "proven" if math.isfinite(found.gap) else "open"
    claims.append(
        Claim("gap", known, f"the relative gap of these numbers {how} {format_upper_bound(found.gap)}", found.gap)
    )
    vanished = dual < 0.0 and abs(primal) <= TINY  # as that of w = 0, b = 0, ρ = 0 is, with what underflows counted
    if vanished:
        claims.append(Claim("nothing", "proven", f"the optimal value is between {dual!r} and {primal!r}: no gap "
                            "is relative to that", max(primal, -dual)))  # fmt: skip
    if asked.tol is not None:
        verdict: Verdict = "proven" if found.gap <= asked.tol else "refuted" if found.least_gap > asked.tol else "open"
        if vanished and verdict == "refuted":
            verdict, text = (
                "open",
                f"{text}: the objective of these numbers is next to 0, and nothing is relative to that",
            )
        elif verdict == "refuted":
            text += f": it is at least {format_lower_bound(found.least_gap)}"
        claims.append(Claim("optimal", verdict, text, asked.tol))
    return claims


def build_empty_proof(asked: ProofRequest, why: str) -> Proof:
    """Build a proof of nothing."""
    return Proof(
        title=asked.title, gap=math.inf, least_gap=0.0, primal=math.inf, dual=-math.inf, difference=math.inf,
        alpha=asked.alpha, exactly=False, claims=(Claim("feasible", "open", why),), remains=math.inf,
        assumptions=asked.space.assumptions, record=dict(asked.record or {}),
    )  # fmt: skip
