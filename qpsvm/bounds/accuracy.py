"""Bound the rounding error of decision values (`Accuracy`).

f(x_i) is a sum over the samples, and its error bound must cost less than the sum itself. So it uses only one number ρ_i
per sample, an upper bound of its norm in feature space, and one number ε per kernel. A computed kernel value is within
ε ρ_i ρ_j of the exact one, and |K_ij| ≤ ρ_i ρ_j (Cauchy-Schwarz), with

    (ACC.1)  linear: ρ_i = ‖z_i‖;  RBF: ρ_i = 1;  polynomial: ρ_i = (γ‖x_i‖² + |r|)^(p/2);  a matrix K: ρ_i² = max |K|

Let û_i be u_i = Σ_j β_j K_ij as computed, with m nonzero terms. Then

    (ACC.2)  |û_i − u_i| ≤ (ε + γ_{m+6}) ρ_i Σ_j |β_j| ρ_j,  with an explicit w:  ≤ γ_{d+6} ‖z_i‖ ‖w‖

For the RBF kernel, ε follows from the error δe of the exponent e = −γ‖x − z‖² = −½‖a − c‖², where a = √(2γ)(x − μ) and
c = √(2γ)(z − μ):

    (ACC.3)  by (KBLOCK.3), with L = max ‖a‖²:  |δe| ≤ 2γ_{1.5d+12} L,  |δK| ≤ K (e^|δe| − 1 + 8u)
    (ACC.4)  by differences:  |δe| ≤ γ_{d+6} |e|, so that |δK| ≤ K (γ_{d+6} |e| + 8u) ≤ (γ_{d+6}/e + 8u)
    (ACC.5)  exponents below −40 raised to −40:  |δK| ≤ e⁻⁴⁰(1 + 8u), or else (ACC.3), (ACC.4) hold, since raising
             brings ê nearer to any e ≥ −40

If centred rows are so long that an inner product would cancel, distances are computed from differences of rounded
numbers, which adds 4u √L. The 8u bound the error of exp: for that of the compiled core see (KBLOCK.4), and others claim
at most one to four ulps. A power p < 1 has an infinite slope at 0, where |a^p − b^p| ≤ |a − b|^p is used.

Sources: Higham (2002), sections 3.1 and 3.5; see `rounding`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import UNIT, bound_norm, bound_row_norms, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.functions import DISTANCE_ERROR, LOWEST_EXPONENT, RBF, Polynomial, Sigmoid
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.kernels.kernel_blocks import bound_exponent_error
from qpsvm.space.kernels.space import FeatureSpace

#: The kernels whose rounding error is bounded. For any other kernel, the computed matrix defines the kernel.
BOUNDED_KERNELS = (RBF, Polynomial, Sigmoid)
#: Roundings of exp. A power or tanh has as many, in addition to one per factor.
FUNCTION_ROUNDINGS = 8
#: Error of a kernel value whose exponent was raised, (ACC.5).
CLIPPING_ERROR = math.exp(LOWEST_EXPONENT) * (1.0 + 2 * FUNCTION_ROUNDINGS * UNIT)
#: Largest γ‖x‖² of rows whose distance is computed from an inner product instead of differences.
MAX_PRODUCT_LENGTH = DISTANCE_ERROR / (8.0 * UNIT)
#: Largest number of entries of linear samples whose norms are all computed in advance.
MAX_NORM_ENTRIES = 500_000
#: Largest number of products of an evaluation in double-double, and the number computed at a time.
MAX_DOUBLE_DOUBLE_PRODUCTS, PRODUCTS_PER_STEP = 30_000_000, 1_000_000


class Accuracy:
    """Error bounds of f at the rows of a feature space."""

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        #: Cache of `bound_norm_sum`: its last β and result.
        self._last_norm_sum: tuple[FloatArray | None, tuple[float, int]] = None, (0.0, 0)

    @cached
    def _max_terms(self) -> int:
        """Largest number of terms of an inner product of samples."""
        return self.space.samples.longest_row

    @cached
    def _all_norms(self) -> FloatArray | None:
        """Upper bounds of all ρ_i of (ACC.1), (n,); None if they are computed only where they are needed."""
        space = self.space
        kernel = space.kernel
        if space.is_linear:
            if space.rows.entries > MAX_NORM_ENTRIES:
                return None
            return bound_row_norms(space.rows.squared_norms(), self._max_terms)
        if not space.is_plain or not isinstance(kernel, BOUNDED_KERNELS):
            # ρ² is the largest entry of all matrices that a centred or shifted matrix is computed from
            largest = max(float(np.abs(K.dense()).max()) for K in (space.centred_gram, space.gram))
            if isinstance(kernel, (Polynomial, Sigmoid)):
                original = self._bound_kernel_norms(kernel).max() ** 2
            else:
                original = 0.0
            return np.full(space.n, math.sqrt(max(largest, space.largest, float(original))))
        if isinstance(kernel, RBF):
            return repeat_value(1.0, space.n)
        return self._bound_kernel_norms(kernel)

    def _bound_kernel_norms(self, kernel: Polynomial | Sigmoid) -> FloatArray:
        """Return upper bounds of all ρ_i of (ACC.1) for a kernel that is neither centred nor shifted: (n,)."""
        products = float(kernel.gamma) * squared_norms(self.space.X) + abs(kernel.coef0)
        rounding = gamma(self._max_terms + 4)
        if isinstance(kernel, Polynomial):
            return np.asarray(products ** (kernel.degree / 2)) * (1.0 + rounding * (kernel.degree + 4))
        return np.asarray(np.sqrt(products + 1.0)) * (1.0 + rounding)  # tanh has a slope of at most 1

    @property
    def has_all_norms(self) -> bool:
        """Whether all ρ_i have been computed; if not, they are computed where they are needed."""
        return self._all_norms is not None

    @cached
    def max_norm(self) -> float:
        """Upper bound of every ρ_i."""
        if self._all_norms is not None:
            common = find_common_value(self._all_norms)
            if common is None:
                return float(self._all_norms.max(initial=0.0))
            return common
        rows = self.space.rows
        return math.sqrt(rows.sum_of_squares()) * (1.0 + gamma(rows.entries))  # √Σ‖z_i‖²

    @property
    def root_square_sum(self) -> float:
        """Upper bound of √Σρ_i²."""
        if self._all_norms is None:
            return self.max_norm
        return bound_norm(self._all_norms)

    def bound_norms(self, rows: IntArray | slice) -> FloatArray:
        """Return the upper bounds ρ_i of some rows: (r,)."""
        if self._all_norms is not None:
            common = find_common_value(self._all_norms)
            if common is None or isinstance(rows, slice):
                return self._all_norms[rows]
            return repeat_value(common, len(rows))
        return bound_row_norms(squared_norms(self.space.rows.take(rows)), self._max_terms)

    @cached
    def epsilon(self) -> float:
        """ε, the bound of the error of a kernel value in units of ρ_i ρ_j."""
        space = self.space
        kernel = space.kernel
        d = self._max_terms
        if not space.is_plain:  # eigenvalues and means of the whole matrix have n roundings each
            return 8.0 * gamma(space.n + d) + space.asymmetry
        if isinstance(kernel, RBF):
            return self._bound_rbf_error(kernel)
        if isinstance(kernel, (Polynomial, Sigmoid)):
            degree = float(getattr(kernel, "degree", 1.0))
            error_near_zero = gamma(d + 4) ** degree if degree < 1.0 else 0.0
            return gamma((d + 4) * max(degree, 1.0) + FUNCTION_ROUNDINGS) + error_near_zero
        if isinstance(space.gram, KernelGram):
            return space.gram.blocks.asymmetry
        return 0.0

    def _bound_rbf_error(self, kernel: RBF) -> float:
        """Return ε of the RBF kernel, (ACC.3) to (ACC.5)."""
        space, d = self.space, self._max_terms
        blocks = space.gram.blocks if isinstance(space.gram, KernelGram) else None
        if blocks is not None and blocks.is_exact:
            return max(gamma(d + 6) / math.e + FUNCTION_ROUNDINGS * UNIT, CLIPPING_ERROR)  # (ACC.4), (ACC.5)
        if blocks is not None and blocks.is_fast:
            error = bound_exponent_error(blocks.terms) * blocks.longest  # (ACC.3)
        else:
            error = self._bound_mixed_exponent_error(kernel, None if blocks is None else blocks.centre)
        rounded = math.expm1(min(error, 1.0)) + FUNCTION_ROUNDINGS * UNIT
        return min(max(rounded, CLIPPING_ERROR), 1.0)  # (ACC.5), and 0 ≤ K ≤ 1

    def _bound_mixed_exponent_error(self, kernel: RBF, centre: FloatArray | None) -> float:
        """Bound |δe| if inner products are used for short rows, and differences for long ones.

        The bound is (ACC.3) with L = 2·length, up to `MAX_PRODUCT_LENGTH`, plus (ACC.4) for the rest. Dense samples are
        centred first, at `centre` (d,) or their mean.
        """
        X = self.space.X
        is_sparse = sp.issparse(X)
        if not is_sparse:
            X = X - (X.mean(axis=0) if centre is None else centre)
        length = float(kernel.gamma) * float(squared_norms(X).max())
        roundings = self._max_terms + 4
        error = 18.0 * roundings * UNIT * min(length, MAX_PRODUCT_LENGTH) + 6.0 * gamma(roundings)
        return error if is_sparse else error + 4.0 * UNIT * math.sqrt(length)

    def compute_radius_factor(self, beta: FloatArray, w: FloatArray | None) -> float:
        """Return the factor of ρ_i in (ACC.2), for β (n,) or an explicit w (d,)."""
        if w is not None:
            return gamma(self._max_terms + 6) * bound_norm(w) + UNDERFLOW
        norm_sum, terms = self.bound_norm_sum(beta)
        return (self.epsilon + gamma(terms + 6)) * norm_sum

    def bound_norm_sum(self, beta: FloatArray) -> tuple[float, int]:
        """Return an upper bound of Σ|β_i| ρ_i, and the number of nonzero β_i, for β (n,)."""
        if self._last_norm_sum[0] is beta:
            return self._last_norm_sum[1]
        terms = int(np.count_nonzero(beta))
        common = None if self._all_norms is None else find_common_value(self._all_norms)
        if common is not None:
            norm_sum = common * float(np.add.reduce(np.abs(beta))) * (1.0 + gamma(terms + 1))
        else:
            support = beta.nonzero()[0]
            norm_sum = float(np.abs(beta[support]) @ self.bound_norms(support)) * (1.0 + gamma(terms))
        if not beta.flags.writeable:  # only a read-only array has the same values later
            self._last_norm_sum = beta, (norm_sum, terms)
        return norm_sum, terms

    def bound_change_by_rounding(self, beta: FloatArray) -> float:
        """Bound the change of Σ_i β_i f(x_i) if all β_j in f(x) = Σ_j β_j K(x_j, x) are rounded to doubles."""
        norm_sum, _ = self.bound_norm_sum(beta)
        return UNIT * norm_sum * norm_sum

    def bound_weight_error(self, beta: FloatArray) -> float:
        """Bound the norm of the error of the computed w = Σ β_i z_i of a linear kernel, by γ Σ |β_i| ‖z_i‖."""
        terms = int(np.count_nonzero(beta))
        size = bound_norm(beta) * self.root_square_sum
        if self._all_norms is not None:
            size = min(size, float(np.abs(beta) @ self._all_norms))
        return gamma(terms + 4) * size * (1.0 + gamma(len(beta) + 4))
