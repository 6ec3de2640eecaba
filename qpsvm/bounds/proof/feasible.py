"""Find an α that is feasible in rational numbers, near a given one.

    (FEAS.1)  α is the floats that it is, and these are rational numbers: a certificate's are feasible, but for the last
              digits of what no sum of floats can make up for
    (FEAS.2)  0 ≤ α_k ≤ U_k: where a float is above a U_k that is none, α_k is U_k; of many rows, a float below it
    (FEAS.3)  what then misses in Eᵀα = e is taken from one row that is far from both its bounds, or else from those
              that have most room, until nothing does

Rows whose α is no float are called carriers.
    (FEAS.4)  multipliers of linear constraints have own units, and are asked last

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

from qpsvm.base.arrays.double_double import HUGE, TINY, UNDERFLOW, two_product
from qpsvm.base.arrays.frozen import cached, repeat_value
from qpsvm.base.arrays.rationals import sum_floats
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup

#: An α beyond this is no point that a proof would be about: sums and products with it overflow.
LARGEST_ALPHA = HUGE
#: The most rows of (FEAS.2), and those of (FEAS.3) that are asked for room before nothing is repaired.
CARRIERS = 10_000


@dataclass(frozen=True, eq=False)
class Feasible:
    """α that keeps (DUAL.1) exactly.

    alpha (m,): Floats; a carrier's is the nearest.
    carriers: The rows whose α is another number, and which.
    """

    program: ExactDual
    alpha: FloatArray
    carriers: Mapping[int, Fraction]

    def __getitem__(self, k: int) -> Fraction:
        """α_k itself."""
        return self.carriers[k] if k in self.carriers else Fraction(float(self.alpha[k]))

    @cached
    def exponent(self) -> int:
        """The largest e such that all α but the carriers are multiples of 2^e."""
        kept = self.alpha.copy()
        kept[list(self.carriers)] = 0.0
        mantissas, exponents = np.frexp(kept[kept > 0.0])
        whole = np.ldexp(mantissas, 53).astype(np.int64)
        zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        return int((exponents + zeros).min()) - 53 if len(whole) else 0

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
        return compute_residual(ExactGroup("", repeat_value(1.0, self.program.m)), self)

    def beta(self) -> tuple[FloatArray, FloatArray]:
        """β of (DUAL.5) at the points, and its radii: (n,) each."""
        program, signed, off = self.program, self.alpha * self.program.sign, np.zeros(self.program.m)
        carriers = list(self.carriers)
        off[carriers] = UNIT * self.alpha[carriers] + UNDERFLOW
        if program.mix is not None:
            A, sizes = program.mix.T, abs(program.mix).T
            found, sums, lost = A @ signed, sizes @ self.alpha, sizes @ off
            terms, whole = np.diff(program.mix.tocsc().indptr), bool((A.data == np.rint(A.data)).all())
        elif program.rows is not None:
            found, sums, lost, terms = (
                np.bincount(program.rows, part, minlength=program.n).astype(np.float64, copy=False)
                for part in (signed, self.alpha, off, self.alpha > 0.0)
            )
            whole = True
        else:
            return signed, off
        if whole and not carriers and np.ldexp(sums.max(initial=0.0), -self.exponent) < 2.0**53:
            return found, np.zeros(program.n)  # sums of whole numbers of 2^e are not rounded
        few = gamma(int(terms.max(initial=0)) + 4)
        alone = (terms <= 1) & (program.mix is None)  # nothing was added to it
        radius = np.where(alone, lost, (few * sums + lost) * (1.0 + few) + terms * UNDERFLOW)
        return found, radius

    def exact_beta(self) -> list[Fraction]:
        """β of (DUAL.5) itself: (n,)."""
        found = [Fraction(0)] * self.program.n
        for k in {*np.flatnonzero(self.alpha).tolist(), *self.carriers}:
            value = self[k]
            for i, factor in self.program.row(k):
                found[i] += value * factor
        return found


def feasible(program: ExactDual, alpha: FloatArray) -> Feasible | None:
    """The nearest such α that is easily found; None where the rows have no room for an equality. Shapes: alpha (m,)."""
    sure, most = program.upper.bounds
    a = np.clip(alpha, 0.0, most)
    if not a.max(initial=0.0) < LARGEST_ALPHA:  # true for NaN too
        return None
    carriers, over = dict[int, Fraction](), np.flatnonzero(a > sure)
    for k in over.tolist() if len(over) <= CARRIERS else ():  # (FEAS.2)
        if Fraction(float(a[k])) > (U := program.upper[k]):
            carriers[k], a[k] = U, float(U)
    if len(over) > CARRIERS:
        a[over] = sure[over]
    point = Feasible(program, a, carriers)
    equalities = [group for group in program.groups if group.ridge == 0]
    surplus = [compute_residual(group, point) for group in equalities]
    if not any(surplus):
        return point
    parts, a, carriers = _parts(equalities, surplus), a.copy(), {**carriers}
    kept = parts is not None and all(_take_surplus(program, a, carriers, *part) for part in parts)
    return Feasible(program, a, carriers) if kept else None


def compute_residual(group: ExactGroup, found: Feasible) -> Fraction:
    """Return E_gᵀα − e_g, exactly."""
    beside = {*found.carriers, *group.entries}
    alpha = found.alpha.copy()
    alpha[list(beside)] = 0.0
    return _dot(group.column, alpha) + sum((group.entry(k) * found[k] for k in beside), Fraction(0)) - group.total


def _dot(column: FloatArray, alpha: FloatArray) -> Fraction:
    """Σ c_k α_k without rounding: (m,) each."""
    sizes = np.abs(column)
    if ((sizes == 1.0) | (sizes == 0.0)).all():
        return sum_floats(column * alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = two_product(np.ascontiguousarray(column), alpha)
        safe = (np.abs(high) > TINY) & (sizes < HUGE) & np.isfinite(high)  # (ROUND.3)
    rest = np.flatnonzero(~safe & (column != 0.0) & (alpha != 0.0)).tolist()
    own = sum((Fraction(float(column[k])) * Fraction(float(alpha[k])) for k in rest), Fraction(0))
    return own + sum_floats(np.where(safe, high, 0.0)) + sum_floats(np.where(safe, low, 0.0))


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


def _take_surplus(
    program: ExactDual,
    a: FloatArray,
    carriers: dict[int, Fraction],
    column: FloatArray,
    mask: NDArray[np.bool_],
    surplus: Fraction,
) -> bool:
    """Reduce Σ column·α over the rows of a mask by the surplus, (FEAS.3) in place; return whether there was room."""
    if surplus == 0:
        return True
    for k in _askable(program, a, column, mask, surplus):
        value, factor = carriers.get(k, Fraction(float(a[k]))), Fraction(float(column[k]))
        wanted = value - surplus / factor
        U = program.upper.get_finite(k)
        moved = max(wanted if U is None else min(wanted, U), Fraction(0))
        if moved > LARGEST_ALPHA:
            return False
        surplus -= (value - moved) * factor
        a[k] = float(moved)
        if Fraction(float(moved)) != moved:
            carriers[k] = moved
        else:
            carriers.pop(k, None)
        if surplus == 0:
            return True
    return False


def _askable(
    program: ExactDual, a: FloatArray, column: FloatArray, mask: NDArray[np.bool_], surplus: Fraction
) -> list[int]:
    """The rows in the order of (FEAS.3) and (FEAS.4): first one far from both its bounds, if that is enough."""
    rows = np.flatnonzero(mask)
    a, sizes, behind = a[rows], np.abs(column[rows]), rows >= program.m - program.users
    most, down = program.upper.bounds[1][rows], (column[rows] > 0.0) == (surplus > 0)  # α falls where c has that sign
    with np.errstate(over="ignore"):
        room, inside = (np.where(down, a, most - a) * sizes), np.where(behind, 0.0, np.minimum(a, most - a) * sizes)
    order = np.lexsort((-room, behind))
    order = order[room[order] > 0.0][:CARRIERS]
    first = np.argmax(inside) if len(rows) else 0
    if len(rows) and inside[first] > 2.0 * abs(float(surplus)):
        order = np.append(first, order)
    found: list[int] = rows[order].tolist()
    return found
