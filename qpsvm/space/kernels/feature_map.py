"""Define kernels with explicit features that approximate another kernel (`FeatureMap`, `Nystroem`, `RandomFourier`).

    (MAP.1)  K̃(x, z) = φ(x)ᵀφ(z) ≈ K(x, z),  φ(x) ∈ Rʳ:  the machine with K̃ is the linear one over the rows φ(x_i)

A machine with K needs up to n² kernel values. The linear one needs n·r numbers, and its steps take time in proportion
to n, so K̃ is useful if there are many rows. The machine with K̃ is what is solved and certified. How far it is from the
machine with K is a separate question: the two kernels are compared on a few rows, and `PivotedCholesky` bounds the
distance.

A map is fitted to some of the rows, drawn with a seed. After that it is a fixed function of a sample.

`Nystroem` computes features from kernel values with landmarks, `RandomFourier` those of an RBF kernel from random
frequencies.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import cached, freeze_parts
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.data.rows.blocks import PRODUCT_SECONDS
from qpsvm.space.kernels.fixed_vectors import FixedVectors
from qpsvm.space.kernels.functions import RBF, Gamma, Kernel, Linear, Precomputed, resolve_gamma
from qpsvm.space.kernels.kernel_registry import as_kernel

#: Largest number of rows on which a fitted map is compared with its kernel: 90 000 values, so that it takes no time.
COMPARED_ROWS = 300
#: Estimated seconds of a kernel value in addition to those of the scalar product, as for the exponential of an RBF.
VALUE_SECONDS = 1e-8


@dataclass(frozen=True, eq=False)
class Fit:
    """What a map learns from its rows: landmarks, or the frequencies of `RandomFourier`.

    points (m, d): The landmarks; or the frequencies, one per feature (m = r).
    factor (m, r): The matrix that turns kernel values with the landmarks into features; or the phases, (1, r).
    error: Largest and mean |K̃ − K| between at most `COMPARED_ROWS` rows: measured, not bounded.
    rows (m,): Indices of the landmarks among the rows; None if they are not rows, or not needed.
    """

    points: Matrix
    factor: FloatArray
    error: tuple[float, float] = (np.nan, np.nan)
    rows: IntArray | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def is_same(self, other: Fit) -> bool:
        """Return whether the other fit gives the same features."""
        if self is other:
            return True
        if self.points.shape != other.points.shape or not np.array_equal(self.factor, other.factor):
            return False
        return bool(np.array_equal(as_dense(self.points), as_dense(other.points)))


class FeatureMap(Kernel):
    """Base of the feature maps. A subclass is a frozen dataclass of its parameters and its `fit`, None at first."""

    fit: Fit | None
    seed: int
    kernel: Any

    @property
    def exact_kernel(self) -> Kernel:
        """The kernel K that this map approximates."""
        kernel: Kernel = self.kernel
        return kernel

    def _set_parameters(self, **parameters: Any) -> None:
        """Check the counts and the seed, and set them as well as the given parameters, which have been checked."""
        counts = [name for name in ("components", "rank", "seed") if hasattr(self, name)]
        checked = {name: as_count(getattr(self, name), name) for name in counts}
        for name, value in (parameters | checked).items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def _fit_rows(self, source: RowSource) -> Self:
        """Return the map fitted to rows, with a resolved kernel ("scale" becomes a number) and no error measured."""

    @abstractmethod
    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        """Compute φ(x_i) for the rows of X (k, d): (k, r)."""

    @property
    def error_statement(self) -> str:
        """The statement of a result about the machine with K."""
        return "Nothing is known of the machine with K."

    @property
    def name(self) -> str:
        """Name of the map."""
        return type(self).__name__

    @property
    def learned_fit(self) -> Fit:
        """The fit of a fitted map.

        Raises
        ------
        ParameterError
            The map has not been fitted.
        """
        if self.fit is None:
            raise ParameterError(f"{self} has no features before it has seen samples; call resolve(X)")
        return self.fit

    @cached
    def _kernel_values(self) -> FixedVectors:
        """The function X ↦ K(X, points), (k, m), for the points of the fit."""
        return FixedVectors(self.exact_kernel, self.learned_fit.points)

    @property
    def width(self) -> int:
        """r, the number of features."""
        return int(self.learned_fit.factor.shape[1])

    @property
    def row_seconds(self) -> float:
        """Estimated seconds of one core for the features of one row."""
        m, d = self.learned_fit.points.shape
        return float(m * (VALUE_SECONDS + PRODUCT_SECONDS * (d + self.width)))

    def features(self, X: Matrix) -> FloatArray:
        """Compute φ(x_i) for each row of X.

        Parameters
        ----------
        X : ndarray or SciPy sparse, shape (k, d)
            Samples.

        Returns
        -------
        ndarray, shape (k, r)
            A new array.

        Raises
        ------
        ParameterError
            The map has seen no samples.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> exact = qpsvm.RBF(0.1)
        >>> Z = qpsvm.Nystroem(exact, components=40).resolve(X).features(X)
        >>> print(Z.shape, np.abs(Z @ Z.T - exact(X, X)).max() < 1e-3)
        (50, 40) True
        """
        fit = self.learned_fit
        n_rows = X.shape[0]
        block_rows = max(1, BLOCK_NUMBERS // max(fit.points.shape[0], self.width))
        if n_rows <= block_rows:
            return self._compute_features(X, fit)
        blocks = [self._compute_features(X[i : i + block_rows], fit) for i in range(0, n_rows, block_rows)]
        return np.concatenate(blocks)

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        features = self.features(X)
        return np.asarray(np.dot(features, (features if Z is X else self.features(Z)).T))

    def diagonal(self, X: Matrix) -> FloatArray:
        features = self.features(X)
        return np.asarray(np.einsum("ij,ij->i", features, features))

    is_psd = True  # K̃ is a scalar product of features

    def resolve(self, X: Matrix | RowSource) -> Self:
        """Return the map fitted to samples, or itself if it is fitted.

        Parameters
        ----------
        X : ndarray, SciPy sparse or RowSource, shape (n, d)
            The training samples.

        Returns
        -------
        FeatureMap
            A map of the same class, whose kernel has numbers for all parameters.

        Raises
        ------
        ParameterError
            See `Kernel.resolve`.
        """
        if self.fit is not None:
            return self
        source = as_row_source(X)
        fitted = self._fit_rows(source)
        sample, _ = sample_rows(source, COMPARED_ROWS, self.seed + 1)  # not the rows that were drawn as landmarks
        error = np.abs(fitted(sample, sample) - fitted.exact_kernel(sample, sample))
        return fitted.with_fit(replace(fitted.learned_fit, error=(float(error.max()), float(error.mean()))))

    def with_fit(self, fit: Fit, **parameters: Any) -> Self:
        """Return a copy of the map with a fit, and with other values of some parameters."""
        new: Self = replace(self, **parameters)  # type: ignore[type-var]
        object.__setattr__(new, "fit", fit)
        return new

    @property
    def note(self) -> str:
        """The statement of a result about the machine that was solved."""
        largest_error, mean_error = self.learned_fit.error
        return (
            f"the certificate is for the machine with the approximate kernel {self}, not with {self.exact_kernel} "
            f"itself; between {COMPARED_ROWS} sampled rows at most, they differ by {largest_error:.2g} at the "
            f"most and {mean_error:.2g} on average, as measured. {self.error_statement}"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureMap) or type(self) is not type(other):
            return False
        if self._list_parameters() != other._list_parameters():
            return False
        if self.fit is None or other.fit is None:
            return self.fit is other.fit
        return self.fit.is_same(other.fit)

    def __hash__(self) -> int:
        return hash((type(self), self._list_parameters()))

    def _list_parameters(self) -> tuple[Any, ...]:
        """Return the values of all parameters, without the fit."""
        return tuple(getattr(self, item.name) for item in fields(self) if item.init)  # type: ignore[arg-type]


def sample_rows(source: RowSource, count: int, seed: int) -> tuple[Matrix, IntArray]:
    """Draw at most `count` rows without replacement: the rows, (m, d), and their indices, (m,)."""
    if source.n <= count:
        index: NDArray[np.intp] = np.arange(source.n)
    else:
        index = np.sort(np.random.default_rng(seed).choice(source.n, count, replace=False, shuffle=False))
    return source.take(index), index


def as_approximable(kernel: Any, semidefinite: bool = False) -> Kernel:
    """Return the kernel that a map with landmarks is to approximate, if it can.

    semidefinite: Whether the map needs a positive semidefinite kernel.

    Raises UnsupportedError.
    """
    checked: Kernel = as_kernel(kernel)
    if isinstance(checked, Precomputed):
        raise UnsupportedError("a precomputed kernel has no values for landmarks: give the kernel as a function")
    if isinstance(checked, (Linear, FeatureMap)):
        raise UnsupportedError(f"{checked} has explicit features already: take it as the machine's kernel")
    if semidefinite and not checked.is_psd:
        raise UnsupportedError(
            f"{checked} is not positive semidefinite by construction, which a Cholesky factor needs: take Nystroem"
        )
    return checked


def as_count(value: Any, name: str) -> int:
    """Return a positive integer, or a seed, which may be 0. Raises ParameterError, ParameterTypeError."""
    number = as_real(value, name)
    minimum = 0 if name == "seed" else 1
    if number != int(number) or number < minimum:
        if name == "seed":
            requirement = "a whole number from 0 on"
        else:
            requirement = "a positive whole number"
        raise ParameterError(f"{name} must be {requirement}, got {format_value(value)}")
    return int(number)


@dataclass(frozen=True, eq=False)
class Nystroem(FeatureMap):
    """Features φ(x) = K_zz^(−½) K(z, x) of m landmarks z, drawn from the samples: scikit-learn's `Nystroem`.

    With this as `kernel=`, a machine becomes the linear machine over these features. Its certificate is for K̃(x, x') =
    φ(x)ᵀφ(x'), and `result.message` says so.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The approximated kernel K. K̃ = K if one of the two samples is a landmark.
    components : int, default=300
        Number m of landmarks and features, at most the number of rows.
    seed : int, default=0
        Seed of the random choice.

    Attributes
    ----------
    fit : Fit or None
        Landmarks and K_zz^(−½); None before `resolve`.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        An invalid number of components or seed, or an unknown kernel.
    UnsupportedError
        A precomputed kernel, or one that has explicit features already.

    See Also
    --------
    PivotedCholesky : Landmarks that are chosen, not drawn, and a bound for the machine with K itself.
    RandomFourier : Features without landmarks.

    Notes
    -----
    K_zz^(−½) is scikit-learn's, from a singular value decomposition in which values below 1e-12 are raised to 1e-12. So
    K̃ is positive semidefinite even if K is indefinite.

    References
    ----------
    Williams & Seeger, *Using the Nyström method to speed up kernel machines*, NIPS 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X**2).sum(axis=1) < 1.4
    >>> result = qpsvm.solve(qpsvm.CSVM(X, y, C=10, kernel=qpsvm.Nystroem(qpsvm.RBF(0.5), components=50)))
    >>> print(result.title, result.status, result.w.shape)
    C-SVM, C = 10, kernel Nystroem(RBF(gamma=0.5), components=50) optimal (50,)
    >>> print((result.predict(X) == y).mean() > 0.95)
    True
    """

    kernel: Any = "rbf"
    components: int = 300
    seed: int = 0
    fit: Fit | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._set_parameters(kernel=as_approximable(self.kernel))

    def _fit_rows(self, source: RowSource) -> Self:
        from sklearn.kernel_approximation import Nystroem as SklearnNystroem

        kernel = self.exact_kernel.resolve(source)
        points, _ = sample_rows(source, self.components, self.seed)
        K = kernel(points, points)
        fitted = SklearnNystroem(kernel="precomputed", n_components=len(K), random_state=self.seed).fit(K)
        factor = np.ascontiguousarray(fitted.normalization_.T)
        return self.with_fit(Fit(points, factor), kernel=kernel, components=len(K))

    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        return np.asarray(np.dot(self._kernel_values(X), fit.factor))

    def __str__(self) -> str:
        return f"{self.name}({self.kernel}, components={self.components})"


@dataclass(frozen=True, eq=False)
class RandomFourier(FeatureMap):
    """Features φ_k(x) = √(2/r) cos(ω_kᵀx + θ_k), whose products have the mean exp(−γ‖x − z‖²).

    They are those of scikit-learn's `RBFSampler`. With this as `kernel=`, a machine becomes the linear machine over
    these features. Its certificate is for K̃(x, z) = φ(x)ᵀφ(z), and `result.message` says so.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        The γ of the approximated RBF kernel K. "scale" takes one pass over the samples.
    components : int, default=500
        Number r of features. K̃ − K is of order r^(−½).
    seed : int, default=0
        Seed of the frequencies ω, which are normal with variance 2γ, and of the phases θ.

    Attributes
    ----------
    fit : Fit or None
        ω, (r, d), and θ, (1, r); None before `resolve`.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A gamma that is not positive, or an invalid number of components or seed.

    See Also
    --------
    Nystroem : Features that depend on the samples; usually fewer are needed.

    References
    ----------
    Rahimi & Recht, *Random features for large-scale kernel machines*, NIPS 20 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X**2).sum(axis=1) < 1.4
    >>> result = qpsvm.solve(qpsvm.CSVM(X, y, C=10, kernel=qpsvm.RandomFourier(gamma=0.5, components=100)))
    >>> print(result.title, result.status, result.w.shape)
    C-SVM, C = 10, kernel RandomFourier(gamma=0.5, components=100) optimal (100,)
    """

    gamma: Gamma = "scale"
    components: int = 500
    seed: int = 0
    fit: Fit | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        RBF(self.gamma)  # raises an error if gamma is not valid
        self._set_parameters()

    @property
    def exact_kernel(self) -> Kernel:
        """The RBF kernel of this γ."""
        return RBF(self.gamma)

    def _fit_rows(self, source: RowSource) -> Self:
        from sklearn.kernel_approximation import RBFSampler

        gamma = resolve_gamma(self.gamma, source)
        sampler = RBFSampler(gamma=gamma, n_components=self.components, random_state=self.seed)
        sampler.fit(np.zeros((1, source.d)))  # only the number of columns matters
        frequencies = np.ascontiguousarray(sampler.random_weights_.T)
        return self.with_fit(Fit(frequencies, sampler.random_offset_[None, :]), gamma=gamma)

    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        features = as_dense(X @ fit.points.T)
        features += fit.factor
        np.cos(features, out=features)
        features *= math.sqrt(2.0 / self.components)
        return features

    def __str__(self) -> str:
        if isinstance(self.gamma, float):
            gamma = f"{self.gamma:.4g}"
        else:
            gamma = repr(self.gamma)
        return f"{self.name}(gamma={gamma}, components={self.components})"


__all__ = ["FeatureMap", "Fit", "Nystroem", "RandomFourier", "as_approximable", "as_count", "sample_rows"]
