"""Turn a feature map into a record and arrays to save (`build_map_record`), and back (`build_feature_map`).

A model over the features of a map is saved as a linear model of these features, and the map. The record, in the header
of the file, has the class of the map, its parameters, its kernel ("of") and its measured error; the arrays have the
points and the factor of its `Fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.space.kernels.feature_map import FeatureMap, Fit, Nystroem, RandomFourier
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.pivoted_cholesky import PivotedCholesky

#: The maps that a file can name: the class of each, and the names of its parameters that are numbers.
SAVED_MAPS: dict[str, tuple[type[FeatureMap], tuple[str, ...]]] = {
    "nystroem": (Nystroem, ("components", "seed")),
    "random_fourier": (RandomFourier, ("gamma", "components", "seed")),
    "pivoted_cholesky": (PivotedCholesky, ("rank", "tol", "seed")),
}
#: Prefix of the names of a map's arrays in a file.
PREFIX = "map_"
#: The names without the prefix, for dense and for sparse points.
DENSE_ARRAYS, SPARSE_ARRAYS = {"factor", "points"}, {"factor", "data", "indices", "indptr", "rows"}


def build_map_record(
    row_map: FeatureMap, build_kernel_record: Callable[[Kernel], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the record of a fitted map, and its arrays by name."""
    name = next(name for name, (map_class, _) in SAVED_MAPS.items() if type(row_map) is map_class)
    _, parameter_names = SAVED_MAPS[name]
    fit = row_map.learned_fit
    record = {
        "map": name,
        "parameters": {key: getattr(row_map, key) for key in parameter_names},
        "error": list(fit.error),
        "of": None if isinstance(row_map, RandomFourier) else build_kernel_record(row_map.exact_kernel),
    }
    arrays = {"factor": fit.factor, **build_row_arrays(fit.points, "points")}
    return record, {PREFIX + key: value for key, value in arrays.items()}


def build_row_arrays(rows: Matrix, name: str) -> dict[str, NDArray[Any]]:
    """Return rows (m, d) as arrays to save: dense rows as one array with this name, sparse rows as the parts of CSR."""
    if not sp.issparse(rows):
        return {name: np.asarray(rows)}
    csr = sp.csr_array(rows, dtype=np.float64)
    return {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "rows": np.array(csr.shape[0])}


def build_feature_map(
    record: Any, arrays: Mapping[str, NDArray[Any]], d: int, decode_kernel: Callable[[Any], Kernel],
    decode_points: Callable[[Mapping[str, NDArray[Any]], int], Matrix],
) -> FeatureMap:  # fmt: skip
    """Build the map of a record, for samples with d features.

    decode_kernel: Function that returns the kernel of a record.
    decode_points: Function that returns the points (m, d) of arrays in one of the layouts of support vectors.

    Raises DataError, ParameterError, UnknownOptionError, UnsupportedError.
    """
    map_arrays = {name.removeprefix(PREFIX): values for name, values in arrays.items()}
    _check_record(record, set(map_arrays))
    row_map = _build_unfitted_map(record, decode_kernel)
    if "points" in map_arrays:  # dense support vectors have another name
        map_arrays["vectors"] = map_arrays.pop("points")
    points = decode_points(map_arrays, d)
    factor = map_arrays["factor"]
    if not _fits(factor, row_map, points.shape[0]):
        raise DataError("the arrays of its feature map do not fit together")
    largest_error, mean_error = record["error"]
    return row_map.with_fit(Fit(points, factor.astype(np.float64, copy=False), (largest_error, mean_error)))


def _check_record(record: Any, array_names: set[str]) -> None:
    """Check the class of the map, the names of its arrays and parameters, and its measured error. Raises DataError."""
    is_known = isinstance(record, dict) and isinstance(record.get("map"), str) and record["map"] in SAVED_MAPS
    if not is_known or array_names not in (DENSE_ARRAYS, SPARSE_ARRAYS):
        raise DataError("it has no feature map that this version knows")
    parameters, error = record.get("parameters"), record.get("error")
    _, parameter_names = SAVED_MAPS[record["map"]]
    if not isinstance(parameters, dict) or set(parameters) != set(parameter_names):
        raise DataError(f"the map {record['map']} does not have the parameters {format_value(parameters)}")
    if not isinstance(error, list) or [type(value) for value in error] != [float, float]:
        raise DataError(f"the measured error of the map is {format_value(error)}")


def _build_unfitted_map(record: Mapping[str, Any], decode_kernel: Callable[[Any], Kernel]) -> FeatureMap:
    """Build the map of a record, without its fit. Raises DataError."""
    map_class: Any = SAVED_MAPS[record["map"]][0]
    if map_class is RandomFourier:
        random_map = RandomFourier(**record["parameters"])
        if not isinstance(random_map.gamma, (int, float)):
            raise DataError(f"the map {random_map} has a gamma that is not a number")
        return random_map
    row_map: FeatureMap = map_class(kernel=decode_kernel(record.get("of")), **record["parameters"])
    return row_map


def _fits(factor: NDArray[Any], row_map: FeatureMap, m: int) -> bool:
    """Return whether a factor is a finite matrix as a map of this class with m points may have."""
    if factor.dtype.kind != "f" or factor.ndim != 2 or not factor.size or not np.isfinite(factor).all():
        return False
    if isinstance(row_map, RandomFourier):
        return factor.shape == (1, m) and m == row_map.components
    if isinstance(row_map, PivotedCholesky):
        return factor.shape == (m, m) and bool((factor.diagonal() > 0.0).all())
    return bool(factor.shape[0] == m)
