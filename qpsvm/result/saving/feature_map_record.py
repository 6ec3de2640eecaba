"""Save a feature map as a record in the header and two arrays, and read it back (`build_feature_map`).

A model over the features of a map is saved as a linear model of these features, with the map.
"""

from __future__ import annotations

import math
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

#: The maps that a file can name, and the parameters of each that are numbers.
SAVED_MAPS: dict[str, tuple[type[FeatureMap], tuple[str, ...]]] = {
    "nystroem": (Nystroem, ("components", "seed")),
    "random_fourier": (RandomFourier, ("gamma", "components", "seed")),
    "pivoted_cholesky": (PivotedCholesky, ("rank", "tol", "seed")),
}
#: What the names of a map's arrays begin with; and what comes behind that, of dense and of sparse points.
PREFIX, DENSE, SPARSE = "map_", {"factor", "points"}, {"factor", "data", "indices", "indptr", "rows"}


def build_map_record(
    row_map: FeatureMap, kernel: Callable[[Kernel], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the record of a fitted map, and its arrays by name; `kernel` makes the record of a kernel."""
    name, (_, own) = next((name, each) for name, each in SAVED_MAPS.items() if type(row_map) is each[0])
    fit = row_map.learned_fit
    record = {
        "map": name, "parameters": {key: getattr(row_map, key) for key in own}, "error": list(fit.error),
        "of": None if isinstance(row_map, RandomFourier) else kernel(row_map.exact_kernel),
    }  # fmt: skip
    arrays: dict[str, Any] = {"factor": fit.factor}
    arrays |= build_row_arrays(fit.points, "points")
    return record, {PREFIX + key: value for key, value in arrays.items()}


def build_row_arrays(V: Matrix, name: str) -> dict[str, NDArray[Any]]:
    """Return rows as arrays to save: dense ones by a name, sparse ones by the parts of CSR."""
    if not sp.issparse(V):
        return {name: np.asarray(V)}
    V = sp.csr_array(V, dtype=np.float64)
    return {"data": V.data, "indices": V.indices, "indptr": V.indptr, "rows": np.array(V.shape[0])}


def build_feature_map(
    record: Any,
    arrays: Mapping[str, NDArray[Any]],
    d: int,
    kernel: Callable[[Any], Kernel],
    points_of: Callable[[Mapping[str, NDArray[Any]], int], Matrix],
) -> FeatureMap:
    """Build the map of a record. Raises DataError, ParameterError, UnknownOptionError, UnsupportedError."""
    named = {name.removeprefix(PREFIX): values for name, values in arrays.items()}
    known = isinstance(record, dict) and isinstance(record.get("map"), str) and record["map"] in SAVED_MAPS
    if not known or set(named) not in (DENSE, SPARSE):
        raise DataError("it has no feature map that this version knows")
    kind, own = SAVED_MAPS[record["map"]]
    given, error = record.get("parameters"), record.get("error")
    if not isinstance(given, dict) or set(given) != set(own):
        raise DataError(f"the map {record['map']} does not have the parameters {format_value(given)}")
    if not isinstance(error, list) or [type(value) for value in error] != [float, float]:
        raise DataError(f"the measured error of the map is {format_value(error)}")
    of = {} if kind is RandomFourier else {"kernel": kernel(record.get("of"))}
    made: Any = kind  # whose parameters these are
    row_map: FeatureMap = made(**of, **given)
    if isinstance(row_map, RandomFourier) and not isinstance(row_map.gamma, (int, float)):
        raise DataError(f"the map {row_map} has a gamma that is not a number")
    if "points" in named:
        named["vectors"] = named.pop("points")
    points, factor = points_of(named, d), named["factor"]
    if not _has_factor_shape(row_map, points.shape[0], factor):
        raise DataError("the arrays of its feature map do not fit together")
    return row_map.with_fit(Fit(points, factor.astype(np.float64, copy=False), (error[0], error[1])))


def _has_factor_shape(row_map: FeatureMap, m: int, factor: NDArray[Any]) -> bool:
    """Return whether a factor is one of m points."""
    if factor.dtype.kind != "f" or factor.ndim != 2 or not factor.size or not np.isfinite(factor).all():
        return False
    if isinstance(row_map, RandomFourier):
        return factor.shape == (1, m) and m == row_map.components
    if isinstance(row_map, PivotedCholesky):
        return factor.shape == (m, m) and bool((factor.diagonal() > 0.0).all())
    return factor.shape[0] == m and math.prod(factor.shape) > 0
