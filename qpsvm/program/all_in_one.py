"""Define the dual of the all-in-one multiclass machines, over a matrix α (n, k) (`AllInOneDual`).

One program learns a function f_c for each of k classes from n samples. Sample i is of class y = y_i. Every other class
is a rival c of y, and each pair (i, c) is a row with one α_ic. The own class has α_iy = 0.

    (JOINT.1)  f_c(x) = ⟨w_c, φ(x)⟩ + b_c;  t_ic = ℓ − (f_y(x_i) − f_c(x_i)) is the shortfall of row (i, c) from ℓ
    (JOINT.2)  primal:  minimise ½Σ_c ‖w_c‖² + Σ_i L_i;  L_i = C_i max_c (t_ic)⁺ where a sample has one slack for all
               its rivals (shared), or L_i = C_i Σ_c (t_ic)⁺ where it has one for each
    (JOINT.3)  w_c(α) = Σ_i β_ic φ(x_i),  β_ic = −α_ic for a rival,  β_iy = Σ_c α_ic;  Σ_c β_ic = 0, so that Σ_c w_c = 0
    (JOINT.4)  dual:  maximise D(α) = ℓ Σα − ½Σ_c ‖w_c(α)‖²  over α ≥ 0, and Σ_c α_ic ≤ C_i (shared) or α_ic ≤ C_i;
               a free intercept adds Σ_i β_ic = 0 for every class;  a penalised one adds −½Σ_c (Σ_i β_ic)² to D
    (JOINT.5)  P − D = ½Σ_c ‖w_c − w_c(α)‖² + Σ_i g_i;  a penalised intercept adds ½Σ_c (b_c − Σ_i β_ic)²
    (JOINT.6)  g_i = Σ_c α_ic (T_i − t_ic) + (C_i − Σ_c α_ic) T_i,  T_i = max(0, max_c t_ic)  (shared), or
               g_i = Σ_c [(C_i − α_ic)(t_ic)⁺ + α_ic (−t_ic)⁺];  no term is negative

Source: Lagrangian duality; Crammer & Singer (2001), Weston & Watkins (1999); both unified by Doğan, Glasmachers & Igel
(2016).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached, freeze_parts
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.rows import DualGroup
from qpsvm.space.intercept import Intercept


class ClassGroup(DualGroup):
    """The equality Σ_i β_ic = 0 of the intercept b_c of class c, used as a `DualGroup` and as a `DualPart` of all rows.

    `column` is computed on demand: the columns of all k classes would take k times as much memory as everything else.
    """

    dual: AllInOneDual
    c: int

    def __init__(self, dual: AllInOneDual, c: int) -> None:
        self.__dict__.update(  # the base is frozen, and would store a column
            name=f"balance_{c}", multiplier=f"b_{c}", total=0.0, ridge=1.0 if dual.intercept == "penalised" else 0.0,
            formula=f"Σ_i β_i{c} = 0", rows=None, dual=dual, c=c,
        )  # fmt: skip

    @property
    def column(self) -> FloatArray:
        """∂(Σ_i β_ic)/∂α, (m,): 1 in rows with own class c, −1 in rows with rival c, else 0."""
        own, rival = self.dual.class_pairs
        column: FloatArray = (own == self.c).astype(np.float64) - (rival == self.c)
        return column


@dataclass(frozen=True, eq=False)
class AllInOneDual:
    """The dual (JOINT.4) without its Gram matrix.

    label (n,): y_i, the number of the sample's own class.
    k: Number of classes.
    upper (n,): C_i, finite.
    level: ℓ > 0.
    has_shared_slack: Whether a sample has one slack for all its rivals.
    intercept: "free" or "penalised"; None without an intercept.
    """

    label: IntArray
    k: int
    upper: FloatArray
    level: float
    has_shared_slack: bool
    intercept: Intercept

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **vars(self))

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.label)

    @cached
    def class_pairs(self) -> tuple[IntArray, IntArray]:
        """Own class and rival class of every row, (m,) each."""
        sample, rival = np.divmod(self.row_positions, self.k)
        return self.label[sample], rival

    @property
    def block(self) -> int:
        """Number of consecutive rows that share a slack: k − 1, or 1 if each row has its own slack."""
        return self.k - 1 if self.has_shared_slack else 1

    def build_groups(self) -> tuple[ClassGroup, ...]:
        """Build the group of each class's intercept; none without intercepts."""
        return tuple(ClassGroup(self, c) for c in range(self.k if self.intercept else 0))

    def extract_intercepts(self, multipliers: Mapping[str, float]) -> FloatArray:
        """Return b (k,) from the multipliers by name; 0 for a missing one."""
        return np.array([multipliers.get(f"b_{c}", 0.0) for c in range(self.k)])

    def name_multipliers(self, b: FloatArray) -> dict[str, float]:
        """Return the multipliers by name, from b (k,); empty without an intercept."""
        if self.intercept:
            return {f"b_{c}": value for c, value in enumerate(b.tolist())}
        return {}

    def take_row_intercepts(self, multipliers: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
        """Return b of the own class and of the rival of every row, (m,) each."""
        b = self.extract_intercepts(multipliers)
        return b[self.class_pairs[0]], b[self.class_pairs[1]]

    @cached
    def own_class_mask(self) -> NDArray[np.bool_]:
        """Mask of each sample's own class: (n, k)."""
        return np.asarray(self.label[:, None] == np.arange(self.k))

    @cached
    def row_positions(self) -> IntArray:
        """Positions of the rows (i, c) of the dual in a flattened (n, k) array, ascending: (m,), m = n (k − 1)."""
        return np.flatnonzero(~self.own_class_mask)

    def flatten_alpha(self, alpha: FloatArray) -> FloatArray:
        """Return the α of all rows, (m,), from α (n, k)."""
        return alpha.ravel()[self.row_positions]

    def unflatten_alpha(self, flat: FloatArray) -> FloatArray:
        """Return α (n, k), 0 at the own class, from the α of all rows (m,)."""
        alpha = np.zeros(self.n * self.k)
        alpha[self.row_positions] = flat
        return alpha.reshape(self.n, self.k)

    def compute_beta(self, alpha: FloatArray) -> FloatArray:
        """Return β of (JOINT.3): (n, k)."""
        beta: FloatArray = -alpha
        beta[np.arange(self.n), self.label] = alpha.sum(axis=1)  # (JOINT.3)
        return beta

    def compute_shortfalls(self, f: FloatArray) -> FloatArray:
        """Return t of (JOINT.1), 0 at the own class, from f (n, k): (n, k)."""
        f_own_class = f[np.arange(self.n), self.label]
        t: FloatArray = self.level - (f_own_class[:, None] - f)  # (JOINT.1)
        t[self.own_class_mask] = 0.0
        return t

    def compute_losses(self, t: FloatArray) -> FloatArray:
        """Return L of (JOINT.2) per sample: (n,), from t (n, k)."""
        positive_part = np.maximum(t, 0.0)
        if self.has_shared_slack:
            slack = positive_part.max(axis=1)
        else:
            slack = positive_part.sum(axis=1)
        losses: FloatArray = self.upper * slack  # (JOINT.2)
        return losses

    def compute_gap_terms(self, alpha: FloatArray, t: FloatArray) -> FloatArray:
        """Return the terms of g in (JOINT.6), (n, k); at the own class (C_i − Σ_c α_ic) T_i if shared, else 0."""
        if not self.has_shared_slack:
            bound_slack = self.upper[:, None] - alpha
            terms: FloatArray = bound_slack * np.maximum(t, 0.0) + alpha * np.maximum(-t, 0.0)  # (JOINT.6)
            return terms
        T = np.maximum(t.max(axis=1), 0.0)
        terms = alpha * (T[:, None] - t)
        terms[np.arange(self.n), self.label] = (self.upper - alpha.sum(axis=1)) * T  # (JOINT.6)
        return terms
