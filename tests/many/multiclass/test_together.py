"""Many binary machines at once: each is the machine that `qpsvm.solve` solves alone, and its gap is a bound."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from binary_machines import solve_pairs, solve_rest
from sklearn.datasets import load_iris

import qpsvm
from qpsvm import core
from qpsvm.base.errors import DataError, InfeasibleNuError, ParameterError, UnsupportedError

X, y = load_iris(return_X_y=True)
X = X[::3] - X.mean(axis=0)
labels, codes = np.unique(y[::3], return_inverse=True)
RBF = qpsvm.RBF(0.4)


def solve_pair(machine: str, X, codes, pair, weight=None, **given):
    """Return the result of one machine by itself, and its rows."""
    i, j = pair
    rows = np.flatnonzero((codes == i) | (codes == j) | (j < 0))
    rows = rows if weight is None else rows[weight[rows] > 0]
    inside = codes[rows] == i if j < 0 else codes[rows] == j
    s = None if weight is None else weight[rows]
    return qpsvm.solve(getattr(qpsvm, machine)(X[rows], inside, sample_weight=s, **given)), rows


def decision(together, K):
    return K @ together.coef.toarray().T + together.b


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), RBF, qpsvm.Polynomial(2, 0.3, 1.0)], ids=str)
@pytest.mark.parametrize(
    ("machine", "parameters"), [("CSVM", {"C": 1.0}), ("CSVM", {"C": 100.0}), ("NuSVM", {"nu": 0.4})]
)
def test_pairs_and_rest_are_the_machines_alone(kernel, machine, parameters):
    for solved in (solve_pairs, solve_rest):
        together = solved(X, codes, labels, machine=machine, parameters=parameters, kernel=kernel)
        assert together.optimal
        values = decision(together, kernel(X, X))
        for p, pair in enumerate(together.machines):
            result, rows = solve_pair(machine, X, codes, pair, kernel=kernel, **parameters)
            assert abs(together.results[p].primal - result.primal) <= 3e-6 * abs(result.primal)
            np.testing.assert_allclose(values[rows, p], result.decision_function(X[rows]), atol=2e-2)
            assert together.gap[p] <= 1e-6
            assert together.results[p].gap <= 1e-6
            np.testing.assert_allclose(together.results[p].b, together.b[p], rtol=1e-6, atol=1e-9)


def test_shapes_and_support():
    together = solve_pairs(X, codes, labels, parameters={"C": 1.0}, kernel=RBF)
    assert together.coef.shape == (3, len(X))
    assert together.machines.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert len(together.results) == len(together.status) == len(together.iterations) == 3
    dense = together.coef.toarray()
    np.testing.assert_array_equal(together.support, np.flatnonzero(np.abs(dense).sum(axis=0)))
    for p, (i, j) in enumerate(together.machines):
        assert not dense[p, (codes != i) & (codes != j)].any()
        assert (dense[p, codes == j] >= 0).all()
        assert (dense[p, codes == i] <= 0).all()
    again = pickle.loads(pickle.dumps(together))
    np.testing.assert_array_equal(again.b, together.b)
    assert again.results[-1].status is qpsvm.Status.OPTIMAL
    with pytest.raises(IndexError):
        together.results[3]


def test_weights_of_every_size_and_none():
    rng = np.random.default_rng(0)
    weight = rng.choice([0.0, 1e-8, 1.0, 1e4], len(X))
    for solved in (solve_pairs, solve_rest):
        together = solved(X, codes, labels, parameters={"C": 2.0}, kernel=RBF, sample_weight=weight)
        assert together.optimal
        dense = together.coef.toarray()
        assert not dense[:, weight == 0].any()
        assert (np.abs(dense) <= 2.0 * weight).all()
        for p, pair in enumerate(together.machines):
            result, _ = solve_pair("CSVM", X, codes, pair, weight, kernel=RBF, C=2.0)
            assert abs(together.results[p].primal - result.primal) <= 3e-6 * abs(result.primal)


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), RBF], ids=str)
def test_single_samples_and_duplicates(kernel):
    Z = np.vstack([X[:1], X[:1], X[:1], X[20:21], X[40:41], X[40:41] + 1.0])
    few = np.array([0, 0, 1, 2, 3, 3])
    together = solve_pairs(Z, few, np.arange(4), parameters={"C": 3.0}, kernel=kernel)
    assert together.optimal
    assert solve_rest(Z, few, np.arange(4), parameters={"C": 3.0}, kernel=kernel).optimal


def test_sparse_is_dense_and_precomputed_is_its_kernel():
    whole = solve_pairs(X, codes, labels, parameters={"C": 1.0}, kernel=RBF, tol=1e-9)
    K = decision(whole, RBF(X, X))
    sparse = solve_pairs(sp.csr_array(X), codes, labels, parameters={"C": 1.0}, kernel=RBF, tol=1e-9)
    given = solve_pairs(RBF(X, X), codes, labels, parameters={"C": 1.0}, kernel=qpsvm.Precomputed(), tol=1e-9)
    for other in (sparse, given):
        np.testing.assert_allclose(decision(other, RBF(X, X)), K, atol=1e-4)
    assert given.results[0].status is qpsvm.Status.OPTIMAL


def test_an_indefinite_matrix_of_all_may_be_fine_in_its_parts():
    """Every two classes have a positive semidefinite part; all three together do not."""
    signs = np.array([1.0, -1.0, 1.0])[(codes[:, None] + codes) % 3]
    K = RBF(X, X) * np.where(codes[:, None] == codes, 1.0, 0.0) + 0.75 * signs * (codes[:, None] != codes)
    with pytest.raises(qpsvm.IndefiniteKernelError):
        qpsvm.solve(qpsvm.CSVM(K, codes > 0, kernel=qpsvm.Precomputed()))
    given = {"parameters": {"C": 1.0}, "kernel": qpsvm.Precomputed()}
    with pytest.raises(qpsvm.IndefiniteKernelError):
        solve_pairs(K, codes, labels, **given)
    assert solve_pairs(K, codes, labels, psd="clip", **given).optimal


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), RBF], ids=str)
@pytest.mark.parametrize(("machine", "parameters"), [("CSVM", {"C": 3.0}), ("NuSVM", {"nu": 0.2})])
def test_pairs_apart_are_the_same(monkeypatch, kernel, machine, parameters):
    """More rows than one Gram matrix is made of."""
    weight = 1.0 + (np.arange(len(X)) % 3)
    given = {"machine": machine, "parameters": parameters, "kernel": kernel, "sample_weight": weight, "tol": 1e-9}
    together = solve_pairs(X, codes, labels, **given)
    monkeypatch.setattr("qpsvm.many.multiclass.split.MAX_SHARED_ROWS_BULK", 10)
    apart = solve_pairs(X, codes, labels, **given)
    assert apart.optimal
    np.testing.assert_allclose(apart.coef.toarray(), together.coef.toarray(), atol=1e-6)
    np.testing.assert_allclose(apart.b, together.b, atol=1e-8)
    np.testing.assert_allclose(apart.rho, together.rho, atol=1e-8)
    again = pickle.loads(pickle.dumps(apart))
    np.testing.assert_allclose(again.results[1].b, apart.b[1], rtol=1e-9)


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
def test_squared_hinges_with_any_intercept(intercept):
    given = {"machine": "SquaredHinge", "parameters": {"C": 1.0}, "intercept": intercept}
    for solved in (solve_pairs, solve_rest):
        together = solved(X, codes, labels, kernel=qpsvm.Linear(), **given)
        assert together.optimal
        assert together.solver.name == "primal newton"
        for p, pair in enumerate(together.machines):
            result, _ = solve_pair("SquaredHinge", X, codes, pair, kernel="linear", intercept=intercept, C=1.0)
            assert abs(together.results[p].primal - result.primal) <= 3e-6 * result.primal
            np.testing.assert_allclose(together.w[p], result.w, atol=1e-4)
            np.testing.assert_allclose([together.b[p], together.results[p].b], result.b, atol=1e-4)
    assert solve_rest(X, codes, labels, kernel=RBF, **given).optimal


def test_a_result_is_optimal_even_where_alpha_alone_is_not_good_enough():
    """What was certified is α with w and b; where others follow from that α, the machine is solved from there."""
    together = solve_rest(X, codes, labels, machine="SquaredHinge", parameters={"C": 1.0}, kernel=qpsvm.Linear())
    maker = together.results._build
    worse = replace(maker, coef=maker.coef * 0.9)
    assert worse(1).status is qpsvm.Status.OPTIMAL
    assert abs(worse(1).primal - together.results[1].primal) <= 3e-6 * worse(1).primal


def test_machines_that_only_solve_knows():
    together = solve_rest(X, codes, labels, machine="CSVM", parameters={"C": 1.0}, kernel=RBF, intercept=None)
    assert together.optimal
    assert not together.b.any()
    assert solve_rest(X, codes, labels, machine="PrimalHinge", parameters={"lam": 0.1}, kernel=RBF).optimal


def test_options_go_to_solve_and_start_is_taken():
    first = solve_pairs(X, codes, labels, parameters={"C": 1.0}, kernel=RBF)
    again = solve_pairs(X, codes, labels, parameters={"C": 1.1}, kernel=RBF, start=first)
    assert again.optimal
    usual = {"backend": "auto", "max_iter": None, "time_limit": None, "verbose": False}
    same = solve_pairs(X, codes, labels, parameters={"C": 1.1}, kernel=RBF, **usual)
    assert core.compiled is None or same.solver.name == "working set"  # with usual options the usual road
    named = solve_pairs(X, codes, labels, parameters={"C": 1.0}, kernel=RBF, backend="cvxopt")
    assert named.optimal
    assert named.solver.name == "cvxopt"
    np.testing.assert_allclose(named.b, first.b, atol=1e-3)
    other = solve_pairs(X[::2], codes[::2], labels, parameters={"C": 1.0}, kernel=RBF)
    with pytest.raises(DataError, match="same rows"):
        solve_rest(X, codes, labels, parameters={"C": 1.0}, kernel=RBF, start=other)


def test_what_is_wrong_is_named():
    with pytest.raises(InfeasibleNuError) as raised:
        solve_pairs(X[:-10], codes[:-10], labels, machine="NuSVM", parameters={"nu": 0.9}, kernel=RBF)
    assert "class 0 against class 2" in "".join(raised.value.__notes__)
    with pytest.raises(DataError, match="class 2 are 0"):
        solve_pairs(X, codes, labels, parameters={"C": 1.0}, kernel=RBF, sample_weight=1.0 * (codes < 2))
    with pytest.raises(DataError, match="at least two classes"):
        solve_rest(X, 0 * codes, labels[:1], parameters={"C": 1.0}, kernel=RBF)
    with pytest.raises(ParameterError, match="no machine"):
        solve_rest(X, codes, labels, machine="Ranking1", parameters={"C": 1.0}, kernel=RBF)


def test_a_machine_that_nobody_has_used_yet_is_found_by_its_name(monkeypatch):
    """Machines of ours are imported late: a name is no reason to say that there is none."""
    monkeypatch.delitem(qpsvm.Problem._registered_machines, "SquaredHinge", raising=False)
    assert solve_rest(X, codes, labels, machine="SquaredHinge", parameters={"C": 1.0}, kernel=qpsvm.Linear()).optimal
    for name in ("Problem", "CrammerSinger", "Constraints"):
        with pytest.raises(ParameterError, match=f"no machine '{name}'.*HardMargin"):
            solve_rest(X, codes, labels, machine=name, parameters={"C": 1.0}, kernel=qpsvm.Linear())


@pytest.mark.parametrize("backend", ["auto", "interior_point"])
def test_every_machine_is_proven(backend):
    """Solved in bulk or one by one: results know their samples, of which none is kept before somebody asks."""
    together = solve_rest(X, codes, labels, parameters={"C": 1.0}, kernel=qpsvm.Linear(), backend=backend)
    proofs = together.results.verify(tol=1e-6)
    assert proofs
    assert proofs.proven == len(proofs) == 3
    assert proofs.gap == max(proof.gap for proof in proofs) <= 1e-6
    assert str(proofs).startswith("3 machines, 3 proven")
    refuted = together.results.verify(tol=1e-300)
    assert not refuted
    assert "machine 2: refuted" in str(refuted)
    with pytest.raises(UnsupportedError, match="verify\\(problem\\)"):
        pickle.loads(pickle.dumps(together)).results[0].verify()
