"""Where partitions are, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest
from spread_programs import every_way

import qpsvm
from qpsvm.base.errors import ClusterError, DataError, UnsupportedError
from qpsvm.data.sources.dask_rows import DaskRows
from qpsvm.solve.distributed.run import _balance, chosen_client, place
from qpsvm.solve.distributed.solving import spread

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.xdist_group("cluster")

X = np.random.default_rng(0).standard_normal((300, 4))


def squares(placed):
    """What the members find Σ x² to be, and the rows."""
    told = spread(placed, every_way)[0].small
    return told["sums"][0], told["count"]


def test_chunks_of_sizes_that_are_not_known(whole):
    kept = X[X[:, 0] > 0.0]
    table = da.from_array(X, chunks=(70, 2))
    placed = place(table[table[:, 0] > 0.0], np.arange(float(len(kept))), client=whole, worth=1)
    assert sum(placed.lengths) == len(kept)
    assert squares(placed) == (pytest.approx(np.sum(np.square(kept))), len(kept))
    with pytest.raises(DataError, match="y has 3 entries but X has"):
        place(table[table[:, 0] > 0.0], np.ones(3))


def test_what_is_persisted_stays_where_it_is(whole):
    table = whole.persist(da.from_array(X, chunks=(50, -1)))
    placed = place(table, client=whole)
    assert {future.key for future in placed.features} == {future.key for future in whole.futures_of(table)}
    assert all(numbers for numbers in placed.holders().values())
    assert chosen_client(table) is whole


def test_partitions_that_do_not_fit_are_named(whole):
    parts = [da.from_array(np.ones((5, width)), chunks=-1) for width in (3, 3)]
    parts.append(da.map_blocks(lambda: np.ones((5, 4)), chunks=((5,), (3,)), dtype=float))
    with pytest.raises(DataError, match="partition 2 of X has 4 columns, the ones before it 3"):
        place(da.concatenate(parts), client=whole)
    holes = X.copy()
    holes[77, 2] = np.nan
    with pytest.raises(DataError, match="partition 1 of X: row 27, column 2 is NaN"):
        place(da.from_array(holes, chunks=(50, -1)), client=whole)


def test_rows_are_shared_out_evenly_where_partitions_allow():
    lengths = [10, 10, 10, 10, 0, 1]
    found = {"a": [0, 1, 2, 3], "b": [5], "c": []}
    loads = {"a": 40, "b": 1, "c": 0}
    _balance(found, loads, lengths)
    assert sorted(k for numbers in found.values() for k in numbers) == [0, 1, 2, 3, 5]
    assert loads == {name: sum(lengths[k] for k in numbers) for name, numbers in found.items()}
    assert max(loads.values()) == 20
    one = {"a": [0], "b": []}
    _balance(one, {"a": 10, "b": 0}, [10])
    assert one == {"a": [0], "b": []}


def test_without_a_cluster():
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        rows = DaskRows(da.from_array(X, chunks=(50, -1)))
        assert chosen_client(rows.collection) is None
        with pytest.raises(UnsupportedError, match="no Dask cluster"):
            place(rows)


def ends_its_worker(block):  # noqa: ARG001
    """A partition during which a worker runs out of memory, say."""
    os._exit(1)


def test_a_partition_that_ends_its_worker_is_a_cluster_error(whole):
    whole.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    X = da.ones((40, 3), chunks=(20, -1))
    try:
        with pytest.raises(ClusterError, match="ended each worker"):
            qpsvm.OneClass(X.map_blocks(ends_its_worker, dtype=float, meta=np.empty((0, 0))))
    finally:
        whole.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))


def test_a_scheduler_that_is_gone_is_a_cluster_error():
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    table, y = np.random.default_rng(0).normal(size=(40, 3)), np.repeat([0, 1], 20)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        X = da.from_array(table, chunks=(20, -1)).persist()
        problem = qpsvm.CSVM(X, da.from_array(y, chunks=20))
        cluster.close()
        for call in (
            lambda: qpsvm.solve(problem),
            lambda: qpsvm.solve(problem, "cvxopt"),
            lambda: qpsvm.CSVM(X, da.from_array(y, chunks=20)),
        ):
            with pytest.raises(ClusterError):
                call()
