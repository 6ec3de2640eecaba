"""Run delayed calls of Dask, on a cluster if this process is connected to one (`compute_calls`).

`distributed` is looked up in `sys.modules`: a process that has not imported it is not connected to a cluster.
"""

from __future__ import annotations

import concurrent.futures
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from qpsvm.base.errors import ClusterError

#: Number of times that Dask retries a task.
RETRIES = 3
#: Interval in seconds at which a run checks that the cluster has a worker, and fails if there is none.
WORKER_TIMEOUT = 60.0
_LOST_MESSAGE = (
    "the Dask cluster has lost these rows, or its scheduler is gone: connect a Client again, and make the collection "
    "and the problem again"
)


def is_on_cluster() -> bool:
    """Return whether this process is connected to a cluster of `dask.distributed`."""
    if "distributed" not in sys.modules:
        return False
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        return False
    return True


def compute_calls(calls: Sequence[Any]) -> list[Any]:
    """Compute delayed calls in one graph, and return their results. Raises ClusterError."""
    import dask

    with translate_cluster_errors():
        if not is_on_cluster():
            return list(dask.compute(*calls, optimize_graph=False))
        from distributed import default_client

        client = default_client()
        futures = client.compute(list(calls), retries=RETRIES, optimize_graph=False)
        results: list[Any] | None = None
        try:
            _wait(client, futures)
            results = list(client.gather(futures, direct=True))
        finally:
            if results is None:  # Ctrl-C or an error: stop the tasks that still run
                client.cancel(futures)
        return results


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Wait until all futures end. Raises ClusterError if the cluster has no workers when `WORKER_TIMEOUT` is over."""
    from distributed import wait

    while True:
        try:
            wait(futures, timeout=WORKER_TIMEOUT)
            return
        except TimeoutError:
            if not client.scheduler_info()["workers"]:
                raise ClusterError(f"all workers of the Dask cluster have been gone for {WORKER_TIMEOUT:g} s") from None


@contextmanager
def translate_cluster_errors() -> Iterator[None]:
    """Translate Dask's errors to ClusterError: a lost scheduler or partition, or a partition that ends its worker.

    Dask warns of large vectors in a graph and of labels that are text. Both are intended, and the warnings silenced.
    """
    try:
        with warnings.catch_warnings():
            for text in ("Sending large graph", "Dask currently has limited support for converting pandas"):
                warnings.filterwarnings("ignore", message=text, category=UserWarning)
            yield
    except KeyError as error:
        key = error.args[0] if error.args else None
        if not (isinstance(key, tuple) and key and isinstance(key[0], str)):  # not the key of a partition
            raise
        raise ClusterError(f"{_LOST_MESSAGE} (no worker stores {key})") from error
    except _find_error_types() as error:
        raise _as_cluster_error(error) from error


def _as_cluster_error(error: BaseException) -> ClusterError:
    """Convert an error of Dask: a partition has ended its worker, or else the cluster is gone."""
    if type(error).__name__ == "KilledWorker":
        return ClusterError(
            f"a partition ended each worker that was to compute it, which may be for want of memory ({error}): make "
            "partitions smaller, or workers larger"
        )
    return ClusterError(f"{_LOST_MESSAGE} ({type(error).__name__}: {error})")


def _find_error_types() -> tuple[type[BaseException], ...]:
    """Return the error types of Dask's cluster; none if `distributed` has not been imported."""
    if "distributed" not in sys.modules:
        return ()
    from distributed import CancelledError, client
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    closed = getattr(client, "ClosedClientError", CommClosedError)  # absent in older versions
    return concurrent.futures.CancelledError, CancelledError, CommClosedError, KilledWorker, closed
