"""Specify a machine in exact numbers, from which its dual, its primal and its proofs are built (`Specification`).

    (RECORD.1)  for each row: its sample, sign s, level ℓ, upper bound U and curvature δ;  for each group: its
                multiplier, column E, total e and ridge R;  and a unit: (DUAL.1) without any rounding
    (RECORD.2)  the column of the intercept is s, for every machine; its total is 0 unless the machine specifies it
    (RECORD.3)  the float form has these numbers, each rounded once: U down, so that α within the floats is within the
                exact bounds, and a total to the sum of two floats
    (RECORD.4)  primal:  minimise unit · (½‖w‖² + eᵀμ + ½Σ R_g μ_g² + the cost of slack)
                subject to  s_k⟨w, z_r(k)⟩ + Σ_g E_kg μ_g ≥ ℓ_k − ξ_k − ζ_k,  ξ, ζ ≥ 0
    (RECORD.5)  slack costs U ξ where δ = 0,  ξ²/(2δ) where U = ∞,  ξ²/(2δ) + U ζ between the two;  hard rows have none

The machine names the multipliers of its groups. The slacks are called "xi" and "zeta", the margin rows "margin". A
regression has slacks "xi" and "xi_star", for its rows "above" and "below" f.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.rationals import (
    RationalVector,
    as_floats,
    as_rationals,
    divide_exactly,
    round_all_down,
    round_to_nearest,
    scale_exactly,
)
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import ParameterError
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.qp import QP, Rows
from qpsvm.program.svm_dual import DualGroup, SVMDual, build_intercept_groups
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.operators import Diagonal, Operator

#: One number for all rows, exact floats, or rationals: (m,).
Numbers = RationalVector | FloatArray | Fraction | float
#: Names of the slacks of the two halves of the rows.
SLACKS = ("xi", "xi_star")


class Equality(NamedTuple):
    """A group of (RECORD.1) other than that of a free or penalised intercept.

    name, multiplier, formula: As for `DualGroup`.
    entry: E of every row; None if E is the sign, and the multiplier that of the intercept.
    total: e.
    """

    name: str
    multiplier: str
    entry: float | None
    total: Fraction
    formula: str


@dataclass(frozen=True, eq=False)
class Specification:
    """The numbers (RECORD.1) of one machine over its samples.

    sign (m,): s, −1 or +1.
    level, upper, curvature: ℓ, U (∞ if α is unbounded) and δ of every row.
    groups: The groups without that of the intercept, which precedes them.
    rows (m,), mix (m, n), classes: As for `SVMDual`.
    diagonal: Coefficient of K(x, x) in the level.
    balance: The equality of a free intercept as text.
    """

    sign: FloatArray
    level: Numbers
    upper: Numbers
    curvature: Numbers = 0.0
    groups: tuple[Equality, ...] = ()
    rows: IntArray | None = None
    mix: sp.csr_array | None = None
    unit: Fraction = Fraction(1)
    diagonal: Fraction = Fraction(0)
    balance: str = "yᵀα = 0"
    classes: AllInOneDual | None = None

    def to_rationals(self, values: Numbers) -> RationalVector:
        """Return ℓ, U or δ of every row: (m,)."""
        return as_rationals(values, len(self.sign))

    def to_floats(self, values: Numbers) -> FloatArray:
        """Return ℓ, U or δ of every row as floats: (m,)."""
        if isinstance(values, np.ndarray):
            return values
        if isinstance(values, float):
            return repeat_value(values, len(self.sign))
        return as_floats(self.to_rationals(values))

    def build_dual(self, gram: Operator, intercept: Intercept) -> SVMDual:
        """Build (RECORD.3), the dual over a Gram matrix, with the intercept treated as given. Raises ParameterError."""
        level, curvature = self.to_floats(self.level), self.to_floats(self.curvature)
        exact_upper = self.to_rationals(self.upper)
        upper, upper_radius = round_all_down(exact_upper)
        if isinstance(self.curvature, RationalVector) and not np.isfinite(curvature).all():
            raise ParameterError(
                "C times sample_weight is too small: 1/C_i, by which the loss is curved, is beyond all floats; "
                "multiply C by a constant, or give such samples the weight 0"
            )
        level_radius = None
        if isinstance(self.level, RationalVector) and self.level.low.any():
            level_radius = np.abs(self.level.low)
        if self.diagonal:
            level = level + float(self.diagonal) * gram.diagonal()
        classes = None if self.classes is None else replace(self.classes, intercept=intercept)
        return SVMDual(
            gram=gram,
            sign=self.sign,
            level=level,
            upper=upper,
            curvature=curvature,
            groups=self.build_groups(intercept) if classes is None else classes.build_groups(),
            rows=self.rows,
            unit=1.0 if self.unit == 1 else round_to_nearest(self.unit),
            mix=self.mix,
            level_radius=level_radius,
            upper_radius=upper_radius,
            exact_upper=None if upper_radius is None else exact_upper,
            block=1 if classes is None else classes.block,
            classes=classes,
        )

    def build_groups(self, intercept: Intercept) -> tuple[DualGroup, ...]:
        """Return the groups in floats: that of the intercept, then `groups`."""
        m = len(self.sign)
        other_groups = []
        for group in self.groups:
            column = self.sign if group.entry is None else repeat_value(group.entry, m)
            total = round_to_nearest(group.total)
            remainder = group.total - Fraction(total) if math.isfinite(total) else Fraction(0)
            low = round_to_nearest(remainder)
            rest = remainder - Fraction(low)
            other_groups.append(
                DualGroup(group.name, group.multiplier, column, total, formula=group.formula, low=low, rest=rest)
            )
        return (*build_intercept_groups(self.sign, intercept, self.balance), *other_groups)


class PrimalNotation(NamedTuple):
    """The texts, names and units of a primal QP.

    title: Title of the QP.
    objective, rows: Formulas as text; {norm} is replaced by ‖w‖², plus b² if b is penalised, and {f} by wᵀx_i + b.
    level_rows: Names of the blocks of rows: one, or one for each half of the rows of a regression.
    symbols: Symbols of the variables in place of w, b, …; a variable "rho" in place of b is −b.
    slack_scale: Slacks of this QP divided by those of (RECORD.4).
    """

    title: str
    objective: str
    rows: tuple[str, ...]
    level_rows: tuple[str, ...]
    symbols: Mapping[str, str]
    slack_scale: float


class SlackPenalties(NamedTuple):
    """The penalties (RECORD.5) times the unit: qξ + ½pξ² of a slack ξ, and qζ of a slack ζ.

    xi_rows (j,), zeta_rows (l,): The rows that have a slack ξ, and those that have also a slack ζ.
    xi_linear, xi_quadratic (j,), zeta_linear (l,): q and p of ξ, and q of ζ.
    """

    xi_rows: IntArray
    zeta_rows: IntArray
    xi_linear: FloatArray
    xi_quadratic: FloatArray
    zeta_linear: FloatArray


def build_primal_qp(specification: Specification, Z: Matrix, intercept: Intercept, notation: PrimalNotation) -> QP:
    """Build (RECORD.4) with the slacks of (RECORD.5), for samples in explicit coordinates. Shapes: Z (n, r)."""
    groups = specification.build_groups(intercept)
    m = len(specification.sign)
    r = Z.shape[1]
    unit = round_to_nearest(specification.unit)
    slacks = _compute_slack_penalties(specification, notation.slack_scale)
    n_xi, n_zeta = len(slacks.xi_rows), len(slacks.zeta_rows)
    signs = [-1.0 if notation.symbols.get(group.multiplier) == "rho" else 1.0 for group in groups]  # b = −ρ
    totals = [sign * unit * group.total for sign, group in zip(signs, groups, strict=True)]
    columns = [sign * group.column for sign, group in zip(signs, groups, strict=True)]
    h = 0.0 - as_floats(specification.to_rationals(specification.level))
    if specification.diagonal:
        h = h - float(specification.diagonal) * squared_norms(Z)
    f = "(wᵀx_i + b)" if intercept else "wᵀx_i"
    norm = "(‖w‖² + b²)" if intercept == "penalised" else "‖w‖²"
    points = _take_signed_points(specification, Z)
    n_blocks = len(notation.rows)
    lengths = {"w": r, **{group.multiplier: 1 for group in groups}}
    lengths |= dict.fromkeys(SLACKS[:n_blocks], n_xi // n_blocks) | {"zeta": n_zeta}
    ridges = [unit * group.ridge for group in groups]
    return QP(
        P=Diagonal(np.concatenate([np.full(r, unit), ridges, slacks.xi_quadratic, np.zeros(n_zeta)])),
        q=np.concatenate([np.zeros(r), totals, slacks.xi_linear, slacks.zeta_linear]),
        G=_build_margin_matrix(points, columns, (slacks.xi_rows, slacks.zeta_rows), notation.slack_scale),
        h=h,
        lb=np.concatenate([np.full(r + len(groups), -np.inf), np.zeros(n_xi + n_zeta)]) if n_xi else None,
        variables=_slice_variables({notation.symbols.get(name, name): length for name, length in lengths.items()}),
        constraints={
            name: Rows("G", slice(k * m // n_blocks, (k + 1) * m // n_blocks), text.format(f=f))
            for k, (name, text) in enumerate(zip(notation.level_rows, notation.rows, strict=True))
        },
        formula=notation.objective.format(norm=norm),
        title=notation.title,
    )


def _compute_slack_penalties(specification: Specification, slack_scale: float) -> SlackPenalties:
    """Compute the penalties of the slacks, which are `slack_scale` times those of (RECORD.4)."""
    upper = specification.to_rationals(specification.upper)
    curvature = specification.to_rationals(specification.curvature)
    bounded = ~upper.infinite_mask
    curved = as_floats(curvature) > 0.0
    xi_rows, zeta_rows = np.flatnonzero(bounded | curved), np.flatnonzero(bounded & curved)
    linear = as_floats(scale_exactly(upper, specification.unit)) / slack_scale
    quadratic = np.zeros(len(specification.sign))
    if curved.any():
        quadratic = as_floats(divide_exactly(curvature, specification.unit)) / slack_scale**2
        quadratic = np.where(curved, quadratic, 0.0)
    xi_linear = np.where(curved, 0.0, linear)[xi_rows]
    return SlackPenalties(xi_rows, zeta_rows, xi_linear, quadratic[xi_rows], linear[zeta_rows])


def _build_margin_matrix(
    signed_points: Matrix, multiplier_columns: list[FloatArray], slack_rows: tuple[IntArray, ...], slack_scale: float
) -> sp.csc_array:
    """Return the margin rows of (RECORD.4) as Gx ≤ h: columns of w, of the multipliers, and of slacks of some rows."""
    slack = -sp.eye_array(signed_points.shape[0], format="csc") / slack_scale
    blocks = [-signed_points, *(-column[:, None] for column in multiplier_columns)]
    blocks += [slack[:, rows] for rows in slack_rows if len(rows)]
    return sp.hstack([sp.csc_array(block) for block in blocks], format="csc")


def _slice_variables(lengths: Mapping[str, int]) -> dict[str, slice]:
    """Return the slices of consecutive blocks of variables with these lengths, without empty ones."""
    ends = np.cumsum([0, *lengths.values()]).tolist()
    slices = {name: slice(*pair) for name, pair in zip(lengths, pairwise(ends), strict=True)}
    return {name: part for name, part in slices.items() if part.stop > part.start}


def _take_signed_points(specification: Specification, Z: Matrix) -> Matrix:
    """Return s_k times the sample, or the combination of samples, of each row: (m, r)."""
    points = Z
    if specification.mix is not None:
        points = specification.mix @ Z
    elif specification.rows is not None:
        points = Z[specification.rows]
    if sp.issparse(points):
        return sp.diags_array(specification.sign) @ points
    return specification.sign[:, None] * points
