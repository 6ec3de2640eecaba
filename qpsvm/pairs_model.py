"""The decision functions of each two of several classes, and their votes: to predict, to save."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import voting
from qpsvm.arrays.checks import as_matrix
from qpsvm.arrays.columns import column_order
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.arrays.words import outline
from qpsvm.kernels.functions import Kernel, Precomputed
from qpsvm.kernels.scores import Scores


@dataclass(frozen=True, eq=False)
class PairsModel:
    """Trained decision functions, one for each two classes, which vote.

    Attributes
    ----------
    kernel : Kernel
        Every parameter of it is a number.
    classes : ndarray, shape (k,)
        The labels in sort order, k > 2.
    b : ndarray, shape (k(k − 1)/2,)
        Intercepts of the pairs (0, 1), (0, 2), …, (k − 2, k − 1); f is positive for the first class of its pair.
    coef : ndarray, shape (k − 1, m)
        Coefficients of the m rows kept, which stand class after class. A row of class i has one for each other class c,
        at c where c < i, at c − 1 where c > i: `dual_coef_` of scikit-learn. (k − 1, 0) for a linear machine.
    counts : ndarray of int, shape (k,)
        How many of the rows kept are of each class; zeros for a linear machine.
    vectors : ndarray or csr_array, shape (m, d)
        The rows kept. For a precomputed kernel their column numbers, shape (m,).
    w : ndarray, shape (k(k − 1)/2, d), or None
        Weight vectors of linear machines.
    n_features : int
        d, the width of X when predicting. For a precomputed kernel this is the number of training rows.
    by_class : bool
        Whether decision values are a score for each class, or f of each pair.
    break_ties : bool
        Whether `predict` goes by these scores where classes have as many votes.
    metadata : dict
        Whatever JSON can hold; it is saved with the model.
    feature_names : tuple of str, or None
        The columns of the data frame that the model was trained on.

    See Also
    --------
    load : Read one from a file.
    JointModel : One decision function for each class.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.estimators import SVC
    >>> X, y = [[0.0], [2.0], [4.0]], ["a", "b", "c"]
    >>> SVC(kernel="linear").fit(X, y).save("model.npz")
    >>> model = qpsvm.load("model.npz")
    >>> print(model.predict([[0.2], [2.1], [9.0]]), model.w.shape)
    ['a' 'b' 'c'] (3, 1)
    """

    kernel: Kernel
    classes: NDArray[Any]
    b: FloatArray
    coef: FloatArray
    counts: NDArray[np.intp]
    vectors: Matrix
    w: FloatArray | None
    n_features: int
    by_class: bool = True
    break_ties: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return outline("PairsModel", **{each.name: getattr(self, each.name) for each in fields(self)})

    @cached_property
    def _scores(self) -> Scores:
        picked = self.vectors if isinstance(self.kernel, Precomputed) else np.arange(self.coef.shape[1])
        ends = np.concatenate([[0], np.cumsum(self.counts)])
        return Scores(self.kernel, np.asarray(picked), self.vectors, self.coef, self.b, self.w, ends)

    def _values(self, X: Any) -> FloatArray:
        """f of each pair: (m, P)."""
        order = column_order(X, self.feature_names)
        samples = as_matrix(X, "X", self.n_features)
        return self._scores.tied(samples if order is None else samples[:, order])

    def decision_function(self, X: Any) -> FloatArray:
        """A score for each class, or f of each pair.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Its columns are those of `Model.decision_function`.

        Returns
        -------
        ndarray, shape (m, k) or (m, k(k − 1)/2)
            The votes with less than half of one more by the values; or the values, as `by_class` says.

        Raises
        ------
        DataError
            Another width or other column names than the training data; no rows; a value that is NaN or infinite.

        Examples
        --------
        >>> import qpsvm
        >>> from qpsvm.estimators import SVC
        >>> machine = SVC(kernel="linear", decision_function_shape="ovo").fit([[0.0], [2.0], [4.0]], [0, 1, 2])
        >>> machine.save("model.npz")
        >>> print(qpsvm.load("model.npz").decision_function([[1.0]]).round(6))
        [[0.  0.5 2. ]]
        """
        values = self._values(X)
        return voting.scores(values, len(self.classes)) if self.by_class else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, that of the class with the most votes; of several that are equal, the first.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Its columns are those of `Model.decision_function`.

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
        >>> from qpsvm.estimators import SVC
        >>> SVC().fit([[0.0], [2.0], [4.0]], ["low", "middle", "high"]).save("model.npz")
        >>> print(qpsvm.load("model.npz").predict([[0.1], [4.2]]))
        ['low' 'high']
        """
        values, k = self._values(X), len(self.classes)
        codes = voting.scores(values, k).argmax(axis=1) if self.break_ties else voting.winners(values, k)
        labels: NDArray[Any] = self.classes[codes]
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
        >>> from dataclasses import replace
        >>> import qpsvm
        >>> from qpsvm.estimators import SVC
        >>> SVC().fit([[0.0], [2.0], [4.0]], [0, 1, 2]).save("model.npz")
        >>> replace(qpsvm.load("model.npz"), metadata={"trained": "2026-11-22"}).save("model.npz")
        >>> print(qpsvm.load("model.npz").metadata)
        {'trained': '2026-11-22'}
        """
        from qpsvm.saving.model_file import write_model

        write_model(path, {each.name: getattr(self, each.name) for each in fields(self)})
