"""State the program of a proof, (DUAL.1), in rational numbers (`ExactDual`).

`program.svm_dual` states the same program in floats: there a level t − ε, a penalty C·s or 1/Σs is rounded.
Symbols and equations are those of that module: m rows with signs s, levels ℓ, penalties U and curvatures δ over n
points, the losses ψ of the shortfalls t, and the groups E_gᵀα = e_g.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import RationalVector, enclose_all, from_enclosure, from_floats, round_up_from
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.svm_dual import DualGroup, SVMDual


@dataclass(frozen=True, eq=False)
class ExactGroup:
    """A column of E: an equality E_gᵀα = e_g, or with R_g > 0 a multiplier that the primal penalises.

    multiplier: The name of its multiplier: "b", "rho", "epsilon", …
    column (m,): E_g as floats, exact except in the rows of `entries`.
    total, ridge: e_g and R_g.
    formula: The equality in mathematical notation.
    entries: By row, the entries of E_g that are not floats: Σ_l A_kl of linear constraints on values of f.
    """

    multiplier: str
    column: FloatArray
    total: Fraction = Fraction(0)
    ridge: Fraction = Fraction(0)
    formula: str = ""
    entries: Mapping[int, Fraction] = field(default_factory=dict)

    def __repr__(self) -> str:
        return _build_field_repr(self)

    @cached
    def has_unit_entries(self) -> bool:
        """Whether all floats of the column are −1, 0 or 1, so that products with them are exact."""
        sizes = np.abs(self.column)
        return bool(((sizes == 1.0) | (sizes == 0.0)).all())

    def get_entry(self, k: int) -> Fraction:
        """Return E_kg exactly."""
        entry = self.entries.get(k)
        return Fraction(float(self.column[k])) if entry is None else entry


@dataclass(frozen=True, eq=False)
class ExactDual:
    """(DUAL.1) of one machine over its points: the active samples, followed by those of linear constraints.

    sign (m,): s, −1 or +1.
    level, upper, curvature: ℓ, U (∞ if α is unbounded) and δ: (m,) each.
    n: Number of points.
    rows (m,): The point r(k) of each row k; None if r(k) = k.
    mix (m, n): A of (DUAL.6), exact floats, if rows combine points; else None.
    unit: The objective of the machine is unit·(DUAL.1).
    n_constraint_rows: Number of linear constraints, which are the last rows, (DUAL.9); their α are in other units.
    classes: k if points and rows are pairs of a sample and one of k classes; else 1.
    has_shared_slack: Whether the rows of a sample are one block: ψ applies to their largest t, and U bounds their Σα.
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
    n_constraint_rows: int = 0
    classes: int = 1
    has_shared_slack: bool = False

    def __repr__(self) -> str:
        return _build_field_repr(self)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.sign)

    @property
    def block_size(self) -> int:
        """Number of rows of a block, (DUAL.10)."""
        return self.classes if self.has_shared_slack else 1

    @property
    def constraints_text(self) -> str:
        """The conditions on a feasible α, in words."""
        equalities = [group.formula or group.multiplier for group in self.groups if not group.ridge]
        if self.has_shared_slack:
            box = "its bounds, α_ic ≥ 0 and Σ_c α_ic ≤ C_i,"
        else:
            box = "its box"
        return " and ".join(dict.fromkeys([box, *equalities]))

    @cached
    def upper_enclosure(self) -> tuple[FloatArray, FloatArray]:
        """The floats next to U, below and above it: (m,) each."""
        return enclose_all(self.upper)

    def list_row_terms(self, k: int) -> list[tuple[int, Fraction]]:
        """Return the points i of row k with their factors in s_k φ(x_r(k)): s_k, or s_k A_ki of (DUAL.6)."""
        sign = Fraction(int(self.sign[k]))
        if self.mix is None:
            return [(k if self.rows is None else int(self.rows[k]), sign)]
        stored = slice(self.mix.indptr[k], self.mix.indptr[k + 1])
        entries = zip(self.mix.indices[stored].tolist(), self.mix.data[stored].tolist(), strict=True)
        return [(i, sign * Fraction(a)) for i, a in entries]

    def find_hard_rows(self) -> NDArray[np.bool_]:
        """Return a mask (m,) of the rows that may not be violated: U = ∞ and δ = 0."""
        hard: NDArray[np.bool_] = self.upper.infinite_mask & (self.curvature.bounds[1] == 0.0)
        return hard


def state_dual_exactly(svm: SVMDual) -> ExactDual:
    """Return the exact statement of a dual in floats, with U and the totals of its groups before they were rounded.

    `svm.upper` is a lower bound of U, so an α within `svm.upper` need not be compared with U itself.
    """
    upper = from_floats(svm.upper)
    if svm.exact_upper is not None and svm.upper_radius is not None:
        high = round_up_from(svm.upper, svm.upper_radius)
        upper = from_enclosure(svm.upper, high, svm.exact_upper.__getitem__)
    if svm.linear_constraints is None:
        n_constraint_rows = 0
    else:
        n_constraint_rows = svm.m - svm.linear_constraints.unconstrained_dual.m
    return ExactDual(
        sign=svm.sign, level=from_floats(svm.level), upper=upper, curvature=from_floats(svm.curvature),
        groups=tuple(map(state_group_exactly, svm.groups)), n=svm.n, rows=svm.rows, mix=svm.mix,
        n_constraint_rows=n_constraint_rows,
    )  # fmt: skip


def state_group_exactly(group: DualGroup) -> ExactGroup:
    """Return a group of a dual in floats, with its exact total."""
    return ExactGroup(group.multiplier, group.column, group.exact_total, Fraction(group.ridge))


@dataclass(frozen=True, eq=False)
class Primal:
    """A primal point, w and μ, given exactly by the floats of a result. One of `w` and `coef` is None.

    w: The weights of a linear machine: (d,), or (k, d) with k classes.
    coef: The coefficients of w = Σ_i coef_i φ(x_i) over the points: (n,), or (n, k) with k classes.
    multipliers: μ of all groups, by name.
    """

    w: FloatArray | None
    coef: FloatArray | None
    multipliers: Mapping[str, Fraction] = field(default_factory=dict)

    def __repr__(self) -> str:
        return _build_field_repr(self)


def _build_field_repr(record: ExactGroup | ExactDual | Primal) -> str:
    """Build a `repr` from the fields, without cached values."""
    return build_repr(type(record).__name__, **{each.name: getattr(record, each.name) for each in fields(record)})
