"""Whether two classes can be separated: decided with a proof, in time, or not claimed at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from judge import find_faults
from scipy.optimize import linprog

import qpsvm
from qpsvm import RBF, HardMargin, NotSeparableError
from qpsvm.base.resources.clock import Clock
from qpsvm.machines import hull_distance
from qpsvm.machines.nearest_points import find_nearest_points
from qpsvm.machines.problem.certification_limits import CertificationLimits
from qpsvm.machines.problem.certifier import Certifier

RNG = np.random.default_rng(0)


def clouds(n: int, d: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Two normal clouds, `apart` along the first axis."""
    y = np.where(np.arange(n) % 2, 1, -1)
    X = np.random.default_rng(n + d).normal(size=(n, d))
    X[:, 0] += y * apart / 2
    return X, y


def moons(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles with noise, which overlap."""
    angle = RNG.uniform(0, np.pi, n)
    y = np.where(np.arange(n) % 2, 1, -1)
    X = np.column_stack([np.cos(angle) * y + (y < 0), np.sin(angle) * y + 0.5 * (y < 0)])
    return X + np.random.default_rng(1).normal(scale=0.3, size=X.shape), y


def never_stop() -> None:
    """Give no reason to stop the search."""


def distance(K: Any, u: np.ndarray, v: np.ndarray) -> float:
    """‖Σ u z − Σ v z‖ / max ‖z − z̄‖ by the Gram matrix K (n, n)."""
    beta = u - v
    row = K.mean(axis=0)
    reach = np.max(K.diagonal() - 2 * row + row.mean())
    if reach > 0:
        return float(np.sqrt(max(beta @ K @ beta, 0.0) / reach))
    return 0.0


def proves(error: NotSeparableError | qpsvm.MarginNotFoundError, y: np.ndarray, K: np.ndarray) -> None:
    """u and v are convex weights of the classes, and their points are the same."""
    for weights, sign in ((error.u, 1), (error.v, -1)):
        assert (weights >= 0).all()
        assert not weights[y != sign].any()
        assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert error.distance < 1e-8
    assert distance(K, error.u, error.v) < 1e-8


def test_samples_whose_squares_underflow_are_refused():
    """They looked like one point, and so like classes that meet."""
    X = [[1e-170], [2e-170], [3e-170], [4e-170]]
    y = [-1, -1, 1, 1]
    with pytest.raises(qpsvm.DataError, match="underflows"):
        qpsvm.HardMargin(X, y)
    assert qpsvm.solve(qpsvm.HardMargin(np.array(X) * 1e170, y)).status == "optimal"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["auto", "kernel_newton", "interior_point"])
@pytest.mark.parametrize("n", [600, 1100])
def test_overlapping_moons_are_separable_by_a_margin_that_doubles_do_not_show(n, backend):
    """By a Gaussian every set of different samples is; so what is said is that no margin was found."""
    if n > 600 and backend == "interior_point":
        pytest.skip("a dense factorisation an iteration, for the same search")
    X, y = moons(n)
    qpsvm.solve(qpsvm.CSVM(X[:40], y[:40], 1.0, RBF(0.5)), check=False)  # imports take no time from the search
    with pytest.raises(qpsvm.MarginNotFoundError) as caught:
        qpsvm.solve(HardMargin(X, y, RBF(0.5)), backend, time_limit=60.0 if backend != "auto" else None)
    assert caught.value.separable
    proves(caught.value, y, RBF(0.5)(X, X))


def test_hulls_that_nearly_meet_are_looked_at_again():
    """What the coordinates leave out of K is as large as the distance that counts as none: here the search ended so."""
    X, y = moons(600)
    problem = HardMargin(X, y, RBF(0.5))
    rows = np.arange(600)
    u, v = (y > 0) / (y > 0).sum(), (y < 0) / (y < 0).sum()
    near = hull_distance.HullDistance(u, v, 1.4e-8, np.zeros(0))
    again = hull_distance._refine_hulls(problem.space, y.astype(float), rows, near, never_stop)
    assert again.distance < near.distance
    assert distance(RBF(0.5)(X, X), again.u, again.v) < 1e-8
    far = hull_distance.HullDistance(u, v, 1e-3, np.zeros(0))
    assert hull_distance._refine_hulls(problem.space, y.astype(float), rows, far, never_stop) is far


@for_each("storage", [np.asarray, sp.csr_array])
def test_many_overlapping_rows(storage):
    X, y = clouds(6000, 10, 1.0)
    with pytest.raises(NotSeparableError) as caught:
        qpsvm.solve(HardMargin(storage(X), y))
    error = caught.value
    assert np.linalg.norm(X.T @ (error.u - error.v)) < 1e-8 * np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    assert (error.u > 0).sum() + (error.v > 0).sum() < 4000  # not all of them are needed


def test_a_few_rows_of_many_that_are_inside_the_other_hull():
    """The rows that matter are not among the first: the set has to grow by those that its direction misplaces."""
    X, y = clouds(6000, 4, 12.0)
    X[777] = X[y != y[777]].mean(axis=0)
    problem = HardMargin(X, y)
    found = hull_distance.find_nearest_hulls(problem.space, y.astype(float), np.zeros(6000), never_stop)
    assert found.meet
    np.testing.assert_allclose(X.T @ found.u, X.T @ found.v, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [qpsvm.Linear(), RBF(0.05)], ids=str)
def test_the_nearest_points_of_separable_classes_are_the_hard_margin(kernel, monkeypatch):
    """‖w‖ = 2/margin, and the nearest points are a margin apart: also where only a part of the rows is looked at."""
    monkeypatch.setattr(hull_distance, "MAX_INITIAL_ROWS", 400)
    X, y = clouds(600, 3, 11.0)
    problem = HardMargin(X, y, kernel)
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    found = hull_distance.find_nearest_hulls(problem.space, y.astype(float), np.zeros(600), never_stop)
    beta = found.u - found.v
    assert np.sqrt(beta @ (problem.space.centred_gram @ beta)) == pytest.approx(
        2 / np.sqrt(2 * result.primal), rel=1e-5
    )
    assert problem.certify(found.u + found.v).gap < 1e-5


@pytest.mark.slow
def test_both_bounds_hold_whatever_the_data_are():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, r = int(rng.integers(2, 40)), int(rng.integers(1, 12))
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        Z = rng.normal(size=(n, r)) * 10.0 ** rng.integers(-6, 3, size=r) + rng.uniform(-1, 1) * y[:, None]
        if seed % 4 == 0:
            Z[rng.integers(n)] = Z[rng.integers(n)]
        points = find_nearest_points(Z - Z.mean(axis=0), y, never_stop)
        assert (points.x >= 0).all()
        apart = np.linalg.norm(Z.T @ (points.x * y))
        assert apart == pytest.approx(points.upper, rel=1e-6, abs=1e-12 * np.abs(Z).max())
        assert points.lower <= points.upper * (1 + 1e-9)
        signed = (y[:, None] * (Z - Z.mean(axis=0)) / np.ptp(Z, axis=0)).T
        sums = [(y > 0).astype(float), (y < 0).astype(float)]
        program = linprog(np.zeros(n), A_eq=np.vstack([signed, *sums]), b_eq=np.append(np.zeros(r), [1.0, 1.0]))
        assert (program.status == 0) == (points.upper < 1e-8 * np.linalg.norm(Z - Z.mean(axis=0), axis=1).max())


@pytest.mark.slow
@for_each("backend", ["auto", "cvxopt", "osqp", "interior_point", "kernel_newton"])
@for_each("psd", ["raise", "clip", "shift"])
@for_each("value", [-1.0, -2.0, 0.0, 3.0])
@for_each("n", [2, 6])
def test_a_constant_kernel_matrix_separates_nothing(n, value, psd, backend):
    """Every sample is the same point of the feature space, on whatever side of zero the constant is."""
    K = np.full((n, n), value)
    y = np.where(np.arange(n) % 2, 1, -1)
    result = qpsvm.solve(HardMargin(K, y, "precomputed", psd=psd), backend, check=False)
    assert result.status == "infeasible"
    assert result.gap == np.inf
    assert isinstance(result.error, NotSeparableError)
    proves(result.error, y, np.zeros((n, n)))


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 500])
def test_kernel_newton_solves_hard_margins(n):
    X, y = clouds(n, 5, 3.0)
    problem = HardMargin(X, y, RBF(0.3))
    result = qpsvm.solve(problem, "kernel_newton")
    assert result.status == "optimal"
    assert (y * result.decision_function(X) >= 1 - 1e-6).all()
    again = qpsvm.solve(problem, "kernel_newton", start=result)
    assert again.primal == pytest.approx(result.primal, rel=1e-6)
    limited = qpsvm.solve(problem, "kernel_newton", max_iter=3, polish=False, check=False)
    assert limited.status in ("iteration_limit", "optimal")


# --- limits -----------------------------------------------------------------------------------------------------------


def make_expired_clock() -> Clock:
    """Return a clock whose time is over."""
    clock = Clock(0.0)
    while clock.find_stop_reason() is None:
        pass
    return clock


@pytest.mark.slow
def test_what_was_not_decided_in_time_is_not_claimed():
    X, y = moons(700)
    problem = HardMargin(X, y, RBF(0.5))
    scaled = problem.solver_qp("dual")
    answer = scaled.unscale(qpsvm.compile(scaled.qp, "kernel_newton").solve(max_iter=50))
    result = problem.interpret(answer, limits=CertificationLimits(run_clock=make_expired_clock()))
    assert result.status == "time_limit"
    assert result.gap == np.inf
    assert result.error is None
    assert "not decided within the time limit" in result.message
    assert isinstance(
        problem.interpret(answer).error, qpsvm.MarginNotFoundError
    )  # nothing of the first attempt is left


def test_a_time_limit_is_kept_by_the_search():
    X, y = moons(800)
    result = qpsvm.solve(HardMargin(X, y, RBF(0.5)), time_limit=1e-3, check=False)
    assert result.status == "time_limit"
    with pytest.raises(qpsvm.SolverError, match="not decided"):
        qpsvm.solve(HardMargin(X, y, RBF(0.5)), time_limit=1e-3)


def test_an_interrupted_search_ends_with_what_it_has(monkeypatch):
    """Ctrl-C, noted while the search runs: it ends before its next step."""
    X, y = moons(700)
    problem = HardMargin(X, y, RBF(0.5))
    presses = []

    def press_later() -> str | None:
        presses.append(None)
        return "interrupted" if len(presses) > 3 else None

    found = problem.hulls(stopped=press_later)
    assert found.undecided == "interrupted"
    assert len(presses) == 4
    assert not found.meet
    monkeypatch.setattr(Clock, "find_stop_reason", lambda _: "interrupted")
    scaled = problem.solver_qp("dual")
    result = problem.interpret(
        scaled.unscale(qpsvm.compile(scaled.qp, "kernel_newton").solve()), limits=CertificationLimits(run_clock=Clock())
    )
    assert result.status == "interrupted"
    assert "not decided before it was interrupted" in result.message


@for_each("storage", [np.asarray, np.asfortranarray, sp.csr_array])
def test_a_shared_sample_is_found_among_many_rows(storage):
    X = RNG.standard_normal((3000, 3))
    y = np.where(np.arange(3000) % 2, 1.0, -1.0)
    X[:, :2] = np.round(X[:, :2])
    assert hull_distance.find_shared_sample(storage(X), y) is None
    X[2718] = [0.0, 0.5, -2.0]
    X[1415] = [-0.0, 0.5, -2.0]
    y[1415] = 1.0
    y[2718] = -1.0
    found = hull_distance.find_shared_sample(storage(X), y)
    assert found is not None
    assert found.distance == 0.0
    assert found.u[1415] == found.v[2718] == 1.0


def test_a_search_that_had_no_time_costs_no_further_certificate(monkeypatch):
    problem = HardMargin(*moons(2000), RBF(1.0))
    asked = []
    certify = Certifier.certify
    monkeypatch.setattr(Certifier, "certify", lambda self, *a, **k: asked.append(1) or certify(self, *a, **k))
    result = qpsvm.solve(problem, time_limit=1e-3, check=False)
    assert result.status == "time_limit"
    assert result.gap == np.inf
    assert len(asked) == 1


@for_each("size", [1e-8, 1.0, 1e8])
def test_a_solvers_w_is_measured_on_the_scale_of_the_result(size):
    """With features of 1e-8, α is some 1e15: w is certified as it is returned, with no rounded factor in between."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(16, 2))
    X[:, 0] += np.where(np.arange(16) == 11, 4.0, -4.0)
    problem = HardMargin(size * X, np.where(np.arange(16) == 11, 1, -1))
    for w_factor in (1.0, 1e-3, 1e3, 1e15):  # the last three belong to another α
        result = qpsvm.solve(problem, "interior_point", polish=False)
        certificate = problem.certify(result.alpha, w_factor * result.w)
        own = problem.X.T @ (result.coef if w_factor == 1.0 else certificate.coef)
        assert np.linalg.norm(certificate.w - own) <= 1e-6 * np.linalg.norm(own)
        assert certificate.gap <= 1e-6
        assert (certificate.yf >= 1.0 - 1e-9).all()
        f = problem.X @ certificate.w + certificate.b
        assert np.allclose(np.where(np.arange(16) == 11, 1, -1) * f, certificate.yf, rtol=1e-12)
        assert not find_faults(problem, result, 1e-6)
