"""Write and read model files (`write_model`, `read_model`).

The attributes of a model are kernel, classes, b, coef, vectors, w, n_features, feature_names and metadata; with one f
also diagonal, radius and threshold, with pairs of classes also counts, by_class and break_ties. A file holds the
arrays among them and a header, the others as JSON text. Writing and reading make the same checks. So a model that loads
can predict, even if its file was damaged or forged.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_real_vector
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.atomic_files import as_path_text, open_replacement
from qpsvm.base.errors import (
    DataError,
    FileAccessError,
    FileFormatError,
    MissingFileError,
    ParameterError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
)
from qpsvm.result.saving.archive import LONGEST_AXIS, Archive, write_archive
from qpsvm.result.saving.feature_map_record import PREFIX, build_feature_map, build_map_record, build_row_arrays
from qpsvm.result.saving.json_values import as_json, as_python
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.kernel_registry import KERNELS, NAMES

#: Version of the format in the header of a file with one f and two classes.
CLASSES_FORMAT = 1
#: One f, with an entry `diagonal` in the header; with two classes or none.
DIAGONAL_FORMAT = 2
#: One f per class, of several classes solved in one program.
ALL_IN_ONE_FORMAT = 3
#: One f per pair of classes.
PAIRS_FORMAT = 4
#: One linear f over the features of a feature map.
MAP_FORMAT = 5
FORMATS = (CLASSES_FORMAT, DIAGONAL_FORMAT, ALL_IN_ONE_FORMAT, PAIRS_FORMAT, MAP_FORMAT)
#: Names of the arrays of every file.
COMMON_ARRAYS = {"header", "b", "coef"}
#: Further arrays of a file with classes.
CLASSES_ARRAYS = {"classes"}
#: Further arrays of a file of pairs: the number of support vectors of each class.
PAIRS_ARRAYS = {"counts"}
#: Further entries in the header of a file of pairs, true or false.
PAIRS_RULES = ("by_class", "break_ties")
#: The other arrays hold w, or the support vectors: dense (by their row numbers for a precomputed kernel) or CSR.
LAYOUTS = ({"w"}, {"vectors"}, {"data", "indices", "indptr", "rows"})
#: Types of labels, real numbers and indices in arrays, as characters of NumPy's `dtype.kind`.
LABEL_KINDS, REAL_KINDS, INDEX_KINDS = "biufSUMm", "f", "iu"
#: The last character of Unicode.
LARGEST_CHARACTER = 0x10FFFF


class _ArrayInfo(Protocol):
    """Type and shape of an array: the array itself, or its description in an archive (`Member`)."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


ArrayT = TypeVar("ArrayT", bound=_ArrayInfo)


def write_model(path: str | os.PathLike[str], model: Mapping[str, Any]) -> None:
    """Write the attributes of a model, by name. If this fails, an existing file is unchanged.

    Raises UnsupportedError, ParameterTypeError, DataError, FileAccessError.
    """
    if isinstance(model["kernel"], FeatureMap):
        header, arrays = _encode_map_model(model)
    else:
        header, arrays = _encode_model(model)
    _decode_model(header, arrays)  # raises an error if the file could not be read back
    with open_replacement(path) as file:
        write_archive(file, header, arrays)


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the attributes of a model, by name. The errors are those of `qpsvm.load`.

    Raises MissingFileError, FileAccessError, FileFormatError, TooLargeError.
    """
    path_text = as_path_text(path)
    try:
        if not stat.S_ISREG(Path(path_text).stat().st_mode):
            raise FileAccessError(f"{path_text!r} is a folder, a device or a pipe, not a model file")
        with Path(path_text).open("rb") as file:
            archive = Archive(file)
            header = archive.read_header(FORMATS)
            _check_shapes(header, archive.members)
            return _decode_model(header, {name: archive.read(name) for name in archive.members if name != "header"})
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"no model file {path_text!r}") from None
    except (DataError, ParameterError, UnknownOptionError, UnsupportedError) as error:
        raise FileFormatError(f"{path_text} is not a model saved by qpsvm, or it is damaged: {error}") from error
    except MemoryError:
        raise TooLargeError(f"{path_text} holds a model that does not fit into this machine's memory") from None
    except OSError as error:
        if isinstance(error, FileAccessError):
            raise
        raise FileAccessError(f"cannot read {path_text}: {error.strerror or error}") from error


def _build_kernel_record(kernel: Kernel) -> dict[str, Any]:
    """Return the name and the parameters of a kernel."""
    name = NAMES.get(type(kernel))
    if name is None:
        raise UnsupportedError(f"the kernel {kernel} is a Python callable, which a file cannot hold")
    parameters = {field.name: as_python(getattr(kernel, field.name)) for field in fields(kernel)}  # type: ignore[arg-type]
    return {"kernel": name, "parameters": parameters}


def _encode_map_model(model: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a linear model over features, and of the map that computes them."""
    if model["w"] is None or "diagonal" not in model:
        raise UnsupportedError(f"a file holds {model['kernel']} with one weight vector over its features only")
    record, map_arrays = build_map_record(model["kernel"], _build_kernel_record)
    linear_model = {**model, "kernel": Linear(), "n_features": len(model["w"]), "feature_names": None}
    header, linear_arrays = _encode_model(linear_model)
    names = model["feature_names"]
    record |= {
        "format": header["format"],
        "n_features": as_python(model["n_features"]),
        "feature_names": None if names is None else list(names),
    }
    return {**header, "format": MAP_FORMAT, "features": record}, {**linear_arrays, **map_arrays}


def _choose_format(model: Mapping[str, Any]) -> int:
    """Return the oldest version of the format that can hold a model (without a feature map)."""
    if "counts" in model:
        return PAIRS_FORMAT
    if "diagonal" not in model:
        return ALL_IN_ONE_FORMAT
    if model["classes"] is None or model["diagonal"] != 0.0:
        return DIAGONAL_FORMAT
    return CLASSES_FORMAT


def _encode_model(model: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a model without a feature map."""
    names = model["feature_names"]
    file_format = _choose_format(model)
    is_pairs = file_format == PAIRS_FORMAT
    has_several_f = is_pairs or file_format == ALL_IN_ONE_FORMAT
    header = {
        "format": file_format,
        **_build_kernel_record(model["kernel"]),
        "n_features": as_python(model["n_features"]),
        "feature_names": None if names is None else list(names),
        "metadata": as_json(model["metadata"], "metadata"),
        **({"diagonal": float(model["diagonal"])} if file_format == DIAGONAL_FORMAT else {}),
        **({} if model.get("radius") is None else {"radius": float(model["radius"])}),
        **({} if model.get("threshold") is None else {"threshold": float(model["threshold"])}),
        **({rule: as_python(model[rule]) for rule in PAIRS_RULES} if is_pairs else {}),
    }
    arrays: dict[str, NDArray[Any]] = {
        **({} if model["classes"] is None else {"classes": _encode_labels(np.asarray(model["classes"]))}),
        **({"counts": np.asarray(model["counts"])} if is_pairs else {}),
        "b": as_real_vector(model["b"], "b"),
        "coef": np.asarray(model["coef"], dtype=np.float64) if has_several_f else as_real_vector(model["coef"], "coef"),
    }
    if model["w"] is not None:
        if has_several_f:
            arrays["w"] = np.asarray(model["w"], dtype=np.float64)
        else:
            arrays["w"] = as_real_vector(model["w"], "w")
    else:
        arrays |= build_row_arrays(model["vectors"], "vectors")
    return header, arrays


def _encode_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels (k,) as an array without objects: Python's text becomes NumPy's."""
    if classes.dtype.kind in LABEL_KINDS:
        return classes
    if not all(isinstance(label, str) for label in classes):
        raise UnsupportedError(f"labels of type {type(classes[0]).__name__} cannot be saved; use text or numbers")
    text = np.array([str(label) for label in classes])
    if text.tolist() != classes.tolist():
        raise UnsupportedError(f"labels that end in a NUL cannot be saved: {format_value(classes.tolist())}")
    return text


def _get_length(array: _ArrayInfo, axis: int = 0) -> int:
    """Return the length of an axis of an array; 0 if it has no such axis."""
    return array.shape[axis] if axis < len(array.shape) else 0


def _check_shapes(header: Mapping[str, Any], arrays: Mapping[str, _ArrayInfo]) -> None:
    """Refuse an array whose type or shape does not fit the header and the other arrays. Raises DataError.

    The arrays of a feature map itself are checked when they are decoded.
    """
    if header.get("format") == MAP_FORMAT:
        _check_shapes(*_build_linear_part(header, arrays))
        return
    d = _decode_width(header)
    model_format = header.get("format")
    is_precomputed = header.get("kernel") == "precomputed"
    needs_classes = model_format in (ALL_IN_ONE_FORMAT, PAIRS_FORMAT, CLASSES_FORMAT)
    pairs_arrays = PAIRS_ARRAYS if model_format == PAIRS_FORMAT else set[str]()
    needed = COMMON_ARRAYS - {"header"} | (CLASSES_ARRAYS if needs_classes else set()) | pairs_arrays
    layout = set(arrays) - COMMON_ARRAYS - CLASSES_ARRAYS - pairs_arrays
    if not set(arrays) >= needed or layout not in LAYOUTS:
        raise DataError("it does not hold the arrays of a model")
    expected = _list_expected_arrays(model_format, is_precomputed, d, arrays)
    for name in set(arrays) - {"header"}:
        kinds, shape = expected[name]
        if arrays[name].dtype.kind not in kinds or arrays[name].shape != shape:
            description = f"type {arrays[name].dtype} and shape {arrays[name].shape}"
            raise DataError(f"its array {name} has {description}, where shape {shape} is needed")
    if (header.get("kernel") != "linear" and "w" in arrays) or (is_precomputed and "data" in arrays):
        raise DataError("its arrays do not fit its kernel")


def _decode_width(record: Mapping[str, Any]) -> int:
    """Return the number of features. Raises DataError."""
    d = record.get("n_features")
    if type(d) is not int or not 0 < d <= LONGEST_AXIS:
        raise DataError(f"n_features is {format_value(d)}")
    return d


def _list_expected_arrays(
    model_format: Any, is_precomputed: bool, d: int, arrays: Mapping[str, _ArrayInfo]
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the kinds of numbers and the shape that each array of a model must have, by name."""
    is_pairs = model_format == PAIRS_FORMAT
    k = 2  # number of classes
    f_shape: tuple[int, ...] = ()  # of an array with one number per f
    if "w" in arrays:
        n_vectors = 0
    else:
        n_vectors = _get_length(arrays["coef"], 1 if is_pairs else 0)
    n_stored = _get_length(arrays["data"]) if "data" in arrays else 0
    if is_pairs:
        k = max(_get_length(arrays["classes"]), 3)  # fewer classes do not have the shape returned here
        f_shape = (k * (k - 1) // 2,)
    elif model_format == ALL_IN_ONE_FORMAT:
        k = max(_get_length(arrays["classes"]), 2)
        f_shape = (k,)
    return {
        "classes": (LABEL_KINDS, (k,)),
        "b": (REAL_KINDS, f_shape),
        "coef": (REAL_KINDS, (k - 1, n_vectors) if is_pairs else (n_vectors, *f_shape)),
        "counts": (INDEX_KINDS, (k,)),
        "w": (REAL_KINDS, (*f_shape, d)),
        "vectors": (INDEX_KINDS, (n_vectors,)) if is_precomputed else (REAL_KINDS, (n_vectors, d)),
        "data": (REAL_KINDS, (n_stored,)),
        "indices": (INDEX_KINDS, (n_stored,)),
        "indptr": (INDEX_KINDS, (n_vectors + 1,)),
        "rows": (INDEX_KINDS, ()),
    }


def _decode_model(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the attributes of a model, checked so that it can predict.

    Raises DataError, ParameterError, UnknownOptionError, UnsupportedError.
    """
    _check_shapes(header, arrays)
    if header["format"] == MAP_FORMAT:
        return _decode_map_model(header, arrays)
    d = header["n_features"]
    metadata = header.get("metadata")
    names = _decode_names(header.get("feature_names"), d)
    if not isinstance(metadata, dict):
        raise DataError("metadata is not a record")
    kernel = _decode_kernel(header)
    detector = _decode_detector(header)
    if "classes" in arrays:
        _check_labels(arrays["classes"])
    real_arrays = {name: arrays[name].astype(np.float64, copy=False) for name in ("b", "coef", "w") if name in arrays}
    for name, values in real_arrays.items():
        if not np.isfinite(values).all():
            raise DataError(f"{name} has a value that is not finite")
    has_several_f = header["format"] in (ALL_IN_ONE_FORMAT, PAIRS_FORMAT)
    further: dict[str, Any] = {} if has_several_f else detector
    if header["format"] == PAIRS_FORMAT:
        further = {"counts": _check_counts(arrays["counts"], real_arrays["coef"].shape[1]), **_decode_rules(header)}
    return {
        "kernel": kernel,
        "classes": arrays.get("classes"),
        "b": real_arrays["b"] if has_several_f else float(real_arrays["b"]),
        "coef": real_arrays["coef"],
        "vectors": np.zeros((0, d)) if "w" in arrays else _decode_vectors(arrays, kernel, d),
        "w": real_arrays.get("w"),
        "n_features": d,
        "feature_names": names,
        "metadata": metadata,
        **further,
    }


def _decode_names(names: Any, d: int) -> tuple[str, ...] | None:
    """Return the names of d features, which must be different texts, or None. Raises DataError."""
    if names is None:
        return None
    is_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not (is_text and len(names) == d == len(set(names))):
        raise DataError(f"feature_names are not {d} different texts")
    return tuple(names)


def _decode_detector(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return `diagonal`, `radius` and `threshold` of a novelty detector; for other models they are not saved.

    Raises DataError.
    """
    diagonal = header.get("diagonal", 0.0)
    lengths = {name: header.get(name) for name in ("radius", "threshold")}
    if type(diagonal) not in (int, float) or not math.isfinite(diagonal):
        raise DataError(f"diagonal is {format_value(diagonal)}")
    for name, value in lengths.items():
        if value is not None and (type(value) not in (int, float) or not 0.0 <= value < math.inf):
            raise DataError(f"{name} is {format_value(value)}")
    return {"diagonal": float(diagonal), **{k: None if v is None else float(v) for k, v in lengths.items()}}


def _build_linear_part(
    header: Mapping[str, Any], arrays: Mapping[str, ArrayT]
) -> tuple[dict[str, Any], dict[str, ArrayT]]:
    """Return header and arrays of the linear model over the features of a map. Raises DataError."""
    record = header.get("features")
    version = record.get("format") if isinstance(record, dict) else None
    is_known = type(version) is int and version in (CLASSES_FORMAT, DIAGONAL_FORMAT)
    if not is_known or header.get("kernel") != "linear":
        raise DataError("it has no feature map that this version knows")
    linear_arrays = {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
    return {**header, "format": version, "feature_names": None}, linear_arrays


def _decode_map_model(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the attributes of a linear model over the features of a map, checked."""
    record = header["features"]
    attributes = _decode_model(*_build_linear_part(header, arrays))
    d = _decode_width(record)
    names = _decode_names(record.get("feature_names"), d)
    map_arrays = {name: array for name, array in arrays.items() if name.startswith(PREFIX)}
    row_map = build_feature_map(record, map_arrays, d, _decode_map_kernel, _decode_points)
    if row_map.width != header["n_features"]:
        raise DataError(f"its map makes {row_map.width} features, and w is of {header['n_features']}")
    map_attributes = {"kernel": row_map, "n_features": d, "vectors": np.zeros((0, d)), "feature_names": names}
    return {**attributes, **map_attributes}


def _decode_map_kernel(record: Any) -> Kernel:
    """Return the kernel of a feature map from its record. Raises DataError."""
    if not isinstance(record, dict):
        raise DataError(f"it has no kernel that this version knows: {format_value(record)}")
    return _decode_kernel(record)


def _decode_points(arrays: Mapping[str, NDArray[Any]], d: int) -> Matrix:
    """Return the points of a map, (m, d), from arrays in one of the layouts of support vectors. Raises DataError."""
    if "vectors" in arrays:
        points = arrays["vectors"]
        if points.dtype.kind not in REAL_KINDS or points.ndim != 2 or points.shape[1] != d:
            raise DataError(f"the points of its feature map have type {points.dtype} and shape {points.shape}")
    elif not _is_csr_layout(arrays):
        raise DataError("the points of its feature map are not those of a sparse matrix")
    return _decode_vectors(arrays, Linear(), d)


def _is_csr_layout(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the arrays of a CSR matrix have suitable types and shapes, whatever their values are."""
    data, indices, indptr, rows = (arrays[name] for name in ("data", "indices", "indptr", "rows"))
    has_indices = all(array.dtype.kind in INDEX_KINDS for array in (indices, indptr, rows))
    has_shapes = indices.ndim == indptr.ndim == 1 and rows.ndim == 0 and data.shape == indices.shape
    return has_indices and data.dtype.kind in REAL_KINDS and has_shapes and len(indptr) > 0


def _check_counts(counts: NDArray[Any], m: int) -> NDArray[np.intp]:
    """Return the number of support vectors of each class (k,), which must add up to m. Raises DataError."""
    if counts.min() < 0 or counts.max() > m or sum(counts.tolist()) != m:
        raise DataError(f"counts are not those of {m} rows")
    return counts.astype(np.intp, copy=False)


def _decode_rules(header: Mapping[str, Any]) -> dict[str, bool]:
    """Return the rules by which the values of pairs are combined. Raises DataError."""
    rules = {name: header.get(name) for name in PAIRS_RULES}
    for name, rule in rules.items():
        if type(rule) is not bool:
            raise DataError(f"{name} is {format_value(rule)}, which is neither true nor false")
    return {name: bool(rule) for name, rule in rules.items()}


def _decode_kernel(header: Mapping[str, Any]) -> Kernel:
    """Build the kernel that a header names, with all its parameters numbers. Raises DataError, ParameterError."""
    name, parameters = header.get("kernel"), header.get("parameters")
    if not isinstance(name, str) or name not in KERNELS or not isinstance(parameters, dict):
        raise DataError(f"it has no kernel that this version knows: {format_value(name)}")
    try:
        kernel = KERNELS[name](**parameters)
    except TypeError:
        raise DataError(f"the kernel {name} does not have the parameters {format_value(sorted(parameters))}") from None
    if isinstance(getattr(kernel, "gamma", 1.0), str):
        raise DataError(f"the kernel {kernel} has a gamma that is not a number")
    return kernel


def _check_labels(classes: NDArray[Any]) -> None:
    """Check that labels (k,) are all different, and valid values of Python; in any order. Raises DataError."""
    kind = classes.dtype.kind
    if kind == "U" and np.ascontiguousarray(classes).view(np.uint32).max() > LARGEST_CHARACTER:
        raise DataError("its labels are not text")
    if kind == "b" and np.ascontiguousarray(classes).view(np.uint8).tolist() != [0, 1]:
        raise DataError("its labels are not false and true")
    missing = (kind == "f" and not np.isfinite(classes).all()) or (kind in "mM" and bool(np.isnat(classes).any()))
    if missing or len(np.unique(classes)) < len(classes):
        raise DataError(f"its labels {format_value(classes.tolist())} are not {len(classes)} different ones")


def _decode_vectors(arrays: Mapping[str, NDArray[Any]], kernel: Kernel, d: int) -> Matrix:
    """Return the support vectors, (m, d); for a precomputed kernel their row numbers, (m,). Raises DataError."""
    if isinstance(kernel, Precomputed):
        row_numbers = arrays["vectors"].astype(np.intp, copy=False)
        if len(row_numbers) and not (row_numbers.min() >= 0 and row_numbers.max() < d):
            raise DataError("vectors has numbers of rows that do not exist")
        return row_numbers
    if "vectors" in arrays:
        vectors: Matrix = arrays["vectors"].astype(np.float64, copy=False)
        values = vectors
    else:
        vectors = _decode_csr(arrays, d)
        values = vectors.data
    if values.size and not (values.min() > -LARGEST_VALUE and values.max() < LARGEST_VALUE):  # false for NaN too
        raise DataError("the rows kept have a value that is not finite, or whose square is not")
    return vectors


def _decode_csr(arrays: Mapping[str, NDArray[Any]], d: int) -> Matrix:
    """Return the support vectors as CSR, (m, d). Raises DataError.

    SciPy's compiled loops would read beyond the arrays if `indices` and `indptr` were not checked here.
    """
    data = arrays["data"].astype(np.float64, copy=False)
    indices, indptr, rows = (arrays[name].astype(np.int64, copy=False) for name in ("indices", "indptr", "rows"))
    has_valid_ends = int(indptr[0]) == 0 and int(indptr[-1]) == len(data) and int(rows) == len(indptr) - 1
    has_valid_columns = not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < d)
    if not (has_valid_ends and has_valid_columns and (indptr[1:] >= indptr[:-1]).all()):
        raise DataError("indices, indptr and rows are not those of a sparse matrix")
    matrix = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, d))
    if not matrix.has_canonical_format:
        matrix.sum_duplicates()
    return matrix
