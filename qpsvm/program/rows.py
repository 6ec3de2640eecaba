"""Map values between samples and rows of a dual (`DualRows`), and hold its equalities (`DualGroup`, `DualPart`).

A row of the dual is a dual variable α_k. It belongs to sample r(k), or to a combination of samples, (DUAL.5) and
(DUAL.6). The equalities Eᵀα = e, each with a multiplier μ_g, are the groups. If there are several, only the sum
Σ_g E_kg μ_g enters (DUAL.2). It is the same θ for all rows that are equal in E. These rows form a part, so θ = Mμ with
the distinct rows of E as M, and each θ can be optimised separately. A single group is one part, with θ = μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached, freeze, freeze_each
from qpsvm.base.arrays.rounding import ROUNDED, UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.space.operators import Operator

#: Largest number of samples for which the rows of a regression are cached and shared by all machines.
MAX_CACHED_ROWS = 2000


@dataclass(frozen=True, eq=False)
class DualGroup:
    """An equality: a column E_g of E in (DUAL.1), with its multiplier μ_g.

    name: Name of the equality in the dual QP.
    multiplier: Name of the variable in the primal QP: "b", "rho".
    column (m,): E_g; for an intercept it is the array `sign` of the rows.
    total, low, rest: e_g, the right-hand side, as the sum of its nearest float, another float, and what is left.
    ridge: R_g: 0 for an equality, positive if the multiplier is penalised in the primal.
    formula: The equality as text.
    """

    name: str
    multiplier: str
    column: FloatArray
    total: float = 0.0
    ridge: float = 0.0
    formula: str = ""
    low: float = 0.0
    rest: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        freeze_each(self.__dict__.values())

    @property
    def exact_total(self) -> Fraction:
        """e_g as a rational number."""
        return Fraction(self.total) + Fraction(self.low) + self.rest

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **vars(self))


@dataclass(frozen=True, eq=False)
class DualPart:
    """Rows that share one multiplier θ and no other: Σ column·α = total + low over them.

    rows (m,): Mask; None for all rows.
    column (m,): 0 outside the part.
    """

    rows: NDArray[np.bool_] | None
    column: FloatArray
    total: float
    ridge: float
    low: float = 0.0

    def __post_init__(self) -> None:
        freeze_each(self.__dict__.values())

    def restrict(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of a vector (m,) at the rows of the part: (r,); one value for all is stored only once."""
        if self.rows is None:
            return vector
        common = find_common_value(vector)
        if common is None:
            return vector[self.row_indices]
        return repeat_value(common, len(self.row_indices))

    @cached
    def row_indices(self) -> IntArray:
        """Indices of the rows of the part: (r,)."""
        assert self.rows is not None
        return self.rows.nonzero()[0]


class DualRows:
    """Samples and signs of the rows of a dual; the base class of `SVMDual`, which describes the fields.

    gram (n, n): Gram matrix K.
    sign (m,): s_k.
    rows (m,): r(k), the sample of each row; None if row k is sample k, or with `mix`.
    mix (m, n): The combination of samples of each row; None if each row has one sample.
    classes: The classes of an all-in-one multiclass dual; None for any other dual.
    """

    gram: Operator
    sign: FloatArray
    rows: IntArray | None
    mix: sp.csr_array | None
    classes: Any

    @property
    def m(self) -> int:
        """Number of rows of the dual."""
        return len(self.sign)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.gram.shape[0]

    @property
    def has_one_row_per_sample(self) -> bool:
        """Whether row k is sample k."""
        return self.rows is None and self.mix is None

    @cached
    def is_two_sided(self) -> bool:
        """Whether every sample has two rows of opposite signs, first all with s = 1, then all with s = −1."""
        return self.rows is not None and self._check_two_sided(self.rows)

    def _check_two_sided(self, rows: IntArray) -> bool:
        """Return whether `rows` (m,) is as `is_two_sided` says."""
        if self.m != 2 * self.n:
            return False
        n = self.n
        if n <= MAX_CACHED_ROWS and self.sign is build_two_sided_rows(n)[0] and rows is build_two_sided_rows(n)[1]:
            return True
        samples = np.arange(n)
        has_both = (rows[:n] == samples).all() and (rows[n:] == samples).all()
        return bool(has_both and (self.sign[:n] == 1.0).all() and (self.sign[n:] == -1.0).all())

    def beta(self, alpha: FloatArray) -> FloatArray:
        """Return the coefficients β of (DUAL.5) by samples, (n,), from α by rows, (m,)."""
        signed: FloatArray = alpha * self.sign
        if self.mix is not None:
            return self._apply_mix_transpose(signed, self.mix)
        if self.rows is None:
            return signed
        return np.bincount(self.rows, signed, minlength=self.n).astype(np.float64, copy=False)

    def sum_absolute_alpha(self, alpha: FloatArray) -> FloatArray:
        """Return Σ|α_k| over the rows of each sample, (n,), from α by rows, (m,): at least |β|."""
        if self.mix is not None:
            return self._apply_mix_transpose(np.abs(alpha), abs(self.mix))
        if self.rows is None:
            return alpha
        return np.bincount(self.rows, np.abs(alpha), minlength=self.n).astype(np.float64, copy=False)

    @staticmethod
    def _apply_mix_transpose(values: FloatArray, mix: sp.csr_array) -> FloatArray:
        """Return Aᵀv: (n,), for v (m,)."""
        sums: FloatArray = mix.T @ values
        return sums

    def bound_beta_rounding(self, alpha: FloatArray) -> FloatArray | None:
        """Bound the rounding errors of `beta` at α by rows, (m,): (n,); None if every β is exact."""
        if self.classes is not None:
            return None  # α is an integer multiple of a power of 2, so sums of it are exact
        if self.mix is not None:
            max_terms = int(np.bincount(self.mix[np.flatnonzero(alpha)].indices, minlength=self.n).max(initial=0))
            return (max_terms + 1) * 2.0 * UNIT * self.sum_absolute_alpha(alpha)
        if self.rows is None:
            return None
        n_additions = int(np.bincount(self.rows[alpha != 0.0], minlength=self.n).max(initial=0)) - 1
        if n_additions <= 0:
            return None
        if n_additions == 1:  # a single rounding, of the result
            return UNIT * np.abs(self.beta(alpha))
        return n_additions * 2.0 * UNIT * self.sum_absolute_alpha(alpha)

    def at_rows(self, values: FloatArray) -> FloatArray:
        """Return the values at the sample of each row, or their combination, (m,), from those of all samples, (n,)."""
        if self.mix is not None:
            combined: FloatArray = self.mix @ values
            return combined
        return values if self.rows is None else values[self.rows]

    def find_samples(self, rows: IntArray) -> IntArray:
        """Return the samples of some rows.

        Parameters
        ----------
        rows : ndarray of int, shape (r,)
            Indices of rows of the dual.

        Returns
        -------
        ndarray of int, shape (r,) or (k,)
            One sample per row; if rows are combinations, the k distinct samples in any of them, in ascending order.
        """
        if self.mix is not None:
            return np.unique(self.mix[rows].indices).astype(np.intp)
        return rows if self.rows is None else self.rows[rows]


def build_two_sided_rows(n: int) -> tuple[FloatArray, IntArray]:
    """Return signs and samples of a regression's rows, first all with s = 1, then all with s = −1: (2n,) each.

    For at most MAX_CACHED_ROWS samples the arrays are cached, so that `is_two_sided` recognises them by identity.
    """
    if n > MAX_CACHED_ROWS:
        return _compute_two_sided_rows(n)
    return _cached_two_sided_rows(n)


def _compute_two_sided_rows(n: int) -> tuple[FloatArray, IntArray]:
    """Compute what `build_two_sided_rows` returns, without the cache."""
    return freeze((np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2)))


_cached_two_sided_rows = lru_cache(maxsize=16)(_compute_two_sided_rows)


def build_intercept_groups(sign: FloatArray, kind: str | None, formula: str = "yᵀα = 0") -> tuple[DualGroup, ...]:
    """Build the group of an intercept that is free or penalised (R = 1), for a machine without other groups.

    sign (m,): s_k.
    kind: "free" or "penalised"; None without an intercept, and then there is no group.
    """
    if kind is None:
        return ()
    ridge = 1.0 if kind == "penalised" else 0.0
    return (  # (DUAL.1), (HARD.5), (CSVM.5), (NUSVM.5), (PHINGE.5), (SQHINGE.5), (HUBER.5)
        DualGroup("balance", "b", column=sign, total=0.0, ridge=ridge, formula=formula),
    )


def find_distinct_rows(E: FloatArray, max_rows: int) -> list[int]:
    """Return the index of the first occurrence of each distinct row of E (m, q), at most `max_rows`."""
    is_new = np.ones(len(E), dtype=bool)  # differs from all rows found so far
    indices: list[int] = []
    while len(indices) < max_rows and is_new.any():
        indices.append(int(np.argmax(is_new)))
        is_new &= ~(E[indices[-1]] == E).all(axis=1)
    return indices


def invert_mixing(mixing: FloatArray, names: str) -> FloatArray:
    """Return M⁻¹, where M (q, q) are the distinct rows of E: μ = M⁻¹θ. Raises UnsupportedError if M is singular.

    names: Names of the groups, for the message of the error.
    """
    if len(mixing) == 2:
        (a, b), (c, d) = mixing.tolist()
        determinant = a * d - b * c
        if abs(determinant) > ROUNDED * (abs(a * d) + abs(b * c)):
            return np.array([[d / determinant, -b / determinant], [-c / determinant, a / determinant]])
    if np.linalg.matrix_rank(mixing) < len(mixing):
        raise UnsupportedError(f"the groups {names} are not independent")
    inverse: FloatArray = np.linalg.inv(mixing).astype(np.float64, copy=False)
    return inverse
