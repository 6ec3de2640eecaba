"""`solve --scheduler`: the same problem over the workers of a Dask cluster, which read the files themselves.

The rows go from the files to the workers and stay there. Here are only the first line, the summary and the model.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import DataError, DataTypeError, MissingExtraError, ParameterError, install
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.files import Table
from qpsvm.data.sources.arrays import mapped
from qpsvm.faces.cli.data import Sample, as_written, source
from qpsvm.faces.cli.data_files import Stored, as_stored, columns_of, encoding_of
from qpsvm.faces.cli.options import VARIANTS, refuse_given
from qpsvm.machines import Problem

#: Options of `solve` that look at rows here, and what they are.
HERE = {
    "drop_missing": "leaves out rows", "missing": "looks at rows", "keep": "looks at rows", "date": "looks at rows",
    "test_size": "draws rows", "cv": "draws rows", "plot": "draws rows",
    "groups": "compares rows", "positive": "renames labels",
}  # fmt: skip
#: A cluster of this machine, of so many workers.
LOCAL = re.compile(r"local:([1-9]\d{0,3})$")
#: Seconds that a scheduler may take to answer.
ANSWER = 20


@contextmanager
def cluster(name: str, verbose: bool = False) -> Iterator[None]:
    """What computes while the block runs: a cluster at an address, one of this machine, or threads of this process."""
    try:
        import dask
        import distributed
    except ImportError:
        raise MissingExtraError(f"--scheduler needs Dask, which is not installed; run: {install('dask')}") from None
    local = LOCAL.match(name)
    if name != "threads" and local is None and "://" not in name:
        raise ParameterError(f"--scheduler {name!r}: give an address such as tcp://host:8786, local:N, or threads")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"dataframe.convert-string": False}))
        if name == "threads":
            stack.enter_context(dask.config.set(scheduler="threads"))
            yield
            return
        address: Any = name
        if local is not None:
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=int(local[1]), threads_per_worker=1, dashboard_address=":0", silence_logs=50
                )
            )
        try:
            client = stack.enter_context(distributed.Client(address, timeout=ANSWER))
        except (OSError, ValueError) as error:
            raise ParameterError(f"--scheduler {name}: nobody answers there ({error})") from None
        if verbose:
            print(f"  workers     {len(client.scheduler_info()['workers'])}")
        yield


def read_spread(options: argparse.Namespace) -> Sample:
    """The files of a command as collections, of which nothing is read yet. Raises ParameterError, QPSVMError."""
    for option, what in HERE.items():
        refuse_given(options, [option], f"{what} here, and --scheduler leaves them on the workers: choose one")
    stored = as_stored(source(options.file), True)
    assert stored is not None
    if stored.form in ("libsvm", "feather"):
        kind = {"libsvm": "LIBSVM", "feather": "Feather"}[stored.form]
        raise ParameterError(
            f"{stored.name} is a {kind} file, which workers do not read: write it as Parquet, or leave --scheduler out"
        )
    used, target, weights = columns_of(stored, options)
    learns = VARIANTS[options.variant].learns
    target = None if learns == "none" else target
    X, (y, weight) = (_array if stored.form == "npy" else _frame)(stored, used, (target, weights))
    text = stored.form != "npy" and learns == "labels" and y is not None and y.dtype.kind not in "biuf"
    table = Table(X, None, encoding_of(stored, used, target, text), weights=weight)
    if options.standardise:
        table = _standardised(table, stored.name)
    return Sample(table, y.astype(object) if text else y, learnt=learns)


#: Features, and target and weights where there are any, on the workers.
Parts = tuple[Any, list[Any]]


def _frame(stored: Stored, used: list[str], beside: tuple[str | None, ...]) -> Parts:
    """Files whose columns have names."""
    import dask.dataframe as frames

    wanted = [*used, *filter(None, beside)]
    if stored.form == "csv":
        frame = frames.read_csv(list(stored.paths), usecols=wanted)
    else:
        frame = frames.read_parquet(list(stored.paths), columns=wanted)
    texts = [name for name in used if frame.dtypes[name].kind not in "biuf"]
    if texts:
        raise DataTypeError(
            f"{stored.name}: column {texts[0]!r} is no column of numbers: leave it out by --drop {texts[0]!r}, or "
            "encode it as numbers first"
        )
    return frame[used], [None if name is None else frame[name] for name in beside]


def _array(stored: Stored, used: list[str], beside: tuple[str | None, ...]) -> Parts:
    """Arrays, each file mapped where it is read."""
    import dask
    import dask.array as arrays

    read, parts = dask.delayed(_rows, pure=True), []
    for path in stored.paths:
        array = mapped(path)
        step = max(1, BLOCK_NUMBERS // array.shape[1])
        for start in range(0, len(array), step):
            stop = min(start + step, len(array))
            parts.append(arrays.from_delayed(read(path, start, stop), (stop - start, array.shape[1]), array.dtype))
    whole = arrays.concatenate(parts)
    vectors = [None if name is None else whole[:, int(name)] if name.isdecimal() else mapped(name) for name in beside]
    return whole[:, [int(name) for name in used]], vectors


def _rows(path: str, start: int, stop: int) -> NDArray[Any]:
    """Some rows of an array, read by a worker."""
    return np.array(mapped(path)[start:stop])


def _standardised(table: Table, name: str) -> Table:
    """The same with every column of mean 0 and deviation 1: two sums over the rows."""
    import dask

    X: Any = table.X
    X = (X.to_dask_array() if hasattr(X, "to_dask_array") else X).astype(np.float64)
    found = dask.compute(X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0))
    mean, scale, low, high = (np.asarray(each) for each in found)
    finite = np.isfinite(mean) & np.isfinite(scale)
    if not finite.all():
        feature = table.names[int(np.argmin(finite))]
        raise DataError(f"{name}: feature {feature!r} has a value that is missing, infinite or too large")
    constant = (low == high) | (scale == 0.0)
    mean, scale = np.where(constant, low, mean), np.where(constant, 1.0, scale)
    return replace(table, X=(X - mean) / scale, encoding=replace(table.encoding, mean=mean, scale=scale))


def in_words(name: str, sample: Sample, problem: Problem) -> str:
    """The first line that is printed."""
    n, d = problem.X.shape
    samples, classes = problem.samples, problem.samples.classes
    if classes is not None:
        counted = zip(as_written(classes).tolist(), samples.class_counts, strict=True)
        learnt = "labels " + ", ".join(f"{label}: {count}" for label, count in counted)
    elif samples.ends is None:
        learnt = "no target needed" if sample.y is None else "the target is the same everywhere"
    else:
        learnt = "target from {:.6g} to {:.6g}".format(*samples.ends)
    return f"{name}: {n} rows x {d} features; {learnt}"
