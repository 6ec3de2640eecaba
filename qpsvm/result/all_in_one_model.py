"""The decision functions of a machine of several classes, f_c(x) = Σ_i coef_ic K(x_i, x) + b_c: to predict, to save."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_matrix, column_order
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.arrays.words import outline
from qpsvm.space.kernels.functions import Kernel, Precomputed

#: Kernel values that predicting evaluates at a time: 64 MB.
BLOCK_VALUES = 8_000_000


@dataclass(frozen=True, eq=False)
class JointModel:
    """Trained decision functions, one a class: the largest says which class.

    Attributes
    ----------
    kernel : Kernel
        Every parameter of it is a number.
    classes : ndarray, shape (k,)
        The labels in sort order.
    b : ndarray, shape (k,)
        Intercepts.
    coef : ndarray, shape (m, k)
        Coefficients of the m rows kept; (0, k) for a linear machine, which has `w` instead.
    vectors : ndarray or csr_array, shape (m, d)
        The rows kept. For a precomputed kernel their column numbers, shape (m,).
    w : ndarray, shape (k, d), or None
        Weight vectors of a linear machine.
    n_features : int
        d, the width of X when predicting. For a precomputed kernel this is the number of training rows.
    metadata : dict
        Whatever JSON can hold; it is saved with the model.
    feature_names : tuple of str, or None
        The columns of the data frame that the model was trained on.

    See Also
    --------
    load : Read one from a file.
    Model : The same for one decision function.

    Examples
    --------
    >>> import qpsvm
    >>> model = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0], [4.0]], ["a", "b", "c"], C=100)).model
    >>> print(model.predict([[0.2], [2.1], [9.0]]), model.w.shape)
    ['a' 'b' 'c'] (3, 1)
    """

    kernel: Kernel
    classes: NDArray[Any]
    b: FloatArray
    coef: FloatArray
    vectors: Matrix
    w: FloatArray | None
    n_features: int
    metadata: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __repr__(self) -> str:
        return outline("JointModel", **vars(self))

    def decision_function(self, X: Any) -> FloatArray:
        """f_c(x) for each row of X and each class.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Its columns are those of `Model.decision_function`.

        Returns
        -------
        ndarray, shape (m, k)
            A column for each of `classes`.

        Raises
        ------
        DataError
            Another width or other column names than the training data; no rows; a value that is NaN or infinite.

        Examples
        --------
        >>> import qpsvm
        >>> model = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1], C=100)).model
        >>> print(model.decision_function([[0.0], [1.5]]).round(6))
        [[ 0.5  -0.5 ]
         [-0.25  0.25]]
        """
        order = column_order(X, self.feature_names)
        samples = as_matrix(X, "X", self.n_features)
        if order is not None:
            samples = samples[:, order]
        if self.w is not None:
            linear: FloatArray = samples @ self.w.T + self.b  # (JOINT.1)
            return linear
        if isinstance(self.kernel, Precomputed):
            known: FloatArray = self.kernel(samples, samples)[:, self.vectors] @ self.coef + self.b
            return known
        if not len(self.coef):
            return np.tile(self.b, (samples.shape[0], 1))
        step = max(1, BLOCK_VALUES // len(self.coef))
        blocks = (samples[i : i + step] for i in range(0, samples.shape[0], step))
        values: FloatArray = np.concatenate([self.kernel(block, self.vectors) @ self.coef for block in blocks])
        return values + self.b  # (JOINT.1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, that of the largest f_c; of several that are equal, the first.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Its columns are those of `decision_function`.

        Returns
        -------
        ndarray, shape (m,)
            Labels as they were given.

        Raises
        ------
        DataError
            See `decision_function`.

        Examples
        --------
        >>> import qpsvm
        >>> model = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0]], ["no", "yes"])).model
        >>> print(model.predict([[0.5], [1.5]]))
        ['no' 'yes']
        """
        labels: NDArray[Any] = self.classes[self.decision_function(X).argmax(axis=1)]
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a NumPy .npz file, without pickle, as `Model.save` does.

        Parameters
        ----------
        path : str or path-like
            What is there is replaced.

        Raises
        ------
        UnsupportedError, ParameterTypeError, DataError, FileAccessError
            See `Model.save`.

        Examples
        --------
        >>> import qpsvm
        >>> model = qpsvm.solve(qpsvm.WestonWatkins([[0.0], [2.0], [4.0]], [0, 1, 2])).model
        >>> model.save("model.npz")
        >>> print((qpsvm.load("model.npz").w == model.w).all())
        True
        """
        from qpsvm.result.saving.model_file import write_model

        write_model(path, {field.name: getattr(self, field.name) for field in fields(self)})
