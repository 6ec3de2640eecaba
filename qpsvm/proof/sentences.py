"""What is proven, said in sentences: from bounds to a `Proof`, whatever the machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import at_least, at_most
from qpsvm.proof.bounds import GapBounds
from qpsvm.proof.duality import Duality
from qpsvm.proof.exactly import above, below
from qpsvm.proof.proof import Claim, Proof, Verdict
from qpsvm.proof.spaces import Space

#: P of w = 0, b = 0, ρ = 0 is less, with what underflows counted.
VANISHED = 2.0**-900


class Program(Protocol):
    """What the sentences say of a program: `ExactDual`, or `ExactJoint` of several classes."""

    @property
    def unit(self) -> Fraction: ...
    @property
    def kept(self) -> str: ...


class Point(Protocol):
    """And of a feasible α."""

    @property
    def alpha(self) -> FloatArray: ...
    @property
    def exponent(self) -> int: ...


class Question(Protocol):
    """What a proof needs of what is asked, whatever the machine: `Asked` is one."""

    @property
    def program(self) -> Program: ...
    @property
    def space(self) -> Space: ...
    @property
    def held(self) -> object: ...
    @property
    def alpha(self) -> FloatArray: ...
    @property
    def tol(self) -> float | None: ...
    @property
    def title(self) -> str: ...
    @property
    def record(self) -> Mapping[str, Any] | None: ...


def concluded(
    asked: Question, point: Point, found: GapBounds, remains: float, others: Sequence[Claim], kernel: Duality
) -> Proof:
    """The theorem, with what else is claimed: what remains of the gap with other intercepts, or wider bounds."""
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
    return above(exact) if up else below(exact)


def _within(point: Point, alpha: FloatArray) -> float:
    """How far the point is from an α, in its worst row, from above."""
    near = math.nextafter(float(np.abs(point.alpha - alpha).max(initial=0.0)), math.inf)
    near = 0.0 if np.array_equal(point.alpha, alpha) else near
    carriers: Mapping[int, Fraction] = getattr(point, "carriers", {})
    return max(near, *(above(abs(v - Fraction(float(alpha[k])))) for k, v in carriers.items()), 0.0)


def _claims(asked: Question, point: Point, found: GapBounds) -> list[Claim]:
    """The sentences."""
    near, unit = _within(point, asked.alpha), float(asked.program.unit)
    primal, dual = _times(unit, found.primal[1], up=True), _times(unit, found.dual[0], up=False)
    claims = [
        Claim("feasible", "proven", f"α keeps {asked.program.kept} exactly, as integers times 2^{point.exponent}; it "
              f"is within {at_most(near, 2)} of the one that was given", near),
        Claim("dual", "proven", f"its objective D is at least {dual!r}", dual),
    ]  # fmt: skip
    said = "" if asked.tol is None else f"the relative gap is at most the tolerance, {asked.tol:g}"
    if not math.isfinite(found.difference[1]):
        why = "some row that must reach its margin may fall short of it"
        claims.append(Claim("primal", "open", f"no bound of the primal objective: {why}", math.inf))
        return [*claims, Claim("optimal", "open", said, asked.tol)] if said else claims
    claims.append(Claim("primal", "proven", f"the objective P of these w, b is at most {primal!r}", primal))
    how = "is, rounded up," if found.exactly else "is at most"
    known: Verdict = "proven" if math.isfinite(found.gap) else "open"
    claims.append(Claim("gap", known, f"the relative gap of these numbers {how} {at_most(found.gap)}", found.gap))
    vanished = dual < 0.0 and abs(primal) <= VANISHED
    if vanished:
        claims.append(Claim("nothing", "proven", f"the optimal value is between {dual!r} and {primal!r}: no gap "
                            "is relative to that", max(primal, -dual)))  # fmt: skip
    if asked.tol is not None:
        verdict: Verdict = "proven" if found.gap <= asked.tol else "refuted" if found.least_gap > asked.tol else "open"
        if vanished and verdict == "refuted":
            verdict, said = (
                "open",
                f"{said}: the objective of these numbers is next to 0, and nothing is relative to that",
            )
        elif verdict == "refuted":
            said += f": it is at least {at_least(found.least_gap)}"
        claims.append(Claim("optimal", verdict, said, asked.tol))
    return claims


def nothing(asked: Question, why: str) -> Proof:
    """A proof of nothing."""
    return Proof(
        title=asked.title, gap=math.inf, least_gap=0.0, primal=math.inf, dual=-math.inf, difference=math.inf,
        alpha=asked.alpha, exactly=False, claims=(Claim("feasible", "open", why),), remains=math.inf,
        assumptions=asked.space.assumptions, record=dict(asked.record or {}),
    )  # fmt: skip
