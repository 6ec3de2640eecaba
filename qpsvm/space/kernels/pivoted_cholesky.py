"""Approximate a kernel by features from greedily chosen landmarks (`PivotedCholesky`).

K ≈ LLᵀ from n·r kernel values, by blocked, randomly pivoted partial Cholesky of a Gram matrix of low numerical rank.

    (PIVOT.1)  K = LLᵀ + E,  L (n, r):  E is positive semidefinite, its diagonal is e, and E = 0 in the pivots' rows
    (PIVOT.2)  candidates J: half are random with probabilities proportional to a_i e_i, half have the largest a_i e_i,
               for weights a;  K_JJ − L_J L_Jᵀ = RRᵀ with complete pivoting, until its diagonal is far below the largest
               e in J, gives the new pivots
    (PIVOT.3)  L ← [L, (K_nJ − L L_Jᵀ) R⁻ᵀ],  e ← e − the squares of the new columns
    (PIVOT.4)  (Σ a_i √e_i / Σ a_i)² ≤ target:  for a = α, this times ½(Σα)² is added to the gap of the certificate of α

Each block takes one matrix product with the columns before. K is never formed.

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
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.data.rows import RowSource
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.feature_map import FeatureMap, Fit, as_approximable, sample_rows
from qpsvm.space.kernels.functions import Kernel

EPS = float(np.finfo(np.float64).eps)
#: Rows among which the pivots are chosen, at most; and the largest factor of these, in numbers.
FACTORED_ROWS, FACTORED_NUMBERS = 50_000, 50_000_000


@dataclass(frozen=True)
class PivotedCholeskySettings:
    """Constants of the factorisation."""

    #: Number of candidates of a block.
    candidates: int = 128
    #: Largest number of pivots of a block; enough for efficient matrix products with earlier columns.
    pivots_per_block: int = 64
    #: Candidates become pivots while their residual is above this share of the largest one; smaller ones are better
    #: left to later blocks.
    share: float = 0.03
    #: The pace is not judged before 1/`early` of the allowed columns: at first, e decreases in few rows only.
    early: int = 3
    #: Number of rows processed at a time: their part of a block fits in the cache.
    strip: int = 1024


SETTINGS = PivotedCholeskySettings()


def factorise_pivoted(
    blocks: KernelBlocks,
    rows: IntArray,
    weights: FloatArray,
    target: float,
    max_rank: int,
    late: Callable[[], bool] = lambda: False,
    gives_up: bool = True,
) -> PivotedFactor | None:
    """Factor K over some rows, until (PIVOT.4) holds or there are `max_rank` columns; None if `late` returns True.

    weights: The weights a of (PIVOT.2).
    gives_up: Whether to stop if the target will not be reached.

    Shapes: rows (n,), weights (n,).
    """
    factor = PivotedFactor(blocks, rows, weights / float(weights.sum()), target)
    while not factor.is_reached and factor.rank < max_rank and not (gives_up and factor.is_hopeless(max_rank)):
        if late():
            return None
        if not factor.grow(max_rank):
            break
    factor.assemble()
    return factor


class PivotedFactor:
    """The factorisation (PIVOT.1), which grows by one block of columns at a time.

    L (n, r), pivots (r,): The factor and its pivots, after `assemble`.
    rest (n,): e as computed, with an error of about r·eps·K_ii.
    rank: r.
    """

    L: FloatArray
    pivots: IntArray

    def __init__(self, blocks: KernelBlocks, rows: IntArray, prices: FloatArray, target: float) -> None:
        self.blocks, self.rows, self.row_weights, self.target = blocks, rows, prices, target
        self.rest = blocks.diagonal(rows).astype(np.float64)
        self.size = float(self.rest.max(initial=0.0))
        self.random = np.random.default_rng(0)
        self.columns: list[FloatArray] = []
        self.chosen: list[IntArray] = []
        self.rank = 0
        self.path = [(0, self.remaining_error)]

    @property
    def remaining_error(self) -> float:
        """Left-hand side of (PIVOT.4)."""
        return float(self.row_weights @ np.sqrt(self.rest)) ** 2

    @property
    def rounding_error(self) -> float:
        """Rounding error of e."""
        return (self.rank + 2) * EPS * self.size

    @property
    def is_reached(self) -> bool:
        """Whether (PIVOT.4) holds, or e is only rounding."""
        return self.path[-1][1] <= max(self.target * self.size, self.rounding_error)

    def is_hopeless(self, max_rank: int) -> bool:
        """Return whether the target would take more than `max_rank` columns at the pace of the last block.

        The pace only gets slower.
        """
        if len(self.path) < 3 or SETTINGS.early * self.rank < max_rank or max_rank >= len(self.rows):
            return False
        (before, earlier), (now, remaining) = self.path[-2:]
        goal = max(self.target * self.size, self.rounding_error)
        if not 0.0 < remaining < earlier:
            return not remaining <= goal
        decay = np.log(earlier / remaining) / (now - before)
        return bool(now + np.log(remaining / goal) / decay > max_rank)

    def grow(self, max_rank: int) -> bool:
        """Add one block of columns, (PIVOT.2) and (PIVOT.3); return False if no pivot is left."""
        chosen = self._select_candidates()
        chosen_rows = [column[chosen] for column in self.columns]
        H = self.blocks.compute_block(self.rows[chosen], self.rows[chosen])
        for block in chosen_rows:
            H -= block @ block.T
        top = float(self.rest[chosen].max(initial=0.0))
        R, order, accepted, _ = lapack.dpstrf(H, tol=max(SETTINGS.share * top, self.rounding_error), lower=1)
        n_pivots = min(int(accepted), SETTINGS.pivots_per_block, max_rank - self.rank)
        if n_pivots < 1 or not np.isfinite(R[:n_pivots, :n_pivots]).all():
            return False
        order_of_pivots = order[:n_pivots] - 1
        R, pivots = np.tril(R[:n_pivots, :n_pivots]), chosen[order_of_pivots]
        earlier = [block[order_of_pivots].T for block in chosen_rows]
        new, n = np.empty((len(self.rows), n_pivots)), len(self.rows)
        for start in range(0, n, SETTINGS.strip):
            strip = slice(start, start + SETTINGS.strip)
            G = self.blocks.compute_block(self.rows[strip], self.rows[pivots])
            for column, across in zip(self.columns, earlier, strict=True):
                G -= column[strip] @ across
            new[strip] = solve_triangular(R, G.T, lower=True, check_finite=False).T
            self.rest[strip] -= np.einsum("ij,ij->i", new[strip], new[strip])
        self.rest[pivots] = 0.0
        np.maximum(self.rest, 0.0, out=self.rest)
        self.columns.append(new)
        self.chosen.append(pivots)
        self.rank += n_pivots
        self.path.append((self.rank, self.remaining_error))
        return True

    def _select_candidates(self) -> IntArray:
        """Return J of (PIVOT.2), sorted: at most `candidates` rows with nonzero a_i e_i."""
        half, n = SETTINGS.candidates // 2, len(self.rows)
        priced = self.row_weights * self.rest
        total = float(priced.sum())
        if np.count_nonzero(priced) <= SETTINGS.candidates or not 0.0 < total < np.inf:
            return np.flatnonzero(priced)[: SETTINGS.candidates]
        by_chance = np.searchsorted(np.cumsum(priced), total * self.random.random(half)).clip(0, n - 1)
        largest_residual = np.argpartition(priced, n - half)[n - half :]
        return np.union1d(by_chance, largest_residual)

    def assemble(self) -> None:
        """Assemble L and the pivots from the blocks."""
        self.L, position = np.empty((len(self.rows), self.rank)), 0
        for k, column in enumerate(self.columns):
            self.L[:, position : position + column.shape[1]] = column
            position += column.shape[1]
            self.columns[k] = column[:0]  # free its memory
        self.pivots = np.concatenate([np.zeros(0, dtype=np.intp), *self.chosen])


@dataclass(frozen=True, eq=False)
class PivotedCholesky(FeatureMap):
    """Features φ(x) = R⁻¹K(z, x) of pivots z with K_zz = RRᵀ: a partial Cholesky factor of the kernel matrix, K ≈ LLᵀ.

    Given as `kernel=` to a machine, that becomes the linear machine over the rows of L, for as many rows as there are:
    its certificate is for K̃(x, x') = φ(x)ᵀφ(x'). The w that it finds is a combination of the φ(z) of K as well. So the
    result has bounds for the machine with K itself besides, where the samples fit into memory:
    `result.extras["exact_gap"]`, "exact_primal" and "exact_dual".

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        K, positive semidefinite by construction.
    rank : int, default=500
        Pivots, and features, at the most.
    tol : float, default=1e-9
        Fewer of them where the mean of √(K_ii − K̃_ii) is at most √tol times the largest √K_ii: what that costs the
        machine with K is a gap of about tol Σα.
    seed : int, default=0
        Of the rows that pivots are chosen from, where there are more than `FACTORED_ROWS`.

    Attributes
    ----------
    fit : Fit or None
        Pivots and R, once there are samples: see `resolve`.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A rank, a tolerance or a seed that is none, a kernel that is not known.
    UnsupportedError
        A kernel that is not positive semidefinite by construction, or has explicit features already.

    See Also
    --------
    Nystroem : Landmarks that are drawn: cheaper, and less is known of them.

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
    def claim(self) -> str:
        """The bounds, by name."""
        return (
            "The same α and w are a feasible pair of the machine with K: extras['exact_gap'], where it is there, is a "
            "certified bound on their relative gap, and 'exact_primal' and 'exact_dual' enclose its optimum."
        )

    def _fit_rows(self, source: RowSource) -> Self:
        kernel = self.exact_kernel.resolve(source)
        points, own = sample_rows(source, max(min(FACTORED_ROWS, FACTORED_NUMBERS // self.rank), self.rank), self.seed)
        m = points.shape[0]
        blocks = KernelBlocks(kernel, points)
        found = factorise_pivoted(
            blocks, np.arange(m), np.ones(m), self.tol, min(self.rank, m), gives_up=False
        )  # fmt: skip
        assert found is not None  # it is never late
        kept, R = _factorise_pivots(kernel, points, found.pivots)
        fit = Fit(points[kept], R, rows=own[kept])
        return self.with_fit(fit, kernel=kernel, rank=len(kept))

    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        solved = solve_triangular(
            fit.factor, self._kernel_values(X).T, lower=True, overwrite_b=True, check_finite=False
        )
        return np.ascontiguousarray(solved.T)

    def coefficients(self, w: FloatArray) -> FloatArray:
        """Return the c of w = Σ_j c_j φ_K(z_j), in the feature space of K, for w over the features: Rᵀc = w.

        Parameters
        ----------
        w : ndarray, shape (r,)
            Over the features.

        Returns
        -------
        ndarray, shape (r,)
            One for each pivot.

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


__all__ = ["PivotedCholesky", "PivotedFactor", "factorise_pivoted"]
