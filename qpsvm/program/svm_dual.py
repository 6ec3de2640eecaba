"""Define the dual of any SVM in one form (`SVMDual`), and the units of its QP (`Statement`).

    (DUAL.1)  minimise ½‖Σ_k α_k s_k φ(x_r(k))‖² + ½Σ δ_k α_k² − ℓᵀα + Σ_R (E_gᵀα − e_g)²/(2R_g)
              over 0 ≤ α ≤ U  subject to  E_gᵀα = e_g for every group g without a ridge R_g
    (DUAL.2)  t_k = ℓ_k − s_k⟨w, φ(x_r(k))⟩ − Σ_g E_kg μ_g:  the shortfall to the level of row k
    (DUAL.3)  the primal:  minimise ½‖w‖² + Σ_k ψ_k(t_k) + eᵀμ + ½Σ R_g μ_g²  over w and μ, with ψ of (LOSS.1)
    (DUAL.4)  f(x) = ⟨w, φ(x)⟩ + b:  b is the multiplier μ_g of the group whose column is the sign s; without one, 0
    (DUAL.5)  Σ_k α_k s_k φ(x_r(k)) = Σ_i β_i φ(x_i),  β_i = the sum of α_k s_k over the rows k of sample i
    (DUAL.6)  a row may combine several samples: Σ_i A_ki φ(x_i) stands for φ(x_r(k)), and β = Aᵀ(s∘α)
    (DUAL.7)  if U is finite and δ = 0, the slack is ξ_k = max(0, t_k), and the multiplier of ξ_k ≥ 0 is what α_k
              leaves of the penalty:  η_k = U_k − α_k
    (DUAL.8)  α_k = 0 where s f is beyond its level, 0 < α_k < U_k where it is on it, α_k = U_k where it is violated;
              a curved row with α_k > 0 is violated by δ_k α_k
    (DUAL.9)  a linear constraint ⟨g, w⟩ + c b ≤ h is a row after those of the samples:  s = −1, φ = g, ℓ = −h, U = ∞,
              δ = 0, and in the group of the intercept E = −c;  its α is its multiplier, and its f does not contain b
    (DUAL.10)  rows that share a slack are a block B:  Σ_B α ≤ U, its loss is ψ of max_B t, and a box is a block of one

Row k of the dual belongs to sample r(k). It has a sign, a level that s f should reach, a penalty U per unit of the
shortfall t, and a curvature δ, with which the penalty of a small t is t²/(2δ). A group is a column of E: an equality,
whose multiplier is a variable of the primal (the intercept b, the margin ρ of a ν-SVM), or, with R > 0, a multiplier
that the primal penalises.

A QP built by a problem contains its `SVMDual`, for solvers specific to support vector machines, and the relation
between its numbers and those of the dual:

    (STATE.1)  α = v x,  the objective of the QP = t · unit · (DUAL.1),  the row of group g is multiplied by r_g
    (STATE.2)  hence the multiplier of that row is t · unit · μ_g / r_g,  and Zᵀx = w(α) (t · unit)^½ with P = ZZᵀ

A QP written by hand contains none; `backends.recognise` tries to find one from its numbers.

Source: Lagrangian duality row by row; Rockafellar, *Convex Analysis* (1970), section 31.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value, multiply, repeat_value
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import build_frozen, cached, freeze_each
from qpsvm.base.arrays.rationals import RationalVector
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.rows import DualGroup, DualPart, DualRows, build_intercept_groups, find_distinct_rows, invert_mixing
from qpsvm.space.operators import Operator, add_diagonal, combine_rows, take_rows


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """Linear constraints added to a machine, (DUAL.9).

    unconstrained_dual: The dual of the machine without them, over its own samples; its Gram matrix is a placeholder.
    names: Names of the p rows.
    opposite_pairs (k, 2): Pairs of rows with opposite left-hand sides, whose bounds may differ: only the difference of
        their multipliers matters.
    equality_mask (m,): Mask of the rows that can only hold as equalities; None if there are none.
    """

    unconstrained_dual: SVMDual
    names: tuple[str, ...]
    opposite_pairs: IntArray
    equality_mask: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        freeze_each(self.__dict__.values())

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **vars(self))


@dataclass(frozen=True, eq=False)
class SVMDual(DualRows):
    """The dual (DUAL.1) of a machine.

    Attributes
    ----------
    gram : Operator, shape (n, n)
        K_ij = ⟨φ(x_i), φ(x_j)⟩ over the samples.
    sign, level, upper, curvature : ndarray, shape (m,)
        s, which is −1 or +1, ℓ, U and δ. U may be infinite, in some rows or in all. A value that all rows share is
        stored once, by `repeat_value`.
    groups : tuple of DualGroup
        The columns of E, e and R.
    rows : ndarray of int, shape (m,), or None
        r(k), the sample of each row; None if row k is sample k.
    unit : float
        The objective of the QP divided by (DUAL.1).
    mix : csr_array, shape (m, n), or None
        A of (DUAL.6), instead of `rows`, if rows are combinations of samples.
    level_radius, upper_radius : ndarray, shape (m,), or None
        Rounding errors of ℓ, and the amounts by which U may be too low; None if they are exact.
    exact_upper : RationalVector, shape (m,), or None
        U before it was rounded down; None if it was not, or is not known.
    linear_constraints : LinearConstraints or None
        The linear constraints of a user, which are the last rows; None without any.
    block : int
        Number of consecutive rows that share a slack, and U, (DUAL.10).
    classes : AllInOneDual or None
        The classes of an all-in-one multiclass machine: its rows are pairs of a sample and a rival class, and `gram`
        and `mix` are over pairs of a class and a sample. None for any other machine.

    See Also
    --------
    Problem.qp : The same dual as a QP.

    Examples
    --------
    The dual of a ν-SVM has two equalities, whose multipliers are b and ρ:

    >>> import qpsvm
    >>> svm = qpsvm.NuSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], nu=0.5).svm
    >>> for group in svm.groups:
    ...     print(group.name, group.multiplier, group.column, group.total)
    balance b [-1. -1.  1.  1.] 0.0
    nu rho [-1. -1. -1. -1.] -0.5
    >>> print(svm.sign, svm.level, svm.upper)
    [-1. -1.  1.  1.] [0. 0. 0. 0.] [0.25 0.25 0.25 0.25]
    """

    gram: Operator
    sign: FloatArray
    level: FloatArray
    upper: FloatArray
    curvature: FloatArray
    groups: tuple[DualGroup, ...] = ()
    rows: IntArray | None = None
    unit: float = 1.0
    mix: sp.csr_array | None = None
    level_radius: FloatArray | None = None
    upper_radius: FloatArray | None = None
    linear_constraints: LinearConstraints | None = None
    block: int = 1
    classes: AllInOneDual | None = None
    exact_upper: RationalVector | None = None

    def __post_init__(self) -> None:
        freeze_each(self.__dict__.values())

    def __repr__(self) -> str:
        return build_repr("SVMDual", **{name: getattr(self, name) for name in self.__dataclass_fields__})

    def with_gram(self, gram: Operator) -> SVMDual:
        """Return the same dual over another Gram matrix; all cached values are shared, except the Hessian.

        Parameters
        ----------
        gram : Operator, shape (n, n)
            Gram matrix of the same samples.

        Returns
        -------
        SVMDual
            The dual with the same rows, bounds and groups.
        """
        dual = object.__new__(SVMDual)  # `replace` would lose the cached values
        dual.__dict__.update(self.__dict__)
        dual.__dict__.pop("hessian", None)
        dual.__dict__["gram"] = gram
        return dual

    @cached
    def intercept(self) -> DualGroup | None:
        """The group whose multiplier is the intercept of f, (DUAL.4)."""
        return next((group for group in self.groups if group.column is self.sign), None)

    @cached
    def margin_groups(self) -> tuple[DualGroup, ...]:
        """The other groups, whose multipliers shift the required level of a row."""
        return tuple(group for group in self.groups if group is not self.intercept)

    @cached
    def penalised_groups(self) -> tuple[DualGroup, ...]:
        """The groups with a ridge."""
        return tuple(group for group in self.groups if group.ridge > 0.0)

    @cached
    def has_curvature(self) -> bool:
        """Whether any δ is positive."""
        value = find_common_value(self.curvature)
        if value is None:
            return bool((self.curvature > 0.0).any())
        return value > 0.0

    @cached
    def hard_rows(self) -> NDArray[np.bool_] | None:
        """Mask of the hard rows, U = ∞ and δ = 0, which must not be violated, (m,); None if there are none."""
        if self.is_bounded:
            return None
        mask = np.isinf(self.upper) & (self.curvature == 0.0)
        return mask if mask.any() else None

    @cached
    def is_hard(self) -> bool:
        """Whether all rows are hard, and none is an added linear constraint."""
        return self.linear_constraints is None and self.hard_rows is not None and bool(self.hard_rows.all())

    @cached
    def is_bounded(self) -> bool:
        """Whether every U is finite."""
        value = find_common_value(self.upper)
        if value is None:
            return bool(np.isfinite(self.upper).all())
        return value < np.inf

    @cached
    def common_level(self) -> float | None:
        """The level ℓ if it is one number for all rows, else None."""
        value = find_common_value(self.level)
        if value is None and len(self.level) and (self.level == self.level[0]).all():
            return float(self.level[0])
        return value

    @property
    def is_homogeneous(self) -> bool:
        """Whether every level is 0, so that only the groups keep α away from 0."""
        return self.common_level == 0.0

    @cached
    def is_scalable(self) -> bool:
        """Whether scaling (w, μ) up moves every row towards its level: one common positive level, and e = 0."""
        if self.linear_constraints is not None or any(group.total for group in self.groups):
            return False
        return self.common_level is not None and self.common_level > 0.0

    @cached
    def is_stretchable(self) -> bool:
        """Whether scaling (w, μ) up moves every hard row towards its level: positive levels, and e = 0."""
        if self.hard_rows is None or self.linear_constraints is not None or any(group.total for group in self.groups):
            return False
        return self.is_scalable or bool((self.level[self.hard_rows] > 0.0).all())

    @cached
    def hessian(self) -> Operator:
        """The Hessian of (DUAL.1) without its penalised groups: s_k s_l K_r(k)r(l) + δ_k on the diagonal."""
        if self.mix is None:
            row_gram = take_rows(self.gram, self.rows)
        else:
            row_gram = combine_rows(self.gram, self.mix)
        return add_diagonal(row_gram.congruence(self.sign), self.curvature if self.has_curvature else None)

    @cached
    def parts(self) -> tuple[DualPart, ...]:
        """Partition of the rows by groups, each part with its own multiplier, (DUAL.2).

        One group is one part. Two equalities split the rows if E has only two distinct rows (a, c), like that of a
        ν-SVM, (y_i, −1): the multipliers θ = E μ of the distinct rows are equivalent to μ, and each belongs to one
        part.

        Raises
        ------
        UnsupportedError
            Groups that cannot be separated.
        """
        if not self.groups:
            return ()
        if self.linear_constraints is not None:
            return self._extend_parts(self.linear_constraints.unconstrained_dual)
        if self.classes is not None:  # one part per class; a row belongs to two
            return cast("tuple[DualPart, ...]", self.groups)
        if len(self.groups) == 1:
            group = self.groups[0]
            return (
                build_frozen(
                    DualPart, rows=None, column=group.column, total=group.total, ridge=group.ridge, low=group.low
                ),
            )
        masks = self._distinct_rows[1]
        totals, lows = (
            self.inverse_mixing.T @ np.array(values)
            for values in ([group.total for group in self.groups], [group.low for group in self.groups])
        )
        return tuple(
            DualPart(mask, mask.astype(np.float64), float(total), 0.0, float(low))
            for mask, total, low in zip(masks, totals, lows, strict=True)
        )

    def _extend_parts(self, unconstrained: SVMDual) -> tuple[DualPart, ...]:
        """Return the parts with the added constraints, each of which may belong to several parts."""
        group_columns = np.column_stack([group.column[unconstrained.m :] for group in self.groups])
        part_columns = (group_columns @ unconstrained.inverse_mixing).T  # (q, p)
        return tuple(
            replace(part, rows=None, column=np.concatenate([part.column, column]))
            for part, column in zip(unconstrained.parts, part_columns, strict=True)
        )

    @cached
    def _distinct_rows(self) -> tuple[FloatArray, list[NDArray[np.bool_]]]:
        """The distinct rows of E, (q, q), and the masks (m,) of the rows equal to each."""
        q = len(self.groups)
        second_entry = find_common_value(self.groups[1].column) if q == 2 else None
        if second_entry and self.groups[0] is self.intercept and not self.penalised_groups:  # (±1, c) of a ν-machine
            has_first_sign = self.sign == self.sign[0]
            if not has_first_sign.all():
                distinct = np.array([[self.sign[0], second_entry], [-self.sign[0], second_entry]])
                return distinct, [has_first_sign, ~has_first_sign]
        E = np.column_stack([group.column for group in self.groups])
        distinct = E[find_distinct_rows(E, q + 1)]
        if len(distinct) != q or self.penalised_groups:
            names = ", ".join(group.name for group in self.groups)
            raise UnsupportedError(f"the groups {names} share rows in a way that is not supported")
        return distinct, [(row == E).all(axis=1) for row in distinct]

    @cached
    def inverse_mixing(self) -> FloatArray:
        """M⁻¹, with μ = M⁻¹θ and the distinct rows of E as M, (q, q): 1 for one group."""
        if self.linear_constraints is not None:
            return self.linear_constraints.unconstrained_dual.inverse_mixing
        mixing = self._distinct_rows[0] if len(self.groups) > 1 else np.eye(len(self.groups))
        return invert_mixing(mixing, ", ".join(group.name for group in self.groups))

    def compute_multipliers(self, thetas: list[float]) -> dict[str, float]:
        """Return the multipliers μ by name, from the multipliers θ of the parts.

        Parameters
        ----------
        thetas : list of float
            One multiplier per part.

        Returns
        -------
        dict of str to float
            One multiplier per group.
        """
        if len(thetas) == 1:
            return {self.groups[0].multiplier: thetas[0]}
        values = self.inverse_mixing @ np.array(thetas) if thetas else ()
        return {group.multiplier: float(value) for group, value in zip(self.groups, values, strict=True)}

    def get_intercept(self, multipliers: Mapping[str, float]) -> float:
        """Return the intercept of f among the multipliers, (DUAL.4): 0 without one.

        Parameters
        ----------
        multipliers : mapping of str to float
            Multipliers μ by name.

        Returns
        -------
        float
            The multiplier of the intercept's group.
        """
        if self.intercept is None:
            return 0.0
        return multipliers[self.intercept.multiplier]

    def compute_margin(self, multipliers: Mapping[str, float]) -> FloatArray:
        """Return the margin that s f should reach, ℓ_k − Σ E_kg μ_g over all groups but the intercept.

        Parameters
        ----------
        multipliers : mapping of str to float
            Multipliers μ by name.

        Returns
        -------
        ndarray, shape (m,)
            The margin of every row.
        """
        margin = self.level
        if self.classes is not None and self.groups:
            own, rival = self.classes.take_row_intercepts(multipliers)
            return np.asarray(margin - (own - rival))
        for group in self.margin_groups:
            shift = multiply(-multipliers[group.multiplier], group.column)
            common_margin, common_shift = find_common_value(margin), find_common_value(shift)
            if common_margin is None or common_shift is None:
                margin = margin + shift
            else:
                margin = repeat_value(common_margin + common_shift, self.m)
        return margin

    def bound_margin_rounding(self, multipliers: Mapping[str, float], rows: IntArray | slice) -> FloatArray | float:
        """Bound the rounding error of the margin at some rows; 0 where it is a level or a multiplier itself.

        Parameters
        ----------
        multipliers : mapping of str to float
            Multipliers μ by name.
        rows : ndarray of int, shape (r,), or slice
            The rows.

        Returns
        -------
        ndarray, shape (r,), or 0
            Bounds of the errors.
        """
        level_radius = 0.0 if self.level_radius is None else self.level_radius[rows]
        if not self.margin_groups:
            return level_radius
        if self.classes is not None:
            sizes = sum(np.abs(part[rows]) for part in self.classes.take_row_intercepts(multipliers))
            return level_radius + 3.0 * UNIT * (np.abs(self.level[rows]) + sizes)
        is_multiplier = (
            self.is_homogeneous
            and len(self.margin_groups) == 1
            and abs(find_common_value(self.margin_groups[0].column) or 0.0) == 1.0
        )
        if is_multiplier or not any(multipliers[group.multiplier] for group in self.margin_groups):
            return level_radius
        sizes = sum(np.abs(multipliers[group.multiplier] * group.column[rows]) for group in self.margin_groups)
        return level_radius + (len(self.margin_groups) + 1) * UNIT * (np.abs(self.level[rows]) + sizes)


@dataclass(frozen=True, eq=False)
class Statement:
    """The dual of an SVM, and the units of the QP that contains it.

    variable, objective: v and t of (STATE.1).
    rows: r_g by the name of the group; 1 if absent.
    """

    svm: SVMDual
    variable: float = 1.0
    objective: float = 1.0
    rows: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **vars(self))

    def scale(self, variables: Mapping[str, float], rows: Mapping[str, float], objective: float) -> Statement:
        """Return the statement of the QP that `QP.scaled` makes with the same factors."""
        factors = {name: self.rows.get(name, 1.0) * rows.get(name, 1.0) for name in {**self.rows, **rows}}
        variable = self.variable * variables.get("alpha", 1.0)
        return replace(self, variable=variable, objective=self.objective * objective, rows=factors)

    def to_qp_variables(self, alpha: FloatArray) -> FloatArray:
        """Return the QP's variables from α (m,)."""
        return multiply(1.0 / self.variable, alpha)

    def to_alpha(self, x: FloatArray) -> FloatArray:
        """Return α (m,) from the QP's variables."""
        return multiply(self.variable, x)

    def to_row_multipliers(self, mu: Mapping[str, float]) -> FloatArray:
        """Return the multipliers of the equality rows, (p,), from μ by name."""
        scale = self.objective * self.svm.unit
        equalities = (group for group in self.svm.groups if not group.ridge)
        return np.array([scale * mu[group.multiplier] / self.rows.get(group.name, 1.0) for group in equalities])

    def to_lifted_variables(self, w: FloatArray) -> FloatArray:
        """Return v = Zᵀx of `QP.to_lifted`, with the factor Z of P, from w(α)."""
        return w * float(np.sqrt(self.objective * self.svm.unit))


__all__ = ["DualGroup", "DualPart", "LinearConstraints", "SVMDual", "Statement", "build_intercept_groups"]
