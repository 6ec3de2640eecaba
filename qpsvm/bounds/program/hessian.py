"""Multiply by the Hessian P of a QP with a bound on the rounding, and bound its curvature from below (`Hessian`)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.program.convexity import Convexity
from qpsvm.bounds.program.enclosures import Enclosure, as_exact, multiply_enclosed
from qpsvm.space.operators import Diagonal, Operator


class Hessian:
    """The symmetric part of P, which is all that xᵀPx depends on, (n, n).

    factor: Z (n, k) and d (n,) of P = ZZᵀ + diag(d); None if P is dense.
    dense (n, n): The dense P; None if there is a factor.
    entry_error: A bound on the rounding error of the entries of `dense`.
    """

    def __init__(self, P: Operator) -> None:
        self._operator = P
        self.factor = (sp.csr_array((P.shape[0], 0)), P.d) if isinstance(P, Diagonal) else P.factor()
        if self.factor is not None and self.factor[0].shape[1] and self.factor[1].min(initial=0.0) < 0.0:
            self.factor = None
        self.dense: FloatArray | None = None
        self.entry_error = 0.0
        if self.factor is None:
            dense = P.dense()
            self.dense = dense
            if not np.array_equal(dense, dense.T):
                self.dense = 0.5 * (dense + dense.T)
                self.entry_error = UNIT * float(np.abs(dense).max())

    def apply(self, x: FloatArray) -> Enclosure:
        """Return Px: (n,)."""
        if self.dense is not None:
            return multiply_enclosed(self.dense, as_exact(x))
        assert self.factor is not None
        Z, d = self.factor
        error = np.where((d == 0.0) | (x == 0.0), 0.0, 2.0 * UNIT * np.abs(d * x) + UNDERFLOW)
        diagonal_part = Enclosure(d * x, error)
        if not Z.shape[1]:
            return diagonal_part
        return diagonal_part.add(multiply_enclosed(Z, multiply_enclosed(Z.T, as_exact(x))))

    def take_rows(self, rows: IntArray) -> FloatArray:
        """Return some rows of P: (rows, n)."""
        if self.dense is not None:
            return self.dense[rows]
        assert self.factor is not None
        Z, d = self.factor
        block: FloatArray = as_dense(Z[rows] @ Z.T) if Z.shape[1] else np.zeros((len(rows), Z.shape[0]))
        block[np.arange(len(rows)), rows] += d[rows]
        return block

    def bound_change(self, gradient_size: float, n_moved: int, reach: float) -> float:
        """Bound the change of ½xᵀPx + qᵀx by moves of at most `reach` of some entries, up to rounding.

        |gᵀe| + ½|eᵀPe| ≤ reach Σ|g_j| + ½ trace(P) ‖e‖², where P is positive semidefinite.

        gradient_size: Σ|g_j| of the gradient g over the moved entries, `n_moved` in number.
        """
        return reach * gradient_size + 0.5 * self._trace * n_moved * reach * reach

    @cached
    def _trace(self) -> float:
        return float(np.abs(self._operator.diagonal()).sum())

    @cached
    def _convexity(self) -> Convexity:
        assert self.dense is not None
        return Convexity(self.dense, self.entry_error)

    @property
    def curvature(self) -> FloatArray | None:
        """κ ≤ 0 of (CONVEX.1), (n,); None if P could not be shown to be positive semidefinite."""
        if self.factor is None:
            return self._convexity.curvature
        d = self.factor[1]
        return np.zeros(len(d)) if (d >= 0.0).all() else None

    @property
    def sharp_curvature(self) -> FloatArray | None:
        """`curvature`, as close to 0 as can be proven."""
        if self.factor is None:
            return self._convexity.sharp_curvature
        return self.curvature

    @property
    def strict_curvature(self) -> FloatArray:
        """κ of (CONVEX.1), (n,), positive wherever that can be proven."""
        if self.factor is None:
            return self._convexity.strict_curvature
        return self.factor[1]

    def find_negative_direction(self) -> tuple[FloatArray, float] | None:
        """Return d (n,) with dᵀPd < 0 for certain, and dᵀPd; None if no such direction is known."""
        if self.factor is None:
            return self._convexity.find_negative_direction()
        d = self.factor[1]
        j = int(np.argmin(d))
        if not d[j] < 0.0:
            return None
        unit = np.zeros(len(d))
        unit[j] = 1.0
        return unit, float(d[j])
