"""What a Dask cluster raises where it cannot go on, as this library's own error."""

from __future__ import annotations

import concurrent.futures
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from qpsvm.base.errors import ClusterError


@contextmanager
def cluster_faults() -> Iterator[None]:
    """Say in our own words that the scheduler is gone, that futures were lost, or that a partition ends its worker.

    Raises ClusterError.
    """
    try:
        yield
    except KeyError as error:
        key = error.args[0] if error.args else None
        if not (isinstance(key, tuple) and key and isinstance(key[0], str)):  # of a partition that nobody holds
            raise
        raise ClusterError(f"{_GONE} (nobody holds {key})") from error
    except _kinds() as error:
        raise fault_of(error) from error


def fault_of(error: BaseException) -> ClusterError:
    """The error for one of Dask's: a partition that ends its worker, or else a cluster that is gone."""
    if type(error).__name__ == "KilledWorker":
        return ClusterError(
            f"a partition ended each worker that was to compute it, which may be for want of memory ({error}): make "
            "partitions smaller, or workers larger"
        )
    return ClusterError(f"{_GONE} ({type(error).__name__}: {error})")


def is_killed(error: BaseException | None) -> bool:
    """Whether it is Dask's error for a task during which workers died."""
    return type(error).__name__ == "KilledWorker"


_GONE = (
    "the Dask cluster has lost these rows, or its scheduler is gone: connect a Client anew, and make the collection "
    "and the problem again"
)


def _kinds() -> tuple[type[BaseException], ...]:
    """Dask's errors, where its cluster is in use."""
    if "distributed" not in sys.modules:
        return ()
    from distributed import CancelledError, client
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    closed = getattr(client, "ClosedClientError", CommClosedError)  # which older versions do not have
    return concurrent.futures.CancelledError, CancelledError, CommClosedError, KilledWorker, closed
