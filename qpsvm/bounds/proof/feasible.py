"""An α that is feasible as integers are: within its box, and with every equality kept without any rounding.

    (FEAS.1)  α_k = j_k·q for integers j_k < 2⁵², q a power of 2: floats all, and their sums are sums of integers
    (FEAS.2)  0 ≤ j_k q ≤ U_k: a float is not above U_k where it is not above the float below it
    (FEAS.3)  what then misses in Eᵀα = e is taken from the rows that have most room, until nothing does: the last of
              them, the carrier, has an α that is a rational number, and no such integer
    (FEAS.4)  multipliers of linear constraints are the floats that they are, carriers as well: they have own units;
              and so is an α so far below the largest that q would take its digits: its sample may be as much longer

A solver's α is moved by some q: the gap counts that, as it counts everything.

Source: Neumaier & Shcherbina, *Safe bounds in linear and mixed-integer linear programming*, Math. Programming 99
(2004), for the idea that a bound is made safe by what is done to the point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import UNDERFLOW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import common_value, repeated
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup

#: Bits of the integers of (FEAS.1), and the least exponent of q, of which all floats are multiples.
BITS, LEAST_EXPONENT = 52, -1074
#: An α beyond this is no point that a proof would be about: sums and products with it overflow.
LARGEST_ALPHA = 2.0**900
#: Bits of the lower half of an integer: sums of halves over all rows of any machine fit into 64 bits.
HALF = 26
#: Values of a column that are worked on row by row.
FEW_VALUES = 4
#: Rows times the largest entry of a column up to which sums of halves stay below 2⁵³.
MOST_ROWS = 2**26
#: Rows that are asked for room before nothing is repaired.
CARRIERS = 10_000


@dataclass(frozen=True, eq=False)
class Feasible:
    """α that keeps (DUAL.1) exactly.

    alpha (m,): Floats; a carrier's is the nearest.
    exponent: q = 2^exponent.
    carriers: The rows whose α is another number, and which.
    """

    program: ExactDual
    alpha: FloatArray
    exponent: int
    carriers: Mapping[int, Fraction]

    def __getitem__(self, k: int) -> Fraction:
        """α_k itself."""
        return self.carriers[k] if k in self.carriers else Fraction(float(self.alpha[k]))

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Floats below and above: (m,) each, the same but for the carriers."""
        if not self.carriers:
            return self.alpha, self.alpha
        low, high = self.alpha.copy(), self.alpha.copy()
        for k, value in self.carriers.items():
            near = Fraction(float(self.alpha[k]))
            low[k] = self.alpha[k] if near <= value else math.nextafter(self.alpha[k], -math.inf)
            high[k] = self.alpha[k] if near >= value else math.nextafter(self.alpha[k], math.inf)
        return low, high

    @property
    def total(self) -> Fraction:
        """Σα itself."""
        ones = ExactGroup("", repeated(1.0, self.program.m))
        return missing(ones, self)

    def beta(self) -> tuple[FloatArray, FloatArray]:
        """β of (DUAL.5) at the points, and its radii: (n,) each. Differences of multiples of q are exact."""
        program, signed = self.program, self.alpha * self.program.sign
        radius = np.zeros(self.program.n)
        off = np.zeros(program.m)
        rounded = [k for k, value in self.carriers.items() if value != Fraction(float(self.alpha[k]))]
        off[rounded] = UNIT * np.abs(self.alpha[rounded]) + UNDERFLOW
        if program.mix is not None:
            A, size = program.mix, abs(program.mix)
            found: FloatArray = A.T @ signed
            sums = size.T @ np.ldexp(self.alpha, -self.exponent)
            if not self.carriers and (A.data == np.rint(A.data)).all() and sums.max(initial=0.0) < 2.0**53:
                return found, radius  # no sum of whole numbers is rounded
            most = int(np.diff(A.tocsc().indptr).max(initial=0))
            radius = (size.T @ (gamma(most + 2) * self.alpha + off)) * (1.0 + gamma(most + 4)) + most * UNDERFLOW
            return found, radius
        if program.rows is None:
            return signed, off
        found = np.bincount(program.rows, signed, minlength=program.n).astype(np.float64, copy=False)
        for k in self.carriers:
            place, size = program.rows[k], float(self.alpha[k])
            if off[k] or abs(found[place]) != size:  # rounded itself, or beside another
                radius[place] += 4.0 * UNIT * (abs(found[place]) + size) + UNDERFLOW
        return found, radius

    def exact_beta(self) -> list[Fraction]:
        """β of (DUAL.5) itself: (n,)."""
        program = self.program
        found = [Fraction(0)] * program.n
        support = np.flatnonzero(self.alpha).tolist() + [k for k in self.carriers if self.alpha[k] == 0.0]
        for k in support:
            value = self[k] * int(program.sign[k])
            if program.mix is not None:
                row = slice(*program.mix.indptr[k : k + 2])
                for i, a in zip(program.mix.indices[row].tolist(), program.mix.data[row].tolist(), strict=True):
                    found[i] += value * Fraction(a)
            else:
                found[k if program.rows is None else int(program.rows[k])] += value
        return found


def feasible(program: ExactDual, alpha: FloatArray, itself: bool = False) -> Feasible | None:
    """The nearest such α that is easily found; None where the rows have no room for an equality.

    Shapes: alpha (m,).
    """
    most = program.upper.bounds[0]
    a = np.clip(alpha, 0.0, most)
    if not a.max(initial=0.0) < LARGEST_ALPHA:  # true for NaN too
        return None
    behind = range(program.m - program.users, program.m)
    carriers = {k: Fraction(float(a[k])) for k in behind if a[k] > 0.0}  # (FEAS.4)
    largest = float(a[: program.m - program.users].max(initial=0.0))
    exponent = max(math.frexp(largest)[1] - BITS, LEAST_EXPONENT) if largest > 0.0 else -BITS
    q = math.ldexp(1.0, exponent)
    a[program.m - program.users :] = 0.0
    integers = np.rint(a / q)
    integers -= integers * q > most  # (FEAS.2)
    a = np.maximum(integers, 0.0) * q  # (FEAS.1)
    moved = np.flatnonzero((a != alpha) & (alpha > 0.0)).tolist() if itself else []
    for k in moved:
        U, value = program.upper.finite(k), Fraction(float(alpha[k]))
        carriers[k] = value if U is None else min(value, U)
    a[list(carriers)] = [float(value) for value in carriers.values()]
    equalities = [group for group in program.groups if group.ridge == 0]
    if equalities and not _repaired(program, equalities, a, exponent, carriers):
        return None
    return Feasible(program, a, exponent, carriers)


def missing(group: ExactGroup, found: Feasible) -> Fraction:
    """E_gᵀα − e_g, exactly."""
    return _surplus(group, found.alpha, found.exponent, found.carriers)


def _surplus(group: ExactGroup, alpha: FloatArray, exponent: int, carriers: Mapping[int, Fraction]) -> Fraction:
    """E_gᵀα − e_g of multiples of q = 2^exponent, and of carriers."""
    column = group.column
    j = np.ldexp(alpha, -exponent)
    j[list(carriers)] = 0.0
    total = exact_dot(column, j) * Fraction(2) ** exponent
    for k, value in carriers.items():
        total += group.entry(k) * value
    for k, entry in group.entries.items():
        if k not in carriers:
            total += (entry - Fraction(float(column[k]))) * Fraction(float(alpha[k]))
    return total - group.total


def exact_dot(column: FloatArray, j: FloatArray) -> Fraction:
    """Σ column_k j_k without rounding, for whole numbers 0 ≤ j < 2⁵³: (m,) each.

    In two halves of 26 bits: where the column is of small whole numbers too, every partial sum is a whole number below
    2⁵³, whatever the order.
    """
    high = np.floor(np.ldexp(j, -HALF))
    low = j - np.ldexp(high, HALF)
    one = common_value(column)
    if one is not None:
        return (
            Fraction(one) * (int(high.sum()) * 2**HALF + int(low.sum())) if len(j) <= MOST_ROWS else _slowly(column, j)
        )
    largest = float(np.abs(column).max(initial=0.0))
    if largest * len(j) <= MOST_ROWS and (column == np.rint(column)).all():
        return Fraction(int(column @ high) * 2**HALF + int(column @ low))
    return _slowly(column, j)


def _slowly(column: FloatArray, j: FloatArray) -> Fraction:
    """The same, one distinct value of the column after the other."""
    values, places = np.unique(column, return_inverse=True)
    if len(values) > FEW_VALUES:
        usual = np.argsort(np.bincount(places))[-FEW_VALUES:]
        rest = np.flatnonzero(~np.isin(places, usual) & (j != 0.0)).tolist()
        few = [(float(values[v]), places == v) for v in usual.tolist()]
    else:
        rest, few = [], [(float(value), places == v) for v, value in enumerate(values.tolist())]
    found = sum((Fraction(float(column[k])) * int(j[k]) for k in rest), Fraction(0))
    for value, mask in few:
        if value:
            whole = j[mask].astype(np.int64)
            low = whole & ((1 << HALF) - 1)
            found += Fraction(value) * ((int((whole >> HALF).sum()) << HALF) + int(low.sum()))
    return found


def _repaired(
    program: ExactDual,
    equalities: list[ExactGroup],
    a: FloatArray,
    exponent: int,
    carriers: dict[int, Fraction],
) -> bool:
    """(FEAS.3) in place, and whether there was room for it."""
    surplus = [_surplus(group, a, exponent, carriers) for group in equalities]
    if not any(surplus):
        return True
    parts = _parts(equalities, surplus)
    return parts is not None and all(_taken(program, a, exponent, carriers, *part) for part in parts)


def _parts(
    equalities: list[ExactGroup], surplus: list[Fraction]
) -> list[tuple[FloatArray, NDArray[np.bool_], Fraction]] | None:
    """For each of some disjoint sets of rows a column and what its sum over them has too much; None where unknown."""
    if len(equalities) == 1:
        column = equalities[0].column
        mask = np.abs(column) > 0.0
        mask[list(equalities[0].entries)] = False
        return [(column, mask, surplus[0])]
    if len(equalities) != 2:
        return None
    E = np.column_stack([group.column for group in equalities])
    first = E[0]
    same = (first == E).all(axis=1)
    others = np.flatnonzero(~same)
    if not len(others):
        return None
    second = E[others[0]]
    a, b, c, d = (Fraction(float(v)) for v in (first[0], first[1], second[0], second[1]))
    determinant = a * d - b * c
    if determinant == 0:
        return None
    x = (surplus[0] * d - surplus[1] * c) / determinant  # of Σα over the first set: first·x + second·z = surplus
    z = (surplus[1] * a - surplus[0] * b) / determinant
    ones = np.ones(len(E))
    return [(ones, same, x), (ones, (second == E).all(axis=1), z)]


def _taken(
    program: ExactDual,
    a: FloatArray,
    exponent: int,
    carriers: dict[int, Fraction],
    column: FloatArray,
    mask: NDArray[np.bool_],
    surplus: Fraction,
) -> bool:
    """Take Σ column·α over the rows of a mask down by the surplus, where there is most room."""
    if surplus == 0:
        return True
    most, step = program.upper.bounds[1], Fraction(2) ** exponent
    down = (column > 0.0) == (surplus > 0)  # α falls where its column has the surplus' sign
    limits = np.finfo(np.float64)
    left = np.minimum(np.where(down, a, most - a), limits.max)
    with np.errstate(over="ignore"):
        room = np.minimum(np.where(mask, left * np.abs(column), -1.0), limits.max)
    behind = np.arange(program.m) >= program.m - program.users
    room[behind & mask] = limits.tiny  # these have room without end, and are asked last: theirs are other units
    few = min(CARRIERS, len(room))
    first = int(np.argmax(room))
    if room[first] > 2.0 * abs(float(surplus)):
        order = np.array([first])
    else:
        order = np.argpartition(-room, few - 1)[:few] if few < len(room) else np.arange(len(room))
    for k in order[np.argsort(-room[order], kind="stable")].tolist():
        if not room[k] > 0.0:
            return False
        value, factor = carriers.get(k, Fraction(float(a[k]))), Fraction(float(column[k]))
        wanted = value - surplus / factor
        U = program.upper.finite(k)
        moved = max(wanted if U is None else min(wanted, U), Fraction(0))
        if moved > LARGEST_ALPHA:
            return False
        surplus -= (value - moved) * factor
        a[k] = float(moved)
        j = moved / step
        if j.denominator > 1 or j >= 2**BITS:  # (FEAS.1) is not true of it
            carriers[k] = moved
        else:
            carriers.pop(k, None)
        if surplus == 0:
            return True
    return False
