"""The samples in feature space, exactly: decision values, lengths and what rounding may make of them.

For linear, polynomial and precomputed kernels everything is a `Dyadic` made from the floats of X and of the kernel's
parameters. The values of other kernels come from mpmath, rounded to multiples of 2^−BITS.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import mpmath
import numpy as np
import scipy.sparse as sp
from dyadic import Dyadic
from numpy.typing import NDArray
from proof import Task

import qpsvm
from qpsvm import RBF, Linear, Polynomial, Precomputed, Sigmoid

#: Kernel values that are not rational are multiples of 2^−BITS, from so many digits of mpmath.
BITS, DIGITS = 300, 120
#: Unit roundoff of a float.
UNIT = Fraction(1, 1 << 53)


class Space(Protocol):
    """The samples that take part, n of them, in feature space; exactly."""

    def model(self, result: qpsvm.SVMResult) -> tuple[Dyadic, Dyadic]:
        """⟨w, φ(x_i)⟩ (n,) and ‖w‖² for the w that the user gets."""

    def own(self, beta: Dyadic) -> tuple[Dyadic, Dyadic]:
        """The same for w = Σ β_i φ(x_i)."""

    @property
    def diagonal(self) -> Dyadic:
        """K_ii: (n,)."""

    def rounding(self, alpha: Dyadic) -> tuple[Fraction, Fraction]:
        """The square of what rounding may make of w(α) = 0, and the largest squared distance from the mean."""


@dataclass(frozen=True)
class LinearSpace:
    """Rows x_i: (n, d)."""

    X: Dyadic

    def model(self, result: qpsvm.SVMResult) -> tuple[Dyadic, Dyadic]:
        """By w itself."""
        w = Dyadic.of(result.w)
        return self.X @ w, w @ w

    def own(self, beta: Dyadic) -> tuple[Dyadic, Dyadic]:
        """By w = Xᵀβ."""
        w = self.X.T @ beta
        return self.X @ w, w @ w

    @property
    def diagonal(self) -> Dyadic:
        """‖x_i‖²."""
        return (self.X * self.X).sum(axis=1)

    def rounding(self, alpha: Dyadic) -> tuple[Fraction, Fraction]:
        """γ_{n+2} times the length of |Z|ᵀα, with Z = X − mean; n times that is computed, which needs no division."""
        n = len(self.X)
        nZ = self.X * n - self.X.sum(axis=0)
        sums = abs(nZ).T @ alpha
        return gamma(n + 2) ** 2 * (sums @ sums).fraction() / n**2, (nZ * nZ).sum(axis=1).max().fraction() / n**2


@dataclass(frozen=True)
class KernelSpace:
    """K among the samples (n, n), and between them and the vectors of the model (n, m), which are some of them."""

    K: Dyadic
    vectors: NDArray[np.intp]

    def model(self, result: qpsvm.SVMResult) -> tuple[Dyadic, Dyadic]:
        """By the coefficients and the vectors that predict."""
        coef = Dyadic.of(result.model.coef)
        values = self.K[:, self.vectors] @ coef
        return values, coef @ values[self.vectors]

    def own(self, beta: Dyadic) -> tuple[Dyadic, Dyadic]:
        """By K."""
        values = self.K @ beta
        return values, beta @ values

    @property
    def diagonal(self) -> Dyadic:
        """K_ii."""
        return self.K[np.arange(len(self.K)), np.arange(len(self.K))]

    def rounding(self, alpha: Dyadic) -> tuple[Fraction, Fraction]:
        """γ_{n+2} αᵀ|HKH|α; n² times that is computed, which needs no division."""
        n = len(self.K)
        columns = self.K.sum(axis=0)
        centred = self.K * n**2 - (columns * n)[None, :] - (columns * n)[:, None] + columns.sum()
        most = centred[np.arange(n), np.arange(n)].max()
        return gamma(n + 2) * (alpha @ (abs(centred) @ alpha)).fraction() / n**2, most.fraction() / n**2


def gamma(k: int) -> Fraction:
    """γ_k = ku/(1 − ku), the relative error that k roundings leave (Higham 2002, section 3.1)."""
    return k * UNIT / (1 - k * UNIT)


def plain(X: Any) -> NDArray[Any]:
    """Samples as an ordinary array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def space_of(task: Task, result: qpsvm.SVMResult, rows: NDArray[np.intp]) -> Space:
    """The samples of these rows in the feature space of the task's kernel."""
    kernel, X = result.model.kernel, plain(task.X)
    assert type(kernel) is type(task.kernel)
    if isinstance(kernel, Linear):
        return LinearSpace(Dyadic.of(X[rows]))
    where = {int(row): place for place, row in enumerate(rows)}
    if isinstance(kernel, Precomputed):
        K = Dyadic.of(X[np.ix_(rows, rows)])
        assert np.array_equal(X, X.T), "which of two kernel matrices?"
        return KernelSpace(K, np.array([where[int(row)] for row in result.model.vectors], dtype=np.intp))
    distinct, copies = np.unique(X[rows].astype(float), axis=0, return_inverse=True)
    copies = copies.ravel()
    places = {tuple(row): place for place, row in enumerate(distinct.tolist())}
    first = {int(copy): place for place, copy in reversed(list(enumerate(copies)))}
    vectors = [first[places[tuple(vector)]] for vector in plain(result.model.vectors).tolist()]
    return KernelSpace(gram(kernel, Dyadic.of(distinct))[np.ix_(copies, copies)], np.array(vectors, dtype=np.intp))


def gram(kernel: Any, X: Dyadic) -> Dyadic:
    """K(x_i, x_j): (n, n)."""
    products = X @ X.T
    if isinstance(kernel, Polynomial):
        assert float(kernel.degree).is_integer()
        return (products * kernel.gamma + kernel.coef0).power(int(kernel.degree))
    if isinstance(kernel, Sigmoid):
        return evaluated(mpmath.tanh, products * kernel.gamma + kernel.coef0)
    assert isinstance(kernel, RBF)
    squares = (X * X).sum(axis=1)
    return evaluated(mpmath.exp, (products + products - squares[:, None] - squares[None, :]) * kernel.gamma)


def evaluated(function: Any, arguments: Dyadic) -> Dyadic:
    """function(arguments) of a symmetric matrix, rounded to multiples of 2^−BITS, where its values are at most 1."""
    n = len(arguments)
    values = np.zeros((n, n), dtype=object)
    with mpmath.workdps(DIGITS):
        for i in range(n):
            for j in range(i, n):
                argument = mpmath.mpf((arguments.ints[i, j], arguments.exponent))
                value = function(argument) if argument > -BITS else mpmath.mpf(0)  # e^−BITS is less than 2^−BITS
                values[i, j] = values[j, i] = int(mpmath.nint(mpmath.ldexp(value, BITS)))
    return Dyadic(values, -BITS)
