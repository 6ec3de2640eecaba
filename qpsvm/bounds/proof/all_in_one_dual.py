"""The program of several classes at once that a proof is about, and α that keeps it as integers do.

`dual.joint` has the same in floats, in which C_i = C·s_i is rounded already; here it is rational. Names and equations
are those of that module.

    (JFEAS.1)  α_ic = j_ic·q_i for integers with Σ_c j_ic < 2⁵³, q_i a power of 2: sums over the rivals are exact floats
    (JFEAS.2)  0 ≤ α_ic, and α_ic or where the slack is shared Σ_c α_ic is at most the float below C_i
    (JFEAS.3)  with a free intercept all q_i are one q, and Σ_i β_ic = 0 is a sum of integers

`dual.joint_repair` finds such an α. Here it is looked at once more, so that no proof depends on how it is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.exactly import DIGITS, Exactly, as_integers
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.arrays.words import outline
from qpsvm.bounds import all_in_one_repair as joint_repair
from qpsvm.bounds.proof.exact_dual import Held
from qpsvm.bounds.proof.feasible import HALF
from qpsvm.program.all_in_one import JointDual
from qpsvm.space.kernels.gram import Intercept

#: The exponent of a 0, which is a multiple of everything.
ANY = np.int32(2000)


@dataclass(frozen=True, eq=False)
class ExactJoint:
    """(JOINT.2) and (JOINT.4) of one machine over the samples that take part; the level is 1.

    label (n,)
    k: Classes.
    price: C_i, finite: (n,).
    shared: Whether a sample has one slack for all its rivals.
    """

    label: IntArray
    k: int
    price: Exactly
    shared: bool
    intercept: Intercept

    def __repr__(self) -> str:
        return outline("ExactJoint", **vars(self))

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.label)

    @property
    def unit(self) -> Fraction:
        """What the objective is in units of (JOINT.2)."""
        return Fraction(1)

    @property
    def kept(self) -> str:
        """What a feasible α keeps, in words."""
        bounds = "its bounds, α_ic ≥ 0 and Σ_c α_ic ≤ C_i," if self.shared else "its box 0 ≤ α_ic ≤ C_i"
        return f"{bounds} and Σ_i β_ic = 0 of every class" if self.intercept == "free" else bounds

    @cached_property
    def prices(self) -> tuple[FloatArray, FloatArray]:
        """Floats that are not above C_i and not below it: (n,) each."""
        low, high = self.price.bounds
        return np.maximum(low, 0.0), high

    @cached_property
    def floats(self) -> JointDual:
        """The same program with the floats below C_i."""
        return JointDual(self.label, self.k, self.prices[0], 1.0, self.shared, self.intercept)


@dataclass(frozen=True, eq=False)
class HeldJoint:
    """The numbers in a user's hands: they are what they are.

    parts: w or coefficients of each class, without multipliers.
    b (k,)
    """

    parts: tuple[Held, ...]
    b: FloatArray

    def __repr__(self) -> str:
        return outline("HeldJoint", **vars(self))


@dataclass(frozen=True, eq=False)
class FeasibleJoint:
    """α that keeps (JOINT.4) exactly.

    alpha, beta (n, k): Floats, which are the numbers themselves, and β of (JOINT.3), which are so too.
    exponent: All α are multiples of 2^exponent.
    """

    program: ExactJoint
    alpha: FloatArray
    beta: FloatArray
    exponent: int

    @cached_property
    def nets(self) -> tuple[Fraction, ...]:
        """Σ_i β_ic of every class: (k,)."""
        if self.program.intercept == "free":
            return (Fraction(0),) * self.program.k
        return tuple(_sum(column) for column in self.beta.T)

    @cached_property
    def total(self) -> Fraction:
        """Σα."""
        return _sum(self.alpha.sum(axis=1))


def feasible_joint(program: ExactJoint, alpha: FloatArray) -> FeasibleJoint | None:
    """α itself, (n, k), or a feasible one near it; None where none was found that keeps (JFEAS.1) to (JFEAS.3)."""
    itself = _checked(program, alpha)
    return _checked(program, joint_repair.feasible(program.floats, alpha)) if itself is None else itself


def _checked(program: ExactJoint, found: FloatArray) -> FeasibleJoint | None:
    """(JFEAS.1) to (JFEAS.3) of some α; None where it does not keep them."""
    dual = program.floats
    if not (np.isfinite(found).all() and (found >= 0.0).all() and not found[dual.own].any()):
        return None
    exponents = _exponents(found, program.intercept == "free")
    integers = np.ldexp(found, -exponents)
    if (integers != np.rint(integers)).any() or (integers.sum(axis=1) >= 2.0**DIGITS).any():  # (JFEAS.1)
        return None
    heavy = found.sum(axis=1) if program.shared else found.max(axis=1)
    if (heavy > dual.upper).any():  # (JFEAS.2)
        return None
    if program.intercept == "free" and not _balanced(integers.astype(np.int64), dual):  # (JFEAS.3)
        return None
    return FeasibleJoint(program, found, dual.beta(found), min(int(exponents.min()), 0))


def _sum(values: FloatArray) -> Fraction:
    """The exact sum of some floats, (n,)."""
    whole, exponent = as_integers(values)
    return Fraction(sum(whole)) * Fraction(2) ** exponent


def _exponents(alpha: FloatArray, one: bool) -> NDArray[np.int32]:
    """The largest e with all α of a row multiples of 2^e, or all α there are: (n, 1)."""
    mantissa, exponents = np.frexp(alpha)
    whole = np.ldexp(mantissa, DIGITS).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # the place of the last bit
    places = np.where(whole == 0, ANY, exponents - DIGITS + lowest)
    least = places.min(axis=1, keepdims=True)
    return np.full_like(least, least.min()) if one else least


def _balanced(integers: NDArray[np.int64], dual: JointDual) -> bool:
    """Whether as much leaves every class as arrives, in integers that are summed half by half."""
    for c in range(dual.k):
        leaving, arriving = integers[dual.label == c].sum(axis=1), integers[:, c]
        halves = [((part >> HALF).sum(), (part & ((1 << HALF) - 1)).sum()) for part in (leaving, arriving)]
        given, got = ((int(high) << HALF) + int(low) for high, low in halves)
        if given != got:
            return False
    return True
