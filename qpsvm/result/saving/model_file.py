"""Write and read model files (`save`, `load`).

A file holds a header and the arrays of the decision function. The header is JSON text: format, kernel, its parameters,
number and names of the features, metadata. What is read passes the same checks as what is written. So a model that
loads also predicts, whatever happened to its file.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

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

#: The versions of the format, in the header: with two classes; with a diagonal, and classes or none; with one f for
#: each of several classes; with one f for each two of them; and with a linear f over features that a map makes.
CLASSES_FORMAT, FILE_FORMAT, JOINT_FORMAT, PAIRS_FORMAT, MAP_FORMAT = 1, 2, 3, 4, 5
FORMATS = (CLASSES_FORMAT, FILE_FORMAT, JOINT_FORMAT, PAIRS_FORMAT, MAP_FORMAT)
#: Arrays of every file, and the one that a file without classes does not have.
COMMON, LABELLED = {"header", "b", "coef"}, {"classes"}
#: What a file of pairs has besides: how many of the rows kept are of each class; and, in its header, two rules.
COUNTED, RULES = {"counts"}, {"by_class": bool, "break_ties": bool}
#: The others hold what f is made of, in one of three ways: as w, or as the rows kept, dense or CSR.
LAYOUTS = ({"w"}, {"vectors"}, {"data", "indices", "indptr", "rows"})
#: Types that the entries of an array may have, by NumPy's letters: labels, real numbers, indices.
LABELS, REAL, INDEX = "biufSUMm", "f", "iu"
#: The last character of Unicode.
LARGEST_CHARACTER = 0x10FFFF


class _Described(Protocol):
    """An array, or what an archive says of one."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


def write_model(path: str | os.PathLike[str], model: Mapping[str, Any]) -> None:
    """Write the attributes of a model. Where this fails, the file that was there is as it was.

    Raises UnsupportedError, ParameterTypeError, DataError, FileAccessError.
    """
    header, arrays = _encode_map_model(model) if isinstance(model["kernel"], FeatureMap) else _encode_model(model)
    _decode_model(header, arrays)
    with open_replacement(path) as file:
        write_archive(file, header, arrays)


def _build_kernel_record(kernel: Kernel) -> dict[str, Any]:
    """Return the name and the parameters of a kernel."""
    name = NAMES.get(type(kernel))
    if name is None:
        raise UnsupportedError(f"the kernel {kernel} is a Python callable, which a file cannot hold")
    parameters = {each.name: as_python(getattr(kernel, each.name)) for each in fields(kernel)}  # type: ignore[arg-type]
    return {"kernel": name, "parameters": parameters}


def _encode_map_model(model: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a linear model over features, and of the map that computes them."""
    if model["w"] is None or "diagonal" not in model:
        raise UnsupportedError(f"a file holds {model['kernel']} with one weight vector over its features only")
    record, arrays = build_map_record(model["kernel"], _build_kernel_record)
    plain = {**model, "kernel": Linear(), "n_features": len(model["w"]), "feature_names": None}
    header, own = _encode_model(plain)
    names = model["feature_names"]
    record |= {
        "format": header["format"], "n_features": as_python(model["n_features"]),
        "feature_names": None if names is None else list(names),
    }  # fmt: skip
    return {**header, "format": MAP_FORMAT, "features": record}, {**own, **arrays}


def _encode_model(model: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays."""
    names = model["feature_names"]
    joint, pairs = "diagonal" not in model, "counts" in model
    newer = not joint and (model["classes"] is None or model["diagonal"] != 0.0)
    header = {
        "format": PAIRS_FORMAT if pairs else JOINT_FORMAT if joint else FILE_FORMAT if newer else CLASSES_FORMAT,
        **_build_kernel_record(model["kernel"]),
        "n_features": as_python(model["n_features"]),
        "feature_names": None if names is None else list(names),
        "metadata": as_json(model["metadata"], "metadata"),
        **({"diagonal": float(model["diagonal"])} if newer else {}),
        **({} if model.get("radius") is None else {"radius": float(model["radius"])}),
        **({rule: as_python(model[rule]) for rule in RULES} if pairs else {}),
    }
    arrays: dict[str, NDArray[Any]] = {
        **({} if model["classes"] is None else {"classes": _encode_labels(np.asarray(model["classes"]))}),
        **({"counts": np.asarray(model["counts"])} if pairs else {}),
        "b": as_real_vector(model["b"], "b"),
        "coef": np.asarray(model["coef"], dtype=np.float64) if joint else as_real_vector(model["coef"], "coef"),
    }
    if model["w"] is not None:
        arrays["w"] = np.asarray(model["w"], dtype=np.float64) if joint else as_real_vector(model["w"], "w")
    else:
        arrays |= build_row_arrays(model["vectors"], "vectors")
    return header, arrays


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the attributes of a model, by name. The errors are those of `qpsvm.load`.

    Raises MissingFileError, FileAccessError, FileFormatError, TooLargeError.
    """
    where = as_path_text(path)
    try:
        if not stat.S_ISREG(Path(where).stat().st_mode):
            raise FileAccessError(f"{where!r} is a folder, a device or a pipe, not a model file")
        with Path(where).open("rb") as file:
            archive = Archive(file)
            header = archive.read_header(FORMATS)
            _check_shapes(header, archive.members)
            return _decode_model(header, {name: archive.read(name) for name in archive.members if name != "header"})
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"no model file {where!r}") from None
    except (DataError, ParameterError, UnknownOptionError, UnsupportedError) as error:
        raise FileFormatError(f"{where} is not a model saved by qpsvm, or it is damaged: {error}") from error
    except MemoryError:
        raise TooLargeError(f"{where} holds a model that does not fit into this machine's memory") from None
    except OSError as error:
        if isinstance(error, FileAccessError):
            raise
        raise FileAccessError(f"cannot read {where}: {error.strerror or error}") from error


def _encode_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels (k,) as an array without objects: Python's text becomes NumPy's."""
    if classes.dtype.kind in LABELS:
        return classes
    if not all(isinstance(label, str) for label in classes):
        raise UnsupportedError(f"labels of type {type(classes[0]).__name__} cannot be saved; use text or numbers")
    text = np.array([str(label) for label in classes])
    if text.tolist() != classes.tolist():
        raise UnsupportedError(f"labels that end in a NUL cannot be saved: {format_value(classes.tolist())}")
    return text


def _check_shapes(header: Mapping[str, Any], arrays: Mapping[str, _Described]) -> None:
    """Refuse an array whose type or shape does not fit the header and the other arrays."""
    if header.get("format") == MAP_FORMAT:
        _check_shapes(
            _build_inner_header(header), {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
        )
        return
    d = header.get("n_features")
    if type(d) is not int or not 0 < d <= LONGEST_AXIS:
        raise DataError(f"n_features is {format_value(d)}")
    joint, pairs = header.get("format") == JOINT_FORMAT, header.get("format") == PAIRS_FORMAT
    way = set(arrays) - COMMON - LABELLED - (COUNTED if pairs else set())
    labelled = joint or pairs or header.get("format") == CLASSES_FORMAT
    needed = COMMON - {"header"} | (LABELLED if labelled else set()) | (COUNTED if pairs else set())
    if not set(arrays) >= needed or way not in LAYOUTS:
        raise DataError("it does not hold the arrays of a model")
    m = ((*arrays["coef"].shape, 0, 0)[1 if pairs else 0]) if "w" not in arrays else 0
    stored = (*arrays["data"].shape, 0)[0] if "data" in arrays else 0
    precomputed = header.get("kernel") == "precomputed"
    k = max((*arrays["classes"].shape, 0)[0], 3 if pairs else 2) if joint or pairs else 2
    each = (k * (k - 1) // 2,) if pairs else (k,) if joint else ()  # a number for each function of several
    fitting: dict[str, tuple[str, tuple[int, ...]]] = {
        "classes": (LABELS, (k,)),
        "b": (REAL, each),
        "coef": (REAL, (k - 1, m) if pairs else (m, *each)),
        "counts": (INDEX, (k,)),
        "w": (REAL, (*each, d)),
        "vectors": (INDEX, (m,)) if precomputed else (REAL, (m, d)),
        "data": (REAL, (stored,)),
        "indices": (INDEX, (stored,)),
        "indptr": (INDEX, (m + 1,)),
        "rows": (INDEX, ()),
    }
    for name in set(arrays) - {"header"}:
        kinds, shape = fitting[name]
        if arrays[name].dtype.kind not in kinds or arrays[name].shape != shape:
            found = f"type {arrays[name].dtype} and shape {arrays[name].shape}"
            raise DataError(f"its array {name} has {found}, where shape {shape} is needed")
    if (header.get("kernel") != "linear" and "w" in arrays) or (precomputed and "data" in arrays):
        raise DataError("its arrays do not fit its kernel")


def _decode_model(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the attributes of a model, checked: it will predict, unless something is wrong with the samples."""
    _check_shapes(header, arrays)
    if header["format"] == MAP_FORMAT:
        return _decode_map_model(header, arrays)
    d, names, metadata = header["n_features"], header.get("feature_names"), header.get("metadata")
    if names is not None and not _is_valid_names(names, d):
        raise DataError(f"feature_names are not {d} different texts")
    if not isinstance(metadata, dict):
        raise DataError("metadata is not a record")
    kernel, diagonal = _decode_kernel(header), header.get("diagonal", 0.0)
    if type(diagonal) not in (int, float) or not math.isfinite(diagonal):
        raise DataError(f"diagonal is {format_value(diagonal)}")
    radius = header.get("radius")
    if radius is not None and (type(radius) not in (int, float) or not 0.0 <= radius < math.inf):
        raise DataError(f"radius is {format_value(radius)}")
    if "classes" in arrays:
        _check_labels(arrays["classes"])
    numbers = {name: arrays[name].astype(np.float64, copy=False) for name in ("b", "coef", "w") if name in arrays}
    for name, values in numbers.items():
        if not np.isfinite(values).all():
            raise DataError(f"{name} has a value that is not finite")
    joint, pairs = header["format"] == JOINT_FORMAT, header["format"] == PAIRS_FORMAT
    own: dict[str, Any] = {"diagonal": float(diagonal), "radius": None if radius is None else float(radius)}
    if pairs:
        own = {"counts": _check_counts(arrays["counts"], numbers["coef"].shape[1]), **_read_rules(header)}
    elif joint:
        own = {}
    return {
        "kernel": kernel,
        "classes": arrays.get("classes"),
        "b": numbers["b"] if joint or pairs else float(numbers["b"]),
        "coef": numbers["coef"],
        "vectors": np.zeros((0, d)) if "w" in arrays else _decode_vectors(arrays, kernel, d),
        "w": numbers.get("w"),
        "n_features": d,
        "feature_names": None if names is None else tuple(names),
        "metadata": metadata,
        **own,
    }


def _build_inner_header(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of the linear model over the features of a map."""
    record = header.get("features")
    inner = record.get("format") if isinstance(record, dict) else None
    if type(inner) is not int or inner not in (CLASSES_FORMAT, FILE_FORMAT) or header.get("kernel") != "linear":
        raise DataError("it has no feature map that this version knows")
    return {**header, "format": inner, "feature_names": None}


def _decode_map_model(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the attributes of a linear model over the features of a map, checked."""
    record = header["features"]
    plain = {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
    attributes = _decode_model(_build_inner_header(header), plain)
    d, names = record.get("n_features"), record.get("feature_names")
    if type(d) is not int or not 0 < d <= LONGEST_AXIS:
        raise DataError(f"n_features is {format_value(d)}")
    if names is not None and not _is_valid_names(names, d):
        raise DataError(f"feature_names are not {d} different texts")
    mapped = {name: array for name, array in arrays.items() if name.startswith(PREFIX)}
    row_map = build_feature_map(record, mapped, d, _decode_map_kernel, _decode_points)
    if row_map.width != header["n_features"]:
        raise DataError(f"its map makes {row_map.width} features, and w is of {header['n_features']}")
    return {
        **attributes, "kernel": row_map, "n_features": d, "vectors": np.zeros((0, d)),
        "feature_names": None if names is None else tuple(names),
    }  # fmt: skip


def _decode_map_kernel(record: Any) -> Kernel:
    """Return the kernel of a feature map."""
    if not isinstance(record, dict):
        raise DataError(f"it has no kernel that this version knows: {format_value(record)}")
    return _decode_kernel(record)


def _decode_points(arrays: Mapping[str, NDArray[Any]], d: int) -> Matrix:
    """Return the points of a map, (m, d), from arrays in the layouts of a model's rows."""
    if "vectors" in arrays:
        points = arrays["vectors"]
        if points.dtype.kind != "f" or points.ndim != 2 or points.shape[1] != d:
            raise DataError(f"the points of its feature map have type {points.dtype} and shape {points.shape}")
    elif not all(arrays[name].dtype.kind in INDEX and arrays[name].ndim == 1 for name in ("indices", "indptr")) or (
        arrays["rows"].dtype.kind not in INDEX or arrays["rows"].shape or arrays["data"].dtype.kind != "f"
        or arrays["data"].shape != arrays["indices"].shape or not len(arrays["indptr"])
    ):  # fmt: skip
        raise DataError("the points of its feature map are not those of a sparse matrix")
    return _decode_vectors(arrays, Linear(), d)


def _check_counts(counts: NDArray[Any], m: int) -> NDArray[np.intp]:
    """Check the number of rows of each class, which add up to m."""
    if counts.min() < 0 or counts.max() > m or sum(counts.tolist()) != m:
        raise DataError(f"counts are not those of {m} rows")
    return counts.astype(np.intp, copy=False)


def _read_rules(header: Mapping[str, Any]) -> dict[str, bool]:
    """Read how the values of pairs are combined."""
    rules = {name: header.get(name) for name in RULES}
    wrong = next((name for name, kind in RULES.items() if type(rules[name]) is not kind), None)
    if wrong is not None:
        raise DataError(f"{wrong} is {format_value(rules[wrong])}, which is neither true nor false")
    return {name: bool(rule) for name, rule in rules.items()}


def _is_valid_names(names: Any, d: int) -> bool:
    is_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return is_text and len(names) == d == len(set(names))


def _decode_kernel(header: Mapping[str, Any]) -> Kernel:
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
    """Refuse labels that are not two different ones, or that Python cannot show. Any order is allowed."""
    kind = classes.dtype.kind
    if kind == "U" and np.ascontiguousarray(classes).view(np.uint32).max() > LARGEST_CHARACTER:
        raise DataError("its labels are not text")
    if kind == "b" and np.ascontiguousarray(classes).view(np.uint8).tolist() != [0, 1]:
        raise DataError("its labels are not false and true")
    missing = (kind == "f" and not np.isfinite(classes).all()) or (kind in "mM" and bool(np.isnat(classes).any()))
    if missing or len(np.unique(classes)) < len(classes):
        raise DataError(f"its labels {format_value(classes.tolist())} are not {len(classes)} different ones")


def _decode_vectors(arrays: Mapping[str, NDArray[Any]], kernel: Kernel, d: int) -> Matrix:
    """Return the rows kept, (m, d), or for a precomputed kernel their numbers, (m,)."""
    if isinstance(kernel, Precomputed):
        numbers = arrays["vectors"].astype(np.intp, copy=False)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < d):
            raise DataError("vectors has numbers of rows that do not exist")
        return numbers
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
    """Return the rows kept as CSR, (m, d). SciPy's compiled loops trust what is checked here."""
    data = arrays["data"].astype(np.float64, copy=False)
    indices, indptr, rows = (arrays[name].astype(np.int64, copy=False) for name in ("indices", "indptr", "rows"))
    ends = int(indptr[0]) == 0 and int(indptr[-1]) == len(data) and int(rows) == len(indptr) - 1
    inside = not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < d)
    if not (ends and inside and (indptr[1:] >= indptr[:-1]).all()):
        raise DataError("indices, indptr and rows are not those of a sparse matrix")
    matrix = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, d))
    if not matrix.has_canonical_format:
        matrix.sum_duplicates()
    return matrix
