"""What is proven, said in sentences: from bounds to a `Proof`, whatever the machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.proof.bounds import GapBounds
from qpsvm.proof.exactly import above, below
from qpsvm.proof.proof import Claim, Proof, Verdict
from qpsvm.proof.spaces import Space


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


def concluded(asked: Question, point: Point, found: GapBounds, remains: float, said: str) -> Proof:
    """The theorem, with a sentence about what remains of the gap with other intercepts, where there is something."""
    lacking = asked.space.positive()
    unit = float(asked.program.unit)
    own, more = _of_kernel(asked, lacking)
    claims = [*_claims(asked, point, found), *more]
    if said:
        claims.append(Claim("intercept", "proven", said, remains))
    return Proof(
        title=asked.title, gap=found.gap if own else math.inf, least_gap=found.least_gap,
        primal=_times(unit, found.primal[1], up=True), dual=_times(unit, found.dual[0], up=False),
        difference=_times(unit, found.difference[1], up=True), alpha=point.alpha, exactly=found.exactly,
        claims=tuple(claims), remains=remains if own else math.inf, assumptions=asked.space.assumptions,
        record={**(asked.record or {}), "point": point, "held": asked.held, "bounds": found},
    )  # fmt: skip


def _times(unit: float, value: float, up: bool) -> float:
    if unit == 1.0 or not math.isfinite(value):
        return value
    exact = Fraction(unit) * Fraction(value)
    return above(exact) if up else below(exact)


def _of_kernel(asked: Question, lacking: float) -> tuple[bool, list[Claim]]:
    """Whether weak duality holds, and what is said of it."""
    if lacking == 0.0:
        return True, []
    text = "the kernel matrix is positive semidefinite"
    if asked.space.assumptions:
        return True, []
    return False, [Claim("kernel", "open", text, lacking)]


def _claims(asked: Question, point: Point, found: GapBounds) -> list[Claim]:
    """The sentences."""
    near = float(np.abs(point.alpha - np.clip(asked.alpha, 0.0, None)).max(initial=0.0))
    unit = float(asked.program.unit)
    primal, dual = _times(unit, found.primal[1], up=True), _times(unit, found.dual[0], up=False)
    claims = [
        Claim("feasible", "proven", f"α keeps {asked.program.kept} exactly, as integers times 2^{point.exponent}; it "
              f"is within {near:.2g} of the one that was given", near),
        Claim("dual", "proven", f"its objective D is at least {dual!r}", dual),
    ]  # fmt: skip
    if not math.isfinite(found.difference[1]):
        why = "some row that must reach its margin may fall short of it"
        return [*claims, Claim("primal", "open", f"no bound of the primal objective: {why}", math.inf)]
    claims.append(Claim("primal", "proven", f"the objective P of these w, b is at most {primal!r}", primal))
    how = "is, rounded up," if found.exactly else "is at most"
    known: Verdict = "proven" if math.isfinite(found.gap) else "open"
    claims.append(Claim("gap", known, f"the relative gap of these numbers {how} {found.gap:.3g}", found.gap))
    if asked.tol is not None:
        verdict: Verdict = "proven" if found.gap <= asked.tol else "refuted" if found.least_gap > asked.tol else "open"
        said = f"the relative gap is at most the tolerance, {asked.tol:g}"
        if verdict == "refuted":
            said += f": it is at least {found.least_gap:.3g}"
        claims.append(Claim("optimal", verdict, said, asked.tol))
    return claims


def nothing(asked: Question, why: str) -> Proof:
    """A proof of nothing."""
    return Proof(
        title=asked.title, gap=math.inf, least_gap=0.0, primal=math.inf, dual=-math.inf, difference=math.inf,
        alpha=asked.alpha, exactly=False, claims=(Claim("feasible", "open", why),), remains=math.inf,
        assumptions=asked.space.assumptions, record=dict(asked.record or {}),
    )  # fmt: skip
