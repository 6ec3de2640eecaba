"""Let the workers of a Dask cluster read the files of `solve --scheduler` (`open_cluster`, `read_distributed`).

The workers keep the rows that they read. This process has only the first line, the summary and the model.
"""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import DataError, DataTypeError, MissingExtraError, ParameterError, describe_install
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.files import EncodedTable
from qpsvm.data.sources.arrays import map_npy
from qpsvm.faces.cli.data import Dataset, as_file_labels, parse_source
from qpsvm.faces.cli.data_files import StoredFiles, build_encoding, choose_columns, find_stored_files
from qpsvm.faces.cli.problem_options import VARIANTS, refuse_options
from qpsvm.machines import Problem

#: Options of `solve` that need rows in this process, and how they use them.
LOCAL_OPTIONS = {
    "drop_missing": "leaves out rows", "missing": "inspects rows", "keep": "inspects rows", "date": "inspects rows",
    "na": "inspects rows", "decimal": "inspects rows", "encoding": "reads text",
    "test_size": "draws rows", "cv": "draws rows", "plot": "plots rows",
    "groups": "compares rows", "positive": "renames labels",
}  # fmt: skip
#: Address of a cluster on this machine, with its number of workers.
LOCAL_ADDRESS = re.compile(r"local:([1-9]\d{0,3})$")
#: Seconds to wait for the answer of a scheduler.
CONNECT_SECONDS = 20
#: Features (n, d), target (n,) and weights (n,) as collections on the workers; None for a target or weights if absent.
RemoteColumns = tuple[Any, Any, Any]


@contextmanager
def open_cluster(name: str, verbose: bool = False) -> Iterator[None]:
    """Compute on a cluster in the block: at an address, on this machine, or with threads of this process.

    name: The address, "local:N" for N workers on this machine, or "threads".

    Raises ParameterError, MissingExtraError.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise MissingExtraError(
            f"--scheduler needs Dask, which is not installed; run: {describe_install('dask')}"
        ) from None
    local_match = LOCAL_ADDRESS.match(name)
    if name != "threads" and local_match is None and "://" not in name:
        raise ParameterError(f"--scheduler {name!r}: give an address such as tcp://host:8786, local:N, or threads")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"dataframe.convert-string": False}))
        if name == "threads":
            stack.enter_context(dask.config.set(scheduler="threads"))
            yield
            return
        address: Any = name
        if local_match is not None:
            n_workers = int(local_match[1])
            cluster = distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
            )
            address = stack.enter_context(cluster)
        try:
            client = stack.enter_context(distributed.Client(address, timeout=CONNECT_SECONDS))
        except (OSError, ValueError) as error:
            raise ParameterError(f"--scheduler {name}: no scheduler answers at this address ({error})") from None
        if verbose:
            print(f"  workers     {len(client.scheduler_info()['workers'])}")
        yield


def read_distributed(options: argparse.Namespace) -> Dataset:
    """Open the files of a command as collections without reading rows. Raises ParameterError, QPSVMError."""
    for option, use in LOCAL_OPTIONS.items():
        refuse_options(
            options, [option], f"{use} here, but --scheduler leaves them on the workers: leave one of the two out"
        )
    stored = find_stored_files(parse_source(options.file), stream=True)
    assert stored is not None
    unreadable = {"libsvm": "LIBSVM", "feather": "Feather"}
    if kind := unreadable.get(stored.file_format):
        raise ParameterError(
            f"{stored.name} is a {kind} file, which workers cannot read: convert it to Parquet, or leave --scheduler "
            "out"
        )
    features, target, weights = choose_columns(stored, options)
    target_kind = VARIANTS[options.variant]._target_kind
    if target_kind == "none":
        target = None
    is_array = stored.file_format == "npy"
    open_columns = _open_arrays if is_array else _open_frames
    X, y, weight = open_columns(stored, features, target, weights)
    has_text_labels = not is_array and target_kind == "labels" and y is not None and y.dtype.kind not in "biuf"
    table = EncodedTable(X, None, build_encoding(stored, features, target, has_text_labels), weights=weight)
    if options.standardise:
        table = _standardise(table, stored.name)
    return Dataset(table, y.astype(object) if has_text_labels else y, target_kind=target_kind)


def _open_frames(stored: StoredFiles, features: list[str], target: str | None, weights: str | None) -> RemoteColumns:
    """Open files whose columns have names. Raises DataTypeError if a feature is not numeric."""
    import dask.dataframe as frames

    names = [*features, *filter(None, (target, weights))]
    if stored.file_format == "csv":
        frame = frames.read_csv(list(stored.paths), usecols=names)
    else:
        frame = frames.read_parquet(list(stored.paths), columns=names)
    for name in features:
        if frame.dtypes[name].kind not in "biuf":
            raise DataTypeError(
                f"{stored.name}: column {name!r} is not numeric: leave it out with --drop {name!r}, or encode it as "
                "numbers first"
            )
    y, weight = (None if name is None else frame[name] for name in (target, weights))
    return frame[features], y, weight


def _open_arrays(stored: StoredFiles, features: list[str], target: str | None, weights: str | None) -> RemoteColumns:
    """Open arrays, whose columns are named by position; each file is mapped by the worker that reads it."""
    import dask
    import dask.array as arrays

    read = dask.delayed(_read_rows, pure=True)
    blocks = []
    for path in stored.paths:
        array = map_npy(path)
        step = max(1, BLOCK_NUMBERS // array.shape[1])
        for start in range(0, len(array), step):
            stop = min(start + step, len(array))
            blocks.append(arrays.from_delayed(read(path, start, stop), (stop - start, array.shape[1]), array.dtype))
    table = arrays.concatenate(blocks)

    def open_vector(name: str | None) -> Any:
        """Open a column of the table, or a file of its own."""
        if name is None:
            return None
        return table[:, int(name)] if name.isdecimal() else map_npy(name)

    return table[:, [int(name) for name in features]], open_vector(target), open_vector(weights)


def _read_rows(path: str, start: int, stop: int) -> NDArray[Any]:
    """Read some rows of an array, on a worker."""
    return np.array(map_npy(path)[start:stop])


def _standardise(table: EncodedTable, name: str) -> EncodedTable:
    """Standardise every column to mean 0 and standard deviation 1; constant columns become 0. Raises DataError."""
    import dask

    X: Any = table.X
    X = (X.to_dask_array() if hasattr(X, "to_dask_array") else X).astype(np.float64)
    moments = dask.compute(X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0))
    mean, scale, low, high = (np.asarray(moment) for moment in moments)
    is_finite = np.isfinite(mean) & np.isfinite(scale)
    if not is_finite.all():
        feature = table.names[int(np.argmin(is_finite))]
        raise DataError(f"{name}: feature {feature!r} has a value that is missing, infinite or too large")
    is_constant = (low == high) | (scale == 0.0)
    mean = np.where(is_constant, low, mean)
    scale = np.where(is_constant, 1.0, scale)
    return replace(table, X=(X - mean) / scale, encoding=replace(table.encoding, mean=mean, scale=scale))


def describe_dataset(name: str, dataset: Dataset, problem: Problem) -> str:
    """Describe the dataset in the first line that is printed."""
    n, d = problem.X.shape
    samples = problem.samples
    classes = samples.classes
    if classes is not None:
        sizes = zip(as_file_labels(classes).tolist(), samples.class_counts, strict=True)
        target = "labels " + ", ".join(f"{label}: {count}" for label, count in sizes)
    elif samples.target_range is None:
        target = "no target needed" if dataset.y is None else "the target is constant"
    else:
        target = "target from {:.6g} to {:.6g}".format(*samples.target_range)
    return f"{name}: {n} rows x {d} features; {target}"
