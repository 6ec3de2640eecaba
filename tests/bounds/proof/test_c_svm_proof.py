"""What `result.verify()` says of the numbers of a C-SVM, judged by the textbook's objectives in rational numbers."""

import pickle

import numpy as np
import pytest
from each import for_each
from textbook_gap import TextbookMachine, compute_textbook_objectives

import qpsvm


def table(n, d=3, seed=0, scale=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = offset + scale * rng.standard_normal((n, d))
    return X, (X[:, 0] - offset + 0.5 * scale * rng.standard_normal(n) > 0).astype(int)


def exact_alpha(proof):
    point = proof.record["point"]
    return [point[k] for k in range(len(point.alpha))]


@for_each("scale, offset, C", [(1.0, 0.0, 1.0), (1e4, 0.0, 1e-6), (1.0, 1e5, 100.0), (1e-3, 1.0, 1e3)])
def test_the_gap_is_between_the_bounds(arithmetic, scale, offset, C):
    X, y = table(30, scale=scale, offset=offset)
    machine = TextbookMachine("c", X, 2.0 * y - 1.0, C=C)
    problem = machine.problem
    for result in (qpsvm.solve(problem, check=False), problem.at(np.full(30, C / 3))):
        proof = result.verify()
        primal, dual = compute_textbook_objectives(machine, result, exact_alpha(proof))
        gap = (primal - dual) / max(abs(primal), abs(dual))
        assert proof.exactly is (arithmetic == "rational")
        assert proof.least_gap <= gap <= proof.gap <= 10 * result.gap + 1e-9
        assert dual >= proof.dual
        assert primal <= proof.primal
        assert primal - dual <= proof.difference


def test_what_the_rounding_of_b_costs_is_said():
    """Two rows at 2e6: the gap of the floats is 1e8 times that of the best b, which is no float."""
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(4):
        first = 2e6 + rng.uniform(0, 1)
        proof = qpsvm.solve(
            qpsvm.CSVM([[first], [first + rng.uniform(0.1, 1)]], [0, 1], C=5e4), "kernel_newton", check=False
        ).verify()
        assert proof.remains <= proof.gap
        if proof.remains < 1e-3 * proof.gap:
            seen += 1
            (said,) = (claim for claim in proof.claims if claim.kind == "intercept")
            assert "rounding of b" in said.text
            assert proof.remains < 1e-14
    assert seen


def test_a_claim_is_proven_refuted_or_open():
    X, y = table(40)
    problem = qpsvm.CSVM(X, y)
    result = qpsvm.solve(problem)
    assert result.verify(tol=1e-6)
    bad = problem.at(np.full(40, 0.01))
    proof = bad.verify(tol=1e-3)
    assert not proof
    assert proof.claims[-1].verdict == "refuted"
    assert "refuted" in str(proof)
    assert 1e-3 < proof.least_gap <= proof.gap


def test_numbers_that_are_none_prove_nothing():
    from dataclasses import replace

    X, y = table(12)
    result = qpsvm.solve(qpsvm.CSVM(X, y))
    for bad in (np.nan, np.inf, 1e308):
        proof = replace(result, model=replace(result.model, w=np.full(3, bad))).verify()
        assert not proof.gap < 1e-3


def test_a_pickled_result_needs_its_problem():
    X, y = table(12)
    problem = qpsvm.CSVM(X, y)
    again = pickle.loads(pickle.dumps(qpsvm.solve(problem)))
    with pytest.raises(qpsvm.UnsupportedError, match="verify\\(problem\\)"):
        again.verify()
    assert again.verify(problem).gap < 1e-12
    with pytest.raises(qpsvm.DataError):
        again.verify(qpsvm.CSVM(X[:10], y[:10]))


def test_a_result_keeps_no_gram_matrix():
    X, y = table(30)
    result = qpsvm.solve(qpsvm.CSVM(X, y))
    assert not {"space", "svm", "_dual_structure"} & set(vars(result.problem))
