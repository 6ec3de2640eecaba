"""What the solvers share: budget and printed lines, guarded Cholesky factors, answers without a point."""

from types import SimpleNamespace

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs

import qpsvm
from qpsvm import backends
from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.shared.budget import Budget
from qpsvm.solvers.shared.cholesky import Cholesky, NumericalTrouble, factorise, factorise_with_ridge

RNG = np.random.default_rng(0)


# --- the budget -------------------------------------------------------------------------------------------------------


def test_a_budget_counts_steps_and_looks_ahead():
    budget = Budget(2, 1000.0)
    assert budget.find_stop_reason() is None
    assert budget.find_stop_reason(next_step_seconds=2000.0) == "time_limit"
    budget.steps = 2
    assert budget.find_stop_reason() == "iteration_limit"
    assert Budget(time_limit=0.0).find_stop_reason(next_step_seconds=1e-3) == "time_limit"


def test_the_key_comes_before_all_limits(monkeypatch):
    budget = Budget(1, 0.0)
    budget.steps = 1
    monkeypatch.setattr("qpsvm.base.resources.clock.is_interrupted", lambda: True)
    assert budget.find_stop_reason() == "interrupted"


@for_each("limits", [{"max_steps": 0}, {"time_limit": -1.0}, {"time_limit": np.nan}])
def test_limits_out_of_range(limits):
    with pytest.raises(ParameterError):
        Budget(**limits)


def test_a_line_a_round_if_verbose(capsys):
    Budget().report("stage", 1, gap=0.1)
    assert capsys.readouterr().out == ""
    Budget(verbose=True).report("stage", 3, gap=0.125, loop_iterations=7, objective="-1.25")
    words = capsys.readouterr().out.split()
    assert words[:-2] == ["stage", "3", "gap", "1.2e-01", "loop", "iterations", "7", "objective", "-1.25"]
    assert words[-1] == "s"


# --- Cholesky factors -------------------------------------------------------------------------------------------------


def positive(k: int, span: float) -> np.ndarray:
    """A random positive definite matrix (k, k), its rows in units from 1 to `span`."""
    B = RNG.standard_normal((k, 2 * k)) * np.logspace(0, np.log10(span), k)[:, None]
    return B @ B.T


@for_each(
    "k, unit, span, ridge, single",
    cover_pairs((0, 1, 5, 80), (1e-50, 1.0, 1e50), (1.0, 1e12), (0.0, 1e-14), (False, True)),
)
def test_solutions_whatever_the_units(k, unit, span, ridge, single):
    M = unit * positive(k, span)
    x = RNG.standard_normal((k, 3)) / np.sqrt(np.maximum(M.diagonal(), 1e-300))[:, None]
    factor = Cholesky(M, ridge=ridge, single=single)
    assert factor.is_single == (k > 0 and single)
    np.testing.assert_allclose(factor.solve(M @ x), x, rtol=0, atol=1e-7 * np.abs(x).max(initial=0.0))
    if k:
        column = factor.solve(M @ x[:, 0])
        assert column.shape == (k,)
        assert np.abs((column - x[:, 0]) * np.sqrt(M.diagonal())).max() <= 1e-7 * np.sqrt(k)


@for_each("options", [{}, {"ridge": 1e-14}, {"single": True}])
def test_singular_systems_are_solved_where_they_have_a_solution(options):
    B = RNG.standard_normal((30, 5)) * np.logspace(-6, 6, 30)[:, None]
    M = B @ B.T
    right = M @ RNG.standard_normal(30)
    x = Cholesky(M, **options).solve(right)
    assert (np.abs(M @ x - right) <= 1e-6 * np.abs(right)).all()


@for_each("single", [False, True])
@for_each("M", [np.diag([1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_what_is_not_semidefinite_is_refused(M, single):
    with pytest.raises(NumericalTrouble):
        Cholesky(M, single=single)


@for_each("single", [False, True])
def test_what_is_not_a_number_is_refused_or_seen(single):
    """Some versions of LAPACK make a factor of it; then the solution says so."""
    try:
        x = Cholesky(np.full((3, 3), np.nan), single=single).solve(np.ones(3))
    except NumericalTrouble:
        return
    assert np.isnan(x).all()


def test_the_ladder_begins_where_it_is_told_and_ends():
    M = positive(6, 1.0)
    factor, ridge = factorise_with_ridge(M, 1e-3)
    L = np.tril(factor)
    assert ridge == 1e-3
    np.testing.assert_allclose(L @ L.T, M + 1e-3 * np.diag(M.diagonal()), rtol=1e-12)
    factor, ridge = factorise_with_ridge(-np.eye(3), 0.0, 1.0, max_ridge=1e4)
    assert 1.0 < ridge <= 1e4
    np.testing.assert_allclose(np.tril(factor)[0, 0] ** 2, ridge - 1.0)
    with pytest.raises(NumericalTrouble):
        factorise_with_ridge(-np.eye(3), 0.0, 1.0)
    assert factorise(-np.eye(2)) is None
    assert factorise(-np.eye(2), 2.0) is not None


# --- answers ----------------------------------------------------------------------------------------------------------


@for_each("part", ["x", "z", "v"])
@for_each("value", [np.nan, np.inf])
def test_what_is_not_finite_is_no_point(part, value):
    X = RNG.standard_normal((20, 3))
    compiled = backends.get("interior_point").compile(qpsvm.CSVM(X, np.sign(X[:, 0])).qp("dual"))
    parts = {"x": np.zeros(20), "z": np.zeros(0), "v": np.zeros(3)}
    run = SimpleNamespace(reason="time_limit", iterations=7)
    whole = compiled._build_run_solution(run, **parts)
    assert np.shares_memory(whole.x, parts["x"])
    assert np.shares_memory(whole.v, parts["v"])
    parts[part] = np.append(parts[part], value)
    none = compiled._drop_non_finite(compiled._build_run_solution(run, **parts))
    assert none.x is None
    assert none.reported == whole.reported == "time_limit"
    assert none.iterations == 7
    assert none.solver == whole.solver


@for_each("difference, primal, dual, expected", [
    (0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 0.5), (1.0, 0.0, -1.0, 1.0), (1.0, np.inf, 1.0, np.inf),
    (np.nan, 1.0, 1.0, np.inf), (1.0, 0.0, 0.0, np.inf),
])  # fmt: skip
def test_the_relative_gap(difference, primal, dual, expected):
    assert compute_relative_gap(difference, primal, dual) == expected
