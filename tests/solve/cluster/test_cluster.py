"""Machines over a Dask collection: the rows stay where they are, and the answers are those of the rows in memory."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.base.errors import ClusterError, DataError, DataTypeError, ParameterTypeError, UnknownOptionError
from qpsvm.data.rows import transformed
from qpsvm.data.sources import dask_cluster
from qpsvm.data.sources import dask_rows as module
from qpsvm.data.sources.dask_rows import DaskRows
from qpsvm.data.sources.packed import PackedVector, pack, unpack

da = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
cluster = pytest.mark.xdist_group("cluster")

rng = np.random.default_rng(11)
N, D = 5000, 5
X = rng.normal(size=(N, D)) + 0.5
Y = np.where(X[:, 0] + rng.normal(size=N) > 0.5, "yes", "no")
T = X @ np.arange(D) + rng.normal(size=N)
S = rng.integers(0, 3, N).astype(float)
SIGNS = qpsvm.Constraints.signs(X, {0: -1})

#: Of rows, and what is to be learnt of each: labels of two classes, numbers, or nothing.
MACHINES = {
    "C": (qpsvm.CSVM, Y, {"C": 3.0}), "penalised": (qpsvm.CSVM, Y, {"intercept": "penalised"}),
    "hinge": (qpsvm.PrimalHinge, Y, {"lam": 0.1, "intercept": None}), "squared": (qpsvm.SquaredHinge, Y, {}),
    "huber": (qpsvm.HuberHinge, Y, {}), "tube": (qpsvm.EpsilonSVR, T, {}),
    "squared tube": (qpsvm.EpsilonSVR, T, {"loss": "squared"}), "quantile": (qpsvm.QuantileSVR, T, {"quantile": 0.2}),
    "one class": (qpsvm.OneClass, None, {"kernel": "linear"}), "ball": (qpsvm.SVDD, None, {}),
    "nu": (qpsvm.NuSVM, Y, {"nu": 0.8}), "nu tube": (qpsvm.NuSVR, T, {"nu": 0.3}),
    "constrained": (qpsvm.CSVM, Y, {"constraints": SIGNS}),
    "weighed": (qpsvm.CSVM, Y, {"sample_weight": S, "class_weight": "balanced"}),
    "C each": (qpsvm.CSVM, Y, {"C": np.linspace(0.5, 2.0, N)}),
}  # fmt: skip


def make_machine(name, rows, there=False):
    """Make a machine over rows; with its target on the workers as well, in parts of another size."""
    machine, target, options = MACHINES[name]
    if target is None:
        return machine(rows, **options)
    return machine(rows, da.from_array(target, chunks=900) if there else target, **options)


@pytest.fixture
def remote_table(monkeypatch):
    """No table is small enough to come here, and few rows of it are."""
    monkeypatch.setattr(module, "SMALL_TABLE", 0.0)
    monkeypatch.setattr(transformed, "MAX_FETCHED_BYTES", 40_000.0)


@pytest.fixture
def graphs(monkeypatch):
    """How many graphs were computed, as the length of a list."""
    seen = []
    computed = DaskRows._compute

    def count_calls(self, calls):
        seen.append(len(calls))
        return computed(self, calls)

    monkeypatch.setattr(DaskRows, "_compute", count_calls)
    return seen


@pytest.fixture
def worker_rows(full_cluster):
    """X on the workers, in partitions of several sizes; one has no rows."""
    return full_cluster.persist(da.from_array(X, chunks=((1200, 0, 2000, 1800), 2)))


def agrees(result, known):
    assert result.status == "optimal"
    assert abs(result.primal - known.primal) <= 2e-6 * abs(known.primal)


@cluster
@for_each("name", MACHINES)
@pytest.mark.usefixtures("remote_table")
def test_every_linear_machine(worker_rows, name):
    problem = make_machine(name, worker_rows, there=True)
    here = make_machine(name, X)
    assert isinstance(problem.X, DaskRows)
    result = qpsvm.solve(problem)
    agrees(result, qpsvm.solve(here))
    if name != "constrained":  # whose certificate takes more than α
        judged = here.certify(result.alpha, result.w)
        assert judged.gap <= 1.001 * result.gap + 1e-14
        assert result.verify(here, tol=1e-6)


@cluster
@pytest.mark.usefixtures("remote_table")
def test_the_rows_of_several_classes_come_here(worker_rows):
    few = worker_rows[:600]
    classes = np.digitize(T[:600], [0.0, 8.0])
    problem = qpsvm.CrammerSinger(few, da.from_array(classes, chunks=250))
    assert not isinstance(problem.X, DaskRows)
    agrees(qpsvm.solve(problem), qpsvm.solve(qpsvm.CrammerSinger(X[:600], classes)))


@cluster
@pytest.mark.usefixtures("full_cluster")
def test_how_often_the_workers_are_asked(graphs, monkeypatch):
    monkeypatch.setattr(module, "SMALL_TABLE", 0.0)
    many = da.random.default_rng(3).normal(size=(100_000, 6), chunks=(30_000, 6)).persist()
    rows = many[:, 1:]
    label = np.asarray(many.sum(axis=1) > 0)
    for problem in (qpsvm.CSVM(rows, label), qpsvm.EpsilonSVR(rows, many[:, 0] + many[:, 1])):
        graphs.clear()
        assert qpsvm.solve(problem).status == "optimal"
        assert len(graphs) <= 15
    assert max(graphs) == 4, "a task for each partition"


@cluster
def test_a_small_table_comes_here_in_one_graph(worker_rows, graphs):
    for name in ("C", "tube", "nu"):
        problem, here = make_machine(name, worker_rows), make_machine(name, X)
        graphs.clear()
        result, known = qpsvm.solve(problem), qpsvm.solve(here)
        assert len(graphs) == 1
        assert (result.gap, result.b) == (known.gap, known.b)
        assert np.array_equal(result.w, known.w)


@cluster
@pytest.mark.usefixtures("remote_table")
def test_what_a_result_gives_is_what_it_gives_of_an_array(worker_rows):
    problem = make_machine("C", worker_rows)
    result = qpsvm.solve(problem)
    assert sum(result.counts) == N
    assert np.allclose(result.decision_function(X[:9]), problem.X.take(np.arange(9)) @ result.w + result.b)
    assert str(pickle.loads(pickle.dumps(result.model)).w) == str(result.w)
    assert copy.deepcopy(problem).X is problem.X
    alone = pickle.loads(pickle.dumps(problem))  # with its rows
    assert qpsvm.solve(alone).gap == pytest.approx(qpsvm.solve(make_machine("C", X)).gap, rel=1e-9)
    again = qpsvm.solve(make_machine("C", worker_rows), start=result)
    agrees(again, result)
    proof = result.verify(make_machine("C", X), tol=1e-6)
    assert proof


@cluster
@pytest.mark.usefixtures("remote_table")
def test_features_are_made_where_the_rows_are(worker_rows):
    kernel = qpsvm.RandomFourier(gamma=0.1, components=20, seed=0)
    problem, here = qpsvm.CSVM(worker_rows, Y, kernel=kernel), qpsvm.CSVM(X, Y, kernel=kernel)
    result = qpsvm.solve(problem)
    agrees(result, qpsvm.solve(here))
    assert isinstance(problem.space.samples, DaskRows)


@cluster
@pytest.mark.usefixtures("remote_table", "full_cluster")
def test_sparse_partitions_and_single_precision():
    Z = sp.csr_array(X * (np.abs(X) > 1.0))
    parts = da.from_array(Z.toarray(), chunks=(2000, D)).map_blocks(sp.csr_array)
    agrees(qpsvm.solve(qpsvm.CSVM(parts, Y)), qpsvm.solve(qpsvm.CSVM(Z, Y)))
    single = X.astype(np.float32)
    result = qpsvm.solve(qpsvm.CSVM(da.from_array(single, chunks=(900, D)), Y))
    agrees(result, qpsvm.solve(qpsvm.CSVM(single, Y)))


@cluster
@pytest.mark.usefixtures("remote_table", "full_cluster")
def test_frames_and_names_of_columns():
    table = pd.DataFrame(X, columns=list("abcde")).assign(label=Y, weight=S)
    frame = frames.from_pandas(table, npartitions=4)
    problem = qpsvm.CSVM(frame, "label", sample_weight="weight")
    assert problem.samples.feature_names == tuple("abcde")
    agrees(qpsvm.solve(problem), qpsvm.solve(qpsvm.CSVM(X, Y, sample_weight=S)))
    few = frame[frame["a"] > 0.0]  # partitions of sizes that nobody knows
    kept = X[:, 0] > 0.0
    agrees(qpsvm.solve(qpsvm.CSVM(few, "label", sample_weight="weight")),
           qpsvm.solve(qpsvm.CSVM(X[kept], Y[kept], sample_weight=S[kept])))  # fmt: skip
    with pytest.raises(UnknownOptionError, match="no column 'lable'; did you mean 'label'"):
        qpsvm.CSVM(frame, "lable")
    with pytest.raises(DataTypeError, match="type"):
        qpsvm.CSVM(frame, Y)
    with pytest.raises(DataError, match="y has"):
        qpsvm.CSVM(frame[list("abcde")], Y[:-1])


@for_each("spoil, said", [
    (lambda Z: Z.map_blocks(lambda part: np.where(part == part.max(), np.nan, part)), r"partition 0 of X: .*row \d+"),
    (lambda Z: Z.astype(complex), "type complex"), (lambda Z: Z[:, 0], "2 dimensions"), (lambda Z: Z[:0], "empty"),
])  # fmt: skip
def test_what_is_wrong_is_named(spoil, said):
    """Without a cluster: Dask computes in threads of this process."""
    with pytest.raises((DataError, DataTypeError), match=said):
        qpsvm.CSVM(spoil(da.from_array(X, chunks=(900, D))), Y)


def test_in_threads_of_this_process(remote_table):  # noqa: ARG001
    Z = da.from_array(X, chunks=(900, 2))
    agrees(qpsvm.solve(make_machine("C", Z)), qpsvm.solve(make_machine("C", X)))
    with pytest.raises(ParameterTypeError, match="y is missing"):
        qpsvm.CSVM(Z)
    result = qpsvm.solve(qpsvm.CSVM(Z, Y, kernel="rbf"), time_limit=60.0)  # whose rows come here
    agrees(result, qpsvm.solve(qpsvm.CSVM(X, Y, kernel="rbf")))


def test_a_time_limit_is_kept_between_graphs(remote_table, monkeypatch):  # noqa: ARG001
    computed = DaskRows._compute

    def slowly(self, calls):
        time.sleep(0.1)
        return computed(self, calls)

    problem = make_machine("C", da.from_array(X, chunks=(900, 2)))
    monkeypatch.setattr(DaskRows, "_compute", slowly)
    began = time.monotonic()
    result = qpsvm.solve(problem, time_limit=0.2, check=False)
    assert result.status in ("time_limit", "optimal")
    assert np.isfinite(result.gap)
    assert time.monotonic() - began < 10.0


@for_each("values", [
    np.zeros(3000), np.ones(3000), rng.integers(-1, 2, 3000).astype(float), rng.normal(size=3000), np.arange(3.0),
    np.where(rng.random(3000) < 0.1, rng.normal(size=3000), 5.0), np.array([-0.0] * 2000 + [1e-320, -2.0]),
])  # fmt: skip
def test_a_vector_that_travels_is_the_same_when_it_arrives(values):
    sent = pickle.loads(pickle.dumps(pack(values)))
    assert np.array_equal(unpack(sent), values)
    if isinstance(sent, PackedVector):
        assert len(pickle.dumps(sent)) < 0.7 * values.nbytes


@cluster
@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_solve_changes_no_digit(full_cluster, monkeypatch, remote_table):  # noqa: ARG001
    many = da.random.default_rng(3).normal(size=(200_000, 12), chunks=(25_000, 12))  # which Dask can make again
    there = many[:, 1:]
    labels = da.where(many.sum(axis=1) > 0, 1, -1)
    known = qpsvm.solve(qpsvm.CSVM(there, labels))
    pids = full_cluster.run(os.getpid)
    asked = []
    computed = DaskRows._compute

    def struck(self, calls):
        asked.append(len(calls))
        if len(asked) == 4:
            threading.Timer(0.02, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()
        return computed(self, calls)

    problem = qpsvm.CSVM(there, labels)
    monkeypatch.setattr(DaskRows, "_compute", struck)
    result = qpsvm.solve(problem)
    assert len(asked) > 4
    assert (result.status, result.gap, result.b) == ("optimal", known.gap, known.b)
    assert np.array_equal(result.w, known.w)


@cluster
@pytest.mark.slow
def test_where_all_workers_are_gone_it_is_said(bare_workers, monkeypatch, remote_table):  # noqa: ARG001
    monkeypatch.setattr(dask_cluster, "WORKER_TIMEOUT", 2.0)
    problem = make_machine("C", da.from_array(X, chunks=900))
    for pid in bare_workers.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ClusterError, match=r"workers of the Dask cluster have been gone|lost these rows"):
        qpsvm.solve(problem)
