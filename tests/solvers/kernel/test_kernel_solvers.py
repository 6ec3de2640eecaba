"""The kernel engines against the independent certificate, and against cvxopt."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.solvers.kernel import libsvm as kernel_libsvm
from qpsvm.solvers.kernel import newton_step
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.initial_sets import InitialSet
from qpsvm.solvers.kernel.newton_step import polish_by_newton
from qpsvm.solvers.kernel.solve import ENGINES, KernelSolution
from qpsvm.solvers.kernel.solve import solve_kernel as solve_dual
from qpsvm.solvers.kernel.working_set import WorkingSet
from qpsvm.space.kernels.functions import RBF
from qpsvm.space.kernels.kernel_blocks import KernelBlocks

TOL = 1e-6


def solve_kernel(kernel, X, y, C, *, gram=None, start=None, **settings) -> KernelSolution:
    """The C-SVM by the kernel engines, from an α if one is given."""
    blocks = gram if isinstance(gram, KernelBlocks) else KernelBlocks(kernel, X, gram)
    problem = KernelDual.from_hinges(y, np.broadcast_to(np.asarray(C, dtype=float), y.shape))
    return solve_dual(blocks, problem, start=None if start is None else y * start, **settings)


def samples(n: int, d: int, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d) and y (n,) of one of the kinds that break solvers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    if kind == "duplicates":
        pick = rng.integers(0, max(1, n // 3), n)
        X, y = X[pick], y[pick]
    elif kind == "opposite duplicates":
        X = np.repeat(X, 2, axis=0)[:n]
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
    elif kind == "lattice":
        X = np.round(X)
    elif kind == "constant":
        X = np.ones_like(X)
    elif kind == "heavy tails":
        X /= rng.normal(size=(n, 1)) ** 2
    elif kind == "one of a class":
        y[:] = -1.0
    if abs(y.sum()) == n:
        y[rng.integers(n)] *= -1
    return X, y


KINDS = ("plain", "duplicates", "opposite duplicates", "lattice", "constant", "heavy tails", "one of a class")


def certified(solution: KernelSolution, X: np.ndarray, y: np.ndarray, C: object, kernel: object) -> float:
    """The gap by the library's own certificate, with the feasibility of α checked first."""
    upper = np.broadcast_to(np.asarray(C, dtype=float), y.shape)
    alpha = y * solution.beta
    assert np.isfinite(alpha).all()
    assert np.isfinite(solution.b)
    assert ((alpha >= 0) & (alpha <= upper)).all()
    assert abs(alpha @ y) <= 1e-9 * upper.sum()
    return qpsvm.CSVM(X, y, C, kernel).certify(alpha).gap


CASES = cover_pairs(KINDS, (1e-6, 0.1, 100.0, 1e4), (1e-3, 0.3, 1e3), (2, 7, 60))
CASES += [("plain", 1e-6, 1e3, 60)]  # where all entries of a step are held


@for_each("kind, C, gamma, n", CASES)
def test_every_kind_of_sample_is_certified(kind: str, C: float, gamma: float, n: int) -> None:
    X, y = samples(n, 3, kind, n)
    solution = solve_kernel(RBF(gamma), X, y, C, tol=TOL)
    assert solution.reason == "converged"
    assert certified(solution, X, y, C, RBF(gamma)) <= TOL


@for_each("engine", ENGINES)
@for_each("kind", ["plain", "lattice", "heavy tails"])
def test_every_engine_is_certified(engine: str, kind: str) -> None:
    X, y = samples(300, 4, kind, 1)
    C = np.random.default_rng(2).uniform(0.1, 3.0, len(y))
    for penalties in (2.0, C):
        solution = solve_kernel(RBF(0.2), X, y, penalties, tol=TOL, engine=engine)
        assert solution.reason == "converged"
        assert certified(solution, X, y, penalties, RBF(0.2)) <= 1.01 * TOL


def test_a_matrix_that_is_given_wins_over_the_kernel() -> None:
    X, y = samples(120, 3, "plain", 5)
    solution = solve_kernel(RBF(99.0), X, y, 1.0, gram=RBF(0.3)(X, X))
    assert certified(solution, X, y, 1.0, RBF(0.3)) <= TOL


def test_start_is_used() -> None:
    X, y = samples(500, 4, "plain", 6)
    first = solve_kernel(RBF(0.2), X, y, 1.0)
    again = solve_kernel(RBF(0.2), X, y, 1.0, start=y * first.beta)
    assert again.engine == "start"
    assert again.iterations <= 2


def test_limits_are_said() -> None:
    X, y = samples(900, 5, "plain", 7)
    assert solve_kernel(RBF(1.0), X, y, 1e4, time_limit=0.0).reason == "time_limit"
    limited = solve_kernel(RBF(0.01), X, y, 1e5, tol=1e-14, max_iter=5)
    assert limited.reason == "iteration_limit"
    with pytest.raises(qpsvm.ParameterError, match="engine"):
        solve_kernel(RBF(1.0), X, y, 1.0, engine="best")  # type: ignore[arg-type]


def test_polish_never_lets_the_dual_fall() -> None:
    X, y = samples(200, 3, "plain", 9)
    problem = KernelDual.from_hinges(y, np.full(200, 10.0))
    K = RBF(0.2)(X, X)
    beta = kernel_libsvm.run_libsvm_loop(problem, K, tol=1e-1).beta
    values = []
    for steps in range(6):
        point = polish_by_newton(K, problem, beta, 0.0, steps).point
        values.append(float(y @ point.beta - 0.5 * point.beta @ K @ point.beta))
    assert (np.diff(values) >= -1e-9 * abs(values[-1])).all()
    assert polish_by_newton(K, problem, beta, 1e-9, 40).point.gap <= 1e-9


def test_one_newton_step_with_the_right_split_ends_at_rounding() -> None:
    X, y = samples(300, 3, "plain", 10)
    problem = KernelDual.from_hinges(y, np.full(300, 2.0))
    K = RBF(0.3)(X, X)
    beta = kernel_libsvm.run_libsvm_loop(problem, K, tol=1e-4).beta
    polished = polish_by_newton(K, problem, beta, 1e-6, 1)
    assert polished.steps == 1
    assert polished.point.gap <= 1e-12


@pytest.mark.slow
@for_each("C", [1.0, 30.0])
def test_few_support_vectors_need_no_gram_matrix(C: float) -> None:
    X, y = samples(1900, 2, "plain", 12)
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    y[::40] *= -1
    blocks = KernelBlocks(RBF(0.5), X)
    solution = solve_kernel(RBF(0.5), X, y, C, gram=blocks)
    assert solution.engine == "libsvm"
    assert blocks.full_matrix is None
    assert certified(solution, X, y, C, RBF(0.5)) <= TOL
    everything = np.arange(len(y))
    apart = np.abs(blocks.compute_product(everything, solution.beta, everything) - solution.u)
    assert apart.max() <= 1e-2
    assert apart[(np.abs(solution.beta) > 0) & (np.abs(solution.beta) < C)].max() <= 1e-9


def test_a_stuck_newton_step_widens_its_free_set() -> None:
    X, y = samples(60, 3, "duplicates", 60)
    problem = KernelDual.from_hinges(y, np.full(60, 0.1))
    K = RBF(1e-3)(X, X)
    beta = kernel_libsvm.run_libsvm_loop(problem, K, tol=3e-3).beta
    assert polish_by_newton(K, problem, beta, 1e-6).point.gap <= 1e-6


def test_a_newton_step_that_does_not_descend_is_made_stiffer() -> None:
    X, labels = make_moons(300, noise=0.2, random_state=3)
    problem = KernelDual.from_hinges(np.where(labels > 0, 1.0, -1.0), np.full(300, 1e4))
    K = RBF(1.0)(X, X)
    beta = kernel_libsvm.run_libsvm_loop(problem, K, 650, tol=1e-3).beta
    assert polish_by_newton(K, problem, beta, 1e-6).point.gap <= 1e-6


@pytest.mark.slow
@for_each("engine", ["auto", "libsvm"])
def test_equal_rows_are_made_one(engine: str) -> None:
    X, y = samples(800, 3, "lattice", 10)
    C = np.random.default_rng(3).uniform(0.1, 2.0, len(y))
    solution = solve_kernel(RBF(0.3), X, y, C, tol=TOL, engine=engine)
    assert certified(solution, X, y, C, RBF(0.3)) <= TOL
    groups = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)[1].ravel()
    free = (np.abs(solution.beta) > 0) & (np.abs(solution.beta) < C)
    assert np.bincount(groups[free]).max() <= 1  # (KTIES.2)


def test_one_number_for_all_is_seen_to_be_one() -> None:
    X, y = samples(300, 3, "plain", 14)
    one = KernelDual.from_hinges(y, repeat_value(2.0, len(y)))
    many = KernelDual.from_hinges(y, np.full(len(y), 2.0))
    rows = np.arange(0, len(y), 3)
    assert one.common_weight == one.restrict_rows(rows).common_weight == many.common_weight == 2.0
    unlike = KernelDual.from_hinges(y, np.where(rows[0] == np.arange(len(y)), 1.0, 2.0))
    assert unlike.common_weight is None
    u = RBF(0.3)(X, X) @ y
    assert one.compute_multipliers(u).b == pytest.approx(many.compute_multipliers(u).b)
    assert one.total_penalty == pytest.approx(many.total_penalty)


def test_newton_steps_on_any_working_set_grow_it_to_what_is_needed() -> None:
    X, y = samples(300, 3, "plain", 16)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.5, 1.0, -1.0)
    problem = KernelDual.from_hinges(y, repeat_value(100.0, len(y)))
    zero = np.zeros(len(y))
    for rows in (np.arange(7, 300, 17), np.arange(299, 100, -1), np.array([int(y.argmax()), int(y.argmin())])):
        first = InitialSet(rows, zero, zero, True)
        point = WorkingSet(KernelBlocks(RBF(50.0), X), problem, first, Effort()).refine(TOL)
        assert (np.abs(point.beta) <= 100.0).all()
        assert abs(point.beta.sum()) <= 1e-9
        assert qpsvm.CSVM(X, y, 100.0, RBF(50.0)).certify(y * point.beta).gap <= 1.01 * point.gap + TOL


@pytest.mark.slow
def test_many_rows_start_from_a_neighbour() -> None:
    X, y = samples(5000, 5, "plain", 12)
    first = solve_kernel(RBF(0.1), X, y, 1.0, tol=TOL)
    again = solve_kernel(RBF(0.1), X, y, 1.5, tol=TOL, start=y * first.beta)
    assert certified(again, X, y, 1.5, RBF(0.1)) <= TOL
    assert solve_kernel(RBF(0.1), X, y, 1.0, tol=TOL, start=y * first.beta).iterations <= first.iterations


@pytest.mark.slow
@for_each("limit", [0.0, 0.05, 0.2])
def test_many_rows_end_in_time(limit: float) -> None:
    X, y = samples(6000, 8, "plain", 13)
    C = np.full(len(y), 10.0)
    solution = solve_kernel(RBF(0.2), X, y, C, tol=1e-9, time_limit=limit)
    assert solution.reason in ("time_limit", "converged")
    certified(solution, X, y, C, RBF(0.2))


def test_steps_give_up_where_a_larger_proximal_term_does_not_help(monkeypatch):
    made = []

    def give_short_step(*given):
        K, problem, rows, sigma = given[0], given[1], given[3], given[4]
        made.append(sigma)
        step = np.zeros(len(rows))
        image = np.zeros(problem.n)
        return newton_step._NewtonStep(rows, step, image, newton_step.SHORT_STEP / 2, 1.0, K)

    monkeypatch.setattr(newton_step, "_compute_step", give_short_step)
    problem = KernelDual.from_hinges(np.array([1.0, -1.0] * 4), np.ones(8))
    polish_by_newton(np.eye(8), problem, np.zeros(8), 1e-6, 1)
    assert len(made) == newton_step.MAX_RIDGE_INCREASES + 1
