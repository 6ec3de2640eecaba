"""Machines over a Dask cluster, solved where their rows are; and the same as a communicator of threads."""

from __future__ import annotations

import os
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from communicators import together
from spread_programs import slow_share

import qpsvm
from qpsvm.base.errors import DataError, ParameterError, UnsupportedError
from qpsvm.machines.problem.replaced import outlined
from qpsvm.program.solution import Status
from qpsvm.solve.distributed import member as members_program
from qpsvm.solve.distributed import solving
from qpsvm.solve.distributed.member import Chunk, Order, SpreadResult, solve_share
from qpsvm.solve.distributed.run import Settings

rng = np.random.default_rng(11)
N, D = 240, 5
X = rng.normal(size=(N, D))
Y = np.where(X[:, 0] + rng.normal(size=N) > 0, "yes", "no")
T = X @ np.arange(D) + rng.normal(size=N)
S = rng.integers(0, 3, N).astype(float)

MACHINES = {
    "C": lambda data: qpsvm.CSVM(*data[:2], C=3.0),
    "penalised": lambda data: qpsvm.CSVM(*data[:2], intercept="penalised"),
    "hinge": lambda data: qpsvm.PrimalHinge(*data[:2], lam=0.1),
    "squared": lambda data: qpsvm.SquaredHinge(*data[:2]),
    "huber": lambda data: qpsvm.HuberHinge(*data[:2]),
    "tube": lambda data: qpsvm.EpsilonSVR(data[0], data[2]),
    "squared tube": lambda data: qpsvm.EpsilonSVR(data[0], data[2], loss="squared"),
    "quantile": lambda data: qpsvm.QuantileSVR(data[0], data[2], quantile=0.2),
    "one class": lambda data: qpsvm.OneClass(data[0] + 3.0, kernel="linear"),
}


def shares(problem, cuts, Z=X, weight=None):
    """What members of a communicator of threads return, each with the rows between two cuts."""
    classes = problem.samples.classes
    target = problem.samples.target if classes is None else np.where(problem.samples.target > 0, *classes[::-1])
    order = Order(outlined(problem), D, classes, None, None, 1e-6, None, None, {})

    def program(comm):
        a, b = cuts[comm.rank], cuts[comm.rank + 1]
        part = Chunk(comm.rank, a, Z[a:b], target[a:b], None if weight is None else weight[a:b])
        return solve_share(comm, [part], order)

    return together(len(cuts) - 1, program)


@pytest.mark.parametrize("name", ["C", "penalised", "tube"])
def test_members_go_on_together_from_where_a_first_solve_ended(name, monkeypatch):
    """With samples that do not take part, and an intercept that is a sum over the rows of all."""
    attempt, starts = members_program.attempt, []

    def not_satisfied_at_first(problem, *asked):
        if asked[-1].start is None:
            return replace(attempt(problem, *asked), status=Status.INACCURATE, gap=1.0)
        starts.append(asked[-1].start)
        return attempt(problem, *asked)

    monkeypatch.setattr(members_program, "attempt", not_satisfied_at_first)
    first, second, third = (part.small for part in shares(MACHINES[name]((X, Y, T)), (0, 90, 90, N), weight=S))
    assert first["status"] == Status.OPTIMAL
    assert len(starts) == 3
    for other in (second, third):
        assert (other["gap"], other["b"], other["model"].w.tolist()) == (
            first["gap"], first["b"], first["model"].w.tolist(),
        )  # fmt: skip


@pytest.mark.parametrize("cuts", [(0, 100, N), (0, 0, 7, N)], ids=["two", "one without rows"])
@pytest.mark.parametrize("name", MACHINES)
def test_members_agree_and_their_gap_is_that_of_the_whole(name, cuts):
    whole = MACHINES[name]((X, Y, T))
    members = shares(whole, cuts, X + 3.0 if name == "one class" else X)
    first = members[0].small
    assert first["status"] == "optimal"
    assert "problem" not in first, "rows stay where they are"
    for member in members[1:]:
        same = member.small
        assert all(same[key] == first[key] for key in ("gap", "primal", "dual", "b", "counts"))
        assert np.array_equal(same["model"].w, first["model"].w)
    halves = [member.rows["alpha"].reshape(whole.sides, -1) for member in members]
    alpha = np.concatenate(halves, axis=1).ravel()
    judged = whole.certify(alpha, first["model"].w)
    assert judged.gap <= 1.001 * first["gap"] + 1e-14
    assert first["gap"] <= 1.001 * judged.gap + 1e-8
    assert sum(first["counts"]) == N


def test_classes_that_are_on_one_member_each_and_weights_of_nothing():
    order = np.argsort(Y, kind="stable")
    whole = qpsvm.CSVM(X[order], Y[order])
    members = shares(whole, (0, int(np.sum(Y == "no")), N), X[order])
    assert members[0].small["status"] == "optimal"
    weighed = qpsvm.CSVM(X, Y, sample_weight=S)
    members = shares(weighed, (0, 90, N), X, S)
    alpha = np.concatenate([member.rows["alpha"] for member in members])
    assert (alpha[S == 0.0] == 0.0).all()
    assert (alpha <= S).all()
    assert members[0].small["primal"] == pytest.approx(qpsvm.solve(weighed).primal, rel=2e-6)


cluster = pytest.mark.xdist_group("cluster")


@pytest.fixture
def held(whole):
    """X, labels, targets and weights on the workers."""
    da = pytest.importorskip("dask.array")
    parts = [da.from_array(X, chunks=(50, 2)), *(da.from_array(part, chunks=50) for part in (Y, T, S))]
    return whole.persist(parts)


@cluster
def test_a_machine_over_a_cluster(held):
    Z, y, t, s = held
    for name in ("C", "tube"):
        problem, known = MACHINES[name]((Z, y, t)), qpsvm.solve(MACHINES[name]((X, Y, T)))
        result = qpsvm.solve(problem)
        assert isinstance(result, SpreadResult)
        assert result.status == "optimal"
        assert "alpha" not in vars(result), "what belongs to a row stays with it"
        assert sum(result.counts) == N
        judged = MACHINES[name]((X, Y, T)).certify(result.alpha, result.w)
        assert judged.gap <= 1.001 * result.gap + 1e-14
        assert abs(result.primal - known.primal) <= 2e-6 * known.primal
        assert np.allclose(result.decision_function(X), known.decision_function(X), atol=0.05)
        proof = result.verify(tol=1e-6)
        assert bool(proof)
        assert proof.gap == pytest.approx(result.verify(MACHINES[name]((X, Y, T))).gap, rel=1e-6)
    alone = pickle.loads(pickle.dumps(result))
    assert np.array_equal(alone.alpha, result.alpha)
    assert str(alone) == str(result)
    assert np.array_equal(alone.target, T)
    assert alone.problem is None
    weighed = qpsvm.solve(qpsvm.CSVM(Z, y, sample_weight=s, class_weight="balanced"))
    known = qpsvm.solve(qpsvm.CSVM(X, Y, sample_weight=S, class_weight="balanced"))
    assert weighed.primal == pytest.approx(known.primal, rel=2e-6)


@cluster
def test_what_members_do_not_do_is_done_here_and_said(held, caplog):
    Z, y, _, _ = held
    with caplog.at_level("INFO", logger="qpsvm"):
        result = qpsvm.solve(qpsvm.NuSVM(Z, y, nu=0.8))
    assert result.status == "optimal"
    assert "no solver that runs on several workers" in caplog.text
    assert qpsvm.solve(qpsvm.CSVM(Z, y), "interior_point").backend == "interior_point"
    with pytest.raises(UnsupportedError, match="C is one for each sample"):
        qpsvm.solve(qpsvm.CSVM(Z, y, C=np.linspace(1, 2, N)))


@cluster
@pytest.mark.usefixtures("whole")
def test_sparse_partitions():
    da = pytest.importorskip("dask.array")
    Z = sp.csr_array(X * (np.abs(X) > 0.5))
    parts = da.from_array(Z.toarray(), chunks=(80, D)).map_blocks(sp.csr_array)
    result = qpsvm.solve(qpsvm.CSVM(parts, da.from_array(Y, chunks=80)))
    assert qpsvm.CSVM(Z, Y).certify(result.alpha, result.w).gap <= 1.001 * result.gap + 1e-14


@cluster
@pytest.mark.slow
@pytest.mark.usefixtures("whole")
def test_a_worker_killed_in_the_middle_of_a_solve(monkeypatch, tmp_path):
    da = pytest.importorskip("dask.array")
    many = da.random.default_rng(3).normal(size=(200_000, 12), chunks=(50_000, 12))  # which Dask can make again
    there, labels = many[:, 1:], da.where(many.sum(axis=1) > 0, 1, -1)
    problem = qpsvm.CSVM(there, labels)
    struck = []
    spread = solving.spread

    def with_a_blow(placed, _, *args, on_state, **options):
        address = next(iter(placed.holders()))
        pid = placed.client.run(os.getpid, workers=[address])[address]

        def strike(state):
            if not struck:
                struck.append(os.kill(pid, signal.SIGKILL))
            on_state(state)

        settings = Settings(recovery=300.0)
        return spread(placed, slow_share, *args, on_state=strike, settings=settings, **options)

    monkeypatch.setattr(solving, "spread", with_a_blow)
    path = tmp_path / "state"
    result = qpsvm.solve(problem, checkpoint=path)
    assert struck
    assert result.status == "optimal"
    Z, y = da.compute(there, labels)
    assert qpsvm.CSVM(Z, y).certify(result.alpha, result.w).gap <= 1.001 * result.gap + 1e-14
    here = qpsvm.solve(qpsvm.CSVM(Z, y), checkpoint=path)  # the same rows in another place go on from there
    assert here.status == "optimal"
    with pytest.raises(DataError, match="other data"):
        qpsvm.solve(qpsvm.CSVM(Z[:-1], y[:-1]), checkpoint=path)
    with pytest.raises(ParameterError, match="C = 1"):
        qpsvm.solve(qpsvm.CSVM(Z, y, C=2.0), checkpoint=path)
