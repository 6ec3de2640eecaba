"""Define the kernel functions K(x, z) = ⟨φ(x), φ(z)⟩, evaluated a matrix at a time.

A kernel is a callable `(X, Z) -> (n, m)` with X (n, d) and Z (m, d). The classes here also compute their diagonal,
state whether they are positive semidefinite by construction (Mercer's condition, which then is not tested), and turn
`gamma="scale"` into a number. Any other callable of this form is accepted as a kernel too (`UserKernel`).

Sources: Schölkopf & Smola, *Learning with Kernels* (2002), sections 2.1-2.3 and 13.1.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_positive, as_real
from qpsvm.base.arrays.frozen import build_frozen
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.rows import RowSource
from qpsvm.space.kernels.kernel import Kernel as Kernel
from qpsvm.space.kernels.kernel import UserKernel as UserKernel
from qpsvm.space.kernels.kernel import compute_variance, inner_products, squared_distances, squared_norms

Gamma = float | Literal["scale", "auto"]
#: Largest rounding error of γ‖x − z‖² = γ(‖x‖² − 2xᵀz + ‖z‖²), by BLAS; other pairs are computed from x − z.
DISTANCE_ERROR = 1e-11
#: Smaller exponents are replaced by this. Their exponentials, or products of these, would be subnormal numbers (in
#: single precision the product of two e⁻⁴⁴ is), with which arithmetic takes ten to a hundred times as long. e⁻⁴⁰ is
#: 4e-18, a twentieth of the largest rounding error of K_ii = 1.
LOWEST_EXPONENT = -40.0


@dataclass(frozen=True)
class Linear(Kernel):
    """The plain product K(x, z) = xᵀz.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> print(qpsvm.Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])))
    [[11.  2.]]
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel="linear").kernel == qpsvm.Linear()
    True
    """

    formula = "xᵀz"

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        return inner_products(X, Z)

    def diagonal(self, X: Matrix) -> FloatArray:
        """Return the squared norms: (n,)."""
        return squared_norms(X)

    is_psd = True  # always


class _GammaKernel(Kernel):
    """A kernel with a factor γ: a number, or the name of a rule that computes it from the samples."""

    gamma: Gamma

    def __post_init__(self) -> None:
        """Check those parameters that the kernel has."""
        for name, check in (("degree", as_positive), ("gamma", _check_gamma), ("coef0", as_real)):
            if hasattr(self, name):
                check(getattr(self, name), name)

    def resolve(self, X: Matrix) -> Kernel:
        """Return the kernel with a number for gamma, computed from X (n, d)."""
        if type(self.gamma) is float:  # an int, too, becomes one
            return self
        return build_frozen(type(self), **{**self.__dict__, "gamma": resolve_gamma(self.gamma, X)})


class _ProductKernel(_GammaKernel):
    """A function of γ xᵀz + r."""

    coef0: float

    @abstractmethod
    def _evaluate(self, products: FloatArray) -> FloatArray:
        """Evaluate K at products γ xᵀz + r of any shape, which may be overwritten."""

    def _scale_products(self, products: FloatArray) -> FloatArray:
        """Overwrite products xᵀz with γ xᵀz + r."""
        products *= _require_number(self.gamma)
        products += self.coef0
        return products

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Evaluate by one matrix product: (n, m)."""
        return self._evaluate(self._scale_products(inner_products(X, Z)))

    def diagonal(self, X: Matrix) -> FloatArray:
        """Evaluate at γ‖x‖² + r: (n,)."""
        return self._evaluate(self._scale_products(squared_norms(X)))


@dataclass(frozen=True)
class Polynomial(_ProductKernel):
    """A power K(x, z) = (γ xᵀz + r)^p.

    Parameters
    ----------
    degree : float, default=3
        The exponent p, positive. Only integers keep K defined where the base is negative.
    gamma : float, "scale" or "auto", default="scale"
        The factor γ, positive; "scale" is 1/(d·var(X)), "auto" is 1/d.
    coef0 : float, default=0
        The constant r. With r ≥ 0 and integer p the kernel is positive semidefinite by construction.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A parameter out of its range, of another type, or a rule for gamma that does not exist.

    Examples
    --------
    The four points of XOR, which no line separates:

    >>> import qpsvm
    >>> X, y = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], [1, 0, 0, 1]
    >>> result = qpsvm.solve(qpsvm.HardMargin(X, y, kernel=qpsvm.Polynomial(degree=2, gamma=1.0)))
    >>> print(result.predict(X), result.yf.round(6))
    [1 0 0 1] [1. 1. 1. 1.]
    """

    formula = "(γ xᵀz + r)^p"
    degree: float = 3
    gamma: Gamma = "scale"
    coef0: float = 0.0

    def _evaluate(self, products: FloatArray) -> FloatArray:
        if self.degree != int(self.degree):
            if (products < 0).any():
                raise DataError(
                    f"Polynomial(degree={self.degree:g}) takes a fractional power of a negative number; "
                    "use an integer degree, or a coef0 that keeps gamma*x.z + coef0 positive"
                )
            return np.power(products, self.degree, out=products)
        power = products.copy()
        for bit in f"{int(self.degree):b}"[1:]:  # by squaring, which is faster than the general power
            power *= power
            if bit == "1":
                power *= products
        return power

    @property
    def is_psd(self) -> bool:
        """Whether degree is an integer and coef0 ≥ 0: a sum of products of PSD kernels with nonnegative weights."""
        return float(self.degree).is_integer() and self.coef0 >= 0


@dataclass(frozen=True)
class RBF(_GammaKernel):
    """A Gaussian K(x, z) = exp(−γ‖x − z‖²).

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        The factor γ, positive, in 1/units(X)²; 1/(2σ²) for a Gaussian of width σ. "scale" is 1/(d·var(X)), "auto" is
        1/d.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A gamma that is not positive and finite, of another type, or a rule that does not exist.

    Notes
    -----
    Values below e⁻⁴⁰ = 4.2e-18 are computed as e⁻⁴⁰, because arithmetic with subnormal numbers is slow. The change is
    smaller than the rounding of any sum with them, and certificates include it, (ACC.5).

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> print(qpsvm.RBF(gamma=np.log(2))(np.array([[0.0]]), np.array([[0.0], [1.0], [2.0]])).round(6))
    [[1.     0.5    0.0625]]
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel="rbf").kernel  # "scale" is a number once there are samples
    RBF(gamma=1.0)
    """

    formula = "exp(−γ‖x − z‖²)"
    gamma: Gamma = "scale"

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Evaluate by one matrix product; where it would cancel, by differences: (n, m)."""
        gamma = _require_number(self.gamma)
        distances = squared_distances(X, Z, DISTANCE_ERROR / gamma)
        distances *= -gamma
        return exp_in_place(distances)

    def diagonal(self, X: Matrix) -> FloatArray:
        """Return ones: (n,)."""
        return np.ones(X.shape[0])

    is_psd = True  # always (Bochner)


@dataclass(frozen=True)
class Sigmoid(_ProductKernel):
    """A squashed product K(x, z) = tanh(γ xᵀz + r): not positive semidefinite in general, so its Gram matrix is tested.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        The factor γ, positive; "scale" is 1/(d·var(X)), "auto" is 1/d.
    coef0 : float, default=0
        The constant r.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A parameter out of its range, of another type, or a rule for gamma that does not exist.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[1.0], [2.0], [3.0]], [0, 1, 0], kernel=qpsvm.Sigmoid(gamma=1.0), psd="clip")
    >>> print(problem.kernel.is_psd, qpsvm.solve(problem).status)
    False optimal
    """

    formula = "tanh(γ xᵀz + r)"
    gamma: Gamma = "scale"
    coef0: float = 0.0

    def _evaluate(self, products: FloatArray) -> FloatArray:
        return np.tanh(products, out=products)

    is_psd = False  # never by construction


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel matrix in place of samples: X (n, n) to train, (m, n) with the training samples to predict.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> X, y, new = np.array([[0.0], [1.0], [3.0]]), [0, 0, 1], np.array([[1.5], [2.5]])
    >>> result = qpsvm.solve(qpsvm.HardMargin(X @ X.T, y, kernel=qpsvm.Precomputed()))
    >>> print(result.predict(new @ X.T))
    [0 1]
    """

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:  # noqa: ARG002  (X has the values with the samples Z)
        """Return X, densified: (m, n)."""
        return as_dense(X)

    def diagonal(self, X: Matrix) -> FloatArray:
        """Return the diagonal of X: (n,)."""
        diagonal: FloatArray = np.array(X.diagonal())
        return diagonal

    is_psd = False  # unknown, so tested


def _check_gamma(gamma: Any, name: str) -> None:
    """Check gamma. Raises ParameterError, ParameterTypeError, UnknownOptionError."""
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise UnknownOptionError(
                f"gamma must be a number, 'scale' or 'auto', got {gamma!r}; "
                f"{describe_nearest(gamma, ('scale', 'auto'))}"
            )
    else:
        as_positive(gamma, name)


def exp_in_place(exponents: NDArray[Any], floored: bool = True) -> NDArray[Any]:
    """Overwrite −γ‖x − z‖², in double or single precision, with K(x, z).

    floored: Whether exponents may be below `LOWEST_EXPONENT`, and must be raised to it.
    """
    if floored:
        np.maximum(exponents, exponents.dtype.type(LOWEST_EXPONENT), out=exponents)
    values: NDArray[Any] = np.exp(exponents, out=exponents)
    return values


def _require_number(gamma: Gamma) -> float:
    """Return gamma if it is a number. Raises ParameterError."""
    if isinstance(gamma, str):
        raise ParameterError(f"gamma={gamma!r} has no value before the kernel has seen data; call kernel.resolve(X)")
    return gamma


def resolve_gamma(gamma: Gamma, X: Matrix | RowSource) -> float:
    """Turn "scale" into 1/(d·var(X)), with the variance of all entries, and "auto" into 1/d, for X (n, d).

    "scale" is 1 for a single sample without variance. Raises ParameterError.
    """
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    variance = compute_variance(X)
    if variance == 0.0 and (X.n if isinstance(X, RowSource) else X.shape[0]) == 1:
        return 1.0
    product = X.shape[1] * variance
    if not (product > 0 and np.isfinite(product) and np.isfinite(1.0 / product)):
        raise ParameterError(
            f"gamma='scale' is 1/(n_features * var(X)) and var(X) is {variance:g} here; "
            "pass gamma as a number, or standardise X"
        )
    return float(1.0 / product)
