"""State the program of a proof, (DUAL.1), in rational numbers (`ExactDual`).

`program.svm_dual` states the same program in floats, where a level t − ε, a penalty C·s and 1/Σs are already rounded.
Names and equations are those of that module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import RationalVector, enclose_all, from_enclosure, from_floats, round_up_from
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.svm_dual import DualGroup, SVMDual


@dataclass(frozen=True, eq=False)
class ExactGroup:
    """A column of E: an equality E_gᵀα = e_g, or with R > 0 a penalised multiplier.

    multiplier: Its name: "b", "rho", "epsilon", …
    column (m,): E_g, exact except for `entries`.
    total, ridge: e_g and R_g.
    formula: The equality in mathematical notation.
    entries: Entries of E_g that are not floats: Σ_l A_kl of linear constraints on values.
    """

    multiplier: str
    column: FloatArray
    total: Fraction = Fraction(0)
    ridge: Fraction = Fraction(0)
    formula: str = ""
    entries: Mapping[int, Fraction] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return build_repr("ExactGroup", **shown)

    @cached
    def has_unit_entries(self) -> bool:
        """Whether every float of the column is −1, 0 or 1, so that its products are exact."""
        sizes = np.abs(self.column)
        return bool(((sizes == 1.0) | (sizes == 0.0)).all())

    def entry(self, k: int) -> Fraction:
        """Return E_kg exactly."""
        entry = self.entries.get(k)
        return Fraction(float(self.column[k])) if entry is None else entry


@dataclass(frozen=True, eq=False)
class ExactDual:
    """(DUAL.1) of one machine over its points: the active samples, followed by those of linear constraints.

    sign (m,): s, −1 or +1.
    level, upper, curvature: ℓ, U (∞ if α is unbounded) and δ: (m,) each.
    rows (m,): The point of each row; None if row k is point k.
    mix (m, n): A of (DUAL.6), exact floats, in place of `rows`; else None.
    n: Number of points.
    unit: Factor from (DUAL.1) to the objective.
    classes: k if points and rows are pairs of a sample and one of k classes; else 1.
    shared: Whether the rows of a sample are one block: ψ applies to their largest t, and U bounds the sum of their α.
    users: Number of rows that are linear constraints, the last ones. Their α are multipliers, with their own units.
    """

    sign: FloatArray
    level: RationalVector
    upper: RationalVector
    curvature: RationalVector
    groups: tuple[ExactGroup, ...]
    n: int
    rows: IntArray | None = None
    mix: sp.csr_array | None = None
    unit: Fraction = Fraction(1)
    users: int = 0
    classes: int = 1
    shared: bool = False

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return build_repr("ExactDual", **shown)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.sign)

    @property
    def width(self) -> int:
        """Number of rows of a block."""
        return self.classes if self.shared else 1

    @property
    def constraints_text(self) -> str:
        """Constraints of a feasible α, in words."""
        equalities = [group.formula or group.multiplier for group in self.groups if not group.ridge]
        box = "its bounds, α_ic ≥ 0 and Σ_c α_ic ≤ C_i," if self.shared else "its box"
        return " and ".join(dict.fromkeys([box, *equalities]))

    @cached
    def upper_ends(self) -> tuple[FloatArray, FloatArray]:
        """The floats next to U, below and above it: (m,) each."""
        return enclose_all(self.upper)

    def row(self, k: int) -> list[tuple[int, Fraction]]:
        """Return the points of a row, and s_k times their factors."""
        sign = Fraction(int(self.sign[k]))
        if self.mix is None:
            return [(k if self.rows is None else int(self.rows[k]), sign)]
        stored = slice(*self.mix.indptr[k : k + 2])
        parts = zip(self.mix.indices[stored].tolist(), self.mix.data[stored].tolist(), strict=True)
        return [(i, sign * Fraction(a)) for i, a in parts]

    def find_hard_rows(self) -> Any:
        """Return the rows that may not be violated, a mask (m,): U = ∞ and δ = 0."""
        return self.upper.infinite_mask & (self.curvature.bounds[1] == 0.0)


def state_dual_exactly(svm: SVMDual) -> ExactDual:
    """Return the program of a dual in floats, with its box and its equalities before they were rounded.

    The floats of `svm.upper` are not above the exact U, so that no α within them has to be compared with U itself.
    """
    upper = from_floats(svm.upper)
    if svm.exact_upper is not None and svm.upper_radius is not None:
        high = round_up_from(svm.upper, svm.upper_radius)
        upper = from_enclosure(svm.upper, high, svm.exact_upper.__getitem__)
    groups = tuple(map(state_group_exactly, svm.groups))
    users = 0 if svm.linear_constraints is None else svm.m - svm.linear_constraints.unconstrained_dual.m
    level, curvature = from_floats(svm.level), from_floats(svm.curvature)
    return ExactDual(svm.sign, level, upper, curvature, groups, svm.n, svm.rows, svm.mix, users=users)


def state_group_exactly(group: DualGroup) -> ExactGroup:
    """Return a group of a dual in floats, with its total before it was rounded."""
    return ExactGroup(group.multiplier, group.column, group.exact_total, Fraction(group.ridge))


@dataclass(frozen=True, eq=False)
class Primal:
    """A primal point, w and μ, given exactly by the floats of a result.

    w: Weights (d,) of a linear machine, (k, d) with k classes; else None.
    coef: Else coefficients (n,) of w = Σ_i coef_i φ(x_i) over the points, (n, k) with k classes.
    multipliers: μ of all groups, by name.
    """

    w: FloatArray | None
    coef: FloatArray | None
    multipliers: Mapping[str, Fraction] = field(default_factory=dict)

    def __repr__(self) -> str:
        return build_repr("Primal", **vars(self))
