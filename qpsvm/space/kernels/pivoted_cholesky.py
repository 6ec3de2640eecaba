"""`PivotedCholesky`: features from kernel values with landmarks that are chosen one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from qpsvm.base.arrays.checks import as_positive
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.data.rows import RowSource
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.feature_map import FeatureMap, Fit, as_approximable, as_count, as_seed, sampled_rows
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.pivoted import EPS, pivoted_factor

#: Rows among which the pivots are chosen, at most; and the largest factor of these, in numbers.
FACTORED_ROWS, FACTORED_NUMBERS = 50_000, 50_000_000


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
        object.__setattr__(self, "kernel", as_approximable(self.kernel, semidefinite=True))
        object.__setattr__(self, "rank", as_count(self.rank, "rank"))
        object.__setattr__(self, "tol", as_positive(self.tol, "tol"))
        object.__setattr__(self, "seed", as_seed(self.seed))

    @property
    def approximated(self) -> Kernel:
        """K."""
        kernel: Kernel = self.kernel
        return kernel

    @property
    def claim(self) -> str:
        """The bounds, by name."""
        return (
            "The same α and w are a feasible pair of the machine with K: extras['exact_gap'], where it is there, is a "
            "certified bound on their relative gap, and 'exact_primal' and 'exact_dual' enclose its optimum."
        )

    def _fitted(self, source: RowSource) -> Self:
        kernel = self.approximated.resolve(source)
        points, own = sampled_rows(source, max(min(FACTORED_ROWS, FACTORED_NUMBERS // self.rank), self.rank), self.seed)
        m = points.shape[0]
        blocks = KernelBlocks(kernel, points)
        found = pivoted_factor(
            blocks, np.arange(m), np.ones(m), self.tol, min(self.rank, m), gives_up=False
        )  # fmt: skip
        assert found is not None  # it is never late
        kept, R = _factored(kernel, points, found.pivots)
        kept, R = source.comm.broadcast((kept, R))
        fit = Fit(points[kept], R, rows=own[kept] if source.comm.serial else None)
        return self.having(fit, kernel=kernel, rank=len(kept))

    def _features(self, X: Matrix, fit: Fit) -> FloatArray:
        solved = solve_triangular(fit.factor, self._values(X).T, lower=True, overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T)

    def coefficients(self, w: FloatArray) -> FloatArray:
        """The c of w = Σ_j c_j φ_K(z_j), in the feature space of K, for w over the features: Rᵀc = w.

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
        c: FloatArray = solve_triangular(self.learnt.factor, w, lower=True, trans=1, check_finite=False)
        return c

    def __str__(self) -> str:
        return f"{self.name}({self.kernel}, rank={self.rank})"


def _factored(kernel: Kernel, points: Matrix, pivots: IntArray) -> tuple[IntArray, FloatArray]:
    """Those of the pivots that are independent in floating point, at least one, and R of K_zz = RRᵀ."""
    chosen = pivots if len(pivots) else np.zeros(1, dtype=np.intp)
    K = kernel(points[chosen], points[chosen])
    largest = float(K.diagonal().max())
    if not largest > 0.0:
        return chosen[:1], np.ones((1, 1))  # every kernel value is 0, and so is every feature
    factor, order, rank, _ = lapack.dpstrf(K, tol=(len(K) + 2) * EPS * largest, lower=1)
    r = max(int(rank), 1)
    return chosen[order[:r] - 1], np.asfortranarray(np.tril(factor[:r, :r]))
