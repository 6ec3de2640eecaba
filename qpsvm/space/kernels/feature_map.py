"""Define kernels with explicit features that approximate another kernel (`FeatureMap`, `Nystroem`, `RandomFourier`).

    (MAP.1)  K̃(x, z) = φ(x)ᵀφ(z) ≈ K(x, z),  φ(x) ∈ Rʳ:  the machine with K̃ is the linear one over the rows φ(x_i)

A machine with K takes up to n² kernel values, the linear one n·r numbers and as much time for each step as there are
rows. So for many rows K̃ takes the place of K. What is solved and certified then is the machine with K̃. How near it is
to the one with K is another matter: it is measured on a few rows, and for `PivotedCholesky` it is bounded.

A map is fitted to some of the rows, drawn by a seed; from then on it is a fixed function, of new samples too.

`Nystroem` takes features from kernel values with landmarks, `RandomFourier` those of an RBF kernel from random
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
from qpsvm.space.kernels.blocks import FixedVectors
from qpsvm.space.kernels.functions import RBF, Gamma, Kernel, Linear, Precomputed, resolve_gamma
from qpsvm.space.kernels.kernel_registry import as_kernel

#: Rows on which a fitted map is compared with its kernel, at most.
COMPARED_ROWS = 300
#: Seconds of a kernel value beside the multiplications: roughly.
VALUE_SECONDS = 1e-8


@dataclass(frozen=True, eq=False)
class Fit:
    """Fit of a map to its rows.

    points (m, d): Landmarks among the rows; or frequencies, one a feature.
    factor (m, r): What turns kernel values with the landmarks into features; or shifts, (1, r), of the
        frequencies.
    error: Largest and mean |K̃ − K| between at most `COMPARED_ROWS` rows: measured, not bounded.
    rows (m,): Which rows the landmarks are; None for others, and where it does not matter.
    """

    points: Matrix
    factor: FloatArray
    error: tuple[float, float] = (np.nan, np.nan)
    rows: IntArray | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def is_same(self, other: Fit) -> bool:
        """Return whether the other fit is the same function."""
        if self is other:
            return True
        if self.points.shape != other.points.shape or not np.array_equal(self.factor, other.factor):
            return False
        return bool(np.array_equal(as_dense(self.points), as_dense(other.points)))


class FeatureMap(Kernel):
    """Base of the feature maps. A subclass is a frozen dataclass of its parameters, with a `fit` to its rows."""

    fit: Fit | None
    seed: int
    kernel: Any

    @property
    def exact_kernel(self) -> Kernel:
        """The kernel K that this map approximates."""
        kernel: Kernel = self.kernel
        return kernel

    def _set_parameters(self, **parameters: Any) -> None:
        """Keep parameters as they were checked, and those that are counts."""
        counts = [each.name for each in fields(self) if each.name in ("components", "rank", "seed")]  # type: ignore[arg-type]
        for name, value in {**parameters, **{name: as_count(getattr(self, name), name) for name in counts}}.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def _fit_rows(self, source: RowSource) -> Self:
        """Return the map fitted to rows, with K's parameters numbers; its error is measured by the caller."""

    @abstractmethod
    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        """φ of the rows of X (k, d): (k, r)."""

    @property
    def claim(self) -> str:
        """Sentence for the result: the facts known about the machine with K."""
        return "Nothing is known of the machine with K."

    @property
    def name(self) -> str:
        """Name of the map."""
        return type(self).__name__

    @property
    def learned_fit(self) -> Fit:
        """`fit`, of a map that has seen rows.

        Raises
        ------
        ParameterError
        """
        if self.fit is None:
            raise ParameterError(f"{self} has no features before it has seen samples; call resolve(X)")
        return self.fit

    @cached
    def _kernel_values(self) -> FixedVectors:
        """Kernel values with the points."""
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
        """φ(x_i) for each row of X.

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
        step = max(1, BLOCK_NUMBERS // max(fit.points.shape[0], self.width))
        if X.shape[0] <= step:
            return self._compute_features(X, fit)
        return np.concatenate([self._compute_features(X[i : i + step], fit) for i in range(0, X.shape[0], step)])

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        left = self.features(X)
        return np.asarray(np.dot(left, (left if Z is X else self.features(Z)).T))

    def diagonal(self, X: Matrix) -> FloatArray:
        features = self.features(X)
        return np.asarray(np.einsum("ij,ij->i", features, features))

    is_psd = True  # always: it is a product of features

    def resolve(self, X: Matrix | RowSource) -> Self:
        """Return the map fitted to samples: itself where it is.

        Parameters
        ----------
        X : ndarray, SciPy sparse or RowSource, shape (n, d)
            The training samples.

        Returns
        -------
        FeatureMap
            Of the same class; every parameter of its kernel is a number.

        Raises
        ------
        ParameterError
            See `Kernel.resolve`.
        """
        if self.fit is not None:
            return self
        source = as_row_source(X)
        fitted = self._fit_rows(source)
        sample, _ = sample_rows(source, COMPARED_ROWS, self.seed + 1)
        off = np.abs(fitted(sample, sample) - fitted.exact_kernel(sample, sample))
        return fitted.with_fit(replace(fitted.learned_fit, error=(float(off.max()), float(off.mean()))))

    def with_fit(self, fit: Fit, **parameters: Any) -> Self:
        """Return the map, or one with other parameters, with a given fit."""
        new: Self = replace(self, **parameters)  # type: ignore[type-var]
        object.__setattr__(new, "fit", fit)
        return new

    @property
    def note(self) -> str:
        """Statement of a result about the machine that was solved."""
        largest_value, mean = self.learned_fit.error
        return (
            f"the certificate is for the machine with the approximate kernel {self}, not with {self.exact_kernel} "
            f"itself; between {COMPARED_ROWS} sampled rows at most, they differ by {largest_value:.2g} at the "
            f"most and {mean:.2g} on average, as measured. {self.claim}"
        )

    def __eq__(self, other: object) -> bool:
        if (
            type(self) is not type(other)
            or not isinstance(other, FeatureMap)
            or self._list_parameters() != other._list_parameters()
        ):
            return False
        if self.fit is None or other.fit is None:
            return self.fit is other.fit
        return self.fit.is_same(other.fit)

    def __hash__(self) -> int:
        return hash((type(self), self._list_parameters()))

    def _list_parameters(self) -> tuple[Any, ...]:
        """Return every parameter."""
        return tuple(getattr(self, each.name) for each in fields(self) if each.init)  # type: ignore[arg-type]


def sample_rows(source: RowSource, count: int, seed: int) -> tuple[Matrix, IntArray]:
    """Draw at most `count` rows without replacement: the rows, (m, d), and their indices, (m,)."""
    if source.n <= count:
        chosen: NDArray[np.intp] = np.arange(source.n)
    else:
        chosen = np.sort(np.random.default_rng(seed).choice(source.n, count, replace=False, shuffle=False))
    return source.take(chosen), chosen


def as_approximable(kernel: Any, semidefinite: bool = False) -> Kernel:
    """Check a kernel that a map of landmarks is to stand in for. Raises UnsupportedError."""
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
    """Check a positive whole number, or a seed, which may be 0. Raises ParameterError, ParameterTypeError."""
    number = as_real(value, name)
    if number != int(number) or number < (name != "seed"):
        what = "a whole number from 0 on" if name == "seed" else "a positive whole number"
        raise ParameterError(f"{name} must be {what}, got {format_value(value)}")
    return int(number)


__all__ = ["FeatureMap", "Fit", "as_approximable", "as_count", "sample_rows"]


@dataclass(frozen=True, eq=False)
class Nystroem(FeatureMap):
    """Features φ(x) = K_zz^(−½) K(z, x) of m landmarks z, drawn from the samples: scikit-learn's `Nystroem`.

    Given as `kernel=` to a machine, that becomes the linear machine over these features, for as many rows as there are:
    its certificate is for K̃(x, x') = φ(x)ᵀφ(x'), and `result.message` says so.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        K, which K̃ stands in for. K̃ = K where one of the two samples is a landmark.
    components : int, default=300
        Landmarks and features, m; as many as there are rows, at the most.
    seed : int, default=0
        Of the draw.

    Attributes
    ----------
    fit : Fit or None
        Landmarks and K_zz^(−½), once there are samples: see `resolve`.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A number of components or a seed that is none, a kernel that is not known.
    UnsupportedError
        A precomputed kernel, or one that has explicit features already.

    See Also
    --------
    PivotedCholesky : Landmarks that are chosen, not drawn, and a bound for the machine with K itself.
    RandomFourier : Features that no landmark is needed for.

    Notes
    -----
    K_zz^(−½) is scikit-learn's, from a singular value decomposition with values below 1e-12 raised to that. So an
    indefinite K is replaced by a K̃ that is not.

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
        from sklearn.kernel_approximation import Nystroem as Root

        kernel = self.exact_kernel.resolve(source)
        points, _ = sample_rows(source, self.components, self.seed)
        K = kernel(points, points)
        root = Root(kernel="precomputed", n_components=len(K), random_state=self.seed).fit(K)
        factor = np.ascontiguousarray(root.normalization_.T)
        return self.with_fit(Fit(points, factor), kernel=kernel, components=len(K))

    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        return np.asarray(np.dot(self._kernel_values(X), fit.factor))

    def __str__(self) -> str:
        return f"{self.name}({self.kernel}, components={self.components})"


@dataclass(frozen=True, eq=False)
class RandomFourier(FeatureMap):
    """Features φ_k(x) = √(2/r) cos(ω_kᵀx + θ_k), whose products have the mean exp(−γ‖x − z‖²).

    They are those of scikit-learn's `RBFSampler`. Given as `kernel=` to a machine, that becomes the linear machine over
    these features, for as many rows as there are: its certificate is for K̃(x, z) = φ(x)ᵀφ(z), and `result.message` says
    so.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        The γ of the RBF kernel K that K̃ stands in for. "scale" takes one pass over the samples.
    components : int, default=500
        The number r of features. K̃ − K is of the size of r^(−½).
    seed : int, default=0
        Of the frequencies ω, which are normal with variance 2γ, and the phases θ.

    Attributes
    ----------
    fit : Fit or None
        ω, (r, d), and θ, (1, r), once there are samples: see `resolve`.

    Raises
    ------
    ParameterError, ParameterTypeError, UnknownOptionError
        A gamma that is not positive, a number of components or a seed that is none.

    See Also
    --------
    Nystroem : Features that know the samples: as a rule fewer of them do as well.

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
        RBF(self.gamma)  # only checked
        self._set_parameters()

    @property
    def exact_kernel(self) -> Kernel:
        """The RBF kernel of this γ."""
        return RBF(self.gamma)

    def _fit_rows(self, source: RowSource) -> Self:
        from sklearn.kernel_approximation import RBFSampler

        gamma = resolve_gamma(self.gamma, source)
        sampler = RBFSampler(gamma=gamma, n_components=self.components, random_state=self.seed)
        sampler.fit(np.zeros((1, source.d)))  # it looks at the width only
        points = np.ascontiguousarray(sampler.random_weights_.T)
        return self.with_fit(Fit(points, sampler.random_offset_[None, :]), gamma=gamma)

    def _compute_features(self, X: Matrix, fit: Fit) -> FloatArray:
        angles = as_dense(X @ fit.points.T)
        angles += fit.factor
        np.cos(angles, out=angles)
        angles *= math.sqrt(2.0 / self.components)
        return angles

    def __str__(self) -> str:
        gamma = f"{self.gamma:.4g}" if isinstance(self.gamma, float) else repr(self.gamma)
        return f"{self.name}(gamma={gamma}, components={self.components})"
