"""Approximate a kernel by features from greedily chosen landmarks (`PivotedCholesky`).

K ≈ LLᵀ from n·r kernel values, by blocked, randomly pivoted partial Cholesky of a Gram matrix of low numerical rank.

    (PIVOT.1)  K = LLᵀ + E,  L (n, r):  E is positive semidefinite, its diagonal is e, and E = 0 in the pivots' rows
    (PIVOT.2)  candidates J: half are drawn with probabilities proportional to a_i e_i for weights a, half have the
               largest a_i e_i;  K_JJ − L_J L_Jᵀ = RRᵀ with complete pivoting, until its diagonal is far below the
               largest e in J, gives the new pivots
    (PIVOT.3)  L ← [L, (K_nJ − L L_Jᵀ) R⁻ᵀ],  e ← e − the squares of the new columns
    (PIVOT.4)  (Σ a_i √e_i / Σ a_i)² ≤ target:  for a = α, the left-hand side times ½(Σα)² is added to the gap of
               the certificate of α

Each block needs one matrix product with the earlier columns. K is never formed.

Sources: Chen, Epperly, Tropp & Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. (2025); Epperly, Tropp &
Webber, *Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky* (2024); Fine &
Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from qpsvm.base.arrays.checks import as_positive
from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.data.rows import RowSource
from qpsvm.space.kernels.feature_map import FeatureMap, Fit, as_approximable, sample_rows
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

#: The target of (PIVOT.4) below every rounding error of K.
ROUNDED_ERROR = 1e-16
#: Largest number of rows among which the pivots are chosen, and largest number of entries of the factor of K over them.
MAX_FACTORED_ROWS, MAX_FACTOR_SIZE = 50_000, 50_000_000


@dataclass(frozen=True)
class PivotedCholeskySettings:
    """Constants of the factorisation."""

    #: Number of candidates for the pivots of a block.
    n_candidates: int = 128
    #: Largest number of pivots of a block: enough for efficient matrix products with earlier columns.
    max_pivots: int = 64
    #: Candidates become pivots while their residual is above this fraction of the largest one. Candidates with
    #: smaller residuals are left to later blocks, which choose among all rows again.
    min_residual_share: float = 0.03
    #: Convergence is not extrapolated before 1/`min_rank_divisor` of the allowed columns, because e first decreases in
    #: few rows only.
    min_rank_divisor: int = 3
    #: Number of rows processed at a time: their part of a block fits in the cache.
    strip: int = 1024


SETTINGS = PivotedCholeskySettings()


def factorise_pivoted(
    blocks: GramBlocks,
    rows: IntArray,
    weights: FloatArray,
    target: float,
    max_rank: int,
    is_late: Callable[[], bool] = lambda: False,
    can_give_up: bool = True,
) -> PivotedFactor | None:
    """Factorise K over some rows, until (PIVOT.4) holds or there are `max_rank` columns.

    Returns None if `is_late`, which is called before each block, returns True.

    weights: The weights a of (PIVOT.2).
    can_give_up: Whether to stop early if `max_rank` columns are predicted not to reach the target.

    Shapes: rows (n,), weights (n,).
    """
    factor = PivotedFactor(blocks, rows, weights / float(weights.sum()), target)
    while not factor.is_reached and factor.rank < max_rank and not (can_give_up and factor.is_hopeless(max_rank)):
        if is_late():
            return None
        if not factor.grow(max_rank):
            break
    factor.assemble()
    return factor


def find_low_rank_factor(blocks: GramBlocks, max_rank: int) -> FloatArray | None:
    """Find L (n, r) with K = LLᵀ up to rounding; None if r would exceed `max_rank`. It is cached in `blocks`."""
    if blocks.low_rank_factor is None:
        n = blocks.n
        factor = factorise_pivoted(blocks, np.arange(n), np.ones(n), ROUNDED_ERROR, min(n, max_rank))
        assert factor is not None  # without `is_late` it is never None
        blocks.low_rank_factor = freeze(factor.L) if factor.is_reached else None
    L = blocks.low_rank_factor
    return L if L is not None and L.shape[1] <= max_rank else None


class PivotedFactor:
    """Factorisation (PIVOT.1), computed one block of columns at a time.

    L (n, r), pivots (r,): The factor and its pivots; set by `assemble`.
    residual (n,): e as computed, with an error of about r·eps·K_ii.
    rank: r.
    """

    L: FloatArray
    pivots: IntArray

    def __init__(self, blocks: GramBlocks, rows: IntArray, row_weights: FloatArray, target: float) -> None:
        self.blocks = blocks
        self.rows = rows
        self.row_weights = row_weights
        self.target = target
        self.residual = blocks.compute_diagonal(rows).astype(np.float64)
        self.max_diagonal = float(self.residual.max(initial=0.0))
        self.random = np.random.default_rng(0)
        self.column_blocks: list[FloatArray] = []
        self.pivot_blocks: list[IntArray] = []
        self.rank = 0
        self.history = [(0, self.remaining_error)]

    @property
    def remaining_error(self) -> float:
        """Left-hand side of (PIVOT.4)."""
        return float(self.row_weights @ np.sqrt(self.residual)) ** 2

    @property
    def rounding_error(self) -> float:
        """Rounding error of e."""
        return (self.rank + 2) * EPS * self.max_diagonal

    @property
    def is_reached(self) -> bool:
        """Whether (PIVOT.4) holds, or e is no larger than its rounding error."""
        return self.history[-1][1] <= max(self.target * self.max_diagonal, self.rounding_error)

    def is_hopeless(self, max_rank: int) -> bool:
        """Return whether the target is predicted to need more than `max_rank` columns.

        The error is extrapolated at the rate of the last block. The rate decreases, so the prediction is a lower bound.
        """
        if len(self.history) < 3 or SETTINGS.min_rank_divisor * self.rank < max_rank or max_rank >= len(self.rows):
            return False
        (previous_rank, previous_error), (rank, error) = self.history[-2:]
        goal = max(self.target * self.max_diagonal, self.rounding_error)
        if not 0.0 < error < previous_error:
            return not error <= goal
        rate = np.log(previous_error / error) / (rank - previous_rank)
        return bool(rank + np.log(error / goal) / rate > max_rank)

    def grow(self, max_rank: int) -> bool:
        """Add one block of columns, (PIVOT.2) and (PIVOT.3); return False if no pivot is found."""
        chosen = self._select_candidates()
        chosen_rows = [column[chosen] for column in self.column_blocks]
        H = self.blocks.compute_block(self.rows[chosen], self.rows[chosen])
        for block in chosen_rows:
            H -= block @ block.T
        max_residual = float(self.residual[chosen].max(initial=0.0))
        R, order, accepted, _ = lapack.dpstrf(
            H, tol=max(SETTINGS.min_residual_share * max_residual, self.rounding_error), lower=1
        )
        n_pivots = min(int(accepted), SETTINGS.max_pivots, max_rank - self.rank)
        if n_pivots < 1 or not np.isfinite(R[:n_pivots, :n_pivots]).all():
            return False
        order_of_pivots = order[:n_pivots] - 1
        R = np.tril(R[:n_pivots, :n_pivots])
        pivots = chosen[order_of_pivots]
        earlier = [block[order_of_pivots].T for block in chosen_rows]
        new = np.empty((len(self.rows), n_pivots))
        n = len(self.rows)
        for start in range(0, n, SETTINGS.strip):
            strip = slice(start, start + SETTINGS.strip)
            G = self.blocks.compute_block(self.rows[strip], self.rows[pivots])
            for column, across in zip(self.column_blocks, earlier, strict=True):
                G -= column[strip] @ across
            new[strip] = solve_triangular(R, G.T, lower=True, check_finite=False).T
            self.residual[strip] -= np.einsum("ij,ij->i", new[strip], new[strip])
        self.residual[pivots] = 0.0
        np.maximum(self.residual, 0.0, out=self.residual)
        self.column_blocks.append(new)
        self.pivot_blocks.append(pivots)
        self.rank += n_pivots
        self.history.append((self.rank, self.remaining_error))
        return True

    def _select_candidates(self) -> IntArray:
        """Return J of (PIVOT.2), sorted: at most `n_candidates` rows with nonzero a_i e_i."""
        half = SETTINGS.n_candidates // 2
        n = len(self.rows)
        weighted_residual = self.row_weights * self.residual
        total = float(weighted_residual.sum())
        if np.count_nonzero(weighted_residual) <= SETTINGS.n_candidates or not 0.0 < total < np.inf:
            return np.flatnonzero(weighted_residual)[: SETTINGS.n_candidates]
        random_rows = np.searchsorted(np.cumsum(weighted_residual), total * self.random.random(half)).clip(0, n - 1)
        largest_rows = np.argpartition(weighted_residual, n - half)[n - half :]
        return np.union1d(random_rows, largest_rows)

    def assemble(self) -> None:
        """Assemble L and the pivots from the blocks."""
        self.L = np.empty((len(self.rows), self.rank))
        position = 0
        for k, column in enumerate(self.column_blocks):
            self.L[:, position : position + column.shape[1]] = column
            position += column.shape[1]
            self.column_blocks[k] = column[:0]  # free its memory
        self.pivots = np.concatenate([np.zeros(0, dtype=np.intp), *self.pivot_blocks])


@dataclass(frozen=True, eq=False)
class PivotedCholesky(FeatureMap):
    """Features φ(x) = R⁻¹K(z, x) of pivots z with K_zz = RRᵀ: a partial Cholesky factor of the kernel matrix, K ≈ LLᵀ.

    As the `kernel=` of an SVM, this gives the linear SVM over the rows of L, for any number of samples. Its certificate
    is for K̃(x, x') = φ(x)ᵀφ(x'). Its w is also a linear combination of the φ(z) in the feature space of K. So if the
    samples fit into memory, the result also has bounds for the SVM with K itself: `result.extras["exact_gap"]`,
    "exact_primal" and "exact_dual".

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        K, positive semidefinite by construction.
    rank : int, default=500
        Largest number of pivots, and so of features.
    tol : float, default=1e-9
        Stop with fewer pivots if the mean of √(K_ii − K̃_ii) is at most √tol times the largest √K_ii. This adds about
        tol Σα to the gap of the SVM with K.
    seed : int, default=0
        Seed of the sample of rows from which pivots are chosen if there are more than `MAX_FACTORED_ROWS`.

    Attributes
    ----------
    fit : Fit or None
        Pivots and R after `resolve`; None before.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        If `rank`, `tol` or `seed` is not valid, or the kernel is unknown.
    UnsupportedError
        If the kernel is not positive semidefinite by construction, or already has explicit features.

    See Also
    --------
    Nystroem : Randomly drawn landmarks: cheaper, but without bounds for the SVM with K.

    References
    ----------
    Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001); Chen, Epperly,
    Tropp & Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. (2025).

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = (X**2).sum(axis=1) < 1.4
    >>> result = qpsvm.solve(qpsvm.CSVM(X, y, C=10, kernel=qpsvm.PivotedCholesky(qpsvm.RBF(0.5), rank=80)))
    >>> exact = qpsvm.solve(qpsvm.CSVM(X, y, C=10, kernel=qpsvm.RBF(0.5)))
    >>> bounds = result.extras
    >>> print(bounds["exact_dual"] <= exact.primal, exact.dual <= bounds["exact_primal"], bounds["exact_gap"] < 1e-4)
    True True True
    """

    kernel: Any = "rbf"
    rank: int = 500
    tol: float = 1e-9
    seed: int = 0
    fit: Fit | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._set_parameters(kernel=as_approximable(self.kernel, semidefinite=True), tol=as_positive(self.tol, "tol"))

    @property
    def error_statement(self) -> str:
        """Sentence for the result about the SVM with K."""
        return (
            "The same α and w are a feasible pair of the machine with K: extras['exact_gap'], where it is there, is a "
            "certified bound on their relative gap, and 'exact_primal' and 'exact_dual' enclose its optimum."
        )

    def _fit_rows(self, source: RowSource) -> Self:
        kernel = self.exact_kernel.resolve(source)
        points, row_indices = sample_rows(
            source, max(min(MAX_FACTORED_ROWS, MAX_FACTOR_SIZE // self.rank), self.rank), self.seed
        )
        m = points.shape[0]
        blocks = KernelBlocks(kernel, points)
        factor = factorise_pivoted(blocks, np.arange(m), np.ones(m), self.tol, min(self.rank, m), can_give_up=False)
        assert factor is not None  # without `is_late` it is never None
        independent, R = _factorise_pivots(kernel, points, factor.pivots)
        fit = Fit(points[independent], R, rows=row_indices[independent])
        return self.with_fit(fit, kernel=kernel, rank=len(independent))

    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        solved = solve_triangular(
            fit.factor, self._kernel_values(X).T, lower=True, overwrite_b=True, check_finite=False
        )
        return np.ascontiguousarray(solved.T)

    def coefficients(self, w: FloatArray) -> FloatArray:
        """Return c with w = Σ_j c_j φ_K(z_j) in the feature space of K, by solving Rᵀc = w.

        Parameters
        ----------
        w : ndarray, shape (r,)
            Weights of the features.

        Returns
        -------
        ndarray, shape (r,)
            One coefficient per pivot.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> X = np.array([[0.0], [1.0], [2.0]])
        >>> fitted = qpsvm.PivotedCholesky(qpsvm.RBF(1.0)).resolve(X)
        >>> w = np.array([1.0, 2.0, 3.0])
        >>> f = qpsvm.RBF(1.0)(X, fitted.fit.points) @ fitted.coefficients(w)
        >>> print(np.allclose(f, fitted.features(X) @ w))
        True
        """
        c: FloatArray = solve_triangular(self.learned_fit.factor, w, lower=True, trans=1, check_finite=False)
        return c

    def __str__(self) -> str:
        return f"{self.name}({self.kernel}, rank={self.rank})"


def _factorise_pivots(kernel: Kernel, points: Matrix, pivots: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the pivots that are independent in floating point, at least one, and R of K_zz = RRᵀ."""
    chosen = pivots if len(pivots) else np.zeros(1, dtype=np.intp)
    K = kernel(points[chosen], points[chosen])
    largest = float(K.diagonal().max())
    if not largest > 0.0:
        return chosen[:1], np.ones((1, 1))  # every kernel value is 0, and so is every feature
    factor, order, rank, _ = lapack.dpstrf(K, tol=(len(K) + 2) * EPS * largest, lower=1)
    r = max(int(rank), 1)
    return chosen[order[:r] - 1], np.asfortranarray(np.tril(factor[:r, :r]))


__all__ = ["PivotedCholesky", "PivotedFactor", "factorise_pivoted", "find_low_rank_factor"]
