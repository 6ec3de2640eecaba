"""The decision functions of each two of several classes, and their votes: to predict, to save.

One-vs-one: how the pairs vote, and how scikit-learn stores their coefficients.

Pairs (i, j), i < j, are in the order (0, 1), (0, 2), …, (k − 2, k − 1), and values here are positive for class i.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_matrix, column_order
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.arrays.words import outline
from qpsvm.result import pairs_model as voting
from qpsvm.space.kernels.functions import Kernel, Precomputed
from qpsvm.space.kernels.scores import Scores


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
        from qpsvm.result.saving.model_file import write_model

        write_model(path, {each.name: getattr(self, each.name) for each in fields(self)})


@lru_cache(maxsize=32)
def _sides(k: int) -> tuple[FloatArray, FloatArray]:
    """+1 where a class is the first of a pair, −1 where it is the second, (P, k); in how many it is second, (k,)."""
    first, second = np.triu_indices(k, 1)
    sides = np.zeros((len(first), k))
    pairs = np.arange(len(first))
    sides[pairs, first], sides[pairs, second] = 1.0, -1.0
    return sides, np.arange(k, dtype=float)


def _votes(won: NDArray[np.bool_], k: int) -> FloatArray:
    """How many pairs each class wins, whole numbers: (m, k) from whether the first class of each pair does, (m, P)."""
    sides, seconds = _sides(k)
    votes: FloatArray = won.astype(np.float64) @ sides
    votes += seconds
    return votes


def winners(values: FloatArray, k: int) -> NDArray[np.intp]:
    """The class with the most votes, the first of those where several have as many: (m,) from (m, P)."""
    codes: NDArray[np.intp] = _votes(values > 0.0, k).argmax(axis=1)
    return codes


def scores(values: FloatArray, k: int) -> FloatArray:
    """A score for each class, its votes and, to break ties, less than half of one by the values: (m, k)."""
    total = values @ _sides(k)[0]
    sizes = np.abs(total)
    sizes += 1.0
    sizes *= 3.0
    total /= sizes  # above −1/3, below 1/3, in the order of the sums
    total += _votes(values >= 0.0, k)
    return total


def packed(coef: FloatArray, n_support: NDArray[Any]) -> FloatArray:
    """LIBSVM's k − 1 rows of coefficients, (k − 1, s), from those of the pairs, (P, s).

    A support vector of class i has a coefficient for each other class c, in row c where c < i and c − 1 where c > i.
    Its sign is that of the first class of the pair; of two classes it is that of the second.

    Shapes: coef (P, s), n_support (k,).
    """
    k = len(n_support)
    if k == 2:
        return coef
    ends = np.concatenate([[0], np.cumsum(n_support)])
    rows = np.zeros((k - 1, coef.shape[1]))
    for p, (i, j) in enumerate(zip(*np.triu_indices(k, 1), strict=True)):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        rows[j - 1, of_i] = -coef[p, of_i]
        rows[i, of_j] = -coef[p, of_j]
    return rows + 0.0  # no negative zeros
