"""Every kind of problem by the kernel engines: against the textbook's primal and dual, written out again here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs

import qpsvm
from qpsvm import core
from qpsvm.solve.backend_order import rank_backends
from qpsvm.solvers.kernel.box_step import compute_box_step
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.libsvm import run_libsvm_loop
from qpsvm.solvers.kernel.solve import solve_kernel
from qpsvm.solvers.kernel.tube_search import find_tube_start
from qpsvm.solvers.kernel.working_set import WorkingSet
from qpsvm.space.kernels.functions import RBF, Kernel, Polynomial
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

TOL = 1e-6
KINDS = ("hinge", "tube", "no tube", "nu", "quantile", "one class", "levels")


def table(n: int, seed: int = 0, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d), and t (n,) that a smooth function and heavy-tailed noise make."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.2 * rng.standard_t(3, n)


def build_dual(kind: str, t: np.ndarray, seed: int = 0, C: float = 2.0, share: float = 0.3) -> KernelDual:
    """Build a problem of one kind, with a penalty for each row."""
    rng = np.random.default_rng(seed)
    n = len(t)
    weight = rng.choice([0.5, 1.0, 2.0], n) if seed else np.ones(n)
    zero = np.zeros(n)
    if kind == "hinge":
        return KernelDual.from_hinges(np.where(np.arange(n) % 2, 1.0, -1.0), C * weight)
    if kind in ("tube", "no tube"):
        return KernelDual(C * weight, t, -C * weight, np.full(n, 0.1 if kind == "tube" else 0.0))
    if kind == "nu":
        return KernelDual(C * weight, t, -C * weight, mass=share * C * float(weight.sum()))
    if kind == "quantile":
        return KernelDual(0.8 * C * weight, t, -0.2 * C * weight)
    level = zero if kind == "one class" else 0.5 * np.abs(t)
    return KernelDual(weight, level, zero, total=share * float(weight.sum()))


def gap(K: np.ndarray, problem: KernelDual, beta: np.ndarray) -> float:
    """The relative gap of β (n,), with the best b and ε by a search through all that can be best."""
    t = problem.level
    low = problem.low
    high = problem.high
    u = K @ beta
    assert ((beta >= low) & (beta <= high)).all()
    assert beta.sum() == pytest.approx(problem.total, abs=1e-9 * problem.total_penalty)
    half = 0.5 * float(beta @ u)
    r = t - u

    def primal(b: float, width: float) -> float:
        over = np.maximum(r - b - width - problem.tube, 0.0) @ high
        under = np.maximum(b - r - width - problem.tube, 0.0) @ -low
        return float(half + over + under + problem.total * b + (problem.mass or 0.0) * width)

    if problem.mass is None:
        best = lowest(lambda b: primal(b, 0.0), np.unique(np.concatenate([r - problem.tube, r + problem.tube])))
    else:
        assert np.abs(beta).sum() == pytest.approx(problem.mass, rel=1e-9)
        order = np.argsort(r)
        above = r[order][np.searchsorted(np.cumsum(high[order]), high.sum() - problem.mass / 2)]
        below = r[order][np.searchsorted(np.cumsum(high[order]), problem.mass / 2)]
        best = primal(0.5 * (above + below), 0.5 * (above - below))
    dual = float(t @ beta - (problem.tube * np.abs(beta)).sum()) - half
    return (best - dual) / (max(abs(best), abs(dual)) or 1.0)


def lowest(value: Callable[[float], float], points: np.ndarray) -> float:
    """The least value of a convex function that bends at points in order."""
    first = 0
    last = len(points) - 1
    while last - first > 2:
        middle = (first + last) // 2
        if value(points[middle]) <= value(points[middle + 1]):
            last = middle + 1
        else:
            first = middle
    return min(value(point) for point in points[first : last + 1])


# --- the problem itself -----------------------------------------------------------------------------------------------


@for_each("kind", KINDS)
@for_each("seed", [0, 1, 2])
def test_the_gap_of_a_point_is_primal_minus_dual(kind, seed):
    """The share of every row is right also where β is far from a solution."""
    X, t = table(40, seed)
    problem = build_dual(kind, t, seed)
    rng = np.random.default_rng(seed)
    K = RBF(0.4)(X, X)
    beta = problem.make_feasible(rng.uniform(problem.low, problem.high) * rng.integers(0, 2, 40))
    point = problem.build_point(beta, K @ beta)
    assert point.gap == pytest.approx(gap(K, problem, beta), rel=1e-9)


@for_each("kind", KINDS)
@for_each("seed", [1, 2, 3])
def test_a_balanced_point_is_feasible(kind, seed):
    _, t = table(30, seed)
    problem = build_dual(kind, t, seed)
    rng = np.random.default_rng(seed)
    for beta in (np.zeros(30), problem.high, problem.low, rng.normal(size=30) * 3, np.abs(rng.normal(size=30))):
        found = problem.make_feasible(beta.copy())
        assert ((found >= problem.low) & (found <= problem.high)).all()
        assert found.sum() == pytest.approx(problem.total, abs=1e-9 * problem.total_penalty)
        if problem.mass is not None:
            assert np.abs(found).sum() == pytest.approx(problem.mass, rel=1e-9)


@for_each("kind", KINDS)
def test_a_row_that_rests_reaches_as_far_as_its_pull(kind):
    X, t = table(40, 3)
    problem = build_dual(kind, t, 3)
    K = RBF(0.4)(X, X)
    rng = np.random.default_rng(3)
    ends = np.stack([problem.low, problem.high, 0.0 * t if problem.has_kink else problem.low])
    beta = ends[rng.integers(0, 3, 40), np.arange(40)]
    point = problem.build_point(beta, K @ beta)
    reach = problem.compute_violation(beta, point.u, point.multipliers, slice(None))
    assert np.allclose(reach, np.where(beta <= point.low, point.gradient, -point.gradient))


@for_each("m", [2, 10, 30, 60])
def test_a_step_is_best_within_its_box_and_keeps_the_sum_of_each_side(m):
    rng = np.random.default_rng(m)
    A = rng.normal(size=(m, m + 10))
    A = A @ A.T / m
    r = rng.normal(size=m)
    low = -rng.uniform(0.0, 1.0, m)
    high = rng.uniform(0.0, 1.0, m)
    half = m // 2
    border = np.zeros((m, 2))
    border[:half, 0] = border[half:, 1] = 1.0
    for sides, d in (
        ([np.arange(m)], compute_box_step(A, 1e-9, r, low, high)),
        ([np.arange(half), np.arange(half, m)], compute_box_step(A, 1e-9, r, low, high, border)),
    ):
        assert ((low <= d) & (d <= high)).all()
        gradient = r - A @ d  # within a side, whatever can rise is pulled no more than what can fall
        for rows in sides:
            assert abs(d[rows].sum()) < 1e-12
            rises, falls = rows[d[rows] < high[rows] - 1e-9], rows[d[rows] > low[rows] + 1e-9]
            assert gradient[rises].max(initial=-np.inf) <= gradient[falls].min(initial=np.inf) + 1e-6


# --- LIBSVM's loops ---------------------------------------------------------------------------------------------------


@for_each("kind, seed", cover_pairs(KINDS, (0, 1)))
def test_the_loop_solves_every_kind(kind, seed):
    X, t = table(60, seed)
    problem = build_dual(kind, t, seed)
    K = RBF(0.4)(X, X)
    found = run_libsvm_loop(problem, K, tol=1e-7)
    assert found.converged
    assert gap(K, problem, found.beta) < 1e-5


# --- all together -----------------------------------------------------------------------------------------------------


def assert_solved(blocks: KernelBlocks, problem: KernelDual, within: float = 2 * TOL, **options) -> None:
    """By the gap of the whole matrix."""
    solution = solve_kernel(blocks, problem, tol=TOL, **options)
    assert solution.reason == "converged"
    assert gap(blocks.kernel(blocks.X, blocks.X), problem, solution.beta) <= within


@for_each("kind, n, kernel", cover_pairs(KINDS, (1, 2, 3, 10, 150), (RBF(0.4), Polynomial(2, 1.0, 1.0))))
def test_every_kind_is_solved(kind, n, kernel: Kernel):
    X, t = table(n, n)
    problem = build_dual(kind, t, n)
    solution = solve_kernel(KernelBlocks(kernel, X), problem, tol=TOL)
    assert solution.reason == "converged"
    if problem.mass is None:  # ν-SVR of few rows may need no tube, and less than its mass
        assert gap(kernel(X, X), problem, solution.beta) <= 2 * TOL


@for_each("kind", ["hinge", "tube", "nu", "quantile", "levels"])
def test_parts_of_many_rows_are_as_good_as_the_whole(kind):
    """Beyond 2000 rows the Gram matrix is not made, unless LIBSVM's own loop does not know the problem."""
    X, t = table(2050, 4)
    blocks = KernelBlocks(RBF(0.1), X)
    assert_solved(blocks, build_dual(kind, t, 0, C=1.0))
    assert blocks.full_matrix is None or (core.compiled is None and kind in ("quantile", "levels"))


def test_few_rows_outside_are_found():
    X, t = table(700, 6)
    for share in (0.005, 0.03):
        assert_solved(KernelBlocks(RBF(0.5), X), build_dual("one class", t, 0, share=share))
    X, t = table(2200)
    assert_solved(KernelBlocks(RBF(0.5), X), build_dual("nu", t, share=0.01), within=TOL)


@for_each("kind", KINDS)
def test_equal_rows_are_made_one(kind):
    X, t = table(200, 1)
    pick = np.random.default_rng(1).integers(0, 200, 700)
    assert_solved(KernelBlocks(RBF(0.3), X[pick]), build_dual(kind, t[pick], 2))


@for_each("kind", KINDS)
def test_a_start_from_a_neighbour_leads_to_the_same(kind):
    X, t = table(300, 2)
    problem = build_dual(kind, t, 2)
    blocks = KernelBlocks(RBF(0.3), X)
    first = solve_kernel(blocks, problem, tol=TOL)
    assert_solved(blocks, replace(problem, level=problem.level + 0.01 * np.cos(X[:, 0])), start=first.beta)


@for_each("kind", ["quantile", "levels", "no tube"])
@for_each("engine", ["libsvm", "gram"])
def test_every_engine_takes_what_the_loop_cannot_evaluate_by_itself(kind, engine):
    """LIBSVM's loop over samples once took quantiles for a Gram matrix."""
    X, t = table(300, 5)
    assert_solved(KernelBlocks(RBF(0.3), X), build_dual(kind, t, 5), engine=engine)


@for_each("kind", KINDS)
def test_limits_are_kept_and_leave_a_feasible_point(kind):
    X, t = table(300, 3)
    problem = build_dual(kind, t, 3, C=1e3)
    late = solve_kernel(KernelBlocks(RBF(3.0), X), problem, tol=1e-12, time_limit=1e-9)
    assert late.reason == "time_limit"
    few = solve_kernel(KernelBlocks(RBF(3.0), X), problem, tol=0.0, max_iter=5)
    assert few.reason in ("iteration_limit", "numerical_error") or few.gap == 0.0
    for beta in (late.beta, few.beta):
        assert ((beta >= problem.low) & (beta <= problem.high)).all()


# --- as backends ------------------------------------------------------------------------------------------------------

X, T = table(70, 8)
S = np.where(np.arange(70) % 9, np.random.default_rng(8).uniform(0.3, 2.0, 70), 0.0)
Y = np.where(T > 0.2, 1, -1)
TAKEN_BY_ALL = {
    "hinge": lambda **k: qpsvm.CSVM(X, Y, C=3.0, sample_weight=S, **k),
    "hinge, small C": lambda **k: qpsvm.CSVM(X, Y, C=1e-2, **k),
    "hinge, large C": lambda **k: qpsvm.CSVM(X, Y, C=1e3, **k),
    "epsilon": lambda **k: qpsvm.EpsilonSVR(X, T, C=3.0, sample_weight=S, **k),
    "no tube": lambda **k: qpsvm.EpsilonSVR(X, T, C=3.0, epsilon=0.0, **k),
    "wide tube": lambda **k: qpsvm.EpsilonSVR(X, T, C=3.0, epsilon=100.0, **k),
    "large": lambda **k: qpsvm.EpsilonSVR(X, 1e6 * T + 1e6, C=3e6, epsilon=1e5, **k),
    "nu": lambda **k: qpsvm.NuSVR(X, T, C=3.0, nu=0.4, sample_weight=S, **k),
    "nu = 1": lambda **k: qpsvm.NuSVR(X, T, C=3.0, nu=1.0, **k),
    "nu, large C": lambda **k: qpsvm.NuSVR(X, T, C=1e4, nu=0.6, **k),
    "small nu": lambda **k: qpsvm.NuSVR(X, T, C=3.0, nu=1e-3, **k),
    "quantile": lambda **k: qpsvm.QuantileSVR(X, T, C=3.0, quantile=0.85, sample_weight=S, **k),
    "median": lambda **k: qpsvm.QuantileSVR(X, T, C=3.0, quantile=0.5, **k),
    "one class": lambda **k: qpsvm.OneClass(X, nu=0.3, sample_weight=S, **k),
    "one class, all": lambda **k: qpsvm.OneClass(X, nu=1.0, **k),
    "ball": lambda **k: qpsvm.SVDD(X, nu=0.3, sample_weight=S, **k),
    "small ball": lambda **k: qpsvm.SVDD(X, nu=1e-3, **k),
}
MACHINES = TAKEN_BY_ALL | {
    "squared tube": lambda **k: qpsvm.EpsilonSVR(X, T, C=3.0, loss="squared", sample_weight=S, **k),
    "squared, all inside": lambda **k: qpsvm.EpsilonSVR(X, T, C=3.0, loss="squared", epsilon=100.0, **k),
    "squared hinge": lambda **k: qpsvm.SquaredHinge(X, Y, C=3.0, **k),
    "Huber's hinge": lambda **k: qpsvm.HuberHinge(X, Y, C=3.0, **k),
}
BACKENDS = [("kernel_newton", name, kernel) for name in MACHINES for kernel in ("rbf", Polynomial(2, 1.0, 1.0))]
BACKENDS += [("libsvm", name, "rbf") for name in TAKEN_BY_ALL if name != "nu, large C"]  # which takes it long


@for_each("backend, name, kernel", BACKENDS)
def test_machines_are_certified(backend, name, kernel):
    problem = MACHINES[name](kernel=kernel)
    result = qpsvm.solve(problem, backend)
    reference = qpsvm.solve(problem, "cvxopt")
    size = max(abs(reference.primal), abs(reference.dual))
    assert abs(result.primal - reference.primal) <= 2 * TOL * size
    for one in (result.alpha, result.coef):
        assert np.isfinite(one).all()


def test_auto_begins_with_kernel_newton():
    for name, machine in MACHINES.items():
        assert next(iter(rank_backends(machine(kernel="rbf")))).backend == "kernel_newton", name


def test_a_start_may_be_the_result_of_another_tube():
    first = qpsvm.solve(qpsvm.EpsilonSVR(X, T, C=3.0, epsilon=0.1, kernel="rbf"), "kernel_newton")
    problem = qpsvm.EpsilonSVR(X, T, C=3.0, epsilon=0.12, kernel="rbf")
    again = qpsvm.solve(problem, "kernel_newton", start=first)
    cold = qpsvm.solve(problem, "kernel_newton")
    assert again.primal == pytest.approx(cold.primal, rel=2 * TOL)


def test_both_sides_share_what_no_tube_needs():
    """With ν = 1 and many rows, ε = 0: Σα⁺ + Σα⁻ = νΣC all the same."""
    result = qpsvm.solve(qpsvm.NuSVR(X, T, C=1e4, nu=1.0, kernel="rbf"), "kernel_newton")
    assert result.alpha.sum() == pytest.approx(1e4 * 70)
    assert np.abs(result.coef).sum() < 0.99e4 * 70


@for_each("n", [80, 300])
def test_newton_steps_do_not_begin_where_no_tube_is_needed(monkeypatch, n):
    """Targets that f can follow need no tube, and Newton steps on (KDUAL.7) would not converge: (KDUAL.8) is solved."""
    tried = []
    run_newton = WorkingSet._run_newton
    monkeypatch.setattr(WorkingSet, "_run_newton", lambda W, *goal: tried.append(W.problem) or run_newton(W, *goal))
    X, t = table(n, 3)
    problem = build_dual("nu", t, 0, 1e4, 0.5)
    blocks = KernelBlocks(RBF(3.0), X)
    solution = solve_kernel(blocks, problem, tol=TOL)
    assert solution.reason == "converged"
    assert solution.tube == 0.0
    assert np.abs(solution.beta).sum() < 0.9 * problem.mass
    assert gap(blocks.compute_full_matrix(), problem.with_tube(0.0), solution.beta) <= TOL
    assert not any(each.is_nu_svr for each in tried)


@for_each("C, share", [(0.1, 0.7), (10.0, 0.3), (1e3, 0.9)])
def test_the_search_for_a_tube_ends_near_the_solution(C, share):
    """It used to go on in steps of no length where free rows lie on the edges, and to close in from one side only."""
    X, t = table(400, 9)
    problem = build_dual("nu", t, 0, C, share)
    blocks = KernelBlocks(RBF(1.0), X)
    found = find_tube_start(blocks, problem, Effort())
    assert found is not None
    size = np.abs(found[0]).sum()
    if size >= problem.mass * (1.0 - 1e-9):
        beta = problem.make_feasible(found[0])
        assert gap(blocks.compute_full_matrix(), problem, beta) < 0.02
    else:  # no tube is needed
        flat = problem.with_tube(0.0)
        assert gap(blocks.compute_full_matrix(), flat, flat.make_feasible(found[0])) < 1e-3
