"""`solve --scheduler`: the same problem over the workers of a Dask cluster, which read the files themselves.

The rows go from the files to the workers and stay there. Here are only the first line, the summary and the model.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import DataError, DataTypeError, MissingExtraError, ParameterError, install
from qpsvm.data.files import Encoding
from qpsvm.data.files.sheet import whole
from qpsvm.data.sources.arrays import mapped
from qpsvm.faces.cli.data import class_weights, source
from qpsvm.faces.cli.data_files import Stored, as_stored, columns_of, encoding_of
from qpsvm.faces.cli.options import VARIANTS, problem_of
from qpsvm.machines import Problem

#: Options of `solve` that look at rows here, and what they are.
HERE = {
    "drop_missing": "leaves out rows", "test_size": "draws rows", "cv": "draws rows", "plot": "draws rows",
    "groups": "compares rows", "positive": "renames labels",
}  # fmt: skip
#: A cluster of this machine, of so many workers.
LOCAL = re.compile(r"local:([1-9]\d{0,3})$")
#: Seconds that a scheduler may take to answer.
ANSWER = 20
#: Rows of an array that a worker holds as one partition: 32 MB of ten columns.
CHUNK_NUMBERS = 4_000_000


@dataclass(frozen=True, eq=False)
class Spread:
    """Rows on a cluster, as a problem takes them.

    name: What messages call the files.
    """

    name: str
    X: Any
    y: Any
    weight: Any
    encoding: Encoding

    def problem(self, options: argparse.Namespace) -> Problem:
        """The problem that the options describe."""

        def known() -> tuple[NDArray[Any], NDArray[Any]]:
            labels = np.asarray(problem_of(self.X, self.y, options, None, self.weight).samples.classes)
            return labels, labels

        factors = class_weights(options.class_weight, known)
        return problem_of(self.X, self.y, options, None, self.weight, factors)


@contextmanager
def cluster(name: str, verbose: bool = False) -> Iterator[None]:
    """What computes while the block runs: a cluster at an address, one of this machine, or the threads of this process.

    Raises ParameterError, MissingExtraError.
    """
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


def read_spread(options: argparse.Namespace) -> Spread:
    """The files of a command as collections, of which nothing is read yet. Raises ParameterError, QPSVMError."""
    for option, what in HERE.items():
        if getattr(options, option):
            flag = f"--{option.replace('_', '-')}"
            raise ParameterError(f"{flag} {what} here, and --scheduler leaves them on the workers: choose one")
    stored = as_stored(source(options.file), True)
    assert stored is not None
    if stored.form == "libsvm":
        raise ParameterError(
            f"{stored.name} is a LIBSVM file, which workers do not read: write it as Parquet, or leave --scheduler out"
        )
    return _array(stored, options) if stored.form == "npy" else _frame(stored, options)


def _frame(stored: Stored, options: argparse.Namespace) -> Spread:
    """Files whose columns have names."""
    import dask.dataframe as frames

    used, target, weights = columns_of(stored, options)
    wanted = [*used, *(name for name in (target, weights) if name is not None)]
    if stored.form == "csv":
        frame = frames.read_csv(list(stored.paths), usecols=wanted)
    elif stored.form == "parquet":
        frame = frames.read_parquet(list(stored.paths), columns=wanted)
    else:
        raise ParameterError(f"{stored.name} is a Feather file, which workers do not read: write it as Parquet")
    texts = [name for name in used if frame.dtypes[name].kind not in "biuf"]
    if texts:
        raise DataTypeError(
            f"{stored.name}: column {texts[0]!r} is no column of numbers: leave it out by --drop {texts[0]!r}, or "
            "encode it as numbers first"
        )
    learnt = VARIANTS[options.variant].learns
    text = learnt == "labels" and target is not None and frame.dtypes[target].kind not in "biuf"
    encoding = encoding_of(stored, used, target, text)
    y = None if target is None or learnt == "none" else frame[target].astype(object) if text else frame[target]
    weight = None if weights is None else frame[weights]
    return _standardised(Spread(stored.name, frame[used], y, weight, encoding), options)


def _array(stored: Stored, options: argparse.Namespace) -> Spread:
    """Arrays, each file mapped where it is read."""
    import dask
    import dask.array as arrays

    used, target, weights = columns_of(stored, options)
    read, parts = dask.delayed(_rows, pure=True), []
    for path in stored.paths:
        array = mapped(path)
        step = max(1, CHUNK_NUMBERS // array.shape[1])
        for start in range(0, len(array), step):
            stop = min(start + step, len(array))
            parts.append(arrays.from_delayed(read(path, start, stop), (stop - start, array.shape[1]), array.dtype))
    whole = arrays.concatenate(parts)

    def column(name: str | None) -> Any:
        if name is None:
            return None
        return whole[:, int(name)] if name.isdecimal() else mapped(name)

    y = None if VARIANTS[options.variant].learns == "none" else column(target)
    X = whole[:, [int(name) for name in used]]
    encoding = encoding_of(stored, used, target, False)
    return _standardised(Spread(stored.name, X, y, column(weights), encoding), options)


def _rows(path: str, start: int, stop: int) -> NDArray[Any]:
    """Some rows of an array, read by a worker."""
    return np.array(mapped(path)[start:stop])


def _standardised(spread: Spread, options: argparse.Namespace) -> Spread:
    """The same with every column of mean 0 and deviation 1, where that is asked for: two sums over the rows."""
    if not options.standardise:
        return spread
    import dask

    X = spread.X.to_dask_array() if hasattr(spread.X, "to_dask_array") else spread.X
    X = X.astype(np.float64)
    found = dask.compute(X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0))
    mean, scale, low, high = (np.asarray(each) for each in found)
    if not (np.isfinite(mean).all() and np.isfinite(scale).all()):
        name = spread.encoding.names[int(np.argmin(np.isfinite(mean) & np.isfinite(scale)))]
        raise DataError(f"{spread.name}: feature {name!r} has a value that is missing, infinite or too large")
    constant = (low == high) | (scale == 0.0)
    mean, scale = np.where(constant, low, mean), np.where(constant, 1.0, scale)
    return replace(spread, X=(X - mean) / scale, encoding=replace(spread.encoding, mean=mean, scale=scale))


def labels_of(problem: Problem) -> NDArray[Any] | None:
    """The classes as files have them: integers where all are whole."""
    classes = problem.samples.classes
    return whole(classes) if classes is not None and classes.dtype.kind == "f" else classes


def in_words(spread: Spread, problem: Problem) -> str:
    """The first line that is printed."""
    n, d = problem.X.shape
    samples, classes = problem.samples, labels_of(problem)
    if classes is not None:
        counted = zip(classes.tolist(), samples.class_counts, strict=True)
        learnt = "labels " + ", ".join(f"{label}: {count}" for label, count in counted)
    elif samples.ends is None:
        learnt = "no target needed" if spread.y is None else "the target is the same everywhere"
    else:
        learnt = "target from {:.6g} to {:.6g}".format(*samples.ends)
    return f"{spread.name}: {n} rows x {d} features; {learnt}"


__all__ = ["Spread", "cluster", "in_words", "labels_of", "read_spread"]
