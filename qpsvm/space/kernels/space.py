"""Represent the training samples in the kernel's feature space (`FeatureSpace`).

There are two Gram matrices. `gram` is the textbook one, K_ij = K(x_i, x_j). `centred_gram` gives the same dual and the
same f up to the intercept, with less rounding:

- linear kernel, dense X, free intercept: K of X − μ. Because 1ᵀβ = 0 for β = α∘y, βᵀKβ does not change, and Kβ changes
  by a constant, which b absorbs. Otherwise, an offset of a column by 10⁶ times its spread would cost twelve digits.
- linear kernel, dense X, 1ᵀβ = 1 (the centre of a ball): the same K. w = Σβ_i x_i moves with the samples, so distances
  from it do not change.
- a kernel that is positive semidefinite only on 1ᵀβ = 0 (free intercept): HKH with H = I − 11ᵀ/n, by the same argument.
- otherwise `gram` itself.

An indefinite Gram matrix is refused, clipped (K₊, the positive eigenspace) or shifted (K + σI).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigvalsh, lapack

from qpsvm.base.arrays.compression import compress_mostly_zero
from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.double_double import dot_with_bound
from qpsvm.base.arrays.frozen import cached, freeze
from qpsvm.base.arrays.rounding import EPS, SMALLEST_NORMAL, UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, IndefiniteKernelError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import CentredRows, RowSource, RowsWithOnes, as_row_source
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Precomputed
from qpsvm.space.kernels.gram import CACHE_ROWS, KernelGram
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.kernels.kernel_blocks import KernelBlocks
from qpsvm.space.kernels.kernel_registry import BUILT_IN_KERNELS
from qpsvm.space.kernels.positive_part import PositivePart
from qpsvm.space.kernels.psd_rule import PSDRule, TreatedGram, centre_twice, check_symmetric, is_psd
from qpsvm.space.operators import Dense, LowRank, Operator

#: Many samples are only centred if the squared mean of some column exceeds this many times its variance.
SMALL_OFFSET = 100.0

#: If the mean diagonal is below this, the scale is 1.
LEAST_SCALE = 1e20 * SMALLEST_NORMAL


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """f(x) = Σ coef_i K(x_i, x) + b, or wᵀx + b, in the caller's coordinates.

    coef (n,): Coefficients.
    w (d,): Weight vector of a linear machine; else None.
    centred_b: The intercept over `FeatureSpace.rows` that corresponds to b, which is rounded.
    centred_b_radius: Error bound of `centred_b`.
    """

    coef: FloatArray
    w: FloatArray | None
    b: float
    centred_b: float
    centred_b_radius: float = 0.0


class FeatureSpace:
    """Gram matrix, decision values and coordinates of n samples.

    samples (n, d): The samples as given.
    is_linear: Whether w is a vector in the space of `samples`: for a linear kernel, or if the samples are features
        computed by the kernel, a feature map.
    """

    def __init__(
        self, kernel: Kernel, X: Matrix | RowSource, intercept: Intercept, psd: PSDRule, affine: bool = False
    ) -> None:
        self.kernel = kernel
        mapped = isinstance(X, RowSource) and X.row_map is not None
        self.is_linear = isinstance(kernel, Linear) or (mapped and isinstance(kernel, FeatureMap))
        self.samples = as_row_source(X)
        self.intercept = intercept
        self.psd = psd
        self.is_affine = affine
        self.n = self.samples.n

    def __repr__(self) -> str:
        return f"<FeatureSpace of {self.kernel}: {self.n} samples, intercept {self.intercept}>"

    @property
    def X(self) -> Matrix:
        """The samples as one array (n, d), in memory."""
        return self.samples.matrix()

    @cached
    def origin(self) -> FloatArray | None:
        """Column means (d,) that are subtracted for computation; None if that is not allowed, or not needed."""
        samples = self.samples
        if not self.is_linear or not (self.is_affine or self.intercept == "free") or samples.is_sparse:
            return None
        if self._compressed_rows is not None:
            return None
        if 2 * samples.entries > BLOCK_NUMBERS:  # copy many samples only if an offset would cost digits
            sample = samples.take(slice(None, None, 1 + 8 * samples.entries // BLOCK_NUMBERS))
            count = len(sample)
            offset = sample.sum(axis=0) / count
            spread = np.square(sample - offset).sum(axis=0) / count
            if (offset * offset <= SMALL_OFFSET * spread).all():
                return None
        means = samples.means()
        matrix = samples.memory_matrix
        if not self.is_affine or matrix is None:
            return means
        return np.asarray(
            np.clip(means, matrix.min(axis=0), matrix.max(axis=0))
        )  # so that identical samples become exactly 0

    @cached
    def rows(self) -> RowSource:
        """The samples (n, d) that a linear machine computes with: sparse if mostly zero, else centred if allowed.

        Samples in memory are centred in a copy, so that products with them are single BLAS calls.
        """
        if self._compressed_rows is not None:
            return self._compressed_rows
        if self.origin is None:
            return self.samples
        matrix = self.samples.memory_matrix
        if matrix is None:
            return CentredRows(self.samples, self.origin)
        return as_row_source(matrix - self.origin)

    @cached
    def _compressed_rows(self) -> RowSource | None:
        """The samples of a linear machine as CSR if they are dense and mostly zero; else None."""
        matrix = self.samples.memory_matrix
        if not self.is_linear or self.is_affine or type(matrix) is not np.ndarray:
            return None
        rows = compress_mostly_zero(matrix)
        return None if rows is None else as_row_source(rows)

    @property
    def is_plain(self) -> bool:
        """Whether computations use the Gram matrix of the kernel itself, neither centred nor repaired."""
        return self.is_linear or isinstance(self._treated_gram.centred, KernelGram)

    @property
    def is_exact(self) -> bool:
        """Whether the Gram matrix was computed without cancellation."""
        return not self.is_linear and isinstance(self.gram, KernelGram) and self.gram.blocks.is_exact

    def without_cancellation(self) -> FeatureSpace | None:
        """Return the samples with an RBF Gram matrix free of cancellation; None if that would be no better."""
        if not isinstance(self.kernel, RBF) or self.n > CACHE_ROWS or self.is_exact:
            return None
        exact = FeatureSpace(self.kernel, self.X, self.intercept, self.psd, self.is_affine)
        gram = KernelGram(self.kernel, self.X, blocks=KernelBlocks.from_differences(self.kernel, self.X))
        exact.__dict__["_treated_gram"] = TreatedGram(gram, gram)
        return exact

    def restrict(self, rows: IntArray, X: Matrix) -> FeatureSpace | None:
        """Restrict to some samples, whose Gram matrix is a block of this one; None if it is not, or not cached.

        Shapes: rows (k,), X (k, d).
        """
        if (
            self.is_linear
            or not self.is_plain
            or not isinstance(self.gram, KernelGram)
            or self.gram.cached_matrix is None
        ):
            return None
        restricted = FeatureSpace(self.kernel, X, self.intercept, self.psd, self.is_affine)
        gram = KernelGram(self.kernel, restricted.X, blocks=self.gram.blocks.restrict(rows, restricted.X))
        restricted.__dict__["_treated_gram"] = TreatedGram(gram, gram)
        return restricted

    @property
    def gram(self) -> Operator:
        """The textbook Gram matrix, after the psd rule: (n, n)."""
        if self.is_linear:
            return LowRank(self.samples)
        return self._treated_gram.gram

    @cached
    def centred_gram(self) -> Operator:
        """The Gram matrix to compute with: (n, n)."""
        if self.is_linear:
            return LowRank(self.rows)
        return self._treated_gram.centred

    @property
    def shift(self) -> float:
        """σ of psd="shift", 0 otherwise."""
        return 0.0 if self.is_linear else self._treated_gram.shift

    @property
    def smallest_eigenvalue(self) -> float:
        """The smallest eigenvalue of a kernel matrix that was clipped or shifted; else 0."""
        return 0.0 if self.is_linear else self._treated_gram.smallest_eigenvalue

    @property
    def is_clipped(self) -> bool:
        """Whether psd="clip" has changed the matrix."""
        return self.positive_part is not None

    @property
    def positive_part(self) -> PositivePart | None:
        """Positive part of the matrix under psd="clip"; None if nothing was clipped."""
        return None if self.is_linear else self._treated_gram.positive_part

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """Return the coefficients of f for Σβ_iφ(x_i), (n,) or (n, k): (CLIP.1), or β itself."""
        if self.positive_part is None:
            return beta
        return self.positive_part.coefficients(beta)

    @property
    def asymmetry(self) -> float:
        """The largest change that made the kernel's own matrix symmetric, relative to its largest entry."""
        return 0.0 if self.is_linear else self._treated_gram.asymmetry

    @property
    def largest(self) -> float:
        """Bound of the entries of the kernel matrix before the psd rule; 0 if the rule does not change it."""
        return 0.0 if self.is_linear else self._treated_gram.largest

    @property
    def computed_intercept(self) -> Intercept:
        """The intercept in computations: None if a penalised one is part of the Gram matrix, K + 1.

        That is only the case if K itself is not positive semidefinite.
        """
        absorbed = self.intercept == "penalised" and not self.is_linear and self._treated_gram.with_ones
        return None if absorbed else self.intercept

    def curvature(self, rows: IntArray) -> FloatArray:
        """Return K_ii of some rows: (r,)."""
        if self.is_linear:
            return squared_norms(self.rows.take(rows))
        return self.centred_gram.diagonal()[rows]

    @cached
    def scale(self) -> float:
        """κ, the mean diagonal entry of `centred_gram`; 1 if that is zero. Raises DataError if it overflows."""
        kappa = self.centred_gram.mean_diagonal()
        if not np.isfinite(kappa):
            raise DataError("the squared norms of the samples overflow; standardise X")
        return kappa if kappa > LEAST_SCALE else 1.0

    @cached
    def _treated_gram(self) -> TreatedGram:
        """The Gram matrix of a kernel that is not linear, after the psd rule."""
        if isinstance(self.kernel, Precomputed):
            K = self.kernel(self.X, self.X)
            if not (K.flags.aligned and (K.flags.c_contiguous or K.flags.f_contiguous)):  # as the compiled loop needs
                K = freeze(K.copy(order="C"))
            blocks = KernelBlocks(self.kernel, self.X, K)
            if not np.array_equal(K, K.T):
                check_symmetric(K, "the precomputed kernel matrix")
                blocks.full_matrix = freeze(blocks.symmetrise(K))
            gram = KernelGram(self.kernel, self.X, blocks=blocks)
        else:
            gram = KernelGram(self.kernel, self.X)
            if not isinstance(self.kernel, BUILT_IN_KERNELS):
                gram.dense()  # test it for symmetry before a solver requests blocks of it
        if self.kernel.is_psd:
            return TreatedGram(gram, gram)
        treated = self._apply_psd_rule(gram)
        largest_entry = float(np.abs(gram.dense()).max())
        return replace(treated, largest=largest_entry + float(treated.with_ones), asymmetry=gram.blocks.asymmetry)

    def _apply_psd_rule(self, gram: Operator) -> TreatedGram:
        """Apply the psd rule to a Gram matrix that is not positive semidefinite by construction."""
        K = gram.dense()
        tolerance = self.n * EPS * float(np.abs(K).max()) * self.n
        if is_psd(K, tolerance):
            return TreatedGram(gram, gram)
        if self.intercept == "penalised":  # then K + 1 has to be positive semidefinite
            gram = Dense(K + 1.0)
            if is_psd(gram.matrix, tolerance):
                return TreatedGram(gram, gram, with_ones=True)
            return self._repair_indefinite(gram, gram, tolerance)
        if self.intercept == "free":  # then K has to be so on the hyperplane 1ᵀβ = 0
            centred = Dense(centre_twice(K))
            if is_psd(centred.matrix, tolerance):
                return TreatedGram(gram, centred)
            return self._repair_indefinite(Dense(K), centred, tolerance)
        return self._repair_indefinite(Dense(K), Dense(K), tolerance)

    def _repair_indefinite(self, gram: Dense, centred: Dense, tolerance: float) -> TreatedGram:
        """Apply the psd rule to a Gram matrix that is indefinite where it matters."""
        ones = self.intercept == "penalised"
        if self.psd == "clip":
            part = PositivePart(gram.matrix, tolerance)
            clipped = Dense(part.matrix)
            smallest = float(part.values[0])
            return TreatedGram(clipped, clipped, positive_part=part, smallest_eigenvalue=smallest, with_ones=ones)
        smallest = float(eigvalsh(centred.matrix, subset_by_index=[0, 0])[0])
        if self.psd == "raise":
            if self.intercept == "free":
                domain = "on the hyperplane yᵀα = 0"
            else:
                domain = "over all α"
            raise IndefiniteKernelError(str(self.kernel), smallest, domain)
        sigma = float(-smallest * (1 + 1e-10) + tolerance)
        eye = np.eye(self.n) * sigma
        shifted = Dense(gram.matrix + eye)
        if self.intercept == "free":
            shifted_centred = Dense(centred.matrix + eye)
        else:
            shifted_centred = shifted
        return TreatedGram(shifted, shifted_centred, shift=sigma, smallest_eigenvalue=smallest, with_ones=ones)

    def without_centring(self) -> FeatureSpace:
        """Return the samples without centring, as β with 1ᵀβ ≠ 0 needs it: centring would remove a part of it."""
        if self.origin is None and self.centred_gram is self.gram:
            return self
        twin = FeatureSpace(self.kernel, self.samples, self.intercept, self.psd, self.is_affine)
        twin.__dict__["origin"] = None
        if not self.is_linear:
            twin.__dict__["_treated_gram"] = replace(self._treated_gram, centred=self._treated_gram.gram)
        return twin

    def weights(self, beta: FloatArray) -> FloatArray:
        """Return w(β) = Σβ_iz_i over `rows`, (d,), for a linear kernel."""
        return self.rows.weights(beta)  # (DUAL.5), (HARD.15), (CSVM.15), (NUSVM.18), (PHINGE.18)

    def round_weights(self, w: FloatArray) -> FloatArray:
        """Round w (d,) over `rows` to the nearest vector that is exact in the caller's coordinates, too.

        If 1ᵀβ = 1, these are w + origin. Otherwise w is the same vector in both.
        """
        if not self.is_affine or self.origin is None:
            return w
        return np.asarray((w + self.origin) - self.origin)

    def to_caller_weights(self, w: FloatArray) -> FloatArray:
        """Convert w (d,) over `rows` to the caller's coordinates: exactly, if it was rounded by `round_weights`."""
        if not self.is_affine or self.origin is None:
            return w
        return w + self.origin

    def to_row_weights(self, w: FloatArray) -> FloatArray:
        """Convert the caller's w (d,) to the coordinates of `rows`."""
        if not self.is_affine or self.origin is None:
            return w
        return w - self.origin

    def to_caller_intercept(self, w: FloatArray, b: float) -> float:
        """Return the caller's intercept for a w over `rows`: for a ball, (R² − ‖c‖²)/2 with the caller's centre c."""
        if not self.is_affine or self.origin is None:
            return b
        c = w + self.origin
        return b + 0.5 * dot_with_bound(np.concatenate([w, c]), np.concatenate([w, -c]))[0]

    def build_hyperplane(self, beta: FloatArray, w: FloatArray | None, b: float, factor: float = 1.0) -> Hyperplane:
        """Return the decision function of β (or of an explicit w over `rows`) in the caller's own coordinates.

        Shapes: beta (n,).
        """
        if w is not None:
            w = factor * w
            coef = multiply(factor, beta)
            if self.is_affine:
                return self._build_ball(coef, w, b)
            if self.origin is None or not w.any():
                return Hyperplane(coef, w, b, b)
            caller_b = -dot_with_bound(self.origin, w, -b)[0]
            return Hyperplane(coef, w, caller_b, *dot_with_bound(self.origin, w, caller_b))
        coef = multiply(factor, self.coefficients(beta))
        if self._treated_gram.with_ones:
            return Hyperplane(coef, None, b + float(coef.sum()), b)
        if self.centred_gram is not self.gram:
            return Hyperplane(coef, None, b - factor * float((self.gram @ beta).mean()), b)
        return Hyperplane(coef, None, b, b)

    def _build_ball(self, coef: FloatArray, w: FloatArray, mu: float) -> Hyperplane:
        """Return the ball with centre w over `rows` and μ = (R² − ‖w‖²)/2, as (w, R) with R a float.

        Rounding of R, and of w in the caller's coordinates, changes μ by a few roundings of R² and ‖w‖².
        """
        square, off = dot_with_bound(w, w, 2.0 * mu)
        norm = 0.0 if self.origin is None else float(w @ w)
        radius = off + 4.0 * UNIT * (abs(square) + norm) + max(-square, 0.0)
        return Hyperplane(coef, w, mu, mu, radius)

    @cached
    def coordinates(self) -> Matrix:
        """φ(x_i) in explicit coordinates for computation, (n, r): `rows`, or L of K = LLᵀ."""
        if self.is_linear:
            return self.rows.matrix()
        return pivoted_cholesky(self.centred_gram.dense())

    @property
    def textbook_coordinates(self) -> Matrix:
        """Coordinates without centring if the samples are coordinates themselves."""
        return self.X if self.is_linear else self.coordinates

    def with_penalised_intercept(self) -> Operator:
        """Return K + 1, which appends a feature of ones to φ: the textbook dual with a penalised intercept."""
        if self.is_linear:
            return LowRank(RowsWithOnes(self.samples))  # (PHINGE.17)
        gram = self.gram
        if self.computed_intercept is None:
            return gram
        if isinstance(gram, KernelGram) and not isinstance(self.kernel, Precomputed):
            return KernelGram(gram.kernel, gram.X, 1.0, blocks=gram.blocks)  # (PHINGE.17)
        return Dense(gram.dense() + 1.0)  # (PHINGE.17)


def pivoted_cholesky(K: FloatArray, finest: bool = False) -> FloatArray:
    """Return L (n, r) with K ≈ LLᵀ and r the numerical rank, by LAPACK's Cholesky with complete pivoting.

    Notes
    -----
    LAPACK Users' Guide, `dpstrf`. It stops when the largest remaining diagonal entry is below n·eps·max K_ii, or with
    `finest` below eps·max K_ii: then K_ii − ‖L_i‖² is rounding of K_ii, and the last columns are half noise.
    """
    tolerance = (1.0 if finest else len(K)) * EPS * float(K.diagonal().max())
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=tolerance, lower=1)
    L = np.zeros((len(K), max(int(rank), 1)))
    L[pivots - 1] = np.tril(factor)[:, : L.shape[1]]
    return L
