"""Weak duality, P ≥ D for any two feasible points: of the kernel that is needed only that, and it may be lacking a bit.

    (LACK.1)  P(w, μ) − D(α′) = ½δᵀKδ + terms that are not negative,  w = Σ_i c_i φ(x_i),  δ = c − β(α′)
    (LACK.2)  with K + 1aᵀ + a1ᵀ + σI positive semidefinite, (DEF.1), and η = 1ᵀδ:  by (DEF.5) no α′ has a dual
              objective above P + ½σ‖δ‖² + |η||a|ᵀ|δ|
    (LACK.3)  β_i(α′) is between the sums of the prices of the rows of point i with either sign, so |δ_i| is bounded
    (LACK.4)  E_g = κs for an equality E_gᵀα = e_g:  1ᵀβ = e_g/κ for all α, and η = 1ᵀc − e_g/κ is a rounding

The gap of numbers that are proven to be optimal up to it counts this: it is P − D plus what (LACK.2) adds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW, gamma
from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import at_most
from qpsvm.proof.definite import Definiteness
from qpsvm.proof.exact_dual import ExactDual, Held
from qpsvm.proof.exactly import above, sum_of
from qpsvm.proof.proof import Claim
from qpsvm.proof.spaces import Space


@dataclass(frozen=True, eq=False)
class Duality:
    """What is said of a kernel.

    Attributes
    ----------
    lost : float
        No α has a dual objective above P by more than this, in units of (DUAL.1).
    claims : tuple of Claim
    assumptions : tuple of str
        What has to be assumed for that.
    """

    lost: float = 0.0
    claims: tuple[Claim, ...] = ()
    assumptions: tuple[str, ...] = ()


def weak_duality(program: ExactDual, space: Space, held: Held) -> Duality:
    """(LACK.1) to (LACK.4) for the points of a program, and the w in a user's hands."""
    total = total_of_beta(program)
    known = space.definiteness(total is not None)
    if known.sigma == 0.0 and known.built:
        return Duality()
    where = "" if known.offset is None else " where 1ᵀβ is what the intercept makes it"
    if known.sigma == 0.0 and known.offset is None:
        return Duality(claims=(Claim("kernel", "proven", "the kernel matrix is positive semidefinite", 0.0),))
    lost = _lost(program, held, known, total)
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
    """e_g/κ of (LACK.4); None where no equality is such."""
    if program.mix is not None or not program.m:
        return None
    for group in program.groups:
        factor = float(group.column[0] * program.sign[0])
        if not group.ridge and factor and np.array_equal(group.column, factor * program.sign):
            return group.total / Fraction(factor)
    return None


def _lost(program: ExactDual, held: Held, known: Definiteness, total: Fraction | None) -> float:
    """What (LACK.2) adds; infinite where nothing bounds α."""
    assert held.coef is not None
    price, positive = program.price.bounds[1], program.sign > 0.0
    if not np.isfinite(price).all() or not math.isfinite(known.sigma):
        return math.inf
    sides = []
    for mask in (positive, ~positive):
        part = np.where(mask, price, 0.0)
        if program.mix is not None:
            both = abs(program.mix).T @ price  # of either sign
            sides.append(both)
        else:
            rows = np.arange(program.m) if program.rows is None else program.rows
            sides.append(np.bincount(rows, part, minlength=program.n))
    furthest: FloatArray = np.maximum(np.abs(held.coef - sides[0]), np.abs(held.coef + sides[1]))
    furthest = furthest * (1.0 + gamma(program.m + 8)) + UNDERFLOW
    lost = 0.5 * known.sigma * float(furthest @ furthest)
    if known.offset is not None and total is not None:
        off = above(abs(sum_of(held.coef) - total))
        lost += off * float(np.abs(known.offset) @ furthest)
    return lost * (1.0 + gamma(2 * program.n + 16)) + UNDERFLOW
