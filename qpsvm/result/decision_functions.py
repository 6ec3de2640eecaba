"""Decision functions on their own, to predict and to save: what all have in common, and those of several classes.

All-in-one machines have one function for each class, f_c(x) = Σ_i coef_ic K(x_i, x) + b_c. One-vs-one has one for each
two classes, and these vote: pairs (i, j), i < j, are in the order (0, 1), (0, 2), …, (k − 2, k − 1), and values are
positive for class i. Coefficients of pairs are stored as scikit-learn has them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_matrix, column_order
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.arrays.words import outline
from qpsvm.space.kernels.functions import Kernel, Precomputed
from qpsvm.space.kernels.scores import Scores

#: Kernel values that predicting evaluates at a time: 64 MB.
BLOCK_VALUES = 8_000_000


class DecisionFunctions:
    """One decision function, or several over the same rows: of m rows kept, coef is (m,) or (m, k)."""

    kernel: Kernel
    b: float | FloatArray
    coef: FloatArray
    vectors: Matrix
    w: FloatArray | None
    n_features: int
    feature_names: tuple[str, ...] | None

    def __repr__(self) -> str:
        return outline(type(self).__name__, **self._attributes)

    @property
    def _attributes(self) -> dict[str, Any]:
        """By name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def _samples(self, X: Any) -> Matrix:
        """Rows to predict, checked, their columns in the order of those of the training data: (m, d)."""
        order = column_order(X, self.feature_names)
        samples = as_matrix(X, "X", self.n_features)
        return samples if order is None else samples[:, order]

    def _values(self, samples: Matrix) -> FloatArray:
        """f of checked samples: (m,) or (m, k)."""
        if self.w is not None:
            of_w: FloatArray = samples @ self.w.T
            return of_w + self.b  # (DUAL.4), (HARD.15), (CSVM.15), (NUSVM.18), (PHINGE.18), (JOINT.1)
        if isinstance(self.kernel, Precomputed):
            return np.asarray(self.kernel(samples, samples)[:, self.vectors] @ self.coef + self.b)
        m = samples.shape[0]
        if not len(self.coef):
            return np.zeros((m, *self.coef.shape[1:])) + self.b
        step = max(1, BLOCK_VALUES // len(self.coef))
        blocks = (samples[i : i + step] for i in range(0, m, step))
        values: FloatArray = np.concatenate([self.kernel(block, self.vectors) @ self.coef for block in blocks])
        return values + self.b  # (DUAL.4), (HARD.10), (CSVM.11), (NUSVM.12), (PHINGE.11), (JOINT.1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a NumPy .npz file, without pickle.

        The file is complete before it takes its name, so whatever goes wrong, a model that was there is as it was. In
        the metadata NumPy's scalars become Python's, and tuples become lists. What JSON cannot hold is refused.

        Parameters
        ----------
        path : str or path-like
            What is there is replaced.

        Raises
        ------
        UnsupportedError
            The kernel is a Python callable, or the labels are objects that are neither numbers nor text.
        ParameterTypeError
            The metadata has something that JSON cannot hold, or `path` is not a path.
        DataError
            The model was made by hand, and could not predict: its arrays do not fit together.
        FileAccessError
            There is no such folder, no permission or no room on the disk; or `path` is a folder, a device or a pipe.

        Examples
        --------
        >>> from dataclasses import replace
        >>> import qpsvm
        >>> model = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"])).model
        >>> replace(model, metadata={"trained": "2026-11-22"}).save("model.npz")
        >>> print(qpsvm.load("model.npz").metadata)
        {'trained': '2026-11-22'}
        """
        from qpsvm.result.saving.model_file import write_model

        write_model(path, self._attributes)


@dataclass(frozen=True, eq=False, repr=False)
class JointModel(DecisionFunctions):
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
        return self._values(self._samples(X))

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


@dataclass(frozen=True, eq=False, repr=False)
class PairsModel(DecisionFunctions):
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

    @cached_property
    def _scores(self) -> Scores:
        picked = self.vectors if isinstance(self.kernel, Precomputed) else np.arange(self.coef.shape[1])
        ends = np.concatenate([[0], np.cumsum(self.counts)])
        return Scores(self.kernel, np.asarray(picked), self.vectors, self.coef, self.b, self.w, ends)

    def _values(self, samples: Matrix) -> FloatArray:
        """f of each pair: (m, P)."""
        return self._scores.tied(samples)

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
        values = self._values(self._samples(X))
        return scores(values, len(self.classes)) if self.by_class else values

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
        values, k = self._values(self._samples(X)), len(self.classes)
        codes = scores(values, k).argmax(axis=1) if self.break_ties else winners(values, k)
        labels: NDArray[Any] = self.classes[codes]
        return labels


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
