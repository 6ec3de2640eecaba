"""The optimum of the same machine over other samples, beginning at the optimum that is there.

    (CHANGE.1)  without some samples: their α are dropped, and what yᵀα lacks is made up by the others
    (CHANGE.2)  with more samples: their α begin at 0, so that only those within the margin move anything
    (CHANGE.3)  with other targets: each α keeps its place where the class is the same, and begins at 0 where it is not

The answer is that of `solve`, certified by itself: where it began changes the time and nothing else.

Sources: Cauwenberghs & Poggio, *Incremental and decremental support vector machine learning*, NeurIPS 13 (2000);
Laskov et al., *Incremental support vector learning*, JMLR 7 (2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_finite_vector, column_order
from qpsvm.base.arrays.frozen import common_value, frozen
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, DataTypeError, ParameterTypeError, UnsupportedError
from qpsvm.data.rows import RowSource
from qpsvm.data.samples import Samples, checked_weights, features
from qpsvm.machines.problem.replaced import of_rows, over, restricted
from qpsvm.solve.call import solve
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Precomputed


def without(result: Any, rows: ArrayLike, options: dict[str, Any]) -> Any:
    """`SVMResult.without`."""
    problem = _problem_of(result)
    gone = _places(rows, problem.n)
    kept = np.delete(np.arange(problem.n), gone)
    _check_left(problem, kept)
    samples = problem.samples
    _check_landmarks(problem, gone)
    if problem.takes_all:
        part = restricted(problem, kept)
    else:
        X = samples.X[np.ix_(kept, kept)] if isinstance(problem.kernel, Precomputed) else samples.X[kept]
        parts = frozen(samples.target[kept]), frozen(np.asarray(samples.weight)[kept])
        own = {name: of_rows(getattr(problem, name), problem.n, kept) for name in problem.own}
        part = over(problem, Samples(frozen(X), *parts, samples.classes, samples.feature_names), own)
    part.samples.__dict__["left_out"] = _left_out(samples, gone)
    return _solved(part, result.alpha.reshape(problem.sides, -1)[:, kept].ravel(), options)


def with_samples(
    result: Any, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, options: dict[str, Any]
) -> Any:
    """`SVMResult.with_samples`."""
    problem = _problem_of(result)
    samples = problem.samples
    if isinstance(problem.kernel, Precomputed):
        raise UnsupportedError("a kernel matrix has to be made anew for more samples: make the problem of all of them")
    order = column_order(X, samples.feature_names)
    matrix: Any = features(X)[0]
    count, d = matrix.shape
    if d != samples.X.shape[1]:
        raise DataError(f"X has {d} features, and the machine was trained on {samples.X.shape[1]}")
    matrix = matrix if order is None else matrix[:, order]
    target = _targets(problem, y, count)
    whole = sp.vstack([samples.X, sp.csr_array(matrix)], format="csr") if samples.is_sparse else (
        np.vstack([samples.X, matrix.toarray() if sp.issparse(matrix) else matrix])
    )  # fmt: skip
    weight = np.concatenate([samples.weight, checked_weights(sample_weight, count)])
    own = {name: _for_more(name, getattr(problem, name), problem.n, problem.n + count) for name in problem.own}
    more = Samples(
        frozen(whole), frozen(np.concatenate([samples.target, target])), frozen(weight), samples.classes,
        samples.feature_names,
    )  # fmt: skip
    alpha = np.hstack([result.alpha.reshape(problem.sides, -1), np.zeros((problem.sides, count))])
    return _solved(over(problem, more, own), alpha.ravel(), options)


def with_targets(result: Any, y: ArrayLike, options: dict[str, Any]) -> Any:
    """`SVMResult.with_targets`."""
    problem = _problem_of(result)
    samples = problem.samples
    if problem.learns == "none":
        raise UnsupportedError(f"{problem.title} learns no targets")
    target = _targets(problem, y, problem.n)
    if samples.classes is not None and len(np.unique(target[problem.rows])) < 2:
        raise DataError("the new targets leave one class only: a machine of two classes needs both")
    own = {name: getattr(problem, name) for name in problem.own}
    new = over(
        problem, Samples(samples.X, frozen(target), samples.weight, samples.classes, samples.feature_names), own
    )  # fmt: skip
    alpha = np.array(result.alpha).reshape(problem.sides, -1)
    if samples.classes is not None:
        alpha[:, target != samples.target] = 0.0
    elif type(new.kernel) is type(problem.kernel):
        new.__dict__["space"] = problem.space
    return _solved(new, alpha.ravel(), options)


def _problem_of(result: Any) -> Any:
    """What was solved. Raises UnsupportedError."""
    problem = result.problem() if callable(result.problem) else result.problem
    if problem is None:
        raise UnsupportedError("this result comes out of a file, without samples: solve their problem, and go on there")
    if not hasattr(problem, "outlined"):
        raise UnsupportedError(
            f"{problem.title} is one program over several classes, which is not changed here: make the problem of the "
            "new samples"
        )
    if isinstance(problem.samples.X, RowSource):
        raise UnsupportedError("samples that are stored elsewhere are not changed here: make a problem of the new ones")
    if problem.learns == "ranks" or getattr(problem.svm, "mix", None) is not None:
        raise UnsupportedError(f"{problem.title} keeps pairs of samples: make the problem of the new ones")
    return problem


def _places(rows: ArrayLike, n: int) -> IntArray:
    """Rows of the caller's as indices, without those that stand twice. Raises DataError, ParameterTypeError."""
    given = np.atleast_1d(np.asarray(rows))
    if given.dtype == np.bool_:
        if given.shape != (n,):
            raise DataError(f"a mask of rows must have {n} entries, got shape {given.shape}")
        return np.flatnonzero(given)
    if given.size == 0:
        return np.zeros(0, dtype=np.intp)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise ParameterTypeError(f"rows must be indices, or a mask of {n} entries, got {shown(rows)}")
    outside = given[(given < 0) | (given >= n)]
    if len(outside):
        raise DataError(f"there is no row {outside[0]}: the samples are rows 0 to {n - 1}")
    return np.unique(given)


def _left_out(samples: Samples, gone: IntArray) -> tuple[int, ...]:
    """The rows of the table behind samples that are left out without those as well: `verify` names them."""
    before = np.array(samples.left_out, dtype=np.intp)
    places = np.delete(np.arange(samples.n + len(before)), before)
    return tuple(np.union1d(before, places[gone]).tolist())


def _check_left(problem: Any, kept: IntArray) -> None:
    """That there is a machine over the rows kept. Raises DataError."""
    taking = kept[np.asarray(problem.sample_weight)[kept] > 0.0]
    if not len(taking):
        raise DataError("no sample is left")
    if problem.samples.classes is not None:
        left = np.unique(problem.samples.target[taking] > 0.0)
        if len(left) < 2:
            label = problem.samples.classes.tolist()[1 - int(left[0])]
            raise DataError(f"no sample of class {shown(label)} is left: a machine of two classes needs both")


def _check_landmarks(problem: Any, gone: IntArray) -> None:
    """That a map of features keeps no row that is to be out. Raises UnsupportedError."""
    kernel = problem.kernel
    if not isinstance(kernel, FeatureMap):
        return
    known = {row.tobytes() for row in np.ascontiguousarray(as_dense(kernel.learnt.points)) + 0.0}
    for i in gone.tolist():
        if (as_dense(problem.samples.X[[i]])[0] + 0.0).tobytes() in known:
            raise UnsupportedError(
                f"row {i} is a landmark of {kernel}, so the features of all others are made with it: make the problem "
                "of the others, with a map that has not seen it"
            )


def _targets(problem: Any, y: ArrayLike | None, count: int) -> FloatArray:
    """What the machine is to reproduce, (count,), of labels or numbers. Raises DataError, DataTypeError."""
    if problem.learns == "none":
        if y is not None:
            raise DataError(f"{problem.title} learns no targets: leave y out")
        return np.ones(count)
    if y is None:
        raise DataError("y is missing: a target for each sample")
    classes = problem.samples.classes
    if classes is None:
        return as_finite_vector(y, "y", count)
    labels: NDArray[Any] = np.asarray(y)
    if labels.shape != (count,):
        raise DataError(f"y must be {count} labels, got shape {labels.shape}")
    first, second = labels == classes[0], labels == classes[1]
    strange = np.flatnonzero(~(first | second))
    if len(strange):
        row, known = int(strange[0]), " and ".join(shown(label) for label in classes.tolist())
        raise DataTypeError(
            f"y[{row}] = {shown(labels.tolist()[row])} is no label of this machine, whose classes are {known}"
        )
    return np.where(second, 1.0, -1.0)


def _for_more(name: str, value: Any, n: int, count: int) -> Any:
    """A parameter for more samples. Raises UnsupportedError."""
    if not (isinstance(value, np.ndarray) and value.shape[:1] == (n,)):
        return value
    common = common_value(value)
    if common is None and np.ptp(value) > 0.0:
        raise UnsupportedError(f"{name} has a number for each sample: make the problem of all of them")
    return frozen(np.full(count, value[0] if common is None else common))


def _solved(problem: Any, alpha: FloatArray, options: dict[str, Any]) -> Any:
    """The certified result, begun at α. Raises what the problem's own parameters raise over these samples."""
    if "nu" in problem.own:
        problem.replace(nu=problem.nu)  # ν may be too large for those that are left
    begin: dict[str, Any] = {} if problem.svm.hard is not None else {"start": alpha}
    return solve(problem, **begin, **options)
