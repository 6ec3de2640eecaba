"""The sequential dual method: each step solves its sample exactly, and the end is a fixed point of every step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from scipy.optimize import minimize

from qpsvm import core
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.solvers.sequential import compute_separate_step, compute_shared_step, solve_sequential
from qpsvm.solvers.shared.budget import Budget
from qpsvm.space.operators import Dense, LowRank


@for_each("step", [compute_shared_step, compute_separate_step])
def test_a_step_is_the_optimum_over_its_sample(step):
    rng = np.random.default_rng(0)
    for _ in range(60):
        z = rng.normal(size=rng.integers(1, 6)) * 10.0 ** rng.uniform(-1, 1)
        C = 10.0 ** rng.uniform(-2, 2)
        a = step(z, C)
        assert (a >= 0).all()
        assert a.sum() <= C * (1 + 1e-12) if step is compute_shared_step else (a <= C).all()
        gradient = z - a - a.sum()  # of Σ z a − ½(Σa² + (Σa)²), in units of K
        if step is compute_separate_step:
            projected = np.clip(a + gradient, 0.0, C)
            assert np.allclose(projected, a, atol=1e-9 * (1.0 + abs(z).max()))
            continue
        full = a.sum() >= C * (1 - 1e-9)
        level = max(gradient.max(), 0.0) if full else 0.0
        assert (gradient <= level + 1e-9 * (1.0 + abs(z).max())).all()
        assert np.allclose(gradient[a > 1e-12], level, atol=1e-9 * (1.0 + abs(z).max()))


@for_each("compiled", [core.compiled, None] if core.compiled is not None else [None])
@for_each("shared", [True, False])
@for_each("intercept", ["free", "penalised", None])
def test_the_end_has_the_value_of_a_general_solver(shared, intercept, compiled, monkeypatch):
    monkeypatch.setattr(core, "compiled", compiled)
    rng = np.random.default_rng(1)
    n, k = 12, 3
    label = np.arange(n) % k
    Z = rng.normal(size=(n, 4)) + np.eye(k, 4)[label]
    C = rng.uniform(0.5, 1.5, n)
    answers = [
        solve_sequential(gram, AllInOneDual(label, k, C, 1.0, shared, intercept), 1e-9, Budget(400_000))
        for gram in (LowRank(Z), LowRank(sp.csr_array(Z)), Dense(Z @ Z.T))
    ]
    rivals = np.array([[c for c in range(k) if c != y] for y in label])

    def value(flat):
        beta = np.zeros((n, k))
        np.put_along_axis(beta, rivals, -flat.reshape(n, k - 1), axis=1)
        beta[np.arange(n), label] = flat.reshape(n, k - 1).sum(axis=1)
        net = beta.sum(axis=0)
        ridge = 0.5 * net @ net if intercept == "penalised" else 0.0
        return 0.5 * ((Z.T @ beta) ** 2).sum() + ridge - flat.sum(), net

    if shared:
        rows = [{"type": "ineq", "fun": lambda x: C - x.reshape(n, k - 1).sum(axis=1)}]
    else:
        rows = []
    rows += [{"type": "eq", "fun": lambda x: value(x)[1][:-1]}] if intercept == "free" else []
    bounds = [(0.0, None if shared else C[i]) for i in range(n) for _ in range(k - 1)]
    found = minimize(
        lambda x: value(x)[0], np.zeros(n * (k - 1)), bounds=bounds, constraints=rows, method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    for answer in answers:
        assert answer.reason == "converged"
        flat = np.take_along_axis(answer.alpha, rivals, axis=1).ravel()
        assert value(flat)[0] == pytest.approx(found.fun, rel=1e-6)
        if intercept == "free":
            assert np.abs(value(flat)[1]).max() <= 1e-8
