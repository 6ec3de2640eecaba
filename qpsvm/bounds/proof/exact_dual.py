"""State the program of a proof, (DUAL.1), in rational numbers (`ExactDual`).

`program.svm_dual` has the same in floats, in which a level t − ε, a penalty C·s and 1/Σs are rounded already. Names and
equations are those of that module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import scipy.sparse as sp

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.rationals import RationalVector
from qpsvm.base.arrays.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ExactGroup:
    """A column of E: an equality E_gᵀα = e_g, or with R > 0 a multiplier that is penalised.

    multiplier: "b", "rho", "epsilon", …
    column (m,): E_g: these floats exactly, but for `entries`.
    total, ridge: e_g and R_g.
    formula: The equality as a person writes it.
    entries: The entries of E_g that are no floats: Σ_l A_kl of linear constraints on values.
    """

    multiplier: str
    column: FloatArray
    total: Fraction = Fraction(0)
    ridge: Fraction = Fraction(0)
    formula: str = ""
    entries: Mapping[int, Fraction] = field(default_factory=dict)

    def __repr__(self) -> str:
        return build_repr("ExactGroup", **vars(self))

    def entry(self, k: int) -> Fraction:
        """E_kg itself."""
        found = self.entries.get(k)
        return Fraction(float(self.column[k])) if found is None else found


@dataclass(frozen=True, eq=False)
class ExactDual:
    """(DUAL.1) of one machine over its points: the active samples, and behind them those of linear constraints.

    sign (m,): s, −1 or +1.
    level, upper, curvature: ℓ, U (∞ where nothing bounds α) and δ: (m,) each.
    rows (m,): The point of each row; None where row k is point k.
    mix (m, n) or None: A of (DUAL.6), these floats exactly, instead of `rows`.
    n: Points.
    unit: What the objective is in units of (DUAL.1).
    classes: k where points are pairs of a sample and one of k classes, and rows are so, too; else 1.
    shared: Whether the rows of a sample are one block: ψ is of their largest t, and U bounds the sum of their α.
    users: How many of the rows are linear constraints: the last ones. Their α, the multipliers, have own units.
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
        return build_repr("ExactDual", **vars(self))

    @property
    def m(self) -> int:
        """Rows."""
        return len(self.sign)

    @property
    def width(self) -> int:
        """Rows of a block."""
        return self.classes if self.shared else 1

    @property
    def constraints_text(self) -> str:
        """Constraints of a feasible α, in words."""
        equalities = [group.formula or group.multiplier for group in self.groups if not group.ridge]
        box = "its bounds, α_ic ≥ 0 and Σ_c α_ic ≤ C_i," if self.shared else "its box"
        return " and ".join(dict.fromkeys([box, *equalities]))

    def row(self, k: int) -> list[tuple[int, Fraction]]:
        """The points of a row, and s_k times their factors."""
        sign = Fraction(int(self.sign[k]))
        if self.mix is None:
            return [(k if self.rows is None else int(self.rows[k]), sign)]
        some = slice(*self.mix.indptr[k : k + 2])
        parts = zip(self.mix.indices[some].tolist(), self.mix.data[some].tolist(), strict=True)
        return [(i, sign * Fraction(a)) for i, a in parts]

    def find_hard_rows(self) -> Any:
        """Return the rows that may not be violated, a mask (m,): U = ∞ and δ = 0."""
        return self.upper.infinite_mask & (self.curvature.bounds[1] == 0.0)


@dataclass(frozen=True, eq=False)
class Primal:
    """A primal point, w and μ, as the numbers in a user's hands: exact, as they are what they are.

    w (d,) or None: Of a linear machine; of k classes (k, d).
    coef (n,) or None: Else: w = Σ_i coef_i φ(x_i) over the points; of k classes (n, k), over the samples.
    multipliers: μ by name: those of all groups.
    """

    w: FloatArray | None
    coef: FloatArray | None
    multipliers: Mapping[str, Fraction] = field(default_factory=dict)

    def __repr__(self) -> str:
        return build_repr("Primal", **vars(self))
