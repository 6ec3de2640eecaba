"""What a file says of a feature map: a record in the header, and two arrays, checked like everything that is read.

A model over features of a map is written as the linear model that it is of these, with the map beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.types import Matrix
from qpsvm.arrays.words import shown
from qpsvm.errors import DataError
from qpsvm.kernels.feature_map import FeatureMap, Fit
from qpsvm.kernels.functions import Kernel
from qpsvm.kernels.nystroem import Nystroem
from qpsvm.kernels.pivoted_cholesky import PivotedCholesky
from qpsvm.kernels.random_fourier import RandomFourier

#: The maps that a file can name, and the parameters of each that are numbers.
SAVED_MAPS: dict[str, tuple[type[FeatureMap], tuple[str, ...]]] = {
    "nystroem": (Nystroem, ("components", "seed")),
    "random_fourier": (RandomFourier, ("gamma", "components", "seed")),
    "pivoted_cholesky": (PivotedCholesky, ("rank", "tol", "seed")),
}
#: What the names of a map's arrays begin with; and what comes behind that, of dense and of sparse points.
PREFIX, DENSE, SPARSE = "map_", {"factor", "points"}, {"factor", "data", "indices", "indptr", "rows"}


def map_record(
    row_map: FeatureMap, kernel: Callable[[Kernel], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record of a fitted map, and its arrays by name; `kernel` makes the record of a kernel."""
    name, (_, own) = next((name, each) for name, each in SAVED_MAPS.items() if type(row_map) is each[0])
    fit = row_map.learnt
    record = {
        "map": name, "parameters": {key: getattr(row_map, key) for key in own}, "error": list(fit.error),
        "of": None if isinstance(row_map, RandomFourier) else kernel(row_map.approximated),
    }  # fmt: skip
    arrays: dict[str, Any] = {"factor": fit.factor}
    if sp.issparse(fit.points):
        V = sp.csr_array(fit.points, dtype=np.float64)
        arrays |= {"data": V.data, "indices": V.indices, "indptr": V.indptr, "rows": np.array(V.shape[0])}
    else:
        arrays["points"] = np.asarray(fit.points)
    return record, {PREFIX + key: value for key, value in arrays.items()}


def map_of(
    record: Any,
    arrays: Mapping[str, NDArray[Any]],
    d: int,
    kernel: Callable[[Any], Kernel],
    points_of: Callable[[Mapping[str, NDArray[Any]], int], Matrix],
) -> FeatureMap:
    """The map of a record and its arrays.

    Raises DataError, ParameterError, UnknownOptionError, UnsupportedError.
    """
    named = {name.removeprefix(PREFIX): values for name, values in arrays.items()}
    known = isinstance(record, dict) and isinstance(record.get("map"), str) and record["map"] in SAVED_MAPS
    if not known or set(named) not in (DENSE, SPARSE):
        raise DataError("it has no feature map that this version knows")
    kind, own = SAVED_MAPS[record["map"]]
    given, error = record.get("parameters"), record.get("error")
    if not isinstance(given, dict) or set(given) != set(own):
        raise DataError(f"the map {record['map']} does not have the parameters {shown(given)}")
    if not isinstance(error, list) or [type(value) for value in error] != [float, float]:
        raise DataError(f"the measured error of the map is {shown(error)}")
    of = {} if kind is RandomFourier else {"kernel": kernel(record.get("of"))}
    made: Any = kind  # whose parameters these are
    row_map: FeatureMap = made(**of, **given)
    if isinstance(row_map, RandomFourier) and not isinstance(row_map.gamma, (int, float)):
        raise DataError(f"the map {row_map} has a gamma that is not a number")
    if "points" in named:
        named["vectors"] = named.pop("points")
    points, factor = points_of(named, d), named["factor"]
    if not _fits(row_map, points.shape[0], factor):
        raise DataError("the arrays of its feature map do not fit together")
    return row_map.having(Fit(points, factor.astype(np.float64, copy=False), (error[0], error[1])))


def _fits(row_map: FeatureMap, m: int, factor: NDArray[Any]) -> bool:
    """Whether a factor is one of m points."""
    if factor.dtype.kind != "f" or factor.ndim != 2 or not factor.size or not np.isfinite(factor).all():
        return False
    if isinstance(row_map, RandomFourier):
        return factor.shape == (1, m) and m == row_map.components
    if isinstance(row_map, PivotedCholesky):
        return factor.shape == (m, m) and bool((factor.diagonal() > 0.0).all())
    return factor.shape[0] == m and math.prod(factor.shape) > 0


__all__ = ["PREFIX", "map_of", "map_record"]
