"""The decision function f(x) = Σ c_i K(x_i, x) + b on its own. It predicts, and is saved and loaded without pickle."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import order_of
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError
from qpsvm.data.rows import RowSource
from qpsvm.result.decision_functions import BLOCK_VALUES, DecisionFunctions, JointModel, PairsModel
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear


@dataclass(frozen=True, eq=False, repr=False)
class Model(DecisionFunctions):
    """A trained decision function.

    Attributes
    ----------
    kernel : Kernel
        Every parameter of it is a number.
    classes : ndarray, shape (2,), or None
        The labels for f ≤ 0 and f > 0; None where f itself is what is predicted.
    b : float
        Intercept.
    coef : ndarray, shape (m,)
        c_i = α_i y_i of the m rows kept; where the kernel matrix has a low rank, coefficients of their own for fewer
        rows. Empty for a linear machine, which has `w` instead.
    vectors : ndarray or csr_array, shape (m, d)
        The rows kept. For a precomputed kernel their column numbers, shape (m,).
    w : ndarray, shape (d,), or None
        Weight vector of a linear machine; where the kernel is a feature map, of the features that it makes: (r,).
    n_features : int
        d, the width of X when predicting. For a precomputed kernel this is the number of training rows.
    metadata : dict
        Whatever JSON can hold; it is saved with the model.
    feature_names : tuple of str, or None
        The columns of the data frame that the model was trained on. Those of other frames are matched by these names.
        For a precomputed kernel they stand for the training rows. None for an array, and for columns without names of
        text.
    diagonal : float
        f has so many times K(x, x) besides: −1 for `SVDD`, else 0.
    radius : float, or None
        R of a ball, of a linear kernel: its centre is w/2, and f(x) = R² − ‖x − w/2‖² is evaluated so, by differences.
        None beside rows of a user's, which may ask for R² < 0: then f(x) = wᵀx + b − ‖x‖².

    See Also
    --------
    load : Read one from a file.

    Examples
    --------
    >>> import qpsvm
    >>> model = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"])).model
    >>> print(model.w.round(6), round(model.b, 6), model.classes, model.n_features)
    [1.] -1.0 ['no' 'yes'] 1
    """

    kernel: Kernel
    classes: NDArray[Any] | None
    b: float
    coef: FloatArray
    vectors: Matrix
    w: FloatArray | None
    n_features: int
    metadata: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    diagonal: float = 0.0
    radius: float | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) for each row of X.

        Parameters
        ----------
        X : array_like, SciPy sparse or RowSource, shape (m, d)
            The columns of an array are taken by position. Those of a data frame are found by name, in any order, if
            the model knows names; so are those of a source of rows, which is gone through a block at a time.

        Returns
        -------
        ndarray, shape (m,)
            Positive on the side of the larger label; the prediction itself where there are no labels.

        Raises
        ------
        DataError
            The width or the column names are not those of the training data; there are no rows; or a value is NaN or
            infinite (row and column are named).

        Examples
        --------
        A kernel machine keeps the support vectors, and no w:

        >>> import numpy as np
        >>> import qpsvm
        >>> X, y = np.array([[0.0], [1.0], [5.0]]), [0, 1, 1]
        >>> model = qpsvm.solve(qpsvm.CSVM(X, y, C=10, kernel=qpsvm.RBF(gamma=1.0))).model
        >>> f = np.exp(-((2.0 - model.vectors[:, 0]) ** 2)) @ model.coef + model.b
        >>> print(np.isclose(model.decision_function([[2.0]]), f), model.w)
        [ True] None
        """
        if isinstance(X, RowSource):
            return self._streamed(X)
        samples = self._samples(X)
        if isinstance(self.kernel, FeatureMap) and self.w is not None:
            return self._of_features(samples, self.kernel)
        if self.radius is not None and self.w is not None:
            return self._inside(samples, self.w / 2.0, self.radius)
        values = self._values(samples)
        return values + self.diagonal * self.kernel.diagonal(samples) if self.diagonal else values

    @property
    def over_features(self) -> Model:
        """The linear decision function over the features of a map; itself where the kernel is none."""
        if not isinstance(self.kernel, FeatureMap) or self.w is None:
            return self
        return replace(self, kernel=Linear(), n_features=len(self.w), feature_names=None)

    def _of_features(self, samples: Matrix, row_map: FeatureMap) -> FloatArray:
        """The linear decision function over the features that a map makes of checked samples, a few at a time: (m,)."""
        linear = self.over_features
        step = max(1, BLOCK_VALUES // row_map.learnt.factor.size)
        rows = range(0, samples.shape[0], step)
        return np.concatenate([linear.decision_function(row_map.features(samples[i : i + step])) for i in rows])

    def _streamed(self, source: RowSource) -> FloatArray:
        """The same for rows that are not all in memory, a block at a time: (m,)."""
        if source.d != self.n_features:
            raise DataError(f"X has {source.d} columns where {self.n_features} are expected")
        known, given = self.feature_names, source.feature_names
        order = None if known is None or given is None else order_of(given, known, "X")
        pieces = (piece.matrix for block in source.blocks() for piece in block.pieces())
        return np.concatenate([self.decision_function(part if order is None else part[:, order]) for part in pieces])

    @staticmethod
    def _inside(samples: Matrix, centre: FloatArray, radius: float) -> FloatArray:
        """R² − ‖x − c‖² for checked samples (m, d), by differences, which do not cancel far from the origin: (m,)."""
        step = max(1, BLOCK_VALUES // len(centre))
        blocks = (as_dense(samples[i : i + step]) - centre for i in range(0, samples.shape[0], step))
        squares = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
        return np.asarray(radius * radius - squares)  # (SVDD.17)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, the larger one where f > 0; or f itself where there are no labels.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Its columns are those of `decision_function`.

        Returns
        -------
        ndarray, shape (m,)
            Labels as they were given, or numbers.

        Raises
        ------
        DataError
            See `decision_function`.

        Examples
        --------
        >>> import qpsvm
        >>> model = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"])).model
        >>> print(model.predict([[0.5], [1.5]]))
        ['no' 'yes']
        """
        values = self.decision_function(X)
        if self.classes is None:
            return values
        labels: NDArray[Any] = self.classes[(values > 0).astype(int)]
        return labels


def load(path: str | os.PathLike[str]) -> Model | JointModel | PairsModel:
    """Read a model that `Model.save`, `Certified.save` or an estimator wrote, or those of machines of several classes.

    Every array is checked, so that a model that loads can predict. Nothing that is written in a file is ever run.

    Parameters
    ----------
    path : str or path-like
        Of the .npz file.

    Returns
    -------
    Model, JointModel or PairsModel
        Without the training samples, but for the support vectors of a kernel machine.

    Raises
    ------
    MissingFileError
        There is no such file.
    FileAccessError
        It is a folder, a device or a pipe, or there is no permission to read it.
    FileFormatError
        It is not a model of this library, or it is damaged.
    TooLargeError
        It does not fit into memory.
    ParameterTypeError
        `path` is not a path.

    Examples
    --------
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel="rbf"))
    >>> result.save("model.npz")
    >>> model = qpsvm.load("model.npz")
    >>> model.kernel == result.model.kernel, model.b == result.b, bool((model.coef == result.model.coef).all())
    (True, True, True)
    """
    from qpsvm.result.saving.model_file import read_model

    attributes = read_model(path)
    if "counts" in attributes:
        return PairsModel(**attributes)
    return Model(**attributes) if "diagonal" in attributes else JointModel(**attributes)
