"""The one cluster of these tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

#: Less background work in an idle cluster, such as profiling itself, whose results no test reads.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing-interval": "1s",
}


@pytest.fixture(scope="package")
def client() -> Iterator[Any]:
    """Two workers of one thread each, in processes of their own, with nannies; gone with the last of these tests.

    An idle cluster takes a part of a core: it ends with the tests of this folder, which is a package for that.
    """
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    lasting = {"distributed.deploy.lost-worker-timeout": "1h"}  # a name that is missing is given up
    settings = dask.config.set(lasting | QUIET)
    with settings, distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture
def full_cluster(client: Any) -> Any:
    """The client of a cluster that has both of its workers, before the test and after it."""
    client.wait_for_workers(2, timeout=300)
    yield client
    client.wait_for_workers(2, timeout=300)


@pytest.fixture
def bare_workers() -> Iterator[Any]:
    """Two workers without nannies, of a cluster of their own: what dies stays dead."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster, distributed.Client(cluster) as own:
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            cluster.scheduler_address,
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
        ]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        processes = [
            subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(2)
        ]
        try:
            own.wait_for_workers(2, timeout=300)
            yield own
        finally:
            for process in processes:
                process.kill()
                process.wait()
