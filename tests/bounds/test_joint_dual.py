"""The dual of the joint machines: repair without a rounding left, and the operator that couples classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import qpsvm
from qpsvm.bounds.class_intercepts import fit_free_rows, improve_class_intercepts
from qpsvm.bounds.class_repair import project_on_simplex, repair_classes
from qpsvm.bounds.proof.terms import RowBounds, bound_terms_above
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.losses import compute_block_terms
from qpsvm.space.operators import Dense, LowRank, couple_classes


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("intercept", ["free", None])
def test_a_repaired_alpha_is_feasible_to_the_last_bit(shared, intercept):
    rng = np.random.default_rng(0)
    for trial in range(30):
        k = int(rng.integers(2, 6))
        n = int(rng.integers(k, 30))
        label = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        if trial % 2:
            upper = 10.0 ** rng.uniform(-6, 6, n)
        else:
            upper = np.full(n, 0.1)
        dual = AllInOneDual(label, k, upper, 1.0, shared, intercept)
        alpha = rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-8, 8)
        if trial % 3 == 0:
            alpha[rng.integers(n), rng.integers(k)] = (np.nan, np.inf, 1e308)[trial % 9 // 3]
        a = repair_classes(dual, alpha)
        exact = [[Fraction(value) for value in row] for row in a.tolist()]
        assert not a[dual.own_class_mask].any()
        assert (a >= 0.0).all()
        for row, cap in zip(exact, upper.tolist(), strict=True):
            assert (sum(row) if shared else max(row)) <= Fraction(cap)
        beta = dual.compute_beta(a)
        for i, row in enumerate(exact):
            assert Fraction(beta[i, label[i]]) == sum(row)
        if intercept == "free":
            assert not any(sum(Fraction(value) for value in column) for column in beta.T.tolist())
        again = repair_classes(dual, a)
        assert np.abs(again - a).max() <= 1e-12 * max(a.max(), 1e-300)


def test_what_is_at_its_bound_stays_there_as_far_as_the_balance_allows():
    label = np.array([0, 0, 0, 1, 1, 1])
    dual = AllInOneDual(label, 2, np.full(6, 0.3), 1.0, False, "free")
    alpha = np.zeros((6, 2))
    alpha[:3, 1] = 0.3, 0.3, 0.1 + 1e-13
    alpha[3:, 0] = 0.3, 0.3, 0.1
    a = repair_classes(dual, alpha)
    assert np.allclose(a, alpha, atol=1e-12)
    assert (np.abs(a[[0, 1], 1] - 0.3) <= 1e-15).all()


def test_projection_onto_a_capped_simplex():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(50, 4))
    mass = rng.uniform(0.1, 3.0, 50)
    x = project_on_simplex(a, mass)
    assert np.allclose(x.sum(axis=1), mass)
    theta = (a - x).max(axis=1, where=x > 0.0, initial=-np.inf)
    assert (x >= np.maximum(a - theta[:, None], 0.0) - 1e-12).all()


def test_coupled_classes_are_what_they_say():
    rng = np.random.default_rng(4)
    n, k, d = 9, 3, 1
    Z = rng.normal(size=(n, d))
    label = rng.integers(0, k, n)
    sample, rival = np.nonzero(np.arange(k) != label[:, None])
    directions = np.eye(k)[label[sample]] - np.eye(k)[rival]
    whole = (Z @ Z.T)[np.ix_(sample, sample)] * (directions @ directions.T)
    for base in (LowRank(Z), Dense(Z @ Z.T)):
        P = couple_classes(base, sample, label[sample], rival, k)
        assert isinstance(P, LowRank) == isinstance(base, LowRank)
        s = rng.uniform(0.5, 2.0, len(sample))
        x = rng.normal(size=(len(sample), 2))
        scaled = P.congruence(s)
        assert np.allclose(P.dense(), whole)
        assert np.allclose(scaled.dense(), whole * s * s[:, None])
        assert np.allclose(scaled @ x, (whole * s * s[:, None]) @ x)
        assert np.allclose(scaled @ x[:, 0], (whole * s * s[:, None]) @ x[:, 0])
        assert np.allclose(scaled.diagonal(), whole.diagonal() * s * s)
        assert np.allclose(P.block(np.array([1, 5]), np.array([0, 2, 3])), whole[np.ix_([1, 5], [0, 2, 3])])


@pytest.mark.parametrize("machine", [qpsvm.CrammerSinger, qpsvm.WestonWatkins])
def test_free_intercepts_are_as_good_as_those_of_a_linear_program(machine):
    """(JB.2): near the optimum single classes stall, with a gap that is many times that of the best intercepts."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, k = 40, 5
        labels = np.arange(n) % k
        X = 1.5 * rng.normal(size=(k, 3))[labels] + rng.normal(size=(n, 3))
        problem = machine(X, labels, C=0.3)
        dual = problem._all_in_one_dual
        star = qpsvm.solve(problem, tol=1e-9).alpha.reshape(n, -1)
        a = repair_classes(dual, star * (1.0 + 1e-6 * rng.normal(size=star.shape)))
        beta = dual.compute_beta(a)
        u = X @ (X.T @ beta)
        half = 0.5 * float((beta * u).sum())
        below = dual.level * float(a.sum()) - 2.0 * half  # what no loss at this w is less than
        b = improve_class_intercepts(dual, u, fit_free_rows(dual, a, u), below)
        loss, least = (
            float(dual.compute_losses(dual.compute_shortfalls(u + at)).sum()) for at in (b, by_program(dual, u))
        )
        assert loss - below <= 1.02 * (least - below) + 1e-12 * loss


def by_program(dual, u):
    """Intercepts that minimise the losses for ⟨w_c, φ(x_i)⟩ (n, k), by HiGHS: (k,)."""
    k = dual.k
    i, c = np.nonzero(~dual.own_class_mask)
    m = len(i)
    slack = i if dual.has_shared_slack else np.arange(m)
    row = np.arange(m)
    cost = np.append(np.zeros(k), dual.upper if dual.has_shared_slack else dual.upper[i])
    rows = np.tile(row, 3)
    columns = np.concatenate([dual.label[i], c, k + slack])
    A = scipy.sparse.csr_array((np.repeat([-1.0, 1.0, -1.0], m), (rows, columns)), (m, len(cost)))
    bounds = [(None, None)] * k + [(0.0, None)] * (len(cost) - k)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return scipy.optimize.linprog(
        cost, A, -dual.compute_shortfalls(u)[i, c], bounds=bounds, method="highs", options=tight
    ).x[:k]


def test_the_terms_of_a_block_are_bounded_whatever_its_rows_lack():
    """(LOSS.5) and (LOSS.4), in fractions."""
    rng = np.random.default_rng(5)
    block, m = 3, 30
    for _ in range(20):
        U = np.repeat(rng.uniform(0.5, 2.0, m // block), block)
        alpha = (
            np.floor(rng.dirichlet(np.ones(block), m // block).ravel() * U * rng.choice([0.0, 0.5, 1.0]) * 2**20)
            / 2**20
        )
        t = rng.normal(size=m)
        r = 10.0 ** rng.uniform(-8, 0, m)
        rows = RowBounds((alpha, alpha), (U, U), (np.zeros(m), np.zeros(m)))
        found = bound_terms_above(rows, (t - r, t + r), block)
        assert (compute_block_terms(alpha, t, U, np.zeros(m), block) <= found).all()
        for at in (t - r, t + r, t + r * rng.choice([-1.0, 1.0], m)):
            for B, bound in enumerate(found.tolist()):
                part = slice(block * B, block * (B + 1))
                a, short, most = (list(map(Fraction, values[part].tolist())) for values in (alpha, at, U))
                true = most[0] * max(0, *short) - sum(x * y for x, y in zip(a, short, strict=True))
                assert true <= Fraction(bound) * (1 + Fraction(1, 2**48))
