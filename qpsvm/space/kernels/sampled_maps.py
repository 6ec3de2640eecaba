"""`Nystroem`: features from kernel values with landmarks.

`RandomFourier`: features of an RBF kernel from random frequencies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.data.rows import RowSource
from qpsvm.space.kernels.feature_map import FeatureMap, Fit, as_approximable, sampled_rows
from qpsvm.space.kernels.functions import RBF, Gamma, Kernel, gamma_of


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
        self._checked(kernel=as_approximable(self.kernel))

    def _fitted(self, source: RowSource) -> Self:
        from sklearn.kernel_approximation import Nystroem as Root

        kernel = self.approximated.resolve(source)
        points, _ = sampled_rows(source, self.components, self.seed)
        K = kernel(points, points)
        root = Root(kernel="precomputed", n_components=len(K), random_state=self.seed).fit(K)
        factor = source.comm.broadcast(np.ascontiguousarray(root.normalization_.T))
        return self.having(Fit(points, factor), kernel=kernel, components=len(K))

    def _features(self, X: Matrix, fit: Fit) -> FloatArray:
        return np.asarray(np.dot(self._values(X), fit.factor))

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
        self._checked()

    @property
    def approximated(self) -> Kernel:
        """The RBF kernel of this γ."""
        return RBF(self.gamma)

    def _fitted(self, source: RowSource) -> Self:
        from sklearn.kernel_approximation import RBFSampler

        gamma = gamma_of(self.gamma, source)
        sampler = RBFSampler(gamma=gamma, n_components=self.components, random_state=self.seed)
        sampler.fit(np.zeros((1, source.d)))  # it looks at the width only
        points = np.ascontiguousarray(sampler.random_weights_.T)
        return self.having(Fit(points, sampler.random_offset_[None, :]), gamma=gamma)

    def _features(self, X: Matrix, fit: Fit) -> FloatArray:
        angles = as_dense(X @ fit.points.T)
        angles += fit.factor
        np.cos(angles, out=angles)
        angles *= math.sqrt(2.0 / self.components)
        return angles

    def __str__(self) -> str:
        gamma = f"{self.gamma:.4g}" if isinstance(self.gamma, float) else repr(self.gamma)
        return f"{self.name}(gamma={gamma}, components={self.components})"
