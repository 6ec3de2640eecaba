"""Define trained models, which predict and are saved without pickle (`Model`, `AllInOneModel`, `PairsModel`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_finite_vector, as_matrix, find_column_order, find_order
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import AbsentError, DataError, ParameterError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import RowSource
from qpsvm.result.calibration import ProbabilityMixin
from qpsvm.result.votes import compute_scores, find_winners
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.scores import ScoreFunctions

#: Key of the entry of the metadata from which `Model.decision_bounds` computes bounds on f of every optimum.
NEAR_KEY = "near"
#: |f| of a novelty detector up to this share of its threshold, ρ or R², is set to 0: 64 roundings. Otherwise rounding,
#: which depends on the number of rows predicted at a time, would decide the label of samples on the margin.
MARGIN_TOL = 2.0**-46


def check_kernel_diagonal(kernel: Kernel, diagonal: Any, n_rows: int, needed: bool) -> FloatArray | None:
    """Check the argument `diagonal`, K(x, x) of each row: (m,). Raises ParameterError, DataError.

    needed: Whether it must be given for a precomputed kernel. For any other kernel it must not be given.
    """
    is_precomputed = isinstance(kernel, Precomputed)
    if diagonal is not None and not is_precomputed:
        raise ParameterError("diagonal= is for a precomputed kernel: any other kernel computes K(x, x)")
    if diagonal is None and is_precomputed and needed:
        raise ParameterError("a precomputed kernel needs diagonal=, K(x, x) of each row of X")
    if diagonal is None:
        return None
    return as_finite_vector(diagonal, "diagonal", n_rows)


def snap_margins(values: FloatArray, threshold: float) -> FloatArray:
    """Set values of f, (m,), that differ from 0 only by rounding to 0."""
    return np.where(np.abs(values) > MARGIN_TOL * abs(threshold), values, 0.0)


def _iter_blocks(samples: Matrix, width: int) -> Iterator[Matrix]:
    """Yield the rows of samples (m, d) in blocks, for which (rows, width) arrays fit in memory."""
    block_rows = max(1, BLOCK_NUMBERS // width)
    for start in range(0, samples.shape[0], block_rows):
        yield samples[start : start + block_rows]


@dataclass(frozen=True, eq=False, repr=False)
class DecisionFunctions(ProbabilityMixin):
    """One decision function, with coef (m,), or several over the same m support vectors, with coef (m, k)."""

    kernel: Kernel
    classes: NDArray[Any] | None
    b: float | FloatArray
    coef: FloatArray
    vectors: Matrix
    w: FloatArray | None
    n_features: int
    metadata: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **self._attributes)

    @property
    def _attributes(self) -> dict[str, Any]:
        """The attributes by name."""
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}

    def _check_samples(self, X: Any) -> Matrix:
        """Check the rows of X, and return them with their columns in the order of the training data: (m, d)."""
        order = find_column_order(X, self.feature_names)
        samples = as_matrix(X, "X", self.n_features)
        return samples if order is None else samples[:, order]

    def _evaluate(self, samples: Matrix) -> FloatArray:
        """Return f of checked samples: (m,) or (m, k)."""
        if self.w is not None:
            products: FloatArray = samples @ self.w.T
            return products + self.b  # (DUAL.4), (HARD.15), (CSVM.15), (NUSVM.18), (PHINGE.18), (JOINT.1)
        if isinstance(self.kernel, Precomputed):  # the samples are rows of the kernel matrix
            return np.asarray(self.kernel(samples, samples)[:, self.vectors] @ self.coef + self.b)
        if not len(self.coef):
            return np.zeros((samples.shape[0], *self.coef.shape[1:])) + self.b
        blocks = _iter_blocks(samples, len(self.coef))
        values: FloatArray = np.concatenate([self.kernel(block, self.vectors) @ self.coef for block in blocks])
        return values + self.b  # (DUAL.4), (HARD.10), (CSVM.11), (NUSVM.12), (PHINGE.11), (JOINT.1)

    def decision_function(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return f(x) for each row of X, or one value per class or pair of classes.

        Parameters
        ----------
        X : array_like, SciPy sparse or RowSource, shape (m, d)
            The columns of an array are used by position. Those of a data frame are found by name, in any order, if
            the model has names. A source of rows, which only a `Model` accepts, is read one block at a time.
        diagonal : array_like, shape (m,), optional
            K(x, x) of each row, which an `SVDD` with a precomputed kernel needs in addition to the rows of K.

        Returns
        -------
        ndarray, shape (m,), (m, k) or (m, k(k − 1)/2)
            For one function f, positive on the side of the larger label; without labels, f is the prediction. For an
            `AllInOneModel`, a column for each of `classes`. For a `PairsModel` with `by_class`, the number of votes of
            each class, plus a number below ½ that depends on f of its pairs; else f of each pair.

        Raises
        ------
        DataError
            The width or the column names are not those of the training data; there are no rows; or a value is NaN or
            infinite (the message names row and column).
        ParameterError
            `diagonal` is missing but needed, or given for a kernel that is not precomputed.

        Examples
        --------
        A kernel machine stores the support vectors, and no w:

        >>> import numpy as np
        >>> import qpsvm
        >>> X, y = np.array([[0.0], [1.0], [5.0]]), [0, 1, 1]
        >>> model = qpsvm.solve(qpsvm.CSVM(X, y, C=10, kernel=qpsvm.RBF(gamma=1.0))).model
        >>> f = np.exp(-((2.0 - model.vectors[:, 0]) ** 2)) @ model.coef + model.b
        >>> print(np.isclose(model.decision_function([[2.0]]), f), model.w)
        [ True] None

        >>> model = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1], C=100)).model
        >>> print(model.decision_function([[0.0], [1.5]]).round(6))
        [[ 0.5  -0.5 ]
         [-0.25  0.25]]

        >>> from qpsvm.estimators import SVC
        >>> machine = SVC(kernel="linear", decision_function_shape="ovo").fit([[0.0], [2.0], [4.0]], [0, 1, 2])
        >>> machine.save("model.npz")
        >>> print(qpsvm.load("model.npz").decision_function([[1.0]]).round(6))
        [[0.  0.5 2. ]]
        """
        samples = self._check_samples(X)
        check_kernel_diagonal(self.kernel, diagonal, samples.shape[0], needed=False)
        return self._evaluate(samples)

    def predict(self, X: Any, *, diagonal: Any = None) -> NDArray[Any]:
        """Return the predicted label of each row of X; without labels, f.

        Of two labels, the larger is predicted if f > 0; of more, that with the largest f_c or the most votes. Ties go
        to the first label.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            As for `decision_function`.
        diagonal : array_like, shape (m,), optional
            As for `decision_function`.

        Returns
        -------
        ndarray, shape (m,)
            Labels of the training data, or values of f.

        Raises
        ------
        DataError, ParameterError
            See `decision_function`.

        Examples
        --------
        >>> import qpsvm
        >>> model = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"])).model
        >>> print(model.predict([[0.5], [1.5]]))
        ['no' 'yes']
        """
        values = self.decision_function(X, diagonal=diagonal)
        if self.classes is None:
            return values
        if values.ndim > 1:
            indices = values.argmax(axis=1)
        else:
            indices = self._has_second_label(values).astype(int)
        return np.asarray(self.classes[indices])

    def _has_second_label(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return whether the label of each value of one f, (m,), is the second one."""
        return values > 0.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a NumPy .npz file, without pickle.

        An existing file is replaced only once the new one is complete. In the metadata NumPy scalars become Python
        numbers, and tuples become lists.

        Parameters
        ----------
        path : str or path-like
            The file to write.

        Raises
        ------
        UnsupportedError
            The kernel is a Python callable, or the labels are objects that are neither numbers nor text.
        ParameterTypeError
            The metadata contain a value that JSON cannot represent, or `path` is not a path.
        DataError
            The arrays of a model that was built by hand are inconsistent.
        FileAccessError
            There is no such folder, no permission, or no disk space; or `path` is a folder, a device or a pipe.

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
class Model(DecisionFunctions):
    """A trained decision function.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with numeric parameters.
    classes : ndarray, shape (2,), or None
        The labels predicted for f ≤ 0 and f > 0; None if f itself is the prediction.
    b : float
        Intercept.
    coef : ndarray, shape (m,)
        The coefficients c_i = α_i y_i of the m stored rows. If the kernel matrix has a low rank, there may be fewer
        rows, with other coefficients for the same f. Empty for a linear machine, which has `w` instead.
    vectors : ndarray or csr_array, shape (m, d)
        The stored rows. For a precomputed kernel their column numbers, shape (m,).
    w : ndarray, shape (d,), or None
        Weights of a linear machine; if the kernel is a feature map, those of its r features: (r,).
    n_features : int
        Number of columns of X in `predict`; for a precomputed kernel the number of training rows.
    metadata : dict
        Data that JSON can represent; they are saved with the model.
    feature_names : tuple of str, or None
        The columns of the data frame that the model was trained on; columns of other frames are matched by these names.
        For a precomputed kernel they name the training rows. None for an array, and for columns whose names are not
        strings.
    diagonal : float
        Coefficient of K(x, x) in f: −1 for `SVDD`, else 0.
    radius : float, or None
        The radius R of an `SVDD` with a linear kernel, whose centre is w/2: f(x) = R² − ‖x − w/2‖² is evaluated by
        differences. None with linear constraints, for which R² may be negative: then f(x) = wᵀx + b − ‖x‖².
    threshold : float, or None
        ρ of a `OneClass` or R² of an `SVDD`: f that is small relative to it counts as 0, and the label on the margin
        is the second of `classes`, 1. None for other machines.

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

    b: float
    diagonal: float = 0.0
    radius: float | None = None
    threshold: float | None = None

    def decision_function(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return f(x) for each row of X, (m,)."""
        values = self._evaluate_rows(X, diagonal)
        if self.threshold is None:
            return values
        return snap_margins(values, self.threshold)

    def _has_second_label(self, values: FloatArray) -> NDArray[np.bool_]:
        return values > 0.0 if self.threshold is None else values >= 0.0

    def _evaluate_rows(self, X: Any, diagonal: Any) -> FloatArray:
        """Return f of each row of X, as computed: (m,)."""
        if isinstance(X, RowSource):
            return self._evaluate_stream(X, diagonal)
        samples = self._check_samples(X)
        kernel_diagonal = check_kernel_diagonal(self.kernel, diagonal, samples.shape[0], needed=self.diagonal != 0.0)
        if isinstance(self.kernel, FeatureMap) and self.w is not None:
            return self._evaluate_features(samples, self.kernel)
        if self.radius is not None and self.w is not None:
            return self._evaluate_ball(samples, self.w / 2.0, self.radius)
        values = self._evaluate(samples)
        if not self.diagonal:
            return values
        if kernel_diagonal is None:
            kernel_diagonal = self.kernel.diagonal(samples)
        return values + self.diagonal * kernel_diagonal

    def decision_bounds(self, X: Any, *, diagonal: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return bounds as `SVMResult.decision_bounds` does, for a model that was saved by `solve --bounds`.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (q, d)
            As for `decision_function`.
        diagonal : array_like, shape (q,), optional
            K(x, x) of each row, for a precomputed kernel.

        Returns
        -------
        tuple of two ndarrays, shape (q,)
            Lower and upper bounds on f(x) of every exact optimum.

        Raises
        ------
        AbsentError, FileFormatError, DataError, ParameterError
            The model was saved without bounds, or they are damaged; further as for `decision_function`.

        Examples
        --------
        >>> import dataclasses, qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> model = dataclasses.replace(result.model, metadata={"near": result.build_near_function().record()})
        >>> print(*(side.round(6) for side in model.decision_bounds([[0.0], [2.5]])))
        [-2.   0.5] [-2.   0.5]
        """
        from qpsvm.bounds.near_points import NearFunction  # imported on demand, since few programs need it

        if NEAR_KEY not in self.metadata:
            raise AbsentError("this model has no bounds: `solve --bounds --save` saves them in a model")
        near = NearFunction.from_record(self.metadata[NEAR_KEY], self.n_features if self.w is None else len(self.w))
        samples = self._check_samples(X)
        kernel_diagonal = check_kernel_diagonal(self.kernel, diagonal, samples.shape[0], needed=True)
        lower, upper = near(self, samples, kernel_diagonal)[:2]
        return lower[:, 0], upper[:, 0]

    @property
    def linear_model(self) -> Model:
        """The linear decision function over the features of a map; the model itself if its kernel is not a map."""
        if not isinstance(self.kernel, FeatureMap) or self.w is None:
            return self
        return replace(self, kernel=Linear(), n_features=len(self.w), feature_names=None)

    def _evaluate_features(self, samples: Matrix, row_map: FeatureMap) -> FloatArray:
        """Return f of checked samples (m, d), with the features of a map computed block by block: (m,)."""
        linear = self.linear_model
        blocks = _iter_blocks(samples, row_map.learned_fit.factor.size)
        return np.concatenate([linear.decision_function(row_map.features(block)) for block in blocks])

    def _evaluate_stream(self, source: RowSource, diagonal: Any = None) -> FloatArray:
        """Evaluate f on rows that are not all in memory, one block at a time: (m,)."""
        if source.d != self.n_features:
            raise DataError(f"X has {source.d} columns where {self.n_features} are expected")
        order = None  # column of the source for each column of the model; None for the same order
        if self.feature_names is not None and source.feature_names is not None:
            order = find_order(source.feature_names, self.feature_names, "X")
        kernel_diagonal = check_kernel_diagonal(self.kernel, diagonal, source.n, needed=self.diagonal != 0.0)
        values: list[FloatArray] = []
        start = 0
        for tile in (piece.matrix for block in source.blocks() for piece in block.iter_tiles()):
            end = start + tile.shape[0]
            tile_diagonal = None if kernel_diagonal is None else kernel_diagonal[start:end]
            values.append(self.decision_function(tile if order is None else tile[:, order], diagonal=tile_diagonal))
            start = end
        return np.concatenate(values)

    @staticmethod
    def _evaluate_ball(samples: Matrix, centre: FloatArray, radius: float) -> FloatArray:
        """Return R² − ‖x − c‖² for checked samples (m, d), by differences, without cancellation far away: (m,)."""
        differences = (as_dense(block) - centre for block in _iter_blocks(samples, len(centre)))
        squares = np.concatenate([np.einsum("ij,ij->i", block, block) for block in differences])
        return np.asarray(radius * radius - squares)  # (SVDD.17)


@dataclass(frozen=True, eq=False, repr=False)
class AllInOneModel(DecisionFunctions):
    """Trained decision functions, one per class: the class with the largest value is predicted.

    The attributes are those of a `Model`, for k classes in sort order: b (k,), coef (m, k), and w (k, d) for a linear
    machine. f_c(x) = Σ_i coef_ic K(x_i, x) + b_c.

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

    classes: NDArray[Any]
    b: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class PairsModel(DecisionFunctions):
    """Trained decision functions, one per pair of classes, which vote. Further attributes are as in `Model`.

    Attributes
    ----------
    classes : ndarray, shape (k,)
        The labels in sort order, k > 2.
    b, w : ndarray, shape (k(k − 1)/2,), and (k(k − 1)/2, d) or None
        Intercepts and weights of the pairs (0, 1), (0, 2), …, (k − 2, k − 1); f is positive for the first class of its
        pair.
    coef : ndarray, shape (k − 1, m)
        Coefficients of the m stored rows, which are sorted by class. A row of class i has one for each other class c:
        at index c if c < i, and c − 1 if c > i, as in `dual_coef_` of scikit-learn. (k − 1, 0) for a linear machine.
    counts : ndarray of int, shape (k,)
        Number of stored rows of each class; zeros for a linear machine.
    by_class : bool
        Whether decision values are scores of the classes instead of f of each pair.
    break_ties : bool
        Whether `predict` breaks ties of votes by these scores.

    See Also
    --------
    load : Read one from a file.
    AllInOneModel : One decision function for each class.

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

    classes: NDArray[Any]
    b: FloatArray
    counts: NDArray[np.intp] = field(kw_only=True)
    by_class: bool = True
    break_ties: bool = False

    @cached_property
    def _score_functions(self) -> ScoreFunctions:
        """Functions that evaluate f of all pairs, whose stored rows are sorted by class."""
        support = self.vectors if isinstance(self.kernel, Precomputed) else np.arange(self.coef.shape[1])
        boundaries = np.concatenate([[0], np.cumsum(self.counts)])
        return ScoreFunctions(self.kernel, np.asarray(support), self.vectors, self.coef, self.b, self.w, boundaries)

    def _evaluate(self, samples: Matrix) -> FloatArray:
        """Return f of each pair: (m, P)."""
        return self._score_functions.score_for_signs(samples)

    def _compute_machine_values(self, X: Any) -> FloatArray:
        """Return f of each pair with the opposite sign, positive for its second class: (m, P)."""
        return -self._evaluate(self._check_samples(X))

    def decision_function(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return a score for each class, (m, k), or f of each pair, (m, k(k − 1)/2)."""
        values = super().decision_function(X, diagonal=diagonal)
        if self.by_class:
            return compute_scores(values, len(self.classes))
        return values

    def predict(self, X: Any, *, diagonal: Any = None) -> NDArray[Any]:
        """Return the label of the class with the most votes, (m,); ties go to the first, unless `break_ties`."""
        values = super().decision_function(X, diagonal=diagonal)
        k = len(self.classes)
        if self.break_ties:
            indices = compute_scores(values, k).argmax(axis=1)
        else:
            indices = find_winners(values, k)
        return np.asarray(self.classes[indices])


def load(path: str | os.PathLike[str]) -> Model | AllInOneModel | PairsModel:
    """Read a model from a file that `save` of a model, a result or an estimator wrote.

    Every array is checked, so that a loaded model can predict. No code from the file is executed.

    Parameters
    ----------
    path : str or path-like
        The .npz file.

    Returns
    -------
    Model, AllInOneModel or PairsModel
        The model, without the training samples except the support vectors of a kernel machine.

    Raises
    ------
    MissingFileError
        There is no such file.
    FileAccessError
        The path is a folder, a device or a pipe, or there is no permission to read it.
    FileFormatError
        The file is not a model of this library, or it is damaged.
    TooLargeError
        The model does not fit into memory.
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
    if "counts" in attributes:  # an attribute of this class only, as is `diagonal` of `Model`
        return PairsModel(**attributes)
    if "diagonal" in attributes:
        return Model(**attributes)
    return AllInOneModel(**attributes)
