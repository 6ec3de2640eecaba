"""The one cluster of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two workers of one thread each, in processes of their own, with nannies."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture
def whole(client: Any) -> Any:
    """The client of a cluster that has both of its workers, before the test and after it."""
    client.wait_for_workers(2, timeout=60)
    yield client
    client.wait_for_workers(2, timeout=60)
